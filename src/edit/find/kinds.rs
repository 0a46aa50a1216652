//! Where each kind of file has the versions of charts. ApplicationSets are in `generators`.

use serde_json::Value;

use super::generators::application_set;
use super::{By, Origin, Place, at, item, last, list, steps, text};
use crate::place::VERSION;
use crate::{Document, Refusal};
use jsonpath::Step;

/// The places of a document that is a tree.
pub(super) fn of_tree(file: &str, document: &Document) -> Vec<Place> {
    let tree = &document.tree;
    let group = text(tree, &["apiVersion"]).unwrap_or_default().split('/').next().unwrap_or_default();
    match (group, text(tree, &["kind"])) {
        ("helm.toolkit.fluxcd.io", Some("HelmRelease")) => helm_release(tree),
        ("source.toolkit.fluxcd.io", Some("OCIRepository")) => oci_repository(document),
        ("argoproj.io", Some("Application")) => argo(tree, &["spec"], "Application"),
        ("argoproj.io", Some("ApplicationSet")) => application_set(tree),
        ("greenhouse.sap", Some("Catalog")) => catalog(tree, &["spec", "sources"]),
        ("greenhouse.sap", Some("PluginDefinition" | "ClusterPluginDefinition")) => helm_chart(tree),
        ("helm.cattle.io", Some("HelmChart")) => of_k3s(tree),
        ("greenhouse.sap", Some(kind)) => definition(tree, kind),
        ("kustomize.config.k8s.io", _) => kustomization(tree),
        _ if is_named(file, &["kustomization.yaml", "kustomization.yml", "Kustomization"]) => kustomization(tree),
        _ if is_named(file, &["Chart.yaml"]) => umbrella(tree),
        // Its lock does not move with it.
        _ if is_named(file, &["requirements.yaml"]) => Vec::new(),
        _ => others(tree),
    }
}

fn is_named(file: &str, names: &[&str]) -> bool {
    file.rsplit('/').next().is_some_and(|name| names.contains(&name))
}

/// Flux: a HelmRelease, or a patch of one, which goes by its name alone.
fn helm_release(tree: &Value) -> Vec<Place> {
    let path = ["spec", "chart", "spec", "version"];
    if at(tree, &path).is_none() {
        return Vec::new();
    }
    let place = match (text(tree, &["spec", "chart", "spec", "chart"]), text(tree, &["metadata", "name"])) {
        (Some(chart), _) => Place::of_chart("HelmRelease", steps(&path), chart),
        (None, Some(name)) => Place { by: By::Either, ..Place::of_chart("patch of a HelmRelease", steps(&path), name) },
        (None, None) => return Vec::new(),
    };
    vec![place]
}

/// Flux: an OCIRepository, or a patch of one, which goes by its name alone. Of digest, range and tag the first wins
/// (source-controller, `OCIRepositoryRef`).
fn oci_repository(document: &Document) -> Vec<Place> {
    let tree = &document.tree;
    let path = ["spec", "ref", "tag"];
    let place = match (text(tree, &["spec", "url"]), text(tree, &["metadata", "name"])) {
        (Some(url), _) => Place::of_chart("OCIRepository", steps(&path), url).from(Some(Origin::whole(url))),
        (None, Some(name)) if at(tree, &path).is_some() => {
            Place { by: By::Either, ..Place::of_chart(OCI_PATCH, steps(&path), name) }
        }
        (None, _) => return Vec::new(),
    };
    let outweighs = |key: &&str| at(tree, &["spec", "ref", key]).is_some();
    let trouble = ["digest", "semver"].into_iter().find(outweighs).map(|key| Refusal::Outweighed {
        path: "$.spec.ref.tag".to_string(),
        line: document.line,
        by: format!("spec.ref.{key}"),
    });
    vec![Place { trouble, ..place }]
}

const OCI_PATCH: &str = "patch of an OCIRepository";

