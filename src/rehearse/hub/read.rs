//! The hub as the bot reads it.

use std::collections::BTreeMap;

use decide::snapshot::{Mergeable, Place, Pull, PullState, Read};
use decide::{ClusterName, PluginName, TierName, Version};

use super::{file, places_of};
use crate::rehearse::rights;
use crate::rehearse::world::World;

/// The base branch as the bot reads it.
pub(in crate::rehearse) fn base(world: &World, plugin: &PluginName) -> BTreeMap<TierName, Vec<Place>> {
    let of_plugin = world.hub.base.iter().filter(|((name, _), _)| name == plugin);
    of_plugin
        .map(|(spot, places)| {
            let here = |cluster: &ClusterName| world.fleet.clusters.iter().any(|known| known.name == *cluster);
            let there = places.iter().filter(|(key, _)| key.as_ref().is_none_or(here));
            let place = |(key, version): (&Option<ClusterName>, &Version)| Place {
                file: file(spot, key.as_ref()),
                cluster: key.clone(),
                version: match world.hub.ranges.get(spot) {
                    Some(range) => Read::Unread(format!("it holds the range {range}")),
                    None => Read::Known(version.clone()),
                },
                range: world.hub.ranges.get(spot).cloned(),
                vacant: false,
            };
            (spot.1.clone(), there.map(place).collect())
        })
        .collect()
}

/// The pull requests of a plugin as the bot reads them.
pub(in crate::rehearse) fn pulls(world: &mut World, plugin: &PluginName) -> Vec<Pull> {
    let oldest = world.hub.forget_after.map(|after| world.now - after);
    let hub = &mut world.hub;
    if let (Some(oldest), Some(numbers)) = (oldest, hub.read.get_mut(plugin)) {
        let pulls = &hub.pulls;
        numbers.retain(|number| {
            pulls.get(number).is_some_and(|pull| match &pull.shown.state {
                PullState::Open => true,
                PullState::Merged { at, .. } | PullState::Closed { at, .. } => *at > oldest,
            })
        });
    }
    let numbers = world.hub.read.get(plugin).cloned().unwrap_or_default();
    let shown = |number: u64| {
        let pull = world.hub.pulls.get(&number)?;
        let spot = (pull.plugin.clone(), pull.shown.tier.clone());
        let conflicts = pull.shown.state == PullState::Open
            && world
                .hub
                .written
                .get(&pull.content)
                .is_some_and(|written| places_of(world, &spot, &written.members) != written.before);
        let mergeable = if conflicts { Mergeable::Conflict } else { Mergeable::Yes };
        let review_decision = rights::reviewed(&world.hub, &pull.shown);
        Some(Pull { mergeable, review_decision, ..pull.shown.clone() })
    };
    numbers.into_iter().filter_map(shown).collect()
}
