//! The sections of the text, each from its own template, and their order: the bot's, or that of `pullRequests.body`.

use super::super::{TellError, render};
use super::Page;
use crate::policy::wiring::{Body, Piece, Section};

/// The policy's arrangement, with the names in its own words filled in.
pub(super) fn named(body: &Body, filled: impl Fn(&str) -> String) -> Vec<Piece> {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => Piece::Text(filled(text)),
        Piece::Section(section) => Piece::Section(*section),
    };
    body.pieces.iter().map(piece).collect()
}

/// The whole text. What is recorded of a force stands at its end, whoever arranges the rest.
pub(super) fn arranged(page: &Page, own: Option<&[Piece]>) -> Result<String, TellError> {
    let mut text = String::new();
    for section in Section::ALL.into_iter().filter(|_| own.is_none()) {
        text.push_str(&rendered(section, page)?);
    }
    for piece in own.unwrap_or_default() {
        let block = match piece {
            Piece::Text(words) => words.clone(),
            Piece::Section(section) => rendered(*section, page)?,
        };
        // An empty line before and after it: nothing that one block leaves open reaches into the next.
        let block = block.trim_matches('\n');
        if !block.is_empty() {
            text.push_str(block);
            text.push_str("\n\n");
        }
    }
    Ok(text + &render::markdown("pull/forced", page)?)
}

fn rendered(section: Section, page: &Page) -> Result<String, TellError> {
    let name = match section {
        Section::Summary => "pull/summary",
        Section::Status => "pull/status",
        Section::Climb => "pull/climb",
        Section::Note => "pull/note",
        Section::Changes => "pull/changes",
        Section::ReleaseNotes => "pull/release-notes",
        Section::Help => "pull/help",
    };
    render::markdown(name, page)
}
