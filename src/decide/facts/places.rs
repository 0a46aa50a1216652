//! What the places of the base branch hold for the clusters of a tier.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Facts, Memo, follow};
use crate::clusters::Finder;
use crate::model::Tier;
use crate::snapshot::{Place, Read};
use crate::{ClusterName, PluginName, TierName, Version};

impl<'a> Facts<'a> {
    /// Every version that the base branch holds for a tier, each once.
    pub(crate) fn running(&self, tier: &Tier) -> Vec<Version> {
        let base = self.base(&tier.name);
        let ends = [base.lowest().cloned(), base.highest().cloned()].into_iter().flatten();
        let mut running: Vec<Version> = match self.everywhere(&tier.name) {
            Some(version) if self.policy.pins.is_empty() => [version].into_iter().chain(ends).collect(),
            Some(_) | None => {
                let places =
                    self.observed.and_then(|observed| observed.base.known()?.get(&tier.name)).into_iter().flatten();
                let mut held: Vec<&Version> = places.filter_map(|place| place.version.known()).collect();
                held.dedup(); // neighbours mostly hold the same
                held.into_iter().cloned().chain(ends).collect()
            }
        };
        running.sort();
        running.dedup();
        running
    }

    /// What the base branch says about a tier; pinned clusters left out.
    pub(crate) fn base(&self, tier: &TierName) -> Base {
        let known = |memo: &Memo| memo.bases.iter().find(|(known, _)| known == tier).map(|(_, base)| base.clone());
        let known = known(&self.memo.borrow());
        known.unwrap_or_else(|| {
            let base = self.base_of(self.plugin(), tier);
            self.memo.borrow_mut().bases.push((tier.clone(), base.clone()));
            base
        })
    }

    /// The tier, when it follows releases by itself.
    fn follows(&self, plugin: &PluginName, tier: &TierName) -> Option<&'a Tier> {
        let known = || self.snapshot.policy.plugins.iter().find(|policy| policy.name == *plugin);
        let policy = if *plugin == self.policy.name { self.policy } else { known()? };
        policy.tiers.iter().find(|known| known.follows && known.name == *tier)
    }

    /// What the base branch says about a tier of any plugin; what its clusters say where it follows
    /// releases by itself.
    pub(crate) fn base_of(&self, plugin: &PluginName, tier: &TierName) -> Base {
        if let Some(tier) = self.follows(plugin, tier) {
            return follow::base(self, plugin, tier);
        }
        let unread = |why: &str| Base::Unread(why.into());
        let Some(facts) = self.snapshot.plugins.get(plugin) else { return unread("this plugin was not looked at") };
        match &facts.base {
            Read::Known(_) if *plugin == self.policy.name => match self.everywhere(tier) {
                Some(version) if self.ahead.is_empty() => Base::Uniform(version),
                Some(_) | None => Base::of(&self.places(tier)),
            },
            Read::Known(places) => {
                Base::of(&self.places_elsewhere(plugin, places.get(tier).map_or(&[], Vec::as_slice)))
            }
            Read::Unread(why) => unread(why),
        }
    }

    /// The places of another plugin that may change: those of clusters that it pins are not asked for.
    fn places_elsewhere(&self, plugin: &PluginName, places: &'a [Place]) -> Vec<&'a Place> {
        let (pins, ahead) = self.apart_elsewhere(plugin);
        let apart = |name: &ClusterName| pins.contains_key(name) || ahead.contains(name);
        places.iter().filter(|place| !place.cluster.as_ref().is_some_and(apart)).collect()
    }

    /// The places that a tier's turn may change; none where they could not be read. Those of pinned
    /// clusters are none of ours, those of clusters ahead of the tier have moved.
    pub(crate) fn places(&self, tier: &TierName) -> Vec<&'a Place> {
        let turn = |place: &&Place| place.cluster.as_ref().is_none_or(|name| !self.ahead.contains(name));
        self.free_places(tier).filter(turn).collect()
    }

    /// The places of a tier that belong to these clusters, or to all of the tier.
    pub(crate) fn places_of(&self, tier: &TierName, clusters: &[ClusterName]) -> Vec<&'a Place> {
        let mut among = Finder::new(clusters);
        let of = |place: &&Place| place.cluster.as_ref().is_none_or(|name| among.has(name));
        self.free_places(tier).filter(of).collect()
    }

    fn free_places(&self, tier: &TierName) -> impl Iterator<Item = &'a Place> {
        let places = self.observed.and_then(|observed| observed.base.known()?.get(tier)).map_or(&[][..], Vec::as_slice);
        places.iter().filter(|place| place.cluster.as_ref().is_none_or(|name| self.pin(name).is_none()))
    }

    /// Whether it is known what the places of these clusters hold, be it that nothing is installed there.
    pub(crate) fn sees(&self, tier: &TierName, clusters: &[ClusterName]) -> bool {
        let places = self.places_of(tier, clusters);
        !places.is_empty() && places.iter().all(|place| place.vacant || place.version.known().is_some())
    }

    /// What the places of these clusters hold, or those of all of the tier.
    pub(crate) fn spread(&self, tier: &TierName, clusters: &[ClusterName]) -> Spread {
        // Where all is one, what some of it is needs no look at each.
        if let Some(version) = self.everywhere(tier).filter(|_| self.has_place(tier, clusters)) {
            return Spread::of([&version].into_iter());
        }
        let places = self.places_of(tier, clusters);
        let spread = Spread::of(places.iter().filter_map(|place| place.version.known()));
        Spread { places: places.len(), ..spread }
    }

    /// The version that every place of a tier spells alike, pinned ones left out.
    pub(crate) fn everywhere(&self, tier: &TierName) -> Option<Version> {
        let known = |memo: &Memo| memo.everywhere.iter().find(|(known, _)| known == tier).map(|(_, one)| one.clone());
        let known = known(&self.memo.borrow());
        known.unwrap_or_else(|| {
            let mut versions = self.free_places(tier).map(|place| place.version.known());
            let first = versions.next().flatten();
            let alike = |version: &Version| first.is_some_and(|first| first.as_str() == version.as_str());
            let one = first.filter(|_| versions.all(|version| version.is_some_and(alike))).cloned();
            self.memo.borrow_mut().everywhere.push((tier.clone(), one.clone()));
            one
        })
    }

    /// Whether the first place of a tier that may change is for one of these clusters, or for all: so it
    /// is mostly, and then nothing else has to be looked at.
    fn has_place(&self, tier: &TierName, clusters: &[ClusterName]) -> bool {
        let places = self.observed.and_then(|observed| observed.base.known()?.get(tier)).map_or(&[][..], Vec::as_slice);
        let of = |name: &ClusterName| self.pin(name).is_none() && clusters.first() == Some(name);
        places.first().is_some_and(|place| place.cluster.as_ref().is_none_or(of))
    }
}

