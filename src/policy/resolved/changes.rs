//! How two policies differ, path by path, with presets and defaults filled in: what a person who edits one file of
//! several layers does not see. What would follow from it is for the planner to say.

use std::collections::BTreeMap;
use std::fmt;

use decide::{PluginPolicy, Tier, TierName};
use serde_yaml::{Mapping, Value};

use super::{file_of, tier_of};
use crate::Loaded;
use crate::file::OverrideFile;

/// The most characters of one value.
const VALUE: usize = 80;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A tier or a plugin that was not there.
    New {
        /// `tier` or `plugin`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// One that is not there any more.
    Gone {
        /// `tier` or `plugin`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The ladder has another order.
    Order {
        /// The tiers in the new one.
        tiers: Vec<String>,
    },
    /// Another value.
    Value {
        /// A tier, a plugin, a plugin on a tier, or a key of the whole file.
        of: String,
        /// The path below it; empty for a key of the whole file that has none.
        key: String,
        /// What stood there.
        from: Option<String>,
        /// What stands there now.
        to: Option<String>,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New { what, name } => write!(f, "{what} {name} is new"),
            Self::Gone { what, name } => write!(f, "{what} {name} is gone"),
            Self::Order { tiers } => write!(f, "releases climb in another order: {}", tiers.join(", ")),
            Self::Value { of, key, from, to } => {
                let [from, to] = [from, to].map(|value| value.as_deref().unwrap_or("none"));
                let colon = if key.is_empty() { "" } else { ": " };
                write!(f, "{of}{colon}{key} {from} → {to}")
            }
        }
    }
}

/// Every difference, in the order of the file.
pub fn changes(before: &Loaded, after: &Loaded) -> Vec<Change> {
    let (old, new) = (file_of(before), file_of(after));
    let mut out = Vec::new();
    for key in keys(&old, &new) {
        let (old, new) = (old.get(&key), new.get(&key));
        let name = key.as_str().unwrap_or_default();
        match name {
            "tiers" => named("tier", (old, new), &mut out),
            "plugins" => named("plugin", (old, new), &mut out),
            key => differ(key, "", (old, new), &mut out),
        }
    }
    let order = |loaded: &Loaded, other: &Loaded| -> Vec<String> {
        let both = loaded.ladder.iter().filter(|tier| other.ladder.iter().any(|same| same.name == tier.name));
        both.map(|tier| tier.name.to_string()).collect()
    };
    if order(before, after) != order(after, before) {
        out.push(Change::Order { tiers: after.ladder.iter().map(|tier| tier.name.to_string()).collect() });
    }
    for plugin in &after.policy.plugins {
        if let Some(known) = before.policy.plugins.iter().find(|known| known.name == plugin.name) {
            rungs((known, &before.ladder), (plugin, &after.ladder), &mut out);
        }
    }
    out
}

/// What a plugin has of its own on the tiers, before or after.
fn rungs(
    (old, old_ladder): (&PluginPolicy, &[Tier]),
    (new, new_ladder): (&PluginPolicy, &[Tier]),
    out: &mut Vec<Change>,
) {
    let of = |plugin: &PluginPolicy| -> BTreeMap<TierName, Value> {
        plugin.tiers.iter().map(|tier| (tier.name.clone(), tier_of(tier, &OverrideFile::SHAPE))).collect()
    };
    let own = |plugin: &PluginPolicy, ladder: &[Tier], name: &TierName| {
        plugin.tiers.iter().any(|tier| tier.name == *name && !ladder.contains(tier))
    };
    let (before, after) = (of(old), of(new));
    for tier in new.tiers.iter().map(|tier| &tier.name) {
        let (Some(before), Some(after)) = (before.get(tier), after.get(tier)) else { continue };
        if own(old, old_ladder, tier) || own(new, new_ladder, tier) {
            differ(&format!("{} on {tier}", new.name), "", (Some(before), Some(after)), out);
        }
    }
}

fn keys(old: &Mapping, new: &Mapping) -> Vec<Value> {
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    new.keys().chain(gone).cloned().collect()
}

/// Lists of things with names.
fn named(what: &'static str, (old, new): (Option<&Value>, Option<&Value>), out: &mut Vec<Change>) {
    let items = |list: Option<&Value>| -> Vec<(String, Mapping)> {
        let list = list.and_then(Value::as_sequence).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(item).collect()
    };
    let (old, new) = (items(old), items(new));
    for (name, now) in &new {
        match old.iter().find(|(known, _)| known == name) {
            Some((_, before)) => within(name, "", (before, now), out),
            None => out.push(Change::New { what, name: name.clone() }),
        }
    }
    let gone = old.iter().filter(|(name, _)| !new.iter().any(|(known, _)| known == name));
    out.extend(gone.map(|(name, _)| Change::Gone { what, name: name.clone() }));
}

