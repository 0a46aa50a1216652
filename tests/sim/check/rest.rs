//! What must come in the end, by alarms alone: L1, L4, L10.

use std::collections::BTreeSet;

use decide::model::{Empty, Next, Step, Strategy};
use decide::plan::{Finding, Plan, WaveState};
use decide::{ClusterName, PluginName, Reason};
use jiff::SignedDuration;

use super::{Watch, slices};
use crate::scenario::Mode;
use crate::world::{Spot, World};

/// L10 is asked at every so many looks; a sentence costs more than a look.
const SELDOM: u64 = 40;

impl Watch {
    /// L10: what does not move says who or what can move it.
    pub(super) fn says_why(&mut self, world: &mut World, plan: &Plan) {
        if !self.looks.is_multiple_of(SELDOM) {
            return;
        }
        for wave in &plan.waves {
            let waits = matches!(wave.state, WaveState::Waiting | WaveState::Open { .. });
            let mute = wave.blocker().is_some_and(|finding| finding.because.unblock().is_none());
            if waits && mute {
                let why = wave.blocker().map(|finding| finding.because.to_string());
                self.fails(world, format!("L10 {} on {} waits and nobody can help: {why:?}", wave.plugin, wave.tier));
            }
        }
    }

    /// L4: once everything has arrived, nothing is done and nothing is written, whenever one looks.
    pub fn rests(&mut self, world: &mut World, hours: i64, plan: &Plan) {
        if !plan.actions.is_empty() || !plan.entries.is_empty() {
            self.fails(world, format!("L4 no rest {hours} h later: {:?} {:?}", plan.actions, plan.entries));
        }
    }

    /// L1: after the calm, with nothing but its own alarms, the newest release is on every tier; where
    /// nobody answers, what stays behind names whom it waits for.
    pub fn arrives(&mut self, world: &mut World, plan: &Plan) {
        let mut missing = Vec::new();
        let mut waiting = BTreeSet::new();
        let stuck = too_large(world, plan);
        // What waits for a plugin of which the file takes no release waits for whoever wrote the file.
        let taken = |name: &PluginName| !world.accepted(name).is_empty();
        let barred: BTreeSet<PluginName> =
            world.policy.plugins.iter().map(|plugin| plugin.name.clone()).filter(|name| !taken(name)).collect();
        for plugin in world.policy.plugins.clone() {
            let newest = world.accepted(&plugin.name).into_iter().max();
            if newest.is_none() {
                continue;
            }
            for tier in &plugin.tiers {
                let spot = (plugin.name.clone(), tier.name.clone());
                let pinned = |place: &crate::places::Place| {
                    place.cluster.as_ref().is_some_and(|name| world.is_pinned(&spot.0, name))
                };
                let mut free = world.base[&spot].iter().filter(|place| !pinned(place));
                let members = world.members(&tier.name);
                let passed = tier.empty == Empty::Pass && members.is_empty();
                // Whoever pinned every cluster of a tier keeps all that is above it, too.
                if !members.is_empty() && members.iter().all(|name| world.is_pinned(&spot.0, name)) {
                    waiting.insert(plugin.name.clone());
                }
                let pinned = |name: &ClusterName| world.is_pinned(&spot.0, name);
                let bare = members.iter().any(|name| world.is_bare(&spot, name) && !pinned(name));
                if passed || (!bare && free.all(|place| Some(&place.version) == newest.as_ref())) {
                    continue;
                }
                let here = || plan.waves.iter().filter(|wave| wave.plugin == spot.0 && wave.tier == spot.1);
                let mut blockers = here().filter_map(|wave| wave.blocker());
                let asked = blockers.any(|finding| finding.because.unblock().is_some());
                // A tier waits for people, or for a tier below that does, or for a plugin that waits itself.
                let silent = world.scenario.mode == Mode::Silent && asked;
                let others = here().flat_map(|wave| &wave.findings).any(|finding| match &finding.because {
                    Reason::AfterUnfinished { plugin, .. } | Reason::AfterVersion { plugin, .. } => {
                        stuck.contains(plugin) || waiting.contains(plugin) || barred.contains(plugin)
                    }
                    Reason::OpenPullLimit { .. } => !stuck.is_empty(),
                    _ => false,
                });
                if silent || others || stuck.contains(&plugin.name) || waiting.contains(&plugin.name) {
                    waiting.insert(plugin.name.clone());
                    continue;
                }
                let here: Vec<String> = world.base[&spot].iter().map(|place| place.version.to_string()).collect();
                let bare = if bare { ", or has nothing yet," } else { "" };
                let what = format!("L1 {} on {} stays on {here:?}{bare} and the newest is {newest:?}", spot.0, spot.1);
                missing.push(what);
            }
        }
        self.waiting = !waiting.is_empty();
        missing.into_iter().for_each(|what| self.fails(world, what));
    }

