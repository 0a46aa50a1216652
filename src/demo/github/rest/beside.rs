//! What a pull request has beside its text: labels, who is assigned, who is asked for a review.

use axum::http::Method;
use serde_json::Value;

use super::call::{Call, Route};
use super::pulls::number;
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Pull, Repository, Role, World};

/// The most people that are assigned.
const ASSIGNEES: usize = 10;

pub fn routes() -> Vec<Route> {
    vec![
        (Method::POST, "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers", request_reviewers),
        (Method::POST, "/repos/{owner}/{repo}/issues/{number}/assignees", assign),
        (Method::POST, "/repos/{owner}/{repo}/issues/{number}/labels", add_labels),
        (Method::DELETE, "/repos/{owner}/{repo}/issues/{number}/labels/{label}", remove_label),
    ]
}

/// The texts of a list in the body of a request.
fn texts(call: &Call<'_>, field: &str) -> Vec<String> {
    let found = call.request.body.get(field).and_then(Value::as_array).into_iter().flatten();
    found.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// All of them, or nobody: one who is no collaborator is refused with all others.
fn request_reviewers(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Write, Role::Write)?;
    let number = number(world, call, id)?;
    let (people, teams) = (texts(call, "reviewers"), texts(call, "team_reviewers"));
    let repo = world.repo(id)?;
    let author = &world.pull_of(id, number)?.author;
    if people.contains(author) {
        return Err(Answer::error(422, "Review cannot be requested from pull request author."));
    }
    let person = |name: &String| world.account(name).is_some() && world.role(repo, name) > Role::None;
    let team = |slug: &String| world.team_role(repo, &repo.owner, slug) > Role::None;
    if !people.iter().all(person) || !teams.iter().all(team) {
        let full = repo.full_name();
        return Err(Answer::error(
            422,
            &format!(
                "Reviews may only be requested from collaborators. One or more of the users or teams you specified is \
                 not a collaborator of the {full} repository."
            ),
        ));
    }
    let now = world.now();
    if let Some(pull) = world.repo_mut(id)?.pulls.get_mut(&number) {
        pull.requested.extend(people);
        pull.requested_teams.extend(teams);
        pull.updated_at = now;
    }
    Ok(Answer::created(render::pull(world, world.repo(id)?, world.pull_of(id, number)?)))
}

/// Who cannot be assigned is left out without a word.
fn assign(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "issues", Access::Write, Role::Triage);
    let id = id.or_else(|_| call.repository(world, "pull_requests", Access::Write, Role::Triage))?;
    let number = number(world, call, id)?;
    let repo = world.repo(id)?;
    let mut wanted = texts(call, "assignees");
    wanted.retain(|login| world.role(repo, login) >= Role::Write);
    let now = world.now();
    if let Some(pull) = world.repo_mut(id)?.pulls.get_mut(&number) {
        let room = ASSIGNEES.saturating_sub(pull.assignees.len());
        pull.assignees.extend(wanted.into_iter().take(room));
        pull.updated_at = now;
    }
    Ok(Answer::created(render::issue(world, world.repo(id)?, world.pull_of(id, number)?)))
}

fn labels(world: &World, repo: &Repository, pull: &Pull) -> Value {
    Value::Array(pull.labels.iter().map(|name| render::label(world, repo, name)).collect())
}

fn add_labels(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "issues", Access::Write, Role::Triage);
    let id = id.or_else(|_| call.repository(world, "pull_requests", Access::Write, Role::Triage))?;
    let number = number(world, call, id)?;
    let body = &call.request.body;
    let names = body.get("labels").unwrap_or(body).as_array().cloned().unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    world.label(id, number, &names, &[])?;
    Ok(Answer::ok(labels(world, world.repo(id)?, world.pull_of(id, number)?)))
}

fn remove_label(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "issues", Access::Write, Role::Triage);
    let id = id.or_else(|_| call.repository(world, "pull_requests", Access::Write, Role::Triage))?;
    let number = number(world, call, id)?;
    let name = call.value("label").to_owned();
    if !world.pull_of(id, number)?.labels.contains(&name) {
        return Err(Answer::error(404, "Label does not exist"));
    }
    world.label(id, number, &[], &[name])?;
    Ok(Answer::ok(labels(world, world.repo(id)?, world.pull_of(id, number)?)))
}

impl World {
    /// Adds and removes labels.
    pub fn label(&mut self, id: u64, number: u64, add: &[String], remove: &[String]) -> Result<(), Answer> {
        let now = self.now();
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        let before = pull.labels.clone();
        pull.labels.extend(add.iter().cloned());
        pull.labels.retain(|name| !remove.contains(name));
        if pull.labels != before {
            pull.updated_at = now;
        }
        Ok(())
    }
}
