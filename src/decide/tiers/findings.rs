//! What is found on a tier beside the gates of an open pull request: what has landed there soaks, nothing newer is
//! ready, the hub does not show what was opened, or the bot has just taken it back.

use alloc::vec::Vec;

use crate::facts::{Facts, Told};
use crate::gate::asked::Asked;
use crate::gate::{self, health};
use crate::ledger::Wave;
use crate::plan::{Finding, Gate, Verdict, WaveReport, WaveState};
use crate::report::{about, bare, not_asked};
use crate::{Reason, Tier, Version, expiry, hotfix, member, next_release, regression, release, rollback, slice};

/// A wave on the base branch that keeps its tier occupied.
pub(super) fn landed(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> Told {
    between(facts, tier_index, wave, Vec::new())
}

/// The same, and what its next slice waits for beside the health of those that have moved.
pub(super) fn between(facts: &Facts<'_>, tier_index: usize, wave: &Wave, beside: Vec<Finding>) -> Told {
    let rules = hotfix::rules(facts, &facts.policy.tiers[tier_index], &wave.version);
    let tier = rules.as_ref();
    let health = member::assess(facts, tier, wave);
    let mut findings = elsewhere(facts, tier, &wave.version);
    findings.extend(health::findings(wave, tier, &health, facts.now));
    let whole = slice::following(facts, tier, wave).is_none();
    if !whole {
        findings.retain(|finding| finding.gate != Gate::Soak);
    }
    findings.extend(beside);
    findings.extend(whole.then(|| gate::verify::of_the_tier(facts, tier, wave)).flatten());
    let mut alarms = Vec::new();
    if let Some(landed) = wave.landed().filter(|_| wave.converged.is_none()) {
        let members = Vec::new();
        let deadline = tier.health.progress_deadline;
        alarms.extend(facts.alarm(landed.at + deadline, Reason::PastProgressDeadline { deadline, members }));
    }
    for finding in &findings {
        if let Verdict::Wait { until: Some(until) } = finding.verdict {
            alarms.extend(facts.alarm(until, finding.because.clone()));
        }
    }
    alarms.extend(facts.soon());
    Told { report: about(facts, tier_index, wave, findings, health.members.clone()), alarms }
}

/// That a release which has landed here failed on another tier: it stays, and goes no further.
fn elsewhere(facts: &Facts<'_>, tier: &Tier, version: &Version) -> Vec<Finding> {
    let other = release::failed_on(facts, version).filter(|(failed, _)| **failed != tier.name);
    let held = other.and_then(|_| release::held(facts, version));
    held.map(|obstacle| Finding::fail(Gate::Release, obstacle.why)).into_iter().collect()
}

/// A tier with nothing to take: what runs there, or what last failed or was refused.
pub(super) fn idle(facts: &Facts<'_>, tier_index: usize) -> Told {
    let tier = &facts.policy.tiers[tier_index];
    let running = facts.base(&tier.name).highest().cloned();
    let refused = facts
        .page
        .last(&tier.name)
        .filter(|wave| wave.landed().is_none() && running.as_ref().is_none_or(|running| wave.version > *running));
    let own = running.as_ref().and_then(|running| facts.page.wave(&tier.name, running));
    match (refused, own) {
        (Some(wave), _) => {
            let mut findings = alloc::vec![
                gate::release::finding(&Asked::of(facts, tier_index, &wave.version)),
                gate::release::rejection(&Asked::of(facts, tier_index, &wave.version))
            ];
            let newer = next_release::passed_over(facts, tier_index).filter(|version| *version > wave.version);
            findings.extend(newer.map(|version| gate::release::finding(&Asked::of(facts, tier_index, &version))));
            about(facts, tier_index, wave, findings, not_asked(wave)).into()
        }
        (None, Some(wave)) if !wave.is_over() => {
            let rest = slice::following(facts, tier, wave)
                .map(|_| gate::release::finding(&Asked::of(facts, tier_index, &wave.version)));
            between(facts, tier_index, wave, rest.into_iter().filter(|f| !f.verdict.lets_through()).collect())
        }
        (None, Some(wave)) => {
            let health = member::assess(facts, tier, wave);
            let mut findings = health::findings(wave, tier, &health, facts.now);
            if wave.failed().is_none() {
                // What was let through stays said.
                findings.retain(|finding| matches!(finding.verdict, Verdict::Waived { .. }));
                findings.extend(elsewhere(facts, tier, &wave.version));
            }
            findings.extend(rollback::held(facts, tier_index));
            if regression::watched_until(wave, tier, facts.now).is_some() {
                findings.push(Finding::pass(Gate::Health, Reason::Watched { of: tier.watch }));
            }
            findings.extend(expiry::marks(facts, tier));
            findings.extend(passed_over(facts, tier_index));
            about(facts, tier_index, wave, findings, health.members.clone()).into()
        }
        (None, None) => {
            let finding = Finding::wait(Gate::TierBelow, Reason::NothingNewer { version: running.clone() });
            let findings =
                passed_over(facts, tier_index).into_iter().chain(expiry::marks(facts, tier)).chain([finding]).collect();
            bare(facts, tier_index, None, WaveState::Idle { running }, findings).into()
        }
    }
}

/// A tier without clusters, which releases pass.
pub(super) fn passed(facts: &Facts<'_>, tier_index: usize) -> WaveReport {
    let tier = facts.policy.tiers[tier_index].name.clone();
    let running = facts.base(&tier).highest().cloned();
    let finding = Finding::pass(Gate::Release, Reason::EmptyTierPassed { tier });
    bare(facts, tier_index, None, WaveState::Idle { running }, alloc::vec![finding])
}

/// Why the newest release that is ready for an idle tier is not taken.
fn passed_over(facts: &Facts<'_>, tier_index: usize) -> Option<Finding> {
    let version = next_release::passed_over(facts, tier_index)?;
    Some(gate::release::finding(&Asked::of(facts, tier_index, &version)))
}

/// A wave whose pull request the hub has not shown yet.
pub(super) fn opening(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> WaveReport {
    let own = wave.own();
    let asked = Asked::of(facts, tier_index, &wave.version).of_part(&wave.part, &own);
    let findings = match wave.rolls_back() {
        Some(_) => rollback::before_opening(&asked),
        None => gate::before_opening(&asked),
    };
    about(facts, tier_index, wave, findings, not_asked(wave))
}

/// A wave that the bot has just taken back.
pub(super) fn withdrawn(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Option<WaveReport> {
    let wave = facts.page.wave(&facts.policy.tiers[tier_index].name, version)?;
    let finding = match wave.rolls_back() {
        Some(_) => rollback::held(facts, tier_index),
        None => Some(gate::release::finding(&Asked::of(facts, tier_index, version))),
    };
    Some(about(facts, tier_index, wave, finding.into_iter().collect(), not_asked(wave)))
}
