//! Watches: one JSON event per line, bookmarks, and 410 when the log does not reach back far enough.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::header;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use super::status::Refusal;
use super::{Asked, Cluster, key_of, revision, shown};
use crate::clock::now;
use crate::clusters::kinds::Kind;
use crate::clusters::selector::Selector;
use crate::clusters::store::{Change, Store};
use crate::loopback::locked;

/// How long a watch runs when the caller does not say; the real server takes 30 to 60 minutes.
const LONGEST: u64 = 1_800;
/// The real server sends a bookmark about every minute.
const BOOKMARKS: Duration = Duration::from_secs(5);

struct Watch {
    cluster: Arc<Cluster>,
    kind: Kind,
    namespace: Option<String>,
    selector: Selector,
    partial: bool,
    bookmarks: bool,
    moved: watch::Receiver<u64>,
    /// Up to here the caller knows everything.
    told: u64,
    ends: Pin<Box<Sleep>>,
    over: bool,
}

pub(super) fn start(
    cluster: &Arc<Cluster>,
    kind: Kind,
    namespace: Option<String>,
    asked: &Asked,
    partial: bool,
) -> Result<Response, Refusal> {
    let selector =
        Selector::parse(&asked.label_selector, &asked.field_selector).map_err(|why| Refusal::bad_request(&why))?;
    let asked_from = revision(asked)?.filter(|from| *from > 0);
    let streamed_list = asked.send_initial_events == "true";
    let ends = Box::pin(sleep(Duration::from_secs(asked.timeout_seconds.unwrap_or(LONGEST).min(LONGEST))));
    let mut inner = locked(&cluster.inner);
    let store = &mut inner.store;
    let mut watch = Watch {
        cluster: cluster.clone(),
        kind,
        namespace,
        selector,
        partial,
        bookmarks: asked.allow_watch_bookmarks == "true",
        moved: store.moved(),
        told: store.revision(),
        ends,
        over: false,
    };
    let mut first = Vec::new();
    match asked_from {
        Some(from) if !streamed_list => watch.told = from,
        _ => watch.describe_all(store, streamed_list, &mut first),
    }
    drop(inner);
    let events = stream::unfold((watch, Some(first)), |(mut watch, first)| async move {
        let lines = match first {
            Some(first) if !first.is_empty() => first,
            _ => watch.next().await?,
        };
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(lines)), (watch, None)))
    });
    let mut response = Response::new(Body::from_stream(events));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    Ok(response)
}

impl Watch {
    /// The state at the start, as events.
    fn describe_all(&mut self, store: &mut Store, streamed_list: bool, lines: &mut Vec<u8>) {
        for object in store.list(&self.kind.resource(), self.namespace.as_deref()) {
            if self.selector.matches(&object) {
                store.looked(&key_of(&self.kind, &object), now());
                line(lines, "ADDED", &shown(&object, self.partial));
            }
        }
        self.told = store.revision();
        if streamed_list {
            self.bookmark(lines, true);
        }
    }

    /// The next lines; `None` when the watch is over.
    async fn next(&mut self) -> Option<Vec<u8>> {
        while !self.over {
            self.cluster.reachable().await;
            let news = self.news();
            if !news.is_empty() {
                return Some(news);
            }
            tokio::select! {
                biased;
                () = &mut self.ends => return None,
                moved = self.moved.changed() => moved.ok()?,
                () = sleep(BOOKMARKS) => if self.bookmarks {
                    self.cluster.reachable().await;
                    let mut lines = self.news();
                    self.bookmark(&mut lines, false);
                    return Some(lines);
                }
            }
        }
        None
    }

    fn news(&mut self) -> Vec<u8> {
        let mut lines = Vec::new();
        let cluster = self.cluster.clone();
        let mut inner = locked(&cluster.inner);
        let store = &mut inner.store;
        match store.since(self.told) {
            Some(changes) => {
                for change in changes {
                    if let Some(event) = self.event(&change) {
                        store.looked(&change.key, now());
                        line(&mut lines, event, &shown(&change.after, self.partial));
                    }
                }
                self.told = store.revision();
            }
            None => {
                self.over = true;
                line(&mut lines, "ERROR", &Refusal::too_old(self.told, store.revision()).into_body());
            }
        }
        lines
    }

    /// What a change is to somebody who sees only what the selector lets through.
    fn event(&self, change: &Change) -> Option<&'static str> {
        if change.key.resource != self.kind.resource()
            || self.namespace.as_ref().is_some_and(|wanted| *wanted != change.key.namespace)
        {
            return None;
        }
        let before = change.before.as_ref().is_some_and(|before| self.selector.matches(before));
        let after = !change.deleted && self.selector.matches(&change.after);
        match (before, after) {
            (false, true) => Some("ADDED"),
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, false) => None,
        }
    }

    fn bookmark(&self, lines: &mut Vec<u8>, initial_events_end: bool) {
        let mut metadata = json!({"resourceVersion": self.told.to_string(), "creationTimestamp": null});
        if initial_events_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object =
            json!({"kind": self.kind.kind, "apiVersion": self.kind.api_version(), "metadata": metadata, "spec": {}});
        line(lines, "BOOKMARK", &object);
    }
}

fn line(lines: &mut Vec<u8>, event: &str, object: &Value) {
    lines.extend_from_slice(json!({"type": event, "object": object}).to_string().as_bytes());
    lines.push(b'\n');
}
