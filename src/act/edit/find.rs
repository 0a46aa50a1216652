//! Finds where a chart's version stands, by what each kind of file says of itself: no path is needed where the kind
//! is known. Pure; which of the places found is meant is for whoever asks.

use serde_json::Value;

use super::{Document, FileFormat, Parsed, Refusal};
use crate::jsonpath::Step;
use crate::policy::wiring::{DocumentSelector, Scalar, VERSION};

mod generators;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The chart, as repositories call it.
    pub chart: &'a str,
    /// The plugin, where it is called otherwise.
    pub plugin: &'a str,
}

/// A place where its version stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What kind of place it is, for people.
    pub kind: &'static str,
    /// Where it is.
    pub scalar: Scalar,
}

/// A place in a tree, before it has a path.
struct Place {
    kind: &'static str,
    steps: Vec<Step>,
    value: Option<String>,
}

/// Every place of a file, whose name from the repository's root helps where its content does not say what it is.
///
/// # Errors
/// Where it cannot be read, or another value would win over the version.
pub fn find(format: FileFormat, file: &str, text: &str, wanted: Wanted<'_>) -> Result<Vec<Found>, Refusal> {
    let parsed = super::parsed(format, text)?;
    let mut all = Vec::new();
    for document in &parsed.documents {
        let places = match format {
            FileFormat::Text => marked(&document.tree, wanted),
            FileFormat::Hcl => terraform(&document.tree, wanted),
            FileFormat::Yaml | FileFormat::Json | FileFormat::Toml => of_tree(file, document, wanted)?,
        };
        for Place { kind, steps, value } in places {
            let document = selector(&parsed, document);
            all.push(Found { kind, scalar: Scalar { document, path: spelled(&steps), value } });
        }
    }
    Ok(all)
}

/// What tells this document from the others.
fn selector(parsed: &Parsed, document: &Document) -> Option<DocumentSelector> {
    let kind = text(&document.tree, &["kind"])?.to_string();
    let name = text(&document.tree, &["metadata", "name"]).map(str::to_string);
    (parsed.documents.len() > 1).then_some(DocumentSelector { kind, name })
}

/// A path as people write it.
fn spelled(steps: &[Step]) -> String {
    let plain = |key: &str| {
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut path = "$".to_string();
    for step in steps {
        match step {
            Step::Key(key) if plain(key) => path.push_str(&format!(".{key}")),
            Step::Key(key) => path.push_str(&format!("['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"))),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

fn at<'a>(tree: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(tree, |tree, key| tree.get(key))
}

fn text<'a>(tree: &'a Value, keys: &[&str]) -> Option<&'a str> {
    at(tree, keys)?.as_str()
}

