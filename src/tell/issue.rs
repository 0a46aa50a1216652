//! The dashboard issue: the ladder of a repository where people look first, with boxes to ask for something. No time in
//! it runs: it is rewritten when something has changed, not because a minute has passed.

use std::collections::BTreeMap;

use decide::plan::{Gate, WaveReport, WaveState};
use decide::{PluginName, PullNumber, Reason, Sha, TierName};
use jiff::Timestamp;
use serde::Serialize;

use super::dashboard::{needs_a_person, tiers};
use super::page::{capped, overtaking};
use super::{ByHand, TellError, View, board, inert, render, words};

/// What every such issue begins with.
const MARK: &str = "<!-- coldframe:dashboard -->";
/// Its title.
pub const ISSUE_TITLE: &str = "Coldframe dashboard";
/// The most rows of each table, and boxes.
pub(super) const ROWS: usize = 100;
/// Where what can wait begins.
const LADDER: &str = "### The ladder";

#[derive(Default, Serialize)]
struct Page {
    name: String,
    dashboard: Option<String>,
    trouble: Option<String>,
    /// What follows the first line of it, as a block.
    details: Option<String>,
    freezes: Vec<Freeze>,
    needs: Vec<Row>,
    more_needs: usize,
    tiers: Vec<String>,
    rows: Vec<Ladder>,
    more_rows: usize,
    moves: Vec<Row>,
    more_moves: usize,
    boxes: Vec<Rebase>,
    openings: Vec<Opening>,
    heard: Option<String>,
}

#[derive(Serialize)]
struct Freeze {
    text: String,
    until: Option<String>,
}

/// A wave, and what it waits for.
#[derive(Default, Serialize)]
struct Row {
    emoji: &'static str,
    what: String,
    pull: Option<String>,
    url: String,
    why: String,
    since: String,
    until: String,
    who: String,
}

#[derive(Serialize)]
struct Ladder {
    plugin: String,
    cells: Vec<Cell>,
}

#[derive(Default, Serialize)]
struct Cell {
    there: bool,
    emoji: &'static str,
    version: String,
    word: &'static str,
    pull: Option<String>,
    url: String,
}

#[derive(Serialize)]
struct Rebase {
    number: u64,
    head: String,
    pull: String,
    url: String,
    what: String,
}

/// A box that has a pull request opened outside of its window.
#[derive(Serialize)]
struct Opening {
    plugin: String,
    tier: String,
    version: String,
    what: String,
}

/// The text of the issue. `heads` are those of open pull requests that the bot may write anew, `by_hand` what others
/// bring past the tiers below, `refused` why what should be open is not, `heard` what became of the boxes that were
/// ticked last.
///
/// # Errors
/// Only when a built-in template is broken.
pub fn dashboard_issue(
    view: &View,
    heads: &BTreeMap<PullNumber, Sha>,
    by_hand: &[ByHand],
    refused: &BTreeMap<(PluginName, TierName), String>,
    (heard, now): (Option<&str>, Timestamp),
) -> Result<String, TellError> {
    let waves = || view.plan.waves.iter();
    let refusal = |wave: &WaveReport| {
        let why = refused.get(&(wave.plugin.clone(), wave.tier.clone()));
        why.filter(|_| matches!(wave.state, WaveState::Waiting | WaveState::Open { pull: None, .. }))
    };
    let shut = waves().filter_map(|wave| Some(not_opened(row(view, wave), refusal(wave)?)));
    let stuck = waves().filter(|wave| refusal(wave).is_none() && needs_a_person(wave)).map(|wave| row(view, wave));
    let (needs, more_needs) = cut(shut.chain(stuck).chain(by_hand.iter().map(|one| moved(view, one))));
    let on_its_way = waves().filter(|wave| refusal(wave).is_none() && moves(wave));
    let (moves, more_moves) = cut(on_its_way.map(|wave| row(view, wave)));
    let all = tiers(view);
    let (rows, more_rows) = cut(board::plugins(&view.plan).into_iter().map(|plugin| ladder(view, plugin, &all)));
    let trouble = view.trouble.as_deref().map(inert::headed);
    let zone = view.links.shared_zone();
    let freezes = view.freezes.iter().filter(|freeze| freeze.until.is_none_or(|until| now < until));
    let page = Page {
        name: view.name.clone(),
        dashboard: view.links.dashboard.as_ref().and_then(|url| inert::web(url.as_str())).map(str::to_owned),
        details: trouble.as_ref().and_then(|(_, rest)| Some(inert::fenced(rest.as_deref()?, 4_000))),
        trouble: trouble.map(|(first, _)| first),
        freezes: freezes
            .map(|freeze| Freeze {
                text: words::freeze(freeze),
                until: freeze.until.map(|until| words::when(until, &zone)),
            })
            .collect(),
        needs,
        more_needs,
        tiers: all.iter().map(ToString::to_string).collect(),
        rows,
        more_rows,
        moves,
        more_moves,
        boxes: waves().filter_map(|wave| rebase(view, wave, heads)).take(ROWS).collect(),
        openings: waves().filter_map(opening).take(ROWS).collect(),
        heard: heard.map(inert::line),
    };
    Ok(capped(render::markdown("issue", &page)?))
}

