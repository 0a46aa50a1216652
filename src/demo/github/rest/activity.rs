//! Who moved which branch, as the hub has noted it. It pages by cursors, which are not modelled: one page is all.

use axum::http::Method;
use serde_json::json;

use super::call::{Call, Route};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Activity, Role, World, stamp};

pub fn routes() -> Vec<Route> {
    vec![(Method::GET, "/repos/{owner}/{repo}/activity", list)]
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let query = &call.request.query;
    let wanted = |key: &str| query.get(key).map(String::as_str);
    let of_ref = |name: &str| wanted("ref").is_none_or(|of| of == name || name.strip_prefix("refs/heads/") == Some(of));
    let by = |login: &str| wanted("actor").is_none_or(|of| of.eq_ignore_ascii_case(login));
    let fits = |one: &&Activity| of_ref(&one.name) && by(&one.by) && world.listed_since(one.at);
    let found = world.repo(id)?.activities.iter().rev().filter(fits).take(call.request.paging().0);
    let shown = found.map(|one| {
        json!({
            "id": one.id, "node_id": format!("PSH_{}", one.id), "before": one.before, "after": one.after,
            "ref": one.name, "timestamp": stamp(one.at), "activity_type": one.kind,
            "actor": render::user(world, &one.by),
        })
    });
    Ok(Answer::ok(shown.collect()))
}
