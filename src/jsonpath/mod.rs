//! RFC 9535 JSONPath with bounds, so that a path from a policy file can cost no more than a few
//! walks over the document. What a path points at is judged by whoever asks.

mod cost;
mod kubectl;

use jsonpath_rust::parser::errors::JsonPathError;
use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

use cost::Cost;

/// The longest path, in bytes.
pub const MAX_PATH: usize = 1024;
/// The most nodes of a document that a path is run over.
pub const MAX_NODES: usize = 200_000;
/// The same for a path with a regular expression, which is made anew for each of them.
const MAX_MATCHED: usize = 20_000;
/// The most selectors in one bracket, such as `['a','b']`.
const MAX_UNION: usize = 8;
/// The most `*` and slices: each may visit all children of a node.
const MAX_WILDCARDS: usize = 3;

/// A path that parsed and is bounded.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    text: String,
    query: JpQuery,
    /// The most nodes that it is run over.
    most: usize,
}

/// One step from a node to its child.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Into a mapping.
    Key(String),
    /// Into a sequence.
    Index(usize),
}

/// Why a path cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// Longer than [`MAX_PATH`].
    #[error("the path is longer than {MAX_PATH} bytes; name the place more directly")]
    TooLong,
    /// It is not RFC 9535.
    #[error("`{path}` is not an RFC 9535 JSONPath, such as `$.spec.version` ({why})")]
    Syntax {
        /// The path.
        path: String,
        /// What the parser said.
        why: String,
        /// The character where the grammar stopped, from 1, if the parser says.
        column: Option<usize>,
    },
    /// It calls what RFC 9535 does not have.
    #[error("`{path}` calls `{function}()`, which is not a function of RFC 9535")]
    Function {
        /// The path.
        path: String,
        /// The function.
        function: String,
    },
    /// It could visit the same nodes over and over.
    #[error("`{path}` could take too long: {why}")]
    Costly {
        /// The path.
        path: String,
        /// What multiplies the work.
        why: &'static str,
    },
    /// The document has more nodes than the path is run over.
    #[error("the document has more than {most} values, too many for `{path}`")]
    TooManyNodes {
        /// The path.
        path: String,
        /// How many it may have.
        most: usize,
    },
}

impl Path {
    /// Reads an RFC 9535 path.
    ///
    /// # Errors
    /// Where it does not parse, or where its cost is not bounded by the size of the document.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        if text.len() > MAX_PATH {
            return Err(BadPath::TooLong);
        }
        let query = parse_json_path(text).map_err(|error| bad_syntax(text, &error))?;
        let mut cost = Cost::default();
        cost.segments(&query.segments);
        if let Some(function) = cost.foreign {
            return Err(BadPath::Function { path: text.to_string(), function });
        }
        let why = if cost.descents > 1 {
            "it may hold `..` once"
        } else if cost.wildcards > MAX_WILDCARDS {
            "it may hold three wildcards or slices"
        } else if cost.unions > 1 || cost.widest > MAX_UNION {
            "it may hold one bracket with several selectors, and at most 8 of them"
        } else if cost.patterns > 1 || cost.wide_pattern {
            "it may hold one regular expression: a text of at most 64 bytes, without `{n}` and `\\p`"
        } else if cost.roots > 0 {
            "a filter may compare with one place of the whole document, not search it"
        } else {
            let most = if cost.patterns > 0 { MAX_MATCHED } else { MAX_NODES };
            return Ok(Self { text: text.to_string(), query, most });
        };
        Err(BadPath::Costly { path: text.to_string(), why })
    }

    /// Reads a path as `kubectl -o jsonpath` takes it, too: `{.status.x}`, `.status.x`, and dots in
    /// names escaped as `\.`.
    ///
    /// # Errors
    /// As [`Path::parse`].
    pub fn parse_lenient(text: &str) -> Result<Self, BadPath> {
        if text.len() > MAX_PATH {
            return Err(BadPath::TooLong);
        }
        let trimmed = text.trim();
        let inner = trimmed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(trimmed).trim();
        if inner.starts_with('.') && !inner.starts_with("..") {
            Self::parse(&kubectl::to_rfc(inner))
        } else {
            Self::parse(inner)
        }
    }

    /// The path as RFC 9535 writes it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Every node that it points at, in document order.
    ///
    /// # Errors
    /// Where the document is larger than [`MAX_NODES`].
    pub fn find<'a>(&self, root: &'a Value) -> Result<Vec<&'a Value>, BadPath> {
        if !fits(root, &mut self.most.clone()) {
            return Err(BadPath::TooManyNodes { path: self.text.clone(), most: self.most });
        }
        let found = js_path_process(&self.query, root).map_err(|error| bad_syntax(&self.text, &error))?;
        Ok(found.into_iter().map(|found| found.val).collect())
    }
}

