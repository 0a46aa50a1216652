//! The inventory as selectors see it: which clusters each tier of the policy selects, worked out once
//! for all plugins. Whom pins take out of that is in `facts`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::selector::{Labels, Selector};
use crate::snapshot::{Cluster, Snapshot};
use crate::{ClusterName, Clusters};

/// What the selectors of one policy find in one inventory.
#[derive(Default)]
pub(crate) struct Fleet {
    /// Places in the inventory, in the order of the names.
    by_name: Vec<usize>,
    /// Each selector of a tier or a pin once, and whom it selects in the order of their names.
    found: Vec<(Selector, Clusters)>,
    /// Which of them each tier of each plugin asks for, in the order of the file.
    tiers: Vec<Vec<usize>>,
    /// Whether two tiers of a plugin have a cluster in common, in the order of the file.
    overlaps: Vec<bool>,
}

impl Fleet {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let clusters = snapshot.clusters.known().map_or(&[][..], Vec::as_slice);
        let mut by_name: Vec<usize> = (0..clusters.len()).collect();
        by_name.sort_by(|a, b| clusters[*a].name.cmp(&clusters[*b].name));
        let mut fleet = Self { by_name, ..Self::default() };
        // Plugins mostly share their ladder: each two selectors are compared once.
        let mut compared: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        for plugin in &snapshot.policy.plugins {
            let tiers: Vec<usize> = plugin.tiers.iter().map(|tier| fleet.add(clusters, &tier.select)).collect();
            let mut overlaps = false;
            for (at, a) in tiers.iter().enumerate() {
                for b in tiers.iter().skip(at + 1) {
                    let meet = || meet(&fleet.found[*a].1, &fleet.found[*b].1);
                    overlaps |= *compared.entry((*a, *b)).or_insert_with(meet);
                }
            }
            fleet.tiers.push(tiers);
            fleet.overlaps.push(overlaps);
            for pin in &plugin.pins {
                fleet.add(clusters, &pin.select);
            }
        }
        fleet
    }

    /// Whom each tier of a plugin selects, by the plugin's place in the file.
    pub(crate) fn of_tiers(&self, plugin: usize) -> impl Iterator<Item = &Clusters> {
        self.tiers.get(plugin).into_iter().flatten().map(|at| &self.found[*at].1)
    }

    /// Whether two tiers of a plugin have a cluster in common.
    pub(crate) fn overlap(&self, plugin: usize) -> bool {
        self.overlaps.get(plugin).is_none_or(|overlaps| *overlaps)
    }

    fn add(&mut self, clusters: &[Cluster], select: &Selector) -> usize {
        self.place(select).unwrap_or_else(|| {
            self.found.push((select.clone(), self.look(clusters, select)));
            self.found.len() - 1
        })
    }

    fn look(&self, clusters: &[Cluster], select: &Selector) -> Clusters {
        let selected = self.by_name.iter().map(|at| &clusters[*at]);
        let selected = selected.filter(|cluster| select.matches(&cluster.labels));
        selected.map(|cluster| cluster.name.clone()).collect()
    }

    fn place(&self, select: &Selector) -> Option<usize> {
        self.found.iter().position(|(known, _)| known == select)
    }

    /// Whom a selector selects, in the order of their names; nobody while the inventory was not read.
    pub(crate) fn selected(&self, snapshot: &Snapshot, select: &Selector) -> Clusters {
        match self.place(select) {
            Some(at) => self.found[at].1.clone(),
            None => self.look(snapshot.clusters.known().map_or(&[], Vec::as_slice), select),
        }
    }

    /// What selectors see of a cluster.
    pub(crate) fn labels<'a>(&self, snapshot: &'a Snapshot, name: &ClusterName) -> Option<&'a Labels> {
        let clusters = snapshot.clusters.known()?;
        let at = self.by_name.partition_point(|at| clusters[*at].name < *name);
        let cluster = clusters.get(*self.by_name.get(at)?).filter(|cluster| cluster.name == *name)?;
        Some(&cluster.labels)
    }
}

/// Whether two lists in the order of their names have one in common.
fn meet(one: &[ClusterName], other: &[ClusterName]) -> bool {
    let mut rest = other.iter().peekable();
    one.iter().any(|name| {
        while rest.next_if(|there| *there < name).is_some() {}
        rest.peek() == Some(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PluginPolicy;
    use crate::testing::*;

    #[test]
    fn two_lists_meet_where_they_have_one_in_common() {
        let list = |names: &[&str]| -> Vec<ClusterName> { names.iter().map(|name| (*name).into()).collect() };
        for (one, other, expected) in [
            (&["a", "c"][..], &["b", "c"][..], true),
            (&["a", "c"], &["a", "b"], true),
            (&["b"], &["a", "b", "c"], true),
            (&["a", "c"], &["b", "d"], false),
            (&["c"], &["a", "b"], false),
            (&[], &["a"], false),
            (&["a"], &[], false),
        ] {
            assert_eq!(meet(&list(one), &list(other)), expected, "{one:?} and {other:?}");
        }
    }

    /// Plugins mostly share their ladder.
    #[test]
    fn each_selector_is_looked_up_once() {
        let mut world = ready();
        let dns = PluginPolicy { name: "dns".into(), ..world.policy.plugins[0].clone() };
        world.policy.plugins.push(dns);
        let fleet = Fleet::of(&world);
        assert_eq!(fleet.found.len(), 2, "qa and bronze");
        assert_eq!((fleet.overlap(0), fleet.overlap(1)), (false, false));
        // The second ladder names one tier twice.
        let twice = crate::Tier { name: "again".into(), ..world.policy.plugins[1].tiers[0].clone() };
        world.policy.plugins[1].tiers.push(twice);
        let fleet = Fleet::of(&world);
        assert_eq!((fleet.overlap(0), fleet.overlap(1)), (false, true));
    }
}
