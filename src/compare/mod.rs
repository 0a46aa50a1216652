//! Two releases of a chart, compared in memory: packages in, differences out. Nothing here fetches a package, knows a
//! cluster or decides what a difference means for one.

mod about;
mod change;
mod chart;
mod crds;
mod definition;
mod images;
mod options;
mod package;
mod path;
mod schema;
mod settings;
mod templates;
mod values;
mod yaml;

use serde::Serialize;

pub use change::{Change, Effect, What};
pub use chart::Chart;
pub use definition::{DefinedChart, Definition, compare_definitions};
pub use package::{MAX_PACKAGE, Refusal};
pub use path::parts;
pub use settings::Settings;
pub use templates::{FileDiff, patch};

/// So many differences are kept; those come first that people have to act on.
const MOST: usize = 1_000;

#[cfg(test)]
mod tests;

/// What is different between two releases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The release that is there.
    pub old: Side,
    /// The release that is to come.
    pub new: Side,
    /// The differences, those first that people have to act on.
    pub changes: Vec<Change>,
    /// So many more were found.
    pub more: usize,
    /// The lines of templates that differ.
    pub diffs: Vec<FileDiff>,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// The name of the chart.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The version of what it installs, for a definition that of its chart; empty where its author does not say.
    pub app_version: String,
}

impl Side {
    fn of(chart: &Chart) -> Self {
        let [name, version, app_version] = [chart.name(), chart.version(), chart.app_version()].map(package::visible);
        Self { name, version, app_version }
    }
}

impl Report {
    fn of(old: Side, new: Side, mut changes: Vec<Change>, diffs: Vec<FileDiff>) -> Self {
        changes.sort();
        changes.dedup();
        let more = changes.len().saturating_sub(MOST);
        changes.truncate(MOST);
        Self { old, new, changes, more, diffs }
    }

    /// The differences that break somebody who follows what the chart promised.
    pub fn breaking(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.what.is_breaking())
    }
}

/// A release: a chart, or a definition with the chart behind it, if it has one.
#[derive(Debug)]
pub struct Release {
    /// The definition.
    pub definition: Option<Definition>,
    /// The chart.
    pub chart: Option<Chart>,
}

/// Compares two releases of either kind; none where they are not of the same.
pub fn compare_releases(old: &Release, new: &Release) -> Option<Report> {
    let charts = old.chart.as_ref().zip(new.chart.as_ref()).map(|(old, new)| compare(old, new));
    match (&old.definition, &new.definition) {
        (None, None) => charts,
        (Some(before), Some(after)) => {
            let mut report = compare_definitions(before, after);
            let Some(mut below) = charts else { return Some(report) };
            // The definition says that, too; and what it sets is set.
            below.changes.retain(|change| change.what != What::ChartRenamed && !after.sets(change));
            report.changes.append(&mut below.changes);
            let more = below.more;
            let mut report = Report::of(report.old, report.new, report.changes, below.diffs);
            report.more += more;
            Some(report)
        }
        (Some(_), None) | (None, Some(_)) => None,
    }
}

/// Compares two releases of a chart.
pub fn compare(old: &Chart, new: &Chart) -> Report {
    let mut changes = Vec::new();
    let (before, after) = (old.defaults(), new.defaults());
    about::compare(old, new, &mut changes);
    let told = images::compare((old, &before), (new, &after), &mut changes);
    values::compare(&before, &after, &told, &mut changes);
    options::compare((old, &before), (new, &after), &told, &mut changes);
    crds::compare(old, new, &mut changes);
    let diffs = templates::compare(old, new, &mut changes);
    Report::of(Side::of(old), Side::of(new), changes, diffs)
}
