//! Five-field cron as people know it from crontab: lists, ranges, steps, names. What a firing means
//! at a clock change is in `cron`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// When a cron window begins: `minute hour day-of-month month day-of-week`. Where both day fields
/// are restricted a day that either of them names counts, as in crontab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    text: String,
    /// Minutes of a day on which it fires, 0..1440, sorted.
    minutes: Vec<u16>,
    /// Bit n: day n of the month.
    days: u64,
    /// Bit n: month n.
    months: u64,
    /// Bit n: weekday n, 0 = Sunday.
    weekdays: u64,
    /// Both day fields are restricted.
    either: bool,
}

/// Why a text is no schedule, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError {
    /// What is wrong.
    pub why: String,
    /// What to write instead.
    pub help: String,
}

struct Field {
    name: &'static str,
    low: u8,
    high: u8,
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", low: 0, high: 59, names: &[] };
const HOUR: Field = Field { name: "hour", low: 0, high: 23, names: &[] };
const DAY: Field = Field { name: "day of the month", low: 1, high: 31, names: &[] };
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH: Field = Field { name: "month", low: 1, high: 12, names: &MONTHS };
/// 7 is Sunday, too.
const WEEKDAY: Field =
    Field { name: "day of the week", low: 0, high: 7, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };
/// Days of each month in a leap year.
const LENGTHS: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

impl Schedule {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether both day fields are restricted, so that either of them is enough: seldom what was
    /// meant.
    pub fn either_day(&self) -> bool {
        self.either
    }

    /// Minutes of a local day at which it fires, in order.
    pub(super) fn minutes_of(&self, day: Date) -> &[u16] {
        let bit = |set: u64, n: i8| set >> n.unsigned_abs() & 1 == 1;
        let of_month = bit(self.days, day.day());
        let of_week = bit(self.weekdays, day.weekday().to_sunday_zero_offset());
        let on = if self.either { of_month || of_week } else { of_month && of_week };
        if on && bit(self.months, day.month()) { &self.minutes } else { &[] }
    }

    /// Whether any date is ever named: 30 February is not.
    fn ever(&self) -> bool {
        let a_date = (1..=12u8).filter(|month| self.months >> month & 1 == 1).any(|month| {
            let days = (1u64 << (LENGTHS[usize::from(month) - 1] + 1)) - 2;
            self.days & days != 0
        });
        self.either || a_date
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let form = "write five fields: minute, hour, day of the month, month, day of the week, such as `0 8 * * 1-4`";
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            let found = if text.starts_with('@') { "is a nickname".to_string() } else { counted(fields.len()) };
            return Err(refusal(format!("a schedule has five fields, and this {found}"), form));
        };
        let (minute, hour) = (MINUTE.read(minute)?, HOUR.read(hour)?);
        let hours = (0..24u16).filter(|h| hour >> h & 1 == 1);
        let minutes = hours.flat_map(|h| (0..60u16).filter(|m| minute >> m & 1 == 1).map(move |m| h * 60 + m));
        let weekdays = WEEKDAY.read(weekday)?;
        let schedule = Self {
            text: fields.join(" "),
            minutes: minutes.collect(),
            days: DAY.read(day)?,
            months: MONTH.read(month)?,
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            either: day != "*" && weekday != "*",
        };
        // What `*/2` means beside a restricted day is not the same in every cron: some take both,
        // some either.
        if schedule.either && (day.starts_with('*') || weekday.starts_with('*')) {
            let why = "a step over every day together with another day field means one thing to one cron, and \
                       another to the next";
            return Err(refusal(why.to_string(), "name the days, such as `1,3,5`"));
        }
        if !schedule.ever() {
            return Err(refusal("no month has such a day".to_string(), "name a day that comes"));
        }
        Ok(schedule)
    }
}

impl Field {
    /// The set of values of one field, bit n for n.
    fn read(&self, text: &str) -> Result<u64, ScheduleError> {
        let mut set = 0;
        for part in text.split(',') {
            set |= self.part(part)?;
        }
        Ok(set)
    }

