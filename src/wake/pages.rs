//! The pages that `serve` shows: the dashboard, at an address of its own. Who reads them is anybody who reaches that
//! address, or whom the door of `sign_in` let in. What stands on them is written in `tell`; those who ring come in
//! through `routes`, machines that look after the process through `probes`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Path, Query, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use decide::{PluginName, TierName, Version};
use jiff::Timestamp;
use serde::Deserialize;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use super::news::News;
use super::port::Bounds;
use super::sign_in::{Door, Session};
use super::{choice, probes};
use crate::act::Receipt;
use crate::clock;
use crate::hub::Repository;
use crate::metrics::{Metrics, Outcome};
use crate::observe::Written;
use crate::tell::{self, DashboardState, Filter, TellError, View};
use crate::tick::Ticked;

/// What the pages show: the last view of each repository.
#[derive(Clone, Default)]
pub struct Pages {
    metrics: Metrics,
    shown: Arc<Mutex<Shown>>,
    news: News,
}

#[derive(Default)]
struct Shown {
    listed: bool,
    /// By name.
    all: BTreeMap<String, Known>,
}

/// What is known of a repository.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) of: Repository,
    pub(super) view: Arc<View>,
    /// Its policy files, where nothing is wrong with them.
    pub(super) files: Option<Written>,
}

/// Who reads the pages.
#[derive(Clone)]
pub(super) enum Reader {
    /// Whoever reaches them: all of it.
    Anybody,
    /// Somebody who is not known yet: nothing.
    Nobody,
    /// A person.
    Person {
        /// As the pages name them.
        person: tell::Person,
        /// These repositories, by their numbers.
        may: Arc<BTreeSet<u64>>,
        /// By which they ask for more than to read.
        session: Arc<Session>,
    },
}

impl Reader {
    fn may(&self, repository: u64) -> bool {
        match self {
            Self::Anybody => true,
            Self::Nobody => false,
            Self::Person { may, .. } => may.contains(&repository),
        }
    }

    fn is_person(&self) -> bool {
        matches!(self, Self::Person { .. })
    }
}

