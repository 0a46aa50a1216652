//! What `once` has to mind as a step of a workflow: what started it, from which branch, with whose token, and the page
//! on which people read what it did. The Action's own steps are in `action.yml`.

use std::io::Write as _;

use anyhow::{Context, bail};

use super::run::hub;
use super::settings::Settings;
use crate::hub::Repository;

/// What is said where the token of the workflow is used.
pub const TOKEN: &str = "with the token of a workflow nothing is forced and no branch rule is bypassed, because every \
     workflow of the repository speaks with it; its pull requests start no workflows, so that required checks stay \
     absent until a person lets them run. Give an App: `app-id` and `app-private-key`";

/// Events that carry a stranger's code or words are no reason to run with write access.
pub fn refuse_untrusted_events() -> anyhow::Result<()> {
    let Ok(event) = std::env::var("GITHUB_EVENT_NAME") else { return Ok(()) };
    match event.as_str() {
        "schedule" | "workflow_dispatch" | "push" | "repository_dispatch" => Ok(()),
        _ => bail!(
            "the workflow was started by `{event}`; run it on schedule, workflow_dispatch, push or repository_dispatch only"
        ),
    }
}

/// A workflow runs from its default branch, by what the hub says: what stands on another one was agreed to by nobody.
pub async fn refuse_other_branches(settings: &Settings, config: &Repository) -> anyhow::Result<()> {
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("GITHUB_ACTIONS") != "true" {
        return Ok(());
    }
    let (from, of) = (variable("GITHUB_REF"), variable("GITHUB_REPOSITORY"));
    let default = if of.eq_ignore_ascii_case(&config.full_name()) {
        config.default_branch.clone()
    } else {
        let read = hub(settings)?.repository(&of).await;
        let why = || {
            format!(
                "which branch of `{of}`, whose workflow this is, is the default one was not said; let the App or the \
                 token read that repository, or run the workflow in `{}`",
                config.full_name()
            )
        };
        read.with_context(why)?.default_branch
    };
    if from != format!("refs/heads/{default}") {
        bail!(
            "the workflow runs from `{from}`, not from the default branch `{default}`: run it from there, and bind the \
             environment with its secrets to that branch"
        );
    }
    Ok(())
}

/// Appends to the job's summary page, where there is one.
pub fn step_summary(text: &str) -> anyhow::Result<()> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).context("the step summary")?;
    file.write_all(text.as_bytes()).context("the step summary")
}
