//! Greenhouse in a hub: a catalog brings a definition at a tag, a preset makes a Plugin for each cluster that it
//! selects, and each Plugin is a HelmRelease beside it. What becomes of a HelmRelease is in `rollout` and `flux`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::controller::documents;
use super::kinds::{self, Kind};
use super::mirror::Definitions;
use super::rollout::{Rollout, Stage};
use super::store::{Key, Store, seconds};
use crate::loopback::hex_sha256;

/// The namespace of the one organization of this world.
pub(super) const ORGANIZATION: &str = "acme";

/// A cluster that the hub runs plugins on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its tier, which presets select by.
    pub tier: String,
}

/// A HelmRelease that the hub wants: where it is for, and what it is to be.
pub(super) struct Wanted {
    pub(super) key: Key,
    /// The member.
    pub(super) cluster: String,
    /// The plugin.
    pub(super) plugin: String,
    /// The version of its definition.
    pub(super) version: String,
    pub(super) chart_version: String,
    pub(super) manifest: Value,
}

/// A definition as a catalog brings it.
struct Definition {
    plugin: String,
    version: String,
    chart: String,
    chart_version: String,
}

/// Writes clusters, catalogs, definitions, presets and Plugins down; the HelmReleases that follow from them.
pub(super) fn take(
    store: &mut Store,
    members: &[Member],
    (manifests, texts): (&[Value], &Definitions),
    now: Timestamp,
) -> Vec<Wanted> {
    for member in members {
        let kind = kinds::greenhouse("Cluster", "clusters");
        let manifest = json!({"metadata": {"labels": labels(member)}, "spec": {"accessMode": "direct"}});
        put(
            store,
            &kind,
            &member.name,
            &manifest,
            json!({"statusConditions": {"conditions": [ready(true, now)]}}),
            now,
        );
    }
    let of_kind = |kind: &'static str| manifests.iter().filter(move |manifest| manifest["kind"] == kind);
    let mut definitions = BTreeMap::new();
    for catalog in of_kind("Catalog") {
        definitions.extend(catalogued(store, catalog, texts, now));
    }
    let mut wanted = Vec::new();
    for preset in of_kind("PluginPreset") {
        wanted.extend(preset_of(store, members, preset, &definitions, now).into_iter().flatten());
    }
    wanted
}

/// What Greenhouse knows of a cluster: a name of the house for its tier, and the one under which metadata is kept.
fn labels(member: &Member) -> Value {
    json!({"tier": member.tier, "metadata.greenhouse.sap/tier": member.tier})
}

/// A catalog, and the definitions of its sources by their names here. What it cannot read does not land.
fn catalogued(store: &mut Store, catalog: &Value, texts: &Definitions, now: Timestamp) -> BTreeMap<String, Definition> {
    let Some(name) = catalog["metadata"]["name"].as_str() else { return BTreeMap::new() };
    let (mut found, mut whole) = (BTreeMap::new(), true);
    let mut inventory = serde_json::Map::new();
    for source in catalog["spec"]["sources"].as_array().into_iter().flatten() {
        let text = |part: &Value| part.as_str().unwrap_or_default().to_owned();
        let (repository, tag) = (text(&source["repository"]), text(&source["ref"]["tag"]));
        let mut entries = Vec::new();
        for file in source["resources"].as_array().into_iter().flatten().map(text) {
            let read = texts.get(&(repository.clone(), tag.clone(), file)).and_then(|text| read(text));
            let Some((manifest, definition)) = read else {
                whole = false;
                continue;
            };
            let alias = source["overrides"][0]["alias"].as_str().unwrap_or(&definition.plugin).to_owned();
            let kind = kinds::greenhouse("PluginDefinition", "plugindefinitions");
            let labels = json!({"labels": {"greenhouse.sap/catalog": name}});
            let manifest = json!({"metadata": labels, "spec": manifest["spec"]});
            put(store, &kind, &alias, &manifest, Value::Null, now);
            entries.push(json!({"kind": "PluginDefinition", "name": alias, "ready": "True"}));
            found.insert(alias, definition);
        }
        let place = repository.trim_start_matches("https://").trim_end_matches(".git").replace(['.', '/'], "-");
        let place = format!("{place}-{tag}");
        inventory.insert(format!("{place}-{}", &hex_sha256(place.as_bytes())[..8]), entries.into());
    }
    let status = json!({"inventory": inventory, "statusConditions": {"conditions": [ready(whole, now)]}});
    put(store, &kinds::greenhouse("Catalog", "catalogs"), name, catalog, status, now);
    found
}

