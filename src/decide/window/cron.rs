//! Windows that begin when a cron schedule fires and last a physical duration. How a schedule is
//! written is in `schedule`.

use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use super::Schedule;

/// Open from each firing of a schedule on, for a length of physical time: eight hours are eight
/// hours on the day of a clock change, too.
///
/// A firing is the instant at which the zone's clocks first show a time that the schedule names. In
/// a gap no clock shows the time and nothing fires: a window that began later or earlier would have
/// hours that nobody wrote, and a merge that waits for the next firing harms nobody. In an overlap
/// clocks show the time twice and only the first counts, or the window would be twice as long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cron {
    /// When it begins.
    pub cron: Schedule,
    /// How long it is open after each firing; at least a minute. Where the next firing comes sooner,
    /// both are one window.
    #[serde(rename = "for")]
    pub lasts: SignedDuration,
}

impl Cron {
    /// Whether `at` is less than the length of the window after a firing.
    pub(super) fn covers(&self, zone: &TimeZone, at: Timestamp) -> bool {
        self.began(zone, at, at.saturating_sub(self.lasts).unwrap_or(Timestamp::MIN)).is_some()
    }

    /// The first instant after `at`, and not after `limit`, at which it opens or closes.
    pub(super) fn next_change(&self, zone: &TimeZone, at: Timestamp, limit: Timestamp) -> Option<Timestamp> {
        let floor = at.saturating_sub(self.lasts).unwrap_or(Timestamp::MIN);
        let Some(mut fired) = self.began(zone, at, floor) else { return self.next_firing(zone, at, limit) };
        loop {
            let end = fired.checked_add(self.lasts).ok().filter(|end| *end <= limit)?;
            match self.began(zone, end, fired) {
                Some(again) => fired = again,
                None => return Some(end),
            }
        }
    }

    /// The last firing not after `at` and after `floor`.
    fn began(&self, zone: &TimeZone, at: Timestamp, floor: Timestamp) -> Option<Timestamp> {
        // Where clocks go back over midnight, a firing of the next date may lie before `at`.
        let mut day = zone.to_datetime(at).date().saturating_add(1.day());
        let last = zone.to_datetime(floor).date().saturating_sub(1.day());
        while day >= last {
            let fired = self.cron.minutes_of(day).iter().rev().filter_map(|minute| firing(zone, day, *minute));
            for fired in fired {
                if fired <= floor {
                    return None;
                }
                if fired <= at {
                    return Some(fired);
                }
            }
            day = day.yesterday().ok()?;
        }
        None
    }

    /// The first firing after `at` and not after `limit`.
    fn next_firing(&self, zone: &TimeZone, at: Timestamp, limit: Timestamp) -> Option<Timestamp> {
        let mut day = zone.to_datetime(at).date().saturating_sub(1.day());
        let last = zone.to_datetime(limit).date().saturating_add(1.day());
        while day <= last {
            let fired = self.cron.minutes_of(day).iter().filter_map(|minute| firing(zone, day, *minute));
            for fired in fired {
                if fired > limit {
                    return None;
                }
                if fired > at {
                    return Some(fired);
                }
            }
            day = day.tomorrow().ok()?;
        }
        None
    }
}

/// The instant at which clocks of the zone first show this minute of this day; none when they skip
/// it.
fn firing(zone: &TimeZone, day: Date, minute: u16) -> Option<Timestamp> {
    let time = day.at(i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?, 0, 0);
    let shown = zone.to_ambiguous_timestamp(time);
    match shown.offset() {
        AmbiguousOffset::Gap { .. } => None,
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => shown.earlier().ok(),
    }
}
