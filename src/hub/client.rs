//! Calls of one identity: its key, its budget, pages that never leave the hub.

use std::collections::BTreeSet;
use std::sync::Arc;

use decide::Person;
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use octocrab::Octocrab;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use super::HubError;
use super::access::Minting;
use super::budget::{Allowance, Budget, Counter, Turn};
use super::error::harmless;
use super::graphql::Envelope;
use super::line::{Answer, Call, Line};
use super::unchanged::Unchanged;
use crate::secret::Secret;

/// The most pages of one list.
const MOST_PAGES: usize = 100;

/// Where the signature comes from.
#[derive(Clone)]
pub(crate) enum Key {
    /// Always the same: an App's own calls, a plain token.
    Fixed { crab: Octocrab, token: Option<Secret> },
    /// An installation's token.
    Minted(Arc<Minting>),
}

/// One identity's way to the hub.
#[derive(Clone)]
pub(crate) struct Client {
    line: Line,
    budget: Arc<Budget>,
    key: Key,
    unchanged: Arc<Unchanged>,
    /// Its calls can wait.
    leisurely: bool,
}

impl Client {
    pub(crate) fn new(line: Line, budget: Arc<Budget>, key: Key) -> Self {
        Self { line, budget, key, unchanged: Arc::default(), leisurely: false }
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// The same for calls that can wait: they leave the reserve of the budget to others.
    pub(crate) fn leisurely(&self) -> Self {
        Self { leisurely: true, ..self.clone() }
    }

    /// What is left of the REST and GraphQL budgets, as far as answers said.
    pub(crate) fn left(&self) -> (Option<Allowance>, Option<Allowance>) {
        (self.budget.left(Counter::Rest), self.budget.left(Counter::GraphQl))
    }

    /// The token, for git.
    pub(crate) async fn token(&self) -> Result<Secret, HubError> {
        match &self.key {
            Key::Fixed { token: Some(token), .. } => Ok(token.clone()),
            Key::Fixed { token: None, .. } => Err(HubError::Setup("an App's signature is no token".to_owned())),
            Key::Minted(minting) => Ok(minting.get().await?.token),
        }
    }

    /// Drops a token that git did not accept: where the App was taken off and installed again, a new one is good.
    pub(crate) async fn forget(&self, refused: &Secret) {
        match &self.key {
            Key::Fixed { .. } => {}
            Key::Minted(minting) => minting.forget(refused).await,
        }
    }

    /// Sends a call. What is known already is asked for only where it has changed.
    pub(crate) async fn send(&self, call: &Call) -> Result<Answer, HubError> {
        if self.leisurely {
            self.budget.spare(call.what(), call.counter(), (self.line.clock)(), self.line.skew.get())?;
        }
        if call.makes() {
            self.budget.make(call.what(), self.leisurely, (self.line.clock)())?;
        }
        let known = self.unchanged.known(call);
        let answer = match &known {
            Some(known) => self.exchange(&call.unless(&known.etag)).await?,
            None => self.exchange(call).await?,
        };
        self.unchanged.settled(call, known, answer).success(call)
    }

    /// A token that the hub does not accept any more is replaced once: a 401 comes before anything is done.
    async fn exchange(&self, call: &Call) -> Result<Answer, HubError> {
        let minting = match &self.key {
            Key::Fixed { crab, .. } => return self.line.exchange(crab, &self.budget, call).await,
            Key::Minted(minting) => minting,
        };
        // Boxed: minting sends calls of its own.
        let minted = Box::pin(minting.get()).await?;
        let answer = self.line.exchange(&minted.crab, &self.budget, call).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        minting.forget(&minted.token).await;
        let minted = Box::pin(minting.get()).await?;
        self.line.exchange(&minted.crab, &self.budget, call).await
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, HubError> {
        let call = Call::get(path);
        self.send(&call).await?.json(&call)
    }

    pub(crate) async fn write(&self, method: Method, path: &str, body: Option<Value>) -> Result<Answer, HubError> {
        self.send(&Call::write(method, path, body)).await
    }

    pub(crate) async fn write_for<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Value,
    ) -> Result<T, HubError> {
        let call = Call::write(method, path, Some(body));
        self.send(&call).await?.json(&call)
    }

    /// A write in a turn that the caller holds, which is not sent after `good_until`.
    pub(crate) async fn write_until<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Value,
        good_until: Timestamp,
    ) -> Result<T, HubError> {
        let call = Call::write_until(method, path, body, good_until);
        self.send(&call).await?.json(&call)
    }

    /// Waits for the turn to write.
    pub(crate) async fn turn(&self) -> Turn {
        self.budget.turn(self.line.pace, self.line.clock).await
    }

    /// Every entry of a list: an array, or an object that holds it under `key`.
    pub(crate) async fn pages<T: DeserializeOwned>(&self, path: &str, key: Option<&str>) -> Result<Vec<T>, HubError> {
        self.pages_within(path, key, MOST_PAGES).await
    }

