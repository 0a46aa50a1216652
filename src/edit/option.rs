//! One value that a file gives a chart, taken out or put in by whole lines, for people to apply: nothing is written by
//! itself. What cannot be proved to change this one value and nothing else is not proposed.

use std::ops::Range;

use jsonpath::Step;
use serde_json::{Map, Value, json};

use super::given::{Home, home};
use super::place::Scalar;
use super::yaml::Yaml;
use super::{Document, FileFormat, Format as _, Parsed, Style, parsed, select};

/// The text without what is set at an option, which is named as a comparison names it, whole and in its parts. None where
/// nothing is set there, or where it does not stand on lines of its own.
pub fn without_option(text: &str, scalar: &Scalar, chart: &str, (name, parts): (&str, &[String])) -> Option<String> {
    let place = Placed::of(text, scalar, chart)?;
    let steps = match &place.home {
        Home::Tree(steps) => steps.iter().cloned().chain(parts.iter().cloned().map(Step::Key)).collect(),
        Home::Items(steps) => {
            let items = at(&place.document().tree, steps)?.as_array()?;
            let index = items.iter().position(|item| item.get("name").and_then(Value::as_str) == Some(name))?;
            steps.iter().cloned().chain([Step::Index(index)]).collect::<Vec<Step>>()
        }
    };
    let lines = place.lines_of(&steps)?;
    let new: String = place.lines(|index| !lines.contains(&index));
    place.proves(&new, |tree| take_out(tree, &steps)).then_some(new)
}

/// The text with a value at an option that has none yet. None where the file has no place for it that can be found.
pub fn with_option(
    text: &str,
    scalar: &Scalar,
    chart: &str,
    (name, parts): (&str, &[String]),
    value: &Value,
) -> Option<String> {
    let place = Placed::of(text, scalar, chart)?;
    let (above, below, value) = match &place.home {
        Home::Tree(steps) => {
            let whole: Vec<Step> = steps.iter().cloned().chain(parts.iter().cloned().map(Step::Key)).collect();
            let tree = &place.document().tree;
            let there =
                (1..whole.len()).rev().find(|count| whole.get(..*count).is_some_and(|s| at(tree, s).is_some()))?;
            let (above, below) = whole.split_at(there);
            (above.to_vec(), below.to_vec(), value.clone())
        }
        Home::Items(steps) => (steps.clone(), Vec::new(), json!([{"name": name, "value": value}])),
    };
    let (indent, after) = place.end_of(&above)?;
    let nested = below.iter().rev().try_fold(value, |value, step| match step {
        Step::Key(key) => Some(Value::Object(Map::from_iter([(key.clone(), value)]))),
        Step::Index(_) => None,
    })?;
    let mut written = Vec::new();
    write(&nested, &mut written);
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let added: String = written.iter().map(|line| format!("{}{line}{ending}", " ".repeat(indent))).collect();
    let mut new = place.lines(|index| index < after);
    if !new.ends_with('\n') {
        new.push_str(ending);
    }
    new.push_str(&added);
    new.push_str(&place.lines(|index| index >= after));
    let put = |tree: &mut Value| put_in(tree, &above, nested.clone());
    place.proves(&new, put).then_some(new)
}

