//! What is said about each tier and each climbing release. Nothing is decided here.

use alloc::vec::Vec;

use jiff::Timestamp;

use crate::facts::Facts;
use crate::ledger::{Closed, Part, State, Wave};
use crate::member;
use crate::plan::{Climb, ClimbTier, Finding, Members, WaveReport, WaveState};
use crate::slice::{self, Portion};
use crate::snapshot::Pull;
use crate::{Version, hotfix, source};

/// A tier about which nothing can be decided.
pub(crate) fn blocked(facts: &Facts<'_>, tier_index: usize, troubles: Vec<Finding>) -> WaveReport {
    let tier = &facts.policy.tiers[tier_index];
    let wave = facts.page.last(&tier.name).cloned();
    let mut report = match &wave {
        Some(wave) => about(facts, tier_index, wave, troubles, Members::default()),
        None => bare(
            facts,
            tier_index,
            None,
            WaveState::Idle { running: facts.base(&tier.name).highest().cloned() },
            troubles,
        ),
    };
    // People read the reason on the pull request, even where no wave of the ledger knows it.
    if let Some(pull) = facts.open_pull(&tier.name) {
        report.pull = Some(pull.number);
        report.version = pull.version.clone().or(report.version);
        report.state = WaveState::Open { pull: Some(pull.number), since: pull.opened_at };
    }
    report
}

/// A part of a climb that gets its pull request now, or waits for something before it.
pub(crate) fn portion(
    facts: &Facts<'_>,
    tier_index: usize,
    version: &Version,
    next: &Portion,
    findings: Vec<Finding>,
) -> WaveReport {
    WaveReport {
        part: next.part.clone(),
        from: slice::from(facts, &facts.policy.tiers[tier_index], &next.members),
        members: Members::not_asked(next.members.clone()),
        ..bare(facts, tier_index, Some(version), WaveState::Waiting, findings)
    }
}

/// A wave with its pull request.
pub(crate) fn open(
    facts: &Facts<'_>,
    tier_index: usize,
    wave: &Wave,
    pull: &Pull,
    findings: Vec<Finding>,
) -> WaveReport {
    WaveReport { pull: Some(pull.number), ..about(facts, tier_index, wave, findings, not_asked(wave)) }
}

/// A release that is meant for this tier and has no pull request yet.
pub(crate) fn waiting(facts: &Facts<'_>, tier_index: usize, version: &Version, findings: Vec<Finding>) -> WaveReport {
    bare(facts, tier_index, Some(version), WaveState::Waiting, findings)
}

/// The climb of every release that a report of this plugin is about.
pub(crate) fn climbs(facts: &Facts<'_>, told: &[WaveReport]) -> Vec<Climb> {
    let mut versions: Vec<&Version> = told.iter().filter_map(|report| report.version.as_ref()).collect();
    // Of versions that are the same the one that was told of first, as it is spelled there.
    versions.sort();
    versions.dedup();
    let climb = |version: &Version| {
        let tiers = facts.policy.tiers.iter().map(|tier| climb_tier(facts, tier, version)).collect();
        Climb { plugin: facts.plugin().clone(), version: version.clone(), tiers }
    };
    versions.into_iter().rev().map(climb).collect()
}

fn climb_tier(facts: &Facts<'_>, tier: &crate::Tier, version: &Version) -> ClimbTier {
    match facts.page.wave(&tier.name, version) {
        Some(wave) => ClimbTier {
            tier: tier.name.clone(),
            state: state(facts, wave, tier),
            members: u32::try_from(wave.clusters().len()).unwrap_or(u32::MAX),
            pull: wave.pull.as_ref().map(|pull| pull.number),
        },
        None => ClimbTier { tier: tier.name.clone(), state: WaveState::Waiting, members: 0, pull: None },
    }
}