/// The steps from `root` to `target`, which is a node of it and not merely equal to one.
pub fn place_of(root: &Value, target: &Value) -> Option<Vec<Step>> {
    fn walk(node: &Value, target: &Value, steps: &mut Vec<Step>) -> bool {
        if std::ptr::eq(node, target) {
            return true;
        }
        match node {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    steps.push(Step::Index(index));
                    if walk(item, target, steps) {
                        return true;
                    }
                    steps.pop();
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    steps.push(Step::Key(key.clone()));
                    if walk(member, target, steps) {
                        return true;
                    }
                    steps.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        false
    }
    let mut steps = Vec::new();
    walk(root, target, &mut steps).then_some(steps)
}

/// The node at the end of `steps`.
pub fn node_at<'a>(root: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(root, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::Index(index) => node.get(index),
    })
}

fn fits(node: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    match node {
        Value::Array(items) => items.iter().all(|item| fits(item, left)),
        Value::Object(members) => members.values().all(|member| fits(member, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Parser messages draw the path over several lines, for a screen of their own.
fn bad_syntax(path: &str, error: &JsonPathError) -> BadPath {
    let said = error.to_string();
    let column = said
        .split_once("--> 1:")
        .and_then(|(_, after)| after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok());
    BadPath::Syntax { path: path.to_string(), why: one_line(&said), column }
}

/// The last line that says something is enough.
fn one_line(message: &str) -> String {
    let line = message.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it does not parse");
    line.trim_start_matches("= ").chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn costly_paths_are_refused() {
        for path in [
            "$..a..b",
            "$['a','b']['c','d']",
            "$[0,1,2,3,4,5,6,7,8]",
            "$.a[?$..x]",
            "$.a[?$.b[*]]",
            "$.*.*.*.*",
            "$[*][1:][*][:2]",
            "$.a[?match(@.b, 'x') && match(@.c, 'y')]",
            "$.a[?match(@.b, '((a{99}){99}){9}')]",
            r"$.a[?search(@.b, '\\p{L}')]",
            "$.a[?match(@.b, $.c)]",
        ] {
            assert!(matches!(Path::parse(path), Err(BadPath::Costly { .. })), "{path}");
        }
        assert_eq!(Path::parse(&format!("$.{}", "a".repeat(MAX_PATH))), Err(BadPath::TooLong));
    }

    #[test]
    fn foreign_functions_are_named() {
        let error = Path::parse("$.a[?in(@.b, $.c)]").unwrap_err();
        assert!(matches!(&error, BadPath::Function { function, .. } if function == "in"), "{error}");
    }

    #[test]
    fn other_dialects_are_named() {
        for path in ["", "spec.version", "{.spec.version}", "$.a[?(@.b =~ 'x')]", &"$[?(".repeat(150)] {
            let error = Path::parse(path).unwrap_err();
            assert!(matches!(error, BadPath::Syntax { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn kubectl_paths_become_rfc_paths() {
        let object = json!({"metadata": {"labels": {"helm.sh/chart": "x-1.2.3"}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Issuing", "status": "False"}]}});
        for (path, expected) in [
            ("{.status.conditions[?(@.type==\"Ready\")].status}", json!("True")),
            (".status.conditions[1].status", json!("False")),
            (r"{.metadata.labels.helm\.sh/chart}", json!("x-1.2.3")),
            ("$.metadata.labels['helm.sh/chart']", json!("x-1.2.3")),
            ("{$.status.conditions[0].type}", json!("Ready")),
        ] {
            let path = Path::parse_lenient(path).unwrap();
            assert_eq!(path.find(&object).unwrap(), vec![&expected], "{}", path.as_str());
        }
    }

    #[test]
    fn a_place_is_found_by_identity() {
        let root = json!({"a": [{"x": 1}, {"x": 1}]});
        let target = &root["a"][1]["x"];
        let steps = place_of(&root, target).unwrap();
        assert_eq!(steps, [Step::Key("a".into()), Step::Index(1), Step::Key("x".into())]);
        assert!(std::ptr::eq(node_at(&root, &steps).unwrap(), target));
        assert_eq!(place_of(&root, &json!(1)), None);
    }

    #[test]
    fn huge_documents_are_refused() {
        let root = Value::Array(vec![Value::Null; MAX_NODES]);
        assert!(matches!(Path::parse("$..*").unwrap().find(&root), Err(BadPath::TooManyNodes { .. })));
        let root = Value::Array(vec![Value::from("a"); MAX_MATCHED]);
        assert!(matches!(Path::parse("$[?match(@, 'a')]").unwrap().find(&root), Err(BadPath::TooManyNodes { .. })));
        let few = Value::Array(vec![Value::from("a"); 9]);
        assert_eq!(Path::parse("$[?match(@, 'a')]").unwrap().find(&few).map(|found| found.len()), Ok(9));
    }
}
