//! Whose signature of a chart counts: public keys, and identities of Sigstore certificates under a pinned root of trust.
//! Nothing is asked of anybody here; where signatures lie is in `cosign` and in the files of sources.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decide::{Digest, Version};
use jiff::Timestamp;
use serde_json::{Value, json};
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::{Bundle, Sha256Hash, SignatureContent, Statement};
use sigstore_verify::{Error, VerificationPolicy, Verifier};

use super::found::{Verdict, sha256};
use super::provenance;
use crate::policy::wiring::{Keyless, Signed};

/// What a text that cosign signs says it is (`specs/SIGNATURE_SPEC.md` in sigstore/cosign).
const TYPE: &str = "cosign container image signature";
/// What a statement that cosign signs says it is, since version 3. Others are attestations, of an SBOM or a scan.
const STATEMENT: &str = "https://sigstore.dev/cosign/sign/v1";
const IN_TOTO: &str = "application/vnd.in-toto+json";
const OTHER_KEY: &str = "it is signed by another key than the policy has";
/// Why a release is not signed where no signature lies.
pub(super) const NOBODY: &str = "nobody has signed it";
const OTHER_DIGEST: &str = "its signature is about another digest";

/// A root of trust: whose certificates and logs are believed.
pub struct Trust {
    verifier: Verifier,
    /// Whether certificates have to be in a log of certificates.
    logs_certificates: bool,
}

/// Who may have signed a release, and under which root of trust.
#[derive(Clone)]
pub struct Signers {
    /// By the policy; `{plugin}` is replaced already.
    pub signed: Signed,
    /// The root of trust.
    pub trust: Arc<Trust>,
    /// When signatures have to be good.
    pub now: Timestamp,
}

/// A signature beside the text that it is about, in the form before cosign 3.
pub(super) struct Simple<'a> {
    pub payload: &'a [u8],
    pub signature: &'a [u8],
    /// The certificate as PEM, and what the log says of the signature.
    pub certificate: Option<(&'a str, &'a str)>,
}

impl Trust {
    /// That of Sigstore's public instance, as it was when this program was built.
    ///
    /// # Errors
    /// It is broken.
    pub fn pinned() -> anyhow::Result<Self> {
        Self::read(SIGSTORE_PRODUCTION_TRUSTED_ROOT)
    }

    /// That of a file (`trusted_root.json`).
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let told = || format!("{}: the root of trust", path.display());
        let text = std::fs::read_to_string(path).with_context(told)?;
        Self::read(&text).with_context(told)
    }

    fn read(text: &str) -> anyhow::Result<Self> {
        let root = TrustedRoot::from_json(text)?;
        Ok(Self { verifier: Verifier::new(&root)?, logs_certificates: !root.ctlogs.is_empty() })
    }

    fn policy(&self, identity: &str, issuer: &str) -> VerificationPolicy {
        let policy = VerificationPolicy::new(identity, issuer);
        if self.logs_certificates { policy } else { policy.skip_sct() }
    }
}

impl Signers {
    /// Whether a signature of cosign can be one of theirs.
    pub(super) fn read_cosign(&self) -> bool {
        self.signed.keys.is_some() || self.signed.keyless.is_some()
    }

    /// Whether a provenance file of Helm can be signed by one of them.
    pub(super) fn read_provenance(&self) -> bool {
        self.signed.pgp.is_some()
    }

    /// What a provenance file says of the package of a chart; none where there is no such file.
    pub(super) fn provenance(&self, file: Option<&[u8]>, chart: (&str, &Version), package: &Digest) -> Verdict {
        let Some(keys) = &self.signed.pgp else {
            return Err("signatures of cosign are read in OCI registries alone".to_string());
        };
        let Some(file) = file else { return Err(NOBODY.to_string()) };
        let text = std::str::from_utf8(file).map_err(|_| "its provenance file is no text".to_string())?;
        let keys = openpgp::certificates(keys);
        let keys = keys.map_err(|why| format!("the key of the policy: {why}"))?;
        provenance::verified(text, chart, package, &keys, self.now)
    }

