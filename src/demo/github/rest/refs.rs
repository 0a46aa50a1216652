//! Git refs by REST: the same rules as for a push.

use axum::http::Method;
use serde_json::Value;

use super::call::{Call, Route, create, required};
use super::render_git;
use crate::github::answer::{Answer, Outcome};
use crate::github::git::ZERO;
use crate::github::state::{Access, Role, World};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/git/ref/{ref...}", get),
        (Method::GET, "/repos/{owner}/{repo}/git/matching-refs/{ref...}", matching),
        (Method::POST, "/repos/{owner}/{repo}/git/refs", make),
        (Method::PATCH, "/repos/{owner}/{repo}/git/refs/{ref...}", update),
        (Method::DELETE, "/repos/{owner}/{repo}/git/refs/{ref...}", delete),
    ]
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let name = format!("refs/{}", call.value("ref"));
    let sha = match repo.refs.get(&name) {
        Some(sha) => sha.clone(),
        // `refs/pull/N/head` is served too, though nobody pushes there.
        None if name.starts_with("refs/pull/") => repo.git.commit_id(&name).ok_or_else(Answer::not_found)?,
        None => return Err(Answer::not_found()),
    };
    Ok(Answer::ok(render_git::git_ref(world, repo, &name, &sha)))
}

fn matching(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let prefix = format!("refs/{}", call.value("ref"));
    let found = repo.refs.iter().filter(|(name, _)| name.starts_with(&prefix));
    Ok(Answer::page(
        call.request,
        &world.api(),
        found.map(|(name, sha)| render_git::git_ref(world, repo, name, sha)).collect(),
    ))
}

fn make(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Write, Role::Write)?;
    let name = required(call, "Reference", "ref")?.to_owned();
    let sha = required(call, "Reference", "sha")?.to_owned();
    let repo = world.repo(id)?;
    let usable = name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
    if !usable || repo.git.run(&["check-ref-format", &name]).is_err() {
        return Err(Answer::error(422, &format!("{name} is not a valid ref name.")));
    }
    if repo.git.commit_id(&sha).as_deref() != Some(sha.as_str()) {
        return Err(Answer::error(422, "Object does not exist"));
    }
    if repo.refs.contains_key(&name) {
        return Err(Answer::error(422, "Reference already exists"));
    }
    refuse(world, call, id, &name, None, Some(&sha))?;
    create(world, |world| {
        world.repo(id)?.git.update_ref(&name, &sha, ZERO)?;
        world.sync(id, call.actor())?;
        Ok(Answer::created(render_git::git_ref(world, world.repo(id)?, &name, &sha)))
    })
}

fn refuse(
    world: &World,
    call: &Call<'_>,
    id: u64,
    name: &str,
    old: Option<&str>,
    new: Option<&str>,
) -> Result<(), Answer> {
    match world.refuses(world.repo(id)?, name, call.actor(), old, new) {
        None => Ok(()),
        Some(refusal) if refusal.code == "GH013" => {
            Err(Answer::error(422, &format!("Repository rule violations found\n\n{}\n\n", refusal.why)))
        }
        Some(refusal) => Err(Answer::error(422, refusal.why)),
    }
}

fn update(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Write, Role::Write)?;
    let name = format!("refs/{}", call.value("ref"));
    let new = required(call, "Reference", "sha")?.to_owned();
    let force = call.request.body.get("force").and_then(Value::as_bool).unwrap_or(false);
    let repo = world.repo(id)?;
    let old = repo.refs.get(&name).cloned().ok_or_else(|| Answer::error(422, "Reference does not exist"))?;
    if repo.git.commit_id(&new).as_deref() != Some(new.as_str()) {
        return Err(Answer::error(422, "Object does not exist"));
    }
    if !force && !repo.git.is_ancestor(&old, &new) {
        return Err(Answer::error(422, "Update is not a fast forward"));
    }
    refuse(world, call, id, &name, Some(&old), Some(&new))?;
    world.repo(id)?.git.update_ref(&name, &new, &old)?;
    world.sync(id, call.actor())?;
    Ok(Answer::ok(render_git::git_ref(world, world.repo(id)?, &name, &new)))
}

fn delete(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Write, Role::Write)?;
    let name = format!("refs/{}", call.value("ref"));
    let repo = world.repo(id)?;
    let old = repo.refs.get(&name).cloned().ok_or_else(|| Answer::error(422, "Reference does not exist"))?;
    refuse(world, call, id, &name, Some(&old), None)?;
    world.repo(id)?.git.update_ref(&name, ZERO, &old)?;
    world.sync(id, call.actor())?;
    Ok(Answer::empty())
}
