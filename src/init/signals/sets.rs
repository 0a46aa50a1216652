//! ApplicationSets of Argo CD: what their generators give, what the Applications made of it are called, and for which
//! clusters there is one.

use std::collections::{BTreeMap, BTreeSet};

use decide::selector::{Operator, Selector};
use serde_json::Value;

use super::line::{Line, Said, UNKNOWN};
use crate::edit::find::{Reach, reach};
use crate::init::ladder::Ladder;
use crate::init::plugins::Plugin;
use crate::init::sight::{Argo, Sight, at};
use crate::init::text::plain;
use crate::init::walk::glob;

/// Generators within generators: matrix and merge hold no deeper ones in Argo CD.
const DEEPEST: usize = 3;
/// So many Applications of one set are looked at.
const MOST_MADE: usize = 2048;
/// So many names of Applications stand in one plugin.
const MOST_NAMES: usize = 8;
const CLUSTER: &str = "{cluster}";
const TIER: &str = "{tier}";

/// What one Application is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    values: BTreeMap<String, String>,
    /// The elements and the files that it comes from.
    from: BTreeSet<String>,
    /// The clusters that generators select for it.
    selected: BTreeSet<String>,
}

/// What generators read of a repository.
struct Read<'a> {
    /// Folders that are asked about; where none is, nobody knows which there are.
    folders: &'a BTreeSet<String>,
    files: &'a BTreeMap<String, Value>,
}

/// Everything that the generators of a set make Applications of.
pub(super) fn made(set: &Value, folders: &BTreeSet<String>, files: &BTreeMap<String, Value>) -> Vec<Made> {
    let all = Read { folders, files }.each(at(set, &["spec", "generators"]), "$.spec.generators", DEEPEST);
    all.into_iter().flatten().take(MOST_MADE).collect()
}

/// Those that the versions of a plugin in this set go into: all of them, since one element alone does not show what
/// differs between tiers.
pub(super) fn concerned<'a>(all: &'a [Made], set: &Argo, plugin: &Plugin) -> Vec<&'a Made> {
    let own = |sight: &&Sight| sight.found.object.as_ref() == Some(&set.object);
    let sights: Vec<&Sight> = plugin.sights.iter().filter(own).collect();
    all.iter().filter(|one| sights.iter().any(|sight| one.gets(sight))).collect()
}

impl Read<'_> {
    fn each(&self, generators: Option<&Value>, path: &str, deepest: usize) -> Vec<Vec<Made>> {
        let all = generators.and_then(Value::as_array).filter(|_| deepest > 0).into_iter().flatten().enumerate();
        all.map(|(index, generator)| self.one(generator, &format!("{path}[{index}]"), deepest)).collect()
    }

    fn one(&self, generator: &Value, path: &str, deepest: usize) -> Vec<Made> {
        let below = |kind: &str| {
            let generators = at(generator, &[kind, "generators"]);
            self.each(generators, &format!("{path}.{kind}.generators"), deepest - 1).into_iter()
        };
        if generator.get("matrix").is_some() {
            let begin = vec![Made::default()];
            return below("matrix").fold(begin, |all, more| product(&all, &more));
        }
        if let Some(merge) = generator.get("merge") {
            let keys = merge.get("mergeKeys").and_then(Value::as_array).into_iter().flatten();
            let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
            return below("merge").reduce(|all, more| merged(&all, &more, &keys)).unwrap_or_default();
        }
        if let Some(clusters) = generator.get("clusters") {
            return vec![of_clusters(clusters, format!("{path}.clusters"))];
        }
        let elements = at(generator, &["list", "elements"]).and_then(Value::as_array);
        let found: Vec<Made> = match (elements, generator.get("git")) {
            (Some(elements), _) => elements
                .iter()
                .enumerate()
                .map(|(index, element)| Made::of(element, format!("{path}.list.elements[{index}]")))
                .collect(),
            (None, Some(git)) => self.of_git(git),
            (None, None) => Vec::new(),
        };
        // What nobody here knows makes something all the same.
        if found.is_empty() && (self.folders.is_empty() || at(generator, &["git", "directories"]).is_none()) {
            return vec![Made { from: [path.to_string()].into(), ..Made::default() }];
        }
        found
    }

    fn of_git(&self, git: &Value) -> Vec<Made> {
        let globs = |kind: &str, excluded: bool| -> Vec<&str> {
            let all = git.get(kind).and_then(Value::as_array).into_iter().flatten();
            let all = all.filter(|one| one["exclude"].as_bool().unwrap_or_default() == excluded);
            all.filter_map(|one| one.get("path")?.as_str()).collect()
        };
        let means = |kind: &str, name: &str| {
            let one = |excluded: bool| globs(kind, excluded).into_iter().any(|pattern| glob(pattern, name));
            one(false) && !one(true)
        };
        let folders = self.folders.iter().filter(|folder| means("directories", folder)).map(|folder| {
            let mut one = Made::default();
            one.at(folder);
            one
        });
        let files = self.files.iter().filter(|(file, _)| means("files", file)).map(|(file, tree)| {
            let mut one = Made::of(tree, file.clone());
            let (folder, base) = file.rsplit_once('/').unwrap_or(("", file));
            one.at(folder);
            one.values.insert("path.filename".to_string(), base.to_string());
            one
        });
        folders.chain(files).collect()
    }
}