/// The text where there is no policy to go by: what is wrong with the newest one.
///
/// # Errors
/// As [`dashboard_issue`].
pub fn problem_issue(name: &str, problem: &str, heard: Option<&str>) -> Result<String, TellError> {
    let (trouble, details) =
        inert::headed(&format!("the policy file has errors, and no earlier one has none: {problem}"));
    let why = Row {
        emoji: "🔴",
        what: "the policy".to_string(),
        why: "it has errors, so nothing is promoted".to_string(),
        who: "whoever writes the policy file".to_string(),
        ..Row::default()
    };
    let page = Page {
        name: name.to_string(),
        trouble: Some(trouble),
        details: details.map(|rest| inert::fenced(&rest, 4_000)),
        needs: vec![why],
        heard: heard.map(inert::line),
        ..Page::default()
    };
    Ok(capped(render::markdown("issue", &page)?))
}

/// Whether a text is that of a dashboard issue.
pub fn is_dashboard_issue(body: &str) -> bool {
    body.trim_start().starts_with(MARK)
}

/// The part of it that should not wait: what is wrong, and what needs a person.
pub fn urgent_part(body: &str) -> &str {
    body.split(LADDER).next().unwrap_or_default()
}

fn cut<T>(rows: impl Iterator<Item = T>) -> (Vec<T>, usize) {
    let mut rows: Vec<T> = rows.collect();
    let more = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    (rows, more)
}

/// Whether a wave is on its way without anybody's help.
fn moves(wave: &WaveReport) -> bool {
    !needs_a_person(wave)
        && match wave.state {
            WaveState::Open { .. } | WaveState::Converging { .. } | WaveState::Soaking { .. } => true,
            // What has not begun stands in the ladder; where it waits for more than the tier below, here too.
            WaveState::Waiting => words::first(wave).is_some_and(|finding| finding.gate != Gate::TierBelow),
            WaveState::Idle { .. }
            | WaveState::Finished { .. }
            | WaveState::Failed { .. }
            | WaveState::Rejected { .. }
            | WaveState::Superseded { .. }
            | WaveState::Withdrawn { .. } => false,
        }
}

fn row(view: &View, wave: &WaveReport) -> Row {
    let zone = view.links.zone(&wave.plugin, &wave.tier);
    let (healthy, of) = words::healthy(wave);
    let first = words::first(wave).filter(|_| words::before_landing(&wave.state));
    // What a workflow still has to verify when the soak is over.
    let verified = words::holding(wave).find(|finding| finding.gate == Gate::Verification);
    let verified = verified.filter(|_| words::holding(wave).all(|finding| finding.gate != Gate::Soak));
    let why = match (&wave.state, first) {
        (WaveState::Soaking { .. }, _) if verified.is_some() => {
            verified.map_or_else(String::new, |finding| finding.because.to_string())
        }
        (WaveState::Soaking { paused: false, .. }, _) => format!("soaking, {healthy} of {of} healthy"),
        (WaveState::Soaking { paused: true, .. }, _) => format!("the soak stands still, {healthy} of {of} healthy"),
        (WaveState::Converging { .. }, _) => format!("{}, {healthy} of {of} healthy on it", words::wave(wave).word),
        (_, Some(finding)) => finding.because.to_string(),
        (_, None) => match words::end(&wave.state) {
            Some(why) => match overtaking(&view.plan, wave) {
                Some((version, _)) => format!("{why}; {version} may overtake"),
                None => why.to_string(),
            },
            None => words::next(wave).to_string(),
        },
    };
    let soak = words::holding(wave).find(|finding| finding.gate == Gate::Soak);
    let until = first.and_then(words::until).or_else(|| verified.or(soak).and_then(words::until));
    let until = until.or_else(|| wave.grace.as_ref().map(|grace| grace.deadline).filter(|_| first.is_some()));
    let who = first.and_then(words::who).or_else(|| words::end(&wave.state)?.unblock());
    Row {
        emoji: words::wave(wave).emoji,
        what: words::name(wave),
        pull: wave.pull.map(|pull| pull.to_string()),
        url: wave.pull.map_or_else(String::new, |pull| view.links.pull(pull)),
        why: inert::cut(&inert::line(&why), 300),
        since: words::since(&wave.state).map_or_else(String::new, |at| words::when(at, &zone)),
        until: until.map_or_else(String::new, |at| words::when(at, &zone)),
        who: who.map_or_else(String::new, |who| inert::line(&who)),
    }
}

