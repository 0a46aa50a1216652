//! Which members of a tier move together, which of them have moved and which come next. Whether the
//! next ones may move is decided in `tiers`, how they fare in `member`.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::clusters::Finder;
use crate::facts::{Facts, follow};
use crate::ledger::{Part, Purpose, State, Wave};
use crate::model::{HealthRule, Strategy, Tier};
use crate::plan::{Finding, Gate};
use crate::snapshot::Place;
use crate::{ClusterName, Clusters, Reason, Version, cut, next_release, release, source};

/// What shall move next: which part of the climb, and its clusters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Portion {
    pub part: Part,
    pub members: Clusters,
}

/// The first portion of a release that comes to a tier: members, order and cuts are fixed by it.
pub(crate) fn first(facts: &Facts<'_>, tier: &Tier) -> Portion {
    let members = facts.selected(tier).unwrap_or_default();
    let first_install = from(facts, tier, &members).is_none();
    let cut = cut::cut(tier, &members, first_install, |name| facts.labels(name), first_before(facts, tier));
    match cut.slices.first() {
        Some(slice) if cut.slices.len() > 1 => {
            let members = slice.clone();
            let budget = Some(tier.health.max_failures);
            let pauses = if cut.pauses.iter().all(Vec::is_empty) { Vec::new() } else { cut.pauses };
            let part = Part { partition: cut.slices, pauses, budget, ..Part::default() };
            Portion { part, members }
        }
        Some(_) | None => Portion { part: Part::default(), members },
    }
}

/// Who moved first with the newest release that came to a tier in slices.
fn first_before<'a>(facts: &'a Facts<'_>, tier: &Tier) -> &'a [ClusterName] {
    let waves = facts.page.tiers.get(&tier.name).map_or(&[][..], Vec::as_slice);
    let newest = waves.iter().rfind(|wave| wave.part.slices() > 1 && wave.landed().is_some());
    newest.and_then(|wave| wave.part.partition.first()).map_or(&[], |slice| slice)
}

