//! Kubeconfigs that are refused, and clusters that answer badly or not at all.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::AtomicUsize;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use decide::snapshot::Reading;
use decide::{ClusterName, Tier, TierName};
use serde_json::json;

use bytes::Bytes;
use http::StatusCode;

use super::*;
use crate::signal::SignalSpec;
use crate::signal::signal;

/// What a fake API server does with every request.
#[derive(Clone)]
enum Mood {
    Json(StatusCode, Value),
    /// Lists of so many pages.
    Pages(usize),
    Text(&'static str),
    Redirect,
    Endless,
    Silent,
}

#[derive(Clone)]
struct World {
    mood: Mood,
    seen: Arc<std::sync::Mutex<Vec<(String, String)>>>,
    /// Queries, and what they accept.
    asked: Arc<std::sync::Mutex<Vec<(String, String)>>>,
    together: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

async fn serve(State(world): State<World>, uri: Uri, headers: HeaderMap) -> Response {
    let token = headers.get("authorization").map(|value| value.to_str().unwrap().to_string()).unwrap_or_default();
    world.seen.lock().unwrap().push((uri.path().to_string(), token));
    let accept = headers.get("accept").map(|value| value.to_str().unwrap().to_string()).unwrap_or_default();
    world.asked.lock().unwrap().push((uri.query().unwrap_or_default().to_string(), accept));
    let now = world.together.fetch_add(1, Ordering::SeqCst) + 1;
    world.most.fetch_max(now, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(20)).await;
    world.together.fetch_sub(1, Ordering::SeqCst);
    match world.mood {
        Mood::Json(status, body) => (status, body.to_string()).into_response(),
        Mood::Pages(most) => {
            let query = uri.query().unwrap_or_default();
            let page: usize = query.split("continue=p").nth(1).map_or(0, |page| page.parse().unwrap());
            let next = if page + 1 < most { format!("p{}", page + 1) } else { String::new() };
            let item = json!({"metadata": {"name": format!("sh.helm.release.v1.loki.v{page}")}});
            let list = json!({"kind": "PartialObjectMetadataList", "metadata": {"continue": next}, "items": [item]});
            (StatusCode::OK, list.to_string()).into_response()
        }
        Mood::Text(text) => text.into_response(),
        Mood::Redirect => Redirect::temporary("http://127.0.0.1:1/elsewhere").into_response(),
        Mood::Endless => {
            let chunks = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 65536])));
            axum::body::Body::from_stream(chunks).into_response()
        }
        Mood::Silent => std::future::pending().await,
    }
}

async fn start(mood: Mood) -> (World, String) {
    let world =
        World { mood, seen: Arc::default(), asked: Arc::default(), together: Arc::default(), most: Arc::default() };
    let router = Router::new().fallback(serve).with_state(world.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (world, host)
}

/// A folder of kubeconfigs.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, credential: &str, host: &str, token: &str) {
        let text = format!(
            "current-context: c\nclusters: [{{name: k, cluster: {{server: 'http://{host}/base'}}}}]\n\
             users: [{{name: u, user: {{token: '{token}'}}}}]\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
        );
        std::fs::write(self.0.path().join(format!("{credential}.yaml")), text).unwrap();
    }

    fn clusters(&self) -> Clusters {
        Clusters::build(
            Some(self.0.path().to_path_buf()),
            Given::all(&["127.0.0.1".into()]),
            Duration::from_millis(1_500),
        )
    }
}

fn tier() -> Tier {
    let text = "{name: gold, select: {}, soak: {min: PT1H}}";
    serde_yaml::from_str(text).unwrap()
}

fn listed(name: &str) -> ListedCluster {
    let (name, credential) = (ClusterName::from(name), name.to_string());
    ListedCluster { name, labels: BTreeMap::default(), credential, secret_ref: None, stale: None }
}

fn helm_release(name: &str) -> Box<dyn Signal> {
    signal(
        &crate::observe::tests::others::named("helmRelease", "apps", name),
        &ClusterName::from("eu-1"),
        &TierName::from("gold"),
    )
    .unwrap()
}

fn release() -> Value {
    json!({"kind": "HelmRelease", "metadata": {"generation": 1}, "spec": {"suspend": true}})
}

fn missing(name: &str) -> Value {
    json!({"kind": "Status", "reason": "NotFound", "details": {"name": name, "kind": "helmreleases"}})
}

async fn read(mood: Mood) -> Result<Option<Value>, ReadError> {
    let (_, host) = start(mood).await;
    let folder = Folder::new();
    folder.write("eu-1", &host, "t");
    folder.clusters().read(&listed("eu-1"), &helm_release("loki").target()).await
}

