//! What a chart's authors say of their releases, quoted.

use decide::Version;

use super::super::{inert, words};
use super::Differences;

/// The most characters of the notes of one release.
const NOTE_CAP: usize = 16_000;

/// What a chart's author says of one release, and what is different in it. Data, never markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseNote {
    /// Of which release.
    pub version: Version,
    /// Their text, of any length; none where they say nothing.
    pub text: Option<String>,
    /// What is different in it; none where nobody looked.
    pub differences: Option<Differences>,
}

/// The notes as blocks that nothing in them can leave, newest first, within `room` characters.
pub(super) fn notes(notes: &[ReleaseNote], room: usize) -> String {
    let mut out = String::new();
    let said: Vec<(&Version, &str)> =
        notes.iter().filter_map(|note| Some((&note.version, note.text.as_deref()?))).collect();
    for (index, (version, text)) in said.iter().enumerate() {
        let left = room.saturating_sub(out.chars().count());
        if left < 1_000 {
            let more = words::count(said.len() - index, "release");
            out.push_str(&format!("*Cut here: {more} more.*\n"));
            break;
        }
        let block = inert::fenced(text, NOTE_CAP.min(left - 500));
        out.push_str(&format!("**{}**\n\n{block}\n\n", inert::md(version.as_str())));
    }
    out.trim_end().to_string()
}
