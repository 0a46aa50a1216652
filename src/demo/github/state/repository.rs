//! A repository and the rules of its branches.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::issue::Issue;
use super::people::Role;
use super::pull::{CheckRun, Comment, Deployment, Pull, Status};
use super::workflow::WorkflowRun;
use crate::github::git::{Change, Git};

/// One repository.
pub struct Repository {
    /// Its id, which survives renames.
    pub id: u64,
    /// Login of its owner.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// Only seen by those who have a role in it.
    pub private: bool,
    /// Nobody can change anything in it.
    pub archived: bool,
    /// `main`.
    pub default_branch: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something was pushed last.
    pub pushed_at: Timestamp,
    /// Whether merging deletes the head branch.
    pub delete_branch_on_merge: bool,
    /// How pull requests may be merged.
    pub merge_methods: Vec<Method>,
    /// Its objects.
    pub git: Git,
    /// Refs as last seen; git itself is the truth, this finds what a push changed.
    pub refs: BTreeMap<String, String>,
    /// What has moved its branches, oldest first.
    pub activities: Vec<Activity>,
    /// Roles by login.
    pub roles: BTreeMap<String, Role>,
    /// Classic protection by branch.
    pub protections: BTreeMap<String, Protection>,
    /// Rulesets.
    pub rulesets: Vec<Ruleset>,
    /// The last number given to an issue or a pull request.
    pub last_number: u64,
    /// Pull requests by number.
    pub pulls: BTreeMap<u64, Pull>,
    /// Issues that are no pull requests, by number.
    pub issues: BTreeMap<u64, Issue>,
    /// Comments on pull requests, by id.
    pub comments: BTreeMap<u64, Comment>,
    /// Check runs, by id.
    pub checks: BTreeMap<u64, CheckRun>,
    /// Commit statuses, oldest first.
    pub statuses: Vec<Status>,
    /// Deployments, oldest first.
    pub deployments: Vec<Deployment>,
    /// Releases, oldest first.
    pub releases: Vec<Release>,
    /// Runs of workflows, by id.
    pub runs: BTreeMap<u64, WorkflowRun>,
    /// What waits in merge queues, the first one first.
    pub queue: Vec<Queued>,
    /// Merged trees by base and head commit; none = conflict.
    pub merges: BTreeMap<(String, String), Option<String>>,
    /// What a head changes against a base, by both commits.
    pub compared: BTreeMap<(String, String), Compared>,
}

impl Repository {
    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// The commit at a branch.
    pub fn head(&self, branch: &str) -> Option<&str> {
        self.refs.get(&format!("refs/heads/{branch}")).map(String::as_str)
    }
}

/// A release at a tag.
#[derive(Clone, Debug)]
pub struct Release {
    /// Its id.
    pub id: u64,
    /// Its tag.
    pub tag: String,
    /// Its text, Markdown.
    pub text: String,
    /// Shown to those alone who may write.
    pub draft: bool,
    /// By whom.
    pub author: String,
    /// When.
    pub at: Timestamp,
}

/// What a head changes against a base.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Files that differ from the common ancestor.
    pub changes: Vec<Change>,
    /// Commits that the base lacks.
    pub commits: usize,
    /// The common ancestor.
    pub ancestor: String,
}

/// One move of a branch, as the hub itself notes it: nobody takes it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Its id.
    pub id: u64,
    /// The whole name of the ref.
    pub name: String,
    /// Where it was; zeros = nowhere.
    pub before: String,
    /// Where it is since; zeros = nowhere.
    pub after: String,
    /// GitHub's word for it.
    pub kind: &'static str,
    /// By whom.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Classic branch protection, as far as it is modelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Each changed path that has owners needs one of them.
    pub require_code_owner_reviews: bool,
    /// How many approvals by people with write access.
    pub required_approving_review_count: u32,
    /// Names of checks or statuses that must be green on the head.
    pub required_checks: Vec<String>,
    /// Approvals are dismissed when the head moves.
    pub dismiss_stale: bool,
    /// Ids of Apps that need no review.
    pub bypass_apps: Vec<u64>,
    /// Whether administrators must obey too.
    pub enforce_admins: bool,
    /// The head must contain the base.
    pub strict: bool,
    /// Every conversation must be resolved; binds those who need no review, too.
    pub conversations: bool,
    /// Every commit must be signed; binds those who need no review, too.
    pub signatures: bool,
    /// Merges go through a queue.
    pub queue: bool,
}

