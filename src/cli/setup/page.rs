//! The desk where GitHub hands the new App over: a page on a port of this machine alone, at a path that nobody can
//! guess, good for one App. A page of somebody else can neither read it nor answer in its place.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::Setup;
use crate::hub::Bases;
use crate::hub::needs::NEEDS;
use crate::hub::registration::Registered;
use crate::secret::random;
use crate::tell;
use crate::tell::setup::{Permission, SetupPage, setup_page};
use crate::wake::sign_in::callback;

/// The longest name that GitHub takes for an App.
const LONGEST_NAME: usize = 34;

/// The page, as long as it is served.
pub struct Desk {
    address: String,
    codes: mpsc::Receiver<Taken>,
    _served: JoinSet<()>,
}

/// A code that GitHub gave to the browser, and who waits there to be told what came of it.
pub struct Taken {
    /// The code.
    pub code: String,
    tell: oneshot::Sender<String>,
}

impl Taken {
    /// The App is kept.
    pub fn done(self, app: &Registered, repository: &str) {
        let (done, install) = (format!("{} is registered, and its key is kept.", app.slug), install_page(app));
        self.say(SetupPage::Done { repository, done: &done, install: &install });
    }

    /// It is not.
    pub fn failed(self, why: &str) {
        self.say(SetupPage::Failed { why });
    }

    fn say(self, page: SetupPage<'_>) {
        // A browser that was closed meanwhile is told nothing.
        let page = setup_page(page).unwrap_or_else(|error| error.to_string());
        let _ = self.tell.send(page);
    }
}

fn install_page(app: &Registered) -> String {
    format!("{}/installations/new", app.page)
}

/// What the routes know.
struct Flow {
    /// What the browser has to call this machine.
    hosts: [String; 2],
    /// The path below which everything is.
    nonce: String,
    /// What GitHub gives back with the code.
    state: String,
    page: String,
    /// The hub, as the page may send its form there.
    policy: HeaderValue,
    /// The first code counts.
    codes: Mutex<Option<mpsc::Sender<Taken>>>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
}

/// Opens it.
///
/// # Errors
/// The port is taken, or the machine gives no randomness.
pub async fn open(arguments: &Setup, bases: &Bases) -> anyhow::Result<Desk> {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener =
        TcpListener::bind(at).await.with_context(|| format!("cannot listen on {at}; give another --port"))?;
    let here = listener.local_addr()?;
    let random = || random().context("this machine gives no randomness");
    let (nonce, state) = (random()?, random()?);
    let address = format!("http://{here}/{nonce}/");
    let page = offer(arguments, bases, &format!("{address}registered"), &state)?;
    let hub = bases.web.origin().ascii_serialization();
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action {hub}; frame-ancestors 'none'"
    );
    let (sender, codes) = mpsc::channel(1);
    let flow = Flow {
        hosts: [here.to_string(), format!("localhost:{}", here.port())],
        nonce,
        state,
        page,
        policy: HeaderValue::from_str(&policy)?,
        codes: Mutex::new(Some(sender)),
    };
    let router = router(Arc::new(flow));
    let mut served = JoinSet::new();
    served.spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the page ended");
        }
    });
    Ok(Desk { address, codes, _served: served })
}

impl Desk {
    /// Where people find it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The code, once GitHub has given one out.
    ///
    /// # Errors
    /// The page is not served any more.
    pub async fn taken(&mut self) -> anyhow::Result<Taken> {
        self.codes.recv().await.context("the page ended")
    }
}

fn router(flow: Arc<Flow>) -> Router {
    let below = format!("/{}", flow.nonce);
    Router::new()
        .route(&format!("{below}/"), get(show))
        .route(&format!("{below}/registered"), get(registered))
        .route(&format!("{below}/style.css"), get(style))
        .layer(middleware::from_fn_with_state(Arc::clone(&flow), guarded))
        .with_state(flow)
}

