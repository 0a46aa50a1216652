//! What is installed without any version: the newest release then comes by itself, as it does with a range.

use serde_json::Value;

use super::sight::at;

/// What a document installs without a version: HelmReleases by their names, else charts.
pub(super) fn charts(tree: &Value) -> Vec<String> {
    let text = |tree: &Value, keys: &[&str]| at(tree, keys).and_then(Value::as_str).map(str::to_string);
    let group = text(tree, &["apiVersion"]).unwrap_or_default();
    match (group.split('/').next().unwrap_or_default(), text(tree, &["kind"]).as_deref()) {
        ("helm.toolkit.fluxcd.io", Some("HelmRelease")) => {
            let spec = &["spec", "chart", "spec"];
            let Some(chart) = at(tree, spec).filter(|spec| spec.get("version").is_none()) else { return Vec::new() };
            // A patch of the base says no chart, and a chart in git has the version of its commit.
            let from_git = text(chart, &["sourceRef", "kind"]).is_some_and(|kind| kind != "HelmRepository");
            let named = text(tree, &["metadata", "name"]).filter(|_| !from_git && chart.get("chart").is_some());
            named.into_iter().collect()
        }
        ("kustomize.config.k8s.io", _) => unversioned(tree, "helmCharts", "name", |one| one.get("repo").is_some()),
        // A helmfile: a chart of a repository, not of a folder.
        ("", None) => unversioned(tree, "releases", "chart", |one| {
            text(one, &["chart"]).is_some_and(|chart| !chart.starts_with(['.', '/']) && !chart.contains("{{"))
        }),
        _ => Vec::new(),
    }
}

/// Items of a list without a version, as far as they are charts.
fn unversioned(tree: &Value, list: &str, name: &str, is_chart: impl Fn(&Value) -> bool) -> Vec<String> {
    let items = tree.get(list).and_then(Value::as_array).into_iter().flatten();
    let bare = items.filter(|one| one.get("version").is_none() && is_chart(one));
    bare.filter_map(|one| one.get(name)?.as_str()).map(str::to_string).collect()
}
