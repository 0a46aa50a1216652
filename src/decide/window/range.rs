//! Ranges of local time, and days on which nothing merges. How they make a window is in `mod`.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::civil::{Date, Weekday};
use serde::{Deserialize, Serialize};

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

impl Range {
    /// Whether a local weekday and minute lie in it. The part after midnight belongs to the day on
    /// which the range began.
    pub(super) fn holds(&self, day: Weekday, minute: u16) -> bool {
        let on = |day: Weekday| self.days.contains(&day.to_monday_one_offset().unsigned_abs());
        if self.from < self.to {
            on(day) && self.from <= minute && minute < self.to
        } else {
            (on(day) && self.from <= minute) || (on(day.previous()) && minute < self.to)
        }
    }
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

impl ClosedDays {
    /// Whether a local date is one of them.
    pub(super) fn hold(&self, day: Date) -> bool {
        self.from <= day && day <= self.to
    }
}
