//! Looks at the hub and the clusters and makes one scene of it. Nothing here acts.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_yaml::Value;

use super::fleet::{TIERS, manifest_path};
use super::scene::{PullSeen, Rung, Scene};
use crate::demo::clock::now;
use crate::demo::clusters::Seen;
use crate::demo::github::{GitHub, PullStanding, PullView};

/// What was read once and cannot change: the version at a commit.
#[derive(Debug, Default)]
pub struct Stage {
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
            let views = github.pulls(&repository)?;
            let mut pulls = BTreeMap::new();
            for view in views {
                let seen = self.pull(&github, &repository, view)?;
                pulls.insert(seen.number, seen);
            }
            anyhow::Ok((self, pulls))
        });
        let (stage, pulls) = looked.await.context("a look at the hub broke off")??;
        Ok((stage, Scene { at: now(), pulls, releases }))
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
        let cluster = TIERS.iter().find(|(tier, _)| *tier == rung.tier).and_then(|(_, clusters)| clusters.first());
        let path = cluster.map(|cluster| manifest_path(&rung.tier, cluster, &rung.plugin));
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
    flux.or(argo)?.as_str().map(str::to_owned)
}
