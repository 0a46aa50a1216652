//! What must come in the end, by alarms alone: L1, L4, L10.

use std::collections::BTreeSet;

use decide::Reason;
use decide::plan::{Plan, WaveState};
use jiff::SignedDuration;

use super::{Watch, slices};
use crate::scenario::Mode;
use crate::world::World;

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
        for plugin in world.policy.plugins.clone() {
            let newest = world.accepted(&plugin.name).into_iter().max();
            for tier in &plugin.tiers {
                let spot = (plugin.name.clone(), tier.name.clone());
                if world.base[&spot].iter().all(|place| Some(&place.version) == newest.as_ref()) {
                    continue;
                }
                let here = || plan.waves.iter().filter(|wave| wave.plugin == spot.0 && wave.tier == spot.1);
                let mut blockers = here().filter_map(|wave| wave.blocker());
                let asked = blockers.any(|finding| finding.because.unblock().is_some());
                // A tier that grew beyond the hourly cap of clusters waits for whoever edits the file.
                let cap = world.policy.limits.clusters_per_hour;
                let too_large = here().flat_map(|wave| &wave.findings).any(|finding| match finding.because {
                    Reason::WaveAboveLimit { members, limit } => cap == Some(limit) && members > limit,
                    _ => false,
                });
                // A tier waits for people, or for a tier below that does.
                let silent = world.scenario.mode == Mode::Silent && asked;
                if silent || too_large || waiting.contains(&plugin.name) {
                    waiting.insert(plugin.name.clone());
                    continue;
                }
                let here: Vec<String> = world.base[&spot].iter().map(|place| place.version.to_string()).collect();
                missing.push(format!("L1 {} on {} stays on {here:?} and the newest is {newest:?}", spot.0, spot.1));
            }
        }
        missing.into_iter().for_each(|what| self.fails(world, what));
    }

    /// How long after the calm began everything must have come to rest: three releases may climb, each
    /// with its deadlines, soaks, grace periods and windows.
    pub fn bound(world: &World) -> SignedDuration {
        let of_slice = |tier: &decide::model::Tier| {
            let grace = tier.force.as_ref().map_or(SignedDuration::ZERO, |force| {
                force.notice.iter().fold(force.after, |sum, before| sum + *before)
            });
            grace + tier.soak.min + tier.health.progress_deadline * 2 + tier.health.max_age * 4
        };
        // Slices come one after the other; each may wait for a window, and who came late for another one.
        let of_tier = |plugin: &decide::model::PluginPolicy, tier: &decide::model::Tier| {
            let slices = slices::most(world, &(plugin.name.clone(), tier.name.clone()));
            (of_slice(tier) + SignedDuration::from_hours(9 * 24)) * slices as i32
        };
        let tiers = world
            .policy
            .plugins
            .iter()
            .map(|plugin| plugin.tiers.iter().fold(SignedDuration::ZERO, |sum, tier| sum + of_tier(plugin, tier)));
        tiers.max().unwrap_or_default() * 3 + SignedDuration::from_hours(48)
    }
}