    /// Whether one of them signed what has this digest, in the form before cosign 3; if not, why.
    pub(super) fn simple(&self, simple: &Simple<'_>, digest: &Digest, version: &Version) -> Result<(), String> {
        let Signed { keys, keyless, .. } = &self.signed;
        let by_key = keys.as_deref().map(|keys| by_key(keys, simple.payload, simple.signature));
        let by_certificate = keyless.as_ref().map(|keyless| self.certified(simple, keyless, version));
        either(by_key, by_certificate)?;
        says(simple.payload, digest)
    }

    /// The same of a bundle, as cosign 3 writes it.
    pub(super) fn bundle(&self, text: &str, digest: &Digest, version: &Version) -> Result<(), String> {
        let strange = |why: &dyn std::fmt::Display| format!("what lies in the place of its signature is none: {why}");
        let bundle = Bundle::from_json(text).map_err(|error| strange(&error))?;
        let hash = digest.as_str().strip_prefix("sha256:").unwrap_or_default();
        let hash = Sha256Hash::from_hex(hash).map_err(|error| strange(&error))?;
        // Anything else that is signed about this digest may say that it is bad.
        let none = || "what is signed is no statement of cosign".to_string();
        let SignatureContent::DsseEnvelope(envelope) = &bundle.content else { return Err(none()) };
        let statement: Statement = serde_json::from_slice(envelope.payload.as_bytes()).map_err(|_| none())?;
        if envelope.payload_type != IN_TOTO || statement.predicate_type != STATEMENT {
            return Err(none());
        }
        let Signed { keys, keyless, .. } = &self.signed;
        // By a key it may be in no log, as a signature of the form before.
        let by_key = keys.as_deref().map(|keys| {
            by_key(keys, &envelope.pae(), envelope.signature.sig.as_bytes())?;
            if statement.matches_sha256(&hash) { Ok(()) } else { Err(OTHER_DIGEST.to_string()) }
        });
        let by_certificate = keyless.as_ref().map(|keyless| {
            let policy = self.trust.policy(&identity(keyless, version), &keyless.issuer);
            self.trust.verifier.verify(hash, &bundle, &policy).map(drop).map_err(|error| told(&error))
        });
        either(by_key, by_certificate)
    }

    /// A signature with a certificate is put into the form of a bundle, where the log's promise stands for a proof.
    fn certified(&self, simple: &Simple<'_>, keyless: &Keyless, version: &Version) -> Result<(), String> {
        let Some((certificate, log)) = simple.certificate else { return Err("it is signed by a key".to_string()) };
        let text = bundled(simple, certificate, log).ok_or("its certificate, or what the log says of it, is broken")?;
        let bundle = Bundle::from_json(&text).map_err(|error| error.to_string())?;
        let policy = self.trust.policy(&identity(keyless, version), &keyless.issuer).skip_tlog_unsafe();
        let verified = self.trust.verifier.verify(simple.payload, &bundle, &policy);
        verified.map(drop).map_err(|error| told(&error))
    }
}

/// One of the two suffices; none asked for is none given.
fn either(by_key: Option<Result<(), String>>, by_certificate: Option<Result<(), String>>) -> Result<(), String> {
    let nobody = || Err("the policy names nobody who could have signed it".to_string());
    match (by_key, by_certificate) {
        (Some(key), Some(certificate)) => key.or(certificate),
        (one, other) => one.or(other).unwrap_or_else(nobody),
    }
}

/// The identity that a version has to be signed by.
fn identity(keyless: &Keyless, version: &Version) -> String {
    let number = version.as_str().strip_prefix('v').unwrap_or(version.as_str());
    keyless.identity.replace("{version}", number)
}

