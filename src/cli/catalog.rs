//! `coldframe compare --catalog`: what is different between two commits of a catalog of definitions, for its own pull
//! requests. What is compared is in the package `compare`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use compare::{Change, Chart, DefinedChart, Definition, Release, Report, compare_releases};
use decide::{Sha, Version};
use serde::Serialize;

use super::arguments::Compare;
use super::compare::{FOUND, fails, net};
use super::run::say;
use crate::git::{Checkout, GitError, Store};
use crate::observe::chart::{Mirrors, source};
use crate::observe::net::Net;
use crate::policy::defined_chart;
use crate::tell::{self, Annotation, Level};

/// What became of one definition.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    /// Its file.
    path: String,
    /// It is new.
    added: bool,
    /// It is gone.
    removed: bool,
    /// Why it, or what it installs, could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
    /// What is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Report>,
    #[serde(skip)]
    text: String,
}

/// Compares every definition that differs between two commits of the checkout that this folder is.
pub async fn run(arguments: &Compare) -> anyhow::Result<ExitCode> {
    let net = net(arguments)?;
    let checkout = Checkout::around(Path::new("."))?.context("run it in a checkout of the catalog")?;
    let store = checkout.store();
    let (old, new) = (checkout.revision(&arguments.old)?, checkout.revision(&arguments.new)?);
    let mut outcomes = Vec::new();
    for path in store.paths_changed(&old, &new)?.into_iter().filter(|path| is_yaml(path)) {
        let (before, after) = (side(store, &old, &path)?, side(store, &new, &path)?);
        if before.is_definition() || after.is_definition() {
            outcomes.push(outcome(path, before, after, &net).await);
        }
    }
    let failed = arguments.fail_on.is_some_and(|on| {
        outcomes.iter().any(|one| one.fails() || one.report.as_ref().is_some_and(|report| fails(on, report)))
    });
    say(&if arguments.json { serde_json::to_string_pretty(&outcomes)? + "\n" } else { told(arguments, &outcomes) })?;
    Ok(if failed { ExitCode::from(FOUND) } else { ExitCode::SUCCESS })
}

fn is_yaml(path: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| path.ends_with(end))
}

/// What stands in a file at one of the two commits.
enum Side {
    /// No definition.
    Other,
    /// One, with the text of its file.
    Read(Box<Definition>, String),
    /// Nobody can tell: why, and whether it is meant to be one.
    Unread(String, bool),
}

impl Side {
    fn of(text: String) -> Self {
        match Definition::in_file(&text) {
            Ok(None) => Self::Other,
            Ok(Some(definition)) => Self::Read(Box::new(definition), text),
            Err(why) => Self::Unread(why.to_string(), text.contains("PluginDefinition")),
        }
    }

    fn is_definition(&self) -> bool {
        matches!(self, Self::Read(..) | Self::Unread(_, true))
    }
}

fn side(store: &Store, commit: &Sha, path: &str) -> anyhow::Result<Side> {
    match store.read(commit, path) {
        Ok(None) => Ok(Side::Other),
        Ok(Some(bytes)) => Ok(match String::from_utf8(bytes) {
            Ok(text) => Side::of(text),
            Err(_) => Side::Unread("it is not UTF-8".to_string(), false),
        }),
        // Whatever else lies in the repository may be as large as it likes.
        Err(error @ GitError::Malformed { .. }) => Ok(Side::Unread(error.to_string(), false)),
        Err(error) => Err(error.into()),
    }
}

/// What became of a file that has a definition on one of the sides.
async fn outcome(path: String, before: Side, after: Side, net: &Net) -> Outcome {
    let (added, removed) = (matches!(before, Side::Other), matches!(after, Side::Other));
    let mut outcome = Outcome { path, added, removed, unread: Vec::new(), report: None, text: String::new() };
    match (before, after) {
        (Side::Read(before, _), Side::Read(after, text)) => {
            outcome.text = text;
            let (old, new) = (before.chart.clone(), after.chart.clone());
            let mut charts = (None, None);
            // What is installed by both in the same way was released before.
            if old != new {
                charts = (outcome.chart(old.as_ref(), net).await, outcome.chart(new.as_ref(), net).await);
            }
            let (old, new) = charts;
            let old = Release { definition: Some(*before), chart: old };
            let new = Release { definition: Some(*after), chart: new };
            outcome.report = compare_releases(&old, &new);
        }
        (_, Side::Unread(why, _)) => outcome.unread.push(why),
        // One that could not be read before may be mended now.
        (_, Side::Other) | (Side::Other | Side::Unread(..), Side::Read(..)) => {}
    }
    outcome
}

impl Outcome {
    /// Whether it breaks whoever has it, whatever its version says.
    fn fails(&self) -> bool {
        self.removed || !self.unread.is_empty()
    }

