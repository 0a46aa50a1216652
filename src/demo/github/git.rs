//! Runs the real `git` on the bare repositories of this world. Nothing here knows of pull requests.

mod objects;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use anyhow::{Context as _, bail};
use jiff::Timestamp;

use crate::loopback::locked;

pub use objects::{Change, Commit, Signature, TreeEntry};

/// The object id that stands for "nothing" where refs are created or deleted.
pub const ZERO: &str = "0000000000000000000000000000000000000000";

/// One bare repository on disk.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    /// Files that were read, by `commit:path`: a commit does not change. None = it has no such file.
    known: Arc<Mutex<BTreeMap<String, Option<Vec<u8>>>>>,
}

/// With so many files, what was read is forgotten.
const MOST_KNOWN: usize = 5_000;

/// git with a quiet environment: no configuration of this machine reaches it.
pub fn command(dir: &Path) -> Command {
    let mut command = Command::new(program());
    command.env_clear();
    for name in ["PATH", "TMPDIR", "SYSTEMROOT"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .current_dir(dir)
        .env("HOME", dir)
        .env("GIT_DIR", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    command
}

/// Where git is. A program that is named by its path is spawned without a copy of this process's page tables; one that
/// is still to be found in a `PATH` of its own is forked, which costs a large process more than all that git does.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let named = |folder: PathBuf| folder.join(format!("git{}", std::env::consts::EXE_SUFFIX));
        std::env::split_paths(&path)
            .map(named)
            .find(|file| file.is_absolute() && file.is_file())
            .unwrap_or_else(|| PathBuf::from("git"))
    })
}

impl Git {
    /// Creates an empty bare repository whose HEAD is `branch`, served with the hub's own settings:
    /// any commit may be fetched by id, and nobody pushes to `refs/pull`.
    pub fn create(dir: &Path, branch: &str, hook: &str) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        let git = Self { dir: dir.to_path_buf(), known: Arc::default() };
        git.run(&["init", "--quiet", "--bare", "--template=", "--initial-branch", branch, "."])?;
        for (key, value) in [
            ("http.receivepack", "true"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("uploadpack.allowFilter", "true"),
            ("receive.hideRefs", "refs/pull"),
            ("receive.fsckObjects", "true"),
            ("gc.auto", "0"),
            ("core.logAllRefUpdates", "false"),
        ] {
            git.run(&["config", key, value])?;
        }
        let hooks = dir.join("hooks");
        std::fs::create_dir_all(&hooks)?;
        let path = hooks.join("update");
        std::fs::write(&path, hook)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(git)
    }

    fn output(&self, arguments: &[&str], stdin: &[u8], environment: &[(&str, String)]) -> anyhow::Result<Output> {
        let mut child = command(&self.dir)
            .args(arguments)
            .envs(environment.iter().map(|(key, value)| (*key, value.as_str())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("start git: is it installed?")?;
        // The input is small (a path list, one file, a message): it fits before git answers.
        if let Some(mut pipe) = child.stdin.take()
            && !stdin.is_empty()
        {
            pipe.write_all(stdin)?;
        }
        Ok(child.wait_with_output()?)
    }

    /// Runs git and gives what it printed, without the last line end.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.run_with(arguments, &[], &[])
    }

    fn run_with(&self, arguments: &[&str], stdin: &[u8], environment: &[(&str, String)]) -> anyhow::Result<String> {
        let output = self.output(arguments, stdin, environment)?;
        if !output.status.success() {
            bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    }

    /// The commit that a name stands for; none when there is no such commit.
    pub fn commit_id(&self, name: &str) -> Option<String> {
        if name.starts_with('-') {
            return None;
        }
        self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]).ok()
    }

    /// Type and id of any object name such as `main:README.md`.
    pub fn object(&self, name: &str) -> Option<(String, String)> {
        let id = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", name]).ok()?;
        let kind = self.run(&["cat-file", "-t", &id]).ok()?;
        Some((kind, id))
    }

    /// All refs under `refs/heads` and `refs/tags` with their objects.
    pub fn refs(&self) -> anyhow::Result<Vec<(String, String)>> {
        let text = self.run(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"])?;
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect())
    }

    /// Moves a ref if it still is `old` (`ZERO` = must not exist).
    pub fn update_ref(&self, name: &str, new: &str, old: &str) -> anyhow::Result<()> {
        if new == ZERO {
            self.run(&["update-ref", "-d", name, old])?;
        } else {
            self.run(&["update-ref", name, new, old])?;
        }
        Ok(())
    }

