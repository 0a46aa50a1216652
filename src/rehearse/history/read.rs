//! Reads a history: a JSON list of `{plugin, version, date}`, oldest or newest first. What is done with
//! it is in `replay`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use decide::{PluginName, Version};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

/// What was released when.
#[derive(Clone, Debug)]
pub struct History {
    /// In order of time.
    pub(super) events: Vec<Event>,
    /// Entries that changed the content under a version that was out already.
    same: usize,
    /// Entries whose version is no version.
    unversioned: usize,
}

/// One entry that counts.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub at: Timestamp,
    pub plugin: PluginName,
    pub what: What,
}

/// What happened to a plugin.
#[derive(Clone, Debug)]
pub(super) enum What {
    Release {
        version: Version,
        breaking: bool,
    },
    /// It is not promoted any more.
    Removed,
}

/// An entry of the file. Other keys are let go: such files come from other tools.
#[derive(Deserialize)]
struct Entry {
    plugin: String,
    date: Timestamp,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    event: Option<String>,
    /// Somebody says that it breaks.
    #[serde(default)]
    breaking: bool,
    /// Options that a config must set from this release on.
    #[serde(default)]
    options_added_required: Vec<serde_json::Value>,
}

impl History {
    /// Reads the text of a history.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut entries: Vec<Entry> = serde_json::from_str(text).map_err(|error| {
            anyhow::anyhow!(
                "{error}; a history is a list of {{\"plugin\": …, \"version\": …, \"date\": \"2026-11-23T09:00:00Z\"}}"
            )
        })?;
        // Stable: entries of one instant keep their order.
        entries.sort_by_key(|entry| entry.date);
        let mut history = Self { events: Vec::new(), same: 0, unversioned: 0 };
        let mut out: BTreeMap<String, BTreeSet<Version>> = BTreeMap::new();
        for entry in entries {
            let plugin = PluginName::new(entry.plugin.clone());
            if entry.event.as_deref() == Some("removed") {
                history.events.push(Event { at: entry.date, plugin, what: What::Removed });
                continue;
            }
            match entry.version.as_deref().and_then(|text| text.parse::<Version>().ok()) {
                None => history.unversioned += 1,
                Some(version) => {
                    if !out.entry(entry.plugin).or_default().insert(version.clone()) {
                        history.same += 1;
                        continue;
                    }
                    let breaking = entry.breaking || !entry.options_added_required.is_empty();
                    history.events.push(Event { at: entry.date, plugin, what: What::Release { version, breaking } });
                }
            }
        }
        anyhow::ensure!(!history.events.is_empty(), "the history holds no release");
        Ok(history)
    }

    /// Every plugin, in the order of names.
    pub(super) fn plugins(&self) -> BTreeSet<PluginName> {
        self.events.iter().map(|event| event.plugin.clone()).collect()
    }

    /// First and last instant.
    pub(super) fn span(&self) -> (Timestamp, Timestamp) {
        let at = |event: Option<&Event>| event.map_or(Timestamp::UNIX_EPOCH, |event| event.at);
        (at(self.events.first()), at(self.events.last()))
    }

    /// Releases that count.
    pub fn releases(&self) -> usize {
        self.events.iter().filter(|event| matches!(event.what, What::Release { .. })).count()
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.span();
        let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).strftime("%-d %b %Y").to_string();
        let weeks = to.duration_since(from).as_secs() / SignedDuration::from_hours(24 * 7).as_secs();
        write!(
            f,
            "{} of {}, {} to {} ({}).",
            counted(self.releases(), "release"),
            counted(self.plugins().len(), "plugin"),
            day(from),
            day(to),
            counted(usize::try_from(weeks).unwrap_or(0), "week")
        )?;
        if self.same > 0 {
            let changes = counted(self.same, "change");
            write!(f, " Left out: {changes} of content under a version that was out already.")?;
        }
        if self.unversioned > 0 {
            write!(f, " Left out: {} without a SemVer 2 version.", counted(self.unversioned, "release"))?;
        }
        Ok(())
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
