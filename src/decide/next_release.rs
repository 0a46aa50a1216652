//! Which release a tier takes next (policy, section 3): `newestFinished`, `every` or `restart`. What a newer one does
//! to the wave that is there is in `overtaking`, which releases may climb at all in `release`.

use alloc::vec::Vec;

use crate::cooldown::cooling;
use crate::facts::{Base, Facts};
use crate::ledger::{Purpose, Wave};
use crate::model::{Next, Tier};
use crate::obstacle::{Lasts, Obstacle};
use crate::release::{finished, rejections, stopped};
use crate::{Version, hotfix, release, source};

/// What a tier would take next, if newer than what it runs, than what failed here and than what a
/// person said no to here; `next` says which of those that are ready.
pub(crate) fn candidate(facts: &Facts<'_>, tier_index: usize) -> Option<Version> {
    let newer = newer(facts, tier_index);
    let hotfix = newer.iter().filter(|version| hotfix::entry(facts, version).is_some()).cloned().collect();
    let hotfix = newest_at_hand(facts, tier_index, hotfix);
    let usual = match facts.policy.next {
        Next::NewestFinished => newest_at_hand(facts, tier_index, newer),
        Next::Every => next_of(facts, tier_index, newer),
        Next::Restart => {
            let target = target(facts);
            newer
                .into_iter()
                .find(|version| Some(version) == target.as_ref())
                .filter(|version| free(facts, tier_index, version))
        }
    };
    match hotfix {
        // A hotfix passes on the first tier; above it a newer one that finished the tier below does too.
        Some(hotfix) if tier_index == 0 => Some(hotfix),
        Some(hotfix) => usual.max(Some(hotfix)),
        None => usual,
    }
}

/// Whether nothing stops a version on a tier.
fn free(facts: &Facts<'_>, tier_index: usize, version: &Version) -> bool {
    stopped(facts, tier_index, version).is_none()
}

/// The newest of these that a tier may take now; what is older is not even asked about.
fn newest_at_hand(facts: &Facts<'_>, tier_index: usize, mut versions: Vec<Version>) -> Option<Version> {
    versions.sort();
    versions.into_iter().rev().find(|version| free(facts, tier_index, version))
}

/// The newest release that this tier passes over though the constraints accept it, for people.
pub(crate) fn passed_over(facts: &Facts<'_>, tier_index: usize) -> Option<Version> {
    let because =
        |version: &Version| release::unaccepted(facts, tier_index, version).or_else(|| release::held(facts, version));
    let told = |obstacle: &Obstacle| obstacle.lasts != Lasts::Outside;
    newer(facts, tier_index).into_iter().filter(|version| because(version).as_ref().is_some_and(told)).max()
}

/// Releases that are ready for a tier and newer than what it runs.
pub(crate) fn newer(facts: &Facts<'_>, tier_index: usize) -> Vec<Version> {
    let Some(tier) = facts.policy.tiers.get(tier_index).filter(|tier| !tier.follows) else { return Vec::new() };
    let floor = floor(facts, tier);
    let Some(below) = tier_index.checked_sub(1) else { return source::listed(facts, floor.as_ref()) };
    let above = |version: &Version| floor.as_ref().is_none_or(|floor| version > floor);
    finished(facts, below, |version| above(version) || only_early(facts, tier, version))
}

/// Whether a version is the newest on a tier only because clusters that were ahead of it run it: the
/// others, of which some may have nothing installed yet, get it in their turn.
fn only_early(facts: &Facts<'_>, tier: &Tier, version: &Version) -> bool {
    let mut waves = facts.page.tiers.get(&tier.name).into_iter().flatten().filter(|wave| wave.version == *version);
    let base = facts.base(&tier.name);
    base.highest() == Some(version)
        && matches!(base, Base::Mixed { .. })
        && waves.next().is_some_and(|wave| wave.part.purpose == Purpose::Early)
        && waves.all(|wave| wave.part.purpose == Purpose::Early)
}

/// What a release has to be newer than: what runs, what failed here, what a person refused here. Where
/// none is skipped, a refused hotfix takes those that it had passed with it no more than itself.
fn floor(facts: &Facts<'_>, tier: &Tier) -> Option<Version> {
    let running = facts.base(&tier.name).highest().cloned();
    let refused = match facts.policy.next {
        Next::Every => None,
        Next::NewestFinished | Next::Restart => refused_here(facts, tier),
    };
    [running, failed_here(facts, tier), refused].into_iter().flatten().max()
}

fn failed_here(facts: &Facts<'_>, tier: &Tier) -> Option<Version> {
    let waves = facts.page.tiers.get(&tier.name)?;
    waves.iter().filter(|wave| wave.failed().is_some()).map(|wave| wave.version.clone()).max()
}

fn refused_here(facts: &Facts<'_>, tier: &Tier) -> Option<Version> {
    rejections(facts, tier).into_iter().map(|(version, _)| version).max()
}

/// `every`: the one that follows what runs. Where nothing runs there is nothing to follow, and a
/// first install takes the newest.
fn next_of(facts: &Facts<'_>, tier_index: usize, mut newer: Vec<Version>) -> Option<Version> {
    let installed = facts.base(&facts.policy.tiers.get(tier_index)?.name).highest().is_some();
    if !installed {
        return newest_at_hand(facts, tier_index, newer);
    }
    newer.sort();
    newer.into_iter().find(|version| free(facts, tier_index, version))
}

/// `restart`: the one release that climbs, the newest that is on the first tier or may enter it. One
/// that failed or was refused there gives the place back to the one before it.
fn target(facts: &Facts<'_>) -> Option<Version> {
    let first = facts.policy.tiers.first()?;
    let climbing = facts.page.climbing(&first.name).map(|wave| &wave.version);
    let waves = facts.page.tiers.get(&first.name).into_iter().flatten();
    let begun = waves.filter(|wave| wave.landed().is_some()).map(|wave| &wave.version).chain(climbing);
    let mut begun: Vec<&Version> = begun.collect();
    begun.sort();
    let begun = begun.into_iter().rev().find(|version| stopped(facts, 0, version).is_none());
    begun.cloned().max(newest_at_hand(facts, 0, newer(facts, 0)))
}

/// The newer release for which a wave is abandoned under `restart`.
pub(crate) fn abandoned_for(facts: &Facts<'_>, wave: &Wave) -> Option<Version> {
    if hotfix::is_one(facts, wave) { None } else { outdated(facts, &wave.version) }
}

/// The newer release that takes the place of one under `restart`, wherever it climbs.
pub(crate) fn outdated(facts: &Facts<'_>, version: &Version) -> Option<Version> {
    match facts.policy.next {
        Next::NewestFinished | Next::Every => None,
        Next::Restart if hotfix::entry(facts, version).is_some() => None,
        Next::Restart => target(facts).filter(|target| target > version && cooling(facts, 0, target).is_none()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
