//! A request whose body is read, still as it came, and the shortest of answers. Who answers is in `http.rs`.

use std::collections::BTreeMap;

use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

/// What is asked, once its body is read.
pub struct Incoming {
    /// GET, POST ...
    pub method: Method,
    /// The path, still encoded.
    pub path: String,
    /// The query, still encoded.
    pub query: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its whole body.
    pub body: Bytes,
}

impl Incoming {
    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Decoded query parameters; of a repeated one the last counts.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        url::form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }
}

/// A short answer in plain text.
pub fn plain(status: StatusCode, text: &str) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(text.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Undoes `%41`; a `%` without two digits stands for itself.
pub fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}
