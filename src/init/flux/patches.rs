//! What the patches of Kustomizations go to: the objects that their `target` says, whatever the patch itself is called,
//! and where there is none, the object that it names. Which files are applied at all is in `flux`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Applied, Flux, Put, Reader, Root, Walk};
use crate::edit::FileFormat;
use crate::edit::find::{Object, read_whole};
use crate::init::sight::{Release, at};
use crate::init::survey::Survey;
use crate::jsonpath::Path;

/// A patch of a `kustomization.yaml`, or of a Kustomization of Flux.
#[derive(Debug)]
pub(super) struct Patch {
    /// The file that holds it, where it does not stand in the list itself.
    pub file: Option<String>,
    target: Option<Target>,
    /// Whether the object is called as the patch is from here on.
    renames: bool,
    /// Whether it brings `spec.kubeConfig`, as far as it stands in the list.
    pub remote: bool,
}

/// Each is a regular expression for the whole text.
#[derive(Debug)]
struct Target {
    kind: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    /// Whether labels or annotations narrow it down, which nobody looks at here.
    narrowed: bool,
}

/// An object that is no patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub file: String,
    pub kind: String,
    pub name: String,
    pub namespace: Option<String>,
    pub chart: Option<String>,
}

/// A patch of a folder, with one of the objects that it goes to.
pub(super) struct Hit<'a> {
    pub patch: &'a Patch,
    pub base: &'a Base,
}

/// The patches in a `kustomization.yaml`, or in the `spec` of a Kustomization.
pub(super) fn patches(tree: &Value, join: impl Fn(&str) -> Option<String>) -> Vec<Patch> {
    let list = |key: &str| tree.get(key).and_then(Value::as_array).into_iter().flatten();
    let of = |one: &Value| {
        let text = |keys: &[&str]| at(one, keys).and_then(Value::as_str).filter(|text| !text.is_empty());
        let part = |key: &str| text(&["target", key]).map(str::to_string);
        let inline = text(&["patch"]).map(bodies).unwrap_or_default();
        let named = || {
            let name = at(inline.first()?, &["metadata", "name"])?.as_str()?;
            let (kind, name) = (Some("HelmRelease".to_string()), Some(name.to_string()));
            Some(Target { kind, name, namespace: None, narrowed: false })
        };
        let narrowed = part("labelSelector").or_else(|| part("annotationSelector")).is_some();
        let said = || Target { kind: part("kind"), name: part("name"), namespace: part("namespace"), narrowed };
        Patch {
            file: text(&["path"]).and_then(&join),
            target: one.get("target").map(|_| said()).or_else(named),
            renames: at(one, &["options", "allowNameChange"]) == Some(&Value::Bool(true)),
            remote: inline.iter().any(is_remote),
        }
    };
    let listed = list("patches").chain(list("patchesJson6902")).map(of);
    let merged = list("patchesStrategicMerge").filter_map(|one| join(one.as_str()?));
    let merged = merged.map(|file| Patch { file: Some(file), target: None, renames: false, remote: false });
    listed.chain(merged).collect()
}

fn bodies(text: &str) -> Vec<Value> {
    read_whole(FileFormat::of("patch.yaml"), "patch.yaml", text).map(|whole| whole.trees).unwrap_or_default()
}

/// Whether a HelmRelease, a patch of one or a list of operations says `spec.kubeConfig`.
pub(super) fn is_remote(tree: &Value) -> bool {
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_string).unwrap_or_default();
    let adds = |one: &Value| text(one, "path").starts_with("/spec/kubeConfig") && text(one, "op") != "remove";
    let merged = || {
        let other = tree.get("kind").and_then(Value::as_str).is_some_and(|kind| kind != "HelmRelease");
        !other && at(tree, &["spec", "kubeConfig"]).is_some_and(Value::is_object)
    };
    tree.as_array().map_or_else(merged, |list| list.iter().any(adds))
}

impl Patch {
    /// Whether it goes to an object that has these names on its way through the folders. None where it has no target.
    pub fn is_for(&self, base: &Base, put: &Put) -> Option<bool> {
        let Target { kind, name, namespace, narrowed: _ } = self.target.as_ref()?;
        let fits = |pattern: &Option<String>, text: &str| pattern.as_ref().is_none_or(|one| matches(one, text));
        let called = format!("{}{}{}", put.prefix, base.name, put.suffix);
        let mut spaces = [&put.namespace, &base.namespace].into_iter().flatten().peekable();
        let placed = spaces.peek().is_none() || spaces.any(|space| fits(namespace, space));
        Some(fits(kind, &base.kind) && (fits(name, &base.name) || fits(name, &called)) && placed)
    }
}

