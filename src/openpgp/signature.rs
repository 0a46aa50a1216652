//! One signature (RFC 9580, 5.2): what it says of itself, and over which bytes it was made. What it means is in `key`
//! and `signed`.

use jiff::{SignedDuration, Timestamp};

use super::key::{Key, timestamp};
use super::packet::{big, number, split, subpacket_length};
use super::{Claim, Hash, Holds, PublicKey, Refusal};

/// What a signature is about (RFC 9580, 5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A key belongs to whom it names.
    Certification,
    /// Facts about a key itself.
    Direct,
    /// A subkey belongs to a key.
    Binding,
    /// A subkey says the same.
    BackBinding,
    /// That a key belongs to whom it names is taken back.
    CertificationRevocation,
    /// Anything else.
    Other,
}

/// What a signature says.
#[derive(Clone, Debug)]
pub struct Signature {
    pub kind: Kind,
    /// The algorithm of the key.
    algorithm: u8,
    hash: Result<Hash, Refusal>,
    /// What of itself it signs, too.
    signed: Vec<u8>,
    numbers: Vec<Vec<u8>>,
    /// Facts that are signed.
    pub facts: Facts,
    /// The key that it names, in hexadecimal digits; nobody has to believe that.
    pub issuer: Option<String>,
}

/// What a signature says beside that it is one.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub made: Option<Timestamp>,
    pub expires_after: Option<SignedDuration>,
    /// How long after its making the key that it is about is good.
    pub key_expires_after: Option<SignedDuration>,
    /// Whether that key may sign; none = it does not say.
    pub may_sign: Option<bool>,
    /// A signature of the subkey itself.
    pub embedded: Option<Vec<u8>>,
}

/// What a signature takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revokes {
    /// The whole.
    Primary,
    /// One beside it.
    Subkey,
}

/// What a packet takes back, whatever else it says and whether the rest of it can be read.
pub fn revokes(body: &[u8]) -> Option<Revokes> {
    // Version 3 has a length before the kind.
    match body.get(if body.first() == Some(&3) { 2 } else { 1 }) {
        Some(0x20) => Some(Revokes::Primary),
        Some(0x28) => Some(Revokes::Subkey),
        _ => None,
    }
}

impl Signature {
    /// Reads the body of a packet.
    pub fn read(body: &[u8]) -> Result<Self, Refusal> {
        let (version, rest) = number(body, 1)?;
        if version != 4 {
            return Err(Refusal::Form("is not of version 4"));
        }
        let (head, _) = split(rest, 3)?;
        let [kind, algorithm, hash] = head else { return Err(Refusal::Broken("it ends too early")) };
        let (_, rest) = split(rest, 3)?;
        let (length, rest) = number(rest, 2)?;
        let (hashed, rest) = split(rest, length)?;
        let signed = body.get(..6 + length).unwrap_or_default().to_vec();
        let (length, rest) = number(rest, 2)?;
        let (unhashed, rest) = split(rest, length)?;
        // Two bytes of the hash, which spare others a calculation.
        let (_, rest) = split(rest, 2)?;
        let (mut facts, named) = subpackets(hashed, true)?;
        let (unsigned, also) = subpackets(unhashed, false)?;
        // It proves itself, so that it may stand where nothing is signed; GnuPG puts it there.
        facts.embedded = facts.embedded.or(unsigned.embedded);
        Ok(Self {
            kind: kind_of(*kind),
            algorithm: *algorithm,
            hash: hash_of(*hash),
            signed,
            numbers: numbers(*algorithm, rest)?,
            facts,
            issuer: named.or(also),
        })
    }

    /// Whether this key made it over these bytes.
    pub fn holds(&self, key: &Key, about: &[&[u8]], holds: Holds) -> bool {
        let mut data = about.concat();
        data.extend_from_slice(&self.signed);
        data.extend_from_slice(&[4, 0xff]);
        // A length of two bytes and six more.
        let length = u32::try_from(self.signed.len()).unwrap_or(u32::MAX);
        data.extend_from_slice(&length.to_be_bytes());
        let (Some((public, signature)), Ok(hash)) = (self.fits(key), self.hash.clone()) else { return false };
        holds(&Claim { key: public, hash, data: &data, signature: &signature })
    }

