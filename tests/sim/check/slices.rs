//! A tier that moves in slices: nobody moves before those who moved earlier are healthy.

use std::collections::BTreeSet;

use decide::ClusterName;
use decide::ledger::{Part, Purpose, Wave};
use decide::model::Strategy;
use decide::plan::Proposal;
use decide::snapshot::{Health, Snapshot};
use jiff::SignedDuration;
use semver::Version;

use super::Watch;
use crate::places::Place;
use crate::world::{Spot, World};

/// The most slices in which a tier may move. Where all who had moved have left, the climb begins anew with those
/// who are there: whoever was among them counts.
pub(super) fn most(world: &World, spot: &Spot) -> u32 {
    match world.tier(spot).strategy {
        Strategy::AllAtOnce | Strategy::Delegated => 1,
        Strategy::RollingUpdate { .. } | Strategy::Canary { .. } | Strategy::BlueGreen { .. } => {
            let pulls = world.pulls.iter().filter(|pull| pull.spot == *spot);
            let moved = pulls.flat_map(|pull| pull.members.iter().cloned());
            moved.chain(world.members(&spot.1)).collect::<BTreeSet<_>>().len().max(1) as u32
        }
    }
}

impl Watch {
    /// P3: no slice has clusters of two values of the label, the values come in their order, and the first one is the
    /// one after that which began before.
    pub(super) fn moves_by_label(&mut self, world: &mut World, shown: &Snapshot, proposal: &Proposal) {
        let part = &proposal.part;
        let policy = shown.policy.plugins.iter().find(|policy| policy.name == proposal.plugin);
        let tier = policy.and_then(|policy| policy.tiers.iter().find(|tier| tier.name == proposal.tier));
        let Some(Strategy::RollingUpdate { by: Some(label), .. }) = tier.map(|tier| &tier.strategy) else { return };
        let Some(clusters) = shown.clusters.known() else { return };
        if part.purpose != Purpose::Promotion || part.slice > 0 {
            return;
        }
        // Who has no value moves last.
        let value = |name: &ClusterName| {
            let cluster = clusters.iter().find(|cluster| cluster.name == *name);
            cluster.and_then(|cluster| cluster.labels.get(label)).map_or("~", String::as_str)
        };
        let whole = [decide::Clusters::from(proposal.members.as_slice())];
        let slices = if part.partition.is_empty() { &whole[..] } else { part.partition.as_slice() };
        let of_slices: Vec<BTreeSet<&str>> = slices.iter().map(|slice| slice.iter().map(value).collect()).collect();
        let mut values: Vec<&str> = of_slices.iter().flatten().copied().collect();
        values.dedup();
        // What the look found has been noted by now.
        let tip = world.branch.tip().map(|push| &push.ledger);
        let page = tip.and_then(|ledger| ledger.plugins.get(&proposal.plugin));
        let waves = page.and_then(|page| page.tiers.get(&proposal.tier)).into_iter().flatten();
        let sliced = |wave: &&Wave| wave.part.partition.len() > 1 && wave.landed().is_some();
        let before = waves.rev().find(sliced).and_then(|wave| wave.part.partition.first()).into_iter().flatten();
        let began = before.map(value).find(|value| *value != "~").unwrap_or("~");
        let mut wanted: Vec<&str> = values.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        wanted.sort_by_key(|value| (*value == "~", *value <= began, *value));
        if of_slices.iter().any(|values| values.len() > 1) || values != wanted {
            let what = format!("P3 {} {} on {}: {values:?}", proposal.plugin, proposal.to, proposal.tier);
            self.fails(world, format!("{what} of {of_slices:?}, not {wanted:?} after {began}"));
        }
    }

    /// Before a later slice is opened or merged, the clusters that the bot brought to this version with
    /// earlier ones are shown to be healthy on it, but for those that are tolerated.
    pub(super) fn earlier_slices_are_healthy(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        spot: &Spot,
        version: &Version,
        part: &Part,
        does: &str,
    ) {
        let rule = world.tier(spot).health;
        let earlier = earlier(part);
        let moved = moved(world, spot, version, &earlier);
        let readings = &shown.plugins[&spot.0].readings;
        let of = |place: &Place| place.cluster.as_ref().map(|name| readings.of(name)).filter(|all| !all.is_empty());
        // The look may be a minute old when it is acted upon, and each reads by its own clock.
        let (look, slack) = (SignedDuration::from_mins(1), super::keys::slack(world));
        let healthy = |place: &&Place| {
            of(place).is_some_and(|all| {
                all.iter().all(|reading| {
                    reading.fact.health == Health::Healthy
                        && reading.fact.running.as_ref().map(super::plain).as_ref() == Some(version)
                        && reading.observed_at() + slack >= place.since
                        && world.ours() <= reading.observed_at() + rule.max_age + look
                })
            })
        };
        // Who plainly answers with this version and is not well is nobody of whom nothing is known.
        let known = |place: &&Place| {
            of(place).is_some_and(|all| {
                all.iter().all(|reading| {
                    reading.fact.health != Health::Unknown
                        && reading.fact.running.as_ref().map(super::plain).as_ref() == Some(version)
                        && reading.observed_at() >= place.since + slack
                        && world.ours() + look + slack <= reading.observed_at() + rule.max_age
                })
            })
        };
        let ill: Vec<&Place> = moved.iter().copied().filter(|place| !healthy(place)).collect();
        let unwell = ill.iter().filter(|place| known(place)).count();
        let (failures, unknown) = (rule.max_failures as usize, rule.max_unknown as usize);
        // Whatever is tolerated, somebody has to be well, whoever brought it there.
        let somebody = world.places_of(spot, &earlier).any(|place| place.version == *version && healthy(&place));
        let nobody = !moved.is_empty() && unwell == moved.len() && !somebody;
        let beyond = ill.len() > failures + unknown || unwell > failures || nobody;
        let ill: Vec<String> = ill.iter().map(|place| place.file.clone()).collect();
        if !earlier.is_empty() && beyond {
            self.fails(world, format!("S1 {does} {} {version} on {} before {ill:?} are healthy", spot.0, spot.1));
        }
    }
}

fn earlier(part: &Part) -> Vec<ClusterName> {
    part.partition.iter().take(part.slice as usize).flatten().cloned().collect()
}

/// Where the bot brought this version to these clusters. Who was pinned since is a member no more.
fn moved<'a>(world: &'a World, spot: &'a Spot, version: &'a Version, names: &'a [ClusterName]) -> Vec<&'a Place> {
    let pinned = |place: &&Place| place.cluster.as_ref().is_some_and(|name| world.is_pinned(&spot.0, name));
    let there = world.places_of(spot, names).filter(|place| place.version == *version && place.by_bot);
    there.filter(|place| !pinned(place)).collect()
}

/// Whether somebody in an earlier slice is degraded for less than `degradedFor`: that one may recover, and has not
/// failed yet, so that nothing tolerates it.
pub(super) fn may_recover(world: &World, shown: &Snapshot, spot: &Spot, version: &Version, part: &Part) -> bool {
    let patience = world.tier(spot).health.degraded_for + super::keys::slack(world);
    let readings = &shown.plugins[&spot.0].readings;
    moved(world, spot, version, &earlier(part)).iter().filter_map(|place| place.cluster.as_ref()).any(|name| {
        readings.of(name).iter().any(|reading| {
            let since = reading.since().unwrap_or(reading.observed_at());
            reading.fact.health == Health::Degraded && world.ours() < since + patience
        })
    })
}
