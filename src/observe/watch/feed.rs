//! Keeps one collection: lists it page by page, then watches it, and begins anew where that is needed. What it
//! tells goes into `state`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::Group;
use super::state::FeedId;
use crate::clock;
use crate::observe::cluster::{Change, Changes, Page, ReadError, object, version};
use crate::signal::{Target, answer};

/// How patient a feed is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How long a watch lasts, in seconds, and how much longer at most: the server ends it, so that one which is only
    /// half open is noticed, and not all of them at once.
    pub lasts: (u32, u32),
    /// So much later the end of a watch is overdue.
    pub overdue: Duration,
    /// First and longest wait after a failure.
    pub retry: (Duration, Duration),
    /// What is listed is watched, too.
    pub watches: bool,
    /// Fewer objects of a collection than these are asked for one by one.
    pub least: usize,
}

impl Pace {
    /// A process that stays.
    pub const STAYS: Self = Self {
        lasts: (140, 40),
        overdue: Duration::from_secs(15),
        retry: (Duration::from_secs(1), Duration::from_secs(60)),
        watches: true,
        least: 1,
    };
    /// A run that ends.
    pub const ENDS: Self = Self { watches: false, least: 4, ..Self::STAYS };
}

/// What is refused is asked for again so much later.
const DENIED: Duration = Duration::from_secs(600);

/// Notices when this process was not running: what arrives then is older than it looks.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    last: AtomicI64,
    gaps: AtomicU64,
}

impl Pulse {
    /// How often it beats.
    const BEAT: Duration = Duration::from_secs(2);
    /// A longer gap between two beats is one in which nothing ran, in milliseconds.
    const GAP: i64 = 12_000;

    /// Beats for ever.
    pub async fn beat(self: Arc<Self>) {
        loop {
            self.gaps();
            tokio::time::sleep(Self::BEAT).await;
        }
    }

    /// How often this process stood still until now.
    fn gaps(&self) -> u64 {
        let now = clock::now().as_millisecond();
        let last = self.last.swap(now, Ordering::Relaxed);
        if last != 0 && now - last > Self::GAP {
            self.gaps.fetch_add(1, Ordering::Relaxed);
        }
        self.gaps.load(Ordering::Relaxed)
    }
}

/// One collection of a group.
pub(super) struct Feed {
    pub group: Arc<Group>,
    pub id: FeedId,
    pub scope: Target,
    pub permits: Arc<Semaphore>,
    pub pulse: Arc<Pulse>,
    pub pace: Pace,
}

/// Where a feed is.
#[derive(Default)]
struct Place {
    /// The moment from which a watch goes on; none = it is to be listed.
    from: Option<String>,
    /// Everything up to the present was told, and what comes now is new.
    caught_up: bool,
}

impl Feed {
    /// Lists and watches for ever.
    pub async fn keep(self) {
        let mut place = Place::default();
        let mut retry = self.pace.retry.0;
        let mut failing = false;
        loop {
            let gaps = self.pulse.gaps();
            let Err(error) = self.round(&mut place, gaps).await else {
                (retry, failing) = (self.pace.retry.0, false);
                continue;
            };
            place.caught_up = false;
            let wait = match &error {
                ReadError::Expired { .. } => {
                    place.from = None;
                    self.pace.retry.0
                }
                // A token that is not taken may have been changed since (401); a role seldom is (403).
                ReadError::Denied { status: 403, .. } => DENIED,
                ReadError::Denied { .. } => retry,
                ReadError::NotServed { .. } | ReadError::Malformed { .. } => {
                    place.from = None;
                    retry
                }
                ReadError::NoConnection { .. } | ReadError::Unreachable { .. } => retry,
            };
            if !failing && !matches!(error, ReadError::Expired { .. }) {
                tracing::info!(connection = self.group.connection(), %error, "a watch has failed");
                failing = true;
            }
            self.group.fails(self.id, error);
            retry = (retry * 2).min(self.pace.retry.1);
            tokio::time::sleep(wait.mul_f64(0.5 + spread())).await;
        }
    }

