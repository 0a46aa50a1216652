//! Clusters that follow the base branch at their own pace: the old version stays Ready for a
//! while, then the rollout starts, and ends as the release is.

use decide::model::OnFailure;
use decide::{ClusterName, PluginName, TierName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::scenario::{Mode, Quality};
use crate::world::{Due, Spot, World};

/// The state of one plugin in one cluster, as it truly is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Healthy,
    Progressing,
    Suspended,
    Degraded,
    Failed,
}

/// One plugin in one cluster.
#[derive(Clone, Debug)]
pub struct Running {
    pub version: Version,
    pub condition: Condition,
    pub since: Timestamp,
    /// Everything it ever was, and since when.
    pub past: Vec<(Timestamp, Version, Condition)>,
    /// Counts what was asked of it; steps of an older rollout are void.
    pub asked: u64,
}

/// What a rollout does next.
#[derive(Clone, Debug)]
pub enum Step {
    Start { version: Version },
    End { version: Version },
    Turn { condition: Condition },
}

impl Running {
    pub fn new(version: Version, at: Timestamp) -> Self {
        let past = vec![(at, version.clone(), Condition::Healthy)];
        Self { version, condition: Condition::Healthy, since: at, past, asked: 0 }
    }

    fn turn(&mut self, at: Timestamp, version: Version, condition: Condition) {
        if self.version != version || self.condition != condition {
            self.past.push((at, version.clone(), condition));
            self.since = at;
            self.version = version;
            self.condition = condition;
        }
    }
}

/// The base branch asks for a version: the controller will see it, later.
pub fn roll_out(world: &mut World, cluster: &ClusterName, spot: &Spot, version: Version) {
    let mut luck = world.luck(&["rollout", cluster.as_str(), spot.0.as_str(), &version.to_string()]);
    let start = world.now + luck.minutes(1, 25);
    let end = start + luck.minutes(2, 40);
    let key = (cluster.clone(), spot.0.clone());
    let Some(running) = world.running.get_mut(&key) else { return };
    running.asked += 1;
    let asked = running.asked;
    let due = |step| Due::Rollout { cluster: cluster.clone(), plugin: spot.0.clone(), asked, step };
    world.schedule(start, due(Step::Start { version: version.clone() }));
    world.schedule(end, due(Step::End { version: version.clone() }));
}

pub fn step(world: &mut World, cluster: &ClusterName, plugin: &PluginName, asked: u64, step: Step) {
    let key = (cluster.clone(), plugin.clone());
    if world.running.get(&key).is_none_or(|running| running.asked != asked) {
        return;
    }
    let now = world.now;
    match step {
        Step::Start { version } => {
            let old = world.running[&key].version.clone();
            world.note(format!("{cluster}: {plugin} starts to move from {old} to {version}"));
            world.running.get_mut(&key).unwrap().turn(now, old, Condition::Progressing);
        }
        Step::End { version } => {
            let condition = outcome(world, cluster, plugin, &version);
            world.note(format!("{cluster}: {plugin} {version} is {condition:?}"));
            world.running.get_mut(&key).unwrap().turn(now, version, condition);
            if condition != Condition::Healthy && mends(world, cluster, plugin) {
                turn_later(world, cluster, plugin, SignedDuration::from_hours(5), Condition::Healthy);
            }
        }
        Step::Turn { condition } => {
            let version = world.running[&key].version.clone();
            world.note(format!("{cluster}: {plugin} {version} turns {condition:?}"));
            world.running.get_mut(&key).unwrap().turn(now, version, condition);
            if condition != Condition::Healthy && mends(world, cluster, plugin) {
                turn_later(world, cluster, plugin, SignedDuration::from_hours(5), Condition::Healthy);
            }
        }
    }
}

/// How a rollout ends; a release that degrades looks healthy first.
fn outcome(world: &mut World, cluster: &ClusterName, plugin: &PluginName, version: &Version) -> Condition {
    let tier_index = world.tier_of(cluster).map(|tier| world.tier_index(&tier));
    let reached = |from: usize| tier_index.is_some_and(|tier_index| tier_index >= from);
    let mut luck = world.luck(&["degrades", cluster.as_str(), plugin.as_str(), &version.to_string()]);
    match world.release(plugin, version).map(|release| release.quality) {
        Some(Quality::Degrades(from)) if reached(from) => {
            turn_later(world, cluster, plugin, luck.minutes(0, 25), Condition::Degraded);
            Condition::Healthy
        }
        Some(Quality::Flaps(from)) if reached(from) => {
            let mut at = SignedDuration::ZERO;
            for _ in 0..luck.range(1, 6) {
                at += luck.minutes(1, 180);
                turn_later(world, cluster, plugin, at, Condition::Degraded);
                at += luck.minutes(1, 6);
                turn_later(world, cluster, plugin, at, Condition::Healthy);
            }
            Condition::Healthy
        }
        Some(Quality::Fails(from)) if reached(from) => Condition::Failed,
        Some(Quality::Stuck(from)) if reached(from) => Condition::Progressing,
        Some(_) | None => Condition::Healthy,
    }
}

