//! What a chart's authors say of their releases, quoted.

use decide::Version;

use super::super::{inert, words};

/// The most characters of the notes of one release.
const NOTE_CAP: usize = 16_000;

/// What a chart's author says of one release. Data, never markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseNote {
    /// Of which release.
    pub version: Version,
    /// Their text, of any length.
    pub text: String,
}

/// The notes as blocks that nothing in them can leave, newest first, within `room` characters.
pub(super) fn notes(notes: &[ReleaseNote], room: usize) -> String {
    let mut out = String::new();
    for (index, note) in notes.iter().enumerate() {
        let left = room.saturating_sub(out.chars().count());
        if left < 1_000 {
            let more = words::count(notes.len() - index, "release");
            out.push_str(&format!("*Cut here: {more} more.*\n"));
            break;
        }
        let block = inert::fenced(&note.text, NOTE_CAP.min(left - 500));
        out.push_str(&format!("**{}**\n\n{block}\n\n", inert::md(note.version.as_str())));
    }
    out.trim_end().to_string()
}
