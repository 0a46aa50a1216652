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
    let signed = Signed { keys: Some(keys.to_string()), ..Signed::default() };
    let signers = Signers { signed, trust: Arc::new(Trust::pinned().unwrap()), now: Timestamp::UNIX_EPOCH };
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

const ISSUER: &str = "https://token.actions.githubusercontent.com";
const RELEASE: &str = "https://github.com/acme/charts/.github/workflows/release.yaml@refs/tags/v{version}";

/// What Sigstore's client for JavaScript made of its stand-ins (`tests/peers/sigstore.mjs`), on a day in June 2025.
fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sigstore").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn keyless(identity: &str, issuer: &str) -> Signers {
    let keyless = Keyless { identity: identity.to_string(), issuer: issuer.to_string() };
    let trust = Arc::new(Trust::read(&fixture("trusted_root.json")).unwrap());
    let signed = Signed { keyless: Some(keyless), ..Signed::default() };
    Signers { signed, trust, now: Timestamp::UNIX_EPOCH }
}

/// A simple signature with its certificate, as the registry has it.
fn simple(signers: &Signers, change: impl Fn(&mut Value)) -> Result<(), String> {
    let mut given: Value = serde_json::from_str(&fixture("simple.json")).unwrap();
    change(&mut given);
    let text = |key: &str| given[key].as_str().unwrap();
    let signature = STANDARD.decode(text("signature")).unwrap();
    let certificate = Some((text("certificate"), text("log")));
    let simple = Simple { payload: text("payload").as_bytes(), signature: &signature, certificate };
    signers.simple(&simple, &digest("a"), &"1.0.0".parse().unwrap())
}

#[test]
fn a37_a_certificate_names_who_signed_what() {
    let bundle = |signers: &Signers, of: &str, version: &str| {
        signers.bundle(&fixture("bundle.json"), &digest(of), &version.parse().unwrap())
    };
    let ours = keyless(RELEASE, ISSUER);
    assert_eq!((bundle(&ours, "a", "1.0.0"), simple(&ours, |_| {})), (Ok(()), Ok(())));
    assert!(bundle(&ours, "b", "1.0.0").is_err_and(|why| why.contains("does not match")), "another digest");
    assert!(bundle(&ours, "a", "1.0.1").is_err_and(|why| why.contains("@refs/tags/v1.0.0, and the")), "another tag");
    for other in [keyless("https://github.com/acme/charts", ISSUER), keyless(RELEASE, "https://accounts.google.com")] {
        assert!(bundle(&other, "a", "1.0.0").is_err() && simple(&other, |_| {}).is_err());
    }
    let public = Signers { trust: Arc::new(Trust::pinned().unwrap()), ..ours.clone() };
    assert!(bundle(&public, "a", "1.0.0").is_err() && simple(&public, |_| {}).is_err());
    let said = simple(&ours, |given| {
        let other = given["payload"].as_str().unwrap().replace("aaaa", "abaa");
        given["payload"] = other.into();
    });
    assert!(said.is_err(), "another text");
    let said = simple(&ours, |given| {
        let later = given["log"].as_str().unwrap().replace("\"integratedTime\":17", "\"integratedTime\":16");
        given["log"] = later.into();
    });
    assert!(said.is_err(), "the log's promise is about another time: {said:?}");
    assert!(simple(&ours, |given| given["log"] = "{}".into()).is_err());
    assert!(simple(&ours, |given| given["certificate"] = "".into()).is_err());
}

/// However it is bent, it holds for nothing else and nothing breaks.
#[test]
fn a37_a_bundle_that_was_bent_is_refused() {
    let (ours, text) = (keyless(RELEASE, ISSUER), fixture("bundle.json"));
    let (digest, version) = (digest("a"), "1.0.0".parse().unwrap());
    let mut state: u64 = 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut taken = Vec::new();
    for _ in 0..2_000 {
        let mut bent = text.clone().into_bytes();
        match next(3) {
            0 => bent.truncate(next(bent.len())),
            1 => bent[next(text.len())] = b' ' + u8::try_from(next(95)).unwrap(),
            _ => drop(bent.drain(next(text.len() / 2)..text.len() / 2)),
        }
        let Ok(bent) = String::from_utf8(bent) else { continue };
        if bent != text && ours.bundle(&bent, &digest, &version).is_ok() {
            taken.push(bent);
        }
    }
    // What the verifier does not look at may be bent: the key hint, white space, the last bits of base64.
    for bent in &taken {
        let (bent, whole): (Value, Value) = (serde_json::from_str(bent).unwrap(), serde_json::from_str(&text).unwrap());
        assert_eq!(bent.pointer("/dsseEnvelope/payload"), whole.pointer("/dsseEnvelope/payload"), "{bent}");
    }
    assert!(taken.len() < 200, "{}", taken.len());
}
