//! What leaves no trace elsewhere: first sights, intents, deadlines, verdicts, soaks. This is the
//! data and how an entry changes it; the branch that keeps it is the bot's `ledger` room.

mod apply;
mod evidence;
mod wave;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::Hotfix;
use crate::{ClusterName, Digest, Person, PluginName, PullNumber, Sha, TierName, Version};

pub(crate) use evidence::FALSE_YES;
pub use evidence::{ForceEvidence, Merging, Refusal, Refused, Said};
pub use wave::{
    Announced, Failed, Grace, Head, Landed, LetThrough, Part, Purpose, Rejected, Soaked, Superseded, Verification,
    Verify, Wait, Wave, Withdrawn,
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
        let climbs = |wave: &&Wave| wave.head().is_some() && wave.landed.is_none() && !wave.is_over();
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

/// A freeze that a person set by a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Frozen {
    /// Only this plugin; none = every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginName>,
    /// Only this tier; none = every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
    /// Who froze it.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// Why, in their words.
    #[serde(default)]
    pub why: String,
    /// Until when; none = until somebody lifts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// On which pull request they said so.
    pub pull: PullNumber,
    /// Who lifted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted: Option<Lifted>,
}

impl Frozen {
    /// Whether a plugin on a tier is in its scope.
    pub fn covers(&self, plugin: &PluginName, tier: &TierName) -> bool {
        self.plugin.as_ref().is_none_or(|own| own == plugin) && self.tier.as_ref().is_none_or(|own| own == tier)
    }

    /// Whether it still stops anything.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.lifted.is_none() && self.until.is_none_or(|until| now < until)
    }
}

/// A merge that the bot asked for and that did not land as planned (design: invariant S14).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The pull request.
    pub pull: PullNumber,
    /// The head that was to be merged; a person names it to clear the stop.
    pub head: Sha,
    /// When it was found out.
    pub at: Timestamp,
    /// What is wrong with it.
    pub why: String,
    /// Who cleared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Lifted>,
}

/// Who lifted a freeze, or cleared a stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifted {
    /// Who.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
}

/// The end of a freeze: which one (pull request, time, author), and who lifted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thawed {
    /// On which pull request it was set.
    pub pull: PullNumber,
    /// When it was set.
    pub at: Timestamp,
    /// Who set it.
    pub by: Person,
    /// Who lifted it.
    pub lifted: Lifted,
}

/// A release that a person made a hotfix by a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hotfixed {
    /// As an entry of `hotfixes` in the policy file would say it.
    pub hotfix: Hotfix,
    /// Who.
    pub by: Person,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// On which pull request they said so.
    pub pull: PullNumber,
}

/// A pull request whose label keeps its release from the tiers above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labelled {
    /// Which one.
    pub pull: PullNumber,
    /// Of which tier.
    pub tier: TierName,
    /// Of which release.
    pub version: Version,
    /// When we saw the label.
    pub at: Timestamp,
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