/// Argo CD: one source or several, of which some may be git.
pub(super) fn argo(tree: &Value, below: &[&str], kind: &'static str) -> Vec<Place> {
    let of = |source: &Value, steps: Vec<jsonpath::Step>| -> Option<Place> {
        let repository = text(source, &["repoURL"]);
        match (text(source, &["chart"]), repository) {
            (Some(chart), _) => {
                Some(Place::of_chart(kind, steps, chart).from(repository.map(|url| Origin::within(url, chart))))
            }
            (None, Some(url)) if url.starts_with("oci://") => {
                Some(Place::of_chart(kind, steps, url).from(Some(Origin::whole(url))))
            }
            (None, Some(_) | None) => None,
        }
    };
    let (source, sources) = ([below, &["source"]].concat(), [below, &["sources"]].concat());
    let single = at(tree, &source).and_then(|one| of(one, steps(&[&source[..], &["targetRevision"]].concat())));
    let several = list(tree, &sources).filter_map(|(index, one)| of(one, item(&sources, index, &["targetRevision"])));
    single.into_iter().chain(several).collect()
}

/// Greenhouse: a source of a catalog that brings plugins' definitions, at a tag of the plugin's own.
fn catalog(tree: &Value, below: &[&str]) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, source) in list(tree, below) {
        if at(source, &["ref", "tag"]).is_none() {
            continue;
        }
        let resources: Vec<&str> = list(source, &["resources"]).filter_map(|(_, resource)| resource.as_str()).collect();
        let repository = text(source, &["repository"]);
        // A tag goes by the name in the file, which need not be that of its folder.
        let own = text(source, &["ref", "tag"]).and_then(|tag| tag.rsplit_once('/')).map(|(name, _)| name);
        let own = own.filter(|name| resources.len() == 1 && !name.contains(['/', '{', '}']));
        for file in &resources {
            let Some(folder) = file.strip_suffix("/plugindefinition.yaml") else { continue };
            let plugin = last(folder);
            let place = Place::of_chart("source of a Catalog", item(below, index, &["ref", "tag"]), plugin);
            found.push(Place {
                by: By::Either,
                value: Some(format!("{}/{VERSION}", own.unwrap_or(plugin))),
                ..place.from(repository.map(|url| Origin::catalog(url, file)))
            });
        }
    }
    found
}