/// The definition in a file: its version, and the chart that it brings, whose version is another number.
fn read(text: &str) -> Option<(Value, Definition)> {
    let documents = documents(text).ok()?;
    let manifest = documents
        .into_iter()
        .find(|one| one["kind"].as_str().is_some_and(|kind| kind.ends_with("PluginDefinition")))?;
    let part = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let definition = Definition {
        plugin: part("/metadata/name")?,
        version: part("/spec/version")?,
        chart: part("/spec/helmChart/name")?,
        chart_version: part("/spec/helmChart/version")?,
    };
    Some((manifest, definition))
}

/// A preset and its Plugins; none where it has no definition.
fn preset_of(
    store: &mut Store,
    members: &[Member],
    preset: &Value,
    definitions: &BTreeMap<String, Definition>,
    now: Timestamp,
) -> Option<Vec<Wanted>> {
    let name = preset["metadata"]["name"].as_str()?;
    let reference = &preset["spec"]["plugin"]["pluginDefinitionRef"];
    let definition = definitions.get(reference["name"].as_str()?)?;
    let wanted = preset["spec"]["clusterSelector"]["matchLabels"].as_object()?;
    let selects = |member: &&Member| wanted.iter().all(|(key, value)| labels(member).get(key) == Some(value));
    let selected: Vec<&Member> = members.iter().filter(selects).collect();
    let conditions = json!([
        ready(true, now),
        {"type": "PluginFailed", "status": "False"},
        {"type": "ClusterListEmpty", "status": if selected.is_empty() { "True" } else { "False" }},
    ]);
    let status = json!({"totalPlugins": selected.len(), "statusConditions": {"conditions": conditions}});
    put(store, &kinds::greenhouse("PluginPreset", "pluginpresets"), name, preset, status, now);
    let make = |member: &&Member| {
        let plugin = format!("{name}-{}", member.name);
        let manifest = json!({
            "metadata": {"labels": {
                "greenhouse.sap/pluginpreset": name,
                "greenhouse.sap/cluster": member.name,
            }},
            "spec": {
                "clusterName": member.name,
                "pluginDefinitionRef": reference,
                "releaseName": definition.plugin,
                "releaseNamespace": preset["spec"]["plugin"]["releaseNamespace"],
            },
        });
        let kind = kinds::greenhouse("Plugin", "plugins");
        store.apply(&kind, &Key::new(&kind, ORGANIZATION, &plugin), &manifest, now);
        let manifest = json!({"metadata": {}, "spec": {
            "interval": "5m",
            "chart": {"spec": {"chart": definition.chart, "version": definition.chart_version}},
            "kubeConfig": {"secretRef": {"name": member.name, "key": "greenhousekubeconfig"}},
        }});
        Wanted {
            key: Key::new(&kinds::helm_release(), ORGANIZATION, &plugin),
            cluster: member.name.clone(),
            plugin: definition.plugin.clone(),
            version: definition.version.clone(),
            chart_version: definition.chart_version.clone(),
            manifest,
        }
    };
    Some(selected.iter().map(make).collect())
}

/// The status of the Plugin of a HelmRelease. It is written from a cache: right after a change it says the new
/// version and Ready while the old release runs.
pub(super) fn follow(store: &mut Store, release: &Key, rollout: &Rollout) {
    let kind = kinds::greenhouse("Plugin", "plugins");
    let key = Key::new(&kind, &release.namespace, &release.name);
    let (version, helm, good) = match rollout.stage {
        Stage::Holding | Stage::Ready => (rollout.wanted.as_str(), "deployed", true),
        Stage::Noticed | Stage::Working => ("", "progressing", false),
        Stage::Failed | Stage::Stalled => ("", "failed", false),
        Stage::Degraded => (rollout.wanted.as_str(), "failed", false),
    };
    let mut conditions = vec![ready(good, rollout.turned), json!({"type": "HelmReleaseCreated", "status": "True"})];
    if rollout.stage == Stage::Stalled {
        conditions.push(json!({
            "type": "HelmReleaseDeployed", "status": "False", "reason": "FluxHelmReleaseStalled",
            "message": "the HelmRelease gave up", "lastTransitionTime": seconds(rollout.since),
        }));
    }
    let status = json!({
        "version": version,
        "helmReleaseStatus": {"status": helm, "lastDeployed": seconds(rollout.turned)},
        "statusConditions": {"conditions": conditions},
    });
    store.set_status(&kind, &key, status);
}

fn ready(good: bool, at: Timestamp) -> Value {
    json!({"type": "Ready", "status": if good { "True" } else { "False" }, "lastTransitionTime": seconds(at)})
}

/// An object of the organization. Its status is kept where it says the same as before, times apart.
fn put(store: &mut Store, kind: &Kind, name: &str, manifest: &Value, status: Value, now: Timestamp) {
    let key = Key::new(kind, ORGANIZATION, name);
    let changed = store.apply(kind, &key, manifest, now);
    let known = store.get(&key).is_some_and(|object| object.get("status").is_some());
    if !status.is_null() && (changed || !known) {
        store.set_status(kind, &key, status);
    }
}