impl Pages {
    /// Pages without a repository yet, and these numbers.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, ..Self::default() }
    }

    /// The numbers, for whoever counts beside passes.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The list of repositories was read: the server is ready.
    pub fn listed(&self) {
        self.shown().listed = true;
    }

    /// Whether it was.
    pub(super) fn is_listed(&self) -> bool {
        self.shown().listed
    }

    /// The numbers of the repositories that are shown.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        self.shown().all.values().map(|known| known.of.id).collect()
    }

    /// Shows and counts a pass.
    pub fn ticked(&self, of: &Repository, begun: Timestamp, ticked: &anyhow::Result<Ticked>) {
        let (name, now) = (of.full_name(), clock::now());
        let repository = name.as_str();
        let took = std::time::Duration::try_from(now.duration_since(begun)).unwrap_or_default();
        let Ok(ticked) = ticked else {
            self.metrics.tick(repository, took, Outcome::Failed, now);
            return;
        };
        self.metrics.tick(repository, took, Outcome::Done, now);
        self.metrics.plan(repository, &ticked.plan, &ticked.seen.snapshot.ledger);
        let done = ticked.receipts.iter().filter(|receipt| !receipt.is_note());
        for (action, receipt) in ticked.plan.actions.iter().zip(done) {
            let outcome = if matches!(receipt, Receipt::Done(_)) { Outcome::Done } else { Outcome::Failed };
            self.metrics.action(action, outcome);
        }
        let view = View::new(repository, &ticked.seen.web, &ticked.seen.snapshot, ticked.plan.clone(), now);
        let trouble =
            view.trouble.clone().or_else(|| refused(&ticked.receipts)).or_else(|| ticked.notify_error.clone());
        let notes = ticked.seen.notes(&ticked.plan);
        let view = Arc::new(View { links: ticked.seen.links(), trouble, notes, ..view });
        let known = Known { of: of.clone(), view: Arc::clone(&view), files: ticked.seen.files.clone() };
        let before = self.shown().all.insert(name, known);
        if before.is_none_or(|before| before.of.id != of.id || !before.view.is_like(&view)) {
            self.news.ring();
        }
    }

    /// Says on the pages that the last pass failed; what was seen before stays.
    pub fn failed(&self, repository: &str, error: &str) {
        let trouble = Some(format!("the last look failed: {error}"));
        if let Some(known) = self.shown().all.get_mut(repository).filter(|known| known.view.trouble != trouble) {
            known.view = Arc::new(View { trouble, ..View::clone(&known.view) });
            self.news.ring();
        }
    }

    /// A repository is not looked after any more, or has another name: the pages forget it.
    pub fn left(&self, repository: &str) {
        self.shown().all.remove(repository);
        self.metrics.left(repository);
        self.news.ring();
    }

    /// A repository as it was seen last, for those who may read it: to all others there is none.
    pub(super) fn known(&self, reader: &Reader, name: &str) -> Option<Known> {
        self.shown().all.get(name).filter(|known| reader.may(known.of.id)).cloned()
    }

    /// A page about it.
    fn about(
        &self,
        reader: &Reader,
        (owner, name): (&str, &str),
        tell: impl FnOnce(&View) -> Result<String, TellError>,
    ) -> Response {
        self.known(reader, &format!("{owner}/{name}")).map_or_else(nothing, |known| page(tell(&known.view)))
    }

    fn state(&self, reader: &Reader) -> DashboardState {
        let shown = self.shown();
        let known = shown.all.values().filter(|known| reader.may(known.of.id));
        let views = known.map(|known| Arc::clone(&known.view)).collect();
        let person = match reader {
            Reader::Anybody | Reader::Nobody => None,
            Reader::Person { person, .. } => Some(person.clone()),
        };
        DashboardState { views, person }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was not done for a reason that a person has to see: the pages would only say that it comes with the next look.
fn refused(receipts: &[Receipt]) -> Option<String> {
    let refused: Vec<&str> = receipts.iter().filter_map(Receipt::refusal).collect();
    match refused.as_slice() {
        [] => None,
        [one] => Some((*one).to_string()),
        all => Some(format!("{} steps were refused:\n{}", all.len(), all.join("\n"))),
    }
}

/// The pages; without a door, at an address that strangers do not reach. `known` is the host of the address that people
/// use, where it is not the one that this listens on, `bounds` those of the port. Where machines that look after the
/// process have an address of their own, it is not this one.
pub fn router(pages: Pages, door: Option<&Door>, probed: bool, known: Option<String>, bounds: Bounds) -> Router {
    let router = Router::new()
        .route("/", get(dashboard))
        .route("/{owner}/{name}", get(repository))
        .route("/{owner}/{name}/plugins/{plugin}", get(plugin))
        .route("/{owner}/{name}/plugins/{plugin}/tiers/{tier}", get(wave))
        .route("/{owner}/{name}/plugins/{plugin}/releases/{version}", get(release))
        .route("/{owner}/{name}/tiers/{tier}", get(tier))
        .route("/wave", get(moved))
        .route("/versions/{plugin}/{tier}", get(versions))
        .route("/style.css", get(|| async { text("text/css; charset=utf-8", tell::STYLE) }))
        .route("/script.js", get(|| async { text("text/javascript; charset=utf-8", tell::SCRIPT) }))
        .merge(pages.news.router(bounds));
    let router = if probed { router.merge(probes::routes()) } else { router };
    let router = router.with_state(pages.clone());
    let router = match door {
        Some(door) => door.before(pages.clone(), router.merge(choice::routes().with_state(pages))),
        None => router.layer(Extension(Reader::Anybody)),
    };
    called(router, known)
}

/// Answers under the names alone that this host has, and as every port of ours does.
pub(super) fn called(router: Router, known: Option<String>) -> Router {
    let known = Arc::new(known);
    let asked = move |request: Request, next: Next| {
        let known = Arc::clone(&known);
        async move { if is_known(request.headers(), known.as_deref()) { next.run(request).await } else { misled() } }
    };
    guarded(router.layer(middleware::from_fn(asked)))
}

/// What every answer has, and no panic ends.
pub(super) fn guarded(router: Router) -> Router {
    let fixed = |name: &'static str, value: &'static str| {
        SetResponseHeaderLayer::if_not_present(HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    router
        .layer(fixed("content-security-policy", tell::CSP))
        .layer(fixed("x-content-type-options", "nosniff"))
        .layer(fixed("referrer-policy", "no-referrer"))
        .layer(CatchPanicLayer::new())
}

/// Whether a request names this host as its users do: by an address, as `localhost`, or as the operator says. A page
/// of a stranger whose name was made to lead here would else read what stands there.
fn is_known(headers: &HeaderMap, known: Option<&str>) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let Some(host) = host else { return false };
    let host = host.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().is_ok()
        || host.eq_ignore_ascii_case("localhost")
        || known.is_some_and(|known| known.eq_ignore_ascii_case(host))
}

fn misled() -> Response {
    (StatusCode::MISDIRECTED_REQUEST, "this host is not known by that name here; give it by --public-url\n")
        .into_response()
}

async fn dashboard(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Query(filter): Query<Filter>,
) -> Response {
    page(tell::dashboard(&pages.state(&reader), &filter, clock::now()))
}

async fn repository(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name)): Path<(String, String)>,
    Query(filter): Query<Filter>,
) -> Response {
    pages.about(&reader, (&owner, &name), |view| tell::repository_page(view, &filter, clock::now()))
}

