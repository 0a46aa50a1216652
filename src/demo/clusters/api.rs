//! The Kubernetes API of one cluster over HTTP, as far as readers need it: get, list with pages,
//! watch, discovery, and its refusals. Who writes the objects is in `controller`.

mod status;
mod watching;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::kinds::Kind;
use super::selector::Selector;
use super::store::Key;
use super::{Cluster, Link};
use crate::clock::now;
use crate::loopback::locked;
use status::Refusal;

pub(super) fn router(cluster: Arc<Cluster>) -> Router {
    Router::new().fallback(answer).with_state(cluster)
}

/// The parameters of reads. The server ignores those that it does not know, as the real one does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Asked {
    watch: String,
    limit: Option<usize>,
    #[serde(rename = "continue")]
    token: Option<String>,
    label_selector: String,
    field_selector: String,
    resource_version: Option<String>,
    send_initial_events: String,
    allow_watch_bookmarks: String,
    timeout_seconds: Option<u64>,
}

/// What a path names.
enum Place {
    Document(Value),
    Objects { kind: Kind, namespace: Option<String>, name: Option<String>, subresource: Option<String> },
}

async fn answer(
    State(cluster): State<Arc<Cluster>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
) -> Response {
    // A cluster that is cut off does not refuse: it says nothing at all.
    cluster.reachable().await;
    let partial = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("as=PartialObjectMetadata"));
    let result = match asked {
        Ok(Query(asked)) => respond(&cluster, &method, uri.path(), &headers, &asked, partial),
        Err(error) => Err(Refusal::bad_request(&error.to_string())),
    };
    result.unwrap_or_else(|refusal| reply(refusal.code(), &refusal.into_body()))
}

fn respond(
    cluster: &Arc<Cluster>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    asked: &Asked,
    partial: bool,
) -> Result<Response, Refusal> {
    if matches!(path, "/healthz" | "/livez" | "/readyz") {
        return Ok(Response::new(Body::from("ok")));
    }
    authenticate(cluster, headers)?;
    let (kind, namespace, name, subresource) = match place(cluster, path)? {
        Place::Document(document) => return Ok(reply(StatusCode::OK, &document)),
        Place::Objects { kind, namespace, name, subresource } => (kind, namespace, name, subresource),
    };
    let watching = matches!(asked.watch.as_str(), "1" | "true");
    authorize(cluster, method, &kind, namespace.as_deref(), name.as_deref(), watching)?;
    if subresource.is_some_and(|wanted| wanted != "status" || !kind.status_subresource) {
        return Err(Refusal::no_resource());
    }
    match name {
        Some(name) => get(cluster, &kind, namespace.as_deref(), &name, partial),
        None if watching => watching::start(cluster, kind, namespace, asked, partial),
        None => list(cluster, &kind, namespace.as_deref(), asked, partial),
    }
}

fn authenticate(cluster: &Cluster, headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = given.and_then(|value| value.strip_prefix("Bearer "));
    let known = token == Some(cluster.token.as_str()) && cluster.link() != Link::Unauthorized;
    if known { Ok(()) } else { Err(Refusal::unauthorized()) }
}

/// The reader's role: get, list and watch of everything but secrets, of which it may list those of Argo CD: they are
/// an inventory.
fn authorize(
    cluster: &Cluster,
    method: &Method,
    kind: &Kind,
    namespace: Option<&str>,
    name: Option<&str>,
    watching: bool,
) -> Result<(), Refusal> {
    let verb = match (method.as_str(), name) {
        ("GET" | "HEAD", Some(_)) => "get",
        ("GET" | "HEAD", None) if watching => "watch",
        ("GET" | "HEAD", None) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", Some(_)) => "delete",
        ("DELETE", None) => "deletecollection",
        _ => return Err(Refusal::method_not_allowed()),
    };
    let secret = kind.plural == "secrets" && (verb, namespace) != ("list", Some("argocd"));
    let granted = matches!(verb, "get" | "list" | "watch") && !secret;
    if granted && cluster.link() != Link::Forbidden {
        return Ok(());
    }
    Err(Refusal::forbidden(kind, verb, namespace, name))
}

fn place(cluster: &Cluster, path: &str) -> Result<Place, Refusal> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let kinds = locked(&cluster.inner).kinds.clone();
    let (group, version, rest) = match parts.as_slice() {
        ["version"] => return Ok(Place::Document(version_document())),
        ["api"] => return Ok(Place::Document(json!({"kind": "APIVersions", "versions": ["v1"]}))),
        ["apis"] => return Ok(Place::Document(group_list(&kinds))),
        ["apis", group] => return group_document(&kinds, group).map(Place::Document),
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Err(Refusal::no_resource()),
    };
    if rest.is_empty() {
        return resource_list(&kinds, group, version).map(Place::Document);
    }
    // `namespaces/<name>` is an object of its own; with a resource behind it, it is where that lies.
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() && *rest != ["status"] => {
            (Some((*namespace).to_owned()), rest)
        }
        rest => (None, rest),
    };
    let [plural, rest @ ..] = rest else { return Err(Refusal::no_resource()) };
    let named = |kind: &&Kind| kind.group == group && kind.version == version && kind.plural == *plural;
    let kind = kinds.iter().find(named).ok_or_else(Refusal::no_resource)?.clone();
    let (name, subresource) = match rest {
        [] => (None, None),
        [name] => (Some((*name).to_owned()), None),
        [name, subresource] => (Some((*name).to_owned()), Some((*subresource).to_owned())),
        _ => return Err(Refusal::no_resource()),
    };
    if kind.namespaced && name.is_some() && namespace.is_none() {
        return Err(Refusal::no_resource());
    }
    Ok(Place::Objects { kind, namespace, name, subresource })
}