/// Greenhouse: a definition named together with its version, in the shapes of its decision records; or, in a preset,
/// by an alias that ends in it.
fn definition(tree: &Value, kind: &str) -> Vec<Place> {
    let below: &[&str] = if kind == "PluginPreset" { &["spec", "plugin"] } else { &["spec"] };
    let with = |keys: &[&'static str]| [below, keys].concat();
    let beside = "pluginDefinitionVersion";
    let mut found: Vec<Place> = Vec::new();
    for key in ["pluginDefinition", "pluginDefinitionRef", "pluginDefinitionRevision"] {
        let named = text(tree, &with(&[key, "name"])).or_else(|| text(tree, &with(&[key])));
        let Some(plugin) = named else { continue };
        for version in [&[key, "version"][..], &[key, "revision", "version"], &[key, "revision", "tag"], &[beside]] {
            let Some(held) = at(tree, &with(version)) else { continue };
            // A tag may be the plugin's own among those of several.
            let own_tag =
                held.as_str().and_then(|tag| tag.strip_prefix(plugin)).is_some_and(|rest| rest.starts_with('/'));
            let place = Place::of_plugin("version of a definition", steps(&with(version)), plugin);
            if found.iter().all(|known| known.steps != place.steps) {
                found.push(Place { value: own_tag.then(|| format!("{plugin}/{VERSION}")), ..place });
            }
        }
    }
    let alias = with(&["pluginDefinitionRef", "name"]);
    if let Some(name) = text(tree, &alias).filter(|_| kind == "PluginPreset") {
        let ends = name.match_indices('-').filter_map(|(at, _)| Some((name.get(..at)?, name.get(at + 1..)?)));
        let mut aliased = ends.filter(|(_, version)| version.parse::<decide::Version>().is_ok());
        found.extend(aliased.next().map(|(plugin, version)| {
            let v = if version.starts_with('v') { "v" } else { "" };
            let place = Place::of_plugin("alias of a definition", steps(&alias), plugin);
            Place { value: Some(format!("{plugin}-{v}{VERSION}")), ..place }
        }));
    }
    found
}

/// Greenhouse: the chart that a definition brings. Its own version is none of a chart.
fn helm_chart(tree: &Value) -> Vec<Place> {
    let chart = |key: &str| text(tree, &["spec", "helmChart", key]);
    let (Some(name), Some(_)) = (chart("name"), chart("version")) else { return Vec::new() };
    let from = chart("repository").map(|url| Origin::within(url, name));
    vec![Place::of_chart("chart of a definition", steps(&["spec", "helmChart", "version"]), name).from(from)]
}

/// K3s and RKE2: what their controller installs.
fn of_k3s(tree: &Value) -> Vec<Place> {
    let of = |key: &str| text(tree, &["spec", key]);
    let (Some(chart), Some(_)) = (of("chart"), of("version")) else { return Vec::new() };
    let from = match of("repo") {
        Some(url) => Some(Origin::within(url, last(chart))),
        None => chart.contains("://").then(|| Origin::whole(chart)),
    };
    vec![Place::of_chart("HelmChart", steps(&["spec", "version"]), chart).from(from)]
}

/// Kustomize: charts that it inflates, images, and remote bases at a reference.
fn kustomization(tree: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, chart) in list(tree, &["helmCharts"]) {
        if let Some(name) = text(chart, &["name"]).filter(|_| at(chart, &["version"]).is_some()) {
            let from = text(chart, &["repo"]).map(|url| Origin::within(url, name));
            let place = item(&["helmCharts"], index, &["version"]);
            found.push(Place::of_chart("chart of a Kustomization", place, name).from(from));
        }
    }
    for (index, image) in list(tree, &["images"]) {
        if let Some(name) = text(image, &["name"]).filter(|_| at(image, &["newTag"]).is_some()) {
            found.push(Place::of_chart(IMAGE, item(&["images"], index, &["newTag"]), name));
        }
    }
    for keys in [["resources"], ["components"], ["bases"]] {
        found.extend(list(tree, &keys).filter_map(|(index, resource)| remote_base(&keys, index, resource.as_str()?)));
    }
    found
}

/// An image is no chart, even where both have one name.
pub(super) const IMAGE: &str = "image of a Kustomization";

/// `https://host/owner/name//folder?ref=v1.2.0`: the folder's name, or that of the repository.
fn remote_base(keys: &[&str], index: usize, resource: &str) -> Option<Place> {
    let (place, version) = resource.split_once("?ref=")?;
    let version = version.split('&').next().filter(|version| !version.is_empty())?;
    let repository = place.split("//").filter(|part| !part.ends_with(':')).find(|part| part.contains('/'));
    let mut names = vec![last(place).to_string()];
    names.extend(repository.map(|part| last(part.trim_end_matches(".git")).to_string()));
    names.dedup();
    let value = Some(resource.replacen(&format!("?ref={version}"), &format!("?ref={VERSION}"), 1));
    Some(Place { names, value, ..Place::of_chart("remote base", item(keys, index, &[]), place) })
}

/// Helm: a chart of charts.
fn umbrella(tree: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, one) in list(tree, &["dependencies"]) {
        let Some(name) = text(one, &["name"]).filter(|_| at(one, &["version"]).is_some()) else { continue };
        // An alias of `helm repo add` says no address.
        let from = text(one, &["repository"]).filter(|url| url.contains("://")).map(|url| Origin::within(url, name));
        let place = item(&["dependencies"], index, &["version"]);
        found.push(Place::of_chart("dependency of a chart", place, name).from(from));
    }
    found
}

