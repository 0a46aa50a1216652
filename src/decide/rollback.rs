//! The rollback: after a failed wave, the pull request that restores what ran before on that tier
//! (`onFailure: rollBack`). It is a wave of its own, of the older version. Windows, freezes, holds,
//! announcements and caps hold it like any other merge; nothing forces it.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::facts::{Base, Facts};
use crate::gate::asked::{Asked, AskedOpen};
use crate::gate::{announce, approvals, breaking, freeze, head, hold, ledger, limits, window};
use crate::gate::{release as release_gate, tier_below};
use crate::ledger::{Part, Purpose, Wave};
use crate::model::{OnFailure, Tier};
use crate::obstacle::{Lasts, Obstacle};
use crate::plan::{Finding, Gate, Proposal, Verdict};
use crate::{Reason, TierName, Version, next_release, release, slice, source};

/// What has to be restored on a tier whose wave failed, or why it must not be; none where nothing
/// failed or the file asks for no rollback.
pub(crate) fn due(facts: &Facts<'_>, tier_index: usize) -> Option<Result<Proposal, Obstacle>> {
    let tier = facts.policy.tiers.get(tier_index)?;
    let failed = failed_here(facts, tier)?.clone();
    Some(match obstacle(facts, tier_index, &failed) {
        None => proposal(facts, tier, &failed).ok_or(Obstacle::refused(Reason::NothingKnownBefore)),
        Some(obstacle) => Err(obstacle),
    })
}

/// The failed wave of the release that runs on a tier which asks for rollbacks; of one that moves in
/// slices the newest, though it may not have landed.
fn failed_here<'a>(facts: &'a Facts<'_>, tier: &Tier) -> Option<&'a Wave> {
    let base = facts.base(&tier.name);
    let wave = failed_with(facts, tier, base.highest()?)?;
    let whole = wave.part.partition.is_empty();
    // Who joined with it was not moved by the wave, and who has it back already needs nothing.
    let moved = slice::moved(facts, tier, wave);
    let here = match base {
        Base::Uniform(_) => true,
        // One place of several may be somebody's own doing; of slices it is what is to be expected, and so it is
        // where others joined, or a pin ended, with what ran before.
        Base::Mixed { .. } => !whole || (wave.landed().is_some() && slice::holds(facts, tier, &moved, &wave.version)),
        Base::Unread(_) | Base::Empty => false,
    };
    let runs = !moved.is_empty() && facts.spread(&tier.name, &moved).highest.as_ref() == base.highest();
    (here && runs).then_some(wave)
}

/// The failed wave of a release that may be taken back on a tier which asks for rollbacks.
fn failed_with<'a>(facts: &'a Facts<'_>, tier: &Tier, version: &Version) -> Option<&'a Wave> {
    match tier.on_failure {
        // Where the tier follows releases by itself, the bot opens nothing.
        OnFailure::RollBack { .. } if !tier.follows => {}
        OnFailure::RollBack { .. } | OnFailure::Hold | OnFailure::Stall => return None,
    }
    let wave = facts.page.wave(&tier.name, version)?;
    // What was taken back once, by us or by somebody, and runs again, a person has put there.
    let taken_back = wave.failed()?.is_reverted();
    let landed = |known: &Wave| known.rolls_back() == Some(&wave.version) && known.landed().is_some();
    (!taken_back && !facts.page.tiers.get(&tier.name)?.iter().any(landed)).then_some(wave)
}

/// What ran before on all clusters that have moved with a failed wave; none where it is not known, or
/// where slices came from different versions.
fn before(facts: &Facts<'_>, tier: &Tier, failed: &Wave) -> Option<Version> {
    let slices = facts.page.landed_with(&tier.name, failed);
    let before = slices.first().map_or(failed.from.as_ref(), |first| first.from.as_ref())?;
    let same = slices.iter().all(|slice| slice.from.as_ref() == Some(before));
    (same && *before < failed.version).then(|| before.clone())
}

