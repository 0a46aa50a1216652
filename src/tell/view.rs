//! What the faces need beside a plan: addresses, each tier's zone, files and rules, what happened
//! so far. Taken out of a snapshot once; nothing here is decided.

use std::collections::BTreeMap;

use decide::ledger::Wave;
use decide::model::Freeze;
use decide::snapshot::Read;
use decide::{ClusterName, Entry, Ledger, Plan, PluginLedger, PluginName, PullNumber, Snapshot, TierName, Version};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use url::Url;

use super::ReleaseNote;

/// Addresses, and what the policy says of each tier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// The repository's page at the hub, such as `https://github.com/acme/fleet`.
    pub repo: String,
    /// Where people find the dashboard.
    pub dashboard: Option<Url>,
    /// Per tier of each plugin.
    pub tiers: BTreeMap<(PluginName, TierName), TierFacts>,
}

/// What the policy and the base branch say of one tier of one plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct TierFacts {
    /// The zone in which its times are shown: that of its windows, else the plugin's, else the
    /// file's, else UTC.
    pub zone: TimeZone,
    /// The files that hold the version, each with the cluster that it is for, or none where it is for all
    /// of the tier; without repetition, in order.
    pub places: Vec<(String, Option<ClusterName>)>,
    /// The files that are not there yet and will be made of a template, in the same way.
    pub vacant: Vec<(String, Option<ClusterName>)>,
    /// How long it has to be healthy.
    pub soak: SignedDuration,
    /// How long before a deadline people are told, longest first.
    pub notice: Vec<SignedDuration>,
}

impl TierFacts {
    /// The files that hold the version of some of its clusters.
    pub fn files_of(&self, members: &[ClusterName]) -> Vec<String> {
        of_clusters(&self.places, members).map(|(file, _)| file.clone()).collect()
    }

    /// Those of some clusters that are not there yet, and the clusters that get their first one.
    pub fn first_of(&self, members: &[ClusterName]) -> (Vec<String>, Vec<String>) {
        let of = || of_clusters(&self.vacant, members);
        let mut clusters: Vec<String> = of().filter_map(|(_, cluster)| Some(cluster.as_ref()?.to_string())).collect();
        clusters.dedup();
        (of().map(|(file, _)| file.clone()).collect(), clusters)
    }
}

fn of_clusters<'a>(
    files: &'a [(String, Option<ClusterName>)],
    members: &'a [ClusterName],
) -> impl Iterator<Item = &'a (String, Option<ClusterName>)> {
    let mut last = None;
    let of = |cluster: &ClusterName| members.contains(cluster);
    let theirs = files.iter().filter(move |(_, cluster)| cluster.as_ref().is_none_or(of));
    theirs.filter(move |(file, _)| last.replace(file) != Some(file))
}

impl Links {
    /// Reads them out of a snapshot. `repo` is the repository's page at the hub.
    pub fn of(repo: &str, snapshot: &Snapshot) -> Self {
        let mut tiers = BTreeMap::new();
        for plugin in &snapshot.policy.plugins {
            let base = snapshot.plugins.get(&plugin.name).and_then(|facts| facts.base.known());
            for tier in &plugin.tiers {
                let windows = [&tier.windows, &plugin.windows, &snapshot.policy.windows];
                let zone = windows.into_iter().flatten().next().map_or(TimeZone::UTC, |windows| windows.zone.clone());
                let places = base.and_then(|base| base.get(&tier.name)).map_or(&[][..], Vec::as_slice);
                let files = |vacant: bool| {
                    let those = places.iter().filter(|place| place.vacant == vacant);
                    let mut files: Vec<_> = those.map(|place| (place.file.clone(), place.cluster.clone())).collect();
                    files.sort();
                    files.dedup();
                    files
                };
                let (places, vacant) = (files(false), files(true));
                let notice = tier.force.as_ref().map_or_else(Vec::new, |force| force.notice.clone());
                let facts = TierFacts { zone, places, vacant, soak: tier.soak.min, notice };
                tiers.insert((plugin.name.clone(), tier.name.clone()), facts);
            }
        }
        Self { repo: repo.trim_end_matches('/').to_string(), dashboard: None, tiers }
    }

    /// The page of a wave on the dashboard, as a line of Markdown; nothing where nobody said where that is.
    pub(crate) fn on_dashboard(&self, plugin: &PluginName, tier: &TierName) -> String {
        let Some(mut url) = self.dashboard.clone() else { return String::new() };
        let mut names = self.repo.rsplitn(3, '/');
        let (name, owner) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend([owner, name, "plugins", plugin.as_str(), "tiers", tier.as_str()]);
        }
        url.set_query(None);
        format!("\n[On the dashboard]({url})\n")
    }

    /// The page of a pull request.
    pub fn pull(&self, number: PullNumber) -> String {
        format!("{}/pull/{}", self.repo, number.0)
    }

    /// What is known of a tier.
    pub fn tier(&self, plugin: &PluginName, tier: &TierName) -> Option<&TierFacts> {
        self.tiers.get(&(plugin.clone(), tier.clone()))
    }

    /// The zone in which a tier's times are shown.
    pub fn zone(&self, plugin: &PluginName, tier: &TierName) -> TimeZone {
        self.tier(plugin, tier).map_or(TimeZone::UTC, |facts| facts.zone.clone())
    }

    /// The zone for times that are about no tier: the one that all tiers share, else UTC.
    pub fn shared_zone(&self) -> TimeZone {
        let mut zones = self.tiers.values().map(|facts| &facts.zone);
        match zones.next() {
            Some(first) if zones.all(|zone| zone == first) => first.clone(),
            Some(_) | None => TimeZone::UTC,
        }
    }
}

