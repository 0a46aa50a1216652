//! What rings: webhooks, senders in clusters, alarms. A ring says that something may have changed and where;
//! it carries no facts, many in a row are one, and with all of them lost the alarm finds the same.

mod choice;
mod news;
pub mod pages;
pub mod port;
pub mod probes;
mod quota;
mod receiver;
mod registry;
mod replays;
pub mod routes;
pub mod senders;
pub mod shown;
pub mod sign_in;
mod sources;
pub mod webhook;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

use self::quota::{LOOKS, Quota, Quotas, Who};

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

/// What hangs on the bell for one repository, or for the list of them.
#[derive(Debug)]
struct Pull {
    state: Mutex<Rope>,
    /// Somebody rang.
    rung: Notify,
}

#[derive(Debug)]
struct Rope {
    /// From when on somebody is to be woken; none where nobody rang.
    due: Option<Timestamp>,
    /// The same for rings of clusters, which also wait until the last look is long enough ago.
    nudged: Option<Timestamp>,
    /// When somebody was woken last.
    woken: Option<Timestamp>,
    /// Through which installation the repository is reached.
    installation: Option<u64>,
    /// Where the charts of the repository come from.
    sources: BTreeSet<String>,
    /// Those that were rung for, until somebody asks.
    fresh: BTreeSet<String>,
    /// What was rung for since that was told last, and is none of them yet.
    early: BTreeSet<String>,
    /// How often somebody may be woken by ringing.
    looks: Quota,
    /// How often each may ring.
    quotas: Quotas,
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
    /// Rings for one repository, by the account whose act it was. Rings before and during its pass are one ring
    /// after it.
    pub fn ring(&self, repository: u64, by: Option<u64>) {
        let mut hung = self.hung();
        if hung.len() < MOST || hung.contains_key(&repository) {
            hung.entry(repository).or_default().ring(account(by), crate::clock::now());
        }
    }

    /// Rings for one repository that is looked after, but no sooner than a while after the last look. Before anybody
    /// waits for it, it is kept.
    pub fn nudge(&self, repository: u64) {
        self.hung().entry(repository).or_default().nudge(crate::clock::now());
    }

    /// The same for every repository; which ones there are, a cluster cannot change.
    pub fn nudge_all(&self) {
        for pull in self.hung().values() {
            pull.nudge(crate::clock::now());
        }
    }

