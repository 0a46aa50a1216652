//! Closed days and days that come twice, at their edges.

use super::*;

fn closed(windows: &mut Windows, from: &str, to: &str) {
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    windows.closed.push(ClosedDays { from, to, why: alloc::string::String::new() });
}

#[test]
fn closed_days_that_are_over_or_far_away_close_nothing() {
    let mut windows = windows("UTC", &[]);
    closed(&mut windows, "2026-12-20", "2027-01-04");
    closed(&mut windows, "2031-12-20", "2032-01-04");
    check(
        &windows,
        &[
            ("2026-12-19T12:00:00Z", true, Some("2026-12-20T00:00:00Z")),
            ("2027-01-05T00:00:00Z", true, None),
            ("2027-06-01T12:00:00Z", true, None),
        ],
    );
    windows.room = SignedDuration::from_hours(1);
    assert!(windows.open_at(at("2026-12-19T22:59:59Z")) && !windows.open_at(at("2026-12-19T23:00:00Z")));
}

/// A cron window that is open when the closed days end opens with their end.
#[test]
fn closed_days_end_within_a_cron_window() {
    let mut windows = cron("UTC", "0 20 * * *", 480);
    closed(&mut windows, "2026-11-24", "2026-11-25");
    check(
        &windows,
        &[
            ("2026-11-23T20:00:00Z", true, Some("2026-11-24T00:00:00Z")),
            ("2026-11-24T01:00:00Z", false, Some("2026-11-26T00:00:00Z")),
            ("2026-11-26T00:00:00Z", true, Some("2026-11-26T04:00:00Z")),
        ],
    );
}

/// The first minute after a closed day is over before clocks go back into that day.
#[test]
fn a_closed_day_comes_back_with_the_clocks() {
    // St. John's: 2006-10-29 00:01 became 2006-10-28 23:01, at 02:31 UTC.
    let mut windows = windows("America/St_Johns", &[]);
    closed(&mut windows, "2006-10-28", "2006-10-28");
    check(
        &windows,
        &[
            ("2006-10-28T12:00:00Z", false, Some("2006-10-29T02:30:00Z")),
            ("2006-10-29T02:30:30Z", true, Some("2006-10-29T02:31:00Z")),
            ("2006-10-29T02:31:00Z", false, Some("2006-10-29T03:30:00Z")),
        ],
    );
}

/// Alaska came over the date line: the afternoon of 19 October 1867 became that of the 18th.
#[test]
fn a_day_that_comes_twice_opens_twice() {
    let windows = windows("America/Juneau", &[(DAILY, 600, 660)]);
    let mut from = at("1867-10-17T02:00:00Z");
    let opens: Vec<_> = (0..3)
        .map(|_| {
            let opens = windows.next_open(from).unwrap();
            from = windows.closes(opens).unwrap();
            assert_eq!(from.duration_since(opens), SignedDuration::from_hours(1));
            windows.zone.to_datetime(opens)
        })
        .collect();
    let ten = |day: i8| jiff::civil::date(1867, 10, day).at(10, 0, 0, 0);
    assert_eq!(opens, [ten(18), ten(19), ten(19)]);
}

/// A window without any length is never open, and its firing is no change of the instant it is at.
#[test]
fn no_length_is_never_open() {
    let none = cron("UTC", "0 8 * * *", 0).cron.remove(0);
    let eight = at("2026-11-23T08:00:00Z");
    assert!(!none.covers(&TimeZone::UTC, eight));
    let after = none.next_change(&TimeZone::UTC, eight, at("2026-11-30T00:00:00Z"));
    assert_eq!(after, Some(at("2026-11-24T08:00:00Z")));
}
