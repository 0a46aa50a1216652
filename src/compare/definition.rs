//! A `PluginDefinition` or `ClusterPluginDefinition` of Greenhouse, as it lies in a catalogue: the version that climbs,
//! the chart behind it, and the options that people set.
//! The fields are those of `api/v1alpha1/plugindefinition_types.go` in cloudoperators/greenhouse.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::change::{Change, What};
use crate::package::{Refusal, visible};
use crate::path::brief;
use crate::{Report, Side, yaml};

/// A definition that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// `metadata.name`, by which its tags and whoever installs it go; the folder may be called otherwise.
    pub name: String,
    /// `spec.version`, as it is written: any text, mostly a version.
    pub version: String,
    /// The chart that it installs; none where it has a user interface only.
    pub chart: Option<DefinedChart>,
    interface: Option<(String, String)>,
    options: BTreeMap<String, DefinedOption>,
}

/// `spec.helmChart`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedChart {
    /// Its name.
    pub name: String,
    /// `oci://…` or `https://…`.
    pub repository: String,
    /// Its version, which is not the definition's.
    pub version: String,
}

/// One of `spec.options`.
#[derive(Clone, Debug, PartialEq)]
struct DefinedOption {
    kind: String,
    required: bool,
    default: Option<Value>,
    regex: Option<String>,
}

impl Definition {
    /// Reads the file of a definition. Where several documents are in it, the first definition counts.
    ///
    /// # Errors
    /// It does not parse, has no definition, or one without a name or a version.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        Self::in_file(text)?.ok_or_else(|| malformed("it has no PluginDefinition".to_owned()))
    }

    /// The definition in any file; none where it has none.
    ///
    /// # Errors
    /// It does not parse, or has one without a name or a version.
    pub fn in_file(text: &str) -> Result<Option<Self>, Refusal> {
        let documents = yaml::several(text).map_err(malformed)?;
        let is_definition = |document: &&Value| {
            let kind = document.get("kind").and_then(Value::as_str);
            matches!(kind, Some("PluginDefinition" | "ClusterPluginDefinition"))
        };
        let Some(document) = documents.iter().find(is_definition) else { return Ok(None) };
        let needed = |pointer: &str| {
            let text = document.pointer(pointer).and_then(scalar).filter(|text| !text.is_empty());
            text.ok_or_else(|| malformed(format!("it has no `{}`", pointer.trim_start_matches('/').replace('/', "."))))
        };
        let pair = |pointer: &str| {
            let part = document.pointer(pointer)?;
            Some((part.get("name").and_then(scalar)?, part.get("version").and_then(scalar)?))
        };
        let repository = document.pointer("/spec/helmChart/repository").and_then(scalar).unwrap_or_default();
        let options = document.pointer("/spec/options").and_then(Value::as_array).into_iter().flatten();
        Ok(Some(Self {
            name: needed("/metadata/name")?,
            version: needed("/spec/version")?,
            chart: pair("/spec/helmChart").map(|(name, version)| DefinedChart { name, repository, version }),
            interface: pair("/spec/uiApplication"),
            options: options.filter_map(option).collect(),
        }))
    }

    /// The options that have to be set, because nothing stands for them.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let needed = |option: &DefinedOption| option.required && option.default.is_none();
        self.options.iter().filter(move |(_, option)| needed(option)).map(|(name, _)| name.as_str())
    }

    /// Whether a value that its chart has come to require has a default here.
    pub(crate) fn sets(&self, change: &Change) -> bool {
        change.what == What::OptionRequired
            && self.options.get(&change.at).is_some_and(|option| option.default.is_some())
    }

    fn side(&self) -> Side {
        let app_version = self.chart.as_ref().map_or("", |chart| &chart.version);
        Side { name: visible(&self.name), version: visible(&self.version), app_version: visible(app_version) }
    }
}

fn malformed(why: String) -> Refusal {
    Refusal::Malformed { file: "plugindefinition.yaml".to_owned(), why }
}

