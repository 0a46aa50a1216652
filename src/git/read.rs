//! Looking into commits that are on disk: files, folders, messages, history. Nothing here talks to
//! a server.

use std::collections::BTreeSet;

use decide::Sha;
use git2::{Commit, Delta, ErrorCode, ObjectType, Oid, Tree};
use jiff::Timestamp;

use super::error::GitError;
use super::store::{Store, oid};

/// The largest file that `read` gives out.
pub(super) const MAX_FILE: usize = 1 << 20;
const MAX_LISTED: usize = 20_000;
pub(super) const MAX_DEPTH: usize = 32;
pub(super) const MAX_CHANGED: usize = 10_000;

/// What a path of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Executable,
    Folder,
    Symlink,
    Submodule,
}

impl Kind {
    pub(super) fn of(mode: i32) -> Self {
        match mode {
            0o040_000 => Self::Folder,
            0o120_000 => Self::Symlink,
            0o160_000 => Self::Submodule,
            0o100_755 => Self::Executable,
            _ => Self::File,
        }
    }

    /// Why it is not taken for a file; none when it is one.
    pub(super) fn objection(self) -> Option<&'static str> {
        match self {
            Self::File | Self::Executable => None,
            Self::Folder => Some("is a folder, not a file"),
            Self::Symlink => Some("is a symlink, which is not followed; name the file itself"),
            Self::Submodule => Some("is a submodule, which is not entered; name a file of this repository"),
        }
    }
}

impl Store {
    /// The content of a regular file at a commit; none when there is no such path.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk; `Malformed` for a symlink, a submodule, a folder,
    /// or more than 1 MiB.
    pub fn read(&self, commit: &Sha, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.read_up_to(commit, path, MAX_FILE)
    }

