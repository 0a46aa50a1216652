//! Flux: which files its Kustomizations apply, into which namespace, and which variables they fill in. Charts and
//! releases themselves are in `survey`, what patches go to in `patches`.

mod patches;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::sight::{Release, Sight, at};
use super::walk::join;
use crate::edit::find::Object;
use crate::policy::wiring::DocumentSelector;
pub(super) use patches::aim;
use patches::{Patch, bases};

/// A Kustomization of Flux.
#[derive(Debug)]
pub(super) struct Reader {
    pub file: String,
    /// The folder that it applies.
    pub path: String,
    name: Option<String>,
    puts: Put,
    patches: Vec<Patch>,
    /// Whether it applies to another cluster than its own.
    to_remote: bool,
    variables: BTreeMap<String, String>,
    /// ConfigMaps with more of them.
    maps: Vec<String>,
    /// Whether its file holds other documents, too.
    among_others: bool,
}

/// A `kustomization.yaml`.
#[derive(Debug)]
struct Folder {
    puts: Put,
    /// Files and folders.
    below: Vec<String>,
    patches: Vec<Patch>,
}

/// A ConfigMap.
#[derive(Debug)]
struct Map {
    file: String,
    name: String,
    data: BTreeMap<String, String>,
    among_others: bool,
}

/// What the files say of Flux.
#[derive(Debug, Default)]
pub(super) struct Flux {
    pub readers: Vec<Reader>,
    folders: BTreeMap<String, Folder>,
    files: BTreeSet<String>,
    maps: Vec<Map>,
    /// Files and names of what says `spec.kubeConfig` for a HelmRelease.
    remote: BTreeSet<(String, String)>,
    /// What a ResourceSet makes: file, set and object.
    in_sets: Vec<(String, String, String)>,
}

/// What is made of the objects of a file: the namespace that is forced upon them, and what stands around their names.
#[derive(Clone, Debug, Default)]
struct Put {
    namespace: Option<String>,
    prefix: String,
    suffix: String,
}

impl Put {
    /// With what is made of the objects further inside before.
    fn around(&self, inner: &Self) -> Self {
        Self {
            namespace: self.namespace.clone().or_else(|| inner.namespace.clone()),
            prefix: format!("{}{}", self.prefix, inner.prefix),
            suffix: format!("{}{}", inner.suffix, self.suffix),
        }
    }
}

/// What is applied in one go: each file, with what is made of its objects.
#[derive(Debug)]
struct Root {
    reader: Option<usize>,
    files: BTreeMap<String, Put>,
    /// Whether its objects go to another cluster.
    to_remote: bool,
    /// HelmReleases by file and name whose charts are to go to another cluster than they are on.
    on_hub: BTreeSet<(String, String)>,
    /// What HelmReleases of these names are called by a patch, and the file of that.
    renamed: BTreeMap<String, (String, String)>,
}

/// Everything that is applied.
#[derive(Debug, Default)]
pub(super) struct Applied {
    roots: Vec<Root>,
    by_file: BTreeMap<String, Vec<usize>>,
    /// HelmReleases that are no patches, by name: the file of each, and its own namespace.
    releases: BTreeMap<String, Vec<(String, Option<String>)>>,
    /// Files and names of what says `spec.kubeConfig` for a HelmRelease.
    remote: BTreeSet<(String, String)>,
}

impl Flux {
    /// Takes in one document.
    pub fn learn(&mut self, file: &str, tree: &Value, among_others: bool) {
        self.files.insert(file.to_string());
        let text = |keys: &[&str]| at(tree, keys).and_then(Value::as_str).map(str::to_string);
        let put = |namespace: &[&str], prefix: &[&str], suffix: &[&str]| Put {
            namespace: text(namespace),
            prefix: text(prefix).unwrap_or_default(),
            suffix: text(suffix).unwrap_or_default(),
        };
        let (folder, base) = file.rsplit_once('/').unwrap_or(("", file));
        let group = text(&["apiVersion"]).unwrap_or_default();
        match (group.split('/').next().unwrap_or_default(), text(&["kind"]).as_deref()) {
            ("kustomize.toolkit.fluxcd.io", Some("Kustomization")) => {
                let Some(path) = text(&["spec", "path"]).and_then(|path| join("", &path)) else { return };
                let from = at(tree, &["spec", "postBuild", "substituteFrom"]).and_then(Value::as_array);
                let from = from.into_iter().flatten().filter(|one| one["kind"] == "ConfigMap");
                self.readers.push(Reader {
                    file: file.to_string(),
                    path,
                    name: text(&["metadata", "name"]),
                    puts: put(&["spec", "targetNamespace"], &["spec", "namePrefix"], &["spec", "nameSuffix"]),
                    patches: tree.get("spec").map(|spec| patches::patches(spec, |_| None)).unwrap_or_default(),
                    to_remote: at(tree, &["spec", "kubeConfig"]).is_some_and(Value::is_object),
                    variables: texts(at(tree, &["spec", "postBuild", "substitute"])),
                    maps: from.filter_map(|one| Some(one["name"].as_str()?.to_string())).collect(),
                    among_others,
                });
            }
            ("v1", Some("ConfigMap")) => {
                let Some(name) = text(&["metadata", "name"]) else { return };
                let data = texts(tree.get("data"));
                self.maps.push(Map { file: file.to_string(), name, data, among_others });
            }
            _ if matches!(base, "kustomization.yaml" | "kustomization.yml" | "Kustomization") => {
                let below = resources(tree).filter_map(|path| join(folder, path)).collect();
                let puts = put(&["namespace"], &["namePrefix"], &["nameSuffix"]);
                let patches = patches::patches(tree, |path| join(folder, path));
                self.folders.insert(folder.to_string(), Folder { puts, below, patches });
            }
            ("fluxcd.controlplane.io", Some("ResourceSet")) => {
                let set = text(&["metadata", "name"]).unwrap_or_default();
                let one = |object| (file.to_string(), set.clone(), object);
                self.in_sets.extend(patches::in_set(tree).into_iter().map(one));
            }
            ("helm.toolkit.fluxcd.io", _) | ("", None) if patches::is_remote(tree) => {
                self.remote.insert((file.to_string(), text(&["metadata", "name"]).unwrap_or_default()));
            }
            _ => {}
        }
    }

