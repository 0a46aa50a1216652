//! Clusters that follow the base branch at their own pace: the old version stays Ready for a
//! while, then the rollout starts, and ends as the release is.

use decide::{ClusterName, PluginName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::scenario::Quality;
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
    let running = world.running.get_mut(&key).unwrap();
    running.asked += 1;
    let asked = running.asked;
    let due = |step| Due::Rollout { cluster: cluster.clone(), plugin: spot.0.clone(), asked, step };
    world.schedule(start, due(Step::Start { version: version.clone() }));
    world.schedule(end, due(Step::End { version: version.clone() }));
}

pub fn step(world: &mut World, cluster: &ClusterName, plugin: &PluginName, asked: u64, step: Step) {
    let key = (cluster.clone(), plugin.clone());
    if world.running[&key].asked != asked {
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
        }
        Step::Turn { condition } => {
            let version = world.running[&key].version.clone();
            world.note(format!("{cluster}: {plugin} {version} turns {condition:?}"));
            world.running.get_mut(&key).unwrap().turn(now, version, condition);
        }
    }
}

/// How a rollout ends; a release that degrades looks healthy first.
fn outcome(world: &mut World, cluster: &ClusterName, plugin: &PluginName, version: &Version) -> Condition {
    let rung =
        world.policy.plugins[0].tiers.iter().position(|tier| world.scenario.members(&tier.name).contains(cluster));
    let reached = |from: usize| rung.is_some_and(|rung| rung >= from);
    match world.release(plugin, version).map(|release| release.quality) {
        Some(Quality::Degrades(from)) if reached(from) => {
            let later =
                world.luck(&["degrades", cluster.as_str(), plugin.as_str(), &version.to_string()]).minutes(0, 25);
            turn_later(world, cluster, plugin, later, Condition::Degraded);
            Condition::Healthy
        }
        Some(Quality::Fails(from)) if reached(from) => Condition::Failed,
        Some(Quality::Stuck(from)) if reached(from) => Condition::Progressing,
        Some(Quality::Good | Quality::Degrades(_) | Quality::Fails(_) | Quality::Stuck(_)) | None => Condition::Healthy,
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
    let asked = world.running[&(cluster.clone(), plugin.clone())].asked;
    let due = Due::Rollout { cluster: cluster.clone(), plugin: plugin.clone(), asked, step: Step::Turn { condition } };
    world.schedule(world.now + after, due);
}

/// Whatever runs in a cluster and is healthy is disturbed for a while.
pub fn disturb(world: &mut World, cluster: &ClusterName, minutes: u64, condition: Condition) {
    for plugin in world.policy.plugins.clone() {
        let key = (cluster.clone(), plugin.name.clone());
        if world.running[&key].condition == Condition::Healthy {
            turn_later(world, cluster, &plugin.name, SignedDuration::ZERO, condition);
            turn_later(world, cluster, &plugin.name, SignedDuration::from_mins(minutes as i64), Condition::Healthy);
        }
    }
}

/// Disturbances end; what a bad release broke stays broken.
pub fn heal(world: &mut World) {
    let all: Vec<_> = world.running.keys().cloned().collect();
    for (cluster, plugin) in all {
        let running = &world.running[&(cluster.clone(), plugin.clone())];
        let good = world.release(&plugin, &running.version).is_some_and(|release| release.quality == Quality::Good);
        let disturbed = matches!(running.condition, Condition::Suspended | Condition::Degraded);
        if good && disturbed {
            turn_later(world, &cluster, &plugin, SignedDuration::ZERO, Condition::Healthy);
        }
    }
}
