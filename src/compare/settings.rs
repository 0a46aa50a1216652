//! What somebody sets for a chart, and whether a difference is about that.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::path::{at, parts};

/// What somebody sets for a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    values: Value,
    names: Vec<String>,
    named: BTreeMap<String, Value>,
}

impl Settings {
    /// Values as a tree, and others by their whole name (`image.tag`).
    pub fn new(values: Value, names: Vec<String>) -> Self {
        Self { values, names, named: BTreeMap::new() }
    }

    /// Each value that goes by its whole name.
    #[must_use]
    pub fn naming(self, named: BTreeMap<String, Value>) -> Self {
        Self { named, ..self }
    }

    /// What is set at an option, where that can be told.
    pub fn value(&self, path: &str) -> Option<&Value> {
        let set = self.named.get(path).or_else(|| at(&self.values, path))?;
        (!set.is_null()).then_some(set)
    }

    /// Whether something is set at the path of a difference, below it, or around it as a whole. A null takes a value
    /// away and sets none.
    pub fn has(&self, path: &str) -> bool {
        // Of the items of a list, and of keys that people choose, the whole is meant.
        let path = path.split("[]").next().unwrap_or(path);
        let path = path.split(".*").next().unwrap_or(path);
        let within = |part: &str, whole: &str| {
            part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        if self.names.iter().any(|name| within(name, path) || within(path, name)) {
            return true;
        }
        let mut value = &self.values;
        for part in parts(path) {
            match value {
                Value::Object(map) => match map.get(&part) {
                    Some(below) => value = below,
                    None => return false,
                },
                // Somebody puts something else in the place of the mapping.
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return true,
                Value::Null => return false,
            }
        }
        match value {
            Value::Null => false,
            Value::Object(map) => map.values().any(|value| !value.is_null()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => true,
        }
    }
}
