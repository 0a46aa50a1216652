//! The head of a story: title, zone, policy, clusters, plugins, people. What happens then is in `event`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use decide::selector::Labels;
use decide::snapshot::Cluster;
use decide::{ClusterName, Person, PluginName, TierName, Version};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::parse::{RawLine, embedded};
use super::script::{Deed, Line, People, Story};
use super::when;
use super::words::{Cursor, Place, Word};
use crate::parse::nearest::nearest;
use crate::policy::{Loaded, Mode, OperatorLimits, Problem, Problems, Setting, SourceFile};
use crate::rehearse::setup;

const KEYS: [&str; 11] =
    ["story", "zone", "policy", "limits", "clusters", "plugins", "owners", "people", "strangers", "admins", "rollout"];

/// What the head says, as far as it was read.
pub(super) struct Head<'a> {
    source: &'a SourceFile,
    folder: &'a Path,
    pub zone: TimeZone,
    /// The last line took the indented block below it.
    pub took_block: bool,
    title: String,
    policy: Option<SourceFile>,
    limits: Option<SourceFile>,
    clusters: Vec<Cluster>,
    running: BTreeMap<PluginName, Option<Version>>,
    people: People,
    owned_tiers: Vec<(TierName, Place)>,
    rollout: SignedDuration,
}

/// Every name that a line may use.
pub(super) struct NameList {
    pub plugins: Vec<String>,
    pub tiers: Vec<String>,
    pub clusters: Vec<String>,
    pub people: Vec<String>,
}

impl<'a> Head<'a> {
    pub fn new(source: &'a SourceFile, folder: &'a Path) -> Self {
        Self {
            source,
            folder,
            zone: TimeZone::UTC,
            took_block: false,
            title: String::new(),
            policy: None,
            limits: None,
            clusters: Vec::new(),
            running: BTreeMap::new(),
            people: People::default(),
            owned_tiers: Vec::new(),
            rollout: SignedDuration::from_mins(10),
        }
    }

