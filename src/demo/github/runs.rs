//! What somebody sees and says of workflow runs: the runner of this world is a person.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::GitHub;

/// A run as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunView {
    /// Its id.
    pub id: u64,
    /// The workflow's file.
    pub workflow: String,
    /// Its title.
    pub title: String,
    /// Who dispatched it.
    pub actor: String,
    /// What it was given.
    pub inputs: BTreeMap<String, String>,
    /// How it ended, once it has.
    pub conclusion: Option<String>,
}

impl GitHub {
    /// Every run of a repository, oldest first.
    ///
    /// # Errors
    /// No such repository.
    pub fn runs(&self, repository: &str) -> anyhow::Result<Vec<RunView>> {
        let world = self.world();
        let id = world.named(repository)?;
        let repo = world.repositories.get(&id).context("it was just found")?;
        let view = |run: &super::state::WorkflowRun| RunView {
            id: run.id,
            workflow: run.workflow.clone(),
            title: run.title.clone(),
            actor: run.actor.clone(),
            inputs: run.inputs.clone(),
            conclusion: run.conclusion.clone(),
        };
        Ok(repo.runs.values().map(view).collect())
    }

    /// A run comes to its end, or begins again (none).
    ///
    /// # Errors
    /// No such run.
    pub fn end_run(&self, repository: &str, run: u64, conclusion: Option<&str>) -> anyhow::Result<()> {
        let mut world = self.world();
        let (id, now) = (world.named(repository)?, world.now());
        let repo = world.repositories.get_mut(&id).context("it was just found")?;
        let run = repo.runs.get_mut(&run).with_context(|| format!("no run {run}"))?;
        run.conclusion = conclusion.map(str::to_owned);
        run.updated_at = now;
        Ok(())
    }
}
