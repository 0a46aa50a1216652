//! YAML: byte spans of every scalar by granit-parser's events. Aliases and merge keys are followed
//! for reading, and marked so that nothing is written through them.

mod masked;
mod template;
mod tree;

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};

use super::{Document, Format, MAX_DEPTH, Parsed, Refusal, Style, lines};
use template::Template;

/// The format.
pub struct Yaml;

impl Format for Yaml {
    fn parse(&self, text: &str) -> Result<Parsed, Refusal> {
        let odd = |(at, c): &(usize, char)| match c {
            '\u{85}' | '\u{2028}' | '\u{2029}' => true,
            '\u{feff}' => *at > 0,
            _ => false,
        };
        if let Some((at, c)) = text.char_indices().find(odd) {
            // What stands behind it is a line of its own to those who read 1.1, such as Helm, Flux and Argo CD; a
            // byte order mark they take for a letter, where it is not the very first.
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            let why = format!("U+{:04X} is something else to YAML 1.1 than to 1.2; remove it", u32::from(c));
            return Err(Refusal::NotParsed { format: "YAML", line, why });
        }
        let plain = events(text, None);
        let is_template = |document: &Document| matches!(document.problem, Some(Refusal::Template { .. }));
        let marked = plain.as_ref().map_or(text.contains("{{"), |plain| plain.documents.iter().any(is_template));
        let masked = if marked { masked::parse(text, plain.as_ref().ok()) } else { None };
        masked.map_or(plain, Ok)
    }

    fn spell(&self, to: &str, style: Style) -> Result<String, Refusal> {
        let to = lines::plain(to)?;
        Ok(match style {
            Style::Single => format!("'{}'", to.replace('\'', "''")),
            Style::Plain | Style::Bare if reads_as_text(to) => to.to_string(),
            Style::Bare => {
                let why =
                    "it needs quotes, behind which few readers take the line with a tab below it; remove that tab";
                return Err(Refusal::BadValue { to: to.to_string(), why });
            }
            Style::Plain | Style::Double => format!("\"{}\"", to.replace('\\', "\\\\").replace('"', "\\\"")),
        })
    }
}

/// Reads the events of a text; with markers in it, those of the text with them masked.
fn events(text: &str, template: Option<&Template<'_>>) -> Result<Parsed, Refusal> {
    let mut options = granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    options.set_emit_comments(true);
    options.emit_anchor_events = true;
    options.max_buffered_comment_events = 10_000; // long licence headers are comments, too
    let mut reader = Reader::new(text, template);
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| refuse(text, &error))?;
        reader.take(event, span)?;
    }
    reader.finish()
}

/// Whether a plain scalar reads back as this very string everywhere: in YAML 1.2, in 1.1 with its
/// more numbers, and inside of brackets.
fn reads_as_text(value: &str) -> bool {
    let harmless = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | '/' | '@' | ':' | '?' | '=' | '&' | '~' | '%')
    };
    value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.chars().all(harmless)
        && !value.ends_with(':')
        && !is_ambiguous(value)
}

/// Whether some reader of YAML takes a plain scalar for something else than a text.
pub(super) fn is_ambiguous(value: &str) -> bool {
    is_word(value) || is_numeric(value)
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
    let text = text.trim_start_matches('\u{feff}');
    if let Some(index) = text.lines().position(is_template) {
        return Refusal::Template { line: index + 1 };
    }
    Refusal::NotParsed { format: "YAML", line, why: error.info().chars().take(200).collect() }
}

/// A node of the event tree.
struct Node {
    line: usize,
    is: Is,
}

enum Is {
    Scalar { value: String, style: ScalarStyle, bare: bool, tag: Tag, range: Range<usize>, token: usize },
    List(Vec<usize>),
    Mapping { members: Vec<(usize, usize)>, template: bool },
    Alias { anchor: usize, name: String },
}

/// What a tag makes of a scalar.
enum Tag {
    /// None: by its form.
    Absent,
    /// `!!str`: a text, whatever it looks like.
    Text,
    /// Any other, as it is written: what it makes of a new value is for whoever knows the tag.
    Other(String),
}

/// A collection whose end has not come yet.
struct Open {
    node: usize,
    key: Option<usize>,
    /// Whether it stands in brackets.
    flow: bool,
}

