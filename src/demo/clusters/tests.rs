//! The clusters as kube-rs sees them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::wildcard_enum_match_arm)] // git makes the config repo here

use std::process::Command;

use futures_util::{StreamExt as _, TryStreamExt as _, pin_mut};
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Config};
use tempfile::TempDir;

use super::*;

mod engines;

const FLUX: &str = "\
# The ingress of this cluster.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: ingress-nginx
  namespace: ingress
spec:
  chart:
    spec:
      chart: ingress-nginx
      version: 4.11.2 # moved by pull requests
";
const ARGO: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: kube-state-metrics, namespace: argocd}
spec:
  destination: {server: https://kubernetes.default.svc, namespace: monitoring}
  source: {repoURL: 'http://charts.example', chart: kube-state-metrics, targetRevision: 5.25.0}
";

struct World {
    folder: TempDir,
    clusters: Clusters,
}

impl World {
    async fn start() -> Self {
        Self::with(&[
            ("clusters/qa/qa-1/ingress-nginx.yaml", FLUX),
            ("clusters/qa/qa-1/kube-state-metrics.yaml", ARGO),
            ("clusters/qa/qa-2/ingress-nginx.yaml", FLUX),
        ])
        .await
    }

    /// With these files; the manifests of a hub lie in `hub/`.
    async fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        git(&work, &["init", "--quiet", "--initial-branch=main", "."]);
        let catalog = catalog(folder.path());
        files.iter().for_each(|(path, text)| write(&work, path, &text.replace("EXTENSIONS", &catalog)));
        commit(&work);
        let source = GitSource { url: work.to_str().unwrap().to_owned(), branch: "main".to_owned(), token: None };
        let spec = |name: &str| ClusterSpec {
            name: name.to_owned(),
            folder: format!("clusters/qa/{name}"),
            tier: "qa".to_owned(),
            credential: format!("{name}-reader"),
            pace: Pace { unseen: Duration::from_secs(60), ..Pace::of_number(0) },
            members: Vec::new(),
        };
        let member = |name: &str| Member { name: name.to_owned(), tier: "qa".to_owned() };
        let members = vec![member("qa-1"), member("qa-2")];
        let hub = ClusterSpec { members, folder: "hub".to_owned(), ..spec("hub") };
        let specs = vec![spec("qa-1"), spec("qa-2"), hub];
        let clusters = Clusters::start(specs, source, folder.path().join("mirror")).await.unwrap();
        clusters.write_kubeconfigs(&folder.path().join("kube")).unwrap();
        Self { folder, clusters }
    }

    /// Lands a change of a file on main.
    fn land(&self, path: &str, from: &str, to: &str) {
        let work = self.folder.path().join("work");
        let text = std::fs::read_to_string(work.join(path)).unwrap();
        assert!(text.contains(from));
        write(&work, path, &text.replace(from, to));
        commit(&work);
    }

    async fn client(&self, cluster: &str) -> Client {
        let path = self.folder.path().join("kube").join(format!("{cluster}-reader.yaml"));
        let config = Kubeconfig::read_from(path).unwrap();
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    async fn releases(&self, cluster: &str) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("helm.toolkit.fluxcd.io", "v2", "HelmRelease"));
        Api::namespaced_with(self.client(cluster).await, "ingress", &kind)
    }

    async fn applications(&self, cluster: &str) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("argoproj.io", "v1alpha1", "Application"));
        Api::namespaced_with(self.client(cluster).await, "argocd", &kind)
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
    let done = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn write(work: &Path, path: &str, text: &str) {
    std::fs::create_dir_all(work.join(path).parent().unwrap()).unwrap();
    std::fs::write(work.join(path), text).unwrap();
}

/// A catalog of definitions with two releases, whose charts have numbers of their own; its address.
fn catalog(folder: &Path) -> String {
    let work = folder.join("extensions");
    std::fs::create_dir(&work).unwrap();
    git(&work, &["init", "--quiet", "--initial-branch=main", "."]);
    for (version, chart) in [("0.9.3", "0.15.1"), ("0.9.4", "0.15.3")] {
        let text = format!(
            "kind: PluginDefinition\nmetadata: {{name: perses}}\nspec:\n  version: {version}\n  \
             helmChart: {{name: perses, repository: 'oci://registry.example/charts', version: {chart}}}\n"
        );
        write(&work, "perses/plugindefinition.yaml", &text);
        commit(&work);
        git(&work, &["tag", &format!("perses/{version}")]);
    }
    work.to_str().unwrap().to_owned()
}

fn commit(work: &Path) {
    git(work, &["add", "--all"]);
    git(work, &["commit", "--quiet", "--message=change"]);
}

