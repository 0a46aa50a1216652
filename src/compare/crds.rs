//! Custom resources of two releases: versions that are served and stored, and the fields of each. They come from
//! `crds/`, and from templates as far as these can be read without rendering.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::change::{Change, What};
use crate::chart::Chart;
use crate::options::TOO_LARGE;
use crate::schema::{self, Rule};
use crate::yaml;

const KIND: &str = "CustomResourceDefinition";

/// A custom resource by its name, such as `certificates.cert-manager.io`.
type Resources = BTreeMap<String, Value>;

pub(crate) fn compare(old: &Chart, new: &Chart, found: &mut Vec<Change>) {
    let (mut before, mut after) = (Resources::new(), Resources::new());
    gather("", old, &mut before, &mut Vec::new());
    gather("", new, &mut after, found);
    for (name, crd) in &before {
        match after.get(name) {
            Some(now) => versions(name, crd, now, found),
            None => found.push(Change::new(What::CrdRemoved, name)),
        }
    }
    for name in after.keys().filter(|name| !before.contains_key(*name)) {
        found.push(Change::new(What::CrdAdded, name));
    }
}

fn gather(prefix: &str, chart: &Chart, found: &mut Resources, unread: &mut Vec<Change>) {
    for (path, text) in &chart.texts {
        if !text.contains(KIND) {
            continue;
        }
        let plain = if path.starts_with("crds/") { text.clone() } else { unrendered(text) };
        match yaml::several(&plain) {
            Ok(documents) => {
                for document in documents {
                    if document.get("kind").and_then(Value::as_str) == Some(KIND)
                        && let Some(name) = document.pointer("/metadata/name").and_then(Value::as_str)
                    {
                        found.insert(name.to_owned(), document);
                    }
                }
            }
            Err(why) => unread.push(Change::new(What::Unread, format!("{prefix}{path}")).to(why)),
        }
    }
    for (folder, part) in &chart.charts {
        gather(&format!("{prefix}charts/{folder}/"), part, found, unread);
    }
}

/// A template without the lines that have actions in them: what is left of a custom resource is all that it says
/// itself.
fn unrendered(text: &str) -> String {
    let (mut plain, mut inside) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        let opens = line.rfind("{{");
        let closes = line.rfind("}}");
        if !inside && opens.is_none() {
            plain.push_str(line);
        }
        inside = match (opens, closes) {
            (Some(opens), Some(closes)) => opens > closes,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => inside,
        };
    }
    plain
}

/// The versions of a custom resource by their name.
fn named(crd: &Value) -> BTreeMap<&str, &Value> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    versions.filter_map(|version| Some((version.get("name")?.as_str()?, version))).collect()
}

fn flag(version: &Value, key: &str) -> bool {
    version.get(key) == Some(&Value::Bool(true))
}

fn versions(name: &str, old: &Value, new: &Value, found: &mut Vec<Change>) {
    let scope = |crd: &Value| crd.pointer("/spec/scope").and_then(Value::as_str).map(str::to_owned);
    if let (Some(before), Some(after)) = (scope(old), scope(new))
        && before != after
    {
        found.push(Change::new(What::CrdScope, name).from(before).to(after));
    }
    let (before, after) = (named(old), named(new));
    let stored = |versions: &BTreeMap<&str, &Value>| {
        versions.iter().find(|(_, version)| flag(version, "storage")).map(|(name, _)| (*name).to_owned())
    };
    let (stored_before, stored_after) = (stored(&before), stored(&after));
    for (version, what) in &before {
        let at = format!("{name} {version}");
        let now = after.get(version);
        if flag(what, "served") && !now.is_some_and(|now| flag(now, "served")) {
            // Objects that were written under it are stored in it until somebody migrates them.
            let stored = stored_before.as_deref() == Some(version);
            found.push(Change::new(if stored { What::CrdStoredVersionGone } else { What::CrdVersionGone }, at));
        } else if let Some(now) = now {
            fields(&at, what, now, found);
        }
    }
    for version in after.keys().filter(|version| !before.contains_key(*version)) {
        found.push(Change::new(What::CrdVersionAdded, format!("{name} {version}")));
    }
    if let (Some(before), Some(after)) = (stored_before, stored_after)
        && before != after
    {
        found.push(Change::new(What::CrdStorage, name).from(before).to(after));
    }
}

fn fields(version: &str, old: &Value, new: &Value, found: &mut Vec<Change>) {
    let none = Value::Bool(true);
    let schema = |version: &'_ Value| version.pointer("/schema/openAPIV3Schema").cloned();
    let (old, new) = (schema(old).unwrap_or_else(|| none.clone()), schema(new).unwrap_or(none));
    let Some(findings) = schema::compare(&old, &new) else {
        found.push(Change::new(What::Unread, version).to(TOO_LARGE));
        return;
    };
    for finding in findings {
        let what = match finding.what {
            Rule::Added => What::CrdFieldAdded,
            Rule::Removed => What::CrdFieldRemoved,
            Rule::Required => What::CrdFieldRequired,
            Rule::Retyped => What::CrdFieldRetyped,
            Rule::Narrowed | Rule::Closed => What::CrdFieldNarrowed,
            // What is taken now and was not before stands in nobody's way.
            Rule::Optional | Rule::Widened => continue,
        };
        let mut change = Change::new(what, format!("{} of {version}", finding.at));
        if let Some(from) = finding.from {
            change = change.from(from);
        }
        if let Some(to) = finding.to {
            change = change.to(to);
        }
        found.push(change);
    }
}
