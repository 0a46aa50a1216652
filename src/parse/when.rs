//! The scalars of time: durations, zones, hours, days. What an instant means to a window is decided
//! in `decide`.

use decide::window::{Range, Schedule};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, SpanRelativeTo, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::nearest::nearest;
use super::problem::{quoted, visible};
use super::read::FromNode;
use super::report::Report;
use super::scalar::{Refusal, scalar};
use super::tree::Node;

scalar!(
    /// A stretch of time.
    Length(SignedDuration), "a duration such as `24h`", length,
    {"type": "string", "examples": ["15m", "24h", "2d", "1h 30m"],
     "description": "A duration with its unit: `90s`, `15m`, `24h`, `2d`, `1w`, `1h 30m`. `d` is 24 hours, `w` 7 days."}
);
scalar!(
    /// A time zone.
    Zone(TimeZone), "a time zone such as `Europe/Berlin`", zone,
    {"type": "string", "examples": ["Europe/Berlin", "America/New_York", "UTC"], "description": "A zone of the IANA database."}
);
scalar!(
    /// Hours of some weekdays.
    Hours(Range), "a window such as `Mon-Thu 08:00-16:00`", hours,
    {"type": "string", "examples": ["Mon-Thu 08:00-16:00", "Sat,Sun 00:00-24:00", "22:00-04:00"],
     "description": "Weekdays and hours; without weekdays, every day; past midnight when the end is not after the start."}
);
scalar!(
    /// When a cron window begins.
    CronText(Schedule), "a schedule such as `0 8 * * 1-4`", schedule,
    {"type": "string", "examples": ["0 8 * * 1-4", "30 7 * * MON-FRI", "0 22 1,15 * *"],
     "description": "Five fields of cron: minute, hour, day of the month, month, day of the week; lists, ranges, steps and names of them. Where both day fields are restricted, either is enough."}
);
scalar!(
    /// A whole day.
    Day(Date), "a date such as `2026-12-20`", day,
    {"type": "string", "format": "date"}
);
scalar!(
    /// A day, or an instant.
    Until(Instant), "a date such as `2027-01-04`, or an instant such as `2027-01-04T08:00:00Z`", until,
    {"type": "string", "examples": ["2027-01-04", "2027-01-04T08:00:00Z"],
     "description": "A date (that whole day included, in the zone of the file's windows) or an instant with its offset."}
);

/// A day or an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instant {
    /// That whole day, in a zone that stands elsewhere.
    Day(Date),
    /// That instant.
    At(Timestamp),
}

/// A duration as people write it.
pub fn length(text: &str) -> Result<SignedDuration, Refusal> {
    if text.parse::<f64>().is_ok() {
        let why = format!("{} has no unit", quoted(text));
        return Err(Refusal::new(why).help(format!("write `{text}s`, `{text}m`, `{text}h` or `{text}d`")));
    }
    let span: jiff::Span = text.parse().map_err(|_| {
        Refusal::new(format!("{} is not a duration", quoted(text)))
            .help("write it like `90s`, `15m`, `24h`, `2d`, `1h 30m`")
    })?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| {
        Refusal::new(format!("{}: months and years have no fixed length", quoted(text)))
            .help("count in days, such as `30d`")
    })?;
    if duration.is_negative() {
        return Err(Refusal::new(format!("{} is negative", quoted(text))));
    }
    if duration > SignedDuration::from_hours(24 * 3_660) {
        return Err(Refusal::new(format!("{} is longer than ten years", quoted(text))));
    }
    Ok(duration)
}

fn zone(text: &str) -> Result<TimeZone, Refusal> {
    // Names are compared without their case, but the case is what the pull request shows.
    match decide::zone::zone(text) {
        Some(zone) => Ok(zone),
        None => {
            let known = decide::zone::names();
            let near = nearest(text, known.iter().map(String::as_str));
            let help = near.map_or("write one such as `Europe/Berlin` or `UTC`".to_string(), |near| {
                format!("did you mean `{near}`?")
            });
            Err(Refusal::new(format!("{} is not a time zone of the IANA database", quoted(text))).help(help))
        }
    }
}

/// The weekdays, 1 = Monday.
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn hours(text: &str) -> Result<Range, Refusal> {
    let form = "write it like `Mon-Thu 08:00-16:00`, `Sat,Sun 00:00-24:00` or `22:00-04:00`";
    let words: Vec<&str> = text.split_whitespace().collect();
    let (days, times) = match words.as_slice() {
        [times] => (None, *times),
        [days, times] => (Some(*days), *times),
        _ => return Err(Refusal::new(format!("{} is not a window", quoted(text))).help(form)),
    };
    let days = match days {
        Some(days) => weekdays(days).map_err(|why| Refusal::new(why).help(form))?,
        None => (1..=7).collect(),
    };
    let Some((from, to)) = times.split_once('-') else {
        return Err(Refusal::new(format!("{} names no hours", quoted(times))).help(form));
    };
    let minute = |text: &str| {
        minute(text).ok_or_else(|| Refusal::new(format!("{} is not a time of day", quoted(text))).help(form))
    };
    let (from, to) = (minute(from)?, minute(to)?);
    if from == 1440 {
        return Err(Refusal::new("a window cannot begin at `24:00`").help("write `00:00`, and the day after"));
    }
    if from == to {
        return Err(Refusal::new(format!("{} is empty", quoted(times))).help("the whole day is `00:00-24:00`"));
    }
    // An end at 00:00 is the end of the day on which the window began.
    Ok(Range { days, from, to: if to == 0 { 1440 } else { to } })
}

