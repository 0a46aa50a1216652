//! Everything in the files that a proposal may rest on: places of versions, where charts come from, who reads what.
//! What follows from it is in `ladder` and `plugins`.

use std::collections::{BTreeMap, BTreeSet};

use decide::Version;
use serde_json::Value;

use super::words::KEYS;
use crate::act::edit::find::{Found, Object, Origin, Reach, discover, trees};
use crate::act::edit::{FileFormat, read};
use crate::observe::inventory::file;
use crate::policy::wiring::ListedCluster;

/// A place with what stands there.
#[derive(Clone, Debug)]
pub struct Sight {
    /// The file.
    pub file: String,
    /// The place.
    pub found: Found,
    /// The version there, or why it is none.
    pub holds: Result<String, String>,
}

/// A HelmRelease.
#[derive(Clone, Debug)]
pub(super) struct Release {
    pub object: Object,
    /// The OCIRepository that its chart comes from.
    pub chart_ref: Option<String>,
    /// Its chart, and the HelmRepository that this comes from.
    pub chart: Option<(String, String)>,
}

/// A file that a generator of an ApplicationSet reads for each tier.
#[derive(Clone, Debug)]
pub(super) struct FromFiles {
    pub object: Option<Object>,
    pub chart: String,
    pub origin: Option<Origin>,
    /// A glob.
    pub files: String,
    pub keys: Vec<String>,
}

/// What the files say.
#[derive(Default)]
pub(super) struct Survey {
    pub files: usize,
    pub sights: Vec<Sight>,
    /// URL and type of HelmRepositories, by name.
    pub repositories: BTreeMap<String, String>,
    pub releases: Vec<Release>,
    /// Flux Kustomizations: the file, and the folder that each reads.
    pub kustomizations: Vec<(String, String)>,
    /// Values of labels that tell tiers apart, by key.
    pub labels: BTreeMap<String, BTreeSet<String>>,
    /// PluginPresets, with the definition that each names.
    pub presets: Vec<(Object, String)>,
    /// Repositories of Greenhouse catalogs and overrides, by plugin.
    pub catalogs: BTreeMap<String, Origin>,
    /// What applications of an ApplicationSet are called, by the set's name.
    pub applications: BTreeMap<String, String>,
    pub from_files: Vec<FromFiles>,
    /// Trees of files that a generator may read.
    pub values: BTreeMap<String, Value>,
    pub inventory: Option<(String, Vec<ListedCluster>)>,
    pub engines: BTreeSet<Engine>,
}

/// Who rolls charts out here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Engine {
    Flux,
    ArgoCd,
    Greenhouse,
}

impl Survey {
    /// Takes in one file. What cannot be read holds nothing for us.
    pub fn take(&mut self, file: &str, text: &str) {
        self.files += 1;
        let format = FileFormat::of(file);
        let Ok(trees) = trees(format, text) else { return };
        for tree in &trees {
            self.learn(file, tree);
        }
        if let [tree] = trees.as_slice()
            && tree.get("kind").is_none()
            && tree.is_object()
        {
            self.values.insert(file.to_string(), tree.clone());
        }
        if let Some(clusters) = listed(file, text, &trees)
            && self.inventory.is_none()
        {
            self.inventory = Some((file.to_string(), clusters));
        }
        let Ok(found) = discover(format, file, text) else { return };
        for found in found {
            let holds = match &found.trouble {
                Some(refusal) => Err(refusal.to_string()),
                None => holds(format, text, &found),
            };
            self.see(&found.reach);
            self.sights.push(Sight { file: file.to_string(), found, holds });
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
            ("helm.toolkit.fluxcd.io", Some("HelmRelease"), Some(object)) => {
                self.engines.insert(Engine::Flux);
                let chart_ref = text(&["spec", "chartRef", "name"]);
                let source = text(&["spec", "chart", "spec", "sourceRef", "name"]);
                let chart = text(&["spec", "chart", "spec", "chart"]).zip(source);
                self.releases.push(Release { object, chart_ref, chart });
            }
            ("kustomize.toolkit.fluxcd.io", Some("Kustomization"), _) => {
                self.engines.insert(Engine::Flux);
                self.kustomizations.extend(text(&["spec", "path"]).map(|path| (file.to_string(), path)));
            }
            ("argoproj.io", Some("ApplicationSet"), object) => self.learn_set(tree, object),
            ("argoproj.io", Some("Application"), _) => {
                self.engines.insert(Engine::ArgoCd);
            }
            ("greenhouse.sap", Some(kind), object) => {
                self.engines.insert(Engine::Greenhouse);
                self.learn_catalog(at(tree, &["spec", "sources"]));
                let definition = ["pluginDefinition", "pluginDefinitionRef"].into_iter().find_map(|key| {
                    let below = at(tree, &["spec", "plugin", key])?;
                    below.as_str().or_else(|| below.get("name")?.as_str()).map(str::to_string)
                });
                if let (Some(object), Some(definition), "PluginPreset") = (object, definition, kind) {
                    self.presets.push((object, definition));
                }
            }
            _ => {
                for (_, catalog) in at(tree, &["catalogs"]).and_then(Value::as_object).into_iter().flatten() {
                    self.learn_catalog(catalog.get("sources"));
                }
            }
        }
    }

