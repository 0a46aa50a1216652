//! The sandbox's chart registry: the same releases as an HTTP chart repository and as an OCI
//! registry. It is anonymous and read-only over HTTP; releases appear by the acts below.

mod archive;
mod cosign;
mod helm;
mod oci;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use bytes::Bytes;
use jiff::Timestamp;

use super::loopback::{Loopback, hex_sha256, locked, sha256};
use archive::ChartFile;
use aws_lc_rs::signature::EcdsaKeyPair;
use cosign::Signature;

/// A registry that runs until this is dropped.
pub struct Charts {
    shelf: Shelf,
    server: Loopback,
    /// Signs what is to be signed.
    key: EcdsaKeyPair,
}

/// What the servers read: chart name, then version.
type Shelf = Arc<Mutex<BTreeMap<String, BTreeMap<String, Release>>>>;

/// One version of one chart, with everything that either protocol serves.
#[derive(Clone)]
struct Release {
    chart: ChartFile,
    created: Timestamp,
    archive: Bytes,
    /// `Chart.yaml` as JSON, the config blob of the OCI artefact.
    config: Bytes,
    manifest: Bytes,
    signature: Option<Signature>,
}

impl Release {
    fn pack(chart: ChartFile, created: Timestamp) -> anyhow::Result<Self> {
        let archive = archive::pack(&chart, created)?;
        let config = serde_json::to_vec(&chart)?;
        let manifest = oci::manifest(&chart, created, &config, &archive)?;
        Ok(Self {
            chart,
            created,
            archive: archive.into(),
            config: config.into(),
            manifest: manifest.into(),
            signature: None,
        })
    }
}

/// The digests under which one release can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digests {
    /// Of the archive, as `index.yaml` states it.
    pub archive: String,
    /// Of the OCI manifest.
    pub manifest: String,
}

