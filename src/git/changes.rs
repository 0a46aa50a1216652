//! What a commit changes, as the pieces of a diff without context, equal ones counted. Nobody reads 1,500 files; that
//! all of them change in one way can be read, and checked. How it is told is in `tell/changes`.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Context, SHA256};
use decide::Sha;
use git2::{Delta, DiffOptions, Patch};

use super::error::GitError;
use super::read::{MAX_CHANGED, broken};
use super::store::Store;

/// So much of a piece is kept to be shown, in bytes.
const SHOWN: usize = 4 << 10;

/// What a commit changes against its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The commit.
    pub commit: Sha,
    /// Its parent.
    pub base: Sha,
    /// How many files differ.
    pub files: usize,
    /// The distinct hunks, those that occur most often first, then in the order of their lines.
    pub hunks: Vec<Hunk>,
    /// Files that differ in something else than lines of text: a mode, bytes that are no text. In order.
    pub others: Vec<String>,
}

/// Removed lines and the added ones that take their place, as `git diff -U0` puts them between two `@@`: each with
/// its `-` or `+` and a line feed at its end. File, line number and context are no part of it, white space is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Its lines, at most the first 4 KiB of them.
    pub lines: Vec<u8>,
    /// Whether those are all.
    pub whole: bool,
    /// The SHA-256 of all of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// The file of each of its occurrences, in order.
    pub files: Vec<String>,
}

impl Changes {
    /// How many hunks there are, equal ones counted each.
    pub fn count(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.files.len()).sum()
    }
}

impl Store {
    /// What a commit changes against its only parent.
    ///
    /// # Errors
    /// `Missing` when it or its parent is not on disk; `Malformed` when it has no parent or several, or changes more
    /// than 10,000 files.
    pub fn changes(&self, commit: &Sha) -> Result<Changes, GitError> {
        let Some(base) = self.parent(commit)? else {
            return Err(GitError::malformed(format!("commit {}", commit.short()), "it has not exactly one parent"));
        };
        let (old, new) = (self.tree(&base)?, self.tree(commit)?);
        let mut options = DiffOptions::new();
        // As git does it by default.
        options.context_lines(0).interhunk_lines(0).indent_heuristic(true);
        let diff = self.repo.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options)).map_err(broken)?;
        let files = diff.deltas().len();
        if files > MAX_CHANGED {
            let why = format!("it changes {files} files; {MAX_CHANGED} are the most that is compared");
            return Err(GitError::malformed(format!("commit {}", commit.short()), why));
        }
        let (mut hunks, mut others) = (BTreeMap::new(), Vec::new());
        for (index, delta) in diff.deltas().enumerate() {
            let path = delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default();
            let path = String::from_utf8_lossy(path).into_owned();
            let patch = Patch::from_diff(&diff, index).map_err(broken)?;
            let found = patch.as_ref().map_or(0, Patch::num_hunks);
            let mode = delta.status() == Delta::Modified && delta.old_file().mode() != delta.new_file().mode();
            if let Some(patch) = patch {
                collect(&patch, &path, &mut hunks)?;
            }
            if found == 0 || mode {
                others.push(path);
            }
        }
        let mut hunks: Vec<Hunk> = hunks.into_values().collect();
        hunks.sort_by(|a, b| (b.files.len(), &a.lines, &a.sha256).cmp(&(a.files.len(), &b.lines, &b.sha256)));
        Ok(Changes { commit: commit.clone(), base, files, hunks, others })
    }
}

/// Adds the hunks of one file.
fn collect(patch: &Patch<'_>, path: &str, hunks: &mut BTreeMap<String, Hunk>) -> Result<(), GitError> {
    for index in 0..patch.num_hunks() {
        let (mut sum, mut lines, mut length) = (Context::new(&SHA256), Vec::new(), 0);
        for line in 0..patch.num_lines_in_hunk(index).map_err(broken)? {
            let line = patch.line_in_hunk(index, line).map_err(broken)?;
            let mark = match line.origin() {
                '-' => b"-",
                '+' => b"+",
                _ => continue, // what git says of a missing line feed
            };
            let content = line.content().strip_suffix(b"\n").unwrap_or(line.content());
            for part in [mark.as_slice(), content, b"\n"] {
                sum.update(part);
                length += part.len();
                let room = SHOWN.saturating_sub(lines.len()).min(part.len());
                lines.extend_from_slice(part.get(..room).unwrap_or_default());
            }
        }
        let sha256: String = sum.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let whole = lines.len() == length;
        let hunk = hunks.entry(sha256.clone()).or_insert(Hunk { lines, whole, sha256, files: Vec::new() });
        hunk.files.push(path.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
