//! What rings: webhooks, senders in clusters, alarms. A ring says that something may have changed and where;
//! it carries no facts, many in a row are one, and with all of them lost the alarm finds the same.

mod door;
pub mod doors;
pub mod face;
pub mod port;
pub mod senders;
pub mod webhook;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

/// The most repositories that are kept track of. Whoever rings is verified, but may be a stranger
/// who installed a public App.
const MOST: usize = 20_000;
/// A sleep is cut into parts of this length, so that a clock that is set, or a machine that slept,
/// is noticed.
const NAP: Duration = Duration::from_secs(30);
/// How soon after the last look a cluster may ring for the next one. Hundreds of clusters have something to say
/// all the time, and each look costs the hub's budget.
const PACE: SignedDuration = SignedDuration::from_secs(5);

/// The bell that wakes the loop of each repository. Clones ring the same bell.
#[derive(Clone, Debug, Default)]
pub struct Bell {
    hung: Arc<Mutex<BTreeMap<u64, Arc<Pull>>>>,
    names: Arc<Mutex<BTreeMap<String, u64>>>,
    list: Arc<Pull>,
}

/// The two ropes of one bell.
#[derive(Debug, Default)]
struct Pull {
    /// Rings at once.
    ring: Notify,
    /// Rings as soon as the last look is long enough ago.
    nudge: Notify,
    /// When somebody was woken last.
    woken: Mutex<Option<Timestamp>>,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Somebody rang.
    Bell,
    /// The time came.
    Alarm,
}

impl Bell {
    /// Rings for one repository. Rings before and during its pass are one ring after it.
    pub fn ring(&self, repository: u64) {
        let mut hung = self.hung();
        if hung.len() < MOST || hung.contains_key(&repository) {
            hung.entry(repository).or_default().ring.notify_one();
        }
    }

    /// Rings for one repository that is looked after, but no sooner than a while after the last look. Before anybody
    /// waits for it, it is kept.
    pub fn nudge(&self, repository: u64) {
        self.hung().entry(repository).or_default().nudge.notify_one();
    }

    /// The same for every repository; which ones there are, a cluster cannot change.
    pub fn nudge_all(&self) {
        for pull in self.hung().values() {
            pull.nudge.notify_one();
        }
    }

    /// From now on this repository is called so.
    pub fn name(&self, repository: u64, full_name: &str) {
        let mut names = self.names();
        names.retain(|_, known| *known != repository);
        names.insert(full_name.to_lowercase(), repository);
    }

    /// The repository of this name, `owner/name`, where we look after it.
    pub fn called(&self, full_name: &str) -> Option<u64> {
        self.names().get(&full_name.to_lowercase()).copied()
    }

    /// Rings for every repository, and for whoever keeps the list of repositories.
    pub fn ring_all(&self) {
        for pull in self.hung().values() {
            pull.ring.notify_one();
        }
        self.list.ring.notify_one();
    }

    /// Waits until somebody rings for this repository, or until the time comes; without one only
    /// the bell ends it. A time that is past is an alarm at once, unless it has rung before.
    pub async fn wait(&self, repository: u64, until: Option<Timestamp>) -> Rung {
        let pull = Arc::clone(self.hung().entry(repository).or_default());
        wait(&pull, until, crate::clock::now).await
    }

    /// Waits until the list of repositories may have changed: an installation came, went, or got
    /// other repositories.
    pub async fn wait_for_list(&self, until: Option<Timestamp>) -> Rung {
        wait(&self.list, until, crate::clock::now).await
    }

    /// Forgets a repository that is not ours any more.
    pub fn take_down(&self, repository: u64) {
        self.hung().remove(&repository);
        self.names().retain(|_, known| *known != repository);
    }

