//! An API server with a state: objects, a log of changes, pages, watches; and its troubles.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{StatusCode, Uri};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What a server does wrongly.
#[derive(Clone, Copy, Default)]
pub struct Trouble {
    /// Lists and watches of the whole cluster are refused.
    pub no_wide: bool,
    /// All lists and watches are refused.
    pub no_lists: bool,
    /// Watches tell nothing and do not end.
    pub half_open: bool,
    /// No bookmarks are sent.
    pub no_bookmarks: bool,
    /// Nobody answers.
    pub silent: bool,
}

/// A change: the revision after it, what it was, and the object.
type Changed = (u64, &'static str, Value);

#[derive(Default)]
struct Inner {
    /// By path: `…/namespaces/apps/helmreleases/loki`.
    objects: BTreeMap<String, Value>,
    revision: u64,
    log: Vec<Changed>,
    /// Older changes are forgotten.
    forgotten: u64,
    asked: Vec<String>,
    trouble: Trouble,
}

#[derive(Clone)]
pub struct World {
    inner: Arc<Mutex<Inner>>,
    moved: Arc<watch::Sender<u64>>,
    pub host: String,
}

impl World {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let world = Self { inner: Arc::default(), moved: Arc::new(watch::Sender::new(0)), host };
        let router = Router::new().fallback(answer).with_state(world.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        world
    }

    /// Writes its kubeconfig.
    pub fn connect(&self, folder: &Path, credential: &str) {
        let text = format!(
            "current-context: c\nclusters: [{{name: k, cluster: {{server: 'http://{}'}}}}]\n\
             users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n",
            self.host
        );
        std::fs::write(folder.join(format!("{credential}.yaml")), text).unwrap();
    }

    /// Puts an object of a collection such as `helm.toolkit.fluxcd.io/v2/helmreleases`.
    pub fn put(&self, collection: &str, mut object: Value) {
        let mut inner = self.inner.lock().unwrap();
        inner.revision += 1;
        let revision = inner.revision;
        object["metadata"]["resourceVersion"] = json!(revision.to_string());
        let path = place(collection, &object);
        let what = if inner.objects.insert(path, object.clone()).is_some() { "MODIFIED" } else { "ADDED" };
        inner.log.push((revision, what, object));
        self.moved.send_replace(revision);
    }

    pub fn remove(&self, collection: &str, namespace: &str, name: &str) {
        let mut inner = self.inner.lock().unwrap();
        inner.revision += 1;
        let revision = inner.revision;
        let named = json!({"metadata": {"namespace": namespace, "name": name}});
        let mut object = inner.objects.remove(&place(collection, &named)).unwrap();
        object["metadata"]["resourceVersion"] = json!(revision.to_string());
        inner.log.push((revision, "DELETED", object));
        self.moved.send_replace(revision);
    }

    /// What went before is forgotten, and watches that do not know it yet end with 410.
    pub fn forget(&self) {
        let mut inner = self.inner.lock().unwrap();
        inner.revision += 1;
        (inner.forgotten, inner.log) = (inner.revision, Vec::new());
    }

    pub fn trouble(&self, trouble: Trouble) {
        self.inner.lock().unwrap().trouble = trouble;
    }

    /// What was asked since the last time: `list`, `watch` and `get` with the path.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.inner.lock().unwrap().asked)
    }
}

fn place(collection: &str, object: &Value) -> String {
    let (api, plural) = collection.rsplit_once('/').unwrap();
    let text = |key: &str| object["metadata"][key].as_str();
    match text("namespace") {
        Some(namespace) => format!("/apis/{api}/namespaces/{namespace}/{plural}/{}", text("name").unwrap()),
        None => format!("/apis/{api}/{plural}/{}", text("name").unwrap()),
    }
}

/// Whether an object's path is in a collection's.
fn is_in(path: &str, collection: &str) -> bool {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let (api, plural) = collection.rsplit_once('/').unwrap();
    let wide = parent.starts_with(&format!("{api}/namespaces/")) && parent.ends_with(&format!("/{plural}"));
    !name.is_empty() && (parent == collection || wide)
}

