//! Everything in the files that a proposal may rest on: places of versions, where charts come from, who reads what.
//! What follows from it is in `ladder` and `plugins`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::floating;
use super::flux::{Applied, Flux};
use super::installed::{installed, release};
use super::sight::{Argo, Engine, FromFiles, Oci, Release, Sight, at, version};
use super::walk::{glob, join};
use super::words::tells_tiers;
use crate::edit::find::{Found, Object, Reach, Whole, read_whole};
use crate::edit::{FileFormat, Refusal, Spot};
use crate::inventory::ListedCluster;
use crate::inventory::file;

/// The kind of the definitions that all organizations have.
const FOR_ALL: &str = "ClusterPluginDefinition";

/// What the files say.
#[derive(Default)]
pub(super) struct Survey {
    pub files: usize,
    pub sights: Vec<Sight>,
    /// URL and type of HelmRepositories, by name.
    pub repositories: BTreeMap<String, String>,
    pub releases: Vec<Release>,
    /// OCIRepositories by name.
    pub oci: BTreeMap<String, Oci>,
    /// Files of OCIRepositories without a tag, by name: a patch brings it.
    pub bare: BTreeMap<String, String>,
    pub flux: Flux,
    /// Values of labels that tell tiers apart, by key.
    pub labels: BTreeMap<String, BTreeSet<String>>,
    pub argo: Vec<Argo>,
    /// Folders that a `kustomization.yaml` or a `Chart.yaml` brings, by its own.
    pub folders: BTreeMap<String, Vec<String>>,
    pub from_files: Vec<FromFiles>,
    /// Trees of files that a generator may read.
    pub values: BTreeMap<String, Value>,
    pub inventory: Option<(String, Vec<ListedCluster>)>,
    /// Folders of charts.
    pub charts: BTreeSet<String>,
    /// Folders of charts with templates of their own.
    pub templates: BTreeSet<String>,
    /// Those of them whose templates are Applications of Argo CD.
    pub of_applications: BTreeSet<String>,
    /// Folders that nothing is read from any more by their names, with the number of versions in them.
    pub archived: BTreeMap<String, usize>,
    /// What is installed without a version, with its file.
    pub floating: BTreeSet<(String, String)>,
    /// PluginPresets of Greenhouse, with the names of their definitions.
    pub presets: Vec<(Object, String)>,
    /// Whether one of these definitions is that of all organizations.
    pub for_all: bool,
    /// Folders of plugin definitions.
    pub definitions: BTreeSet<String>,
    pub engines: BTreeSet<Engine>,
}

impl Survey {
    /// Takes in one file. What cannot be read holds nothing for us.
    pub fn take(&mut self, file: &str, text: &str) {
        self.files += 1;
        if vendored(file) {
            return;
        }
        let format = FileFormat::of(file);
        self.see_chart(file, text);
        let Ok(Whole { trees, found, template }) = read_whole(format, file, text) else { return };
        // What a chart makes of its templates is not what runs here.
        if template && file.split('/').any(|folder| folder == "templates") {
            return;
        }
        if let Some(folder) = archive(file) {
            *self.archived.entry(folder.to_string()).or_default() += found.len();
            return;
        }
        for tree in &trees {
            self.flux.learn(file, tree, trees.len() > 1);
            self.learn(file, tree);
            self.floating.extend(floating::charts(tree).into_iter().map(|name| (name, file.to_string())));
            if let Some((folder, below)) = brings(file, tree) {
                self.folders.entry(folder).or_default().extend(below);
            }
        }
        if let [tree] = trees.as_slice()
            && tree.get("kind").is_none()
            && tree.is_object()
        {
            self.values.insert(file.to_string(), tree.clone());
        }
        if let Some(clusters) = listed(file, text, &trees)
            && self.inventory.as_ref().is_none_or(|(_, known)| known.is_empty())
        {
            self.inventory = Some((file.to_string(), clusters));
        }
        for (found, spot) in found {
            let held = held(&trees, &found);
            let variable = held.and_then(variable).map(str::to_string);
            // What an overlay has to say is said by its patch.
            if held.is_none() && found.kind == "OCIRepository" && found.trouble.is_none() {
                self.bare.extend(found.object.map(|object| (object.name, file.to_string())));
                continue;
            }
            let holds = match &found.trouble {
                Some(refusal) => Err(refusal.to_string()),
                None => holds(spot, &found),
            };
            self.see(&found.reach);
            let (thing, helm) = (thing(&trees, &found), installed(&trees, &found));
            self.sights.push(Sight { file: file.to_string(), found, holds, thing, helm, variable, of: None });
        }
    }

    /// Adds the files that git generators read, as places of their own.
    pub fn add_read(&mut self) {
        for one in &self.from_files {
            for (file, tree) in self.values.iter().filter(|(file, _)| glob(&one.files, file)) {
                let keys: Vec<&str> = one.keys.iter().map(String::as_str).collect();
                let Some(text) = at(tree, &keys).and_then(Value::as_str) else { continue };
                let found = Found::in_file(&one.keys, one.chart.clone(), one.origin.clone(), one.object.clone());
                let holds = version(text);
                let file = file.clone();
                self.sights.push(Sight { file, found, holds, thing: None, helm: None, variable: None, of: None });
            }
        }
    }