    /// From now on this repository is reached through this installation.
    pub fn installed(&self, repository: u64, installation: Option<u64>) {
        self.hung().entry(repository).or_default().rope().installation = installation;
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

    /// Rings for every repository of an installation; without one for all that are looked after.
    pub fn ring_installation(&self, installation: Option<u64>, by: Option<u64>) {
        for pull in self.hung().values() {
            let of = pull.rope().installation;
            if installation.is_none() || of.is_none() || of == installation {
                pull.ring(account(by), crate::clock::now());
            }
        }
    }

    /// Rings for whoever keeps the list of repositories.
    pub fn ring_list(&self, by: Option<u64>) {
        self.list.ring(account(by), crate::clock::now());
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

fn account(by: Option<u64>) -> Who {
    by.map_or(Who::Somebody, Who::Account)
}

impl Default for Pull {
    fn default() -> Self {
        let (looks, quotas) = (Quota::new(LOOKS), Quotas::default());
        let [sources, fresh, early] = [(); 3].map(|()| BTreeSet::new());
        let rope =
            Rope { due: None, nudged: None, woken: None, installation: None, sources, fresh, early, looks, quotas };
        Self { state: Mutex::new(rope), rung: Notify::new() }
    }
}

impl Pull {
    fn rope(&self) -> MutexGuard<'_, Rope> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, who: Who, now: Timestamp) {
        let mut rope = self.rope();
        if rope.due.is_none_or(|due| due > now) {
            let due = rope.quotas.take(who, now);
            rope.due = Some(rope.due.map_or(due, |known| known.min(due)));
        }
        drop(rope);
        self.rung.notify_one();
    }

    fn nudge(&self, now: Timestamp) {
        let mut rope = self.rope();
        if rope.nudged.is_none() {
            rope.nudged = Some(rope.quotas.take(Who::Clusters, now));
        }
        drop(rope);
        self.rung.notify_one();
    }
}

impl Rope {
    /// When the last look is long enough ago for a nudge. A clock that was set back does not make it longer.
    fn paced(&self, now: Timestamp) -> Timestamp {
        let left = self.woken.map_or(SignedDuration::ZERO, |woken| PACE - now.duration_since(woken));
        now + left.clamp(SignedDuration::ZERO, PACE)
    }

    /// When somebody is to be woken next, and by what.
    fn next(&self, until: Option<Timestamp>, now: Timestamp) -> Option<(Timestamp, Rung)> {
        let nudged = self.nudged.map(|nudged| nudged.max(self.paced(now)));
        let due = self.due.into_iter().chain(nudged).min();
        let bell = due.map(|due| (due.max(self.looks.next(now)), Rung::Bell));
        let alarm = until.map(|until| (until, Rung::Alarm));
        match (bell, alarm) {
            // What has rung is a ring, however late the alarm is noticed.
            (Some(bell), Some(alarm)) => Some(if bell.0 <= now || bell.0 <= alarm.0 { bell } else { alarm }),
            (bell, alarm) => bell.or(alarm),
        }
    }

    fn wake(&mut self, rung: Rung, now: Timestamp) {
        self.woken = Some(now);
        if rung == Rung::Bell {
            self.looks.take(now);
            (self.due, self.nudged) = (None, None);
        }
    }
}

async fn wait(pull: &Pull, until: Option<Timestamp>, clock: fn() -> Timestamp) -> Rung {
    loop {
        let now = clock();
        let next = {
            let mut rope = pull.rope();
            let next = rope.next(until, now);
            if let Some((at, rung)) = next
                && at <= now
            {
                rope.wake(rung, now);
                return rung;
            }
            next
        };
        let nap = next.and_then(|(at, _)| Duration::try_from(at.duration_since(now)).ok()).unwrap_or(NAP);
        tokio::select! {
            () = pull.rung.notified() => {}
            () = tokio::time::sleep(nap.min(NAP)) => {}
        }
    }
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
            bell.ring(7, Some(1));
        }
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell);
        assert_eq!(bell.wait(7, after(20)).await, Rung::Alarm);
    }

    #[tokio::test]
    async fn a_bell_is_for_one_repository() {
        let bell = Bell::default();
        bell.ring(8, Some(1));
        assert_eq!(bell.wait(7, after(20)).await, Rung::Alarm);
        assert_eq!(bell.wait(8, None).await, Rung::Bell);
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let bell = Bell::default();
        let waiting = bell.wait(7, after(10_000));
        let ringing = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            bell.ring_installation(None, Some(1));
            bell.ring_list(Some(1));
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
        bell.hung()[&7].rope().woken = None;
        bell.nudge_all();
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell);
        for _ in 0..5 {
            bell.nudge(7);
        }
        assert_eq!(bell.wait(7, after(50)).await, Rung::Alarm, "the last look is not long ago");
        bell.nudge(7);
        bell.ring(7, Some(1));
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell, "others need not wait");
        bell.hung()[&7].rope().woken = after(-4_900);
        let begun = crate::clock::now();
        bell.nudge(7);
        assert_eq!(bell.wait(7, after(5_000)).await, Rung::Bell);
        let took = crate::clock::now().duration_since(begun);
        assert!(took >= SignedDuration::from_millis(40) && took < SignedDuration::from_secs(2), "{took:?}");
        assert_eq!(bell.wait_for_list(after(10)).await, Rung::Alarm, "a cluster changes no list");
    }

    #[test]
    fn a_nudge_waits_for_its_pace_and_never_longer() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let nudged = |woken: Option<i64>| {
            let pull = Pull::default();
            pull.rope().woken = woken.map(|ago| now - SignedDuration::from_secs(ago));
            let wait = pull.rope().paced(now).duration_since(now);
            wait.as_secs()
        };
        assert_eq!([nudged(None), nudged(Some(0)), nudged(Some(3)), nudged(Some(6))], [0, 5, 2, 0]);
        assert_eq!(nudged(Some(-32_400)), 5, "the clock was set back");
    }

    #[tokio::test]
    async fn a40_a_flood_by_one_account_or_one_repository_delays_nobody_else() {
        let bell = Bell::default();
        let mut woken = 0;
        for _ in 0..100 {
            bell.ring(7, Some(66));
            woken += usize::from(bell.wait(7, after(-1)).await == Rung::Bell);
        }
        assert_eq!(woken, 20, "what one account causes at once");
        bell.ring(7, Some(1));
        assert_eq!(bell.wait(7, after(-1)).await, Rung::Bell, "another account in the same repository");
        bell.ring(8, Some(66));
        assert_eq!(bell.wait(8, after(-1)).await, Rung::Bell, "the same account in another repository");
        bell.nudge(7);
        bell.hung()[&7].rope().woken = None;
        let due = bell.hung()[&7].rope().next(None, crate::clock::now()).unwrap().0;
        assert!(due.duration_since(crate::clock::now()) < SignedDuration::from_secs(6), "clusters ring as before");
        // Many accounts together: each look after the first sixty waits for its time, and none is lost.
        let bell = Bell::default();
        let mut woken = 0;
        for account in 0..200 {
            bell.ring(7, Some(account));
            woken += usize::from(bell.wait(7, after(-1)).await == Rung::Bell);
        }
        assert_eq!(woken, 60);
        let next = bell.hung()[&7].rope().next(None, crate::clock::now()).unwrap().0;
        let wait = next.duration_since(crate::clock::now());
        assert!(wait.is_positive() && wait <= SignedDuration::from_secs(15), "{wait:?}");
    }

    #[tokio::test]
    async fn a05_an_installation_rings_for_its_own_repositories_alone() {
        let bell = Bell::default();
        for (repository, installation) in [(7, 10), (8, 11)] {
            bell.installed(repository, Some(installation));
        }
        bell.ring_installation(Some(11), Some(66));
        assert_eq!(bell.wait(7, after(-1)).await, Rung::Alarm);
        assert_eq!(bell.wait(8, after(-1)).await, Rung::Bell);
        bell.ring_list(Some(66));
        assert_eq!((bell.wait(7, after(-1)).await, bell.wait(8, after(-1)).await), (Rung::Alarm, Rung::Alarm));
        assert_eq!(bell.wait_for_list(after(-1)).await, Rung::Bell);
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
