//! One call: admitted by the budget, paced if it writes, signed by octocrab, sent once, and its
//! answer classified. Who calls decides what to do next; nothing is repeated in here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::budget::{Budget, Counter, Seen, Skew};
use super::error::{harmless, of_status, said};
use super::wire::{Api, Trouble};
use super::{Bases, HubError};
use crate::metrics::Metrics;

/// What every identity of one hub shares.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) bases: Arc<Bases>,
    pub(crate) skew: Arc<Skew>,
    pub(crate) clock: fn() -> Timestamp,
    pub(crate) pace: Duration,
    /// Counts every call.
    pub(crate) metrics: Metrics,
}

impl Line {
    pub(crate) fn new(bases: Bases, clock: fn() -> Timestamp, pace: Duration) -> Self {
        Self { bases: Arc::new(bases), skew: Arc::default(), clock, pace, metrics: Metrics::new() }
    }

    /// Sends a call once. An answer that is a limit is an error; any other status is an answer.
    pub(crate) async fn exchange(&self, crab: &Octocrab, budget: &Budget, call: &Call) -> Result<Answer, HubError> {
        let counter = call.counter();
        budget.admit(&call.what, counter, (self.clock)())?;
        let waits = call.writes && call.good_until.is_none();
        let _turn = if waits { Some(budget.turn(self.pace, self.clock).await) } else { None };
        let closed = |error: &dyn std::fmt::Display| HubError::Setup(format!("{}: {error}", call.what));
        let _place = budget.places.acquire().await.map_err(|error| closed(&error))?;

        let mut builder = http::Request::builder().method(call.method.clone()).uri(call.path.as_str());
        if let Some(media) = call.accept {
            builder = builder.header(http::header::ACCEPT, media);
        }
        if let Some(etag) = &call.unless {
            builder = builder.header(http::header::IF_NONE_MATCH, etag);
        }
        let mut request = crab.build_request(builder, call.body.as_ref()).map_err(|error| closed(&error))?;
        request.extensions_mut().insert(call.api);
        let sent = (self.clock)();
        // The last thing before it is sent: a process may have been frozen on the way here.
        if let Some(until) = call.good_until.filter(|until| sent > *until) {
            return Err(HubError::Stale { what: call.what.clone(), until });
        }
        let response = match crab.execute(request).await {
            Ok(response) => response,
            Err(error) => {
                self.metrics.hub_call(counter.name(), 0);
                return Err(call.without_answer(&error));
            }
        };
        self.metrics.hub_call(counter.name(), response.status().as_u16());
        let received = (self.clock)();
        let (parts, body) = response.into_parts();
        // The wire has read the whole body already, within its bound.
        let body = body.collect().await.map_err(|error| call.broken(error.to_string()))?.to_bytes();
        let answer = Answer { status: parts.status, headers: parts.headers, body };
        self.skew.note(&answer.headers, sent, received);
        tracing::debug!(call = call.what, status = answer.status.as_u16(), "hub answered");
        let limit = self.limit(budget, counter, &answer, received);
        if let Some(left) = budget.left(counter) {
            self.metrics.hub_budget(&budget.installation, counter.name(), left.remaining, left.limit);
        }
        match limit {
            None => Ok(answer),
            Some((until, why)) => Err(HubError::Limited { what: call.what.clone(), until, why }),
        }
    }

    fn limit(&self, budget: &Budget, counter: Counter, answer: &Answer, now: Timestamp) -> Option<(Timestamp, String)> {
        let refused = answer.status.is_client_error();
        let words = if refused { said(&answer.body).to_lowercase() } else { String::new() };
        let graphql_limited =
            counter == Counter::GraphQl && answer.status.is_success() && super::graphql::is_limit(&answer.body);
        let seen = Seen {
            status: answer.status,
            headers: &answer.headers,
            words: &words,
            graphql_limited,
            skew: self.skew.get(),
        };
        budget.note(counter, &seen, now)
    }
}