/// A mapping or a list as lines of block YAML, in which no reader takes a text for something else.
fn write(value: &Value, lines: &mut Vec<String>) {
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (format!("{}:", scalar_of(&json!(key))), value)).collect(),
        Value::Array(items) => items.iter().map(|item| ("-".to_string(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for (head, value) in entries {
        let mut below = Vec::new();
        write(value, &mut below);
        if below.is_empty() {
            lines.push(format!("{head} {}", scalar_of(value)));
        } else if head == "-" {
            let marked = |(index, line): (usize, String)| format!("{}{line}", if index == 0 { "- " } else { "  " });
            lines.extend(below.into_iter().enumerate().map(marked));
        } else {
            lines.push(head);
            lines.extend(below.into_iter().map(|line| format!("  {line}")));
        }
    }
}

/// A value that has nothing below it.
fn scalar_of(value: &Value) -> String {
    let plain = value.as_str().and_then(|text| Yaml.spell(text, Style::Plain).ok());
    plain.unwrap_or_else(|| value.to_string())
}

/// A text, and where in it a chart gets its values.
struct Placed<'t> {
    text: &'t str,
    parsed: Parsed,
    /// The index of the document.
    document: usize,
    home: Home,
}

impl<'t> Placed<'t> {
    fn of(text: &'t str, scalar: &Scalar, chart: &str) -> Option<Self> {
        let parsed = parsed(FileFormat::Yaml, text).ok()?;
        if parsed.template.is_some() {
            return None;
        }
        let chosen = select(&parsed.documents, scalar.document.as_ref()).ok()?;
        let found = chosen.into_iter().find_map(|document| Some((document.line, home(&document.tree, chart)?)));
        let (line, home) = found?;
        let document = parsed.documents.iter().position(|document| document.line == line)?;
        Some(Self { text, parsed, document, home })
    }

    fn document(&self) -> &Document {
        &self.parsed.documents[self.document]
    }

    /// The lines whose index is wanted, with their ends.
    fn lines(&self, wanted: impl Fn(usize) -> bool) -> String {
        self.text.split_inclusive('\n').enumerate().filter(|(index, _)| wanted(*index)).map(|(_, line)| line).collect()
    }

    fn line(&self, index: usize) -> &str {
        self.text.lines().nth(index).unwrap_or_default()
    }

    /// The lines that an entry of a mapping or of a list takes, where it takes whole lines.
    fn lines_of(&self, steps: &[Step]) -> Option<Range<usize>> {
        let value = self.document().places.get(steps)?.line().checked_sub(1)?;
        let head = match steps.last()? {
            Step::Key(key) => {
                let names = [format!("{key}:"), format!("{key:?}:"), format!("'{key}':")];
                let begins = |index: &usize| names.iter().any(|name| self.line(*index).trim_start().starts_with(name));
                (0..=value).rev().take(5).find(begins)?
            }
            Step::Index(_) => {
                (0..=value).rev().take(5).find(|index| self.line(*index).trim_start().starts_with("- "))?
            }
        };
        let indent = indent(self.line(head));
        let is_list = matches!(at(&self.document().tree, steps), Some(Value::Array(_)));
        let count = self.text.lines().count();
        let belongs = |index: &usize| {
            let line = self.line(*index);
            let deeper = self::indent(line) > indent;
            // The items of a list may stand below the very column of its key.
            line.trim().is_empty() || deeper || (is_list && self::indent(line) == indent && is_item(line))
        };
        let mut end = (head + 1..count).take_while(belongs).last().map_or(head + 1, |last| last + 1);
        // Blank lines belong to what follows, and so do comments that stand no deeper.
        while end > head + 1 && self.line(end - 1).trim().is_empty() {
            end -= 1;
        }
        Some(head..end)
    }

    /// The column in which more entries of a mapping or a list would stand, and the line before which.
    fn end_of(&self, steps: &[Step]) -> Option<(usize, usize)> {
        let last = match at(&self.document().tree, steps)? {
            Value::Object(map) => {
                let below = |key: &String| {
                    let steps: Vec<Step> = steps.iter().cloned().chain([Step::Key(key.clone())]).collect();
                    self.lines_of(&steps)
                };
                map.keys().filter_map(below).max_by_key(|lines| lines.end)?
            }
            Value::Array(items) => {
                let index = items.len().checked_sub(1)?;
                let steps: Vec<Step> = steps.iter().cloned().chain([Step::Index(index)]).collect();
                self.lines_of(&steps)?
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        Some((indent(self.line(last.start)), last.end))
    }

    /// Whether a text reads as this one with one change, and nothing else.
    fn proves(&self, new: &str, change: impl FnOnce(&mut Value) -> Option<()>) -> bool {
        let Ok(after) = parsed(FileFormat::Yaml, new) else { return false };
        let mut wanted: Vec<Value> = self.parsed.documents.iter().map(|document| document.tree.clone()).collect();
        let changed = wanted.get_mut(self.document).and_then(change).is_some();
        let same = wanted.iter().eq(after.documents.iter().map(|document| &document.tree));
        changed && same && after.documents.iter().all(|document| document.problem.is_none())
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_item(line: &str) -> bool {
    line.trim_start() == "-" || line.trim_start().starts_with("- ")
}

fn at<'v>(tree: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    steps.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

fn at_mut<'v>(tree: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    steps.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

fn take_out(tree: &mut Value, steps: &[Step]) -> Option<()> {
    let (last, above) = steps.split_last()?;
    match (at_mut(tree, above)?, last) {
        (Value::Object(map), Step::Key(key)) => map.remove(key).map(drop),
        (Value::Array(items), Step::Index(index)) if *index < items.len() => {
            items.remove(*index);
            Some(())
        }
        _ => None,
    }
}

/// Joins what is nested into what stands there: keys into a mapping, items into a list.
fn put_in(tree: &mut Value, above: &[Step], nested: Value) -> Option<()> {
    match (at_mut(tree, above)?, nested) {
        (Value::Object(map), Value::Object(more)) => {
            map.extend(more);
            Some(())
        }
        (Value::Array(items), Value::Array(mut more)) => {
            items.append(&mut more);
            Some(())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RELEASE: &str = "# ours\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: loki}\nspec:\n  \
        chart:\n    spec: {chart: loki, version: 1.0.0}\n  values:\n    a: 1 # one\n    list:\n    - x\n    - y\n\n    # deep\n    \
        b:\n      c: text\n      d: 2\n  interval: 1h\n";
    const PLUGIN: &str = "apiVersion: greenhouse.sap/v1alpha1\nkind: Plugin\nspec:\n  pluginDefinition: loki\n  optionValues:\n    \
        - name: a.b\n      value: 1\n    - name: c\n      value:\n        - x\n";

    fn scalar() -> Scalar {
        Scalar { document: None, path: "$.x".to_string(), value: None }
    }

    fn without(text: &str, option: &str) -> Option<String> {
        let parts: Vec<String> = option.split('.').map(str::to_string).collect();
        without_option(text, &scalar(), "loki", (option, &parts))
    }

    fn with(text: &str, option: &str, value: &Value) -> Option<String> {
        let parts: Vec<String> = option.split('.').map(str::to_string).collect();
        with_option(text, &scalar(), "loki", (option, &parts), value)
    }

    #[test]
    fn what_stands_on_lines_of_its_own_is_taken_out() {
        assert_eq!(without(RELEASE, "a").unwrap(), RELEASE.replace("    a: 1 # one\n", ""));
        assert_eq!(without(RELEASE, "list").unwrap(), RELEASE.replace("    list:\n    - x\n    - y\n", ""));
        assert_eq!(without(RELEASE, "b").unwrap(), RELEASE.replace("    b:\n      c: text\n      d: 2\n", ""));
        assert_eq!(without(RELEASE, "b.d").unwrap(), RELEASE.replace("      d: 2\n", ""));
        assert_eq!(without(PLUGIN, "a.b").unwrap(), PLUGIN.replace("    - name: a.b\n      value: 1\n", ""));
        assert_eq!(without(PLUGIN, "c").unwrap(), PLUGIN.replace("    - name: c\n      value:\n        - x\n", ""));
        let windows = RELEASE.replace('\n', "\r\n");
        assert_eq!(without(&windows, "a").unwrap(), windows.replace("    a: 1 # one\r\n", ""));
    }

    #[test]
    fn what_does_not_is_left_to_people() {
        assert_eq!(without(RELEASE, "nothing"), None);
        assert_eq!(without(PLUGIN, "nothing"), None);
        for values in ["values: {a: 1}", "values:\n    <<: *x\n    a: 1", "values:\n    &k a: 1\n    z: *k"] {
            let text = RELEASE.replace("values:\n    a: 1 # one", values);
            assert_eq!(without(&text, "a"), None, "{text}");
        }
        // The last one would leave nothing behind, which is no mapping.
        let only = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec:\n  values:\n    a: 1\n";
        assert_eq!(without(only, "a"), None);
        assert_eq!(without("a: {{ .x }}\n", "a"), None);
    }

    #[test]
    fn a_value_is_put_in_behind_its_neighbours() {
        let added = |after: &str, lines: &str| RELEASE.replacen(after, &format!("{after}{lines}"), 1);
        assert_eq!(with(RELEASE, "b.extra", &json!("on")).unwrap(), added("      d: 2\n", "      extra: \"on\"\n"));
        assert_eq!(
            with(RELEASE, "zone.list", &json!([1])).unwrap(),
            added("      d: 2\n", "    zone:\n      list:\n        - 1\n")
        );
        let bare = RELEASE.replace(
            "  values:\n    a: 1 # one\n    list:\n    - x\n    - y\n\n    # deep\n    b:\n      c: text\n      d: 2\n",
            "",
        );
        assert_eq!(with(&bare, "a.b", &json!(true)).unwrap(), format!("{bare}  values:\n    a:\n      b: true\n"));
        assert_eq!(with(PLUGIN, "d", &json!("x")).unwrap(), format!("{PLUGIN}    - name: d\n      value: x\n"));
        assert_eq!(with(RELEASE, "a.b", &json!(1)), None, "something else stands there");
        let flow = RELEASE.replace("b:\n      c: text\n      d: 2", "b: {c: text}");
        assert_eq!(with(&flow, "b.e", &json!(1)), None);
    }
}
