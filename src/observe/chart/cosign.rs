//! Signatures that cosign has put beside a chart: at the tag `sha256-<digest>.sig` of its repository, over a text that names
//! the digest. The form is that of `specs/SIGNATURE_SPEC.md` in sigstore/cosign. Which releases need one is in `signed`.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decide::Digest;
use http::StatusCode;
use oci_client::manifest::OciImageManifest;
use serde_json::Value;

use super::found::{SourceError, proven, status};
use super::registry::Registry;

/// What a layer of a signature is.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation of a layer with its signature, in base64.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// The word in a text for what is signed.
const TYPE: &str = "cosign container image signature";
const MAX_PAYLOAD: usize = 64 * 1024;
/// Signatures of one artefact that are looked at.
const MOST: usize = 50;

/// Whether one of these keys (PEM) has signed what has this digest; if not, why.
///
/// # Errors
/// It could not be read: then nobody knows.
pub(super) async fn signed(
    registry: &Registry,
    digest: &Digest,
    keys: &str,
) -> Result<Result<(), String>, SourceError> {
    let keys = public_keys(keys);
    let url = registry.url(&format!("manifests/{}.sig", digest.as_str().replace(':', "-")))?;
    let answer = registry.manifest(&url).await?;
    match answer.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(Err("nobody has signed it".to_string())),
        _ => return Err(status(&url, &answer)),
    }
    let Ok(manifest) = serde_json::from_slice::<OciImageManifest>(&answer.body) else {
        return Ok(Err("what lies in the place of its signature is none".to_string()));
    };
    let mut why = "what lies in the place of its signature is none".to_string();
    for layer in manifest.layers.iter().filter(|layer| layer.media_type == PAYLOAD).take(MOST) {
        let given = layer.annotations.as_ref().and_then(|all| all.get(SIGNATURE));
        let Some(signature) = given.and_then(|text| STANDARD.decode(text).ok()) else { continue };
        if !layer.digest.starts_with("sha256:") || layer.digest.contains(['/', '?', '#']) {
            continue;
        }
        let blob = registry.url(&format!("blobs/{}", layer.digest))?;
        let answer = registry.get(&blob, "*/*", MAX_PAYLOAD).await?;
        if answer.status != StatusCode::OK {
            return Err(status(&blob, &answer));
        }
        let payload = proven(&blob, answer.body, Some(&Digest::new(layer.digest.clone())))?;
        match verified(&keys, &payload, &signature, digest) {
            Ok(()) => return Ok(Ok(())),
            Err(other) => why = other.to_string(),
        }
    }
    Ok(Err(why))
}

/// Whether a text is signed by one of these keys, and about this digest.
fn verified(keys: &[Vec<u8>], payload: &[u8], signature: &[u8], digest: &Digest) -> Result<(), &'static str> {
    // What cosign makes by default is the first; the others by a key of their kind.
    let algorithms: [&'static dyn VerificationAlgorithm; 4] =
        [&ECDSA_P256_SHA256_ASN1, &ECDSA_P384_SHA256_ASN1, &RSA_PKCS1_2048_8192_SHA256, &ED25519];
    let by = |key: &Vec<u8>| {
        algorithms.into_iter().any(|one| UnparsedPublicKey::new(one, key).verify(payload, signature).is_ok())
    };
    if !keys.iter().any(by) {
        return Err("it is signed by another key than the policy has");
    }
    let text: Value = serde_json::from_slice(payload).map_err(|_| "what is signed is no text of cosign")?;
    let says = |pointer: &str| text.pointer(pointer).and_then(Value::as_str);
    if says("/critical/type") != Some(TYPE) {
        return Err("what is signed is no text of cosign");
    }
    if says("/critical/image/docker-manifest-digest") != Some(digest.as_str()) {
        return Err("its signature is about another digest");
    }
    Ok(())
}

/// The keys in a text, as DER.
fn public_keys(text: &str) -> Vec<Vec<u8>> {
    let blocks = text.split("-----BEGIN PUBLIC KEY-----").skip(1);
    let body = |block: &str| {
        block.split("-----END PUBLIC KEY-----").next().map(|body| body.split_whitespace().collect::<String>())
    };
    blocks.filter_map(body).filter_map(|body| STANDARD.decode(body).ok()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};

    use super::*;

    fn digest(of: &str) -> Digest {
        Digest::new(format!("sha256:{}", of.repeat(64)))
    }

    fn payload(of: &Digest, kind: &str) -> Vec<u8> {
        let image = serde_json::json!({"docker-manifest-digest": of.as_str()});
        serde_json::json!({"critical": {"image": image, "type": kind}, "optional": null}).to_string().into_bytes()
    }

    fn pem(der: &[u8]) -> String {
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
    }

    fn key() -> (EcdsaKeyPair, String) {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let text = pem(der.as_ref());
        (pair, text)
    }

    #[test]
    fn a37_a_signature_is_by_one_of_the_keys_and_about_the_digest() {
        let ((ours, text), (theirs, other)) = (key(), key());
        let (this, that) = (digest("a"), digest("b"));
        let sign = |pair: &EcdsaKeyPair, payload: &[u8]| pair.sign(&SystemRandom::new(), payload).unwrap();
        let check = |keys: &str, payload: &[u8], by: &EcdsaKeyPair| {
            verified(&public_keys(keys), payload, sign(by, payload).as_ref(), &this)
        };
        let good = payload(&this, TYPE);
        assert_eq!(check(&text, &good, &ours), Ok(()));
        assert_eq!(check(&format!("{other}{text}"), &good, &ours), Ok(()), "keys may be replaced one by one");
        assert_eq!(check(&text, &good, &theirs), Err("it is signed by another key than the policy has"));
        assert_eq!(check("", &good, &ours), Err("it is signed by another key than the policy has"));
        assert_eq!(check(&text, &payload(&that, TYPE), &ours), Err("its signature is about another digest"));
        assert_eq!(check(&text, &payload(&this, "attestation"), &ours), Err("what is signed is no text of cosign"));
        assert_eq!(check(&text, b"{}", &ours), Err("what is signed is no text of cosign"));
        let of_good = sign(&ours, &good);
        let forged = payload(&this, &format!("{TYPE} "));
        assert!(verified(&public_keys(&text), &forged, of_good.as_ref(), &this).is_err());
    }

    #[test]
    fn a_key_of_another_kind_is_taken_as_it_is() {
        let pair = Ed25519KeyPair::generate().unwrap();
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let (this, good) = (digest("a"), payload(&digest("a"), TYPE));
        let signature = pair.sign(&good);
        assert_eq!(verified(&public_keys(&pem(der.as_ref())), &good, signature.as_ref(), &this), Ok(()));
        assert!(verified(&public_keys(&pem(der.as_ref())), &good, b"x", &this).is_err());
    }
}
