//! A chart as a comparison sees it: what its author says, its values with those of the charts within it, schemas,
//! custom resources and templates.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::package::{self, Bounds, Files, Refusal};
use crate::yaml;

/// Charts in one chart.
const MAX_CHARTS: usize = 200;

/// A chart that was read.
#[derive(Clone, Debug)]
pub struct Chart {
    /// `Chart.yaml`.
    pub(crate) meta: Value,
    /// `values.yaml`.
    pub(crate) values: Value,
    /// `values.schema.json`.
    pub(crate) schema: Option<Value>,
    /// Files in `crds/` and `templates/`, by their path; what is no text is left out.
    pub(crate) texts: BTreeMap<String, String>,
    /// The change log that is packed with it.
    pub(crate) changelog: Option<String>,
    /// The charts within it, by the name of their folder.
    pub(crate) charts: BTreeMap<String, Chart>,
}

impl Chart {
    /// Reads a package, as `helm package` makes it.
    ///
    /// # Errors
    /// What Helm would refuse, what is more than a chart has, and what two readers would read differently.
    pub fn read(package: &[u8]) -> Result<Self, Refusal> {
        Self::within(package, &mut Bounds::new())
    }

    /// Reads the files of a chart's folder, by their path from there.
    ///
    /// # Errors
    /// As [`Chart::read`].
    pub fn of_files(files: BTreeMap<String, Vec<u8>>) -> Result<Self, Refusal> {
        Self::of(files, &mut Bounds::new())
    }

    fn within(package: &[u8], bounds: &mut Bounds) -> Result<Self, Refusal> {
        let files = package::files(package, bounds)?;
        Self::of(files, bounds)
    }

    pub(crate) fn of(files: Files, bounds: &mut Bounds) -> Result<Self, Refusal> {
        let malformed = |file: &str, why: String| Refusal::Malformed { file: file.to_owned(), why };
        let read = |file: &str| match files.get(file) {
            Some(bytes) => yaml::one(bytes).map(Some).map_err(|why| malformed(file, why)),
            None => Ok(None),
        };
        let meta = read("Chart.yaml")?.ok_or_else(|| malformed("Chart.yaml", "it is missing".to_owned()))?;
        if meta.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(malformed("Chart.yaml", "it has no `name`".to_owned()));
        }
        let values = read("values.yaml")?.filter(|values| !values.is_null()).unwrap_or_else(|| Map::new().into());
        if !values.is_object() {
            return Err(malformed("values.yaml", "it is not a mapping".to_owned()));
        }
        let schema = files.get("values.schema.json").map(|bytes| serde_json::from_slice(bytes));
        let schema = schema.transpose().map_err(|error| malformed("values.schema.json", error.to_string()))?;
        let (mut texts, mut inner, mut packages) = (BTreeMap::new(), BTreeMap::<String, Files>::new(), Vec::new());
        let mut changelog = None;
        for (path, bytes) in files {
            if path.starts_with("crds/") || path.starts_with("templates/") {
                texts.extend(String::from_utf8(bytes).ok().map(|text| (path, text)));
            } else if let Some(below) = path.strip_prefix("charts/") {
                match below.split_once('/') {
                    Some((folder, rest)) if !folder.starts_with(['_', '.']) => {
                        inner.entry(folder.to_owned()).or_default().insert(rest.to_owned(), bytes);
                    }
                    None if below.ends_with(".tgz") => packages.push((below.to_owned(), bytes)),
                    Some(_) | None => {}
                }
            } else if path.eq_ignore_ascii_case("CHANGELOG.md") {
                changelog = String::from_utf8(bytes).ok();
            }
        }
        if inner.len() + packages.len() > MAX_CHARTS {
            return Err(Refusal::TooMuch { what: "a chart".to_owned(), most: MAX_CHARTS as u64, unit: "charts in it" });
        }
        let mut charts = BTreeMap::new();
        for (folder, files) in inner {
            // A folder without a Chart.yaml is none of Helm's business either.
            if files.contains_key("Chart.yaml") {
                let chart = Self::of(files, bounds.within()?)?;
                bounds.without();
                charts.insert(folder, chart);
            }
        }
        for (name, bytes) in packages {
            let chart = Self::within(&bytes, bounds.within()?)?;
            bounds.without();
            let folder = chart.name().to_owned();
            if charts.insert(folder, chart).is_some() {
                return Err(Refusal::Twice(package::visible(&format!("charts/{name}"))));
            }
        }
        Ok(Self { meta, values, schema, texts, changelog, charts })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// Its version, as its author writes it.
    pub fn version(&self) -> &str {
        self.text("version")
    }

    /// The version of what is installed by it; empty where its author does not say.
    pub fn app_version(&self) -> &str {
        self.text("appVersion")
    }

    /// The change log that is packed with it: untrusted text.
    pub fn changelog(&self) -> Option<&str> {
        self.changelog.as_deref()
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.meta.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The charts within it by the key under which their values are set.
    pub(crate) fn parts(&self) -> Vec<(&str, &Self)> {
        let dependencies = self.meta.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        let mut named: Vec<(&str, &Self)> = Vec::new();
        for dependency in dependencies {
            let text = |key: &str| dependency.get(key).and_then(Value::as_str);
            let Some(name) = text("name") else { continue };
            let Some(chart) = self.charts.values().find(|chart| chart.name() == name) else { continue };
            let key = text("alias").unwrap_or(name);
            if named.iter().all(|(known, _)| *known != key) {
                named.push((key, chart));
            }
        }
        // One that lies there is installed, whether it is named or not.
        for chart in self.charts.values() {
            if !named.iter().any(|(_, known)| std::ptr::eq(*known, chart)) {
                named.push((chart.name(), chart));
            }
        }
        named
    }

    /// Its values over those of the charts within it: what is there where nobody sets anything.
    pub(crate) fn defaults(&self) -> Value {
        let mut all = Map::new();
        for (key, chart) in self.parts() {
            let defaults = chart.defaults();
            if defaults.as_object().is_some_and(|defaults| !defaults.is_empty()) {
                all.insert(key.to_owned(), defaults);
            }
        }
        let mut all = Value::Object(all);
        overlay(&mut all, &self.values);
        all
    }
}

/// Lays values over others, as Helm does: mappings are joined, everything else is replaced.
fn overlay(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                overlay(below.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above.clone(),
    }
}
