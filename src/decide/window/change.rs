//! When a window changes next. Whether it is open at an instant is in `mod`.

use alloc::vec::Vec;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use super::Windows;

impl Windows {
    /// The first instant after `at`, and not after `limit`, at which it opens or closes, `room`
    /// aside.
    ///
    /// Between two neighbours of the following nothing can change: the local boundaries of each day
    /// in both readings of an overlap, the zone's own transitions, beginnings and ends of cron
    /// windows. So each of them is tried in turn.
    pub(super) fn next_change(&self, at: Timestamp, limit: Timestamp) -> Option<Timestamp> {
        if self.open.is_empty() && self.cron.is_empty() && self.closed.is_empty() {
            return None;
        }
        let now = self.covers(at);
        let mut transitions = self.zone.following(at).map(|transition| transition.timestamp()).peekable();
        let mut crons: Vec<_> = self.cron.iter().map(|cron| (cron, cron.next_change(&self.zone, at, limit))).collect();
        let mut day = self.zone.to_datetime(at).date();
        let mut instants = self.boundaries(day);
        loop {
            let end = instants.iter().max().copied()?;
            while let Some(transition) = transitions.next_if(|transition| *transition <= end) {
                instants.push(transition);
            }
            for (cron, next) in &mut crons {
                while let Some(change) = next.filter(|change| *change <= end) {
                    instants.push(change);
                    *next = cron.next_change(&self.zone, change, limit);
                }
            }
            // Where clocks go back over midnight, a boundary of the next day may come before the
            // last one of this day.
            let tomorrow = day.tomorrow().ok()?;
            let following = self.boundaries(tomorrow);
            instants.extend(following.iter().filter(|instant| **instant <= end));
            instants.sort_unstable();
            let later = instants.iter().filter(|instant| **instant > at);
            if let Some(change) = later.copied().find(|instant| self.covers(*instant) != now) {
                return Some(change).filter(|change| *change <= limit);
            }
            if end > limit {
                return None;
            }
            (day, instants) = (tomorrow, following);
        }
    }

    /// Every instant of a local day at which a range or a closed day may begin or end; the start
    /// of the next day is among them, so that the list reaches past each transition of the day.
    fn boundaries(&self, date: Date) -> Vec<Timestamp> {
        let mut minutes: Vec<u16> = self.open.iter().flat_map(|range| [range.from, range.to]).collect();
        minutes.extend([0, 1440]);
        let mut instants = Vec::new();
        for minute in minutes {
            let Ok(local) = date.to_datetime(jiff::civil::Time::midnight()).checked_add(i32::from(minute).minutes())
            else {
                continue;
            };
            let ambiguous = self.zone.to_ambiguous_timestamp(local);
            instants.extend(ambiguous.earlier().ok());
            instants.extend(ambiguous.later().ok());
        }
        instants
    }
}
