//! What runs inside a cluster: it applies its own folder of the config repo and brings each release
//! to the version that its manifest names. How fast and by which stages is in `rollout`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;

use super::greenhouse::{self, Member};
use super::mirror::Tree;
use super::rollout::{Circumstances, Flavour, Mood, Pace, Rollout, Stage};
use super::store::{Key, Store, generation_of};
use super::{Seen, State, argo, flux, kinds, workload};
use kinds::Kind;

/// Everything that a cluster's lock protects.
pub(super) struct Inner {
    pub(super) kinds: Vec<Kind>,
    pub(super) store: Store,
    pub(super) moods: BTreeMap<String, Mood>,
    /// Versions that do not come up here, by plugin.
    pub(super) broken: BTreeSet<(String, String)>,
    rollouts: BTreeMap<Key, Rollout>,
    /// On which cluster a release of this hub is, and of which plugin.
    homes: BTreeMap<Key, (String, String)>,
    /// The version of the chart behind each definition, by plugin and version.
    charts: BTreeMap<(String, String), String>,
    /// The clusters that this hub runs plugins on; none for any other.
    members: Vec<Member>,
    applied: String,
    /// At which revision of the store a look at everything left all as it was.
    at_rest: u64,
    /// Why the folder of the last commit could not be applied.
    pub(super) trouble: Option<String>,
}

impl Inner {
    pub(super) fn new(cluster: &str, members: &[Member]) -> Self {
        let mut kinds = kinds::builtin();
        if !members.is_empty() {
            kinds.extend(kinds::of_hub());
        }
        Self {
            kinds,
            store: Store::new(cluster),
            moods: BTreeMap::new(),
            broken: BTreeSet::new(),
            rollouts: BTreeMap::new(),
            homes: BTreeMap::new(),
            charts: BTreeMap::new(),
            members: members.to_vec(),
            applied: String::new(),
            at_rest: 0,
            trouble: None,
        }
    }

    /// Whether the head has not been applied yet.
    pub(super) fn behind(&self, tree: &Tree) -> bool {
        self.applied != tree.commit
    }

    /// Applies the manifests below `folder`, and below those that Kustomizations of Flux there name. What `settled` finds was there long before the world began.
    pub(super) fn take(&mut self, tree: &Tree, folder: &str, now: Timestamp, settled: Option<Timestamp>) {
        self.applied.clone_from(&tree.commit);
        let found = match manifests(tree, folder) {
            Ok(found) => found,
            Err(why) => {
                tracing::warn!(%why, "a cluster of the sandbox cannot apply its folder");
                self.trouble = Some(why);
                return;
            }
        };
        self.trouble = None;
        let mut kept = BTreeSet::new();
        for manifest in &found {
            if let Some(key) = self.apply(manifest, now, settled) {
                kept.insert(key);
            }
        }
        if !self.members.is_empty() {
            let wanted =
                greenhouse::take(&mut self.store, &self.members, (&found, &tree.definitions), settled.unwrap_or(now));
            for one in wanted {
                self.charts.insert((one.plugin.clone(), one.version.clone()), one.chart_version);
                self.homes.insert(one.key.clone(), (one.cluster, one.plugin));
                self.release(&one.key, &one.manifest, (Flavour::Greenhouse, &one.version), now, settled);
                kept.insert(one.key);
            }
        }
        let gone: Vec<Key> = self.rollouts.keys().filter(|key| !kept.contains(key)).cloned().collect();
        for key in gone {
            self.rollouts.remove(&key);
            self.homes.remove(&key);
            self.store.remove(&key);
        }
    }