    /// Puts the places of variables beside those that others hold, which go where their value is found.
    pub fn fill_in(&mut self, applied: &Applied) {
        let mut all = Vec::new();
        for mut sight in std::mem::take(&mut self.sights) {
            let Some(variable) = sight.variable.clone() else {
                all.push(sight);
                continue;
            };
            let found = self.flux.filled_in(&sight, &variable, applied);
            if found.is_empty() {
                sight.holds = Err(format!("its version is `${{{variable}}}`, and no Kustomization here gives it one"));
                all.push(sight);
            }
            all.extend(found);
        }
        self.sights = all;
    }

    fn see_chart(&mut self, file: &str, text: &str) {
        if let Some(folder) =
            file.strip_suffix("Chart.yaml").filter(|folder| folder.is_empty() || folder.ends_with('/'))
        {
            self.charts.insert(folder.to_string());
        }
        if let Some(at) = file.find("templates/").filter(|at| *at == 0 || file[..*at].ends_with('/')) {
            self.templates.insert(file[..at].to_string());
            if text.contains("argoproj.io/") && text.contains("kind: Application") {
                self.of_applications.insert(file[..at].to_string());
            }
        }
    }

    fn learn(&mut self, file: &str, tree: &Value) {
        let text = |keys: &[&str]| at(tree, keys).and_then(Value::as_str).map(str::to_string);
        let group = text(&["apiVersion"]).unwrap_or_default();
        let object = text(&["metadata", "name"]).map(|name| Object {
            kind: text(&["kind"]).unwrap_or_default(),
            namespace: text(&["metadata", "namespace"]),
            name,
        });
        match (group.split('/').next().unwrap_or_default(), text(&["kind"]).as_deref(), object) {
            ("source.toolkit.fluxcd.io", Some("HelmRepository"), Some(object)) => {
                self.repositories.extend(text(&["spec", "url"]).map(|url| (object.name, url)));
            }
            ("source.toolkit.fluxcd.io", Some("OCIRepository"), Some(object)) => {
                let outweighed = ["digest", "semver"].iter().any(|key| at(tree, &["spec", "ref", key]).is_some());
                self.oci.extend(text(&["spec", "url"]).map(|url| (object.name, Oci { url, outweighed })));
            }
            ("helm.toolkit.fluxcd.io", Some("HelmRelease"), Some(object)) => {
                self.engines.insert(Engine::Flux);
                let chart_ref = text(&["spec", "chartRef", "name"]);
                let source = text(&["spec", "chart", "spec", "sourceRef", "name"]);
                let chart = text(&["spec", "chart", "spec", "chart"]).zip(source);
                self.releases.push(Release { file: file.to_string(), object, chart_ref, chart });
            }
            ("kustomize.toolkit.fluxcd.io", Some("Kustomization"), _) => {
                self.engines.insert(Engine::Flux);
            }
            ("argoproj.io", Some("ApplicationSet" | "Application"), object) => self.learn_argo(file, tree, object),
            ("greenhouse.sap", Some("PluginPreset"), Some(object)) => {
                let definition = text(&["spec", "plugin", "pluginDefinitionRef", "name"]);
                self.presets.extend(definition.map(|definition| (object, definition)));
                self.for_all |= text(&["spec", "plugin", "pluginDefinitionRef", "kind"]).as_deref() == Some(FOR_ALL);
                self.see_selector(tree);
                self.engines.insert(Engine::Greenhouse);
            }
            ("greenhouse.sap", Some(kind), _) => {
                if kind.ends_with("PluginDefinition") {
                    self.definitions.extend(file.rfind('/').map(|end| file[..=end].to_string()));
                }
                self.engines.insert(Engine::Greenhouse);
            }
            _ if at(tree, &["catalogs"]).is_some_and(Value::is_object) => {
                self.engines.insert(Engine::Greenhouse);
            }
            _ => {}
        }
    }

    fn learn_argo(&mut self, file: &str, tree: &Value, object: Option<Object>) {
        self.engines.insert(Engine::ArgoCd);
        for (chart, origin, files, keys) in crate::edit::find::from_files(tree) {
            self.from_files.push(FromFiles { object: object.clone(), chart, origin, files, keys });
        }
        self.argo.extend(object.map(|object| Argo { file: file.to_string(), object, tree: tree.clone() }));
    }

