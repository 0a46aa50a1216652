//! Every kind of inventory against an API server on loopback, by its objects in `tests/clusters/<kind>.yaml`: a
//! kind without them, without its section in the manual or its word in the schema fails here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod secrets;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use decide::selector::Selector;
use decide::snapshot::Read;
use decide::{ClusterName, TierName};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};

use self::server::{HUB_TOKEN, Shared, World, start};
use super::*;
use crate::observe::cluster::Clusters;
use crate::observe::net::Given;
use crate::signal::{SignalSpec};
use crate::inventory::{ListedCluster};
use crate::policy::wiring::{Inventory, Listing};
use crate::policy::{SourceFile, load};

/// The objects of a kind, and what is to be made of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kit {
    clusters: Value,
    serves: BTreeSet<String>,
    objects: Vec<Value>,
    listed: BTreeMap<String, Expected>,
    wrong: Vec<Wrong>,
}

/// One cluster that is listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// Beside those that every one of the kind has.
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    stale: Option<String>,
    /// What it is asked with itself.
    #[serde(default)]
    token: Option<String>,
    /// Why it cannot be asked itself.
    #[serde(default)]
    refused: Option<String>,
}

/// An object more, with which nothing is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    add: Value,
    says: String,
}

fn root(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Kit {
    fn of(kind: &Kind) -> Self {
        serde_yaml::from_str(&root(&format!("tests/clusters/{}.yaml", kind.name))).unwrap()
    }

    fn world(&self) -> World {
        World { objects: self.objects.clone(), serves: self.serves.clone(), page: 500, ..World::default() }
    }

    fn listing(&self) -> Listing {
        listing(&format!("clusters: {}\n", self.clusters))
    }
}

/// What a policy file says of its clusters.
fn listing(text: &str) -> Listing {
    let loaded = load(&[SourceFile { path: "coldframe.yaml".into(), text: text.into() }]).unwrap();
    match loaded.wiring.inventory {
        Inventory::Listed(listing) => listing,
        Inventory::File { .. } => panic!("{text}"),
    }
}

/// A hub with objects, and an operator's folder with a connection to it.
struct Stage {
    hub: Shared,
    host: String,
    folder: tempfile::TempDir,
    clusters: Clusters,
}

impl Stage {
    async fn of(world: World) -> Self {
        let (hub, host) = start(world).await;
        for object in &mut hub.lock().unwrap().objects {
            let text = object.to_string().replace("MEMBER", &format!("{host}/member"));
            *object = serde_json::from_str(&text).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let clusters = Clusters::open(folder.path(), Given::all(&["127.0.0.1".into()])).unwrap();
        let stage = Self { hub, host, folder, clusters };
        stage.connect("hub", "hub", HUB_TOKEN);
        stage
    }

    /// A file of the operator's folder.
    fn connect(&self, credential: &str, path: &str, token: &str) {
        let text = format!(
            "current-context: c\nclusters: [{{name: k, cluster: {{server: 'http://{}/{path}'}}}}]\n\
             users: [{{name: u, user: {{token: {token}}}}}]\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n",
            self.host
        );
        std::fs::write(self.folder.path().join(format!("{credential}.yaml")), text).unwrap();
    }

    async fn list(&self, listing: &Listing) -> Read<Vec<ListedCluster>> {
        list(listing, &self.clusters).await
    }

    /// What was asked since the last time.
    fn asked(&self) -> Vec<server::Asked> {
        std::mem::take(&mut self.hub.lock().unwrap().asked)
    }

    /// Asks a cluster itself for a HelmRelease.
    async fn ask(&self, cluster: &ListedCluster) -> Result<(), String> {
        let spec = crate::observe::tests::others::named("helmRelease", "apps", "loki");
        let signal = crate::signal::signal(&spec, &ClusterName::from("x"), &TierName::from("gold")).unwrap();
        let read = self.clusters.read(cluster, &signal.target()).await;
        read.map(|found| assert!(found.is_some())).map_err(|error| error.to_string())
    }
}

fn unread(read: Read<Vec<ListedCluster>>) -> String {
    match read {
        Read::Unread(why) => why,
        Read::Known(clusters) => panic!("{clusters:?}"),
    }
}

#[tokio::test]
async fn every_kind_lists_its_clusters_and_asks_for_no_more_than_it_needs() {
    for kind in KINDS {
        let kit = Kit::of(kind);
        let listing = kit.listing();
        assert_eq!(listing.kind, kind);
        for page in [500, 1] {
            let stage = Stage::of(World { page, ..kit.world() }).await;
            let found = stage.list(&listing).await;
            let Read::Known(found) = found else { panic!("{}: {found:?}", kind.name) };
            let names: Vec<&str> = found.iter().map(|cluster| cluster.name.as_str()).collect();
            assert_eq!(names, kit.listed.keys().collect::<Vec<_>>(), "{}", kind.name);
            for (cluster, expected) in found.iter().zip(kit.listed.values()) {
                if let Some(labels) = &expected.labels {
                    assert_eq!(cluster.labels, *labels, "{}", cluster.name);
                }
                let stale = cluster.stale.as_deref().unwrap_or_default();
                assert!(stale.starts_with(expected.stale.as_deref().unwrap_or_default()), "{stale}");
                assert_eq!(cluster.stale.is_some(), expected.stale.is_some(), "{}", cluster.name);
            }
            let asked = stage.asked();
            let lists = format!("list {}", kind.plural);
            assert!(asked.iter().all(|asked| asked.what.starts_with(&lists)), "{}: {asked:?}", kind.name);
            let metadata = asked.iter().all(|asked| asked.accept.contains("PartialObjectMetadataList"));
            assert_eq!(metadata, kind.metadata, "{}", kind.name);
            assert!(asked.iter().all(|asked| asked.query.iter().any(|(key, _)| key == "limit")), "{}", kind.name);
            assert!(page == 500 || asked.len() >= found.len(), "{}: {} pages", kind.name, asked.len());
        }
    }
}

#[tokio::test]
async fn nothing_in_doubt_is_a_list() {
    for kind in KINDS {
        let kit = Kit::of(kind);
        let listing = kit.listing();
        assert!(!kit.wrong.is_empty(), "{}: what object of it is wrong?", kind.name);
        for wrong in &kit.wrong {
            let mut world = kit.world();
            world.objects.push(wrong.add.clone());
            let why = unread(Stage::of(world).await.list(&listing).await);
            assert!(why.starts_with("connection `hub`: ") && why.contains(&wrong.says), "{}: {why}", kind.name);
        }
        let resource = kind.resource();
        let item =
            |kind: &str, metadata: Value| json!({"kind": "List", "items": [{"kind": kind, "metadata": metadata}]});
        let cases = [
            (
                World { denied: [format!("list {}", kind.plural)].into(), ..kit.world() },
                format!("not allowed to list {resource}"),
            ),
            (World { serves: ["v1beta9".to_string()].into(), ..kit.world() }, "it answered 404".to_string()),
            (World { objects: Vec::new(), ..kit.world() }, format!("there are no {resource}")),
            (
                World { instead: Some(json!({"kind": "Status"})), ..kit.world() },
                format!("it is no list of {}", kind.kind),
            ),
            (World { instead: Some(item("Pod", json!({"name": "x"}))), ..kit.world() }, "is a Pod, not a".to_string()),
            (World { instead: Some(item(kind.kind, json!({}))), ..kit.world() }, "without a name".to_string()),
            (
                World { instead: Some(item(kind.kind, json!({"name": "x", "namespace": ["y"]}))), ..kit.world() },
                if kind.scope == Scope::Cluster { "labels" } else { "which was not asked for" }.to_string(),
            ),
        ];
        for (world, says) in cases {
            if kind.scope == Scope::Cluster && says == "labels" {
                continue;
            }
            let why = unread(Stage::of(world).await.list(&listing).await);
            assert!(why.contains(&says) && !why.contains("hunter2"), "{}: {says}: {why}", kind.name);
        }
    }
}

#[tokio::test]
async fn a_list_whose_token_expires_is_begun_anew_at_the_next_look() {
    for kind in KINDS {
        let kit = Kit::of(kind);
        let stage = Stage::of(World { page: 1, compacted: true, ..kit.world() }).await;
        let why = unread(stage.list(&kit.listing()).await);
        assert!(why.contains("it is to begin anew (410)"), "{}: {why}", kind.name);
        stage.hub.lock().unwrap().compacted = false;
        assert!(matches!(stage.list(&kit.listing()).await, Read::Known(_)), "{}", kind.name);
    }
}

#[tokio::test]
async fn without_a_connection_or_with_labels_that_were_not_asked_for_nothing_is_known() {
    let kit = Kit::of(KINDS[1]);
    let stage = Stage::of(kit.world()).await;
    let elsewhere = listing("clusters: {from: greenhouse, connection: elsewhere}");
    let why = unread(stage.list(&elsewhere).await);
    assert_eq!(
        why,
        "connection `elsewhere`: no connection `elsewhere`: there is no elsewhere.yaml in the operator's folder"
    );
    // A server, or what stands before it, that does not look at selectors.
    let item = json!({"kind": "Cluster", "metadata": {"name": "eu-9", "namespace": "acme", "labels": {"tier": "qa"}}});
    stage.hub.lock().unwrap().instead = Some(json!({"kind": "ClusterList", "items": [item]}));
    let gold = listing("clusters: {from: greenhouse, connection: hub, select: {matchLabels: {tier: gold}}}");
    let why = unread(stage.list(&gold).await);
    assert!(why.ends_with("Cluster acme/eu-9: its labels are not those that were asked for"), "{why}");
    // Of another namespace than the one that was asked.
    let other = listing("clusters: {from: greenhouse, connection: hub, namespace: zenith}");
    let why = unread(stage.list(&other).await);
    assert!(why.ends_with("Cluster eu-9 is of acme, which was not asked for"), "{why}");
}

#[tokio::test]
async fn what_hides_the_last_cluster_is_no_empty_fleet() {
    let mut world = Kit::of(KINDS[2]).world();
    world.objects.retain(|object| object["metadata"]["name"] == "intruder");
    let stage = Stage::of(world).await;
    let why = unread(stage.list(&listing("clusters: {from: ocm, connection: hub}")).await);
    let none =
        "none of the 1 managedclusters.cluster.open-cluster-management.io is a member: that is taken for a mistake";
    assert!(why.contains(none), "{why}");
}

#[test]
fn names_are_by_namespace_where_all_are_listed() {
    for (text, names) in [
        ("{from: argocd, connection: hub}", false),
        ("{from: ocm, connection: hub}", false),
        ("{from: greenhouse, connection: hub}", true),
        ("{from: greenhouse, connection: hub, namespace: acme}", true),
        ("{from: cluster-api, connection: hub}", true),
        ("{from: cluster-api, connection: hub, namespace: fleet}", false),
        ("{from: flux, connection: hub, namespace: flux-system, select: {matchLabels: {a: b}}}", false),
        ("{from: cluster-profile, connection: hub}", true),
    ] {
        assert_eq!(listing(&format!("clusters: {text}")).names_have_namespaces(), names, "{text}");
    }
    assert_eq!(listing("clusters: {from: argocd, connection: hub}").namespace.as_deref(), Some("argocd"));
}

/// Each kind has a word in the schema, and a section in the manual with an example and its rights.
#[test]
fn every_kind_is_in_the_schema_and_in_the_manual() {
    let schema: Value = serde_json::from_str(&root("policies/schema.json")).unwrap();
    let words: Vec<&str> = schema["$defs"]["InventoryKind"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word["const"].as_str().unwrap())
        .collect();
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(words, [&["file"], names.as_slice()].concat());
    let manual = root("docs/clusters.md");
    for kind in KINDS {
        let heading = format!("\n## `{}`", kind.name);
        let section =
            manual.split_once(&heading).unwrap_or_else(|| panic!("docs/clusters.md has no section {}", kind.name)).1;
        let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
        let blocks: Vec<&str> =
            section.split("```yaml\n").skip(1).map(|block| block.split_once("```").unwrap().0).collect();
        assert_eq!(listing(blocks[0]).kind, kind);
        let rights: Vec<Value> = blocks[1..].iter().map(|block| serde_yaml::from_str(block).unwrap()).collect();
        assert!(!rights.is_empty(), "{} has no rights", kind.name);
        for role in rights {
            let kinds = ["Role", "ClusterRole"];
            assert!(kinds.iter().any(|known| role["kind"] == *known), "{}: {role}", kind.name);
            let lists = |rule: &Value| {
                rule["apiGroups"] == json!([kind.group])
                    && rule["resources"] == json!([kind.plural])
                    && rule["verbs"].as_array().unwrap().contains(&json!("list"))
            };
            assert!(role["rules"].as_array().unwrap().iter().any(lists), "{}: {role}", kind.name);
        }
    }
}

#[tokio::test]
async fn a_list_counts_for_a_moment_and_a_failed_one_not_at_all() {
    let kit = Kit::of(KINDS[0]);
    let (stage, listing) = (Stage::of(kit.world()).await, kit.listing());
    let count = || stage.hub.lock().unwrap().asked.iter().filter(|asked| asked.what.starts_with("list")).count();
    let (start, lasts) = (crate::clock::now(), SignedDuration::from_secs(30));
    let at = |seconds| (start + SignedDuration::from_secs(seconds), lasts);
    let mut last = Last::default();
    for (seconds, lists) in [(0, 1), (29, 1), (30, 2), (0, 3), (5, 3)] {
        assert!(last.list(&listing, &stage.clusters, at(seconds)).await.known().is_some());
        assert_eq!(count(), lists, "at {seconds} s");
    }
    let other = Listing { select: Selector::default(), namespace: Some("elsewhere".to_string()), ..listing.clone() };
    assert!(last.list(&other, &stage.clusters, at(5)).await.known().is_none(), "nothing is there");
    for lists in [5, 6] {
        stage.hub.lock().unwrap().instead = Some(json!({"kind": "Status"}));
        assert!(last.list(&listing, &stage.clusters, at(5)).await.known().is_none());
        assert_eq!(count(), lists);
    }
    stage.hub.lock().unwrap().instead = None;
    assert!(last.list(&listing, &stage.clusters, at(5)).await.known().is_some());
}