/// Changes the condition of what runs, unless something else is asked of the cluster before.
pub fn turn_later(
    world: &mut World,
    cluster: &ClusterName,
    plugin: &PluginName,
    after: SignedDuration,
    condition: Condition,
) {
    let Some(running) = world.running.get(&(cluster.clone(), plugin.clone())) else { return };
    let asked = running.asked;
    let due = Due::Rollout { cluster: cluster.clone(), plugin: plugin.clone(), asked, step: Step::Turn { condition } };
    world.schedule(world.now + after, due);
}

/// Whatever runs in a cluster and is healthy is disturbed for a while.
pub fn disturb(world: &mut World, cluster: &ClusterName, minutes: u64, condition: Condition) {
    for plugin in world.policy.plugins.clone() {
        let key = (cluster.clone(), plugin.name.clone());
        if world.running.get(&key).is_some_and(|running| running.condition == Condition::Healthy) {
            turn_later(world, cluster, &plugin.name, SignedDuration::ZERO, condition);
            turn_later(world, cluster, &plugin.name, SignedDuration::from_mins(minutes as i64), Condition::Healthy);
        }
    }
}

/// Whether whoever runs a cluster mends what a bad release broke: where a tier stalls nothing else helps, and
/// in calm times people do it.
fn mends(world: &World, cluster: &ClusterName, plugin: &PluginName) -> bool {
    let policy = world.policy.plugins.iter().find(|known| known.name == *plugin);
    let tier = world.tier_of(cluster);
    let tier = policy.and_then(|policy| policy.tiers.iter().find(|known| Some(&known.name) == tier.as_ref()));
    world.is_calm()
        && world.scenario.mode == Mode::Answered
        && tier.is_some_and(|tier| tier.on_failure == OnFailure::Stall)
}

/// Disturbances end; what a bad release broke stays broken.
pub fn heal(world: &mut World) {
    let all: Vec<_> = world.running.keys().cloned().collect();
    for (cluster, plugin) in all {
        let running = &world.running[&(cluster.clone(), plugin.clone())];
        let good = world.release(&plugin, &running.version).is_some_and(|release| release.quality == Quality::Good);
        let disturbed = matches!(running.condition, Condition::Suspended | Condition::Degraded);
        let ill = running.condition != Condition::Healthy;
        if (good && disturbed) || (ill && mends(world, &cluster, &plugin)) {
            turn_later(world, &cluster, &plugin, SignedDuration::ZERO, Condition::Healthy);
        }
    }
}

/// A new cluster: whoever made it copied what its tier runs.
pub fn join(world: &mut World, cluster: &ClusterName, tier: &TierName) {
    if world.tier_of(cluster).is_some() {
        return;
    }
    world.inventory.push(crate::draw::cluster(cluster.clone(), tier));
    for plugin in world.policy.plugins.clone() {
        let spot = (plugin.name.clone(), tier.clone());
        if world.joins_bare(&spot, cluster) {
            world.note(format!("{cluster} joins {tier} without {}", plugin.name));
            if world.scenario.per_cluster.contains(&plugin.name) {
                world.bare.entry(spot).or_default().insert(Some(cluster.clone()));
            }
            continue;
        }
        let version = world.from(&spot).unwrap_or(Version::new(1, 0, 0));
        world.place(&spot, cluster, version.clone());
        begin(world, cluster, &spot, version);
    }
}

/// The first version of a plugin comes to a cluster, or another one to where it runs.
pub fn begin(world: &mut World, cluster: &ClusterName, spot: &Spot, version: Version) {
    let key = (cluster.clone(), spot.0.clone());
    if !world.running.contains_key(&key) {
        let mut running = Running::new(version.clone(), world.now);
        running.past = vec![(world.now, version.clone(), Condition::Progressing)];
        running.condition = Condition::Progressing;
        world.running.insert(key, running);
    }
    roll_out(world, cluster, spot, version);
}

pub fn leave(world: &mut World, cluster: &ClusterName) {
    let Some(tier) = world.tier_of(cluster) else { return };
    world.inventory.retain(|known| known.name != *cluster);
    for plugin in world.policy.plugins.clone() {
        world.running.remove(&(cluster.clone(), plugin.name.clone()));
        let spot = (plugin.name.clone(), tier.clone());
        world.leaves_bare(&spot, cluster);
        world.displace(&spot, cluster);
    }
}

/// A cluster gets another tier's label; files of its own go with it.
pub fn retier(world: &mut World, cluster: &ClusterName, tier: &TierName) {
    let Some(before) = world.tier_of(cluster).filter(|before| before != tier) else { return };
    let label = world.inventory.iter_mut().find(|known| known.name == *cluster);
    label.unwrap().labels.insert("tier".to_string(), tier.to_string());
    for plugin in world.policy.plugins.clone() {
        let (spot, left) = ((plugin.name.clone(), tier.clone()), (plugin.name.clone(), before.clone()));
        if world.leaves_bare(&left, cluster) {
            world.bare.entry(spot).or_default().insert(Some(cluster.clone()));
            continue;
        }
        match world.displace(&left, cluster) {
            Some(version) => world.place(&spot, cluster, version),
            None => {
                if let Some(version) = world.from(&spot) {
                    begin(world, cluster, &spot, version);
                }
            }
        }
    }
}
