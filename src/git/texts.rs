//! The texts of a whole commit, for whoever reads a repository as a person reads a checkout.

use decide::Sha;
use git2::{Oid, Tree};

use super::error::GitError;
use super::read::{Kind, MAX_DEPTH, broken};
use super::store::Store;

/// So many files are read at most.
const MOST: usize = 100_000;

/// Whether a folder, which has no size, or a file of so many bytes is wanted, by its name.
pub type Wanted<'a> = &'a dyn Fn(&str, Option<u64>) -> bool;

impl Store {
    /// Hands over the wanted text files of a commit with their paths, in the order of their names within each folder.
    /// Symlinks, submodules and what is no UTF-8 are passed over.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk; `Malformed` beyond 100,000 wanted files or 32 levels.
    pub fn texts(&self, commit: &Sha, wanted: Wanted<'_>, take: &mut dyn FnMut(&str, &str)) -> Result<(), GitError> {
        let mut left = MOST;
        self.texts_below(&self.tree(commit)?, "", 0, wanted, &mut |path, id| {
            left = left
                .checked_sub(1)
                .ok_or_else(|| GitError::malformed("the repository", format!("it has more than {MOST} files")))?;
            let blob = self.repo.find_blob(id).map_err(broken)?;
            if let Ok(text) = std::str::from_utf8(blob.content()) {
                take(path, text);
            }
            Ok(())
        })
    }

    fn texts_below(
        &self,
        tree: &Tree<'_>,
        prefix: &str,
        depth: usize,
        wanted: Wanted<'_>,
        take: &mut dyn FnMut(&str, Oid) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        if depth > MAX_DEPTH {
            return Err(GitError::malformed(prefix, format!("it is deeper than {MAX_DEPTH} folders")));
        }
        let named = tree.iter().filter_map(|entry| Some((entry.name().ok()?.to_owned(), entry.id(), entry.filemode())));
        let mut entries: Vec<(String, Oid, i32)> = named.collect();
        // Git sorts a folder as if its name ended in a slash; a disk does not.
        entries.sort();
        for (name, id, mode) in entries {
            let path = format!("{prefix}{name}");
            match Kind::of(mode) {
                Kind::Folder if wanted(&name, None) => {
                    let below = self.repo.find_tree(id).map_err(broken)?;
                    self.texts_below(&below, &format!("{path}/"), depth + 1, wanted, take)?;
                }
                Kind::File | Kind::Executable if wanted(&name, Some(self.size(id)?)) => take(&path, id)?,
                Kind::Folder | Kind::File | Kind::Executable | Kind::Symlink | Kind::Submodule => {}
            }
        }
        Ok(())
    }
}
