//! The objects of one cluster as an API server keeps them: resource versions, generations, a log of
//! changes for watches, snapshots for paged lists. HTTP is in `api`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::kinds::Kind;
use crate::loopback::hex_sha256;

/// Changes that a watch can still be told about.
const LOG: usize = 2_000;
/// Lists that are being paged through.
const SNAPSHOTS: usize = 16;
/// Two reads within this time are one look: a careful reader asks twice in one pass.
const ONE_LOOK: SignedDuration = SignedDuration::from_millis(250);

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// `plural.group`, or the plural alone in the core group.
    pub(super) resource: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Key {
    pub(super) fn new(kind: &Kind, namespace: &str, name: &str) -> Self {
        let namespace = if kind.namespaced { namespace } else { "" };
        Self { resource: kind.resource(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One change, for watches.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) revision: u64,
    pub(super) key: Key,
    pub(super) before: Option<Arc<Value>>,
    /// After it; of a deletion the last state, with the deletion's resource version.
    pub(super) after: Arc<Value>,
    pub(super) deleted: bool,
}

struct Entry {
    object: Arc<Value>,
    looks: u32,
    looked_at: Option<Timestamp>,
}

/// All objects of one cluster.
pub(super) struct Store {
    cluster: String,
    revision: u64,
    objects: BTreeMap<Key, Entry>,
    log: VecDeque<Change>,
    /// Changes up to this revision are forgotten.
    forgotten: u64,
    snapshots: BTreeMap<u64, Vec<Arc<Value>>>,
    moved: watch::Sender<u64>,
}

impl Store {
    pub(super) fn new(cluster: &str) -> Self {
        Self {
            cluster: cluster.to_owned(),
            revision: 1,
            objects: BTreeMap::new(),
            log: VecDeque::new(),
            forgotten: 0,
            snapshots: BTreeMap::new(),
            moved: watch::Sender::new(1),
        }
    }

    /// The resource version of the newest change.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Rings at every change.
    pub(super) fn moved(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key).map(|entry| &entry.object)
    }

    /// Every object of a resource, in one namespace or in all.
    pub(super) fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let wanted = |key: &Key| key.resource == resource && namespace.is_none_or(|wanted| key.namespace == wanted);
        self.objects.iter().filter(|(key, _)| wanted(key)).map(|(_, entry)| entry.object.clone()).collect()
    }

    /// Creates the object or takes over what the manifest states, as server-side apply by its only
    /// owner would. Status stays. The generation moves with anything but metadata and status; where
    /// the kind has no status subresource, the status that stays is part of the object like the rest.
    pub(super) fn apply(&mut self, kind: &Kind, key: &Key, manifest: &Value, now: Timestamp) -> bool {
        let before = self.get(key).cloned();
        let mut object = manifest.clone();
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.kind.clone().into();
        let generation = before.as_ref().map_or(1, |before| {
            if let Some(status) = before.get("status") {
                object["status"] = status.clone();
            }
            let moved = without(before, &["metadata", "status"]) != without(&object, &["metadata", "status"]);
            generation_of(before) + u64::from(moved)
        });
        self.fill_metadata(key, &mut object, before.as_deref(), generation, now);
        if before.as_ref().is_some_and(|before| same(before, &object)) {
            return false;
        }
        self.write(key, object);
        true
    }

    /// Writes the status. With a status subresource only the resource version moves; without one the
    /// generation moves too, as every write to such an object does.
    pub(super) fn set_status(&mut self, kind: &Kind, key: &Key, status: Value) -> bool {
        self.edit(kind, key, |object| object["status"] = status)
    }

    /// Any other write of a controller to its object.
    pub(super) fn edit(&mut self, kind: &Kind, key: &Key, edit: impl FnOnce(&mut Value)) -> bool {
        let Some(before) = self.get(key).cloned() else { return false };
        let mut object = (*before).clone();
        edit(&mut object);
        if same(&before, &object) {
            return false;
        }
        let outside: &[&str] = if kind.status_subresource { &["metadata", "status"] } else { &["metadata"] };
        let moved = without(&before, outside) != without(&object, outside);
        object["metadata"]["generation"] = json!(generation_of(&before) + u64::from(moved));
        self.write(key, object);
        true
    }

    pub(super) fn remove(&mut self, key: &Key) -> bool {
        let Some(entry) = self.objects.remove(key) else { return false };
        self.revision += 1;
        let mut after = (*entry.object).clone();
        after["metadata"]["resourceVersion"] = self.revision.to_string().into();
        self.record(key, Some(entry.object), Arc::new(after), true);
        true
    }

    /// Notes that somebody was shown this object.
    pub(super) fn looked(&mut self, key: &Key, now: Timestamp) {
        if let Some(entry) = self.objects.get_mut(key)
            && entry.looked_at.is_none_or(|last| now.duration_since(last) >= ONE_LOOK)
        {
            entry.looks += 1;
            entry.looked_at = Some(now);
        }
    }

    /// How often it was shown since [`Store::forget_looks`].
    pub(super) fn looks(&self, key: &Key) -> u32 {
        self.objects.get(key).map_or(0, |entry| entry.looks)
    }

    /// Begins to count anew.
    pub(super) fn forget_looks(&mut self, key: &Key) {
        if let Some(entry) = self.objects.get_mut(key) {
            (entry.looks, entry.looked_at) = (0, None);
        }
    }

    /// The changes after a revision; `None` when some of them are forgotten.
    pub(super) fn since(&self, revision: u64) -> Option<Vec<Change>> {
        let known = revision >= self.forgotten && revision <= self.revision;
        known.then(|| self.log.iter().filter(|change| change.revision > revision).cloned().collect())
    }

    /// Forgets the log and the snapshots, as a compacted etcd does.
    pub(super) fn compact(&mut self) {
        self.forgotten = self.revision;
        self.log.clear();
        self.snapshots.clear();
    }

    /// Keeps a list so that its further pages show the same state.
    pub(super) fn keep(&mut self, objects: Vec<Arc<Value>>) -> u64 {
        self.snapshots.insert(self.revision, objects);
        while self.snapshots.len() > SNAPSHOTS {
            self.snapshots.pop_first();
        }
        self.revision
    }

    /// A list that was kept; `None` when it is forgotten.
    pub(super) fn kept(&self, revision: u64) -> Option<Vec<Arc<Value>>> {
        self.snapshots.get(&revision).cloned()
    }

    fn fill_metadata(&self, key: &Key, object: &mut Value, before: Option<&Value>, generation: u64, now: Timestamp) {
        let identity = format!("{}/{}/{}/{}", self.cluster, key.resource, key.namespace, key.name);
        let born = before.and_then(|before| before["metadata"]["creationTimestamp"].as_str().map(str::to_owned));
        let metadata = &mut object["metadata"];
        metadata["name"] = key.name.clone().into();
        if !key.namespace.is_empty() {
            metadata["namespace"] = key.namespace.clone().into();
        }
        metadata["uid"] = uid(&identity).into();
        metadata["creationTimestamp"] = born.unwrap_or_else(|| seconds(now)).into();
        metadata["generation"] = generation.into();
    }

    fn write(&mut self, key: &Key, mut object: Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let object = Arc::new(object);
        let entry = self.objects.entry(key.clone());
        let mut before = None;
        entry
            .and_modify(|entry| before = Some(std::mem::replace(&mut entry.object, object.clone())))
            .or_insert_with(|| Entry { object: object.clone(), looks: 0, looked_at: None });
        self.record(key, before, object, false);
    }

    fn record(&mut self, key: &Key, before: Option<Arc<Value>>, after: Arc<Value>, deleted: bool) {
        self.log.push_back(Change { revision: self.revision, key: key.clone(), before, after, deleted });
        while self.log.len() > LOG
            && let Some(oldest) = self.log.pop_front()
        {
            self.forgotten = oldest.revision;
        }
        self.moved.send_replace(self.revision);
    }
}

