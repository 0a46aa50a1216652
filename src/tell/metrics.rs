//! Numbers for Prometheus: a handful, each with its unit in its name. Nothing is decided by them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use decide::plan::{Action, WaveReport, WaveState};
use decide::{Plan, Verdict};
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

/// The numbers of one process. Clones count into the same numbers.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    ticks: Arc<Tally>,
    tick_seconds: Histogram,
    actions: Arc<Tally>,
    waves: Arc<Tally>,
    hub_calls: Arc<Tally>,
    deliveries: Arc<Tally>,
    last_look: Arc<Tally>,
}

/// How a tick or an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Done,
    /// The world had moved; the next tick decides anew.
    Refused,
    /// It broke off with an error.
    Failed,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

impl Metrics {
    /// What `/metrics` answers as its content type.
    pub const CONTENT_TYPE: &'static str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// All numbers at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("coldframe");
        let mut tally = |kind, name, help, keys| {
            let tally = Arc::new(Tally { kind, name, help, keys, values: Mutex::default() });
            registry.register_collector(Box::new(Arc::clone(&tally)));
            tally
        };
        let ticks = tally(Kind::Counter, "ticks", "Passes over a repository", &["repository", "outcome"]);
        let actions = tally(Kind::Counter, "actions", "Effects on the hub", &["kind", "outcome"]);
        let waves = tally(Kind::Gauge, "waves", "Present waves by state", &["repository", "state"]);
        let hub_calls = tally(Kind::Counter, "hub_calls", "Requests to the hub", &["api", "status"]);
        let deliveries = tally(
            Kind::Counter,
            "deliveries",
            "Rings from outside by the secret that verified them, 1 is the newest; none fitted those of `none`",
            &["sender", "secret"],
        );
        let last_look = tally(
            Kind::Gauge,
            "last_look_timestamp_seconds",
            "When a repository was last looked at without an error, as Unix time",
            &["repository"],
        );
        let tick_seconds = Histogram::new([0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]);
        registry.register("tick_duration_seconds", "How long a pass over a repository takes", tick_seconds.clone());
        Self { registry: Arc::new(registry), ticks, tick_seconds, actions, waves, hub_calls, deliveries, last_look }
    }

    /// Counts a pass over a repository that ended at `at`.
    pub fn tick(&self, repository: &str, took: Duration, outcome: Outcome, at: Timestamp) {
        self.ticks.add(&[repository, outcome.as_str()]);
        self.tick_seconds.observe(took.as_secs_f64());
        if outcome == Outcome::Done {
            self.last_look.set(&[repository], at.as_second());
        }
    }

    /// Counts an effect.
    pub fn action(&self, action: &Action, outcome: Outcome) {
        let kind = match action {
            Action::Open(_) => "open",
            Action::Update { .. } => "update",
            Action::Merge { forced: None, .. } => "merge",
            Action::Merge { forced: Some(_), .. } => "force_merge",
            Action::Close { .. } => "close",
            Action::Notice { .. } => "notice",
            Action::Dispatch { .. } => "dispatch",
        };
        self.actions.add(&[kind, outcome.as_str()]);
    }

    /// Replaces the numbers of waves of one repository by those of its newest plan. `blocked`
    /// counts open waves that a failed gate stops.
    pub fn plan(&self, repository: &str, plan: &Plan) {
        let mut states: BTreeMap<&str, i64> = STATES.iter().map(|state| (*state, 0)).collect();
        for wave in &plan.waves {
            *states.entry(state(wave)).or_default() += 1;
        }
        for (state, number) in states {
            self.waves.set(&[repository, state], number);
        }
    }

    /// Counts a request. `api` is `rest`, `graphql` or `git`; status 0 = no answer came.
    pub fn hub_call(&self, api: &'static str, status: u16) {
        let class = match status {
            0 => "none",
            100..=199 => "1xx",
            200..=299 => "2xx",
            300..=399 => "3xx",
            400..=499 => "4xx",
            _ => "5xx",
        };
        self.hub_calls.add(&[api, class]);
    }

    /// Counts a ring from outside by the place of the secret that verified it, from 1.
    pub fn delivery(&self, sender: &str, secret: Option<usize>) {
        let secret = secret.map_or_else(|| "none".to_string(), |place| place.to_string());
        self.deliveries.add(&[sender, &secret]);
    }

    /// All numbers in the OpenMetrics text format, in the same order each time.
    ///
    /// # Errors
    /// Only when writing into memory fails.
    pub fn render(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

const STATES: [&str; 11] = [
    "idle",
    "waiting",
    "open",
    "blocked",
    "converging",
    "soaking",
    "finished",
    "failed",
    "rejected",
    "superseded",
    "withdrawn",
];

fn state(wave: &WaveReport) -> &'static str {
    match &wave.state {
        WaveState::Idle { .. } => "idle",
        WaveState::Waiting => "waiting",
        WaveState::Open { .. } if wave.findings.iter().any(|finding| finding.verdict == Verdict::Fail) => "blocked",
        WaveState::Open { .. } => "open",
        WaveState::Converging { .. } => "converging",
        WaveState::Soaking { .. } => "soaking",
        WaveState::Finished { .. } => "finished",
        WaveState::Failed { .. } => "failed",
        WaveState::Rejected { .. } => "rejected",
        WaveState::Superseded { .. } => "superseded",
        WaveState::Withdrawn { .. } => "withdrawn",
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
}

/// One number per set of label values, in their order. The crate's own family keeps them in a
/// hash map, so that the page would differ from scrape to scrape.
#[derive(Debug)]
struct Tally {
    kind: Kind,
    name: &'static str,
    help: &'static str,
    keys: &'static [&'static str],
    values: Mutex<BTreeMap<Vec<String>, i64>>,
}

