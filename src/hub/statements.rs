//! What others say of the newest commits of a branch: commit statuses, check runs and deployments. What that
//! means for a cluster is in `signal`.

use decide::snapshot::{CheckState, Read};
use decide::{Person, Sha};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::commits::of_run;
use super::pull_wire::{WireActor, WireConnection};
use super::pulls::{data, malformed, not_there, partial};
use super::{HubError, RepoHub};
use crate::signal::checks::{Stated, Statement, Written};

const DOCUMENT: &str = include_str!("queries/statements.graphql");
const WHAT: &str = "GraphQL Statements";
/// Commits that are looked at, the newest of a branch; halved when the hub cannot answer so much.
pub const COMMITS: u64 = 50;

impl RepoHub {
    /// The newest commits of a branch, newest first, at most [`COMMITS`], and what was said of each.
    ///
    /// # Errors
    /// It was not read whole, or there is no such branch.
    pub async fn statements(&self, branch: &str, deployments: bool) -> Result<Vec<Stated>, HubError> {
        let mut size = COMMITS;
        loop {
            match self.statements_on(branch, deployments, size).await {
                // The hub gives up after ten seconds.
                Err(HubError::Failed { status: 502..=504, .. } | HubError::TooMuch { .. }) if size > 5 => size /= 2,
                other => return other,
            }
        }
    }

    async fn statements_on(&self, branch: &str, deployments: bool, size: u64) -> Result<Vec<Stated>, HubError> {
        let repository = self.repository();
        let branch = format!("refs/heads/{branch}");
        let variables =
            json!({ "owner": repository.owner, "name": repository.name, "branch": branch, "commits": size });
        let operation = if deployments { "StatementsAndDeployments" } else { "Statements" };
        let envelope = self.main().query(DOCUMENT, operation, variables).await?;
        let faults = envelope.faults();
        let page: Value = data(WHAT, envelope, &faults)?;
        if !faults.is_empty() {
            return Err(partial(WHAT, &faults));
        }
        let history = page.pointer("/repository/ref/target/history").filter(|history| !history.is_null());
        stated(history.ok_or_else(|| not_there(WHAT, &faults))?)
    }
}

/// A history as GraphQL writes it.
///
/// # Errors
/// It is none, or has a hole.
pub(crate) fn stated(history: &Value) -> Result<Vec<Stated>, HubError> {
    let history = WireConnection::<WireCommit>::deserialize(history);
    let history = history.map_err(|error| malformed(WHAT, &error.to_string()))?;
    Ok(history.entries(WHAT)?.into_iter().map(WireCommit::read).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCommit {
    oid: String,
    status_check_rollup: Option<WireRollup>,
    deployments: Option<WireConnection<WireDeployment>>,
}

#[derive(Deserialize)]
struct WireRollup {
    contexts: Option<WireConnection<WireContext>>,
}

/// A check run or a status, told apart by `__typename`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireContext {
    #[serde(rename = "__typename", default)]
    kind: String,
    name: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    started_at: Option<String>,
    completed_at: Option<String>,
    check_suite: Option<WireSuite>,
    context: Option<String>,
    state: Option<String>,
    created_at: Option<String>,
    creator: Option<WireActor>,
}

#[derive(Deserialize)]
struct WireSuite {
    app: Option<WireApp>,
}

#[derive(Deserialize)]
struct WireApp {
    slug: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDeployment {
    environment: Option<String>,
    latest_status: Option<WireDeployed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDeployed {
    state: Option<String>,
    created_at: Option<String>,
    creator: Option<WireActor>,
}

impl WireCommit {
    fn read(self) -> Stated {
        let contexts = match self.status_check_rollup {
            // No rollup and no error: nobody has said anything.
            None => Read::Known(Vec::new()),
            Some(WireRollup { contexts: None }) => Read::Unread("the hub left the checks out".to_owned()),
            Some(WireRollup { contexts: Some(contexts) }) => contexts.part("100 checks"),
        };
        let deployments = self.deployments.map_or(Read::Known(Vec::new()), |all| all.part("50 deployments"));
        let said = match (contexts, deployments) {
            (Read::Known(contexts), Read::Known(deployments)) => {
                let contexts = contexts.into_iter().map(WireContext::read);
                Read::Known(contexts.chain(deployments.into_iter().map(WireDeployment::read)).collect())
            }
            (Read::Unread(why), _) | (_, Read::Unread(why)) => Read::Unread(why),
        };
        Stated { commit: Sha::new(self.oid), said }
    }
}

impl WireContext {
    fn read(self) -> Statement {
        let lower = |word: Option<String>| word.unwrap_or_default().to_lowercase();
        if self.kind == "CheckRun" {
            let (status, conclusion) = (lower(self.status), lower(self.conclusion));
            let slug = self.check_suite.and_then(|suite| suite.app).and_then(|app| app.slug);
            return Statement {
                form: Written::Run,
                name: self.name.unwrap_or_default(),
                by: slug.map(|slug| Person::new(format!("{slug}[bot]"))),
                state: of_run(&status, Some(conclusion.as_str()).filter(|word| !word.is_empty())),
                word: if conclusion.is_empty() { status } else { conclusion },
                at: time(self.completed_at.or(self.started_at)),
            };
        }
        let word = lower(self.state);
        Statement {
            form: Written::Status,
            name: self.context.unwrap_or_default(),
            by: self.creator.map(|creator| creator.read().login),
            state: of_word(&word),
            word,
            at: time(self.created_at),
        }
    }
}

impl WireDeployment {
    fn read(self) -> Statement {
        let name = self.environment.unwrap_or_default();
        let Some(said) = self.latest_status else {
            let (form, state) = (Written::Deployment, CheckState::Pending);
            return Statement { form, name, by: None, state, word: "not begun".to_owned(), at: None };
        };
        let word = said.state.unwrap_or_default().to_lowercase();
        Statement {
            form: Written::Deployment,
            name,
            by: said.creator.map(|creator| creator.read().login),
            state: of_word(&word),
            word,
            at: time(said.created_at),
        }
    }
}

/// A word of a status or of a deployment. One that was replaced (`inactive`) is over, and says nothing.
fn of_word(word: &str) -> CheckState {
    match word {
        "success" => CheckState::Success,
        "failure" | "error" => CheckState::Failure,
        _ => CheckState::Pending,
    }
}

fn time(text: Option<String>) -> Option<Timestamp> {
    text?.parse().ok()
}