/// Another name that leads here (DNS rebinding) would make a stranger's page the same origin.
async fn guarded(State(flow): State<Arc<Flow>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let known = flow.hosts.iter().any(|known| known == host);
    let mut response = if known { next.run(request).await } else { StatusCode::MISDIRECTED_REQUEST.into_response() };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, flow.policy.clone());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn show(State(flow): State<Arc<Flow>>) -> Html<String> {
    Html(flow.page.clone())
}

async fn style() -> (HeaderMap, &'static str) {
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    (HeaderMap::from_iter([kind]), tell::STYLE)
}

/// GitHub sends the browser back with the code.
async fn registered(State(flow): State<Arc<Flow>>, Query(answer): Query<Answer>) -> Response {
    let ours = verify_slices_are_equal(answer.state.as_bytes(), flow.state.as_bytes()).is_ok();
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    let code = answer.code;
    let readable = (1..=200).contains(&code.len()) && code.bytes().all(plain);
    if !ours || !readable {
        let why = "This is not the answer to the page that was opened here. Open that page again and begin there.";
        return (StatusCode::BAD_REQUEST, said(SetupPage::Failed { why })).into_response();
    }
    let first = flow.codes.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(sender) = first else {
        let why = "An App was registered from this page already. Look at the terminal.";
        return (StatusCode::CONFLICT, said(SetupPage::Failed { why })).into_response();
    };
    let (tell, told) = oneshot::channel();
    if sender.send(Taken { code, tell }).await.is_err() {
        return StatusCode::GONE.into_response();
    }
    match told.await {
        Ok(page) => Html(page).into_response(),
        Err(_) => StatusCode::GONE.into_response(),
    }
}

fn said(page: SetupPage<'_>) -> Html<String> {
    Html(setup_page(page).unwrap_or_else(|error| error.to_string()))
}

/// The page with the manifest (docs.github.com, "Registering a GitHub App from a manifest").
fn offer(arguments: &Setup, bases: &Bases, back: &str, state: &str) -> anyhow::Result<String> {
    let (owner, _) = arguments.repository.split_once('/').context("--repository is OWNER/NAME")?;
    let web = bases.web.as_str().trim_end_matches('/');
    let name = arguments.name.clone().unwrap_or_else(|| named(owner));
    let hook = arguments.webhook_url.as_deref();
    let permissions: serde_json::Map<String, serde_json::Value> =
        NEEDS.iter().map(|need| (need.permission.to_string(), need.level.into())).collect();
    let events: Vec<&str> = NEEDS.iter().flat_map(|need| need.events).copied().collect();
    let home = format!("{web}/{}", arguments.repository);
    let dashboard = arguments.public_url.as_deref().map(url::Url::parse).transpose()?;
    let callbacks: Vec<String> = dashboard.iter().map(|home| callback(home).to_string()).collect();
    let manifest = json!({
        "name": name,
        "url": home,
        "description": "Promotes releases of plugin charts through tiers of clusters, one pull request per tier.",
        // GitHub wants an address even where nothing is sent.
        "hook_attributes": {"url": hook.unwrap_or(&home), "active": hook.is_some()},
        "redirect_url": back,
        "callback_urls": callbacks,
        "public": false,
        "default_permissions": permissions,
        "default_events": events,
    })
    .to_string();
    let organization = format!("{web}/organizations/{owner}/settings/apps/new?state={state}");
    let own = format!("{web}/settings/apps/new?state={state}");
    let needs: Vec<Permission> = NEEDS
        .iter()
        .map(|need| Permission {
            permission: need.permission,
            level: need.level,
            why: need.why,
            events: need.events.join(", "),
        })
        .collect();
    Ok(setup_page(SetupPage::Offer {
        name: &name,
        owner,
        organization: &organization,
        own: &own,
        manifest: &manifest,
        hook,
        needs: &needs,
    })?)
}

/// A name that is likely to be free: names of Apps are everybody's.
fn named(owner: &str) -> String {
    let name = format!("coldframe-{owner}");
    name.chars().take(LONGEST_NAME).collect::<String>().trim_end_matches('-').to_string()
}