/// A generator of clusters makes one for each, which the name of the cluster tells apart.
fn of_clusters(clusters: &Value, from: String) -> Made {
    let mut one = Made::default();
    flat(clusters.get("values"), "values", &mut one.values);
    for key in ["name", "nameNormalized"] {
        one.values.insert(key.to_string(), CLUSTER.to_string());
    }
    one.from.insert(from);
    one.selected.extend(clusters.get("selector").map(Value::to_string));
    one
}

fn product(all: &[Made], more: &[Made]) -> Vec<Made> {
    all.iter().flat_map(|one| more.iter().map(|other| one.with(other))).take(MOST_MADE).collect()
}

/// The first generator says what there is; what others give wins where the keys agree, as far as anybody knows them.
fn merged(all: &[Made], more: &[Made], keys: &[&str]) -> Vec<Made> {
    let mut found = Vec::new();
    for one in all {
        if found.len() >= MOST_MADE {
            break;
        }
        let agree = |other: &&Made| keys.iter().all(|key| one.agrees(other, key));
        let known =
            |other: &Made| keys.iter().all(|key| one.values.contains_key(*key) && other.values.contains_key(*key));
        let others: Vec<&Made> = more.iter().filter(agree).collect();
        if !others.iter().any(|other| known(other)) {
            found.push(one.clone());
        }
        found.extend(others.into_iter().map(|other| one.with(other)));
    }
    found.truncate(MOST_MADE);
    found
}

/// The texts of a tree by their keys, joined with dots.
fn flat(tree: Option<&Value>, prefix: &str, values: &mut BTreeMap<String, String>) {
    match tree {
        Some(Value::Object(map)) => {
            for (key, below) in map {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flat(Some(below), &key, values);
            }
        }
        Some(Value::String(text)) => drop(values.insert(prefix.to_string(), text.clone())),
        Some(Value::Number(number)) => drop(values.insert(prefix.to_string(), number.to_string())),
        Some(Value::Bool(is)) => drop(values.insert(prefix.to_string(), is.to_string())),
        Some(Value::Null | Value::Array(_)) | None => {}
    }
}

impl Made {
    fn of(tree: &Value, from: String) -> Self {
        let mut one = Self { from: [from].into(), ..Self::default() };
        flat(Some(tree), "", &mut one.values);
        one
    }

    /// A folder as git generators give it, in both kinds of templates.
    fn at(&mut self, folder: &str) {
        let base = folder.rsplit('/').next().unwrap_or(folder);
        let normal = base.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-");
        let named = [("path", folder), ("path.path", folder), ("path.basename", base)];
        let all = named.into_iter().map(|(key, value)| (key.to_string(), value.to_string()));
        self.values.extend(all.chain([("path.basenameNormalized".to_string(), normal)]));
        for (index, part) in folder.split('/').enumerate() {
            self.values.insert(format!("path[{index}]"), part.to_string());
            self.values.insert(format!("path.segments[{index}]"), part.to_string());
        }
    }

    fn with(&self, other: &Self) -> Self {
        let mut one = self.clone();
        one.values.extend(other.values.clone());
        one.from.extend(other.from.clone());
        one.selected.extend(other.selected.clone());
        one
    }

