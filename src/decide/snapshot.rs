//! Everything the planner may know, each fact dated; what could not be read is absent and says
//! why. Who reads it is `observe`; what follows from it is `plan`.

mod believed;
mod breaking;
mod command;
mod landing;
mod place;
mod pull;
mod read;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::constraint::Constraint;
use crate::ledger::Ledger;
use crate::model::Policy;
use crate::selector::Labels;
use crate::{ClusterName, Digest, Person, PluginName, Readings, Sha, TierName, Version};

pub use believed::{LedgerGuard, LedgerState};
pub use breaking::{Breaking, BreakingFact, MissingValue};
pub use command::{Command, CommandKind, FreezeScope};
pub use landing::Landing;
pub use place::Place;
pub use pull::{
    CheckState, Mergeable, OwnedPath, Pull, PullState, RequiredCheck, Review, ReviewDecision, ReviewVerdict,
    SentNotice, UnmetRule,
};
pub use read::Read;

/// One look at the whole world of one repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Snapshot {
    /// The policy at the pinned commit of the default branch.
    pub policy: Policy,
    /// That commit.
    pub policy_commit: Sha,
    /// The newest policy file, when it does not parse: the last good one still counts for reading,
    /// nothing is merged by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_problem: Option<String>,
    /// The inventory.
    pub clusters: Read<Vec<Cluster>>,
    /// The hub itself.
    pub hub: HubFacts,
    /// What leaves no trace elsewhere; read before the base branches, which hold by then what it notes as landed.
    pub ledger: Ledger,
    /// Whether that ledger can be believed.
    pub ledger_state: LedgerState,
    /// How soon to look again while something is on its way (the operator's setting).
    #[serde(default = "look_again")]
    pub look_again: SignedDuration,
    /// Facts of each plugin of the policy.
    pub plugins: BTreeMap<PluginName, PluginFacts>,
}

/// Thirty seconds: about the pace at which controllers move.
fn look_again() -> SignedDuration {
    SignedDuration::from_secs(30)
}

/// A cluster of the inventory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Its name.
    pub name: ClusterName,
    /// What selectors see.
    #[serde(default)]
    pub labels: Labels,
}

/// Facts about the hub and our own identities there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HubFacts {
    /// Our own login; what it wrote is ours, what it approved counts for nothing.
    pub bot: Person,
    /// Whether a second App identity is set up that branch rules let bypass reviews.
    pub bypass: bool,
    /// Logins of our Apps: nobody else merges as one of them. None with a plain token, which others may have, too.
    #[serde(default)]
    pub own: Vec<Person>,
    /// How far our clock is ahead of the hub's `Date` header (behind: negative); more than 30 s either way
    /// blocks force.
    pub skew: SignedDuration,
}

/// Everything about one plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginFacts {
    /// Releases at the source, from the oldest that runs anywhere on; any order.
    pub releases: Read<Vec<Release>>,
    /// What the base branch says, per tier of the ladder.
    pub base: Read<BTreeMap<TierName, Vec<Place>>>,
    /// Our pull requests for this plugin, open ones and the recently closed.
    pub pulls: Read<Vec<Pull>>,
    /// Answers of the clusters, one per signal.
    #[serde(default)]
    pub readings: Readings,
    /// Runs that the bot dispatched of the workflows by which a climb under way is verified.
    #[serde(default = "unasked", skip_serializing_if = "is_unread")]
    pub runs: Read<Vec<WorkflowRun>>,
    /// Tiers whose pull request somebody who may wants opened now, each for this release.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub open_now: BTreeMap<TierName, Version>,
}

/// One run of a workflow at the hub, dispatched by the bot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowRun {
    /// The workflow's file.
    pub workflow: String,
    /// Its title; one of its words is what it is found by.
    pub title: String,
    /// Whether it succeeded.
    pub state: CheckState,
}

/// One version at the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// The version.
    pub version: Version,
    /// The artefact's digest; none = the source names none, or it was not asked for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Marked as breaking by its author (chart annotation); the numbers are compared in here.
    #[serde(default)]
    pub marked_breaking: bool,
    /// Checks on the commit that released it; what is not among them has not run.
    #[serde(default = "unasked", skip_serializing_if = "is_unread")]
    pub checks: Read<Vec<RequiredCheck>>,
    /// Why its signature does not count; none = one of the keys of the policy has signed it.
    #[serde(default = "unasked", skip_serializing_if = "is_unread")]
    pub unsigned: Read<Option<String>>,
    /// What else of it breaks, as facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaking: Vec<BreakingFact>,
    /// What of it is not there yet, or cannot be read: it waits for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Steps to it that its author says must not be taken (chart annotation).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<ChartBlock>,
    /// Required values that the config of clusters lacks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_values: Vec<MissingValue>,
}

/// A step to a release that its author says must not be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartBlock {
    /// Where the step begins; none = anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Constraint>,
    /// Why, in the author's words.
    pub why: String,
}

/// What nobody asked about.
fn unasked<T>() -> Read<T> {
    Read::Unread("nobody asked for them".into())
}

fn is_unread<T>(fact: &Read<T>) -> bool {
    matches!(fact, Read::Unread(_))
}

/// What one signal answered for one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reading {
    /// Which signal, such as `HelmRelease cert-manager/cert-manager`.
    pub signal: String,
    /// The state of what runs. Only together with `running` does it say anything about a release.
    pub health: Health,
    /// The version that the object proves to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Version>,
    /// The version that its last attempt was about, where the kind names one. A failure speaks of
    /// this one: until a controller has read a fix, it still reports what the fix mends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted: Option<Version>,
    /// Its digest, where the kind names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// When it was read.
    pub observed_at: Timestamp,
    /// Since when it has been in this state without a break, by the object's own transition times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Path and value of what proves it, or the message of what is wrong; data, never markup.
    #[serde(default)]
    pub evidence: String,
}

/// The state of what runs in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Health {
    /// Ready, and the object's status speaks of its present generation.
    Healthy,
    /// On the way, or the status speaks of an older generation.
    Progressing,
    /// Paused by somebody.
    Suspended,
    /// Not working.
    Degraded,
    /// Given up by its controller.
    Failed,
    /// No such object.
    NotFound,
    /// Could not be read.
    Unknown,
}
