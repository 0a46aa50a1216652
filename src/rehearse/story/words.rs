//! Lines and their words, each with its place. What the words mean is not in here.

use crate::parse::{Problem, quoted};

/// Where something stands in a story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// First byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Place {
    /// A problem here; who collects it names the file.
    pub fn problem(self, message: impl Into<String>, help: impl Into<String>) -> Problem {
        let help = help.into();
        Problem {
            file: String::new(),
            line: self.line,
            column: self.column,
            message: message.into(),
            help: (!help.is_empty()).then_some(help),
            span: self.start..self.end,
        }
    }
}

/// A word with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub text: &'a str,
    pub place: Place,
}

impl Word<'_> {
    /// A problem with this word.
    pub fn wrong(&self, what: &str, help: impl Into<String>) -> Problem {
        self.place.problem(format!("{} {what}", quoted(self.text)), help)
    }
}

/// Reads one line word by word.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    line: usize,
    /// Of the line in the file.
    start: usize,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A line without its comment and its end.
    pub fn new(text: &'a str, line: usize, start: usize) -> Self {
        Self { text: without_comment(text).trim_end(), line, start, at: 0 }
    }

    /// Whether nothing is left.
    pub fn is_done(&self) -> bool {
        self.left().trim().is_empty()
    }

    /// Whether the line begins with a space.
    pub fn is_indented(&self) -> bool {
        self.text.starts_with([' ', '\t'])
    }

    fn left(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn place(&self, from: usize, to: usize) -> Place {
        let column = self.text.get(..from).map_or(0, |before| before.chars().count()) + 1;
        Place { line: self.line, column, start: self.start + from, end: self.start + to }
    }

    /// The place after the last word: where something is missing.
    pub fn here(&self) -> Place {
        let end = self.text.len();
        self.place(end, end)
    }

    /// The next word, left where it is.
    pub fn peek(&self) -> Option<Word<'a>> {
        self.clone().next()
    }

    /// The next word.
    pub fn next(&mut self) -> Option<Word<'a>> {
        let left = self.left();
        let from = self.at + (left.len() - left.trim_start().len());
        let word = left.split_whitespace().next()?;
        self.at = from + word.len();
        Some(Word { text: word, place: self.place(from, self.at) })
    }

    /// The next word, without the comma or colon that may end it; `what` says what is missing.
    pub fn need(&mut self, what: &str, help: &str) -> Result<Word<'a>, Problem> {
        let word = self.next().ok_or_else(|| self.here().problem(format!("{what} is missing"), help))?;
        let text = word.text.trim_end_matches([',', ':']);
        if text.len() < word.text.len() && !text.is_empty() {
            self.at -= word.text.len() - text.len();
            let end = word.place.end - (word.text.len() - text.len());
            return Ok(Word { text, place: Place { end, ..word.place } });
        }
        Ok(word)
    }

    /// One of these words must come.
    pub fn must(&mut self, wanted: &str, help: &str) -> Result<(), Problem> {
        let word = self.need(&format!("`{wanted}`"), help)?;
        if word.text == wanted { Ok(()) } else { Err(word.wrong(&format!("stands where `{wanted}` belongs"), help)) }
    }

    /// The rest after a colon or comma, in the words of who wrote it; nothing when there is none.
    pub fn why(&mut self) -> Result<String, Problem> {
        let left = self.left().trim_start();
        if left.is_empty() {
            return Ok(String::new());
        }
        let Some(why) = left.strip_prefix(':') else {
            let word = self.next();
            return Err(word.map_or_else(
                || self.here().problem("something is missing", ""),
                |word| word.wrong("is one word too many", "a reason stands after a colon"),
            ));
        };
        self.at = self.text.len();
        Ok(why.trim().to_string())
    }

    /// All that is left.
    pub fn rest(&mut self) -> Option<Word<'a>> {
        let left = self.left();
        let text = left.trim();
        if text.is_empty() {
            return None;
        }
        let from = self.at + (left.len() - left.trim_start().len());
        self.at = self.text.len();
        Some(Word { text, place: self.place(from, from + text.len()) })
    }

    /// Takes a comma, when one is next.
    pub fn comma(&mut self) -> bool {
        let left = self.left();
        let found = left.trim_start().starts_with(',');
        if found {
            self.at += left.len() - left.trim_start().len() + 1;
        }
        found
    }

    /// Nothing more may come.
    pub fn end(&mut self) -> Result<(), Problem> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(word.wrong("is one word too many", "take it out, or begin a line of its own")),
        }
    }
}

/// A comment begins at the start of the line or after a space.
fn without_comment(text: &str) -> &str {
    let at = text.match_indices('#').find(|(at, _)| text[..*at].chars().next_back().is_none_or(char::is_whitespace));
    at.map_or(text, |(at, _)| &text[..at])
}
