//! The objects of `tests/signals/`, each kind in every state, as files for the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coldframe::signal::{Kind, kind};
use serde::Deserialize;
use serde_json::Value;

/// Objects of one kind of signal.
#[derive(Deserialize)]
pub struct Kit {
    pub settings: Value,
    #[serde(default = "eu_1")]
    pub cluster: String,
    /// The release that is wanted.
    pub wanted: String,
    /// What stands in the config repo at commits.
    #[serde(default)]
    pub commits: BTreeMap<String, String>,
    pub object: Value,
    #[serde(default)]
    pub more: Vec<Value>,
    pub states: BTreeMap<String, Case>,
    #[serde(default)]
    pub pitfalls: BTreeMap<String, Case>,
}

/// One state, as a change of the healthy objects.
#[derive(Deserialize)]
pub struct Case {
    #[serde(default)]
    pub change: BTreeMap<String, Value>,
    #[serde(default)]
    pub settings: Option<Value>,
    /// None where a kind never is in that state.
    #[serde(default)]
    pub health: Option<String>,
    #[serde(default)]
    pub running: Option<String>,
    #[serde(default)]
    pub says: Option<String>,
}

fn eu_1() -> String {
    "eu-1".to_string()
}

/// The kits of all kinds that look at an object of a cluster, by their names.
pub fn kits() -> BTreeMap<String, Kit> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signals");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let kit = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.file_stem().unwrap().to_string_lossy().into_owned(), kit)
    };
    let kits = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).map(read);
    kits.filter(|(name, _): &(String, Kit)| kind(name).is_some_and(Kind::asks_clusters)).collect()
}

impl Kit {
    /// The objects with changes; the first one is what the signal asks for first.
    pub fn with(&self, change: &BTreeMap<String, Value>) -> Vec<Value> {
        let mut all: Vec<Value> = [&self.object].into_iter().chain(&self.more).cloned().collect();
        for (at, value) in change {
            let (index, pointer) =
                at.split_once(':').map_or((0, at.as_str()), |(index, pointer)| (index.parse().unwrap(), pointer));
            put(&mut all[index], pointer, value.clone());
        }
        all
    }
}

/// The object under the names of the settings: cases about other kinds of workload have the one object of their kit.
pub fn renamed(mut object: Value, settings: Option<&Value>) -> Value {
    let Some((settings, kind)) = settings.and_then(|settings| Some((settings, settings["kind"].as_str()?))) else {
        return object;
    };
    let of_kind = match kind {
        "Job" => "batch/v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        _ => "apps/v1",
    };
    object["kind"] = kind.into();
    object["apiVersion"] = settings["apiVersion"].as_str().unwrap_or(of_kind).into();
    for key in ["namespace", "name"] {
        put(&mut object, &format!("/metadata/{key}"), settings[key].clone());
    }
    object
}

/// Sets a place; null takes it out.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let Some((parent, key)) = pointer.rsplit_once('/') else {
        *object = value;
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {parent}")) {
        Value::Object(map) if value.is_null() => drop(map.remove(&key)),
        Value::Object(map) => drop(map.insert(key, value)),
        Value::Array(list) if value.is_null() => drop(list.remove(key.parse().unwrap())),
        Value::Array(list) => {
            let at: usize = key.parse().unwrap();
            if at == list.len() { list.push(value) } else { list[at] = value }
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => panic!("{parent} is {other}"),
    }
}
