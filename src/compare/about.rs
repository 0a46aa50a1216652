//! What `Chart.yaml` says: of the chart itself, and of the charts within it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::change::{Change, What};
use crate::chart::Chart;

pub(crate) fn compare(old: &Chart, new: &Chart, found: &mut Vec<Change>) {
    let differ = |what: What, at: &str, from: &str, to: &str, found: &mut Vec<Change>| {
        if from != to {
            let said = |text: &str| if text.is_empty() { "any".to_owned() } else { text.to_owned() };
            found.push(Change::new(what, at).from(said(from)).to(said(to)));
        }
    };
    differ(What::ChartRenamed, "Chart.yaml", old.name(), new.name(), found);
    differ(What::KubeVersion, "Chart.yaml", old.text("kubeVersion"), new.text("kubeVersion"), found);
    let kind = |chart: &Chart| match chart.text("type") {
        "" => "application".to_owned(),
        other => other.to_owned(),
    };
    differ(What::ChartType, "Chart.yaml", &kind(old), &kind(new), found);
    let deprecated = |chart: &Chart| chart.meta.get("deprecated") == Some(&Value::Bool(true));
    if deprecated(new) && !deprecated(old) {
        found.push(Change::new(What::Deprecated, "Chart.yaml"));
    }
    let (before, after) = (dependencies(old), dependencies(new));
    for (name, dependency) in &before {
        let Some(now) = after.get(name) else {
            found.push(Change::new(What::DependencyRemoved, name).from(text(dependency, "version")));
            continue;
        };
        differ(What::DependencyVersion, name, text(dependency, "version"), text(now, "version"), found);
        differ(What::DependencyRepository, name, text(dependency, "repository"), text(now, "repository"), found);
        differ(What::DependencyCondition, name, text(dependency, "condition"), text(now, "condition"), found);
    }
    for (name, dependency) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        found.push(Change::new(What::DependencyAdded, name).to(text(dependency, "version")));
    }
}

fn text<'v>(dependency: &'v Value, key: &str) -> &'v str {
    dependency.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The charts within it by the key of their values.
fn dependencies(chart: &Chart) -> BTreeMap<&str, &Value> {
    let all = chart.meta.get("dependencies").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| Some((one.get("alias").or_else(|| one.get("name"))?.as_str()?, one))).collect()
}