    fn part(&self, part: &str) -> Result<u64, ScheduleError> {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, Some(self.step(part, step)?)),
            None => (part, None),
        };
        let (low, high) = match span.split_once('-') {
            None if span == "*" => (self.low, if self.high == 7 { 6 } else { self.high }),
            None => {
                let value = self.value(span)?;
                if step.is_some() {
                    let help = format!("say where it ends, such as `{span}-{}/{}`", self.high, step.unwrap_or(1));
                    return Err(refusal(format!("`{part}`: a step needs a range"), &help));
                }
                (value, value)
            }
            Some((low, high)) => {
                let (low, mut high) = (self.value(low)?, self.value(high)?);
                // `Fri-Sun` can only mean one thing.
                if self.high == 7 && high == 0 && low > 0 {
                    high = 7;
                }
                (low, high)
            }
        };
        if low > high {
            let help = "list the values, such as `22,23,0,1`".to_string();
            return Err(refusal(format!("`{part}`: the {} ends before it begins", self.name), &help));
        }
        Ok((low..=high).step_by(usize::from(step.unwrap_or(1))).map(|value| 1 << value).sum())
    }

    fn step(&self, part: &str, step: &str) -> Result<u8, ScheduleError> {
        let wrong = || refusal(format!("`{part}`: the step is not in 1 to {}", self.high), "write it like `*/15`");
        number(step).filter(|step| (1..=self.high).contains(step)).ok_or_else(wrong)
    }

    fn value(&self, text: &str) -> Result<u8, ScheduleError> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let named = named.and_then(|at| u8::try_from(at).ok()).map(|at| at + u8::from(self.low == 1));
        let value = named.or_else(|| number(text)).filter(|value| (self.low..=self.high).contains(value));
        value.ok_or_else(|| {
            let names = match self.names {
                [first, .., last] => format!(", or a name, `{first}` to `{last}`"),
                _ => String::new(),
            };
            refusal(
                format!("`{}` is no {}", text.escape_debug(), self.name),
                &format!("write a number from {} to {}{names}; lists, ranges and steps of them", self.low, self.high),
            )
        })
    }
}

/// One or two digits.
fn number(text: &str) -> Option<u8> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

fn counted(fields: usize) -> String {
    match fields {
        0 => "is empty".to_string(),
        1 => "has one".to_string(),
        _ => format!("has {fields}"),
    }
}