    /// Bytes of a file at a commit; none when it is not there.
    pub fn file(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let name = format!("{commit}:{path}");
        if commit.len() != ZERO.len() {
            return self.blob(&name);
        }
        if let Some(known) = locked(&self.known).get(&name) {
            return known.clone();
        }
        let found = self.blob(&name);
        // What is not there may come with its commit.
        if found.is_some() || self.object(commit).is_some() {
            let mut known = locked(&self.known);
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(name, found.clone());
        }
        found
    }

    /// Bytes of a blob by any name; none when it is no blob.
    pub fn blob(&self, name: &str) -> Option<Vec<u8>> {
        let output = self.output(&["cat-file", "blob", name], &[], &[]).ok()?;
        output.status.success().then_some(output.stdout)
    }

    /// Mode, kind, id, size and name of what a tree holds.
    pub fn tree(&self, name: &str, recursive: bool) -> anyhow::Result<Vec<TreeEntry>> {
        let mut arguments = vec!["ls-tree", "-z", "-l"];
        if recursive {
            arguments.extend(["-r", "-t"]);
        }
        arguments.push(name);
        let text = self.run(&arguments)?;
        let entries = text.split('\0').filter_map(|line| {
            let (head, path) = line.split_once('\t')?;
            let mut words = head.split_whitespace();
            Some(TreeEntry {
                mode: words.next()?.to_owned(),
                kind: words.next()?.to_owned(),
                sha: words.next()?.to_owned(),
                size: words.next()?.parse().ok(),
                path: path.to_owned(),
            })
        });
        Ok(entries.collect())
    }

    /// One commit.
    pub fn commit(&self, name: &str) -> anyhow::Result<Commit> {
        self.log(&[name, "-1"])?.pop().with_context(|| format!("no commit {name}"))
    }

    /// Commits, newest first, as the arguments of `git log` select them.
    pub fn log(&self, selection: &[&str]) -> anyhow::Result<Vec<Commit>> {
        let mut arguments = vec!["log", "-z", "--format=%H%n%T%n%P%n%an%n%ae%n%at%n%cn%n%ce%n%ct%n%B"];
        arguments.extend(selection);
        arguments.push("--");
        let text = self.run(&arguments)?;
        text.split('\0').filter(|part| !part.trim().is_empty()).map(parse_commit).collect()
    }

    /// Whether `old` is an ancestor of `new`, or the same.
    pub fn is_ancestor(&self, old: &str, new: &str) -> bool {
        self.run(&["merge-base", "--is-ancestor", old, new]).is_ok()
    }