/// Why what ran before a failed wave must not be restored.
fn obstacle(facts: &Facts<'_>, tier_index: usize, failed: &Wave) -> Option<Obstacle> {
    if failed.rolls_back().is_some() {
        return Some(Obstacle::refused(Reason::RollBackOfRollBack));
    }
    let tier = facts.policy.tiers.get(tier_index)?;
    let Some(before) = before(facts, tier, failed) else {
        return Some(Obstacle::refused(Reason::NothingKnownBefore));
    };
    if let Some(no) = refused(facts, tier, &failed.version) {
        return Some(Obstacle::refused(no));
    }
    // Both have to be listed: what is marked as breaking between them is not known otherwise.
    let own = release::stopped_on_its_way_back(facts, tier_index, &before)
        .or_else(|| source::find(facts, &failed.version).err().map(|obstacle| *obstacle))
        .or_else(|| unproved(facts, &before));
    if own.is_some() {
        return own;
    }
    let (from, to) = (before, failed.version.clone());
    breaking::is_breaking(facts, &from, &to).then(|| Obstacle::refused(Reason::BreakingBetween { from, to }))
}

/// A person said no to this very rollback.
fn refused(facts: &Facts<'_>, tier: &Tier, failed: &Version) -> Option<Reason> {
    let waves = facts.page.tiers.get(&tier.name)?.iter().filter(|wave| wave.rolls_back() == Some(failed));
    waves.filter_map(Wave::rejected).next().map(|no| Reason::Rejected { by: no.by.clone(), pull: no.pull })
}

/// The artefact has to be at the source still, with the digest that was pinned at first sight.
fn unproved(facts: &Facts<'_>, version: &Version) -> Option<Obstacle> {
    let found = match source::find(facts, version) {
        Ok(release) => release.digest.clone(),
        Err(obstacle) => return Some(*obstacle),
    };
    let same = found.is_some() && found == source::pinned(facts, version);
    (!same).then(|| Obstacle::refused(Reason::DigestUnproved { version: version.clone() }))
}

/// Every cluster that has moved gets back what it had.
fn proposal(facts: &Facts<'_>, tier: &Tier, failed: &Wave) -> Option<Proposal> {
    let to = before(facts, tier, failed)?;
    Some(Proposal {
        plugin: facts.plugin().clone(),
        tier: tier.name.clone(),
        from: Some(failed.version.clone()),
        digest: source::pinned(facts, &to),
        part: Part { purpose: Purpose::RollBack { of: failed.version.clone() }, ..Part::default() },
        members: slice::moved(facts, tier, failed).to_vec(),
        written: None,
        to,
    })
}

