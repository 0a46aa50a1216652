//! Plain pages: repositories, commits, pull requests, and a person's buttons as forms. No script.

mod act;
mod app;
mod issue;
mod pull;
mod repository;

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use handlebars::Handlebars;
use serde_json::{Value, json};

use super::answer::Answer;
use super::incoming::{Incoming, percent_decode, plain};
use super::markdown;
use super::state::{Account, Actor, Kind, Repository, Role, World};

/// The cookie that says who somebody chose to be.
const COOKIE: &str = "sandbox_who";

/// Every template by name.
const TEMPLATES: [(&str, &str); 15] = [
    ("layout", include_str!("layout.hbs")),
    ("index", include_str!("index.hbs")),
    ("repository", include_str!("repository.hbs")),
    ("file", include_str!("file.hbs")),
    ("commits", include_str!("commits.hbs")),
    ("branches", include_str!("branches.hbs")),
    ("diff", include_str!("diff.hbs")),
    ("commit", include_str!("commit.hbs")),
    ("pulls", include_str!("pulls.hbs")),
    ("pull", include_str!("pull.hbs")),
    ("run", include_str!("run.hbs")),
    ("issues", include_str!("issues.hbs")),
    ("issue", include_str!("issue.hbs")),
    ("app", include_str!("app.hbs")),
    ("install", include_str!("install.hbs")),
];

static REGISTRY: LazyLock<Result<Handlebars<'static>, String>> = LazyLock::new(|| {
    let mut registry = Handlebars::new();
    for (name, text) in TEMPLATES.into_iter().chain([("message", include_str!("message.hbs"))]) {
        registry.register_template_string(name, text).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(registry)
});

/// A page to show: its template, its data, its status.
pub struct Page {
    template: &'static str,
    status: StatusCode,
    data: Value,
}

impl Page {
    /// A page with a title.
    pub fn new(template: &'static str, title: &str, mut data: Value) -> Self {
        data["title"] = title.into();
        Self { template, status: StatusCode::OK, data }
    }

    /// A page that only says something.
    fn says(status: StatusCode, heading: &str, words: &str) -> Self {
        let data = json!({"heading": heading, "words": words});
        Self { status, ..Self::new("message", heading, data) }
    }

    fn not_found() -> Self {
        Self::says(StatusCode::NOT_FOUND, "Not found", "There is nothing here, or not for you.")
    }
}

impl From<Answer> for Page {
    fn from(answer: Answer) -> Self {
        if answer.status == StatusCode::NOT_FOUND {
            return Self::not_found();
        }
        Self::says(answer.status, "That was refused", &words(&answer))
    }
}

impl From<anyhow::Error> for Page {
    fn from(error: anyhow::Error) -> Self {
        Answer::from(error).into()
    }
}

/// An answer's message with the details of its errors.
fn words(answer: &Answer) -> String {
    let Some(super::answer::Body::Json(value)) = &answer.body else { return answer.status.to_string() };
    let mut words = value["message"].as_str().unwrap_or_default().to_owned();
    for error in value["errors"].as_array().into_iter().flatten() {
        let detail = error.as_str().or_else(|| error["message"].as_str()).unwrap_or_default();
        words.push_str(&format!(" {detail}"));
    }
    words
}

/// A request for a page, with who asks.
pub struct Visit<'a> {
    /// The request.
    pub incoming: &'a Incoming,
    /// Decoded segments of the path.
    pub path: Vec<String>,
    /// Who the visitor chose to be.
    pub who: Option<String>,
}

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

/// The repository of a path, where the visitor may see it.
fn visible(world: &World, visit: &Visit<'_>, owner: &str, name: &str) -> Result<u64, Page> {
    let id = world.find(owner, name).ok_or_else(Page::not_found)?;
    let actor = visit.who.clone().map_or(Actor::Anonymous, Actor::User);
    world.need(&actor, id, "contents", super::state::Access::Read, Role::Read)?;
    Ok(id)
}

/// Who the cookie says; only people of this world count.
fn chosen(world: &World, headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all("cookie").iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
    let account = world.account(&String::from_utf8_lossy(&percent_decode(value)))?;
    is_person(account).then(|| account.login.clone())
}

/// Whether a visitor can be this account: a person, not the hub itself.
fn is_person(account: &Account) -> bool {
    account.kind == Kind::User && account.login != super::signature::WEB_FLOW
}

/// Renders a page with what all pages share.
fn show(world: &World, visit: &Visit<'_>, page: Page) -> Response<Body> {
    let mut data = page.data;
    let people = world.accounts.values().filter(|account| is_person(account));
    let people: Vec<Value> = people
        .map(|account| json!({"login": account.login, "chosen": Some(&account.login) == visit.who.as_ref()}))
        .collect();
    data["people"] = people.into();
    data["who"] = visit.who.clone().into();
    data["here"] = visit.incoming.path.clone().into();
    let rendered = match &*REGISTRY {
        Ok(registry) => registry.render(page.template, &data).map_err(|error| error.to_string()),
        Err(error) => Err(error.clone()),
    };
    let (status, html) = match rendered {
        Ok(html) => (page.status, html),
        Err(error) => {
            tracing::error!(%error, template = page.template, "a page of the sandbox does not render");
            (StatusCode::INTERNAL_SERVER_ERROR, "<!doctype html><title>Broken</title>This page is broken.".to_owned())
        }
    };
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    if let (None, Some(first)) = (chosen(world, &visit.incoming.headers), &visit.who) {
        act::remember(&mut response, first);
    }
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A time as the pages show it.
fn time(at: jiff::Timestamp) -> String {
    at.strftime("%e %b %Y %H:%M:%S UTC").to_string().trim_start().to_owned()
}

/// What every page of a repository needs.
fn base(repo: &Repository) -> Value {
    json!({"repository": repo.full_name(), "default_branch": repo.default_branch})
}

/// A unified diff as files with marked lines.
fn diff(text: &str, changes: &[super::git::Change]) -> Value {
    let mut files = Vec::new();
    for part in text.split("diff --git ").skip(1) {
        let path = part.lines().next().and_then(|line| line.rsplit(" b/").next()).unwrap_or_default();
        let body = part.lines().skip_while(|line| !line.starts_with("@@") && !line.starts_with("Binary"));
        let lines: Vec<Value> = body
            .map(|line| {
                let (kind, mark, text) = match line.chars().next() {
                    Some('+') => ("added", "+", &line[1..]),
                    Some('-') => ("removed", "−", &line[1..]),
                    Some('@') => ("hunk", "", line),
                    Some(' ') => ("same", "", &line[1..]),
                    Some(_) | None => ("hunk", "", line),
                };
                json!({"kind": kind, "mark": mark, "text": text})
            })
            .collect();
        let change = changes.iter().find(|change| change.path == path);
        files.push(json!({
            "path": path, "lines": lines, "additions": change.map_or(0, |change| change.additions),
            "deletions": change.map_or(0, |change| change.deletions),
        }));
    }
    files.into()
}

/// Markdown, or nothing.
fn marked(text: Option<&str>) -> String {
    text.map(markdown::html).unwrap_or_default()
}

/// How a check's conclusion is shown: its colour, and always a word beside it.
fn check_word(conclusion: Option<&str>) -> (&'static str, String) {
    match conclusion {
        None => ("pending", "running".to_owned()),
        Some("success") => ("success", "success".to_owned()),
        Some("action_required") => ("action", "action required".to_owned()),
        Some(word @ ("neutral" | "skipped")) => ("neutral", word.to_owned()),
        Some(other) => ("failure", other.replace('_', " ")),
    }
}