/// What some places hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// How many places there are, also of those that could not be read.
    pub places: usize,
    /// How many of them could be read.
    pub read: usize,
    /// The oldest version that could be read.
    pub lowest: Option<Version>,
    /// The newest.
    pub highest: Option<Version>,
}

impl Spread {
    fn of<'a>(versions: impl Iterator<Item = &'a Version>) -> Self {
        let mut spread = Self::default();
        for version in versions {
            spread.read += 1;
            spread.lowest = spread.lowest.filter(|lowest| lowest <= version).or_else(|| Some(version.clone()));
            spread.highest = spread.highest.max(Some(version.clone()));
        }
        Self { places: spread.read, ..spread }
    }

    /// Whether there are places and all of them hold this version.
    pub(crate) fn is(&self, version: &Version) -> bool {
        let ends = [&self.lowest, &self.highest];
        self.read == self.places && ends.iter().all(|end| end.as_ref() == Some(version))
    }
}

/// What the base branch says about one tier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// It could not be read, and why.
    Unread(String),
    /// No place holds a version.
    Empty,
    /// Every place holds this one.
    Uniform(Version),
    /// Places differ; where the ends do not, nothing is installed on some of them.
    Mixed { lowest: Version, highest: Version },
}

impl Base {
    fn of(places: &[&Place]) -> Self {
        let mut versions = Vec::new();
        for place in places {
            match &place.version {
                Read::Known(version) => versions.push(version),
                Read::Unread(_) if place.vacant => {}
                Read::Unread(why) => return Self::Unread(alloc::format!("{}: {why}", place.file)),
            }
        }
        match Self::between(&versions) {
            // Not every cluster has it.
            Self::Uniform(version) if versions.len() < places.len() => {
                Self::Mixed { lowest: version.clone(), highest: version }
            }
            base @ (Self::Unread(_) | Self::Empty | Self::Uniform(_) | Self::Mixed { .. }) => base,
        }
    }

    /// What so many versions are together.
    pub(crate) fn between(versions: &[&Version]) -> Self {
        match (versions.iter().min(), versions.iter().max()) {
            (Some(&low), Some(&high)) if low == high => Self::Uniform(high.clone()),
            (Some(&lowest), Some(&highest)) => Self::Mixed { lowest: lowest.clone(), highest: highest.clone() },
            (None, _) | (_, None) => Self::Empty,
        }
    }

