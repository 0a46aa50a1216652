//! A text as a format understands it: its documents, and what stands at each place of them.

use std::collections::BTreeMap;
use std::ops::Range;

use jsonpath::Step;
use serde_json::Value;

use super::Refusal;

/// A text that was understood.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Its documents, in order.
    pub documents: Vec<Document>,
    /// Everything that means something in it, in order, one string each; spelling and white space
    /// left out. An edit may change exactly one of them.
    pub tokens: Vec<String>,
    /// The line of the first marker of a template, where it was read with its markers masked.
    pub template: Option<usize>,
}

/// One document of a text.
#[derive(Clone, Debug)]
pub struct Document {
    /// What readers see: aliases resolved, merge keys applied.
    pub tree: Value,
    /// What stands at each place of that tree.
    pub places: BTreeMap<Vec<Step>, Place>,
    /// The line it starts on, from 1.
    pub line: usize,
    /// Why nothing of it may be edited, nor of another document of the text: what it is, and so which one is meant,
    /// is not the same to every reader.
    pub problem: Option<Refusal>,
}

/// What stands at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A scalar on its own.
    Scalar(Spot),
    /// A block scalar (`|` or `>`).
    Block {
        /// Its line, from 1.
        line: usize,
    },
    /// Something that is made of other values.
    Expression {
        /// Its line, from 1.
        line: usize,
        /// As it is written.
        text: String,
    },
    /// One of several that go by one name.
    Several {
        /// Their lines.
        lines: Vec<usize>,
    },
    /// Nothing, or null.
    Empty {
        /// Its line, from 1.
        line: usize,
    },
    /// A mapping or a list.
    Collection {
        /// Its line, from 1.
        line: usize,
    },
    /// An alias.
    Alias {
        /// Its line, from 1.
        line: usize,
        /// As it is written, with the `*`.
        name: String,
        /// The line of what it stands for.
        anchor: usize,
    },
    /// What a template may make something else of, or put somewhere else.
    Templated {
        /// The line of the marker that does, from 1.
        line: usize,
    },
    /// It came in through a merge key.
    Merged {
        /// The line of the merge key.
        line: usize,
    },
}

/// One scalar: its value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The value, unquoted.
    pub value: String,
    /// The bytes that it takes, quotes included; anchor and tag are not part of it.
    pub range: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// How it is written.
    pub style: Style,
    /// Its index among [`Parsed::tokens`].
    pub token: usize,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// Without quotes, and it has to stay so.
    Bare,
    /// `'…'`.
    Single,
    /// `"…"`.
    Double,
}

impl Place {
    pub(crate) fn line(&self) -> usize {
        match self {
            Self::Scalar(spot) => spot.line,
            Self::Several { lines } => lines.first().copied().unwrap_or_default(),
            Self::Expression { line, .. }
            | Self::Block { line }
            | Self::Empty { line }
            | Self::Collection { line }
            | Self::Alias { line, .. }
            | Self::Templated { line }
            | Self::Merged { line } => *line,
        }
    }
}
