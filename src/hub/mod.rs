//! GitHub, concrete: authentication, one page of facts, compare-and-set writes. octocrab signs and
//! carries; what an answer means is our own, tolerant of fields and words that we do not know.
//! Nothing here decides, and nothing here repeats a write.

mod access;
mod activity;
mod bases;
mod branch_pulls;
mod budget;
mod check;
mod check_wire;
mod client;
pub mod code_owners;
mod comments;
mod commits;
pub mod demands;
mod error;
mod graphql;
mod issues;
mod line;
mod listing;
mod merge;
pub mod needs;
mod other_pulls;
mod people;
pub mod proposal;
mod pull;
mod pull_wire;
mod pulls;
mod queue;
pub mod registration;
mod releases;
mod rules;
pub mod sign_in;
mod signed;
pub mod statements;
mod talk;
mod unchanged;
mod wire;
mod wire_file;
mod word;
mod workflows;
mod write;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use decide::Person;
use jiff::SignedDuration;

pub use access::Credentials;
pub use bases::Bases;
pub use branch_pulls::BranchPull;
pub use budget::Allowance;
pub use check::{CHECK, CheckAnnotation, CheckConclusion, CheckDraft};
pub use code_owners::CodeOwners;
pub use comments::Reaction;
pub use error::HubError;
pub use issues::HubIssue;
pub use listing::{Listed, Owner};
pub use merge::{MergeAnswer, MergeRequest, MergeTurn};
pub use other_pulls::{ChangedFile, OtherPull, PullPage};
pub use people::Role;
#[cfg(test)]
pub(crate) use pull::tests::pull as a_pull;
pub use pull::{Author, HubCheck, HubComment, HubPull, HubReview, HubState, InQueue, RequiredContext, TakenOut};
pub use queue::QueueAnswer;
pub use releases::HubRelease;
pub use rules::{BranchRules, Reviews};
pub use signed::{HubCommit, TreeFile};
pub use word::{Word, WordId};
pub use workflows::Inputs;
pub use write::{Opened, same_text};

use access::{Account, BYPASS, ORDINARY};
use client::Client;
pub(crate) use client::segment;
use line::Line;

use crate::metrics::Metrics;
use crate::secret::Secret;

/// Whose login the token has that GitHub gives to each run of a workflow.
const WORKFLOW: &str = "github-actions[bot]";

/// The hub, with our identities there. One per process.
pub struct Hub {
    web: String,
    main: Account,
    bypass: Option<Account>,
}

/// A repository as the hub describes it. Its number stays when it is renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Its number: what everything of ours is kept under.
    pub id: u64,
    /// Whose it is.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// Its default branch.
    pub default_branch: String,
    /// The App's installation there; none with a plain token.
    pub installation: Option<u64>,
    /// Not public.
    pub private: bool,
    /// Read-only.
    pub archived: bool,
    /// Whether merge commits are allowed; none = the hub does not say.
    pub merge_commits: Option<bool>,
    /// Whether squash merges are allowed; none = the hub does not say.
    pub squash_merges: Option<bool>,
    /// Whether commits may be rebased onto the base; none = the hub does not say.
    pub rebase_merges: Option<bool>,
    /// Whether the hub itself deletes a branch that was merged; none = it does not say.
    pub deletes_merged: Option<bool>,
}

impl Repository {
    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

impl Hub {
    /// The hub at `bases`; writes are a second apart, as GitHub asks.
    ///
    /// # Errors
    /// A key that is none, or no tokio runtime around.
    pub fn new(bases: Bases, main: Credentials, bypass: Option<Credentials>) -> Result<Self, HubError> {
        Self::with_pace(bases, main, bypass, Duration::from_secs(1))
    }

    /// The same with another distance between writes; zero for a hub of our own.
    ///
    /// # Errors
    /// As [`Hub::new`].
    pub fn with_pace(
        bases: Bases,
        main: Credentials,
        bypass: Option<Credentials>,
        pace: Duration,
    ) -> Result<Self, HubError> {
        let web = bases.web.to_string();
        let line = Line::new(bases, crate::clock::now, pace);
        let bypass = bypass.map(|bypass| Account::new(&line, bypass)).transpose()?;
        Ok(Self { web, main: Account::new(&line, main)?, bypass })
    }

    /// The numbers that calls are counted into.
    pub fn metrics(&self) -> Metrics {
        self.main.metrics()
    }

