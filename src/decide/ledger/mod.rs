//! What leaves no trace elsewhere: first sights, intents, deadlines, verdicts, soaks. This is the
//! data and how an entry changes it; the branch that keeps it is the bot's `ledger` room.

mod apply;
mod wave;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ClusterName, Digest, Person, PluginName, PullNumber, Sha, TierName, Version};

pub use wave::{
    Announced, Failed, ForceEvidence, Grace, Head, Landed, LetThrough, Merging, Part, Purpose, Rejected, Soaked,
    Superseded, Wave, Withdrawn,
};

/// The whole ledger of a repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ledger {
    /// One page per plugin.
    #[serde(default)]
    pub plugins: BTreeMap<PluginName, PluginLedger>,
    /// Times at which the hub could not be reached; they do not count towards a grace period.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// Rebuilds of a lost ledger that people confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rebuilds: Vec<Rebuild>,
}

/// What is kept of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginLedger {
    /// Releases in the order in which they were first seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Seen>,
    /// Waves of each tier, oldest first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<TierName, Vec<Wave>>,
}

impl PluginLedger {
    /// The newest wave of a tier.
    pub fn last(&self, tier: &TierName) -> Option<&Wave> {
        self.tiers.get(tier)?.last()
    }

    /// The wave of a tier that has a pull request or is about to: what others put on the base branch
    /// meanwhile does not make it forgotten.
    pub fn climbing(&self, tier: &TierName) -> Option<&Wave> {
        let climbs = |wave: &&Wave| wave.head().is_some() && wave.landed.is_none() && !wave.is_over();
        self.tiers.get(tier)?.iter().rev().find(climbs)
    }

    /// The newest wave of this version on a tier.
    pub fn wave(&self, tier: &TierName, version: &Version) -> Option<&Wave> {
        self.tiers.get(tier)?.iter().rev().find(|wave| wave.version == *version)
    }

    /// When the digest of a version was pinned, and which.
    pub fn seen(&self, version: &Version) -> Option<&Seen> {
        self.releases.iter().find(|seen| seen.version == *version)
    }
}

/// The first sight of a release; the digest is pinned by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Seen {
    /// The version.
    pub version: Version,
    /// The digest it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// When we first saw it; registries have no dates that can be trusted.
    pub first_seen: Timestamp,
}

/// A time at which the hub could not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// From the last good answer.
    pub from: Timestamp,
    /// To the first good one after it.
    pub to: Timestamp,
}

/// A rebuild of a lost ledger that a person confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {
    /// The commit that was given up.
    pub cited: Sha,
    /// Who confirmed it.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// The pull request on which they did.
    pub pull: PullNumber,
}

/// One thing to remember. An entry is written before the effect it speaks of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// A release was seen for the first time.
    Seen {
        /// The plugin.
        plugin: PluginName,
        /// What was seen.
        seen: Seen,
    },
    /// Something changed in a wave.
    Wave {
        /// The plugin.
        plugin: PluginName,
        /// The tier.
        tier: TierName,
        /// The version whose newest wave it is about.
        version: Version,
        /// What changed.
        change: Change,
    },
    /// The hub was out of reach.
    Outage(Outage),
    /// A person gave up a lost ledger commit.
    Rebuilt(Rebuild),
}

/// What may change in a wave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// The version was found on the base branch and nobody had recorded it.
    Found {
        /// Its clusters, fixed now.
        members: Vec<ClusterName>,
        /// Its digest.
        digest: Option<Digest>,
        /// Since when it counts as landed.
        landed: Landed,
    },
    /// The bot is about to push a commit for it.
    Intent {
        /// The version before.
        from: Option<Version>,
        /// The digest.
        digest: Option<Digest>,
        /// Which part of the climb.
        #[serde(default, skip_serializing_if = "Part::is_whole")]
        part: Part,
        /// The members.
        members: Vec<ClusterName>,
        /// The commit.
        head: Head,
    },
    /// The pull request was seen at the hub.
    Announced(Announced),
    /// The grace period began, or its deadline moved later.
    Grace(Grace),
    /// The file has no grace period for it any more.
    GraceEnded,
    /// A merge is about to be asked for.
    Merging(Merging),
    /// It is on the base branch.
    Landed(Landed),
    /// All members were healthy on it for the first time.
    Converged(Timestamp),
    /// The soak moved.
    Soaked(Soaked),
    /// The longest soak is over: what is missing or slow is not waited for.
    LetThrough(LetThrough),
    /// It finished the tier.
    Finished(Timestamp),
    /// It failed, and the tier waits until all are healthy on it.
    Stalled(Failed),
    /// All are healthy on it again.
    Resumed(Timestamp),
    /// It failed.
    Failed(Failed),
    /// A person said no.
    Rejected(Rejected),
    /// A newer release took its place.
    Superseded(Superseded),
    /// The bot takes its pull request back.
    Withdrawn(Withdrawn),
}
