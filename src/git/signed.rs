//! What the hub needs to make the same commit, and that commit as it comes back with a signature. Commits of our own are
//! in `write`.

use std::path::Path;

use decide::Sha;
use git2::{ObjectType, Oid};

use super::error::GitError;
use super::objects::unwritten;
use super::read::broken;
use super::store::Store;
use super::write::Draft;

/// The tree of a draft, and how it differs from the one that it starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeDraft {
    /// The id of the tree that it starts from.
    pub base: String,
    /// Its own id.
    pub tree: String,
    /// Path, whether it is a program, and its text; none = it is taken away.
    pub files: Vec<(String, bool, Option<String>)>,
}

impl Store {
    /// The tree that a draft comes to.
    ///
    /// # Errors
    /// As [`Store::commit`]; `Malformed` where a file is not UTF-8, which the hub does not take beside text.
    pub fn tree_draft(&self, draft: &Draft) -> Result<TreeDraft, GitError> {
        let (from, tree) = (draft.tree_of.as_ref(), self.tree_with(draft.tree_of.as_ref(), &draft.files)?);
        let made = self.repo.find_tree(tree).map_err(broken)?;
        let mut files = Vec::with_capacity(draft.files.len());
        for (path, content) in &draft.files {
            let text = content.as_ref().map(|bytes| String::from_utf8(bytes.clone())).transpose();
            let text =
                text.map_err(|_| GitError::malformed(path, "is not UTF-8, and a signed commit takes text only"))?;
            let mode = made.get_path(Path::new(path)).ok().map(|entry| entry.filemode());
            files.push((path.clone(), mode == Some(0o100_755), text));
        }
        let base = from.map(|commit| self.tree(commit)).transpose()?.map(|tree| tree.id().to_string());
        Ok(TreeDraft { base: base.unwrap_or_default(), tree: tree.to_string(), files })
    }

    /// Puts that one of these commit objects on disk which has the id; whether there is one.
    ///
    /// # Errors
    /// It could not be written.
    pub fn adopt(&self, id: &Sha, objects: &[String]) -> Result<bool, GitError> {
        let is = |object: &&String| {
            Oid::hash_object(ObjectType::Commit, object.as_bytes()).is_ok_and(|found| found.to_string() == id.as_str())
        };
        let Some(object) = objects.iter().find(is) else { return Ok(false) };
        let odb = self.repo.odb().map_err(unwritten)?;
        odb.write(ObjectType::Commit, object.as_bytes()).map_err(unwritten)?;
        Ok(true)
    }
}
