//! What the hub lets one identity ask for: its rate limits, the pace of writes, and its clock.
//! Nothing here waits for a limit to end; calls are refused until then.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::{SignedDuration, Timestamp};

use super::HubError;

/// Which of the hub's counters a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counter {
    /// REST.
    Rest,
    /// GraphQL.
    GraphQl,
}

impl Counter {
    /// Its name among the numbers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::GraphQl => "graphql",
        }
    }
}

/// What is left of a counter, as the hub's last answer said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Calls (REST) or points (GraphQL) in its window.
    pub limit: u64,
    /// What is left of them.
    pub remaining: u64,
    /// When the window starts anew, by the hub's clock.
    pub resets: Timestamp,
}

/// The longest that an answer of the hub can keep us away: its windows last an hour.
const LONGEST: SignedDuration = SignedDuration::from_mins(65);
/// What GitHub asks for after a limit that names no time.
const NAMELESS: SignedDuration = SignedDuration::from_mins(1);

/// Calls of one identity under way at once, reads and writes together (GitHub advises against many).
const AT_ONCE: usize = 8;
/// The part of an hour's budget that what can wait leaves alone: one in so many.
const RESERVE: u64 = 4;
/// So many new things (pull requests, comments, checks) GitHub lets one identity make within an hour, about (GitHub's
/// documentation, "Rate limits for the REST API", content creation). A minute's eighty are kept by the pace of writes.
const MOST_MADE: usize = 500;
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// The limits of one identity: an installation, an App itself, a token. What one of them uses up, or waits for,
/// is nothing to the others.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Whose it is, by number; empty for that of an App itself or of a token.
    pub(crate) installation: String,
    /// Room for calls under way.
    pub(crate) places: tokio::sync::Semaphore,
    state: Mutex<State>,
    last_write: Arc<tokio::sync::Mutex<Option<Timestamp>>>,
}

#[derive(Debug, Default)]
struct State {
    closed: BTreeMap<Counter, (Timestamp, String)>,
    left: BTreeMap<Counter, Allowance>,
    /// When something new was made within the hour.
    made: VecDeque<Timestamp>,
}

impl Default for Budget {
    fn default() -> Self {
        let places = tokio::sync::Semaphore::new(AT_ONCE);
        Self { installation: String::new(), places, state: Mutex::default(), last_write: Arc::default() }
    }
}

