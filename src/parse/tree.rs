//! YAML text into a tree in which every node knows its place. What the nodes mean is not in here.
//!
//! A parser that stops at the first mistake cannot tell all of them at once; so the text is parsed
//! once, and whoever reads the tree goes on after each mistake.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle};

use super::report::Report;

/// Bytes of one file. The largest policy that was ever imagined has some 2,000 plugins.
pub const MAX_BYTES: usize = 2 << 20;
/// Nodes of one file, copies made by aliases counted.
const MAX_NODES: usize = 200_000;
/// Nested lists and mappings; the format itself needs nine.
const MAX_DEPTH: usize = 32;

/// Where something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Which of the files.
    pub file: usize,
    /// First byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Span {
    /// The beginning of a file.
    pub fn top(file: usize) -> Self {
        Self { file, line: 1, column: 1, ..Self::default() }
    }

    fn new(file: usize, span: granit_parser::Span) -> Self {
        let start = span.start.byte_offset().unwrap_or_default();
        let end = span.end.byte_offset().unwrap_or(start).max(start);
        Self { file, start, end, line: span.start.line(), column: span.start.col() + 1 }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where.
    pub span: Span,
    /// What.
    pub value: Value,
    /// Nodes in it, itself counted.
    size: usize,
}

/// What a node is. Scalars keep their text, so that `1.10` stays `1.10`.
#[derive(Clone, Debug)]
pub enum Value {
    /// An empty or null scalar.
    Null,
    /// An alias of nothing, which was reported.
    Unresolved,
    /// A text, a number, a boolean.
    Scalar {
        /// As it was written, quotes and escapes resolved.
        text: String,
        /// Written without quotes: it may be a number or a boolean.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A mapping in the order of the file, each key once.
    Map(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub at: Span,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// What it is, in words for a message.
    pub fn what(&self) -> &'static str {
        match &self.value {
            Value::Null | Value::Unresolved => "nothing",
            Value::Scalar { plain: true, text } if matches!(text.as_str(), "true" | "false") => "a boolean",
            Value::Scalar { plain: true, text } if text.parse::<f64>().is_ok() => "a number",
            Value::Scalar { .. } => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// A text that stands somewhere else than as a value: the key of a table.
    pub fn scalar(text: &str, at: Span) -> Self {
        Self { span: at, value: Value::Scalar { text: text.to_string(), plain: true }, size: 1 }
    }

    /// The entry of a key, when this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            Value::Null | Value::Unresolved | Value::Scalar { .. } | Value::List(_) => None,
        }
    }

    /// The items, when this is a list.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Null | Value::Unresolved | Value::Scalar { .. } | Value::Map(_) => &[],
        }
    }

    /// The text, when this is a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            Value::Null | Value::Unresolved | Value::List(_) | Value::Map(_) => None,
        }
    }
}

/// Parses one file; none when there is no document in it. Every problem goes to the report.
pub fn parse(file: usize, text: &str, report: &mut Report) -> Option<Node> {
    if text.len() > MAX_BYTES {
        report.problem(
            Span::top(file),
            format!("the file has {} bytes; {MAX_BYTES} are read at most", text.len()),
            None,
        );
        return None;
    }
    if let Some(start) = lone_return(text) {
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        let column = text.get(..start).unwrap_or_default().chars().rev().take_while(|c| *c != '\n').count() + 1;
        let message = "a carriage return stands alone, which is a line end to YAML and none to most editors";
        report.problem(
            Span { file, start, end: start, line, column },
            message,
            Some("save the file with plain line ends"),
        );
        return None;
    }
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder::new(file);
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => {
                if event.tag().is_some() {
                    let at = Span::new(file, span.tag_span().unwrap_or(span));
                    report.problem(
                        at,
                        "a tag says nothing here",
                        Some("take it out, and quote the value if it is text"),
                    );
                }
                if !builder.take(event, Span::new(file, span), report) {
                    return None;
                }
            }
            Err(error) => {
                let mark = error.marker();
                let start = mark.byte_offset().unwrap_or_default();
                let at = Span { file, start, end: start, line: mark.line().max(1), column: mark.col() + 1 };
                report.problem(at, format!("this is not YAML: {}", error.info()), None);
                return None;
            }
        }
    }
    builder.root
}

/// Where a carriage return is no part of a line end.
fn lone_return(text: &str) -> Option<usize> {
    text.match_indices('\r').map(|(at, _)| at).find(|at| text.as_bytes().get(at + 1) != Some(&b'\n'))
}