    /// The best common ancestor.
    pub fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        self.run(&["merge-base", one, other]).ok()
    }

    /// The merged tree of two commits; none on conflict.
    pub fn merge_tree(&self, base: &str, head: &str) -> anyhow::Result<Option<String>> {
        let output = self.output(&["merge-tree", "--write-tree", "--no-messages", base, head], &[], &[])?;
        match output.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())),
            Some(1) => Ok(None),
            _ => bail!("git merge-tree: {}", String::from_utf8_lossy(&output.stderr).trim()),
        }
    }

    /// Writes a commit object.
    pub fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        author: &Signature,
        committer: &Signature,
        at: Timestamp,
        message: &str,
    ) -> anyhow::Result<String> {
        let mut arguments = vec!["commit-tree", tree];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        let date = format!("@{} +0000", at.as_second());
        let environment = [
            ("GIT_AUTHOR_NAME", author.name.clone()),
            ("GIT_AUTHOR_EMAIL", author.email.clone()),
            ("GIT_AUTHOR_DATE", date.clone()),
            ("GIT_COMMITTER_NAME", committer.name.clone()),
            ("GIT_COMMITTER_EMAIL", committer.email.clone()),
            ("GIT_COMMITTER_DATE", date),
        ];
        self.run_with(&arguments, format!("{message}\n").as_bytes(), &environment)
    }

    /// A commit object as it is.
    pub fn raw_commit(&self, sha: &str) -> anyhow::Result<String> {
        let output = self.output(&["cat-file", "commit", sha], &[], &[])?;
        anyhow::ensure!(output.status.success(), "no commit {sha}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes a commit object as it is given; its id.
    pub fn write_commit(&self, raw: &str) -> anyhow::Result<String> {
        self.run_with(&["hash-object", "-t", "commit", "-w", "--stdin"], raw.as_bytes(), &[])
    }

    /// A tree like that of `base` (none = empty), with files written (some text) or removed (none).
    pub fn write_tree(&self, base: Option<&str>, files: &[(&str, Option<&[u8]>)]) -> anyhow::Result<String> {
        let files: Vec<_> = files.iter().map(|(path, bytes)| ("100644", *path, *bytes)).collect();
        self.tree_of(base, &files)
    }

    /// The same with the mode of each file.
    pub fn tree_of(&self, base: Option<&str>, files: &[(&str, &str, Option<&[u8]>)]) -> anyhow::Result<String> {
        static SERIAL: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let index = self.dir.join(format!("index.{serial}"));
        let environment = [("GIT_INDEX_FILE", index.display().to_string())];
        let written = (|| {
            if let Some(base) = base {
                self.run_with(&["read-tree", base], &[], &environment)?;
            }
            let mut info = String::new();
            for (mode, path, bytes) in files {
                match bytes {
                    Some(bytes) => {
                        let blob = self.run_with(&["hash-object", "-w", "--stdin"], bytes, &[])?;
                        info.push_str(&format!("{mode} {blob}\t{path}\0"));
                    }
                    None => info.push_str(&format!("0 {ZERO}\t{path}\0")),
                }
            }
            self.run_with(&["update-index", "-z", "--index-info"], info.as_bytes(), &environment)?;
            self.run_with(&["write-tree"], &[], &environment)
        })();
        let _ = std::fs::remove_file(&index);
        written
    }

    /// The files that differ between two commits.
    pub fn changes(&self, old: &str, new: &str) -> anyhow::Result<Vec<Change>> {
        let states = self.run(&["diff-tree", "-r", "-z", "--no-renames", "--name-status", old, new])?;
        let counts = self.run(&["diff-tree", "-r", "-z", "--no-renames", "--numstat", old, new])?;
        let mut counted = std::collections::BTreeMap::new();
        for line in counts.split('\0') {
            let mut words = line.splitn(3, '\t');
            if let (Some(plus), Some(minus), Some(path)) = (words.next(), words.next(), words.next()) {
                counted.insert(path.to_owned(), (plus.parse().unwrap_or(0), minus.parse().unwrap_or(0)));
            }
        }
        let mut words = states.split('\0').filter(|word| !word.is_empty());
        let mut changes = Vec::new();
        while let (Some(state), Some(path)) = (words.next(), words.next()) {
            let status = match state.chars().next() {
                Some('A') => "added",
                Some('D') => "removed",
                _ => "modified",
            };
            let (additions, deletions) = counted.get(path).copied().unwrap_or((0, 0));
            changes.push(Change { status, path: path.to_owned(), additions, deletions });
        }
        Ok(changes)
    }

    /// The unified diff between two commits, with `lines` of context, cut to a readable size.
    pub fn diff(&self, old: &str, new: &str, path: Option<&str>) -> anyhow::Result<String> {
        let mut arguments = vec!["diff-tree", "-r", "-p", "--no-renames", "--no-color", old, new, "--"];
        arguments.extend(path);
        let mut text = self.run(&arguments)?;
        if text.len() > DIFF_LIMIT {
            let end = (0..=DIFF_LIMIT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text.truncate(end);
        }
        Ok(text)
    }
}

/// GitHub shows at most 1 MB of a diff.
const DIFF_LIMIT: usize = 1 << 20;

/// The tree without entries, which every repository knows: the parent of a first commit.
pub const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

fn parse_commit(text: &str) -> anyhow::Result<Commit> {
    let mut lines = text.trim_start_matches('\n').splitn(10, '\n');
    let mut line = || lines.next().unwrap_or_default().to_owned();
    let (sha, tree, parents) = (line(), line(), line());
    let (author, author_mail, author_time) = (line(), line(), line());
    let (committer, committer_mail, committer_time) = (line(), line(), line());
    let time = |text: &str| anyhow::Ok(Timestamp::from_second(text.parse()?)?);
    Ok(Commit {
        sha,
        tree,
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        author: (author, author_mail, time(&author_time)?),
        committer: (committer, committer_mail, time(&committer_time)?),
        message: line().trim_end().to_owned(),
    })
}

#[cfg(test)]
mod tests;
