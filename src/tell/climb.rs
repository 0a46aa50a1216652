//! The climb of a release, tier by tier, and the evidence of a forced merge, as the pull request
//! shows them.

use decide::plan::{Climb, ClimbTier, WaveReport, WaveState};
use decide::reason::spell;
use decide::{PluginName, TierName};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::page::PullFacts;
use super::{Links, inert, words};

/// One tier in the climb of the release.
#[derive(Serialize)]
pub(crate) struct Step {
    tier: String,
    emoji: &'static str,
    text: String,
    pull: Option<String>,
    url: String,
    since: String,
}

/// Why a merge without the missing approvals was allowed.
#[derive(Serialize)]
pub(crate) struct Forced {
    deadline: Option<String>,
    said: Option<SaidSo>,
    notices: Vec<String>,
    held: Vec<String>,
    waived: String,
    policy: String,
}

/// Who wanted it merged without the missing approvals.
#[derive(Serialize)]
pub(crate) struct SaidSo {
    by: String,
    at: String,
    why: String,
}

/// A line per tier. What has finished a tier says nothing of those above, whose own pull requests do: it would be
/// rewritten for as long as the climb lasts.
pub(crate) fn steps(facts: &PullFacts<'_>, climb: &Climb) -> Vec<Step> {
    let told = if goes_on(facts, climb) { own(facts, climb) + 1 } else { climb.tiers.len() };
    let rows = climb.tiers.iter().take(told).enumerate().map(|(index, at)| {
        let here = at.tier == facts.wave.tier;
        let zone = facts.links.zone(&climb.plugin, &at.tier);
        let look = if here { words::wave(facts.wave) } else { words::state(&at.state) };
        let pull = at.pull.filter(|_| !here && !facts.links.repo.is_empty());
        Step {
            tier: at.tier.to_string(),
            emoji: look.emoji,
            text: tier_text(
                at,
                climb.tiers.get(..index).unwrap_or(&[]),
                here.then_some(look.word),
                facts.links,
                &climb.plugin,
            ),
            pull: pull.map(|pull| pull.to_string()),
            url: pull.map_or_else(String::new, |pull| facts.links.pull(pull)),
            since: words::since(&at.state).map_or_else(String::new, |at| words::when(at, &zone)),
        }
    });
    rows.take(60).collect()
}

/// Whether the release has finished this tier, and there are tiers above.
pub(crate) fn goes_on(facts: &PullFacts<'_>, climb: &Climb) -> bool {
    matches!(facts.wave.state, WaveState::Finished { .. }) && own(facts, climb) + 1 < climb.tiers.len()
}

/// The place of its tier in the climb.
fn own(facts: &PullFacts<'_>, climb: &Climb) -> usize {
    climb.tiers.iter().position(|at| at.tier == facts.wave.tier).unwrap_or(climb.tiers.len())
}

/// Where the release stands on a tier. `below` are the tiers under it; `here` is the word for the
/// tier of this pull request.
fn tier_text(at: &ClimbTier, below: &[ClimbTier], here: Option<&str>, links: &Links, plugin: &PluginName) -> String {
    let on = match at.members {
        0 => String::new(),
        members => format!(", {}", words::count(members as usize, "cluster")),
    };
    match (&at.state, here) {
        (WaveState::Waiting | WaveState::Idle { .. }, _) => ahead(below, links, plugin),
        (WaveState::Open { .. } | WaveState::Failed { .. } | WaveState::Rejected { .. }, Some(word)) => {
            format!("{word}: this pull request")
        }
        (WaveState::Open { .. }, None) => "open".to_string(),
        (WaveState::Converging { .. }, _) => format!("rolling out{on}"),
        (WaveState::Soaking { of, paused: false, .. }, _) => format!("soaking for {}{on}", spell(*of)),
        (WaveState::Soaking { of, paused: true, .. }, _) => format!("the soak of {} stands still{on}", spell(*of)),
        (WaveState::Finished { .. }, _) => format!("finished{on}"),
        (WaveState::Failed { why, .. }, None) => format!("failed: {}", inert::cut(&why.to_string(), 200)),
        (WaveState::Rejected { by: Some(by), .. }, None) => format!("rejected by {by}"),
        (WaveState::Rejected { by: None, .. }, None) => "rejected".to_string(),
        (WaveState::Superseded { by, .. }, _) => format!("superseded by {by}"),
        (WaveState::Withdrawn { why, .. }, _) => format!("taken back: {}", inert::cut(&why.to_string(), 200)),
    }
}

/// What has to happen below before the release comes to a tier.
fn ahead(below: &[ClimbTier], links: &Links, plugin: &PluginName) -> String {
    let stopped = |at: &&ClimbTier| words::end(&at.state).is_some();
    if let Some(end) = below.iter().rev().find(stopped) {
        return format!("does not get it: {} on {}", words::state(&end.state).word, end.tier);
    }
    match below.last().filter(|below| !matches!(below.state, WaveState::Finished { .. })) {
        Some(below) => {
            let soak = links.tier(plugin, &below.tier).map_or(SignedDuration::ZERO, |tier| tier.soak);
            let then = if soak.is_zero() { String::new() } else { format!(", then {} of health", spell(soak)) };
            format!("waits for {}{then}", below.tier)
        }
        None => "comes next".to_string(),
    }
}

/// This tier and those above it: what a no to this release covers.
pub(crate) fn above(climb: &Climb, tier: &TierName) -> String {
    let tiers = climb.tiers.iter().skip_while(|at| at.tier != *tier);
    words::and(&tiers.map(|at| at.tier.to_string()).collect::<Vec<_>>())
}

/// The evidence of a forced merge.
pub(crate) fn forced(wave: &WaveReport, zone: &TimeZone) -> Option<Forced> {
    let evidence = wave.forced.as_ref()?;
    let notice = |notice: &decide::snapshot::SentNotice| {
        format!("{} before the deadline, on {}", spell(notice.before), words::when(notice.at, zone))
    };
    Some(Forced {
        deadline: evidence.deadline.map(|deadline| words::when(deadline, zone)),
        said: evidence.said.as_ref().map(|said| SaidSo {
            by: inert::line(said.by.as_str()),
            at: words::when(said.at, zone),
            why: inert::line(&said.why),
        }),
        notices: evidence.notices.iter().map(notice).collect(),
        held: evidence.held.iter().take(40).map(|sentence| inert::line(sentence)).collect(),
        waived: inert::line(evidence.waived.strip_prefix("waits for ").unwrap_or(&evidence.waived)),
        policy: evidence.policy.short().to_string(),
    })
}
