//! Plain pages: repositories, commits, pull requests, and a person's buttons as forms. No script. What all of them are
//! made of is in `page`.

mod act;
mod app;
mod consent;
mod issue;
mod page;
mod pull;
mod repository;

use axum::body::Body;
use axum::http::{HeaderValue, Method, Response, StatusCode};

use self::page::{Page, Visit, chosen, show, visible};
use super::incoming::{Incoming, percent_decode, plain};
use super::state::World;

/// Answers a browser.
pub fn serve(world: &mut World, incoming: &Incoming) -> Response<Body> {
    let decode = |part: &str| String::from_utf8_lossy(&percent_decode(part)).into_owned();
    let path: Vec<String> = incoming.path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
    // A form counts with the cookie alone, which the first page brings.
    let first = || world.visitor.clone().filter(|_| incoming.method != Method::POST);
    let who = chosen(world, &incoming.headers).or_else(first);
    let visit = Visit { incoming, path, who };
    if incoming.path == "/style.css" {
        let mut response = plain(StatusCode::OK, include_str!("style.css"));
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/css; charset=utf-8"));
        return response;
    }
    if incoming.path == "/favicon.ico" {
        // Browsers ask for it by themselves; a 404 would stand in their console.
        return plain(StatusCode::NO_CONTENT, "");
    }
    if incoming.method == Method::POST {
        return act::post(world, &visit);
    }
    if incoming.method != Method::GET && incoming.method != Method::HEAD {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and the forms of these pages");
    }
    let page = route(world, &visit).unwrap_or_else(|page| page);
    show(world, &visit, page)
}

fn route(world: &mut World, visit: &Visit<'_>) -> Result<Page, Page> {
    let parts: Vec<&str> = visit.path.iter().map(String::as_str).collect();
    let (owner, name, rest) = match parts.as_slice() {
        [] => return Ok(repository::index(world, visit)),
        ["apps", slug, "installations", "new"] => return app::offer(world, visit, slug),
        ["login", "oauth", "authorize"] => return consent::ask(world, visit),
        [owner, name, rest @ ..] => (owner, name, rest),
        [_] => return Err(Page::not_found()),
    };
    let id = visible(world, visit, owner, name)?;
    match rest {
        [] => repository::tree(world, id, &[]),
        ["tree", rest @ ..] => repository::tree(world, id, rest),
        ["blob", rest @ ..] => repository::file(world, id, rest),
        ["commits", rest @ ..] => repository::commits(world, id, rest),
        ["commit", sha] => repository::commit(world, id, sha),
        ["branches"] => repository::branches(world, id),
        ["runs", run] => repository::run(world, id, run),
        ["issues"] => issue::list(world, id),
        ["issues", number] => issue::show(world, id, number.parse().map_err(|_| Page::not_found())?, visit),
        ["pulls"] => pull::list(world, id, visit),
        ["pull", number] | ["pull", number, "files" | "checks" | "commits"] => {
            let number = number.parse().map_err(|_| Page::not_found())?;
            pull::show(world, id, number, visit)
        }
        _ => Err(Page::not_found()),
    }
}