    /// As `read`, with a bound of the caller's in bytes.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_up_to(&self, commit: &Sha, path: &str, limit: usize) -> Result<Option<Vec<u8>>, GitError> {
        let parts = parts(path)?;
        let Some((id, kind)) = self.find(commit, &parts)? else { return Ok(None) };
        if let Some(objection) = kind.objection() {
            return Err(GitError::malformed(path, objection));
        }
        self.blob(id, path, limit).map(Some)
    }

    /// How many bytes an object has.
    pub(super) fn size(&self, id: Oid) -> Result<u64, GitError> {
        self.odb(|odb| odb.read_header(id)).map(|(size, _)| size as u64)
    }

    /// The bytes of an object that is a file at `path`.
    pub(super) fn blob(&self, id: Oid, path: &str, limit: usize) -> Result<Vec<u8>, GitError> {
        let size = self.size(id)?;
        if size > limit as u64 {
            return Err(GitError::malformed(path, format!("it has {size} bytes; {limit} are the most that is read")));
        }
        let blob = self.repo.find_blob(id).map_err(broken)?;
        Ok(blob.content().to_vec())
    }

    /// The paths of all regular files below a folder (`""` is the root), in order. Symlinks and
    /// submodules are left out; an absent folder is an empty one.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk; `Malformed` when the path is not a folder, or holds
    /// more than 20,000 files or 32 levels.
    pub fn list(&self, commit: &Sha, folder: &str) -> Result<Vec<String>, GitError> {
        let folder = folder.trim_end_matches('/');
        let root = if folder.is_empty() {
            self.tree(commit)?
        } else {
            match self.find(commit, &parts(folder)?)? {
                None => return Ok(Vec::new()),
                Some((id, Kind::Folder)) => self.repo.find_tree(id).map_err(broken)?,
                Some((_, Kind::File | Kind::Executable)) => {
                    return Err(GitError::malformed(folder, "is a file, not a folder"));
                }
                Some((_, kind @ (Kind::Symlink | Kind::Submodule))) => {
                    return Err(GitError::malformed(folder, kind.objection().unwrap_or_default()));
                }
            }
        };
        let mut found = Vec::new();
        self.walk(&root, folder, 0, &mut found)?;
        found.sort();
        Ok(found)
    }

    /// Whether a commit is on disk.
    pub fn has(&self, commit: &Sha) -> bool {
        oid(commit).is_ok_and(|id| has_commit(self, id))
    }

    /// Whether `tip` is `commit` or descends from it; false when `commit` is not known here. What a
    /// shallow fetch left out is not known.
    ///
    /// # Errors
    /// `Missing` when the tip itself is not on disk.
    pub fn contains(&self, tip: &Sha, commit: &Sha) -> Result<bool, GitError> {
        Ok(self.first_not_in(tip, std::slice::from_ref(commit))?.is_none())
    }

    /// The first of `commits` that is neither `tip` nor an ancestor of it; one walk for all. A text
    /// that is no commit id is not contained in anything.
    ///
    /// # Errors
    /// `Missing` when the tip itself is not on disk.
    pub fn first_not_in(&self, tip: &Sha, commits: &[Sha]) -> Result<Option<Sha>, GitError> {
        let start = self.commit_at(tip)?.id();
        let mut wanted: BTreeSet<Oid> = BTreeSet::new();
        for commit in commits {
            match oid(commit) {
                Ok(id) if self.repo.find_commit(id).is_ok() => wanted.insert(id),
                _ => return self.first_outside(start, commits, commit),
            };
        }
        self.lacking(start, &mut wanted)?;
        Ok(commits.iter().find(|commit| oid(commit).is_ok_and(|id| wanted.contains(&id))).cloned())
    }

    /// The message of a commit; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk.
    pub fn message(&self, commit: &Sha) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(self.commit_at(commit)?.message_bytes()).into_owned())
    }

    /// When a commit was written, by its committer, in whole seconds.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk; `Malformed` when the time is out of all bounds.
    pub fn time(&self, commit: &Sha) -> Result<Timestamp, GitError> {
        let seconds = self.commit_at(commit)?.time().seconds();
        Timestamp::from_second(seconds).map_err(|_| {
            GitError::malformed(format!("commit {commit}"), format!("its time {seconds} is out of bounds"))
        })
    }

    /// The paths whose content, mode or existence differs between two commits, in order.
    ///
    /// # Errors
    /// `Missing` when a commit is not on disk; `Malformed` when more than 10,000 paths differ.
    pub fn paths_changed(&self, from: &Sha, to: &Sha) -> Result<Vec<String>, GitError> {
        let (old, new) = (self.tree(from)?, self.tree(to)?);
        let diff = self.repo.diff_tree_to_tree(Some(&old), Some(&new), None).map_err(broken)?;
        if diff.deltas().len() > MAX_CHANGED {
            let why = format!("{} paths differ; {MAX_CHANGED} are the most that is compared", diff.deltas().len());
            return Err(GitError::malformed(format!("{} to {}", from.short(), to.short()), why));
        }
        let mut paths = BTreeSet::new();
        for delta in diff.deltas().filter(|delta| delta.status() != Delta::Unmodified) {
            for file in [delta.old_file(), delta.new_file()] {
                paths.extend(file.path_bytes().map(|path| String::from_utf8_lossy(path).into_owned()));
            }
        }
        Ok(paths.into_iter().collect())
    }

    pub(super) fn commit_at(&self, commit: &Sha) -> Result<Commit<'_>, GitError> {
        self.repo.find_commit(oid(commit)?).map_err(|error| {
            if error.code() != ErrorCode::NotFound {
                return broken(error);
            }
            let why = "it was not fetched, or the repository does not have it".to_string();
            GitError::Missing { what: format!("commit {commit}"), why }
        })
    }

    pub(super) fn tree(&self, commit: &Sha) -> Result<Tree<'_>, GitError> {
        self.commit_at(commit)?.tree().map_err(broken)
    }

    fn odb<T>(&self, work: impl FnOnce(&git2::Odb<'_>) -> Result<T, git2::Error>) -> Result<T, GitError> {
        self.repo.odb().and_then(|odb| work(&odb)).map_err(broken)
    }

    /// Object and kind behind a path. A symlink or submodule on the way is refused, not followed.
    fn find(&self, commit: &Sha, parts: &[&str]) -> Result<Option<(Oid, Kind)>, GitError> {
        let mut tree = self.tree(commit)?;
        for (index, part) in parts.iter().enumerate() {
            let Some((id, kind)) = tree.get_name(part).map(|entry| (entry.id(), Kind::of(entry.filemode()))) else {
                return Ok(None);
            };
            if index + 1 == parts.len() {
                return Ok(Some((id, kind)));
            }
            match kind {
                Kind::Folder => tree = self.repo.find_tree(id).map_err(broken)?,
                Kind::File | Kind::Executable => return Ok(None),
                Kind::Symlink | Kind::Submodule => {
                    let why = kind.objection().unwrap_or_default();
                    return Err(GitError::malformed(parts[..=index].join("/"), why));
                }
            }
        }
        Ok(None)
    }

    fn walk(&self, tree: &Tree<'_>, prefix: &str, depth: usize, found: &mut Vec<String>) -> Result<(), GitError> {
        if depth > MAX_DEPTH {
            return Err(GitError::malformed(prefix, format!("it is deeper than {MAX_DEPTH} folders")));
        }
        for entry in tree {
            // A name that is not UTF-8 cannot be asked for either.
            let Ok(name) = entry.name() else { continue };
            let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}/{name}") };
            match Kind::of(entry.filemode()) {
                Kind::Folder => {
                    let below = self.repo.find_tree(entry.id()).map_err(broken)?;
                    self.walk(&below, &path, depth + 1, found)?;
                }
                Kind::File | Kind::Executable => found.push(path),
                Kind::Symlink | Kind::Submodule => {}
            }
            if found.len() > MAX_LISTED {
                let why = format!("it holds more than {MAX_LISTED} files; name a smaller folder");
                return Err(GitError::malformed(if prefix.is_empty() { "the root folder" } else { prefix }, why));
            }
        }
        Ok(())
    }

    /// Walks back from `start` and takes out of `wanted` what it meets.
    fn lacking(&self, start: Oid, wanted: &mut BTreeSet<Oid>) -> Result<(), GitError> {
        if wanted.is_empty() {
            return Ok(());
        }
        let mut walk = self.repo.revwalk().map_err(broken)?;
        walk.push(start).map_err(broken)?;
        for id in walk {
            wanted.remove(&id.map_err(broken)?);
            if wanted.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// `unknown` is surely outside; one that stands before it may be outside too.
    fn first_outside(&self, start: Oid, commits: &[Sha], unknown: &Sha) -> Result<Option<Sha>, GitError> {
        let before: Vec<&Sha> = commits.iter().take_while(|commit| *commit != unknown).collect();
        let mut wanted = before.iter().map(|commit| oid(commit)).collect::<Result<BTreeSet<_>, _>>()?;
        self.lacking(start, &mut wanted)?;
        let first = before.into_iter().find(|commit| oid(commit).is_ok_and(|id| wanted.contains(&id)));
        Ok(Some(first.unwrap_or(unknown).clone()))
    }
}

/// The parts of a path, which must be plain: relative, no `..`, nothing that git keeps for itself.
pub(super) fn parts(path: &str) -> Result<Vec<&str>, GitError> {
    let parts: Vec<&str> = path.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && *part != "."
            && *part != ".."
            && !is_gits(part)
            && !part.contains(|c: char| c.is_control() || c == '\\')
    };
    if path.len() > 1024 || parts.len() > MAX_DEPTH || !parts.iter().all(plain) {
        let why = "this is no path of a repository; write it from the root, with `/`, without `.` and `..`";
        return Err(GitError::malformed(format!("`{}`", super::error::one_line(path, 200)), why));
    }
    Ok(parts)
}

/// Names that are `.git` to some file system: trailing dots and spaces go, so does what follows a `:`, and the short
/// name says the same.
fn is_gits(part: &str) -> bool {
    let name = part.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

pub(super) fn broken(error: git2::Error) -> GitError {
    let kind = if error.code() == ErrorCode::NotFound { " (an object is missing in the cache)" } else { "" };
    GitError::local("reading objects", format!("{}{kind}", error.message()))
}

/// Whether an id names a commit that is on disk.
pub(super) fn has_commit(store: &Store, id: Oid) -> bool {
    store.repo.find_object(id, Some(ObjectType::Commit)).is_ok()
}

#[cfg(test)]
mod tests;
