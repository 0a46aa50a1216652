//! The spans of the log and of traces. Their names and fields, which people filter by, stand here alone; the line says
//! when they begin and end, `cli/log` where they go.

use std::fmt::Display;

use decide::PullNumber;
use decide::plan::{Action, Proposal};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, debug_span, info_span};

use crate::metrics;

/// What spans, and lines about actions, are filtered by.
pub const TARGET: &str = "coldframe::trace";

/// One look at a repository; the first of this process has the number 1.
pub fn tick(repository: &str, look: u64) -> Span {
    info_span!("tick", repository, look = number(look), otel.status_code = Empty, otel.status_description = Empty)
}

/// Reading all facts.
pub fn observe() -> Span {
    debug_span!("observe", otel.status_code = Empty, otel.status_description = Empty)
}

/// Reading the hub, the ledger and the base branch.
pub fn hub() -> Span {
    debug_span!("hub", pull_requests = Empty, otel.status_code = Empty, otel.status_description = Empty)
}

/// Asking the chart sources of so many plugins.
pub fn charts(plugins: usize) -> Span {
    debug_span!("charts", plugins = number(plugins))
}

/// Asking the chart source of one.
pub fn chart(plugin: &str) -> Span {
    info_span!("chart", plugin, otel.status_code = Empty, otel.status_description = Empty)
}

/// Asking so many clusters.
pub fn clusters(clusters: usize) -> Span {
    debug_span!("clusters", clusters = number(clusters), otel.status_code = Empty, otel.status_description = Empty)
}

/// Asking the objects of one connection that only a question tells about.
pub fn cluster(connection: &str, objects: usize) -> Span {
    info_span!("cluster", connection, objects = number(objects))
}

/// Deciding.
pub fn decide() -> Span {
    debug_span!("decide", actions = Empty)
}

/// Carrying out the plan.
pub fn act() -> Span {
    debug_span!("act", otel.status_code = Empty, otel.status_description = Empty)
}

/// Telling people.
pub fn tell() -> Span {
    debug_span!("tell")
}

/// Carrying out one action. A pull request that is to be opened has no number yet: see [`opened`].
pub fn action(action: &Action) -> Span {
    let (plugin, tier, version, pull) = match action {
        Action::Open(Proposal { plugin, tier, to, .. }) => (plugin, tier, Some(to), None),
        Action::Update { pull, proposal: Proposal { plugin, tier, to, .. }, .. } => {
            (plugin, tier, Some(to), Some(*pull))
        }
        Action::Merge { plugin, tier, version, pull, .. } | Action::Notice { plugin, tier, version, pull, .. } => {
            (plugin, tier, Some(version), Some(*pull))
        }
        Action::Close { plugin, tier, pull, .. } => (plugin, tier, None, Some(*pull)),
        Action::Dispatch { plugin, tier, version, .. } => (plugin, tier, Some(version), None),
    };
    info_span!(
        "action",
        kind = metrics::kind(action),
        plugin = plugin.as_str(),
        tier = tier.as_str(),
        version = version.map(ToString::to_string),
        pull_request = pull.map(|pull| number(pull.0)),
        otel.status_code = Empty,
        otel.status_description = Empty,
    )
}

/// The pull request of the action under way has this number.
pub fn opened(pull: PullNumber) {
    Span::current().record("pull_request", number(pull.0));
}

/// So many of something were found by what is under way.
pub fn counted(field: &'static str, many: usize) {
    Span::current().record(field, number(many));
}

/// What came of the action under way. That line stands in the log of `serve` without anybody asking for more.
pub fn acted(repository: &str, receipt: &impl Display, refused: bool) {
    if refused {
        failed(&Span::current(), receipt);
        tracing::warn!(repository, "{receipt}");
    } else {
        tracing::info!(repository, "{receipt}");
    }
}

/// Does something within a span, which says so where it fails. The work lies on the heap: as a part of who waits for it,
/// it would make a stack of several such works too large.
///
/// # Errors
/// As the work.
pub fn within<T, E: Display>(
    span: Span,
    work: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, E>> {
    let work = Box::pin(work.instrument(span.clone()));
    async move { work.await.inspect_err(|error| failed(&span, error)) }
}

fn failed(span: &Span, why: &impl Display) {
    span.record("otel.status_code", "ERROR");
    span.record("otel.status_description", format!("{why:#}"));
}

/// A number as OpenTelemetry has them; others would become texts there.
fn number(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
