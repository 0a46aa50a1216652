//! What leaves no trace elsewhere: first sights, intents, deadlines, verdicts, soaks. This is the
//! data and how an entry changes it; the branch that keeps it is the bot's `ledger` room.

mod apply;
mod by_people;
mod evidence;
mod outcome;
mod part;
mod state;
mod wave;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ClusterName, Digest, PluginName, PullNumber, Sha, TierName, Version};

pub use by_people::{Frozen, Hotfixed, Labelled, Lifted, Rebuild, Stop, Thawed};
pub(crate) use evidence::FALSE_YES;
pub use evidence::{ForceEvidence, Merging, Refusal, Refused, Said};
pub use outcome::{Announced, Failed, Grace, Head, Landed, LetThrough, Rejected, Soaked, Superseded, Withdrawn};
pub use part::{Part, Purpose, Verification, Wait};
pub use state::{Closed, State};
pub use wave::{Fields, Wave};

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
    /// Freezes that people set by commands, lifted ones among them: their commands may still be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freezes: Vec<Frozen>,
    /// Merges that did not land as planned. Until a person clears it, one of them stops everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<Stop>,
}

impl Ledger {
    /// The first stop that nobody has cleared.
    pub fn stop(&self) -> Option<&Stop> {
        self.stops.iter().find(|stop| stop.cleared.is_none())
    }
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
    /// Releases that people made hotfixes by commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hotfixes: Vec<Hotfixed>,
    /// Pull requests with the label that keeps their release from the tiers above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labelled: Vec<Labelled>,
}

impl PluginLedger {
    /// The newest wave of a tier.
    pub fn last(&self, tier: &TierName) -> Option<&Wave> {
        self.tiers.get(tier)?.last()
    }

    /// The wave of a tier that has a pull request or is about to: what others put on the base branch
    /// meanwhile does not make it forgotten.
    pub fn climbing(&self, tier: &TierName) -> Option<&Wave> {
        let climbs = |wave: &&Wave| wave.head().is_some() && wave.state() == State::Open;
        self.tiers.get(tier)?.iter().rev().find(climbs)
    }

    /// Of the newest wave of each version on a tier those that are asked for, oldest first: of a release that
    /// moves in slices the present one. Few of a long past are, and only of those it is looked at what came later.
    pub fn present<'a, F>(&'a self, tier: &TierName, which: F) -> impl DoubleEndedIterator<Item = &'a Wave> + use<'a, F>
    where
        F: Fn(&Wave) -> bool,
    {
        let waves = self.tiers.get(tier).map_or(&[][..], Vec::as_slice);
        let newest = |at: usize| waves[at + 1..].iter().all(|later| later.version != waves[at].version);
        (0..waves.len()).filter(move |at| which(&waves[*at]) && newest(*at)).map(|at| &waves[at])
    }

    /// The waves of this one's climb on the tier that are on the base branch, in order of slices; a
    /// wave that is not cut into slices is alone.
    pub fn landed_with(&self, tier: &TierName, wave: &Wave) -> Vec<&Wave> {
        let waves = self.tiers.get(tier).map_or(&[][..], Vec::as_slice);
        let mut slices: Vec<&Wave> =
            waves.iter().filter(|other| other.landed.is_some() && other.climbs_with(wave)).collect();
        if wave.part.partition.is_empty() {
            slices.extend(waves.iter().rfind(|other| *other == wave && other.landed.is_some()));
        }
        slices
    }

    /// The newest wave of this version on a tier.
    pub fn wave(&self, tier: &TierName, version: &Version) -> Option<&Wave> {
        self.tiers.get(tier)?.iter().rev().find(|wave| wave.version == *version)
    }

    /// When the digest of a version was pinned, and which.
    pub fn seen(&self, version: &Version) -> Option<&Seen> {
        // Mostly it is one of the newest that is asked for.
        self.releases.iter().rfind(|seen| seen.version == *version)
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
    /// A person gave up a lost ledger commit, or cleared the stop of a merge by its head.
    Rebuilt(Rebuild),
    /// A merge did not land as planned: everything stops.
    Stopped(Stop),
    /// A person froze something by a command.
    Frozen(Frozen),
    /// A person lifted such a freeze.
    Thawed(Thawed),
    /// A person made a release a hotfix by a command.
    Hotfix {
        /// The plugin.
        plugin: PluginName,
        /// What was said.
        said: Hotfixed,
    },
    /// A pull request has the label that keeps its release from the tiers above.
    Labelled {
        /// The plugin.
        plugin: PluginName,
        /// Which one.
        labelled: Labelled,
    },
    /// It has it no more.
    Unlabelled {
        /// The plugin.
        plugin: PluginName,
        /// Which one.
        pull: PullNumber,
    },
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
    /// The hub shows its commit on a pull request that was there before it.
    Shown(Head),
    /// The grace period began, or its deadline moved later.
    Grace(Grace),
    /// The file has no grace period for it any more.
    GraceEnded,
    /// A merge is about to be asked for.
    Merging(Merging),
    /// It was not merged.
    Refused {
        /// Which head.
        head: Sha,
        /// When.
        at: Timestamp,
        /// What the hub said, or what is wrong, as data.
        why: String,
        /// What kind of no it is.
        kind: Refusal,
    },
    /// Clusters of its climb left the tier, or were pinned.
    Left {
        /// Which.
        clusters: Vec<ClusterName>,
    },
    /// It is on the base branch.
    Landed(Landed),
    /// All members were healthy on it for the first time.
    Converged(Timestamp),
    /// A workflow is about to be dispatched that verifies what has moved.
    Dispatching(Verification),
    /// It succeeded.
    Verified {
        /// Which.
        id: String,
        /// When that was seen.
        at: Timestamp,
    },
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
