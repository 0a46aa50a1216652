//! What every page of the sandbox is made of: who asks, a template with its data, and the words of diffs and checks.
//! Which pages there are is in the modules beside.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use handlebars::Handlebars;
use serde_json::{Value, json};

use crate::github::answer::{self, Answer};
use crate::github::git::Change;
use crate::github::incoming::{Incoming, percent_decode};
use crate::github::markdown;
use crate::github::signature::WEB_FLOW;
use crate::github::state::{Access, Account, Actor, Kind, Repository, Role, World};

/// The cookie that says who somebody chose to be.
const COOKIE: &str = "sandbox_who";

/// Every template by name.
const TEMPLATES: [(&str, &str); 16] = [
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
    ("consent", include_str!("consent.hbs")),
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
    /// Its status.
    pub status: StatusCode,
    /// What the template shows.
    pub data: Value,
}

impl Page {
    /// A page with a title.
    pub fn new(template: &'static str, title: &str, mut data: Value) -> Self {
        data["title"] = title.into();
        Self { template, status: StatusCode::OK, data }
    }

    /// A page that only says something.
    pub fn says(status: StatusCode, heading: &str, words: &str) -> Self {
        let data = json!({"heading": heading, "words": words});
        Self { status, ..Self::new("message", heading, data) }
    }

    pub fn not_found() -> Self {
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
pub fn words(answer: &Answer) -> String {
    let Some(answer::Body::Json(value)) = &answer.body else { return answer.status.to_string() };
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

/// The repository of a path, where the visitor may see it.
pub fn visible(world: &World, visit: &Visit<'_>, owner: &str, name: &str) -> Result<u64, Page> {
    let id = world.find(owner, name).ok_or_else(Page::not_found)?;
    let actor = visit.who.clone().map_or(Actor::Anonymous, Actor::User);
    world.need(&actor, id, "contents", Access::Read, Role::Read)?;
    Ok(id)
}

/// Who the cookie says; only people of this world count.
pub fn chosen(world: &World, headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all("cookie").iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
    let account = world.account(&String::from_utf8_lossy(&percent_decode(value)))?;
    is_person(account).then(|| account.login.clone())
}

/// Whether a visitor can be this account: a person, not the hub itself.
pub fn is_person(account: &Account) -> bool {
    account.kind == Kind::User && account.login != WEB_FLOW
}

/// Renders a page with what all pages share.
pub fn show(world: &World, visit: &Visit<'_>, page: Page) -> Response<Body> {
    let mut data = page.data;
    let people = world.accounts.values().filter(|account| is_person(account));
    let people: Vec<Value> = people
        .map(|account| json!({"login": account.login, "chosen": Some(&account.login) == visit.who.as_ref()}))
        .collect();
    data["people"] = people.into();
    data["who"] = visit.who.clone().into();
    let (path, query) = (&visit.incoming.path, &visit.incoming.query);
    data["here"] = if query.is_empty() { path.clone() } else { format!("{path}?{query}") }.into();
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
        remember(&mut response, first);
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

/// The cookie that says who a browser is.
pub fn remember(response: &mut Response<Body>, login: &str) {
    let login: String = url::form_urlencoded::byte_serialize(login.as_bytes()).collect();
    let life = if login.is_empty() { "; Max-Age=0" } else { "" };
    let cookie = format!("{COOKIE}={login}; Path=/; HttpOnly; SameSite=Strict{life}");
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert("set-cookie", value);
    }
}

/// A time as the pages show it.
pub fn time(at: jiff::Timestamp) -> String {
    at.strftime("%e %b %Y %H:%M:%S UTC").to_string().trim_start().to_owned()
}

/// What every page of a repository needs.
pub fn base(repo: &Repository) -> Value {
    json!({"repository": repo.full_name(), "default_branch": repo.default_branch})
}

/// A unified diff as files with marked lines.
pub fn diff(text: &str, changes: &[Change]) -> Value {
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
pub fn marked(text: Option<&str>) -> String {
    text.map(markdown::html).unwrap_or_default()
}

/// How a check's conclusion is shown: its colour, and always a word beside it.
pub fn check_word(conclusion: Option<&str>) -> (&'static str, String) {
    match conclusion {
        None => ("pending", "running".to_owned()),
        Some("success") => ("success", "success".to_owned()),
        Some("action_required") => ("action", "action required".to_owned()),
        Some(word @ ("neutral" | "skipped")) => ("neutral", word.to_owned()),
        Some(other) => ("failure", other.replace('_', " ")),
    }
}
