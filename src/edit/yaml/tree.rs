//! From events to what readers see: aliases and merge keys followed, scalars read by the core schema
//! of YAML 1.2, and at each place what may be written there.

use std::collections::BTreeMap;

use granit_parser::ScalarStyle;
use serde_json::{Map, Value};

use super::super::{Document, MAX_DEPTH, Place, Refusal, Spot, Style};
use super::{Is, Node, Tag};
use jsonpath::{MAX_NODES, Step};

/// Builds one document. `starts` is its first line.
pub(super) fn document(
    nodes: &[Node],
    anchors: &BTreeMap<usize, usize>,
    root: Option<usize>,
    starts: usize,
) -> Document {
    let (places, inside) = (BTreeMap::new(), Vec::new());
    let mut builder = Builder { nodes, anchors, places, problem: None, left: MAX_NODES, inside };
    let tree = root.map_or(Value::Null, |root| builder.build(root, &mut Vec::new(), true));
    let Builder { places, mut problem, left, .. } = builder;
    if left == 0 {
        problem = Some(Refusal::NotParsed {
            format: "YAML",
            line: starts,
            why: format!("it has more than {MAX_NODES} values"),
        });
    }
    Document { tree, places, line: starts, problem }
}

/// Turns the tree of events into the tree that readers see.
struct Builder<'t> {
    nodes: &'t [Node],
    anchors: &'t BTreeMap<usize, usize>,
    places: BTreeMap<Vec<Step>, Place>,
    problem: Option<Refusal>,
    /// Nodes that may still be made: an alias copies all it stands for.
    left: usize,
    /// Aliases that are being followed; one inside of itself ends there.
    inside: Vec<usize>,
}

