//! Signatures by keys of all kinds, and whether they are about the right thing.
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

/// What these keys say of a text and its signature.
fn verified(keys: &str, payload: &[u8], signature: &[u8], digest: &Digest) -> Result<(), String> {
    let signed = Signed { keys: Some(keys.to_string()), keyless: None };
    let signers = Signers { signed, trust: Arc::new(Trust::pinned().unwrap()) };
    signers.simple(&Simple { payload, signature, certificate: None }, digest, &"1.0.0".parse().unwrap())
}

#[test]
fn a37_a_signature_is_by_one_of_the_keys_and_about_the_digest() {
    let ((ours, text), (theirs, other)) = (key(), key());
    let (this, that) = (digest("a"), digest("b"));
    let sign = |pair: &EcdsaKeyPair, payload: &[u8]| pair.sign(&SystemRandom::new(), payload).unwrap();
    let check =
        |keys: &str, payload: &[u8], by: &EcdsaKeyPair| verified(keys, payload, sign(by, payload).as_ref(), &this);
    let good = payload(&this, TYPE);
    assert_eq!(check(&text, &good, &ours), Ok(()));
    assert_eq!(check(&format!("{other}{text}"), &good, &ours), Ok(()), "keys may be replaced one by one");
    assert_eq!(check(&text, &good, &theirs), Err("it is signed by another key than the policy has".to_string()));
    assert_eq!(check("", &good, &ours), Err("it is signed by another key than the policy has".to_string()));
    assert_eq!(check(&text, &payload(&that, TYPE), &ours), Err("its signature is about another digest".to_string()));
    assert_eq!(
        check(&text, &payload(&this, "attestation"), &ours),
        Err("what is signed is no text of cosign".to_string())
    );
    assert_eq!(check(&text, b"{}", &ours), Err("what is signed is no text of cosign".to_string()));
    let of_good = sign(&ours, &good);
    let forged = payload(&this, &format!("{TYPE} "));
    assert!(verified(&text, &forged, of_good.as_ref(), &this).is_err());
}

#[test]
fn a_key_of_another_kind_is_taken_as_it_is() {
    let pair = Ed25519KeyPair::generate().unwrap();
    let der: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
    let (this, good) = (digest("a"), payload(&digest("a"), TYPE));
    let signature = pair.sign(&good);
    assert_eq!(verified(&pem(der.as_ref()), &good, signature.as_ref(), &this), Ok(()));
    assert!(verified(&pem(der.as_ref()), &good, b"x", &this).is_err());
}

#[test]
fn the_version_stands_in_an_identity() {
    let keyless = Keyless { identity: "https://a/b@refs/tags/v{version}".to_string(), issuer: String::new() };
    for version in ["1.2.3", "v1.2.3"] {
        assert_eq!(identity(&keyless, &version.parse().unwrap()), "https://a/b@refs/tags/v1.2.3");
    }
}

#[test]
fn a_root_of_trust_that_is_none_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "{").unwrap();
    let error = format!("{:#}", Trust::open(file.path()).err().unwrap());
    assert!(error.contains(&file.path().display().to_string()) && error.contains("the root of trust"), "{error}");
}
