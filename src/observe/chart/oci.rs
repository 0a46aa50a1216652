//! An OCI repository whose tags are versions: `_` in a tag is `+` in a version. Each answer is
//! checked against its digest; a tag without a chart behind it is no release.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use compare::MAX_PACKAGE;
use decide::{Digest, Version};
use http::StatusCode;
use oci_client::manifest::OciImageManifest;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::cosign;
use super::found::{Answer, Contents, Found, Source, SourceError, Verdict, proven, sha256, status};
use super::meta;
use super::provenance;
use super::registry::Registry;
use super::signers::{NOBODY, Signers};
use crate::observe::net::{Net, plain};

const CHART: &str = "application/vnd.cncf.helm.config.v1+json";
/// The package of a chart, as Helm has pushed it since 3.7, and before.
const PACKAGES: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
/// Its provenance file (`pkg/registry/constants.go` in helm/helm).
const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";
/// Tags in one page; registries may give fewer.
const PAGE: usize = 1000;
const MAX_PAGES: usize = 500;
const MAX_TAGS: usize = 200_000;
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
const MAX_CONFIG: usize = 1024 * 1024;
/// Versions whose metadata is kept.
const MAX_KEPT: usize = 512;

pub(super) struct Artifacts {
    registry: Registry,
    name: String,
    /// By the manifest's digest, which fixes all of it.
    kept: Mutex<BTreeMap<Digest, Found>>,
    newest: Mutex<Option<Version>>,
}

#[derive(Deserialize)]
struct Page {
    /// Some registries say null where there is none.
    tags: Option<Vec<String>>,
}

impl Artifacts {
    pub fn new(reference: &str, plain_http: bool, net: &Net) -> Result<Self, SourceError> {
        Ok(Self {
            registry: Registry::new(reference, plain_http, net)?,
            name: reference.rsplit('/').next().unwrap_or(reference).to_string(),
            kept: Mutex::new(BTreeMap::new()),
            newest: Mutex::new(None),
        })
    }

    /// Every tag. Pages are asked for by the last tag, because not every registry sends a link, and
    /// because a link could lead elsewhere.
    async fn tags(&self) -> Result<BTreeSet<String>, SourceError> {
        let mut tags: BTreeSet<String> = BTreeSet::new();
        let mut url = self.registry.url("tags/list")?;
        for _ in 0..MAX_PAGES {
            let page = self.page(&url).await?;
            let Some(last) = page.last().cloned() else { return Ok(tags) };
            let before = tags.len();
            tags.extend(page);
            // A registry that knows no pages sends the same again.
            if tags.len() == before {
                return Ok(tags);
            }
            if tags.len() > MAX_TAGS {
                break;
            }
            url.query_pairs_mut().clear().append_pair("n", &PAGE.to_string()).append_pair("last", &last);
        }
        let why = format!("more than {MAX_TAGS} tags or {MAX_PAGES} pages");
        Err(SourceError::Malformed { url: plain(&url), expected: "a list of tags", why })
    }