    fn hung(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Pull>>> {
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pull {
    /// How long a nudge has to wait. A clock that was set back does not make it longer.
    fn wait(&self, now: Timestamp) -> Duration {
        let woken = *self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let left = woken.map_or(SignedDuration::ZERO, |woken| PACE - now.duration_since(woken));
        Duration::try_from(left.min(PACE)).unwrap_or_default()
    }

    fn wake(&self, now: Timestamp) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }
}

async fn wait(pull: &Pull, until: Option<Timestamp>, clock: fn() -> Timestamp) -> Rung {
    let bell = pull.ring.notified();
    let nudge = async {
        pull.nudge.notified().await;
        tokio::time::sleep(pull.wait(clock())).await;
    };
    let alarm = async {
        let Some(until) = until else { return std::future::pending().await };
        while let Ok(left) = Duration::try_from(until.duration_since(clock())) {
            if left.is_zero() {
                break;
            }
            tokio::time::sleep(left.min(NAP)).await;
        }
    };
    let rung = tokio::select! {
        biased;
        () = bell => Rung::Bell,
        () = nudge => Rung::Bell,
        () = alarm => Rung::Alarm,
    };
    pull.wake(clock());
    rung
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn after(millis: i64) -> Option<Timestamp> {
        crate::clock::now().checked_add(SignedDuration::from_millis(millis)).ok()
    }

    #[tokio::test]
    async fn rings_are_kept_and_coalesced() {
        let bell = Bell::default();
        for _ in 0..5 {
            bell.ring(7);
        }
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell);
        assert_eq!(bell.wait(7, after(20)).await, Rung::Alarm);
    }

    #[tokio::test]
    async fn a_bell_is_for_one_repository() {
        let bell = Bell::default();
        bell.ring(8);
        assert_eq!(bell.wait(7, after(20)).await, Rung::Alarm);
        assert_eq!(bell.wait(8, None).await, Rung::Bell);
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let bell = Bell::default();
        let waiting = bell.wait(7, after(10_000));
        let ringing = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            bell.ring_all();
        };
        assert_eq!(tokio::join!(waiting, ringing).0, Rung::Bell);
        assert_eq!(bell.wait_for_list(after(5_000)).await, Rung::Bell);
        assert_eq!(bell.wait_for_list(after(10)).await, Rung::Alarm);
    }

    #[tokio::test]
    async fn a_nudge_rings_at_once_and_then_at_its_pace() {
        let bell = Bell::default();
        bell.nudge_all();
        assert_eq!(bell.wait(7, after(20)).await, Rung::Alarm, "7 was not known before");
        bell.hung()[&7].woken.lock().unwrap().take();
        bell.nudge_all();
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell);
        for _ in 0..5 {
            bell.nudge(7);
        }
        assert_eq!(bell.wait(7, after(50)).await, Rung::Alarm, "the last look is not long ago");
        bell.nudge(7);
        bell.ring(7);
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell, "others need not wait");
        *bell.hung()[&7].woken.lock().unwrap() = after(-4_900);
        let begun = crate::clock::now();
        bell.nudge(7);
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell);
        let took = crate::clock::now().duration_since(begun);
        assert!(took >= SignedDuration::from_millis(40) && took < SignedDuration::from_secs(2), "{took:?}");
        assert_eq!(bell.wait_for_list(after(10)).await, Rung::Alarm, "a cluster changes no list");
    }

    #[test]
    fn a_nudge_waits_for_its_pace_and_never_longer() {
        let pull = Pull::default();
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        assert_eq!(pull.wait(now), Duration::ZERO);
        pull.wake(now);
        assert_eq!(pull.wait(now), Duration::from_secs(5));
        assert_eq!(pull.wait(now + SignedDuration::from_secs(3)), Duration::from_secs(2));
        assert_eq!(pull.wait(now + SignedDuration::from_secs(6)), Duration::ZERO);
        assert_eq!(pull.wait(now - SignedDuration::from_hours(9)), Duration::from_secs(5), "the clock was set back");
    }

    #[test]
    fn repositories_are_found_by_their_present_name() {
        let bell = Bell::default();
        bell.name(7, "acme/Config");
        bell.name(8, "acme/other");
        assert_eq!((bell.called("Acme/config"), bell.called("acme")), (Some(7), None));
        bell.name(7, "acme/fleet");
        assert_eq!((bell.called("acme/config"), bell.called("acme/fleet")), (None, Some(7)));
        bell.take_down(7);
        assert_eq!((bell.called("acme/fleet"), bell.called("acme/other")), (None, Some(8)));
    }

    #[tokio::test]
    async fn a_time_that_is_past_is_an_alarm_at_once() {
        assert_eq!(Bell::default().wait(7, after(-5_000)).await, Rung::Alarm);
    }
}
