//! The routes of the public port: GitHub and senders in clusters ring, and a probe learns that the process lives.
//! Nothing else is answered there; the pages are in `pages`.

use axum::Router;
use axum::routing::get;

use super::senders::{self, Senders};
use super::{Bell, pages, webhook};
use crate::metrics::Metrics;
use crate::secret::Secret;

/// Every route; anything else is 404.
pub fn router(bell: Bell, secrets: &[Secret], senders: &Senders, metrics: &Metrics) -> Router {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .merge(senders::router(&bell, senders, metrics))
        .merge(webhook::router(bell, secrets, metrics.clone()));
    pages::guarded(router)
}