    /// The same of a list that may have so many pages at most.
    pub(crate) async fn pages_within<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        most: usize,
    ) -> Result<Vec<T>, HubError> {
        let mut entries = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next {
            let call = Call::get(path.as_str());
            if seen.len() >= most || !seen.insert(path) {
                let why = format!("the list does not end within {most} pages");
                return Err(HubError::TooMuch { what: call.what().to_owned(), why });
            }
            let answer = self.send(&call).await?;
            let page: Value = answer.json(&call)?;
            let list = match key {
                Some(key) => page.get(key).cloned().unwrap_or_default(),
                None => page,
            };
            let mut list: Vec<T> = serde_json::from_value(list).map_err(|error| HubError::Malformed {
                what: call.what().to_owned(),
                why: harmless(&error.to_string()),
            })?;
            entries.append(&mut list);
            next = next_page(&answer.headers, &self.line.bases.rest)
                .map_err(|why| HubError::Malformed { what: call.what().to_owned(), why })?;
        }
        Ok(entries)
    }

    /// A GraphQL document with its operation. Errors and data both come back.
    pub(crate) async fn query(&self, document: &str, operation: &str, variables: Value) -> Result<Envelope, HubError> {
        let body = json!({ "query": document, "operationName": operation, "variables": variables });
        let call = Call::query(operation, body);
        self.send(&call).await?.json(&call)
    }

    /// A GraphQL document that changes something: in a turn that the caller holds and not sent after `good_until`, or
    /// in a turn of its own.
    pub(crate) async fn mutate(
        &self,
        document: &str,
        operation: &str,
        variables: Value,
        good_until: Option<Timestamp>,
    ) -> Result<Envelope, HubError> {
        let body = json!({ "query": document, "operationName": operation, "variables": variables });
        let call = Call::mutation(operation, body, good_until);
        self.send(&call).await?.json(&call)
    }

    /// Who a token is, by GraphQL.
    pub(crate) async fn viewer(&self) -> Result<Person, HubError> {
        #[derive(Deserialize)]
        struct Data {
            viewer: Viewer,
        }
        #[derive(Deserialize)]
        struct Viewer {
            login: String,
        }
        let envelope = self.query(include_str!("queries/viewer.graphql"), "Viewer", json!({})).await?;
        let faults = envelope.faults();
        let data = envelope.data.and_then(|data| serde_json::from_value::<Data>(data).ok());
        data.map(|data| Person::new(data.viewer.login)).ok_or_else(|| HubError::Partial {
            what: "GraphQL Viewer".to_owned(),
            why: faults.first().map_or_else(|| "no login".to_owned(), |fault| fault.message.clone()),
        })
    }
}

/// The path of the next page below the API's base. A list never leads to another host: the token
/// would go with it (`docs/attacks.md`, A23).
fn next_page(headers: &HeaderMap, base: &Url) -> Result<Option<String>, String> {
    for header in headers.get_all(http::header::LINK) {
        let links = header.to_str().map_err(|_| "the Link header is no text".to_owned())?;
        for link in links.split(',') {
            let Some((target, parameters)) = link.trim().strip_prefix('<').and_then(|link| link.split_once('>')) else {
                continue;
            };
            let next = parameters.split(';').any(|parameter| {
                parameter
                    .trim()
                    .strip_prefix("rel=")
                    .is_some_and(|rel| rel.trim_matches('"').eq_ignore_ascii_case("next"))
            });
            if !next {
                continue;
            }
            let url = base.join(target).map_err(|error| format!("the next page: {error}"))?;
            let prefix = base.path().trim_end_matches('/');
            let path = url.path().strip_prefix(prefix).filter(|path| path.starts_with('/'));
            let (true, Some(path)) = (url.origin() == base.origin(), path) else {
                return Err(format!("the next page leads to {}, not below {base}", harmless(url.as_str())));
            };
            return Ok(Some(url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"))));
        }
    }
    Ok(None)
}

/// One segment of a path; what is not plain is percent-encoded, slashes too.
pub(crate) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            // A lone dot would climb; GitHub's names hold dots only among other letters.
            b'.' if text != "." && text != ".." => out.push('.'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pages_stay_on_the_origin() {
        let base = Url::parse("https://ghe.example/api/v3").unwrap();
        let of = |link: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::LINK, link.parse().unwrap());
            next_page(&headers, &base)
        };
        let last = r#"<https://ghe.example/api/v3/x?page=9>; rel="last""#;
        assert_eq!(of(last), Ok(None));
        let both = format!(r#"{last}, <https://ghe.example/api/v3/user/repos?per_page=100&page=2>; rel="next""#);
        assert_eq!(of(&both), Ok(Some("/user/repos?per_page=100&page=2".to_owned())));
        assert_eq!(of(r#"</api/v3/x?page=2>; rel="next""#), Ok(Some("/x?page=2".to_owned())));
        for away in [
            "<https://evil.example/api/v3/x?page=2>; rel=\"next\"",
            "<http://ghe.example/api/v3/x?page=2>; rel=\"next\"",
            "<https://ghe.example:444/api/v3/x>; rel=\"next\"",
            "<https://ghe.example@evil.example/api/v3/x>; rel=\"next\"",
            "<//evil.example/api/v3/x>; rel=\"next\"",
            "<https://ghe.example/login/x>; rel=\"next\"",
            "<https://ghe.example/api/v3/../../login>; rel=\"next\"",
            "<https://ghe.example/api/v3evil/x>; rel=next",
        ] {
            assert!(of(away).is_err(), "{away}");
        }
    }

    #[test]
    fn a18_segments_are_closed() {
        for (text, path) in [
            ("main", "main"),
            ("coldframe/a/b", "coldframe%2Fa%2Fb"),
            ("..", "%2E%2E"),
            ("v1.2", "v1.2"),
            ("a?b#c d", "a%3Fb%23c%20d"),
            ("ü", "%C3%BC"),
            ("coldframe[bot]", "coldframe%5Bbot%5D"),
        ] {
            assert_eq!(segment(text), path);
        }
    }
}
