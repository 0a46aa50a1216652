//! Runs of workflows at the hub: each was dispatched by the bot, comes to its end after some time, or
//! never begins.

use decide::plan::Action;
use decide::snapshot::{CheckState, WorkflowRun};
use jiff::Timestamp;
use semver::Version;

use crate::releases::plain;
use crate::rng::Rng;
use crate::world::{Spot, World};

pub struct Run {
    spot: Spot,
    version: Version,
    workflow: String,
    title: String,
    begun: Timestamp,
    ends: Timestamp,
    /// It was asked for, and nothing ever came of it.
    lost: bool,
}

impl Run {
    /// Whether it verified this release here, after this time.
    pub fn verifies(&self, spot: &Spot, version: &Version, workflow: &str, since: Timestamp, now: Timestamp) -> bool {
        let same = self.spot == *spot && self.version == *version && self.workflow == workflow;
        same && self.begun >= since && self.ends <= now && !self.lost
    }
}

impl World {
    /// The hub takes a dispatch; whether one of this title was there before.
    pub fn dispatch(&mut self, action: &Action) -> bool {
        let Action::Dispatch { plugin, tier, version, workflow, verification, .. } = action else { return false };
        let title = verification.id.clone();
        let twice = self.runs.iter().any(|run| run.title == title && !run.lost);
        let mut fate = Rng::fate(self.scenario.seed, &["run", &title]);
        // Only a first one is lost: in a world that calms down the release goes on.
        let lost = title.ends_with(".1") && fate.chance(10);
        self.runs.push(Run {
            spot: (plugin.clone(), tier.clone()),
            version: plain(version),
            workflow: workflow.clone(),
            title,
            begun: self.now,
            ends: self.now + fate.minutes(1, 25),
            lost,
        });
        twice
    }

    /// The runs of a plugin as the hub lists them.
    pub fn shown_runs(&self, plugin: &decide::PluginName) -> Vec<WorkflowRun> {
        let listed = self.runs.iter().filter(|run| run.spot.0 == *plugin && !run.lost);
        let shown = |run: &Run| WorkflowRun {
            workflow: run.workflow.clone(),
            title: run.title.clone(),
            state: if run.ends <= self.now { CheckState::Success } else { CheckState::Pending },
        };
        listed.map(shown).collect()
    }
}