/// What says no kind: releases of a helmfile, catalogs among the values of a chart, versions under the names of charts,
/// lists of charts.
fn others(tree: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, release) in list(tree, &["releases"]) {
        if let Some(chart) = text(release, &["chart"]).filter(|_| at(release, &["version"]).is_some()) {
            let place = item(&["releases"], index, &["version"]);
            found.push(Place::of_chart("release of a helmfile", place, chart).from(helmfile_origin(tree, chart)));
        }
    }
    for (name, catalog_) in at(tree, &["catalogs"]).and_then(Value::as_object).into_iter().flatten() {
        found.extend(catalog(catalog_, &["sources"]).into_iter().map(|place| Place {
            steps: [steps(&["catalogs", name]), place.steps].concat(),
            kind: "source of a Catalog in the values of a chart",
            ..place
        }));
    }
    for (key, _) in tree.as_object().into_iter().flatten().filter(|(_, value)| value.is_string()) {
        if let Some((url, chart)) = key.split_once(' ').filter(|(url, _)| url.contains("://")) {
            let place = Place::of_chart("version under the name of its chart", steps(&[key]), chart);
            found.push(place.from(Some(Origin::within(url, chart))));
        }
    }
    // A lock has a digest of what it lists.
    if at(tree, &["digest"]).is_none() {
        listed(tree, &mut Vec::new(), &mut found);
    }
    found
}

/// Lists below one another, mappings counted.
const DEEPEST: usize = 8;

/// Items of lists that name a chart, its repository and its version, wherever they are: what a Chart.yaml has under
/// `dependencies`.
fn listed(tree: &Value, way: &mut Vec<Step>, found: &mut Vec<Place>) {
    if way.len() > DEEPEST {
        return;
    }
    let entries: Vec<(Step, &Value)> = match tree {
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (Step::Index(index), item)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for (step, below) in entries {
        let item = matches!(step, Step::Index(_));
        way.push(step);
        let named = text(below, &["chart"]).or_else(|| text(below, &["name"]));
        if let (true, Some(name), Some(url), Some(_)) =
            (item, named, text(below, &["repository"]), at(below, &["version"]))
        {
            // An alias of `helm repo add` says no address.
            let whole = url.starts_with("oci://") && last(url) == last(name);
            let from = if whole { Origin::whole(url) } else { Origin::within(url, last(name)) };
            let place = Place::of_chart("chart of a list", [&way[..], &steps(&["version"])].concat(), name);
            found.push(place.from(Some(from).filter(|_| url.contains("://"))));
        }
        listed(below, way, found);
        way.pop();
    }
}

/// `oci://…`, or `grafana/loki` where the same file says what `grafana` is.
fn helmfile_origin(tree: &Value, chart: &str) -> Option<Origin> {
    if chart.contains("://") {
        return Some(Origin::whole(chart));
    }
    // A folder beside it.
    if chart.starts_with(['.', '/']) {
        return Some(Origin::whole(chart));
    }
    let (repository, name) = chart.split_once('/')?;
    let known = list(tree, &["repositories"]).find(|(_, one)| text(one, &["name"]) == Some(repository));
    known.and_then(|(_, one)| text(one, &["url"])).map(|url| Origin::within(url, name))
}

/// Terraform: resources that install a chart.
pub(super) fn terraform(tree: &Value) -> Vec<Place> {
    let releases = at(tree, &["resource", "helm_release"]).and_then(Value::as_object).into_iter().flatten();
    let place = |(name, one): (&String, &Value)| {
        let chart = text(one, &["chart"]).filter(|_| at(one, &["version"]).is_some())?;
        let from = match text(one, &["repository"]) {
            Some(url) => Some(Origin::within(url, last(chart))),
            None => chart.contains("://").then(|| Origin::whole(chart)),
        };
        let steps = steps(&["resource", "helm_release", name, "version"]);
        Some(Place::of_chart("helm_release of Terraform", steps, chart).from(from))
    };
    releases.filter_map(place).collect()
}

/// Any text: the lines that are marked for a plugin.
pub(super) fn marked(tree: &Value) -> Vec<Place> {
    let lines = tree.as_object().into_iter().flatten();
    lines.map(|(name, _)| Place { by: By::Either, ..Place::of_chart("marked line", steps(&[name]), name) }).collect()
}
