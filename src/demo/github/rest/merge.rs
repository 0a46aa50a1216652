//! The merge button, as an API.

use axum::http::Method;
use serde_json::json;

use super::call::{Call, Route};
use crate::github::answer::{Answer, Outcome};
use crate::github::demands::{MergeRequest, Way};
use crate::github::state::{Access, Role, World};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/pulls/{number}/merge", merged),
        (Method::PUT, "/repos/{owner}/{repo}/pulls/{number}/merge", merge),
    ]
}

fn merged(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Read, Role::Read)?;
    let pull = world.pull_of(id, call.number("number")?)?;
    if pull.merged.is_some() { Ok(Answer::empty()) } else { Err(Answer::not_found()) }
}

fn merge(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Write, Role::Write)?;
    // A merge writes contents too; an App without it is refused.
    world.need(call.actor(), id, "contents", Access::Write, Role::Write)?;
    let number = call.number("number")?;
    world.pull_of(id, number)?;
    let request = call.request;
    let wanted = MergeRequest {
        actor: call.actor(),
        method: request.text("merge_method").unwrap_or("merge"),
        sha: request.text("sha"),
        title: request.text("commit_title"),
        message: request.text("commit_message"),
        way: Way::Button,
    };
    let sha = world.merge(id, number, &wanted)?;
    Ok(Answer::ok(json!({"sha": sha, "merged": true, "message": "Pull Request successfully merged"})))
}
