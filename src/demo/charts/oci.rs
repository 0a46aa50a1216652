//! The OCI registry, as far as charts need it: tags with pages, manifests by tag and digest, blobs.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderName, StatusCode, header};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::archive::ChartFile;
use super::{Release, Shelf, cosign};
use crate::loopback::{locked, sha256};

/// As many tags as the large registries return when the caller names no number.
const PAGE: usize = 100;
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
const API: HeaderName = HeaderName::from_static("docker-distribution-api-version");

pub(super) fn router(shelf: Shelf) -> Router {
    Router::new().route("/v2/", get(version)).route("/v2/{*path}", get(dispatch)).with_state(shelf)
}

/// The manifest of one chart, as `helm push` writes it.
pub(super) fn manifest(
    chart: &ChartFile,
    created: Timestamp,
    config: &[u8],
    archive: &[u8],
) -> anyhow::Result<Vec<u8>> {
    let mut annotations: BTreeMap<String, String> = BTreeMap::new();
    annotations.extend(
        [
            ("created", created.to_string()),
            ("description", chart.description.clone()),
            ("source", chart.sources.first().cloned().unwrap_or_default()),
            ("title", chart.name.clone()),
            ("url", chart.home.clone()),
            ("version", chart.version.clone()),
        ]
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value)),
    );
    // The author's own go before them, but for name and version.
    let fixed = ["org.opencontainers.image.title", "org.opencontainers.image.version"];
    let own = chart.annotations.iter().filter(|(key, _)| !fixed.contains(&key.as_str()));
    annotations.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    Ok(serde_json::to_vec(&json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": sha256(config), "size": config.len()},
        "layers": [{"mediaType": LAYER, "digest": sha256(archive), "size": archive.len()}],
        "annotations": annotations,
    }))?)
}

#[derive(Deserialize)]
struct Page {
    n: Option<usize>,
    last: Option<String>,
}

async fn version() -> Response {
    reply(StatusCode::OK, "application/json", "{}".into(), None)
}

/// Repository names hold slashes, so the last two parts of the path decide.
async fn dispatch(State(shelf): State<Shelf>, Path(path): Path<String>, Query(page): Query<Page>) -> Response {
    let parts: Vec<&str> = path.rsplitn(3, '/').collect();
    let [last, middle, repository] = parts.as_slice() else {
        return fault("NAME_INVALID", &format!("`{path}` names no repository"));
    };
    let chart = repository.strip_prefix("charts/").unwrap_or_default();
    let Some(versions) = locked(&shelf).get(chart).cloned() else {
        return fault("NAME_UNKNOWN", &format!("the registry knows no repository `{repository}`"));
    };
    match (*middle, *last) {
        ("tags", "list") => tags(repository, &versions, &page),
        ("manifests", wanted) => manifest_of(&versions, wanted),
        ("blobs", digest) => blob(&versions, digest),
        _ => fault("UNSUPPORTED", &format!("the registry does not serve `{middle}`")),
    }
}

/// Tags cannot hold a plus sign.
fn tag(version: &str) -> String {
    version.replace('+', "_")
}

fn tags(repository: &str, versions: &BTreeMap<String, Release>, page: &Page) -> Response {
    let signed = versions.values().filter(|release| release.signature.is_some());
    let signed = signed.map(|release| cosign::tag(&release.manifest));
    let mut tags: Vec<String> = versions.keys().map(|version| tag(version)).chain(signed).collect();
    tags.sort();
    tags.retain(|tag| page.last.as_ref().is_none_or(|last| tag > last));
    let size = page.n.unwrap_or(PAGE).min(PAGE);
    let more = tags.len() > size;
    tags.truncate(size);
    let next = tags.last().filter(|_| more).cloned();
    let body = json!({"name": repository, "tags": tags}).to_string();
    let mut response = reply(StatusCode::OK, "application/json", body.into(), None);
    if let Some(last) = next {
        let link = format!("</v2/{repository}/tags/list?n={size}&last={last}>; rel=\"next\"");
        if let Ok(link) = link.parse() {
            response.headers_mut().insert(header::LINK, link);
        }
    }
    response
}

fn manifest_of(versions: &BTreeMap<String, Release>, wanted: &str) -> Response {
    let found = versions.values().find(|release| {
        if wanted.starts_with("sha256:") {
            sha256(&release.manifest) == wanted
        } else {
            tag(&release.chart.version) == wanted
        }
    });
    let signature = || {
        let signed = versions.values().filter(|release| cosign::tag(&release.manifest) == wanted);
        signed.filter_map(|release| release.signature.as_ref()).map(|signature| &signature.manifest).next()
    };
    match found.map(|release| &release.manifest).or_else(signature) {
        Some(manifest) => reply(StatusCode::OK, MANIFEST, manifest.clone(), Some(&sha256(manifest))),
        None => fault("MANIFEST_UNKNOWN", &format!("there is no manifest `{wanted}`")),
    }
}

fn blob(versions: &BTreeMap<String, Release>, digest: &str) -> Response {
    let payloads =
        versions.values().filter_map(|release| release.signature.as_ref()).map(|signature| &signature.payload);
    let mut blobs = versions.values().flat_map(|release| [&release.config, &release.archive]).chain(payloads);
    match blobs.find(|blob| sha256(blob) == digest) {
        Some(blob) => reply(StatusCode::OK, "application/octet-stream", blob.clone(), Some(digest)),
        None => fault("BLOB_UNKNOWN", &format!("there is no blob `{digest}`")),
    }
}

fn fault(code: &str, message: &str) -> Response {
    let status = if code == "NAME_INVALID" { StatusCode::BAD_REQUEST } else { StatusCode::NOT_FOUND };
    let body = json!({"errors": [{"code": code, "message": message, "detail": {}}]}).to_string();
    reply(status, "application/json", body.into(), None)
}

fn reply(status: StatusCode, content_type: &str, body: Bytes, digest: Option<&str>) -> Response {
    let mut response =
        Response::builder().status(status).header(header::CONTENT_TYPE, content_type).header(API, "registry/2.0");
    if let Some(digest) = digest {
        response = response.header(DIGEST, digest).header(header::ETAG, format!("\"{digest}\""));
    }
    response.body(body.into()).unwrap_or_else(|error| {
        let mut response = Response::new(Body::from(error.to_string()));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}
