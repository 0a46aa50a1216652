//! Building a commit in memory: no index, no checkout. Where it is pushed to is in `remote`.

use std::collections::BTreeMap;

use decide::Sha;
use git2::{Oid, Signature, Time, Tree};
use jiff::Timestamp;

use super::error::GitError;
use super::read::{Kind, parts};
use super::store::{Store, sha};

const MAX_FILES: usize = 10_000;
/// The largest file that is written; the ledger's pages are the large ones.
const MAX_WRITTEN: usize = 16 << 20;
const MAX_MESSAGE: usize = 64 << 10;

/// Who a commit says wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The name, such as `coldframe[bot]`.
    pub name: String,
    /// The address that the hub knows for it.
    pub email: String,
}

/// A path with its new content; none = the file is taken away.
pub type FileChange = (String, Option<Vec<u8>>);

/// A commit to be made. The same draft always makes the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Its parents; none = the first commit of a branch.
    pub parents: Vec<Sha>,
    /// The commit whose files it starts from; none = no files.
    pub tree_of: Option<Sha>,
    /// What changes. Modes of existing files are kept.
    pub files: Vec<FileChange>,
    /// The whole message.
    pub message: String,
    /// Author and committer.
    pub author: Author,
    /// When, in whole seconds, written in UTC.
    pub at: Timestamp,
}

/// Edits by name within one folder.
type Edits<'a> = BTreeMap<&'a str, Edit<'a>>;

enum Edit<'a> {
    File(Option<&'a [u8]>),
    Folder(Edits<'a>),
}

impl Store {
    /// Writes the commit to disk; no branch points to it yet.
    ///
    /// # Errors
    /// `Missing` when a parent or `tree_of` is not on disk; `Malformed` for a path that is none, is
    /// named twice, or is a symlink, submodule or folder; beyond 10,000 files or 16 MiB in one.
    pub fn commit(&self, draft: &Draft) -> Result<Sha, GitError> {
        if draft.message.trim().is_empty() || draft.message.len() > MAX_MESSAGE || draft.message.contains('\0') {
            let why = format!("a message has 1 to {MAX_MESSAGE} bytes and no NUL");
            return Err(GitError::malformed("the commit message", why));
        }
        let edits = sorted(&draft.files)?;
        let base = draft.tree_of.as_ref().map(|commit| self.tree(commit)).transpose()?;
        let tree = match self.edited(base.as_ref(), &edits, "")? {
            Some(tree) => tree,
            None => self.repo.treebuilder(None).and_then(|builder| builder.write()).map_err(unwritten)?,
        };
        let tree = self.repo.find_tree(tree).map_err(unwritten)?;
        let parents = draft.parents.iter().map(|parent| self.commit_at(parent)).collect::<Result<Vec<_>, _>>()?;
        let author = signature(&draft.author, draft.at)?;
        let id = self
            .repo
            .commit(None, &author, &author, &draft.message, &tree, &parents.iter().collect::<Vec<_>>())
            .map_err(unwritten)?;
        Ok(sha(id))
    }

    /// The tree with these edits; none when nothing is left in it.
    fn edited(&self, base: Option<&Tree<'_>>, edits: &Edits<'_>, prefix: &str) -> Result<Option<Oid>, GitError> {
        let mut builder = self.repo.treebuilder(base).map_err(unwritten)?;
        for (name, edit) in edits {
            let path = format!("{prefix}{name}");
            let present = builder.get(name).map_err(unwritten)?.map(|entry| (entry.id(), Kind::of(entry.filemode())));
            let target = match edit {
                Edit::Folder(below) => {
                    let base = self.folder(present, &path)?;
                    self.edited(base.as_ref(), below, &format!("{path}/"))?.map(|tree| (tree, 0o040_000))
                }
                Edit::File(content) => {
                    let mode = mode(present.map(|(_, kind)| kind), &path)?;
                    content
                        .map(|bytes| self.repo.blob(bytes).map(|blob| (blob, mode)))
                        .transpose()
                        .map_err(unwritten)?
                }
            };
            match target {
                Some((id, mode)) => {
                    builder.insert(name, id, mode).map_err(unwritten)?;
                }
                None if present.is_some() => builder.remove(name).map_err(unwritten)?,
                None => {}
            }
        }
        if builder.is_empty() { Ok(None) } else { builder.write().map(Some).map_err(unwritten) }
    }

    fn folder(&self, present: Option<(Oid, Kind)>, path: &str) -> Result<Option<Tree<'_>>, GitError> {
        match present {
            None => Ok(None),
            Some((id, Kind::Folder)) => self.repo.find_tree(id).map(Some).map_err(unwritten),
            Some((_, Kind::File | Kind::Executable)) => {
                Err(GitError::malformed(path, "is a file, so nothing can be written below it"))
            }
            Some((_, kind @ (Kind::Symlink | Kind::Submodule))) => {
                Err(GitError::malformed(path, kind.objection().unwrap_or_default()))
            }
        }
    }
}

/// The mode that a file keeps; a new one is an ordinary file.
fn mode(present: Option<Kind>, path: &str) -> Result<i32, GitError> {
    match present {
        None | Some(Kind::File) => Ok(0o100_644),
        Some(Kind::Executable) => Ok(0o100_755),
        Some(kind @ (Kind::Folder | Kind::Symlink | Kind::Submodule)) => {
            Err(GitError::malformed(path, kind.objection().unwrap_or_default()))
        }
    }
}

