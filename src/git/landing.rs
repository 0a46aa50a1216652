//! What came to a branch since a merge was asked for: whether one commit brought what the head changes, and nothing
//! else. Whether that stops anything is decided in `decide::proof`.

use std::collections::BTreeMap;

use decide::Sha;
use decide::snapshot::Landing;
use git2::{FileMode, IndexEntry, IndexTime, MergeFileOptions, Oid};

use super::error::{GitError, one_line};
use super::read::{MAX_CHANGED, broken};
use super::remote::Access;
use super::store::Store;
use super::write::FileChange;

/// Commits that are looked at one by one; where more have come, the one that the hub names is.
const MOST_COMMITS: usize = 128;
/// Paths that a sentence names.
const NAMED: usize = 3;

/// A file on one side of a change: its mode and its content; none = it is not there.
type Side = Option<(u32, Oid)>;
/// What a commit changes, by path: before and after.
type Changed = BTreeMap<Vec<u8>, (Side, Side)>;

/// What came to a branch since it was somewhere.
enum Since {
    /// Each commit after its first parent.
    These(Vec<(Sha, Sha)>),
    /// More than are looked at.
    TooMany,
    /// It was never there, or its history was rewritten.
    Never,
}

/// A merge that was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The head that was to be merged; one commit.
    pub head: Sha,
    /// Where the branch was.
    pub before: Sha,
    /// The commit that the hub names as its merge, when it does.
    pub named: Option<Sha>,
}

impl Store {
    /// Whether the tree of `commit` is that of `base` with these changes and no others.
    ///
    /// # Errors
    /// `Missing` when a commit is not on disk; `Malformed` when the changes cannot be made.
    pub fn is_made_of(&self, commit: &Sha, base: &Sha, files: &[FileChange]) -> Result<bool, GitError> {
        Ok(self.tree_with(Some(base), files)? == self.tree(commit)?.id())
    }

    /// Whether a commit changes what an earlier one changes, both with one parent, though other lines of the same files
    /// may have changed between them. What the hub does not give any more repeats nothing.
    ///
    /// # Errors
    /// As `fetch_commit`.
    pub fn repeats(&self, access: &Access, earlier: &Sha, commit: &Sha) -> Result<bool, GitError> {
        if !self.fetch_commit(access, earlier)? {
            return Ok(false);
        }
        let parents = (self.only_parent(access, earlier)?, self.only_parent(access, commit)?);
        let (Some(before), Some(parent)) = parents else { return Ok(false) };
        let (planned, now) = (self.changed(&before, earlier)?, self.changed(&parent, commit)?);
        self.is_same(&planned, &now)
    }

    /// What came to a branch that is at `tip` now. Commits that are not here are fetched.
    ///
    /// # Errors
    /// As `fetch_commit`; or the head has not exactly one parent.
    pub fn landing(&self, access: &Access, asked: &Asked, tip: &Sha) -> Result<Landing, GitError> {
        let Some(parent) = self.only_parent(access, &asked.head)? else {
            let what = format!("commit {}", asked.head.short());
            return Err(GitError::malformed(what, "it has not exactly one parent"));
        };
        let planned = self.changed(&parent, &asked.head)?;
        let came = match self.since(access, &asked.before, tip)? {
            Since::These(came) => came,
            Since::TooMany => self.named(access, asked)?,
            Since::Never => {
                let why = format!("{} is not in the history of the base branch any more", asked.before.short());
                return Ok(Landing::Wrong { why });
            }
        };
        for (before, commit) in came.iter().rev() {
            let changed = self.changed(before, commit)?;
            if self.is_same(&planned, &changed)? {
                return Ok(Landing::Proven { commit: commit.clone() });
            }
            let merges = self.parents(commit)?.iter().skip(1).any(|parent| *parent == asked.head);
            if merges || asked.named.as_ref() == Some(commit) {
                return Ok(Landing::Wrong { why: differs(commit, &planned, &changed) });
            }
        }
        Ok(Landing::Absent)
    }

    fn only_parent(&self, access: &Access, commit: &Sha) -> Result<Option<Sha>, GitError> {
        self.bring(access, commit)?;
        let parent = self.parent(commit)?;
        if let Some(parent) = &parent {
            self.bring(access, parent)?;
        }
        Ok(parent)
    }

    fn bring(&self, access: &Access, commit: &Sha) -> Result<(), GitError> {
        if self.fetch_commit(access, commit)? {
            return Ok(());
        }
        let why = "the hub does not give it".to_string();
        Err(GitError::Missing { what: format!("commit {commit}"), why })
    }