fn get(
    cluster: &Cluster,
    kind: &Kind,
    namespace: Option<&str>,
    name: &str,
    partial: bool,
) -> Result<Response, Refusal> {
    let key = Key::new(kind, namespace.unwrap_or_default(), name);
    let mut inner = locked(&cluster.inner);
    inner.store.looked(&key, now());
    let object = inner.store.get(&key).ok_or_else(|| Refusal::not_found(kind, name))?;
    Ok(reply(StatusCode::OK, &shown(object, partial)))
}

fn list(
    cluster: &Cluster,
    kind: &Kind,
    namespace: Option<&str>,
    asked: &Asked,
    partial: bool,
) -> Result<Response, Refusal> {
    let selector =
        Selector::parse(&asked.label_selector, &asked.field_selector).map_err(|why| Refusal::bad_request(&why))?;
    let mut inner = locked(&cluster.inner);
    let store = &mut inner.store;
    let wanted: u64 = revision(asked)?.unwrap_or(0);
    if wanted > store.revision() {
        return Err(Refusal::too_large(wanted, store.revision()));
    }
    let (snapshot, from, objects) = match &asked.token {
        Some(token) => {
            let (snapshot, from) =
                read_token(token).ok_or_else(|| Refusal::bad_request("continue key is not valid"))?;
            (Some(snapshot), from, store.kept(snapshot).ok_or_else(Refusal::expired_token)?)
        }
        None => {
            let mut objects = store.list(&kind.resource(), namespace);
            objects.retain(|object| selector.matches(object));
            (None, 0, objects)
        }
    };
    let limit = asked.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let page: Vec<_> = objects.iter().skip(from).take(limit).cloned().collect();
    let end = from + page.len();
    let mut metadata = json!({"resourceVersion": snapshot.unwrap_or(store.revision()).to_string()});
    if end < objects.len() {
        metadata["remainingItemCount"] = (objects.len() - end).into();
        let kept = match snapshot {
            Some(snapshot) => snapshot,
            None => store.keep(objects),
        };
        metadata["continue"] = BASE64_URL_SAFE_NO_PAD.encode(format!("{kept}:{end}")).into();
    }
    for object in &page {
        store.looked(&key_of(kind, object), now());
    }
    let items: Vec<Value> = page.iter().map(|object| shown(object, partial)).collect();
    let (api_version, list_kind) = if partial {
        ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList".to_owned())
    } else {
        (kind.api_version(), format!("{}List", kind.kind))
    };
    let body = json!({"kind": list_kind, "apiVersion": api_version, "metadata": metadata, "items": items});
    Ok(reply(StatusCode::OK, &body))
}

fn revision(asked: &Asked) -> Result<Option<u64>, Refusal> {
    let text = asked.resource_version.as_deref().filter(|text| !text.is_empty());
    let parsed = text.map(|text| text.parse().map_err(|_| Refusal::bad_request("invalid resource version")));
    parsed.transpose()
}

fn read_token(token: &str) -> Option<(u64, usize)> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
    let (snapshot, from) = std::str::from_utf8(&bytes).ok()?.split_once(':')?;
    Some((snapshot.parse().ok()?, from.parse().ok()?))
}

fn key_of(kind: &Kind, object: &Value) -> Key {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    Key::new(kind, text("namespace"), text("name"))
}

/// The object, or what a reader of metadata gets of it.
fn shown(object: &Value, partial: bool) -> Value {
    if partial {
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
    } else {
        object.clone()
    }
}

fn version_document() -> Value {
    json!({"major": "1", "minor": "33", "gitVersion": "v1.33.5", "platform": "linux/amd64"})
}

fn group_list(kinds: &[Kind]) -> Value {
    let groups: BTreeSet<&str> =
        kinds.iter().map(|kind| kind.group.as_str()).filter(|group| !group.is_empty()).collect();
    let groups: Vec<Value> = groups.into_iter().filter_map(|group| group_document(kinds, group).ok()).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group_document(kinds: &[Kind], group: &str) -> Result<Value, Refusal> {
    let versions: BTreeSet<&str> =
        kinds.iter().filter(|kind| kind.group == group).map(|kind| kind.version.as_str()).collect();
    let versions: Vec<Value> = versions
        .into_iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    let preferred = versions.first().ok_or_else(Refusal::no_resource)?.clone();
    Ok(
        json!({"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": versions, "preferredVersion": preferred}),
    )
}

fn resource_list(kinds: &[Kind], group: &str, version: &str) -> Result<Value, Refusal> {
    let here: Vec<&Kind> = kinds.iter().filter(|kind| kind.group == group && kind.version == version).collect();
    let first = here.first().ok_or_else(Refusal::no_resource)?;
    let resources: Vec<Value> = here.iter().map(|kind| kind.discovery()).collect();
    Ok(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": first.api_version(),
        "resources": resources,
    }))
}

fn reply(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}
