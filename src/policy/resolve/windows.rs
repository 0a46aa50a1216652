//! Windows of a file, tier or plugin. When they are open is decided in `decide`.

use decide::window::{ClosedDays, Range, Windows};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::policy::file::{ClosedFile, WindowsFile};
use crate::policy::read::Spanned;
use crate::policy::report::Report;

/// The windows, in their own zone or that of the file's windows.
pub fn windows(file: &Spanned<WindowsFile>, zone: Option<&TimeZone>, report: &mut Report) -> Option<Windows> {
    let own = file.value.zone.as_ref().map(|zone| zone.value.0.clone());
    let open: Vec<Range> =
        file.value.open.iter().flat_map(|open| &open.value.items).map(|hours| hours.value.0.clone()).collect();
    let closed = file.value.closed.iter().flat_map(|closed| &closed.value.items);
    let closed: Vec<ClosedDays> = closed.filter_map(|closed| closed_days(closed, report)).collect();
    let room = file.value.room.as_ref().map_or(SignedDuration::ZERO, |room| room.value.0);
    if let (Some(longest), Some(given)) = (longest_opening(&open), &file.value.room)
        && room >= longest
    {
        let why = format!(
            "`room` is as long as the longest window ({}): no merge could ever start",
            decide::reason::spell(longest)
        );
        report.wrong(given.at, &why, Some("make it shorter than the window"));
    }
    let Some(zone) = own.or_else(|| zone.cloned()) else {
        if file.value.zone.is_none() && !file.value.refused {
            let help = "add it, such as `zone: Europe/Berlin`; it is never guessed";
            report.wrong(file.key, "a `zone` is missing", Some(help));
        }
        return None;
    };
    Some(Windows { zone, open, closed, room })
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

/// The longest stretch of a week without clock changes that ranges leave open; none when that is
/// the whole week.
fn longest_opening(open: &[Range]) -> Option<SignedDuration> {
    const WEEK: usize = 7 * 1440;
    let mut minutes = vec![open.is_empty(); WEEK];
    for range in open {
        let (from, to) = (usize::from(range.from), usize::from(range.to));
        let length = if to > from { to - from } else { to + 1440 - from };
        for day in &range.days {
            let start = (usize::from(*day) - 1) * 1440 + from;
            (start..start + length).for_each(|minute| minutes[minute % WEEK] = true);
        }
    }
    let begin = minutes.iter().position(|open| !open)?;
    let (mut longest, mut run) = (0, 0);
    for step in 0..WEEK {
        run = if minutes[(begin + step) % WEEK] { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    Some(SignedDuration::from_mins(longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest() {
        let range = |days: &[u8], from, to| Range { days: days.to_vec(), from, to };
        let hours = |ranges: &[Range]| longest_opening(ranges).map(|length| length.as_hours());
        assert_eq!(hours(&[]), None, "always open");
        assert_eq!(hours(&[range(&[1, 2, 3, 4, 5, 6, 7], 0, 1440)]), None);
        assert_eq!(hours(&[range(&[1, 2], 480, 960)]), Some(8));
        assert_eq!(hours(&[range(&[1], 480, 720), range(&[1], 720, 960)]), Some(8), "ranges that touch are one");
        assert_eq!(hours(&[range(&[7], 1320, 240)]), Some(6), "past midnight and past the end of the week");
        assert_eq!(hours(&[range(&[6, 7], 0, 1440)]), Some(48));
    }
}
