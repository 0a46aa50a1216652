//! The controllers' view of the config repo: one mirror for all clusters, filled by real git. What
//! the files mean is in `controller`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any answer of a loopback server takes.
const PATIENCE: Duration = Duration::from_secs(20);
/// A manifest larger than this is none.
const LARGEST: u64 = 1 << 20;

/// Where the clusters' manifests come from.
#[derive(Clone, Debug)]
pub struct GitSource {
    /// What `git fetch` is given: an HTTP URL or a path.
    pub url: String,
    /// The branch.
    pub branch: String,
    /// A token for HTTP, where the server wants one.
    pub token: Option<String>,
}

/// The manifests of one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) commit: String,
    pub(super) files: BTreeMap<String, String>,
    /// Definitions that its Catalogs name, by repository, tag and file. Those that are not there are missing.
    pub(super) definitions: Definitions,
}

/// Definitions by repository, tag and file.
pub(super) type Definitions = BTreeMap<(String, String, String), String>;

pub(super) struct Mirror {
    source: GitSource,
    folder: PathBuf,
    known: String,
}

impl Mirror {
    /// An empty mirror in a folder of its own.
    pub(super) async fn create(source: GitSource, folder: PathBuf) -> anyhow::Result<Self> {
        tokio::fs::create_dir_all(&folder).await.with_context(|| format!("cannot create {}", folder.display()))?;
        let mirror = Self { source, folder, known: String::new() };
        mirror.git(&["init", "--quiet", "--bare", "."]).await?;
        Ok(mirror)
    }

    /// The files of the branch's head, when it is another one than last time.
    pub(super) async fn pull(&mut self) -> anyhow::Result<Option<Tree>> {
        let name = format!("refs/heads/{}", self.source.branch);
        let listed = self.git(&["ls-remote", &self.source.url, &name]).await?;
        let head = String::from_utf8_lossy(&listed).split_whitespace().next().unwrap_or_default().to_owned();
        if head.is_empty() || head == self.known {
            return Ok(None);
        }
        let refspec = format!("+{name}:{name}");
        self.git(&["fetch", "--quiet", "--no-tags", &self.source.url, &refspec]).await?;
        let head = String::from_utf8_lossy(&self.git(&["rev-parse", &name]).await?).trim().to_owned();
        let files = unpack(&self.git(&["archive", "--format=tar", &head]).await?)?;
        self.known.clone_from(&head);
        let definitions = self.definitions(&files).await;
        Ok(Some(Tree { commit: head, files, definitions }))
    }

    /// What each source of a Catalog brings at its tag, read from its repository.
    async fn definitions(&self, files: &BTreeMap<String, String>) -> Definitions {
        let mut found = Definitions::new();
        for key in named(files) {
            match self.definition(&key).await {
                Ok(text) => drop(found.insert(key, text)),
                Err(error) => tracing::warn!(%error, tag = key.1, "the sandbox's Greenhouse cannot read a definition"),
            }
        }
        found
    }

    async fn definition(&self, (repository, tag, file): &(String, String, String)) -> anyhow::Result<String> {
        let other = GitSource { url: repository.clone(), branch: String::new(), token: None };
        let name = format!("refs/tags/{tag}");
        run_git(&self.folder, &other, &["fetch", "--quiet", "--no-tags", "--depth=1", repository, &name]).await?;
        let text = run_git(&self.folder, &other, &["show", &format!("FETCH_HEAD:{file}")]).await?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    async fn git(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        run_git(&self.folder, &self.source, arguments).await
    }
}

/// The definitions that Catalogs name.
fn named(files: &BTreeMap<String, String>) -> BTreeSet<(String, String, String)> {
    let mut found = BTreeSet::new();
    for text in files.values().filter(|text| text.contains("kind: Catalog")) {
        for document in super::controller::documents(text).unwrap_or_default() {
            for source in document["spec"]["sources"].as_array().into_iter().flatten() {
                let text = |part: &serde_json::Value| part.as_str().map(str::to_owned);
                let (repository, tag) = (text(&source["repository"]), text(&source["ref"]["tag"]));
                let (Some(repository), Some(tag)) = (repository, tag) else { continue };
                let files = source["resources"].as_array().into_iter().flatten().filter_map(text);
                found.extend(files.map(|file| (repository.clone(), tag.clone(), file)));
            }
        }
    }
    found
}

/// Runs git in a folder, with the token of the source and without this machine's configuration.
#[allow(clippy::disallowed_methods)] // the sandbox may start git; the bot may not
pub(crate) async fn run_git(folder: &Path, source: &GitSource, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if let Some(token) = &source.token {
        // By the environment: arguments can be read by everybody on the machine.
        let basic = BASE64_STANDARD.encode(format!("x-access-token:{token}"));
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "http.extraHeader")
            .env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {basic}"));
    }
    let what = || format!("git {}", arguments.first().copied().unwrap_or_default());
    let done = timeout(PATIENCE, command.output()).await.with_context(|| format!("{} hangs", what()))?;
    let done = done.context("cannot run git, which the sandbox needs; install it")?;
    let said = String::from_utf8_lossy(&done.stderr);
    anyhow::ensure!(done.status.success(), "{} failed: {}", what(), said.trim());
    Ok(done.stdout)
}

fn unpack(archive: &[u8]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let manifest = path.ends_with(".yaml") || path.ends_with(".yml");
        if !entry.header().entry_type().is_file() || !manifest || entry.size() > LARGEST {
            continue;
        }
        let mut text = String::new();
        if entry.read_to_string(&mut text).is_ok() {
            files.insert(path, text);
        }
    }
    Ok(files)
}