    /// One watch, with a list before it where one is needed. Good when it came to its end.
    async fn round(&self, place: &mut Place, gaps: u64) -> Result<(), ReadError> {
        let from = match place.from.take() {
            Some(from) => from,
            None => {
                let from = self.list().await?;
                place.caught_up = true;
                from
            }
        };
        if !self.pace.watches {
            return std::future::pending().await;
        }
        place.from = Some(from.clone());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below forty
        let seconds = self.pace.lasts.0 + (f64::from(self.pace.lasts.1) * spread()) as u32;
        let (clusters, connection) = (&self.group.clusters, &self.group.cluster);
        let mut changes = clusters.watch(connection, &self.scope, &from, seconds).await?;
        self.group.reopened(self.id);
        let end = Duration::from_secs(u64::from(seconds)) + self.pace.overdue;
        match tokio::time::timeout(end, self.follow(&mut changes, place, gaps)).await {
            Ok(done) => done,
            Err(_) => {
                let (resource, why) = (format!("watch {}", self.scope.plural), "it did not end when it should".into());
                Err(ReadError::Unreachable { resource, why })
            }
        }
    }

    /// Lists everything; from which moment a watch goes on.
    async fn list(&self) -> Result<String, ReadError> {
        let _permit = self.permits.acquire().await;
        let asked = clock::now();
        self.group.begins(self.id);
        let mut token: Option<String> = None;
        loop {
            let Page { items, next, version } =
                self.group.clusters.page(&self.group.cluster, &self.scope, token.as_deref()).await?;
            self.put(move || items.into_iter().map(|item| object(&item)), asked).await?;
            token = next;
            if token.is_none() {
                self.group.listed(self.id, asked);
                return Ok(version);
            }
        }
    }

    /// Takes in what a watch tells, until it ends.
    async fn follow(&self, changes: &mut Changes, place: &mut Place, gaps: u64) -> Result<(), ReadError> {
        while let Some(change) = changes.next().await? {
            // What waited in a buffer while this process stood still is no news of now.
            if self.pulse.gaps() != gaps {
                place.caught_up = false;
                return Ok(());
            }
            let at = if place.caught_up { clock::now() } else { self.group.alive_at(self.id) };
            match change {
                Change::Put(object) => {
                    place.from = Some(version(&object).to_string());
                    self.put(move || vec![Ok(object)].into_iter(), at).await?;
                }
                Change::Gone(object) => {
                    place.from = Some(version(&object).to_string());
                    self.group.gone(self.id, &object, at);
                }
                Change::Bookmark(version) => {
                    place.from = Some(version);
                    place.caught_up = true;
                    self.group.alive(self.id, clock::now());
                }
            }
        }
        // The server ends a watch after everything that it had to tell.
        if self.pulse.gaps() == gaps {
            place.caught_up = true;
            self.group.alive(self.id, clock::now());
        }
        Ok(())
    }

    /// Judges objects that somebody looks at, one after the other.
    async fn put<Objects: Iterator<Item = Result<Value, String>>>(
        &self,
        objects: impl FnOnce() -> Objects + Send + 'static,
        at: Timestamp,
    ) -> Result<(), ReadError> {
        let (group, id) = (Arc::clone(&self.group), self.id);
        // Paths of a policy over objects of a cluster: bounded, but not to be trusted with the thread that all others
        // wait on.
        let work = move || {
            for object in objects() {
                let object = object?;
                for (slot, signal) in group.wanting(id, &object) {
                    group.judged(slot, answer(signal.as_ref(), &object, &[], at));
                }
            }
            Ok(())
        };
        let done = tokio::task::spawn_blocking(work).await;
        let done = done.unwrap_or_else(|error| Err(format!("an object could not be judged: {error}")));
        done.map_err(|why| ReadError::Malformed { resource: format!("list {}", self.scope.plural), why })
    }
}

/// Anything from 0 to 1, so that many do not knock at once.
fn spread() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    f64::from(u16::try_from(RandomState::new().hash_one(0_u8) >> 48).unwrap_or_default()) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stood_still_knows_it() {
        let pulse = Pulse::default();
        assert_eq!((pulse.gaps(), pulse.gaps()), (0, 0));
        pulse.last.store(clock::now().as_millisecond() - 60_000, Ordering::Relaxed);
        assert_eq!((pulse.gaps(), pulse.gaps()), (1, 1));
    }

    #[test]
    fn waits_are_spread() {
        let all: Vec<f64> = (0..50).map(|_| spread()).collect();
        assert!(all.iter().all(|part| (0.0..=1.0).contains(part)), "{all:?}");
        assert!(all.iter().any(|part| *part < 0.3) && all.iter().any(|part| *part > 0.7), "{all:?}");
    }
}
