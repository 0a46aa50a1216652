//! What this world remembers beside its git objects: people, Apps, repositories, pull requests.
//! Types and look-ups only; what may happen to them is in the modules beside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::faults::Faults;
use super::git::Git;
use super::webhooks::{Delivered, Delivery};
use crate::demo::clock::Clock;

/// Everything, behind one lock: each request sees and leaves a whole world.
pub struct World {
    /// Where the bare repositories lie.
    pub dir: PathBuf,
    /// `http://127.0.0.1:port`, without a slash at its end.
    pub url: String,
    /// The hub's clock.
    pub clock: Clock,
    /// Where signed webhooks leave.
    pub outbox: UnboundedSender<Delivery>,
    /// The last id given out.
    pub last_id: u64,
    /// Accounts by login, in their own spelling.
    pub accounts: BTreeMap<String, Account>,
    /// Members by organization and team slug.
    pub teams: BTreeMap<(String, String), BTreeSet<String>>,
    /// Apps by id.
    pub apps: BTreeMap<u64, App>,
    /// Tokens by their text.
    pub tokens: BTreeMap<String, Token>,
    /// Repositories by id.
    pub repositories: BTreeMap<u64, Repository>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// How often each method and route was asked.
    pub requests: BTreeMap<String, u64>,
    /// Requests left per actor in the present hour.
    pub limits: BTreeMap<String, Limit>,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// Webhooks that left, with the answer.
    pub delivered: Vec<Delivered>,
}

/// A person, an organization or an App's own account.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its id.
    pub id: u64,
    /// `alice`, `acme`, `coldframe[bot]`.
    pub login: String,
    /// What it is.
    pub kind: Kind,
}

/// What an account is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    User,
    /// An App.
    Bot,
    /// An organization.
    Organization,
}

impl Kind {
    /// GitHub's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Bot => "Bot",
            Self::Organization => "Organization",
        }
    }
}

/// A GitHub App with its one installation.
#[derive(Clone, Debug)]
pub struct App {
    /// Its id, which signs as `iss`.
    pub id: u64,
    /// Its slug.
    pub slug: String,
    /// The public half of its key, PKCS#1 DER.
    pub public_key: Vec<u8>,
    /// What it may do: `contents` → write.
    pub permissions: BTreeMap<String, Access>,
    /// Where its webhooks go.
    pub hook: Option<Hook>,
    /// The id of its installation.
    pub installation: u64,
    /// The account it is installed on; empty until it is.
    pub account: String,
    /// Repositories it is installed in.
    pub repositories: BTreeSet<u64>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl App {
    /// The login of its own account.
    pub fn login(&self) -> String {
        format!("{}[bot]", self.slug)
    }
}

/// Where webhooks of an App go, and the secret that signs them.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The receiver.
    pub url: String,
    /// Signs `X-Hub-Signature-256`.
    pub secret: String,
}

/// What an App may do with one kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Look.
    Read,
    /// Change.
    Write,
}

impl Access {
    /// `read` or `write`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What a person may do in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Nothing.
    None,
    /// Look; everybody has it in a public repository.
    Read,
    /// Manage issues and pull requests without write.
    Triage,
    /// Push and merge.
    Write,
    /// Write and some settings.
    Maintain,
    /// Everything.
    Admin,
}

