//! The page on which a person lets an App know who they are. A browser comes to it from another site; what is given out
//! is given by a form of this server.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::json;
use url::Url;

use super::page::{Page, Visit};
use crate::github::answer::Answer;
use crate::github::oauth::Wish;
use crate::github::state::World;

/// Asks.
pub fn ask(world: &World, visit: &Visit<'_>) -> Result<Page, Page> {
    let wish = Wish::read(world, &visit.incoming.parameters())?;
    let slug = world.apps.get(&wish.app).map(|app| app.slug.clone()).ok_or_else(Page::not_found)?;
    let Some(who) = visit.who.clone() else {
        return Ok(Page::says(StatusCode::OK, "Sign in", "Choose above who you are; then you are asked for consent."));
    };
    let data = json!({"slug": slug, "login": who, "query": visit.incoming.query});
    Ok(Page::new("consent", &format!("Authorize {slug}"), data))
}

/// Takes the answer; gives where the browser goes with it.
pub fn answer(world: &mut World, visit: &Visit<'_>, (query, consents): (&str, bool)) -> Result<Url, Page> {
    let given: BTreeMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let wish = Wish::read(world, &given)?;
    let who = visit.who.clone().ok_or_else(|| Page::from(Answer::error(401, "Choose who you are first.")))?;
    Ok(if consents { world.consent(&wish, &who) } else { wish.denied() })
}