/// A request to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
    api: Api,
    /// The form of the answer, where it is not the hub's usual one.
    accept: Option<&'static str>,
    /// Whether it changes something there.
    writes: bool,
    /// How errors name it: method and path.
    what: String,
    /// Whose caller has the turn to write already, and until when what it rests on is fresh.
    good_until: Option<Timestamp>,
    /// The answer that is known; the hub need not send that again.
    unless: Option<HeaderValue>,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), None, false)
    }

    /// The same, answered in another form.
    pub(crate) fn get_as(media: &'static str, path: impl Into<String>) -> Self {
        Self { accept: Some(media), ..Self::get(path) }
    }

    pub(crate) fn write(method: Method, path: impl Into<String>, body: Option<Value>) -> Self {
        Self::new(method, path.into(), body, true)
    }

    /// A write in a turn that its caller holds, which is not sent after this instant.
    pub(crate) fn write_until(method: Method, path: impl Into<String>, body: Value, good_until: Timestamp) -> Self {
        Self { good_until: Some(good_until), ..Self::write(method, path, Some(body)) }
    }

    /// A POST that changes nothing of the world: a token is minted.
    pub(crate) fn mint(path: String, body: Value) -> Self {
        Self::new(Method::POST, path, Some(body), false)
    }

    /// A POST beside the hub's pages, which gives out a token of a person and is answered in JSON.
    pub(crate) fn web(path: &str, body: Value) -> Self {
        Self { api: Api::Web, accept: Some("application/json"), ..Self::mint(path.to_owned(), body) }
    }

    /// A GraphQL query, named `what` in errors.
    pub(crate) fn query(what: &str, body: Value) -> Self {
        let path = "/graphql".to_owned();
        let what = format!("GraphQL {what}");
        Self {
            method: Method::POST,
            path,
            body: Some(body),
            api: Api::GraphQl,
            accept: None,
            writes: false,
            what,
            good_until: None,
            unless: None,
        }
    }

    /// A GraphQL mutation, named `what` in errors; see [`Self::write_until`].
    pub(crate) fn mutation(what: &str, body: Value, good_until: Option<Timestamp>) -> Self {
        Self { writes: true, good_until, ..Self::query(what, body) }
    }

    fn new(method: Method, path: String, body: Option<Value>, writes: bool) -> Self {
        let shown = path.split_once('?').map_or(path.as_str(), |(path, _)| path);
        let what = format!("{method} {}", harmless(shown));
        Self { method, path, body, api: Api::Rest, accept: None, writes, what, good_until: None, unless: None }
    }

    /// The same, where the hub need not send again what it has named so.
    pub(crate) fn unless(&self, etag: &HeaderValue) -> Self {
        Self { unless: Some(etag.clone()), ..self.clone() }
    }

    /// What it asks for; none where it does more than to read, or has to be asked in a body.
    pub(crate) fn read(&self) -> Option<String> {
        let reads = self.method == Method::GET && matches!(self.api, Api::Rest);
        reads.then(|| format!("{} {}", self.accept.unwrap_or_default(), self.path))
    }

    /// Whether it makes something new there.
    pub(crate) fn makes(&self) -> bool {
        self.writes && self.method == Method::POST && matches!(self.api, Api::Rest)
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Which of the hub's counters it uses.
    pub(crate) fn counter(&self) -> Counter {
        match self.api {
            Api::Rest | Api::Web => Counter::Rest,
            Api::GraphQl => Counter::GraphQl,
        }
    }

    fn without_answer(&self, error: &octocrab::Error) -> HubError {
        let what = self.what.clone();
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(inner) = cause {
            match inner.downcast_ref::<Trouble>() {
                Some(Trouble::NotSent(why)) => return HubError::Unreachable { what, why: why.clone() },
                Some(Trouble::Broken(why)) => return self.broken(why.clone()),
                Some(Trouble::TooMuch) if self.writes => return self.broken("a boundless answer".to_owned()),
                Some(trouble @ Trouble::TooMuch) => return HubError::TooMuch { what, why: trouble.to_string() },
                None => cause = inner.source(),
            }
        }
        // octocrab's own: the key did not sign, or its worker ended.
        self.broken(harmless(&error.to_string()))
    }

    fn broken(&self, why: String) -> HubError {
        let what = self.what.clone();
        if self.writes { HubError::Unsettled { what, why } } else { HubError::Unreachable { what, why } }
    }
}

/// What the hub answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Itself for a success, an error for the rest.
    pub(crate) fn success(self, call: &Call) -> Result<Self, HubError> {
        if self.status.is_success() {
            return Ok(self);
        }
        let header = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        let error = of_status(&call.what, call.writes, self.status, header("location"), &self.body);
        Err(error.with_permission(header("x-accepted-github-permissions")))
    }

    /// The body as `T`. For a write this can only fail after the fact: it has happened then, and
    /// is unsettled to the caller.
    pub(crate) fn json<T: DeserializeOwned>(&self, call: &Call) -> Result<T, HubError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let why = harmless(&error.to_string());
            if call.writes {
                call.broken(format!("its answer makes no sense: {why}"))
            } else {
                HubError::Malformed { what: call.what.clone(), why }
            }
        })
    }
}