/// `Mon`, `Mon-Thu`, `Sat,Sun`; a span may run over the end of the week.
fn weekdays(text: &str) -> Result<Vec<u8>, String> {
    let one = |word: &str| {
        let small = word.to_ascii_lowercase();
        let found = DAYS.iter().position(|day| small == *day || small == day[..3]);
        found.and_then(|at| u8::try_from(at + 1).ok()).ok_or_else(|| format!("{} is not a weekday", quoted(word)))
    };
    let mut days = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => days.push(one(part)?),
            Some((from, to)) => {
                let (from, to) = (one(from)?, one(to)?);
                let count = (7 + to - from) % 7;
                days.extend((0..=count).map(|step| (from - 1 + step) % 7 + 1));
            }
        }
    }
    days.sort_unstable();
    days.dedup();
    Ok(days)
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let (hour, minute): (u16, u16) =
        (digits(hour) && digits(minute)).then(|| Some((hour.parse().ok()?, minute.parse().ok()?)))??;
    ((hour < 24 && minute < 60) || (hour == 24 && minute == 0)).then_some(hour * 60 + minute)
}

fn schedule(text: &str) -> Result<Schedule, Refusal> {
    text.parse().map_err(|error: decide::window::ScheduleError| {
        Refusal::new(format!("{} is not a schedule: {}", quoted(text), visible(&error.why))).help(error.help)
    })
}

fn day(text: &str) -> Result<Date, Refusal> {
    let form = || Refusal::new(format!("{} is not a date", quoted(text))).help("write it like `2026-12-20`");
    if text.len() != 10 {
        return Err(form());
    }
    text.parse().map_err(|_| form())
}

fn until(text: &str) -> Result<Instant, Refusal> {
    if let Ok(day) = day(text) {
        return Ok(Instant::Day(day));
    }
    text.parse().map(Instant::At).map_err(|_| {
        Refusal::new(format!("{} is neither a date nor an instant", quoted(text)))
            .help("write it like `2027-01-04` or `2027-01-04T08:00:00Z`")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("0s", 0),
            ("90s", 90),
            ("15m", 900),
            ("1h 30m", 5_400),
            ("1h30m", 5_400),
            ("24h", 86_400),
            ("2d", 172_800),
            ("1w 2d", 9 * 86_400),
            ("3 days", 3 * 86_400),
            ("PT36H", 129_600),
        ] {
            assert_eq!(length(text).unwrap().as_secs(), seconds, "{text}");
        }
        for text in ["", "90", "0", "1 fortnight", "h", "1y", "-2d"] {
            length(text).unwrap_err();
        }
    }

    #[test]
    fn windows() {
        for (text, days, from, to) in [
            ("Mon-Thu 08:00-16:00", &[1, 2, 3, 4][..], 480, 960),
            ("mon 08:00-16:00", &[1], 480, 960),
            ("Saturday,Sun 00:00-24:00", &[6, 7], 0, 1440),
            ("Fri-Mon 09:00-10:30", &[1, 5, 6, 7], 540, 630),
            ("Mon,Mon,Tue-Tue 09:00-10:00", &[1, 2], 540, 600),
            ("22:00-04:00", &[1, 2, 3, 4, 5, 6, 7], 1320, 240),
            ("Fri 22:00-00:00", &[5], 1320, 1440),
            ("Sun 23:59-24:00", &[7], 1439, 1440),
        ] {
            assert_eq!(hours(text).unwrap(), Range { days: days.to_vec(), from, to }, "{text}");
        }
    }

    #[test]
    fn days_and_instants() {
        assert_eq!(until("2027-01-04").unwrap(), Instant::Day(jiff::civil::date(2027, 1, 4)));
        assert!(
            matches!(until("2027-01-04T08:00:00+01:00").unwrap(), Instant::At(at) if at.to_string() == "2027-01-04T07:00:00Z")
        );
        for text in ["2027-02-30", "2027-1-4", "20270104", "2027-01-04T08:00:00", "04.01.2027"] {
            until(text).unwrap_err();
        }
    }

    #[test]
    fn zones_are_those_of_the_database() {
        for text in ["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires"] {
            assert_eq!(zone(text).unwrap().iana_name(), Some(text));
        }
        for text in ["", "Berlin", "+01:00", "Etc/Unknown", "Europe/Berlin "] {
            zone(text).unwrap_err();
        }
    }
}
