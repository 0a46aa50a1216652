//! The sign-in before the pages: GitHub says who somebody is, and each sees what they may read there. What is kept of
//! them is in `sessions`; what stands on the pages, in `tell`.

mod cookies;
mod sessions;
#[cfg(all(test, feature = "demo"))] // against its GitHub
mod tests;

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use tokio::sync::Semaphore;
use url::Url;

use self::cookies::Cookies;
pub(super) use self::sessions::Session;
use self::sessions::{Seen, Sessions};
use super::shown::{Pages, Reader};
use crate::clock;
use crate::hub::sign_in::{SignIn, SignInError};
use crate::secret::random;
use crate::tell::{self, SignInPage};

/// Codes that are taken at once. Who sends one has to have come from here, and says so himself.
const AT_ONCE: usize = 8;
/// The longest address that somebody is led back to.
const LONGEST_WAY: usize = 1_000;
/// What is open without a sign-in, because there is no name on it.
const OPEN: [&str; 6] = ["/style.css", "/script.js", "/sign-in", "/begin", "/signed-in", "/sign-out"];

/// The door of the pages. Clones are the same one.
#[derive(Clone)]
pub struct Door(Arc<Inner>);

struct Inner {
    hub: SignIn,
    sessions: Sessions,
    cookies: Cookies,
    /// Where the pages are for people, without a slash at its end.
    home: String,
    /// The origin of that.
    origin: String,
    places: Semaphore,
}

/// Where people come back to from the hub: a callback URL of the App.
pub fn callback(home: &Url) -> Url {
    let mut url = home.clone();
    url.set_path(&format!("{}/signed-in", home.path().trim_end_matches('/')));
    url.set_query(None);
    url.set_fragment(None);
    url
}

impl Door {
    /// The door to the pages at `home`, whom the hub signs in.
    pub fn new(hub: SignIn, home: &Url) -> Self {
        let back = callback(home);
        let home = back.as_str().strip_suffix("/signed-in").unwrap_or_default().to_owned();
        let origin = back.origin().ascii_serialization();
        let (sessions, places) = (Sessions::default(), Semaphore::new(AT_ONCE));
        let cookies = Cookies::new(back.scheme() == "https");
        Self(Arc::new(Inner { hub, sessions, cookies, home, origin, places }))
    }

    /// Puts the pages behind it.
    pub(super) fn before(&self, pages: Pages, inside: Router) -> Router {
        let guard = (self.clone(), pages);
        Router::new()
            .route("/sign-in", get(sign_in))
            .route("/begin", get(begin))
            .route("/signed-in", get(signed_in))
            .route("/sign-out", post(sign_out))
            .with_state(self.clone())
            .merge(inside)
            .layer(middleware::from_fn_with_state(guard, guarded))
    }

    fn says(&self, status: StatusCode, why: &str) -> Response {
        told(status, SignInPage { why: Some(why), next: "begin" })
    }
}