/// Builds the tree of events; nodes live in one list, so that aliases are indexes.
struct Reader<'t> {
    text: &'t str,
    /// The markers that are masked in it.
    template: Option<&'t Template<'t>>,
    nodes: Vec<Node>,
    anchors: BTreeMap<usize, usize>,
    open: Vec<Open>,
    root: Option<usize>,
    starts: usize,
    documents: Vec<Document>,
    tokens: Vec<String>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, template: Option<&'t Template<'t>>) -> Self {
        Self {
            text,
            template,
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
            Event::StreamStart | Event::StreamEnd => {}
            Event::Anchor(_, name) => named_alike(&name, line)?,
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
                let in_brackets = self.open.last().is_some_and(|open| open.flow);
                if in_brackets && style == ScalarStyle::Plain && slice.starts_with(['?', ':']) {
                    let why = "in brackets `?` and `:` begin a key to YAML 1.1; put the value in quotes";
                    return Err(Refusal::NotParsed { format: "YAML", line, why: why.to_string() });
                }
                let bare = style == ScalarStyle::Plain && tab_below(self.text.get(range.end..).unwrap_or_default());
                let token = self.tokens.len();
                self.tokens.push(format!("={anchor} {tag:?} {value}"));
                let tag = match tag {
                    None => Tag::Absent,
                    Some(tag) if tag.is_yaml_core_schema_tag("str") => Tag::Text,
                    Some(tag) => Tag::Other(tag.original()),
                };
                // As it is written, so that everybody sees that nobody knows what it is.
                let marked = self.template.and_then(|template| template.written(&range));
                let value = marked.map_or_else(|| value.into_owned(), str::to_string);
                let is = Is::Scalar { value, style, bare, tag, range, token };
                self.place(Node { line, is }, anchor);
            }
            Event::Alias(anchor) => {
                self.tokens.push(format!("*{anchor}"));
                self.place(Node { line, is: Is::Alias { anchor, name: slice.to_string() } }, 0);
            }
            Event::UnresolvedAlias(name) => {
                return Err(Refusal::NotParsed { format: "YAML", line, why: format!("nothing is called `&{name}`") });
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tokens.push(format!("[{anchor} {tag:?}"));
                self.enter(Node { line, is: Is::List(Vec::new()) }, anchor, style);
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tokens.push(format!("{{{anchor} {tag:?}"));
                let braces = span.start.byte_offset().and_then(|start| self.text.get(start..)).unwrap_or_default();
                let template = style == StructureStyle::Flow && braces.starts_with("{{");
                self.enter(Node { line, is: Is::Mapping { members: Vec::new(), template } }, anchor, style);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.tokens.push("]".to_string());
                self.open.pop();
            }
            // The parser's enum is open; an event of a later version of it must not be overlooked.
            _ => {
                return Err(Refusal::NotParsed {
                    format: "YAML",
                    line,
                    why: "it holds something that is not known here".to_string(),
                });
            }
        }
        Ok(())
    }

    fn enter(&mut self, node: Node, anchor: usize, style: StructureStyle) {
        let node = self.place(node, anchor);
        self.open.push(Open { node, key: None, flow: style == StructureStyle::Flow });
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
        self.documents.push(tree::document(&self.nodes, &self.anchors, self.root, self.starts));
        self.open.clear();
    }

    fn finish(self) -> Result<Parsed, Refusal> {
        Ok(Parsed { documents: self.documents, tokens: self.tokens, template: None })
    }
}

/// The name of an anchor ends at the same place for every reader: YAML 1.1 takes letters, digits, `-` and `_`, and
/// what comes behind them for the value; 1.2 takes whatever is no blank and no bracket.
fn named_alike(name: &str, line: usize) -> Result<(), Refusal> {
    if name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        return Ok(());
    }
    let name = name.escape_debug();
    let why = format!("`&{name}` ends earlier to YAML 1.1 than to 1.2; name it with letters, digits, `-` and `_` only");
    Err(Refusal::NotParsed { format: "YAML", line, why })
}

/// Whether blanks on the lines below a plain scalar have a tab among them: they belong to it, and behind quotes
/// YAML 1.1 takes no tab there.
fn tab_below(rest: &str) -> bool {
    let blank = rest.split_once(|c: char| !c.is_ascii_whitespace()).map_or(rest, |(blank, _)| blank);
    blank.split_once(['\n', '\r']).is_some_and(|(_, lines)| lines.contains('\t'))
}

fn no_offsets(line: usize) -> Refusal {
    Refusal::NotParsed { format: "YAML", line, why: "the parser lost its place".to_string() }
}
