//! Check runs, which only Apps write, and commit statuses, which everybody with write may.

use axum::http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::{Call, Route, create, required};
use super::{render, render_checks};
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Actor, Annotation, CheckRun, Role, Status, World};
use crate::github::webhooks;

/// GitHub's cap on summary and text of an output, in characters.
const LIMIT: usize = 65_535;
/// Annotations that one request may bring; each request adds to those before.
const ANNOTATIONS: usize = 50;
/// What a completed check may conclude.
const CONCLUSIONS: [&str; 7] =
    ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"];

pub fn routes() -> Vec<Route> {
    vec![
        (Method::POST, "/repos/{owner}/{repo}/check-runs", write),
        (Method::GET, "/repos/{owner}/{repo}/check-runs/{check}", get),
        (Method::PATCH, "/repos/{owner}/{repo}/check-runs/{check}", update),
        (Method::GET, "/repos/{owner}/{repo}/check-runs/{check}/annotations", annotations),
        (Method::GET, "/repos/{owner}/{repo}/commits/{ref}/check-runs", list),
        (Method::GET, "/repos/{owner}/{repo}/commits/{ref}/status", combined),
        (Method::GET, "/repos/{owner}/{repo}/commits/{ref}/statuses", statuses),
        (Method::POST, "/repos/{owner}/{repo}/statuses/{sha}", set_status),
    ]
}

fn author(call: &Call<'_>) -> Result<u64, Answer> {
    match call.actor() {
        Actor::Installation { app, .. } => Ok(*app),
        Actor::Anonymous | Actor::User(_) | Actor::App(_) => {
            Err(Answer::error(403, "You must authenticate via a GitHub App."))
        }
    }
}

/// Takes what the body says over into a check run; says what is wrong with it.
fn fill(check: &mut CheckRun, body: &Value, now: Timestamp) -> Result<(), Answer> {
    let invalid = |field: &str| Answer::invalid_field("CheckRun", field, "invalid");
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let time = |key: &str| match body.get(key).and_then(Value::as_str) {
        Some(text) => text.parse::<Timestamp>().map(Some).map_err(|_| invalid(key)),
        None => Ok(None),
    };
    if let Some(status) = text("status") {
        if !matches!(status.as_str(), "queued" | "in_progress" | "completed") {
            return Err(invalid("status"));
        }
        if status != "completed" {
            check.conclusion = None;
            check.completed_at = None;
        }
        check.status = status;
    }
    if let Some(conclusion) = text("conclusion") {
        if !CONCLUSIONS.contains(&conclusion.as_str()) {
            return Err(invalid("conclusion"));
        }
        check.status = "completed".to_owned();
        check.conclusion = Some(conclusion);
        check.completed_at = check.completed_at.or(Some(now));
    }
    if check.status == "completed" && check.conclusion.is_none() {
        return Err(Answer::invalid_field("CheckRun", "conclusion", "missing_field"));
    }
    check.completed_at = time("completed_at")?.or(check.completed_at);
    check.started_at = time("started_at")?.or(check.started_at);
    check.details_url = text("details_url").or(check.details_url.take());
    check.external_id = text("external_id").or(check.external_id.take());
    check.name = text("name").unwrap_or_else(|| check.name.clone());
    let Some(output) = body.get("output").filter(|output| output.is_object()) else { return Ok(()) };
    let part = |key: &str| output.get(key).and_then(Value::as_str).map(str::to_owned);
    let (Some(title), Some(summary)) = (part("title").or(check.title.take()), part("summary")) else {
        return Err(Answer::error(422, "Invalid request.\n\n\"summary\", \"title\" weren't supplied."));
    };
    for (field, long) in [("summary", Some(&summary)), ("text", part("text").as_ref())] {
        if long.is_some_and(|text| text.chars().count() > LIMIT) {
            let message = format!("Only {LIMIT} characters are allowed; {field} is longer.");
            return Err(Answer::invalid("CheckRun", &message));
        }
    }
    check.annotations.extend(annotated(output)?);
    check.title = Some(title);
    check.summary = Some(summary);
    check.text = part("text");
    Ok(())
}