/// As kustomize matches: a regular expression for the whole text. One that is not understood means itself.
fn matches(pattern: &str, text: &str) -> bool {
    let bare = pattern.strip_prefix('^').unwrap_or(pattern);
    let bare = bare.strip_suffix('$').unwrap_or(bare).replace('\\', "\\\\").replace('\'', "\\'");
    let found =
        Path::parse(&format!("$[?match(@, '{bare}')]")).and_then(|path| Ok(!path.find(&json!([text]))?.is_empty()));
    pattern == text || found.unwrap_or(false)
}

/// The HelmReleases that are no patches.
pub(super) fn bases(releases: &[Release]) -> Vec<Base> {
    let base = |one: &Release| Base {
        file: one.file.clone(),
        kind: one.object.kind.clone(),
        name: one.object.name.clone(),
        namespace: one.object.namespace.clone(),
        chart: one.chart.as_ref().map(|(chart, _)| chart.clone()),
    };
    releases.iter().filter(|one| one.is_whole()).map(base).collect()
}

impl Flux {
    /// What the patches of each folder go to: its own changes of names come after them. A patch without a target is
    /// for the object of its name.
    pub(super) fn hits<'a>(&'a self, bases: &'a [Base]) -> BTreeMap<&'a str, Vec<Hit<'a>>> {
        let mut by_file: BTreeMap<&str, Vec<&Base>> = BTreeMap::new();
        for base in bases {
            by_file.entry(&base.file).or_default().push(base);
        }
        let mut hits: BTreeMap<&str, Vec<Hit<'a>>> = BTreeMap::new();
        for (name, folder) in self.folders.iter().filter(|(_, folder)| !folder.patches.is_empty()) {
            let mut walk = Walk { flux: self, seen: [name.clone()].into(), files: BTreeMap::new() };
            folder.below.iter().for_each(|below| walk.go(below, &Put::default()));
            for (file, put) in &walk.files {
                for base in by_file.get(file.as_str()).into_iter().flatten() {
                    let named = |patch: &Patch| self.says(patch, &base.name);
                    let is_hit = |patch: &&Patch| patch.is_for(base, put).unwrap_or_else(|| named(patch));
                    let of = folder.patches.iter().filter(is_hit).map(|patch| Hit { patch, base });
                    hits.entry(name).or_default().extend(of);
                }
            }
        }
        hits
    }

    /// What a ResourceSet makes, which nobody looks into, with the reason.
    pub(in crate::init) fn in_sets(&self) -> impl Iterator<Item = (String, String)> {
        self.in_sets.iter().map(|(file, set, object)| {
            let why = format!(
                "it stands in the ResourceSet {set}, which is not looked into; write its plugin by hand, with a `path`"
            );
            (format!("{object} in {file}"), why)
        })
    }

    /// Whether the file of a patch brings `spec.kubeConfig` for this name.
    fn says(&self, patch: &Patch, name: &str) -> bool {
        patch.file.as_ref().is_some_and(|file| self.remote.contains(&(file.clone(), name.to_string())))
    }

    /// Whether a patch brings `spec.kubeConfig`.
    pub(super) fn is_remote(&self, patch: &Patch) -> bool {
        let in_file = |file: &String| self.remote.iter().any(|(other, _)| other == file);
        patch.remote || patch.file.as_ref().is_some_and(in_file)
    }
}

impl Applied {
    /// Whether a HelmRelease of this file, or what one of it patches, stays on the cluster of Flux while its chart goes
    /// to another one.
    pub(in crate::init) fn on_hub(&self, file: &str, object: &Object) -> bool {
        let here = (file.to_string(), object.name.clone());
        let same = self.releases.get(&object.name).map(Vec::as_slice).unwrap_or_default();
        let mut roots = self.roots_of(file).peekable();
        if roots.peek().is_none() {
            return self.remote.contains(&here);
        }
        let says = |root: &Root, file: &String| {
            let one = (file.clone(), object.name.clone());
            root.files.contains_key(file) && (root.on_hub.contains(&one) || self.remote.contains(&one))
        };
        roots.filter(|root| !root.to_remote).any(|root| same.iter().any(|(file, _)| says(root, file)))
    }
}

impl Walk<'_> {
    /// What the patches on the way make of it.
    pub(super) fn root(self, hits: &BTreeMap<&str, Vec<Hit<'_>>>, releases: &[Release]) -> Root {
        let Walk { flux, seen, files } = self;
        let (mut on_hub, mut renamed) = (BTreeSet::new(), BTreeMap::new());
        for Hit { patch, base } in seen.iter().filter_map(|folder| hits.get(folder.as_str())).flatten() {
            if flux.is_remote(patch) {
                on_hub.insert((base.file.clone(), base.name.clone()));
            }
            renamed.extend(new_name(patch, releases).map(|new| (base.name.clone(), new)));
        }
        Root { reader: None, files, to_remote: false, on_hub, renamed }
    }
}

