//! Workflows of this repository: one is dispatched, and the runs that we dispatched are found by what
//! their titles say. What a run means for a release is decided in `decide`.

use decide::snapshot::WorkflowRun;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::json;

use super::client::segment;
use super::{HubError, RepoHub};

/// The hub's clock and ours may differ by so much, and then some.
const SLACK: SignedDuration = SignedDuration::from_mins(10);

#[derive(Deserialize)]
struct WireRun {
    #[serde(default)]
    display_title: String,
    #[serde(default)]
    event: String,
    status: Option<String>,
    conclusion: Option<String>,
    actor: Option<WireActor>,
}

#[derive(Deserialize)]
struct WireActor {
    login: String,
}

/// What a workflow is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// What the title of its run has to say.
    pub id: String,
    /// The plugin.
    pub plugin: String,
    /// The version.
    pub version: String,
    /// The tier.
    pub tier: String,
    /// How many slices have moved.
    pub slice: String,
    /// The clusters that have moved, separated by commas.
    pub clusters: String,
}

impl RepoHub {
    /// The runs of a workflow that we dispatched since then, the newest first. What others dispatched
    /// proves nothing: they may give it any title.
    ///
    /// # Errors
    /// The workflow is not there, or its runs could not be read.
    pub async fn dispatched(&self, workflow: &str, since: Timestamp) -> Result<Vec<WorkflowRun>, HubError> {
        let since = since.saturating_sub(SLACK).unwrap_or(since).strftime("%Y-%m-%dT%H:%M:%SZ");
        let query = format!("event=workflow_dispatch&actor={}&created=%3E%3D{since}", segment(self.bot().as_str()));
        let path = format!("/actions/workflows/{}/runs?{query}&per_page=100", segment(workflow));
        let runs: Vec<WireRun> = self.main().pages(&self.path(&path), Some("workflow_runs")).await?;
        let ours = |run: &WireRun| {
            run.event == "workflow_dispatch"
                && run.actor.as_ref().is_some_and(|actor| actor.login == self.bot().as_str())
        };
        let read = |run: WireRun| WorkflowRun {
            workflow: workflow.to_owned(),
            state: super::commits::of_run(run.status.as_deref().unwrap_or_default(), run.conclusion.as_deref()),
            title: run.display_title,
        };
        Ok(runs.into_iter().filter(ours).map(read).collect())
    }

    /// Dispatches a workflow as it stands on the default branch.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened; then [`RepoHub::dispatched`] tells.
    pub async fn dispatch(&self, workflow: &str, inputs: &Inputs) -> Result<(), HubError> {
        let Inputs { id, plugin, version, tier, slice, clusters } = inputs;
        let sent = json!({
            "ref": self.repository().default_branch,
            "inputs": { "id": id, "plugin": plugin, "version": version, "tier": tier, "slice": slice, "clusters": clusters },
        });
        let path = self.path(&format!("/actions/workflows/{}/dispatches", segment(workflow)));
        self.main().write(Method::POST, &path, Some(sent)).await?;
        Ok(())
    }
}
