//! A pull request as the hub shows it: head, reviews, checks, rules, words.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::landing::{is_unproven, unproven};
use super::{Command, Landing, Read};
use crate::{Person, PullNumber, Sha, TierName, Version};

/// A pull request that the bot opened: author, repository and branch name were checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pull {
    /// Its number.
    pub number: PullNumber,
    /// The tier, from the branch name.
    pub tier: TierName,
    /// The branch that it goes to, where that is not the tier's: the file names another one by now, or
    /// somebody let it go elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misplaced: Option<String>,
    /// The version, from the trailers of its head commit; none when that is not ours.
    pub version: Option<Version>,
    /// Open, merged, closed.
    pub state: PullState,
    /// The head commit.
    pub head: Sha,
    /// The commit of ours on which people's commits stand that leave every version as it is; none = the head is ours, or
    /// changed otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_to: Option<Sha>,
    /// When it was opened, by the hub's clock.
    pub opened_at: Timestamp,
    /// A draft is a hold.
    #[serde(default)]
    pub draft: bool,
    /// Whether the hub can merge it.
    pub mergeable: Mergeable,
    /// Whether branch rules want the head to contain the base branch, so that each merge puts the others behind.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub strict: bool,
    /// Whether branch rules want the head to contain the base branch, and it does not.
    #[serde(default = "without", skip_serializing_if = "is_without")]
    pub behind: Read<bool>,
    /// Whether branch rules void approvals when something is pushed, as far as they are shown.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub dismisses: bool,
    /// The hub's own word on reviews.
    #[serde(default)]
    pub review_decision: ReviewDecision,
    /// Reviews, oldest first.
    #[serde(default)]
    pub reviews: Vec<Review>,
    /// Changed paths that CODEOWNERS of the base gives owners.
    pub owned: Read<Vec<OwnedPath>>,
    /// The members of the team whose approvals its tier counts; nobody where the tier names none.
    #[serde(default = "nobody", skip_serializing_if = "is_nobody")]
    pub team: Read<BTreeSet<Person>>,
    /// Required checks on the head, our own left out.
    pub checks: Read<Vec<RequiredCheck>>,
    /// What else branch rules ask for beside reviews and does not hold: a merge past the reviews would skip it.
    #[serde(default = "nothing", skip_serializing_if = "is_nothing")]
    pub unmet: Read<Vec<UnmetRule>>,
    /// What branch rules ask of every merge beside reviews and checks, and people have to see to: conversations that are
    /// resolved, deployments of the head. Nobody asks while a review is missing, and what could not be read is left to
    /// the hub, which refuses the merge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<UnmetRule>,
    /// Commands in comments, oldest first, as the hub has them now.
    #[serde(default)]
    pub commands: Vec<Command>,
    /// What the base branch says of the merge that the ledger says was asked for; of others nobody asks.
    #[serde(default = "unproven", skip_serializing_if = "is_unproven")]
    pub landing: Read<Landing>,
    /// Notices that went out on it, each a comment of its own, and when.
    #[serde(default)]
    pub notices: Vec<SentNotice>,
    /// Whether it has the label that keeps its release from the tiers above (`coldframe/block`).
    #[serde(default = "without", skip_serializing_if = "is_without")]
    pub labelled: Read<bool>,
    /// Whether a person who may wants this head to be written anew on the newest base.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub rebase: bool,
}

fn nobody() -> Read<BTreeSet<Person>> {
    Read::Known(BTreeSet::new())
}

fn is_nobody(people: &Read<BTreeSet<Person>>) -> bool {
    *people == nobody()
}

fn nothing<T>() -> Read<Vec<T>> {
    Read::Known(Vec::new())
}

fn is_nothing<T>(fact: &Read<Vec<T>>) -> bool {
    fact.known().is_some_and(Vec::is_empty)
}

fn without() -> Read<bool> {
    Read::Known(false)
}

fn is_without(label: &Read<bool>) -> bool {
    *label == without()
}

impl Pull {
    /// Whether the hub would have to write it anew before it can merge.
    pub(crate) fn conflicts(&self) -> bool {
        self.state == PullState::Open && self.mergeable == Mergeable::Conflict
    }
}

/// Open, merged or closed, by the hub's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PullState {
    /// Open.
    Open,
    /// Merged.
    Merged {
        /// When.
        at: Timestamp,
        /// By whom.
        by: Person,
        /// The commit on the base branch.
        commit: Sha,
    },
    /// Closed unmerged.
    Closed {
        /// When.
        at: Timestamp,
        /// By whom; none when the hub does not say, which counts as a person.
        by: Option<Person>,
    },
}

/// Whether the hub can merge a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mergeable {
    /// Without conflicts.
    Yes,
    /// It conflicts with the base.
    Conflict,
    /// The hub has not worked it out.
    Unknown,
}

/// The hub's own word on reviews (GraphQL `reviewDecision`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewDecision {
    /// No review is required.
    #[default]
    NotRequired,
    /// A required one is missing.
    Required,
    /// Approved.
    Approved,
    /// Changes are requested.
    ChangesRequested,
}

/// One review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Review {
    /// Who.
    pub by: Person,
    /// What they said.
    pub verdict: ReviewVerdict,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// The commit they looked at.
    pub commit: Sha,
    /// A person, not an App.
    pub human: bool,
    /// Whether they may write to the repository now.
    pub may_write: Read<bool>,
}

/// What a reviewer said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewVerdict {
    /// Yes.
    Approved,
    /// No.
    ChangesRequested,
    /// Taken back.
    Dismissed,
    /// Neither.
    Commented,
}

/// A changed path with owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnedPath {
    /// The path.
    pub path: String,
    /// The owners as CODEOWNERS writes them (`@acme/platform`).
    pub owners: Vec<String>,
    /// The people they stand for: logins, and members of the teams.
    pub people: BTreeSet<Person>,
}

/// A check that the branch rules require.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredCheck {
    /// Its name.
    pub name: String,
    /// How it stands on the head commit; absent is not passed.
    pub state: CheckState,
}

/// A rule of the base branch that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnmetRule {
    /// Its type, as the hub calls it.
    pub rule: String,
    /// What is missing, or why nobody can tell.
    pub why: String,
}

/// How a required check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    /// Green.
    Success,
    /// Running, or not there yet.
    Pending,
    /// Red.
    Failure,
}

/// A notice that went out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentNotice {
    /// How long before the deadline it speaks.
    pub before: SignedDuration,
    /// When it went out, by the hub's clock.
    pub at: Timestamp,
}
