//! Finds where a chart's version stands, by what each kind of file says of itself: no path is needed where the kind
//! is known. Pure; which of the places found is meant is for whoever asks.

mod generators;
mod kinds;
mod reach;

use serde_json::Value;

use super::{Document, FileFormat, Parsed, Refusal, Spot};
use crate::place::{DocumentSelector, Scalar, chart_address as address};
pub use generators::from_files;
use jsonpath::Step;
pub use reach::{Reach, reach};

const IN_FILE: &str = "file of a git generator";
const VARIABLE: &str = "variable of a Kustomization";
const TO_TARGET: &str = "patch of what its target says";

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The chart, as repositories call it.
    pub chart: &'a str,
    /// The plugin, where it is called otherwise.
    pub plugin: &'a str,
    /// Where the chart's releases are, as [`chart_address`](address) writes it; none = wherever.
    pub address: Option<&'a str>,
}

/// A place where the version of a chart stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What kind of place it is, for people.
    pub kind: &'static str,
    /// Where it is.
    pub scalar: Scalar,
    /// What the chart or the plugin may be called by what stands there, most likely name first.
    pub names: Vec<String>,
    /// Whether that is the name of a chart, of a plugin, or either.
    pub by: By,
    /// Where the chart comes from, where the document says so.
    pub origin: Option<Origin>,
    /// Whom it moves.
    pub reach: Reach,
    /// The Kubernetes object that it stands in.
    pub object: Option<Object>,
    /// The HelmRepository that the chart comes from, by name, where another file has it.
    pub source: Option<String>,
    /// Why it cannot be what decides.
    pub trouble: Option<Refusal>,
}

/// What a place is named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A chart.
    Chart,
    /// A plugin.
    Plugin,
    /// One of both.
    Either,
}

/// Where a chart comes from, as a document says it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// A repository of charts, or the chart itself. Without a scheme it is a registry, as Argo CD writes them.
    pub url: String,
    /// The chart within a repository.
    pub chart: Option<String>,
    /// The file of a definition, where it is a catalog.
    pub definition: Option<String>,
}

impl Origin {
    /// A chart within a repository.
    fn within(url: &str, chart: &str) -> Self {
        Self { chart: Some(chart.to_string()), ..Self::whole(url) }
    }

    /// The address of a chart.
    fn whole(url: &str) -> Self {
        Self { url: url.to_string(), chart: None, definition: None }
    }

    /// A definition in a catalog.
    fn catalog(url: &str, definition: &str) -> Self {
        Self { definition: Some(definition.to_string()), ..Self::whole(url.trim_end_matches(".git")) }
    }

    /// In one spelling.
    pub fn address(&self) -> String {
        address(&self.url, self.chart.as_deref())
    }
}

/// A Kubernetes object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Its `kind`.
    pub kind: String,
    /// Its `metadata.namespace`.
    pub namespace: Option<String>,
    /// Its `metadata.name`.
    pub name: String,
}

/// A place in a tree, before it has a path.
struct Place {
    kind: &'static str,
    steps: Vec<Step>,
    value: Option<String>,
    names: Vec<String>,
    by: By,
    origin: Option<Origin>,
    trouble: Option<Refusal>,
}

impl Place {
    fn of_chart(kind: &'static str, steps: Vec<Step>, chart: &str) -> Self {
        let names = vec![last(chart).to_string()];
        Self { kind, steps, value: None, names, by: By::Chart, origin: None, trouble: None }
    }

    fn of_plugin(kind: &'static str, steps: Vec<Step>, plugin: &str) -> Self {
        Self { by: By::Plugin, ..Self::of_chart(kind, steps, plugin) }
    }

    fn from(self, origin: Option<Origin>) -> Self {
        Self { origin, ..self }
    }
}

/// Every place of a chart in a file, whose name from the repository's root helps where its content does not say what
/// it is.
///
/// # Errors
/// Where it cannot be read, or another value would win over the version.
pub fn find(format: FileFormat, file: &str, text: &str, wanted: Wanted<'_>) -> Result<Vec<Found>, Refusal> {
    let parsed = super::parsed(format, text)?;
    let mut all = places(format, file, &parsed);
    all.retain(|found| found.is_called(wanted));
    let other = all.iter().find_map(|found| found.elsewhere(wanted));
    all.retain(|found| found.elsewhere(wanted).is_none());
    // Of two lines, one marked for the plugin and one for its chart, the former is meant.
    if all.iter().any(|found| found.is_of(wanted.plugin)) {
        all.retain(|found| found.by != By::Either || found.is_of(wanted.plugin));
    }
    let chart = || wanted.chart.to_string();
    match (all.iter().find_map(|found| found.trouble.clone()), other, parsed.template) {
        (Some(trouble), _, _) => Err(trouble),
        // What a template has it may have between its markers.
        (None, _, Some(line)) if all.is_empty() => Err(Refusal::MadeByTemplate { chart: chart(), line }),
        (None, Some(here), _) if all.is_empty() => {
            let there = wanted.address.unwrap_or_default().to_string();
            Err(Refusal::Elsewhere { chart: chart(), here, there })
        }
        (None, _, _) => Ok(all),
    }
}

