//! One conversation with a git server: address, token, bounds, and what really went wrong. The
//! protocol is in `transport`.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use git2::ErrorClass;
use git2::transport::Service;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, StatusCode};
use tokio::runtime::Runtime;
use url::Url;

use super::error::{GitError, one_line};
use super::remote::Access;
use super::transport::Call;
use crate::proxies::Proxies;

/// GitHub tells git clients by the first word.
const AGENT: &str = concat!("git/2.0 (coldframe ", env!("CARGO_PKG_VERSION"), ")");
/// A fetch needs a dozen requests at most; a server that makes it more plays with us.
const MAX_REQUESTS: u32 = 64;

/// Bounds of one conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Until a connection stands.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub read: Duration,
    /// One request with its whole answer.
    pub request: Duration,
    /// Bytes of the list of refs. A busy repository advertises every pull request.
    pub advertised: usize,
    /// Bytes of a pack that we receive.
    pub received: usize,
    /// Bytes of a pack that we send.
    pub sent: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(60),
            request: Duration::from_secs(600),
            advertised: 64 << 20,
            received: 1 << 30,
            sent: 128 << 20,
        }
    }
}

/// One fetch or push: where to, with which token, and what went wrong on the way.
pub(super) struct Session {
    url: String,
    authorization: Option<HeaderValue>,
    hidden: Vec<String>,
    limits: Limits,
    /// Instead of the room's own; for addresses that a file names.
    client: Option<Client>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    failure: Option<GitError>,
    requests: u32,
    pack_sent: bool,
}

thread_local! {
    // The library creates the transport on the calling thread and has no other way to hand it data.
    static CURRENT: RefCell<Option<Arc<Session>>> = const { RefCell::new(None) };
}

impl Session {
    /// Checks the address and prepares the header.
    pub(super) fn new(access: &Access, limits: Limits, client: Option<Client>) -> Result<Arc<Self>, GitError> {
        let refuse = |why: &str| Err(GitError::malformed(shown(&access.url), why));
        let Ok(parsed) = Url::parse(&access.url) else {
            return refuse("this is no address; give one such as https://github.com/acme/fleet.git");
        };
        if !matches!(parsed.scheme(), "http" | "https") {
            return refuse("only http and https are spoken; give the https address of the repository");
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return refuse("it carries a user or password; give the token as a setting and leave the address bare");
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return refuse("it has a query or fragment; give the bare address of the repository");
        }
        if parsed.host().is_none() {
            return refuse("it names no host");
        }
        let (mut authorization, mut hidden) = (None, Vec::new());
        if let Some(token) = &access.token {
            let user = access.user.as_deref().unwrap_or("x-access-token");
            let encoded = STANDARD.encode(format!("{user}:{}", token.reveal()));
            let Ok(mut value) = HeaderValue::from_str(&format!("Basic {encoded}")) else {
                return refuse("its token holds characters that a header cannot carry");
            };
            value.set_sensitive(true);
            authorization = Some(value);
            hidden = vec![token.reveal().to_string(), encoded];
        }
        let url = access.url.trim_end_matches('/').to_string();
        Ok(Arc::new(Self { url, authorization, hidden, limits, client, state: Mutex::new(State::default()) }))
    }