/// The row of a wave whose pull request could not be opened.
fn not_opened(row: Row, why: &str) -> Row {
    let why = inert::cut(&inert::line(&format!("its pull request cannot be opened: {why}")), 300);
    Row { emoji: "🔴", why, until: String::new(), who: "whoever may change that".to_string(), ..row }
}

/// What somebody else's pull request would bring past the tiers below.
fn moved(view: &View, ByHand { number, by, moved }: &ByHand) -> Row {
    let by = by.as_ref().map_or("a deleted account", |by| by.as_str());
    let to = moved.to.as_deref().unwrap_or("nothing that is read");
    let why = format!("{by} changes {} to {to} by hand: merged, it waits for no tier below and no gate", moved.from);
    Row {
        emoji: "⚠️",
        what: format!("{} → {}", moved.plugin, moved.tier),
        pull: Some(number.to_string()),
        url: view.links.pull(*number),
        why: inert::cut(&inert::line(&why), 300),
        who: "whoever may close it".to_string(),
        ..Row::default()
    }
}

fn ladder(view: &View, plugin: &PluginName, tiers: &[&TierName]) -> Ladder {
    let cell = |tier: &&TierName| {
        let found = view.plan.waves.iter().find(|wave| wave.plugin == *plugin && wave.tier == **tier);
        let Some(wave) = found else { return Cell::default() };
        let (look, idle) = (words::wave(wave), matches!(wave.state, WaveState::Idle { .. }));
        let version = words::version(wave);
        let pull = wave.pull.filter(|_| !matches!(wave.state, WaveState::Finished { .. }));
        Cell {
            there: true,
            emoji: look.emoji,
            version: match (&wave.from, version) {
                (Some(from), Some(to)) if words::before_landing(&wave.state) => format!("{from} → {to}"),
                (_, version) => version.map_or_else(|| "none".to_string(), ToString::to_string),
            },
            word: if idle { "" } else { look.word },
            pull: pull.map(|pull| pull.to_string()),
            url: pull.map_or_else(String::new, |pull| view.links.pull(pull)),
        }
    };
    Ladder { plugin: plugin.to_string(), cells: tiers.iter().map(cell).collect() }
}

/// Of what waits for nothing else than the window in which it is opened.
fn opening(wave: &WaveReport) -> Option<Opening> {
    let waits = words::first(wave).is_some_and(|finding| matches!(finding.because, Reason::OpeningClosed { .. }));
    // Two hyphens may end a comment of HTML.
    let version = wave.version.as_ref().filter(|version| !version.as_str().contains("--"))?;
    (waits && matches!(wave.state, WaveState::Waiting)).then(|| Opening {
        plugin: wave.plugin.to_string(),
        tier: wave.tier.to_string(),
        version: version.to_string(),
        what: words::name(wave),
    })
}

fn rebase(view: &View, wave: &WaveReport, heads: &BTreeMap<PullNumber, Sha>) -> Option<Rebase> {
    let pull = wave.pull.filter(|_| matches!(wave.state, WaveState::Open { .. }))?;
    let head = heads.get(&pull)?;
    Some(Rebase {
        number: pull.0,
        head: head.to_string(),
        pull: pull.to_string(),
        url: view.links.pull(pull),
        what: words::name(wave),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tell::fixture;

    fn text(heard: Option<&str>) -> String {
        let view = fixture::view();
        let open = view.plan.waves.iter().filter_map(|wave| wave.pull);
        let heads = open.map(|pull| (pull, Sha::from("0123456789"))).collect();
        dashboard_issue(&view, &heads, &[], &BTreeMap::new(), (heard, fixture::now())).unwrap()
    }

    #[test]
    fn it_is_the_same_text_a_minute_later() {
        let view = fixture::view();
        let at = |now| dashboard_issue(&view, &BTreeMap::new(), &[], &BTreeMap::new(), (None, now)).unwrap();
        assert_eq!(at(fixture::now()), at(fixture::now() + jiff::SignedDuration::from_mins(1)));
    }

    #[test]
    fn what_became_of_a_box_can_wait_and_what_needs_a_person_cannot() {
        assert_eq!(urgent_part(&text(None)), urgent_part(&text(Some("vera asked"))));
        assert!(text(Some("vera asked")).contains("vera asked."));
    }
}