impl Budget {
    /// That of an installation.
    pub(crate) fn of(installation: u64) -> Self {
        Self { installation: installation.to_string(), ..Self::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses while a limit holds.
    pub(crate) fn admit(&self, what: &str, counter: Counter, now: Timestamp) -> Result<(), HubError> {
        match self.state().closed.get(&counter) {
            Some((until, why)) if now < *until => {
                Err(HubError::Limited { what: what.to_owned(), until: *until, why: why.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses what can wait while no more than the reserve is left. `skew` is how far our clock is ahead of the hub's.
    pub(crate) fn spare(
        &self,
        what: &str,
        counter: Counter,
        now: Timestamp,
        skew: SignedDuration,
    ) -> Result<(), HubError> {
        let Some(left) = self.left(counter) else { return Ok(()) };
        let until = left.resets.saturating_add(skew).unwrap_or(left.resets);
        if left.remaining > left.limit / RESERVE || now >= until {
            return Ok(());
        }
        let why = "what is left of the hour's budget is kept for merges and what they rest on".to_owned();
        Err(HubError::Limited { what: what.to_owned(), until, why })
    }

    /// Counts a call that makes something new, or refuses it where the hour has had its share; what can wait leaves a
    /// quarter of that to others.
    pub(crate) fn make(&self, what: &str, can_wait: bool, now: Timestamp) -> Result<(), HubError> {
        let most = if can_wait { MOST_MADE - MOST_MADE / RESERVE as usize } else { MOST_MADE };
        let mut state = self.state();
        // Whatever a clock that was set back calls the future was made before.
        state.made.retain(|at| now.duration_since(*at) < HOUR && *at <= now);
        let Some(full_since) = state.made.len().checked_sub(most).and_then(|over| state.made.get(over)) else {
            state.made.push_back(now);
            return Ok(());
        };
        let until = full_since.saturating_add(HOUR).unwrap_or(now);
        let why = format!("{most} things were made within an hour, and GitHub asks for no more");
        Err(HubError::Limited { what: what.to_owned(), until, why })
    }

    /// What is left, as far as the hub said.
    pub(crate) fn left(&self, counter: Counter) -> Option<Allowance> {
        self.state().left.get(&counter).copied()
    }

    /// Waits for its turn to write: one at a time, `pace` apart. The turn ends when it is dropped.
    pub(crate) async fn turn(&self, pace: Duration, clock: fn() -> Timestamp) -> Turn {
        let mut last = Arc::clone(&self.last_write).lock_owned().await;
        if let Some(last) = *last {
            // A clock that jumped back must not make this wait longer than one pace.
            let since = clock().duration_since(last).unsigned_abs();
            tokio::time::sleep(pace.saturating_sub(since)).await;
        }
        *last = Some(clock());
        Turn { _held: last }
    }

    /// Learns from an answer. `Some` when the answer itself is the refusal of a limit.
    pub(crate) fn note(&self, counter: Counter, answer: &Seen<'_>, now: Timestamp) -> Option<(Timestamp, String)> {
        let number = |name: &str| answer.headers.get(name)?.to_str().ok()?.trim().parse::<i64>().ok();
        let (limit, remaining, reset) =
            (number("x-ratelimit-limit"), number("x-ratelimit-remaining"), number("x-ratelimit-reset"));
        let resets = reset.and_then(|reset| Timestamp::from_second(reset).ok());
        // A counter of its own (search, code scanning) says nothing about ours.
        let ours = match answer.headers.get("x-ratelimit-resource").and_then(|name| name.to_str().ok()) {
            Some("graphql") => counter == Counter::GraphQl,
            Some("core") => counter == Counter::Rest,
            None => true,
            Some(_) => false,
        };
        let mut state = self.state();
        if let (true, Some(limit), Some(remaining), Some(resets)) = (ours, limit, remaining, resets) {
            let allowance =
                Allowance { limit: limit.unsigned_abs(), remaining: remaining.max(0).unsigned_abs(), resets };
            state.left.insert(counter, allowance);
        }
        let spent = ours && remaining == Some(0);
        let said_no = matches!(answer.status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
        let after = number("retry-after");
        let secondary = answer.words.contains("secondary rate limit") || answer.words.contains("abuse detection");
        let limited = answer.graphql_limited
            || answer.status == StatusCode::TOO_MANY_REQUESTS
            || (said_no && (spent || after.is_some() || secondary));
        if !limited && !spent {
            return None;
        }
        let by_reset = resets.map(|resets| resets.duration_since(now) + answer.skew + SignedDuration::from_secs(1));
        let wait = match after {
            Some(after) => SignedDuration::from_secs(after),
            None if spent => by_reset.unwrap_or(NAMELESS),
            None => NAMELESS,
        };
        let until = now.saturating_add(wait.clamp(SignedDuration::from_secs(1), LONGEST)).unwrap_or(now);
        let (why, counters) = if spent && after.is_none() {
            (format!("the {counter:?} budget of the hour is used up"), vec![counter])
        } else {
            // A secondary limit counts REST and GraphQL together.
            ("secondary limit".to_owned(), vec![Counter::Rest, Counter::GraphQl])
        };
        for counter in counters {
            let held = state.closed.entry(counter).or_insert((until, why.clone()));
            if held.0 <= until {
                *held = (until, why.clone());
            }
        }
        limited.then_some((until, why))
    }
}

/// The turn of one write; the next one waits until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _held: tokio::sync::OwnedMutexGuard<Option<Timestamp>>,
}

/// The parts of an answer that a budget looks at.
pub(crate) struct Seen<'a> {
    pub(crate) status: StatusCode,
    pub(crate) headers: &'a HeaderMap,
    /// What a refusal said; empty for a success.
    pub(crate) words: &'a str,
    /// GraphQL answers 200 when its limit is reached.
    pub(crate) graphql_limited: bool,
    /// How far our clock is ahead of the hub's.
    pub(crate) skew: SignedDuration,
}

/// How far our clock is ahead of the hub's, by the `Date` of its answers.
#[derive(Debug, Default)]
pub(crate) struct Skew(AtomicI64);

impl Skew {
    /// How far ours is ahead; negative where it is behind, zero until something was measured.
    pub(crate) fn get(&self) -> SignedDuration {
        SignedDuration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// Measures by one answer that was asked for at `sent` and was here at `received`. A slow one
    /// tells nothing.
    pub(crate) fn note(&self, headers: &HeaderMap, sent: Timestamp, received: Timestamp) {
        let took = received.duration_since(sent);
        if took.is_negative() || took > SignedDuration::from_secs(5) {
            return;
        }
        let date = headers.get(http::header::DATE).and_then(|date| date.to_str().ok());
        let parsed = date.and_then(|date| jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
        let Some(date) = parsed else { return };
        // `Date` has whole seconds, cut off: the middle of that second stands for it.
        let middle = sent.duration_since(date) + took / 2 - SignedDuration::from_millis(500);
        let skew = i64::try_from(middle.as_millis()).unwrap_or(i64::MAX);
        // Half a second is below what that resolution can tell.
        self.0.store(if skew.abs() <= 600 { 0 } else { skew }, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
