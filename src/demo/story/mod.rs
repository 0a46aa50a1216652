//! The story: what lies in the config repo, who acts when, and what must have come of it. Its events
//! fire on states of the world, never on seconds.

pub mod chronicle;
mod director;
pub mod expectations;
pub mod fleet;
pub mod history;
pub mod people;
pub mod scene;
pub mod stage;

use jiff::SignedDuration;

use chronicle::Chronicle;
use expectations::Expectation;
use fleet::TIERS;

/// What came of the story.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was expected, and whether it held.
    pub expectations: Vec<Expectation>,
    /// The story in numbers.
    pub summary: Summary,
}

impl Outcome {
    /// Whether every expectation held.
    pub fn held(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.held.is_ok())
    }

    /// The story in one sentence.
    pub fn headline(&self) -> String {
        let Summary { took, pulls, merged, forced, closed } = self.summary;
        let held = self.expectations.iter().filter(|expectation| expectation.held.is_ok()).count();
        format!(
            "The story took {} s: {pulls} pull requests, {merged} merged ({forced} by force), {closed} closed. \
             {held} of {} expectations held.",
            took.as_secs(),
            self.expectations.len()
        )
    }
}

/// The story in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How long it took.
    pub took: SignedDuration,
    /// Pull requests that moved a plugin on a tier.
    pub pulls: usize,
    /// Those that were merged.
    pub merged: usize,
    /// Those that were merged above the first tier without an approval.
    pub forced: usize,
    /// Those that were closed and not merged.
    pub closed: usize,
}

impl Summary {
    /// Counts what happened.
    pub fn of(chronicle: &Chronicle, took: SignedDuration) -> Self {
        let pulls: Vec<_> = chronicle.scene.pulls.values().filter(|pull| pull.rung.is_some()).collect();
        let first = TIERS[0].0;
        let above = |tier: &str| tier != first;
        let forced = pulls.iter().filter(|pull| {
            pull.merged.is_some()
                && pull.approved_by.is_empty()
                && pull.rung.as_ref().is_some_and(|rung| above(&rung.tier))
        });
        Self {
            took,
            forced: forced.count(),
            merged: pulls.iter().filter(|pull| pull.merged.is_some()).count(),
            closed: pulls.iter().filter(|pull| pull.merged.is_none() && pull.closed_at.is_some()).count(),
            pulls: pulls.len(),
        }
    }
}