/// Its name and its keys; what a plugin has of its own on tiers is told apart.
fn item(item: &Value) -> Option<(String, Mapping)> {
    let mut keys = item.as_mapping()?.clone();
    keys.shift_remove("tiers");
    Some((keys.get("name")?.as_str()?.to_string(), keys))
}

fn within(of: &str, path: &str, (old, new): (&Mapping, &Mapping), out: &mut Vec<Change>) {
    for key in keys(old, new) {
        let name = key.as_str().unwrap_or_default();
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        differ(of, &path, (old.get(&key), new.get(&key)), out);
    }
}

fn differ(of: &str, path: &str, (old, new): (Option<&Value>, Option<&Value>), out: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let nothing = Mapping::new();
    match (old, new) {
        (Some(Value::Mapping(old)), Some(Value::Mapping(new))) => within(of, path, (old, new), out),
        (None, Some(Value::Mapping(new))) => within(of, path, (&nothing, new), out),
        (Some(Value::Mapping(old)), None) => within(of, path, (old, &nothing), out),
        (old, new) => {
            let [from, to] = [old, new].map(|value| value.map(|value| cut(&flow(value))));
            out.push(Change::Value { of: of.to_string(), key: path.to_string(), from, to });
        }
    }
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(value) => value.clone(),
        Value::Sequence(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Mapping(keys) => {
            let pairs = keys.iter().map(|(key, value)| format!("{}: {}", flow(key), flow(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Tagged(tagged) => flow(&tagged.value),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{SourceFile, load};

    const FILE: &str = "\
version: 1
tiers:
  - {name: bronze, select: {matchLabels: {tier: bronze}}, soak: 1d}
  - {name: gold, select: {matchLabels: {tier: gold}}, soak: 2d}
plugins:
  - name: loki
    chart: {oci: oci://registry.example/charts/loki}
    write: [{file: \"{tier}.yaml\", path: $.version}]
    signals: [{helmRelease: {namespace: loki, name: loki}}]
";

    fn told(edits: &[(&str, &str)]) -> Vec<String> {
        let loaded = |text: &str| load(&[SourceFile { path: "coldframe.yaml".into(), text: text.into() }]).unwrap();
        let text = edits.iter().fold(FILE.to_string(), |text, (part, by)| {
            assert!(text.contains(part), "{part}");
            text.replacen(part, by, 1)
        });
        changes(&loaded(FILE), &loaded(&text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_differs_is_told_by_its_path() {
        let own = "    signals: [{helmRelease: {namespace: loki, name: loki}}]\n    tiers: {gold: {soak: 3d}}\n";
        let freeze = "freeze: [{why: audit}]\ntiers:";
        for (edits, expected) in [
            (vec![], vec![]),
            (vec![("soak: 2d", "soak: 1d")], vec!["gold: soak 2d → 1d"]),
            (vec![("soak: 2d", "soak: 2d, force: {after: 30d, notice: [3d]}")], {
                vec!["gold: force.after none → 30d", "gold: force.notice none → [3d]"]
            }),
            (vec![("soak: 2d", "soak: {min: 2d, max: 7d}")], vec!["gold: soak 2d → {min: 2d, max: 7d}"]),
            (vec![("version: 1\n", "version: 1\nlimits: {openPulls: 3}\n")], vec!["limits: openPulls none → 3"]),
            (vec![("tiers:", freeze)], vec!["freeze none → [{why: audit}]"]),
            (vec![("    signals: [{helmRelease: {namespace: loki, name: loki}}]\n", own)], {
                vec!["loki on gold: soak 2d → 3d"]
            }),
            (vec![("name: bronze", "name: silver")], vec!["tier silver is new", "tier bronze is gone"]),
            (
                vec![
                    (
                        "name: bronze, select: {matchLabels: {tier: bronze}}, soak: 1d",
                        "name: gold, soak: 2d, select: {matchLabels: {tier: gold}}",
                    ),
                    (
                        "name: gold, select: {matchLabels: {tier: gold}}, soak: 2d",
                        "name: bronze, soak: 1d, select: {matchLabels: {tier: bronze}}",
                    ),
                ],
                vec!["releases climb in another order: gold, bronze"],
            ),
        ] {
            assert_eq!(told(&edits), expected, "{edits:?}");
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        let long = format!("freeze: [{{why: \"{}\"}}]\ntiers:", "x".repeat(500));
        let told = told(&[("tiers:", &long)]);
        assert!(told.len() == 1 && told[0].chars().count() < 120 && told[0].ends_with('…'), "{told:?}");
    }
}
