//! Windows at single instants, at clock changes, and against a walk by the minute.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use alloc::vec;

use jiff::tz::TimeZone;

use super::*;

mod edges;

fn windows(zone: &str, open: &[(&[u8], u16, u16)]) -> Windows {
    let open = open.iter().map(|(days, from, to)| Range { days: days.to_vec(), from: *from, to: *to }).collect();
    Windows { open, ..Windows::always(crate::zone::zone(zone).unwrap()) }
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
fn f35_in_a_gap_nothing_exists() {
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
                let computed = windows.next_change(pair[0], Timestamp::MAX);
                match expected {
                    Some(_) => assert_eq!(computed, expected, "{zone} {open:?} after {}", pair[0]),
                    None => assert!(computed.is_none_or(|change| change > minutes[minutes.len() - 1])),
                }
            }
        }
    }
}

fn cron(zone: &str, schedule: &str, minutes: i64) -> Windows {
    let cron = Cron { cron: schedule.parse().unwrap(), lasts: SignedDuration::from_mins(minutes) };
    Windows { cron: vec![cron], ..Windows::always(crate::zone::zone(zone).unwrap()) }
}

/// Instants at which a window is open, those at which it is not, and openings after some.
fn check(windows: &Windows, cases: &[(&str, bool, Option<&str>)]) {
    for (instant, open, next) in cases {
        assert_eq!(windows.open_at(at(instant)), *open, "{instant}");
        let found = if *open { windows.closes(at(instant)) } else { windows.next_open(at(instant)) };
        assert_eq!(found, next.map(at), "after {instant}");
    }
}

#[test]
fn a_cron_window_lasts_as_long_as_it_says() {
    check(
        &cron("Europe/Berlin", "0 8 * * 1-4", 480),
        &[
            ("2026-11-23T06:59:59Z", false, Some("2026-11-23T07:00:00Z")),
            ("2026-11-23T07:00:00Z", true, Some("2026-11-23T15:00:00Z")),
            ("2026-11-23T14:59:59Z", true, Some("2026-11-23T15:00:00Z")),
            ("2026-11-23T15:00:00Z", false, Some("2026-11-24T07:00:00Z")),
            ("2026-11-26T15:00:00Z", false, Some("2026-11-30T07:00:00Z")),
        ],
    );
    // Saturday 22:00 for eight hours over the night in which clocks go forward: until 07:00, and
    // until 05:00 when they go back.
    let night = cron("Europe/Berlin", "0 22 * * SAT", 480);
    check(&night, &[("2026-03-28T21:00:00Z", true, Some("2026-03-29T05:00:00Z"))]);
    check(&night, &[("2026-10-24T20:00:00Z", true, Some("2026-10-25T04:00:00Z"))]);
}

#[test]
fn in_a_gap_nothing_fires() {
    // Berlin, 29 March 2026: 02:00 becomes 03:00 at 01:00 UTC.
    let windows = cron("Europe/Berlin", "30 2 * * *", 60);
    check(&windows, &[("2026-03-28T12:00:00Z", false, Some("2026-03-30T00:30:00Z"))]);
    // A list of times loses only those that are skipped.
    let windows = cron("Europe/Berlin", "30 1,2,3 * * *", 10);
    check(
        &windows,
        &[
            ("2026-03-29T00:30:00Z", true, Some("2026-03-29T00:40:00Z")),
            ("2026-03-29T00:40:00Z", false, Some("2026-03-29T01:30:00Z")),
        ],
    );
}

#[test]
fn in_an_overlap_only_the_first_firing_counts() {
    // Berlin, 25 October 2026: 03:00 becomes 02:00 at 01:00 UTC.
    check(
        &cron("Europe/Berlin", "30 2 * * *", 30),
        &[
            ("2026-10-24T12:00:00Z", false, Some("2026-10-25T00:30:00Z")),
            ("2026-10-25T01:00:00Z", false, Some("2026-10-26T01:30:00Z")),
            ("2026-10-25T01:30:00Z", false, Some("2026-10-26T01:30:00Z")),
        ],
    );
}

