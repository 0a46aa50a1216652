//! Deliveries that were taken already. Whoever has captured good ones may send them again, under any id and event:
//! neither is signed. What is signed is the body, so that a delivery is known by its tag.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// For so long a delivery is remembered. GitHub sends none again by itself, and keeps what it sent for three days
/// (docs.github.com, "Redelivering webhooks").
const LONGEST: SignedDuration = SignedDuration::from_hours(72);
/// The most that are remembered: some 700 KiB.
const MOST: usize = 10_000;

/// The tags of deliveries that have rung.
#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    in_order: VecDeque<(Timestamp, [u8; 32])>,
    tags: BTreeSet<[u8; 32]>,
}

impl Replays {
    /// Whether one with this tag has rung before.
    pub fn has(&self, tag: &[u8; 32]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).tags.contains(tag)
    }

    /// One has rung.
    pub fn remember(&self, tag: [u8; 32], now: Timestamp) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |known: &Known| {
            let oldest = known.in_order.front().map(|(at, _)| *at);
            known.in_order.len() >= MOST || oldest.is_some_and(|at| now.duration_since(at) >= LONGEST)
        };
        while is_over(&known) {
            let Some((_, oldest)) = known.in_order.pop_front() else { break };
            known.tags.remove(&oldest);
        }
        if known.tags.insert(tag) {
            known.in_order.push_back((now, tag));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u64) -> [u8; 32] {
        let mut tag = [0; 32];
        tag[..8].copy_from_slice(&number.to_be_bytes());
        tag
    }

    #[test]
    fn a04_what_has_rung_is_known_for_three_days_and_among_ten_thousand() {
        let (replays, begun) = (Replays::default(), Timestamp::UNIX_EPOCH);
        replays.remember(tag(0), begun);
        assert!(replays.has(&tag(0)) && !replays.has(&tag(1)));
        replays.remember(tag(1), begun + SignedDuration::from_hours(71));
        assert!(replays.has(&tag(0)));
        replays.remember(tag(2), begun + SignedDuration::from_hours(72));
        assert!(!replays.has(&tag(0)) && replays.has(&tag(1)));
        let later = begun + SignedDuration::from_hours(73);
        (3..3 + MOST as u64).for_each(|number| replays.remember(tag(number), later));
        assert!(!replays.has(&tag(2)) && replays.has(&tag(3)));
        let known = replays.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!((known.tags.len(), known.in_order.len()), (MOST, MOST));
    }
}
