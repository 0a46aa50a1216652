//! Greenhouse in a hub and Argo Rollouts in a cluster: how each looks while a change goes on.

use super::*;

const ROLLOUT: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: podinfo, namespace: podinfo}
spec:
  chart: {spec: {chart: podinfo, version: 6.7.0}}
  values: {controller: {kind: Rollout}}
";
const CATALOG: &str = "\
apiVersion: greenhouse.sap/v1alpha1
kind: Catalog
metadata: {name: extensions-qa, namespace: acme}
spec:
  sources:
    - repository: EXTENSIONS
      resources: [perses/plugindefinition.yaml]
      ref: {tag: perses/0.9.3}
      overrides: [{name: perses, alias: perses-qa}]
";
const PRESET: &str = "\
apiVersion: greenhouse.sap/v1alpha1
kind: PluginPreset
metadata: {name: perses-qa, namespace: acme}
spec:
  clusterSelector: {matchLabels: {tier: qa}}
  plugin: {pluginDefinitionRef: {kind: PluginDefinition, name: perses-qa}, releaseNamespace: perses}
";

async fn world() -> World {
    World::with(&[
        ("clusters/qa/qa-1/podinfo.yaml", ROLLOUT),
        ("hub/qa/catalog.yaml", CATALOG),
        ("hub/qa/perses.yaml", PRESET),
    ])
    .await
}

async fn objects(world: &World, cluster: &str, kind: [&str; 3], namespace: &str) -> Api<DynamicObject> {
    let [group, version, kind] = kind;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(world.client(cluster).await, namespace, &kind)
}

#[tokio::test]
async fn the_old_pods_serve_under_the_new_spec_until_the_new_ones_are_the_stable_ones() {
    let world = world().await;
    let api = objects(&world, "qa-1", ["argoproj.io", "v1alpha1", "Rollout"], "podinfo").await;
    let face = async || {
        let object = api.get("podinfo").await.unwrap();
        let status = &object.data["status"];
        let observed =
            status["observedGeneration"].as_str().unwrap() == object.metadata.generation.unwrap().to_string();
        let chart = object.metadata.labels.unwrap()["helm.sh/chart"].clone();
        (observed, chart, status["phase"].as_str().unwrap().to_owned(), status["stableRS"] == status["currentPodHash"])
    };
    let of = |observed, chart: &str, phase: &str, stable| (observed, chart.to_owned(), phase.to_owned(), stable);
    until(async || (face().await == of(true, "podinfo-6.7.0", "Healthy", true)).then_some(())).await;
    world.land("clusters/qa/qa-1/podinfo.yaml", "6.7.0", "6.7.1");
    let mut faces = Vec::new();
    until(async || {
        let face = face().await;
        if faces.last() != Some(&face) {
            faces.push(face);
        }
        (faces.last() == Some(&of(true, "podinfo-6.7.1", "Healthy", true))).then_some(())
    })
    .await;
    // Between two looks one tick may go by unseen; what must never be there is the new version with the old pods well.
    assert!(faces.contains(&of(true, "podinfo-6.7.1", "Progressing", false)), "{faces:?}");
    assert!(!faces.contains(&of(true, "podinfo-6.7.1", "Healthy", false)), "{faces:?}");
    assert_eq!(world.clusters.look()["qa-1"]["podinfo"].state, State::Healthy);
}

#[tokio::test]
async fn a_catalog_moves_the_plugin_of_each_cluster_of_its_tier_and_a_plugin_says_so_too_early() {
    let world = world().await;
    let plugins = objects(&world, "hub", ["greenhouse.sap", "v1alpha1", "Plugin"], "acme").await;
    let releases = objects(&world, "hub", ["helm.toolkit.fluxcd.io", "v2", "HelmRelease"], "acme").await;
    let names: Vec<String> = plugins
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .filter_map(|plugin| plugin.metadata.name)
        .collect();
    assert_eq!(names, ["perses-qa-qa-1", "perses-qa-qa-2"]);
    assert_eq!(world.clusters.look()["qa-2"]["perses"].running.as_deref(), Some("0.9.3"));
    assert!(!world.clusters.look().contains_key("hub"), "it runs nothing of its own");
    world.land("hub/qa/catalog.yaml", "perses/0.9.3", "perses/0.9.4");
    let mut early = 0;
    until(async || {
        let plugin = plugins.get("perses-qa-qa-1").await.unwrap();
        let all = releases.list(&ListParams::default()).await.unwrap().items;
        let face = flux_face(all.iter().find(|one| one.metadata.name.as_deref() == Some("perses-qa-qa-1")).unwrap());
        let says = plugin.data["status"]["version"] == "0.9.4"
            && plugin.data["status"]["statusConditions"]["conditions"][0]["status"] == "True";
        early += usize::from(says && face.2 == "0.15.1");
        (says && face == self::face(true, "True", "0.15.3", "deployed")).then_some(())
    })
    .await;
    assert!(early >= 1, "it was never too early");
    let seen = until(async || {
        let seen = world.clusters.look()["qa-2"]["perses"].clone();
        (seen.state == State::Healthy).then_some(seen)
    });
    assert_eq!(seen.await.running.as_deref(), Some("0.9.4"));
    assert!(
        world
            .clusters
            .sightings(0)
            .iter()
            .any(|seen| seen.cluster == "qa-2" && seen.tier == "qa" && seen.plugin == "perses")
    );
}

#[tokio::test]
async fn a_kustomization_of_flux_brings_what_its_path_holds() {
    let kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: \
                         {path: ./apps/qa/}\n";
    let world = World::with(&[
        ("clusters/qa/qa-1/apps.yaml", kustomization),
        ("apps/qa/podinfo.yaml", ROLLOUT),
        ("apps/gold/podinfo.yaml", &ROLLOUT.replace("name: podinfo", "name: other")),
    ])
    .await;
    let seen = world.clusters.look();
    assert_eq!(seen["qa-1"].keys().collect::<Vec<_>>(), ["podinfo"]);
    assert!(seen["qa-2"].is_empty());
}
