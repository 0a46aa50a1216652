//! YAML: byte spans of every scalar by granit-parser's events. Aliases and merge keys are followed
//! for reading, and marked so that nothing is written through them.

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};
use serde_json::{Map, Value};

use super::path::{MAX_NODES, Step};
use super::{Document, Format, MAX_DEPTH, Parsed, Place, Refusal, Spot, Style};

/// The format.
pub struct Yaml;

impl Format for Yaml {
    fn parse(&self, text: &str) -> Result<Parsed, Refusal> {
        let mut options = granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
        options.set_emit_comments(true);
        options.max_buffered_comment_events = 10_000; // long licence headers are comments, too
        let mut reader = Reader::new(text);
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| refuse(text, &error))?;
            reader.take(event, span)?;
        }
        reader.finish()
    }

    fn spell(&self, to: &str, style: Style) -> Result<String, Refusal> {
        if to.is_empty() {
            return Err(Refusal::BadValue { to: to.to_string(), why: "it is empty" });
        }
        if to.chars().any(char::is_control) || to.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']) {
            return Err(Refusal::BadValue { to: to.to_string(), why: "it holds control characters" });
        }
        Ok(match style {
            Style::Single => format!("'{}'", to.replace('\'', "''")),
            Style::Plain if reads_as_text(to) => to.to_string(),
            Style::Plain | Style::Double => format!("\"{}\"", to.replace('\\', "\\\\").replace('"', "\\\"")),
        })
    }
}

/// Whether a plain scalar reads back as this very string everywhere: in YAML 1.2, in 1.1 with its
/// more numbers, and inside of brackets.
fn reads_as_text(value: &str) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | '/' | '@' | ':');
    value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.chars().all(harmless)
        && !value.ends_with(':')
        && !is_word(value)
        && !is_numeric(value)
}

fn is_word(value: &str) -> bool {
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Numbers of YAML 1.1 and 1.2, dates and sexagesimals; rather one too many than one too few.
fn is_numeric(value: &str) -> bool {
    let digits = value.replace('_', "");
    digits.parse::<f64>().is_ok()
        || ["0x", "0o", "0b"].iter().any(|prefix| digits.to_ascii_lowercase().starts_with(prefix))
        || digits.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '-' | '+' | 'e' | 'E'))
        || (digits.contains(':') && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.')))
        || looks_dated(&digits)
}

fn looks_dated(value: &str) -> bool {
    let mut parts = value.splitn(3, '-');
    let number = |part: Option<&str>, length: Range<usize>| {
        part.is_some_and(|part| length.contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit()))
    };
    number(parts.next(), 4..5) && number(parts.next(), 1..3)
}

fn refuse(text: &str, error: &ScanError) -> Refusal {
    let line = error.marker().line();
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return Refusal::TooDeep { line };
    }
    let is_template =
        |line: &str| line.trim_start().starts_with("{{") || line.contains(": {{") || line.contains("- {{");
    if let Some(index) = text.lines().position(is_template) {
        return Refusal::Template { line: index + 1 };
    }
    Refusal::NotYaml { line, why: error.info().chars().take(200).collect() }
}

/// A node of the event tree.
struct Node {
    line: usize,
    is: Is,
}

enum Is {
    Scalar { value: String, style: ScalarStyle, tagged: bool, range: Range<usize>, token: usize },
    List(Vec<usize>),
    Mapping { members: Vec<(usize, usize)>, template: bool },
    Alias { anchor: usize, name: String },
}

/// A collection whose end has not come yet.
struct Open {
    node: usize,
    key: Option<usize>,
}