    /// The signature as that key makes them; none where it is of another kind or longer.
    fn fits<'k>(&self, key: &'k Key) -> Option<(&'k PublicKey, Vec<u8>)> {
        let public = key.public.as_ref()?;
        let padded = |number: &Vec<u8>, length: usize| {
            let zeros = length.checked_sub(number.len())?;
            Some([vec![0; zeros], number.clone()].concat())
        };
        let signature = match (public, self.algorithm, self.numbers.as_slice()) {
            (PublicKey::Rsa { modulus, .. }, 1 | 3, [number]) => padded(number, modulus.len())?,
            (PublicKey::Ed25519(_), 22, [r, s]) if key.algorithm == 22 => [padded(r, 32)?, padded(s, 32)?].concat(),
            (PublicKey::Ed25519(_), 27, [number]) if key.algorithm == 27 => number.clone(),
            _ => return None,
        };
        Some((public, signature))
    }

    /// That it is made with a hash that counts.
    ///
    /// # Errors
    /// It is too weak.
    pub fn strong(&self) -> Result<(), Refusal> {
        self.hash.clone().map(drop)
    }

    /// When it expires.
    pub fn expires(&self) -> Option<Timestamp> {
        self.facts.made?.checked_add(self.facts.expires_after?).ok()
    }
}

fn kind_of(byte: u8) -> Kind {
    match byte {
        0x01 => Kind::Text,
        0x10..=0x13 => Kind::Certification,
        0x18 => Kind::Binding,
        0x19 => Kind::BackBinding,
        0x1f => Kind::Direct,
        0x30 => Kind::CertificationRevocation,
        _ => Kind::Other,
    }
}

fn hash_of(byte: u8) -> Result<Hash, Refusal> {
    match byte {
        8 => Ok(Hash::Sha256),
        9 => Ok(Hash::Sha384),
        10 => Ok(Hash::Sha512),
        1 => Err(Refusal::Form("is made with MD5, which anybody can forge")),
        2 => Err(Refusal::Form("is made with SHA-1, which is too weak")),
        _ => Err(Refusal::Form("is made with a hash other than SHA-256, SHA-384 and SHA-512")),
    }
}

fn numbers(algorithm: u8, rest: &[u8]) -> Result<Vec<Vec<u8>>, Refusal> {
    let count = match algorithm {
        1 | 3 => 1,
        22 => 2,
        27 => return Ok(vec![split(rest, 64)?.0.to_vec()]),
        // Of other algorithms nothing is verified.
        _ => return Ok(Vec::new()),
    };
    let (mut rest, mut found) = (rest, Vec::new());
    for _ in 0..count {
        let (number, behind) = big(rest)?;
        found.push(number.to_vec());
        rest = behind;
    }
    Ok(found)
}

/// What the subpackets say, and the key that they name. Facts count where they are signed.
fn subpackets(mut bytes: &[u8], signed: bool) -> Result<(Facts, Option<String>), Refusal> {
    let (mut facts, mut issuer, mut full) = (Facts::default(), None, None);
    while !bytes.is_empty() {
        let (length, rest) = subpacket_length(bytes)?;
        let (body, rest) = split(rest, length)?;
        bytes = rest;
        let Some((kind, value)) = body.split_first() else { return Err(Refusal::Broken("an empty subpacket")) };
        let seconds =
            || Ok::<_, Refusal>(SignedDuration::from_secs(number(value, 4)?.0.try_into().unwrap_or(i64::MAX)));
        match kind & 0x7f {
            16 => issuer = Some(digits(value)),
            33 => full = value.get(1..).map(digits),
            32 => facts.embedded = Some(value.to_vec()),
            _ if !signed => {}
            2 => facts.made = Some(timestamp(value)?),
            3 => facts.expires_after = Some(seconds()?).filter(|after| !after.is_zero()),
            9 => facts.key_expires_after = Some(seconds()?).filter(|after| !after.is_zero()),
            27 => facts.may_sign = Some(value.first().is_some_and(|flags| flags & 0x02 != 0)),
            // What says how a signature is to be used, not whether it holds.
            4 | 7 | 11 | 21..=26 | 28..=31 | 34 | 35 | 39 => {}
            // Whoever does not understand something critical must not believe the rest (RFC 9580, 5.2.3.7).
            _ if kind & 0x80 != 0 => return Err(Refusal::Form("says something that is critical and not known here")),
            _ => {}
        }
    }
    Ok((facts, full.or(issuer)))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
