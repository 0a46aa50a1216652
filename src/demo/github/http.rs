//! The front door: one port for REST, GraphQL, git and pages. Reads and bounds each request,
//! finds out who asks, asks for its budget, and sets the headers that all answers have.

use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request as HttpRequest, Response, StatusCode};
use serde_json::Value;

use super::answer::{Answer, Body, Request};
use super::budget::{budget_key, metered, rate_limit};
use super::incoming::{Incoming, percent_decode, plain};
use super::state::{Actor, Shared, World, lock};
use super::{git_http, graphql, pages, rest};

/// The largest body of an API request.
const API_LIMIT: usize = 25 << 20;
/// The largest push.
const GIT_LIMIT: usize = 64 << 20;

/// Answers every request to this server.
pub async fn serve(State(shared): State<Shared>, request: HttpRequest<HttpBody>) -> Response<HttpBody> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let git = git_http::is_git(&path);
    let body = match axum::body::to_bytes(body, if git { GIT_LIMIT } else { API_LIMIT }).await {
        Ok(body) => body,
        Err(_) => return plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
    };
    let query = head.uri.query().unwrap_or_default().to_owned();
    let incoming = Incoming { method: head.method, path, query, headers: head.headers, body };
    if git {
        return git_http::serve(shared, incoming).await;
    }
    let late = {
        let world = lock(&shared);
        let actor = world.faults.slow_installation.and_then(|_| world.actor(incoming.header("authorization")).ok());
        let slow = world
            .faults
            .slow_installation
            .filter(|(id, _)| actor.is_some_and(|actor| is_about(&incoming, &actor, *id)));
        slow.map_or(std::time::Duration::ZERO, |(_, late)| late)
    };
    tokio::time::sleep(late).await;
    // git's children and the lock are waited for on a thread that may block.
    let answered = tokio::task::spawn_blocking(move || {
        let mut world = lock(&shared);
        if incoming.path.starts_with("/api/") {
            api(&mut world, &incoming)
        } else {
            pages::serve(&mut world, &incoming)
        }
    });
    answered.await.unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR, "the sandbox's GitHub broke"))
}

fn api(world: &mut World, incoming: &Incoming) -> Response<HttpBody> {
    let rest_path = incoming.path.strip_prefix("/api/v3").filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_graphql = incoming.path == "/api/graphql" || rest_path == Some("/graphql");
    let (answer, key) = match world.actor(incoming.header("authorization")) {
        Err(refused) => (refused, "anonymous".to_owned()),
        Ok(actor) => {
            let key = budget_key(world, &actor);
            if world.faults.broken_installation.is_some_and(|id| is_about(incoming, &actor, id)) {
                return finish(world, incoming, Answer::broken(), &key, is_graphql);
            }
            let path = rest_path.unwrap_or_default();
            if let Err(refused) = world.within_the_app(incoming.header("authorization"), &incoming.method, path) {
                return finish(world, incoming, refused, &key, is_graphql);
            }
            // Limits count per identity: the App's own is not that of its installations.
            let limited = world
                .faults
                .limited_installation
                .is_none_or(|id| matches!(&actor, Actor::Installation { installation, .. } if *installation == id));
            let answer = match (is_graphql, rest_path) {
                (true, _) => metered(world, &key, (true, limited), |world| graphql::serve(world, &actor, incoming)),
                (false, Some(path)) => {
                    let free = path == "/rate_limit";
                    let asked = rest_request(incoming, path, actor);
                    match asked {
                        Err(refused) => refused,
                        Ok(_) if free => Answer::ok(rate_limit(world, &key)),
                        Ok(request) => metered(world, &key, (false, limited), |world| rest::serve(world, &request)),
                    }
                }
                (false, None) => Answer::not_found(),
            };
            (answer, key)
        }
    };
    if incoming.method != Method::GET && !is_graphql {
        world.merge_by_themselves();
    }
    finish(world, incoming, answer, &key, is_graphql)
}

fn rest_request(incoming: &Incoming, path: &str, actor: Actor) -> Result<Request, Answer> {
    let decode = |part: &str| {
        let bytes = percent_decode(part);
        String::from_utf8(bytes).map_err(|_| Answer::error(400, "Bad Request"))
    };
    let path = path.split('/').filter(|part| !part.is_empty()).map(decode).collect::<Result<_, _>>()?;
    let body = if incoming.body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&incoming.body).map_err(|_| Answer::error(400, "Problems parsing JSON"))?
    };
    Ok(Request {
        method: incoming.method.clone(),
        path,
        query: incoming.parameters(),
        body,
        accept: incoming.header("accept").unwrap_or_default().to_owned(),
        actor,
    })
}

/// Whether a request has to do with an installation: it comes with its token, or its App asks about it.
fn is_about(incoming: &Incoming, actor: &Actor, id: u64) -> bool {
    match actor {
        Actor::Installation { installation, .. } => *installation == id,
        Actor::App(_) => incoming.path.contains(&format!("/installations/{id}")),
        Actor::Anonymous | Actor::User(_) => false,
    }
}

/// Turns an answer into HTTP: ETag and 304, limits, Date, request id.
fn finish(world: &mut World, incoming: &Incoming, answer: Answer, key: &str, graphql: bool) -> Response<HttpBody> {
    let (kind, bytes) = match answer.body {
        None => (None, Vec::new()),
        Some(Body::Json(value)) => (Some("application/json; charset=utf-8"), value.to_string().into_bytes()),
        Some(Body::Raw(kind, bytes)) => (Some(kind), bytes),
    };
    let mut status = answer.status;
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    for (name, value) in &answer.headers {
        set(name, value);
    }
    let mut body = bytes;
    if incoming.method == Method::GET && status == StatusCode::OK {
        // Bound to who asks and in which form, as at the hub (`Vary: Accept, Authorization`).
        let seen = format!("{key}\n{}\n{}\n", incoming.header("accept").unwrap_or_default(), incoming.query);
        let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
        context.update(seen.as_bytes());
        context.update(&body);
        let tag = format!("W/\"{}\"", super::auth::hex(context.finish().as_ref()));
        let asked = incoming.header("if-none-match").unwrap_or_default();
        if asked.split(',').any(|one| one.trim().trim_start_matches("W/") == tag.trim_start_matches("W/")) {
            status = StatusCode::NOT_MODIFIED;
            body = Vec::new();
            if let Some(entry) = world.limits.get_mut(key) {
                entry.used = entry.used.saturating_sub(1); // a 304 is free
            }
        }
        set("etag", &tag);
        set("cache-control", "private, max-age=60, s-maxage=60");
        set("vary", "Accept, Authorization, Cookie, X-GitHub-OTP");
    }
    let rate = rate_limit(world, key)["rate"].clone();
    for (name, field) in [
        ("x-ratelimit-limit", "limit"),
        ("x-ratelimit-remaining", "remaining"),
        ("x-ratelimit-used", "used"),
        ("x-ratelimit-reset", "reset"),
    ] {
        set(name, &rate[field].to_string());
    }
    set("x-ratelimit-resource", if graphql { "graphql" } else { "core" });
    set("x-github-media-type", "github.v3; format=json");
    set("x-github-api-version-selected", "2022-11-28");
    set("x-github-enterprise-version", "3.17.0");
    let serial = world.id();
    set("x-github-request-id", &format!("{:04X}:{:06X}", serial >> 16, serial & 0xff_ffff));
    set("date", &world.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    if let (Some(kind), false) = (kind, status == StatusCode::NOT_MODIFIED) {
        set("content-type", kind);
    }
    let mut response = Response::new(HttpBody::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