/// The annotations of an output.
fn annotated(output: &Value) -> Result<Vec<Annotation>, Answer> {
    let list = output.get("annotations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if list.len() > ANNOTATIONS {
        let message =
            format!("Invalid request.\n\nNo more than {ANNOTATIONS} items are allowed; {} were supplied.", list.len());
        return Err(Answer::error(422, &message));
    }
    let one = |given: &Value| {
        let text = |key: &str| given.get(key).and_then(Value::as_str).map(str::to_owned);
        let line = |key: &str| given.get(key).and_then(Value::as_u64);
        let level = text("annotation_level").filter(|word| matches!(word.as_str(), "notice" | "warning" | "failure"));
        Some(Annotation {
            path: text("path")?,
            start_line: line("start_line")?,
            end_line: line("end_line")?,
            level: level?,
            message: text("message")?,
            title: text("title"),
        })
    };
    let all: Option<Vec<Annotation>> = list.iter().map(one).collect();
    all.ok_or_else(|| Answer::error(422, "Invalid request.\n\nAn annotation lacks a part, or has a wrong one."))
}

fn write(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "checks", Access::Write, Role::Write)?;
    let app = author(call)?;
    let name = required(call, "CheckRun", "name")?.to_owned();
    let sha = required(call, "CheckRun", "head_sha")?.to_owned();
    if world.repo(id)?.git.commit_id(&sha).as_deref() != Some(sha.as_str()) {
        return Err(Answer::error(422, &format!("No commit found for SHA: {sha}")));
    }
    create(world, |world| {
        let (check_id, now) = (world.id(), world.now());
        let mut check = CheckRun {
            id: check_id,
            name,
            head_sha: sha,
            app,
            status: "queued".to_owned(),
            conclusion: None,
            title: None,
            summary: None,
            text: None,
            details_url: None,
            external_id: None,
            started_at: Some(now),
            completed_at: None,
            annotations: Vec::new(),
        };
        fill(&mut check, &call.request.body, now)?;
        settle(world, id, check, "created")?;
        let answer = show(world, id, check_id)?;
        Ok(Answer { status: axum::http::StatusCode::CREATED, ..answer })
    })
}

/// Puts a check run where the world keeps it, and tells those who listen.
pub fn settle(world: &mut World, id: u64, check: CheckRun, action: &str) -> Result<(), Answer> {
    let login = world.apps.get(&check.app).map_or_else(String::new, |app| app.login());
    let word = check.conclusion.as_deref().unwrap_or(&check.status).to_owned();
    world.note(id, format!("check {} is {word} at {} by {login}", check.name, &check.head_sha[..7]));
    let key = check.id;
    world.repo_mut(id)?.checks.insert(key, check);
    webhooks::check_run(world, id, key, action, &login);
    Ok(())
}

fn show(world: &World, id: u64, check: u64) -> Outcome {
    let repo = world.repo(id)?;
    let found = repo.checks.get(&check).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(render_checks::check(world, repo, found)))
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "checks", Access::Read, Role::Read)?;
    show(world, id, call.number("check")?)
}

fn annotations(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "checks", Access::Read, Role::Read)?;
    let (repo, key) = (world.repo(id)?, call.number("check")?);
    let check = repo.checks.get(&key).ok_or_else(Answer::not_found)?;
    let items = check.annotations.iter().map(|one| render_checks::annotation(world, repo, check, one)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn update(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "checks", Access::Write, Role::Write)?;
    let app = author(call)?;
    let key = call.number("check")?;
    let mut check = world.repo(id)?.checks.get(&key).cloned().ok_or_else(Answer::not_found)?;
    if check.app != app {
        return Err(Answer::error(403, "Invalid app_id `".to_owned().as_str()));
    }
    fill(&mut check, &call.request.body, world.now())?;
    let action = if check.conclusion.is_some() { "completed" } else { "created" };
    settle(world, id, check, action)?;
    show(world, id, key)
}

