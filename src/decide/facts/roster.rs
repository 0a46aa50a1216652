//! Whom a tier has now: those that it selects without pinned ones, and whose turn it is. What selectors
//! find is in `fleet`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use jiff::Timestamp;

use super::Facts;
use crate::clusters::Finder;
use crate::fleet::Fleet;
use crate::model::{Early, Empty, Pin, PluginPolicy, Tier};
use crate::plan::Pinned;
use crate::selector::Labels;
use crate::snapshot::Snapshot;
use crate::{ClusterName, Clusters, PluginName, TierName};

impl<'a> Facts<'a> {
    /// Whether releases pass a tier as if they had finished it: it has no cluster at all, and the policy
    /// says so. A tier that only has pinned clusters has some.
    pub(crate) fn is_passed(&self, tier: &Tier) -> bool {
        match tier.empty {
            Empty::Error => false,
            Empty::Pass => {
                self.snapshot.clusters.known().is_some() && self.fleet.selected(self.snapshot, &tier.select).is_empty()
            }
        }
    }

    /// The first tier below this one that has clusters: what only passes tiers without any has run nowhere. Where
    /// there is none, this tier is the first that runs anything.
    pub(crate) fn first_with_clusters(&self, tier_index: usize) -> usize {
        let mut below = self.policy.tiers.iter().take(tier_index);
        below.position(|tier| !self.is_passed(tier)).unwrap_or(0)
    }

    /// A cluster that this tier selects and another one, too, with both.
    pub(crate) fn in_two_tiers(&self, tier: &Tier) -> Option<(ClusterName, Vec<TierName>)> {
        if !self.fleet.overlap(self.at) {
            return None;
        }
        let clusters = self.snapshot.clusters.known()?;
        clusters.iter().filter(|cluster| tier.select.matches(&cluster.labels)).find_map(|cluster| {
            let tiers = self.policy.tiers.iter().filter(|tier| tier.select.matches(&cluster.labels));
            let tiers: Vec<TierName> = tiers.map(|tier| tier.name.clone()).collect();
            (tiers.len() > 1).then(|| (cluster.name.clone(), tiers))
        })
    }

    /// What keeps a cluster on its version: the first pin that selects it and still holds.
    pub(crate) fn pin(&self, name: &ClusterName) -> Option<&'a Pin> {
        self.pinned.get(name).copied()
    }

    /// The clusters whose turn is the tier's, in the order of their names: those that it selects now,
    /// without pinned ones and those that are ahead.
    pub(crate) fn selected(&self, tier: &Tier) -> Option<Clusters> {
        match self.tier_index(tier) {
            Some(at) => self.snapshot.clusters.known().and_then(|_| self.selected.get(at)).cloned(),
            None => Some(without(&self.present(tier)?, |name| self.ahead.contains(name))),
        }
    }

    /// The same of a tier of any plugin: whom that one keeps apart is left out, and not whom this one does.
    pub(crate) fn selected_of(&self, plugin: &PluginName, tier: &Tier) -> Option<Clusters> {
        if *plugin == self.policy.name {
            return self.selected(tier);
        }
        self.snapshot.clusters.known()?;
        let (pins, ahead) = self.apart_elsewhere(plugin);
        let apart = |name: &ClusterName| pins.contains_key(name) || ahead.contains(name);
        Some(without(&self.fleet.selected(self.snapshot, &tier.select), apart))
    }

    /// The clusters that another plugin pins, and those that are ahead of a tier of it.
    pub(super) fn apart_elsewhere(&self, plugin: &PluginName) -> (Pins<'a>, BTreeSet<ClusterName>) {
        let policy = self.snapshot.policy.plugins.iter().find(|policy| policy.name == *plugin);
        let pins = policy.map(|policy| pinned(self.snapshot, self.fleet, policy, self.now));
        let ahead = policy.map(|policy| ahead(self.snapshot, self.fleet, policy, self.now));
        (pins.unwrap_or_default(), ahead.unwrap_or_default())
    }

    /// The clusters of a tier that are ahead of it now, in the order of their names.
    pub(crate) fn ahead(&self, tier: &Tier) -> Clusters {
        let present = self.present(tier).filter(|_| !self.ahead.is_empty()).unwrap_or_default();
        without(&present, |name| !self.ahead.contains(name))
    }

    /// The clusters that a tier selects now, in the order of their names; pinned ones left out.
    fn present(&self, tier: &Tier) -> Option<Clusters> {
        self.snapshot.clusters.known()?;
        Some(match self.tier_index(tier) {
            Some(at) => self.present.get(at)?.clone(),
            None => without(&self.fleet.selected(self.snapshot, &tier.select), |name| self.pin(name).is_some()),
        })
    }

    /// Which tier of this plugin it is; none of another's.
    fn tier_index(&self, tier: &Tier) -> Option<usize> {
        self.policy.tiers.iter().position(|known| known.name == tier.name && known.select == tier.select)
    }

    /// The pinned clusters of a tier, in the order of their names.
    pub(crate) fn pinned_of(&self, tier: &Tier) -> Vec<Pinned> {
        if self.pinned.is_empty() {
            return Vec::new();
        }
        let of_tier = |name: &ClusterName| self.labels(name).is_some_and(|labels| tier.select.matches(labels));
        let places = self.observed.and_then(|observed| observed.base.known()?.get(&tier.name)).into_iter().flatten();
        let there = |name: &ClusterName| {
            let mut own = places.clone().filter(|place| place.cluster.as_ref() == Some(name));
            own.find_map(|place| place.version.known().cloned())
        };
        let shown = |(name, pin): (&ClusterName, &&Pin)| Pinned {
            cluster: name.clone(),
            version: pin.version.clone().or_else(|| there(name)),
            until: pin.until,
            why: pin.why.clone(),
        };
        self.pinned.iter().filter(|(name, _)| of_tier(name)).map(shown).collect()
    }

    /// What selectors see of a cluster.
    pub(crate) fn labels(&self, name: &ClusterName) -> Option<&'a Labels> {
        self.fleet.labels(self.snapshot, name)
    }

    /// Those of a wave's clusters that the tier still has, while the inventory can be read. Who left,
    /// or was pinned since, counts no more.
    pub(crate) fn still(&self, tier: &Tier, clusters: &Clusters) -> Clusters {
        // An inventory without any cluster is a broken one; nobody is said to have left by it.
        let some = self.snapshot.clusters.known().is_some_and(|clusters| !clusters.is_empty());
        let Some(here) = self.present(tier).filter(|_| some) else { return clusters.clone() };
        let same = |(tier, asked, _): &&(Clusters, Clusters, Clusters)| tier.is(&here) && asked.is(clusters);
        let known = self.memo.borrow().still.iter().find(same).map(|(_, _, still)| still.clone());
        known.unwrap_or_else(|| {
            let still = among(&here, clusters);
            self.memo.borrow_mut().still.push((here, clusters.clone(), still.clone()));
            still
        })
    }
}

