//! A list of clusters that is fixed once and then only handed on. Which clusters a tier selects is in
//! `fleet`.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ClusterName;

/// Clusters in an order that somebody fixed. A copy shares the list.
#[derive(Clone, Debug, Eq)]
pub struct Clusters(Arc<[ClusterName]>);

impl Clusters {
    /// Whether two are one and the same list in memory: the cheap yes before a comparison.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Clusters {
    type Target = [ClusterName];

    fn deref(&self) -> &[ClusterName] {
        &self.0
    }
}

impl PartialEq for Clusters {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || self.0 == other.0
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

impl From<Vec<ClusterName>> for Clusters {
    fn from(names: Vec<ClusterName>) -> Self {
        Self(names.into())
    }
}

impl From<&[ClusterName]> for Clusters {
    fn from(names: &[ClusterName]) -> Self {
        Self(names.into())
    }
}

impl FromIterator<ClusterName> for Clusters {
    fn from_iter<T: IntoIterator<Item = ClusterName>>(names: T) -> Self {
        Self(names.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Clusters {
    type Item = &'a ClusterName;
    type IntoIter = core::slice::Iter<'a, ClusterName>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Serialize for Clusters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Clusters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

/// Finds names in a list. Who asks for them in about the order of the list finds each at once; a name
/// out of order is searched for.
pub(crate) struct Finder<'a> {
    names: &'a [ClusterName],
    /// Places in the list in the order of the names; made when a name was not where it was guessed.
    sorted: Vec<usize>,
    next: usize,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(names: &'a [ClusterName]) -> Self {
        Self { names, sorted: Vec::new(), next: 0 }
    }

    /// Whether the list has the name.
    pub(crate) fn has(&mut self, name: &ClusterName) -> bool {
        self.find(name).is_some()
    }

    /// Where the list has the name.
    pub(crate) fn find(&mut self, name: &ClusterName) -> Option<usize> {
        if self.names.get(self.next) != Some(name) {
            self.next = self.search(name)?;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    fn search(&mut self, name: &ClusterName) -> Option<usize> {
        if self.sorted.is_empty() {
            self.sorted = (0..self.names.len()).collect();
            self.sorted.sort_by(|a, b| self.names[*a].cmp(&self.names[*b]));
        }
        let found = self.sorted.binary_search_by(|at| self.names[*at].cmp(name)).ok()?;
        self.sorted.get(found).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn names(names: &[&str]) -> Vec<ClusterName> {
        names.iter().map(|name| (*name).into()).collect()
    }

    #[test]
    fn two_lists_are_equal_when_they_name_the_same_in_the_same_order() {
        let list = |all: &[&str]| Clusters::from(names(all));
        assert_eq!(list(&["a", "b"]), list(&["a", "b"]));
        assert_ne!(list(&["a", "b"]), list(&["b", "a"]));
        assert_ne!(list(&["a", "b"]), list(&["a"]));
    }

    #[test]
    fn a_name_is_found_at_its_place_in_whatever_order_one_asks() {
        let all = names(&["b", "d", "a", "c"]);
        let mut finder = Finder::new(&all);
        let asked = ["b", "d", "a", "c", "c", "x", "b", "a", "x", "d"];
        let found: Vec<Option<usize>> = asked.iter().map(|name| finder.find(&(*name).into())).collect();
        let expected = [0, 1, 2, 3, 3, 9, 0, 2, 9, 1].map(|at| (at < 9).then_some(at));
        assert_eq!(found, expected);
        assert_eq!(vec![finder.has(&"d".into()), finder.has(&"x".into())], [true, false]);
    }
}
