//! How a tier stands: a wave climbs to it or keeps it occupied, and what ends that; or it is free, or blocked.

use alloc::vec::Vec;

use crate::facts::Facts;
use crate::ledger::{Closed, Purpose, State, Wave};
use crate::model::Tier;
use crate::obstacle::{Lasts, Obstacle};
use crate::plan::Finding;
use crate::{Reason, Version, gate, next_release, overtaking, release, rollback, slice};

/// How a tier stands before anything is done about it.
pub(super) enum Occupancy {
    /// Nothing can be decided about it, and why.
    Blocked(Vec<Finding>),
    /// The pull request of a wave is open, or about to be.
    Open(Wave),
    /// A wave on the base branch keeps newer releases out.
    Landed(Wave),
    /// It takes the next release.
    Free,
}

/// How a tier stands.
pub(super) fn occupancy(facts: &Facts<'_>, tier_index: usize) -> Occupancy {
    let tier = &facts.policy.tiers[tier_index];
    let troubles = gate::preconditions(facts, tier);
    if !troubles.is_empty() {
        return Occupancy::Blocked(troubles);
    }
    if let Some(wave) = facts.page.climbing(&tier.name) {
        return Occupancy::Open(wave.clone());
    }
    let stays = |wave: &Wave| wave.stalled().is_some() || !overtaking::passes(facts, tier_index, wave);
    occupant(facts, tier_index).filter(stays).map_or(Occupancy::Free, Occupancy::Landed)
}

/// The wave that keeps the tier occupied: on the base branch by the bot, and not yet finished. What
/// others put there is watched but keeps nobody out, unless the bot had brought it before and its workflow is owed. A climb of which slices are still to come keeps
/// the tier only while its release may go on.
fn occupant(facts: &Facts<'_>, tier_index: usize) -> Option<Wave> {
    let tier = &facts.policy.tiers[tier_index];
    let ours = |wave: &Wave| wave.head().is_some() || gate::verify::is_owed(facts, tier, wave);
    // What failed elsewhere after it came here is watched, and a newer release may take its place.
    let kept = |wave: &Wave| wave.stalled().is_some() || (ours(wave) && release::held(facts, &wave.version).is_none());
    // Clusters ahead of the tier keep nobody from its turn.
    let turn = |wave: &Wave| wave.part.purpose != Purpose::Early || wave.stalled().is_some();
    let holds = |wave: &Wave| matches!(wave.state(), State::Landed(_)) && kept(wave) && turn(wave);
    let goes_on = |wave: &Wave| {
        wave.stalled().is_some()
            || slice::following(facts, tier, wave).is_none()
            || !cannot_go_on(facts, tier_index, wave)
    };
    let landed = facts.page.present(&tier.name, holds).next_back().filter(|wave| slice::is_there(facts, tier, wave));
    landed.cloned().or_else(|| taken_back(facts, tier)).filter(|wave| goes_on(wave))
}

/// Why an open wave has to be taken back: its release was stopped, or lost the tier below.
pub(super) fn withdrawal(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> Option<Reason> {
    if facts.policy.tiers[tier_index].follows {
        return Some(Reason::Follows);
    }
    if wave.rolls_back().is_some() {
        return rollback::withdrawal(facts, tier_index, wave);
    }
    let stopped = release::stopped(facts, tier_index, &wave.version).filter(Obstacle::is_final);
    // A slice waits for the healing of those before it, where the file says `stall`.
    let stalls = wave.stalled().is_some() && wave.failed().is_none();
    if let Some(obstacle) = stopped.filter(|obstacle| !(stalls && obstacle.lasts == Lasts::Failed)) {
        return Some(obstacle.why);
    }
    // Somebody put a newer version on the base branch: merging would take it back. Or the tier below has gone on
    // without it: it would wait there for ever, approved or not.
    if let Some(by) = ahead(facts, tier_index, wave).or_else(|| passed_below(facts, tier_index, wave)) {
        return Some(Reason::Superseded { by });
    }
    let tier = facts.policy.tiers.get(tier_index)?;
    if facts.still(tier, &wave.own()).is_empty() {
        return Some(gate::release::nobody(facts, tier));
    }
    gate::tier_below::in_the_way(facts, tier_index, wave).or_else(|| gate::after::in_the_way(facts, tier_index, wave))
}

/// The slice before one that the bot took back: when what stopped the release is mended, it goes on
/// where it stood.
fn taken_back(facts: &Facts<'_>, tier: &Tier) -> Option<Wave> {
    let highest = facts.base(&tier.name).highest().cloned()?;
    let wave = facts.page.wave(&tier.name, &highest)?;
    let State::Closed(Closed::Withdrawn(_)) = wave.state() else { return None };
    if slice::ends_early(facts, tier, wave) {
        return Some(wave.clone());
    }
    // Where everybody has left who moved or was to, nobody is waited for.
    if slice::following(facts, tier, wave).is_none() && slice::moved(facts, tier, wave).is_empty() {
        return None;
    }
    slice::before(facts, tier, wave).filter(|earlier| earlier.version == highest)
}

/// Whether the slices that are still to come will not: the release was stopped or given up, somebody put a
/// newer one on some cluster of the climb, or the tier below has it no more.
fn cannot_go_on(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> bool {
    if next_release::abandoned_for(facts, wave).is_some() || passed_below(facts, tier_index, wave).is_some() {
        return true;
    }
    match release::stopped(facts, tier_index, &wave.version).map(|obstacle| obstacle.lasts) {
        // Who took it from the source will hardly bring it back; a newer one need not wait for that.
        Some(Lasts::Unlisted | Lasts::Failed | Lasts::Outside | Lasts::Refused) => true,
        Some(Lasts::Unread | Lasts::Pending) | None => ahead(facts, tier_index, wave).is_some(),
    }
}

/// The newer release that the tier below has finished without ever having finished a wave's, as far as a ledger
/// that was lost once still tells: it will not come back for this one. A tier below that was empty when the wave
/// was begun has let it pass, and has clusters now. For clusters ahead of their tier other gates decide.
fn passed_below(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> Option<Version> {
    match wave.part.purpose {
        Purpose::Promotion | Purpose::CatchUp => {}
        Purpose::Early | Purpose::RollBack { .. } => return None,
    }
    let below = (0..tier_index).rev().find(|below| !facts.is_passed(&facts.policy.tiers[*below]))?;
    let since = release::finished(facts, below, |version| *version >= wave.version);
    if since.contains(&wave.version) { None } else { since.into_iter().max() }
}

/// The newest version on a wave's clusters, when it is newer than the wave's own.
fn ahead(facts: &Facts<'_>, tier_index: usize, wave: &Wave) -> Option<Version> {
    let spread = facts.spread(&facts.policy.tiers.get(tier_index)?.name, &wave.clusters());
    spread.highest.filter(|highest| *highest > wave.version)
}
