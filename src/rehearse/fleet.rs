//! Clusters that follow the base branch at their own pace, and break, mend and vanish when told to.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{Cluster, Health, Reading};
use decide::{ClusterName, Digest, PluginName, Version};
use jiff::{SignedDuration, Timestamp};

use super::diary::Noted;
use super::world::{Due, World};

/// The clusters and what runs in them.
pub(crate) struct Fleet {
    pub clusters: Vec<Cluster>,
    running: BTreeMap<(ClusterName, PluginName), Running>,
    vanished: BTreeSet<ClusterName>,
    /// Where other content runs than was released.
    other_content: BTreeSet<(ClusterName, PluginName)>,
    rollout: SignedDuration,
    pace: BTreeMap<ClusterName, SignedDuration>,
    fates: BTreeMap<(ClusterName, PluginName), Vec<Fate>>,
}

/// How a version ends in a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    pub version: Version,
    pub ends: Condition,
    pub why: String,
}

/// One plugin in one cluster.
#[derive(Clone, Debug)]
struct Running {
    version: Option<Version>,
    attempted: Option<Version>,
    condition: Condition,
    since: Timestamp,
    evidence: String,
    /// Counts what was asked of it; steps of an older rollout are void.
    asked: u64,
}

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Healthy,
    Progressing,
    Suspended,
    Degraded,
    Failed,
}

impl Condition {
    fn health(self) -> Health {
        match self {
            Self::Healthy => Health::Healthy,
            Self::Progressing => Health::Progressing,
            Self::Suspended => Health::Suspended,
            Self::Degraded => Health::Degraded,
            Self::Failed => Health::Failed,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Healthy => "is healthy",
            Self::Progressing => "does not get ready",
            Self::Suspended => "is suspended",
            Self::Degraded => "is degraded",
            Self::Failed => "has failed",
        }
    }
}

impl Fleet {
    pub fn new(clusters: Vec<Cluster>, rollout: SignedDuration) -> Self {
        Self {
            clusters,
            running: BTreeMap::new(),
            vanished: BTreeSet::new(),
            other_content: BTreeSet::new(),
            rollout,
            pace: BTreeMap::new(),
            fates: BTreeMap::new(),
        }
    }

    /// What runs of a plugin in a cluster.
    pub fn runs(&self, cluster: &ClusterName, plugin: &PluginName) -> Option<&Version> {
        self.running.get(&(cluster.clone(), plugin.clone()))?.version.as_ref()
    }

    pub fn vanish(&mut self, cluster: &ClusterName, away: bool) {
        if away {
            self.vanished.insert(cluster.clone());
        } else {
            self.vanished.remove(cluster);
        }
    }

    pub fn pull_other_content(&mut self, cluster: &ClusterName, plugin: &PluginName) {
        self.other_content.insert((cluster.clone(), plugin.clone()));
    }

    pub fn set_pace(&mut self, cluster: &ClusterName, takes: SignedDuration) {
        self.pace.insert(cluster.clone(), takes);
    }

    pub fn set_fate(&mut self, cluster: &ClusterName, plugin: &PluginName, fate: Fate) {
        self.fates.entry((cluster.clone(), plugin.clone())).or_default().push(fate);
    }

    /// Takes a cluster out of the inventory.
    pub fn leave(&mut self, cluster: &ClusterName) {
        self.clusters.retain(|known| known.name != *cluster);
    }

    /// Every plugin that runs in a cluster.
    pub fn plugins_in(&self, cluster: &ClusterName) -> Vec<PluginName> {
        self.running.keys().filter(|(name, _)| name == cluster).map(|(_, plugin)| plugin.clone()).collect()
    }
}

/// A version runs and is healthy, since long ago.
pub(super) fn install(world: &mut World, cluster: &ClusterName, plugin: &PluginName, version: &Version) {
    let running = Running {
        version: Some(version.clone()),
        attempted: Some(version.clone()),
        condition: Condition::Healthy,
        since: world.now - SignedDuration::from_hours(24),
        evidence: String::new(),
        asked: 0,
    };
    world.fleet.running.insert((cluster.clone(), plugin.clone()), running);
}