#[tokio::test]
async fn one_object_is_got_with_the_token_of_its_file() {
    let (world, host) = start(Mood::Json(StatusCode::OK, release())).await;
    let folder = Folder::new();
    folder.write("eu-1", &host, "first");
    let clusters = folder.clusters();
    let target = helm_release("loki").target();
    assert_eq!(clusters.read(&listed("eu-1"), &target).await, Ok(Some(release())));
    folder.write("eu-1", &host, "second");
    clusters.read(&listed("eu-1"), &target).await.unwrap();
    let path = "/base/apis/helm.toolkit.fluxcd.io/v2/namespaces/apps/helmreleases/loki".to_string();
    let expected = [(path.clone(), "Bearer first".to_string()), (path, "Bearer second".to_string())];
    assert_eq!(*world.seen.lock().unwrap(), expected, "a rotated token is used at once");
}

#[tokio::test]
async fn only_the_api_server_can_say_that_there_is_none() {
    assert_eq!(read(Mood::Json(StatusCode::NOT_FOUND, missing("loki"))).await, Ok(None));
    for other in [missing("tempo"), json!({"kind": "Status"}), json!({}), json!("404 page not found")] {
        let error = read(Mood::Json(StatusCode::NOT_FOUND, other)).await.unwrap_err();
        assert!(error.to_string().contains("is helm.toolkit.fluxcd.io/v2 installed there?"), "{error}");
    }
}

#[tokio::test]
async fn errors_name_verb_and_resource() {
    let resource = "helmreleases.helm.toolkit.fluxcd.io apps/loki";
    for status in [401, 403] {
        let denied = ReadError::Denied { verb: "get", resource: resource.to_string(), status };
        assert_eq!(read(Mood::Json(StatusCode::from_u16(status).unwrap(), json!({}))).await, Err(denied.clone()));
        let words = [
            format!("{resource}: the credential is not accepted (401)"),
            format!("not allowed to get {resource} (403)"),
        ];
        assert!(denied.to_string().starts_with(&words[usize::from(status == 403)]), "{denied}");
    }
    for (mood, part) in [
        (Mood::Silent, "no answer within"),
        (Mood::Endless, "more than 4194304 bytes"),
        (Mood::Redirect, "which is not followed"),
        (Mood::Text("<html>"), "not JSON"),
        (Mood::Json(StatusCode::OK, json!({"kind": "Secret"})), "it is no HelmRelease"),
        (Mood::Json(StatusCode::SERVICE_UNAVAILABLE, json!({})), "503"),
    ] {
        let error = read(mood).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("get {resource}: ")) && error.contains(part), "{part}: {error}");
    }
}

fn helm_secrets() -> Box<dyn Signal> {
    let text = |text: &str| crate::parse::settings::Given::Text(text.to_string());
    let values = [("namespace", text("apps")), ("release", text("loki"))].into();
    let kind = crate::signal::kind("helmSecret").unwrap();
    signal(&SignalSpec { kind, values, connection: None }, &ClusterName::from("eu-1"), &TierName::from("gold")).unwrap()
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_of_secrets_nothing_but_metadata() {
    let (world, host) = start(Mood::Pages(3)).await;
    let folder = Folder::new();
    folder.write("eu-1", &host, "t");
    let list = folder.clusters().read(&listed("eu-1"), &helm_secrets().target()).await.unwrap().unwrap();
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&json!("SecretList"), 3));
    let asked = world.asked.lock().unwrap().clone();
    let queries: Vec<&str> = asked.iter().map(|(query, _)| query.as_str()).collect();
    let first = "labelSelector=owner%3Dhelm%2Cname%3Dloki&limit=100";
    assert_eq!(queries, [first.to_string(), format!("{first}&continue=p1"), format!("{first}&continue=p2")]);
    assert!(asked.iter().all(|(_, accept)| accept.contains("as=PartialObjectMetadataList")), "{asked:?}");
    assert_eq!(world.seen.lock().unwrap()[0].0, "/base/api/v1/namespaces/apps/secrets");

    let (_, endless) = start(Mood::Pages(usize::MAX)).await;
    folder.write("eu-1", &endless, "t");
    let patient = Clusters::build(
        Some(folder.0.path().to_path_buf()),
        Given::all(&["127.0.0.1".into()]),
        Duration::from_secs(30),
    );
    let error = patient.read(&listed("eu-1"), &helm_secrets().target()).await.unwrap_err();
    assert!(error.to_string().contains("more than 2000 of them"), "{error}");
}

