//! Which files a pull request changes and which it adds, in one line.

use decide::Reason;
use decide::plan::WaveReport;

use super::{NAMES_IN_ROW, inert, listed, words};
use crate::tell::changes::MANY;
use crate::tell::view::TierFacts;

/// What it changes and what it adds, where that is known.
pub(super) fn changes(tier: &TierFacts, wave: &WaveReport, told: bool) -> String {
    let members = wave.members.clusters();
    let pushed = |because: &Reason| matches!(because, Reason::HeadEdited { .. } | Reason::HeadAdded { .. });
    let pushed = wave.findings.iter().any(|finding| pushed(&finding.because));
    let changed = if told { String::new() } else { files(&tier.files_of(members), pushed) };
    let (added, clusters) = tier.first_of(members);
    if added.is_empty() || words::landed(wave) {
        return changed;
    }
    let added = listed(&added, 20);
    // Of a wave that is nothing else the step says it already.
    if wave.from.is_none() || clusters.is_empty() {
        return format!("{changed} It adds {added}.").trim_start().to_string();
    }
    format!("{changed} First install on {}: it adds {added}.", listed(&clusters, NAMES_IN_ROW)).trim_start().to_string()
}

/// What it changes, where that is known.
fn files(files: &[String], pushed: bool) -> String {
    let places = match files {
        [] => return String::new(),
        [one] => format!("in {}", inert::code(one)),
        many => format!("in each of {}", listed(many, MANY)),
    };
    if pushed {
        format!("The bot changed one value {places}; somebody has pushed more since.")
    } else {
        format!("It changes one value {places}.")
    }
}