/// A text, or what stands where a text is meant: `version: 1.0` is a number to YAML.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn option(option: &Value) -> Option<(String, DefinedOption)> {
    let name = option.get("name").and_then(scalar)?;
    let text = |key: &str| option.get(key).and_then(scalar);
    let defined = DefinedOption {
        kind: text("type").unwrap_or_else(|| "string".to_owned()),
        required: option.get("required") == Some(&Value::Bool(true)),
        default: option.get("default").filter(|default| !default.is_null()).cloned(),
        regex: text("regex"),
    };
    Some((name, defined))
}

/// Compares two releases of a definition. The chart behind it is compared by [`crate::compare`].
pub fn compare_definitions(old: &Definition, new: &Definition) -> Report {
    let mut found = Vec::new();
    if old.name != new.name {
        found.push(Change::new(What::ChartRenamed, "metadata.name").from(&old.name).to(&new.name));
    }
    charts(old.chart.as_ref(), new.chart.as_ref(), &mut found);
    match (&old.interface, &new.interface) {
        (Some((name, before)), Some((now, after))) if name == now && before != after => {
            found.push(Change::new(What::ChartVersion, format!("user interface {name}")).from(before).to(after));
        }
        (Some(before), Some(after)) if before != after => {
            found.push(Change::new(What::ChartMoved, "spec.uiApplication").from(&before.0).to(&after.0));
        }
        (None | Some(_), None | Some(_)) => {}
    }
    for (name, before) in &old.options {
        match new.options.get(name) {
            Some(after) => options(name, before, after, &mut found),
            None => found.push(Change::new(What::OptionRemoved, name)),
        }
    }
    for (name, option) in new.options.iter().filter(|(name, _)| !old.options.contains_key(*name)) {
        found.push(Change::new(What::OptionAdded, name));
        required(name, option, &mut found);
    }
    Report::of(old.side(), new.side(), found, Vec::new())
}

fn charts(old: Option<&DefinedChart>, new: Option<&DefinedChart>, found: &mut Vec<Change>) {
    let at = "spec.helmChart";
    match (old, new) {
        (None, None) => {}
        (Some(old), None) => found.push(Change::new(What::DependencyRemoved, &old.name).from(&old.version)),
        (None, Some(new)) => found.push(Change::new(What::DependencyAdded, &new.name).to(&new.version)),
        (Some(old), Some(new)) => {
            if old.name != new.name {
                found.push(Change::new(What::ChartRenamed, at).from(&old.name).to(&new.name));
            }
            if old.repository != new.repository {
                found.push(Change::new(What::ChartMoved, at).from(&old.repository).to(&new.repository));
            }
            if old.version != new.version {
                let name = format!("chart {}", new.name);
                found.push(Change::new(What::ChartVersion, name).from(&old.version).to(&new.version));
            }
        }
    }
}

fn required(name: &str, option: &DefinedOption, found: &mut Vec<Change>) {
    match &option.default {
        _ if !option.required => {}
        None => found.push(Change::new(What::OptionRequired, name)),
        Some(default) => found.push(Change::new(What::OptionRequiredWithDefault, name).to(brief(default))),
    }
}

fn options(name: &str, old: &DefinedOption, new: &DefinedOption, found: &mut Vec<Change>) {
    let needs = |option: &DefinedOption| option.required && option.default.is_none();
    if old.kind != new.kind {
        found.push(Change::new(What::OptionRetyped, name).from(&old.kind).to(&new.kind));
    }
    if !old.required || needs(new) && !needs(old) {
        required(name, new, found);
    }
    if old.required && !new.required {
        found.push(Change::new(What::OptionOptional, name));
    }
    if old.default != new.default && !needs(new) {
        let said = |default: &Option<Value>| default.as_ref().map_or_else(|| "nothing".to_owned(), brief);
        found.push(Change::new(What::DefaultChanged, name).from(said(&old.default)).to(said(&new.default)));
    }
    if old.regex != new.regex {
        let said = |regex: &Option<String>| regex.as_ref().map_or_else(|| "anything".to_owned(), Clone::clone);
        let what = if new.regex.is_some() { What::OptionNarrowed } else { What::OptionWidened };
        found.push(Change::new(what, name).from(said(&old.regex)).to(said(&new.regex)));
    }
}
