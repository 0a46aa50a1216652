//! Clusters that a hub cluster lists in place of a file.

use std::time::Duration;

use demo::clusters::{Kind, Link};
use serde_json::json;

use crate::support::{Stage, is_merged};

const PLUGIN: &str = "cert-manager";
const HUB: &str = "gold-eu";

/// ClusterProfiles on one of the clusters, and the operator's folder with a connection for it and for each of
/// the others under its own name.
fn list_on_a_hub(stage: &Stage) -> String {
    let kind = Kind::custom("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile", "clusterprofiles");
    let folder = stage.folder.path().join("connections");
    std::fs::create_dir(&folder).unwrap();
    for file in std::fs::read_dir(&stage.world.settings().clusters).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().trim_end_matches("-reader").to_string();
        std::fs::copy(&path, folder.join(format!("{name}.yaml"))).unwrap();
        if name == HUB {
            std::fs::copy(&path, folder.join("hub.yaml")).unwrap();
        }
        let tier = name.split('-').next().unwrap();
        let metadata = json!({"name": name, "namespace": "fleet", "labels": {"tier": tier}});
        stage.world.clusters().put(HUB, &kind, &json!({"metadata": metadata, "spec": {}})).unwrap();
    }
    folder.display().to_string()
}

/// Waits until the dashboard says that the inventory cannot be read, or does not say so any more.
async fn shows_the_banner(stage: &Stage, wanted: bool) {
    let dashboard = format!("http://{}/", stage.world.settings().dashboard);
    for _ in 0..600 {
        let page = reqwest::get(&dashboard).await.unwrap().text().await.unwrap();
        let looked = !page.contains("No repository has been looked at");
        if looked && wanted == page.contains("the inventory of clusters cannot be read: connection") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("a banner for the inventory, {wanted}: never\n{}", stage.logged());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_lists_the_clusters_moves_them_and_one_that_does_not_answer_moves_none() {
    let stage = Stage::set().await;
    let folder = list_on_a_hub(&stage);
    let file = "clusters: {from: file, path: clusters.yaml}\n";
    stage.edit_policy(file, "clusters: {from: cluster-profile, connection: hub, namespace: fleet}\n");
    let bot = stage.serve_with(&[("COLDFRAME_CLUSTERS", &folder)]);
    stage.until("it is merged on qa", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    stage.world.clusters().set_link(HUB, Link::Forbidden).unwrap();
    drop(bot);
    let told = stage.command(&["explain", PLUGIN]).env("COLDFRAME_CLUSTERS", &folder).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let why = "the inventory could not be read: connection `hub`: not allowed to list \
               clusterprofiles.multicluster.x-k8s.io in fleet (403)";
    assert!(told.contains(why), "{told}\n{}", stage.logged());
    let before = stage.pulls().len();
    let _bot = stage.serve_with(&[("COLDFRAME_CLUSTERS", &folder)]);
    stage.never(5, "nothing moves by a list that nobody could read", |stage| stage.pulls().len() > before).await;
    shows_the_banner(&stage, true).await;
    stage.world.clusters().set_link(HUB, Link::Up).unwrap();
    stage.until("the next tier has its turn", |stage| stage.pull(PLUGIN, "bronze")).await;
    shows_the_banner(&stage, false).await;
}
