//! What runs inside a cluster: it applies its own folder of the config repo and brings each release
//! to the version that its manifest names. How fast and by which stages is in `rollout`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;

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
    applied: String,
    /// Why the folder of the last commit could not be applied.
    pub(super) trouble: Option<String>,
}

impl Inner {
    pub(super) fn new(cluster: &str) -> Self {
        Self {
            kinds: kinds::builtin(),
            store: Store::new(cluster),
            moods: BTreeMap::new(),
            broken: BTreeSet::new(),
            rollouts: BTreeMap::new(),
            applied: String::new(),
            trouble: None,
        }
    }

    /// Whether the head has not been applied yet.
    pub(super) fn behind(&self, tree: &Tree) -> bool {
        self.applied != tree.commit
    }

    /// Applies the manifests below `folder`. What `settled` finds was there long before the world began.
    pub(super) fn take(&mut self, tree: &Tree, folder: &str, now: Timestamp, settled: Option<Timestamp>) {
        self.applied.clone_from(&tree.commit);
        let mut found = Vec::new();
        for (path, text) in tree.files.iter().filter(|(path, _)| path.starts_with(folder)) {
            match documents(text) {
                Ok(documents) => found.extend(documents),
                Err(error) => {
                    // One file that is not YAML keeps the whole folder from being applied, as it does in Flux.
                    self.trouble = Some(format!("{path}: {error}"));
                    tracing::warn!(%path, %error, "a cluster of the sandbox cannot apply its folder");
                    return;
                }
            }
        }
        self.trouble = None;
        let mut kept = BTreeSet::new();
        for manifest in found {
            if let Some(key) = self.apply(&manifest, now, settled) {
                kept.insert(key);
            }
        }
        let gone: Vec<Key> = self.rollouts.keys().filter(|key| !kept.contains(key)).cloned().collect();
        for key in gone {
            self.rollouts.remove(&key);
            self.store.remove(&key);
        }
    }

    fn apply(&mut self, manifest: &Value, now: Timestamp, settled: Option<Timestamp>) -> Option<Key> {
        let (kind, flavour, wanted) = match manifest["kind"].as_str()? {
            "HelmRelease" => (kinds::helm_release(), Flavour::Flux, flux::wanted(manifest)?),
            "Application" => (kinds::application(), Flavour::Argo, argo::wanted(manifest)?),
            _ => return None,
        };
        let name = manifest["metadata"]["name"].as_str()?;
        let namespace = manifest["metadata"]["namespace"].as_str().unwrap_or("default");
        let key = Key::new(&kind, namespace, name);
        let before = self.store.get(&key).map(|object| generation_of(object));
        self.store.apply(&kind, &key, manifest, settled.unwrap_or(now));
        let after = self.store.get(&key).map_or(1, |object| generation_of(object));
        match self.rollouts.get_mut(&key) {
            Some(rollout) if before != Some(after) => {
                rollout.change(wanted, now);
                self.store.forget_looks(&key);
            }
            Some(_) => {}
            None => {
                let rollout = match settled {
                    Some(at) => Rollout::settled(flavour, wanted, after, at),
                    None => Rollout::fresh(flavour, wanted, now),
                };
                if settled.is_some() {
                    self.write_down(&key, &rollout, now);
                }
                self.rollouts.insert(key.clone(), rollout);
            }
        }
        self.ensure_namespace(namespace, settled.unwrap_or(now));
        Some(key)
    }

    /// One look of the controllers at everything.
    pub(super) fn tick(&mut self, now: Timestamp, pace: Pace) {
        let keys: Vec<Key> = self.rollouts.keys().cloned().collect();
        for key in keys {
            let Some(object) = self.store.get(&key) else { continue };
            let generation = generation_of(object);
            let Some(rollout) = self.rollouts.get_mut(&key) else { continue };
            let circumstances = Circumstances {
                generation,
                looks: self.store.looks(&key),
                mood: self.moods.get(&key.name).copied(),
                broken: self.broken.contains(&(key.name.clone(), rollout.wanted.clone())),
            };
            rollout.step(now, pace, &circumstances);
            let rollout = rollout.clone();
            self.write_down(&key, &rollout, now);
        }
    }

    /// The truth about every release, whatever its status says at the moment.
    pub(super) fn seen(&self) -> BTreeMap<String, Seen> {
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
        self.rollouts.iter().map(|(key, rollout)| (key.name.clone(), seen(rollout))).collect()
    }

    /// Writes the status of the object and of its workload as the stage has it.
    fn write_down(&mut self, key: &Key, rollout: &Rollout, now: Timestamp) {
        let Some(object) = self.store.get(key).cloned() else { return };
        let (kind, status, namespace) = match rollout.flavour {
            Flavour::Flux => {
                let chart = flux::chart(&object).unwrap_or(&key.name);
                let release = flux::Release { namespace: &key.namespace, name: &key.name, chart };
                let status = flux::status(rollout, &release, generation_of(&object));
                (kinds::helm_release(), status, key.namespace.as_str())
            }
            Flavour::Argo => {
                let chart = argo::chart(&object).unwrap_or(&key.name);
                let namespace = object["spec"]["destination"]["namespace"].as_str().unwrap_or("default");
                (kinds::application(), argo::status(rollout, &object["spec"], chart), namespace)
            }
        };
        if let Some(status) = status {
            self.store.set_status(&kind, key, status);
        }
        workload::follow(&mut self.store, rollout, namespace, &key.name, now);
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

fn documents(text: &str) -> Result<Vec<Value>, serde_yaml::Error> {
    let documents = serde_yaml::Deserializer::from_str(text).map(Value::deserialize);
    let documents: Vec<Value> = documents.collect::<Result<_, _>>()?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}
