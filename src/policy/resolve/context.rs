//! What every part of the file may need to know of the others: the names that there are, the zone, the operator's
//! limits.

use decide::Tier;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use parse::nearest::nearest;
use parse::read::Spanned;
use parse::report::Report;
use parse::scalar::Name;
use parse::tree::Span;

use crate::file::TierFile;
use crate::limits::OperatorLimits;
use crate::wiring::Names;

/// What every part of the file may need to know of the others.
pub(super) struct Context {
    /// The zone of the file's windows.
    pub(super) zone: Option<TimeZone>,
    /// The ladder as it was written, in order.
    pub(super) tiers: Vec<TierFile>,
    /// The ladder with defaults.
    pub(super) ladder: Vec<Tier>,
    /// Every plugin that has a name.
    pub(super) plugins: Vec<String>,
    /// What the operator allows at most.
    pub(super) limits: OperatorLimits,
    /// How old a reading may be where the file does not say.
    pub(super) max_age: SignedDuration,
    /// Each run ends, and remembers nothing of what clusters said.
    pub(super) once: bool,
    /// The names of the policy files.
    pub(super) files: Vec<String>,
    /// What the clusters are called.
    pub(super) names: Names,
    /// No name of a tier is missing because of another mistake.
    pub(super) tiers_known: bool,
    /// No name of a plugin is.
    pub(super) plugins_known: bool,
}

impl Context {
    /// Whether there is such a tier; reports it when not.
    pub(super) fn knows_tier(&self, name: &Spanned<Name>, report: &mut Report) -> bool {
        let known: Vec<&str> = self.ladder.iter().map(|tier| tier.name.as_str()).collect();
        known_name(name, &known, "tier", self.tiers_known, report)
    }

    /// Whether there is such a plugin; reports it when not.
    pub(super) fn knows_plugin(&self, name: &Spanned<Name>, report: &mut Report) -> bool {
        let known: Vec<&str> = self.plugins.iter().map(String::as_str).collect();
        known_name(name, &known, "plugin", self.plugins_known, report)
    }
}

/// The end of a day in the zone of the file's windows.
pub(super) fn end_of(
    day: jiff::civil::Date,
    zone: Option<&TimeZone>,
    at: Span,
    report: &mut Report,
) -> Option<Timestamp> {
    let Some(zone) = zone else {
        let help = "name the instant, such as `2027-01-04T08:00:00+01:00`, or give the file `windows: {zone: …}`";
        report.wrong(at, "a date needs a zone, and the file's windows name none", Some(help));
        return None;
    };
    day.tomorrow().ok()?.to_zoned(zone.clone()).ok().map(|start| start.timestamp())
}

fn known_name(name: &Spanned<Name>, known: &[&str], what: &str, complete: bool, report: &mut Report) -> bool {
    let text = name.value.0.as_str();
    if known.contains(&text) {
        return true;
    }
    if complete {
        let help = match nearest(text, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("there is no {what} at all"),
            None => format!(
                "there are {}",
                known.iter().take(20).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            ),
        };
        report.wrong(name.at, &format!("there is no {what} `{text}`"), Some(&help));
    }
    false
}