/// What waits in a merge queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Its number.
    pub number: u64,
    /// Who put it there.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// What it would be merged as, on top of what stands before it; none where the two conflict.
    pub group: Option<MergeGroup>,
}

/// A commit that the queue has made for an entry: the base branch with every entry up to this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeGroup {
    /// The commit.
    pub commit: String,
    /// The one before it: of the entry before, or of the base branch.
    pub parent: String,
    /// The head of the pull request in it.
    pub head: String,
}

/// A way to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A merge commit.
    Merge,
    /// One commit of everything.
    Squash,
    /// The commits again, on the base.
    Rebase,
}

impl Method {
    /// By the hub's name.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "merge" => Some(Self::Merge),
            "squash" => Some(Self::Squash),
            "rebase" => Some(Self::Rebase),
            _ => None,
        }
    }

    /// How the hub calls several in a refusal.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Merge => "Merge commits",
            Self::Squash => "Squash merges",
            Self::Rebase => "Rebase merges",
        }
    }
}

impl Protection {
    /// Whether changes must come by pull request.
    pub fn reviews(&self) -> bool {
        self.require_code_owner_reviews || self.required_approving_review_count > 0
    }
}

/// A rule of a ruleset, as far as modelled. Those from `Conversations` on are about merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nobody creates matching branches.
    Creation,
    /// Nobody moves matching branches.
    Update,
    /// Nobody deletes them.
    Deletion,
    /// They only move forward.
    NonFastForward,
    /// Every conversation is resolved.
    Conversations,
    /// Approvals are dismissed when the head moves.
    Stale,
    /// Somebody who may write, and did not push last, has approved the head as it is.
    LastPush,
    /// These checks are green, and the head contains the base where that is asked.
    Checks {
        /// The check.
        name: &'static str,
        /// The App that it is pinned to.
        app: Option<u64>,
        /// The head must contain the base.
        strict: bool,
    },
    /// No merge commits.
    LinearHistory,
    /// Every commit carries a verified signature.
    Signatures,
    /// The head was deployed there.
    Deployments(&'static str),
    /// Merges go through the queue.
    MergeQueue,
    /// A workflow of the organization has succeeded; none ever runs here.
    Workflows,
    /// A scanner has found nothing; none ever runs here.
    CodeScanning,
    /// A rule that the hub got yesterday; nobody meets it.
    Newer(&'static str),
}

impl Rule {
    /// GitHub's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Update => "update",
            Self::Deletion => "deletion",
            Self::NonFastForward => "non_fast_forward",
            Self::Conversations | Self::Stale | Self::LastPush => "pull_request",
            Self::Checks { .. } => "required_status_checks",
            Self::LinearHistory => "required_linear_history",
            Self::Signatures => "required_signatures",
            Self::Deployments(_) => "required_deployments",
            Self::MergeQueue => "merge_queue",
            Self::Workflows => "workflows",
            Self::CodeScanning => "code_scanning",
            Self::Newer(name) => name,
        }
    }
}

/// A ruleset on branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruleset {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Branch pattern, `*` within and `**` across slashes.
    pub pattern: String,
    /// What it forbids.
    pub rules: Vec<Rule>,
    /// Ids of Apps it does not bind.
    pub bypass_apps: Vec<u64>,
    /// When it was made.
    pub created_at: Timestamp,
}
