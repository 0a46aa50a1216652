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
    /// The hub's page of it.
    pub page: Option<String>,
    /// What is different in it; none where nobody looked.
    pub differences: Option<Differences>,
}

/// The notes as blocks that nothing in them can leave, newest first, within `room` characters.
pub(super) fn notes(notes: &[ReleaseNote], room: usize) -> String {
    let mut out = String::new();
    let said: Vec<&ReleaseNote> = notes.iter().filter(|note| note.text.is_some() || note.page.is_some()).collect();
    for (index, note) in said.iter().enumerate() {
        let left = room.saturating_sub(out.chars().count());
        if left < 1_000 {
            let more = words::count(said.len() - index, "release");
            out.push_str(&format!("*Cut here: {more} more.*\n"));
            break;
        }
        let version = note.version.as_str();
        let name = note.page.as_ref().map_or_else(|| inert::md(version), |page| inert::link(version, page));
        out.push_str(&format!("**{name}**\n\n"));
        if let Some(text) = &note.text {
            out.push_str(&format!("{}\n\n", inert::fenced(text, NOTE_CAP.min(left - 500))));
        }
    }
    out.trim_end().to_string()
}
