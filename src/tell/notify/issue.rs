//! A comment on an issue, and the hidden line by which it is known what it told.

use std::collections::BTreeSet;

use super::{News, inert};
use crate::policy::wiring::Reviewer;
use crate::tell::Links;

const MARK: &str = "<!-- coldframe:told ";
const MARK_END: &str = " -->";
/// Lines of one comment; more are counted.
const MOST: usize = 20;
/// The longest line, so that the hub takes the comment whatever has to be escaped in it.
const LONGEST: usize = 300;

/// One comment with a line for each thing that happened, by its id.
pub fn issue(news: &[(String, &News)], mention: &[Reviewer], links: &Links) -> String {
    let whom: Vec<String> = mention.iter().map(|who| format!("@{who}")).collect();
    let mut parts: Vec<String> = Vec::new();
    if !whom.is_empty() {
        parts.push(whom.join(" "));
    }
    let mut lines: Vec<String> = news.iter().take(MOST).map(|(_, news)| line(news, links)).collect();
    if let Some(more) = news.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("- … and {more} more: {}", inert::link("pull requests", &format!("{}/pulls", links.repo))));
    }
    parts.push(lines.join("\n"));
    let ids: Vec<&str> = news.iter().map(|(id, _)| id.as_str()).collect();
    parts.push(format!("{MARK}{}{MARK_END}", ids.join(" ")));
    parts.join("\n\n")
}

/// What a comment of ours told, by the last of its lines. Who wrote it is for the caller to check.
pub fn issue_ids(body: &str) -> BTreeSet<String> {
    let last = body.trim_end().lines().next_back().map(str::trim_end);
    let ids = last.and_then(|last| last.strip_prefix(MARK)?.strip_suffix(MARK_END));
    ids.into_iter().flat_map(|ids| ids.split(' ')).map(ToOwned::to_owned).collect()
}

fn line(news: &News, links: &Links) -> String {
    let subject = match news.pull {
        Some(pull) => inert::link(&news.subject(), &links.pull(pull)),
        None => format!("**{}**", inert::md(&news.subject())),
    };
    format!("- {subject} {}", inert::md(&inert::cut(&news.text, LONGEST)))
}