/// A wave, whatever has become of it.
pub(crate) fn about(
    facts: &Facts<'_>,
    tier_index: usize,
    wave: &Wave,
    findings: Vec<Finding>,
    members: Members,
) -> WaveReport {
    let tier = &*hotfix::rules(facts, &facts.policy.tiers[tier_index], &wave.version);
    WaveReport {
        from: wave.from.clone(),
        digest: wave.digest.clone(),
        grace: wave.grace.clone(),
        rollback_of: wave.rolls_back().cloned(),
        forced: wave.merging.as_ref().and_then(|merging| merging.forced.clone()),
        pull: wave.pull.as_ref().map(|pull| pull.number),
        ..plain(facts, tier_index, Some(&wave.version), state(facts, wave, tier), findings, wave.part.clone(), members)
    }
}

/// A release that would come with its first portion, or nothing at all.
pub(crate) fn bare(
    facts: &Facts<'_>,
    tier_index: usize,
    version: Option<&Version>,
    state: WaveState,
    findings: Vec<Finding>,
) -> WaveReport {
    let first = slice::first(facts, &facts.policy.tiers[tier_index]);
    WaveReport {
        digest: version.and_then(|version| source::pinned(facts, version)),
        ..plain(facts, tier_index, version, state, findings, first.part, Members::not_asked(first.members))
    }
}

fn plain(
    facts: &Facts<'_>,
    tier_index: usize,
    version: Option<&Version>,
    state: WaveState,
    findings: Vec<Finding>,
    part: Part,
    members: Members,
) -> WaveReport {
    let tier = &facts.policy.tiers[tier_index];
    WaveReport {
        plugin: facts.plugin().clone(),
        tier: tier.name.clone(),
        tier_index: u32::try_from(tier_index + 1).unwrap_or(u32::MAX),
        of: u32::try_from(facts.policy.tiers.len()).unwrap_or(u32::MAX),
        version: version.cloned(),
        part,
        from: facts.base(&tier.name).lowest().cloned(),
        digest: None,
        state,
        rollback_of: None,
        findings,
        members,
        pinned: facts.pinned_of(tier),
        grace: None,
        forced: None,
        pull: None,
    }
}

/// The clusters of a wave, whose health does not matter now.
pub(crate) fn not_asked(wave: &Wave) -> Members {
    Members::not_asked(wave.members.clone())
}

/// Where a wave stands, derived from its evidence.
fn state(facts: &Facts<'_>, wave: &Wave, tier: &crate::Tier) -> WaveState {
    match wave.state() {
        State::Failed(failed) => WaveState::Failed { at: failed.at, why: failed.why.clone() },
        State::Finished(at) => WaveState::Finished { at },
        State::Closed(Closed::Rejected(no)) => WaveState::Rejected { at: no.at, by: no.by.clone(), pull: no.pull },
        // It ends with the slices that have moved.
        State::Closed(Closed::Withdrawn(_)) if slice::ends_early(facts, tier, wave) => {
            let landed = facts.page.landed_with(&tier.name, wave).into_iter().next_back();
            soaking(facts, wave, tier, landed.and_then(Wave::landed).map_or(wave.begun, |it| it.at))
        }
        State::Closed(Closed::Withdrawn(withdrawn)) => {
            WaveState::Withdrawn { at: withdrawn.at, why: withdrawn.why.clone() }
        }
        State::Closed(Closed::Superseded(superseded)) | State::Overtaken(superseded) => {
            WaveState::Superseded { at: superseded.at, by: superseded.by.clone() }
        }
        State::Landed(landed) | State::LandedAnyway(landed) => soaking(facts, wave, tier, landed.at),
        State::Open => WaveState::Open {
            pull: wave.pull.as_ref().map(|pull| pull.number),
            since: wave.pull.as_ref().map_or(wave.begun, |pull| pull.at),
        },
    }
}

/// How far a wave has come since it landed.
fn soaking(facts: &Facts<'_>, wave: &Wave, tier: &crate::Tier, landed: Timestamp) -> WaveState {
    match wave.soak.filter(|_| wave.converged.is_some() && slice::following(facts, tier, wave).is_none()) {
        Some(soaked) => WaveState::Soaking {
            landed,
            healthy_for: soaked.healthy_for,
            until: soaked.until,
            of: tier.soak.min,
            paused: soaked.paused,
        },
        None => {
            let healthy = u32::try_from(member::assess(facts, tier, wave).healthy()).unwrap_or(u32::MAX);
            WaveState::Converging { landed, healthy }
        }
    }
}

#[cfg(test)]
mod tests;