async fn plugin(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, plugin)): Path<(String, String, String)>,
) -> Response {
    pages.about(&reader, (&owner, &name), |view| tell::plugin_page(view, &PluginName::new(plugin), clock::now()))
}

async fn wave(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, plugin, tier)): Path<(String, String, String, String)>,
) -> Response {
    let (plugin, tier) = (PluginName::new(plugin), TierName::new(tier));
    let signed_in = reader.is_person();
    pages.about(&reader, (&owner, &name), |view| tell::wave_page(view, &plugin, &tier, signed_in, clock::now()))
}

async fn release(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, plugin, version)): Path<(String, String, String, String)>,
) -> Response {
    let Ok(version) = version.parse::<Version>() else { return nothing() };
    pages.about(&reader, (&owner, &name), |view| {
        tell::release_page(view, &PluginName::new(plugin), &version, clock::now())
    })
}

async fn tier(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, tier)): Path<(String, String, String)>,
    Query(filter): Query<Filter>,
) -> Response {
    pages.about(&reader, (&owner, &name), |view| tell::tier_page(view, &TierName::new(tier), &filter, clock::now()))
}

/// Which wave a page is about, as older pull requests name it.
#[derive(Deserialize)]
struct Asked {
    repository: String,
    plugin: String,
    tier: String,
}

/// Where the page of a wave was: pull requests of before lead there.
async fn moved(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Query(asked): Query<Asked>,
) -> Response {
    let known = pages.known(&reader, &asked.repository);
    let (plugin, tier) = (PluginName::new(asked.plugin), TierName::new(asked.tier));
    known.map_or_else(nothing, |known| {
        Redirect::permanent(&tell::wave_path(&known.view, &plugin, &tier)).into_response()
    })
}

/// Whose versions are asked for; with one repository it need not be said.
#[derive(Deserialize)]
pub(super) struct Of {
    repository: Option<String>,
}

/// `/versions/<plugin>/<tier>.json`.
pub(super) async fn versions(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((plugin, file)): Path<(String, String)>,
    Query(of): Query<Of>,
) -> Response {
    let view = match of.repository {
        Some(repository) => pages.known(&reader, &repository).map(|known| known.view),
        None => {
            let mut views = pages.state(&reader).views;
            if views.len() > 1 {
                let words = "there are several repositories; say which by ?repository=owner/name\n";
                return (StatusCode::BAD_REQUEST, words).into_response();
            }
            views.pop()
        }
    };
    let tier = file.strip_suffix(".json").map(TierName::from);
    let found = view.zip(tier).and_then(|(view, tier)| tell::feed(&view, &PluginName::new(plugin), &tier));
    found.map_or_else(|| StatusCode::NOT_FOUND.into_response(), |feed| Json(feed).into_response())
}

pub(super) fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "there is no such page; the first one leads to all that there are\n").into_response()
}

fn page(made: Result<String, TellError>) -> Response {
    match made {
        Ok(html) => Html(html).into_response(),
        Err(TellError::NotInPlan { .. }) => nothing(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn text(kind: &'static str, body: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}
