//! One question to an API server over HTTP: one object, or a list page by page. What an answer means is judged
//! by signals.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ReadError;
use crate::observe::net::causes;
use crate::signal::{Target, Which, one_line};

/// The largest object or page that is read, in bytes; etcd holds no object above 1.5 MiB by default.
pub(super) const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// Items of one page.
const PAGE: usize = 100;
/// Pages of one list; more are no answer to any question of a signal.
const MOST_PAGES: usize = 20;
/// Pages of a list of clusters.
const MOST_PAGES_OF_CLUSTERS: usize = 100;
/// Asks for nothing but metadata (Kubernetes API concepts, "Metadata-only fetches").
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// What is asked for, in the words of errors.
pub(super) struct Words {
    pub verb: &'static str,
    pub resource: String,
}

impl Words {
    /// `helmreleases.helm.toolkit.fluxcd.io cert-manager/cert-manager`, as roles and people name it.
    pub fn of(target: &Target) -> Self {
        let group = if target.group.is_empty() { String::new() } else { format!(".{}", target.group) };
        let plural = &target.plural;
        match (&target.which, &target.namespace) {
            (Which::Named(name), Some(namespace)) => {
                Self { verb: "get", resource: format!("{plural}{group} {namespace}/{name}") }
            }
            (Which::Named(name), None) => Self { verb: "get", resource: format!("{plural}{group} {name}") },
            (Which::Labelled { .. }, Some(namespace)) => {
                Self { verb: "list", resource: format!("{plural}{group} in {namespace}") }
            }
            (Which::Labelled { .. }, None) => Self { verb: "list", resource: format!("{plural}{group}") },
        }
    }

    /// No answer at all.
    pub fn unreachable(&self, why: &str) -> ReadError {
        ReadError::Unreachable { resource: format!("{} {}", self.verb, self.resource), why: one_line(why) }
    }

    fn not_served(&self, why: &str) -> ReadError {
        ReadError::NotServed { resource: format!("{} {}", self.verb, self.resource), why: one_line(why) }
    }

    pub fn malformed(&self, why: &str) -> ReadError {
        ReadError::Malformed { resource: format!("{} {}", self.verb, self.resource), why: one_line(why) }
    }
}

/// The object, or a list of objects as one; `None` where the cluster says that there is none.
pub(super) async fn get(client: &Client, target: &Target) -> Result<Option<Value>, ReadError> {
    let words = Words::of(target);
    match &target.which {
        Which::Named(name) => one(client, target, name, &words).await,
        Which::Labelled { .. } => {
            let items = list(client, target, MOST_PAGES, &words).await?;
            Ok(Some(json!({"kind": format!("{}List", target.kind), "items": items})))
        }
    }
}

/// Every object of a list of clusters.
pub(super) async fn items(client: &Client, target: &Target) -> Result<Vec<Value>, ReadError> {
    list(client, target, MOST_PAGES_OF_CLUSTERS, &Words::of(target)).await
}

async fn one(client: &Client, target: &Target, name: &str, words: &Words) -> Result<Option<Value>, ReadError> {
    let (status, body) =
        ask(client, &format!("{}/{name}", path(target)), "application/json", words, Then::Keep).await?;
    let object = parsed(status, &body, words)?;
    if status == StatusCode::NOT_FOUND {
        return absent(&object, target, Some(name)).map(|()| None).map_err(|why| words.malformed(&why));
    }
    if object.get("kind").and_then(Value::as_str) != Some(target.kind.as_ref()) {
        return Err(words.malformed(&format!("it is no {}", target.kind)));
    }
    Ok(Some(object))
}

/// Every page of a list. One whose token has expired is begun anew by the next look.
async fn list(client: &Client, target: &Target, most: usize, words: &Words) -> Result<Vec<Value>, ReadError> {
    let mut items: Vec<Value> = Vec::new();
    let mut token: Option<String> = None;
    for _ in 0..most {
        let page = page(client, target, token.as_deref()).await?;
        for item in &page.items {
            items.push(object(item).map_err(|error| words.malformed(&error))?);
        }
        token = page.next;
        if token.is_none() {
            return Ok(items);
        }
    }
    Err(words.malformed(&format!("more than {} of them", most * PAGE)))
}

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects, as the API server wrote them: whoever reads one of them need not hold all.
    pub items: Vec<Box<RawValue>>,
    /// What asks for the next page; none after the last one.
    pub next: Option<String>,
    /// Of which moment the whole list is; a watch goes on from there.
    pub version: String,
}

/// An object of a page.
///
/// # Errors
/// Where it is none.
pub fn object(text: &RawValue) -> Result<Value, String> {
    serde_json::from_str(text.get()).map_err(|error| format!("an object that is not JSON ({error})"))
}

/// A list as it is written.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    kind: String,
    metadata: ListMeta,
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMeta {
    #[serde(rename = "continue")]
    token: Option<String>,
    resource_version: Option<String>,
}

