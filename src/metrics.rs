//! Numbers for Prometheus: a handful, each with its unit in its name. Nothing is decided by them.

mod tally;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use decide::plan::{Action, Gate, WaveReport, WaveState};
use decide::{Ledger, Plan, Verdict};
use jiff::Timestamp;

use tally::{Spread, Tally};

/// The numbers of one process. Clones count into the same numbers.
#[derive(Clone)]
pub struct Metrics(Arc<Numbers>);

struct Numbers {
    ticks: Tally,
    tick_seconds: Mutex<Spread>,
    actions: Tally,
    waves: Tally,
    blocked: Tally,
    pending: Tally,
    force: Tally,
    lead: Tally,
    hub_calls: Tally,
    hub_left: Tally,
    hub_limit: Tally,
    deliveries: Tally,
    delivery_seconds: Mutex<Spread>,
    last_look: Tally,
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
        let tally = |kind, name, help, keys| Tally { kind, name, help, keys, values: Mutex::default() };
        let place: &[&str] = &["repository", "plugin", "tier"];
        Self(Arc::new(Numbers {
            ticks: tally("counter", "ticks_total", "Passes over a repository", &["repository", "outcome"]),
            tick_seconds: Mutex::default(),
            actions: tally("counter", "actions_total", "Effects on the hub", &["kind", "outcome"]),
            waves: tally("gauge", "waves", "Present waves by state", &["repository", "state"]),
            blocked: tally(
                "gauge",
                "blocked_waves",
                "Waves that are not on the base branch yet, by the first gate that holds them",
                &["repository", "gate"],
            ),
            pending: tally(
                "gauge",
                "pending_update_since_timestamp_seconds",
                "When a release that a tier has not finished was first seen, as Unix time",
                place,
            ),
            force: tally(
                "gauge",
                "force_deadline_timestamp_seconds",
                "When the grace period of an open pull request ends, as Unix time",
                place,
            ),
            lead: tally(
                "gauge",
                "lead_time_seconds",
                "From the first sight of the release that a tier finished last to that",
                place,
            ),
            hub_calls: tally("counter", "hub_calls_total", "Requests to the hub", &["api", "status"]),
            hub_left: tally(
                "gauge",
                "hub_budget_remaining",
                "What the hub leaves of the hour, calls or points",
                &["installation", "api"],
            ),
            hub_limit: tally(
                "gauge",
                "hub_budget_limit",
                "What the hub allows in an hour, calls or points",
                &["installation", "api"],
            ),
            deliveries: tally(
                "counter",
                "deliveries_total",
                "Rings from outside by the secret that verified them, 1 is the newest; none fitted those of `none`",
                &["sender", "secret"],
            ),
            delivery_seconds: Mutex::default(),
            last_look: tally(
                "gauge",
                "last_look_timestamp_seconds",
                "When a repository was last looked at without an error, as Unix time",
                &["repository"],
            ),
        }))
    }

    /// Counts a pass over a repository that ended at `at`.
    pub fn tick(&self, repository: &str, took: Duration, outcome: Outcome, at: Timestamp) {
        self.0.ticks.add(&[repository, outcome.as_str()]);
        self.0.tick_seconds.lock().unwrap_or_else(PoisonError::into_inner).add(took);
        if outcome == Outcome::Done {
            self.0.last_look.set(&[repository], at.as_second());
        }
    }

    /// Counts an effect.
    pub fn action(&self, action: &Action, outcome: Outcome) {
        self.0.actions.add(&[kind(action), outcome.as_str()]);
    }

    /// Replaces the numbers of waves of one repository by those of its newest plan. The state `blocked` counts open waves
    /// that a failed gate stops.
    pub fn plan(&self, repository: &str, plan: &Plan, ledger: &Ledger) {
        let mut states: BTreeMap<&str, i64> = STATES.iter().map(|state| (*state, 0)).collect();
        let mut gates: BTreeMap<String, i64> = Gate::ALL.iter().map(|gate| (word(*gate), 0)).collect();
        let (mut pending, mut force, mut lead) = (Vec::new(), Vec::new(), Vec::new());
        for wave in &plan.waves {
            *states.entry(state(wave)).or_default() += 1;
            let place = || vec![wave.plugin.to_string(), wave.tier.to_string()];
            let page = ledger.plugins.get(&wave.plugin);
            let seen = wave.version.as_ref().and_then(|version| page?.seen(version)).map(|seen| seen.first_seen);
            if let (true, Some(seen)) = (is_pending(&wave.state), seen) {
                pending.push((place(), seen.as_second()));
            }
            if let (WaveState::Waiting | WaveState::Open { .. }, Some(finding)) = (&wave.state, wave.blocker()) {
                *gates.entry(word(finding.gate)).or_default() += 1;
            }
            if let (WaveState::Open { .. }, Some(grace)) = (&wave.state, &wave.grace) {
                force.push((place(), grace.deadline.as_second()));
            }
            if let (WaveState::Finished { at }, Some(seen)) = (&wave.state, seen) {
                lead.push((place(), at.duration_since(seen).as_secs()));
            }
        }
        let one = |(label, number): (&str, i64)| (vec![label.to_string()], number);
        self.0.waves.replace(repository, states.into_iter().map(one));
        self.0.blocked.replace(repository, gates.into_iter().map(|(gate, number)| (vec![gate], number)));
        self.0.pending.replace(repository, pending);
        self.0.force.replace(repository, force);
        self.0.lead.replace(repository, lead);
    }

    /// A repository is not looked after any more: its waves are no numbers of ours.
    pub fn left(&self, repository: &str) {
        let Numbers { waves, blocked, pending, force, lead, last_look, .. } = &*self.0;
        for tally in [waves, blocked, pending, force, lead, last_look] {
            tally.replace(repository, []);
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
        self.0.hub_calls.add(&[api, class]);
    }

    /// What the hub leaves of the hour to an installation; without one to the App itself, or to a token.
    pub fn hub_budget(&self, installation: &str, api: &'static str, remaining: u64, limit: u64) {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.0.hub_left.set(&[installation, api], number(remaining));
        self.0.hub_limit.set(&[installation, api], number(limit));
    }

    /// Counts a ring from outside by the place of the secret that verified it, from 1.
    pub fn delivery(&self, sender: &str, secret: Option<usize>) {
        let secret = secret.map_or_else(|| "none".to_string(), |place| place.to_string());
        self.0.deliveries.add(&[sender, &secret]);
    }

    /// How long a ring from outside took, from its first byte to the answer.
    pub fn delivered(&self, took: Duration) {
        self.0.delivery_seconds.lock().unwrap_or_else(PoisonError::into_inner).add(took);
    }

    /// All numbers in the text format of Prometheus, in the same order each time.
    ///
    /// # Errors
    /// Only when writing into memory fails.
    pub fn render(&self) -> Result<String, fmt::Error> {
        let mut out = String::new();
        let all = &*self.0;
        let tallies = [
            &all.ticks,
            &all.actions,
            &all.waves,
            &all.blocked,
            &all.pending,
            &all.force,
            &all.lead,
            &all.hub_calls,
            &all.hub_left,
            &all.hub_limit,
            &all.deliveries,
            &all.last_look,
        ];
        for tally in tallies {
            tally.write(&mut out)?;
        }
        for (spread, name, help) in [
            (&all.tick_seconds, "tick_duration_seconds", "How long a pass over a repository takes"),
            (&all.delivery_seconds, "delivery_duration_seconds", "How long a ring from outside takes to be answered"),
        ] {
            spread.lock().unwrap_or_else(PoisonError::into_inner).write(&mut out, name, help)?;
        }
        Ok(out)
    }
}

/// What numbers, and traces, call an action.
pub fn kind(action: &Action) -> &'static str {
    match action {
        Action::Open(_) => "open",
        Action::Update { .. } => "update",
        Action::Merge { forced: None, .. } => "merge",
        Action::Merge { forced: Some(_), .. } => "force_merge",
        Action::Close { .. } => "close",
        Action::Notice { .. } => "notice",
        Action::Dispatch { .. } => "dispatch",
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

/// The name of a gate as in plans that are written as JSON: one word.
fn word(gate: Gate) -> String {
    serde_json::to_value(gate).ok().and_then(|word| word.as_str().map(str::to_string)).unwrap_or_default()
}

/// Whether a release is meant for the tier and has not finished it.
fn is_pending(state: &WaveState) -> bool {
    match state {
        WaveState::Waiting | WaveState::Open { .. } | WaveState::Converging { .. } | WaveState::Soaking { .. } => true,
        WaveState::Idle { .. }
        | WaveState::Finished { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => false,
    }
}

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

#[cfg(test)]
mod tests;