/// The generation that an object carries.
pub(super) fn generation_of(object: &Value) -> u64 {
    object["metadata"]["generation"].as_u64().unwrap_or(1)
}

/// An instant as Kubernetes writes it: whole seconds.
pub(super) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn without(object: &Value, fields: &[&str]) -> Map<String, Value> {
    let mut fields_of = object.as_object().cloned().unwrap_or_default();
    fields_of.retain(|name, _| !fields.contains(&name.as_str()));
    fields_of
}

/// Equal but for what every write moves.
fn same(before: &Value, after: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        object
    };
    bare(before) == bare(after)
}

/// Looks like a UUID and depends on the identity alone.
fn uid(identity: &str) -> String {
    let hex = hex_sha256(identity.as_bytes());
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::clusters::kinds;

    fn release(version: &str) -> Value {
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"version": version}})
    }

    #[test]
    fn generation_moves_with_the_spec_and_with_the_status_only_without_a_subresource() {
        let now = Timestamp::UNIX_EPOCH;
        // (kind, generation after: create, same again, label only, spec, status)
        for (kind, expected) in [(kinds::helm_release(), [1, 1, 1, 2, 2]), (kinds::application(), [1, 1, 1, 2, 3])] {
            let key = Key::new(&kind, "ns", "x");
            let mut store = Store::new("qa-1");
            let mut seen = Vec::new();
            let mut labelled = release("1.0.0");
            labelled["metadata"]["labels"]["a"] = "c".into();
            for manifest in [release("1.0.0"), release("1.0.0"), labelled, release("1.1.0")] {
                store.apply(&kind, &key, &manifest, now);
                seen.push(generation_of(store.get(&key).unwrap()));
            }
            store.set_status(&kind, &key, json!({"ready": true}));
            seen.push(generation_of(store.get(&key).unwrap()));
            assert_eq!(seen, expected, "{}", kind.kind);
            assert_eq!(store.revision(), 5, "the same again writes nothing");
            store.apply(&kind, &key, &release("1.2.0"), now);
            assert_eq!(store.get(&key).unwrap()["status"]["ready"], true, "a new spec keeps the status");
        }
    }

    #[test]
    fn reads_close_together_are_one_look() {
        let (kind, now) = (kinds::helm_release(), Timestamp::UNIX_EPOCH);
        let key = Key::new(&kind, "ns", "x");
        let mut store = Store::new("qa-1");
        store.apply(&kind, &key, &release("1"), now);
        for milliseconds in [0, 100, 249, 300, 600] {
            store.looked(&key, now + SignedDuration::from_millis(milliseconds));
        }
        assert_eq!(store.looks(&key), 3);
        store.forget_looks(&key);
        assert_eq!(store.looks(&key), 0);
    }

    #[test]
    fn a_forgotten_log_is_said_to_be_forgotten() {
        let (kind, now) = (kinds::helm_release(), Timestamp::UNIX_EPOCH);
        let key = Key::new(&kind, "ns", "x");
        let mut store = Store::new("qa-1");
        store.apply(&kind, &key, &release("1"), now);
        let first = store.revision();
        store.apply(&kind, &key, &release("2"), now);
        store.remove(&key);
        assert_eq!(store.since(first).unwrap().len(), 2);
        assert!(store.since(first).unwrap()[1].deleted);
        assert!(store.since(first + 100).is_none(), "a future revision is none of ours");
        store.compact();
        assert!(store.since(first).is_none());
        assert_eq!(store.since(store.revision()).unwrap().len(), 0);
    }
}