/// What a reader proves health with: (generation observed, Ready, newest version in history, its state).
fn flux_face(object: &DynamicObject) -> (bool, String, String, String) {
    let status = &object.data["status"];
    let ready = status["conditions"].as_array().unwrap().iter().find(|condition| condition["type"] == "Ready");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        status["observedGeneration"].as_i64() == object.metadata.generation,
        text(&ready.unwrap()["status"]),
        text(&status["history"][0]["chartVersion"]),
        text(&status["history"][0]["status"]),
    )
}

fn face(observed: bool, ready: &str, version: &str, state: &str) -> (bool, String, String, String) {
    (observed, ready.to_owned(), version.to_owned(), state.to_owned())
}

async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..200 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never came to that");
}

#[tokio::test]
async fn a_landed_change_shows_the_old_version_ready_before_it_rolls_out() {
    let world = World::start().await;
    let api = world.releases("qa-1").await;
    assert_eq!(flux_face(&api.get("ingress-nginx").await.unwrap()), face(true, "True", "4.11.2", "deployed"));
    world.land("clusters/qa/qa-1/ingress-nginx.yaml", "4.11.2", "4.11.3");
    // Nobody reads for a while: the change is there, and nothing goes on.
    until(async || (world.clusters.look()["qa-1"]["ingress-nginx"].wanted == "4.11.3").then_some(())).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.clusters.look()["qa-1"]["ingress-nginx"].state, State::Progressing);
    let mut faces = Vec::new();
    let mut stale_looks = 0;
    until(async || {
        let object = api.get("ingress-nginx").await.unwrap();
        assert_eq!(object.data["spec"]["chart"]["spec"]["version"], "4.11.3");
        let face = flux_face(&object);
        stale_looks += usize::from(face.1 == "True" && !face.0);
        if faces.last() != Some(&face) {
            faces.push(face);
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        (faces.last().unwrap().2 == "4.11.3").then_some(())
    })
    .await;
    assert!(stale_looks >= 2, "{stale_looks} looks at the old version");
    assert_eq!(
        faces,
        [
            face(false, "True", "4.11.2", "deployed"),
            face(false, "Unknown", "4.11.2", "deployed"),
            face(true, "True", "4.11.3", "deployed"),
        ]
    );
    let object = api.get("ingress-nginx").await.unwrap();
    assert_eq!(object.data["status"]["lastAttemptedRevision"], "4.11.3");
    assert_eq!(object.data["status"]["history"][1]["status"], "superseded");
    assert_eq!(world.clusters.look()["qa-2"]["ingress-nginx"].running.as_deref(), Some("4.11.2"), "not its folder");
}

