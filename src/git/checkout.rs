//! A checkout on this disk, read as the commit that it would become now. What is made for that stays in memory: the
//! checkout is left as it is.

use std::path::{Path, PathBuf};

use decide::Sha;
use git2::{BranchType, ErrorCode, IndexAddOption, Repository, RepositoryOpenFlags, Signature, Time};

use super::error::GitError;
use super::read::MAX_FILE;
use super::session::Limits;
use super::setup;
use super::store::{Store, sha};

/// Objects are written where nothing outlives the process: before the files of the repository (libgit2 gives those 1
/// and 2).
const MEMORY: i32 = 1_000;

/// A checkout, and what its folder holds.
pub struct Checkout {
    store: Store,
    /// Its folder.
    pub root: PathBuf,
    /// A commit of everything in it that git would take, committed or not.
    pub commit: Sha,
}

impl Checkout {
    /// The checkout that a folder lies in; none where it lies in no repository.
    ///
    /// # Errors
    /// `Local` where there is one that cannot be read.
    pub fn around(folder: &Path) -> Result<Option<Self>, GitError> {
        setup::once()?;
        let repo = match Repository::open_ext(folder, RepositoryOpenFlags::empty(), std::iter::empty::<&Path>()) {
            Ok(repo) => repo,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(GitError::local(format!("opening {}", folder.display()), error.message())),
        };
        let Some(root) = repo.workdir().map(Path::to_path_buf) else { return Ok(None) };
        let commit = taken(&repo, &root)
            .map_err(|error| GitError::local(format!("reading the files of {}", root.display()), error.message()))?;
        Ok(Some(Self { store: Store::of(repo, &root), root, commit }))
    }

    /// What is read by commits.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A commit by any name that git has for it; `.` is what lies in the folder.
    ///
    /// # Errors
    /// `Local` where there is none of this name.
    pub fn revision(&self, name: &str) -> Result<Sha, GitError> {
        if name == "." {
            return Ok(self.commit.clone());
        }
        let found = self.store.repo.revparse_single(name).and_then(|object| object.peel_to_commit());
        let found = found.map_err(|error| GitError::local(format!("looking for the commit `{name}`"), error.message()));
        Ok(sha(found?.id()))
    }

    /// The newest commit of another branch that is known here: as it was fetched last, or else as it is on this disk.
    pub fn branch(&self, name: &str) -> Option<Sha> {
        let of = |name: &str, kind| {
            let branch = self.store.repo.find_branch(name, kind).ok()?;
            Some(sha(branch.get().peel_to_commit().ok()?.id()))
        };
        of(&format!("origin/{name}"), BranchType::Remote).or_else(|| of(name, BranchType::Local))
    }
}

impl Store {
    fn of(repo: Repository, root: &Path) -> Self {
        Self { repo, limits: Limits::default(), folder: root.to_path_buf(), client: None }
    }
}

/// A commit of what `git add --all` would take. New files that are larger than any that is read are passed over.
fn taken(repo: &Repository, root: &Path) -> Result<Sha, git2::Error> {
    repo.odb()?.add_new_mempack_backend(MEMORY)?;
    // Read and never written back.
    let mut index = repo.index()?;
    let mut small = |path: &Path, _: &[u8]| {
        let size = std::fs::symlink_metadata(root.join(path)).map_or(0, |about| about.len());
        i32::from(size > MAX_FILE as u64)
    };
    index.add_all(["*"], IndexAddOption::DEFAULT, Some(&mut small))?;
    index.update_all(["*"], None)?;
    let tree = repo.find_tree(index.write_tree()?)?;
    let nobody = Signature::new("nobody", "nobody@localhost", &Time::new(0, 0))?;
    Ok(sha(repo.commit(None, &nobody, &nobody, "", &tree, &[])?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;
    use crate::git::testing::git;

    fn text(checkout: &Checkout, path: &str) -> Option<String> {
        let bytes = checkout.store().read(&checkout.commit, path).unwrap();
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_checkout_is_read_as_it_lies_there_and_left_so() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert!(Checkout::around(root).unwrap().is_none());
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        fs::create_dir(root.join("apps")).unwrap();
        for (name, text) in [("kept", "1"), ("changed", "1"), ("gone", "1"), (".gitignore", "ignored\n")] {
            fs::write(root.join("apps").join(name), text).unwrap();
        }
        git(root, &["add", "--all"]);
        git(root, &["commit", "--quiet", "--message", "first"]);
        git(root, &["branch", "gold"]);
        fs::write(root.join("apps/changed"), "2").unwrap();
        fs::write(root.join("apps/new"), "1").unwrap();
        fs::write(root.join("apps/ignored"), "1").unwrap();
        fs::write(root.join("apps/large"), vec![b'x'; MAX_FILE + 1]).unwrap();
        fs::remove_file(root.join("apps/gone")).unwrap();
        let before = git(root, &["status", "--porcelain"]) + &git(root, &["count-objects", "-v"]);

        let checkout = Checkout::around(&root.join("apps")).unwrap().unwrap();
        let of = |name: &str| text(&checkout, &format!("apps/{name}"));
        assert_eq!((of("kept"), of("changed"), of("new")), (Some("1".into()), Some("2".into()), Some("1".into())));
        assert_eq!((of("gone"), of("ignored"), of("large")), (None, None, None));
        assert_eq!(fs::canonicalize(&checkout.root).unwrap(), fs::canonicalize(root).unwrap());
        let gold = checkout.branch("gold").unwrap();
        assert_eq!(checkout.store().read(&gold, "apps/gone").unwrap().unwrap(), b"1");
        assert_eq!(checkout.branch("silver"), None);
        assert_eq!(
            (checkout.revision("gold").unwrap(), checkout.revision(".").unwrap()),
            (gold, checkout.commit.clone())
        );
        let none = checkout.revision("nowhere").unwrap_err().to_string();
        assert!(none.contains("looking for the commit `nowhere`"), "{none}");
        drop(checkout);
        assert_eq!(git(root, &["status", "--porcelain"]) + &git(root, &["count-objects", "-v"]), before);
    }
}
