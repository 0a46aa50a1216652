//! What plugins share that come from one place: clones of repositories that definitions lie in, one for each address, and
//! indexes of charts. What stands in them is read in `catalog` and `http`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use decide::Sha;
use jiff::{SignedDuration, Timestamp};
use url::Url;

use super::found::{SourceError, sha256};
use super::shared::{FRESH as FRESH_INDEX, Index};
use crate::clock;
use crate::git::{Access, GitError, Refs, Store};
use crate::observe::net::{Login, Net};

/// For so long a list of refs serves all plugins of a repository; a ring is not answered faster.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// The clones and indexes of one config repository. By default there is no folder for a clone, and none is made; and an
/// index is asked for each time.
#[derive(Default)]
pub struct Mirrors {
    folder: Option<PathBuf>,
    open: Mutex<BTreeMap<String, Arc<Mirror>>>,
    indexes: Mutex<BTreeMap<String, Arc<Index>>>,
    /// For so long an index serves all of its plugins.
    fresh: SignedDuration,
}

/// One repository.
pub(super) struct Mirror {
    /// Its address.
    pub url: Url,
    net: Net,
    store: Arc<Mutex<Store>>,
    listed: tokio::sync::Mutex<Option<(Timestamp, Arc<Refs>)>>,
}

impl Mirrors {
    /// Clones that are kept below a folder, which may be lost at any time.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), fresh: FRESH_INDEX, ..Self::default() }
    }

    /// The clone of an address.
    pub(super) fn of(&self, address: &str, net: &Net) -> Result<Arc<Mirror>, SourceError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mirror) = open.get(address) {
            return Ok(Arc::clone(mirror));
        }
        let mirror = Arc::new(self.clone_of(address, net)?);
        open.insert(address.to_string(), Arc::clone(&mirror));
        Ok(mirror)
    }

    /// The index of a chart repository.
    pub(super) fn index(&self, repository: &str, net: &Net) -> Result<Arc<Index>, SourceError> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(repository) {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(Index::new(repository, net, self.fresh)?);
        indexes.insert(repository.to_string(), Arc::clone(&index));
        Ok(index)
    }

    fn clone_of(&self, address: &str, net: &Net) -> Result<Mirror, SourceError> {
        let refused = |why: String| SourceError::Refused { url: address.to_string(), why };
        let url = Url::parse(address).map_err(|error| refused(error.to_string()))?;
        net.check(&url)?;
        let digest = sha256(address.as_bytes());
        let folder = self.folder.as_ref().ok_or_else(|| refused("no clone is made here".to_string()))?;
        let folder = folder.join(digest.as_str().trim_start_matches("sha256:"));
        let store = Store::open(&folder).map_err(|error| refused(error.to_string()))?.of_others(net.guarded()?);
        Ok(Mirror { url, net: net.clone(), store: Arc::new(Mutex::new(store)), listed: tokio::sync::Mutex::default() })
    }
}

impl Mirror {
    /// What the repository has.
    pub async fn refs(&self) -> Result<Arc<Refs>, SourceError> {
        let mut listed = self.listed.lock().await;
        if let Some((at, refs)) = listed.as_ref()
            && clock::now().duration_since(*at).abs() < FRESH
        {
            return Ok(Arc::clone(refs));
        }
        let refs = Arc::new(self.git(|store, access| store.refs(access)).await?);
        *listed = Some((clock::now(), Arc::clone(&refs)));
        Ok(refs)
    }

    /// The text of a file on a branch that was at this commit; none when it is not there.
    pub async fn at_branch(&self, (branch, commit): &(String, Sha), path: &str) -> Result<Option<String>, SourceError> {
        let (branch, commit, path) = (branch.clone(), commit.clone(), path.to_string());
        self.git(move |store, access| {
            // It may have moved on since.
            let now = if store.has(&commit) { Some(commit) } else { store.fetch(access, &branch, Some(1))? };
            now.map_or(Ok(None), |commit| text(store, &commit, &path))
        })
        .await
    }

    /// The text of a file at the commit of a tag; none when it is not there. All of `wanted` is brought here where the
    /// commit is not.
    pub async fn at_tag(
        &self,
        commit: Sha,
        path: &str,
        wanted: BTreeMap<String, Sha>,
    ) -> Result<Option<String>, SourceError> {
        let path = path.to_string();
        self.with_tags(commit, wanted, move |store, commit| text(store, commit, &path)).await
    }

    /// The files of a folder at the commit of a tag, with what is below it; none when it is not there.
    pub async fn folder_at(
        &self,
        commit: Sha,
        folder: &str,
        wanted: BTreeMap<String, Sha>,
    ) -> Result<Option<BTreeMap<String, Vec<u8>>>, SourceError> {
        let folder = folder.to_string();
        self.with_tags(commit, wanted, move |store, commit| store.folder(commit, &folder)).await
    }

    /// Reads at a commit, which is brought here with all of `wanted` where it is not.
    async fn with_tags<T: Send + 'static>(
        &self,
        commit: Sha,
        wanted: BTreeMap<String, Sha>,
        read: impl FnOnce(&Store, &Sha) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, SourceError> {
        self.git(move |store, access| {
            if !store.has(&commit) {
                store.fetch_tags(access, &wanted)?;
            }
            read(store, &commit)
        })
        .await
    }

    async fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &Access) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let (user, token) = match self.net.login(&self.url)?.map(|found| found.login) {
            Some(Login::Basic { user, password }) => (Some(user), Some(password)),
            Some(Login::Bearer(token) | Login::Identity(token)) => (None, Some(token)),
            None => (None, None),
        };
        let access = Access { url: self.url.to_string(), user, token };
        let store = Arc::clone(&self.store);
        let work = move || work(&store.lock().unwrap_or_else(PoisonError::into_inner), &access);
        let done = tokio::task::spawn_blocking(work).await;
        let lost = |error: tokio::task::JoinError| self.failed(error.to_string());
        done.map_err(lost)?.map_err(|error| self.source_error(error))
    }

    fn failed(&self, why: String) -> SourceError {
        SourceError::Unreachable { url: self.url.to_string(), why }
    }

    fn source_error(&self, error: GitError) -> SourceError {
        match error {
            GitError::Denied { url, why } => {
                let help = "let the operator give a login for this host, by --registries with a docker config.json";
                SourceError::Closed { url, why: format!("{why}; {help}") }
            }
            GitError::Malformed { what, why } => SourceError::Malformed {
                url: self.url.to_string(),
                expected: "a repository of releases",
                why: format!("{what}: {why}"),
            },
            GitError::Unreachable { url, why } => SourceError::Unreachable { url, why },
            error @ (GitError::Missing { .. } | GitError::Local { .. }) => self.failed(error.to_string()),
        }
    }
}

fn text(store: &Store, commit: &Sha, path: &str) -> Result<Option<String>, GitError> {
    let bytes = store.read(commit, path)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
