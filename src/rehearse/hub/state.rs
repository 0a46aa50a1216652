//! What the hub of a rehearsal keeps. What people and the bot do there is in `hub`.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{Pull, PullState};
use decide::{ClusterName, Person, PluginName, Sha, TierName, Version};
use jiff::{SignedDuration, Timestamp};

use crate::rehearse::diary::Spot;

/// Places of the base branch: one per cluster, or one for all.
pub(crate) type Places = BTreeMap<Option<ClusterName>, Version>;

/// What the hub keeps.
#[derive(Default)]
pub(crate) struct Hub {
    /// It answers nothing.
    pub silent: bool,
    pub base: BTreeMap<Spot, Places>,
    pub(super) pulls: BTreeMap<u64, PullRequest>,
    /// Numbers of the pull requests that are open, or closed so lately that the bot still reads them.
    pub(super) read: BTreeMap<PluginName, Vec<u64>>,
    /// Commits that the bot wrote.
    pub(super) written: BTreeMap<Sha, Written>,
    /// Who owns the paths of a tier.
    pub owners: BTreeSet<Person>,
    pub owners_of: BTreeMap<TierName, BTreeSet<Person>>,
    /// Who may not write.
    pub strangers: BTreeSet<Person>,
    /// Who administers the repository.
    pub admins: BTreeSet<Person>,
    /// Branch rules ask for a review of each pull request.
    pub asks_reviews: bool,
    /// Ranges that stand where versions belong.
    pub ranges: BTreeMap<Spot, String>,
    /// Who approves everything, and how long after it was written.
    pub approvers: Vec<(Person, SignedDuration)>,
    /// Who acknowledges everything.
    pub acknowledgers: Vec<Person>,
    /// Closed pull requests are forgotten after this long; none = never.
    pub forget_after: Option<SignedDuration>,
}

/// A pull request, with what the bot does not read of it.
pub(super) struct PullRequest {
    pub shown: Pull,
    pub plugin: PluginName,
    /// The last commit of the bot on its branch.
    pub content: Sha,
}

/// What a commit of the bot holds.
#[derive(Clone)]
pub(crate) struct Written {
    pub version: Version,
    pub members: Vec<ClusterName>,
    /// What stood on the base branch when it was written.
    pub before: Places,
    pub at: Timestamp,
}

impl Hub {
    /// The open pull request of a plugin on a tier.
    pub fn open_pull(&self, plugin: &PluginName, tier: &TierName) -> Option<u64> {
        let numbers = self.read.get(plugin)?.iter().rev();
        let mut open = numbers.filter(|number| {
            self.pulls.get(number).is_some_and(|pull| pull.shown.tier == *tier && pull.shown.state == PullState::Open)
        });
        open.next().copied()
    }

    /// The last pull request of a plugin on a tier, open or not.
    pub fn last_pull(&self, plugin: &PluginName, tier: &TierName) -> Option<u64> {
        let mut numbers = self.read.get(plugin)?.iter().rev();
        numbers.find(|number| self.pulls.get(number).is_some_and(|pull| pull.shown.tier == *tier)).copied()
    }

    /// The open pull request that holds a version of a plugin.
    pub fn open_with(&self, plugin: &PluginName, version: &Version) -> Option<u64> {
        let numbers = self.read.get(plugin)?.iter();
        let holds =
            |pull: &PullRequest| pull.shown.state == PullState::Open && pull.shown.version.as_ref() == Some(version);
        numbers.rev().find(|number| self.pulls.get(number).is_some_and(holds)).copied()
    }

    pub fn pull_mut(&mut self, number: u64) -> Option<&mut Pull> {
        self.pulls.get_mut(&number).map(|pull| &mut pull.shown)
    }

    pub fn pull(&self, number: u64) -> Option<&Pull> {
        self.pulls.get(&number).map(|pull| &pull.shown)
    }

    pub fn has(&self, commit: &Sha) -> bool {
        self.written.contains_key(commit)
    }

    pub fn people_of(&self, tier: &TierName) -> &BTreeSet<Person> {
        self.owners_of.get(tier).unwrap_or(&self.owners)
    }
}
