//! The step summary of a run as a GitHub Action: the board and the actions, in inert Markdown.

use decide::plan::WaveReport;
use jiff::Timestamp;
use serde::Serialize;

use super::page::capped;
use super::{TellError, View, board, inert, render, words};

/// The most rows of the table.
const ROWS: usize = 300;

#[derive(Serialize)]
struct Page {
    name: String,
    trouble: Option<String>,
    /// What follows the first line of it, as a block.
    details: Option<String>,
    rows: Vec<Row>,
    more: usize,
    heading: &'static str,
    actions: Vec<String>,
    next: String,
}

#[derive(Serialize)]
struct Row {
    plugin: String,
    tier: String,
    version: String,
    emoji: &'static str,
    word: &'static str,
    says: String,
    pull: Option<String>,
    url: String,
}

/// Markdown for `$GITHUB_STEP_SUMMARY`: what stands where, and what was decided.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn step_summary(view: &View, now: Timestamp) -> Result<String, TellError> {
    let row = |wave: &WaveReport| {
        let look = words::wave(wave);
        let running = words::version(wave);
        let says = board::says(view, wave, now).map_or_else(String::new, |(_, text)| text);
        let tier = format!("{}: ", wave.tier);
        Row {
            plugin: wave.plugin.to_string(),
            tier: wave.tier.to_string(),
            version: running.map_or_else(String::new, ToString::to_string),
            emoji: look.emoji,
            word: look.word,
            says: inert::cut(says.strip_prefix(tier.as_str()).unwrap_or(&says), 300),
            pull: wave.pull.map(|pull| pull.to_string()),
            url: wave.pull.map_or_else(String::new, |pull| view.links.pull(pull)),
        }
    };
    let trouble = view.trouble.as_deref().map(inert::headed);
    let page = Page {
        name: view.name.clone(),
        details: trouble.as_ref().and_then(|(_, rest)| Some(inert::fenced(rest.as_deref()?, 4_000))),
        trouble: trouble.map(|(first, _)| first),
        rows: view.plan.waves.iter().take(ROWS).map(row).collect(),
        more: view.plan.waves.len().saturating_sub(ROWS),
        heading: if view.done.is_some() { "Done" } else { "Would do" },
        actions: match &view.done {
            Some(done) => done.iter().take(100).map(|one| inert::line(one)).collect(),
            None => view.plan.actions.iter().take(100).map(board::action).collect(),
        },
        next: board::next_look(view, now),
    };
    Ok(capped(render::markdown("summary", &page)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use decide::plan::WaveState;

    use super::*;
    use crate::tell::fixture;

    #[test]
    fn a_run_says_what_it_did_and_not_what_it_would_do() {
        let quiet = fixture::view().having(Vec::new());
        assert!(step_summary(&quiet, fixture::now()).unwrap().contains("**Done:** nothing."));
        assert!(board::board(&quiet, fixture::now()).contains("Done: "));
        let busy = fixture::view().having(vec!["opened `#1`".to_string()]);
        let text = step_summary(&busy, fixture::now()).unwrap();
        assert!(text.contains("**Done, in this order**\n\n1. opened") && !text.contains("Would do"), "{text}");
        assert!(board::board(&busy, fixture::now()).ends_with("Done: opened `#1`.\n"));
    }

    #[test]
    fn what_is_wrong_keeps_its_lines() {
        let mut view = fixture::view();
        let why = "the newest policy file has errors: coldframe.yaml:3:7: no duration\n  |\n3 | soak: 1 dya\n  |       ^^^^^\n";
        view.trouble = Some(why.to_string());
        let excerpt = "  |\n3 | soak: 1 dya\n  |       ^^^^^\n";
        let board = anstream::adapter::strip_str(&board::board(&view, fixture::now())).to_string();
        assert!(board.contains("no duration\n│   |\n│ 3 | soak: 1 dya\n│   |       ^^^^^\n"), "{board}");
        assert!(
            step_summary(&view, fixture::now()).unwrap().contains(&format!("no duration\n\n```text\n{excerpt}```\n"))
        );
        let state = crate::tell::DashboardState { views: vec![std::sync::Arc::new(view)], person: None };
        let page = crate::tell::dashboard(&state, &crate::tell::Filter::default(), fixture::now()).unwrap();
        assert!(
            page.contains(
                &format!("no duration</p>\n<pre class=\"excerpt\" tabindex=\"0\">{excerpt}").trim_end().to_string()
            ),
            "{page}"
        );
    }

    #[test]
    fn what_was_there_before_us_runs_and_has_not_finished_a_climb() {
        let mut view = fixture::view();
        let wave = view.plan.waves.iter_mut().find(|wave| matches!(wave.state, WaveState::Finished { .. })).unwrap();
        assert_eq!(words::wave(wave).word, "finished");
        wave.pull = None;
        assert_eq!(words::wave(wave).word, "runs");
    }
}
