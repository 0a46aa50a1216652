//! The planner: settles what the world shows into entries, then decides each tier from the bottom
//! up, one plugin after another. What a single gate says is in `gate`; what a wave's clusters say is in
//! `member` and `soak`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use jiff::Timestamp;

use crate::facts::{Common, Decided, Draft, Facts, Fresh, Shared};
use crate::ledger::{Entry, Rebuild};
use crate::plan::{Plan, Record, Urgency};
use crate::proof;
use crate::snapshot::{LedgerState, Snapshot};
use crate::{PluginName, Sha, after, frozen, report, settle, tiers};

/// Decides everything about one repository at one instant. Pure: the same snapshot and the same
/// `now` give the same plan.
pub fn plan(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let common = Common::of(snapshot, now);
    let freezes = frozen::read(&common);
    let (proofs, stopped) = proof::read(snapshot, now);
    let mut entries = rebuilds(&common);
    entries.extend(freezes.entries);
    entries.extend(stopped);
    let anew = || Shared { freezes: freezes.all.clone(), proofs: proofs.clone(), ..Shared::count(snapshot, now) };
    let (mut decided, mut shared) = pass(&common, anew());
    // Whose turn it is under what all share is known when all of them were decided.
    let (overtaken, jumped) = (shared.was_overtaken(), shared.jumped_the_line());
    let due = if overtaken { shared.ready.clone() } else { Vec::new() };
    let kept = if jumped { shared.line.clone() } else { Vec::new() };
    let once_more = |past: Option<Fresh>| {
        let anew = anew();
        let first = anew.first.clone().or(past);
        Shared { due: due.clone(), kept: kept.clone(), first, ..anew }
    };
    // Who merges first, only when it is known who has room under the cap: else the one would wait for the other.
    let mut past = shared.merged_past().filter(|_| !overtaken);
    if overtaken || jumped || past.is_some() {
        (decided, shared) = pass(&common, once_more(past.clone()));
        if let Some(first) = shared.merged_past().filter(|_| overtaken) {
            (decided, shared) = pass(&common, once_more(Some(first.clone())));
            past = Some(first);
        }
    }
    // Who comes up to date, only when it is known what merges.
    let (next, in_vain) = (shared.passed_over(), shared.comes_up_in_vain());
    if next.is_some() || in_vain {
        let anew = once_more(past);
        decided = pass(&common, Shared { next, bringing: anew.bringing || in_vain, ..anew }).0;
    }
    whole(entries, decided)
}

/// Decides each plugin once, those before which others wait for first; what was decided stands in the order of the file.
fn pass(common: &Common<'_>, mut shared: Shared) -> (Vec<Decided>, Shared) {
    let plugins = &common.snapshot.policy.plugins;
    let awaited: BTreeSet<&PluginName> =
        plugins.iter().flat_map(|plugin| &plugin.after).map(|after| &after.plugin).collect();
    let order = after::order(plugins).into_iter();
    let mut decided: Vec<(usize, Decided)> = order.map(|at| (at, decide(common, at, &mut shared, &awaited))).collect();
    decided.sort_by_key(|(at, _)| *at);
    (decided.into_iter().map(|(_, decided)| decided).collect(), shared)
}

/// The plan of all plugins, and of what is none's.
fn whole(entries: Vec<Record>, decided: Vec<Decided>) -> Plan {
    let mut plan = Plan { entries, ..Plan::default() };
    let mut alarms = Vec::new();
    for done in decided {
        plan.entries.extend(done.entries);
        plan.actions.extend(done.actions);
        plan.waves.extend(done.waves);
        plan.climbs.extend(done.climbs);
        alarms.extend(done.alarms);
    }
    plan.alarm = alarms.into_iter().min_by_key(|alarm| alarm.at);
    plan
}

fn decide<'a>(common: &'a Common<'a>, at: usize, shared: &'a mut Shared, awaited: &BTreeSet<&PluginName>) -> Decided {
    let mut draft = Draft::new(Facts::new(common, at, shared));
    settle::settle(&mut draft);
    tiers::decide(&mut draft);
    draft.climbs(report::climbs(&draft.facts, draft.told()));
    draft.close(awaited)
}

/// A lost ledger is given up when a person who may says so on one of our pull requests, naming the newest
/// of the lost commits, which is the one that we name. One word gives up every commit that is missing at
/// that moment, and none that was lost later: what is lost once more may have taken with it what we knew of
/// an earlier word, and that one is no word about this loss. A merge that did not land as planned is cleared in the
/// same way, by its head, and where that goes wrong once more, by another word.
fn rebuilds(common: &Common<'_>) -> Vec<Record> {
    let stopped = common.snapshot.ledger.stops.iter().filter(|stop| stop.cleared.is_none());
    match &common.snapshot.ledger_state {
        LedgerState::Lost { cited, .. } => settled(common, cited),
        LedgerState::Intact { .. } => {
            stopped.flat_map(|stop| settled(common, core::slice::from_ref(&stop.head))).collect()
        }
        LedgerState::Unread(_) => Vec::new(),
    }
}

/// An entry for each of these commits, where a person who may has named the last of them.
fn settled(common: &Common<'_>, cited: &[Sha]) -> Vec<Record> {
    let stops = common.snapshot.ledger.stops.iter().filter(|stop| cited.last() == Some(&stop.head));
    let cleared = stops.filter_map(|stop| stop.cleared.as_ref()).map(|cleared| cleared.at).max();
    let all = common.commands.all();
    let mut words = all.flat_map(|(_, pull, commands)| commands.rebuilds.iter().map(move |word| (pull.number, word)));
    let confirmed = words.find(|(_, word)| Some(word.at) > cleared && names_last(word.what, cited));
    let Some((pull, word)) = confirmed else { return Vec::new() };
    cited
        .iter()
        .map(|cited| Record {
            entry: Entry::Rebuilt(Rebuild { cited: cited.clone(), by: word.by.clone(), at: word.at, pull }),
            urgency: Urgency::Transition,
        })
        .collect()
}

fn names_last(named: &str, lost: &[Sha]) -> bool {
    named.len() >= 7 && lost.last().is_some_and(|sha| sha.as_str().starts_with(named))
}

#[cfg(test)]
mod tests;
