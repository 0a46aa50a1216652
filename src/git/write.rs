//! Building a commit in memory: no index, no checkout. Where it is pushed to is in `remote`.

use std::collections::{BTreeMap, BTreeSet};

use decide::Sha;
use git2::{ObjectType, Oid, Signature, Time, Tree, TreeEntry};
use jiff::Timestamp;

use super::error::GitError;
use super::objects::{Objects, unwritten};
use super::read::{Kind, broken, parts};
use super::store::{Store, sha};
use super::tree::{self, Entry};

const MAX_FILES: usize = 10_000;
/// The largest file that is written; the ledger's pages are the large ones.
const MAX_WRITTEN: usize = 16 << 20;
const MAX_MESSAGE: usize = 64 << 10;

/// Who a commit says wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        self.commit_with(draft, |_| draft.message.clone())
    }

    /// The same with a message that also says something about the tree, given by its id.
    ///
    /// # Errors
    /// As `commit`.
    pub fn commit_with(&self, draft: &Draft, message: impl FnOnce(&str) -> String) -> Result<Sha, GitError> {
        if draft.message.trim().is_empty() || draft.message.len() > MAX_MESSAGE || draft.message.contains('\0') {
            let why = format!("a message has 1 to {MAX_MESSAGE} bytes and no NUL");
            return Err(GitError::malformed("the commit message", why));
        }
        let tree = self.tree_with(draft.tree_of.as_ref(), &draft.files)?;
        let message = message(&tree.to_string());
        let tree = self.repo.find_tree(tree).map_err(unwritten)?;
        let parents = draft.parents.iter().map(|parent| self.commit_at(parent)).collect::<Result<Vec<_>, _>>()?;
        let author = signature(&draft.author, draft.at)?;
        let id = self
            .repo
            .commit(None, &author, &author, &message, &tree, &parents.iter().collect::<Vec<_>>())
            .map_err(unwritten)?;
        Ok(sha(id))
    }

    /// The id of the tree of a commit with these changes; it is on disk then.
    pub(super) fn tree_with(&self, commit: Option<&Sha>, files: &[FileChange]) -> Result<Oid, GitError> {
        let edits = sorted(files)?;
        let base = commit.map(|commit| self.tree(commit)).transpose()?;
        let mut objects = Objects::new(self, files.len());
        let tree = match self.edited(base.as_ref(), &edits, "", &mut objects)? {
            Some(tree) => tree,
            None => objects.add(ObjectType::Tree, &[])?,
        };
        objects.finish()?;
        Ok(tree)
    }

    /// The tree with these edits; none when nothing is left in it.
    fn edited(
        &self,
        base: Option<&Tree<'_>>,
        edits: &Edits<'_>,
        prefix: &str,
        objects: &mut Objects<'_>,
    ) -> Result<Option<Oid>, GitError> {
        let there: Vec<TreeEntry<'_>> = base.into_iter().flat_map(Tree::iter).collect();
        let mut kept = Vec::with_capacity(there.len() + edits.len());
        let mut done = BTreeSet::new();
        for entry in &there {
            let (name, present) = (entry.name_bytes(), (entry.id(), Kind::of(entry.filemode())));
            let target = match std::str::from_utf8(name).ok().and_then(|name| edits.get_key_value(name)) {
                None => Some((entry.filemode(), entry.id())),
                Some((name, edit)) => {
                    done.insert(*name);
                    self.target(Some(present), edit, &format!("{prefix}{name}"), objects)?
                }
            };
            kept.extend(target.map(|(mode, id)| Entry { mode, name, id }));
        }
        for (name, edit) in edits.iter().filter(|(name, _)| !done.contains(*name)) {
            if let Some((mode, id)) = self.target(None, edit, &format!("{prefix}{name}"), objects)? {
                kept.push(Entry { mode, name: name.as_bytes(), id });
            }
        }
        if kept.is_empty() { Ok(None) } else { objects.add(ObjectType::Tree, &tree::tree(kept)).map(Some) }
    }

    /// What an edit makes of what is present under a name; none = nothing is left.
    fn target(
        &self,
        present: Option<(Oid, Kind)>,
        edit: &Edit<'_>,
        path: &str,
        objects: &mut Objects<'_>,
    ) -> Result<Option<(i32, Oid)>, GitError> {
        match edit {
            Edit::Folder(below) => {
                let base = folder(present, path)?.map(|id| self.repo.find_tree(id)).transpose().map_err(broken)?;
                let tree = self.edited(base.as_ref(), below, &format!("{path}/"), objects)?;
                Ok(tree.map(|tree| (tree::FOLDER, tree)))
            }
            Edit::File(content) => {
                let mode = mode(present.map(|(_, kind)| kind), path)?;
                let blob = content.map(|bytes| objects.add(ObjectType::Blob, bytes)).transpose()?;
                Ok(blob.map(|blob| (mode, blob)))
            }
        }
    }
}

