//! Provenance files of Helm (`helm package --sign`): a `Chart.yaml` and the digests of packages, signed with OpenPGP. Where
//! such a file lies is known to each source.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{self, digest};
use aws_lc_rs::signature::{
    ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use decide::{Digest, Version};
use jiff::Timestamp;
use openpgp::{Certificate, Claim, Hash, PublicKey, Refusal, signed_text};
use serde::Deserialize;

/// Bytes of a file that is read.
pub(super) const MOST: usize = 256 * 1024;

/// What is signed behind the `Chart.yaml`.
#[derive(Deserialize)]
struct Sums {
    /// Digests by the names of packages.
    files: BTreeMap<String, String>,
}

/// Until when a provenance file says of this package that one of these keys signed it; none = without end.
///
/// # Errors
/// Why it does not say so.
pub(super) fn verified(
    file: &str,
    (chart, version): (&str, &Version),
    package: &Digest,
    keys: &[Certificate],
    now: Timestamp,
) -> Result<Option<Timestamp>, String> {
    let good = signed_text(file, keys, holds, now).map_err(|why| told(&why))?;
    // As Helm divides it (`pkg/provenance/sign.go`): the first end of a document is that of the `Chart.yaml`.
    let sums = good.text.split("\n...\n").nth(1).ok_or("its provenance file names no package")?;
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! { max_nodes: 10_000, max_depth: 8, max_aliases: 0, max_anchors: 0 },
    };
    let sums: Sums = serde_saphyr::from_str_with_options(sums, options)
        .map_err(|_| "its provenance file names no package in a form that can be read".to_string())?;
    // The name is signed, too, so that nobody passes an old release off as a new one.
    let name = format!("{chart}-{version}.tgz");
    match sums.files.get(&name) {
        None => Err(format!("its provenance file is not about {name}")),
        Some(sum) if sum != package.as_str() => Err("its provenance file is about another package".to_string()),
        Some(_) => Ok(good.until),
    }
}

fn told(why: &Refusal) -> String {
    match why {
        Refusal::NoBlock(_) | Refusal::Broken(_) | Refusal::TooLarge(_) => {
            format!("its provenance file cannot be read: {why}")
        }
        Refusal::KeyExpired { .. } => format!("{why}; extend it, and put it into the policy again"),
        Refusal::Private
        | Refusal::Unusable(_)
        | Refusal::Form(_)
        | Refusal::OtherKey(_)
        | Refusal::Revoked(_)
        | Refusal::SignatureExpired(_)
        | Refusal::Time(_) => why.to_string(),
    }
}

/// Whether a key made a signature.
fn holds(claim: &Claim<'_>) -> bool {
    let Claim { key, hash, data, signature } = *claim;
    match key {
        PublicKey::Rsa { modulus, exponent } => {
            let padding = match hash {
                Hash::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
                Hash::Sha384 => &RSA_PKCS1_2048_8192_SHA384,
                Hash::Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            };
            RsaPublicKeyComponents { n: modulus, e: exponent }.verify(padding, data, signature).is_ok()
        }
        PublicKey::Ed25519(point) => {
            let algorithm = match hash {
                Hash::Sha256 => &digest::SHA256,
                Hash::Sha384 => &digest::SHA384,
                Hash::Sha512 => &digest::SHA512,
            };
            UnparsedPublicKey::new(&ED25519, point).verify(digest(algorithm, data).as_ref(), signature).is_ok()
        }
    }
}

#[cfg(test)]
mod tests;
