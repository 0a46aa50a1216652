//! Where signatures of a chart lie in its OCI registry, as cosign puts them there: at the tag `sha256-<digest>.sig`
//! (`specs/SIGNATURE_SPEC.md` in sigstore/cosign), and since version 3 as bundles among what refers to it
//! (`specs/BUNDLE_SPEC.md`). Whose count is in `signers`, which releases need one in `observe/signed`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use decide::{Digest, Version};
use http::StatusCode;
use oci_client::manifest::OciImageManifest;
use serde_json::Value;

use super::found::{SourceError, Verdict, proven, status};
use super::registry::Registry;
use super::signers::{NOBODY, Signers, Simple};

/// What a layer of a signature is, and its annotations with the signature in base64, the certificate, the log's word.
const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const LOG: &str = "dev.sigstore.cosign/bundle";
/// What a bundle is, whatever its version.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
/// What some releases of cosign 2 call their bundles in the list of what refers to a chart (sigstore/cosign#4422).
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MAX_INDEX: usize = 1024 * 1024;
const MAX_PAYLOAD: usize = 64 * 1024;
const MAX_BUNDLE: usize = 256 * 1024;
/// Signatures of one artefact that are looked at, of each form.
const MOST: usize = 50;
const NONE: &str = "what lies in the place of its signature is none";

/// Whether one of these has signed what has this digest; if not, why.
///
/// # Errors
/// It could not be read: then nobody knows.
pub(super) async fn signed(
    registry: &Registry,
    digest: &Digest,
    version: &Version,
    signers: &Signers,
) -> Result<Verdict, SourceError> {
    let mut why = NOBODY.to_string();
    match simple(registry, digest, version, signers).await? {
        Some(Ok(())) => return Ok(Ok(None)),
        Some(Err(other)) => why = other,
        None => {}
    }
    for manifest in bundles(registry, digest).await? {
        let Some(text) = bundle(registry, &manifest).await? else { continue };
        match signers.bundle(&text, digest, version) {
            Ok(()) => return Ok(Ok(None)),
            Err(other) => why = other,
        }
    }
    Ok(Err(why))
}

/// The form before cosign 3; none where there is nothing of it.
async fn simple(
    registry: &Registry,
    digest: &Digest,
    version: &Version,
    signers: &Signers,
) -> Result<Option<Result<(), String>>, SourceError> {
    let url = registry.url(&format!("manifests/{}.sig", tag(digest)))?;
    let answer = registry.manifest(&url).await?;
    match answer.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        _ => return Err(status(&url, &answer)),
    }
    let Ok(manifest) = serde_json::from_slice::<OciImageManifest>(&answer.body) else {
        return Ok(Some(Err(NONE.to_string())));
    };
    let mut why = NONE.to_string();
    for layer in manifest.layers.iter().filter(|layer| layer.media_type == PAYLOAD).take(MOST) {
        let given = |key: &str| layer.annotations.as_ref().and_then(|all| all.get(key)).map(String::as_str);
        let Some(signature) = given(SIGNATURE).and_then(|text| STANDARD.decode(text).ok()) else { continue };
        let Some(payload) = blob(registry, &layer.digest, MAX_PAYLOAD).await? else { continue };
        let simple =
            Simple { payload: &payload, signature: &signature, certificate: given(CERTIFICATE).zip(given(LOG)) };
        match signers.simple(&simple, digest, version) {
            Ok(()) => return Ok(Some(Ok(()))),
            Err(other) => why = other,
        }
    }
    Ok(Some(Err(why)))
}

/// The digests of what refers to a chart and may be a bundle. Registries without such a list have it at a tag.
async fn bundles(registry: &Registry, digest: &Digest) -> Result<Vec<String>, SourceError> {
    for below in [format!("referrers/{digest}"), format!("manifests/{}", tag(digest))] {
        let url = registry.url(&below)?;
        let answer = registry.get(&url, INDEX, MAX_INDEX).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::METHOD_NOT_ALLOWED => continue,
            _ => return Err(status(&url, &answer)),
        }
        let index: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let listed = index.get("manifests").and_then(Value::as_array).into_iter().flatten();
        let kind = |entry: &Value| entry.get("artifactType").and_then(Value::as_str).unwrap_or(EMPTY).to_string();
        let may_be = listed.filter(|entry| kind(entry).starts_with(BUNDLE) || kind(entry) == EMPTY);
        return Ok(may_be.filter_map(|entry| Some(entry.get("digest")?.as_str()?.to_string())).take(MOST).collect());
    }
    Ok(Vec::new())
}

/// The text of a bundle; none where what lies there is none.
async fn bundle(registry: &Registry, digest: &str) -> Result<Option<String>, SourceError> {
    if !is_digest(digest) {
        return Ok(None);
    }
    let url = registry.url(&format!("manifests/{digest}"))?;
    let answer = registry.manifest(&url).await?;
    if answer.status != StatusCode::OK {
        return Err(status(&url, &answer));
    }
    let manifest = proven(&url, answer.body, Some(&Digest::new(digest)))?;
    let Ok(manifest) = serde_json::from_slice::<OciImageManifest>(&manifest) else { return Ok(None) };
    let Some(layer) = manifest.layers.iter().find(|layer| layer.media_type.starts_with(BUNDLE)) else {
        return Ok(None);
    };
    let found = blob(registry, &layer.digest, MAX_BUNDLE).await?;
    Ok(found.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
}

/// What has this digest; none where that is no digest.
async fn blob(registry: &Registry, digest: &str, most: usize) -> Result<Option<Bytes>, SourceError> {
    if !is_digest(digest) {
        return Ok(None);
    }
    let url = registry.url(&format!("blobs/{digest}"))?;
    let answer = registry.get(&url, "*/*", most).await?;
    if answer.status != StatusCode::OK {
        return Err(status(&url, &answer));
    }
    proven(&url, answer.body, Some(&Digest::new(digest))).map(Some)
}

/// A digest that is a part of an address and nothing else.
fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:");
    hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn tag(digest: &Digest) -> String {
    digest.as_str().replace(':', "-")
}
