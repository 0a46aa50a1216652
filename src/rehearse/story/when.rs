//! The times of a story: a day with an hour, an hour of the same day, the next such weekday, or so
//! long after the line above. There is no fixed step between them.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, ToSpan};

use super::words::{Cursor, Word};
use crate::policy::Problem;

const FORM: &str = "write `2026-11-23 09:00`, `Tue 09:00`, `14:30` (the same day) or `+2d`";

/// Whether a word begins a time.
pub(super) fn begins(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '+') || weekday(word).is_some()
}

/// The time at the beginning of a line; `above` is that of the line before.
pub(super) fn time(cursor: &mut Cursor<'_>, zone: &TimeZone, above: Option<Timestamp>) -> Result<Timestamp, Problem> {
    let word = cursor.need("a time", FORM)?;
    let at = if let Some(length) = word.text.strip_prefix('+') {
        let above =
            above.ok_or_else(|| word.wrong("is after no line above", "begin with a day: `2026-11-23 09:00`"))?;
        above + duration(&Word { text: length, place: word.place })?
    } else if let Some(day) = weekday(word.text) {
        let above =
            above.ok_or_else(|| word.wrong("is after no line above", "begin with a day: `2026-11-23 09:00`"))?;
        let time = hour(&cursor.need("the hour", FORM)?)?;
        next_such(above, zone, day, time).ok_or_else(|| word.wrong("is beyond the calendar", ""))?
    } else if word.text.contains('-') {
        let day = date(&word)?;
        let Some(next) = cursor.peek().filter(|next| next.text.contains(':') && begins(next.text)) else {
            let help = format!("a day has many hours: write `{} 09:00`", word.text);
            return Err(word.wrong("is a day without an hour", help));
        };
        let time = hour(&next)?;
        let _ = cursor.next();
        instant(day.to_datetime(time), zone).ok_or_else(|| word.wrong("is beyond the calendar", ""))?
    } else {
        let time = hour(&word)?;
        let above = above.ok_or_else(|| word.wrong("is an hour of no day", "begin with a day: `2026-11-23 09:00`"))?;
        let day = above.to_zoned(zone.clone()).date();
        instant(day.to_datetime(time), zone).ok_or_else(|| word.wrong("is beyond the calendar", ""))?
    };
    match above {
        Some(above) if at < above => {
            let said = above.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M").to_string();
            let help = format!("the line above happens at {said}; move this one up, or name a later day");
            Err(word.wrong("lies before the line above", help))
        }
        Some(_) | None => Ok(at),
    }
}

/// The first such weekday and hour after `above`.
fn next_such(above: Timestamp, zone: &TimeZone, day: Weekday, time: Time) -> Option<Timestamp> {
    let from = above.to_zoned(zone.clone()).date();
    (0..8i32)
        .filter_map(|days| from.checked_add(days.days()).ok())
        .filter(|date| date.weekday() == day)
        .filter_map(|date| instant(date.to_datetime(time), zone))
        .find(|at| *at > above)
}

fn instant(local: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    local.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp())
}

fn date(word: &Word<'_>) -> Result<Date, Problem> {
    word.text.parse().map_err(|_| word.wrong("is not a day", FORM))
}

fn hour(word: &Word<'_>) -> Result<Time, Problem> {
    let wrong = || word.wrong("is not an hour", FORM);
    let (hour, minute) = word.text.split_once(':').ok_or_else(wrong)?;
    let number = |text: &str| -> Option<i8> { (text.len() == 2).then(|| text.parse().ok()).flatten() };
    let (hour, minute) = (number(hour).ok_or_else(wrong)?, number(minute).ok_or_else(wrong)?);
    Time::new(hour, minute, 0, 0).map_err(|_| wrong())
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "Mon" => Weekday::Monday,
        "Tue" => Weekday::Tuesday,
        "Wed" => Weekday::Wednesday,
        "Thu" => Weekday::Thursday,
        "Fri" => Weekday::Friday,
        "Sat" => Weekday::Saturday,
        "Sun" => Weekday::Sunday,
        _ => return None,
    })
}

/// A stretch of time as the policy file writes it.
pub(super) fn duration(word: &Word<'_>) -> Result<SignedDuration, Problem> {
    let wrong = || word.wrong("is not a duration", "write it like `10m`, `4h`, `2d`, `1h30m`");
    let span: Span = word.text.parse().map_err(|_| wrong())?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    if length.is_negative() { Err(wrong()) } else { Ok(length) }
}