    fn agrees(&self, other: &Self, key: &str) -> bool {
        self.values.get(key).is_none_or(|value| other.values.get(key).is_none_or(|known| known == value))
    }

    /// Whether the value at a place goes into it.
    fn gets(&self, sight: &Sight) -> bool {
        if sight.found.is_read_elsewhere() {
            return self.from.contains(&sight.file);
        }
        let path = &sight.found.scalar.path;
        let within = |from: &String| path.strip_prefix(from.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']));
        !path.starts_with("$.spec.generators") || self.from.iter().any(within)
    }

    /// A template with what is known in it.
    pub fn filled(&self, template: &str) -> String {
        filled(template, &|key| self.values.get(key).cloned())
    }

    /// What a parameter stands for in a name: a tier or a cluster where it names one, else its value.
    fn word(&self, key: &str, destination: &Destination, ladder: &Ladder) -> Option<String> {
        let held = self.values.get(key).map(|value| self.filled(value));
        if held.as_ref().is_some_and(|value| ladder.tiers.contains(value)) {
            return Some(TIER.to_string());
        }
        if self.is_cluster(key, destination) {
            return Some(CLUSTER.to_string());
        }
        let label = key.strip_prefix("metadata.labels.").unwrap_or(key);
        let of_tier = [ladder.label.as_str(), "tier", "env", "environment", "stage"].contains(&label);
        held.or_else(|| match key {
            "name" | "nameNormalized" => Some(CLUSTER.to_string()),
            _ => (of_tier && ladder.tiers.len() > 1).then(|| TIER.to_string()),
        })
    }

    /// Whether a parameter is the name of a cluster: it is called so, or the Application goes where it says.
    fn is_cluster(&self, key: &str, destination: &Destination) -> bool {
        let beside = |server: &String| matches!(key, "name" | "nameNormalized") && self.values.contains_key(server);
        matches!(key, "cluster" | "clusterName" | "cluster.name")
            || destination.name.as_deref() == Some(key)
            || destination.server.as_ref().is_some_and(beside)
    }

    /// What tells whom an Application is for, beside its name.
    fn whose(&self, destination: &Destination, ladder: &Ladder) -> String {
        let mut parts: Vec<&str> = self.selected.iter().map(String::as_str).collect();
        let tells = |key: &String, value: &String| ladder.tiers.contains(value) || self.is_cluster(key, destination);
        parts.extend(self.values.iter().filter(|(key, value)| tells(key, value)).map(|(_, value)| value.as_str()));
        parts.join(" ")
    }
}

/// The parameters that say where an Application goes.
struct Destination {
    name: Option<String>,
    server: Option<String>,
}

/// The key of the only parameter of a text.
fn parameter(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("}}")).then(|| key(inner))
}

/// The key in `{{name}}`, `{{ .values.name }}`, `{{ index .path.segments 1 }}` or `{{ index .metadata.labels "env" }}`.
fn key(inner: &str) -> String {
    let inner = inner.trim().trim_matches('-').trim();
    let parts: Vec<&str> = inner.split_whitespace().collect();
    match parts.as_slice() {
        ["index", of, which] => {
            let of = of.trim_start_matches('.');
            match which.strip_prefix('"').and_then(|which| which.strip_suffix('"')) {
                Some(which) => format!("{of}.{which}"),
                None => format!("{of}[{which}]"),
            }
        }
        _ => inner.trim_start_matches('.').to_string(),
    }
}

/// A template with what its parameters stand for; those that stand for nothing stay as they are.
fn filled(template: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, (inner, behind))) = rest.split_once("{{").and_then(|(a, b)| Some((a, b.split_once("}}")?)))
    {
        out.push_str(before);
        out.push_str(&value(&key(inner)).unwrap_or_else(|| format!("{{{{{inner}}}}}")));
        rest = behind;
    }
    out + rest
}

/// What Applications are called, with what is to be checked.
pub(super) struct Names {
    names: BTreeSet<String>,
    check: Option<String>,
}

impl Names {
    pub fn lines(self, line: impl Fn(&str) -> Line) -> Vec<Line> {
        self.names.iter().map(|name| line(name).but_if(self.check.clone())).collect()
    }
}

