//! Windows of a file, tier or plugin. When they are open is decided in `decide`.

use decide::reason::spell;
use decide::window::{ClosedDays, Cron, Range, Windows};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::file::{ClosedFile, CronFile, WindowsFile};
use parse::forms::{Either, List};
use parse::read::Spanned;
use parse::report::Report;
use parse::when::Hours;

/// The longest window that one firing may open: longer ones are what `closed` and ranges are for.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 31);

/// The windows, in their own zone or that of the file's windows.
pub fn windows(file: &Spanned<WindowsFile>, zone: Option<&TimeZone>, report: &mut Report) -> Option<Windows> {
    let own = file.value.zone.as_ref().map(|zone| zone.value.0.clone());
    let (open, cron) = openings(file.value.open.as_ref(), report);
    let closed = file.value.closed.iter().flat_map(|closed| &closed.value.items);
    let closed: Vec<ClosedDays> = closed.filter_map(|closed| closed_days(closed, report)).collect();
    let room = file.value.room.as_ref().map_or(SignedDuration::ZERO, |room| room.value.0);
    let complete = file.value.open.as_ref().is_none_or(|open| !open.value.refused);
    if let (Some(longest), Some(given)) = (longest_opening(&open, &cron), &file.value.room)
        && room >= longest
        && complete
    {
        let why = format!("`room` is as long as the longest window ({}): no merge could ever start", spell(longest));
        report.wrong(given.at, &why, Some("make it shorter than the window"));
    }
    let Some(zone) = own.or_else(|| zone.cloned()) else {
        if file.value.zone.is_none() && !file.value.refused {
            let help = "add it, such as `zone: Europe/Berlin`; it is never guessed";
            report.wrong(file.key, "a `zone` is missing", Some(help));
        }
        return None;
    };
    Some(Windows { zone, open, cron, closed, room })
}

/// Ranges and cron windows, which stand in one list in any order.
fn openings(list: Option<&Spanned<List<Either<Hours, CronFile>>>>, report: &mut Report) -> (Vec<Range>, Vec<Cron>) {
    let (mut open, mut cron) = (Vec::new(), Vec::new());
    for item in list.iter().flat_map(|list| &list.value.items) {
        match &item.value {
            Either::Short(hours) => open.push(hours.0.clone()),
            Either::Long(file) => {
                cron.extend(report.within_key("open", |report| cron_window(file, report)));
            }
        }
    }
    if let Some(list) = list.filter(|list| list.value.is_empty()) {
        report.wrong(list.at, "`open` is an empty list", Some("take the key out for always open, or name hours"));
    }
    (open, cron)
}

fn cron_window(file: &CronFile, report: &mut Report) -> Option<Cron> {
    let (cron, lasts) = (file.cron.as_ref()?, file.lasts.as_ref()?);
    if lasts.value.0 < SignedDuration::from_mins(1) {
        report.wrong(lasts.at, "a window is open for a minute at least", Some("make `for` longer"));
    } else if lasts.value.0 > LONGEST {
        let why = format!("a window of {} is no window", spell(lasts.value.0));
        report.wrong(lasts.at, &why, Some("31 days are the most; keep merges out with `closed` or a freeze"));
    }
    if cron.value.0.either_day() {
        let message = format!(
            "`{}` fires on the days of the month and also on the weekdays that it names, as in crontab",
            cron.value.0
        );
        report.warning(cron.at, message, Some("write `*` in one of the two fields if that is not meant"));
    }
    Some(Cron { cron: cron.value.0.clone(), lasts: lasts.value.0 })
}

fn closed_days(closed: &Spanned<ClosedFile>, report: &mut Report) -> Option<ClosedDays> {
    let (from, to) = (closed.value.from.as_ref()?, closed.value.to.as_ref()?);
    if to.value.0 < from.value.0 {
        report.wrong(
            to.at,
            &format!("`to` ({}) is before `from` ({})", to.value.0, from.value.0),
            Some("`to` is the last closed day"),
        );
    }
    let why = closed.value.why.as_ref().map(|why| why.value.0.clone()).unwrap_or_default();
    Some(ClosedDays { from: from.value.0, to: to.value.0, why })
}

/// The longest stretch of a time without clock changes that is open; none when it never closes, or
/// never opens. Ranges repeat every week; schedules are followed through a leap year, in which each
/// date comes.
fn longest_opening(open: &[Range], cron: &[Cron]) -> Option<SignedDuration> {
    let windows = Windows { open: open.to_vec(), cron: cron.to_vec(), ..Windows::always(TimeZone::UTC) };
    let days = if cron.is_empty() { 15 } else { 400 };
    let (begin, end) = (REFERENCE, REFERENCE.saturating_add(SignedDuration::from_hours(24 * days)).ok()?);
    let (mut at, mut longest) = (begin, None);
    while at < end {
        match windows.closes(at) {
            Some(closes) => {
                longest = longest.max(Some(closes.duration_since(at)));
                at = windows.next_open(closes).unwrap_or(end);
            }
            None => at = windows.next_open(at)?,
        }
    }
    longest
}

/// Monday, 1 January 2024: a leap year begins.
pub(super) const REFERENCE: Timestamp = Timestamp::constant(1_704_067_200, 0);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn longest() {
        let range = |days: &[u8], from, to| Range { days: days.to_vec(), from, to };
        let hours = |ranges: &[Range]| longest_opening(ranges, &[]).map(|length| length.as_hours());
        assert_eq!(hours(&[]), None, "always open");
        assert_eq!(hours(&[range(&[1, 2, 3, 4, 5, 6, 7], 0, 1440)]), None);
        assert_eq!(hours(&[range(&[1, 2], 480, 960)]), Some(8));
        assert_eq!(hours(&[range(&[1], 480, 720), range(&[1], 720, 960)]), Some(8), "ranges that touch are one");
        assert_eq!(hours(&[range(&[7], 1320, 240)]), Some(6), "past midnight and past the end of the week");
        assert_eq!(hours(&[range(&[6, 7], 0, 1440)]), Some(48));
        let cron = |text: &str, hours| Cron { cron: text.parse().unwrap(), lasts: SignedDuration::from_hours(hours) };
        let hours = |open: &[Range], cron: &[Cron]| longest_opening(open, cron).map(|length| length.as_hours());
        assert_eq!(hours(&[], &[cron("0 8 * * 1-4", 8)]), Some(8));
        assert_eq!(hours(&[], &[cron("0 8 29 2 *", 8)]), Some(8), "a leap day");
        assert_eq!(hours(&[], &[cron("0 0 * * 1-4", 24)]), Some(96), "firings that touch are one");
        assert_eq!(hours(&[range(&[1], 960, 1080)], &[cron("0 8 * * 1", 8)]), Some(10), "words follow a schedule");
        assert_eq!(hours(&[], &[cron("0 0 * * *", 24)]), None, "never closed");
    }
}
