//! `/coldframe force <why>`: two people who may (or as many as the file says) want it merged now, without the
//! missing approvals. Their word stands for the deadline and its notices and for nothing else: it is
//! about this release, this tier and this head, and the ledger's deadline stays what it is.

use alloc::boxed::Box;
use alloc::vec::Vec;

use jiff::Timestamp;

use super::{about, approvals, grace};
use crate::commands::{Force, Word};
use crate::facts::Facts;
use crate::ledger::{ForceEvidence, Head, Purpose, Said, Wave};
use crate::model::{Merge, Tier};
use crate::plan::{Finding, Gate};
use crate::snapshot::{Pull, PullState};
use crate::{Person, Reason};

/// Waives the approvals where a word counts; says why where none does.
pub(super) fn consider(
    facts: &Facts<'_>,
    tier: &Tier,
    wave: &Wave,
    pull: &Pull,
    findings: &mut Vec<Finding>,
) -> Option<ForceEvidence> {
    let words: Vec<&Word<'_, Force<'_>>> =
        facts.commands(pull).forces.iter().filter(|word| *word.by != facts.snapshot.hub.bot).collect();
    let mut counts: Vec<&Word<'_, Force<'_>>> = Vec::new();
    for word in words.iter().filter(|word| void(facts, tier, wave, pull, word).is_none()) {
        if !counts.iter().any(|other| other.by == word.by) {
            counts.push(word);
        }
    }
    let Some(word) = counts.first() else {
        let why = words.last().and_then(|word| void(facts, tier, wave, pull, word));
        say(findings, why);
        return None;
    };
    let blocked = never(tier, wave).or_else(|| grace::blocker(facts, pull));
    if let Some(why) = blocked {
        let because = Reason::ForceWaits { by: word.by.clone(), why: Box::new(why) };
        say(findings, Some(Finding::wait(Gate::Approvals, because)));
        return None;
    }
    let asked = facts.snapshot.policy.force_by();
    let by: Vec<Person> = counts.iter().take(asked).map(|word| word.by.clone()).collect();
    let Some(last) = counts.get(asked - 1) else {
        let missing = u32::try_from(asked - counts.len()).unwrap_or(u32::MAX);
        say(findings, Some(Finding::wait(Gate::Approvals, Reason::ForceNeedsSecond { by, missing })));
        return None;
    };
    let said = Said { by: word.by.clone(), at: word.at, why: word.what.why.into() };
    // The period runs on for whoever reads the ledger; nobody waits for its end any more.
    findings.retain(|finding| finding.gate != Gate::Grace);
    let because = Finding::pass(Gate::Grace, Reason::ForceSaid { by, why: said.why.clone() });
    let evidence = grace::waive(facts, findings, last.at, because)?;
    Some(ForceEvidence { said: Some(said), ..evidence })
}

/// Why a word does not count: its author's rights are not known, or it was said about another commit. Who
/// wrote a commit of the branch forces nothing either: the head has to be the bot's own, on the base branch.
fn void(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull, word: &Word<'_, Force<'_>>) -> Option<Finding> {
    if let Some(why) = word.what.unread {
        let what = alloc::format!("whether {} may force it", word.by);
        return Some(Finding::unread(Gate::Approvals, &what, why));
    }
    // The hub's times have whole seconds.
    let since = holds_since(facts, tier, wave, pull);
    let about_it = since.is_some_and(|since| word.at.as_second() >= since.as_second());
    let because = || Reason::ForceVoid { by: word.by.clone(), head: pull.head.clone() };
    (!about_it).then(|| Finding::wait(Gate::Approvals, because()))
}

/// Since when the pull request holds the wave's commit for sure, by the hub's clock.
fn holds_since(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull) -> Option<Timestamp> {
    if opened_with(facts, tier, wave, pull) {
        return Some(pull.opened_at);
    }
    let is_about = |shown: &&Head| about::same(facts, wave, pull).any(|head| head.commit == shown.commit);
    let shown = wave.shown.as_ref().filter(is_about)?;
    // In the second in which we saw it first it may have been said before.
    Some(shown.at + jiff::SignedDuration::from_secs(1))
}

/// Whether the pull request was opened with the commit that it holds, and never held one of ours that changes something
/// else.
fn opened_with(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull) -> bool {
    let [head, later @ ..] = wave.heads.as_slice() else { return false };
    if about::same(facts, wave, pull).count() != later.len() + 1 {
        return false;
    }
    let slack = facts.snapshot.hub.skew.abs().as_secs();
    let mut others = facts.page.tiers.get(&tier.name).into_iter().flatten().filter(|other| *other != wave);
    let had = |other: &Wave| other.pull.as_ref().is_some_and(|announced| announced.number == pull.number);
    is_current(wave, pull) && pull.opened_at.as_second() + slack >= head.at.as_second() && !others.any(had)
}

fn is_current(wave: &Wave, pull: &Pull) -> bool {
    wave.head().is_some_and(|head| head.commit == pull.head)
}

/// The commit of a wave when an older pull request is first seen to hold it.
pub(crate) fn shown_late(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull) -> Option<Head> {
    let is_about = |shown: &Head| about::same(facts, wave, pull).any(|head| head.commit == shown.commit);
    let known = wave.shown.as_ref().is_some_and(is_about);
    let late = pull.state == PullState::Open && is_current(wave, pull) && !opened_with(facts, tier, wave, pull);
    (late && !known).then(|| Head { commit: pull.head.clone(), at: facts.hub_now(), repeats: false })
}

/// What nobody's word forces: what the policy leaves to a person, a way back, and clusters that need not
/// have it yet.
fn never(tier: &Tier, wave: &Wave) -> Option<Reason> {
    match &wave.part.purpose {
        Purpose::RollBack { .. } | Purpose::Early => return Some(Reason::NeverForced),
        Purpose::Promotion | Purpose::CatchUp => {}
    }
    match approvals::rule(tier, wave) {
        Merge::Manual => Some(Reason::ManualMerge),
        Merge::Automatic | Merge::Approved => None,
    }
}

/// Puts it beside what is said about the approvals.
fn say(findings: &mut Vec<Finding>, what: Option<Finding>) {
    let at = findings.iter().position(|finding| finding.gate == Gate::Approvals);
    if let (Some(at), Some(what)) = (at, what) {
        findings.insert(at + 1, what);
    }
}

#[cfg(test)]
mod tests;
