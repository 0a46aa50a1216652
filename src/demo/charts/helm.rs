//! The HTTP chart repository: `index.yaml` and the archives, with validators for conditional
//! requests.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use serde::Serialize;

use super::archive::ChartFile;
use super::{Release, Shelf};
use crate::loopback::{hex_sha256, locked};

pub(super) fn router(shelf: Shelf) -> Router {
    Router::new().route("/helm/index.yaml", get(index)).route("/helm/{archive}", get(archive)).with_state(shelf)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    api_version: &'static str,
    entries: BTreeMap<&'a str, Vec<Entry<'a>>>,
    generated: String,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    chart: &'a ChartFile,
    created: String,
    digest: String,
    urls: [String; 1],
}

async fn index(State(shelf): State<Shelf>, headers: HeaderMap) -> Response {
    let shelf = locked(&shelf).clone();
    let entries = shelf.iter().map(|(name, versions)| (name.as_str(), entries(versions))).collect();
    // Dated by the newest release, not by the request: unchanged content keeps its validator.
    let newest = shelf.values().flat_map(BTreeMap::values).map(|release| release.created).max();
    let generated = newest.unwrap_or(Timestamp::UNIX_EPOCH).to_string();
    match serde_yaml::to_string(&Index { api_version: "v1", entries, generated }) {
        Ok(text) => answer(&headers, "text/yaml; charset=utf-8", text.into()),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Newest first, as `helm repo index` writes them.
fn entries(versions: &BTreeMap<String, Release>) -> Vec<Entry<'_>> {
    let mut releases: Vec<&Release> = versions.values().collect();
    releases.sort_by_key(|release| std::cmp::Reverse(semver::Version::parse(&release.chart.version).ok()));
    releases
        .into_iter()
        .map(|release| Entry {
            chart: &release.chart,
            created: release.created.to_string(),
            digest: hex_sha256(&release.archive),
            urls: [file_name(release)],
        })
        .collect()
}

fn file_name(release: &Release) -> String {
    format!("{}-{}.tgz", release.chart.name, release.chart.version)
}

async fn archive(State(shelf): State<Shelf>, Path(wanted): Path<String>, headers: HeaderMap) -> Response {
    let found = locked(&shelf)
        .values()
        .flat_map(BTreeMap::values)
        .find(|release| file_name(release) == wanted)
        .map(|release| release.archive.clone());
    match found {
        Some(bytes) => answer(&headers, "application/gzip", bytes),
        None => plain(StatusCode::NOT_FOUND, &format!("there is no {wanted} in this chart repository\n")),
    }
}

/// The body with a strong validator, or 304 when the caller has it already.
fn answer(asked: &HeaderMap, content_type: &'static str, body: Bytes) -> Response {
    let etag = format!("\"{}\"", hex_sha256(&body));
    let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let known = known.flat_map(|value| value.split(',')).any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.trim_start_matches("W/") == etag
    });
    let response = Response::builder().header(header::ETAG, etag).header(header::CACHE_CONTROL, "no-cache");
    let response = if known {
        response.status(StatusCode::NOT_MODIFIED).body(Body::empty())
    } else {
        response.header(header::CONTENT_TYPE, content_type).body(body.into())
    };
    response.unwrap_or_else(|error| plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()))
}

fn plain(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response
}
