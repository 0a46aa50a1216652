//! Tags, manifests and tokens over a registry of the test's own.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::{Arc, Mutex as Lock};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use serde_json::json;

use super::*;
use crate::observe::net::{Logins, NetSettings, written};

/// A registry of one repository, `charts/loki`.
#[derive(Clone, Default)]
struct World(Arc<Lock<Registered>>);

#[derive(Default)]
struct Registered {
    tags: Vec<String>,
    /// At most so many in a page; 0 = it knows no pages.
    page: usize,
    manifests: BTreeMap<String, String>,
    blobs: BTreeMap<String, String>,
    /// The challenge that is sent to whoever shows nothing.
    challenge: Option<String>,
    /// What opens.
    key: Option<String>,
    /// Where blobs are.
    elsewhere: Option<String>,
    digest_header: Option<String>,
    /// Its realm gives no tokens.
    refuses: bool,
    seen: Vec<(String, Option<String>)>,
}

impl World {
    fn push(&self, version: &str, chart: &Value) -> String {
        let mut world = self.0.lock().unwrap();
        let config = chart.to_string();
        let digest = sha256(config.as_bytes()).to_string();
        let tag = version.replace('+', "_");
        let layer =
            json!({"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": digest, "size": 1});
        let manifest = json!({"schemaVersion": 2, "config": {"mediaType": CHART, "digest": digest, "size": config.len()}, "layers": [layer]});
        world.blobs.insert(digest, config);
        world.manifests.insert(tag.clone(), manifest.to_string());
        world.tags.push(tag);
        world.tags.sort();
        sha256(manifest.to_string().as_bytes()).to_string()
    }

    fn seen(&self, part: &str) -> usize {
        self.0.lock().unwrap().seen.iter().filter(|(path, _)| path.contains(part)).count()
    }
}

fn shown(headers: &HeaderMap) -> Option<String> {
    headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_string())
}