impl Charts {
    /// Starts an empty registry on a free loopback port.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let shelf = Shelf::default();
        let router = Router::new().merge(helm::router(shelf.clone())).merge(oci::router(shelf.clone()));
        Ok(Self { shelf, server: Loopback::serve(router).await?, key: cosign::key()? })
    }

    /// Base URL of the HTTP chart repository: `index.yaml` lies below it.
    pub fn repository(&self) -> String {
        format!("{}/helm", self.server.url())
    }

    /// The OCI reference of a chart, without scheme and tag.
    pub fn reference(&self, chart: &str) -> String {
        format!("{}/charts/{chart}", self.host())
    }

    /// Host and port, as an allow list names them.
    pub fn host(&self) -> String {
        self.server.address().to_string()
    }

    /// Publishes a version with its author's notes, one line each.
    ///
    /// # Errors
    /// When that version exists (see [`Charts::republish`]), or the archive cannot be packed.
    pub fn publish(&self, chart: &str, version: &str, notes: &str) -> anyhow::Result<Digests> {
        self.publish_dated(chart, version, notes, super::clock::now())
    }

    /// As [`Charts::publish_with`], with the repository and the commit that the chart says it was made from.
    ///
    /// # Errors
    /// As there.
    pub fn publish_from(
        &self,
        chart: &str,
        version: &str,
        (repository, commit): (&str, &str),
        files: &[(&str, &str)],
    ) -> anyhow::Result<Digests> {
        let mut file = ChartFile::new(chart, version, "");
        file.files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let named = [("source", repository), ("revision", commit)];
        file.annotations.extend(named.map(|(key, text)| (format!("org.opencontainers.image.{key}"), text.to_owned())));
        self.put(file, super::clock::now())
    }

    /// As [`Charts::publish`], with files of its own: `values.yaml`, `values.schema.json`, templates.
    ///
    /// # Errors
    /// As there.
    pub fn publish_with(
        &self,
        chart: &str,
        version: &str,
        notes: &str,
        files: &[(&str, &str)],
    ) -> anyhow::Result<Digests> {
        let mut file = ChartFile::new(chart, version, notes);
        file.files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        self.put(file, super::clock::now())
    }

    /// As [`Charts::publish`], but created in the past.
    ///
    /// # Errors
    /// As there.
    pub fn publish_dated(&self, chart: &str, version: &str, notes: &str, at: Timestamp) -> anyhow::Result<Digests> {
        if locked(&self.shelf).get(chart).is_some_and(|versions| versions.contains_key(version)) {
            anyhow::bail!("{chart} {version} is published already; to put other content under it, republish it")
        }
        self.put(ChartFile::new(chart, version, notes), at)
    }

    /// Puts other content under a version that exists: every digest of it changes.
    ///
    /// # Errors
    /// When that version was never published, or the archive cannot be packed.
    pub fn republish(&self, chart: &str, version: &str) -> anyhow::Result<Digests> {
        let before = locked(&self.shelf).get(chart).and_then(|versions| versions.get(version)).cloned();
        let Some(mut release) = before else {
            anyhow::bail!("{chart} {version} was never published, so it cannot be replaced; publish it first")
        };
        release.chart.description.push_str(" (rebuilt)");
        self.put(release.chart, release.created)
    }

    /// Signs a version as it is now, as `cosign sign --key` does.
    ///
    /// # Errors
    /// When that version was never published.
    pub fn sign(&self, chart: &str, version: &str) -> anyhow::Result<()> {
        let (reference, mut shelf) = (self.reference(chart), locked(&self.shelf));
        let release = shelf.get_mut(chart).and_then(|versions| versions.get_mut(version));
        let Some(release) = release else { anyhow::bail!("{chart} {version} was never published; publish it first") };
        release.signature = Some(cosign::sign(&self.key, &reference, &release.manifest)?);
        Ok(())
    }

    /// The key by which they are signed, as PEM.
    pub fn public_key(&self) -> String {
        cosign::public(&self.key)
    }

    /// Takes a version away from both protocols; false when it was not there.
    pub fn yank(&self, chart: &str, version: &str) -> bool {
        locked(&self.shelf).get_mut(chart).is_some_and(|versions| versions.remove(version).is_some())
    }

    /// The versions of a chart, by name.
    pub fn versions(&self, chart: &str) -> Vec<String> {
        locked(&self.shelf).get(chart).map(|versions| versions.keys().cloned().collect()).unwrap_or_default()
    }

    fn put(&self, chart: ChartFile, created: Timestamp) -> anyhow::Result<Digests> {
        let (name, version) = (chart.name.clone(), chart.version.clone());
        let release = Release::pack(chart, created)?;
        let digests = Digests { archive: hex_sha256(&release.archive), manifest: sha256(&release.manifest) };
        locked(&self.shelf).entry(name).or_default().insert(version, release);
        Ok(digests)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::io::Read as _;

    use oci_client::client::{ClientConfig, ClientProtocol};
    use oci_client::secrets::RegistryAuth;
    use reqwest::StatusCode;
    use serde_json::Value;

    use super::*;

    async fn shelf() -> Charts {
        let charts = Charts::start().await.unwrap();
        for version in ["4.11.2", "4.9.0", "4.11.3"] {
            charts.publish("ingress-nginx", version, "First change\nSecond change").unwrap();
        }
        charts.publish("cert-manager", "1.15.0+build.7", "").unwrap();
        charts
    }

    fn oci() -> oci_client::Client {
        oci_client::Client::new(ClientConfig { protocol: ClientProtocol::Http, ..ClientConfig::default() })
    }

    #[tokio::test]
    async fn the_index_lists_newest_first_with_the_digest_of_the_archive() {
        let charts = shelf().await;
        let http = reqwest::Client::new();
        let text = http.get(format!("{}/index.yaml", charts.repository())).send().await.unwrap().text().await.unwrap();
        let index: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let entries = index["entries"]["ingress-nginx"].as_sequence().unwrap();
        let versions: Vec<_> = entries.iter().map(|entry| entry["version"].as_str().unwrap()).collect();
        assert_eq!(versions, ["4.11.3", "4.11.2", "4.9.0"]);
        let newest = &entries[0];
        assert_eq!(newest["annotations"]["artifacthub.io/changes"], "- First change\n- Second change\n");
        assert!(newest["created"].as_str().unwrap().parse::<Timestamp>().is_ok());

        let url = format!("{}/{}", charts.repository(), newest["urls"][0].as_str().unwrap());
        let archive = http.get(url).send().await.unwrap().bytes().await.unwrap();
        assert_eq!(newest["digest"].as_str().unwrap(), hex_sha256(&archive));
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(archive.as_ref()));
        let mut files = BTreeMap::new();
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.insert(entry.path().unwrap().display().to_string(), text);
        }
        assert_eq!(
            files.keys().collect::<Vec<_>>(),
            ["ingress-nginx/Chart.yaml", "ingress-nginx/templates/deployment.yaml", "ingress-nginx/values.yaml"]
        );
        let chart: serde_yaml::Value = serde_yaml::from_str(&files["ingress-nginx/Chart.yaml"]).unwrap();
        assert_eq!((chart["name"].as_str(), chart["version"].as_str()), (Some("ingress-nginx"), Some("4.11.3")));
    }

    #[tokio::test]
    async fn the_index_answers_conditional_requests() {
        let charts = shelf().await;
        let url = format!("{}/index.yaml", charts.repository());
        let http = reqwest::Client::new();
        let first = http.get(&url).send().await.unwrap();
        let etag = first.headers()["etag"].to_str().unwrap().to_owned();
        let ask = |tag: String| http.get(&url).header("if-none-match", tag).send();
        for (tag, status) in [
            (etag.clone(), StatusCode::NOT_MODIFIED),
            (format!("\"other\", W/{etag}"), StatusCode::NOT_MODIFIED),
            ("*".to_owned(), StatusCode::NOT_MODIFIED),
            ("\"other\"".to_owned(), StatusCode::OK),
        ] {
            assert_eq!(ask(tag.clone()).await.unwrap().status(), status, "{tag}");
        }
        charts.publish("ingress-nginx", "4.11.4", "").unwrap();
        assert_eq!(ask(etag).await.unwrap().status(), StatusCode::OK, "a new release changes the validator");
    }

    #[tokio::test]
    async fn the_oci_registry_serves_a_client_of_others() {
        let charts = shelf().await;
        let reference = format!("{}:1.15.0_build.7", charts.reference("cert-manager")).parse().unwrap();
        let (manifest, digest, config) =
            oci().pull_manifest_and_config(&reference, &RegistryAuth::Anonymous).await.unwrap();
        assert_eq!(digest, oci().fetch_manifest_digest(&reference, &RegistryAuth::Anonymous).await.unwrap());
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(
            (config["name"].as_str(), config["version"].as_str()),
            (Some("cert-manager"), Some("1.15.0+build.7"))
        );
        assert_eq!(manifest.layers[0].media_type, "application/vnd.cncf.helm.chart.content.v1.tar+gzip");
        let mut archive = Vec::new();
        oci().pull_blob(&reference, &manifest.layers[0], &mut archive).await.unwrap();
        assert_eq!(sha256(&archive), manifest.layers[0].digest);

        let url = format!("http://{}/v2/charts/cert-manager/manifests/{digest}", charts.host());
        let head = reqwest::Client::new().head(url).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::OK);
        assert_eq!(head.headers()["docker-content-digest"], digest.as_str());
        assert!(head.headers()["content-length"].to_str().unwrap().parse::<u64>().unwrap() > 100);
    }

    #[tokio::test]
    async fn tags_come_in_pages() {
        let charts = shelf().await;
        let list = format!("http://{}/v2/charts/ingress-nginx/tags/list", charts.host());
        let mut url = format!("{list}?n=2");
        let mut seen = Vec::new();
        loop {
            let page = reqwest::get(&url).await.unwrap();
            let next = page.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
            let body: Value = page.json().await.unwrap();
            seen.push(body["tags"].as_array().unwrap().len());
            let Some(next) = next else { break };
            let path = next.strip_prefix('<').unwrap().split('>').next().unwrap().to_owned();
            url = format!("http://{}{path}", charts.host());
        }
        assert_eq!(seen, [2, 1]);
        let repository = charts.reference("ingress-nginx").parse().unwrap();
        let all = oci().list_tags(&repository, &RegistryAuth::Anonymous, None, None).await.unwrap();
        assert_eq!(all.tags, ["4.11.2", "4.11.3", "4.9.0"]);
    }

    #[tokio::test]
    async fn other_content_and_a_yanked_version_are_seen_by_both_protocols() {
        let charts = shelf().await;
        let tag = format!("{}:4.11.3", charts.reference("ingress-nginx")).parse().unwrap();
        let digest = || async { oci().fetch_manifest_digest(&tag, &RegistryAuth::Anonymous).await };
        let before = digest().await.unwrap();
        let changed = charts.republish("ingress-nginx", "4.11.3").unwrap();
        assert_ne!(before, changed.manifest);
        assert_eq!(digest().await.unwrap(), changed.manifest);

        assert!(charts.yank("ingress-nginx", "4.11.3"));
        assert!(!charts.yank("ingress-nginx", "4.11.3"), "it is gone already");
        assert!(digest().await.is_err());
        let index = reqwest::get(format!("{}/index.yaml", charts.repository())).await.unwrap().text().await.unwrap();
        assert!(!index.contains("4.11.3"));
    }

    #[tokio::test]
    async fn what_is_not_there_is_refused_by_name() {
        let charts = shelf().await;
        assert!(charts.publish("ingress-nginx", "4.11.3", "").unwrap_err().to_string().contains("published already"));
        assert!(charts.republish("ingress-nginx", "9.9.9").unwrap_err().to_string().contains("never published"));
        for (path, code) in [
            ("charts/loki/tags/list", "NAME_UNKNOWN"),
            ("other/ingress-nginx/tags/list", "NAME_UNKNOWN"),
            ("charts/ingress-nginx/manifests/9.9.9", "MANIFEST_UNKNOWN"),
            ("charts/ingress-nginx/blobs/sha256:00", "BLOB_UNKNOWN"),
            ("charts/ingress-nginx/referrers/x", "UNSUPPORTED"),
        ] {
            let answer = reqwest::get(format!("http://{}/v2/{path}", charts.host())).await.unwrap();
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
            assert_eq!(answer.json::<Value>().await.unwrap()["errors"][0]["code"], code, "{path}");
        }
    }
}