    /// The newest version that runs there.
    pub(crate) fn highest(&self) -> Option<&Version> {
        match self {
            Self::Unread(_) | Self::Empty => None,
            Self::Uniform(version) | Self::Mixed { highest: version, .. } => Some(version),
        }
    }

    /// The oldest version that runs there: what a wave starts from.
    pub(crate) fn lowest(&self) -> Option<&Version> {
        match self {
            Self::Unread(_) | Self::Empty => None,
            Self::Uniform(version) | Self::Mixed { lowest: version, .. } => Some(version),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::*;
    use alloc::string::ToString;

    #[test]
    fn a_spread_has_its_ends() {
        let of = |texts: &[&str]| Spread::of(texts.iter().map(|text| version(text)).collect::<Vec<_>>().iter());
        let ends = |texts: &[&str]| {
            let spread = of(texts);
            (spread.lowest.unwrap(), spread.highest.unwrap(), spread.read)
        };
        for order in [["1.0.0", "1.1.0", "1.2.0"], ["1.2.0", "1.0.0", "1.1.0"], ["1.1.0", "1.2.0", "1.0.0"]] {
            assert_eq!(ends(&order), (version("1.0.0"), version("1.2.0"), 3));
        }
        assert!(of(&["1.1.0", "1.1.0"]).is(&version("1.1.0")));
        assert!(!of(&["1.1.0", "1.0.0"]).is(&version("1.1.0")));
        assert!(!of(&[]).is(&version("1.1.0")), "no place holds nothing");
        let unread = Spread { places: 2, ..of(&["1.1.0"]) };
        assert!(!unread.is(&version("1.1.0")), "nobody knows what the other one holds");
    }

    /// bronze-1 has a place of its own, and bronze-2 has none.
    #[test]
    fn who_has_no_place_holds_nothing() {
        let mut world = ready();
        join(&mut world, "bronze-2", alloc::vec![healthy("1.0.0")]);
        let (bronze, mut places) = place("bronze", "1.0.0");
        places[0].cluster = Some("bronze-1".into());
        facts(&mut world).base = Read::Known([place("qa", "1.1.0"), (bronze, places)].into());
        let shared = &mut crate::facts::Shared::count(&world, noon());
        let common = crate::facts::Common::of(&world, noon());
        let facts = Facts::new(&common, 0, shared);
        let spread = |names: &[&str]| {
            let names: Vec<ClusterName> = names.iter().map(|name| (*name).into()).collect();
            facts.spread(&"bronze".into(), &names).places
        };
        assert_eq!([spread(&["bronze-1"]), spread(&["bronze-2"]), spread(&[])], [1, 0, 0]);
        assert_eq!(spread(&["bronze-1", "bronze-2"]), 1);
    }

    /// What could not be read on one place is known on none.
    #[test]
    fn a_place_that_cannot_be_read_counts() {
        let mut world = ready();
        join(&mut world, "bronze-2", alloc::vec![healthy("1.0.0")]);
        own_places(&mut world, &[("bronze-1", "1.0.0"), ("bronze-2", "1.0.0")]);
        match &mut facts(&mut world).base {
            Read::Known(base) => base.get_mut(&"bronze".into()).unwrap()[1].version = Read::Unread("no YAML".into()),
            Read::Unread(_) => unreachable!(),
        }
        let shared = &mut crate::facts::Shared::count(&world, noon());
        let common = crate::facts::Common::of(&world, noon());
        let facts = Facts::new(&common, 0, shared);
        let spread = facts.spread(&"bronze".into(), &["bronze-1".into(), "bronze-2".into()]);
        assert_eq!((spread.places, spread.read, spread.is(&version("1.0.0"))), (2, 1, false));
        let unread = Base::Unread("clusters/bronze-2/app.yaml: no YAML".into());
        assert_eq!(facts.base(&"bronze".into()), unread, "it is not one on which nothing is installed");
    }

    /// Of a tier of which all are ahead nobody takes the turn, whatever all of them run.
    #[test]
    fn who_is_ahead_does_not_show_in_what_the_turn_runs() {
        let runs = |ahead: bool| {
            let mut world = ready();
            own_places(&mut world, &[("bronze-1", "1.0.0")]);
            let match_labels = [("tier".to_string(), "bronze".to_string())].into();
            let select = crate::selector::Selector { match_labels, match_expressions: Vec::new() };
            bronze(&mut world).early.extend(ahead.then_some(crate::model::Early { select, until: None }));
            let shared = &mut crate::facts::Shared::count(&world, noon());
            let common = crate::facts::Common::of(&world, noon());
            let facts = Facts::new(&common, 0, shared);
            facts.base(&"bronze".into())
        };
        assert_eq!([runs(false), runs(true)], [Base::Uniform(version("1.0.0")), Base::Empty]);
    }
}
