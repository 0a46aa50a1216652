//! From byte offsets to lines and back to what stands there: for formats whose parsers count bytes.

use std::borrow::Cow;
use std::ops::Range;

use super::Refusal;

/// A text and where its lines begin.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// What stands there; empty where nothing can.
    pub(super) fn slice(&self, range: &Range<usize>) -> &'t str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

/// The text with white space in the place of a byte order mark, which takes as many bytes.
pub(super) fn unmarked(text: &str) -> Cow<'_, str> {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Cow::Owned(format!("   {rest}")),
        None => Cow::Borrowed(text),
    }
}

/// A value between double quotes, as JSON, TOML and HCL escape it.
///
/// # Errors
/// Where it is empty or holds what no version does.
pub(super) fn quoted(to: &str) -> Result<String, Refusal> {
    Ok(format!("\"{}\"", plain(to)?.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A value that may be written at all.
///
/// # Errors
/// As [`quoted`].
pub(super) fn plain(to: &str) -> Result<&str, Refusal> {
    let bad = |why| Err(Refusal::BadValue { to: to.to_string(), why });
    if to.is_empty() {
        return bad("it is empty");
    }
    if to.chars().any(char::is_control) || to.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']) {
        return bad("it holds control characters");
    }
    Ok(to)
}