    fn learn_set(&mut self, tree: &Value, object: Option<Object>) {
        self.engines.insert(Engine::ArgoCd);
        let name = at(tree, &["spec", "template", "metadata", "name"]).and_then(Value::as_str);
        if let (Some(object), Some(name)) = (&object, name) {
            self.applications.insert(object.name.clone(), name.to_string());
        }
        for (chart, origin, files, keys) in crate::act::edit::find::from_files(tree) {
            self.from_files.push(FromFiles { object: object.clone(), chart, origin, files, keys });
        }
    }

    /// A catalog's charts lie beside the definitions: in the registry of the same repository, unless an override says
    /// where they are mirrored.
    fn learn_catalog(&mut self, sources: Option<&Value>) {
        for source in sources.and_then(Value::as_array).into_iter().flatten() {
            if let Some((_, path)) =
                at(source, &["repository"]).and_then(Value::as_str).and_then(|url| url.split_once("github.com/"))
            {
                let charts = format!("oci://ghcr.io/{}/charts", path.trim_end_matches(".git"));
                for resource in at(source, &["resources"]).and_then(Value::as_array).into_iter().flatten() {
                    let folder = resource.as_str().and_then(|path| path.strip_suffix("/plugindefinition.yaml"));
                    let Some(plugin) = folder.and_then(|folder| folder.rsplit('/').next()) else { continue };
                    let origin = Origin { url: format!("{charts}/{plugin}"), chart: None };
                    self.catalogs.entry(plugin.to_string()).or_insert(origin);
                }
            }
            self.engines.insert(Engine::Greenhouse);
            for over in at(source, &["overrides"]).and_then(Value::as_array).into_iter().flatten() {
                let part = |key: &str| over.get(key).and_then(Value::as_str);
                if let (Some(name), Some(url)) = (part("name"), part("repository")) {
                    let url = format!("{}/{name}", url.trim_end_matches('/'));
                    self.catalogs.insert(name.to_string(), Origin { url, chart: None });
                }
            }
        }
    }

    /// Labels that a selector asks for.
    fn see(&mut self, reach: &Reach) {
        match reach {
            Reach::Selected(selector) => {
                let exact = selector.match_labels.iter().map(|(key, value)| (key, vec![value]));
                let some = selector.match_expressions.iter().map(|one| (&one.key, one.values.iter().collect()));
                for (key, values) in exact.chain(some) {
                    if KEYS.contains(&key.rsplit('/').next().unwrap_or(key)) {
                        self.labels.entry(key.clone()).or_default().extend(values.into_iter().cloned());
                    }
                }
            }
            Reach::Both(parts) | Reach::Either(parts) => parts.iter().for_each(|part| self.see(part)),
            Reach::Without(part, winners) => {
                self.see(part);
                winners.iter().for_each(|part| self.see(part));
            }
            Reach::Unsaid | Reach::Everyone | Reach::Named(_) | Reach::Labelled(_) => {}
        }
    }
}

/// The inventory, where this is one: somebody lists clusters with labels.
fn listed(file: &str, text: &str, trees: &[Value]) -> Option<Vec<ListedCluster>> {
    let [tree] = trees else { return None };
    tree.get("clusters").filter(|clusters| clusters.is_array())?;
    file::parse(file, text).ok().filter(|clusters| !clusters.is_empty())
}

/// The version at a place.
fn holds(format: FileFormat, text: &str, found: &Found) -> Result<String, String> {
    let scalar = &found.scalar;
    let spot = read(format, text, scalar.document.as_ref(), &scalar.path).map_err(|refusal| refusal.to_string())?;
    let held = scalar.version_in(&spot.value).ok_or_else(|| format!("`{}` is no version", spot.value))?;
    held.parse::<Version>().map(|_| held.to_string()).map_err(|error| error.to_string())
}

pub(super) fn at<'a>(tree: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(tree, |tree, key| tree.get(key))
}
