//! What is told of releases: what their authors say, and what is different in them.

use std::collections::BTreeMap;

use compare::Change;
use decide::plan::{Plan, WaveReport, WaveState};
use decide::{PluginName, Version};

use super::{Seen, changelog};
use crate::tell;

impl Seen {
    /// What is different in each release between what runs and what is proposed, oldest first, and what their authors
    /// say.
    pub fn on_the_way(&self, wave: &WaveReport) -> (Vec<&[Change]>, Vec<String>) {
        let steps = self.steps(wave);
        let versions = steps.iter().rev().map(|step| (wave.plugin.clone(), step.version.clone()));
        let reports = versions.filter_map(|key| self.differences.get(&key)?.became.as_ref().ok());
        let changes = reports.map(|report| report.changes.as_slice()).collect();
        (changes, steps.into_iter().filter_map(|step| step.text).collect())
    }

    /// What is said of the releases that a plan speaks of, and of every newer one; those that nobody runs any more are
    /// too many to be kept.
    pub fn notes(&self, plan: &Plan) -> BTreeMap<(PluginName, Version), tell::ReleaseNote> {
        let mut oldest: BTreeMap<&PluginName, &Version> = BTreeMap::new();
        for wave in &plan.waves {
            let running = if let WaveState::Idle { running } = &wave.state { running.as_ref() } else { None };
            for version in running.into_iter().chain(&wave.version).chain(&wave.from) {
                let known = oldest.entry(&wave.plugin).or_insert(version);
                *known = (*known).min(version);
            }
        }
        let is_spoken_of =
            |(plugin, version): &&(PluginName, Version)| oldest.get(plugin).is_some_and(|oldest| version >= *oldest);
        let releases = self.told.keys().filter(is_spoken_of);
        releases.filter_map(|release| Some((release.clone(), self.note(release)?))).collect()
    }

    /// What the chart's author says of each release between what runs and what is proposed, newest
    /// first.
    pub(super) fn steps(&self, wave: &WaveReport) -> Vec<tell::ReleaseNote> {
        let Some(to) = &wave.version else { return Vec::new() };
        let between = |version: &Version| version <= to && wave.from.as_ref().is_none_or(|from| version > from);
        let steps = self.told.keys().filter(|(plugin, version)| *plugin == wave.plugin && between(version));
        let mut notes: Vec<tell::ReleaseNote> = steps.filter_map(|release| self.note(release)).collect();
        notes.sort_by(|a, b| b.version.cmp(&a.version));
        notes
    }

    /// What is said of one release.
    fn note(&self, release: &(PluginName, Version)) -> Option<tell::ReleaseNote> {
        let changelog::Said { text, page } = self.told.get(release)?.clone();
        let differences = self.differences.get(release).cloned();
        Some(tell::ReleaseNote { version: release.1.clone(), text, page, differences })
    }
}