fn commit(world: &World, call: &Call<'_>, id: u64) -> Result<String, Answer> {
    let (repo, name) = (world.repo(id)?, call.value("ref"));
    let found = repo.head(name).map(str::to_owned).or_else(|| repo.git.commit_id(name));
    found.ok_or_else(|| Answer::error(422, &format!("No commit found for SHA: {name}")))
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "checks", Access::Read, Role::Read)?;
    let sha = commit(world, call, id)?;
    let repo = world.repo(id)?;
    let query = &call.request.query;
    let mut found: Vec<&CheckRun> = repo
        .checks
        .values()
        .filter(|check| check.head_sha == sha)
        .filter(|check| query.get("check_name").is_none_or(|name| *name == check.name))
        .filter(|check| query.get("app_id").is_none_or(|app| *app == check.app.to_string()))
        .filter(|check| query.get("status").is_none_or(|status| *status == check.status))
        .collect();
    found.reverse();
    if query.get("filter").is_none_or(|filter| filter != "all") {
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|check| seen.insert((check.name.clone(), check.app)));
    }
    let items = found.into_iter().map(|check| render_checks::check(world, repo, check)).collect();
    Ok(Answer::page_under(call.request, &world.api(), Some("check_runs"), items))
}

fn of_commit<'a>(world: &'a World, id: u64, sha: &str) -> Result<Vec<&'a Status>, Answer> {
    let mut found: Vec<&Status> = world.repo(id)?.statuses.iter().filter(|status| status.sha == sha).collect();
    found.reverse();
    Ok(found)
}

fn combined(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "statuses", Access::Read, Role::Read)?;
    let sha = commit(world, call, id)?;
    let mut found = of_commit(world, id, &sha)?;
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|status| seen.insert(status.context.clone()));
    let any = |states: &[&str]| found.iter().any(|status| states.contains(&status.state.as_str()));
    let state = if any(&["error", "failure"]) {
        "failure"
    } else if found.is_empty() || any(&["pending"]) {
        "pending"
    } else {
        "success"
    };
    let repo = world.repo(id)?;
    let api = render::repository_url(world, repo);
    let mut items: Vec<Value> = found.iter().map(|status| render_checks::status(world, repo, status)).collect();
    // Here, other than in the list, GitHub does not say by whom.
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        item.remove("creator");
    }
    Ok(Answer::ok(json!({
        "state": state, "sha": sha, "total_count": items.len(), "statuses": items,
        "repository": render::repository(world, repo), "commit_url": format!("{api}/commits/{sha}"),
        "url": format!("{api}/commits/{sha}/status"),
    })))
}

fn statuses(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "statuses", Access::Read, Role::Read)?;
    let sha = commit(world, call, id)?;
    let repo = world.repo(id)?;
    let items =
        of_commit(world, id, &sha)?.into_iter().map(|status| render_checks::status(world, repo, status)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn set_status(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "statuses", Access::Write, Role::Write)?;
    let sha = call.value("sha").to_owned();
    if world.repo(id)?.git.commit_id(&sha).as_deref() != Some(sha.as_str()) {
        return Err(Answer::error(422, &format!("No commit found for SHA: {sha}")));
    }
    let state = required(call, "Status", "state")?.to_owned();
    if !matches!(state.as_str(), "error" | "failure" | "pending" | "success") {
        return Err(Answer::invalid_field("Status", "state", "custom"));
    }
    let text = |key: &str| call.request.text(key).map(str::to_owned);
    let description = text("description");
    if description.as_ref().is_some_and(|text| text.chars().count() > 140) {
        return Err(Answer::invalid("Status", "description is too long (maximum is 140 characters)"));
    }
    let login = world.login(call.actor());
    create(world, |world| {
        let (status, now) = (world.id(), world.now());
        let context = text("context").unwrap_or_else(|| "default".to_owned());
        world.note(id, format!("status {context} is {state} at {} by {login}", &sha[..7]));
        world.repo_mut(id)?.statuses.push(Status {
            id: status,
            sha,
            context,
            state,
            description,
            target_url: text("target_url"),
            creator: login.clone(),
            created_at: now,
        });
        webhooks::status(world, id, status, &login);
        let repo = world.repo(id)?;
        let found = repo.statuses.last().ok_or_else(Answer::not_found)?;
        Ok(Answer::created(render_checks::status(world, repo, found)))
    })
}