impl Root {
    /// What a Kustomization patches into all that it applies.
    pub(super) fn patched_by(&mut self, reader: &Reader, bases: &[Base]) {
        let remote = |base: &Base, put: &Put| {
            reader.patches.iter().any(|patch| patch.remote && patch.is_for(base, put) == Some(true))
        };
        let found = bases.iter().filter(|base| self.files.get(&base.file).is_some_and(|put| remote(base, put)));
        self.on_hub.extend(found.map(|base| (base.file.clone(), base.name.clone())));
    }
}

/// What the object is called from a patch on that may rename it.
fn new_name(patch: &Patch, releases: &[Release]) -> Option<(String, String)> {
    let file = patch.file.as_ref().filter(|_| patch.renames)?;
    let named = releases.iter().find(|one| one.file == *file)?;
    Some((named.object.name.clone(), file.clone()))
}

/// Gives the places in patches with a target to the objects that they go to.
pub(in crate::init) fn aim(survey: &mut Survey) {
    let all = everything(survey);
    let mut goes: BTreeMap<(String, String), BTreeMap<String, &Base>> = BTreeMap::new();
    let hits = survey.flux.hits(&all);
    let mut narrowed = BTreeSet::new();
    for Hit { patch, base } in hits.values().flatten() {
        let (Some(file), Some(target)) = (&patch.file, &patch.target) else { continue };
        if target.narrowed {
            narrowed.insert(file.clone());
        }
        goes.entry((file.clone(), base.kind.clone())).or_default().insert(base.name.clone(), base);
    }
    let mut others: BTreeMap<(String, String), String> = BTreeMap::new();
    for sight in &mut survey.sights {
        let Some(object) = sight.found.object.as_mut().filter(|_| sight.found.kind.starts_with("patch of")) else {
            continue;
        };
        let Some(to) = goes.get(&(sight.file.clone(), object.kind.clone())) else { continue };
        let Some((name, base)) = to.first_key_value() else { continue };
        if to.len() > 1 && narrowed.contains(&sight.file) {
            continue;
        }
        if to.len() > 1 {
            let names = to.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            sight.holds =
                Err(format!("this patch goes to several {}s ({names}); give each one of its own", object.kind));
        }
        if survey.oci.get(name).is_some_and(|oci| oci.outweighed) && object.kind == "OCIRepository" {
            let why = "the OCIRepository that it patches has a `digest` or `semver`, which wins over every tag; take that out";
            sight.holds = Err(why.to_string());
        }
        if object.name != *name {
            let called = base.chart.as_ref().filter(|_| to.len() == 1).unwrap_or(name);
            others.insert((object.kind.clone(), name.clone()), called.clone());
            object.name.clone_from(name);
        }
    }
    // By its own name alone such a patch would not be found, nor the other ones of the same plugin beside it.
    for sight in survey.sights.iter_mut().filter(|sight| sight.found.kind.starts_with("patch of")) {
        let Some(object) = &sight.found.object else { continue };
        if let Some(called) = others.get(&(object.kind.clone(), object.name.clone())) {
            sight.found = sight.found.of_target(called);
        }
    }
}

/// Everything that a patch may bring a version for.
fn everything(survey: &Survey) -> Vec<Base> {
    let oci = |file: &str, name: &str, namespace: Option<String>| Base {
        file: file.to_string(),
        kind: "OCIRepository".to_string(),
        name: name.to_string(),
        namespace,
        chart: None,
    };
    let bare = survey.bare.iter().map(|(name, file)| oci(file, name, None));
    let tagged = survey.sights.iter().filter(|sight| sight.found.kind == "OCIRepository").filter_map(|sight| {
        let object = sight.found.object.as_ref()?;
        Some(oci(&sight.file, &object.name, object.namespace.clone()))
    });
    bases(&survey.releases).into_iter().chain(bare).chain(tagged).collect()
}

/// Objects within a ResourceSet that hold versions, with the set's name.
pub(super) fn in_set(tree: &Value) -> Vec<String> {
    let text = |tree: &Value, keys: &[&str]| at(tree, keys).and_then(Value::as_str).map(str::to_string);
    let kinds = ["HelmRelease", "OCIRepository"];
    let listed = at(tree, &["spec", "resources"]).and_then(Value::as_array).into_iter().flatten();
    let template = text(tree, &["spec", "resourcesTemplate"]).unwrap_or_default();
    let of_template =
        || kinds.iter().filter(|kind| template.contains(**kind)).map(|kind| format!("{kind} of a template"));
    let named = listed.filter_map(|one| {
        let kind = text(one, &["kind"]).filter(|kind| kinds.contains(&kind.as_str()))?;
        Some(format!("{kind} {}", text(one, &["metadata", "name"])?))
    });
    let all: BTreeSet<String> = named.chain(of_template()).collect();
    all.into_iter().collect()
}
