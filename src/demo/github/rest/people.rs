//! Accounts, teams, and what somebody may do in a repository.

use axum::http::Method;
use serde_json::{Value, json};

use super::call::{Call, Route};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Actor, Role, World};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/", root),
        (Method::GET, "/meta", meta),
        (Method::GET, "/user", me),
        (Method::GET, "/users/{login}", account),
        (Method::GET, "/orgs/{org}/teams/{slug}", team),
        (Method::GET, "/orgs/{org}/teams/{slug}/members", members),
        (Method::GET, "/orgs/{org}/teams/{slug}/repos/{owner}/{repo}", team_repository),
        (Method::GET, "/orgs/{org}/members/{login}", member),
        (Method::GET, "/repos/{owner}/{repo}/collaborators/{login}/permission", permission),
        (Method::GET, "/repos/{owner}/{repo}/collaborators/{login}", collaborator),
    ]
}

fn root(world: &mut World, _call: &Call<'_>) -> Outcome {
    let api = world.api();
    Ok(Answer::ok(json!({
        "current_user_url": format!("{api}/user"), "rate_limit_url": format!("{api}/rate_limit"),
        "repository_url": format!("{api}/repos/{{owner}}/{{repo}}"), "user_url": format!("{api}/users/{{user}}"),
    })))
}

fn meta(_world: &mut World, _call: &Call<'_>) -> Outcome {
    Ok(Answer::ok(json!({"verifiable_password_authentication": false, "installed_version": "3.17.0"})))
}

fn me(world: &mut World, call: &Call<'_>) -> Outcome {
    match call.actor() {
        Actor::User(login) => Ok(Answer::ok(render::user_full(world, login))),
        Actor::Installation { .. } | Actor::App(_) => Err(Answer::error(403, "Resource not accessible by integration")),
        Actor::Anonymous => Err(Answer::error(401, "Requires authentication")),
    }
}

fn account(world: &mut World, call: &Call<'_>) -> Outcome {
    let found = world.account(call.value("login")).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(render::user_full(world, &found.login)))
}

/// The members of a team, when the actor may see them: members of the organization, and Apps with
/// `members: read` that are installed there. To others a team does not exist.
fn team_members(world: &World, call: &Call<'_>) -> Result<Vec<String>, Answer> {
    let (org, slug) = (call.value("org"), call.value("slug"));
    let found = world.teams.iter().find(|((o, s), _)| o.eq_ignore_ascii_case(org) && s == slug);
    let members = found.map(|(_, members)| members.iter().cloned().collect()).ok_or_else(Answer::not_found)?;
    match call.actor() {
        Actor::Installation { app, installation, permissions, .. } => {
            let here = world.apps.get(app).and_then(|app| app.installations.get(installation));
            let here = here.is_some_and(|here| here.account.eq_ignore_ascii_case(org));
            match (here, permissions.contains_key("members")) {
                (true, true) => Ok(members),
                (true, false) => Err(Answer::error(403, "Resource not accessible by integration")),
                (false, _) => Err(Answer::not_found()),
            }
        }
        Actor::User(login) if in_org(world, org, login) => Ok(members),
        Actor::User(_) | Actor::Anonymous | Actor::App(_) => Err(Answer::not_found()),
    }
}

fn in_org(world: &World, org: &str, login: &str) -> bool {
    let in_team = world.teams.iter().any(|((o, _), members)| o.eq_ignore_ascii_case(org) && members.contains(login));
    let mut repos = world.repositories.values().filter(|repo| repo.owner.eq_ignore_ascii_case(org));
    in_team || repos.any(|repo| repo.roles.contains_key(login))
}

fn team(world: &mut World, call: &Call<'_>) -> Outcome {
    let members = team_members(world, call)?;
    let (org, slug) = (call.value("org"), call.value("slug"));
    Ok(Answer::ok(json!({
        "slug": slug, "name": slug, "privacy": "closed", "permission": "push", "members_count": members.len(),
        "url": format!("{}/orgs/{org}/teams/{slug}", world.api()),
        "html_url": format!("{}/orgs/{org}/teams/{slug}", world.url),
    })))
}

fn members(world: &mut World, call: &Call<'_>) -> Outcome {
    let members = team_members(world, call)?;
    let items = members.iter().map(|login| render::user(world, login)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

/// Whether a team has a right in a repository; which one only in the form of a repository.
fn team_repository(world: &mut World, call: &Call<'_>) -> Outcome {
    team_members(world, call)?;
    let id = world.find(call.value("owner"), call.value("repo")).ok_or_else(Answer::not_found)?;
    let repo = world.repo(id)?;
    let role = world.team_role(repo, call.value("org"), call.value("slug"));
    if role == Role::None {
        return Err(Answer::not_found());
    }
    if !call.request.accept.contains("repository") {
        return Ok(Answer::empty());
    }
    let mut value = render::repository(world, repo);
    value["permissions"] = flags(role);
    value["role_name"] = role.name().into();
    Ok(Answer::ok(value))
}

fn member(world: &mut World, call: &Call<'_>) -> Outcome {
    let found = in_org(world, call.value("org"), call.value("login"));
    if found { Ok(Answer::empty()) } else { Err(Answer::not_found()) }
}

fn permission(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "metadata", Access::Read, Role::Read)?;
    if *call.actor() == Actor::Anonymous {
        return Err(Answer::error(401, "Requires authentication"));
    }
    let login = world.account(call.value("login")).map(|account| account.login.clone());
    let login = login.ok_or_else(Answer::not_found)?;
    let role = world.role(world.repo(id)?, &login);
    let mut user = render::user(world, &login);
    user["role_name"] = role.name().into();
    user["permissions"] = flags(role);
    Ok(Answer::ok(json!({"permission": role.permission(), "role_name": role.name(), "user": user})))
}

/// A role as GitHub's five flags.
pub fn flags(role: Role) -> Value {
    json!({
        "pull": role >= Role::Read, "triage": role >= Role::Triage, "push": role >= Role::Write,
        "maintain": role >= Role::Maintain, "admin": role >= Role::Admin,
    })
}

fn collaborator(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "metadata", Access::Read, Role::Write)?;
    let repo = world.repo(id)?;
    let is = repo.roles.contains_key(call.value("login")) || repo.owner == call.value("login");
    if is { Ok(Answer::empty()) } else { Err(Answer::not_found()) }
}
