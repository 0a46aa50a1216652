//! The files of the base branch: what they hold, since when, and who wrote it. Files that are not there yet are
//! in `first`.

use decide::ClusterName;
use jiff::Timestamp;
use semver::Version;

use crate::world::{Spot, World};

/// One file of the base branch.
#[derive(Clone, Debug)]
pub struct Place {
    pub file: String,
    pub cluster: Option<ClusterName>,
    pub version: Version,
    /// Since when it holds that, and whether a merge of the bot brought it.
    pub since: Timestamp,
    pub by_bot: bool,
}

impl Place {
    pub fn new(spot: &Spot, cluster: Option<ClusterName>, version: Version, since: Timestamp, by_bot: bool) -> Self {
        Self { file: Self::file(spot, cluster.as_ref()), cluster, version, since, by_bot }
    }

    /// The path of a file, of a cluster or of the whole tier.
    pub fn file((plugin, tier): &Spot, cluster: Option<&ClusterName>) -> String {
        let whose = cluster.map_or(String::new(), |cluster| format!("-{cluster}"));
        format!("clusters/{tier}/{plugin}{whose}.yaml")
    }
}

impl World {
    /// The files of some clusters of a tier; one of the whole tier is everybody's.
    pub fn places_of<'a>(&'a self, spot: &Spot, members: &'a [ClusterName]) -> impl Iterator<Item = &'a Place> {
        let of = |place: &&Place| place.cluster.as_ref().is_none_or(|name| members.contains(name));
        self.base[spot].iter().filter(of)
    }

    /// Since when each of these clusters has held a version at one time or another.
    pub fn landed(&self, spot: &Spot, version: &Version, members: &[ClusterName]) -> Option<Timestamp> {
        if self.any_bare(spot, members) {
            return None;
        }
        let first =
            |place: &Place| self.first_held.get(&(spot.clone(), place.cluster.clone(), version.clone())).copied();
        let all: Option<Vec<Timestamp>> = self.places_of(spot, members).map(first).collect();
        // The files of who has left are gone; what they held is not.
        let gone = || {
            let held = |name: &ClusterName| (spot.clone(), Some(name.clone()), version.clone());
            members.iter().filter_map(|name| self.first_held.get(&held(name)).copied()).max()
        };
        all?.into_iter().max().or_else(gone)
    }

    /// The lowest version that the files of some clusters of a tier hold.
    pub fn lowest_of(&self, spot: &Spot, members: &[ClusterName]) -> Option<Version> {
        self.places_of(spot, members).map(|place| place.version.clone()).min()
    }

    /// The lowest version that a tier's files hold.
    pub fn from(&self, spot: &Spot) -> Option<Version> {
        self.base[spot].iter().map(|place| place.version.clone()).min()
    }

    /// Gives a cluster its own file, where the plugin has such files.
    pub fn place(&mut self, spot: &Spot, cluster: &ClusterName, version: Version) {
        if self.scenario.per_cluster.contains(&spot.0) {
            let place = Place::new(spot, Some(cluster.clone()), version, self.now, false);
            self.base.get_mut(spot).unwrap().push(place);
            self.note_versions(spot);
        }
    }

    /// Takes a cluster's own file away.
    pub fn displace(&mut self, spot: &Spot, cluster: &ClusterName) -> Option<Version> {
        let places = self.base.get_mut(spot)?;
        let index = places.iter().position(|place| place.cluster.as_ref() == Some(cluster))?;
        Some(places.remove(index).version)
    }

    pub fn note_versions(&mut self, spot: &Spot) {
        for place in &self.base[spot] {
            let key = (spot.clone(), place.cluster.clone(), place.version.clone());
            self.first_held.entry(key).or_insert(self.now);
        }
    }
}
