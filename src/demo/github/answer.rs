//! A request as the routes see it, and the answer as GitHub words it.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::state::Actor;

/// A request, read and authenticated.
pub struct Request {
    /// GET, POST ...
    pub method: Method,
    /// Decoded segments after `/api/v3`.
    pub path: Vec<String>,
    /// Decoded query.
    pub query: BTreeMap<String, String>,
    /// The body; null when there is none.
    pub body: Value,
    /// The `Accept` header.
    pub accept: String,
    /// Who asks.
    pub actor: Actor,
}

impl Request {
    /// A text of the body.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.body.get(key).and_then(Value::as_str)
    }

    /// `per_page` (1 to 100, 30 without) and `page` (from 1).
    pub fn paging(&self) -> (usize, usize) {
        let number = |key: &str, default: usize| self.query.get(key).and_then(|t| t.parse().ok()).unwrap_or(default);
        (number("per_page", 30).clamp(1, 100), number("page", 1).max(1))
    }
}

/// An answer, before headers that all have.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body; none = empty.
    pub body: Option<Body>,
    /// Headers of its own.
    pub headers: Vec<(&'static str, String)>,
}

/// A body.
#[derive(Clone, Debug)]
pub enum Body {
    /// JSON.
    Json(Value),
    /// Bytes of this media type.
    Raw(&'static str, Vec<u8>),
}

/// What a route gives: both ways out are answers.
pub type Outcome = Result<Answer, Answer>;

const DOCS: &str = "https://docs.github.com/rest";

impl Answer {
    /// 200 with JSON.
    pub fn ok(body: Value) -> Self {
        Self::with(StatusCode::OK, body)
    }

    /// 201 with JSON.
    pub fn created(body: Value) -> Self {
        Self::with(StatusCode::CREATED, body)
    }

    /// 204.
    pub fn empty() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: None, headers: Vec::new() }
    }

    /// Any status with JSON.
    pub fn with(status: StatusCode, body: Value) -> Self {
        Self { status, body: Some(Body::Json(body)), headers: Vec::new() }
    }

    /// 200 with a unified diff.
    pub fn diff(text: String) -> Self {
        let body = Body::Raw("application/vnd.github.diff; charset=utf-8", format!("{text}\n").into_bytes());
        Self { body: Some(body), ..Self::ok(Value::Null) }
    }

    /// An error as GitHub words it.
    pub fn error(status: u16, message: &str) -> Self {
        Self::with(
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            json!({"message": message, "documentation_url": DOCS, "status": status.to_string()}),
        )
    }

    /// 404, which also stands for "you may not see it".
    pub fn not_found() -> Self {
        Self::error(404, "Not Found")
    }

    /// 500 as the hub answers when it fails.
    pub fn broken() -> Self {
        Self::error(500, "Server Error")
    }

    /// 422 with one error that is a sentence.
    pub fn invalid(resource: &str, message: &str) -> Self {
        Self::invalid_with(json!([{"resource": resource, "code": "custom", "message": message}]))
    }

    /// 422 with one error about a field: `missing_field`, `invalid` ...
    pub fn invalid_field(resource: &str, field: &str, code: &str) -> Self {
        Self::invalid_with(json!([{"resource": resource, "field": field, "code": code}]))
    }

    /// 422 with errors.
    pub fn invalid_with(errors: Value) -> Self {
        Self::with(
            StatusCode::UNPROCESSABLE_ENTITY,
            json!({"message": "Validation Failed", "errors": errors, "documentation_url": DOCS, "status": "422"}),
        )
    }

    /// One page of a list, with the `Link` header that leads to the others.
    pub fn page(request: &Request, base: &str, items: Vec<Value>) -> Self {
        Self::page_under(request, base, None, items)
    }

    /// One page of a list that lies under a key beside `total_count`.
    pub fn page_under(request: &Request, base: &str, key: Option<&str>, items: Vec<Value>) -> Self {
        let (size, page) = request.paging();
        let total = items.len();
        let pages = total.div_ceil(size).max(1);
        let shown: Vec<Value> = items.into_iter().skip((page - 1) * size).take(size).collect();
        let mut answer = match key {
            None => Self::ok(Value::Array(shown)),
            Some(key) => {
                let mut body = serde_json::Map::new();
                body.insert("total_count".to_owned(), total.into());
                body.insert(key.to_owned(), Value::Array(shown));
                Self::ok(Value::Object(body))
            }
        };
        let target = |number: usize| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(request.query.iter().filter(|(key, _)| *key != "page"));
            query.append_pair("page", &number.to_string());
            format!("{base}/{}?{}", request.path.join("/"), query.finish())
        };
        let mut links = Vec::new();
        if page > 1 {
            links.push(format!("<{}>; rel=\"prev\"", target(page - 1)));
        }
        if page < pages {
            links.push(format!("<{}>; rel=\"next\"", target(page + 1)));
            links.push(format!("<{}>; rel=\"last\"", target(pages)));
        }
        if page > 1 {
            links.push(format!("<{}>; rel=\"first\"", target(1)));
        }
        if !links.is_empty() {
            answer.headers.push(("link", links.join(", ")));
        }
        answer
    }
}

impl From<anyhow::Error> for Answer {
    fn from(error: anyhow::Error) -> Self {
        tracing::warn!(%error, "the sandbox's GitHub failed");
        Self::broken()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn page(number: &str) -> Answer {
        let request = Request {
            method: Method::GET,
            path: vec!["repos".into(), "a".into()],
            query: [("per_page", "2"), ("page", number), ("state", "all")]
                .into_iter()
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .collect(),
            body: Value::Null,
            accept: String::new(),
            actor: Actor::Anonymous,
        };
        Answer::page(&request, "http://h/api/v3", (0..5).map(Value::from).collect())
    }

    #[test]
    fn pages_link_to_their_neighbours() {
        let first = page("1");
        assert_eq!(
            first.headers[0].1,
            "<http://h/api/v3/repos/a?per_page=2&state=all&page=2>; rel=\"next\", \
             <http://h/api/v3/repos/a?per_page=2&state=all&page=3>; rel=\"last\""
        );
        let last = page("3");
        assert!(matches!(last.body, Some(Body::Json(Value::Array(items))) if items == [4]));
        assert!(last.headers[0].1.contains("rel=\"prev\"") && !last.headers[0].1.contains("rel=\"next\""));
    }
}
