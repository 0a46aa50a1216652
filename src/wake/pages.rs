//! The pages that `serve` shows: the dashboard, at an address of its own. Who reads them is anybody who reaches that
//! address, or whom the door of `sign_in` let in. What stands on them is written in `tell`; those who ring come in
//! through `routes`, machines that look after the process through `probes`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use decide::{PluginName, TierName, Version};
use serde::Deserialize;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use super::port::Bounds;
use super::shown::{Pages, Reader};
use super::sign_in::Door;
use super::{choice, probes};
use crate::clock;
use crate::tell::{self, Filter, TellError, View};

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
        .merge(pages.news().router(bounds));
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
    about(&pages, &reader, (&owner, &name), |view| tell::repository_page(view, &filter, clock::now()))
}

async fn plugin(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, plugin)): Path<(String, String, String)>,
) -> Response {
    about(&pages, &reader, (&owner, &name), |view| tell::plugin_page(view, &PluginName::new(plugin), clock::now()))
}

async fn wave(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, plugin, tier)): Path<(String, String, String, String)>,
) -> Response {
    let (plugin, tier) = (PluginName::new(plugin), TierName::new(tier));
    let signed_in = reader.is_person();
    about(&pages, &reader, (&owner, &name), |view| tell::wave_page(view, &plugin, &tier, signed_in, clock::now()))
}

async fn release(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, plugin, version)): Path<(String, String, String, String)>,
) -> Response {
    let Ok(version) = version.parse::<Version>() else { return nothing() };
    about(&pages, &reader, (&owner, &name), |view| {
        tell::release_page(view, &PluginName::new(plugin), &version, clock::now())
    })
}

async fn tier(
    State(pages): State<Pages>,
    Extension(reader): Extension<Reader>,
    Path((owner, name, tier)): Path<(String, String, String)>,
    Query(filter): Query<Filter>,
) -> Response {
    about(&pages, &reader, (&owner, &name), |view| tell::tier_page(view, &TierName::new(tier), &filter, clock::now()))
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

/// A page about one repository, as it was seen last.
fn about(
    pages: &Pages,
    reader: &Reader,
    (owner, name): (&str, &str),
    tell: impl FnOnce(&View) -> Result<String, TellError>,
) -> Response {
    pages.known(reader, &format!("{owner}/{name}")).map_or_else(nothing, |known| page(tell(&known.view)))
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
