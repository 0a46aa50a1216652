//! What every pull request gets beside its text, and when it is opened. How it gets that is not here.

use decide::window::Windows;
use jiff::tz::TimeZone;

use super::gaps;
use crate::file::PullRequestsFile;
use crate::windows::windows;
use crate::wiring::{Piece, PullRequests, Section};
use parse::forms::List;
use parse::read::Spanned;
use parse::report::Report;

/// The most people that the hub assigns to one pull request.
const ASSIGNEES: usize = 10;
/// The most reviews that the hub lets anybody ask for on one pull request.
const REVIEWERS: usize = 15;

/// What the file says of it.
pub fn pulls(file: Option<&Spanned<PullRequestsFile>>, report: &mut Report) -> PullRequests {
    let Some(file) = file.map(|file| &file.value) else { return PullRequests::default() };
    report.within_key("pullRequests", |report| {
        at_most(ASSIGNEES, "assignees", file.assignees.as_ref(), report);
        at_most(REVIEWERS, "reviewers", file.reviewers.as_ref(), report);
        if let (Some(note), Some(body)) = (&file.note, &file.body)
            && !body.value.0.pieces.contains(&Piece::Section(Section::Note))
        {
            let why = "`note` of `pullRequests` stands nowhere: `body` lacks `{note}`";
            report.warning(note.at, why, Some("write `{note}` on a line of `body`, or leave `note` out"));
        }
        PullRequests {
            labels: items(file.labels.as_ref(), |label| label.0.clone()),
            assignees: items(file.assignees.as_ref(), |login| login.0.clone()),
            reviewers: items(file.reviewers.as_ref(), |reviewer| reviewer.0.clone()),
            prefix: file.prefix.as_ref().map(|prefix| prefix.value.0.clone()),
            note: file.note.as_ref().map(|note| note.value.0.clone()),
            body: file.body.as_ref().map(|body| body.value.0.clone()),
        }
    })
}

/// When pull requests are opened; none = at any time.
pub fn opening(
    file: Option<&Spanned<PullRequestsFile>>,
    zone: Option<&TimeZone>,
    report: &mut Report,
) -> Option<Windows> {
    let written = file?.value.windows.as_ref()?;
    let check = |report: &mut Report| {
        let opening = windows(written, zone, report)?;
        if gaps::never_together(&[&opening]) {
            report.wrong(written.at, "they never open, so that nothing would be promoted", Some("give them hours"));
        }
        Some(opening)
    };
    report.within_key("pullRequests", |report| report.within_key("windows", check))
}

/// Each of a list once.
pub(super) fn items<T, U: PartialEq>(list: Option<&Spanned<List<T>>>, one: impl Fn(&T) -> U) -> Vec<U> {
    let mut found = Vec::new();
    for item in list.iter().flat_map(|list| &list.value.items) {
        let item = one(&item.value);
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

fn at_most<T>(most: usize, key: &'static str, list: Option<&Spanned<List<T>>>, report: &mut Report) {
    let Some(list) = list.filter(|list| list.value.items.len() > most) else { return };
    let why = format!("the hub takes {most} at most, here are {}", list.value.items.len());
    report.within_key(key, |report| report.wrong(list.at, &why, Some("name a team, or fewer people")));
}
