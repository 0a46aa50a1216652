//! Bytes to the hub and back: the one place that opens a connection to it. octocrab signs, this
//! sends; it goes to the two APIs of the hub, to where it signs people in, and nowhere else, follows no redirect, repeats
//! nothing, and takes only so much, for only so long.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, HOST};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use octocrab::OctoBody;
use url::Url;

use super::{Bases, HubError};
use crate::proxies::Proxies;

/// The most that one answer may hold. A page of fifty pull requests with their comments is some
/// megabytes.
pub(crate) const MOST: usize = 32 << 20;
/// GitHub gives up on a request after ten seconds, an Enterprise Server after thirty.
const LONGEST: Duration = Duration::from_secs(40);

/// Which API of the hub a request goes to, as an extension of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Rest,
    GraphQl,
    /// Beside its pages: there tokens of people are given out.
    Web,
}

/// Why an exchange has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    NotSent(String),
    #[error("{0}")]
    Broken(String),
    #[error("more than {MOST} bytes")]
    TooMuch,
}

/// Sends a request whose address is a path, to the API that its extension names.
#[derive(Clone)]
pub(crate) struct Wire {
    http: reqwest::Client,
    proxies: Proxies,
    rest: Url,
    graphql: Url,
    web: Url,
}

impl Wire {
    pub(crate) fn new(bases: &Bases) -> Result<Self, HubError> {
        let builder = reqwest::Client::builder()
            .user_agent(concat!("coldframe/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(Duration::from_secs(10))
            .timeout(LONGEST);
        let proxies = Proxies::environment().map_err(HubError::Setup)?;
        let http = proxies
            .on(builder)
            .build()
            .map_err(|error| HubError::Setup(format!("no HTTP client: {}", chain(&error))))?;
        Ok(Self { http, proxies, rest: bases.rest.clone(), graphql: bases.graphql.clone(), web: bases.web.clone() })
    }

    async fn exchange(self, request: Request<OctoBody>) -> Result<Response<Full<Bytes>>, Trouble> {
        let not_sent = |why: &str| Trouble::NotSent(why.to_owned());
        let (mut parts, body) = request.into_parts();
        if parts.uri.authority().is_some() {
            return Err(not_sent("a request is a path here, never an address of another host"));
        }
        let url = match parts.extensions.get::<Api>() {
            Some(Api::GraphQl) => self.graphql,
            Some(Api::Rest) => below(&self.rest, parts.uri.path(), parts.uri.query())?,
            Some(Api::Web) => below(&self.web, parts.uri.path(), parts.uri.query())?,
            None => return Err(not_sent("no API named")),
        };
        parts.headers.remove(CONTENT_LENGTH);
        parts.headers.remove(HOST);
        parts.headers.entry(ACCEPT).or_insert(http::HeaderValue::from_static("application/vnd.github+json"));
        let body = body.collect().await.map_err(|error| Trouble::NotSent(error.to_string()))?.to_bytes();
        let mut sending = self.http.request(parts.method, url.clone()).headers(parts.headers);
        if !body.is_empty() {
            sending = sending.body(body);
        }
        let answer = sending.send().await.map_err(|error| {
            let why = self.proxies.blamed(&url, chain(&error));
            if error.is_connect() || error.is_builder() { Trouble::NotSent(why) } else { Trouble::Broken(why) }
        })?;
        bounded(answer).await
    }
}

/// The address below the API's base. Dots in a path could climb out of it.
fn below(base: &Url, path: &str, query: Option<&str>) -> Result<Url, Trouble> {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url.set_query(query);
    let prefix = base.path().trim_end_matches('/');
    let inside = url.path().strip_prefix(prefix).is_some_and(|rest| rest == path);
    if inside { Ok(url) } else { Err(Trouble::NotSent(format!("`{path}` is no path of the API"))) }
}

async fn bounded(answer: reqwest::Response) -> Result<Response<Full<Bytes>>, Trouble> {
    if answer.content_length().is_some_and(|length| length > MOST as u64) {
        return Err(Trouble::TooMuch);
    }
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut answer = answer;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| Trouble::Broken(chain(&error)))? {
        if body.len() + chunk.len() > MOST {
            return Err(Trouble::TooMuch);
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

impl tower::Service<Request<OctoBody>> for Wire {
    type Response = Response<Full<Bytes>>;
    type Error = Trouble;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<OctoBody>) -> Self::Future {
        Box::pin(self.clone().exchange(request))
    }
}

/// An error with its causes in one line, without the address, which the call names already.
fn chain(error: &reqwest::Error) -> String {
    use std::error::Error as _;
    let mut text = match (error.is_timeout(), error.is_connect()) {
        (true, _) => "timed out".to_owned(),
        (false, true) => "no connection".to_owned(),
        (false, false) => "the connection broke".to_owned(),
    };
    let mut cause = error.source();
    for _ in 0..6 {
        let Some(inner) = cause else { break };
        let part = super::error::harmless(&inner.to_string());
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_stay_below_the_base() {
        let base = Url::parse("http://127.0.0.1:1/api/v3").unwrap();
        let url = below(&base, "/repos/a/b/rules/branches/x%2Fy", Some("per_page=100")).unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1:1/api/v3/repos/a/b/rules/branches/x%2Fy?per_page=100");
        for path in ["/../../login", "/repos/../../x", "/repos/%2e%2e/%2e%2e/x", "/a\\..\\..\\b"] {
            assert!(below(&base, path, None).is_err(), "{path}");
        }
        let root = Url::parse("https://api.github.com/").unwrap();
        assert_eq!(below(&root, "/app", None).unwrap().as_str(), "https://api.github.com/app");
    }
}