async fn answer(State(world): State<World>, uri: Uri, Query(asked): Query<BTreeMap<String, String>>) -> Response {
    let path = uri.path().to_string();
    let trouble = world.inner.lock().unwrap().trouble;
    if trouble.silent {
        std::future::pending::<()>().await;
    }
    let is_object = {
        let last = path.rsplit('/').next().unwrap();
        !last.ends_with('s') || path.matches('/').count() > 6 || path.contains("definitions/")
    };
    let verb = match (is_object, asked.contains_key("watch")) {
        (true, _) => "get",
        (false, true) => "watch",
        (false, false) => "list",
    };
    world.inner.lock().unwrap().asked.push(format!("{verb} {path}"));
    let refused = trouble.no_lists || trouble.no_wide && !path.contains("/namespaces/");
    match verb {
        "get" => get(&world, &path),
        _ if refused => (StatusCode::FORBIDDEN, "{}").into_response(),
        "list" => list(&world, &path, &asked),
        _ => follow(world, path, asked["resourceVersion"].parse().unwrap(), asked["timeoutSeconds"].parse().unwrap()),
    }
}

fn get(world: &World, path: &str) -> Response {
    let inner = world.inner.lock().unwrap();
    let name = path.rsplit('/').next().unwrap();
    match inner.objects.get(path) {
        Some(object) => object.to_string().into_response(),
        None => {
            let status = json!({"kind": "Status", "details": {"name": name}});
            (StatusCode::NOT_FOUND, status.to_string()).into_response()
        }
    }
}

fn list(world: &World, path: &str, asked: &BTreeMap<String, String>) -> Response {
    let inner = world.inner.lock().unwrap();
    let all: Vec<&Value> = inner.objects.iter().filter(|(place, _)| is_in(place, path)).map(|(_, one)| one).collect();
    let from: usize = asked.get("continue").map_or(0, |token| token.parse().unwrap());
    let end = (from + 2).min(all.len());
    let next = if end < all.len() { end.to_string() } else { String::new() };
    let metadata = json!({"resourceVersion": inner.revision.to_string(), "continue": next});
    json!({"kind": "TheList", "metadata": metadata, "items": all[from..end]}).to_string().into_response()
}

fn follow(world: World, path: String, from: u64, seconds: u64) -> Response {
    let end = tokio::time::Instant::now() + Duration::from_secs(seconds);
    let moved = world.moved.subscribe();
    let events = futures_util::stream::unfold((world, moved, from), move |(world, mut moved, told)| {
        let path = path.clone();
        async move {
            loop {
                let trouble = world.inner.lock().unwrap().trouble;
                if trouble.half_open {
                    std::future::pending::<()>().await;
                }
                if let Some((lines, now)) = news(&world, &path, told) {
                    return Some((Ok::<_, Infallible>(Bytes::from(lines)), (world, moved, now)));
                }
                tokio::select! {
                    () = tokio::time::sleep_until(end) => return None,
                    _ = moved.changed() => {}
                    () = tokio::time::sleep(Duration::from_millis(100)), if !trouble.no_bookmarks => {
                        let now = world.inner.lock().unwrap().revision;
                        let mark = json!({"kind": "It", "metadata": {"resourceVersion": now.to_string()}});
                        let line = format!("{}\n", json!({"type": "BOOKMARK", "object": mark}));
                        return Some((Ok(Bytes::from(line)), (world, moved, told)));
                    }
                }
            }
        }
    });
    Body::from_stream(events).into_response()
}

/// What has changed since a revision.
fn news(world: &World, path: &str, told: u64) -> Option<(String, u64)> {
    let inner = world.inner.lock().unwrap();
    if told < inner.forgotten {
        let status = json!({"kind": "Status", "code": 410, "message": "too old resource version"});
        return Some((format!("{}\n", json!({"type": "ERROR", "object": status})), u64::MAX));
    }
    let new = inner.log.iter().filter(|(revision, _, object)| {
        let plural = path.rsplit('/').next().unwrap();
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let here = !path.contains("/namespaces/") || path.contains(&format!("/namespaces/{}/", text("namespace")));
        *revision > told && plural == format!("{kind}s") && here
    });
    let lines: String = new.map(|(_, what, object)| format!("{}\n", json!({"type": what, "object": object}))).collect();
    (!lines.is_empty()).then_some((lines, inner.revision))
}
