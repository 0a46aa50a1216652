//! Signatures of charts as cosign puts them into an OCI registry: a manifest of their own, whose layer is the text that was
//! signed. The form is that of `specs/SIGNATURE_SPEC.md` in sigstore/cosign.

use anyhow::Context as _;
use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::json;

use super::oci::MANIFEST;
use crate::loopback::sha256;

/// What is signed, and the manifest around it.
#[derive(Clone)]
pub(super) struct Signature {
    pub(super) payload: Bytes,
    pub(super) manifest: Bytes,
}

/// Where the signature of a manifest lies.
pub(super) fn tag(manifest: &[u8]) -> String {
    format!("{}.sig", sha256(manifest).replace(':', "-"))
}

pub(super) fn sign(key: &EcdsaKeyPair, reference: &str, manifest: &[u8]) -> anyhow::Result<Signature> {
    let payload = serde_json::to_vec(&json!({
        "critical": {
            "identity": {"docker-reference": reference},
            "image": {"docker-manifest-digest": sha256(manifest)},
            "type": "cosign container image signature",
        },
        "optional": null,
    }))?;
    let signature = key.sign(&SystemRandom::new(), &payload).ok().context("the key does not sign")?;
    let layer = json!({
        "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", "digest": sha256(&payload), "size": payload.len(),
        "annotations": {"dev.cosignproject.cosign/signature": BASE64_STANDARD.encode(signature)},
    });
    let config = json!({"mediaType": "application/vnd.oci.image.config.v1+json", "digest": sha256(b"{}"), "size": 2});
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
    Ok(Signature { payload: payload.into(), manifest: serde_json::to_vec(&manifest)?.into() })
}

/// A fresh key.
pub(super) fn key() -> anyhow::Result<EcdsaKeyPair> {
    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).ok().context("no key could be made")
}

/// Its public half as PEM.
pub(super) fn public(key: &EcdsaKeyPair) -> String {
    let der: Option<PublicKeyX509Der<'_>> = key.public_key().as_der().ok();
    let body = der.map(|der| BASE64_STANDARD.encode(der.as_ref())).unwrap_or_default();
    format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
}
