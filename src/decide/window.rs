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
        self.covers(at) && (self.room.is_zero() || self.next_change(at).is_none_or(|closing| self.fits(at, closing)))
    }

    /// The first instant after `at` at which a merge may start; none when it may now, or when none
    /// comes within two years.
    pub fn next_open(&self, at: Timestamp) -> Option<Timestamp> {
        if self.open_at(at) {
            return None;
        }
        let mut from = at;
        let horizon = SignedDuration::from_hours(24 * i64::from(HORIZON_DAYS));
        let limit = at.checked_add(horizon).unwrap_or(Timestamp::MAX);
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

    /// Whether more than `room` is left between `at` and the closing.
    fn fits(&self, at: Timestamp, closing: Timestamp) -> bool {
        at.checked_add(self.room).is_ok_and(|end| end < closing)
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
        if self.open.is_empty() && self.closed.is_empty() {
            return None;
        }
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
            instants.extend(ambiguous.earlier().ok());
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use alloc::vec;

    use super::*;

    fn windows(zone: &str, open: &[(&[u8], u16, u16)]) -> Windows {
        Windows {
            zone: TimeZone::get(zone).unwrap(),
            open: open.iter().map(|(days, from, to)| Range { days: days.to_vec(), from: *from, to: *to }).collect(),
            closed: Vec::new(),
            room: SignedDuration::ZERO,
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const DAILY: &[u8] = &[1, 2, 3, 4, 5, 6, 7];
    const WORK: &[u8] = &[1, 2, 3, 4];

    #[test]
    fn weekdays_and_hours() {
        // Mon-Thu 08:00-16:00 in Berlin; 2026-11-23 is a Monday, one hour ahead of UTC.
        let windows = windows("Europe/Berlin", &[(WORK, 8 * 60, 16 * 60)]);
        let cases = [
            ("2026-11-23T06:59:59Z", false, Some("2026-11-23T07:00:00Z")),
            ("2026-11-23T07:00:00Z", true, None),
            ("2026-11-23T14:59:59Z", true, None),
            ("2026-11-23T15:00:00Z", false, Some("2026-11-24T07:00:00Z")),
            ("2026-11-26T15:00:00Z", false, Some("2026-11-30T07:00:00Z")), // Thursday evening
            ("2026-11-27T10:00:00Z", false, Some("2026-11-30T07:00:00Z")), // Friday
        ];
        for (instant, open, next) in cases {
            assert_eq!(windows.open_at(at(instant)), open, "{instant}");
            assert_eq!(windows.next_open(at(instant)), next.map(at), "{instant}");
        }
    }

    #[test]
    fn past_midnight_belongs_to_the_day_on_which_it_began() {
        // Fri 22:00-04:00: Saturday 03:00 is inside, Friday 03:00 and Sunday 03:00 are not.
        let windows = windows("UTC", &[(&[5], 22 * 60, 4 * 60)]);
        for (instant, open) in [
            ("2026-11-27T03:00:00Z", false),
            ("2026-11-27T21:59:00Z", false),
            ("2026-11-27T22:00:00Z", true),
            ("2026-11-28T03:59:59Z", true),
            ("2026-11-28T04:00:00Z", false),
            ("2026-11-29T03:00:00Z", false),
        ] {
            assert_eq!(windows.open_at(at(instant)), open, "{instant}");
        }
    }

    #[test]
    fn no_ranges_is_always_open_and_closed_days_win() {
        let mut windows = windows("Europe/Berlin", &[]);
        assert!(windows.open_at(at("2026-11-23T03:00:00Z")));
        assert_eq!(windows.next_open(at("2026-11-23T03:00:00Z")), None);
        windows.closed = vec![ClosedDays {
            from: "2026-12-20".parse().unwrap(),
            to: "2027-01-04".parse().unwrap(),
            why: "year-end".into(),
        }];
        // Days are those of Berlin: the first begins, and the last ends, at 23:00 UTC.
        for (instant, open) in [
            ("2026-12-19T22:59:59Z", true),
            ("2026-12-19T23:00:00Z", false),
            ("2027-01-04T22:59:59Z", false),
            ("2027-01-04T23:00:00Z", true),
        ] {
            assert_eq!(windows.open_at(at(instant)), open, "{instant}");
        }
        assert_eq!(windows.next_open(at("2026-12-24T12:00:00Z")), Some(at("2027-01-04T23:00:00Z")));
        assert_eq!(windows.closed_because(at("2026-12-24T12:00:00Z")).unwrap().why, "year-end");
        assert_eq!(windows.closed_because(at("2026-12-19T22:00:00Z")), None);
    }

    #[test]
    fn room_stops_before_closing_but_not_between_ranges_that_touch() {
        let mut windows = windows("UTC", &[(DAILY, 8 * 60, 12 * 60), (DAILY, 12 * 60, 16 * 60)]);
        windows.room = SignedDuration::from_hours(2);
        for (instant, open) in [
            ("2026-11-23T08:00:00Z", true),
            ("2026-11-23T11:00:00Z", true), // the second range follows without a gap
            ("2026-11-23T13:59:59Z", true),
            ("2026-11-23T14:00:00Z", false),
            ("2026-11-23T15:59:59Z", false),
        ] {
            assert_eq!(windows.open_at(at(instant)), open, "{instant}");
        }
        assert_eq!(windows.next_open(at("2026-11-23T15:00:00Z")), Some(at("2026-11-24T08:00:00Z")));
    }

    #[test]
    fn in_a_gap_nothing_exists() {
        // Berlin, 29 March 2026: 02:00 becomes 03:00 at 01:00 UTC.
        let inside = windows("Europe/Berlin", &[(DAILY, 120, 180)]);
        assert_eq!(inside.next_open(at("2026-03-28T12:00:00Z")), Some(at("2026-03-30T00:00:00Z")));
        let across = windows("Europe/Berlin", &[(DAILY, 150, 210)]);
        assert_eq!(across.next_open(at("2026-03-28T12:00:00Z")), Some(at("2026-03-29T01:00:00Z")));
        assert!(across.open_at(at("2026-03-29T01:29:59Z")) && !across.open_at(at("2026-03-29T01:30:00Z")));
    }

    #[test]
    fn in_an_overlap_both_count() {
        // Berlin, 25 October 2026: 03:00 becomes 02:00 at 01:00 UTC, so that 02:30 comes twice.
        let windows = windows("Europe/Berlin", &[(DAILY, 150, 165)]);
        assert_eq!(windows.next_open(at("2026-10-24T12:00:00Z")), Some(at("2026-10-25T00:30:00Z")));
        assert_eq!(windows.next_open(at("2026-10-25T00:45:00Z")), Some(at("2026-10-25T01:30:00Z")));
        assert_eq!(windows.next_open(at("2026-10-25T01:45:00Z")), Some(at("2026-10-26T01:30:00Z")));
    }

    #[test]
    fn never_opening_is_said_instead_of_searched_for_ever() {
        let mut windows = windows("UTC", &[(DAILY, 480, 540)]);
        windows.room = SignedDuration::from_hours(1);
        assert_eq!(windows.next_open(at("2026-01-01T00:00:00Z")), None, "room is as long as the window");
        windows.room = SignedDuration::ZERO;
        windows.closed = vec![ClosedDays {
            from: "2026-01-01".parse().unwrap(),
            to: "2126-01-01".parse().unwrap(),
            why: alloc::string::String::new(),
        }];
        assert_eq!(windows.next_open(at("2026-01-01T00:00:00Z")), None);
        assert!(!windows.open_at(Timestamp::MAX), "the end of time is no panic");
        assert_eq!(windows.next_open(Timestamp::MAX), None);
    }

    /// The next change, looked for minute by minute, must be the one that is computed.
    #[test]
    fn changes_agree_with_a_walk_by_the_minute() {
        let spans = [
            ("Europe/Berlin", "2026-03-28T12:00:00Z"),
            ("Europe/Berlin", "2026-10-24T12:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T00:00:00Z"), // half an hour back
            ("Australia/Lord_Howe", "2026-10-03T00:00:00Z"),
            ("America/Santiago", "2026-09-05T12:00:00Z"), // the gap begins at midnight
            ("Pacific/Apia", "2011-12-29T12:00:00Z"),     // a day that never was
            ("Asia/Kathmandu", "2026-05-01T00:00:00Z"),
        ];
        let ranges: [&[(&[u8], u16, u16)]; 4] = [
            &[(DAILY, 120, 180)],
            &[(DAILY, 150, 151), (DAILY, 1380, 60)],
            &[(&[1, 3, 5, 6], 0, 1440)],
            &[(&[6, 7], 1439, 1), (&[6, 7], 30, 210)],
        ];
        for (zone, from) in spans {
            for open in ranges {
                let windows = windows(zone, open);
                let minutes: Vec<Timestamp> =
                    (0..2 * 1440).map(|minute| at(from) + SignedDuration::from_mins(minute)).collect();
                let mut expected = None;
                for pair in minutes.windows(2).rev() {
                    if windows.covers(pair[0]) != windows.covers(pair[1]) {
                        expected = Some(pair[1]);
                    }
                    // Past the last change that the walk saw, only that nothing came earlier is known.
                    let computed = windows.next_change(pair[0]);
                    match expected {
                        Some(_) => assert_eq!(computed, expected, "{zone} {open:?} after {}", pair[0]),
                        None => assert!(computed.is_none_or(|change| change > minutes[minutes.len() - 1])),
                    }
                }
            }
        }
    }
}