impl Role {
    /// GitHub's `role_name`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The older `permission`, which knows four words only.
    pub fn permission(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

/// A token and whom it speaks for.
#[derive(Clone, Debug)]
pub struct Token {
    /// Whom.
    pub actor: Actor,
    /// Until when; none = for ever.
    pub expires_at: Option<Timestamp>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Nobody known.
    Anonymous,
    /// A person, by login.
    User(String),
    /// An installation of an App, narrowed to some repositories and permissions.
    Installation {
        /// The App.
        app: u64,
        /// What its token reaches.
        repositories: BTreeSet<u64>,
        /// What its token may do.
        permissions: BTreeMap<String, Access>,
    },
    /// An App as itself, by its signed JWT.
    App(u64),
}

/// Requests of one actor in one hour.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Used.
    pub used: u64,
    /// When it starts anew.
    pub reset: Timestamp,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// In which repository.
    pub repository: u64,
    /// `merged #3 by coldframe[bot]`.
    pub text: String,
}

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
    /// `main`.
    pub default_branch: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something was pushed last.
    pub pushed_at: Timestamp,
    /// Whether merging deletes the head branch.
    pub delete_branch_on_merge: bool,
    /// Its objects.
    pub git: Git,
    /// Refs as last seen; git itself is the truth, this finds what a push changed.
    pub refs: BTreeMap<String, String>,
    /// Roles by login.
    pub roles: BTreeMap<String, Role>,
    /// Classic protection by branch.
    pub protections: BTreeMap<String, Protection>,
    /// Rulesets.
    pub rulesets: Vec<Ruleset>,
    /// The last number given to a pull request.
    pub last_number: u64,
    /// Pull requests by number.
    pub pulls: BTreeMap<u64, Pull>,
    /// Comments on pull requests, by id.
    pub comments: BTreeMap<u64, Comment>,
    /// Check runs, by id.
    pub checks: BTreeMap<u64, CheckRun>,
    /// Commit statuses, oldest first.
    pub statuses: Vec<Status>,
    /// Merged trees by base and head commit; none = conflict.
    pub merges: BTreeMap<(String, String), Option<String>>,
    /// What a head changes against a base, by both commits.
    pub compared: BTreeMap<(String, String), super::merge::Compared>,
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
}

impl Protection {
    /// Whether changes must come by pull request.
    pub fn reviews(&self) -> bool {
        self.require_code_owner_reviews || self.required_approving_review_count > 0
    }
}

/// A rule of a ruleset, as far as modelled.
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
}

impl Rule {
    /// GitHub's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Update => "update",
            Self::Deletion => "deletion",
            Self::NonFastForward => "non_fast_forward",
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

/// One pull request.
#[derive(Clone, Debug)]
pub struct Pull {
    /// Its id.
    pub id: u64,
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Login of who opened it.
    pub author: String,
    /// Head branch, of the same repository.
    pub head: String,
    /// Head commit; stays when the branch is deleted.
    pub head_sha: String,
    /// Base branch.
    pub base: String,
    /// Tip of the base when the head moved last.
    pub base_sha: String,
    /// Not ready for review.
    pub draft: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything changed last.
    pub updated_at: Timestamp,
    /// When it was closed (merged or not), and by whom.
    pub closed: Option<(Timestamp, String)>,
    /// How it was merged.
    pub merged: Option<Merged>,
    /// Names of labels.
    pub labels: BTreeSet<String>,
    /// Logins asked to review.
    pub requested: BTreeSet<String>,
    /// Reviews, oldest first.
    pub reviews: Vec<Review>,
    /// Closings, reopenings and merges, oldest first.
    pub timeline: Vec<Turn>,
    /// The hub lost track of it: its merge is on the base, yet it stays open (a fault).
    pub stuck: bool,
}

impl Pull {
    /// Neither closed nor merged.
    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }
}

/// How a pull request was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// The commit on the base.
    pub sha: String,
}

/// A turn in the life of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub id: u64,
    /// What happened.
    pub what: Turned,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// The merge commit, or the new head.
    pub commit: Option<String>,
}

/// What happened in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// Closed, merged or not.
    Closed,
    /// Opened again.
    Reopened,
    /// Merged.
    Merged,
    /// Head replaced by one that does not contain the old.
    ForcePushed,
    /// Head branch deleted.
    HeadDeleted,
    /// Marked as a draft.
    ConvertedToDraft,
    /// No draft any more.
    ReadyForReview,
}

