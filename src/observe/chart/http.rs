//! A chart repository with an `index.yaml`. The index is asked for conditionally, and what it says
//! of the one chart is kept until it changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use compare::MAX_PACKAGE;
use decide::Version;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use tokio::sync::Mutex;
use url::Url;

use super::found::{Answer, Contents, Found, Source, SourceError, Verdict, closed, is_closed, proven, status};
use super::index;
use super::index::Entry;
use super::provenance;
use super::registry::credentials;
use super::shared::{Index, Told};
use super::signers::Signers;
use crate::observe::net::{Net, plain};

pub(super) struct Repository {
    index: Arc<Index>,
    chart: String,
    net: Net,
    kept: Mutex<Option<Kept>>,
}

/// What the index said last of the chart, and which body that was.
struct Kept {
    number: u64,
    releases: Arc<BTreeMap<String, Entry>>,
}

impl Repository {
    pub fn new(index: Arc<Index>, chart: &str, net: &Net) -> Self {
        Self { index, chart: chart.to_string(), net: net.clone(), kept: Mutex::new(None) }
    }

    /// The releases as the index had them when it was last asked.
    async fn known(&self) -> Result<Arc<BTreeMap<String, Entry>>, SourceError> {
        let known = self.kept.lock().await.as_ref().map(|kept| Arc::clone(&kept.releases));
        match known {
            Some(releases) => Ok(releases),
            None => self.releases().await,
        }
    }

    /// The releases as the index has them now.
    async fn releases(&self) -> Result<Arc<BTreeMap<String, Entry>>, SourceError> {
        let mut kept = self.kept.lock().await;
        let (number, body) = match (self.index.ask(kept.as_ref().map(|kept| kept.number)).await?, kept.as_ref()) {
            (Told::Body(number, body), _) => (number, body),
            (Told::Unchanged, Some(kept)) => return Ok(Arc::clone(&kept.releases)),
            (Told::Unchanged, None) => return Err(self.malformed("it says that nothing has changed".to_string())),
        };
        let releases = Arc::new(self.read(body).await?);
        if let Some(gone) = kept.as_ref().and_then(|kept| gone(&kept.releases, &releases)) {
            tracing::warn!(index = %plain(&self.index.url), chart = self.chart, version = %gone, "the newest version is gone from the index");
        }
        *kept = Some(Kept { number, releases: Arc::clone(&releases) });
        Ok(releases)
    }

    fn malformed(&self, why: String) -> SourceError {
        SourceError::Malformed { url: plain(&self.index.url), expected: "a chart index", why }
    }

    async fn package_of(&self, found: &Found) -> Result<Option<Bytes>, SourceError> {
        let Some(url) = self.address(found).await? else { return Ok(None) };
        let body = self.get(&url, MAX_PACKAGE).await?;
        body.map(|body| proven(&url, body, found.digest.as_ref())).transpose()
    }

    /// Where a package is.
    async fn address(&self, found: &Found) -> Result<Option<Url>, SourceError> {
        let releases = self.known().await?;
        let Some(entry) = releases.get(found.version.as_str()) else { return Ok(None) };
        let malformed = |why: String| self.malformed(why);
        let named = entry.package().ok_or_else(|| malformed(format!("{} has no `urls`", found.version)))?;
        // Below the index, or an address of its own; a login goes to its own host alone.
        let url = self.index.url.join(named);
        url.map(Some).map_err(|error| malformed(format!("`urls` of {}: {error}", found.version)))
    }

    /// What is there; none where nothing is.
    async fn get(&self, url: &Url, most: usize) -> Result<Option<Bytes>, SourceError> {
        self.net.check(url)?;
        let mut headers = HeaderMap::new();
        let login = self.net.login(url)?;
        if let Some(value) = login.as_ref().and_then(|found| credentials(&found.login)) {
            headers.insert(AUTHORIZATION, value);
        }
        let answer = self.net.get(url, headers, most).await?;
        match answer.status {
            StatusCode::OK => Ok(Some(answer.body)),
            StatusCode::NOT_FOUND => Ok(None),
            _ if is_closed(&answer) => {
                Err(closed(url, &answer, login.as_ref().map(|found| found.file.as_path()), &self.net))
            }
            _ => Err(status(url, &answer)),
        }
    }

    /// What the file beside a package says of it (`pkg/downloader/chart_downloader.go` in helm/helm).
    async fn provenance_of(&self, found: &Found, signers: &Signers) -> Result<Verdict, SourceError> {
        let (Some(digest), Some(mut url)) = (&found.digest, self.address(found).await?) else {
            return Ok(Err("the index has no digest of it".to_string()));
        };
        url.set_path(&format!("{}.prov", url.path()));
        let body = self.get(&url, provenance::MOST).await?;
        Ok(signers.provenance(body.as_deref(), (&self.chart, &found.version), digest))
    }

