//! What is read of a repository.

use jiff::Timestamp;

/// Who a commit says it is by.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Shown name.
    pub name: String,
    /// Mail address; the hub's own noreply form.
    pub email: String,
}

/// One commit as `git log` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its object id.
    pub sha: String,
    /// Its tree.
    pub tree: String,
    /// Its parents.
    pub parents: Vec<String>,
    /// Author name, mail and time.
    pub author: (String, String, Timestamp),
    /// Committer name, mail and time.
    pub committer: (String, String, Timestamp),
    /// The whole message without the last line end.
    pub message: String,
}

/// One changed file between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `added`, `modified`, `removed` or `renamed`.
    pub status: &'static str,
    /// Its path after the change (before it, when removed).
    pub path: String,
    /// Lines added; 0 for binary files.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// `100644`, `120000`, `040000` ...
    pub mode: String,
    /// `blob`, `tree` or `commit`.
    pub kind: String,
    /// Its object id.
    pub sha: String,
    /// Bytes of a blob.
    pub size: Option<u64>,
    /// Path within the listed tree.
    pub path: String,
}