fn list<'a>(tree: &'a Value, keys: &[&str]) -> impl Iterator<Item = (usize, &'a Value)> {
    at(tree, keys).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn steps(keys: &[&str]) -> Vec<Step> {
    keys.iter().map(|key| Step::Key((*key).to_string())).collect()
}

/// An item of a list, and what is below it.
fn item(keys: &[&str], index: usize, below: &[&str]) -> Vec<Step> {
    [steps(keys), vec![Step::Index(index)], steps(below)].concat()
}

/// Whether an address ends in the chart: `oci://registry.example/charts/loki`, `grafana/loki`.
fn names(address: &str, chart: &str) -> bool {
    address.trim_end_matches('/').rsplit('/').next() == Some(chart)
}

fn of_tree(file: &str, document: &Document, wanted: Wanted<'_>) -> Result<Vec<Place>, Refusal> {
    let tree = &document.tree;
    let group = text(tree, &["apiVersion"]).unwrap_or_default().split('/').next().unwrap_or_default();
    let found = match (group, text(tree, &["kind"])) {
        ("helm.toolkit.fluxcd.io", Some("HelmRelease")) => helm_release(tree, wanted),
        ("source.toolkit.fluxcd.io", Some("OCIRepository")) => return oci_repository(document, wanted),
        ("argoproj.io", Some("Application")) => argo(tree, &["spec"], wanted, "Application"),
        ("argoproj.io", Some("ApplicationSet")) => generators::application_set(tree, wanted),
        ("greenhouse.sap", Some("Catalog")) => catalog(tree, &["spec", "sources"], wanted),
        ("greenhouse.sap", Some(kind)) => definition(tree, kind, wanted),
        ("kustomize.config.k8s.io", _) => kustomization(tree, wanted),
        _ if is_named(file, &["kustomization.yaml", "kustomization.yml", "Kustomization"]) => {
            kustomization(tree, wanted)
        }
        _ if is_named(file, &["Chart.yaml"]) => umbrella(tree, wanted),
        _ => others(tree, wanted),
    };
    Ok(found)
}

fn is_named(file: &str, names: &[&str]) -> bool {
    file.rsplit('/').next().is_some_and(|name| names.contains(&name))
}

fn one(kind: &'static str, keys: &[&str]) -> Vec<Place> {
    vec![Place { kind, steps: steps(keys), value: None }]
}

/// Flux: a HelmRelease, or a patch of one, which goes by its name alone.
fn helm_release(tree: &Value, wanted: Wanted<'_>) -> Vec<Place> {
    let path = ["spec", "chart", "spec", "version"];
    if at(tree, &path).is_none() {
        return Vec::new();
    }
    let name = text(tree, &["metadata", "name"]);
    match text(tree, &["spec", "chart", "spec", "chart"]) {
        Some(chart) if names(chart, wanted.chart) => one("HelmRelease", &path),
        None if name == Some(wanted.chart) || name == Some(wanted.plugin) => one("patch of a HelmRelease", &path),
        Some(_) | None => Vec::new(),
    }
}

/// Flux: of digest, range and tag the first wins (source-controller, `OCIRepositoryRef`).
fn oci_repository(document: &Document, wanted: Wanted<'_>) -> Result<Vec<Place>, Refusal> {
    let tree = &document.tree;
    if !text(tree, &["spec", "url"]).is_some_and(|url| names(url, wanted.chart)) {
        return Ok(Vec::new());
    }
    for key in ["digest", "semver"] {
        if at(tree, &["spec", "ref", key]).is_some() {
            return Err(Refusal::Outweighed {
                path: "$.spec.ref.tag".to_string(),
                line: document.line,
                by: format!("spec.ref.{key}"),
            });
        }
    }
    Ok(one("OCIRepository", &["spec", "ref", "tag"]))
}

/// Argo CD: one source or several, of which some may be git.
fn argo(tree: &Value, below: &[&str], wanted: Wanted<'_>, kind: &'static str) -> Vec<Place> {
    let is_it = |source: &Value| match text(source, &["chart"]) {
        Some(chart) => names(chart, wanted.chart),
        None => text(source, &["repoURL"]).is_some_and(|url| url.starts_with("oci://") && names(url, wanted.chart)),
    };
    let source = [below, &["source"]].concat();
    let mut found = Vec::new();
    if at(tree, &source).is_some_and(is_it) {
        found.extend(one(kind, &[&source[..], &["targetRevision"]].concat()));
    }
    let sources = [below, &["sources"]].concat();
    for (index, _) in list(tree, &sources).filter(|(_, source)| is_it(source)) {
        found.push(Place { kind, steps: item(&sources, index, &["targetRevision"]), value: None });
    }
    found
}

/// Greenhouse: a source of a catalog that brings the plugin's definition, at a tag of the plugin's own.
fn catalog(tree: &Value, below: &[&str], wanted: Wanted<'_>) -> Vec<Place> {
    let brings = |resource: &Value| {
        resource.as_str().is_some_and(|path| {
            path.strip_suffix("/plugindefinition.yaml").is_some_and(|folder| names(folder, wanted.plugin))
        })
    };
    let mut found = Vec::new();
    for (index, source) in list(tree, below) {
        if list(source, &["resources"]).any(|(_, resource)| brings(resource)) && at(source, &["ref", "tag"]).is_some() {
            let value = Some(format!("{}/{VERSION}", wanted.plugin));
            found.push(Place { kind: "source of a Catalog", steps: item(below, index, &["ref", "tag"]), value });
        }
    }
    found
}

/// Greenhouse: a definition named together with its version, in the shapes of its decision records.
fn definition(tree: &Value, kind: &str, wanted: Wanted<'_>) -> Vec<Place> {
    let below: &[&str] = if kind == "PluginPreset" { &["spec", "plugin"] } else { &["spec"] };
    let with = |keys: &[&'static str]| [below, keys].concat();
    let is = |keys: &[&'static str]| text(tree, &with(keys)) == Some(wanted.plugin);
    let shapes: [(&[&'static str], &[&'static str]); 4] = [
        (&["pluginDefinition", "name"], &["pluginDefinition", "version"]),
        (&["pluginDefinitionRef", "name"], &["pluginDefinitionRef", "version"]),
        (&["pluginDefinition"], &["pluginDefinitionVersion"]),
        (&["pluginDefinitionRef", "name"], &["pluginDefinitionVersion"]),
    ];
    let found = shapes.iter().find(|(name, version)| is(name) && at(tree, &with(version)).is_some());
    found.map(|(_, version)| one("version of a definition", &with(version))).unwrap_or_default()
}

/// Kustomize: charts that it inflates, images, and remote bases at a reference.
fn kustomization(tree: &Value, wanted: Wanted<'_>) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, chart) in list(tree, &["helmCharts"]) {
        if text(chart, &["name"]) == Some(wanted.chart) && at(chart, &["version"]).is_some() {
            found.push(Place {
                kind: "chart of a Kustomization",
                steps: item(&["helmCharts"], index, &["version"]),
                value: None,
            });
        }
    }
    for (index, image) in list(tree, &["images"]) {
        if text(image, &["name"]).is_some_and(|name| names(name, wanted.chart)) && at(image, &["newTag"]).is_some() {
            found.push(Place {
                kind: "image of a Kustomization",
                steps: item(&["images"], index, &["newTag"]),
                value: None,
            });
        }
    }
    for keys in [["resources"], ["components"], ["bases"]] {
        for (index, resource) in list(tree, &keys) {
            let Some((address, version)) = resource.as_str().and_then(|text| text.split_once("?ref=")) else {
                continue;
            };
            let version = version.split('&').next().unwrap_or(version);
            let repository = address.split("//").filter(|part| !part.ends_with(':')).find(|part| part.contains('/'));
            let is_it = names(address, wanted.chart)
                || repository.is_some_and(|part| names(part.trim_end_matches(".git"), wanted.chart));
            if is_it && !version.is_empty() {
                let value = resource
                    .as_str()
                    .map(|text| text.replacen(&format!("?ref={version}"), &format!("?ref={VERSION}"), 1));
                found.push(Place { kind: "remote base", steps: item(&keys, index, &[]), value });
            }
        }
    }
    found
}

/// Helm: a chart of charts.
fn umbrella(tree: &Value, wanted: Wanted<'_>) -> Vec<Place> {
    let is_it = |one: &Value| text(one, &["name"]) == Some(wanted.chart);
    let found = list(tree, &["dependencies"]).filter(|(_, one)| is_it(one) && at(one, &["version"]).is_some());
    let place = |index| Place {
        kind: "dependency of a chart",
        steps: item(&["dependencies"], index, &["version"]),
        value: None,
    };
    found.map(|(index, _)| place(index)).collect()
}

/// What says no kind: releases of a helmfile, catalogs among the values of a chart, versions under the names of charts.
fn others(tree: &Value, wanted: Wanted<'_>) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, release) in list(tree, &["releases"]) {
        if text(release, &["chart"]).is_some_and(|chart| names(chart, wanted.chart))
            && at(release, &["version"]).is_some()
        {
            found.push(Place {
                kind: "release of a helmfile",
                steps: item(&["releases"], index, &["version"]),
                value: None,
            });
        }
    }
    for (name, catalog_) in at(tree, &["catalogs"]).and_then(Value::as_object).into_iter().flatten() {
        for mut place in catalog(catalog_, &["sources"], wanted) {
            place.steps = [steps(&["catalogs", name]), place.steps].concat();
            place.kind = "source of a Catalog in the values of a chart";
            found.push(place);
        }
    }
    let by_name = tree.as_object().into_iter().flatten().filter(|(key, value)| {
        value.is_string()
            && key.split_once(' ').is_some_and(|(address, chart)| address.contains("://") && chart == wanted.chart)
    });
    found.extend(by_name.map(|(key, _)| Place {
        kind: "version under the name of its chart",
        steps: steps(&[key]),
        value: None,
    }));
    found
}

/// Terraform: resources that install a chart.
fn terraform(tree: &Value, wanted: Wanted<'_>) -> Vec<Place> {
    let releases = at(tree, &["resource", "helm_release"]).and_then(Value::as_object).into_iter().flatten();
    let is_it = |one: &Value| {
        text(one, &["chart"]).is_some_and(|chart| names(chart, wanted.chart)) && at(one, &["version"]).is_some()
    };
    let found = releases.filter(|(_, one)| is_it(one));
    let place = |name: &str| Place {
        kind: "helm_release of Terraform",
        steps: steps(&["resource", "helm_release", name, "version"]),
        value: None,
    };
    found.map(|(name, _)| place(name)).collect()
}

/// Any text: the line that is marked for the plugin.
fn marked(tree: &Value, wanted: Wanted<'_>) -> Vec<Place> {
    let name = [wanted.plugin, wanted.chart].into_iter().find(|name| tree.get(name).is_some());
    name.map(|name| one("marked line", &[name])).unwrap_or_default()
}
