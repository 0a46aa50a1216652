//! A commit as it says itself. The library shows no parents where a shallow fetch ended; the object has them.

use decide::Sha;

use super::error::GitError;
use super::store::Store;
use super::write::Author;

/// What a commit object holds, but for its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// The id of its tree.
    pub tree: String,
    /// Its parents.
    pub parents: Vec<Sha>,
    /// Who wrote it, it says.
    pub author: Author,
    /// Who committed it, it says.
    pub committer: Author,
    /// Its message; bytes that are not UTF-8 are replaced.
    pub message: String,
}

impl Store {
    /// A commit as it says itself.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk.
    pub fn raw(&self, commit: &Sha) -> Result<Raw, GitError> {
        let found = self.commit_at(commit)?;
        let of = |signature: git2::Signature<'_>| Author {
            name: String::from_utf8_lossy(signature.name_bytes()).into_owned(),
            email: String::from_utf8_lossy(signature.email_bytes()).into_owned(),
        };
        Ok(Raw {
            tree: found.tree_id().to_string(),
            parents: self.parents(commit)?,
            author: of(found.author()),
            committer: of(found.committer()),
            message: String::from_utf8_lossy(found.message_raw_bytes()).into_owned(),
        })
    }

    /// The parents of a commit.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk.
    pub fn parents(&self, commit: &Sha) -> Result<Vec<Sha>, GitError> {
        let found = self.commit_at(commit)?;
        let header = found.raw_header_bytes().split(|byte| *byte == b'\n');
        let parents = header.filter_map(|line| line.strip_prefix(b"parent "));
        Ok(parents.map(|id| Sha::new(String::from_utf8_lossy(id))).collect())
    }

    /// The only parent of a commit; none where it has none or several.
    ///
    /// # Errors
    /// `Missing` when the commit is not on disk.
    pub fn parent(&self, commit: &Sha) -> Result<Option<Sha>, GitError> {
        let parents = self.parents(commit)?;
        Ok(if let [only] = parents.as_slice() { Some(only.clone()) } else { None })
    }
}
