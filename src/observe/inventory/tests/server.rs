//! An API server on loopback with objects of its own: selectors, pages with tokens that expire, metadata alone,
//! rights, kinds that are not served. Behind `/member/<name>` lie the clusters themselves, each with its token.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What the server holds, and what it was asked.
#[derive(Default)]
pub struct World {
    pub objects: Vec<Value>,
    /// `group/version` of what is installed.
    pub serves: BTreeSet<String>,
    /// Rights that the hub's token does not have: `list secrets`.
    pub denied: BTreeSet<String>,
    /// Items of a page at most.
    pub page: usize,
    /// Tokens of lists that began before are not known any more.
    pub compacted: bool,
    /// What is answered to lists in place of them.
    pub instead: Option<Value>,
    /// Tokens that members take; none = any.
    pub members_take: Option<String>,
    pub asked: Vec<Asked>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `list secrets`, `get secrets argocd/eu-1`, `member eu-1`.
    pub what: String,
    pub query: Vec<(String, String)>,
    pub accept: String,
    pub token: String,
}

pub type Shared = Arc<Mutex<World>>;

/// The token of the hub's connection.
pub const HUB_TOKEN: &str = "hunter2-hub";

/// Starts the server; its address.
pub async fn start(world: World) -> (Shared, String) {
    let world = Arc::new(Mutex::new(world));
    let router = Router::new().fallback(serve).with_state(Arc::clone(&world));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    #[allow(clippy::disallowed_methods)] // it lives as long as the test
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (world, host)
}

async fn serve(State(world): State<Shared>, uri: Uri, headers: HeaderMap) -> (StatusCode, String) {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_string()).unwrap_or_default();
    let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
    let token = header("authorization").trim_start_matches("Bearer ").to_string();
    let asked = Asked { what: String::new(), query, accept: header("accept"), token };
    let (status, body) = world.lock().unwrap().answer(uri.path(), asked);
    (status, body.to_string())
}

/// Where a path of the API leads.
struct Route<'a> {
    api_version: String,
    group: &'a str,
    namespace: Option<&'a str>,
    plural: &'a str,
    name: Option<&'a str>,
}

impl<'a> Route<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (api_version, group, rest) = match parts.as_slice() {
            ["hub", "api", version, rest @ ..] => (version.to_string(), "", rest),
            ["hub", "apis", group, version, rest @ ..] => (format!("{group}/{version}"), *group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
            rest => (None, rest),
        };
        match rest {
            [plural] => Some(Self { api_version, group, namespace, plural, name: None }),
            [plural, name] => Some(Self { api_version, group, namespace, plural, name: Some(name) }),
            _ => None,
        }
    }

    fn takes(&self, object: &Value) -> bool {
        let group = object["apiVersion"].as_str().unwrap().split_once('/').map_or("", |(group, _)| group);
        let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        group == self.group
            && plural == self.plural
            && self.namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
            && self.name.is_none_or(|name| object["metadata"]["name"] == name)
    }
}

impl World {
    fn answer(&mut self, path: &str, mut asked: Asked) -> (StatusCode, Value) {
        if let Some(member) = path.strip_prefix("/member/") {
            asked.what = format!("member {}", member.split('/').next().unwrap());
            let refused = self.members_take.as_ref().is_some_and(|token| *token != asked.token);
            self.asked.push(asked);
            if refused {
                return (StatusCode::UNAUTHORIZED, json!({"kind": "Status", "code": 401}));
            }
            return (
                StatusCode::OK,
                json!({"kind": "HelmRelease", "metadata": {"generation": 1}, "spec": {"suspend": true}}),
            );
        }
        let route = Route::of(path).unwrap_or_else(|| panic!("{path}"));
        let verb = if route.name.is_some() { "get" } else { "list" };
        let right = format!("{verb} {}", route.plural);
        let place = [route.namespace, route.name].into_iter().flatten().collect::<Vec<_>>().join("/");
        asked.what = format!("{right} {place}").trim_end().to_string();
        self.asked.push(asked.clone());
        if asked.token != HUB_TOKEN {
            return (StatusCode::UNAUTHORIZED, json!({"kind": "Status", "code": 401}));
        }
        if !self.serves.contains(&route.api_version) {
            return (StatusCode::NOT_FOUND, json!("404 page not found"));
        }
        if self.denied.contains(&right) {
            return (StatusCode::FORBIDDEN, json!({"kind": "Status", "reason": "Forbidden", "message": "no hunter2"}));
        }
        match route.name {
            Some(name) => self.get(&route, name),
            None => self.list(&route, &asked),
        }
    }