/// Why it is not verified, in words that name who signed it instead.
fn told(error: &Error) -> String {
    if let Error::IdentityMismatch { expected, actual: Some(actual) } = error {
        return format!("it is signed by {}, and the policy asks for {expected}", actual.as_str());
    }
    if let Error::IssuerMismatch { expected, actual: Some(actual) } = error {
        return format!("its signer is known to {actual}, and the policy asks for {expected}");
    }
    format!("its signature does not hold: {error}")
}

/// Whether a text is signed by one of these keys.
fn by_key(keys: &str, payload: &[u8], signature: &[u8]) -> Result<(), String> {
    // What cosign makes by default is the first; the others by a key of their kind.
    let algorithms: [&'static dyn VerificationAlgorithm; 4] =
        [&ECDSA_P256_SHA256_ASN1, &ECDSA_P384_SHA256_ASN1, &RSA_PKCS1_2048_8192_SHA256, &ED25519];
    let by = |key: &Vec<u8>| {
        algorithms.into_iter().any(|one| UnparsedPublicKey::new(one, key).verify(payload, signature).is_ok())
    };
    if public_keys(keys).iter().any(by) { Ok(()) } else { Err(OTHER_KEY.to_string()) }
}

/// Whether a text that is signed is about this digest.
fn says(payload: &[u8], digest: &Digest) -> Result<(), String> {
    let text: Value = serde_json::from_slice(payload).unwrap_or_default();
    let says = |pointer: &str| text.pointer(pointer).and_then(Value::as_str);
    if says("/critical/type") != Some(TYPE) {
        return Err("what is signed is no text of cosign".to_string());
    }
    if says("/critical/image/docker-manifest-digest") != Some(digest.as_str()) {
        return Err(OTHER_DIGEST.to_string());
    }
    Ok(())
}

/// The keys in a text, as DER.
fn public_keys(text: &str) -> Vec<Vec<u8>> {
    blocks(text, "PUBLIC KEY")
}

fn blocks(text: &str, kind: &str) -> Vec<Vec<u8>> {
    let (begin, end) = (format!("-----BEGIN {kind}-----"), format!("-----END {kind}-----"));
    let body = |block: &str| {
        let body = block.split(&end).next()?;
        STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
    };
    text.split(&begin).skip(1).filter_map(body).collect()
}

/// A signature with its certificate and the log's promise, as a bundle of the first version.
fn bundled(simple: &Simple<'_>, certificate: &str, log: &str) -> Option<String> {
    let certificate = blocks(certificate, "CERTIFICATE").into_iter().next()?;
    let log: Value = serde_json::from_str(log).ok()?;
    let entry = log.get("Payload")?;
    let id = hex(entry.get("logID")?.as_str()?)?;
    let digest = hex(sha256(simple.payload).as_str().strip_prefix("sha256:")?)?;
    let text = |value: &Value| Some(value.as_u64()?.to_string());
    let entry = json!({
        "logIndex": text(entry.get("logIndex")?)?,
        "logId": {"keyId": STANDARD.encode(id)},
        "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
        "integratedTime": text(entry.get("integratedTime")?)?,
        "inclusionPromise": {"signedEntryTimestamp": log.get("SignedEntryTimestamp")?},
        "canonicalizedBody": entry.get("body")?,
    });
    let material = json!({
        "x509CertificateChain": {"certificates": [{"rawBytes": STANDARD.encode(certificate)}]},
        "tlogEntries": [entry],
    });
    let signature = json!({
        "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(digest)},
        "signature": STANDARD.encode(simple.signature),
    });
    let kind = "application/vnd.dev.sigstore.bundle+json;version=0.1";
    Some(json!({"mediaType": kind, "verificationMaterial": material, "messageSignature": signature}).to_string())
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    text.len().is_multiple_of(2).then(|| (0..text.len()).step_by(2).map(pair).collect())?
}

#[cfg(test)]
mod tests;