/// One repository as the terminal and the dashboard show it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its name, such as `acme/fleet`.
    pub name: String,
    /// Addresses and tiers.
    pub links: Links,
    /// What was decided.
    pub plan: Plan,
    /// What the ledger has of each plugin, for timelines.
    pub pages: BTreeMap<PluginName, PluginLedger>,
    /// What authors say of releases that are on their way or run, and what is different in them.
    pub notes: BTreeMap<(PluginName, Version), ReleaseNote>,
    /// Freezes of the policy file, and those that people set by commands.
    pub freezes: Vec<Freeze>,
    /// When the facts were read.
    pub looked: Timestamp,
    /// What is wrong with the repository as a whole: the newest policy file has errors, the last
    /// look failed.
    pub trouble: Option<String>,
    /// What this run did, a sentence each; none where nothing is meant to be done (`plan`).
    pub done: Option<Vec<String>>,
}

impl View {
    /// A plan together with what it was made from.
    pub fn new(name: &str, repo: &str, snapshot: &Snapshot, plan: Plan, looked: Timestamp) -> Self {
        Self {
            name: name.to_string(),
            links: Links::of(repo, snapshot),
            pages: snapshot.ledger.plugins.clone(),
            notes: BTreeMap::new(),
            freezes: freezes(snapshot, &plan, looked),
            plan,
            looked,
            trouble: trouble(snapshot),
            done: None,
        }
    }

    /// The same view at the end of a run that did this.
    #[must_use]
    pub fn having(self, done: Vec<String>) -> Self {
        Self { done: Some(done), ..self }
    }

    /// What the ledger says of a version on a tier.
    pub(crate) fn wave(&self, plugin: &PluginName, tier: &TierName, version: &Version) -> Option<&Wave> {
        self.pages.get(plugin)?.wave(tier, version)
    }

    /// Whether another look shows what this one does, but for when it was.
    pub fn is_like(&self, other: &Self) -> bool {
        let Self { name, links, plan, pages, notes, freezes, looked: _, trouble, done } = self;
        (name, links, freezes, trouble, done)
            == (&other.name, &other.links, &other.freezes, &other.trouble, &other.done)
            && (plan, pages, notes) == (&other.plan, &other.pages, &other.notes)
    }
}

/// What is wrong with the repository as a whole, as far as the facts say it.
fn trouble(snapshot: &Snapshot) -> Option<String> {
    let policy = snapshot.policy_problem.as_ref().map(|why| format!("the newest policy file has errors: {why}"));
    let inventory = match &snapshot.clusters {
        Read::Known(_) => None,
        Read::Unread(why) => Some(format!("the inventory of clusters cannot be read: {why}")),
    };
    let source = || {
        snapshot.plugins.iter().find_map(|(plugin, facts)| match &facts.releases {
            Read::Known(_) => None,
            Read::Unread(why) => Some(format!("the releases of {plugin} cannot be read: {why}")),
        })
    };
    policy.or(inventory).or_else(source)
}

/// What stops merges: the freezes of the file, and those by command that hold when this look ends.
fn freezes(snapshot: &Snapshot, plan: &Plan, now: Timestamp) -> Vec<Freeze> {
    let mut ledger = Ledger { freezes: snapshot.ledger.freezes.clone(), ..Ledger::default() };
    for record in &plan.entries {
        if let Entry::Frozen(_) | Entry::Thawed(_) = &record.entry {
            ledger.apply(&record.entry);
        }
    }
    let commanded = ledger.freezes.into_iter().filter(|frozen| frozen.holds(now)).map(|frozen| Freeze {
        why: frozen.why,
        by: Some(frozen.by),
        tiers: frozen.tier.into_iter().collect(),
        plugins: frozen.plugin.into_iter().collect(),
        select: None,
        until: frozen.until,
    });
    snapshot.policy.freezes.iter().cloned().chain(commanded).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use decide::ledger::{Frozen, Lifted};
    use decide::plan::{Record, Urgency};

    use super::*;
    use crate::tell::fixture;

    #[test]
    fn a_freeze_by_command_is_shown_while_it_holds() {
        let now = fixture::now();
        let frozen = Frozen {
            plugin: None,
            tier: Some("gold".into()),
            by: "noor".into(),
            at: now,
            why: "incident 42".to_string(),
            until: None,
            pull: PullNumber(7),
            lifted: None,
        };
        let shown = |frozen: Frozen| {
            let mut snapshot = fixture::snapshot();
            snapshot.policy.freezes.clear();
            // Set at this very look, then remembered.
            let record = Record { entry: Entry::Frozen(frozen.clone()), urgency: Urgency::Transition };
            let fresh = freezes(&snapshot, &Plan { entries: vec![record], ..Plan::default() }, now);
            snapshot.ledger.freezes.push(frozen);
            assert_eq!(freezes(&snapshot, &Plan::default(), now), fresh);
            fresh
        };
        let [freeze] = &shown(frozen.clone())[..] else { panic!("one freeze") };
        assert_eq!((freeze.why.as_str(), freeze.tiers.len(), freeze.plugins.len()), ("incident 42", 1, 0));
        assert_eq!(shown(Frozen { until: Some(now), ..frozen.clone() }), []);
        assert_eq!(shown(Frozen { lifted: Some(Lifted { by: "kim".into(), at: now }), ..frozen }), []);
    }
}