#[test]
fn firings_that_come_before_the_end_make_one_window() {
    check(
        &cron("UTC", "*/30 9-16 * * *", 30),
        &[
            ("2026-11-23T08:00:00Z", false, Some("2026-11-23T09:00:00Z")),
            ("2026-11-23T09:10:00Z", true, Some("2026-11-23T17:00:00Z")),
        ],
    );
    check(&cron("UTC", "* * * * *", 480), &[("2026-11-23T08:00:00Z", true, None)]);
    check(&cron("UTC", "0 0 * * *", 1440), &[("2026-11-23T08:00:00Z", true, None)]);
    // A day of 25 hours: the window of 24 hours closes for one.
    check(
        &cron("Europe/Berlin", "0 0 * * *", 1440),
        &[
            ("2026-10-24T22:00:00Z", true, Some("2026-10-25T22:00:00Z")),
            ("2026-10-25T22:30:00Z", false, Some("2026-10-25T23:00:00Z")),
        ],
    );
}

#[test]
fn cron_words_closed_days_and_room_together() {
    let mut windows = cron("UTC", "0 8 * * 1-5", 240);
    windows.open = vec![Range { days: vec![1], from: 720, to: 840 }]; // Monday, directly after it
    windows.room = SignedDuration::from_hours(1);
    let day = "2026-11-24".parse().unwrap();
    windows.closed = vec![ClosedDays { from: day, to: day, why: "release day".into() }];
    check(
        &windows,
        &[
            ("2026-11-23T08:00:00Z", true, Some("2026-11-23T13:00:00Z")),
            ("2026-11-23T12:59:59Z", true, Some("2026-11-23T13:00:00Z")),
            ("2026-11-23T13:00:00Z", false, Some("2026-11-25T08:00:00Z")),
            ("2026-11-24T09:00:00Z", false, Some("2026-11-25T08:00:00Z")),
            ("2026-11-25T11:00:00Z", false, Some("2026-11-26T08:00:00Z")),
        ],
    );
}

#[test]
fn several_windows_open_when_all_do() {
    let office = windows("UTC", &[(WORK, 8 * 60, 16 * 60)]);
    let late = windows("UTC", &[(DAILY, 15 * 60, 20 * 60)]);
    let wednesday = windows("UTC", &[(&[3], 0, 1440)]);
    let nights = windows("UTC", &[(DAILY, 22 * 60, 23 * 60)]);
    let friday = at("2026-11-27T18:00:00Z");
    assert_eq!(all_open(&[&office, &late], friday), Some(at("2026-11-30T15:00:00Z")));
    assert_eq!(all_open(&[&office, &late, &wednesday], friday), Some(at("2026-12-02T15:00:00Z")));
    assert_eq!(all_open(&[&late], friday), Some(friday));
    assert_eq!(all_open(&[], friday), Some(friday));
    let missed = all_open(&[&office, &nights], friday).unwrap();
    assert!(missed > friday + SignedDuration::from_hours(24 * 60), "they never meet; {missed} is a bound");
}

/// A minute of midnight comes twice: St. John's put its clocks back at one past midnight.
#[test]
fn clocks_that_go_back_over_midnight() {
    // 2006-10-29 00:01 became 2006-10-28 23:01, at 02:31 UTC.
    let zone = "America/St_Johns";
    let midnight = windows(zone, &[(&[7], 0, 2)]);
    check(
        &midnight,
        &[
            ("2006-10-29T02:00:00Z", false, Some("2006-10-29T02:30:00Z")),
            ("2006-10-29T02:30:30Z", true, Some("2006-10-29T02:31:00Z")),
            ("2006-10-29T02:31:00Z", false, Some("2006-10-29T03:30:00Z")),
            ("2006-10-29T03:30:00Z", true, Some("2006-10-29T03:32:00Z")),
        ],
    );
    let fires = cron(zone, "0 0 * * *", 61);
    check(&fires, &[("2006-10-29T03:00:00Z", true, Some("2006-10-29T03:31:00Z"))]);
}

