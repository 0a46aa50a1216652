//! Clones of repositories that releases lie in, one for each address, shared by all plugins that come from there. What
//! stands in them is read in `catalog`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use decide::Sha;
use jiff::{SignedDuration, Timestamp};
use url::Url;

use super::found::{SourceError, sha256};
use crate::clock;
use crate::git::{Access, GitError, Refs, Store};
use crate::observe::net::{Login, Net};

/// For so long a list of refs serves all plugins of a repository; a ring is not answered faster.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// The clones of one config repository. By default there is no folder for any, and none is made.
#[derive(Default)]
pub struct Mirrors {
    folder: Option<PathBuf>,
    open: Mutex<BTreeMap<String, Arc<Mirror>>>,
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
        Self { folder: Some(folder), open: Mutex::default() }
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

    /// The text of a file on a branch, as it stands there now; none when it is not there.
    pub async fn at_branch(&self, branch: &str, path: &str) -> Result<Option<String>, SourceError> {
        let (branch, path) = (branch.to_string(), path.to_string());
        self.git(move |store, access| match store.fetch(access, &branch, Some(1))? {
            Some(commit) => text(store, &commit, &path),
            None => Ok(None),
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
        self.git(move |store, access| {
            if !store.has(&commit) {
                store.fetch_tags(access, &wanted)?;
            }
            text(store, &commit, &path)
        })
        .await
    }

    async fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &Access) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let token = self.net.login(&self.url)?.map(|found| match found.login {
            Login::Basic { password, user: _ } => password,
            Login::Bearer(token) | Login::Identity(token) => token,
        });
        let access = Access { url: self.url.to_string(), token };
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
                expected: "a catalog",
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