    fn apply(&mut self, manifest: &Value, now: Timestamp, settled: Option<Timestamp>) -> Option<Key> {
        let (flavour, wanted) = match manifest["kind"].as_str()? {
            "HelmRelease" => (Flavour::Flux, flux::wanted(manifest)?),
            "Application" => (Flavour::Argo, argo::wanted(manifest)?),
            _ => return None,
        };
        let name = manifest["metadata"]["name"].as_str()?;
        let namespace = manifest["metadata"]["namespace"].as_str().unwrap_or("default");
        let key = Key::new(&flavour.kind(), namespace, name);
        self.release(&key, manifest, (flavour, wanted), now, settled);
        self.ensure_namespace(namespace, settled.unwrap_or(now));
        Some(key)
    }

    /// Applies an object that installs a chart.
    fn release(
        &mut self,
        key: &Key,
        manifest: &Value,
        (flavour, wanted): (Flavour, &str),
        now: Timestamp,
        settled: Option<Timestamp>,
    ) {
        let kind = flavour.kind();
        let before = self.store.get(key).map(|object| generation_of(object));
        self.store.apply(&kind, key, manifest, settled.unwrap_or(now));
        let after = self.store.get(key).map_or(1, |object| generation_of(object));
        match self.rollouts.get_mut(key) {
            Some(rollout) if before != Some(after) => {
                rollout.change(wanted, now);
                self.store.forget_looks(key);
                self.store.forget_looks(&workload_key(key, manifest));
            }
            Some(rollout) if rollout.wanted != wanted => {
                // Another definition of the same chart.
                rollout.renumber(wanted);
                let rollout = rollout.clone();
                self.write_down(key, &rollout, now);
            }
            Some(_) => {}
            None => {
                let rollout = match settled {
                    Some(at) => Rollout::settled(flavour, wanted, after, at),
                    None => Rollout::fresh(flavour, wanted, now),
                };
                if settled.is_some() {
                    self.write_down(key, &rollout, now);
                }
                self.rollouts.insert(key.clone(), rollout);
            }
        }
    }

    /// One look of the controllers at everything.
    pub(super) fn tick(&mut self, now: Timestamp, pace: Pace) {
        let keys: Vec<Key> = self.rollouts.keys().cloned().collect();
        let (before, mut any_moved) = (self.store.revision(), false);
        for key in keys {
            let Some(object) = self.store.get(&key) else { continue };
            let (generation, workload) = (generation_of(object), workload_key(&key, object));
            let Some(rollout) = self.rollouts.get_mut(&key) else { continue };
            let circumstances = Circumstances {
                generation,
                // Who reads the workload is fooled by that.
                looks: self.store.looks(&key).max(self.store.looks(&workload)),
                mood: self.moods.get(&key.name).copied(),
                broken: self.broken.contains(&(key.name.clone(), rollout.wanted.clone())),
            };
            let moved = rollout.step(now, pace, &circumstances);
            any_moved |= moved;
            if moved || self.store.revision() != self.at_rest {
                let rollout = rollout.clone();
                self.write_down(&key, &rollout, now);
            }
        }
        if !any_moved && self.store.revision() == before {
            self.at_rest = before;
        }
    }

    /// The truth about every release, whatever its status says at the moment: by cluster and plugin. `own` is the
    /// name of this one.
    pub(super) fn seen(&self, own: &str) -> BTreeMap<(String, String), Seen> {
        let seen = |rollout: &Rollout| Seen {
            wanted: rollout.wanted.clone(),
            running: rollout.running().map(str::to_owned),
            state: match rollout.stage {
                Stage::Holding | Stage::Noticed | Stage::Working => State::Progressing,
                Stage::Ready => State::Healthy,
                Stage::Failed | Stage::Stalled => State::Failed,
                Stage::Degraded => State::Degraded,
            },
            since: rollout.since,
        };
        let home = |key: &Key| self.homes.get(key).cloned().unwrap_or_else(|| (own.to_owned(), key.name.clone()));
        self.rollouts.iter().map(|(key, rollout)| (home(key), seen(rollout))).collect()
    }