    /// Runs `work` with this session as the one that new connections of this thread belong to.
    pub(super) fn during<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        struct Reset(Option<Arc<Session>>);
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _reset = Reset(CURRENT.replace(Some(Arc::clone(self))));
        work()
    }

    /// The session of the calling thread.
    pub(super) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The bounds.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// The address, for errors.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether a pack left for the server, after which only a look at it tells what became of it.
    pub(super) fn pack_sent(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).pack_sent
    }

    /// What really failed, when the library reports an error.
    pub(super) fn explain(&self, error: &git2::Error) -> GitError {
        let known = self.state.lock().unwrap_or_else(PoisonError::into_inner).failure.take();
        let said = self.clean(error.message());
        known.unwrap_or_else(|| {
            if matches!(error.class(), ErrorClass::Net | ErrorClass::Http | ErrorClass::Indexer | ErrorClass::Zlib) {
                GitError::malformed(self.url.clone(), format!("its answer is not proper git ({said})"))
            } else {
                GitError::local(format!("talking to {}", self.url), said)
            }
        })
    }

    /// One line of a server's text, our token taken out should it come back.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = text.to_string();
        for hidden in self.hidden.iter().filter(|hidden| !hidden.is_empty()) {
            text = text.replace(hidden.as_str(), "…");
        }
        one_line(&text, 500)
    }

    fn unreachable(&self, why: impl Into<String>) -> GitError {
        GitError::Unreachable { url: self.url.clone(), why: why.into() }
    }

    /// Keeps the failure for `explain` and gives the text that the library shall carry.
    pub(super) fn keep(&self, failure: GitError) -> String {
        let text = failure.to_string();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failure.get_or_insert(failure);
        text
    }

    fn count(&self, pack: bool) -> Result<(), GitError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests += 1;
        state.pack_sent |= pack;
        if state.requests > MAX_REQUESTS {
            return Err(GitError::malformed(
                self.url.clone(),
                format!("more than {MAX_REQUESTS} requests for one job"),
            ));
        }
        Ok(())
    }

    /// Sends one request and checks the head of its answer.
    pub(super) fn send(&self, call: &Call, body: Vec<u8>) -> Result<Response, GitError> {
        self.count(matches!(call.service, Service::ReceivePack))?;
        let engine = engine().map_err(|why| GitError::local("starting the HTTP client", why))?;
        let client = self.client.as_ref().unwrap_or(&engine.client);
        let address = format!("{}{}", self.url, call.path);
        let mut request = if call.advertises() { client.get(address) } else { client.post(address).body(body) };
        request = request.header(USER_AGENT, AGENT).header(ACCEPT, call.answer);
        if let Some(kind) = call.question {
            request = request.header(CONTENT_TYPE, kind);
        }
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let wait = async {
            tokio::time::timeout(self.limits.connect + self.limits.read, request.timeout(self.limits.request).send())
                .await
        };
        let response = match engine.runtime.block_on(wait) {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(self.clean(&causes(&error.without_url())))),
            Err(_) => return Err(self.unreachable(format!("no answer within {} s", self.limits.read.as_secs()))),
        };
        self.check(call, engine, response)
    }

    fn check(&self, call: &Call, engine: &Engine, response: Response) -> Result<Response, GitError> {
        let status = response.status();
        if status == StatusCode::OK {
            let kind = header(response.headers(), CONTENT_TYPE.as_str());
            if kind == call.answer {
                return Ok(response);
            }
            let why =
                format!("it answers with `{}`, not with git; is this the address of a repository?", self.clean(kind));
            return Err(GitError::malformed(self.url.clone(), why));
        }
        let later = response.headers().contains_key(RETRY_AFTER);
        let target = place(header(response.headers(), LOCATION.as_str()));
        let words = engine.runtime.block_on(first_words(response, self.limits.read));
        let why = format!("HTTP {}{}", status.as_u16(), tail(&self.clean(&words)));
        Err(match status.as_u16() {
            403 if later => self.unreachable(why),
            401 | 403 => GitError::Denied { url: self.url.clone(), why },
            404 | 410 => GitError::Missing {
                what: self.url.clone(),
                why: format!("{why}; the repository does not exist, or the token may not see it"),
            },
            300..=399 => GitError::malformed(
                self.url.clone(),
                format!("it has moved to {target}; redirects are not followed with a token, give the new address"),
            ),
            408 | 425 | 429 | 500..=599 => self.unreachable(why),
            _ => GitError::malformed(self.url.clone(), why),
        })
    }
}

/// The next piece of an answer's body; an empty one ends it.
pub(super) fn next_piece(session: &Session, answer: &mut Response) -> Result<Bytes, GitError> {
    let engine = engine().map_err(|why| GitError::local("starting the HTTP client", why))?;
    let patience = session.limits.read;
    match engine.runtime.block_on(async { tokio::time::timeout(patience, answer.chunk()).await }) {
        Ok(Ok(piece)) => Ok(piece.unwrap_or_default()),
        Ok(Err(error)) => {
            let why = format!("the answer broke off: {}", causes(&error.without_url()));
            Err(session.unreachable(session.clean(&why)))
        }
        Err(_) => Err(session.unreachable(format!("the answer stood still for {} s", patience.as_secs()))),
    }
}

/// The HTTP client of this room and the runtime that drives it, one for the process.
struct Engine {
    runtime: Runtime,
    client: Client,
}

fn engine() -> Result<&'static Engine, String> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    ENGINE.get_or_init(start_engine).as_ref().map_err(Clone::clone)
}

fn start_engine() -> Result<Engine, String> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).thread_name("git-http").enable_all().build().map_err(|e| e.to_string())?;
    let limits = Limits::default();
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect)
        .read_timeout(limits.read);
    let client = Proxies::environment()?.on(builder).build().map_err(|e| causes(&e))?;
    Ok(Engine { runtime, client })
}

async fn first_words(mut response: Response, patience: Duration) -> String {
    if !header(response.headers(), CONTENT_TYPE.as_str()).starts_with("text/plain") {
        return String::new();
    }
    match tokio::time::timeout(patience, response.chunk()).await {
        Ok(Ok(Some(piece))) => String::from_utf8_lossy(&piece[..piece.len().min(2000)]).into_owned(),
        _ => String::new(),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// An address without what could hold secrets.
fn shown(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) if url.has_host() => {
            // Both fail only for addresses that cannot have a user at all.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        }
        _ => "the repository's address".to_string(),
    }
}

fn place(location: &str) -> String {
    if location.is_empty() { "another address".to_string() } else { one_line(&shown(location), 200) }
}

fn tail(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// An error with everything that caused it; reqwest says the interesting part last.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let line = cause.to_string();
        if !text.contains(&line) {
            text.push_str(": ");
            text.push_str(&line);
        }
        next = cause.source();
    }
    text
}
