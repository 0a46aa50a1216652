//! The keys of a JSON Schema: each key of each mapping, named by the mapping and the key. A mapping that
//! stands at several places is one mapping; that it may stand there is a key of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

pub struct Schema(Value);

impl Schema {
    /// One of the committed schemas, by its path from the repository's root.
    pub fn read(path: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        Self(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    }

    /// Every key, by walking from the top.
    pub fn keys(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        self.walk(&self.0, "file", &mut keys);
        keys
    }

    fn walk(&self, part: &Value, mapping: &str, keys: &mut BTreeSet<String>) {
        for (name, at) in self.forms(part, mapping) {
            for (key, inner) in at["properties"].as_object().into_iter().flatten() {
                if keys.insert(format!("{name}.{key}")) {
                    self.walk(inner, &name, keys);
                }
            }
            for inner in [&at["items"], &at["additionalProperties"]] {
                if inner.is_object() {
                    self.walk(inner, &name, keys);
                }
            }
        }
    }

    /// What may stand at a place: references followed, choices listed, each with the mapping's name.
    fn forms<'a>(&'a self, part: &'a Value, mapping: &str) -> Vec<(String, &'a Value)> {
        let mut forms = vec![(mapping.to_string(), part)];
        if let Some(name) = part["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            forms.extend(self.forms(&self.0["$defs"][name], name));
        }
        for choice in ["oneOf", "anyOf", "allOf"] {
            for part in part[choice].as_array().into_iter().flatten() {
                forms.extend(self.forms(part, mapping));
            }
        }
        forms
    }

    /// The name of the key at a path such as `tiers[gold].soak.min`; none where the schema has no such.
    pub fn name_of(&self, path: &str) -> Option<String> {
        let mut here = vec![("file".to_string(), &self.0)];
        let mut name = None;
        for step in super::set::steps(path) {
            let mut next = Vec::new();
            for (mapping, at) in &here {
                if step.item {
                    next.extend(at.get("items").map(|items| self.forms(items, mapping)).into_iter().flatten());
                } else if let Some(inner) = at["properties"].get(&step.name) {
                    name = Some(format!("{mapping}.{}", step.name));
                    next.extend(self.forms(inner, mapping));
                } else if at["additionalProperties"].is_object() {
                    // The name is somebody's own: a tier, a label.
                    next.extend(self.forms(&at["additionalProperties"], mapping));
                }
            }
            here = next;
        }
        if here.is_empty() { None } else { name }
    }
}

#[test]
fn a_walk_finds_what_stands_behind_references_and_choices() {
    let keys = Schema::read("policies/schema.json").keys();
    for key in ["file.tiers", "Tier.soak", "Soak.max", "Step.pause", "Pause.duration", "Override.soak", "Cron.for"] {
        assert!(keys.contains(key), "{key} is not in {keys:?}");
    }
    assert!(keys.len() > 140, "{}", keys.len());
    let schema = Schema::read("policies/schema.json");
    assert_eq!(schema.name_of("tiers[gold].soak.max").as_deref(), Some("Soak.max"));
    assert_eq!(schema.name_of("plugins[app].tiers.gold.soak").as_deref(), Some("Override.soak"));
    assert_eq!(schema.name_of("tiers[gold].sok"), None);
    assert_eq!(schema.name_of("tiers.gold"), None);
}

/// The manual's pages of a file name each of its keys, in code.
#[test]
fn the_manual_names_every_key() {
    let policy = ["policy", "releases", "notifications", "commands"].as_slice();
    for (of, pages) in [("policies/schema.json", policy), ("policies/limits.schema.json", &["windows"])] {
        let read = |page: &&str| {
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{page}.md"))).unwrap()
        };
        let text: String = pages.iter().map(read).collect();
        let names = |key: &String| {
            let name = key.rsplit('.').next().unwrap_or("");
            [format!("`{name}`"), format!("{name}:"), format!("`{name}."), format!(".{name}`")]
                .iter()
                .any(|form| text.contains(form))
        };
        let missing: Vec<String> = Schema::read(of).keys().into_iter().filter(|key| !names(key)).collect();
        assert!(missing.is_empty(), "{} do not name:\n  {}", pages.join(", "), missing.join("\n  "));
    }
}
