//! Numbers for Prometheus: a handful, each with its unit in its name. Nothing is decided by them.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use decide::plan::{Action, WaveReport, WaveState};
use decide::{Plan, Verdict};
use jiff::Timestamp;
/// The numbers of one process. Clones count into the same numbers.
#[derive(Clone)]
pub struct Metrics {
    ticks: Arc<Tally>,
    tick_seconds: Arc<Mutex<Spread>>,
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
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// All numbers at zero.
    pub fn new() -> Self {
        let tally = |kind, name, help, keys| Arc::new(Tally { kind, name, help, keys, values: Mutex::default() });
        let ticks = tally("counter", "ticks_total", "Passes over a repository", &["repository", "outcome"]);
        let actions = tally("counter", "actions_total", "Effects on the hub", &["kind", "outcome"]);
        let waves = tally("gauge", "waves", "Present waves by state", &["repository", "state"]);
        let hub_calls = tally("counter", "hub_calls_total", "Requests to the hub", &["api", "status"]);
        let deliveries = tally(
            "counter",
            "deliveries_total",
            "Rings from outside by the secret that verified them, 1 is the newest; none fitted those of `none`",
            &["sender", "secret"],
        );
        let last_look = tally(
            "gauge",
            "last_look_timestamp_seconds",
            "When a repository was last looked at without an error, as Unix time",
            &["repository"],
        );
        Self { ticks, tick_seconds: Arc::default(), actions, waves, hub_calls, deliveries, last_look }
    }

    /// Counts a pass over a repository that ended at `at`.
    pub fn tick(&self, repository: &str, took: Duration, outcome: Outcome, at: Timestamp) {
        self.ticks.add(&[repository, outcome.as_str()]);
        self.tick_seconds.lock().unwrap_or_else(PoisonError::into_inner).add(took);
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

    /// Counts a request. `api` is `rest` or `graphql`; status 0 = no answer came.
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

    /// All numbers in the text format of Prometheus, in the same order each time.
    ///
    /// # Errors
    /// Only when writing into memory fails.
    pub fn render(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        for tally in [&self.ticks, &self.actions, &self.waves, &self.hub_calls, &self.deliveries, &self.last_look] {
            tally.write(&mut out)?;
        }
        self.tick_seconds.lock().unwrap_or_else(PoisonError::into_inner).write(&mut out)?;
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

/// One number per set of label values, in their order.
#[derive(Debug)]
struct Tally {
    kind: &'static str,
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

    fn write(&self, out: &mut String) -> fmt::Result {
        head(out, self.name, self.help, self.kind)?;
        for (labels, value) in self.values().iter() {
            let labels: Vec<String> =
                self.keys.iter().zip(labels).map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            writeln!(out, "{PREFIX}{}{{{}}} {value}", self.name, labels.join(","))?;
        }
        Ok(())
    }
}

/// What stands before every name.
const PREFIX: &str = "coldframe_";

fn head(out: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(out, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}")
}

/// A label's value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// How long passes took.
#[derive(Debug, Default)]
struct Spread {
    /// How many took no longer than each bound.
    within: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

const BOUNDS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

impl Spread {
    fn add(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        for (within, bound) in self.within.iter_mut().zip(BOUNDS) {
            *within += u64::from(took <= bound);
        }
        self.count += 1;
        self.seconds += took;
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let name = "tick_duration_seconds";
        head(out, name, "How long a pass over a repository takes", "histogram")?;
        for (within, bound) in self.within.iter().zip(BOUNDS) {
            writeln!(out, "{PREFIX}{name}_bucket{{le=\"{bound}\"}} {within}")?;
        }
        writeln!(out, "{PREFIX}{name}_bucket{{le=\"+Inf\"}} {}", self.count)?;
        writeln!(out, "{PREFIX}{name}_sum {}\n{PREFIX}{name}_count {}", self.seconds, self.count)
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
            "coldframe_tick_duration_seconds_sum 4.42",
            "coldframe_hub_calls_total{api=\"rest\",status=\"4xx\"} 2",
            "coldframe_last_look_timestamp_seconds{repository=\"acme/fleet\"} 1795248845",
            "coldframe_waves{repository=\"acme/fleet\",state=\"failed\"} 1",
            "coldframe_actions_total{kind=\"force_merge\",outcome=\"done\"} 1",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is not in\n{text}");
        }
        assert_eq!(text, metrics.render().unwrap());
        assert!(text.contains("_bucket{le=\"0.5\"} 1\n") && text.contains("_bucket{le=\"+Inf\"} 2\n"), "{text}");
        metrics.tick("a\"b\\c\nd", Duration::ZERO, Outcome::Done, at);
        assert!(metrics.render().unwrap().contains("repository=\"a\\\"b\\\\c\\nd\""), "no label ends early");
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
