//! Windows: the instants at which a merge may happen. How the words of the file become ranges is
//! the `policy` room's; what an instant means is decided here, by the zone's rules at that instant.

mod change;
mod cron;
mod range;
mod schedule;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use cron::Cron;
pub use range::{ClosedDays, Range};
pub use schedule::{Schedule, ScheduleError};

/// Open ranges, cron windows and closed days in one zone; `closed` wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// The IANA zone; an unknown one is an error where the file is read, never UTC.
    #[serde(with = "crate::zone")]
    pub zone: TimeZone,
    /// Ranges of local time. Without any, and without cron windows, always open but for `closed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Range>,
    /// Windows that begin when a schedule fires, beside the ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cron: Vec<Cron>,
    /// Whole days, both ends included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<ClosedDays>,
    /// Merges stop this long before a window closes.
    #[serde(default)]
    pub room: SignedDuration,
}

/// How far ahead the next opening is looked for. A window that does not open within two years is
/// said to have no known opening.
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * 731);

impl Windows {
    /// Windows that restrict nothing, in a zone.
    pub fn always(zone: TimeZone) -> Self {
        Self { zone, open: Vec::new(), cron: Vec::new(), closed: Vec::new(), room: SignedDuration::ZERO }
    }

    /// Whether a merge may start at `at`: open now, and still open `room` later.
    pub fn open_at(&self, at: Timestamp) -> bool {
        self.covers(at) && (self.room.is_zero() || self.room_left(at))
    }

    /// The first instant after `at` at which a merge may start; none when it may now, or when none
    /// comes within two years.
    pub fn next_open(&self, at: Timestamp) -> Option<Timestamp> {
        if self.open_at(at) {
            return None;
        }
        let limit = horizon(at);
        let mut from = at;
        while let Some(change) = self.next_change(from, limit) {
            if self.open_at(change) {
                return Some(change);
            }
            from = change;
        }
        None
    }

    /// The first instant after `at` at which no merge may start any more; none when none may now, or
    /// when that comes more than two years later.
    pub fn closes(&self, at: Timestamp) -> Option<Timestamp> {
        if !self.open_at(at) {
            return None;
        }
        self.next_change(at, horizon(at))?.checked_sub(self.room).ok()
    }

    /// The closed days that hold at `at`, when there are any.
    pub fn closed_because(&self, at: Timestamp) -> Option<&ClosedDays> {
        let day = self.zone.to_datetime(at).date();
        self.closed.iter().find(|closed| closed.hold(day))
    }

    /// Whether more than `room` is left until the window closes.
    fn room_left(&self, at: Timestamp) -> bool {
        match at.checked_add(self.room) {
            Ok(end) => self.next_change(at, end).is_none(),
            Err(_) => self.next_change(at, Timestamp::MAX).is_none(),
        }
    }

    /// Whether `at` lies in an open range or cron window and on no closed day, `room` aside.
    fn covers(&self, at: Timestamp) -> bool {
        let local = self.zone.to_datetime(at);
        if self.closed.iter().any(|closed| closed.hold(local.date())) {
            return false;
        }
        if self.open.is_empty() && self.cron.is_empty() {
            return true;
        }
        let minute = u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        self.open.iter().any(|range| range.holds(local.weekday(), minute))
            || self.cron.iter().any(|cron| cron.covers(&self.zone, at))
    }
}

/// The first instant from `at` on at which all of them let a merge start; `at` itself when they do.
/// None when one of them has no known opening. Where windows miss each other for two months, the
/// answer is an instant before which they do not meet.
pub fn all_open(windows: &[&Windows], at: Timestamp) -> Option<Timestamp> {
    let limit = at.saturating_add(SignedDuration::from_hours(24 * 62)).unwrap_or(Timestamp::MAX);
    let mut from = at;
    while from <= limit {
        let mut opens = from;
        for closed in windows.iter().filter(|windows| !windows.open_at(from)) {
            opens = opens.max(closed.next_open(from)?);
        }
        if opens == from {
            return Some(from);
        }
        from = opens;
    }
    Some(from)
}

fn horizon(at: Timestamp) -> Timestamp {
    at.saturating_add(HORIZON).unwrap_or(Timestamp::MAX)
}