    /// Reads one line and perhaps the block below it.
    pub fn line(&mut self, raw: RawLine<'_>, block: &[RawLine<'_>]) -> Result<(), Problem> {
        self.took_block = false;
        let mut cursor = Cursor::new(raw.text, raw.number, raw.start);
        let help = format!("the head knows {}; then come lines with a time", listed(&KEYS));
        let key = cursor.need("a key", &help)?;
        if cursor.is_indented() {
            return Err(key.wrong("is indented, and no `policy:` or `limits:` stands above it", help));
        }
        let tier = if key.text == "owners" { cursor.peek().filter(|word| word.text.ends_with(':')) } else { None };
        let tier = tier.filter(|word| word.text != ":").map(|_| cursor.need("a tier", "")).transpose()?;
        if !KEYS.contains(&key.text) {
            let near = nearest(key.text, KEYS).map_or(help, |near| format!("did you mean `{near}:`?"));
            return Err(key.wrong("is no key of a story's head", near));
        }
        let rest = match cursor.rest() {
            Some(rest) if rest.text.starts_with(':') => rest,
            Some(_) | None => return Err(key.wrong("lacks its colon", format!("write `{}: …`", key.text))),
        };
        let mut cursor = Cursor::new(raw.text, raw.number, raw.start);
        while cursor.peek().is_some_and(|word| word.place.start < rest.place.start + 1) {
            let _ = cursor.next();
        }
        match key.text {
            "story" => self.title = cursor.rest().map(|word| word.text.to_string()).unwrap_or_default(),
            "zone" => self.zone = zone(&mut cursor)?,
            "policy" => self.policy = Some(self.file(&mut cursor, block)?),
            "limits" => self.limits = Some(self.file(&mut cursor, block)?),
            "clusters" => self.add_clusters(&mut cursor)?,
            "plugins" => self.add_plugins(&mut cursor)?,
            "owners" => match tier {
                Some(tier) => {
                    let name = TierName::from(tier.text);
                    self.owned_tiers.push((name.clone(), tier.place));
                    self.people.owners_of.entry(name).or_default().extend(people(&mut cursor)?);
                }
                None => self.people.owners.extend(people(&mut cursor)?),
            },
            "people" => self.people.writers.extend(people(&mut cursor)?),
            "strangers" => self.people.strangers.extend(people(&mut cursor)?),
            "admins" => self.people.admins.extend(people(&mut cursor)?),
            _ => self.rollout = when::duration(&cursor.need("a duration", "such as `10m`")?)?,
        }
        cursor.end()
    }

    /// A file beside the story, or the block below the line.
    fn file(&mut self, cursor: &mut Cursor<'_>, block: &[RawLine<'_>]) -> Result<SourceFile, Problem> {
        let Some(name) = cursor.next() else {
            self.took_block = true;
            return Ok(embedded(self.source, block));
        };
        let path = self.folder.join(name.text);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| name.wrong(&format!("cannot be read: {error}"), "it is looked for beside the story"))?;
        Ok(SourceFile { path: path.display().to_string(), text })
    }

    /// `qa-1 qa-2 tier=qa`: names, then their labels.
    fn add_clusters(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        let (mut names, mut labels) = (Vec::new(), Labels::new());
        while let Some(word) = cursor.next() {
            match word.text.split_once('=') {
                Some((key, value)) => {
                    labels.insert(key.to_string(), value.to_string());
                }
                None if labels.is_empty() => names.push(word),
                None => return Err(word.wrong("stands after a label", "begin a `clusters:` line of its own for it")),
            }
        }
        for name in names {
            if self.clusters.iter().any(|known| known.name.as_str() == name.text) {
                return Err(name.wrong("is listed twice", "keep one"));
            }
            self.clusters.push(Cluster { name: ClusterName::from(name.text), labels: labels.clone() });
        }
        Ok(())
    }

    /// `cert-manager 1.14.7, loki`: what runs at the beginning.
    fn add_plugins(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        loop {
            let name = cursor.need("a plugin", "write `plugins: cert-manager 1.14.7, loki 3.0.0`")?;
            let version = match cursor.peek().filter(|word| word.text != ",") {
                Some(_) if !cursor.clone().comma() => Some(version(&cursor.need("a version", "")?)?),
                Some(_) | None => None,
            };
            self.running.insert(PluginName::from(name.text), version);
            if !cursor.comma() {
                return Ok(());
            }
        }
    }

    pub fn plugins(&self) -> impl Iterator<Item = &PluginName> {
        self.running.keys()
    }

    /// What runs at the beginning.
    pub fn versions(&self) -> Vec<(PluginName, Version)> {
        self.running.iter().filter_map(|(plugin, version)| Some((plugin.clone(), version.clone()?))).collect()
    }

    /// The policy through the policy's own reader, and the files that messages show.
    pub fn policy(&self, problems: &mut Vec<Problem>) -> (Option<Loaded>, Vec<SourceFile>) {
        let Some(main) = &self.policy else {
            let help = "add `policy: coldframe.yaml`, or `policy:` and the file itself below it, indented";
            problems.push(Place { line: 1, column: 1, ..Place::default() }.problem("the story has no policy", help));
            return (None, Vec::new());
        };
        let others = [Some(main), self.limits.as_ref()].into_iter().flatten();
        let files = others.filter(|file| file.path != self.source.path).cloned().collect();
        let setting = match self.setting() {
            Ok(setting) => setting,
            Err(found) => {
                problems.extend(found.0);
                return (None, files);
            }
        };
        match setup::policy(main, self.plugins(), &setting) {
            Ok(policy) => (Some(policy), files),
            Err(found) => {
                problems.extend(found.0);
                (None, files)
            }
        }
    }

    /// What every policy of the story is held against.
    pub fn setting(&self) -> Result<Setting, Problems> {
        let limits = self.limits.as_ref().map(OperatorLimits::read).transpose()?;
        Ok(Setting { limits: limits.unwrap_or_default(), mode: Mode::default() })
    }

    /// Every name that lines may use.
    pub fn names(&self, policy: Option<&Loaded>) -> NameList {
        let policy_plugins = policy.into_iter().flat_map(|loaded| &loaded.policy.plugins);
        NameList {
            plugins: policy_plugins.map(|plugin| plugin.name.to_string()).collect(),
            tiers: policy.into_iter().flat_map(|loaded| &loaded.ladder).map(|tier| tier.name.to_string()).collect(),
            clusters: self.clusters.iter().map(|cluster| cluster.name.to_string()).collect(),
            people: self.people.all().into_iter().map(ToString::to_string).collect(),
        }
    }

    /// What does not fit together in the head.
    pub fn check(&self, names: &NameList, problems: &mut Vec<Problem>) {
        let top = Place { line: 1, column: 1, ..Place::default() };
        if self.clusters.is_empty() {
            problems.push(top.problem("the story has no clusters", "add `clusters: qa-1 qa-2  tier=qa`"));
        }
        for (tier, place) in self.owned_tiers.iter().filter(|_| !names.tiers.is_empty()) {
            if !names.tiers.iter().any(|known| known == tier.as_str()) {
                let help = format!("there are {}", listed(&names.tiers));
                problems.push(place.problem(format!("there is no tier `{tier}`"), help));
            }
        }
        let all: Vec<&String> = names.clusters.iter().chain(&names.people).chain(&names.tiers).collect();
        let mut seen = BTreeSet::new();
        for name in all {
            if !seen.insert(name) {
                let help = "give each cluster, tier and person a name of its own, so that lines are clear";
                problems.push(top.problem(format!("`{name}` is the name of two things"), help));
            }
        }
    }

    pub fn story(self, policy: Loaded, lines: Vec<Line>, never: Vec<(Place, Deed)>) -> Story {
        let mut running = self.running;
        for plugin in &policy.policy.plugins {
            running.entry(plugin.name.clone()).or_insert(None);
        }
        Story {
            title: self.title,
            zone: self.zone,
            policy,
            clusters: self.clusters,
            running,
            people: self.people,
            rollout: self.rollout,
            lines,
            never,
        }
    }
}

fn zone(cursor: &mut Cursor<'_>) -> Result<TimeZone, Problem> {
    let word = cursor.need("a zone", "such as `Europe/Berlin`")?;
    match decide::zone::zone(word.text) {
        Some(zone) => Ok(zone),
        None => Err(word.wrong("is not a time zone", "write one such as `Europe/Berlin` or `UTC`")),
    }
}

fn people(cursor: &mut Cursor<'_>) -> Result<Vec<Person>, Problem> {
    let mut people = vec![Person::from(cursor.need("a person", "such as `owners: maria noor`")?.text)];
    loop {
        let _ = cursor.comma();
        if cursor.is_done() {
            return Ok(people);
        }
        people.push(Person::from(cursor.need("a person", "")?.text));
    }
}

/// A version as the policy accepts them.
pub(super) fn version(word: &Word<'_>) -> Result<Version, Problem> {
    word.text.parse().map_err(|_| word.wrong("is not a SemVer 2 version", "write it like `1.15.0`"))
}

/// Names between backticks, for a message.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().take(20).map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}
