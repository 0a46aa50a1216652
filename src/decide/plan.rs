//! What the planner returns: actions, a finding for every gate, the next alarm. How it comes to
//! them is in `tiers` and `gate`.

mod gate;

use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use gate::Gate;

use crate::ledger::{Entry, ForceEvidence, Head, Part, Verification};
use crate::reason::MemberTrouble;
use crate::{ClusterName, Digest, Person, PluginName, PullNumber, Reason, Sha, TierName, Version};

mod climb;
mod members;

pub use climb::{Climb, ClimbTier, Pinned};
pub use members::Members;
pub(crate) use members::Since;

/// One decision about one repository at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// What to remember, before anything below is done.
    pub entries: Vec<Record>,
    /// What to do, in order; the first refusal ends the list.
    pub actions: Vec<Action>,
    /// The present wave of each tier of each plugin, in the order of the file.
    pub waves: Vec<WaveReport>,
    /// The climb of each release that a wave above is about.
    pub climbs: Vec<Climb>,
    /// When to look again though nothing rang.
    pub alarm: Option<Alarm>,
}

/// An entry and how soon it has to be on the ledger branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The entry.
    pub entry: Entry,
    /// Progress may wait for the next push, or fifteen minutes; a transition may not.
    pub urgency: Urgency,
}

/// How soon an entry has to be pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Urgency {
    /// Now: a decision rests on it.
    Transition,
    /// With the next push, within fifteen minutes: the movement of a soak.
    Progress,
}

/// When to look again, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alarm {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Reason,
}

/// Which identity asks the hub for a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Identity {
    /// The ordinary App or token.
    Ordinary,
    /// The second App, which branch rules let pass without a review.
    Bypass,
}

/// One effect on the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Write the commit, push, open the pull request; what a cut-off opening left is found, not made.
    Open(Proposal),
    /// Move the open pull request to this release, or write it anew on the present base.
    Update {
        /// Which one.
        pull: PullNumber,
        /// Its head as the planner saw it.
        head: Sha,
        /// What it shall be.
        proposal: Proposal,
    },
    /// Merge.
    Merge {
        /// The plugin.
        plugin: PluginName,
        /// The tier.
        tier: TierName,
        /// The version.
        version: Version,
        /// Which pull request.
        pull: PullNumber,
        /// At this head and no other.
        head: Sha,
        /// Who asks.
        via: Identity,
        /// Why the missing approvals do not matter; none for an ordinary merge.
        forced: Option<ForceEvidence>,
    },
    /// Close.
    Close {
        /// The plugin.
        plugin: PluginName,
        /// The tier.
        tier: TierName,
        /// Which pull request.
        pull: PullNumber,
        /// At this head and no other.
        head: Sha,
        /// Why.
        why: Reason,
    },
    /// Tell people on the pull request that the deadline comes near.
    Notice {
        /// The plugin.
        plugin: PluginName,
        /// The tier.
        tier: TierName,
        /// The version.
        version: Version,
        /// Which pull request.
        pull: PullNumber,
        /// How long before the deadline this notice speaks.
        before: SignedDuration,
        /// The deadline that it announces.
        deadline: Timestamp,
        /// Who is asked to approve, as CODEOWNERS writes them.
        owners: Vec<String>,
    },
    /// Dispatch a workflow that verifies what has moved; the intent comes first, and one intent is
    /// dispatched once.
    Dispatch {
        /// The plugin.
        plugin: PluginName,
        /// The tier.
        tier: TierName,
        /// The version.
        version: Version,
        /// The workflow's file.
        workflow: String,
        /// What is remembered of it.
        verification: Verification,
        /// The clusters that have moved.
        clusters: Vec<ClusterName>,
    },
}

/// What a pull request shall contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proposal {
    /// The plugin.
    pub plugin: PluginName,
    /// The tier.
    pub tier: TierName,
    /// The version that runs there now.
    pub from: Option<Version>,
    /// The version to write.
    pub to: Version,
    /// Its digest.
    pub digest: Option<Digest>,
    /// Which part of the climb.
    #[serde(default, skip_serializing_if = "Part::is_whole")]
    pub part: Part,
    /// The clusters, fixed now.
    pub members: Vec<ClusterName>,
    /// The commit that is already written for it, when this finishes an opening that was cut off.
    pub written: Option<Head>,
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Which gate.
    pub gate: Gate,
    /// Whether it lets through.
    pub verdict: Verdict,
    /// Why.
    pub because: Reason,
}

