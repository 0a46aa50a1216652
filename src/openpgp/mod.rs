//! OpenPGP (RFC 9580) as far as the provenance files of Helm need it: keys of version 4, and texts that one of them
//! signed. Whoever calls brings the mathematics; nothing is encrypted, made or asked of a key server here.

mod armor;
mod key;
mod packet;
mod signature;
mod signed;

use jiff::Timestamp;

pub use key::{Certificate, certificates};
pub use signed::{Good, signed_text};

#[cfg(test)]
mod tests;

/// A hash that counts. MD5, SHA-1 and RIPEMD-160 do not (RFC 9580, 9.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// A public key as its packet has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// Modulus and exponent, big-endian, without leading zeros.
    Rsa {
        /// The modulus.
        modulus: Vec<u8>,
        /// The exponent.
        exponent: Vec<u8>,
    },
    /// A point of Ed25519.
    Ed25519(Vec<u8>),
}

/// What a key has to have signed.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The key.
    pub key: &'a PublicKey,
    /// Over this hash: RSA pads it (PKCS #1 v1.5), Ed25519 signs it as a message.
    pub hash: Hash,
    /// Of these bytes.
    pub data: &'a [u8],
    /// As long as the modulus for RSA, 64 bytes for Ed25519.
    pub signature: &'a [u8],
}

/// The mathematics: whether a claim holds.
pub type Holds = fn(&Claim<'_>) -> bool;

/// Why a key is not taken, or a signature does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no block of the wanted kind.
    #[error("there is no `-----BEGIN PGP {0}-----` in it, or no end to it")]
    NoBlock(&'static str),
    /// A secret key, where a public one should be.
    #[error("a private key stands here, and everybody who may read this file has it now")]
    Private,
    /// It is not what it says it is.
    #[error("it is broken: {0}")]
    Broken(&'static str),
    /// More than is read.
    #[error("it is larger than the {0} bytes that are read")]
    TooLarge(usize),
    /// A key whose signatures are not verified here.
    #[error("it cannot be used: {0}")]
    Unusable(&'static str),
    /// A signature that is too weak or too new to be read.
    #[error("its signature {0}")]
    Form(&'static str),
    /// No key that is trusted made it.
    #[error("it is signed by another key than the policy has{}", named(.0.as_deref()))]
    OtherKey(Option<String>),
    /// Its owner took the key back.
    #[error("the key of {0} was revoked by its owner")]
    Revoked(String),
    /// The key is too old.
    #[error("the key of {owner} expired at {at}")]
    KeyExpired {
        /// Who the key says owns it.
        owner: String,
        /// When.
        at: Timestamp,
    },
    /// The signature is too old.
    #[error("its signature expired at {0}")]
    SignatureExpired(Timestamp),
    /// Made before its key was, or after now.
    #[error("its signature says that it was made at {0}, which cannot be")]
    Time(Timestamp),
}

fn named(key: Option<&str>) -> String {
    key.map(|id| format!("; it names {id}")).unwrap_or_default()
}
