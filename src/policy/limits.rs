//! What the operator of the bot allows every repository at most: a YAML file of its own, which no
//! repository can read or change. How a policy is held against it is in `resolve`.

use decide::window::Windows;
use jiff::SignedDuration;
use schemars::generate::SchemaSettings;

use super::file::{ClosedFile, CronFile, WindowsFile};
use super::windows::windows;
use super::written;
use parse::SourceFile;
use parse::forms::{Either, List};
use parse::problem::Problems;
use parse::read::{FromNode, Spanned, record};
use parse::report::Report;
use parse::scalar::{Count, Flag};
use parse::tree;
use parse::when::{Hours, Length, Zone};

/// What every policy file is read under: the operator's limits, and how the bot runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setting {
    /// The operator's limits.
    pub limits: OperatorLimits,
    /// How the bot runs.
    pub mode: Mode,
}

/// How the bot runs; it decides how old a reading may be where the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All the time: it looks again whenever something is due.
    #[default]
    Serve,
    /// In single passes, as often as the file's `schedule` says.
    Once,
}

/// The limits of the operator. None of them is set unless the operator sets it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorLimits {
    /// The longest soak of a tier.
    pub longest_soak: Option<SignedDuration>,
    /// The longest grace period, where a tier has one.
    pub longest_grace: Option<SignedDuration>,
    /// Windows that every merge obeys, beside those of the file.
    pub windows: Option<Windows>,
    /// Every tier of every plugin must have windows with hours.
    pub required: bool,
    /// The longest time in which no merge can start because of windows.
    pub longest_gap: Option<SignedDuration>,
    /// Pull requests of the bot open at once, at most.
    pub open_pulls: Option<u32>,
    /// Clusters that merges change in any sixty minutes, at most.
    pub clusters_per_hour: Option<u32>,
}

record! {
    /// The limits that the operator of Coldframe sets for every repository. A policy file beyond one of them is an error at its line, and a key that a policy file does not set has the limit as its value.
    OperatorFile = "file" {
        /// The format of this file. Default 1.
        optional version "version": Count<1>,
        /// The longest soak that a tier may ask for, so that nobody keeps fixes from the tiers above. Default any.
        optional longest_soak "longestSoak": Length,
        /// The longest grace period (`force.after`) of a tier that has one. Default any.
        optional longest_grace "longestGrace": Length,
        /// Windows that every merge obeys beside those of the policy file, and what is asked of those. Default none.
        optional windows "windows": OperatorWindowsFile,
        /// Pull requests of the bot that are open at once in one repository, at most. Default no limit.
        optional open_pulls "openPulls": Count<1>,
        /// Clusters whose version merges change in any sixty minutes in one repository, at most. Default no limit.
        optional clusters_per_hour "clustersPerHour": Count<1>,
    }
    unsupported []
}

record! {
    /// Windows that every merge obeys, and what is asked of a policy file's own.
    OperatorWindowsFile = "windows" {
        /// Whether every tier of every plugin must have windows with hours, by the file, the tier or the plugin. Default false.
        optional required "required": Flag,
        /// The longest time in which windows may keep every merge out, closed days counted, so that a fix never waits longer. Default any.
        optional longest_gap "longestGap": Length,
        /// The zone of all hours and dates here. It must stand here where there are any, because a guess would be an hour off twice a year.
        optional zone "zone": Zone,
        /// Hours in which merges may start, as in a policy file. Default always open, `closed` aside.
        optional open "open": List<Either<Hours, CronFile>>,
        /// Days on which nothing merges in any repository. Default none.
        optional closed "closed": List<ClosedFile>,
        /// Merges stop this long before these windows close. Default `0s`.
        optional room "room": Length,
    }
    unsupported []
}

/// The mappings of the file that a policy file does not have.
#[cfg(test)]
pub const SHAPES: &[&parse::read::Shape] = &[&OperatorFile::SHAPE, &OperatorWindowsFile::SHAPE];

impl OperatorLimits {
    /// Reads the operator's file. Fails with every problem of it.
    pub fn read(file: &SourceFile) -> Result<Self, Problems> {
        let mut report = Report::with_homes(super::file::homes);
        let node = tree::parse(0, &file.text, &mut report);
        if node.is_none() && report.is_empty() {
            let help = Some("name a limit, such as `clustersPerHour: 50`, or do without the file");
            report.problem(tree::Span::top(0), "the file is empty", help);
        }
        let written = node.and_then(|node| OperatorFile::from_node(&node, &mut report)).unwrap_or_default();
        let limits = Self::of(written, &mut report);
        let (problems, _) = report.finish(std::slice::from_ref(&file.path));
        if problems.is_empty() { Ok(limits) } else { Err(Problems(problems)) }
    }

    fn of(file: OperatorFile, report: &mut Report) -> Self {
        if let Some(version) = &file.version {
            written::format_known(version.value.0, version.at, report);
        }
        let mut length = |given: Option<Spanned<Length>>| {
            let given = given?;
            if given.value.0.is_zero() {
                report.wrong(given.at, "no time at all cannot be kept", Some("make it longer, or take the key out"));
            }
            Some(given.value.0)
        };
        let (longest_soak, longest_grace) = (length(file.longest_soak), length(file.longest_grace));
        let (gap, required, own) = match file.windows {
            None => (None, false, None),
            Some(windows) => {
                let (gap, required) = (windows.value.longest_gap.clone(), windows.value.required.clone());
                (gap, required.is_some_and(|flag| flag.value.0), obeyed(windows))
            }
        };
        let longest_gap = length(gap);
        let windows = own.and_then(|own| report.within_key("windows", |report| windows(&own, None, report)));
        Self {
            longest_soak,
            longest_grace,
            windows,
            required,
            longest_gap,
            open_pulls: file.open_pulls.map(|count| count.value.0),
            clusters_per_hour: file.clusters_per_hour.map(|count| count.value.0),
        }
    }
}

/// The windows themselves, where the operator has any.
fn obeyed(given: Spanned<OperatorWindowsFile>) -> Option<Spanned<WindowsFile>> {
    let OperatorWindowsFile { zone, open, closed, room, refused, strange, required: _, longest_gap: _ } = given.value;
    let any = zone.is_some() || open.is_some() || closed.is_some() || room.is_some();
    let value = WindowsFile { zone, open, closed, room, refused, strange };
    any.then_some(Spanned { value, at: given.at, key: given.key })
}

/// The JSON Schema (draft 2020-12) of the operator's file, for editors.
pub fn limits_schema() -> serde_json::Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<OperatorFile>();
    schema.insert("title".to_string(), "Coldframe limits".into());
    schema.to_value()
}
