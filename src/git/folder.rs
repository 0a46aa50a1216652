//! The files of one folder of a commit, with what is below it. One file is read in `read`, a whole commit in `texts`.

use std::collections::BTreeMap;

use decide::Sha;
use git2::{ObjectType, Tree};

use super::error::GitError;
use super::read::{Kind, MAX_DEPTH, broken, parts};
use super::store::Store;

/// So many files are read at most.
const MOST_FILES: usize = 10_000;
/// So many bytes are read at most, all files together.
const MOST_BYTES: u64 = 48 << 20;

/// Files by their path below the folder.
type Files = BTreeMap<String, Vec<u8>>;

impl Store {
    /// The files below a folder by their path from there; none when there is no such folder. Symlinks and submodules are
    /// passed over.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk; `Malformed` beyond 10,000 files, 48 MiB or 32 levels.
    pub fn folder(&self, commit: &Sha, path: &str) -> Result<Option<Files>, GitError> {
        let mut tree = self.tree(commit)?;
        for name in parts(path)? {
            let below =
                tree.get_name(name).filter(|entry| entry.kind() == Some(ObjectType::Tree)).map(|entry| entry.id());
            let Some(below) = below else { return Ok(None) };
            tree = self.repo.find_tree(below).map_err(broken)?;
        }
        let (mut files, mut left) = (BTreeMap::new(), MOST_BYTES);
        self.below(&tree, ("", 0), &mut files, &mut left)?;
        Ok(Some(files))
    }

    fn below(
        &self,
        tree: &Tree<'_>,
        (prefix, depth): (&str, usize),
        files: &mut Files,
        left: &mut u64,
    ) -> Result<(), GitError> {
        let much = |what: String| Err(GitError::malformed("a folder", what));
        if depth > MAX_DEPTH {
            return much(format!("it is deeper than {MAX_DEPTH} folders"));
        }
        for entry in tree.iter() {
            let Ok(name) = entry.name() else { continue };
            let path = format!("{prefix}{name}");
            match Kind::of(entry.filemode()) {
                Kind::Folder => {
                    let below = self.repo.find_tree(entry.id()).map_err(broken)?;
                    self.below(&below, (&format!("{path}/"), depth + 1), files, left)?;
                }
                Kind::File | Kind::Executable => {
                    let size = self.size(entry.id())?;
                    let Some(rest) = left.checked_sub(size) else {
                        return much(format!("it has more than {MOST_BYTES} bytes"));
                    };
                    *left = rest;
                    if files.len() >= MOST_FILES {
                        return much(format!("it has more than {MOST_FILES} files"));
                    }
                    let blob = self.repo.find_blob(entry.id()).map_err(broken)?;
                    files.insert(path, blob.content().to_vec());
                }
                Kind::Symlink | Kind::Submodule => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::git::testing::{Server, store};

    #[test]
    fn a_folder_is_read_with_what_is_below_it() {
        let server = Server::start();
        server
            .commit("main", &[("charts/loki/Chart.yaml", "1"), ("charts/loki/templates/a.yaml", "2"), ("other", "3")]);
        let commit = server.commit_with("main", |work| symlink("Chart.yaml", work.join("charts/loki/link")).unwrap());
        let (_folder, store) = store();
        store.fetch(&server.access(), "main", Some(1)).unwrap();
        let commit = Sha::new(commit);
        let files = store.folder(&commit, "charts/loki").unwrap().unwrap();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        assert_eq!(files, [("Chart.yaml", &b"1"[..]), ("templates/a.yaml", b"2")]);
        for path in ["charts/tempo", "other", "charts/loki/Chart.yaml"] {
            assert!(store.folder(&commit, path).unwrap().is_none(), "{path}");
        }
        assert!(store.folder(&commit, "../x").is_err());
    }
}
