//! REST v3 as far as the bot, `gh` and curl use it. This file finds the route; each handler answers
//! in the words and with the status codes of GitHub.

mod activity;
mod apps;
mod checks;
mod comments;
mod contents;
pub mod deployments;
mod merge;
mod objects;
mod people;
mod pulls;
mod reactions;
mod refs;
mod repos;
mod reviews;
mod rules;
mod workflows;

pub mod render;
pub mod render_git;

pub use checks::settle;
pub use comments::issue;

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::Value;

use super::answer::{Answer, Outcome, Request};
use super::state::{Access, Actor, Repository, Role, World};

/// A request with the values of its route's placeholders.
pub struct Call<'a> {
    /// The request.
    pub request: &'a Request,
    values: BTreeMap<&'static str, String>,
}

impl Call<'_> {
    /// A placeholder's value.
    pub fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// A placeholder that is a number; 404 when it is none.
    pub fn number(&self, name: &str) -> Result<u64, Answer> {
        self.value(name).parse().map_err(|_| Answer::not_found())
    }

    /// Who asks.
    pub fn actor(&self) -> &Actor {
        &self.request.actor
    }

    /// The id of the repository of the path, when the actor may do this in it.
    pub fn repository(&self, world: &World, permission: &str, access: Access, role: Role) -> Result<u64, Answer> {
        let id = world.find(self.value("owner"), self.value("repo")).ok_or_else(Answer::not_found)?;
        world.need(self.actor(), id, permission, access, role)?;
        Ok(id)
    }
}

type Handler = fn(&mut World, &Call<'_>) -> Outcome;

/// A route: method, template and who answers. `{name...}` takes the rest of the path.
pub type Route = (Method, &'static str, Handler);

/// All routes. The first that fits answers.
pub fn routes() -> Vec<Route> {
    let mut all = Vec::new();
    for part in [
        apps::routes(),
        people::routes(),
        repos::routes(),
        pulls::routes(),
        merge::routes(),
        reviews::routes(),
        comments::routes(),
        reactions::routes(),
        checks::routes(),
        deployments::routes(),
        refs::routes(),
        activity::routes(),
        objects::routes(),
        contents::routes(),
        rules::routes(),
        workflows::routes(),
    ] {
        all.extend(part);
    }
    all
}

/// Answers one request and counts it under its route.
pub fn serve(world: &mut World, request: &Request) -> Answer {
    let method = if request.method == Method::HEAD { Method::GET } else { request.method.clone() };
    for (verb, template, handler) in routes() {
        if verb != method {
            continue;
        }
        let Some(values) = fits(template, &request.path) else { continue };
        *world.requests.entry(format!("{verb} {template}")).or_default() += 1;
        if let Some(moved) = moved(world, request, &values) {
            return moved;
        }
        let is_read = verb == Method::GET && template.starts_with("/repos/");
        if is_read && world.faults.lose_read() {
            return Answer::not_found();
        }
        return handler(world, &Call { request, values }).unwrap_or_else(|refused| refused);
    }
    let path = request.path.join("/");
    *world.requests.entry(format!("{method} unknown:/{path}")).or_default() += 1;
    Answer::not_found()
}

/// A repository that is called otherwise now: the hub points to its number.
fn moved(world: &World, request: &Request, values: &BTreeMap<&'static str, String>) -> Option<Answer> {
    let (owner, name) = (values.get("owner")?, values.get("repo")?);
    if world.find(owner, name).is_some() {
        return None;
    }
    let id = world.find_following(owner, name)?;
    let rest: String = request.path.iter().skip(3).map(|part| format!("/{part}")).collect();
    let url = format!("{}/repositories/{id}{rest}", world.api());
    let status = if request.method == Method::GET { 301 } else { 307 };
    let mut answer = Answer::error(status, "Moved Permanently");
    answer.headers.push(("location", url));
    Some(answer)
}

fn fits(template: &'static str, path: &[String]) -> Option<BTreeMap<&'static str, String>> {
    let mut values = BTreeMap::new();
    let mut segments = path.iter();
    for part in template.split('/').filter(|part| !part.is_empty()) {
        match part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            None if segments.next()? == part => {}
            None => return None,
            Some(name) => match name.strip_suffix("...") {
                Some(name) => {
                    let rest: Vec<&str> = segments.by_ref().map(String::as_str).collect();
                    values.insert(name, rest.join("/"));
                }
                None => {
                    values.insert(name, segments.next()?.clone());
                }
            },
        }
    }
    segments.next().is_none().then_some(values)
}

impl World {
    /// A repository that is known to exist.
    pub fn repo(&self, id: u64) -> Result<&Repository, Answer> {
        self.repositories.get(&id).ok_or_else(Answer::not_found)
    }

    /// The same, to change it.
    pub fn repo_mut(&mut self, id: u64) -> Result<&mut Repository, Answer> {
        self.repositories.get_mut(&id).ok_or_else(Answer::not_found)
    }

    /// `http://host/api/v3`.
    pub fn api(&self) -> String {
        format!("{}/api/v3", self.url)
    }

    /// Whether the next creation fails, and if so whether before or after its effect.
    pub fn creation_fault(&mut self) -> Option<super::faults::CreateFault> {
        self.faults.creations.pop_front()
    }
}

/// Creates something, with the faults that creations meet.
fn create(world: &mut World, effect: impl FnOnce(&mut World) -> Outcome) -> Outcome {
    use super::faults::CreateFault;
    match world.creation_fault() {
        None => effect(world),
        Some(CreateFault::ErrorBefore) => Err(Answer::broken()),
        Some(CreateFault::ErrorAfter) => {
            effect(world)?;
            Err(Answer::broken())
        }
    }
}

/// A text of a body that must be there.
fn required<'a>(call: &'a Call<'_>, resource: &str, field: &str) -> Result<&'a str, Answer> {
    match call.request.body.get(field) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Err(Answer::invalid_field(resource, field, "missing_field")),
        Some(_) => Err(Answer::invalid_field(resource, field, "invalid")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn templates_take_segments_and_tails() {
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
        let values = fits("/repos/{owner}/{repo}/git/ref/{ref...}", &path("repos/a/b/git/ref/heads/x/y")).unwrap();
        assert_eq!(values["ref"], "heads/x/y");
        assert!(fits("/repos/{owner}/{repo}", &path("repos/a")).is_none());
        assert!(fits("/repos/{owner}/{repo}", &path("repos/a/b/c")).is_none());
    }
}