#[tokio::test]
async fn an_application_is_compared_then_synced_then_healthy_and_every_write_moves_its_generation() {
    let world = World::start().await;
    let api = world.applications("qa-1").await;
    let before = api.get("kube-state-metrics").await.unwrap();
    assert_eq!(before.data["status"]["sync"]["revision"], "5.25.0");
    world.land("clusters/qa/qa-1/kube-state-metrics.yaml", "5.25.0", "5.25.1");
    let mut faces = Vec::new();
    let last = until(async || {
        let object = api.get("kube-state-metrics").await.unwrap();
        let status = &object.data["status"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let compared = status["sync"]["comparedTo"]["source"] == object.data["spec"]["source"];
        let face = (
            compared,
            text(&status["sync"]["status"]),
            text(&status["health"]["status"]),
            text(&status["operationState"]["phase"]),
            text(&status["operationState"]["syncResult"]["revision"]),
        );
        if faces.last() != Some(&face) {
            faces.push(face);
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
        (faces.last().unwrap().1 == "Synced" && faces.last().unwrap().4 == "5.25.1").then_some(object)
    })
    .await;
    let owned = |compared, sync: &str, health: &str, phase: &str, revision: &str| {
        (compared, sync.to_owned(), health.to_owned(), phase.to_owned(), revision.to_owned())
    };
    faces.retain(|face| *face != owned(true, "Synced", "Healthy", "Succeeded", "5.25.0"));
    assert_eq!(
        faces,
        [
            owned(false, "Synced", "Healthy", "Succeeded", "5.25.0"),
            owned(true, "OutOfSync", "Healthy", "Succeeded", "5.25.0"),
            owned(true, "OutOfSync", "Progressing", "Running", "5.25.1"),
            owned(true, "Synced", "Healthy", "Succeeded", "5.25.1"),
        ]
    );
    let moved = last.metadata.generation.unwrap() - before.metadata.generation.unwrap();
    assert!(moved >= 4, "one write of the spec and three of the status moved it by {moved}");
    let status = &last.data["status"];
    assert!(status["reconciledAt"].as_str() >= status["operationState"]["finishedAt"].as_str());
    assert!(api.get_status("kube-state-metrics").await.is_err(), "there is no status subresource");
}

#[tokio::test]
async fn a_broken_version_fails_stalls_and_is_overtaken() {
    let world = World::start().await;
    world.clusters.break_version("qa-2", "ingress-nginx", "4.11.3").unwrap();
    world.land("clusters/qa/qa-2/ingress-nginx.yaml", "4.11.2", "4.11.3");
    let api = world.releases("qa-2").await;
    let condition = |object: &DynamicObject, kind: &str| {
        let conditions = object.data["status"]["conditions"].as_array().unwrap().clone();
        conditions.into_iter().find(|condition| condition["type"] == kind)
    };
    let stalled = until(async || {
        let object = api.get("ingress-nginx").await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        condition(&object, "Stalled").is_some().then_some(object)
    })
    .await;
    let ready = condition(&stalled, "Ready").unwrap();
    assert_eq!((ready["status"].as_str(), ready["reason"].as_str()), (Some("False"), Some("UpgradeFailed")));
    assert!(ready["message"].as_str().unwrap().ends_with("timed out waiting for the condition"));
    assert_eq!(condition(&stalled, "Stalled").unwrap()["reason"], "RetriesExceeded");
    assert_eq!(flux_face(&stalled), face(true, "False", "4.11.3", "failed"));
    let seen = world.clusters.look()["qa-2"]["ingress-nginx"].clone();
    assert_eq!((seen.state, seen.running.as_deref()), (State::Failed, Some("4.11.2")));

    world.land("clusters/qa/qa-2/ingress-nginx.yaml", "4.11.3", "4.11.4");
    until(async || (world.clusters.look()["qa-2"]["ingress-nginx"].state == State::Healthy).then_some(())).await;
    assert_eq!(flux_face(&api.get("ingress-nginx").await.unwrap()), face(true, "True", "4.11.4", "deployed"));
    let states: Vec<_> = world.clusters.sightings(0);
    let states: Vec<_> = states.iter().filter(|sighting| sighting.cluster == "qa-2").map(|s| s.seen.state).collect();
    assert_eq!(states, [State::Healthy, State::Progressing, State::Failed, State::Progressing, State::Healthy]);
}

#[tokio::test]
async fn degraded_flapping_and_stuck_releases_read_as_such() {
    let world = World::start().await;
    let api = world.releases("qa-1").await;
    let ready = async |wanted: &str| {
        until(async || (flux_face(&api.get("ingress-nginx").await.unwrap()).1 == wanted).then_some(())).await;
    };
    world.clusters.degrade("qa-1", "ingress-nginx").unwrap();
    ready("False").await;
    world.clusters.recover("qa-1", "ingress-nginx").unwrap();
    ready("True").await;
    world.clusters.flap("qa-1", "ingress-nginx").unwrap();
    for state in ["False", "True", "False"] {
        ready(state).await;
    }
    world.clusters.recover("qa-1", "ingress-nginx").unwrap();
    ready("True").await;
    world.clusters.stick("qa-1", "ingress-nginx").unwrap();
    world.land("clusters/qa/qa-1/ingress-nginx.yaml", "4.11.2", "4.11.3");
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(260)).await;
        let face = flux_face(&api.get("ingress-nginx").await.unwrap());
        assert_eq!((face.1.as_str(), face.2.as_str()), ("True", "4.11.2"));
    }
    assert!(world.clusters.stick("qa-9", "x").unwrap_err().to_string().contains("it has hub, qa-1, qa-2"));
}

#[tokio::test]
async fn readers_are_refused_as_by_a_real_server() {
    let world = World::start().await;
    let code = |error: kube::Error| match error {
        kube::Error::Api(status) => (status.code, status.reason.clone()),
        other => panic!("{other}"),
    };
    let api = world.releases("qa-1").await;
    assert_eq!(code(api.get("nothing").await.unwrap_err()), (404, "NotFound".to_owned()));
    let object: DynamicObject = api.get("ingress-nginx").await.unwrap();
    assert_eq!(code(api.create(&PostParams::default(), &object).await.unwrap_err()), (403, "Forbidden".to_owned()));
    let client = world.client("qa-1").await;
    let secret = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
    let secrets: Api<DynamicObject> = Api::namespaced_with(client.clone(), "ingress", &secret);
    assert_eq!(code(secrets.list(&ListParams::default()).await.unwrap_err()), (403, "Forbidden".to_owned()));
    let unknown = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Nothing"));
    let unknown: Api<DynamicObject> = Api::namespaced_with(client.clone(), "ingress", &unknown);
    assert_eq!(code(unknown.get("x").await.unwrap_err()), (404, "NotFound".to_owned()));

    world.clusters.set_link("qa-1", Link::Unauthorized).unwrap();
    assert_eq!(code(api.get("ingress-nginx").await.unwrap_err()), (401, "Unauthorized".to_owned()));
    world.clusters.set_link("qa-1", Link::Forbidden).unwrap();
    assert_eq!(code(api.get("ingress-nginx").await.unwrap_err()), (403, "Forbidden".to_owned()));
    world.clusters.partition("qa-1").unwrap();
    let silence = tokio::time::timeout(Duration::from_millis(300), api.get("ingress-nginx")).await;
    assert!(silence.is_err(), "a cluster that is cut off says nothing");
    world.clusters.set_link("qa-1", Link::Up).unwrap();
    assert!(api.get("ingress-nginx").await.is_ok());
    assert_eq!(client.apiserver_version().await.unwrap().minor, "33");
    let groups = client.list_api_groups().await.unwrap().groups;
    assert!(groups.iter().any(|group| group.name == "argoproj.io"));
    let resources = client.list_api_group_resources("helm.toolkit.fluxcd.io/v2").await.unwrap().resources;
    assert_eq!(resources[0].kind, "HelmRelease");
}