fn refusal(why: String, help: &str) -> ScheduleError {
    ScheduleError { why, help: help.to_string() }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.why, self.help)
    }
}

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use jiff::civil::date;

    use super::*;

    fn schedule(text: &str) -> Schedule {
        text.parse().unwrap()
    }

    #[test]
    fn minutes_of_the_day() {
        for (text, expected) in [
            ("0 8 * * *", &[480][..]),
            ("30 8,20 * * *", &[510, 1230]),
            ("*/20 23 * * *", &[1380, 1400, 1420]),
            ("10-50/20 0 * * *", &[10, 30, 50]),
            ("0 0-23/8 * * *", &[0, 480, 960]),
            ("59 23 * * *", &[1439]),
        ] {
            assert_eq!(schedule(text).minutes_of(date(2026, 11, 23)), expected, "{text}");
        }
        assert_eq!(schedule("* * * * *").minutes_of(date(2026, 1, 1)).len(), 1440);
    }

    /// As it was written, but for white space.
    #[test]
    fn it_is_shown_as_it_was_written() {
        let schedule = schedule(" 0  8 * * MON-THU ");
        assert_eq!((schedule.as_str(), schedule.to_string().as_str()), ("0 8 * * MON-THU", "0 8 * * MON-THU"));
    }

    #[test]
    fn days() {
        // 2026-11-23 is a Monday.
        for (text, on, off) in [
            ("0 8 * * 1-4", &[23, 24, 25, 26][..], &[22, 27, 28][..]),
            ("0 8 * * MON-THU", &[23, 26], &[22, 27]),
            ("0 8 * * mon,Wed", &[23, 25], &[24, 26]),
            ("0 8 * * 0", &[22, 29], &[23, 28]),
            ("0 8 * * 7", &[22, 29], &[23, 28]),
            ("0 8 * * FRI-SUN", &[27, 28, 29], &[26, 30]),
            ("0 8 * * 5-7", &[27, 28, 29], &[26, 30]),
            ("0 8 * * SUN-TUE", &[22, 23, 24], &[25, 28]),
            ("0 8 * * */2", &[22, 24, 26, 28], &[23, 25, 27]),
            ("0 8 1,15 * *", &[1, 15], &[2, 14]),
            ("0 8 */10 * *", &[1, 11, 21], &[10, 20, 30]),
            ("0 8 * NOV *", &[1, 30], &[]),
            ("0 8 * dec-DEC,1-10 *", &[], &[1, 30]),
            ("0 8 13 * FRI", &[6, 13, 20, 27], &[5, 12, 14]), // either, as in crontab
        ] {
            let schedule = schedule(text);
            for day in on {
                assert!(!schedule.minutes_of(date(2026, 11, *day)).is_empty(), "{text} on {day}");
            }
            for day in off {
                assert!(schedule.minutes_of(date(2026, 11, *day)).is_empty(), "{text} off {day}");
            }
        }
        assert!(schedule("0 8 13 * FRI").either_day() && !schedule("0 8 13 * *").either_day());
    }

    #[test]
    fn mistakes() {
        for (text, why) in [
            ("", "a schedule has five fields, and this is empty"),
            ("8", "a schedule has five fields, and this has one"),
            ("0 8 * *", "a schedule has five fields, and this has 4"),
            ("0 0 8 * * *", "a schedule has five fields, and this has 6"),
            ("@daily", "a schedule has five fields, and this is a nickname"),
            ("60 8 * * *", "`60` is no minute"),
            ("0 24 * * *", "`24` is no hour"),
            ("0 8 0 * *", "`0` is no day of the month"),
            ("0 8 * 13 *", "`13` is no month"),
            ("0 8 * * 8", "`8` is no day of the week"),
            ("0 8 * * MO", "`MO` is no day of the week"),
            ("0 8 * JUNE *", "`JUNE` is no month"),
            ("0 8 L * *", "`L` is no day of the month"),
            ("0 8 ? * 1", "`?` is no day of the month"),
            ("0 8 * * 1#2", "`1#2` is no day of the week"),
            ("-5 8 * * *", "`` is no minute"),
            ("+5 8 * * *", "`+5` is no minute"),
            ("005 8 * * *", "`005` is no minute"),
            ("1,,2 8 * * *", "`` is no minute"),
            ("5/15 8 * * *", "`5/15`: a step needs a range"),
            ("*/0 8 * * *", "`*/0`: the step is not in 1 to 59"),
            ("*/x 8 * * *", "`*/x`: the step"),
            ("0 22-4 * * *", "`22-4`: the hour ends before it begins"),
            ("0 8 * * FRI-MON", "`FRI-MON`: the day of the week ends before it begins"),
            ("0 8 30 2 *", "no month has such a day"),
            ("0 8 31 4,6,9,11 *", "no month has such a day"),
            ("0 8 */2 * 1", "a step over every day together with another day field"),
        ] {
            let error = text.parse::<Schedule>().unwrap_err();
            assert!(error.why.starts_with(why) && !error.help.is_empty(), "{text}: {error}");
        }
        assert!("0 8 29 2 *".parse::<Schedule>().is_ok() && "0 8 30 2 1".parse::<Schedule>().is_ok());
    }

    #[test]
    fn sunday_has_two_numbers_and_a_range_of_it_is_one_day() {
        // 2026-11-22 is a Sunday.
        for text in ["0 8 * * 0", "0 8 * * 7", "0 8 * * 0,7", "0 8 * * sun", "0 8 * * sun-sun", "0 8 * * 0-0"] {
            let on = |day: i8| !schedule(text).minutes_of(date(2026, 11, day)).is_empty();
            assert!(on(22) && !on(21) && !on(23), "{text}");
            assert_eq!(schedule(text).as_str(), text);
        }
    }

    #[test]
    fn a_name_that_is_none_is_answered_with_those_that_are() {
        let says = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert!(says("0 8 * foo *").contains("a name, `jan` to `dec`"), "{}", says("0 8 * foo *"));
        assert!(says("0 8 * foo *").starts_with("`foo` is no month (write a number from 1 to 12"));
        assert!(!says("foo 8 * * *").contains("a name"), "{}", says("foo 8 * * *"));
    }
}
