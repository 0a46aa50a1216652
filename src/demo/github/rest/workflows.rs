//! Workflows as far as the bot meets them: one is dispatched by file, and its runs are listed. Nothing
//! runs here; somebody says how a run ends.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::{Value, json};
use serde_yaml::Value as Yaml;

use super::call::{Call, Route, create, required};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Repository, Role, WorkflowRun, World, stamp};

/// What the inputs of one dispatch may hold in all, in characters.
const LIMIT: usize = 65_535;

pub fn routes() -> Vec<Route> {
    vec![
        (Method::POST, "/repos/{owner}/{repo}/actions/workflows/{workflow}/dispatches", dispatch),
        (Method::GET, "/repos/{owner}/{repo}/actions/workflows/{workflow}/runs", runs),
    ]
}

/// A workflow's file on a branch, as far as a dispatch looks at it.
fn workflow(repo: &Repository, branch: &str, file: &str) -> Option<Yaml> {
    let bytes = repo.git.file(repo.head(branch)?, &format!(".github/workflows/{file}"))?;
    serde_yaml::from_slice(&bytes).ok()
}

fn dispatch(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "actions", Access::Write, Role::Write)?;
    let file = call.value("workflow").to_owned();
    let branch = required(call, "Workflow", "ref")?.trim_start_matches("refs/heads/").to_owned();
    let repo = world.repo(id)?;
    // Known at all is what lies on the default branch.
    workflow(repo, &repo.default_branch, &file).ok_or_else(Answer::not_found)?;
    let head = repo.head(&branch).ok_or_else(|| Answer::error(422, &format!("No ref found for: {branch}")))?.to_owned();
    let found = workflow(repo, &branch, &file).ok_or_else(Answer::not_found)?;
    let Some(trigger) = found.get("on").and_then(|on| on.get("workflow_dispatch")) else {
        return Err(Answer::error(422, "Workflow does not have 'workflow_dispatch' trigger"));
    };
    let inputs = inputs(trigger, &call.request.body)?;
    let named = |key: &str| found.get(key).and_then(Yaml::as_str);
    let name = named("name").unwrap_or(&file).to_owned();
    let title = named("run-name").map_or_else(|| name.clone(), |pattern| titled(pattern, &inputs));
    create(world, |world| {
        let (run, now) = (world.id(), world.now());
        let actor = world.login(call.actor());
        world.note(id, format!("dispatched {file} ({title}) by {actor}"));
        let run = WorkflowRun {
            id: run,
            workflow: file,
            name,
            title,
            actor,
            branch,
            head_sha: head,
            inputs,
            conclusion: None,
            created_at: now,
            updated_at: now,
        };
        world.repo_mut(id)?.runs.insert(run.id, run);
        Ok(Answer::empty())
    })
}

/// The inputs that were given, if the workflow asks for exactly such.
fn inputs(trigger: &Yaml, body: &Value) -> Result<BTreeMap<String, String>, Answer> {
    let asked = trigger.get("inputs").and_then(Yaml::as_mapping);
    let given = body.get("inputs").and_then(Value::as_object);
    let known = |name: &str| asked.and_then(|asked| asked.get(name));
    let unexpected: Vec<&String> =
        given.into_iter().flatten().map(|(name, _)| name).filter(|name| known(name).is_none()).collect();
    if !unexpected.is_empty() {
        return Err(Answer::error(422, &format!("Unexpected inputs provided: {unexpected:?}")));
    }
    for (name, about) in asked.into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        let needed = about.get("required").and_then(Yaml::as_bool).unwrap_or(false) && about.get("default").is_none();
        if needed && !given.is_some_and(|given| given.contains_key(name)) {
            return Err(Answer::error(422, &format!("Required input '{name}' not provided")));
        }
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let inputs: BTreeMap<String, String> =
        given.into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect();
    if inputs.values().map(|value| value.chars().count()).sum::<usize>() > LIMIT {
        return Err(Answer::error(422, "inputs are too large."));
    }
    Ok(inputs)
}

/// The title of a run, with its inputs in it.
fn titled(pattern: &str, inputs: &BTreeMap<String, String>) -> String {
    inputs
        .iter()
        .fold(pattern.to_owned(), |title, (name, value)| title.replace(&format!("${{{{ inputs.{name} }}}}"), value))
}

fn runs(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "actions", Access::Read, Role::Read)?;
    let file = call.value("workflow");
    let repo = world.repo(id)?;
    workflow(repo, &repo.default_branch, file).ok_or_else(Answer::not_found)?;
    let query = &call.request.query;
    let is = |key: &str, value: &str| query.get(key).is_none_or(|wanted| wanted == value);
    let since = query.get("created").and_then(|range| range.strip_prefix(">="));
    let found = repo.runs.values().rev().filter(|run| run.workflow == file).filter(|run| {
        is("event", "workflow_dispatch")
            && is("actor", &run.actor)
            && is("branch", &run.branch)
            && since.is_none_or(|since| stamp(run.created_at).as_str() >= since)
    });
    let items = found.map(|run| shown(world, repo, run)).collect();
    Ok(Answer::page_under(call.request, &world.api(), Some("workflow_runs"), items))
}

/// A run.
fn shown(world: &World, repo: &Repository, run: &WorkflowRun) -> Value {
    let api = render::repository_url(world, repo);
    let (own, page) = (format!("{api}/actions/runs/{}", run.id), render::page_url(world, repo));
    let whole = render::repository(world, repo);
    let commit = repo.git.commit(&run.head_sha).ok();
    let signed = json!({"name": run.actor, "email": format!("{}@users.noreply.github.com", run.actor)});
    let number = repo.runs.values().filter(|other| other.workflow == run.workflow && other.id <= run.id).count();
    let workflow = repo.runs.values().filter(|other| other.workflow == run.workflow).map(|other| other.id).min();
    json!({
        "id": run.id, "node_id": format!("WFR_{}", run.id), "name": run.name, "display_title": run.title,
        "head_branch": run.branch, "head_sha": run.head_sha, "path": format!(".github/workflows/{}", run.workflow),
        "run_number": number, "run_attempt": 1, "event": "workflow_dispatch",
        "status": if run.conclusion.is_some() { "completed" } else { "in_progress" }, "conclusion": run.conclusion,
        "workflow_id": workflow, "check_suite_id": run.id, "check_suite_node_id": format!("CS_{}", run.id),
        "url": own, "html_url": format!("{page}/actions/runs/{}", run.id), "pull_requests": [],
        "created_at": stamp(run.created_at), "updated_at": stamp(run.updated_at), "run_started_at": stamp(run.created_at),
        "actor": render::user(world, &run.actor), "triggering_actor": render::user(world, &run.actor),
        "jobs_url": format!("{own}/jobs"), "logs_url": format!("{own}/logs"),
        "check_suite_url": format!("{api}/check-suites/{}", run.id), "artifacts_url": format!("{own}/artifacts"),
        "cancel_url": format!("{own}/cancel"), "rerun_url": format!("{own}/rerun"), "previous_attempt_url": null,
        "workflow_url": format!("{api}/actions/workflows/{}", run.workflow),
        "head_commit": {
            "id": run.head_sha, "tree_id": commit.as_ref().map(|commit| commit.tree.clone()).unwrap_or_default(),
            "message": commit.as_ref().map(|commit| commit.message.clone()).unwrap_or_default(),
            "timestamp": stamp(run.created_at), "author": signed, "committer": signed,
        },
        "repository": whole.clone(), "head_repository": whole,
    })
}