    async fn read(&self, body: Arc<Bytes>) -> Result<BTreeMap<String, Entry>, SourceError> {
        let malformed = |why: String| self.malformed(why);
        let chart = self.chart.clone();
        // Seconds of work where the index is large and laid out unusually.
        let read = tokio::task::spawn_blocking(move || {
            let text = std::str::from_utf8(&body).map_err(|error| error.to_string())?;
            index::read(text, &chart)
        });
        let listed = match read.await {
            Ok(Ok(Some(listed))) => listed,
            Ok(Ok(None)) => {
                return Err(SourceError::NoSuchChart { url: plain(&self.index.url), name: self.chart.clone() });
            }
            Ok(Err(why)) => return Err(malformed(why)),
            Err(error) => return Err(malformed(error.to_string())),
        };
        if listed.left_out > 0 {
            tracing::info!(index = %plain(&self.index.url), chart = self.chart, left_out = listed.left_out, "entries without a SemVer 2 version");
        }
        Ok(listed.releases)
    }
}

/// The newest version of before, when it is there no more (`docs/attacks.md`, A38).
fn gone<'a>(before: &'a BTreeMap<String, Entry>, now: &BTreeMap<String, Entry>) -> Option<&'a Version> {
    let newest = before.values().map(|entry| &entry.version).max()?;
    (!now.contains_key(newest.as_str())).then_some(newest)
}

