//! Collects what is wrong while the files are read, and knows where the reader is. What is wrong is
//! decided by those who read.

use std::borrow::Cow;

use super::problem::Problem;
use super::read::{FromNode, Spanned};
use super::tree::{Entry, Node, Span, Value};

/// More problems than this are not kept: who has made a thousand mistakes mends the first ones.
const MOST_KEPT: usize = 1_000;

/// Collects problems, and knows where in the file the reader is.
#[derive(Debug, Default)]
pub struct Report {
    found: Vec<Found>,
    place: Vec<Place>,
    homes: Option<fn(&str) -> Option<String>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    at: Span,
    warning: bool,
    message: String,
    help: Option<String>,
}

#[derive(Debug)]
enum Place {
    Key(Cow<'static, str>),
    Named(String),
}

impl Report {
    /// One of a file of several kinds of mappings; `homes` says in which of them a key belongs: "a tier or a plugin".
    pub fn with_homes(homes: fn(&str) -> Option<String>) -> Self {
        Self { homes: Some(homes), ..Self::default() }
    }

    /// Where a key belongs that stands at the wrong place.
    pub fn homes(&self, key: &str) -> Option<String> {
        self.homes.and_then(|homes| homes(key))
    }

    /// Something that must be mended.
    pub fn problem(&mut self, at: Span, message: impl Into<String>, help: Option<&str>) {
        self.add(at, false, message.into(), help);
    }

    /// Something that is allowed, and most likely not what was meant.
    pub fn warning(&mut self, at: Span, message: impl Into<String>, help: Option<&str>) {
        self.add(at, true, message.into(), help);
    }

    /// Whether no problem was found so far; warnings do not count.
    pub fn is_empty(&self) -> bool {
        self.found.iter().all(|found| found.warning)
    }

    fn add(&mut self, at: Span, warning: bool, message: String, help: Option<&str>) {
        if self.found.len() < MOST_KEPT {
            self.found.push(Found { at, warning, message, help: help.map(str::to_string) });
        }
    }

    /// Problems and warnings in the order of the files and lines, each once.
    pub fn finish(mut self, names: &[String]) -> (Vec<Problem>, Vec<Problem>) {
        self.found.sort();
        self.found.dedup();
        let (warnings, problems): (Vec<Found>, Vec<Found>) = self.found.into_iter().partition(|found| found.warning);
        let tell = |found: Vec<Found>| found.into_iter().map(|found| found.told(names)).collect();
        (tell(problems), tell(warnings))
    }

    /// Where the reader is, in words: "`notice` of `force` of tier `gold`"; none at the top.
    pub fn here(&self) -> Option<String> {
        let mut words = Vec::new();
        for place in self.place.iter().rev() {
            match place {
                Place::Key(key) => words.push(format!("`{key}`")),
                Place::Named(name) => {
                    words.push(name.clone());
                    break;
                }
            }
        }
        if words.is_empty() { None } else { Some(words.join(" of ")) }
    }

    /// A problem with the value at hand.
    pub fn wrong(&mut self, at: Span, why: &str, help: Option<&str>) {
        let message = match self.here() {
            Some(here) => format!("{here}: {why}"),
            None => why.to_string(),
        };
        self.problem(at, message, help);
    }

    /// The value is of another type.
    pub fn wrong_type(&mut self, node: &Node, expected: &str) {
        if !matches!(node.value, Value::Unresolved) {
            self.wrong(node.span, &format!("expected {expected}, found {}", node.what()), None);
        }
    }

    /// Does something inside a named thing, such as "tier `gold`".
    pub fn within<T>(&mut self, name: String, read: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(Place::Named(name));
        let value = read(self);
        self.place.pop();
        value
    }

    /// Does something inside a key.
    pub fn within_key<T>(&mut self, key: impl Into<Cow<'static, str>>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(Place::Key(key.into()));
        let value = read(self);
        self.place.pop();
        value
    }

    /// The value of one key; none when it is absent or wrong.
    pub fn field<T: FromNode>(&mut self, node: &Node, key: &'static str) -> Option<Spanned<T>> {
        let entry = node.get(key)?;
        self.within_key(key, |report| report.value(entry))
    }

    /// The value of an entry; an empty one is reported.
    pub fn value<T: FromNode>(&mut self, entry: &Entry) -> Option<Spanned<T>> {
        if matches!(entry.node.value, Value::Null) {
            self.wrong(entry.at, "nothing stands here", Some("give it a value, or take the key out"));
            return None;
        }
        let value = T::from_node(&entry.node, self)?;
        Some(Spanned { value, at: entry.node.span, key: entry.at })
    }
}

impl Found {
    fn told(self, names: &[String]) -> Problem {
        Problem {
            file: names.get(self.at.file).cloned().unwrap_or_default(),
            line: self.at.line,
            column: self.at.column,
            message: self.message,
            help: self.help,
            span: self.at.start..self.at.end,
        }
    }
}
