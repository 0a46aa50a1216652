//! Looks at the hub and the clusters and makes one scene of it. Nothing here acts.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde_yaml::Value;

use super::fleet::PLUGINS;
use super::scene::{PullSeen, Rung, Scene};
use crate::clock::now;
use crate::clusters::Seen;
use crate::github::{GitHub, PullStanding, PullView};

/// Closed pull requests are read again at every so many looks: their text may still change.
const CLOSED: u32 = 5;

/// What was seen before, so that a look costs little.
#[derive(Debug, Default)]
pub struct Stage {
    looks: u32,
    pulls: BTreeMap<u64, PullSeen>,
    /// The version at a commit, which cannot change.
    versions: BTreeMap<(String, Rung), Option<String>>,
}

impl Stage {
    /// The world as it is now.
    ///
    /// # Errors
    /// When the hub does not know the repository.
    pub async fn look(
        mut self,
        github: &GitHub,
        repository: &str,
        releases: BTreeMap<String, BTreeMap<String, Seen>>,
    ) -> anyhow::Result<(Self, Scene)> {
        let (github, repository) = (github.clone(), repository.to_owned());
        // The hub asks git on the way, which blocks.
        let looked = tokio::task::spawn_blocking(move || {
            self.read(&github, &repository)?;
            anyhow::Ok(self)
        });
        let stage = looked.await.context("a look at the hub broke off")??;
        let pulls = stage.pulls.clone();
        Ok((stage, Scene { at: now(), pulls, releases }))
    }

    fn read(&mut self, github: &GitHub, repository: &str) -> anyhow::Result<()> {
        let all = self.looks.is_multiple_of(CLOSED);
        self.looks += 1;
        let views = if all {
            github.pulls(repository)?
        } else {
            let open = self.pulls.values().filter(|pull| pull.is_open()).map(|pull| pull.number);
            let newest = self.pulls.keys().last().copied().unwrap_or_default();
            // Numbers have no gaps but for issues; what is not there yet is an error.
            let issues: BTreeSet<u64> = github.issues(repository)?.into_iter().map(|issue| issue.number).collect();
            let numbers = (newest + 1..).filter(|number| !issues.contains(number));
            let new = numbers.map_while(|number| github.pull(repository, number).ok());
            open.map(|number| github.pull(repository, number)).chain(new.map(Ok)).collect::<anyhow::Result<_>>()?
        };
        for view in views {
            let seen = self.pull(github, repository, view)?;
            self.pulls.insert(seen.number, seen);
        }
        Ok(())
    }

    fn pull(&mut self, github: &GitHub, repository: &str, view: PullView) -> anyhow::Result<PullSeen> {
        let rung = Rung::of_branch(&view.head).filter(|_| view.author.ends_with("[bot]"));
        let version = match &rung {
            Some(rung) => self.version(github, repository, &view.head_sha, rung)?,
            None => None,
        };
        let (closed_at, merged) = match view.standing {
            PullStanding::Open => (None, None),
            PullStanding::Merged { by, at, .. } => (Some(at), Some((at, by))),
            PullStanding::Closed { at, .. } => (Some(at), None),
        };
        let approvals = view.reviews.iter().filter(|review| review.approves());
        let mut approved_by: Vec<String> = approvals.map(|review| review.author.clone()).collect();
        approved_by.sort();
        approved_by.dedup();
        let said = |text: Option<String>| text.unwrap_or_default();
        Ok(PullSeen {
            number: view.number,
            title: view.title,
            body: view.body,
            author: view.author,
            branch: view.head,
            head: view.head_sha,
            rung,
            version,
            opened_at: view.created_at,
            wants_review: closed_at.is_none() && view.blockers.iter().any(|blocker| blocker.contains("review")),
            closed_at,
            merged,
            approved_by,
            checks: view.checks.into_iter().map(|c| format!("{}\n{}", said(c.title), said(c.summary))).collect(),
            comments: view.comments.into_iter().map(|comment| (comment.author, comment.body)).collect(),
        })
    }

    fn version(
        &mut self,
        github: &GitHub,
        repository: &str,
        commit: &str,
        rung: &Rung,
    ) -> anyhow::Result<Option<String>> {
        let key = (commit.to_owned(), rung.clone());
        if let Some(known) = self.versions.get(&key) {
            return Ok(known.clone());
        }
        let plugin = PLUGINS.iter().find(|plugin| plugin.name == rung.plugin);
        let path = plugin.and_then(|plugin| plugin.manifests(&rung.tier).into_iter().next());
        let text = match path {
            Some(path) => github.file(repository, commit, &path)?,
            None => None,
        };
        let version = text.as_deref().and_then(version_in);
        self.versions.insert(key, version.clone());
        Ok(version)
    }
}

/// The version that a manifest of the fleet names.
fn version_in(manifest: &str) -> Option<String> {
    let manifest: Value = serde_yaml::from_str(manifest).ok()?;
    let spec = manifest.get("spec")?;
    let flux = spec.get("chart").and_then(|chart| chart.get("spec")?.get("version"));
    let argo = spec.get("source").and_then(|source| source.get("targetRevision"));
    let tag = spec.get("sources").and_then(|sources| sources.get(0)?.get("ref")?.get("tag")?.as_str());
    let tagged = tag.and_then(|tag| tag.split_once('/')).map(|(_, version)| version);
    flux.or(argo).and_then(Value::as_str).or(tagged).map(str::to_owned)
}
