//! Check runs, suites, statuses, and the roll-up of them all.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::exec::Executor;
use super::objects::actor;
use super::query::{Arguments, Fault};
use super::value::{Object, Resolved, connection, connection_with, null, ready};
use crate::github::rest::render;
use crate::github::standing::{CheckState, all_checks};
use crate::github::state::{CheckRun, Deployment, DeploymentStatus, Repository, Status, World, stamp};

fn upper(text: &str) -> Resolved {
    text.to_uppercase().into()
}

fn check(world: &World, repo: &Repository, check: &CheckRun) -> Resolved {
    let page = format!("{}/runs/{}", render::page_url(world, repo), check.id);
    let suite = Resolved::Object(Object::Suite(repo.id, check.head_sha.clone(), check.app));
    ready(
        "CheckRun",
        [
            ("id", format!("CR_{}", check.id).into()),
            ("databaseId", check.id.into()),
            ("name", check.name.clone().into()),
            ("status", upper(&check.status)),
            ("conclusion", check.conclusion.as_deref().map_or_else(null, upper)),
            ("title", check.title.clone().into()),
            ("summary", check.summary.clone().into()),
            ("text", check.text.clone().into()),
            ("url", page.clone().into()),
            ("permalink", page.clone().into()),
            ("detailsUrl", check.details_url.clone().unwrap_or(page).into()),
            ("externalId", check.external_id.clone().into()),
            ("startedAt", check.started_at.map(stamp).into()),
            ("completedAt", check.completed_at.map(stamp).into()),
            ("checkSuite", suite),
            ("repository", Resolved::Object(Object::Repository(repo.id))),
            ("__repository", repo.id.into()),
            ("__name", check.name.clone().into()),
        ],
    )
}

fn status(world: &World, repo: &Repository, status: &Status) -> Resolved {
    ready(
        "StatusContext",
        [
            ("id", format!("SC_{}", status.id).into()),
            ("context", status.context.clone().into()),
            ("state", upper(&status.state)),
            ("description", status.description.clone().into()),
            ("targetUrl", status.target_url.clone().into()),
            ("createdAt", stamp(status.created_at).into()),
            ("creator", actor(world, &status.creator)),
            ("commit", Resolved::Object(Object::Commit(repo.id, status.sha.clone()))),
            ("__repository", repo.id.into()),
            ("__name", status.context.clone().into()),
        ],
    )
}

/// The newest run of each name and App on a commit.
fn newest<'a>(repo: &'a Repository, sha: &str) -> Vec<&'a CheckRun> {
    let mut seen = BTreeSet::new();
    let runs = repo.checks.values().rev().filter(|check| check.head_sha == sha);
    let mut found: Vec<&CheckRun> = runs.filter(|check| seen.insert((check.name.clone(), check.app))).collect();
    found.reverse();
    found
}

/// The newest status of each context on a commit.
fn newest_statuses<'a>(repo: &'a Repository, sha: &str) -> Vec<&'a Status> {
    let found: BTreeMap<&str, &Status> =
        repo.statuses.iter().filter(|one| one.sha == sha).map(|one| (one.context.as_str(), one)).collect();
    found.into_values().collect()
}

fn rolled_up(repo: &Repository, sha: &str) -> Option<&'static str> {
    let states = all_checks(repo, sha);
    let has = |wanted: CheckState| states.values().any(|state| *state == wanted);
    if states.is_empty() {
        None
    } else if has(CheckState::Red) {
        Some("FAILURE")
    } else if has(CheckState::Pending) {
        Some("PENDING")
    } else {
        Some("SUCCESS")
    }
}

fn deployment(world: &World, deployment: &Deployment) -> Resolved {
    let status = |status: &DeploymentStatus| {
        ready(
            "DeploymentStatus",
            [
                ("state", upper(&status.state)),
                ("createdAt", stamp(status.created_at).into()),
                ("creator", actor(world, &status.creator)),
            ],
        )
    };
    ready(
        "Deployment",
        [
            ("id", format!("DE_{}", deployment.id).into()),
            ("databaseId", deployment.id.into()),
            ("environment", deployment.environment.clone().into()),
            ("createdAt", stamp(deployment.created_at).into()),
            ("creator", actor(world, &deployment.creator)),
            ("commitOid", deployment.sha.clone().into()),
            ("latestStatus", deployment.status.as_ref().map_or_else(null, status)),
        ],
    )
}

