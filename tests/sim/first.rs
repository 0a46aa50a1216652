//! Clusters and whole tiers on which nothing is installed yet: the file is missing, and a template says what it will
//! be. Who has none at first, who joins with none, and what the first release changes.

use std::collections::{BTreeMap, BTreeSet};

use decide::snapshot::{Read, Reading};
use decide::{ClusterName, PluginName, TierName};
use semver::Version;

use crate::fleet;
use crate::places::Place;
use crate::rng::Rng;
use crate::scenario::{Scenario, Unreadable};
use crate::world::{Spot, World};

/// Who has no file yet, by plugin and tier; none = the one file of the tier.
pub type Bare = BTreeMap<Spot, BTreeSet<Option<ClusterName>>>;

/// Whose files a template makes, and who has none at first. It has a fate of its own, so that a world without it
/// stays what it was.
pub fn draw(scenario: &mut Scenario) {
    let seed = scenario.seed;
    if !Rng::fate(seed, &["first installs"]).chance(30) {
        return;
    }
    for plugin in &scenario.policy.plugins {
        let mut rng = Rng::fate(seed, &["first installs", plugin.name.as_str()]);
        if rng.chance(70) {
            scenario.templated.insert(plugin.name.clone());
        }
        // A tier above the first, mostly: somebody begins with a plugin, and it climbs to where it never was.
        for tier in plugin.tiers.iter().skip(usize::from(rng.chance(80))) {
            let (all, some) = (rng.chance(20), rng.range(0, 60));
            let of_tier = scenario.clusters.iter().filter(|cluster| cluster.labels["tier"] == tier.name.as_str());
            let bare: BTreeSet<Option<ClusterName>> = match scenario.per_cluster.contains(&plugin.name) {
                true => of_tier.map(|it| it.name.clone()).filter(|_| all || rng.chance(some)).map(Some).collect(),
                false => BTreeSet::from_iter(all.then_some(None)),
            };
            if scenario.templated.contains(&plugin.name) {
                scenario.bare.insert((plugin.name.clone(), tier.name.clone()), bare);
            }
        }
    }
}

impl World {
    /// Whether nothing of a plugin is installed on a cluster of a tier, by its files.
    pub fn is_bare(&self, spot: &Spot, cluster: &ClusterName) -> bool {
        let bare = self.bare.get(spot);
        bare.is_some_and(|bare| bare.contains(&None) || bare.contains(&Some(cluster.clone())))
    }

    /// Whether some of these clusters, or the one file of all of them, has nothing yet.
    pub fn any_bare(&self, spot: &Spot, clusters: &[ClusterName]) -> bool {
        clusters.iter().any(|cluster| self.is_bare(spot, cluster))
    }

    /// Whether somebody who joins a tier comes with nothing, for the bot to install.
    pub fn joins_bare(&self, spot: &Spot, cluster: &ClusterName) -> bool {
        let has_own = self.scenario.templated.contains(&spot.0) && self.scenario.per_cluster.contains(&spot.0);
        let whole = self.bare.get(spot).is_some_and(|bare| bare.contains(&None));
        whole || (has_own && self.luck(&["comes bare", cluster.as_str(), spot.0.as_str()]).chance(60))
    }

    /// The first version of whoever has none yet and is meant.
    pub fn install(
        &mut self,
        spot: &Spot,
        version: &Version,
        by_bot: bool,
        meant: impl Fn(Option<&ClusterName>) -> bool,
    ) {
        let Some(bare) = self.bare.get_mut(spot) else { return };
        let whom: Vec<Option<ClusterName>> = bare.iter().filter(|whose| meant(whose.as_ref())).cloned().collect();
        bare.retain(|whose| !whom.contains(whose));
        for cluster in whom {
            let place = Place::new(spot, cluster.clone(), version.clone(), self.now, by_bot);
            self.tally.count("deed", if by_bot { "BotInstalls" } else { "PersonInstalls" });
            self.note(format!("{} has its first {}: {version}", place.file, spot.0));
            self.base.entry(spot.clone()).or_default().push(place);
            self.note_versions(spot);
            for member in cluster.map_or_else(|| self.members(&spot.1), |cluster| vec![cluster]) {
                fleet::begin(self, &member, spot, version.clone());
            }
        }
    }

    /// A cluster without a file leaves a tier; whether it had none there.
    pub fn leaves_bare(&mut self, spot: &Spot, cluster: &ClusterName) -> bool {
        self.bare.get_mut(spot).is_some_and(|bare| bare.remove(&Some(cluster.clone())))
    }

    /// The paths of a tier's files, those that are not there yet among them.
    pub fn files(&self, spot: &Spot) -> Vec<String> {
        let there = self.base[spot].iter().map(|place| place.file.clone());
        let bare = self.bare.get(spot).into_iter().flatten();
        there.chain(bare.map(|whose| Place::file(spot, whose.as_ref()))).collect()
    }

    /// What the bot is shown where there is no file.
    pub fn shown_bare(&self, plugin: &PluginName, tier: &TierName) -> Vec<decide::snapshot::Place> {
        let spot = (plugin.clone(), tier.clone());
        let unreadable = self.cannot_read(Unreadable::Files);
        let whose = self.bare.get(&spot).into_iter().flatten();
        let shown = |cluster: &Option<ClusterName>| decide::snapshot::Place {
            file: Place::file(&spot, cluster.as_ref()),
            cluster: cluster.clone(),
            version: Read::Unread(match unreadable {
                true => "the file does not answer".to_string(),
                false => "not installed yet".to_string(),
            }),
            range: None,
            vacant: !unreadable,
        };
        whose.map(shown).collect()
    }

    /// The clusters that have nothing to say of a plugin, as it was never there.
    pub fn silent(&self, plugin: &PluginName) -> impl Iterator<Item = (ClusterName, Vec<Reading>)> {
        let runs = |cluster: &ClusterName| self.running.contains_key(&(cluster.clone(), plugin.clone()));
        let silent = self.inventory.iter().map(|cluster| cluster.name.clone()).filter(move |name| !runs(name));
        silent.map(|cluster| (cluster, Vec::new()))
    }
}
