//! What a chart asks of its values: by its schema, and by `required` in its templates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::change::{Change, What};
use crate::chart::Chart;
use crate::path::{at, below, brief, parts};
use crate::schema::{self, Finding, Rule};

pub(crate) const TOO_LARGE: &str = "it is too large, or refers to itself";

/// The differences of what two releases ask, with what each has where nobody sets anything.
pub(crate) fn compare(old: (&Chart, &Value), new: (&Chart, &Value), told: &BTreeSet<String>, found: &mut Vec<Change>) {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    schemas("", old.0, &mut before);
    schemas("", new.0, &mut after);
    let mut required = BTreeSet::new();
    for (path, schema) in &after {
        // A schema that is new asks everything that it asks since now.
        let none = Value::Bool(true);
        let earlier = before.get(path).copied().unwrap_or(&none);
        let is_new = !before.contains_key(path);
        let Some(findings) = schema::compare(earlier, schema) else {
            let file =
                if path.is_empty() { "values.schema.json".to_owned() } else { format!("the schema of `{path}`") };
            found.push(Change::new(What::Unread, file).to(TOO_LARGE));
            continue;
        };
        for finding in findings {
            told_by_schema(path, finding, is_new, new.1, &mut required, found);
        }
    }
    let in_templates = |chart: &Chart| {
        let mut paths = BTreeSet::new();
        required_by_templates("", chart, &mut paths);
        paths
    };
    let (before, after) = (in_templates(old.0), in_templates(new.0));
    required.extend(after.difference(&before).filter(|path| is_missing(new.1, path)).cloned());
    for path in required {
        found.push(Change::new(What::OptionRequired, path));
    }
    // What the schema tells of an option stands there once.
    found.retain(|change| !(change.what == What::OptionAdded && told.contains(&change.at)));
}

fn told_by_schema(
    prefix: &str,
    finding: Finding,
    is_new: bool,
    defaults: &Value,
    required: &mut BTreeSet<String>,
    found: &mut Vec<Change>,
) {
    let path = joined(prefix, &finding.at);
    let what = match finding.what {
        // The value itself, with its default, says so already.
        Rule::Added if is_new || at(defaults, &path).is_some() => return,
        Rule::Added => What::OptionAdded,
        Rule::Removed => What::OptionRemoved,
        Rule::Required => {
            if path.contains("[]") || path.contains(".*") || !has_parent(defaults, &path) {
                // It is asked of what people add themselves.
                found.push(
                    Change::new(What::OptionNarrowed, &path)
                        .from("optional")
                        .to("required where the part around it is set"),
                );
            } else if is_missing(defaults, &path) {
                required.insert(path);
            } else if !is_new {
                let default = at(defaults, &path).map(brief).unwrap_or_default();
                found.push(Change::new(What::OptionRequiredWithDefault, &path).to(default));
            }
            return;
        }
        Rule::Optional => What::OptionOptional,
        Rule::Retyped => What::OptionRetyped,
        // Values are a mapping, whether a schema says so or not.
        Rule::Narrowed if is_new && path.is_empty() => return,
        Rule::Narrowed => What::OptionNarrowed,
        Rule::Widened => What::OptionWidened,
        Rule::Closed => What::OptionsClosed,
    };
    let at = if path.is_empty() { "values".to_owned() } else { path };
    let mut change = Change::new(what, at);
    if let Some(from) = finding.from {
        change = change.from(from);
    }
    if let Some(to) = finding.to {
        change = change.to(to);
    }
    found.push(change);
}

fn joined(prefix: &str, path: &str) -> String {
    match (prefix, path) {
        ("", path) => path.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, path) if path.starts_with('[') => format!("{prefix}{path}"),
        (prefix, path) => format!("{prefix}.{path}"),
    }
}

fn has_parent(defaults: &Value, path: &str) -> bool {
    let parts = parts(path);
    let parents = parts.split_last().map_or(&[][..], |(_, parents)| parents);
    parents.iter().try_fold(defaults, |value, key| value.get(key.as_str())).is_some_and(Value::is_object)
}

/// Helm takes a null for a value that is not there.
fn is_missing(defaults: &Value, path: &str) -> bool {
    at(defaults, path).is_none_or(Value::is_null)
}

/// The schemas of a chart and of those within it, by the path of the values that they are about.
fn schemas<'c>(prefix: &str, chart: &'c Chart, found: &mut BTreeMap<String, &'c Value>) {
    found.extend(chart.schema.as_ref().map(|schema| (prefix.to_owned(), schema)));
    for (key, part) in chart.parts() {
        schemas(&below(prefix, key), part, found);
    }
}

/// The values that templates cannot do without: `required "why" .Values.x` and `.Values.x | required "why"`.
fn required_by_templates(prefix: &str, chart: &Chart, found: &mut BTreeSet<String>) {
    for (path, text) in chart.texts.iter().filter(|(path, _)| path.starts_with("templates/")) {
        // Notes are printed after the fact, and tests are no part of what is installed.
        if path.starts_with("templates/tests/") {
            continue;
        }
        for action in text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()) {
            required_in(prefix, action, found);
        }
    }
    for (key, part) in chart.parts() {
        required_by_templates(&below(prefix, key), part, found);
    }
}

fn required_in(prefix: &str, action: &str, found: &mut BTreeSet<String>) {
    for (start, _) in action.match_indices("required") {
        let rest = action.get(start + "required".len()..).unwrap_or_default();
        let Some(rest) = rest.strip_prefix(char::is_whitespace).map(str::trim_start) else { continue };
        let Some(after) = after_text(rest) else { continue };
        let before = action.get(..start).unwrap_or_default().trim_end();
        let value = match before.strip_suffix('|') {
            Some(before) => before.trim_end().rsplit([' ', '(', '\t', '\n']).next().unwrap_or_default(),
            None => after.trim_start().split([' ', ')', '\t', '\n', '|']).next().unwrap_or_default(),
        };
        let value = value.strip_prefix('$').unwrap_or(value);
        if let Some(path) = value.strip_prefix(".Values.")
            && !path.is_empty()
            && path.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'))
        {
            found.insert(joined(prefix, path));
        }
    }
}

/// What follows a text of a template.
fn after_text(rest: &str) -> Option<&str> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '`'))?;
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            '\\' if quote == '"' && !escaped => escaped = true,
            c if c == quote && !escaped => return rest.get(index + 1..),
            _ => escaped = false,
        }
    }
    None
}
