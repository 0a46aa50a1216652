//! Releases, the newest first. Drafts are shown to those who may write, and have no tag yet.

use axum::http::Method;

use super::call::{Call, Route};
use super::{render, render_git};
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Role, World};

pub fn routes() -> Vec<Route> {
    vec![(Method::GET, "/repos/{owner}/{repo}/releases", list)]
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let writes = world.need(call.actor(), id, "contents", Access::Write, Role::Write).is_ok();
    let repo = world.repo(id)?;
    let shown = repo.releases.iter().rev().filter(|release| writes || !release.draft);
    let shown = shown.map(|release| render_git::release(world, repo, release)).collect();
    Ok(Answer::page(call.request, &format!("{}/releases", render::repository_url(world, repo)), shown))
}
