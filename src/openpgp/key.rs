//! Keys of version 4 with what their owner says of them (RFC 9580, 5.5 and 10.1). Nothing that others say of a key
//! counts: who trusts it has put it where it stands.

use jiff::{SignedDuration, Timestamp};

use super::armor::blocks;
use super::packet::{Tag, big, number, packets, split};
use super::signature::{Kind, Revokes, Signature, revokes};
use super::{Holds, PublicKey, Refusal};

/// The smallest RSA key that counts, in bytes of its modulus.
const SMALLEST: usize = 256;
const LARGEST: usize = 1024;
/// The point of an EdDSA key is on the curve Ed25519 (RFC 9580, 9.2).
const ED25519: &[u8] = &[0x09, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];

/// A key of somebody, with those beside it.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Whose it is, as it says itself; untrusted text.
    pub owner: String,
    primary: Key,
    /// What its owner says of it, with whom that is about as it is hashed; nothing for the key itself.
    own: Vec<(Vec<u8>, Signature)>,
    subkeys: Vec<(Key, Vec<Signature>)>,
}

/// One key.
#[derive(Clone, Debug)]
pub struct Key {
    pub algorithm: u8,
    /// None where it is of a kind that is not verified here.
    pub public: Option<PublicKey>,
    made: Timestamp,
    revoked: bool,
    /// As it is hashed.
    body: Vec<u8>,
}

/// A key that may sign, or might before.
pub struct Signer<'a> {
    pub key: &'a Key,
    pub expires: Option<Timestamp>,
    pub revoked: bool,
}

/// Every key in a text of armored blocks.
///
/// # Errors
/// There is none, or something else than public keys; one is broken, or none of its keys can sign.
pub fn certificates(text: &str) -> Result<Vec<Certificate>, Refusal> {
    if text.contains("PRIVATE KEY BLOCK") {
        return Err(Refusal::Private);
    }
    let mut found = Vec::new();
    for block in blocks(text, "PUBLIC KEY BLOCK")? {
        found.extend(of_block(&block)?);
    }
    if found.is_empty() { Err(Refusal::Broken("there is no key in it")) } else { Ok(found) }
}

fn of_block(block: &[u8]) -> Result<Vec<Certificate>, Refusal> {
    let mut found: Vec<Certificate> = Vec::new();
    // What the next signatures are about, beside the primary key.
    let mut about = Vec::new();
    for (tag, body) in packets(block)? {
        if tag == Tag::PrimaryKey {
            let (primary, own) = (Key::read(body)?, Vec::new());
            found.push(Certificate { owner: String::new(), primary, own, subkeys: Vec::new() });
            about = Vec::new();
            continue;
        }
        let Some(key) = found.last_mut() else { return Err(Refusal::Broken("it does not begin with a key")) };
        match tag {
            Tag::Secret => return Err(Refusal::Private),
            Tag::PrimaryKey | Tag::Other => {}
            Tag::UserId => about = key.user_id(body, 0xb4),
            Tag::UserAttribute => about = key.user_id(body, 0xd1),
            Tag::Subkey => key.subkeys.push((Key::read(body)?, Vec::new())),
            Tag::Signature => key.says(body, &about),
        }
    }
    for key in &found {
        key.is_usable()?;
    }
    Ok(found)
}

impl Certificate {
    /// Notes whose key it is, and returns that as it is hashed.
    fn user_id(&mut self, body: &[u8], mark: u8) -> Vec<u8> {
        if mark == 0xb4 && self.owner.is_empty() {
            self.owner = String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).take(200).collect();
        }
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&[mark], length.as_slice(), body].concat()
    }

    /// Takes in what is said of the key that was read last, and of whom. Nobody has to prove that a key is revoked: it was
    /// put there by who trusts it.
    fn says(&mut self, body: &[u8], about: &[u8]) {
        match (revokes(body), self.subkeys.last_mut()) {
            (Some(Revokes::Primary), _) | (Some(Revokes::Subkey), None) => self.primary.revoked = true,
            (Some(Revokes::Subkey), Some((key, _))) => key.revoked = true,
            (None, last) => {
                // One that cannot be read says nothing.
                let Ok(signature) = Signature::read(body) else { return };
                match last {
                    Some((_, of_subkey)) => of_subkey.push(signature),
                    None => self.own.push((about.to_vec(), signature)),
                }
            }
        }
    }

    fn is_usable(&self) -> Result<(), Refusal> {
        let known = |key: &Key| key.public.is_some();
        if !known(&self.primary) {
            return Err(Refusal::Unusable("it is neither RSA of 2,048 to 8,192 bits nor Ed25519"));
        }
        match self.own.iter().any(|(_, one)| says_something(one) && one.strong().is_ok()) {
            true => Ok(()),
            false => {
                Err(Refusal::Unusable("what its owner says of it is missing, or signed with a hash that is too weak"))
            }
        }
    }

    /// The keys that may sign, and those that might before they were revoked.
    pub fn signers(&self, holds: Holds) -> Vec<Signer<'_>> {
        let primary = self.primary.hashed();
        let mine = |about: &[u8], signature: &Signature| signature.holds(&self.primary, &[&primary, about], holds);
        // Who is not the owner any more says nothing.
        let gone: Vec<&Vec<u8>> = self
            .own
            .iter()
            .filter(|(_, one)| one.kind == Kind::CertificationRevocation)
            .map(|(about, _)| about)
            .collect();
        let own =
            self.own.iter().filter(|(about, one)| says_something(one) && !gone.contains(&about) && mine(about, one));
        // Of what the owner says, the newest holds.
        let Some(own) = own.map(|(_, one)| one).max_by_key(|one| one.facts.made) else { return Vec::new() };
        let (expires, revoked) = (self.primary.expires(own), self.primary.revoked);
        let mut signers = Vec::new();
        if own.facts.may_sign.unwrap_or(true) {
            signers.push(Signer { key: &self.primary, expires, revoked });
        }
        for (key, signatures) in &self.subkeys {
            let hashed = key.hashed();
            let bindings = signatures.iter().filter(|one| one.kind == Kind::Binding && mine(&hashed, one));
            let Some(binding) = bindings.max_by_key(|one| one.facts.made) else { continue };
            if binding.facts.may_sign == Some(true) && says_so_itself(key, binding, &[&primary, &hashed], holds) {
                let expires = expires.into_iter().chain(key.expires(binding)).min();
                signers.push(Signer { key, expires, revoked: revoked || key.revoked });
            }
        }
        signers
    }
}