impl Source for Repository {
    fn versions(&self) -> Answer<'_, Result<Vec<Version>, SourceError>> {
        Box::pin(async { Ok(self.releases().await?.values().map(|entry| entry.version.clone()).collect()) })
    }

    fn describe<'a>(&'a self, version: &'a Version) -> Answer<'a, Result<Option<Found>, SourceError>> {
        Box::pin(async {
            // Asking for the versions looks at the index again; one request answers for all of them.
            let releases = self.known().await?;
            let same = || releases.values().find(|entry| entry.version.proves(version));
            Ok(releases.get(version.as_str()).or_else(same).map(Entry::found))
        })
    }

    fn contents<'a>(&'a self, found: &'a Found) -> Answer<'a, Result<Option<Contents>, SourceError>> {
        Box::pin(async { Ok(self.package_of(found).await?.map(Contents::of_chart)) })
    }

    fn signed<'a>(&'a self, found: &'a Found, signers: &'a Signers) -> Answer<'a, Result<Verdict, SourceError>> {
        Box::pin(self.provenance_of(found, signers))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::observe::net::{Logins, NetSettings, written};
    use axum::Router;
    use axum::extract::State;
    use axum::response::{IntoResponse, Response};
    use axum::routing::get;
    use http::header::{ETAG, IF_NONE_MATCH};
    use jiff::SignedDuration;

    /// A server with one index; it counts how often it sent the whole and how often nothing.
    #[derive(Clone, Default)]
    struct Shelf(Arc<std::sync::Mutex<World>>);

    #[derive(Default)]
    struct World {
        index: String,
        status: Option<StatusCode>,
        sent: usize,
        unchanged: usize,
        authorization: Option<String>,
    }

    impl Shelf {
        fn counts(&self) -> (usize, usize) {
            let world = self.0.lock().unwrap();
            (world.sent, world.unchanged)
        }
    }

    async fn serve(State(shelf): State<Shelf>, headers: HeaderMap) -> Response {
        let mut world = shelf.0.lock().unwrap();
        world.authorization = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_string());
        if let Some(status) = world.status {
            return status.into_response();
        }
        let etag = format!("\"{}\"", world.index.len());
        if headers.get(IF_NONE_MATCH).is_some_and(|value| *value == etag) {
            world.unchanged += 1;
            return StatusCode::NOT_MODIFIED.into_response();
        }
        world.sent += 1;
        ([(ETAG, etag)], world.index.clone()).into_response()
    }

    async fn start(index: &str) -> (Shelf, String) {
        let shelf = Shelf::default();
        shelf.0.lock().unwrap().index = index.to_string();
        let router = Router::new().route("/charts/index.yaml", get(serve)).with_state(shelf.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (shelf, host)
    }

    fn of(url: &str, net: &Net) -> Result<Repository, SourceError> {
        Ok(Repository::new(Arc::new(Index::new(url, net, SignedDuration::ZERO)?), "loki", net))
    }

    fn repository(host: &str) -> Repository {
        of(&format!("http://{host}/charts/"), &Net::new(vec![host.to_string()]).unwrap()).unwrap()
    }

    const INDEX: &str = "entries:\n  loki:\n  - version: v1.1.0\n  - version: 1.0.0\n";

    #[tokio::test]
    async fn the_index_is_sent_once_until_it_changes() {
        let (shelf, host) = start(INDEX).await;
        let source = repository(&host);
        let mut versions = source.versions().await.unwrap();
        versions.sort();
        assert_eq!(versions.iter().map(Version::as_str).collect::<Vec<_>>(), ["1.0.0", "v1.1.0"]);
        let found = source.describe(&"1.1.0".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(found.version.as_str(), "v1.1.0", "written with and without its v, it is the same");
        assert_eq!(source.describe(&"2.0.0".parse().unwrap()).await.unwrap(), None);
        assert_eq!(shelf.counts(), (1, 0), "one request tells of all versions");
        source.versions().await.unwrap();
        assert_eq!(shelf.counts(), (1, 1));
        shelf.0.lock().unwrap().index.push_str("  - version: 2.0.0\n");
        source.versions().await.unwrap();
        assert!(source.describe(&"2.0.0".parse().unwrap()).await.unwrap().is_some());
        assert_eq!(shelf.counts(), (2, 1));
        assert_eq!(
            repository(&host).describe(&"2.0.0".parse().unwrap()).await.unwrap().unwrap().version.as_str(),
            "2.0.0"
        );
    }

    #[tokio::test]
    async fn plugins_of_one_repository_share_its_index() {
        let (shelf, host) = start("entries:\n  loki:\n  - version: 1.0.0\n  mimir:\n  - version: 2.0.0\n").await;
        let net = Net::new(vec![host.clone()]).unwrap();
        let index =
            Arc::new(Index::new(&format!("http://{host}/charts"), &net, SignedDuration::from_secs(60)).unwrap());
        let [loki, mimir] = ["loki", "mimir"].map(|chart| Repository::new(Arc::clone(&index), chart, &net));
        let both = async || {
            let (loki, mimir) = futures_util::future::join(loki.versions(), mimir.versions()).await;
            [loki.unwrap(), mimir.unwrap()].map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(both().await, ["1.0.0", "2.0.0"]);
        assert_eq!(shelf.counts(), (1, 0), "one request for both");
        assert_eq!(both().await, ["1.0.0", "2.0.0"]);
        assert_eq!(shelf.counts(), (1, 0), "its answer is fresh");
        // Who comes later, when nobody holds the body any more, asks for all of it.
        let tempo = Repository::new(Arc::clone(&index), "loki", &net);
        assert_eq!(tempo.versions().await.unwrap().len(), 1);
        assert_eq!(shelf.counts(), (2, 0));
    }

    #[tokio::test]
    async fn what_cannot_be_read_says_so_and_is_asked_again() {
        let (shelf, host) = start("entries:\n  other: []\n").await;
        let source = repository(&host);
        assert!(matches!(source.versions().await, Err(SourceError::NoSuchChart { name, .. }) if name == "loki"));
        shelf.0.lock().unwrap().index = "<html>".to_string();
        assert!(matches!(source.versions().await, Err(SourceError::Malformed { .. })));
        shelf.0.lock().unwrap().status = Some(StatusCode::BAD_GATEWAY);
        let error = source.versions().await.unwrap_err();
        assert!(matches!(&error, SourceError::Unreachable { why, .. } if why.contains("502")), "{error}");
        shelf.0.lock().unwrap().status = Some(StatusCode::NOT_MODIFIED);
        assert!(source.versions().await.is_err(), "nothing is kept that could be unchanged");
        shelf.0.lock().unwrap().status = None;
        shelf.0.lock().unwrap().index = INDEX.to_string();
        assert_eq!(source.versions().await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_login_is_sent_to_its_host() {
        let (shelf, host) = start(INDEX).await;
        let file = written(&[(&host, "\"auth\": \"bWU6cHc=\"")]);
        let logins = Logins::open(vec![file.path().to_path_buf()]).unwrap();
        let settings = NetSettings { allow: vec![host.clone()], logins, ..NetSettings::default() };
        let net = Net::open(settings).unwrap();
        let source = of(&format!("http://{host}/charts"), &net).unwrap();
        source.versions().await.unwrap();
        assert_eq!(shelf.0.lock().unwrap().authorization.as_deref(), Some("Basic bWU6cHc="));
        shelf.0.lock().unwrap().status = Some(StatusCode::UNAUTHORIZED);
        let error = source.versions().await.unwrap_err().to_string();
        assert!(error.contains(&file.path().display().to_string()) && error.contains("has run out"), "{error}");
    }

    #[test]
    fn addresses_are_checked_before_anything_is_asked() {
        let net = Net::new(Vec::new()).unwrap();
        for bad in [
            "",
            "charts",
            "ftp://x.example",
            "http://x.example",
            "https://10.0.0.1/charts",
            "mailto:x@y",
            "https://u:p@x.example",
        ] {
            assert!(matches!(of(bad, &net), Err(SourceError::Refused { .. })), "{bad}");
        }
        let repository = of("https://x.example/a?b=c", &net).unwrap();
        assert_eq!(repository.index.url.as_str(), "https://x.example/a/index.yaml?b=c");
    }
}