/// Those of some clusters that are here, in their own order.
fn among(here: &Clusters, clusters: &Clusters) -> Clusters {
    if here == clusters {
        return clusters.clone();
    }
    let mut here = Finder::new(here);
    let there: Vec<bool> = clusters.iter().map(|name| here.has(name)).collect();
    if there.iter().all(|there| *there) {
        return clusters.clone();
    }
    clusters.iter().zip(there).filter(|(_, there)| *there).map(|(name, _)| name.clone()).collect()
}

/// Clusters that stay on a version.
pub(super) type Pins<'a> = BTreeMap<ClusterName, &'a Pin>;

pub(super) fn ahead(
    snapshot: &Snapshot,
    fleet: &Fleet,
    policy: &PluginPolicy,
    now: Timestamp,
) -> BTreeSet<ClusterName> {
    let holds = |early: &&Early| early.until.is_none_or(|until| now < until);
    let mut ahead = BTreeSet::new();
    for tier in policy.tiers.iter().skip(1).filter(|tier| !tier.early.is_empty()) {
        let early = |name: &&ClusterName| {
            let labels = fleet.labels(snapshot, name);
            labels.is_some_and(|labels| tier.early.iter().filter(holds).any(|early| early.select.matches(labels)))
        };
        ahead.extend(fleet.selected(snapshot, &tier.select).iter().filter(early).cloned());
    }
    ahead
}

pub(super) fn pinned<'a>(snapshot: &Snapshot, fleet: &Fleet, policy: &'a PluginPolicy, now: Timestamp) -> Pins<'a> {
    let holds = |pin: &&Pin| pin.until.is_none_or(|until| now < until);
    let mut pinned = BTreeMap::new();
    // The first one that selects a cluster counts.
    for pin in policy.pins.iter().filter(holds).rev() {
        pinned.extend(fleet.selected(snapshot, &pin.select).iter().map(|name| (name.clone(), pin)));
    }
    pinned
}

/// The others of some clusters, in their order.
pub(super) fn without(clusters: &Clusters, is: impl Fn(&ClusterName) -> bool) -> Clusters {
    if !clusters.iter().any(&is) {
        return clusters.clone();
    }
    clusters.iter().filter(|name| !is(name)).cloned().collect()
}
