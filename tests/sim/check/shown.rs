//! What the bot was shown of the base branch, and what clusters of a tier that follows by itself say that they run.

use decide::ClusterName;
use decide::snapshot::Snapshot;
use semver::Version;

use super::{early, keys, plain, soak};
use crate::world::{Spot, World};

/// The versions that the bot was shown on the base branch of a tier, for its turn: those of clusters that are
/// ahead of it are none of it.
pub(super) fn shown_base(world: &World, shown: &Snapshot, spot: &Spot) -> Option<Vec<Version>> {
    Some(shown_places(world, shown, spot)?.into_iter().map(|(_, version)| version).collect())
}

/// The same of some of its clusters, whoever is ahead; a file of the whole tier is everybody's.
pub(super) fn shown_base_of(
    world: &World,
    shown: &Snapshot,
    spot: &Spot,
    members: &[ClusterName],
) -> Option<Vec<Version>> {
    let places = free_places(world, shown, spot)?.into_iter();
    let of = places.filter(|(cluster, _)| cluster.as_ref().is_none_or(|name| members.contains(name)));
    Some(of.map(|(_, version)| version).collect())
}

/// What a file holds, and whose it is.
pub(super) type Held = (Option<ClusterName>, Version);

/// The files of a tier's turn.
pub(super) fn shown_places(world: &World, shown: &Snapshot, spot: &Spot) -> Option<Vec<Held>> {
    let ahead = early::ahead(shown, spot, world.ours());
    let mut places = free_places(world, shown, spot)?;
    places.retain(|(cluster, _)| cluster.as_ref().is_none_or(|name| !ahead.contains(name)));
    Some(places)
}

/// Those of pinned clusters are none of the bot's; while the inventory cannot be read, nobody knows who is pinned.
pub(super) fn free_places(world: &World, shown: &Snapshot, spot: &Spot) -> Option<Vec<Held>> {
    let now = world.ours();
    if world.tier(spot).follows {
        return heard(world, shown, spot).into_iter().map(|(name, says)| Some((Some(name), says?))).collect();
    }
    let places = shown.plugins[&spot.0].base.known()?.get(&spot.1)?;
    let is_read = shown.clusters.known().is_some();
    let pinned = |name: &ClusterName| is_read && keys::is_pinned(shown, &spot.0, name, now);
    let free = |place: &&decide::snapshot::Place| !place.vacant && !place.cluster.as_ref().is_some_and(pinned);
    places.iter().filter(free).map(|place| Some((place.cluster.clone(), place.version.known().map(plain)?))).collect()
}

/// What clusters of a tier that follows by itself say that they run. Who has nothing of it yet has nothing to say;
/// its turn is another.
pub(super) fn heard(world: &World, shown: &Snapshot, spot: &Spot) -> Vec<(ClusterName, Option<Version>)> {
    let readings = &shown.plugins[&spot.0].readings;
    let says = |name: &ClusterName| readings.of(name).first()?.fact.running.as_ref().map(plain);
    let here = match shown.clusters.known() {
        Some(_) => soak::selected(world, shown, spot),
        None => world.members(&spot.1),
    };
    let here = here.into_iter().filter(|name| !world.is_bare(spot, name));
    here.map(|name| (name.clone(), says(&name))).collect()
}
