//! People edit the policy file while releases climb, in both directions.

use decide::model::{Empty, Force, Hotfix, Merge, MergeRule, OnFailure, Tier};
use decide::selector::{Expression, Operator};
use decide::{PluginName, TierName};
use jiff::SignedDuration;

use crate::scenario::Edit;
use crate::world::World;

pub fn edit(world: &mut World, name: &TierName, edit: Edit) {
    world.tally.variant("edit", &edit);
    let mut luck = world.luck(&["edit", name.as_str(), &world.now.to_string()]);
    let drawn = crate::draw::force(&mut luck);
    for plugin in &mut world.policy.plugins {
        plugin.tiers.iter_mut().filter(|tier| tier.name == *name).for_each(|tier| change(tier, edit, &drawn));
    }
    world.policy_commit += 1;
}

fn change(tier: &mut Tier, edit: Edit, drawn: &Force) {
    match edit {
        Edit::LongerSoak => tier.soak.min = tier.soak.min * 2 + SignedDuration::from_mins(30),
        Edit::ShorterSoak => tier.soak.min /= 2,
        Edit::ForceOn => tier.force = tier.force.take().or_else(|| Some(drawn.clone())),
        Edit::ForceOff => tier.force = None,
        Edit::LongerForce => tier.force.iter_mut().for_each(|force| force.after *= 2),
        Edit::ShorterForce => tier.force.iter_mut().for_each(|force| force.after /= 2),
        Edit::Automatic => tier.merge = MergeRule::all(Merge::Automatic),
        Edit::Approved => tier.merge = MergeRule::all(Merge::Approved),
        Edit::MoreApprovals => tier.approvals.at_least = 2,
        Edit::FewerApprovals => tier.approvals.at_least = 1,
        Edit::WindowsOff => tier.windows = None,
        Edit::RollBackOn => tier.on_failure = OnFailure::RollBack { merge: Merge::Automatic },
        Edit::RollBackOff => tier.on_failure = OnFailure::Hold,
        Edit::StallOn => tier.on_failure = OnFailure::Stall,
        Edit::LongerAnnounce => tier.announce = tier.announce * 2 + SignedDuration::from_mins(20),
    }
}

/// The file names a hotfix, or says something else of one: a version that stands there twice is an error at its
/// line, and nobody ever decides by such a file.
pub fn hotfix(world: &mut World, plugin: &PluginName, hotfix: Hotfix) {
    if let Some(policy) = world.policy.plugins.iter_mut().find(|policy| policy.name == *plugin) {
        policy.hotfixes.retain(|known| known.version != hotfix.version);
        policy.hotfixes.push(hotfix);
    }
    world.policy_commit += 1;
}

/// The file keeps a cluster on what it runs, for a while.
pub fn pin(world: &mut World, plugin: &PluginName, cluster: &decide::ClusterName, hours: u64) {
    let Some(tier) = world.tier_of(cluster) else { return };
    let spot = (plugin.clone(), tier);
    let members = [cluster.clone()];
    let Some(version) = world.lowest_of(&spot, &members) else { return };
    let until = world.now + SignedDuration::from_hours(hours as i64);
    let pin = crate::keys::pin(cluster, &version.to_string(), Some(until));
    let policy = world.policy.plugins.iter_mut().find(|policy| policy.name == *plugin);
    policy.into_iter().for_each(|policy| policy.pins.push(pin.clone()));
    world.policy_commit += 1;
}

/// A tier's selector takes the clusters of the next tier too, or no longer.
pub fn overlap(world: &mut World, name: &TierName, on: bool) {
    let next = world.scenario.tiers().get(world.tier_index(name) + 1).map(|tier| tier.name.to_string());
    let Some(next) = next else { return };
    for tier in world.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers).filter(|tier| tier.name == *name) {
        tier.select.match_labels.clear();
        tier.select.match_expressions.clear();
        if on {
            let values = vec![name.to_string(), next.clone()];
            let both = Expression { key: "tier".to_string(), operator: Operator::In, values };
            tier.select.match_expressions.push(both);
        } else {
            tier.select.match_labels.insert("tier".to_string(), name.to_string());
        }
    }
    world.policy_commit += 1;
}

/// At the beginning of the calm: selectors are right again, and no tier is empty.
pub fn settle(world: &mut World) {
    for tier in world.scenario.tiers().to_vec() {
        overlap(world, &tier.name, false);
        if world.members(&tier.name).is_empty() && tier.empty == Empty::Error {
            let name = decide::ClusterName::new(format!("z-{}", tier.name));
            crate::fleet::join(world, &name, &tier.name);
        }
    }
}