#[tokio::test]
async fn lists_come_in_pages_and_watches_tell_expired_ones() {
    let world = World::start().await;
    let kind = Kind::custom("example.com", "v1", "Gadget", "gadgets");
    let put = |name: &str, team: &str| {
        let object = json!({"metadata": {"name": name, "namespace": "n", "labels": {"team": team}}, "spec": {"x": 1}});
        world.clusters.put("qa-1", &kind, &object).unwrap();
    };
    for (name, team) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        put(name, team);
    }
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Gadget"));
    let api: Api<DynamicObject> = Api::namespaced_with(world.client("qa-1").await, "n", &resource);
    let names = |list: &kube::core::ObjectList<DynamicObject>| {
        list.items.iter().map(|item| item.metadata.name.clone().unwrap()).collect::<Vec<_>>()
    };
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!((names(&first), first.metadata.remaining_item_count), (vec!["a".into(), "b".into()], Some(1)));
    let token = first.metadata.continue_.clone().unwrap();
    put("bb", "blue");
    let second = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(names(&second), ["c"], "the second page shows the state of the first");
    let red = api.list(&ListParams::default().labels("team=red")).await.unwrap();
    assert_eq!(names(&red), ["a", "c"]);

    let version = red.metadata.resource_version.unwrap();
    let watch = api.watch(&WatchParams::default().labels("team=red"), &version).await.unwrap();
    pin_mut!(watch);
    put("d", "red");
    put("a", "blue");
    put("d", "red");
    let told: Vec<String> = watch
        .by_ref()
        .take(2)
        .map_ok(|event| match event {
            WatchEvent::Added(object) => format!("added {}", object.metadata.name.unwrap()),
            WatchEvent::Deleted(object) => format!("deleted {}", object.metadata.name.unwrap()),
            other => format!("{other:?}"),
        })
        .try_collect()
        .await
        .unwrap();
    assert_eq!(told, ["added d", "deleted a"], "what leaves the selector is deleted to its reader");
    let bookmark = tokio::time::timeout(Duration::from_secs(7), watch.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(bookmark, WatchEvent::Bookmark(_)), "{bookmark:?}");

    world.clusters.compact("qa-1").unwrap();
    let stale = api.watch(&WatchParams::default(), &version).await.unwrap();
    pin_mut!(stale);
    match stale.next().await.unwrap().unwrap() {
        WatchEvent::Error(status) => assert_eq!((status.code, status.reason.as_str()), (410, "Expired")),
        other => panic!("{other:?}"),
    }
    assert!(stale.next().await.is_none(), "a watch ends with its error");
    let gone = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap_err();
    assert!(matches!(gone, kube::Error::Api(status) if status.code == 410));
}

#[tokio::test]
async fn a_folder_that_is_not_yaml_changes_nothing_and_a_removed_file_removes_its_object() {
    let world = World::start().await;
    let path = "clusters/qa/qa-1/ingress-nginx.yaml";
    world.land(path, "spec:", "spec: [");
    until(async || {
        let (cluster, _) = &world.clusters.clusters["qa-1"];
        locked(&cluster.inner).trouble.clone()
    })
    .await;
    assert_eq!(world.clusters.look()["qa-1"]["ingress-nginx"].state, State::Healthy);
    std::fs::remove_file(world.folder.path().join("work").join(path)).unwrap();
    commit(&world.folder.path().join("work"));
    until(async || (!world.clusters.look()["qa-1"].contains_key("ingress-nginx")).then_some(())).await;
    let api = world.releases("qa-1").await;
    assert!(api.get("ingress-nginx").await.is_err());
}
