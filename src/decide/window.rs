//! Windows: the instants at which a merge may happen. How the words of the file become ranges is
//! the `policy` room's; what an instant means is decided here, by the zone's rules at that instant.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

/// Open ranges and closed days in one zone; `closed` wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// The IANA zone; an unknown one is an error where the file is read, never UTC.
    #[serde(with = "jiff::fmt::serde::tz::required")]
    pub zone: TimeZone,
    /// Ranges of local time; none = always open but for `closed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Range>,
    /// Whole days, both ends included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<ClosedDays>,
    /// Merges stop this long before a window closes.
    #[serde(default)]
    pub room: SignedDuration,
}

/// Local time from `from` to before `to` on the named days; past midnight when `to <= from`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Days on which it starts, 1 = Monday … 7 = Sunday.
    pub days: Vec<u8>,
    /// Minute of the day at which it starts, 0..1440.
    pub from: u16,
    /// Minute of the day before which it ends, 1..=1440.
    pub to: u16,
}

/// Days on which nothing merges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedDays {
    /// First day.
    pub from: Date,
    /// Last day, included.
    pub to: Date,
    /// Why, in the words of who wrote it.
    #[serde(default)]
    pub why: String,
}

/// How far ahead the next opening is looked for. A window that does not open within two years is
/// said to have no known opening.
const HORIZON_DAYS: i32 = 731;

impl Windows {
    /// Whether a merge may start at `at`: open now, and still open `room` later.
    pub fn open_at(&self, at: Timestamp) -> bool {
        self.covers(at) && (self.room.is_zero() || self.next_change(at).is_none_or(|closing| at + self.room < closing))
    }

    /// The first instant after `at` at which a merge may start; none when it may now, or when none
    /// comes within two years.
    pub fn next_open(&self, at: Timestamp) -> Option<Timestamp> {
        if self.open_at(at) {
            return None;
        }
        let mut from = at;
        let limit = at + SignedDuration::from_hours(24 * i64::from(HORIZON_DAYS));
        while let Some(change) = self.next_change(from) {
            if self.open_at(change) {
                return Some(change);
            }
            if change >= limit {
                return None;
            }
            from = change;
        }
        None
    }

    /// The reason of the closed days that hold at `at`, when there are any.
    pub fn closed_because(&self, at: Timestamp) -> Option<&ClosedDays> {
        let day = self.zone.to_datetime(at).date();
        self.closed.iter().find(|closed| closed.from <= day && day <= closed.to)
    }

    /// Whether `at` lies in an open range and on no closed day, `room` aside.
    fn covers(&self, at: Timestamp) -> bool {
        let local = self.zone.to_datetime(at);
        if self.closed.iter().any(|closed| closed.from <= local.date() && local.date() <= closed.to) {
            return false;
        }
        let minute = u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        self.open.is_empty() || self.open.iter().any(|range| range.holds(local.weekday(), minute))
    }

    /// The first instant after `at` at which `covers` changes, within the horizon. Candidates are
    /// the local boundaries of each day, in both readings of an overlap, and the zone's own
    /// transitions: between two neighbours of those nothing can change.
    fn next_change(&self, at: Timestamp) -> Option<Timestamp> {
        let now = self.covers(at);
        let first = self.zone.to_datetime(at).date();
        let mut transitions = self.zone.following(at).map(|transition| transition.timestamp()).peekable();
        for day in 0..HORIZON_DAYS {
            let date = first.checked_add(day.days()).ok()?;
            let mut instants = self.boundaries(date);
            let end = instants.iter().max().copied();
            while let Some(transition) = transitions.next_if(|transition| end.is_some_and(|end| *transition <= end)) {
                instants.push(transition);
            }
            instants.sort_unstable();
            if let Some(change) = instants.into_iter().find(|instant| *instant > at && self.covers(*instant) != now) {
                return Some(change);
            }
        }
        None
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
            instants.extend(ambiguous.clone().earlier().ok());
            instants.extend(ambiguous.later().ok());
        }
        instants
    }
}

impl Range {
    /// Whether a local weekday and minute lie in it. The part after midnight belongs to the day on
    /// which the range began.
    fn holds(&self, day: Weekday, minute: u16) -> bool {
        let on = |day: Weekday| self.days.contains(&day.to_monday_one_offset().unsigned_abs());
        if self.from < self.to {
            on(day) && self.from <= minute && minute < self.to
        } else {
            (on(day) && self.from <= minute) || (on(day.previous()) && minute < self.to)
        }
    }
}
