//! Deployments of commits, and the statuses of each: what a delivery controller writes.

use axum::http::Method;
use serde_json::{Value, json};

use super::call::{Call, Route, create, required};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Deployment, DeploymentStatus, Role, World, stamp};
use crate::github::webhooks;

/// What a status may say.
const STATES: [&str; 7] = ["error", "failure", "inactive", "in_progress", "queued", "pending", "success"];

pub fn routes() -> Vec<Route> {
    vec![
        (Method::POST, "/repos/{owner}/{repo}/deployments", deploy),
        (Method::POST, "/repos/{owner}/{repo}/deployments/{deployment}/statuses", set_status),
    ]
}

fn deploy(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "deployments", Access::Write, Role::Write)?;
    let name = required(call, "Deployment", "ref")?.to_owned();
    let repo = world.repo(id)?;
    let sha = repo.head(&name).map(str::to_owned).or_else(|| repo.git.commit_id(&name));
    let sha = sha.ok_or_else(|| Answer::error(422, &format!("No ref found for: {name}")))?;
    let environment = call.request.text("environment").unwrap_or("production").to_owned();
    let login = world.login(call.actor());
    create(world, |world| {
        let deployment = begin(world, id, &sha, &environment, &login)?;
        shown(world, id, &deployment).map(Answer::created)
    })
}

fn set_status(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "deployments", Access::Write, Role::Write)?;
    let number = call.number("deployment")?;
    let state = required(call, "DeploymentStatus", "state")?.to_owned();
    if !STATES.contains(&state.as_str()) {
        return Err(Answer::invalid_field("DeploymentStatus", "state", "custom"));
    }
    let login = world.login(call.actor());
    create(world, |world| say(world, id, number, &state, &login).map(Answer::created))
}

/// A deployment of a commit begins.
pub fn begin(world: &mut World, id: u64, sha: &str, environment: &str, login: &str) -> Result<Deployment, Answer> {
    let (number, now) = (world.id(), world.now());
    world.note(id, format!("deployment of {} to {environment} by {login}", &sha[..7]));
    let (sha, environment, creator) = (sha.to_owned(), environment.to_owned(), login.to_owned());
    let deployment = Deployment { id: number, sha, environment, creator, created_at: now, status: None };
    world.repo_mut(id)?.deployments.push(deployment.clone());
    Ok(deployment)
}

/// Something is said of a deployment. As at the hub, a success makes what was deployed to the environment before
/// inactive.
pub fn say(world: &mut World, id: u64, number: u64, state: &str, login: &str) -> Result<Value, Answer> {
    let now = world.now();
    let status = DeploymentStatus { state: state.to_owned(), creator: login.to_owned(), created_at: now };
    let repo = world.repo_mut(id)?;
    let here = repo.deployments.iter().position(|one| one.id == number).ok_or_else(Answer::not_found)?;
    let environment = repo.deployments[here].environment.clone();
    for (index, one) in repo.deployments.iter_mut().enumerate() {
        if index == here {
            one.status = Some(status.clone());
        } else if state == "success" && index < here && one.environment == environment {
            let was = one.status.as_mut().filter(|was| was.state == "success");
            was.into_iter().for_each(|was| was.state = "inactive".to_owned());
        }
    }
    world.note(id, format!("deployment to {environment} is {state} by {login}"));
    let status_id = world.id();
    let api = address(world, id, number)?;
    let body = json!({
        "url": format!("{api}/statuses/{status_id}"), "id": status_id, "node_id": format!("DES_{status_id}"),
        "state": state, "description": "", "environment": environment, "target_url": api,
        "creator": render::user(world, login), "created_at": stamp(now), "updated_at": stamp(now),
        "deployment_url": api, "repository_url": render::repository_url(world, world.repo(id)?),
    });
    webhooks::deployment_status(world, id, body.clone(), login);
    Ok(body)
}

/// Where a deployment is found.
fn address(world: &World, id: u64, number: u64) -> Result<String, Answer> {
    Ok(format!("{}/deployments/{number}", render::repository_url(world, world.repo(id)?)))
}

fn shown(world: &World, id: u64, deployment: &Deployment) -> Result<Value, Answer> {
    let api = address(world, id, deployment.id)?;
    Ok(json!({
        "url": api, "id": deployment.id, "node_id": format!("DE_{}", deployment.id), "sha": deployment.sha,
        "ref": deployment.sha, "task": "deploy", "payload": {}, "environment": deployment.environment,
        "description": null, "creator": render::user(world, &deployment.creator),
        "created_at": stamp(deployment.created_at), "updated_at": stamp(deployment.created_at),
        "statuses_url": format!("{api}/statuses"),
        "repository_url": render::repository_url(world, world.repo(id)?),
    }))
}
