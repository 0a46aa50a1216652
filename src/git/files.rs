//! Many files of one commit: every folder on the way is opened once, and what was read before is known again by
//! its id. One file alone is read in `read`.

use decide::Sha;
use git2::{Oid, Tree};

use super::error::GitError;
use super::read::{Kind, MAX_FILE, broken, parts};
use super::store::Store;

/// The content of a file, by its hash: equal ones are equal bytes, in any commit and at any path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content(Oid);

/// A folder on the way to a path; none = there is none.
type Step<'a, 'repo> = (&'a str, Option<Tree<'repo>>);

impl Store {
    /// What stands at each of these paths of a commit, in the order of `paths`; none where nothing does. The inner
    /// error is what `read` says of a symlink, a submodule, a folder or a path that is none. Nothing is read yet
    /// but folders.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk; `Local` when its objects are broken.
    pub fn files<'a>(
        &self,
        commit: &Sha,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Result<Option<Content>, GitError>>, GitError> {
        let root = self.tree(commit)?;
        let mut found = Vec::new();
        let mut wanted = Vec::new();
        for (index, path) in paths.into_iter().enumerate() {
            match parts(path) {
                Ok(parts) => wanted.push((parts, index)),
                Err(error) => found.push((index, Err(error))),
            }
        }
        wanted.sort();
        let mut open: Vec<Step<'a, '_>> = Vec::new();
        for (parts, index) in wanted {
            match self.at(&root, &mut open, &parts) {
                Err(error) if !matches!(error, GitError::Malformed { .. }) => return Err(error),
                done => found.push((index, done)),
            }
        }
        found.sort_by_key(|(index, _)| *index);
        Ok(found.into_iter().map(|(_, one)| one).collect())
    }

    /// The bytes of a file that `files` found; `path` is for the error alone.
    ///
    /// # Errors
    /// `Malformed` beyond 1 MiB; `Local` when the object is broken.
    pub fn content(&self, content: Content, path: &str) -> Result<Vec<u8>, GitError> {
        self.blob(content.0, path, MAX_FILE)
    }

    /// Walks from the folders that are open to this path, and leaves those open that lead to it.
    fn at<'a, 'repo>(
        &'repo self,
        root: &Tree<'_>,
        open: &mut Vec<Step<'a, 'repo>>,
        parts: &[&'a str],
    ) -> Result<Option<Content>, GitError> {
        let Some((name, folders)) = parts.split_last() else { return Ok(None) };
        let same = open.iter().zip(folders).take_while(|((known, _), folder)| known == *folder).count();
        open.truncate(same);
        for (depth, folder) in folders.iter().enumerate().skip(same) {
            let below = match entry(root, open, folder) {
                None | Some((_, Kind::File | Kind::Executable)) => None,
                Some((id, Kind::Folder)) => Some(self.repo.find_tree(id).map_err(broken)?),
                Some((_, kind @ (Kind::Symlink | Kind::Submodule))) => {
                    let way = parts.get(..=depth).unwrap_or(parts).join("/");
                    return Err(GitError::malformed(way, kind.objection().unwrap_or_default()));
                }
            };
            open.push((folder, below));
        }
        let Some((id, kind)) = entry(root, open, name) else { return Ok(None) };
        match kind.objection() {
            Some(objection) => Err(GitError::malformed(parts.join("/"), objection)),
            None => Ok(Some(Content(id))),
        }
    }
}

/// What the last open folder holds under a name.
fn entry(root: &Tree<'_>, open: &[Step<'_, '_>], name: &str) -> Option<(Oid, Kind)> {
    let folder = match open.last() {
        Some((_, folder)) => folder.as_ref()?,
        None => root,
    };
    folder.get_name(name).map(|entry| (entry.id(), Kind::of(entry.filemode())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::git::testing::{Server, git, store};

    const NAMES: [&str; 7] = ["a", "a.b", "b", "link", "module", "..", "a-"];

    fn world() -> (Server, tempfile::TempDir, Store, Sha) {
        let server = Server::start();
        server.commit_with("main", |work| {
            for path in ["a/a", "a/b/a", "a/b/b", "a.b/a", "b", "a-/b", "a/a.b/a"] {
                let path = work.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, path.display().to_string()).unwrap();
            }
            symlink("a", work.join("link")).unwrap();
            symlink("b", work.join("a/b/link")).unwrap();
            fs::create_dir(work.join("module")).unwrap();
            let module = format!("160000,{},module", "1".repeat(40));
            git(work, &["update-index", "--add", "--cacheinfo", &module]);
        });
        let (folder, store) = store();
        let commit = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
        (server, folder, store, commit)
    }

    /// Many at once are what each says alone, whatever lies between them.
    #[test]
    fn many_are_read_as_each_alone() {
        let (_server, _folder, store, commit) = world();
        let path = prop::collection::vec(prop::sample::select(NAMES.to_vec()), 1..4);
        let mut runner = proptest::test_runner::TestRunner::default();
        let run = runner.run(&prop::collection::vec(path, 0..12), |paths| {
            let paths: Vec<String> = paths.iter().map(|parts| parts.join("/")).collect();
            let found = store.files(&commit, paths.iter().map(String::as_str)).unwrap();
            prop_assert_eq!(found.len(), paths.len());
            for (path, found) in paths.iter().zip(found) {
                let read = found.and_then(|one| one.map(|one| store.content(one, path)).transpose());
                prop_assert_eq!(read, store.read(&commit, path), "{}", path);
            }
            Ok(())
        });
        run.unwrap();
        let absent = Sha::new("1".repeat(40));
        assert!(matches!(store.files(&absent, ["a"]), Err(GitError::Missing { .. })));
    }

    #[test]
    fn equal_files_have_equal_contents() {
        let server = Server::start();
        server.commit("main", &[("a", "1"), ("b", "1"), ("c", "2")]);
        let (_folder, store) = store();
        let commit = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
        let found: Vec<_> =
            store.files(&commit, ["a", "b", "c"]).unwrap().into_iter().map(|one| one.unwrap()).collect();
        assert!(found[0] == found[1] && found[1] != found[2]);
    }
}