/// Why an open rollback has to be taken back; what could not be read waits.
pub(crate) fn withdrawal(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> Option<Reason> {
    let tier = facts.policy.tiers.get(tier_index)?;
    let running = facts.base(&tier.name);
    let of = wave.rolls_back()?;
    if let Base::Uniform(other) = &running
        && other != of
        && *other != wave.version
    {
        return Some(Reason::Superseded { by: other.clone() });
    }
    if let Some(by) = running.highest().filter(|highest| *highest > of) {
        return Some(Reason::Superseded { by: by.clone() });
    }
    let own = facts.still(tier, &wave.own());
    if own.is_empty() {
        return Some(release_gate::nobody(facts, tier));
    }
    // None of its clusters runs the failed release any more, and not all of them what it would bring.
    let own = facts.spread(&tier.name, &own);
    if let Some(by) = own.highest.filter(|highest| own.read == own.places && *highest < *of) {
        return Some(Reason::Superseded { by });
    }
    match tier.on_failure {
        OnFailure::RollBack { .. } => {}
        OnFailure::Hold | OnFailure::Stall => return Some(Reason::RollBackOff),
    }
    match obstacle(facts, tier_index, facts.page.wave(&tier.name, of)?) {
        Some(obstacle) if obstacle.is_final() => Some(obstacle.why),
        // It will hardly come back to the source: a newer release need not wait for that.
        Some(Obstacle { lasts: Lasts::Unlisted, why }) => next_release::candidate(facts, tier_index).map(|_| why),
        Some(_) | None => None,
    }
}

/// Every gate of a rollback before its pull request exists.
pub(crate) fn before_opening(asked: &Asked<'_>) -> Vec<Finding> {
    vec![
        ledger::finding(asked.facts),
        gate(asked.facts, asked.tier_index, failed_here(asked.facts, asked.tier)),
        release_gate::members(asked),
        slice::finding(asked.facts, asked.tier),
        limits::opening(asked),
    ]
}

/// Every gate of an open rollback. It asks no tier below, and steps back over nothing that breaks.
pub(crate) fn findings(open: &AskedOpen<'_>) -> Vec<Finding> {
    let AskedOpen { facts, tier_index, tier, wave, .. } = *open;
    // What it takes back it takes back, though somebody has restored a cluster, or others have come, since.
    let failed = wave.rolls_back().and_then(|failed| failed_with(facts, tier, failed));
    let mut findings = vec![
        ledger::finding(facts),
        gate(facts, tier_index, failed),
        tier_below::none_asked(),
        Finding::pass(Gate::Breaking, Reason::NotBreaking),
        release_gate::rejection(&Asked::of(facts, tier_index, &wave.version)),
        hold::finding(open),
        freeze::finding(open),
        window::finding(open),
    ];
    findings.extend(announce::finding(open));
    findings.extend([approvals::finding(open), head::finding(open), limits::merging(open)]);
    findings.extend(slice::apart(facts, tier));
    findings
}

/// Whether the rollback may happen, with what it takes back and why.
fn gate(facts: &Facts<'_>, tier_index: usize, failed: Option<&Wave>) -> Finding {
    let Some(failed) = failed else { return Finding::wait(Gate::Release, Reason::RollBackOff) };
    match (obstacle(facts, tier_index, failed), failed.failed()) {
        // Whether it comes back to the source is no question of minutes.
        (Some(Obstacle { lasts, why }), _) => match lasts {
            Lasts::Unlisted => Finding::wait(Gate::Release, why),
            Lasts::Unread | Lasts::Pending => Finding::new(Gate::Release, Verdict::Unknown, why),
            Lasts::Failed | Lasts::Outside | Lasts::Refused => Finding::fail(Gate::Release, why),
        },
        (None, Some(verdict)) => {
            let why = Box::new(verdict.why.clone());
            Finding::pass(Gate::Release, Reason::RollsBack { of: failed.version.clone(), why })
        }
        (None, None) => Finding::wait(Gate::Release, Reason::RollBackOff),
    }
}

/// Said about a failed wave whose rollback must not be.
pub(crate) fn held(facts: &Facts<'_>, tier_index: usize) -> Option<Finding> {
    let because = |why: Reason| Reason::NoRollBack { why: Box::new(why) };
    match due(facts, tier_index)? {
        Ok(_) => None,
        Err(Obstacle { lasts: Lasts::Unread | Lasts::Pending, why }) => {
            Some(Finding::new(Gate::Release, Verdict::Unknown, because(why)))
        }
        Err(Obstacle { lasts: Lasts::Unlisted | Lasts::Failed | Lasts::Outside | Lasts::Refused, why }) => {
            Some(Finding::wait(Gate::Release, because(why)))
        }
    }
}

/// Whether a newer version left the base branch because a rollback of ours landed: that of this version, or
/// of one that came after it.
pub(crate) fn explains(facts: &Facts<'_>, tier: &TierName, running: &Version, gone: &Version) -> bool {
    let takes_back = |wave: &Wave| wave.rolls_back().is_some_and(|failed| failed >= gone);
    let landed = |wave: &&Wave| takes_back(wave) && wave.landed().is_some() && wave.merging.is_some();
    facts.page.wave(tier, running).filter(landed).is_some()
}

#[cfg(test)]
mod tests;