    /// Labels that a selector asks for.
    fn see(&mut self, reach: &Reach) {
        match reach {
            Reach::Selected(selector) => {
                let exact = selector.match_labels.iter().map(|(key, value)| (key, vec![value]));
                let some = selector.match_expressions.iter().map(|one| (&one.key, one.values.iter().collect()));
                exact.chain(some).for_each(|(key, values)| self.see_label(key, values.into_iter().map(String::as_str)));
            }
            Reach::Both(parts) | Reach::Either(parts) => parts.iter().for_each(|part| self.see(part)),
            Reach::Without(part, winners) => {
                self.see(part);
                winners.iter().for_each(|part| self.see(part));
            }
            Reach::Unsaid | Reach::Everyone | Reach::Named(_) | Reach::Labelled(_) => {}
        }
    }

    /// Labels by which a preset of Greenhouse selects clusters.
    fn see_selector(&mut self, preset: &Value) {
        let selector = |key| at(preset, &["spec", "clusterSelector", key]);
        for (key, value) in selector("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            self.see_label(key, value.as_str().into_iter());
        }
        for one in selector("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let values = one["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
            self.see_label(one["key"].as_str().unwrap_or_default(), values);
        }
    }

    fn see_label<'a>(&mut self, key: &str, values: impl Iterator<Item = &'a str>) {
        if tells_tiers(key) {
            self.labels.entry(key.to_string()).or_default().extend(values.map(str::to_string));
        }
    }
}

/// The folder of a file, and the folders that it brings, where it is a `kustomization.yaml` or a `Chart.yaml`.
fn brings(file: &str, tree: &Value) -> Option<(String, Vec<String>)> {
    let (folder, base) = file.rsplit_once('/').unwrap_or(("", file));
    let list = |key: &str| tree.get(key).and_then(Value::as_array).into_iter().flatten();
    let below: Vec<&str> = match base {
        "kustomization.yaml" | "kustomization.yml" | "Kustomization" => {
            ["resources", "components", "bases"].into_iter().flat_map(list).filter_map(Value::as_str).collect()
        }
        "Chart.yaml" => {
            list("dependencies").filter_map(|one| one.get("repository")?.as_str()?.strip_prefix("file://")).collect()
        }
        _ => return None,
    };
    Some((folder.to_string(), below.into_iter().filter_map(|path| join(folder, path)).collect()))
}

/// The inventory, where this is one: somebody lists clusters with labels.
fn listed(file: &str, text: &str, trees: &[Value]) -> Option<Vec<ListedCluster>> {
    let [tree] = trees else { return None };
    tree.get("clusters").filter(|clusters| clusters.is_array() || clusters.is_null())?;
    if tree.as_object().is_some_and(|keys| keys.len() == 1) && tree["clusters"].as_array().is_none_or(Vec::is_empty) {
        return Some(Vec::new());
    }
    file::parse(file, text).ok()
}

/// Names of folders in which people keep what ran once.
const ARCHIVES: [&str; 9] =
    ["_archive", "archive", "archived", "_archived", ".archive", "attic", "deprecated", "old", "_old"];

/// Whether a file is part of a chart that kustomize pulled: `charts/NAME-VERSION/NAME/…`.
fn vendored(file: &str) -> bool {
    let parts: Vec<&str> = file.split('/').collect();
    parts.windows(3).any(|three| match three {
        ["charts", pulled, name] => {
            let version = pulled.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
            version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit() || c == 'v'))
        }
        _ => false,
    })
}

/// The folder of this file that is an archive.
fn archive(file: &str) -> Option<&str> {
    let folders = file.match_indices('/').map(|(end, _)| &file[..end]);
    folders.into_iter().find(|folder| ARCHIVES.contains(&folder.rsplit('/').next().unwrap_or(folder)))
}

/// The text at a place, before anybody asks whether it is a version.
fn held<'a>(trees: &'a [Value], found: &Found) -> Option<&'a str> {
    let keys: &[&str] = match found.kind {
        "HelmRelease" | "patch of a HelmRelease" => &["spec", "chart", "spec", "version"],
        "OCIRepository" | "patch of an OCIRepository" => &["spec", "ref", "tag"],
        _ => return None,
    };
    let object = found.object.as_ref()?;
    let is_it = |tree: &&Value| {
        tree["kind"] == *object.kind && at(tree, &["metadata", "name"]).is_some_and(|name| *name == *object.name)
    };
    at(trees.iter().find(is_it)?, keys)?.as_str()
}

/// The name in `${name}`, with a default or without.
fn variable(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    let name = inner.split(":-").next()?.split(":=").next()?;
    (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some(name)
}

/// What a place without an object belongs to.
fn thing(trees: &[Value], found: &Found) -> Option<String> {
    let name = match found.kind {
        "dependency of a chart" => trees.first()?.get("name")?,
        "release of a helmfile" => release(trees, found)?.1.get("name")?,
        _ => return None,
    };
    name.as_str().map(str::to_string)
}

/// The version at a place.
fn holds(spot: Result<Spot, Refusal>, found: &Found) -> Result<String, String> {
    let spot = spot.map_err(|refusal| refusal.to_string())?;
    let held = found.scalar.version_in(&spot.value).ok_or_else(|| format!("`{}` is no version", spot.value))?;
    version(held)
}