    /// Opens a repository: with a token for it alone. Opening it again, as each pass does, costs
    /// nothing while that token is good, and finds an App that was installed anew.
    ///
    /// # Errors
    /// The token could not be minted, or the hub does not say who we are.
    pub async fn open(&self, repository: &Repository) -> Result<RepoHub, HubError> {
        let main = self.main.client(repository, repository.installation, ORDINARY).await?;
        let bot = self.main.bot().await?.clone();
        let workflow = self.main.is_token() && bot == Person::from(WORKFLOW);
        let bypass = match &self.bypass {
            None => None,
            // Whoever may write a workflow speaks as the bot then: nothing of it is proof enough for a bypass.
            Some(_) if workflow => None,
            Some(account) => match account.client(repository, None, BYPASS).await {
                Ok(client) => Some(client),
                // Its merges are impossible now; everything else is not.
                Err(error) => {
                    tracing::warn!(repository = repository.full_name(), %error, "no bypassing identity here");
                    None
                }
            },
        };
        let mut own = Vec::new();
        for account in
            [Some(&self.main), self.bypass.as_ref()].into_iter().flatten().filter(|account| !account.is_token())
        {
            match account.bot().await {
                Ok(login) => own.push(login.clone()),
                Err(error) => tracing::warn!(%error, "the hub does not say as whom one of our Apps merges"),
            }
        }
        let (plain, app) = (self.main.is_token(), self.main.app());
        let root = format!("/repos/{}/{}", segment(&repository.owner), segment(&repository.name));
        let repository = repository.clone();
        Ok(RepoHub { inner: Arc::new(Inner { repository, root, bot, own, app, main, bypass, plain, workflow }) })
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("web", &self.web).finish_non_exhaustive()
    }
}

/// A name as the hub allows it for owners and repositories.
fn plain(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 100 && name != "." && name != ".." && name.chars().all(allowed)
}

/// One repository at the hub. Cheap to clone.
#[derive(Clone)]
pub struct RepoHub {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    repository: Repository,
    /// `/repos/{owner}/{name}`.
    root: String,
    bot: Person,
    /// The logins of our Apps.
    own: Vec<Person>,
    /// The number of our App.
    app: Option<u64>,
    main: Client,
    bypass: Option<Client>,
    /// The ordinary identity is a plain token.
    plain: bool,
    /// It is the token of a workflow.
    workflow: bool,
}

impl RepoHub {
    /// What this is about.
    pub fn repository(&self) -> &Repository {
        &self.inner.repository
    }

    /// Our own login: `name[bot]` for an App, the login of a token.
    pub fn bot(&self) -> &Person {
        &self.inner.bot
    }

    /// The logins of our Apps; nobody else writes as one of them. A plain token is none.
    pub fn own(&self) -> &[Person] {
        &self.inner.own
    }

    /// The number of our App; none with a plain token.
    pub fn app(&self) -> Option<u64> {
        self.inner.app
    }

    /// Whether a check on a commit is ours: of our App, or with a plain token a status that we wrote.
    pub fn wrote(&self, check: &HubCheck) -> bool {
        check.name == CHECK
            && match (check.run, self.inner.app) {
                (Some(_), Some(app)) => check.app == Some(app),
                (None, None) => check.by.as_ref().is_some_and(|by| by.login == self.inner.bot),
                (Some(_), None) | (None, Some(_)) => false,
            }
    }

    /// Whether a second identity that may pass branch rules is at hand in this repository.
    pub fn has_bypass(&self) -> bool {
        self.inner.bypass.is_some()
    }

    /// Whether we speak with a plain token, which cannot write check runs.
    pub fn is_plain_token(&self) -> bool {
        self.inner.plain
    }

    /// Whether we speak with the token of a workflow: then every workflow of the repository is us.
    pub fn is_workflow_token(&self) -> bool {
        self.inner.workflow
    }

    /// The same for calls that can wait: they stop where the last quarter of the hour's budget begins, which is
    /// kept for merges and what they rest on.
    #[must_use]
    pub fn leisurely(&self) -> Self {
        let main = self.inner.main.leisurely();
        Self { inner: Arc::new(Inner { main, ..Inner::clone(&self.inner) }) }
    }

    /// Where git finds it.
    pub fn git_url(&self) -> String {
        let base = self.inner.main.line().bases.git.as_str();
        format!("{}/{}.git", base.trim_end_matches('/'), self.inner.repository.full_name())
    }

    /// Where people find it.
    pub fn web_url(&self) -> String {
        let base = self.inner.main.line().bases.web.as_str();
        format!("{}/{}", base.trim_end_matches('/'), self.inner.repository.full_name())
    }

    /// The token for git (user `x-access-token`), good for some minutes at least.
    ///
    /// # Errors
    /// It could not be minted.
    pub async fn git_token(&self) -> Result<Secret, HubError> {
        self.inner.main.token().await
    }

    /// Drops the token that git did not accept, so that the next one is minted anew.
    pub async fn forget_git_token(&self, refused: &Secret) {
        self.inner.main.forget(refused).await;
    }

    /// How far our clock is ahead of the hub's, by the `Date` of its last answer; zero before the first.
    pub fn skew(&self) -> SignedDuration {
        self.inner.main.line().skew.get()
    }

    /// What is left of the REST and the GraphQL budget, as far as answers said.
    pub fn allowance(&self) -> (Option<Allowance>, Option<Allowance>) {
        self.inner.main.left()
    }

    fn main(&self) -> &Client {
        &self.inner.main
    }

    /// A path below this repository.
    fn path(&self, rest: &str) -> String {
        format!("{}{rest}", self.inner.root)
    }
}

impl fmt::Debug for RepoHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepoHub").field("repository", &self.inner.repository.full_name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