impl Executor<'_> {
    /// The deployments of a commit, oldest first.
    pub fn commit_deployments(&mut self, id: u64, sha: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        self.need(id, "deployments")?;
        let found = self.world.repo(id)?.deployments.iter().filter(|one| one.sha == sha);
        let mut items: Vec<_> = found.map(|one| (one.id.to_string(), deployment(self.world, one))).collect();
        let order = arguments.get("orderBy").and_then(|order| order.get("direction"));
        if order.and_then(serde_json::Value::as_str) == Some("DESC") {
            items.reverse();
        }
        connection("DeploymentConnection", arguments, items)
    }

    /// The three ways from a commit to its checks.
    pub fn commit_checks(&mut self, id: u64, sha: &str, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        self.need(id, if name == "status" { "statuses" } else { "checks" })?;
        let repo = self.world.repo(id)?;
        match name {
            "statusCheckRollup" if rolled_up(repo, sha).is_none() => Ok(null()),
            "statusCheckRollup" => Ok(Resolved::Object(Object::Rollup(id, sha.to_owned()))),
            "status" => {
                let found = newest_statuses(repo, sha);
                let red = found.iter().any(|one| matches!(one.state.as_str(), "error" | "failure"));
                let pending = found.iter().any(|one| one.state == "pending");
                let state = if red {
                    "FAILURE"
                } else if pending {
                    "PENDING"
                } else {
                    "SUCCESS"
                };
                let contexts: Vec<Resolved> = found.iter().map(|one| status(self.world, repo, one)).collect();
                if contexts.is_empty() {
                    return Ok(null());
                }
                Ok(ready(
                    "Status",
                    [
                        ("id", format!("S_{sha}").into()),
                        ("state", state.into()),
                        ("commit", Resolved::Object(Object::Commit(id, sha.to_owned()))),
                        ("contexts", Resolved::List(contexts)),
                    ],
                ))
            }
            _ => {
                let filter = arguments.get("filterBy");
                let app = filter.and_then(|filter| filter.get("appId")).and_then(Value::as_u64);
                let check = filter.and_then(|filter| filter.get("checkName")).and_then(Value::as_str);
                let runs = newest(repo, sha).into_iter();
                let runs = runs.filter(|run| app.is_none_or(|app| app == run.app));
                let apps: BTreeSet<u64> =
                    runs.filter(|run| check.is_none_or(|name| name == run.name)).map(|run| run.app).collect();
                let items = apps
                    .into_iter()
                    .map(|app| (app.to_string(), Resolved::Object(Object::Suite(id, sha.to_owned(), app))));
                connection("CheckSuiteConnection", arguments, items.collect())
            }
        }
    }

    /// A field of a check suite.
    pub fn suite(
        &mut self,
        id: u64,
        sha: &str,
        app: u64,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Resolved, Fault> {
        let world = &*self.world;
        let repo = world.repo(id)?;
        let runs: Vec<&CheckRun> = newest(repo, sha).into_iter().filter(|run| run.app == app).collect();
        let done = runs.iter().all(|run| run.conclusion.is_some());
        let worst = ["failure", "timed_out", "cancelled", "action_required", "success", "neutral", "skipped"]
            .into_iter()
            .find(|word| runs.iter().any(|run| run.conclusion.as_deref() == Some(word)));
        let started = runs.iter().filter_map(|run| run.started_at).min();
        Ok(match name {
            "id" => format!("CS_{app}_{sha}").into(),
            "databaseId" => app.into(),
            "app" => world.apps.get(&app).map_or_else(null, |app| {
                ready(
                    "App",
                    [
                        ("id", format!("A_{}", app.id).into()),
                        ("databaseId", app.id.into()),
                        ("slug", app.slug.clone().into()),
                        ("name", app.slug.clone().into()),
                        ("url", format!("{}/apps/{}", world.url, app.slug).into()),
                    ],
                )
            }),
            "status" => (if done { "COMPLETED" } else { "IN_PROGRESS" }).into(),
            "conclusion" if done => worst.map_or_else(null, upper),
            "createdAt" | "updatedAt" => started.map(stamp).into(),
            "commit" => Resolved::Object(Object::Commit(id, sha.to_owned())),
            "checkRuns" => {
                let filter = arguments.get("filterBy");
                let text = |key: &str| filter.and_then(|filter| filter.get(key)).and_then(Value::as_str);
                let all = text("checkType") == Some("ALL");
                let runs: Vec<&CheckRun> = if all {
                    repo.checks.values().filter(|run| run.head_sha == sha && run.app == app).collect()
                } else {
                    runs
                };
                let runs = runs.into_iter().filter(|run| text("checkName").is_none_or(|name| name == run.name));
                let items = runs.map(|run| (run.id.to_string(), check(world, repo, run))).collect();
                connection("CheckRunConnection", arguments, items)?
            }
            _ => null(),
        })
    }

    /// A field of the roll-up.
    pub fn rollup(&mut self, id: u64, sha: &str, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        let world = &*self.world;
        let repo = world.repo(id)?;
        Ok(match name {
            "id" => format!("SCR_{sha}").into(),
            "state" => rolled_up(repo, sha).into(),
            "commit" => Resolved::Object(Object::Commit(id, sha.to_owned())),
            "contexts" => {
                let (runs, statuses) = (newest(repo, sha), newest_statuses(repo, sha));
                let run_states =
                    runs.iter().map(|run| run.conclusion.clone().unwrap_or_else(|| run.status.clone()).to_uppercase());
                let status_states = statuses.iter().map(|one| one.state.to_uppercase());
                let own = [
                    ("checkRunCount", runs.len().into()),
                    ("statusContextCount", statuses.len().into()),
                    ("checkRunCountsByState", counts("CheckRunStateCount", run_states)),
                    ("statusContextCountsByState", counts("StatusContextStateCount", status_states)),
                ];
                let items = runs.iter().map(|run| (format!("c{}", run.id), check(world, repo, run)));
                let others = statuses.iter().map(|one| (format!("s{}", one.id), status(world, repo, one)));
                let items = items.chain(others).collect();
                let kind = "StatusCheckRollupContextConnection";
                connection_with(kind, arguments, items, &own, |_| BTreeMap::new())?
            }
            _ => null(),
        })
    }

    /// Whether branch rules require a check or status, for `isRequired`.
    pub fn required(&self, fields: &BTreeMap<&'static str, Resolved>, arguments: &Arguments) -> Resolved {
        let (Some(Resolved::Leaf(id)), Some(Resolved::Leaf(name))) = (fields.get("__repository"), fields.get("__name"))
        else {
            return false.into();
        };
        let repo = id.as_u64().and_then(|id| self.world.repositories.get(&id));
        let number = arguments.get("pullRequestNumber").and_then(Value::as_u64);
        let wanted = arguments.text("pullRequestId").and_then(|id| id.strip_prefix("PR_")?.parse::<u64>().ok());
        let required = repo.and_then(|repo| {
            let mut pulls = repo.pulls.values();
            let pull = pulls.find(|pull| Some(pull.number) == number || Some(pull.id) == wanted)?;
            let protection = repo.protections.get(&pull.base)?;
            Some(protection.required_checks.iter().any(|check| Some(check.as_str()) == name.as_str()))
        });
        required.unwrap_or(false).into()
    }
}

fn counts(kind: &'static str, states: impl Iterator<Item = String>) -> Resolved {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for state in states {
        *sums.entry(state).or_default() += 1;
    }
    let list = sums.into_iter().map(|(state, count)| ready(kind, [("state", state.into()), ("count", count.into())]));
    Resolved::List(list.collect())
}
