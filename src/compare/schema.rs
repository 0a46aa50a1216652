//! Two JSON schemas of the same thing: of values (`values.schema.json`) or of a custom resource. What lies in
//! `allOf`, `anyOf`, `oneOf`, `not` and `if` is compared as a whole.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::path::{below, brief};

/// One difference of two schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) what: Rule,
    /// The path of the value; a part of each item of a list is below `[]`.
    pub(crate) at: String,
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Added,
    Removed,
    Required,
    Optional,
    Retyped,
    Narrowed,
    Widened,
    Closed,
}

/// As deep as a schema is followed; one may contain itself.
const MAX_DEPTH: usize = 40;
/// So many differences of one schema are looked for.
const MOST: usize = 500;
/// So many parts of one schema are looked at: what refers to itself twice would be followed for ever.
const STEPS: usize = 50_000;

/// Bounds of a value, and whether a larger one takes less.
const BOUNDS: [(&str, bool); 10] = [
    ("minimum", true),
    ("exclusiveMinimum", true),
    ("minLength", true),
    ("minItems", true),
    ("minProperties", true),
    ("maximum", false),
    ("exclusiveMaximum", false),
    ("maxLength", false),
    ("maxItems", false),
    ("maxProperties", false),
];
/// Rules of which nobody knows which is the narrower one: another one counts as narrower, none as wider.
const OTHERS: [&str; 12] = [
    "pattern",
    "format",
    "const",
    "multipleOf",
    "uniqueItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "x-kubernetes-validations",
    "dependencies",
];

/// Every difference; none where the schemas are too large, or refer to themselves too often, to be followed to the end.
pub(crate) fn compare(old: &Value, new: &Value) -> Option<Vec<Finding>> {
    let mut walk = Walk { roots: (old, new), found: Vec::new(), steps: STEPS };
    walk.schema("", old, new, MAX_DEPTH);
    (walk.steps > 0).then_some(walk.found)
}

struct Walk<'s> {
    roots: (&'s Value, &'s Value),
    found: Vec<Finding>,
    steps: usize,
}

impl<'s> Walk<'s> {
    fn push(&mut self, what: Rule, at: &str, from: Option<String>, to: Option<String>) {
        if self.found.len() < MOST {
            self.found.push(Finding { what, at: at.to_owned(), from, to });
        }
    }

    fn schema(&mut self, path: &str, old: &'s Value, new: &'s Value, depth: usize) {
        let (old, new) = (resolved(self.roots.0, old), resolved(self.roots.1, new));
        if self.steps == 0 || old == new {
            return;
        }
        self.steps = if depth == 0 { 0 } else { self.steps - 1 };
        if self.steps == 0 {
            return;
        }
        let (before, after) = (types(old), types(new));
        if before != after {
            let what = if after.is_empty() || (!before.is_empty() && before.is_subset(&after)) {
                Rule::Widened
            } else if before.is_empty() || after.is_subset(&before) {
                Rule::Narrowed
            } else {
                Rule::Retyped
            };
            self.push(what, path, Some(words(&before)), Some(words(&after)));
            if what == Rule::Retyped {
                return;
            }
        }
        self.bounds(path, old, new);
        self.properties(path, old, new, depth);
        if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
            self.schema(&format!("{path}[]"), old, new, depth - 1);
        }
        if let (Some(old @ Value::Object(_)), Some(new @ Value::Object(_))) =
            (old.get("additionalProperties"), new.get("additionalProperties"))
        {
            self.schema(&format!("{path}.*"), old, new, depth - 1);
        }
    }

    fn bounds(&mut self, path: &str, old: &Value, new: &Value) {
        for (key, grows) in BOUNDS {
            let (before, after) = (old.get(key).and_then(Value::as_f64), new.get(key).and_then(Value::as_f64));
            let narrower = match (before, after) {
                (None, None) => continue,
                (Some(before), Some(after)) if before == after => continue,
                (Some(before), Some(after)) => (after > before) == grows,
                (None, Some(_)) => true,
                (Some(_), None) => false,
            };
            self.limit(path, key, (old, new), narrower);
        }
        let list = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
        match (list(old), list(new)) {
            (Some(before), Some(after)) => {
                let (gone, came) = (
                    before.iter().any(|value| !after.contains(value)),
                    after.iter().any(|value| !before.contains(value)),
                );
                if gone || came {
                    self.limit(path, "enum", (old, new), gone);
                }
            }
            (None, Some(_)) => self.limit(path, "enum", (old, new), true),
            (Some(_), None) => self.limit(path, "enum", (old, new), false),
            (None, None) => {}
        }
        for key in OTHERS {
            if old.get(key) != new.get(key) {
                self.limit(path, key, (old, new), new.get(key).is_some());
            }
        }
    }

    fn limit(&mut self, path: &str, key: &str, (old, new): (&Value, &Value), narrower: bool) {
        let said = |schema: &Value| match schema.get(key) {
            Some(value) => format!("`{key}` {}", brief(value)),
            None => format!("no `{key}`"),
        };
        let what = if narrower { Rule::Narrowed } else { Rule::Widened };
        self.push(what, path, Some(said(old)), Some(said(new)));
    }

    fn properties(&mut self, path: &str, old: &'s Value, new: &'s Value, depth: usize) {
        static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        let named = |schema: &'s Value| schema.get("properties").and_then(Value::as_object).unwrap_or(&NONE);
        let (before, after) = (named(old), named(new));
        let closed = |schema: &Value| {
            schema.get("additionalProperties") == Some(&Value::Bool(false))
                || schema.get("unevaluatedProperties") == Some(&Value::Bool(false))
        };
        if closed(new) && !closed(old) {
            self.push(Rule::Closed, path, None, None);
        }
        for (key, schema) in before {
            let path = below(path, key);
            match after.get(key) {
                Some(now) => self.schema(&path, schema, now, depth - 1),
                None => self.push(Rule::Removed, &path, None, None),
            }
        }
        for key in after.keys().filter(|key| !before.contains_key(*key)) {
            self.push(Rule::Added, &below(path, key), None, None);
        }
        let (before, after) = (required(old), required(new));
        for key in after.difference(&before) {
            self.push(Rule::Required, &below(path, key), None, None);
        }
        for key in before.difference(&after) {
            self.push(Rule::Optional, &below(path, key), None, None);
        }
    }
}

/// A schema, or the one in the same file that it refers to.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#')) else {
            return schema;
        };
        let Some(found) = root.pointer(reference) else { return schema };
        schema = found;
    }
    schema
}

/// The names of types; none = any.
fn types(schema: &Value) -> BTreeSet<&str> {
    let integer_or_text = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    let mut types: BTreeSet<&str> = match schema.get("type") {
        Some(Value::String(one)) => BTreeSet::from([one.as_str()]),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(_) | None if integer_or_text => BTreeSet::from(["integer", "string"]),
        Some(_) | None => BTreeSet::new(),
    };
    // Whoever takes numbers takes whole ones.
    if types.contains("number") {
        types.insert("integer");
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        types.insert("null");
    }
    types
}

fn words(types: &BTreeSet<&str>) -> String {
    if types.is_empty() {
        return "of any type".to_owned();
    }
    types.iter().copied().collect::<Vec<_>>().join(" or ")
}

/// What a schema requires of a mapping.
pub(crate) fn required(schema: &Value) -> BTreeSet<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