    async fn chart(&mut self, defined: Option<&DefinedChart>, net: &Net) -> Option<Chart> {
        let defined = defined?;
        match fetched(defined, net).await {
            Ok(chart) => Some(chart),
            Err(error) => {
                self.unread.push(format!("its chart {} {}: {error:#}", defined.name, defined.version));
                None
            }
        }
    }
}

async fn fetched(defined: &DefinedChart, net: &Net) -> anyhow::Result<Chart> {
    let chart = defined_chart(&defined.repository, &defined.name).map_err(anyhow::Error::msg)?;
    let version: Version = defined.version.parse().ok().context("that is no version")?;
    let source = source(&chart, net, &Mirrors::default())?;
    let found = source.describe(&version).await?.context("it is not there")?;
    let package = source.contents(&found).await?.and_then(|contents| contents.package);
    Ok(Chart::read(&package.context("its package is not there")?)?)
}

fn told(arguments: &Compare, outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    for one in outcomes {
        out.push_str(&format!("{}\n", tell::inert::line(&one.path)));
        let plain = [(one.added, "it is new"), (one.removed, "it is gone")];
        plain.iter().filter(|(is, _)| *is).for_each(|(_, words)| out.push_str(&format!("  · {words}\n")));
        one.unread.iter().for_each(|why| out.push_str(&format!("  ✗ {}\n", tell::inert::line(why))));
        if let Some(report) = &one.report {
            out.push_str(&tell::compared(report, arguments.diff));
        }
        out.push('\n');
    }
    if outcomes.is_empty() {
        out.push_str("No definition is different.\n");
    }
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|is| is == "true") {
        outcomes.iter().for_each(|one| annotate(arguments, one, &mut out));
    }
    out
}

/// What GitHub shows beside the lines of a definition.
fn annotate(arguments: &Compare, one: &Outcome, out: &mut String) {
    let mut say = |level: Level, line: Option<u64>, message: String| {
        let (file, title) = (Some(one.path.clone()), Some("Coldframe".to_string()));
        let what = Annotation { file, line, column: None, title, message };
        out.push_str(&format!("{}\n", tell::annotation(level, &what)));
    };
    let stops = |stops: bool| if arguments.fail_on.is_some() && stops { Level::Error } else { Level::Warning };
    one.unread.iter().for_each(|why| say(stops(true), Some(1), why.clone()));
    if one.removed {
        say(stops(true), None, "the definition is gone; whoever installs it gets no release any more".to_string());
    }
    let Some(report) = &one.report else { return };
    let breaks = arguments.fail_on.is_some_and(|on| fails(on, report));
    let version = line_of(&one.text, |line| line.starts_with("version:"));
    for change in report.breaking() {
        say(stops(breaks), about(change, &one.text).or(version), change.to_string());
    }
    if report.old.version == report.new.version && !report.changes.is_empty() {
        let message = format!(
            "{} is different and keeps its version: what is released under that stays as it is, and this comes with the \
             next one",
            report.new.version
        );
        say(Level::Warning, version, message);
    }
}

/// The line of the option that a difference is about.
fn about(change: &Change, text: &str) -> Option<u64> {
    let named = |line: &str| {
        let name = line.trim_start_matches("- ").strip_prefix("name:")?.trim().trim_matches(['"', '\'']);
        Some(name == change.at)
    };
    line_of(text, |line| named(line) == Some(true))
}

fn line_of(text: &str, wanted: impl Fn(&str) -> bool) -> Option<u64> {
    let index = text.lines().position(|line| wanted(line.trim()))?;
    u64::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_difference_stands_at_the_line_of_its_option() {
        let text = "kind: PluginDefinition\nspec:\n  version: 1.0.0\n  options:\n    - name: a.b\n      type: string\n    - type: int\n      name: \"c\"\n";
        let at = |option: &str| {
            about(&Change { what: compare::What::OptionRequired, at: option.into(), from: None, to: None }, text)
        };
        assert_eq!((at("a.b"), at("c"), at("d")), (Some(5), Some(8), None));
        assert_eq!(line_of(text, |line| line.starts_with("version:")), Some(3));
    }

    #[test]
    fn a_definition_is_one_however_it_is_written() {
        let of = |text: &str| Side::of(text.to_string());
        let more = "metadata: {name: loki}\nspec: {version: 1.0.0}\n";
        for kind in ["kind: PluginDefinition", "kind: 'ClusterPluginDefinition' # ours", "\"kind\":   PluginDefinition"]
        {
            assert!(matches!(of(&format!("{kind}\n{more}")), Side::Read(..)), "{kind}");
        }
        assert!(matches!(of("{kind: PluginDefinition, metadata: {name: a}, spec: {version: 1.0.0}}"), Side::Read(..)));
        assert!(of("kind: PluginDefinition\nspec: [").is_definition(), "it is meant to be one");
        assert!(!of("kind: Plugin\n").is_definition() && !of("{{ .Values }}: [").is_definition());
    }
}
