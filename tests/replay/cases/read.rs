//! A case as it is written, and the snapshot that it means: its base with what the case says instead.

use std::fs;
use std::path::{Path, PathBuf};

use decide::Snapshot;
use jiff::Timestamp;
use serde::Deserialize;
use serde_yaml::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What the case is about, in one sentence.
    #[allow(dead_code)] // not everybody who reads cases compares plans
    pub what: String,
    /// A file of `base/` without its ending.
    pub base: String,
    /// What is different there: keys replace keys, lists replace lists, null takes a key out.
    #[serde(default)]
    pub snapshot: Value,
    pub now: Timestamp,
    /// The plan in words; always the last key of the file.
    #[allow(dead_code)]
    pub plan: String,
}

pub fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    files
}

pub fn snapshot(folder: &Path, case: &Case) -> Result<Snapshot, String> {
    let path = folder.join(format!("base/{}.yaml", case.base));
    let base = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut facts: Value = serde_yaml::from_str(&base).map_err(|error| format!("{}: {error}", path.display()))?;
    facts.apply_merge().map_err(|error| error.to_string())?;
    patch(&mut facts, &case.snapshot);
    serde_yaml::with::singleton_map_recursive::deserialize(facts).map_err(|error| format!("the snapshot: {error}"))
}

/// A merge patch (RFC 7396) on YAML.
pub fn patch(onto: &mut Value, change: &Value) {
    let (Value::Mapping(onto), Value::Mapping(change)) = (&mut *onto, change) else {
        if !change.is_null() {
            *onto = change.clone();
        }
        return;
    };
    for (key, value) in change {
        match (value, onto.get_mut(key)) {
            (Value::Null, _) => {
                onto.remove(key);
            }
            (Value::Mapping(_), Some(present @ Value::Mapping(_))) if !is_tagged_choice(value) => patch(present, value),
            (value, _) => {
                onto.insert(key.clone(), value.clone());
            }
        }
    }
}

/// `{known: …}` and `{unread: …}` are one fact, not two keys.
fn is_tagged_choice(value: &Value) -> bool {
    value.get("unread").is_some()
}
