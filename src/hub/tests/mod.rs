//! The hub against a real server on loopback, one behaviour at a time. The whole story runs
//! against the sandbox's GitHub elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod activity;
mod calls;
mod commits;
mod others;
mod reads;
mod rules;
mod statements;
mod writes;

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use serde_json::{Value, json};

use super::{Author, Bases, Credentials, Hub, HubCheck, RepoHub, Repository};
use crate::secret::Secret;

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: String,
    /// Path and query, from the root.
    pub(super) path: String,
    pub(super) headers: http::HeaderMap,
    pub(super) body: Value,
}

impl Seen {
    /// Method and path below the API's base.
    pub(super) fn call(&self) -> String {
        let path = self.path.strip_prefix("/api/v3").unwrap_or(&self.path);
        format!("{} {path}", self.method)
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// An answer to be given.
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

pub(super) fn reply(status: u16, body: &Value) -> Reply {
    Reply { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

impl Reply {
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn bytes(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }
}

/// A server that answers what the test says, and the App's own calls by itself.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) url: String,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(super) async fn start(answer: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (answer, seen_by) = (Arc::new(answer), Arc::clone(&log));
        let app = axum::Router::new().fallback(move |request: Request| {
            let (answer, log) = (Arc::clone(&answer), Arc::clone(&seen_by));
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, 64 << 20).await.unwrap();
                let seen = Seen {
                    method: parts.method.to_string(),
                    path: parts.uri.to_string(),
                    headers: parts.headers,
                    body: serde_json::from_slice(&body).unwrap_or_default(),
                };
                log.lock().unwrap().push(seen.clone());
                let number = log.lock().unwrap().len();
                let reply = answer(&seen).or_else(|| of_app(&seen, number));
                let reply = reply.unwrap_or_else(|| reply_unexpected(&seen));
                let mut response = Response::builder().status(reply.status);
                for (name, value) in reply.headers {
                    response = response.header(name, value);
                }
                response.body(Body::from(reply.body)).unwrap()
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, log }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().clone()
    }

    /// The calls below the base, the App's own left out.
    pub(super) fn calls(&self) -> Vec<String> {
        let own = |call: &String| call.contains("/app") || call.ends_with("/installation");
        self.seen().iter().map(Seen::call).filter(|call| !own(call)).collect()
    }

    pub(super) fn count(&self, call: &str) -> usize {
        self.seen().iter().filter(|seen| seen.call() == call).count()
    }

    pub(super) fn hub(&self, main: Credentials, bypass: Option<Credentials>) -> Hub {
        Hub::with_pace(Bases::from_hub(&self.url).unwrap(), main, bypass, Duration::ZERO).unwrap()
    }

    /// The repository, opened by an App.
    pub(super) async fn open(&self) -> RepoHub {
        self.hub(app(1), None).open(&repository()).await.unwrap()
    }

    /// The repository, opened with a plain token.
    pub(super) async fn open_with_token(&self) -> RepoHub {
        self.hub(Credentials::Token(Secret::new("ghp_plain")), None).open(&repository()).await.unwrap()
    }
}

fn reply_unexpected(seen: &Seen) -> Reply {
    reply(404, &json!({ "message": format!("nobody expects {}", seen.call()) }))
}

/// What an App is told about itself: App 1 has the installation 10, App 2 the installation 20.
fn of_app(seen: &Seen, number: usize) -> Option<Reply> {
    let call = seen.call();
    let app = app_of(seen);
    let installation = format!("/app/installations/{app}0");
    if call == "GET /app" {
        return Some(reply(200, &json!({ "id": app, "slug": format!("coldframe{app}"), "future": 1 })));
    }
    if call == "GET /repos/acme/config/installation" {
        return Some(reply(200, &json!({ "id": app * 10 })));
    }
    if call == format!("GET {installation}") {
        let permissions = json!({ "metadata": "read", "contents": "write", "pull_requests": "write",
            "checks": "write", "members": "read", "administration": "read", "issues": "write" });
        return Some(reply(200, &json!({ "id": app * 10, "permissions": permissions })));
    }
    if call == format!("POST {installation}/access_tokens") {
        let token = format!("ghs_{app}_{number}");
        let expires = crate::clock::now() + jiff::SignedDuration::from_hours(1);
        return Some(reply(201, &json!({ "token": token, "expires_at": expires.to_string() })));
    }
    None
}

/// The App that signed a call, from its JWT.
fn app_of(seen: &Seen) -> u64 {
    let jwt = seen.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
    let claims = jwt.split('.').nth(1).unwrap_or_default();
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap_or_default();
    let claims: Value = serde_json::from_slice(&claims).unwrap_or_default();
    let iss = &claims["iss"];
    iss.as_u64().or_else(|| iss.as_str().and_then(|iss| iss.parse().ok())).unwrap_or_default()
}

/// A key that exists for this run of the tests only.
pub(super) fn key() -> Secret {
    static KEY: OnceLock<Secret> = OnceLock::new();
    let make = || {
        use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
        let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let text = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
        let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        Secret::new(&format!("{begin}\n{}\n{end}\n", lines.join("\n")))
    };
    KEY.get_or_init(make).clone()
}

pub(super) fn app(id: u64) -> Credentials {
    Credentials::App { id, key: key() }
}

pub(super) fn repository() -> Repository {
    Repository {
        id: 7,
        owner: "acme".to_owned(),
        name: "config".to_owned(),
        default_branch: "main".to_owned(),
        installation: Some(10),
        private: true,
        archived: false,
        merge_commits: None,
        squash_merges: None,
        rebase_merges: None,
        deletes_merged: None,
    }
}
