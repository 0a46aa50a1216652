//! A text that stays readable and is signed (RFC 9580, 7): whose signature counts, and until when.

use jiff::{SignedDuration, Timestamp};

use super::armor::cleartext;
use super::key::Certificate;
use super::packet::{Tag, packets};
use super::signature::{Kind, Signature};
use super::{Holds, Refusal};

/// So many signatures of one text are looked at.
const MOST: usize = 20;
/// Clocks differ by so much.
const SKEW: SignedDuration = SignedDuration::from_hours(1);

/// A signature that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Good {
    /// What is signed, and nothing else, with `\n` between its lines.
    pub text: String,
    /// Until when it counts; none = without end.
    pub until: Option<Timestamp>,
}

/// The text that one of these keys has signed. As with Helm, a key and a signature have to be good now: whoever has an
/// old key can write an old date.
///
/// # Errors
/// None of them has, or the signature does not count any more.
pub fn signed_text(text: &str, keys: &[Certificate], holds: Holds, now: Timestamp) -> Result<Good, Refusal> {
    let cleartext = cleartext(text)?;
    let mut why = Refusal::OtherKey(None);
    let found = packets(&cleartext.packets)?;
    for (_, body) in found.into_iter().filter(|(tag, _)| *tag == Tag::Signature).take(MOST) {
        let until =
            Signature::read(body).and_then(|one| by_one(&one, cleartext.canonical.as_bytes(), keys, holds, now));
        match until {
            Ok(until) => return Ok(Good { text: cleartext.canonical.replace("\r\n", "\n"), until }),
            Err(other) => why = other,
        }
    }
    Err(why)
}

/// Until when the signature of one of them counts.
fn by_one(
    signature: &Signature,
    text: &[u8],
    keys: &[Certificate],
    holds: Holds,
    now: Timestamp,
) -> Result<Option<Timestamp>, Refusal> {
    signature.strong()?;
    if signature.kind != Kind::Text {
        return Err(Refusal::Form("is not about a text"));
    }
    let signers = keys.iter().flat_map(|key| key.signers(holds).into_iter().map(move |signer| (key, signer)));
    let by = signers.into_iter().find(|(_, signer)| signature.holds(signer.key, &[text], holds));
    let Some((owner, signer)) = by else { return Err(Refusal::OtherKey(signature.issuer.clone())) };
    let owner = owner.owner.clone();
    if signer.revoked {
        return Err(Refusal::Revoked(owner));
    }
    let made = signature.facts.made.ok_or(Refusal::Form("does not say when it was made"))?;
    if made < signer.key.made() || made > now.saturating_add(SKEW).unwrap_or(now) {
        return Err(Refusal::Time(made));
    }
    if let Some(at) = signer.expires.filter(|at| *at <= now) {
        return Err(Refusal::KeyExpired { owner, at });
    }
    if let Some(at) = signature.expires().filter(|at| *at <= now) {
        return Err(Refusal::SignatureExpired(at));
    }
    Ok(signer.expires.into_iter().chain(signature.expires()).min())
}