/// Lets nobody see more than they may read, and no other site do anything. Nothing that is answered here is kept by a
/// browser or on the way.
async fn guarded(State((door, pages)): State<(Door, Pages)>, mut request: Request, next: Next) -> Response {
    let mut response = if !request.method().is_safe() && !door.0.is_ours(request.headers()) {
        (StatusCode::FORBIDDEN, "this form was sent from another site\n").into_response()
    } else if OPEN.contains(&request.uri().path()) {
        // Who is nobody reads nothing, whatever is opened here by mistake.
        request.extensions_mut().insert(Reader::Nobody);
        next.run(request).await
    } else {
        match door.0.reader(request.headers(), &pages).await {
            Some(reader) => {
                request.extensions_mut().insert(reader);
                next.run(request).await
            }
            None => door.0.asked_to_sign_in(request.uri()),
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A form is told apart from one of another site by its origin, which browsers hide without this.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

impl Inner {
    /// Who asks, and what they may read of what is shown; none without a session.
    async fn reader(&self, headers: &HeaderMap, pages: &Pages) -> Option<Reader> {
        let session = self.sessions.find(self.cookies.session(headers)?, clock::now())?;
        match session.readable(&pages.numbers()).await {
            Seen::Ended => {
                self.sessions.end(self.cookies.session(headers)?);
                None
            }
            Seen::Readable { may, unsaid } => {
                let person = tell::Person { login: session.visitor().login.clone(), unsaid };
                Some(Reader::Person { person, may: Arc::new(may), session })
            }
        }
    }

    /// Whether a form comes from one of our own pages, as browsers say by themselves and pages cannot.
    fn is_ours(&self, headers: &HeaderMap) -> bool {
        let says = |name: &str, value: &str| headers.get(name).is_some_and(|said| said.as_bytes() == value.as_bytes());
        says("origin", &self.origin) || (!headers.contains_key("origin") && says("sec-fetch-site", "same-origin"))
    }

    /// Programs and scripts get a plain no, people the page to sign in, which leads back to where they were going.
    fn asked_to_sign_in(&self, uri: &Uri) -> Response {
        if uri.path() == "/events" || uri.path().starts_with("/versions/") {
            return (StatusCode::UNAUTHORIZED, "sign in first\n").into_response();
        }
        let way = uri.path_and_query().map_or("/", |way| way.as_str());
        self.to(&format!("/sign-in?{}", as_query(way)))
    }

    /// Elsewhere among our own pages: what follows the address of the home is never another host.
    fn to(&self, way: &str) -> Response {
        let way = if way.starts_with('/') { way } else { "/" };
        let location = HeaderValue::from_str(&format!("{}{way}", self.home));
        let location = location.unwrap_or_else(|_| HeaderValue::from_static("/"));
        (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
    }
}

fn as_query(way: &str) -> String {
    let way = if way.len() > LONGEST_WAY { "/" } else { way };
    url::form_urlencoded::Serializer::new(String::new()).append_pair("to", way).finish()
}

/// Where somebody was going.
#[derive(Deserialize)]
struct Going {
    #[serde(default)]
    to: String,
}

async fn sign_in(Query(going): Query<Going>) -> Response {
    told(StatusCode::OK, SignInPage { why: None, next: &format!("begin?{}", as_query(&going.to)) })
}

/// To the hub. What is needed when they come back goes with them, in a cookie that no other site can set or read.
async fn begin(State(door): State<Door>, Query(going): Query<Going>) -> Response {
    let (Some(state), Some(verifier)) = (random(), random()) else {
        return door.says(StatusCode::INTERNAL_SERVER_ERROR, NO_RANDOMNESS);
    };
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let page = door.0.hub.page(&state, &challenge);
    let way = if going.to.len() > LONGEST_WAY { "" } else { &going.to };
    let attempt = format!("{state}.{verifier}.{}", URL_SAFE_NO_PAD.encode(way));
    let location = [(header::LOCATION, page.as_str())];
    (StatusCode::SEE_OTHER, location, door.0.cookies.attempted(&attempt)).into_response()
}

/// What the hub says of somebody who comes back.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    error: String,
}

async fn signed_in(State(door): State<Door>, headers: HeaderMap, Query(answer): Query<Answer>) -> Response {
    let made = door.0.signed_in(&headers, answer).await;
    let response = made.unwrap_or_else(|(status, why)| door.says(status, why));
    // Whatever came of it, the attempt is over.
    (door.0.cookies.attempt_over(), response).into_response()
}

impl Inner {
    async fn signed_in(&self, headers: &HeaderMap, answer: Answer) -> Result<Response, (StatusCode, &'static str)> {
        let attempt = self.cookies.attempt(headers).and_then(Attempt::read);
        let ours =
            |attempt: &Attempt<'_>| verify_slices_are_equal(attempt.state.as_bytes(), answer.state.as_bytes()).is_ok();
        let Some(attempt) = attempt.filter(ours) else { return Err((StatusCode::BAD_REQUEST, NOT_OURS)) };
        match answer.error.as_str() {
            "" => {}
            "access_denied" => return Err((StatusCode::FORBIDDEN, DENIED)),
            other => {
                tracing::warn!(error = %plain(other), "the hub signs nobody in");
                return Err((StatusCode::BAD_GATEWAY, REFUSED));
            }
        }
        let letters = answer.code.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'));
        if !letters || !(1..=200).contains(&answer.code.len()) {
            return Err((StatusCode::BAD_REQUEST, NOT_OURS));
        }
        let Ok(_place) = self.places.try_acquire() else { return Err((StatusCode::SERVICE_UNAVAILABLE, BUSY)) };
        let visitor = self.hub.take(&answer.code, attempt.verifier).await.map_err(|error| match error {
            SignInError::Code => (StatusCode::BAD_REQUEST, STALE),
            SignInError::Refused(why) => {
                tracing::warn!(%why, "the hub signs nobody in; look at --client-id, --client-secret and the callback URL of the App");
                (StatusCode::BAD_GATEWAY, REFUSED)
            }
            SignInError::Hub(error) => {
                tracing::warn!(%error, "somebody was not signed in");
                (StatusCode::BAD_GATEWAY, SILENT)
            }
        })?;
        if let Some(old) = self.cookies.session(headers) {
            self.sessions.end(old);
        }
        let id = random().ok_or((StatusCode::INTERNAL_SERVER_ERROR, NO_RANDOMNESS))?;
        let lasts = self.sessions.begin(&id, visitor, clock::now());
        Ok((self.cookies.begun(&id, lasts), self.to(&attempt.way)).into_response())
    }
}

/// What somebody took along to the hub.
struct Attempt<'a> {
    state: &'a str,
    verifier: &'a str,
    /// Where they were going.
    way: String,
}

impl<'a> Attempt<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (state, rest) = text.split_once('.')?;
        let (verifier, way) = rest.split_once('.')?;
        let way = String::from_utf8(URL_SAFE_NO_PAD.decode(way).ok()?).ok()?;
        (!state.is_empty() && !verifier.is_empty()).then_some(Self { state, verifier, way })
    }
}

/// Ends a session.
async fn sign_out(State(door): State<Door>, headers: HeaderMap) -> Response {
    if let Some(session) = door.0.cookies.session(&headers) {
        door.0.sessions.end(session);
    }
    (door.0.cookies.over(), door.0.to("/sign-in")).into_response()
}

const NOT_OURS: &str = "This is not the answer to a sign-in that began in this browser.";
const DENIED: &str = "You did not agree on GitHub, so nobody knows here who you are.";
const STALE: &str = "GitHub does not know this sign-in any more: it was used, or is older than ten minutes.";
const REFUSED: &str = "GitHub signs nobody in here. Whoever runs the bot finds the reason in its log.";
const SILENT: &str = "GitHub did not answer.";
const NO_RANDOMNESS: &str = "This machine gives no randomness, without which nobody can be signed in.";
const BUSY: &str = "Too many people sign in at this moment.";

fn told(status: StatusCode, page: SignInPage<'_>) -> Response {
    match tell::sign_in_page(page) {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "the page to sign in could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// A word of somebody else, for the log.
fn plain(word: &str) -> String {
    word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(50).collect()
}