/// One review.
#[derive(Clone, Debug)]
pub struct Review {
    /// Its id.
    pub id: u64,
    /// Who.
    pub author: String,
    /// What they said.
    pub state: ReviewState,
    /// In words.
    pub body: String,
    /// The head they saw.
    pub commit: String,
    /// When.
    pub at: Timestamp,
}

/// What a review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// Yes.
    Approved,
    /// No.
    ChangesRequested,
    /// Neither.
    Commented,
    /// Taken back.
    Dismissed,
}

impl ReviewState {
    /// GitHub's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// A comment on a pull request.
#[derive(Clone, Debug)]
pub struct Comment {
    /// Its id.
    pub id: u64,
    /// The pull request.
    pub number: u64,
    /// Who.
    pub author: String,
    /// What.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// A check run.
#[derive(Clone, Debug)]
pub struct CheckRun {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The commit it speaks of.
    pub head_sha: String,
    /// The App that wrote it.
    pub app: u64,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// Set when completed.
    pub conclusion: Option<String>,
    /// Headline of the output.
    pub title: Option<String>,
    /// Markdown of the output.
    pub summary: Option<String>,
    /// More Markdown.
    pub text: Option<String>,
    /// Where more stands.
    pub details_url: Option<String>,
    /// The App's own name for it.
    pub external_id: Option<String>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it was completed.
    pub completed_at: Option<Timestamp>,
}

/// A commit status.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its id.
    pub id: u64,
    /// The commit.
    pub sha: String,
    /// Its name.
    pub context: String,
    /// `error`, `failure`, `pending` or `success`.
    pub state: String,
    /// One line.
    pub description: Option<String>,
    /// Where more stands.
    pub target_url: Option<String>,
    /// Who wrote it.
    pub creator: String,
    /// When.
    pub created_at: Timestamp,
}

impl World {
    /// A new id, unique in this world.
    pub fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The present by the hub's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A repository by owner and name, in any case.
    pub fn find(&self, owner: &str, name: &str) -> Option<u64> {
        let found = |r: &&Repository| r.owner.eq_ignore_ascii_case(owner) && r.name.eq_ignore_ascii_case(name);
        self.repositories.values().find(found).map(|repository| repository.id)
    }

    /// An account in any case.
    pub fn account(&self, login: &str) -> Option<&Account> {
        self.accounts.get(login).or_else(|| self.accounts.values().find(|a| a.login.eq_ignore_ascii_case(login)))
    }

    /// The login that an actor acts under; an installation acts as its App.
    pub fn login(&self, actor: &Actor) -> String {
        match actor {
            Actor::Anonymous => "ghost".to_owned(),
            Actor::User(login) => login.clone(),
            Actor::Installation { app, .. } | Actor::App(app) => {
                self.apps.get(app).map_or_else(|| "ghost".to_owned(), App::login)
            }
        }
    }

    /// What a person may do in a repository. Apps have no role; their permissions count.
    pub fn role(&self, repository: &Repository, login: &str) -> Role {
        let public = if repository.private { Role::None } else { Role::Read };
        if repository.owner.eq_ignore_ascii_case(login) {
            return Role::Admin;
        }
        let own = repository.roles.iter().find(|(name, _)| name.eq_ignore_ascii_case(login)).map(|(_, role)| *role);
        let teams = self.teams.iter().filter(|((org, _), members)| {
            org.eq_ignore_ascii_case(&repository.owner) && members.iter().any(|m| m.eq_ignore_ascii_case(login))
        });
        let by_team = teams.filter_map(|((org, slug), _)| repository.roles.get(&format!("{org}/{slug}")).copied());
        own.into_iter().chain(by_team).fold(public, Role::max)
    }

    /// Writes a line of the log.
    pub fn note(&mut self, repository: u64, text: String) {
        let at = self.now();
        self.events.push(Event { at, repository, text });
    }
}

/// GitHub prints whole seconds.
pub fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