    fn get(&self, route: &Route<'_>, name: &str) -> (StatusCode, Value) {
        match self.objects.iter().find(|object| route.takes(object)) {
            Some(object) => (StatusCode::OK, sent(object)),
            None => {
                let details = json!({"name": name, "kind": route.plural});
                (StatusCode::NOT_FOUND, json!({"kind": "Status", "reason": "NotFound", "details": details}))
            }
        }
    }

    fn list(&self, route: &Route<'_>, asked: &Asked) -> (StatusCode, Value) {
        if let Some(instead) = &self.instead {
            return (StatusCode::OK, instead.clone());
        }
        let query = |key: &str| asked.query.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        let selector = query("labelSelector").unwrap_or_default();
        let limit: usize = query("limit").map_or(self.page, |limit| limit.parse().unwrap());
        let from: usize = match query("continue").filter(|token| !token.is_empty()) {
            Some(_) if self.compacted => {
                let message = "The provided continue parameter is too old";
                return (StatusCode::GONE, json!({"kind": "Status", "reason": "Expired", "message": message}));
            }
            Some(token) => token.strip_prefix("from-").unwrap().parse().unwrap(),
            None => 0,
        };
        let all: Vec<&Value> =
            self.objects.iter().filter(|object| route.takes(object) && selects(selector, object)).collect();
        let to = (from + limit.min(self.page)).min(all.len());
        let metadata = asked.accept.contains("as=PartialObjectMetadataList");
        let item = |object: &&Value| {
            if metadata {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
            } else {
                let mut object = sent(object);
                // A list of a kind of the core does not repeat it at each.
                if route.group.is_empty() {
                    object.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
                }
                object
            }
        };
        let items: Vec<Value> = all[from..to].iter().map(item).collect();
        let next = if to < all.len() { format!("from-{to}") } else { String::new() };
        let kind = all.first().map_or("Cluster", |object| object["kind"].as_str().unwrap());
        let kind = if metadata { "PartialObjectMetadataList".to_string() } else { format!("{kind}List") };
        (StatusCode::OK, json!({"kind": kind, "metadata": {"continue": next, "resourceVersion": "1"}, "items": items}))
    }
}

/// An object as the API gives it: the data of Secrets in base64.
pub fn sent(object: &Value) -> Value {
    let mut object = object.clone();
    let map = object.as_object_mut().unwrap();
    if let Some(Value::Object(texts)) = map.remove("stringData") {
        let data = texts.into_iter().map(|(key, text)| (key, json!(STANDARD.encode(text.as_str().unwrap())))).collect();
        map.insert("data".to_string(), Value::Object(data));
    }
    object
}

/// Whether a label selector takes an object (apimachinery, `labels.Parse`).
fn selects(selector: &str, object: &Value) -> bool {
    let label = |key: &str| object["metadata"]["labels"].get(key).map(|value| value.as_str().unwrap());
    let mut depth = 0;
    let parts = selector.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    let within = |list: &str, value: &str| list.trim_matches(['(', ')']).split(',').any(|known| known == value);
    let holds = |part: &str| match part.split_once(' ') {
        Some((key, rest)) => match rest.split_once(' ').unwrap() {
            ("in", list) => label(key).is_some_and(|value| within(list, value)),
            ("notin", list) => label(key).is_none_or(|value| !within(list, value)),
            (other, _) => panic!("{other}"),
        },
        None => match (part.strip_prefix('!'), part.split_once('=')) {
            (Some(key), _) => label(key).is_none(),
            (None, Some((key, value))) => label(key) == Some(value),
            (None, None) => label(part).is_some(),
        },
    };
    parts.filter(|part| !part.is_empty()).all(holds)
}
