//! A reverse proxy between the bot and its hub that keeps what passes. Addresses in answers are
//! written as its own, so that nothing goes past it.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::openapi::Exchange;
use crate::peers::serve;

/// What passed.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// REST.
    pub exchanges: Vec<Exchange>,
    /// GraphQL: `{query, variables, operationName}`.
    pub operations: Vec<Value>,
    /// Requests of other kinds: git.
    pub others: usize,
    /// Bodies that are no JSON, requests that were not passed on.
    pub trouble: Vec<String>,
}

#[derive(Clone)]
struct Recorder {
    hub: String,
    own: Arc<Mutex<String>>,
    record: Arc<Mutex<Record>>,
    client: reqwest::Client,
}

/// A running one: its address, and what has passed so far.
pub async fn record(hub: &str) -> (String, Arc<Mutex<Record>>) {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let recorder = Recorder { hub: hub.to_owned(), own: Arc::default(), record: Arc::default(), client };
    let (own, record) = (recorder.own.clone(), recorder.record.clone());
    let address = format!("http://{}", serve(Router::new().fallback(pass).with_state(recorder)).await);
    *own.lock().unwrap() = address.clone();
    (address, record)
}

async fn pass(State(recorder): State<Recorder>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap();
    let target = head.uri.path_and_query().map_or("/", |path| path.as_str());
    match recorder.ask(&head.method, target, head.headers, body.clone()).await {
        Ok((status, headers, answer)) => {
            recorder.keep(&head.method, head.uri.path(), status, &body, &answer);
            let mut response = Response::new(Body::from(answer));
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            response
        }
        Err(error) => {
            recorder.record.lock().unwrap().trouble.push(format!("{} {target}: {error}", head.method));
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }
    }
}

impl Recorder {
    async fn ask(
        &self,
        method: &Method,
        target: &str,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> reqwest::Result<(StatusCode, HeaderMap, Bytes)> {
        headers.remove(header::HOST);
        headers.remove(header::TRANSFER_ENCODING);
        let request = self.client.request(method.clone(), format!("{}{target}", self.hub)).headers(headers);
        let answer = request.body(body).send().await?;
        let (status, told) = (answer.status(), answer.headers().clone());
        let bytes = answer.bytes().await?;
        let own = self.own.lock().unwrap().clone();
        let is_json =
            told.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let bytes = match std::str::from_utf8(&bytes) {
            Ok(text) if is_json => Bytes::from(text.replace(&self.hub, &own)),
            Ok(_) | Err(_) => bytes,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &told {
            if name == header::CONTENT_LENGTH || name == header::TRANSFER_ENCODING {
                continue;
            }
            let value = value.to_str().ok().and_then(|text| text.replace(&self.hub, &own).parse().ok());
            headers.extend(value.map(|value| (name.clone(), value)));
        }
        Ok((status, headers, bytes))
    }

    fn keep(&self, method: &Method, path: &str, status: StatusCode, request: &Bytes, answer: &Bytes) {
        let mut record = self.record.lock().unwrap();
        if !path.starts_with("/api/") {
            record.others += 1;
            return;
        }
        let parsed = |bytes: &Bytes| match bytes.is_empty() {
            true => Ok(Value::Null),
            false => serde_json::from_slice::<Value>(bytes),
        };
        let request = match parsed(request) {
            Ok(request) => request,
            Err(error) => return record.trouble.push(format!("{method} {path}: no JSON ({error})")),
        };
        if path == "/api/graphql" {
            let variables = request.get("variables").cloned().unwrap_or_else(|| json!({}));
            record.operations.push(json!({"name": "sent", "query": request["query"], "variables": variables,
                "operation": request["operationName"]}));
            return;
        }
        let path = path.strip_prefix("/api/v3").unwrap_or(path).to_owned();
        let path = if path.is_empty() { "/".to_owned() } else { path };
        let answer = parsed(answer).unwrap_or(Value::Null);
        let (method, status) = (method.to_string(), status.as_u16());
        record.exchanges.push(Exchange { method, path, status, request, answer });
    }
}
