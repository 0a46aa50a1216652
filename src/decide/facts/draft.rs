//! What is being decided about one plugin: what `settle` and `tiers` write, and nobody else. A leaf returns what it
//! found.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::Facts;
use crate::ledger::{Change, Entry};
use crate::plan::{Action, Alarm, Climb, Record, Urgency, WaveReport};
use crate::{PluginName, TierName, Version};

/// What was decided about one plugin.
#[derive(Default)]
pub(crate) struct Decided {
    pub entries: Vec<Record>,
    pub actions: Vec<Action>,
    pub waves: Vec<WaveReport>,
    pub climbs: Vec<Climb>,
    pub alarms: Vec<Alarm>,
}

/// What a leaf found of a wave, for the ledger.
pub(crate) struct Noted {
    version: Version,
    change: Change,
    urgency: Urgency,
}

impl Noted {
    /// A transition.
    pub(crate) fn new(version: &Version, change: Change) -> Self {
        Self { version: version.clone(), change, urgency: Urgency::Transition }
    }

    /// The movement of a soak; it may reach the branch later.
    pub(crate) fn progress(version: &Version, change: Change) -> Self {
        Self { urgency: Urgency::Progress, ..Self::new(version, change) }
    }
}

/// What people are told of a tier, and when to look again.
pub(crate) struct Told {
    pub report: WaveReport,
    pub alarms: Vec<Alarm>,
}

impl From<WaveReport> for Told {
    fn from(report: WaveReport) -> Self {
        Self { report, alarms: Vec::new() }
    }
}

/// One plugin under decision, and what has been decided about it so far.
pub(crate) struct Draft<'a> {
    /// What is known; what is noted shows in its page at once.
    pub facts: Facts<'a>,
    done: Decided,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(facts: Facts<'a>) -> Self {
        Self { facts, done: Decided::default() }
    }

    /// What was decided. Those who wait for the plugin are shown its page.
    pub(crate) fn close(self, awaited: &BTreeSet<&PluginName>) -> Decided {
        let Self { facts, done } = self;
        if awaited.contains(&facts.policy.name) {
            facts.shared.pages.insert(facts.policy.name.clone(), facts.page.into_owned());
        }
        done
    }

    /// Notes what was found of waves of a tier.
    pub(crate) fn note(&mut self, tier: &TierName, noted: impl IntoIterator<Item = Noted>) {
        for Noted { version, change, urgency } in noted {
            self.facts.page.to_mut().apply(tier, &version, &change);
            let plugin = self.facts.plugin().clone();
            let entry = Entry::Wave { plugin, tier: tier.clone(), version, change };
            self.done.entries.push(Record { entry, urgency });
        }
    }

    /// Enters what is no wave's.
    pub(crate) fn enter(&mut self, entries: impl IntoIterator<Item = Entry>) {
        for entry in entries {
            match &entry {
                Entry::Seen { seen, .. } => self.facts.page.to_mut().releases.push(seen.clone()),
                Entry::Hotfix { said, .. } => self.facts.page.to_mut().hotfixes.push(said.clone()),
                Entry::Labelled { labelled, .. } => self.facts.page.to_mut().labelled.push(labelled.clone()),
                Entry::Unlabelled { pull, .. } => {
                    self.facts.page.to_mut().labelled.retain(|known| known.pull != *pull);
                }
                Entry::Wave { .. }
                | Entry::Outage(_)
                | Entry::Rebuilt(_)
                | Entry::Stopped(_)
                | Entry::Frozen(_)
                | Entry::Thawed(_) => {}
            }
            self.done.entries.push(Record { entry, urgency: Urgency::Transition });
        }
    }

    /// Does something at the hub, and looks soon at what came of it.
    pub(crate) fn act(&mut self, action: Action) {
        if let Action::Open(proposal) = &action {
            self.facts.shared.opening.push((proposal.plugin.clone(), proposal.tier.clone()));
        }
        self.done.actions.push(action);
        self.ring(self.facts.soon());
    }

    /// Tells people about a tier.
    pub(crate) fn tell(&mut self, told: impl Into<Told>) {
        let Told { report, alarms } = told.into();
        self.done.waves.push(report);
        self.ring(alarms);
    }

    /// Looks again at these times.
    pub(crate) fn ring(&mut self, alarms: impl IntoIterator<Item = Alarm>) {
        self.done.alarms.extend(alarms);
    }

    /// What people were told so far.
    pub(crate) fn told(&self) -> &[WaveReport] {
        &self.done.waves
    }

    pub(crate) fn climbs(&mut self, climbs: Vec<Climb>) {
        self.done.climbs = climbs;
    }
}