/// A file as the editor understands it.
pub struct Whole {
    /// Its documents, for what else stands in them.
    pub trees: Vec<Value>,
    /// Every place of any chart, and what stands there.
    pub found: Vec<(Found, Result<Spot, Refusal>)>,
    /// Whether it is a template.
    pub template: bool,
}

/// A file as the editor understands it, and every place of any chart in it.
///
/// # Errors
/// Where it cannot be read.
pub fn read_whole(format: FileFormat, file: &str, text: &str) -> Result<Whole, Refusal> {
    let parsed = super::parsed(format, text)?;
    let held = |found: Found| {
        let spot = super::read_in(&parsed, &found.scalar);
        (found, spot)
    };
    let found = places(format, file, &parsed).into_iter().map(held).collect();
    let template = parsed.template.is_some();
    Ok(Whole { trees: parsed.documents.into_iter().map(|document| document.tree).collect(), found, template })
}

fn places(format: FileFormat, file: &str, parsed: &Parsed) -> Vec<Found> {
    let mut all = Vec::new();
    for document in &parsed.documents {
        let tree = &document.tree;
        let places = match format {
            FileFormat::Text => kinds::marked(tree),
            FileFormat::Hcl => kinds::terraform(tree),
            FileFormat::Yaml | FileFormat::Json | FileFormat::Toml => kinds::of_tree(file, document),
        };
        let of = |place: Place| match place.origin {
            None => place.from(sourced(parsed, tree)),
            Some(_) => place,
        };
        all.extend(places.into_iter().map(|place| found(parsed, document, of(place))));
    }
    all
}

impl Found {
    /// A place that the generator of an ApplicationSet reads from a file.
    pub fn in_file(keys: &[String], chart: String, origin: Option<Origin>, object: Option<Object>) -> Self {
        let path = spelled(&keys.iter().cloned().map(Step::Key).collect::<Vec<_>>());
        let scalar = Scalar { document: None, path, value: None };
        let (names, reach) = (vec![chart], Reach::Unsaid);
        Self { kind: IN_FILE, scalar, names, by: By::Chart, origin, reach, object, source: None, trouble: None }
    }

    /// The same place as a variable that Flux puts into the file where this one is.
    pub fn in_variable(&self, document: Option<DocumentSelector>, keys: &[&str]) -> Self {
        let path = spelled(&steps(keys));
        let scalar = Scalar { document, path, value: None };
        Self { kind: VARIABLE, scalar, reach: Reach::Unsaid, trouble: None, ..self.clone() }
    }

    /// The same place in a patch that goes to an object of another name, which is called so.
    pub fn of_target(&self, called: &str) -> Self {
        Self { kind: TO_TARGET, names: vec![called.to_string()], ..self.clone() }
    }

    /// Whether what stands there gets its meaning from another file, so that it is not found without a path.
    pub fn is_read_elsewhere(&self) -> bool {
        matches!(self.kind, IN_FILE | VARIABLE | TO_TARGET)
    }

    fn is_called(&self, wanted: Wanted<'_>) -> bool {
        match self.by {
            By::Chart => self.is_of(wanted.chart),
            By::Plugin => self.is_of(wanted.plugin),
            By::Either => self.is_of(wanted.chart) || self.is_of(wanted.plugin),
        }
    }

    fn is_of(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Where it comes from, if that is not where the wanted one does: a chart of the same name is another chart.
    fn elsewhere(&self, wanted: Wanted<'_>) -> Option<String> {
        // What somebody else fills in may be any address.
        let here = self.origin.as_ref().map(Origin::address).filter(|here| !super::is_template(here))?;
        (wanted.address? != here).then_some(here)
    }
}

/// Flux: the chart of a HelmRelease comes from a HelmRepository, which may stand in the same file.
fn sourced(parsed: &Parsed, tree: &Value) -> Option<Origin> {
    let chart = at(tree, &["spec", "chart", "spec"])?;
    let name = text(chart, &["sourceRef", "name"])?;
    let is_it = |tree: &Value| {
        text(tree, &["kind"]) == Some("HelmRepository") && text(tree, &["metadata", "name"]) == Some(name)
    };
    let source = parsed.documents.iter().find(|document| is_it(&document.tree))?;
    Some(Origin::within(text(&source.tree, &["spec", "url"])?, text(chart, &["chart"])?))
}

fn found(parsed: &Parsed, document: &Document, place: Place) -> Found {
    let Place { kind, steps, value, names, by, origin, trouble } = place;
    let scalar = Scalar { document: selector(parsed, document), path: spelled(&steps), value };
    let reach = reach(&document.tree, &steps);
    let source = text(&document.tree, &["spec", "chart", "spec", "sourceRef", "name"]).map(str::to_string);
    Found { kind, scalar, names, by, origin, reach, object: object(&document.tree), source, trouble }
}

fn object(tree: &Value) -> Option<Object> {
    let part = |keys: &[&str]| text(tree, keys).map(str::to_string);
    let name = part(&["metadata", "name"])?;
    Some(Object { kind: part(&["kind"])?, namespace: part(&["metadata", "namespace"]), name })
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

/// The end of an address: `loki` of `oci://registry.example/charts/loki` and of `grafana/loki`.
fn last(address: &str) -> &str {
    let trimmed = address.trim_end_matches('/');
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}
