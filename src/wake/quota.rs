//! How often somebody may ring: so many times at once, and then one each so often. What is over it is late and
//! never lost: a flood costs its author's own time, and a bounded part of the hub's budget.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// So many at once, and then one each so often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    at_once: i32,
    then: SignedDuration,
}

/// Looks that one repository gets by ringing, whoever rings: at most 300 in an hour.
pub(super) const LOOKS: Rate = Rate { at_once: 60, then: SignedDuration::from_secs(15) };
/// Looks that one account at the hub causes in one repository.
const ONE: Rate = Rate { at_once: 20, then: SignedDuration::from_mins(1) };
/// Looks that everything in clusters together causes in one repository.
const CLUSTERS: Rate = Rate { at_once: 20, then: SignedDuration::from_secs(30) };
/// Accounts that are kept apart in one repository; further ones share one quota.
const MOST: usize = 1_000;

/// Who rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// An account at the hub, by its number.
    Account(u64),
    /// The hub, without a name.
    Somebody,
    /// A sender in a cluster, or what is watched there.
    Clusters,
}

/// What is left of a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota {
    rate: Rate,
    /// When all of it is there again.
    whole: Option<Timestamp>,
}

impl Quota {
    pub fn new(rate: Rate) -> Self {
        Self { rate, whole: None }
    }

    /// When the next one may be, without taking it.
    pub fn next(&self, now: Timestamp) -> Timestamp {
        let Some(whole) = self.whole else { return now };
        let most = self.rate.then * self.rate.at_once;
        // A clock that was set back makes nobody wait longer.
        let missing = whole.duration_since(now).min(most);
        now + (missing - (most - self.rate.then)).max(SignedDuration::ZERO)
    }

    /// Takes one, which may be used from then on. One that is late is free: it is one for many.
    pub fn take(&mut self, now: Timestamp) -> Timestamp {
        let next = self.next(now);
        if next <= now {
            let most = self.rate.then * self.rate.at_once;
            let whole = self.whole.map_or(now, |whole| whole.clamp(now, now + most));
            self.whole = Some(whole + self.rate.then);
        }
        next
    }

    fn is_whole(&self, now: Timestamp) -> bool {
        self.whole.is_none_or(|whole| whole <= now)
    }
}

/// The quotas of all who ring for one repository.
#[derive(Debug, Default)]
pub(super) struct Quotas(BTreeMap<Who, Quota>);

impl Quotas {
    /// Takes one of somebody's.
    pub fn take(&mut self, who: Who, now: Timestamp) -> Timestamp {
        let mut who = who;
        if !self.0.contains_key(&who) && self.0.len() >= MOST {
            self.0.retain(|_, quota| !quota.is_whole(now));
            if self.0.len() >= MOST {
                who = Who::Somebody;
            }
        }
        let rate = match who {
            Who::Account(_) | Who::Somebody => ONE,
            Who::Clusters => CLUSTERS,
        };
        self.0.entry(who).or_insert_with(|| Quota::new(rate)).take(now)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn so_many_at_once_and_then_one_each_so_often() {
        let mut quota = Quota::new(Rate { at_once: 3, then: SignedDuration::from_secs(10) });
        let taken: Vec<i64> = (0..5).map(|_| quota.take(at(0)).duration_since(at(0)).as_secs()).collect();
        assert_eq!(taken, [0, 0, 0, 10, 10], "late ones are one");
        assert_eq!(quota.take(at(10)), at(10));
        assert_eq!(quota.take(at(10)), at(20));
        assert_eq!((0..3).map(|_| quota.take(at(100))).filter(|next| *next == at(100)).count(), 3);
        assert_eq!(quota.next(at(100) - SignedDuration::from_hours(9)).duration_since(at(100)).as_hours(), -8);
    }

    #[test]
    fn a40_one_account_takes_nothing_from_another_and_all_are_bounded() {
        let mut quotas = Quotas::default();
        let flood = |quotas: &mut Quotas, who, second| {
            (0..10_000).filter(|_| quotas.take(who, at(second)) <= at(second)).count()
        };
        assert_eq!(flood(&mut quotas, Who::Account(1), 0), 20);
        assert_eq!(flood(&mut quotas, Who::Clusters, 0), 20);
        assert_eq!(quotas.take(Who::Account(2), at(0)), at(0));
        // Ten thousand accounts: who comes late shares one quota with the others.
        let many = (0..10_000).filter(|number| quotas.take(Who::Account(*number), at(1)) <= at(1)).count();
        assert!(many <= MOST + 20 && quotas.0.len() <= MOST + 1, "{many}");
        assert_eq!(quotas.take(Who::Account(20_000), at(3_000)), at(3_000), "those at rest are forgotten");
        assert!(quotas.0.len() < 10);
    }

    #[test]
    fn a40_a_flood_of_an_hour_causes_a_bounded_number_of_looks() {
        let mut looks = Quota::new(LOOKS);
        let taken = (0..3_600_i64).filter(|second| looks.take(at(*second)) <= at(*second)).count();
        assert!((290..=301).contains(&taken), "{taken}");
    }
}
