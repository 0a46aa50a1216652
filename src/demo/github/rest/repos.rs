//! Repositories and their branches.

use axum::http::Method;
use serde_json::{Value, json};

use super::call::{Call, Route};
use super::{people, render, render_git};
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Actor, Protection, Repository, Role, World};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}", get),
        (Method::GET, "/repositories/{id}", by_id),
        (Method::GET, "/repos/{owner}/{repo}/branches", branches),
        // A branch's name may hold slashes, so the longer route stands first.
        (Method::GET, "/repos/{owner}/{repo}/branches/{branch...}", branch),
    ]
}

fn show(world: &World, call: &Call<'_>, id: u64) -> Outcome {
    let repo = world.repo(id)?;
    let mut value = render::repository_full(world, repo);
    let role = match call.actor() {
        Actor::User(login) => world.role(repo, login),
        Actor::Installation { permissions, .. } => match permissions.get("contents") {
            Some(Access::Write) => Role::Write,
            Some(Access::Read) | None => Role::Read,
        },
        Actor::Anonymous | Actor::App(_) => Role::Read,
    };
    value["permissions"] = people::flags(role);
    Ok(Answer::ok(value))
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "metadata", Access::Read, Role::Read)?;
    show(world, call, id)
}

fn by_id(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.number("id")?;
    world.need(call.actor(), id, "metadata", Access::Read, Role::Read)?;
    show(world, call, id)
}

fn branches(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let names = repo.refs.iter().filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?, sha)));
    let items = names.map(|(name, sha)| short(world, repo, name, sha)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn short(world: &World, repo: &Repository, name: &str, sha: &str) -> Value {
    let api = render::repository_url(world, repo);
    json!({
        "name": name, "commit": {"sha": sha, "url": format!("{api}/commits/{sha}")},
        "protected": repo.protections.contains_key(name),
    })
}

fn branch(world: &mut World, call: &Call<'_>) -> Outcome {
    if let Some(name) = call.value("branch").strip_suffix("/protection") {
        return protection(world, call, name);
    }
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let (repo, name) = (world.repo(id)?, call.value("branch"));
    let sha = repo.head(name).ok_or_else(|| Answer::error(404, "Branch not found"))?;
    let mut value = short(world, repo, name, sha);
    value["commit"] = render_git::commit(world, repo, &repo.git.commit(sha)?);
    let api = format!("{}/branches/{name}", render::repository_url(world, repo));
    let rule = repo.protections.get(name);
    let contexts = rule.map(|rule| rule.required_checks.clone()).unwrap_or_default();
    let level = if contexts.is_empty() { "off" } else { "non_admins" };
    value["protection"] = json!({
        "enabled": rule.is_some(),
        "required_status_checks": {"enforcement_level": level, "contexts": contexts, "checks": checks(&contexts)},
    });
    value["protection_url"] = format!("{api}/protection").into();
    value["_links"] = json!({"self": api, "html": format!("{}/tree/{name}", render::page_url(world, repo))});
    Ok(Answer::ok(value))
}

fn checks(contexts: &[String]) -> Vec<Value> {
    contexts.iter().map(|name| json!({"context": name, "app_id": null})).collect()
}

/// Classic protection: only for those who administer, and 404 where there is none.
fn protection(world: &mut World, call: &Call<'_>, name: &str) -> Outcome {
    let id = call.repository(world, "administration", Access::Read, Role::Admin)?;
    let repo = world.repo(id)?;
    let rule = repo.protections.get(name).ok_or_else(|| Answer::error(404, "Branch not protected"))?;
    Ok(Answer::ok(render_protection(world, repo, name, rule)))
}

fn render_protection(world: &World, repo: &Repository, name: &str, rule: &Protection) -> Value {
    let url = format!("{}/branches/{name}/protection", render::repository_url(world, repo));
    let apps = rule.bypass_apps.iter().filter_map(|id| world.apps.get(id));
    let mut value = json!({
        "url": url,
        "enforce_admins": {"url": format!("{url}/enforce_admins"), "enabled": rule.enforce_admins},
        "required_linear_history": {"enabled": false}, "allow_force_pushes": {"enabled": false},
        "allow_deletions": {"enabled": false}, "block_creations": {"enabled": false},
        "required_conversation_resolution": {"enabled": false}, "lock_branch": {"enabled": false},
        "allow_fork_syncing": {"enabled": false},
    });
    if rule.reviews() {
        value["required_pull_request_reviews"] = json!({
            "url": format!("{url}/required_pull_request_reviews"), "dismiss_stale_reviews": rule.dismiss_stale,
            "require_code_owner_reviews": rule.require_code_owner_reviews,
            "required_approving_review_count": rule.required_approving_review_count,
            "require_last_push_approval": false,
            "bypass_pull_request_allowances": {
                "users": [], "teams": [], "apps": apps.map(|app| render::app(world, app)).collect::<Vec<_>>(),
            },
        });
    }
    if !rule.required_checks.is_empty() {
        value["required_status_checks"] = json!({
            "url": format!("{url}/required_status_checks"), "strict": rule.strict, "contexts": rule.required_checks,
            "contexts_url": format!("{url}/required_status_checks/contexts"), "checks": checks(&rule.required_checks),
        });
    }
    value
}