/// Whether it is what an owner says of a key.
fn says_something(signature: &Signature) -> bool {
    matches!(signature.kind, Kind::Certification | Kind::Direct)
}

/// A subkey that signs says itself that it belongs to its key, so that nobody takes another's for his own (RFC 9580,
/// 5.2.1.9).
fn says_so_itself(key: &Key, binding: &Signature, about: &[&[u8]], holds: Holds) -> bool {
    let embedded = binding.facts.embedded.as_deref().and_then(|body| Signature::read(body).ok());
    embedded.is_some_and(|one| one.kind == Kind::BackBinding && one.holds(key, about, holds))
}

impl Key {
    fn read(body: &[u8]) -> Result<Self, Refusal> {
        let (version, rest) = number(body, 1)?;
        if version != 4 {
            return Err(Refusal::Unusable("it is not of version 4"));
        }
        let made = timestamp(rest)?;
        let (_, rest) = split(rest, 4)?;
        let (algorithm, rest) = number(rest, 1)?;
        let public = match algorithm {
            1 | 3 => rsa(rest)?,
            22 => eddsa(rest)?,
            27 => Some(PublicKey::Ed25519(split(rest, 32)?.0.to_vec())),
            _ => None,
        };
        let algorithm = u8::try_from(algorithm).unwrap_or_default();
        Ok(Self { algorithm, public, made, revoked: false, body: body.to_vec() })
    }

    /// When it was made.
    pub fn made(&self) -> Timestamp {
        self.made
    }

    /// As signatures about it hash it.
    fn hashed(&self) -> Vec<u8> {
        let length = u16::try_from(self.body.len()).unwrap_or(u16::MAX).to_be_bytes();
        [&[0x99], length.as_slice(), &self.body].concat()
    }

    /// When it expires by what a signature says of it, or when what the signature says does.
    fn expires(&self, signature: &Signature) -> Option<Timestamp> {
        let own = signature.facts.key_expires_after.and_then(|after| self.made.checked_add(after).ok());
        own.into_iter().chain(signature.expires()).min()
    }
}

fn rsa(rest: &[u8]) -> Result<Option<PublicKey>, Refusal> {
    let (modulus, rest) = big(rest)?;
    let (exponent, _) = big(rest)?;
    let fits = (SMALLEST..=LARGEST).contains(&modulus.len());
    Ok(fits.then(|| PublicKey::Rsa { modulus: modulus.to_vec(), exponent: exponent.to_vec() }))
}

fn eddsa(rest: &[u8]) -> Result<Option<PublicKey>, Refusal> {
    let Some(rest) = rest.strip_prefix(ED25519) else { return Ok(None) };
    let (point, _) = big(rest)?;
    // 0x40 says that the point stands as it is.
    Ok(point.strip_prefix(&[0x40]).filter(|point| point.len() == 32).map(|point| PublicKey::Ed25519(point.to_vec())))
}

/// Seconds since 1970 in four bytes.
pub fn timestamp(bytes: &[u8]) -> Result<Timestamp, Refusal> {
    let seconds = number(bytes, 4)?.0.try_into().unwrap_or(i64::MAX);
    let since = SignedDuration::from_secs(seconds);
    Timestamp::UNIX_EPOCH.checked_add(since).map_err(|_| Refusal::Broken("a time that there is not"))
}
