//! The bare repository on disk: a cache that may vanish at any time. What is in it is in `read`,
//! what is added in `write` and `remote`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use git2::{Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags};
use reqwest::Client;

use super::error::GitError;
use super::remote::Access;
use super::session::{Limits, Session};
use super::setup;
use decide::Sha;

/// A file that says the folder is ours and may be emptied.
const MARKER: &str = "coldframe-cache";
const MARKER_TEXT: &str = "A cache of git objects that Coldframe keeps. It may be deleted at any time.\n";

/// Each fetch adds a pack and each commit some loose files; beyond this a fresh start is cheaper.
const MAX_PACK_FILES: usize = 600;
const MAX_LOOSE_FOLDER: usize = 200;
/// The longest that one request to a repository of somebody else may take.
const OF_OTHERS: Duration = Duration::from_secs(120);

/// One bare repository on disk. It belongs to one job at a time; open it once per job.
pub struct Store {
    pub(super) repo: Repository,
    pub(super) limits: Limits,
    pub(super) folder: PathBuf,
    pub(super) client: Option<Client>,
}

impl Store {
    /// Opens the cache in `folder`, which is made when it is absent. A broken or worn one is emptied
    /// and made anew.
    ///
    /// # Errors
    /// `Malformed` when the folder holds something that is not ours; `Local` when the disk refuses.
    pub fn open(folder: &Path) -> Result<Self, GitError> {
        setup::once()?;
        let failed = |error: std::io::Error| GitError::local(format!("opening {}", folder.display()), error);
        fs::create_dir_all(folder).map_err(failed)?;
        let ours = folder.join(MARKER).is_file();
        if !ours && fs::read_dir(folder).map_err(failed)?.next().is_some() {
            let why = "it holds files that are not Coldframe's; give an empty folder for the cache";
            return Err(GitError::malformed(folder.display().to_string(), why));
        }
        if ours
            && !worn(folder)
            && let Ok(repo) = opened(folder)
        {
            return Ok(Self { repo, limits: Limits::default(), folder: folder.to_path_buf(), client: None });
        }
        empty(folder).map_err(failed)?;
        fs::write(folder.join(MARKER), MARKER_TEXT).map_err(failed)?;
        let mut options = RepositoryInitOptions::new();
        options.bare(true).external_template(false).initial_head("coldframe-unused");
        let repo = Repository::init_opts(folder, &options)
            .map_err(|error| GitError::local(format!("making {}", folder.display()), error.message()))?;
        Ok(Self { repo, limits: Limits::default(), folder: folder.to_path_buf(), client: None })
    }

    /// A clone of a repository that a file names: it is reached by this client alone, which knows what may be asked, and
    /// gives us less than one of our own may.
    #[must_use]
    pub fn of_others(mut self, client: Client) -> Self {
        self.client = Some(client);
        self.limits = Limits { advertised: 16 << 20, received: 128 << 20, request: OF_OTHERS, ..self.limits };
        self
    }

    pub(super) fn session(&self, access: &Access) -> Result<Arc<Session>, GitError> {
        Session::new(access, self.limits, self.client.clone())
    }

    /// Empties the cache; for a job that met broken objects in it. The next `open` starts anew.
    ///
    /// # Errors
    /// `Local` when the disk refuses.
    pub fn discard(self) -> Result<(), GitError> {
        let Self { repo, folder, .. } = self;
        drop(repo);
        empty(&folder).map_err(|error| GitError::local(format!("emptying {}", folder.display()), error))
    }
}

/// The repository that lies there. `open_bare` of libgit2 1.9 does not read where a shallow history ends, and whatever
/// walks it then looks for commits that were never fetched.
pub(super) fn opened(folder: &Path) -> Result<Repository, git2::Error> {
    let here = RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
    Repository::open_ext(folder, here, std::iter::empty::<&Path>())
}

/// The library's id; it would take shorter texts and fill them with zeros.
pub(super) fn oid(sha: &Sha) -> Result<Oid, GitError> {
    let text = sha.as_str();
    if text.len() != 40 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(GitError::malformed(format!("commit `{text}`"), "an id has 40 hexadecimal digits"));
    }
    Oid::from_str(text).map_err(|error| GitError::malformed(format!("commit `{text}`"), error.message()))
}

pub(super) fn sha(id: Oid) -> Sha {
    Sha::new(id.to_string())
}

fn worn(folder: &Path) -> bool {
    let count = |sub: &str| fs::read_dir(folder.join("objects").join(sub)).map_or(0, Iterator::count);
    // Objects spread evenly over 256 folders; one of them tells about all.
    count("pack") > MAX_PACK_FILES || count("17") > MAX_LOOSE_FOLDER
}

/// Empties a folder and keeps the folder itself, which may be a mount point.
fn empty(folder: &Path) -> std::io::Result<()> {
    let mut marker = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == MARKER {
            marker = Some(entry.path());
        } else if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    // Last, so that a crash on the way leaves a folder that is still known as ours.
    marker.map_or(Ok(()), fs::remove_file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::git::testing::{Server, store};

    #[test]
    fn a_broken_or_worn_cache_is_made_anew() {
        let server = Server::start();
        server.commit("main", &[("a", "1")]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/cache");
        let damages: [fn(&Path); 4] = [
            |_| (),
            |path| fs::remove_file(path.join("HEAD")).unwrap(),
            |path| fs::remove_dir_all(path.join("objects")).unwrap(),
            |path| {
                for count in 0..=MAX_PACK_FILES {
                    fs::write(path.join(format!("objects/pack/{count}")), "").unwrap();
                }
            },
        ];
        for damage in damages {
            let store = Store::open(&path).unwrap();
            let tip = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
            drop(store);
            damage(&path);
            let store = Store::open(&path).unwrap();
            assert!(store.fetch(&server.access(), "main", Some(1)).unwrap() == Some(tip.clone()));
            assert_eq!(store.read(&tip, "a").unwrap().unwrap(), b"1");
        }
        Store::open(&path).unwrap().discard().unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        Store::open(&path).unwrap();
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
        let error = Store::open(folder.path()).err().unwrap();
        assert!(error.to_string().contains("give an empty folder"), "{error}");
        assert!(folder.path().join("thesis.txt").exists());
    }

    #[test]
    fn an_id_has_forty_digits() {
        let (_folder, _store) = store();
        for text in ["", "abc", "HEAD", &"g".repeat(40), &"1".repeat(41)] {
            assert!(oid(&Sha::new(text)).is_err(), "{text}");
        }
        assert_eq!(sha(oid(&Sha::new("a".repeat(40))).unwrap()), Sha::new("a".repeat(40)));
    }
}