    /// The commits from `tip` back to `before`, each after its first parent, the newest first.
    fn since(&self, access: &Access, before: &Sha, tip: &Sha) -> Result<Since, GitError> {
        self.bring(access, before)?;
        let (mut came, mut at) = (Vec::new(), tip.clone());
        while at != *before {
            self.bring(access, &at)?;
            if came.len() >= MOST_COMMITS {
                return Ok(Since::TooMany);
            }
            let Some(first) = self.parents(&at)?.into_iter().next() else { return Ok(Since::Never) };
            self.bring(access, &first)?;
            came.push((first.clone(), std::mem::replace(&mut at, first)));
        }
        Ok(Since::These(came))
    }

    /// The commit that the hub names, after its first parent.
    fn named(&self, access: &Access, asked: &Asked) -> Result<Vec<(Sha, Sha)>, GitError> {
        let Some(named) = &asked.named else { return Ok(Vec::new()) };
        self.bring(access, named)?;
        let Some(first) = self.parents(named)?.into_iter().next() else { return Ok(Vec::new()) };
        self.bring(access, &first)?;
        Ok(vec![(first, named.clone())])
    }

    fn changed(&self, from: &Sha, to: &Sha) -> Result<Changed, GitError> {
        let (old, new) = (self.tree(from)?, self.tree(to)?);
        let diff = self.repo.diff_tree_to_tree(Some(&old), Some(&new), None).map_err(broken)?;
        if diff.deltas().len() > MAX_CHANGED {
            let why = format!("{} paths differ; {MAX_CHANGED} are the most that is compared", diff.deltas().len());
            return Err(GitError::malformed(format!("{} to {}", from.short(), to.short()), why));
        }
        let side = |file: git2::DiffFile<'_>| match file.mode() {
            FileMode::Unreadable => None,
            mode @ (FileMode::Tree
            | FileMode::Blob
            | FileMode::BlobGroupWritable
            | FileMode::BlobExecutable
            | FileMode::Link
            | FileMode::Commit) => Some((u32::from(mode), file.id())),
        };
        let path = |delta: &git2::DiffDelta<'_>| {
            delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default().to_vec()
        };
        Ok(diff.deltas().map(|delta| (path(&delta), (side(delta.old_file()), side(delta.new_file())))).collect())
    }

    /// Whether two commits change the same, though other lines of the same files may have changed between them.
    fn is_same(&self, planned: &Changed, came: &Changed) -> Result<bool, GitError> {
        if !planned.keys().eq(came.keys()) {
            return Ok(false);
        }
        for ((path, planned), came) in planned.iter().zip(came.values()) {
            let merged = if planned.0 == came.0 { planned.1 } else { self.merged(path, *planned, came.0)? };
            if merged != came.1 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a change makes of a file that has changed otherwise meanwhile; none where the two do not go together.
    fn merged(&self, path: &[u8], (old, new): (Side, Side), ours: Side) -> Result<Side, GitError> {
        let (Some(old), Some(new), Some(ours)) = (old, new, ours) else { return Ok(None) };
        let entry = |(mode, id): (u32, Oid)| IndexEntry {
            ctime: IndexTime::new(0, 0),
            mtime: IndexTime::new(0, 0),
            dev: 0,
            ino: 0,
            mode,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path: path.to_vec(),
        };
        let mut options = MergeFileOptions::new();
        let merged = self
            .repo
            .merge_file_from_index(&entry(old), &entry(ours), &entry(new), Some(&mut options))
            .map_err(broken)?;
        if !merged.is_automergeable() {
            return Ok(None);
        }
        let id = Oid::hash_object(git2::ObjectType::Blob, merged.content()).map_err(broken)?;
        Ok(Some((merged.mode(), id)))
    }
}

/// What is wrong with what came, in words.
fn differs(commit: &Sha, planned: &Changed, came: &Changed) -> String {
    let name = |path: &Vec<u8>| one_line(&String::from_utf8_lossy(path), 100);
    let some = |paths: Vec<&Vec<u8>>| {
        let mut names: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{}`", name(path))).collect();
        if paths.len() > NAMED {
            names.push(format!("{} more", paths.len() - NAMED));
        }
        names.join(", ")
    };
    let more: Vec<_> = came.keys().filter(|path| !planned.contains_key(*path)).collect();
    let less: Vec<_> = planned.keys().filter(|path| !came.contains_key(*path)).collect();
    let what = match (more.is_empty(), less.is_empty()) {
        (false, _) => format!("it also changes {}", some(more)),
        (true, false) => format!("it does not change {}", some(less)),
        (true, true) => format!("it changes {} otherwise than planned", some(planned.keys().collect())),
    };
    format!("the merge commit {}: {what}", commit.short())
}

#[cfg(test)]
mod tests;