#[tokio::test]
async fn a_list_that_is_refused_names_verb_and_resource() {
    for (mood, expected) in [
        (
            Mood::Json(StatusCode::FORBIDDEN, json!({})),
            "not allowed to list secrets in apps (403); give the credential the verb `list` on it",
        ),
        (Mood::Json(StatusCode::OK, json!({"kind": "Status"})), "list secrets in apps: it is no list of Secret"),
        (Mood::Json(StatusCode::NOT_FOUND, missing("loki")), "is v1 installed there?"),
    ] {
        let (_, host) = start(mood).await;
        let folder = Folder::new();
        folder.write("eu-1", &host, "t");
        let error = folder.clusters().read(&listed("eu-1"), &helm_secrets().target()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn what_lies_beside_an_object_is_read_as_well_or_nothing_is_known() {
    let preset = crate::observe::tests::others::named("pluginPreset", "acme", "perses");
    let eu_1 = ListedCluster { credential: "hub".to_string(), ..listed("eu-1") };
    let ask = || {
        Ask::new(&Arc::new(eu_1.clone()), &Asking::new(&"plugin".into(), &tier(), &Arc::new(preset.clone()))).unwrap()
    };
    let spec = json!({"plugin": {"pluginDefinitionRef": {"kind": "PluginDefinition", "name": "perses"}}});
    let (world, host) = start(Mood::Json(StatusCode::OK, json!({"kind": "PluginPreset", "spec": spec}))).await;
    let folder = Folder::new();
    folder.write("hub", &host, "t");
    let readings = readings(&folder.clusters(), vec![ask()]).await;
    // The server gives the preset for whatever it is asked.
    assert_eq!(readings[0].health, Health::Unknown);
    let expected = "get plugins.greenhouse.sap acme/perses-eu-1: it is no Plugin";
    assert_eq!(readings[0].evidence, expected);
    let paths: Vec<String> = world.seen.lock().unwrap().iter().map(|(path, _)| path.clone()).collect();
    assert!(paths[0].ends_with("/namespaces/acme/pluginpresets/perses"), "{paths:?}");
    assert!(paths[1].ends_with("/namespaces/acme/plugins/perses-eu-1"), "{paths:?}");
}

#[tokio::test]
async fn connections_come_from_the_folder_and_nowhere_else() {
    let folder = Folder::new();
    std::fs::write(folder.0.path().join("bad.yaml"), "users: [{name: u, user: {exec: {command: sh}}}]\n").unwrap();
    std::fs::write(folder.0.path().join("large.yaml"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
    let target = helm_release("loki").target();
    for (credential, part) in [
        ("absent", "no absent.yaml"),
        ("bad", "current-context"),
        ("large", "more than"),
        ("../bad", "letters, digits"),
        ("org/eu-1", "`credential:`"),
        ("", "letters, digits"),
        (".hidden", "letters, digits"),
    ] {
        let error = folder.clusters().read(&listed(credential), &target).await.unwrap_err();
        assert!(matches!(error, ReadError::NoConnection { .. }) && error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_token_can_lie_beside_its_connection_and_change() {
    let (world, host) = start(Mood::Json(StatusCode::OK, release())).await;
    let folder = Folder::new();
    let connect = |name: &str| {
        let text = format!(
            "current-context: c\nclusters: [{{name: k, cluster: {{server: 'http://{host}/base'}}}}]\nusers: [{{name: u, user: \
             {{tokenFile: '{name}'}}}}]\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
        );
        std::fs::write(folder.0.path().join("eu-1.yaml"), text).unwrap();
    };
    let put = |text: &str| std::fs::write(folder.0.path().join("eu-1.token"), text).unwrap();
    let (clusters, target) = (folder.clusters(), helm_release("loki").target());
    let last = || world.seen.lock().unwrap().last().map(|(_, token)| token.clone());
    connect("eu-1.token");
    for token in ["one", "two"] {
        put(&format!("{token}\n"));
        clusters.read(&listed("eu-1"), &target).await.unwrap();
        assert_eq!(last().unwrap(), format!("Bearer {token}"));
    }
    put("");
    for (name, part) in [
        ("eu-1.token", "there is no eu-1.token beside it, or it is empty"),
        ("NO_SUCH_TOKEN", "nor is COLDFRAME_SECRET_NO_SUCH_TOKEN in the environment"),
        ("../eu-1.token", "without a folder"),
        ("/etc/passwd", "without a folder"),
        (".hidden", "without a folder"),
    ] {
        connect(name);
        let error = clusters.read(&listed("eu-1"), &target).await.unwrap_err();
        assert!(matches!(error, ReadError::NoConnection { .. }) && error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a05_a_repository_reaches_its_own_folder_or_what_is_shared_on_purpose() {
    let (_, shared) = start(Mood::Json(StatusCode::OK, release())).await;
    let (_, own) = start(Mood::Json(StatusCode::OK, release())).await;
    let folder = Folder::new();
    folder.write("hub", &shared, "t");
    folder.write("other", &shared, "t");
    std::fs::create_dir(folder.0.path().join("7")).unwrap();
    folder.write("7/hub", &own, "t");
    let clusters = folder.clusters();
    let target = helm_release("loki").target();
    let alone = async |of: u64, name: &str| clusters.of(of, true).read(&listed(name), &target).await;
    assert!(alone(8, "hub").await.is_ok() && alone(8, "other").await.is_ok() && alone(7, "hub").await.is_ok());
    let reads = async |of: u64, name: &str| clusters.of(of, false).read(&listed(name), &target).await;
    for name in ["hub", "other"] {
        let error = reads(8, name).await.unwrap_err();
        assert!(error.to_string().contains("no folder `8` for this repository, and no folder `shared`"), "{error}");
    }
    std::fs::create_dir(folder.0.path().join("shared")).unwrap();
    folder.write("shared/hub", &shared, "t");
    assert!(reads(8, "hub").await.is_ok() && reads(8, "other").await.is_err() && reads(7, "hub").await.is_ok());
    let error = reads(7, "other").await.unwrap_err();
    assert!(error.to_string().contains("no other.yaml in the operator's folder `7`"), "{error}");
    // One name, two connections: neither is taken for the other's.
    folder.write("7/hub", "127.0.0.1:9", "t");
    assert!(reads(7, "hub").await.is_err() && reads(8, "hub").await.is_ok());
    // Whatever a policy writes, it is a name in the folder.
    for outside in ["7/hub", "../hub", "../7/hub"] {
        assert!(reads(8, outside).await.is_err(), "{outside}");
    }
}

fn ask(cluster: &str, name: &str) -> Ask {
    let spec = crate::observe::tests::others::named("helmRelease", "apps", name);
    Ask::new(&Arc::new(listed(cluster)), &Asking::new(&"plugin".into(), &tier(), &Arc::new(spec))).unwrap()
}

async fn readings(clusters: &Clusters, asks: Vec<Ask>) -> Vec<Reading> {
    clusters.answers(asks, &|_| ()).await.into_iter().map(|asked| asked.answer.reading).collect()
}

#[tokio::test]
async fn a29_every_ask_gets_a_reading_and_a_dead_cluster_delays_nobody() {
    let (good, host) = start(Mood::Json(StatusCode::OK, release())).await;
    let (dead, dead_host) = start(Mood::Silent).await;
    let (_, empty_host) = start(Mood::Json(StatusCode::NOT_FOUND, missing("r0"))).await;
    let folder = Folder::new();
    folder.write("good", &host, "t");
    folder.write("dead", &dead_host, "t");
    folder.write("empty", &empty_host, "t");
    let mut asks = vec![ask("empty", "r0"), ask("nowhere", "r0")];
    for index in 0..40 {
        asks.push(ask("dead", &format!("r{index}")));
        asks.push(ask("good", &format!("r{index}")));
    }
    let readings = readings(&folder.clusters(), asks).await;
    assert_eq!(readings.len(), 82);
    assert_eq!(readings[0].health, Health::NotFound);
    assert_eq!(readings[1].evidence, "no connection `nowhere`: there is no nowhere.yaml in the operator's folder");
    assert_eq!(readings[1].health, Health::Unknown);
    for (index, pair) in readings[2..].chunks(2).enumerate() {
        assert_eq!((pair[0].health, pair[1].health), (Health::Unknown, Health::Suspended), "{index}");
        assert_eq!(pair[1].signal, format!("HelmRelease apps/r{index}"));
    }
    let last = &readings[80].evidence;
    assert!(last.contains("did not answer just now"), "{last}");
    assert!(dead.seen.lock().unwrap().len() <= 2 * PER_CLUSTER, "it is not asked forty times");
    assert!(good.most.load(Ordering::SeqCst) <= PER_CLUSTER);
}

#[tokio::test]
async fn without_a_folder_nothing_is_known() {
    let readings = readings(&Clusters::none(), vec![ask("eu-1", "r")]).await;
    assert_eq!(readings[0].health, Health::Unknown);
    assert!(readings[0].evidence.contains("gave no folder"), "{}", readings[0].evidence);
    let folder = Folder::new();
    assert!(Clusters::open(folder.0.path(), Given::default()).is_ok());
    let error = Clusters::open(&folder.0.path().join("x"), Given::default()).unwrap_err();
    assert!(error.to_string().starts_with("the folder of connections to clusters, "), "{error}");
}
