//! A tier that moves in slices: nobody moves before those who moved earlier are healthy.

use decide::snapshot::{Health, Snapshot};
use jiff::SignedDuration;
use semver::Version;

use super::Watch;
use crate::world::{Spot, World};

impl Watch {
    /// Before a later slice is opened or merged, the clusters that the bot brought to this version
    /// before are shown to be healthy on it, but for those that are tolerated.
    pub(super) fn earlier_slices_are_healthy(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        does: &str,
    ) {
        let rule = world.tier(spot).health;
        let places = &world.base[spot];
        if places.iter().all(|place| place.version == *version) {
            return;
        }
        let moved = places
            .iter()
            .filter(|place| place.version == *version && place.past.last().is_some_and(|(_, _, by_bot)| *by_bot));
        let readings = &shown.plugins[&spot.0].readings;
        // The look may be a minute old when it is acted upon.
        let fresh = rule.max_age + SignedDuration::from_mins(1);
        let healthy = |place: &&crate::world::Place| {
            let since = place.past.last().map(|(at, _, _)| *at);
            place.cluster.as_ref().and_then(|name| readings.get(name)).is_some_and(|all| {
                !all.is_empty()
                    && all.iter().all(|reading| {
                        reading.health == Health::Healthy
                            && reading.running.as_ref().map(super::plain).as_ref() == Some(version)
                            && Some(reading.observed_at) >= since
                            && world.now <= reading.observed_at + fresh
                    })
            })
        };
        let ill: Vec<String> = moved.filter(|place| !healthy(place)).map(|place| place.file.clone()).collect();
        if ill.len() > (rule.max_failures + rule.max_unknown) as usize {
            self.fails(world, format!("S1 {does} {} {version} on {} before {ill:?} are healthy", spot.0, spot.1));
        }
    }
}
