//! What this world remembers beside its git objects: people, Apps, repositories, pull requests.
//! Types and look-ups only; what may happen to them is in the modules beside.

mod issue;
mod outbox;
mod people;
mod pull;
mod repository;
mod workflow;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::answer::Answer;
use super::faults::Faults;
use super::manifest::Waiting;
use super::oauth::Consent;
use crate::clock::Clock;

pub use issue::Issue;
pub use outbox::{Delivered, Delivery, Told};
pub use people::{Access, Account, Actor, App, EVENTS, Hook, Installation, Kind, Role, Token};
pub use pull::{
    Annotation, CheckRun, Comment, Deployment, DeploymentStatus, Merged, Pull, REACTIONS, Reaction, Review,
    ReviewState, Status, Turn, Turned,
};
pub use repository::{Activity, Compared, MergeGroup, Method, Protection, Queued, Release, Repository, Rule, Ruleset};
pub use workflow::WorkflowRun;

/// Everything, behind one lock: each request sees and leaves a whole world.
pub struct World {
    /// Where the bare repositories lie.
    pub dir: PathBuf,
    /// `http://127.0.0.1:port`, without a slash at its end.
    pub url: String,
    /// The hub's clock.
    pub clock: Clock,
    /// Requests that each actor may make in an hour.
    pub requests_per_hour: u64,
    /// When this world began.
    pub started_at: Timestamp,
    /// Where signed webhooks leave.
    pub outbox: UnboundedSender<Delivery>,
    /// The last id given out.
    pub last_id: u64,
    /// Who a browser is at first; none = nobody until somebody is chosen.
    pub visitor: Option<String>,
    /// Accounts by login, in their own spelling.
    pub accounts: BTreeMap<String, Account>,
    /// Members by organization and team slug.
    pub teams: BTreeMap<(String, String), BTreeSet<String>>,
    /// Apps by id.
    pub apps: BTreeMap<u64, App>,
    /// Tokens by their text.
    pub tokens: BTreeMap<String, Token>,
    /// Apps that were registered by a manifest and not taken yet, by the code.
    pub waiting: BTreeMap<String, Waiting>,
    /// Consents of people to an App that were not taken yet, by the code.
    pub consents: BTreeMap<String, Consent>,
    /// Repositories by id.
    pub repositories: BTreeMap<u64, Repository>,
    /// Names that repositories had before, in lower case, until somebody takes them.
    pub moved: BTreeMap<String, u64>,
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
    /// Whom it told of which comment, in order.
    pub told: Vec<Told>,
}

/// The world behind its lock, as all handlers share it.
pub type Shared = Arc<Mutex<World>>;

/// The lock on the world. A panic elsewhere does not make the rest of the demo useless.
pub fn lock(shared: &Shared) -> MutexGuard<'_, World> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The same, and by a name that it had before and nobody took since.
    pub fn find_following(&self, owner: &str, name: &str) -> Option<u64> {
        self.find(owner, name).or_else(|| self.moved.get(&format!("{owner}/{name}").to_lowercase()).copied())
    }

    /// A repository that is known to exist.
    pub fn repo(&self, id: u64) -> Result<&Repository, Answer> {
        self.repositories.get(&id).ok_or_else(Answer::not_found)
    }

    /// The same, to change it.
    pub fn repo_mut(&mut self, id: u64) -> Result<&mut Repository, Answer> {
        self.repositories.get_mut(&id).ok_or_else(Answer::not_found)
    }

    /// `http://host/api/v3`.
    pub fn api(&self) -> String {
        format!("{}/api/v3", self.url)
    }

    /// A pull request by number.
    pub fn pull_of(&self, id: u64, number: u64) -> Result<&Pull, Answer> {
        self.repo(id)?.pulls.get(&number).ok_or_else(Answer::not_found)
    }

    /// Finds a pull request or an issue: they are numbered together.
    pub fn numbered(&self, id: u64, number: u64) -> Result<(), Answer> {
        let repo = self.repo(id)?;
        let there = repo.pulls.contains_key(&number) || repo.issues.contains_key(&number);
        if there { Ok(()) } else { Err(Answer::not_found()) }
    }

    /// The tip of its base; the recorded one when the branch is gone.
    pub fn tip(&self, id: u64, pull: &Pull) -> Result<String, Answer> {
        Ok(self.repo(id)?.head(&pull.base).unwrap_or(&pull.base_sha).to_owned())
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

    /// What a team may do in a repository by a right of its own.
    pub fn team_role(&self, repository: &Repository, org: &str, slug: &str) -> Role {
        repository.roles.get(&format!("{org}/{slug}")).copied().unwrap_or(Role::None)
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
