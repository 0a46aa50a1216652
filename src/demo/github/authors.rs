//! What others than people on pull requests do at the hub: authors of charts tag commits and their checks run,
//! controllers of clusters deploy.

use anyhow::Context as _;

use super::GitHub;
use super::git::ZERO;
use super::rest::deployments;
use super::setup::plainly;
use super::state::{Actor, CheckRun};

impl GitHub {
    /// Tags a commit; a tag that is there moves.
    ///
    /// # Errors
    /// No such repository or commit.
    pub fn tag(&self, repository: &str, login: &str, name: &str, commit: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repositories.get(&id).context("it was just found")?;
        let commit = repo.git.commit_id(commit).with_context(|| format!("no commit {commit}"))?;
        let name = format!("refs/tags/{name}");
        let old = repo.refs.get(&name).cloned().unwrap_or_else(|| ZERO.to_owned());
        repo.git.update_ref(&name, &commit, &old)?;
        world.sync(id, &Actor::User(login.to_owned())).map_err(plainly)
    }

    /// A check of an App on a commit begins, or comes to its conclusion (`success`, `failure`).
    ///
    /// # Errors
    /// No such repository.
    pub fn check(
        &self,
        repository: &str,
        app: u64,
        commit: &str,
        name: &str,
        conclusion: Option<&str>,
    ) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let now = world.now();
        let runs = world.repositories.get(&id).context("it was just found")?.checks.values();
        let same = |check: &&CheckRun| check.app == app && check.head_sha == commit && check.name == name;
        let run = runs.filter(same).map(|check| check.id).next_back();
        let run = run.unwrap_or_else(|| world.id());
        let check = CheckRun {
            id: run,
            name: name.to_owned(),
            head_sha: commit.to_owned(),
            app,
            status: if conclusion.is_some() { "completed" } else { "in_progress" }.to_owned(),
            conclusion: conclusion.map(str::to_owned),
            title: None,
            summary: None,
            text: None,
            details_url: None,
            external_id: None,
            started_at: Some(now),
            completed_at: conclusion.map(|_| now),
            annotations: Vec::new(),
        };
        let action = if conclusion.is_some() { "completed" } else { "created" };
        super::rest::settle(&mut world, id, check, action).map_err(plainly)
    }

    /// An App deploys a commit to an environment, and says what came of it (`success`, `failure`, `in_progress`).
    ///
    /// # Errors
    /// No such repository or App.
    pub fn deploy(
        &self,
        repository: &str,
        app: u64,
        commit: &str,
        environment: &str,
        state: &str,
    ) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let login = format!("{}[bot]", world.apps.get(&app).context("no such App")?.slug);
        let begun = deployments::begin(&mut world, id, commit, environment, &login).map_err(plainly)?;
        deployments::say(&mut world, id, begun.id, state, &login).map_err(plainly)?;
        Ok(())
    }
}
