//! Runs of workflows at the hub: each was dispatched by the bot, comes to its end after some time, good or
//! bad, hangs, or never begins.

use decide::plan::Action;
use decide::snapshot::{CheckState, WorkflowRun};
use jiff::{SignedDuration, Timestamp};
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
    fate: Fate,
}

/// What becomes of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Green,
    /// It finds what has moved wanting.
    Red,
    /// It takes longer than anybody waits.
    Hangs,
    /// It was asked for, and nothing ever came of it.
    Lost,
}

impl Run {
    /// Whether it verified this release here, after this time; `late`: also when that took it too long.
    pub fn verifies(
        &self,
        spot: &Spot,
        version: &Version,
        workflow: &str,
        (since, now): (Timestamp, Timestamp),
        late: bool,
    ) -> bool {
        let same = self.spot == *spot && self.version == *version && self.workflow == workflow;
        let green = match self.fate {
            Fate::Green => true,
            Fate::Hangs => late,
            Fate::Red | Fate::Lost => false,
        };
        same && self.begun >= since && self.ends <= now && green
    }

    /// Whether it speaks against this release here.
    pub fn doubts(&self, spot: &Spot, version: &Version) -> bool {
        self.spot == *spot && self.version == *version && self.fate != Fate::Green
    }
}

impl World {
    /// The hub takes a dispatch; whether one of this title was there before.
    pub fn dispatch(&mut self, action: &Action) -> bool {
        let Action::Dispatch { plugin, tier, version, workflow, verification, .. } = action else { return false };
        let title = verification.id.clone();
        let twice = self.runs.iter().any(|run| run.title == title && run.fate != Fate::Lost);
        let mut fate = Rng::fate(self.scenario.seed, &["run", &title]);
        // Only a first one is lost: in a world that calms down the release goes on.
        let lost = title.ends_with(".1") && fate.chance(10);
        let (length, calm) = (fate.minutes(1, 25), self.is_calm());
        let (length, fate) = match fate.range(0, 99) {
            _ if lost => (length, Fate::Lost),
            0..=9 if !calm => (length, Fate::Red),
            10..=15 if !calm => (SignedDuration::from_hours(24 * 30), Fate::Hangs),
            _ => (length, Fate::Green),
        };
        self.runs.push(Run {
            spot: (plugin.clone(), tier.clone()),
            version: plain(version),
            workflow: workflow.clone(),
            title,
            begun: self.now,
            ends: self.now + length,
            fate,
        });
        twice
    }

    /// The runs of a plugin as the hub lists them.
    pub fn shown_runs(&self, plugin: &decide::PluginName) -> Vec<WorkflowRun> {
        let listed = self.runs.iter().filter(|run| run.spot.0 == *plugin && run.fate != Fate::Lost);
        let shown = |run: &Run| WorkflowRun {
            workflow: run.workflow.clone(),
            title: run.title.clone(),
            state: match (run.ends <= self.now, run.fate) {
                (false, _) => CheckState::Pending,
                (true, Fate::Red) => CheckState::Failure,
                (true, Fate::Green | Fate::Hangs | Fate::Lost) => CheckState::Success,
            },
        };
        listed.map(shown).collect()
    }
}

/// At the beginning of the calm somebody starts again what went wrong, and it succeeds.
pub fn settle(world: &mut World) {
    let now = world.now;
    for run in world.runs.iter_mut().filter(|run| run.fate != Fate::Lost) {
        (run.fate, run.ends) = (Fate::Green, run.ends.min(now));
    }
}
