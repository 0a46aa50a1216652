//! The pages of Apps: registering one by a manifest, and installing it. A browser comes to the first from another site,
//! which may show what it proposes and no more: the App is made by a form of this server.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::page::{Page, Visit};
use crate::github::answer::Answer;
use crate::github::manifest::Manifest;
use crate::github::state::{Kind, World};

/// Whom an App is registered for, by the path of the page.
pub enum Owner<'p> {
    /// An organization.
    Organization(&'p str),
    /// Whoever looks.
    Visitor,
}

impl<'p> Owner<'p> {
    /// Of a path; none where it is another page.
    pub fn of(path: &[&'p str]) -> Option<Self> {
        match path {
            ["organizations", name, "settings", "apps", "new"] => Some(Self::Organization(name)),
            ["settings", "apps", "new"] => Some(Self::Visitor),
            _ => None,
        }
    }

    fn login(&self, world: &World, visit: &Visit<'_>) -> Result<String, Page> {
        let who = visit.who.clone().ok_or_else(|| Page::from(Answer::error(401, "Choose who you are first.")))?;
        match self {
            Self::Visitor => Ok(who),
            Self::Organization(name) => {
                let account = world.account(name).filter(|account| account.kind == Kind::Organization);
                account.map(|account| account.login.clone()).ok_or_else(Page::not_found)
            }
        }
    }
}

/// Shows what a manifest proposes; nothing is made.
pub fn propose(world: &World, visit: &Visit<'_>, owner: &Owner<'_>, text: &str) -> Result<Page, Page> {
    let login = owner.login(world, visit)?;
    let manifest = Manifest::read(world, text)?;
    let permissions: Vec<Value> =
        manifest.default_permissions.iter().map(|(name, level)| json!({"name": name, "level": level})).collect();
    let state = visit.incoming.parameters().get("state").cloned().unwrap_or_default();
    Ok(Page::new(
        "app",
        "Create GitHub App",
        json!({
            "owner": login, "name": manifest.name, "permissions": permissions, "events": manifest.default_events.join(", "),
            "manifest": text, "state": state, "action": visit.incoming.path,
        }),
    ))
}

/// Makes the App; gives where the browser goes with the code.
pub fn make(
    world: &mut World,
    visit: &Visit<'_>,
    owner: &Owner<'_>,
    (text, name, state): (&str, &str, &str),
) -> Result<url::Url, Page> {
    let login = owner.login(world, visit)?;
    let manifest = Manifest::read(world, text)?.called(world, name)?;
    let mut back = url::Url::parse(&manifest.redirect_url).map_err(|_| Page::not_found())?;
    let code = world.register(&manifest, &login)?;
    back.query_pairs_mut().append_pair("code", &code);
    if !state.is_empty() {
        back.query_pairs_mut().append_pair("state", state);
    }
    Ok(back)
}

/// Where an App can be installed.
pub fn offer(world: &World, visit: &Visit<'_>, slug: &str) -> Result<Page, Page> {
    let app = world.apps.values().find(|app| app.slug == slug).ok_or_else(Page::not_found)?;
    let who = visit.who.clone().ok_or_else(|| Page::from(Answer::error(401, "Choose who you are first.")))?;
    let repositories: Vec<String> = world.offered(app, &who).into_iter().collect();
    let data = json!({"slug": app.slug, "owner": app.owner, "repositories": repositories});
    Ok(Page::new("install", &format!("Install {}", app.slug), data))
}

/// Installs an App on a repository of its owner.
pub fn install(world: &mut World, visit: &Visit<'_>, slug: &str, repository: &str) -> Result<Page, Page> {
    let app = world.apps.values().find(|app| app.slug == slug).ok_or_else(Page::not_found)?;
    let who = visit.who.clone().unwrap_or_default();
    if !world.offered(app, &who).contains(repository) {
        return Err(Answer::error(403, "You may not install it there.").into());
    }
    let (id, slug) = (app.id, app.slug.clone());
    world.install(id, repository)?;
    Ok(Page::says(StatusCode::OK, "Installed", &format!("{slug} is installed on {repository}.")))
}