    /// Follows every Kustomization, and every `kustomization.yaml` that none of them leads to.
    pub fn applied(&self, releases: &[Release]) -> Applied {
        let mut applied = Applied { remote: self.remote.clone(), ..Applied::default() };
        let bases = bases(releases);
        let hits = self.hits(&bases);
        for Release { file, object, .. } in releases.iter().filter(|one| one.is_whole()) {
            let one = (file.clone(), object.namespace.clone());
            applied.releases.entry(object.name.clone()).or_default().push(one);
        }
        let mut visited = BTreeSet::new();
        for (index, reader) in self.readers.iter().enumerate() {
            let mut walk = Walk { flux: self, seen: BTreeSet::new(), files: BTreeMap::new() };
            walk.enter(&reader.path, &reader.puts);
            visited.extend(walk.seen.iter().cloned());
            let mut root = walk.root(&hits, releases);
            root.patched_by(reader, &bases);
            applied.add(Root { reader: Some(index), to_remote: reader.to_remote, ..root });
        }
        let named: BTreeSet<&String> = self.folders.values().flat_map(|folder| &folder.below).collect();
        for folder in self.folders.keys().filter(|folder| !visited.contains(*folder) && !named.contains(folder)) {
            let mut walk = Walk { flux: self, seen: BTreeSet::new(), files: BTreeMap::new() };
            walk.enter(folder, &Put::default());
            applied.add(walk.root(&hits, releases));
        }
        applied
    }

    /// The places of the variable that a place holds, one per Kustomization that fills it in.
    pub fn filled_in(&self, sight: &Sight, variable: &str, applied: &Applied) -> Vec<Sight> {
        let mut found = Vec::new();
        for reader in applied.roots_of(&sight.file).filter_map(|root| self.readers.get(root.reader?)) {
            let selected = |kind: &str, name: Option<&String>, is: bool| {
                is.then(|| DocumentSelector { kind: kind.to_string(), name: name.cloned() })
            };
            let own = reader.variables.get(variable).map(|version| {
                let document = selected("Kustomization", reader.name.as_ref(), reader.among_others);
                (&reader.file, version, document, vec!["spec", "postBuild", "substitute", variable])
            });
            let of_map = || {
                let map = self.map_of(reader, variable)?;
                let document = selected("ConfigMap", Some(&map.name), map.among_others);
                Some((&map.file, map.data.get(variable)?, document, vec!["data", variable]))
            };
            let Some((file, version, document, keys)) = own.or_else(of_map) else { continue };
            let holds = super::sight::version(version);
            let place = Sight {
                file: file.clone(),
                found: sight.found.in_variable(document, &keys),
                holds,
                of: Some(sight.file.clone()),
                ..sight.clone()
            };
            if !found.contains(&place) {
                found.push(place);
            }
        }
        found
    }

    /// The ConfigMap with a variable that lies nearest to a Kustomization, above it or below; none where two lie as
    /// near. One beside it is another cluster's.
    fn map_of(&self, reader: &Reader, variable: &str) -> Option<&Map> {
        let folder = |file: &str| file.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let own = folder(&reader.file);
        let near = |map: &Map| {
            let other = folder(&map.file);
            let related = own.starts_with(&other) || other.starts_with(&own);
            related.then(|| own.matches('/').count().abs_diff(other.matches('/').count()))
        };
        let named = |map: &&Map| reader.maps.contains(&map.name) && map.data.contains_key(variable);
        let all: Vec<(usize, &Map)> =
            self.maps.iter().filter(named).filter_map(|map| Some((near(map)?, map))).collect();
        let nearest = all.iter().map(|(distance, _)| *distance).min()?;
        let mut all = all.into_iter().filter(|(distance, _)| *distance == nearest);
        all.next().filter(|_| all.next().is_none()).map(|(_, map)| map)
    }

