//! Hotfixes (policy, section 3): which waves are some, by the file or by a command, and what they may that
//! others may not. They never skip the proof of their version, and the order of the tiers stays.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::commands::Word;
use crate::facts::Facts;
use crate::gate::asked::AskedOpen;
use crate::gate::window;
use crate::ledger::{Entry, Hotfixed, Purpose, Wave};
use crate::model::{Hotfix, Tier};
use crate::obstacle::Lasts;
use crate::plan::{Finding, Gate, Verdict};
use crate::snapshot::{LedgerGuard, LedgerState};
use crate::{PullNumber, Reason, TierName, Version, release, source};

/// Words of people by which a release becomes a hotfix, and that the ledger does not know yet. A version that the source
/// does not list is nothing yet.
pub(crate) fn fresh(facts: &Facts<'_>) -> Vec<Entry> {
    let mut fresh: Vec<Hotfixed> = Vec::new();
    for word in said(facts) {
        let known = facts.page.hotfixes.contains(&word) || fresh.contains(&word);
        if !known && source::find(facts, &word.hotfix.version).is_ok() {
            fresh.push(word);
        }
    }
    fresh.into_iter().map(|said| Entry::Hotfix { plugin: facts.plugin().clone(), said }).collect()
}

/// The hotfixes of the file and of people's words; none where nobody said anything. A command lets something through as
/// the hub confirms it; a memory of it, where only the bots write it.
pub(crate) fn known(facts: &Facts<'_>) -> Option<Vec<Hotfix>> {
    let said = said(facts);
    let believed = matches!(facts.snapshot.ledger_state, LedgerState::Intact { guarded: LedgerGuard::Sealed });
    let known = facts.page.hotfixes.iter().filter(|word| believed || said.contains(word));
    let mut known = known.map(|word| word.hotfix.clone()).peekable();
    known.peek()?;
    let mut all = facts.policy.hotfixes.clone();
    known.for_each(|hotfix| join(&mut all, hotfix));
    Some(all)
}

/// What people who may have said on our pull requests of this plugin, in the order in which they did.
fn said(facts: &Facts<'_>) -> Vec<Hotfixed> {
    let words =
        facts.all_commands().flat_map(|(pull, commands)| commands.hotfixes.iter().map(move |word| (pull, word)));
    let mut said: Vec<Hotfixed> = words.map(|(pull, word)| hotfixed(pull, word)).collect();
    said.sort_by_key(|word: &Hotfixed| (word.at, word.pull));
    said
}

fn hotfixed(pull: PullNumber, word: &Word<'_, &Hotfix>) -> Hotfixed {
    Hotfixed { hotfix: word.what.clone(), by: word.by.clone(), at: word.at, pull }
}

/// What is said twice of a version is what both say together: the shorter soak, and through windows where
/// one of them says so.
fn join(all: &mut Vec<Hotfix>, hotfix: Hotfix) {
    match all.iter_mut().find(|known| known.version == hotfix.version) {
        Some(known) => {
            known.soak = known.soak.into_iter().chain(hotfix.soak).min();
            known.through_windows |= hotfix.through_windows;
        }
        None => all.push(hotfix),
    }
}

/// What makes a version a hotfix, by the file or by a command.
pub(crate) fn entry<'d>(facts: &'d Facts<'_>, version: &Version) -> Option<&'d Hotfix> {
    facts.hotfixes.iter().find(|hotfix| hotfix.version == *version)
}

/// Whether a wave is one: its version is named as one, or it takes a failed release back.
pub(crate) fn is_one(facts: &Facts<'_>, wave: &Wave) -> bool {
    let takes_back = match &wave.part.purpose {
        Purpose::RollBack { .. } => true,
        Purpose::Promotion | Purpose::CatchUp | Purpose::Early => false,
    };
    takes_back || entry(facts, &wave.version).is_some()
}

/// The rules of a tier for a version: a hotfix may have a shorter soak of its own.
pub(crate) fn rules<'a>(facts: &Facts<'_>, tier: &'a Tier, version: &Version) -> Cow<'a, Tier> {
    match entry(facts, version).and_then(|hotfix| hotfix.soak) {
        Some(soak) => {
            let mut tier = tier.clone();
            tier.soak.min = tier.soak.min.min(soak);
            Cow::Owned(tier)
        }
        None => Cow::Borrowed(tier),
    }
}

/// Lets a hotfix through closed windows where the file or a command says so; the operator's windows are not
/// theirs to open. What is merged by force waits for all of them, and so does a way back to what once was a
/// hotfix.
pub(crate) fn through_windows(facts: &Facts<'_>, wave: &Wave, findings: &mut [Finding]) {
    let hotfix = entry(facts, &wave.version).filter(|hotfix| hotfix.through_windows && wave.rolls_back().is_none());
    let Some(hotfix) = hotfix else { return };
    let closed = findings.iter_mut().find(|finding| finding.gate == Gate::Window && !finding.verdict.lets_through());
    if let Some(closed) = closed {
        let operators = window::operators(facts);
        if !operators.verdict.lets_through() {
            *closed = operators;
            return;
        }
        let because = Reason::HotfixThroughWindows { why: hotfix.why.clone(), closed: closed.because.clone().into() };
        *closed = Finding::new(Gate::Window, Verdict::Waived { since: wave.begun }, because);
    }
}

/// Says on an open wave that a command made it a hotfix; and on the pull request that carries a command
/// which changes nothing, why it does not.
pub(crate) fn findings(open: &AskedOpen<'_>) -> Vec<Finding> {
    let AskedOpen { facts, wave, pull, .. } = *open;
    let counts = |word: &&Hotfixed| word.hotfix.version == wave.version && entry(facts, &wave.version).is_some();
    let one = facts.page.hotfixes.iter().rfind(counts);
    let one = one.map(|word| Reason::HotfixByCommand { by: word.by.clone(), why: word.hotfix.why.clone() });
    let void = facts.commands(pull).hotfixes.iter().filter_map(|word| {
        let version = word.what.version.clone();
        let why = Box::new(void(facts, &version)?);
        Some(Reason::HotfixVoid { by: word.by.clone(), version, why })
    });
    one.into_iter().chain(void).map(|why| Finding::pass(Gate::Release, why)).collect()
}

/// Why naming a version a hotfix changes nothing: it may not climb, or something newer runs everywhere.
fn void(facts: &Facts<'_>, version: &Version) -> Option<Reason> {
    let lowest = facts.policy.tiers.iter().filter_map(|tier| facts.base(&tier.name).lowest().cloned()).min();
    let newer = lowest.filter(|lowest| lowest > version).map(|by| Reason::Superseded { by });
    let stopped = || release::stopped(facts, 0, version).filter(|obstacle| obstacle.lasts != Lasts::Unread);
    newer.or_else(|| stopped().map(|obstacle| obstacle.why))
}

/// Whether the grace period of a wave starts anew although its pull request was there before: people
/// were told about another release.
pub(crate) fn restarts_clock(facts: &Facts<'_>, tier: &TierName, wave: &Wave) -> bool {
    let moved = facts.page.tiers.get(tier).into_iter().flatten().any(|older| {
        older.gave_way_to(wave)
            && older.pull.as_ref().map(|pull| pull.number) == wave.pull.as_ref().map(|pull| pull.number)
    });
    moved && is_one(facts, wave)
}

#[cfg(test)]
mod tests;