impl Builder<'_> {
    /// `own` is false below an alias or a merge key, where nothing has a place of its own.
    fn build(&mut self, index: usize, steps: &mut Vec<Step>, own: bool) -> Value {
        let nodes = self.nodes;
        let Some(node) = nodes.get(index) else { return Value::Null };
        if self.left == 0 {
            return Value::Null;
        }
        self.left -= 1;
        // Aliases may nest what stands inside of them deeper than any bracket.
        if steps.len() > MAX_DEPTH {
            self.complain(Refusal::TooDeep { line: node.line });
            return Value::Null;
        }
        if own {
            self.places.insert(steps.clone(), self.place_of(node));
        }
        match &node.is {
            Is::Scalar { value, style, tag, .. } => scalar(value, *style, tag),
            Is::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (position, item) in items.iter().enumerate() {
                    steps.push(Step::Index(position));
                    list.push(self.build(*item, steps, own));
                    steps.pop();
                }
                Value::Array(list)
            }
            Is::Mapping { members, template } => {
                if *template {
                    self.complain(Refusal::Template { line: node.line });
                }
                self.mapping(members, steps, own)
            }
            Is::Alias { anchor, .. } => self.follow(*anchor, steps),
        }
    }

    fn follow(&mut self, anchor: usize, steps: &mut Vec<Step>) -> Value {
        if self.inside.contains(&anchor) || self.inside.len() >= MAX_DEPTH {
            return Value::Null;
        }
        let Some(target) = self.anchors.get(&anchor).copied() else { return Value::Null };
        self.inside.push(anchor);
        let value = self.build(target, steps, false);
        self.inside.pop();
        value
    }

    fn mapping(&mut self, members: &[(usize, usize)], steps: &mut Vec<Step>, own: bool) -> Value {
        let mut map = Map::new();
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        let mut merges = Vec::new();
        for (key, member) in members {
            let Some(name) = self.key(*key) else { continue };
            let line = self.nodes.get(*key).map_or(0, |node| node.line);
            if name == "<<" && self.is_plain(*key) {
                merges.push((line, *member));
                continue;
            }
            if let Some(first) = lines.insert(name.clone(), line) {
                self.complain(Refusal::DuplicateKey { key: name.clone(), first, second: line });
            }
            steps.push(Step::Key(name.clone()));
            let value = self.build(*member, steps, own);
            steps.pop();
            map.insert(name, value);
        }
        for (line, member) in merges {
            self.merge(line, member, &mut map, steps, own);
        }
        Value::Object(map)
    }

    /// Earlier keys win, and the mapping's own before all.
    fn merge(&mut self, line: usize, member: usize, map: &mut Map<String, Value>, steps: &mut Vec<Step>, own: bool) {
        let sources = match self.build(member, steps, false) {
            Value::Array(sources) => sources,
            source @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                vec![source]
            }
        };
        for source in sources {
            let Value::Object(source) = source else { continue };
            for (key, value) in source {
                if map.contains_key(&key) {
                    continue;
                }
                if own {
                    steps.push(Step::Key(key.clone()));
                    self.places.insert(steps.clone(), Place::Merged { line });
                    steps.pop();
                }
                map.insert(key, value);
            }
        }
    }

    /// The text of a key; keys that are lists or mappings have no name in a path.
    fn key(&self, index: usize) -> Option<String> {
        match &self.nodes.get(index)?.is {
            Is::Scalar { value, .. } => Some(value.clone()),
            Is::Alias { anchor, .. } => match &self.nodes.get(*self.anchors.get(anchor)?)?.is {
                Is::Scalar { value, .. } => Some(value.clone()),
                Is::List(_) | Is::Mapping { .. } | Is::Alias { .. } => None,
            },
            Is::List(_) | Is::Mapping { .. } => None,
        }
    }

    fn is_plain(&self, index: usize) -> bool {
        matches!(self.nodes.get(index).map(|node| &node.is), Some(Is::Scalar { style: ScalarStyle::Plain, .. }))
    }

    fn place_of(&self, node: &Node) -> Place {
        let line = node.line;
        match &node.is {
            Is::Scalar { value, tag: Tag::Other(tag), .. } => {
                Place::Expression { line, text: format!("{tag} {value}") }
            }
            Is::Scalar { value, style, bare, range, token, .. } => {
                let style = match style {
                    ScalarStyle::Plain if is_null(value) => return Place::Empty { line },
                    ScalarStyle::Plain if *bare => Style::Bare,
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted if value.is_empty() => {
                        return Place::Empty { line };
                    }
                    ScalarStyle::SingleQuoted => Style::Single,
                    ScalarStyle::DoubleQuoted => Style::Double,
                    ScalarStyle::Literal | ScalarStyle::Folded => return Place::Block { line },
                };
                Place::Scalar(Spot { value: value.clone(), range: range.clone(), line, style, token: *token })
            }
            Is::List(_) | Is::Mapping { .. } => Place::Collection { line },
            Is::Alias { anchor, name } => {
                let anchor =
                    self.anchors.get(anchor).and_then(|index| self.nodes.get(*index)).map_or(0, |node| node.line);
                Place::Alias { line, name: name.clone(), anchor }
            }
        }
    }

    fn complain(&mut self, refusal: Refusal) {
        self.problem.get_or_insert(refusal);
    }
}

fn is_null(value: &str) -> bool {
    matches!(value, "" | "~" | "null" | "Null" | "NULL")
}

/// The JSON value of a scalar by the core schema of YAML 1.2; filters compare with it.
fn scalar(value: &str, style: ScalarStyle, tag: &Tag) -> Value {
    if style != ScalarStyle::Plain || !matches!(tag, Tag::Absent) {
        return Value::String(value.to_string());
    }
    match value {
        _ if is_null(value) => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(value).unwrap_or_else(|| Value::String(value.to_string())),
    }
}

fn number(value: &str) -> Option<Value> {
    let starts = value.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts {
        return None;
    }
    if let Ok(whole) = value.parse::<i64>() {
        return Some(Value::Number(whole.into()));
    }
    value.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
}