/// What a set calls these Applications, with our placeholders for its own; the usual name, to be checked, where it is
/// made of something else, or differs between tiers and clusters.
pub(super) fn name(set: &Argo, made: &[&Made], sight: &Sight, plugin: &Plugin, said: &Said<'_>) -> Names {
    let ladder = said.ladder;
    let text = |keys: &[&str]| at(&set.tree, &[&["spec", "template"], keys].concat()).and_then(Value::as_str);
    let template = text(&["metadata", "name"]).unwrap_or_default();
    let to = |key: &str| text(&["spec", "destination", key]).and_then(parameter);
    let to = Destination { name: to("name"), server: to("server") };
    let guess = |why: String| Names { names: [format!("{}-{CLUSTER}", plugin.name)].into(), check: Some(why) };
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in made {
        let name = filled(template, &|key| one.word(key, &to, ladder));
        found.entry(name).or_default().insert(one.whose(&to, ladder));
    }
    if found.keys().all(String::is_empty) || found.keys().any(|name| name.contains("{{")) {
        let set = plain(&set.object.name);
        return guess(format!("{UNKNOWN}; the ApplicationSet {set} calls it `{}`", plain(template)));
    }
    let general: BTreeSet<String> = found.keys().map(|name| ladder.general(name, &sight.file)).collect();
    if found.len() > 1 && general.len() == 1 {
        return Names { names: general, check: None };
    }
    let differ = found.values().any(|whose| Some(whose) != found.values().next());
    let names: Vec<&str> = found.keys().map(String::as_str).take(MOST_NAMES).collect();
    if differ || found.len() > MOST_NAMES {
        return guess(format!("{UNKNOWN} in one name: {}", plain(&names.join(", "))));
    }
    Names { names: found.into_keys().collect(), check: None }
}

/// What to check where there is an Application on some clusters only.
pub(super) fn selected(set: &Argo, sight: &Sight, said: &Said<'_>) -> Option<String> {
    let own = sight.found.object.as_ref() == Some(&set.object) && !sight.found.is_read_elsewhere();
    let which = if own { only(&sight.found.reach, said) } else { only(&reach(&set.tree, &[]), said) };
    which.map(|which| format!("only clusters with {} have it", plain(&which)))
}

/// The clusters that somebody selects, as kubectl writes a selector; none where that may be all.
fn only(reach: &Reach, said: &Said<'_>) -> Option<String> {
    match reach {
        Reach::Selected(selector) => {
            let known = said.survey.inventory.iter().flat_map(|(_, clusters)| clusters);
            let mut known = known.map(|cluster| selector.matches(&cluster.labels)).peekable();
            if known.peek().is_some() && known.all(|is_it| is_it) {
                return None;
            }
            Some(spelled(selector, said.ladder)).filter(|text| !text.is_empty())
        }
        Reach::Both(parts) => {
            let all: Vec<String> = parts.iter().filter_map(|part| only(part, said)).collect();
            (!all.is_empty()).then(|| all.join(","))
        }
        Reach::Either(parts) => {
            let all: Option<BTreeSet<String>> = parts.iter().map(|part| only(part, said)).collect();
            all.filter(|all| !all.is_empty()).map(|all| all.into_iter().collect::<Vec<_>>().join(" or "))
        }
        Reach::Without(part, _) => only(part, said),
        Reach::Unsaid | Reach::Everyone | Reach::Named(_) | Reach::Labelled(_) => None,
    }
}

/// A selector but for what tells tiers apart, and for the label that every cluster of Argo CD has.
fn spelled(selector: &Selector, ladder: &Ladder) -> String {
    let counts = |key: &str| {
        let of_tiers = ladder.tiers.len() > 1 && key == ladder.label;
        !of_tiers && key != "argocd.argoproj.io/secret-type"
    };
    let exact =
        selector.match_labels.iter().filter(|(key, _)| counts(key)).map(|(key, value)| format!("{key}={value}"));
    let some = selector.match_expressions.iter().filter(|one| counts(&one.key)).map(|one| {
        let (key, values) = (&one.key, one.values.join(","));
        match one.operator {
            Operator::In => format!("{key} in ({values})"),
            Operator::NotIn => format!("{key} notin ({values})"),
            Operator::Exists => key.clone(),
            Operator::DoesNotExist => format!("!{key}"),
        }
    });
    exact.chain(some).collect::<Vec<_>>().join(",")
}