/// The base branch asks a cluster for a version.
pub(super) fn roll_out(world: &mut World, cluster: &ClusterName, plugin: &PluginName, to: &Version) {
    let now = world.now;
    let takes = world.fleet.pace.get(cluster).copied().unwrap_or(world.fleet.rollout);
    let running = world.fleet.running.entry((cluster.clone(), plugin.clone())).or_insert_with(|| Running {
        version: None,
        attempted: None,
        condition: Condition::Progressing,
        since: now,
        evidence: String::new(),
        asked: 0,
    });
    running.asked += 1;
    let asked = running.asked;
    let due =
        |arrives| Due::Rollout { cluster: cluster.clone(), plugin: plugin.clone(), asked, to: to.clone(), arrives };
    if takes.is_zero() {
        roll_on(world, cluster, plugin, asked, to, true);
        return;
    }
    world.schedule(now + takes / 4, due(false));
    world.schedule(now + takes, due(true));
}

/// A step of a rollout; void when the cluster was asked for something else since.
pub(super) fn roll_on(
    world: &mut World,
    cluster: &ClusterName,
    plugin: &PluginName,
    asked: u64,
    to: &Version,
    arrives: bool,
) {
    let now = world.now;
    let fates = world.fleet.fates.get(&(cluster.clone(), plugin.clone()));
    let fate = fates.and_then(|fates| fates.iter().rfind(|fate| fate.version == *to)).cloned();
    let key = (cluster.clone(), plugin.clone());
    let Some(running) = world.fleet.running.get_mut(&key).filter(|running| running.asked == asked) else { return };
    running.attempted = Some(to.clone());
    running.since = now;
    if !arrives {
        running.condition = Condition::Progressing;
        running.evidence = String::new();
        return;
    }
    running.version = Some(to.clone());
    let (condition, why) = fate.map_or((Condition::Healthy, String::new()), |fate| (fate.ends, fate.why));
    running.condition = condition;
    running.evidence.clone_from(&why);
    if condition != Condition::Healthy {
        let why = if why.is_empty() { why } else { format!(": {why}") };
        world.note(Noted::Said(format!("{cluster} {} on {plugin} {to}{why}", condition.word())));
    }
    look_when_it_counts(world, cluster, plugin);
}

/// Changes the state of what runs. Whether anything runs there.
pub(crate) fn turn(world: &mut World, cluster: &ClusterName, plugin: &PluginName, to: Condition, why: &str) -> bool {
    let now = world.now;
    let Some(running) = world.fleet.running.get_mut(&(cluster.clone(), plugin.clone())) else { return false };
    if running.condition != to {
        running.since = now;
    }
    running.condition = to;
    running.evidence = why.to_string();
    look_when_it_counts(world, cluster, plugin);
    true
}

/// A state that lasts becomes a verdict at an instant that nothing else announces.
fn look_when_it_counts(world: &mut World, cluster: &ClusterName, plugin: &PluginName) {
    let Some(policy) = world.snapshot.policy.plugins.iter().find(|known| known.name == *plugin) else { return };
    let labels = world.fleet.clusters.iter().find(|known| known.name == *cluster).map(|known| &known.labels);
    let Some(labels) = labels else { return };
    let of_cluster = policy.tiers.iter().filter(|tier| tier.select.matches(labels));
    let lasts: Vec<SignedDuration> = of_cluster.map(|tier| tier.health.degraded_for).collect();
    let degraded = world
        .fleet
        .running
        .get(&(cluster.clone(), plugin.clone()))
        .is_some_and(|running| running.condition == Condition::Degraded);
    for lasts in lasts.into_iter().filter(|_| degraded) {
        // The first look after the change may be a second late.
        world.schedule(world.now + lasts, Due::Look);
        world.schedule(world.now + lasts + SignedDuration::from_secs(2), Due::Look);
    }
}

/// What the clusters answer about a plugin, as fresh as can be.
pub(super) fn readings(world: &World, plugin: &PluginName) -> decide::Readings {
    let signal = format!("HelmRelease {plugin}/{plugin}");
    world
        .fleet
        .clusters
        .iter()
        .map(|cluster| {
            let reading = Reading {
                signal: signal.clone(),
                health: Health::Unknown,
                running: None,
                attempted: None,
                digest: None,
                observed_at: world.now,
                since: None,
                evidence: "timed out".to_string(),
            };
            let key = (cluster.name.clone(), plugin.clone());
            let running = world.fleet.running.get(&key);
            let reading = match running {
                _ if world.fleet.vanished.contains(&cluster.name) => reading,
                None => Reading { health: Health::NotFound, evidence: String::new(), ..reading },
                Some(running) => Reading {
                    health: running.condition.health(),
                    running: running.version.clone(),
                    attempted: running.attempted.clone(),
                    digest: world.fleet.other_content.contains(&key).then(|| Digest::new("sha256:other")),
                    since: Some(running.since),
                    evidence: running.evidence.clone(),
                    ..reading
                },
            };
            (cluster.name.clone(), vec![reading])
        })
        .collect()
}