/// The folder that an edit goes into; none where it is new.
fn folder(present: Option<(Oid, Kind)>, path: &str) -> Result<Option<Oid>, GitError> {
    match present {
        None => Ok(None),
        Some((id, Kind::Folder)) => Ok(Some(id)),
        Some((_, Kind::File | Kind::Executable)) => {
            Err(GitError::malformed(path, "is a file, so nothing can be written below it"))
        }
        Some((_, kind @ (Kind::Symlink | Kind::Submodule))) => {
            Err(GitError::malformed(path, kind.objection().unwrap_or_default()))
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

    /// However many files change at once, the tree is the same, and git finds nothing wrong with it.
    #[test]
    fn many_files_are_written_as_packs() {
        let server = Server::start();
        server.commit("main", &[("clusters/eu-0/a.yaml", "old"), ("clusters/eu-0.x", "stays"), ("z", "stays")]);
        let (folder, store) = store();
        let base = store.fetch(&server.access(), "main", Some(1)).unwrap().unwrap();
        let (mut number, mut texts) = (1_u64, Vec::new());
        for file in 0..150 {
            // Text that no compression makes small.
            let noise = std::iter::repeat_with(|| {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                format!("{number:016x}")
            });
            let text = if file % 3 == 0 { "equal\n".to_string() } else { noise.take(150).collect() };
            texts.push((format!("clusters/eu-{file}/a.yaml"), text));
        }
        let edits: Vec<(&str, Option<&str>)> =
            texts.iter().map(|(path, text)| (path.as_str(), Some(text.as_str()))).collect();
        let objects = |sub: &str| fs::read_dir(folder.path().join("objects").join(sub)).map_or(0, Iterator::count);
        let packs = objects("pack");
        let at_once = store.commit(&draft(Some(&base), &edits)).unwrap();
        assert!(objects("pack") >= packs + 4, "two packs with their indexes, not {}", objects("pack") - packs);
        let loose: usize = (0..256).map(|byte| objects(&format!("{byte:02x}"))).sum();
        assert_eq!(loose, 1, "the commit itself");
        assert_eq!(store.commit(&draft(Some(&base), &edits)).unwrap(), at_once, "the same draft, the same commit");
        assert_eq!(store.push(&server.access(), "topic", &at_once, None).unwrap(), Pushed::Done);
        server.git(&["fsck", "--strict"]);

        let mut by_steps = base.clone();
        for step in edits.chunks(40) {
            by_steps = store.commit(&draft(Some(&by_steps), step)).unwrap();
        }
        assert_eq!(store.push(&server.access(), "steps", &by_steps, None).unwrap(), Pushed::Done);
        let tree = |branch: &str| server.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
        assert_eq!(tree("topic"), tree("steps"));
        let gone: Vec<(&str, Option<&str>)> = edits.iter().map(|(path, _)| (*path, None)).collect();
        let gone = store.commit(&draft(Some(&at_once), &gone)).unwrap();
        assert_eq!(store.list(&gone, "").unwrap(), ["clusters/eu-0.x", "z"]);
    }
}
