//! One repository as the line works with it: its hub, its clone, its ledger, and who writes there. What is read of it is
//! in `observe`, what is done to it in `act`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, anyhow};
use decide::Person;
use jiff::Timestamp;

use crate::git::{Access, Author, GitError, Raw, Store};
use crate::hub::{RepoHub, Repository};
use crate::ledger::{Branch, LedgerError};
use crate::seal::Seal;
use crate::secret::Secret;

/// One repository.
pub struct Repo {
    /// The repository at the hub.
    pub repository: Repository,
    /// The hub, with a token for this repository alone.
    pub hub: RepoHub,
    /// What proves that a commit is ours.
    pub seal: Seal,
    /// The ledger, once it was read.
    pub ledger: Option<Branch>,
    /// Where clones of repositories lie that its policy names.
    pub others: PathBuf,
    store: Arc<Mutex<Store>>,
}

impl Repo {
    /// Opens the clone of a repository below `data`; it is keyed by the repository's number, which a
    /// rename does not change.
    ///
    /// # Errors
    /// Where the folder of the clone cannot be used.
    pub fn open(repository: Repository, hub: RepoHub, seal: Seal, data: &Path) -> anyhow::Result<Self> {
        let folder = data.join(format!("{}.git", repository.id));
        let store = Store::open(&folder).with_context(|| format!("the clone in {}", folder.display()))?;
        let others = data.join(format!("{}.sources", repository.id));
        Ok(Self { repository, hub, seal, ledger: None, others, store: Arc::new(Mutex::new(store)) })
    }

    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.repository.owner, self.repository.name)
    }

    /// Who our commits say wrote them.
    pub fn author(&self) -> Author {
        author(self.hub.bot())
    }

    /// Whether a commit says that we wrote it, or that the hub did for us. Anybody can write that into one: what proves
    /// more is in `seal` and in the ledger.
    pub fn says_ours(&self, commit: &Raw) -> bool {
        let (ours, login) = (self.author(), self.hub.bot().as_str());
        let numbered = |email: &str| {
            let local = email.split('@').next().and_then(|local| local.split_once('+'));
            local.is_some_and(|(number, name)| number.bytes().all(|byte| byte.is_ascii_digit()) && name == login)
        };
        let by_hub = commit.committer.email.starts_with("noreply@");
        (commit.author == ours && commit.committer == ours)
            || (by_hub && commit.author.name == login && numbered(&commit.author.email))
    }

    /// Runs git work on a thread that may block.
    pub async fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &Access) -> Result<T, GitError> + Send + 'static,
    ) -> anyhow::Result<T> {
        let access = self.access().await?;
        let store = Arc::clone(&self.store);
        let token = access.token.clone();
        let work = move || work(&store.lock().unwrap_or_else(PoisonError::into_inner), &access);
        let done = tokio::task::spawn_blocking(work).await.map_err(|error| anyhow!("git work was cut off: {error}"))?;
        self.heed(done.as_ref().err(), token).await;
        Ok(done?)
    }

    /// A token that was refused is not used again.
    async fn heed(&self, error: Option<&GitError>, token: Option<Secret>) {
        if let (Some(GitError::Denied { .. }), Some(token)) = (error, token) {
            self.hub.forget_git_token(&token).await;
        }
    }

    /// Runs work on the ledger branch on a thread that may block. The ledger is read first when it
    /// was not yet.
    pub async fn with_ledger<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Branch, &Store, &Access) -> Result<T, LedgerError> + Send + 'static,
    ) -> anyhow::Result<T> {
        let access = self.access().await?;
        let (store, author, seal) = (Arc::clone(&self.store), self.author(), self.seal.clone());
        let (branch, token) = (self.ledger.take(), access.token.clone());
        let work = move || -> Result<(Branch, Result<T, LedgerError>), LedgerError> {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let mut branch = match branch {
                Some(branch) => branch,
                None => Branch::load(&store, &access, author, seal)?,
            };
            let result = work(&mut branch, &store, &access);
            Ok((branch, result))
        };
        let done =
            tokio::task::spawn_blocking(work).await.map_err(|error| anyhow!("ledger work was cut off: {error}"))?;
        let error = match &done {
            Err(error) | Ok((_, Err(error))) => Some(error),
            Ok((_, Ok(_))) => None,
        };
        self.heed(error.and_then(LedgerError::of_git), token).await;
        let (branch, result) = done?;
        self.ledger = Some(branch);
        Ok(result?)
    }

    /// Writes the progress that waits in memory, before the process ends.
    ///
    /// # Errors
    /// Where the push did not work.
    pub async fn flush(&mut self, now: Timestamp) -> anyhow::Result<()> {
        self.with_ledger(move |branch, store, access| branch.flush(store, access, now)).await.map(drop)
    }

    async fn access(&self) -> anyhow::Result<Access> {
        Ok(Access { url: self.hub.git_url(), user: None, token: Some(self.hub.git_token().await?) })
    }
}

/// The author of a commit by `login`, with the address that the hub knows for it.
fn author(login: &Person) -> Author {
    Author {
        name: login.to_string(),
        email: format!("{}@users.noreply.github.com", login.as_str().replace("[bot]", "-bot")),
    }
}
