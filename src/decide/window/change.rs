//! When a window changes next. Whether it is open at an instant is in `mod`.

use alloc::vec::Vec;

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::{ClosedDays, Windows};

impl Windows {
    /// The first instant after `at`, and not after `limit`, at which it opens or closes, `room`
    /// aside.
    pub(super) fn next_change(&self, at: Timestamp, limit: Timestamp) -> Option<Timestamp> {
        let now = self.covers(at);
        if self.open.is_empty() { self.next_rare(at, limit, now) } else { self.next_daily(at, limit, now) }
    }

    /// Without ranges only closed days and cron windows make a change: beginnings and ends of both
    /// are tried in turn, however far apart they are.
    fn next_rare(&self, at: Timestamp, limit: Timestamp, now: bool) -> Option<Timestamp> {
        let mut closings: Vec<Timestamp> = self.closed.iter().flat_map(|closed| self.ends_of(closed)).collect();
        // At `at` itself nothing changes any more.
        closings.retain(|instant| (at..=limit).contains(instant));
        closings.sort_unstable();
        closings.dedup();
        let mut closings = closings.into_iter().peekable();
        let mut from = at;
        loop {
            let firings = self.cron.iter().filter_map(|cron| cron.next_change(&self.zone, from, limit));
            let next = firings.chain(closings.peek().copied()).min()?;
            closings.next_if(|closing| *closing <= next);
            if self.covers(next) != now {
                return Some(next);
            }
            from = next;
        }
    }

    /// Instants at which closed days may begin or end: their midnights in both readings of an
    /// overlap, and transitions near them, which may skip a midnight or go back over it.
    fn ends_of(&self, closed: &ClosedDays) -> Vec<Timestamp> {
        let mut instants = Vec::new();
        for date in [Some(closed.from), closed.to.tomorrow().ok()].into_iter().flatten() {
            let midnight = self.zone.to_ambiguous_timestamp(date.to_datetime(Time::midnight()));
            let (Ok(earlier), Ok(later)) = (midnight.earlier(), midnight.later()) else { continue };
            instants.extend([earlier, later]);
            let near = SignedDuration::from_hours(36);
            let (from, to) = (earlier.saturating_sub(near), later.saturating_add(near));
            if let (Ok(from), Ok(to)) = (from, to) {
                let transitions = self.zone.following(from).map(|transition| transition.timestamp());
                instants.extend(transitions.take_while(|instant| *instant <= to));
            }
        }
        instants
    }

    /// Ranges change every few days. Between two neighbours of the following nothing can change: the
    /// local boundaries of each day in both readings of an overlap, the zone's own transitions,
    /// beginnings and ends of cron windows. So each of them is tried in turn.
    fn next_daily(&self, at: Timestamp, limit: Timestamp, now: bool) -> Option<Timestamp> {
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
            instants.dedup();
            let later = instants.iter().filter(|instant| **instant >= at);
            if let Some(change) = later.copied().find(|instant| self.covers(*instant) != now) {
                return Some(change).filter(|change| *change <= limit);
            }
            if end >= limit {
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
        minutes.sort_unstable();
        minutes.dedup();
        let mut instants = Vec::new();
        for minute in minutes {
            let Ok(local) = date.to_datetime(Time::midnight()).checked_add(i32::from(minute).minutes()) else {
                continue;
            };
            let ambiguous = self.zone.to_ambiguous_timestamp(local);
            instants.extend(ambiguous.earlier().ok());
            instants.extend(ambiguous.later().ok());
        }
        instants
    }
}
