//! What programs ask: whether the process is ready, its numbers, and which versions a tier has proved. They sign in
//! nowhere, and what they are told names repositories: where the pages have a login, that has no place beside them.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};

use super::pages::{called, versions};
use super::shown::{Pages, Reader};
use crate::metrics::Metrics;

/// An address of their own; `known` is as for the pages.
pub fn router(pages: Pages, known: Option<String>) -> Router {
    let router = routes().route("/versions/{plugin}/{tier}", get(versions)).layer(Extension(Reader::Anybody));
    called(router.with_state(pages), known)
}

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/readyz", get(ready)).route("/metrics", get(metrics))
}

/// Ready once the list of repositories was read.
async fn ready(State(pages): State<Pages>) -> Response {
    if pages.is_listed() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the list of repositories was not read yet\n").into_response()
    }
}

async fn metrics(State(pages): State<Pages>) -> Response {
    match pages.metrics().render() {
        Ok(body) => ([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