/// One page of the objects that a target with labels names.
pub(super) async fn page(client: &Client, target: &Target, token: Option<&str>) -> Result<Page, ReadError> {
    let words = Words::of(target);
    let limit = PAGE.to_string();
    let mut pairs = vec![("limit", limit.as_str())];
    pairs.extend(token.map(|token| ("continue", token)));
    let accept = if is_metadata(target) { METADATA } else { "application/json" };
    let (status, body) = ask(client, &address(target, &pairs), accept, &words, Then::Close).await?;
    if status == StatusCode::NOT_FOUND {
        let page = parsed(status, &body, &words)?;
        return Err(words.not_served(&absent(&page, target, None).err().unwrap_or_default()));
    }
    let Ok(Listed { kind, metadata, items: Some(items) }) = serde_json::from_slice::<Listed>(&body) else {
        parsed(status, &body, &words)?;
        return Err(words.malformed(&format!("it is no list of {}", target.kind)));
    };
    if !kind.ends_with("List") {
        return Err(words.malformed(&format!("it is no list of {}", target.kind)));
    }
    let next = metadata.token.filter(|next| !next.is_empty());
    Ok(Page { items, next, version: metadata.resource_version.unwrap_or_default() })
}

/// Whether nothing but metadata is asked for.
pub(super) fn is_metadata(target: &Target) -> bool {
    matches!(&target.which, Which::Labelled { metadata: true, .. })
}

/// The path of a list and what is asked of it.
pub(super) fn address(target: &Target, pairs: &[(&str, &str)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Which::Labelled { selector, .. } = &target.which
        && !selector.is_empty()
    {
        query.append_pair("labelSelector", selector);
    }
    query.extend_pairs(pairs);
    format!("{}?{}", path(target), query.finish())
}

/// What becomes of a connection after an answer.
#[derive(Clone, Copy)]
pub(super) enum Then {
    /// Others may use it.
    Keep,
    /// It is closed: room that a long answer took would else be held for as long as a watch goes on.
    Close,
}

/// Asks; what is neither an answer nor "there is none" is an error.
pub(super) async fn send(
    client: &Client,
    path: &str,
    accept: &str,
    words: &Words,
    then: Then,
) -> Result<http::Response<Body>, ReadError> {
    let mut request = Request::get(path).header(http::header::ACCEPT, accept);
    if matches!(then, Then::Close) {
        request = request.header(http::header::CONNECTION, "close");
    }
    let request = request.body(Body::empty()).map_err(|error| words.malformed(&error.to_string()))?;
    let answer = client.send(request).await.map_err(|error| words.unreachable(&causes(&error)))?;
    let status = answer.status();
    match status {
        StatusCode::OK | StatusCode::NOT_FOUND => Ok(answer),
        StatusCode::GONE => Err(ReadError::Expired { resource: format!("{} {}", words.verb, words.resource) }),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let (verb, resource) = (words.verb, words.resource.clone());
            Err(ReadError::Denied { verb, resource, status: status.as_u16() })
        }
        _ if status.is_redirection() => Err(words.malformed(&format!("it answered {status}, which is not followed"))),
        _ => Err(words.malformed(&format!("it answered {status}"))),
    }
}

async fn ask(
    client: &Client,
    path: &str,
    accept: &str,
    words: &Words,
    then: Then,
) -> Result<(StatusCode, Bytes), ReadError> {
    let answer = send(client, path, accept, words, then).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            words.malformed(&format!("more than {MAX_ANSWER} bytes"))
        } else {
            words.unreachable(&causes(error.as_ref()))
        }
    })?;
    Ok((status, body.to_bytes()))
}

fn parsed(status: StatusCode, body: &Bytes, words: &Words) -> Result<Value, ReadError> {
    serde_json::from_slice(body)
        .map_err(|error| words.malformed(&format!("it answered {status} with something that is not JSON ({error})")))
}

/// A 404 means that there is no such object only where the API server says so about this very
/// object: a kind that is not installed, or a proxy in between, answers 404, too.
fn absent(answer: &Value, target: &Target, name: Option<&str>) -> Result<(), String> {
    let detail = |key: &str| answer.get("details").and_then(|details| details.get(key)).and_then(Value::as_str);
    let is_status = answer.get("kind").and_then(Value::as_str) == Some("Status");
    if is_status && name.is_some() && detail("name") == name {
        return Ok(());
    }
    let kind = &target.kind;
    Err(format!("it answered 404, but not about this {kind}; is {} installed there?", target.api_version()))
}

fn path(target: &Target) -> String {
    let mut path = if target.group.is_empty() {
        format!("/api/{}", target.version)
    } else {
        format!("/apis/{}/{}", target.group, target.version)
    };
    if let Some(namespace) = &target.namespace {
        path.push_str(&format!("/namespaces/{namespace}"));
    }
    format!("{path}/{}", target.plural)
}