    /// Writes the status of the object and of its workload as the stage has it.
    fn write_down(&mut self, key: &Key, rollout: &Rollout, now: Timestamp) {
        let Some(object) = self.store.get(key).cloned() else { return };
        let release = |chart| flux::Release { namespace: &key.namespace, name: &key.name, chart };
        let status = match rollout.flavour {
            Flavour::Flux => {
                let chart = flux::chart(&object).unwrap_or(&key.name);
                flux::status(rollout, &release(chart), generation_of(&object))
            }
            Flavour::Greenhouse => {
                let plugin = self.homes.get(key).map_or("", |(_, plugin)| plugin);
                let of = |version: &str| self.charts.get(&(plugin.to_owned(), version.to_owned())).cloned();
                let rollout = rollout.counted(|version| of(version).unwrap_or_default());
                let chart = flux::chart(&object).unwrap_or(&key.name);
                flux::status(&rollout, &release(chart), generation_of(&object))
            }
            Flavour::Argo => {
                let chart = argo::chart(&object).unwrap_or(&key.name);
                argo::status(rollout, &object["spec"], chart)
            }
        };
        if let Some(status) = status {
            self.store.set_status(&rollout.flavour.kind(), key, status);
        }
        if rollout.flavour == Flavour::Greenhouse {
            // Its workload is in the member, which nobody asks here.
            greenhouse::follow(&mut self.store, key, rollout);
        } else {
            let workload = workload_key(key, &object);
            workload::follow(&mut self.store, rollout, &workload::kind_of(&object), &workload, now);
        }
    }

    fn ensure_namespace(&mut self, namespace: &str, now: Timestamp) {
        let kind = kinds::namespace();
        let manifest = serde_json::json!({
            "metadata": {"labels": {"kubernetes.io/metadata.name": namespace}},
            "spec": {"finalizers": ["kubernetes"]},
        });
        let key = Key::new(&kind, "", namespace);
        self.store.apply(&kind, &key, &manifest, now);
        self.store.set_status(&kind, &key, serde_json::json!({"phase": "Active"}));
    }
}

impl Flavour {
    /// The kind of the object that installs a chart.
    fn kind(self) -> Kind {
        match self {
            Self::Flux | Self::Greenhouse => kinds::helm_release(),
            Self::Argo => kinds::application(),
        }
    }
}

/// The workload of what installs a chart: of an Application in the namespace that it names.
fn workload_key(release: &Key, object: &Value) -> Key {
    let namespace = object["spec"]["destination"]["namespace"].as_str().unwrap_or(&release.namespace);
    Key::new(&workload::kind_of(object), namespace, &release.name)
}

/// What a cluster applies. One file that is not YAML keeps all of it from being applied, as it does in Flux.
fn manifests(tree: &Tree, folder: &str) -> Result<Vec<Value>, String> {
    let (mut folders, mut found) = (vec![folder.to_owned()], Vec::new());
    let mut done = 0;
    while let Some(folder) = folders.get(done).map(|folder| format!("{folder}/")) {
        done += 1;
        for (path, text) in tree.files.iter().filter(|(path, _)| path.starts_with(&folder)) {
            for document in documents(text).map_err(|error| format!("{path}: {error}"))? {
                folders.extend(named_by(&document).filter(|one| !folders.contains(one)));
                found.push(document);
            }
        }
    }
    Ok(found)
}

/// The folder that a Kustomization of Flux names.
fn named_by(document: &Value) -> Option<String> {
    let of_flux = document["apiVersion"].as_str()?.starts_with("kustomize.toolkit.fluxcd.io/");
    let path = document["spec"]["path"].as_str().filter(|_| of_flux)?;
    Some(path.trim_start_matches("./").trim_end_matches('/').to_owned())
}

pub(super) fn documents(text: &str) -> Result<Vec<Value>, serde_yaml::Error> {
    let documents = serde_yaml::Deserializer::from_str(text).map(Value::deserialize);
    let documents: Vec<Value> = documents.collect::<Result<_, _>>()?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}