    async fn page(&self, url: &Url) -> Result<Vec<String>, SourceError> {
        let mut url = url.clone();
        if url.query().is_none() {
            url.query_pairs_mut().append_pair("n", &PAGE.to_string());
        }
        let answer = self.registry.get(&url, "application/json", MAX_PAGE_BYTES).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(SourceError::NoSuchChart { url: plain(&url), name: self.name.clone() });
            }
            _ => return Err(status(&url, &answer)),
        }
        let page: Page =
            serde_json::from_slice(&answer.body).map_err(|error| malformed(&url, "a list of tags", &error))?;
        Ok(page.tags.unwrap_or_default())
    }

    async fn found(&self, version: &Version) -> Result<Option<Found>, SourceError> {
        let url = self.registry.url(&format!("manifests/{}", version.as_str().replace('+', "_")))?;
        let answer = self.registry.manifest(&url).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(status(&url, &answer)),
        }
        let digest = sha256(&answer.body);
        let told = answer.headers.get("docker-content-digest").and_then(|value| value.to_str().ok());
        if told.is_some_and(|told| told.starts_with("sha256:") && told != digest.as_str()) {
            return Err(malformed(&url, "a manifest", &"its bytes have another digest than the registry says"));
        }
        if let Some(found) =
            self.kept.lock().await.get(&digest).filter(|found| found.version.as_str() == version.as_str())
        {
            return Ok(Some(found.clone()));
        }
        let manifest: OciImageManifest =
            serde_json::from_slice(&answer.body).map_err(|error| malformed(&url, "an OCI image manifest", &error))?;
        if manifest.config.media_type != CHART {
            let why = format!("its config is of type {:?}", manifest.config.media_type);
            return Err(malformed(&url, "a Helm chart", &why));
        }
        let chart = self.chart(&manifest.config.digest).await?;
        let written = chart.get("version").and_then(Value::as_str).unwrap_or_default();
        if written.parse::<Version>().ok().is_none_or(|written| !written.proves(version)) {
            let why = format!("its Chart.yaml says {written:?}");
            return Err(malformed(&url, "the chart of this version", &why));
        }
        let around = manifest.annotations.unwrap_or_default();
        let found = meta::found_with(version.clone(), Some(digest.clone()), &chart, &around);
        let mut kept = self.kept.lock().await;
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(digest, found.clone());
        Ok(Some(found))
    }

    /// The manifest by its digest: what a tag leads to may be another one by now.
    async fn manifest_of(&self, digest: &Digest) -> Result<Option<OciImageManifest>, SourceError> {
        let url = self.registry.url(&format!("manifests/{digest}"))?;
        let answer = self.registry.manifest(&url).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            _ => return Err(status(&url, &answer)),
        }
        let body = proven(&url, answer.body, Some(digest))?;
        serde_json::from_slice(&body).map(Some).map_err(|error| malformed(&url, "an OCI image manifest", &error))
    }

    async fn package_of(&self, found: &Found) -> Result<Option<Bytes>, SourceError> {
        let Some(digest) = &found.digest else { return Ok(None) };
        let Some(manifest) = self.manifest_of(digest).await? else { return Ok(None) };
        let Some(package) = package(&manifest) else {
            let url = self.registry.url(&format!("manifests/{digest}"))?;
            return Err(malformed(&url, "a Helm chart", &"it does not have one layer with a package"));
        };
        self.content(package, MAX_PACKAGE).await
    }

    /// What the layer beside the package says of it.
    async fn provenance_of(&self, found: &Found, digest: &Digest, signers: &Signers) -> Result<Verdict, SourceError> {
        let manifest = self.manifest_of(digest).await?;
        let Some(package) = manifest.as_ref().and_then(package) else {
            return Ok(Err("it is no chart with one package".to_string()));
        };
        let layer = manifest.iter().flat_map(|manifest| &manifest.layers).find(|layer| layer.media_type == PROVENANCE);
        let file = match layer {
            Some(layer) => self.content(&layer.digest, provenance::MOST).await?,
            None => None,
        };
        let package = Digest::new(package);
        Ok(signers.provenance(file.as_deref(), (&self.name, &found.version), &package))
    }

    /// The bytes of a layer.
    async fn content(&self, digest: &str, most: usize) -> Result<Option<Bytes>, SourceError> {
        let url = self.blob(digest)?;
        let answer = self.registry.get(&url, "*/*", most).await?;
        match answer.status {
            StatusCode::OK => proven(&url, answer.body, Some(&Digest::new(digest))).map(Some),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(status(&url, &answer)),
        }
    }

    fn blob(&self, digest: &str) -> Result<Url, SourceError> {
        let valid = digest.strip_prefix("sha256:").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if !valid {
            let url = self.registry.url(".")?;
            return Err(malformed(&url, "a manifest with a SHA-256 digest", &format!("{digest:?}")));
        }
        self.registry.url(&format!("blobs/{digest}"))
    }

    /// The `Chart.yaml` of a chart, as JSON.
    async fn chart(&self, digest: &str) -> Result<Value, SourceError> {
        let url = self.blob(digest)?;
        let answer = self.registry.get(&url, "*/*", MAX_CONFIG).await?;
        if answer.status != StatusCode::OK {
            return Err(status(&url, &answer));
        }
        parse(&url, &answer.body, digest)
    }
}

/// The digest of the one package in it.
fn package(manifest: &OciImageManifest) -> Option<&str> {
    let mut layers = manifest.layers.iter().filter(|layer| PACKAGES.contains(&layer.media_type.as_str()));
    let (Some(layer), None) = (layers.next(), layers.next()) else { return None };
    Some(&layer.digest)
}

fn parse(url: &Url, body: &Bytes, digest: &str) -> Result<Value, SourceError> {
    if sha256(body).as_str() != digest {
        return Err(malformed(url, "the blob of this digest", &"its bytes have another one"));
    }
    serde_json::from_slice(body).map_err(|error| malformed(url, "a Chart.yaml as JSON", &error))
}

fn malformed(url: &Url, expected: &'static str, why: &dyn std::fmt::Display) -> SourceError {
    SourceError::Malformed { url: plain(url), expected, why: why.to_string().chars().take(200).collect() }
}

impl Source for Artifacts {
    fn versions(&self) -> Answer<'_, Result<Vec<Version>, SourceError>> {
        Box::pin(async {
            let tags = self.tags().await?;
            let versions: Vec<Version> = tags.iter().filter_map(|tag| tag.replacen('_', "+", 1).parse().ok()).collect();
            if versions.len() < tags.len() {
                let left_out = tags.len() - versions.len();
                tracing::info!(chart = self.name, left_out, "tags that are no SemVer 2 version");
            }
            let mut newest = self.newest.lock().await;
            let present = versions.iter().max().cloned();
            if let Some(before) = newest.as_ref().filter(|before| present.as_ref() < Some(*before)) {
                tracing::warn!(chart = self.name, version = %before, "the newest version is gone from the registry");
            }
            *newest = present;
            Ok(versions)
        })
    }

    fn describe<'a>(&'a self, version: &'a Version) -> Answer<'a, Result<Option<Found>, SourceError>> {
        Box::pin(self.found(version))
    }

    fn contents<'a>(&'a self, found: &'a Found) -> Answer<'a, Result<Option<Contents>, SourceError>> {
        Box::pin(async { Ok(self.package_of(found).await?.map(Contents::of_chart)) })
    }

    fn signed<'a>(&'a self, found: &'a Found, signers: &'a Signers) -> Answer<'a, Result<Verdict, SourceError>> {
        Box::pin(async move {
            let Some(digest) = &found.digest else { return Ok(Err("it has no digest".to_string())) };
            let mut verdict = Err(NOBODY.to_string());
            if signers.read_cosign() {
                verdict = cosign::signed(&self.registry, digest, &found.version, signers).await?;
            }
            if verdict.is_err() && signers.read_provenance() {
                // A signature that is there and does not count says more than a file that is not.
                let other = self.provenance_of(found, digest, signers).await?;
                let absent = other.as_ref().is_err_and(|why| why == NOBODY);
                verdict = if absent { verdict } else { other };
            }
            Ok(verdict)
        })
    }
}

#[cfg(test)]
mod tests;
