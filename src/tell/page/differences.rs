//! What is different in the releases of a pull request. The differences are found in the package `compare`; every
//! word of them is the chart's author's, and shown as data.

use std::sync::Arc;

use compare::{Change, Report};
use decide::Version;

use super::super::{inert, words};
use super::ReleaseNote;

/// The most characters of all of it.
const CAP: usize = 24_000;
/// The differences of one release that are not folded.
const OPEN: usize = 20;
/// Up to so many others are not folded either.
const FEW: usize = 3;
/// The differences of one release that are folded.
const FOLDED: usize = 150;
/// The most characters of the lines of one file.
const LINES: usize = 4_000;

/// A release beside the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differences {
    /// The one before it.
    pub from: Version,
    /// What is different, or why nobody knows.
    pub became: Result<Arc<Report>, String>,
}

/// A block for each release, newest first, within `room` characters.
pub(super) fn differences(notes: &[ReleaseNote], room: usize) -> String {
    let room = room.min(CAP);
    let mut out = String::new();
    let told = notes.iter().filter_map(|note| Some((&note.version, note.differences.as_ref()?)));
    let blocks: Vec<String> = told.map(|(version, found)| block(version, found)).collect();
    for (index, block) in blocks.iter().enumerate() {
        if out.chars().count() + block.chars().count() > room {
            let more = words::count(blocks.len() - index, "release");
            out.push_str(&format!("*Too long to be shown: {more}. `coldframe compare` shows all of it.*\n"));
            break;
        }
        out.push_str(block);
    }
    out.trim_end().to_string()
}

fn block(version: &Version, found: &Differences) -> String {
    let names = format!("**{}** beside {}", inert::md(version.as_str()), inert::md(found.from.as_str()));
    let report = match &found.became {
        Ok(report) if report.changes.is_empty() => {
            return format!("{names}: nothing is different but the version.\n\n");
        }
        Ok(report) => report,
        Err(why) => return format!("{names}: nobody could compare them. {}\n\n", sentence(why)),
    };
    let breaking: Vec<&Change> = report.breaking().collect();
    let others: Vec<&Change> = report.changes.iter().filter(|change| !change.what.is_breaking()).collect();
    let (open, rest) = breaking.split_at(breaking.len().min(OPEN));
    let mut out = format!("{names}:\n");
    for change in open {
        out.push_str(&format!("- ⚠️ {}\n", sentence(&change.to_string())));
    }
    let folded: Vec<&Change> = rest.iter().chain(&others).copied().collect();
    if folded.len() + report.more <= FEW {
        for change in &folded {
            out.push_str(&format!("- {}\n", sentence(&change.to_string())));
        }
        out.push('\n');
    } else {
        let more = if open.is_empty() { "" } else { "more " };
        let count = words::count(folded.len() + report.more, "difference").replacen(' ', &format!(" {more}"), 1);
        out.push_str(&format!("\n<details><summary>{count}</summary>\n\n"));
        for change in folded.iter().take(FOLDED) {
            out.push_str(&format!("- {}\n", sentence(&change.to_string())));
        }
        if folded.len() + report.more > FOLDED {
            out.push_str(&format!("- … and {} more\n", folded.len() + report.more - FOLDED));
        }
        out.push_str("\n</details>\n");
    }
    out + &lines(report) + "\n"
}

/// The lines of templates, each file in a fold of its own.
fn lines(report: &Report) -> String {
    if report.diffs.is_empty() {
        return String::new();
    }
    let mut out =
        format!("<details><summary>The lines of {}</summary>\n\n", words::count(report.diffs.len(), "template"));
    for diff in &report.diffs {
        let left = CAP.saturating_sub(out.chars().count() + LINES);
        if left < LINES {
            out.push_str("*The others are too long to be shown.*\n\n");
            break;
        }
        out.push_str(&format!("{}\n\n", inert::diff(&diff.text, LINES)));
    }
    out + "</details>\n"
}

fn sentence(text: &str) -> String {
    format!("{}.", inert::md(text).trim_end_matches('.'))
}