/// A list or mapping whose end has not come yet.
struct Open {
    at: Span,
    anchor: usize,
    entries: Vec<Entry>,
    items: Vec<Node>,
    /// For a mapping: the key whose value comes next.
    key: Option<(String, Span)>,
    /// The line of each key so far.
    lines: BTreeMap<String, usize>,
    mapping: bool,
}

struct Builder {
    file: usize,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    documents: usize,
    root: Option<Node>,
}

impl Builder {
    fn new(file: usize) -> Self {
        Self { file, open: Vec::new(), anchors: BTreeMap::new(), nodes: 0, documents: 0, root: None }
    }

    /// Takes one event in; false when the rest of the file is not worth reading.
    #[allow(clippy::wildcard_enum_match_arm)] // not our enum, and it may grow
    fn take(&mut self, event: Event<'_>, at: Span, report: &mut Report) -> bool {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    report.problem(at, "a second document begins here; the file holds one", Some("take the `---` out"));
                    return false;
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let null = plain && matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL");
                let value = if null { Value::Null } else { Value::Scalar { text: text.into_owned(), plain } };
                return self.place(Node { span: at, value, size: 1 }, anchor, report);
            }
            Event::SequenceStart(_, anchor, _) => {
                return self.begin(at, anchor, false, report);
            }
            Event::MappingStart(_, anchor, _) => {
                return self.begin(at, anchor, true, report);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return false };
                let size = 1
                    + open.items.iter().map(|node| node.size).sum::<usize>()
                    + open.entries.iter().map(|entry| 1 + entry.node.size).sum::<usize>();
                let value = if open.mapping { Value::Map(open.entries) } else { Value::List(open.items) };
                let span = Span { end: at.end.max(open.at.end), ..open.at };
                return self.place(Node { span, value, size }, open.anchor, report);
            }
            Event::Alias(id) => match self.anchors.get(&id) {
                Some(node) if self.nodes + node.size <= MAX_NODES => {
                    let copy = node.clone();
                    self.nodes += copy.size;
                    return self.place(copy, 0, report);
                }
                Some(_) => return self.too_many(at, report),
                None => {
                    report.problem(at, "this alias stands inside what it stands for", None);
                    return false;
                }
            },
            Event::UnresolvedAlias(name) => {
                let message = format!("no anchor `&{name}` stands before this alias");
                report.problem(at, message, Some("quote the value if it was meant as text"));
                return self.place(Node { span: at, value: Value::Unresolved, size: 1 }, 0, report);
            }
            // Beginnings and ends of documents and of the stream, comments, names of anchors.
            _ => {}
        }
        true
    }

    fn begin(&mut self, at: Span, anchor: usize, mapping: bool, report: &mut Report) -> bool {
        if self.open.len() >= MAX_DEPTH {
            report.problem(at, format!("nested deeper than {MAX_DEPTH} levels"), None);
            return false;
        }
        self.open.push(Open {
            at,
            anchor,
            entries: Vec::new(),
            items: Vec::new(),
            key: None,
            lines: BTreeMap::new(),
            mapping,
        });
        true
    }

    /// Puts a finished node where it belongs.
    fn place(&mut self, node: Node, anchor: usize, report: &mut Report) -> bool {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return self.too_many(node.span, report);
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return true;
        };
        if !open.mapping {
            open.items.push(node);
        } else if let Some((key, at)) = open.key.take() {
            entry(open, key, at, node, report);
        } else {
            let at = node.span;
            let key = match node.value {
                Value::Scalar { text, .. } => text,
                Value::Unresolved => String::new(),
                Value::Null | Value::List(_) | Value::Map(_) => {
                    report.problem(at, "a key must be a text", None);
                    // A key that nobody can write keeps the pairs in step.
                    String::new()
                }
            };
            open.key = Some((key, at));
        }
        true
    }

    fn too_many(&self, at: Span, report: &mut Report) -> bool {
        let at = Span { file: self.file, ..at };
        report.problem(at, format!("more than {MAX_NODES} values, copies made by aliases counted"), None);
        false
    }
}

/// Adds a pair to a mapping, or says why not. Keys without a name were reported as such.
fn entry(open: &mut Open, key: String, at: Span, node: Node, report: &mut Report) {
    if key.is_empty() {
    } else if key == "<<" {
        report.problem(at, "merge keys (`<<`) are not YAML 1.2", Some("write the keys out"));
    } else if let Some(first) = open.lines.get(&key) {
        let message = format!("the key {} stands here twice", super::problem::quoted(&key));
        let help = format!("the first is on line {}; keep one", first);
        report.problem(at, message, Some(&help));
    } else {
        open.lines.insert(key.clone(), at.line);
        open.entries.push(Entry { key, at, node });
    }
}