/// Builds the tree of events; nodes live in one list, so that aliases are indexes.
struct Reader<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    anchors: BTreeMap<usize, usize>,
    open: Vec<Open>,
    root: Option<usize>,
    starts: usize,
    documents: Vec<Document>,
    tokens: Vec<String>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            nodes: Vec::new(),
            anchors: BTreeMap::new(),
            open: Vec::new(),
            root: None,
            starts: 1,
            documents: Vec::new(),
            tokens: Vec::new(),
        }
    }

    fn take(&mut self, event: Event<'t>, span: Span) -> Result<(), Refusal> {
        let line = span.start.line();
        let slice = span.slice(self.text).unwrap_or_default();
        match event {
            Event::StreamStart | Event::StreamEnd | Event::Anchor(..) => {}
            Event::Comment(text, _) => self.tokens.push(format!("#{text}")),
            Event::DocumentStart(explicit, version) => {
                self.tokens.push(format!("--- {explicit} {version:?}"));
                self.starts = line;
                self.root = None;
                self.nodes.clear();
                self.anchors.clear();
            }
            Event::DocumentEnd => {
                self.tokens.push("...".to_string());
                self.close_document();
            }
            Event::Scalar(value, style, anchor, tag) => {
                let range = span.byte_range().ok_or_else(|| no_offsets(line))?;
                let token = self.tokens.len();
                self.tokens.push(format!("={anchor} {tag:?} {value}"));
                let is = Is::Scalar { value: value.into_owned(), style, tagged: tag.is_some(), range, token };
                self.place(Node { line, is }, anchor);
            }
            Event::Alias(anchor) => {
                self.tokens.push(format!("*{anchor}"));
                self.place(Node { line, is: Is::Alias { anchor, name: slice.to_string() } }, 0);
            }
            Event::UnresolvedAlias(name) => {
                return Err(Refusal::NotYaml { line, why: format!("nothing is called `&{name}`") });
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.tokens.push(format!("[{anchor} {tag:?}"));
                self.enter(Node { line, is: Is::List(Vec::new()) }, anchor);
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tokens.push(format!("{{{anchor} {tag:?}"));
                let braces = span.start.byte_offset().and_then(|start| self.text.get(start..)).unwrap_or_default();
                let template = style == StructureStyle::Flow && braces.starts_with("{{");
                self.enter(Node { line, is: Is::Mapping { members: Vec::new(), template } }, anchor);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.tokens.push("]".to_string());
                self.open.pop();
            }
            // The parser's enum is open; an event of a later version of it must not be overlooked.
            _ => return Err(Refusal::NotYaml { line, why: "it holds something that is not known here".to_string() }),
        }
        Ok(())
    }

    fn enter(&mut self, node: Node, anchor: usize) {
        let node = self.place(node, anchor);
        self.open.push(Open { node, key: None });
    }

    /// Hangs a node below the innermost open collection.
    fn place(&mut self, node: Node, anchor: usize) -> usize {
        let index = self.nodes.len();
        self.nodes.push(node);
        if anchor != 0 {
            self.anchors.insert(anchor, index);
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(index);
            return index;
        };
        match self.nodes.get_mut(open.node).map(|node| &mut node.is) {
            Some(Is::List(items)) => items.push(index),
            Some(Is::Mapping { members, .. }) => match open.key.take() {
                None => open.key = Some(index),
                Some(key) => members.push((key, index)),
            },
            Some(Is::Scalar { .. } | Is::Alias { .. }) | None => {}
        }
        index
    }

    fn close_document(&mut self) {
        let mut builder = Builder {
            nodes: &self.nodes,
            anchors: &self.anchors,
            places: BTreeMap::new(),
            problem: None,
            left: MAX_NODES,
            inside: Vec::new(),
        };
        let mut steps = Vec::new();
        let tree = self.root.map_or(Value::Null, |root| builder.build(root, &mut steps, true));
        let Builder { places, mut problem, left, .. } = builder;
        if left == 0 {
            problem = Some(Refusal::NotYaml { line: self.starts, why: format!("it has more than {MAX_NODES} values") });
        }
        self.documents.push(Document { tree, places, line: self.starts, problem });
        self.open.clear();
    }

    fn finish(self) -> Result<Parsed, Refusal> {
        Ok(Parsed { documents: self.documents, tokens: self.tokens })
    }
}

fn no_offsets(line: usize) -> Refusal {
    Refusal::NotYaml { line, why: "the parser lost its place".to_string() }
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
        if own {
            self.places.insert(steps.clone(), self.place_of(node));
        }
        match &node.is {
            Is::Scalar { value, style, tagged, .. } => scalar(value, *style, *tagged),
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
            Is::Scalar { value, style, range, token, .. } => {
                let style = match style {
                    ScalarStyle::Plain if is_null(value) => return Place::Empty { line },
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
fn scalar(value: &str, style: ScalarStyle, tagged: bool) -> Value {
    if style != ScalarStyle::Plain || tagged {
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
