//! Properties of windows as the file says them, over zones, hours, schedules and instants drawn by
//! proptest. Examples stand beside the code in `decide`.

use decide::window::{ClosedDays, Schedule, Windows, all_open};
use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;

use super::*;

/// Clocks that go back by half an hour, at midnight, not at all; offsets of three quarters of an hour.
const ZONES: &[&str] = &[
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Pacific/Chatham",
];

fn ranges() -> impl Strategy<Value = Range> {
    (prop::collection::btree_set(1u8..=7, 1..=7), 0u16..1440, 1u16..=1440)
        .prop_filter_map("empty", |(days, from, to)| {
            (from != to).then(|| Range { days: days.into_iter().collect(), from, to })
        })
}

fn crons() -> impl Strategy<Value = Cron> {
    let minute = prop_oneof![(0u8..60).prop_map(|n| n.to_string()), Just("*/20".to_string()), Just("0,30".to_string())];
    let hour = prop_oneof![(0u8..24).prop_map(|n| n.to_string()), Just("*/6".to_string()), Just("1-3".to_string())];
    let days = prop_oneof![Just("* * *"), Just("* * 0"), Just("* * MON-FRI"), Just("1,15 * *"), Just("28-31 3,10 0")];
    (minute, hour, days, 1i64..3000).prop_map(|(minute, hour, days, minutes)| Cron {
        cron: format!("{minute} {hour} {days}").parse().unwrap(),
        lasts: SignedDuration::from_mins(minutes),
    })
}

fn closed() -> impl Strategy<Value = ClosedDays> {
    (0i32..1500, 0i32..9).prop_map(|(from, length)| {
        let from = jiff::civil::date(2024, 6, 1) + from.days();
        ClosedDays { from, to: from + length.days(), why: String::new() }
    })
}

prop_compose! {
    fn some_windows()(
        zone in prop::sample::select(ZONES),
        open in prop::collection::vec(ranges(), 0..3),
        cron in prop::collection::vec(crons(), 0..2),
        closed in prop::collection::vec(closed(), 0..3),
        room in prop_oneof![3 => Just(0i64), 1 => 1i64..300],
    ) -> Windows {
        Windows { zone: decide::zone::zone(zone).unwrap(), open, cron, closed, room: SignedDuration::from_mins(room) }
    }
}

/// Instants near a change of clocks as often as others; all on whole minutes.
fn instants() -> impl Strategy<Value = Timestamp> {
    let anywhere = (1_717_200_000i64..1_846_000_000).prop_map(|second| second - second % 60);
    let near = (
        prop::sample::select(vec![
            "2026-03-29T01:00:00Z",
            "2026-10-25T01:00:00Z",
            "2025-11-02T06:00:00Z",
            "2026-10-03T15:30:00Z",
            "2026-09-06T04:00:00Z",
            "2025-02-23T02:00:00Z",
            "2026-04-04T14:45:00Z",
        ]),
        -3000i64..3000,
    )
        .prop_map(|(text, minutes)| text.parse::<Timestamp>().unwrap().as_second() + minutes * 60);
    prop_oneof![anywhere, near].prop_map(|second| Timestamp::from_second(second).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, failure_persistence: None, ..ProptestConfig::default() })]

    /// More than a day, minute by minute: the window changes exactly where it says it will.
    #[test]
    fn the_next_change_agrees_with_a_walk(windows in some_windows(), from in instants()) {
        let open = windows.open_at(from);
        let change = if open { windows.closes(from) } else { windows.next_open(from) };
        let end = from + SignedDuration::from_hours(30);
        let mut at = from;
        while at < end.min(change.unwrap_or(end)) {
            prop_assert_eq!(windows.open_at(at), open, "at {} although the change is at {:?}", at, change);
            at += SignedDuration::from_mins(1);
        }
        if let Some(change) = change {
            prop_assert!(change > from);
            prop_assert_eq!(windows.open_at(change), !open, "at the change {}", change);
            let before = change - SignedDuration::from_nanos(1);
            prop_assert_eq!(windows.open_at(before), open, "just before the change {}", change);
        }
    }

    #[test]
    fn one_of_the_two_ends_is_known_at_most(windows in some_windows(), at in instants()) {
        prop_assert!(windows.next_open(at).is_none() || windows.closes(at).is_none());
        prop_assert_eq!(windows.next_open(at).is_some() && windows.open_at(at), false);
    }

    /// More room, more closed days or fewer hours never open anything.
    #[test]
    fn narrower_windows_are_never_open_longer(windows in some_windows(), at in instants(), more in closed()) {
        let open = windows.open_at(at);
        let mut roomier = windows.clone();
        roomier.room += SignedDuration::from_mins(30);
        prop_assert!(open || !roomier.open_at(at));
        let mut closed = windows.clone();
        closed.closed.push(more);
        prop_assert!(open || !closed.open_at(at));
        let mut fewer = windows.clone();
        if fewer.open.len() + fewer.cron.len() > 1 && fewer.open.pop().is_some() {
            prop_assert!(open || !fewer.open_at(at));
        }
    }

    /// Where all are said to be open they are, and at no minute before.
    #[test]
    fn all_open_is_the_first_such_instant(a in some_windows(), b in some_windows(), from in instants()) {
        if let Some(at) = all_open(&[&a, &b], from) {
            prop_assert!(at >= from);
            let end = at.min(from + SignedDuration::from_hours(36));
            let mut before = from;
            while before < end {
                prop_assert!(!(a.open_at(before) && b.open_at(before)), "both are open at {} already", before);
                before += SignedDuration::from_mins(7);
            }
            let bound = from + SignedDuration::from_hours(24 * 62);
            prop_assert!(at > bound || (a.open_at(at) && b.open_at(at)));
        }
    }

    /// A cron window is open as long as it says, whatever clocks do, where nothing else touches it.
    #[test]
    fn eight_hours_are_eight_hours(zone in prop::sample::select(ZONES), hour in 0u8..24, from in instants()) {
        let cron = Cron { cron: format!("30 {hour} * * *").parse().unwrap(), lasts: SignedDuration::from_hours(8) };
        let windows = Windows { cron: vec![cron], ..Windows::always(decide::zone::zone(zone).unwrap()) };
        let from = windows.closes(from).unwrap_or(from);
        let opens = windows.next_open(from).unwrap();
        prop_assert_eq!(windows.closes(opens).unwrap().duration_since(opens), SignedDuration::from_hours(8));
        let local = windows.zone.to_datetime(opens);
        prop_assert_eq!((local.hour().unsigned_abs(), local.minute()), (hour, 30));
    }

    /// No text is a panic, and what is a schedule says itself again.
    #[test]
    fn schedules_read_what_they_write(text in "[-0-9*/, a-zA-Z]{0,24}") {
        if let Ok(schedule) = text.parse::<Schedule>() {
            prop_assert_eq!(schedule.as_str().parse::<Schedule>().unwrap(), schedule);
        }
    }
}
