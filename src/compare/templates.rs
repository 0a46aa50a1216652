//! Templates file by file, with what a reader would see of it: the lines that differ.

use std::collections::BTreeMap;

use serde::Serialize;
use similar::TextDiff;

use crate::change::{Change, What};
use crate::chart::Chart;

/// Lines around a difference.
const AROUND: usize = 3;
/// The work of comparing: for each file the square of the lines between those that are the same at both ends.
const WORK: usize = 200_000_000;
/// Bytes of what is shown of one file.
const MAX_SHOWN: usize = 16 << 10;
/// Bytes of what is shown of all of them.
const MAX_ALL: usize = 128 << 10;

/// How one file differs, as a unified diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Its path within the chart.
    pub path: String,
    /// The lines: untrusted text.
    pub text: String,
    /// Whether it goes on.
    pub cut: bool,
}

pub(crate) fn compare(old: &Chart, new: &Chart, found: &mut Vec<Change>) -> Vec<FileDiff> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    texts("", old, &mut before);
    texts("", new, &mut after);
    let (mut diffs, mut work, mut room) = (Vec::<FileDiff>::new(), WORK, MAX_ALL);
    for (path, text) in &before {
        match after.get(path) {
            None => found.push(Change::new(What::TemplateRemoved, path)),
            Some(now) if now == text => {}
            Some(now) => {
                let between = between(text, now);
                let Some(left) = work.checked_sub(between.saturating_mul(between)) else {
                    found.push(Change::new(What::TemplateChanged, path).to("in too many lines to be shown"));
                    continue;
                };
                work = left;
                let (count, diff) = lines(path, text, now);
                found.push(Change::new(What::TemplateChanged, path).to(count));
                if let Some(left) = room.checked_sub(diff.text.len()) {
                    room = left;
                    diffs.push(diff);
                }
            }
        }
    }
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        found.push(Change::new(What::TemplateAdded, path));
    }
    diffs
}

/// How a file differs from what it is to become, as `git apply` takes it.
pub fn patch(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(AROUND).header(&format!("a/{path}"), &format!("b/{path}")).to_string()
}

/// Custom resources are compared by what they mean, not by their lines.
fn texts<'c>(prefix: &str, chart: &'c Chart, found: &mut BTreeMap<String, &'c str>) {
    let templates = chart.texts.iter().filter(|(path, _)| path.starts_with("templates/"));
    found.extend(templates.map(|(path, text)| (format!("{prefix}{path}"), text.as_str())));
    for (folder, part) in &chart.charts {
        texts(&format!("{prefix}charts/{folder}/"), part, found);
    }
}

/// Lines of both between those that are the same at the beginning and at the end.
fn between(old: &str, new: &str) -> usize {
    let same = |pairs: &mut dyn Iterator<Item = (&str, &str)>| pairs.take_while(|(one, other)| one == other).count();
    let ahead = same(&mut old.lines().zip(new.lines()));
    let behind = same(&mut old.lines().rev().zip(new.lines().rev()));
    (old.lines().count() + new.lines().count()).saturating_sub(2 * ahead).saturating_sub(2 * behind)
}

fn lines(path: &str, old: &str, new: &str) -> (String, FileDiff) {
    let diff = TextDiff::from_lines(old, new);
    let (mut came, mut went) = (0_usize, 0_usize);
    for change in diff.iter_all_changes() {
        match change.tag() {
            similar::ChangeTag::Insert => came += 1,
            similar::ChangeTag::Delete => went += 1,
            similar::ChangeTag::Equal => {}
        }
    }
    let mut text =
        diff.unified_diff().context_radius(AROUND).header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    let cut = text.len() > MAX_SHOWN;
    if cut {
        let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= MAX_SHOWN).last().unwrap_or(0);
        let end = text.get(..end).and_then(|shown| shown.rfind('\n')).map_or(0, |at| at + 1);
        text.truncate(end);
    }
    let lines = |count: usize| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    (format!("{} added, {} removed", lines(came), lines(went)), FileDiff { path: path.to_owned(), text, cut })
}
