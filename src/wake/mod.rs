//! What rings: webhooks and alarms. A ring says that something may have changed and where; it
//! carries no facts, many in a row are one, and with all of them lost the alarm finds the same.

pub mod face;
pub mod webhook;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

/// The most repositories that are kept track of. Whoever rings is verified, but may be a stranger
/// who installed a public App.
const MOST: usize = 20_000;
/// A sleep is cut into parts of this length, so that a clock that is set, or a machine that slept,
/// is noticed.
const NAP: Duration = Duration::from_secs(30);

/// The bell that wakes the loop of each repository. Clones ring the same bell.
#[derive(Clone, Debug, Default)]
pub struct Bell {
    hung: Arc<Mutex<BTreeMap<u64, Arc<Notify>>>>,
    list: Arc<Notify>,
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
            hung.entry(repository).or_default().notify_one();
        }
    }

    /// Rings for every repository, and for whoever keeps the list of repositories.
    pub fn ring_all(&self) {
        for notify in self.hung().values() {
            notify.notify_one();
        }
        self.list.notify_one();
    }

    /// Waits until somebody rings for this repository, or until the time comes; without one only
    /// the bell ends it. A time that is past is an alarm at once, unless it has rung before.
    pub async fn wait(&self, repository: u64, until: Option<Timestamp>) -> Rung {
        let notify = Arc::clone(self.hung().entry(repository).or_default());
        wait(&notify, until, crate::clock::now).await
    }

    /// Waits until the list of repositories may have changed: an installation came, went, or got
    /// other repositories.
    pub async fn wait_for_list(&self, until: Option<Timestamp>) -> Rung {
        wait(&self.list, until, crate::clock::now).await
    }

    /// Forgets a repository that is not ours any more.
    pub fn take_down(&self, repository: u64) {
        self.hung().remove(&repository);
    }

    fn hung(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Notify>>> {
        self.hung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn wait(notify: &Notify, until: Option<Timestamp>, clock: fn() -> Timestamp) -> Rung {
    let bell = notify.notified();
    let alarm = async {
        let Some(until) = until else { return std::future::pending().await };
        while let Ok(left) = Duration::try_from(until.duration_since(clock())) {
            if left.is_zero() {
                break;
            }
            tokio::time::sleep(left.min(NAP)).await;
        }
    };
    tokio::select! {
        biased;
        () = bell => Rung::Bell,
        () = alarm => Rung::Alarm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

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
    async fn a_time_that_is_past_is_an_alarm_at_once() {
        assert_eq!(Bell::default().wait(7, after(-5_000)).await, Rung::Alarm);
    }
}