/// The portion after the newest slice of a climb: the next one of which some cluster is still there
/// and does not hold the version. None when all have moved.
pub(crate) fn following(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Option<Portion> {
    let landed = usize::from(wave.landed().is_some());
    let begin = wave.part.slice as usize + landed;
    let slices = (begin..).zip(wave.later());
    slices.map(|(at, slice)| (at, facts.still(tier, &wave.staying(core::slice::from_ref(slice))))).find_map(
        |(at, members)| {
            let part = Part { slice: u32::try_from(at).unwrap_or(u32::MAX), ..wave.part.clone() };
            (!holds(facts, tier, &members, &wave.version)).then_some(Portion { part, members })
        },
    )
}

/// Where a climb stands of which the bot took a slice back: the slice before that one. Who was to move and has
/// left since is noted with the later one, and comes back as a new one.
pub(crate) fn before(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Option<Wave> {
    let earlier = facts.page.landed_with(&tier.name, wave).into_iter().next_back()?;
    let moved = earlier.moved();
    let mut moved = Finder::new(&moved);
    let left = wave.left.iter().filter(|name| !moved.has(name)).cloned().collect();
    let mut earlier = earlier.clone();
    earlier.left = left;
    Some(earlier)
}

/// Whether the last slices of a climb were taken back because nobody is left to move with them: it ends
/// with those that have moved, and soaks.
pub(crate) fn ends_early(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> bool {
    if !wave.may_come_again() || following(facts, tier, wave).is_some() {
        return false;
    }
    let moved = moved(facts, tier, wave);
    !moved.is_empty() && holds(facts, tier, &moved, &wave.version)
}

/// Clusters that joined the tier, or whose pin ended, after a release had finished it, and that release.
pub(crate) fn catch_up(facts: &Facts<'_>, tier_index: usize) -> Option<(Version, Portion)> {
    let tier = facts.policy.tiers.get(tier_index).filter(|tier| !tier.follows)?;
    let base = facts.base(&tier.name);
    let highest = base.highest()?;
    let version = release::finished(facts, tier_index, |version| version >= highest).into_iter().max()?;
    let taken =
        || release::stopped(facts, tier_index, &version).is_none() && next_release::outdated(facts, &version).is_none();
    if *highest != version || !taken() {
        return None;
    }
    let waves = facts.page.tiers.get(&tier.name).into_iter().flatten();
    if facts.everywhere(&tier.name).as_ref() == Some(&version) {
        return None;
    }
    let behind = |place: &&Place| place.vacant || place.version.known().is_some_and(|there| *there < version);
    let places = facts.places(&tier.name).into_iter().filter(behind);
    let behind: Vec<ClusterName> = places.filter_map(|place| place.cluster.clone()).collect();
    if behind.is_empty() {
        return None;
    }
    let climbed = waves.filter(|wave| wave.version == version && wave.landed().is_some()).map(Wave::clusters);
    let climbed: Vec<ClusterName> = climbed.flat_map(|clusters| clusters.to_vec()).collect();
    let (mut climbed, mut behind) = (Finder::new(&climbed), Finder::new(&behind));
    let late = |name: &&ClusterName| behind.has(name) && !climbed.has(name);
    let members: Clusters = facts.selected(tier)?.iter().filter(late).cloned().collect();
    let part = Part { purpose: Purpose::CatchUp, ..Part::default() };
    (!members.is_empty()).then_some((version, Portion { part, members }))
}

/// Clusters that are ahead of their tier and run something older than the newest release that has
/// finished the first one, and that release.
pub(crate) fn early(facts: &Facts<'_>, tier_index: usize) -> Option<(Version, Portion)> {
    let tier = facts.policy.tiers.get(tier_index)?;
    let ahead = facts.ahead(tier);
    if ahead.is_empty() {
        return None;
    }
    let accepted = |version: &Version| release::stopped(facts, tier_index, version).is_none();
    let first = facts.first_with_clusters(tier_index);
    let version = release::finished(facts, first, |_| true).into_iter().filter(accepted).max()?;
    // What a newer release has taken the place of would be taken back at once.
    if next_release::outdated(facts, &version).is_some() {
        return None;
    }
    let digest = source::pinned(facts, &version);
    let same = |there: &Version| digest.is_some() && source::pinned(facts, there) == digest;
    // Of the same artefact under another version nothing could prove that it runs.
    let behind = |name: &&ClusterName| {
        if facts.places_of(&tier.name, core::slice::from_ref(*name)).iter().any(|place| place.vacant) {
            return true;
        }
        let there = facts.spread(&tier.name, core::slice::from_ref(*name));
        let changes = [&there.lowest, &there.highest].into_iter().flatten().any(|there| !same(there));
        changes && there.lowest.is_some_and(|there| there < version)
    };
    let members: Clusters = ahead.iter().filter(behind).cloned().collect();
    let part = Part { purpose: Purpose::Early, ..Part::default() };
    (!members.is_empty()).then_some((version, Portion { part, members }))
}

/// The newest wave of clusters ahead of their tier that is on the base branch and not over. Once the others get
/// the same release, it is their wave that is judged, and this one waits for nothing any more; nor does one of
/// which everybody has left the tier.
pub(crate) fn early_wave<'a>(facts: &'a Facts<'_>, tier: &Tier) -> Option<&'a Wave> {
    let early = |wave: &Wave| wave.part.purpose == Purpose::Early && matches!(wave.state(), State::Landed(_));
    facts.page.present(&tier.name, early).rfind(|wave| !facts.still(tier, &wave.own()).is_empty())
}

/// The clusters on which the health of a climb is judged: those that have moved with it, and those
/// that somebody moved ahead of their slice.
pub(crate) fn moved(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Clusters {
    let moved = wave.moved();
    let ahead = match wave.later() {
        [] => Vec::new(),
        later => holding(facts, tier, &wave.staying(later), &wave.version),
    };
    if ahead.is_empty() {
        return facts.still(tier, &moved);
    }
    facts.still(tier, &moved.iter().cloned().chain(ahead).collect())
}

/// Those of some clusters for which the base branch holds the version, each by itself.
fn holding(facts: &Facts<'_>, tier: &Tier, clusters: &Clusters, version: &Version) -> Vec<ClusterName> {
    if tier.follows {
        let one = |name: &&ClusterName| holds(facts, tier, core::slice::from_ref(*name), version);
        return clusters.iter().filter(one).cloned().collect();
    }
    let mut finder = Finder::new(clusters);
    // Whether each has a place, and whether all of its places hold the version.
    let mut places = alloc::vec![(false, true); clusters.len()];
    for place in facts.places(&tier.name) {
        let there = place.version.known() == Some(version);
        let mut note = |(any, all): &mut (bool, bool)| (*any, *all) = (true, *all && there);
        match &place.cluster {
            None => places.iter_mut().for_each(note),
            Some(name) => finder.find(name).and_then(|at| places.get_mut(at)).into_iter().for_each(&mut note),
        }
    }
    clusters.iter().zip(places).filter(|(_, (any, all))| *any && *all).map(|(name, _)| name.clone()).collect()
}

/// The tier as it was when a climb began on it: failures that were tolerated then are now.
pub(crate) fn as_begun<'a>(tier: &'a Tier, wave: &Wave) -> Cow<'a, Tier> {
    match wave.part.budget {
        Some(max_failures) if max_failures != tier.health.max_failures => {
            let health = HealthRule { max_failures, ..tier.health };
            Cow::Owned(Tier { health, ..tier.clone() })
        }
        Some(_) | None => Cow::Borrowed(tier),
    }
}

/// Whether the base branch holds the version for each of these clusters. None of them, or none with
/// a place, is held by nothing.
pub(crate) fn holds(facts: &Facts<'_>, tier: &Tier, clusters: &[ClusterName], version: &Version) -> bool {
    if tier.follows && !clusters.is_empty() {
        return follow::running(facts, facts.plugin(), clusters)
            .is_ok_and(|running| !running.is_empty() && running.iter().all(|it| *it == version));
    }
    clusters.is_empty() || facts.spread(&tier.name, clusters).is(version)
}

/// Whether the base branch holds a wave's version for each of its own clusters that is still there. Of a landed
/// slice that everybody has left it is those who moved before it that count.
pub(crate) fn is_there(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> bool {
    let own = facts.still(tier, &wave.own());
    let members = if own.is_empty() && wave.landed().is_some() { moved(facts, tier, wave) } else { own };
    !members.is_empty() && holds(facts, tier, &members, &wave.version)
}

/// What somebody else put where a climb had been, or is to go.
pub(crate) enum Astray {
    /// Older versions on clusters that had moved.
    Back(Vec<Version>),
    /// A newer version on one of its clusters.
    Past(Version),
}

/// Whether somebody put other versions where a landed wave has its own. From a wave that is over they
/// have to have taken it everywhere: single clusters may follow another rule by then. A climb of
/// which a slice was taken back is not over.
pub(crate) fn astray(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Option<Astray> {
    let (moved, all) = (stayed(facts, tier, wave), wave.clusters());
    if !tier.follows {
        // Mostly nobody is: then nothing has to be listed.
        let (own, all) = (facts.spread(&tier.name, &moved), facts.spread(&tier.name, &all));
        let back = own.lowest.is_some_and(|lowest| lowest < wave.version);
        if !back {
            return all.highest.filter(|highest| *highest > wave.version).map(Astray::Past);
        }
    }
    let versions = |clusters: &Clusters| -> Vec<Version> {
        if tier.follows {
            let clusters = facts.still(tier, clusters);
            let running = follow::running(facts, facts.plugin(), &clusters).unwrap_or_default();
            return running.into_iter().cloned().collect();
        }
        let places = facts.places_of(&tier.name, clusters);
        places.into_iter().filter_map(|place| place.version.known().cloned()).collect()
    };
    // What the bot merged has not come to all clusters yet: who is still on the version before has taken nothing off.
    let arrives = wave.converged.is_none() && wave.landed().is_some_and(|landed| landed.commit.is_some());
    let own = if tier.follows && arrives { Vec::new() } else { versions(&moved) };
    let back = |version: &Version| *version < wave.version;
    if if wave.is_over() && !wave.may_come_again() {
        !own.is_empty() && own.iter().all(back)
    } else {
        own.iter().any(back)
    } {
        return Some(Astray::Back(own.into_iter().filter(back).collect()));
    }
    versions(&all).into_iter().filter(|version| *version > wave.version).max().map(Astray::Past)
}

/// The clusters that have moved with a climb and have not left the tier since, as newer waves tell: who comes back
/// has taken nothing back.
fn stayed(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Clusters {
    let newer = facts.page.tiers.get(&tier.name).into_iter().flatten().filter(|other| other.begun > wave.begun);
    let left: Vec<ClusterName> = newer.flat_map(|other| other.left.iter().cloned()).collect();
    let moved = wave.moved();
    if left.is_empty() {
        return moved;
    }
    let mut gone = Finder::new(&left);
    moved.iter().filter(|name| !gone.has(name)).cloned().collect()
}

/// Clusters that move one after the other, or not at all, each need a place of their own.
pub(crate) fn finding(facts: &Facts<'_>, tier: &Tier) -> Finding {
    let in_turn = match tier.strategy {
        Strategy::AllAtOnce | Strategy::Delegated => false,
        Strategy::RollingUpdate { .. } | Strategy::Canary { .. } | Strategy::BlueGreen { .. } => true,
    };
    let shared = in_turn && shares(facts, tier);
    let pass = || Finding::pass(Gate::Release, Reason::Accepted);
    if shared { shared_finding(tier) } else { apart(facts, tier).unwrap_or_else(pass) }
}

/// What is open already may not be written either where a pinned cluster, or one ahead of its tier, has no
/// place of its own.
pub(crate) fn apart(facts: &Facts<'_>, tier: &Tier) -> Option<Finding> {
    let some = || !facts.pinned_of(tier).is_empty() || !facts.ahead(tier).is_empty();
    (shares(facts, tier) && some()).then(|| shared_finding(tier))
}

fn shares(facts: &Facts<'_>, tier: &Tier) -> bool {
    facts.places(&tier.name).iter().any(|place| place.cluster.is_none())
}

fn shared_finding(tier: &Tier) -> Finding {
    Finding::fail(Gate::Release, Reason::PlacesShared { tier: tier.name.clone() })
}

/// The oldest version on the places of these clusters: what a portion starts from.
pub(crate) fn from(facts: &Facts<'_>, tier: &Tier, clusters: &[ClusterName]) -> Option<Version> {
    facts.spread(&tier.name, clusters).lowest
}

/// Whether a path that a pull request may change is one of this wave's: the place of another cluster
/// of the tier is not, anything else is.
pub(crate) fn concerns(facts: &Facts<'_>, tier: &Tier, wave: &Wave, path: &str) -> bool {
    let named = |places: Vec<&Place>| places.iter().any(|place| place.file == path);
    named(facts.places_of(&tier.name, &wave.own())) || !named(facts.places(&tier.name))
}

#[cfg(test)]
mod tests;