    /// A text with its variables filled in, where every Kustomization that applies the file gives them the same.
    pub fn filled(&self, text: &str, file: &str, applied: &Applied) -> String {
        if !text.contains("${") {
            return text.to_string();
        }
        let fill = |reader: &Reader| {
            let variables = reader.variables.iter();
            variables.fold(text.to_string(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
        };
        let roots = applied.roots_of(file).filter_map(|root| self.readers.get(root.reader?));
        let all: BTreeSet<String> = roots.map(fill).collect();
        all.first().filter(|_| all.len() == 1).cloned().unwrap_or_else(|| text.to_string())
    }
}

impl Applied {
    fn add(&mut self, root: Root) {
        for file in root.files.keys() {
            self.by_file.entry(file.clone()).or_default().push(self.roots.len());
        }
        self.roots.push(root);
    }

    fn roots_of(&self, file: &str) -> impl Iterator<Item = &Root> {
        self.by_file.get(file).into_iter().flatten().filter_map(|index| self.roots.get(*index))
    }

    /// Whether both files are applied in one go.
    pub fn together(&self, one: &str, other: &str) -> bool {
        self.roots_of(one).any(|root| root.files.contains_key(other))
    }

    /// The namespaces in which a HelmRelease of this file stands, as far as the files say it: the one that a
    /// Kustomization forces upon it, outermost first, else its own.
    pub fn namespaces(&self, file: &str, object: &Object) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.placed(file, object, &mut |_, put, own| {
            found.insert(put.namespace.clone().or_else(|| own.clone()));
        });
        if found.is_empty() {
            let same = self.releases.get(&object.name).map(Vec::as_slice).unwrap_or_default();
            let here = same.iter().find(|(other, _)| other == file).or_else(|| same.first());
            found.insert(object.namespace.clone().or_else(|| here.and_then(|(_, own)| own.clone())));
        }
        found.into_iter().flatten().collect()
    }

    /// What a HelmRelease of this file is called in a cluster: Kustomizations put something before its name, and behind
    /// it.
    pub fn names(&self, file: &str, object: &Object) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.placed(file, object, &mut |root, put, _| {
            let renamed = root.renamed.get(&object.name);
            let by_patch = renamed.and_then(|(name, file)| Some((name, root.files.get(file)?)));
            let (name, put) = by_patch.unwrap_or((&object.name, put));
            found.insert(format!("{}{name}{}", put.prefix, put.suffix));
        });
        if found.is_empty() { [object.name.clone()].into() } else { found }
    }

    /// Goes through everything that applies a HelmRelease, or what one of this file patches, with its own namespace.
    fn placed(&self, file: &str, object: &Object, take: &mut dyn FnMut(&Root, &Put, &Option<String>)) {
        let same = self.releases.get(&object.name).map(Vec::as_slice).unwrap_or_default();
        for root in self.roots_of(file) {
            let within: Vec<_> = same.iter().filter_map(|(file, own)| Some((root.files.get(file)?, own))).collect();
            if within.is_empty()
                && let Some(put) = root.files.get(file)
            {
                take(root, put, &object.namespace);
            }
            within.into_iter().for_each(|(put, own)| take(root, put, own));
        }
    }
}

/// The way through what a Kustomization applies.
struct Walk<'a> {
    flux: &'a Flux,
    seen: BTreeSet<String>,
    files: BTreeMap<String, Put>,
}

impl Walk<'_> {
    /// A folder without a `kustomization.yaml` is applied whole, as Flux makes one for it.
    fn enter(&mut self, path: &str, put: &Put) {
        if self.flux.folders.contains_key(path) || self.flux.files.contains(path) {
            return self.go(path, put);
        }
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.flux.files.range(prefix.clone()..).take_while(|file| file.starts_with(&prefix));
        for file in below {
            let ends = file.match_indices('/').map(|(end, _)| &file[..end]).filter(|folder| folder.len() > path.len());
            match ends.into_iter().find(|folder| self.flux.folders.contains_key(*folder)) {
                Some(folder) if self.seen.contains(folder) => {}
                Some(folder) => self.go(folder, put),
                None => self.go(file, put),
            }
        }
    }

    fn go(&mut self, path: &str, put: &Put) {
        if let Some(folder) = self.flux.folders.get(path) {
            if self.seen.insert(path.to_string()) {
                let inner = put.around(&folder.puts);
                folder.below.iter().for_each(|below| self.go(below, &inner));
            }
        } else if self.flux.files.contains(path) {
            self.files.entry(path.to_string()).or_insert_with(|| put.clone());
        }
    }
}

/// What a `kustomization.yaml` applies or patches with.
fn resources(tree: &Value) -> impl Iterator<Item = &str> {
    let lists = ["resources", "components", "bases", "patchesStrategicMerge"].into_iter();
    let listed = lists.flat_map(|key| tree.get(key).and_then(Value::as_array)).flatten().filter_map(Value::as_str);
    let patches = tree.get("patches").and_then(Value::as_array).into_iter().flatten();
    listed.chain(patches.filter_map(|patch| patch.get("path")?.as_str()))
}

fn texts(tree: Option<&Value>) -> BTreeMap<String, String> {
    let all = tree.and_then(Value::as_object).into_iter().flatten();
    all.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_string()))).collect()
}