    /// How long one release may take on one tier in the calm, windows aside: slices come one after the other, and
    /// who is ahead or came late has a pull request more.
    pub fn patience(world: &World, spot: &Spot) -> SignedDuration {
        let tier = world.tier(spot);
        let pauses = match &tier.strategy {
            Strategy::Canary { steps } => steps.iter().map(paused).fold(SignedDuration::ZERO, |sum, pause| sum + pause),
            _ => SignedDuration::ZERO,
        };
        let one = tier.soak.max.unwrap_or(tier.soak.min)
            + tier.health.progress_deadline * 2
            + tier.health.max_age * 4
            + tier.announce
            + tier.watch
            + pauses;
        one * slices::most(world, spot) as i32 + if tier.early.is_empty() { SignedDuration::ZERO } else { one }
    }

    /// How long after the calm began everything must have come to rest: three releases may climb, each
    /// with its deadlines, soaks, grace periods and windows.
    pub fn bound(world: &World) -> SignedDuration {
        // Each slice may wait for a window, the first for one to be opened in, and who came late for another one.
        let opening = SignedDuration::from_hours(if world.policy.opening.is_some() { 9 * 24 } else { 0 });
        let of_tier = |plugin: &decide::model::PluginPolicy, tier: &decide::model::Tier| {
            let spot = (plugin.name.clone(), tier.name.clone());
            let slices = slices::most(world, &spot) + u32::from(!tier.early.is_empty());
            let grace = tier.force.as_ref().map_or(SignedDuration::ZERO, |force| {
                force.notice.iter().fold(force.after, |sum, before| sum + *before)
            });
            Self::patience(world, &spot) + (SignedDuration::from_hours(9 * 24) + grace + opening) * slices as i32
        };
        let tiers = world
            .policy
            .plugins
            .iter()
            .map(|plugin| plugin.tiers.iter().fold(SignedDuration::ZERO, |sum, tier| sum + of_tier(plugin, tier)));
        // Where none is skipped, all that are out may have to climb.
        let every = world.policy.plugins.iter().filter(|plugin| plugin.next == Next::Every);
        let climbs = 3 + every.map(|plugin| world.releases[&plugin.name].len()).max().unwrap_or(0) as i32;
        let cooldown = world.policy.plugins.iter().map(|plugin| plugin.cooldown).max().unwrap_or_default();
        let storm = world.storm_ends.map_or(SignedDuration::ZERO, |ends| ends.duration_since(world.scenario.calm));
        tiers.max().unwrap_or_default() * climbs + SignedDuration::from_hours(48) + cooldown + storm
    }
}

/// Plugins of which a tier grew beyond the hourly cap of clusters: it waits for whoever edits the file.
fn too_large(world: &World, plan: &Plan) -> BTreeSet<PluginName> {
    let cap = world.policy.limits.clusters_per_hour;
    let large = |finding: &Finding| match finding.because {
        Reason::WaveAboveLimit { members, limit } => cap == Some(limit) && members > limit,
        _ => false,
    };
    let large = plan.waves.iter().filter(|wave| wave.findings.iter().any(large));
    large.map(|wave| wave.plugin.clone()).collect()
}

/// How long a step of a canary may wait at most: a word is given within a day.
fn paused(step: &Step) -> SignedDuration {
    match step {
        Step::Pause(Some(pause)) => *pause,
        Step::Pause(None) => SignedDuration::from_hours(30),
        Step::SetWeight(_) | Step::Verify { .. } => SignedDuration::ZERO,
    }
}