async fn serve(
    State(world): State<World>,
    Path(path): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let mut world = world.0.lock().unwrap();
    world.seen.push((uri.to_string(), shown(&headers)));
    if world.key.is_some() && shown(&headers) != world.key {
        let challenge = world.challenge.clone().unwrap();
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response();
    }
    match path.rsplit_once('/') {
        Some(("charts/loki/tags", "list")) => {
            let after = query.get("last").cloned().filter(|_| world.page > 0).unwrap_or_default();
            let most = if world.page > 0 { world.page } else { usize::MAX };
            let tags: Vec<&String> = world.tags.iter().filter(|tag| **tag > after).take(most).collect();
            json!({"name": "charts/loki", "tags": tags}).to_string().into_response()
        }
        Some(("charts/loki/manifests", tag)) => match world.manifests.get(tag) {
            Some(manifest) => {
                let digest = world.digest_header.clone().unwrap_or_else(|| sha256(manifest.as_bytes()).to_string());
                ([("docker-content-digest", digest)], manifest.clone()).into_response()
            }
            None => StatusCode::NOT_FOUND.into_response(),
        },
        Some(("charts/loki/blobs", digest)) => match (&world.elsewhere, world.blobs.get(digest)) {
            (Some(host), _) => Redirect::temporary(&format!("http://{host}/cdn/{digest}")).into_response(),
            (None, Some(blob)) => blob.clone().into_response(),
            (None, None) => StatusCode::NOT_FOUND.into_response(),
        },
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn token(State(world): State<World>, uri: Uri, headers: HeaderMap, body: String) -> Response {
    let mut world = world.0.lock().unwrap();
    let path = if body.is_empty() { uri.to_string() } else { format!("{uri}?{body}") };
    world.seen.push((path, shown(&headers)));
    if world.refuses {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    json!({"access_token": "opened"}).to_string().into_response()
}

async fn cdn(State(world): State<World>, Path(digest): Path<String>, uri: Uri, headers: HeaderMap) -> Response {
    let mut world = world.0.lock().unwrap();
    world.seen.push((uri.to_string(), shown(&headers)));
    world.blobs.get(&digest).cloned().into_response_or_404()
}

trait OrNotFound {
    fn into_response_or_404(self) -> Response;
}

impl OrNotFound for Option<String> {
    fn into_response_or_404(self) -> Response {
        self.map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response)
    }
}

async fn start(world: &World) -> String {
    let router = Router::new()
        .route("/v2/{*path}", get(serve))
        .route("/token", get(token).post(token))
        .route("/cdn/{digest}", get(cdn))
        .with_state(world.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    host
}

fn source(host: &str, allow: &[&str], logins: &[&std::path::Path]) -> Artifacts {
    let settings = NetSettings {
        allow: allow.iter().chain(&[host]).map(ToString::to_string).collect(),
        logins: Logins::open(logins.iter().map(|file| file.to_path_buf()).collect()).unwrap(),
        ..NetSettings::default()
    };
    Artifacts::new(&format!("{host}/charts/loki"), true, &Net::open(settings).unwrap()).unwrap()
}

fn chart(version: &str) -> Value {
    json!({"name": "loki", "version": version, "home": "https://grafana.example",
        "annotations": {"artifacthub.io/changes": "- kind: added\n  description: a knob\n"}})
}

async fn versions(source: &Artifacts) -> Vec<String> {
    let mut versions = source.versions().await.unwrap();
    versions.sort();
    versions.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn tags_are_read_page_by_page_until_there_are_no_more() {
    let world = World::default();
    for patch in 0..7 {
        world.push(&format!("1.0.{patch}"), &json!({}));
    }
    world.push("1.1.0-rc.1+abc", &json!({}));
    world.push("latest", &json!({}));
    world.push("1.1", &json!({}));
    let host = start(&world).await;
    for page in [0, 1, 3, 100] {
        world.0.lock().unwrap().page = page;
        let found = versions(&source(&host, &[], &[])).await;
        assert_eq!(found.len(), 8, "{page}: {found:?}");
        assert_eq!(found.last().unwrap(), "1.1.0-rc.1+abc");
    }
}

#[tokio::test]
async fn a_version_is_described_by_its_manifest_and_config() {
    let world = World::default();
    let digest = world.push("1.2.0+build.1", &chart("1.2.0+build.1"));
    let host = start(&world).await;
    let source = source(&host, &[], &[]);
    let version: Version = "1.2.0+build.1".parse().unwrap();
    let found = source.describe(&version).await.unwrap().unwrap();
    assert_eq!(found.digest.as_ref().unwrap().as_str(), digest);
    assert_eq!(
        (found.notes.as_deref(), found.home.as_deref()),
        (Some("- added: a knob"), Some("https://grafana.example"))
    );
    assert_eq!(source.describe(&version).await.unwrap().unwrap(), found);
    assert_eq!((world.seen("manifests"), world.seen("blobs")), (2, 1), "the digest is read again, the chart is not");
    assert_eq!(source.describe(&"9.9.9".parse().unwrap()).await.unwrap(), None);
    world.0.lock().unwrap().tags.clear();
    world.push("1.2.0+build.1", &json!({"version": "1.2.0+build.1", "description": "other content"}));
    assert_ne!(source.describe(&version).await.unwrap().unwrap().digest, found.digest, "published again");
}

#[tokio::test]
async fn what_is_no_chart_is_refused() {
    let world = World::default();
    world.push("1.0.0", &chart("2.0.0"));
    world.push("1.0.1", &chart("1.0.1"));
    world.push("1.0.2", &chart("1.0.2"));
    world.push("1.0.3", &chart("1.0.3"));
    {
        let mut world = world.0.lock().unwrap();
        let image = world.manifests["1.0.1"].replace(CHART, "application/vnd.oci.image.config.v1+json");
        world.manifests.insert("1.0.1".into(), image);
        world.manifests.insert("1.0.2".into(), "{}".into());
        let blob = sha256(chart("1.0.3").to_string().as_bytes()).to_string();
        world.blobs.insert(blob, "{\"version\":\"1.0.3\"}".into());
    }
    let host = start(&world).await;
    let source = source(&host, &[], &[]);
    for (version, part) in
        [("1.0.0", "says \"2.0.0\""), ("1.0.1", "a Helm chart"), ("1.0.2", "manifest"), ("1.0.3", "another one")]
    {
        let error = source.describe(&version.parse().unwrap()).await.unwrap_err();
        assert!(
            matches!(error, SourceError::Malformed { .. }) && error.to_string().contains(part),
            "{version}: {error}"
        );
    }
    world.0.lock().unwrap().digest_header = Some(format!("sha256:{}", "0".repeat(64)));
    assert!(source.describe(&"1.0.0".parse().unwrap()).await.unwrap_err().to_string().contains("another digest"));
}

#[tokio::test]
async fn a_token_is_fetched_once_and_renewed() {
    let world = World::default();
    world.push("1.0.0", &chart("1.0.0"));
    let host = start(&world).await;
    {
        let mut world = world.0.lock().unwrap();
        world.challenge = Some(format!("Bearer realm=\"http://{host}/token\",service=\"reg\""));
        world.key = Some("Bearer opened".into());
    }
    let source = source(&host, &[], &[]);
    assert_eq!(versions(&source).await, ["1.0.0"]);
    source.describe(&"1.0.0".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(world.seen("/token?scope=repository%3Acharts%2Floki%3Apull&service=reg"), 1);
    world.0.lock().unwrap().key = Some("Bearer other".into());
    let error = source.versions().await.unwrap_err();
    assert!(error.to_string().contains("401") && error.to_string().contains("--registries"), "{error}");
    assert_eq!(world.seen("/token"), 2, "it is tried once more, not for ever");
}

#[tokio::test]
async fn a23_credentials_go_to_their_host_only() {
    let (registry, elsewhere) = (World::default(), World::default());
    registry.push("1.0.0", &chart("1.0.0"));
    elsewhere.0.lock().unwrap().blobs = registry.0.lock().unwrap().blobs.clone();
    let (host, other) = (start(&registry).await, start(&elsewhere).await);
    let entry = "\"auth\": \"bWU6cHc=\"";
    let (its, others) = (written(&[(&host, entry)]), written(&[(&other, entry)]));
    {
        let mut world = registry.0.lock().unwrap();
        world.challenge = Some(format!("Bearer realm=\"http://{other}/token\""));
        world.key = Some("Bearer opened".into());
        world.elsewhere = Some(other.clone());
    }
    let ours = source(&host, &[&other], &[its.path()]);
    ours.describe(&"1.0.0".parse().unwrap()).await.unwrap().unwrap();
    let seen = elsewhere.0.lock().unwrap().seen.clone();
    assert_eq!(seen.len(), 2, "token and blob");
    assert!(seen.iter().all(|(_, shown)| shown.is_none()), "{seen:?}");
    // Where the operator gave them for the realm's host, they go there.
    let theirs = source(&host, &[&other], &[others.path()]);
    theirs.versions().await.unwrap();
    assert_eq!(elsewhere.0.lock().unwrap().seen.last().unwrap().1.as_deref(), Some("Basic bWU6cHc="));
    // Where they are not, and the realm wants some, that is what is said.
    elsewhere.0.lock().unwrap().refuses = true;
    let error = source(&host, &[&other], &[its.path()]).versions().await.unwrap_err().to_string();
    let wanted = format!("`{}` has a login for {host} and none for {other}", its.path().display());
    assert!(error.contains(&wanted) && error.contains("401"), "{error}");
}

#[tokio::test]
async fn a22_a_realm_or_a_blob_at_a_private_address_is_not_asked() {
    let world = World::default();
    world.push("1.0.0", &chart("1.0.0"));
    let host = start(&world).await;
    world.0.lock().unwrap().elsewhere = Some("169.254.169.254".into());
    let error = source(&host, &[], &[]).describe(&"1.0.0".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, SourceError::Refused { .. }), "{error}");
    {
        let mut world = world.0.lock().unwrap();
        world.challenge = Some("Bearer realm=\"http://169.254.169.254/token\"".into());
        world.key = Some("x".into());
    }
    assert!(matches!(source(&host, &[], &[]).versions().await, Err(SourceError::Refused { .. })));
}

#[tokio::test]
async fn each_login_of_the_operator_opens_what_it_is_for() {
    let world = World::default();
    world.push("1.0.0", &json!({}));
    let host = start(&world).await;
    let realm = format!("Bearer realm=\"http://{host}/token\",service=\"reg\"");
    for (entry, challenge, key) in [
        ("\"auth\": \"bWU6cHc=\"", "Basic realm=\"x\"", "Basic bWU6cHc="),
        ("\"registrytoken\": \"tok\"", "Basic realm=\"x\"", "Bearer tok"),
        ("\"identitytoken\": \"left\"", realm.as_str(), "Bearer opened"),
    ] {
        {
            let mut world = world.0.lock().unwrap();
            world.challenge = Some(challenge.into());
            world.key = Some(key.into());
        }
        let file = written(&[(&host, entry)]);
        assert_eq!(versions(&source(&host, &[], &[file.path()])).await, ["1.0.0"], "{entry}");
    }
    assert_eq!(
        world.seen(
            "/token?grant_type=refresh_token&client_id=coldframe&refresh_token=left\
             &scope=repository%3Acharts%2Floki%3Apull&service=reg"
        ),
        1
    );
    // Until a new one is there, a login that is refused says of which file it is; then it goes on by itself.
    let file = written(&[(&host, "\"auth\": \"bWU6b2xk\"")]);
    let asked = source(&host, &[], &[file.path()]);
    {
        let mut world = world.0.lock().unwrap();
        world.challenge = Some("Basic realm=\"x\"".into());
        world.key = Some("Basic bWU6cHc=".into());
    }
    let error = asked.versions().await.unwrap_err().to_string();
    let named = format!("to the login in `{}`", file.path().display());
    assert!(
        error.contains(&named) && error.contains(&format!("for {host} there")) && !error.contains("old"),
        "{error}"
    );
    std::fs::copy(written(&[(&host, "\"auth\": \"bWU6cHc=\"")]), &file).unwrap();
    assert_eq!(versions(&asked).await, ["1.0.0"]);
    let empty = written(&[]);
    let error = source(&host, &[], &[empty.path()]).versions().await.unwrap_err().to_string();
    assert!(error.contains(&format!("has no login for {host}")), "{error}");
}

#[tokio::test]
async fn nobody_there_and_no_such_chart() {
    let world = World::default();
    let host = start(&world).await;
    let net = Net::new(vec![host.clone()]).unwrap();
    let missing = Artifacts::new(&format!("{host}/charts/tempo"), true, &net).unwrap();
    assert!(matches!(missing.versions().await, Err(SourceError::NoSuchChart { name, .. }) if name == "tempo"));
    let gone = Artifacts::new("127.0.0.1:1/charts/loki", true, &Net::new(vec!["127.0.0.1:1".into()]).unwrap()).unwrap();
    assert!(matches!(gone.versions().await, Err(SourceError::Unreachable { .. })));
}
