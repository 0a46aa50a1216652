//! Apps: who they are, where they are installed, and their short-lived tokens.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::call::{Call, Route};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::auth::random_text;
use crate::github::state::{Access, Actor, App, Installation, Kind, Role, World, stamp};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/app", get_app),
        (Method::POST, "/app-manifests/{code}/conversions", take),
        (Method::GET, "/app/installations", list),
        (Method::GET, "/app/installations/{id}", get_installation),
        (Method::POST, "/app/installations/{id}/access_tokens", mint),
        (Method::GET, "/installation/repositories", repositories),
        (Method::GET, "/repos/{owner}/{repo}/installation", of_repository),
        (Method::GET, "/orgs/{account}/installation", of_account),
        (Method::GET, "/users/{account}/installation", of_account),
    ]
}

pub fn app<'a>(world: &'a World, call: &Call<'_>) -> Result<&'a App, Answer> {
    match call.actor() {
        Actor::App(id) => world.apps.get(id).ok_or_else(Answer::not_found),
        Actor::Anonymous | Actor::User(_) | Actor::Installation { .. } => {
            Err(Answer::error(401, "A JSON web token could not be decoded"))
        }
    }
}

fn get_app(world: &mut World, call: &Call<'_>) -> Outcome {
    Ok(Answer::ok(render::app(world, app(world, call)?)))
}

/// Hands an App that was registered by a manifest over to whoever has the code.
fn take(world: &mut World, call: &Call<'_>) -> Outcome {
    let waiting = world.take(call.value("code"))?;
    let secret = random_text(40);
    world.apps.get_mut(&waiting.app).ok_or_else(Answer::not_found)?.client_secret = Some(secret.clone());
    let app = world.apps.get(&waiting.app).ok_or_else(Answer::not_found)?;
    let mut value = render::app(world, app);
    value["pem"] = waiting.pem.into();
    value["webhook_secret"] = waiting.secret.into();
    value["client_secret"] = secret.into();
    Ok(Answer::created(value))
}

/// Installations that are there: one without a repository was taken out.
fn there(app: &App) -> impl Iterator<Item = &Installation> {
    app.installations.values().filter(|one| !one.repositories.is_empty())
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let app = app(world, call)?;
    let items = there(app).map(|one| render::installation(world, app, one)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn installation<'a>(world: &'a World, call: &Call<'_>) -> Result<(&'a App, &'a Installation), Answer> {
    let (app, id) = (app(world, call)?, call.number("id")?);
    let found = there(app).find(|one| one.id == id).ok_or_else(Answer::not_found)?;
    Ok((app, found))
}

fn get_installation(world: &mut World, call: &Call<'_>) -> Outcome {
    let (app, found) = installation(world, call)?;
    Ok(Answer::ok(render::installation(world, app, found)))
}

fn of_repository(world: &mut World, call: &Call<'_>) -> Outcome {
    let app = app(world, call)?;
    let id = world.find(call.value("owner"), call.value("repo")).ok_or_else(Answer::not_found)?;
    let found = app.installed_in(id).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(render::installation(world, app, found)))
}

/// Of an organization or of a person; the two routes know each only their own kind.
fn of_account(world: &mut World, call: &Call<'_>) -> Outcome {
    let app = app(world, call)?;
    let account = world.account(call.value("account")).ok_or_else(Answer::not_found)?;
    let asked = call.request.path.first().map(String::as_str);
    if (asked == Some("orgs")) != (account.kind == Kind::Organization) {
        return Err(Answer::not_found());
    }
    let found = there(app).find(|one| one.account == account.login).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(render::installation(world, app, found)))
}

fn mint(world: &mut World, call: &Call<'_>) -> Outcome {
    let (app, here) = installation(world, call)?;
    let (app, here) = (app.clone(), here.clone());
    if here.suspended_at.is_some() {
        return Err(Answer::error(403, "This installation has been suspended"));
    }
    let wanted = &call.request.body;
    let unreachable = || {
        Answer::error(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    };
    let mut repositories = BTreeSet::new();
    if let Some(ids) = wanted.get("repository_ids").and_then(Value::as_array) {
        for id in ids {
            let id = id.as_u64().filter(|id| here.repositories.contains(id)).ok_or_else(unreachable)?;
            repositories.insert(id);
        }
    }
    if let Some(names) = wanted.get("repositories").and_then(Value::as_array) {
        for name in names {
            let name = name.as_str().unwrap_or_default();
            let mut mine = here.repositories.iter().filter_map(|id| world.repositories.get(id));
            repositories.insert(mine.find(|repo| repo.name == name).map(|repo| repo.id).ok_or_else(unreachable)?);
        }
    }
    if repositories.is_empty() {
        repositories = here.repositories.clone();
    }
    let permissions = narrowed(&app, wanted.get("permissions"))?;
    let shown: Map<String, Value> =
        permissions.iter().map(|(name, access)| (name.clone(), access.name().into())).collect();
    let (token, until) = world.mint((app.id, here.id), repositories.clone(), permissions);
    let repositories: Vec<Value> = repositories
        .iter()
        .filter_map(|id| world.repositories.get(id))
        .map(|repo| render::repository(world, repo))
        .collect();
    Ok(Answer::created(json!({
        "token": token, "expires_at": stamp(until), "permissions": shown,
        "repository_selection": "selected", "repositories": repositories,
    })))
}

fn narrowed(app: &App, wanted: Option<&Value>) -> Result<BTreeMap<String, Access>, Answer> {
    let Some(Value::Object(wanted)) = wanted.filter(|value| !value.is_null()) else {
        return Ok(app.permissions.clone());
    };
    let mut permissions = BTreeMap::new();
    for (name, access) in wanted {
        let access = match access.as_str() {
            Some("read") => Access::Read,
            Some("write") => Access::Write,
            _ => return Err(Answer::error(422, "The permissions requested are not valid.")),
        };
        if name != "metadata" && app.permissions.get(name).is_none_or(|has| *has < access) {
            return Err(Answer::error(422, "The permissions requested are not granted to this installation."));
        }
        permissions.insert(name.clone(), access);
    }
    permissions.insert("metadata".to_owned(), Access::Read);
    Ok(permissions)
}

fn repositories(world: &mut World, call: &Call<'_>) -> Outcome {
    let Actor::Installation { repositories, .. } = call.actor() else {
        return Err(Answer::error(
            403,
            "You must authenticate with an installation access token in order to list repositories for an installation.",
        ));
    };
    let found = repositories.iter().filter(|id| world.may(call.actor(), **id, "metadata", Access::Read, Role::Read));
    let items = found.filter_map(|id| world.repositories.get(id)).map(|repo| render::repository(world, repo)).collect();
    Ok(Answer::page_under(call.request, &world.api(), Some("repositories"), items))
}