/// Only `Pass` and `Waived` let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Yes.
    Pass,
    /// Not yet.
    Wait {
        /// Until when, if known.
        until: Option<Timestamp>,
    },
    /// No, and time alone does not change it.
    Fail,
    /// It could not be found out.
    Unknown,
    /// Not asked for any more.
    Waived {
        /// Since when.
        since: Timestamp,
    },
}

impl Verdict {
    /// Whether it lets through.
    pub fn lets_through(&self) -> bool {
        matches!(self, Self::Pass | Self::Waived { .. })
    }
}

/// Where a wave stands: derived anew at each look, never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WaveState {
    /// Nothing to promote here now; `running` is what the base branch says.
    Idle {
        /// What the base branch says.
        running: Option<Version>,
    },
    /// A release is meant for this tier and may not have a pull request yet.
    Waiting,
    /// Its pull request is open, or about to be.
    Open {
        /// Which, once the hub showed it.
        pull: Option<PullNumber>,
        /// Since when.
        since: Timestamp,
    },
    /// On the base branch; members are on the way.
    Converging {
        /// Since when it is on the base branch.
        landed: Timestamp,
        /// Healthy members.
        healthy: u32,
    },
    /// All members are healthy on it.
    Soaking {
        /// Since when it is on the base branch.
        landed: Timestamp,
        /// Time in which all were healthy.
        healthy_for: SignedDuration,
        /// Up to when that was observed.
        until: Timestamp,
        /// What is asked for.
        of: SignedDuration,
        /// Whether it stands still.
        paused: bool,
    },
    /// Finished.
    Finished {
        /// When.
        at: Timestamp,
    },
    /// Failed: the release climbs no further.
    Failed {
        /// When.
        at: Timestamp,
        /// Why.
        why: Reason,
    },
    /// A person said no.
    Rejected {
        /// When.
        at: Timestamp,
        /// Who.
        by: Option<Person>,
        /// By closing this one.
        pull: PullNumber,
    },
    /// A newer release took its place.
    Superseded {
        /// When.
        at: Timestamp,
        /// Which.
        by: Version,
    },
    /// The bot took its pull request back.
    Withdrawn {
        /// When.
        at: Timestamp,
        /// Why.
        why: Reason,
    },
}

/// How one member stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The cluster.
    pub cluster: ClusterName,
    /// Its state with regard to this wave.
    pub state: MemberState,
}

/// The state of a member with regard to a wave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MemberState {
    /// The version was not asked of it yet.
    NotAsked,
    /// Healthy on this version; since when, by the object's own times.
    Healthy {
        /// Since when.
        since: Option<Timestamp>,
    },
    /// On the way, or still on another version.
    Progressing(MemberTrouble),
    /// Paused by somebody.
    Suspended(MemberTrouble),
    /// Not known.
    Unknown(MemberTrouble),
    /// Not working.
    Degraded(MemberTrouble),
    /// Given up.
    Failed(MemberTrouble),
}

/// The present wave of one tier of one plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaveReport {
    /// The plugin.
    pub plugin: PluginName,
    /// The tier.
    pub tier: TierName,
    /// Its place on the ladder, from 1.
    pub tier_index: u32,
    /// The number of tiers.
    pub of: u32,
    /// The release this is about; none when the tier is idle and empty.
    pub version: Option<Version>,
    /// What ran before.
    pub from: Option<Version>,
    /// Its digest.
    pub digest: Option<Digest>,
    /// Which part of the tier's climb it is.
    #[serde(default, skip_serializing_if = "Part::is_whole")]
    pub part: Part,
    /// Where it stands.
    pub state: WaveState,
    /// A finding for every gate that applies in this state.
    pub findings: Vec<Finding>,
    /// Its clusters.
    pub members: Members,
    /// Clusters of the tier that stay on another version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<Pinned>,
    /// The grace period, when one runs.
    pub grace: Option<crate::ledger::Grace>,
    /// The failed release that it takes back, when it is a rollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_of: Option<Version>,
    /// What allowed a forced merge, when it was one.
    pub forced: Option<ForceEvidence>,
    /// Its last pull request.
    pub pull: Option<PullNumber>,
}

impl WaveReport {
    /// The first finding that does not let through.
    pub fn blocker(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| !finding.verdict.lets_through())
    }
}