/// What is over says nothing about what comes, and closed days may overlap.
#[test]
fn closed_days_that_touch_or_overlap_end_with_the_last() {
    let closed = |days: &[(&str, &str)]| {
        let days = days.iter().map(|(from, to)| ClosedDays {
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            why: "".into(),
        });
        Windows { closed: days.collect(), ..Windows::always(TimeZone::UTC) }
    };
    let past = closed(&[("2026-11-01", "2026-11-02")]);
    check(
        &past,
        &[("2026-11-23T12:00:00Z", true, None), ("2026-11-02T12:00:00Z", false, Some("2026-11-03T00:00:00Z"))],
    );
    let two = closed(&[("2026-11-24", "2026-11-26"), ("2026-11-25", "2026-11-28")]);
    check(
        &two,
        &[
            ("2026-11-23T12:00:00Z", true, Some("2026-11-24T00:00:00Z")),
            ("2026-11-24T00:00:00Z", false, Some("2026-11-29T00:00:00Z")),
        ],
    );
}

/// Toronto, 1919: on 30 March clocks went from 23:30 to 00:30. The next day began with that.
#[test]
fn f35_a_midnight_that_clocks_skip_begins_its_day_when_they_skip_it() {
    let zone = || crate::zone::zone("America/Toronto").unwrap();
    let (from, to) = ("1919-03-31".parse().unwrap(), "1919-03-31".parse().unwrap());
    let closed = Windows { closed: vec![ClosedDays { from, to, why: "".into() }], ..Windows::always(zone()) };
    let noon = "1919-03-30T17:00:00Z";
    check(&closed, &[(noon, true, Some("1919-03-31T04:30:00Z"))]);
    // 31 March was a Monday.
    let open = windows("America/Toronto", &[(&[1], 0, 6 * 60)]);
    check(&open, &[(noon, false, Some("1919-03-31T04:30:00Z"))]);
    let both = Windows { closed: closed.closed.clone(), ..windows("America/Toronto", &[(DAILY, 0, 24 * 60)]) };
    check(&both, &[(noon, true, Some("1919-03-31T04:30:00Z"))]);
}

#[test]
fn a_range_that_ends_where_it_begins_lasts_a_day() {
    let day = windows("UTC", &[(&[1], 8 * 60, 8 * 60)]);
    check(
        &day,
        &[
            ("2026-11-23T07:59:00Z", false, Some("2026-11-23T08:00:00Z")),
            ("2026-11-23T08:00:00Z", true, Some("2026-11-24T08:00:00Z")),
            ("2026-11-24T07:59:00Z", true, Some("2026-11-24T08:00:00Z")),
            ("2026-11-24T08:00:00Z", false, Some("2026-11-30T08:00:00Z")),
        ],
    );
}

#[test]
fn a_firing_counts_up_to_the_limit_and_after_the_instant() {
    let daily = Cron { cron: "0 8 * * *".parse().unwrap(), lasts: SignedDuration::from_hours(2) };
    let next = |from: &str, limit: &str| daily.next_change(&TimeZone::UTC, at(from), at(limit));
    let eight = at("2026-11-24T08:00:00Z");
    assert_eq!(next("2026-11-23T12:00:00Z", "2026-11-24T08:00:00Z"), Some(eight));
    assert_eq!(next("2026-11-23T12:00:00Z", "2026-11-24T07:59:59Z"), None);
    assert_eq!(next("2026-11-24T08:00:00Z", "2026-11-25T12:00:00Z"), Some(at("2026-11-24T10:00:00Z")));
    // Windows that are as far apart as they are long touch; the one that is open ends with the last.
    assert_eq!(next("2026-11-24T10:00:00Z", "2026-11-25T12:00:00Z"), Some(at("2026-11-25T08:00:00Z")));
}
