//! REST v3 as far as the bot, `gh` and curl use it. This file finds the route; each handler answers
//! in the words and with the status codes of GitHub.

mod activity;
mod apps;
mod beside;
mod call;
mod checks;
mod comments;
mod contents;
pub mod deployments;
mod hooks;
mod issues;
mod merge;
mod objects;
mod people;
mod pulls;
mod reactions;
mod refs;
mod releases;
mod repos;
mod reviews;
mod rules;
mod workflows;

pub mod render;
pub mod render_checks;
pub mod render_git;

pub use checks::settle;

use std::collections::BTreeMap;

use axum::http::Method;

use self::call::{Call, Route};
use super::answer::{Answer, Request};
use super::state::World;

/// All routes. The first that fits answers.
pub fn routes() -> Vec<Route> {
    let mut all = Vec::new();
    for part in [
        apps::routes(),
        hooks::routes(),
        people::routes(),
        repos::routes(),
        beside::routes(),
        pulls::routes(),
        merge::routes(),
        reviews::routes(),
        comments::routes(),
        issues::routes(),
        reactions::routes(),
        checks::routes(),
        deployments::routes(),
        refs::routes(),
        releases::routes(),
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
