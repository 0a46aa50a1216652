//! What a chart has where nobody sets anything: values that came, went, or have another type or default.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::change::{Change, What};
use crate::path::{below, brief, kind};

/// The differences of two trees of values, but for the paths that somebody else tells of.
pub(crate) fn compare(old: &Value, new: &Value, told: &BTreeSet<String>, found: &mut Vec<Change>) {
    walk("", old, new, told, found);
}

fn walk(path: &str, old: &Value, new: &Value, told: &BTreeSet<String>, found: &mut Vec<Change>) {
    if told.contains(path) || old == new {
        return;
    }
    match (old, new) {
        // An empty mapping is one that people fill as they like: it has no keys that could go.
        (Value::Object(before), Value::Object(after)) if !before.is_empty() && !after.is_empty() => {
            for (key, value) in before {
                let path = below(path, key);
                match after.get(key) {
                    Some(now) => walk(&path, value, now, told, found),
                    None => leaves(&path, value, told, &mut |at, value| {
                        found.push(Change::new(What::ValueRemoved, at).from(brief(value)));
                    }),
                }
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                leaves(&below(path, key), value, told, &mut |at, value| {
                    found.push(Change::new(What::ValueAdded, at).to(brief(value)));
                });
            }
        }
        _ if same_kind(old, new) => {
            found.push(Change::new(What::DefaultChanged, path).from(brief(old)).to(brief(new)));
        }
        _ => found.push(Change::new(What::ValueRetyped, path).from(kind(old)).to(kind(new))),
    }
}

/// Nothing is of no type: a value may stand there as a hint.
fn same_kind(old: &Value, new: &Value) -> bool {
    old.is_null() || new.is_null() || kind(old) == kind(new)
}

/// Everything below a value that came or went whole, as far as somebody could set it alone.
fn leaves(path: &str, value: &Value, told: &BTreeSet<String>, take: &mut dyn FnMut(&str, &Value)) {
    if told.contains(path) {
        return;
    }
    match value.as_object().filter(|map| !map.is_empty()) {
        Some(map) => {
            for (key, value) in map {
                leaves(&below(path, key), value, told, take);
            }
        }
        None => take(path, value),
    }
}