impl Tally {
    fn values(&self) -> MutexGuard<'_, BTreeMap<Vec<String>, i64>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner) // numbers are whole at any time
    }

    fn add(&self, labels: &[&str]) {
        *self.values().entry(labels.iter().map(ToString::to_string).collect()).or_default() += 1;
    }

    fn set(&self, labels: &[&str], value: i64) {
        self.values().insert(labels.iter().map(ToString::to_string).collect(), value);
    }
}

impl Collector for Tally {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let values = self.values().clone();
        let kind = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => ConstGauge::<i64>::TYPE,
        };
        let mut encoder = encoder.encode_descriptor(self.name, self.help, None, kind)?;
        for (labels, value) in &values {
            let labels: Vec<(&str, &str)> = self.keys.iter().copied().zip(labels.iter().map(String::as_str)).collect();
            let encoder = encoder.encode_family(&labels)?;
            match self.kind {
                Kind::Counter => ConstCounter::new(value.unsigned_abs()).encode(encoder)?,
                Kind::Gauge => ConstGauge::new(*value).encode(encoder)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn every_number_has_a_name_with_its_unit_and_a_stable_place() {
        let metrics = Metrics::new();
        let at: Timestamp = "2026-11-21T08:14:05Z".parse().unwrap();
        metrics.tick("acme/fleet", Duration::from_millis(420), Outcome::Done, at);
        metrics.tick("acme/fleet", Duration::from_secs(4), Outcome::Failed, at + jiff::SignedDuration::from_secs(60));
        metrics.hub_call("graphql", 200);
        metrics.hub_call("rest", 409);
        metrics.hub_call("rest", 409);
        let fixture = crate::tell::fixture::view();
        metrics.plan("acme/fleet", &fixture.plan);
        for action in &fixture.plan.actions {
            metrics.action(action, Outcome::Done);
        }
        let text = metrics.render().unwrap();
        for line in [
            "coldframe_ticks_total{repository=\"acme/fleet\",outcome=\"done\"} 1",
            "coldframe_ticks_total{repository=\"acme/fleet\",outcome=\"failed\"} 1",
            "coldframe_tick_duration_seconds_count 2",
            "coldframe_hub_calls_total{api=\"rest\",status=\"4xx\"} 2",
            "coldframe_last_look_timestamp_seconds{repository=\"acme/fleet\"} 1795248845",
            "coldframe_waves{repository=\"acme/fleet\",state=\"failed\"} 1",
            "coldframe_actions_total{kind=\"force_merge\",outcome=\"done\"} 1",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is not in\n{text}");
        }
        assert_eq!(text, metrics.render().unwrap());
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_state_that_is_left_falls_to_zero() {
        let metrics = Metrics::new();
        metrics.plan("a/b", &crate::tell::fixture::view().plan);
        metrics.plan("a/b", &Plan::default());
        let text = metrics.render().unwrap();
        assert!(text.contains("coldframe_waves{repository=\"a/b\",state=\"failed\"} 0"), "{text}");
    }
}