fn sorted(files: &[FileChange]) -> Result<Edits<'_>, GitError> {
    if files.len() > MAX_FILES {
        let why = format!("it changes {} files; {MAX_FILES} are the most", files.len());
        return Err(GitError::malformed("the commit", why));
    }
    let mut root = Edits::new();
    for (path, content) in files {
        if content.as_ref().is_some_and(|bytes| bytes.len() > MAX_WRITTEN) {
            return Err(GitError::malformed(path, format!("more than {} MiB are not written", MAX_WRITTEN >> 20)));
        }
        let parts = parts(path)?;
        let Some((name, folders)) = parts.split_last() else { continue };
        let twice = || GitError::malformed(path, "is named twice in one commit, or is a file and a folder at once");
        let mut here = &mut root;
        for folder in folders {
            let next = here.entry(*folder).or_insert_with(|| Edit::Folder(Edits::new()));
            let Edit::Folder(below) = next else { return Err(twice()) };
            here = below;
        }
        if here.insert(*name, Edit::File(content.as_deref())).is_some() {
            return Err(twice());
        }
    }
    Ok(root)
}

fn signature(author: &Author, at: Timestamp) -> Result<Signature<'static>, GitError> {
    let bad = |text: &str| text.trim().is_empty() || text.contains(['<', '>', '\n', '\0']);
    if bad(&author.name) || bad(&author.email) {
        let why = "name and address of the author must not be empty or hold `<`, `>` or line ends";
        return Err(GitError::malformed(format!("author `{} <{}>`", author.name, author.email), why));
    }
    Signature::new(&author.name, &author.email, &Time::new(at.as_second(), 0)).map_err(unwritten)
}

fn unwritten(error: git2::Error) -> GitError {
    GitError::local("writing a commit", error.message())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::git::Pushed;
    use crate::git::testing::{Server, store};

    fn draft(base: Option<&Sha>, files: &[(&str, Option<&str>)]) -> Draft {
        let file = |(path, text): &(&str, Option<&str>)| (path.to_string(), text.map(|text| text.as_bytes().to_vec()));
        Draft {
            parents: base.into_iter().cloned().collect(),
            tree_of: base.cloned(),
            files: files.iter().map(file).collect(),
            message: "words\n".to_string(),
            author: Author { name: "bot".to_string(), email: "bot@example.org".to_string() },
            at: Timestamp::from_second(1_760_000_000).unwrap(),
        }
    }

    #[test]
    fn modes_stay_and_what_is_no_file_is_refused() {
        let server = Server::start();
        server.commit_with("main", |work| {
            fs::create_dir_all(work.join("deep/er")).unwrap();
            fs::write(work.join("run.sh"), "old").unwrap();
            fs::set_permissions(work.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(work.join("deep/er/one"), "old").unwrap();
            fs::write(work.join("gone"), "old").unwrap();
            symlink("run.sh", work.join("link")).unwrap();
            symlink("deep", work.join("way")).unwrap();
        });
        let (_folder, store) = store();
        let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
        let edits: &[(&str, Option<&str>)] = &[
            ("run.sh", Some("new")),
            ("deep/er/one", None),
            ("gone", None),
            ("never/was", None),
            ("x/y/z", Some("new")),
            ("x/y.z", Some("new")),
        ];
        let commit = store.commit(&draft(Some(&base), edits)).unwrap();
        assert_eq!(store.push(&server.access(), "topic", &commit, None).unwrap(), Pushed::Done);
        let tree = server.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "topic"]);
        assert_eq!(tree, "120000 link\n100755 run.sh\n120000 way\n100644 x/y.z\n100644 x/y/z\n");
        assert!(!server.git(&["ls-tree", "topic"]).contains("deep"), "an empty folder is no folder");
        server.git(&["fsck", "--strict"]);

        let refused: &[(&str, &str)] = &[
            ("link", "is a symlink"),
            ("way/er/one", "is a symlink"),
            ("deep", "is a folder"),
            ("run.sh/below", "is a file"),
            ("a/../b", "no path"),
            (".git/config", "no path"),
        ];
        for (path, why) in refused {
            for content in [Some("x"), None] {
                let error = store.commit(&draft(Some(&base), &[(path, content)])).unwrap_err();
                assert!(error.to_string().contains(why), "{path}: {error}");
            }
        }
        for twice in [["a", "a"], ["a", "a/b"], ["a/b", "a"]] {
            let error = store.commit(&draft(Some(&base), &twice.map(|path| (path, Some("x"))))).unwrap_err();
            assert!(error.to_string().contains("named twice"), "{twice:?}: {error}");
        }
        let absent = Sha::new("1".repeat(40));
        assert!(matches!(store.commit(&draft(Some(&absent), &[])), Err(GitError::Missing { .. })));
    }

    #[test]
    fn a_first_commit_and_an_emptied_tree() {
        let (_folder, store) = store();
        let first = store.commit(&draft(None, &[("a", Some("1"))])).unwrap();
        assert_eq!(store.list(&first, "").unwrap(), ["a"]);
        let second = store.commit(&draft(Some(&first), &[("a", None)])).unwrap();
        assert_eq!(store.list(&second, "").unwrap(), [""; 0]);
        assert!(store.contains(&second, &first).unwrap());
        let mut other = draft(None, &[("a", Some("1"))]);
        other.author.name = "Eve <eve@example.org>\nx".to_string();
        assert!(store.commit(&other).is_err());
        other = draft(None, &[]);
        other.message = " \n".to_string();
        assert!(store.commit(&other).is_err());
    }
}
