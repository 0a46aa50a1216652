//! Which clusters a place of a file moves, and so whose it is. What a document says of that is read in `edit`.

use std::collections::BTreeSet;

use decide::selector::Labels;
use decide::{ClusterName, Tier};

use crate::edit::Refusal;
use crate::edit::find::{Found, Reach};
use crate::inventory::ListedCluster;

/// The fleet as one plugin sees it.
#[derive(Clone, Copy)]
pub(super) struct Fleet<'a> {
    /// All clusters of the inventory.
    pub clusters: &'a [ListedCluster],
    /// Their names.
    pub names: &'a BTreeSet<&'a str>,
    /// The plugin's ladder.
    pub tiers: &'a [Tier],
}

/// Whose a place has to be.
pub(super) struct Whose<'a> {
    /// The clusters: the members of a tier, or one of them.
    pub members: BTreeSet<&'a ClusterName>,
    /// The policy gives them the whole file: by its name, by its branch, or since nobody else is there.
    pub captured: bool,
}

/// A place that is theirs.
pub(super) struct Theirs {
    /// The place.
    pub found: Found,
    /// The clusters that it moves, where it says so.
    pub moves: Option<BTreeSet<ClusterName>>,
}

impl Fleet<'_> {
    /// The members of a tier.
    pub fn members(&self, tier: &Tier) -> BTreeSet<&ClusterName> {
        let of = self.clusters.iter().filter(|cluster| tier.select.matches(&cluster.labels));
        of.map(|cluster| &cluster.name).collect()
    }

    /// The clusters that a value moves; none where it does not say. `everyone`: whether all clusters that a
    /// controller knows are those of the inventory.
    pub fn moved(&self, reach: &Reach, everyone: bool) -> Option<BTreeSet<ClusterName>> {
        let all = |parts: &[Reach]| -> Vec<Option<BTreeSet<ClusterName>>> {
            parts.iter().map(|part| self.moved(part, everyone)).collect()
        };
        match reach {
            Reach::Unsaid => None,
            Reach::Everyone => everyone.then(|| self.clusters.iter().map(|cluster| cluster.name.clone()).collect()),
            Reach::Selected(selector) => {
                let chosen = self.clusters.iter().filter(|cluster| selector.matches(&cluster.labels));
                Some(chosen.map(|cluster| cluster.name.clone()).collect())
            }
            Reach::Named(names) => self.named(names),
            Reach::Labelled(labels) => self.labelled(labels),
            Reach::Both(parts) => {
                let said = all(parts).into_iter().flatten();
                said.reduce(|all, part| all.intersection(&part).cloned().collect())
            }
            Reach::Either(parts) => {
                let said: Option<Vec<_>> = all(parts).into_iter().collect();
                said.filter(|said| !said.is_empty()).map(|said| said.into_iter().flatten().collect())
            }
            Reach::Without(part, winners) => {
                let won: BTreeSet<ClusterName> = all(winners).into_iter().flatten().flatten().collect();
                self.moved(part, true).map(|part| part.difference(&won).cloned().collect())
            }
        }
    }

    /// Names of clusters win over names of tiers.
    fn named(&self, names: &[String]) -> Option<BTreeSet<ClusterName>> {
        let known = names.iter().filter(|name| self.names.contains(name.as_str()));
        let clusters: BTreeSet<ClusterName> = known.map(|name| ClusterName::from(name.as_str())).collect();
        if !clusters.is_empty() {
            return Some(clusters);
        }
        let mut tiers = self.tiers.iter().filter(|tier| names.iter().any(|name| name == tier.name.as_str())).peekable();
        tiers.peek()?;
        Some(tiers.flat_map(|tier| self.members(tier)).cloned().collect())
    }

    /// Tiers whose selector asks for a label that stands there, and is content with all of them.
    fn labelled(&self, labels: &Labels) -> Option<BTreeSet<ClusterName>> {
        let asks = |tier: &&Tier| {
            let keys = tier.select.match_labels.keys();
            let more = tier.select.match_expressions.iter().map(|expression| &expression.key);
            keys.chain(more).any(|key| labels.contains_key(key)) && tier.select.matches(labels)
        };
        let mut tiers = self.tiers.iter().filter(asks).peekable();
        tiers.peek()?;
        Some(tiers.flat_map(|tier| self.members(tier)).cloned().collect())
    }

    /// What a place that the policy names moves.
    ///
    /// # Errors
    /// Where it moves others, too, or only others.
    pub fn allow(&self, reach: &Reach, whose: &Whose<'_>) -> Result<Option<BTreeSet<ClusterName>>, Refusal> {
        // A selector may know labels that the inventory does not; the policy's word stands then.
        let Some(moved) = self.moved(reach, false).filter(|moved| !moved.is_empty()) else { return Ok(None) };
        let others = whose.others(&moved);
        match (others.is_empty(), others.len() < moved.len()) {
            (true, _) => Ok(Some(moved)),
            (false, true) => Err(Refusal::MovesOthers { others }),
            (false, false) => Err(Refusal::MovesOnlyOthers { others }),
        }
    }

    /// Those of the places found that are theirs, at least one.
    ///
    /// # Errors
    /// Where none is, where one moves others, too, or where it is not clear which is meant.
    pub fn choose(&self, all: Vec<Found>, whose: &Whose<'_>, chart: &str) -> Result<Vec<Theirs>, Refusal> {
        let none = all.is_empty();
        let (mut theirs, mut elsewhere, mut unsaid) = (Vec::new(), BTreeSet::new(), false);
        for found in all {
            let moves = self.moved(&found.reach, !whose.captured);
            let Some(moved) = moves.as_ref().filter(|moved| !whose.captured || !moved.is_empty()) else {
                unsaid = true;
                if whose.captured {
                    theirs.push(Theirs { found, moves: None });
                }
                continue;
            };
            let others = whose.others(moved);
            if !others.is_empty() && others.len() < moved.len() {
                return Err(Refusal::MovesOthers { others });
            }
            if others.is_empty() && !moved.is_empty() {
                theirs.push(Theirs { found, moves });
            } else {
                elsewhere.extend(others);
            }
        }
        let chart = chart.to_string();
        if theirs.is_empty() {
            return Err(match (elsewhere.is_empty(), unsaid) {
                (false, _) => Refusal::MovesOnlyOthers { others: elsewhere.into_iter().collect() },
                (true, true) => Refusal::SharedByAll { chart },
                (true, false) if none => Refusal::NoPlace { chart },
                (true, false) => Refusal::MovesNobody,
            });
        }
        if theirs.len() > 1 && theirs.iter().any(|one| one.moves.is_none()) {
            let paths = theirs.into_iter().map(|one| one.found.scalar.path).collect();
            return Err(Refusal::SeveralPlaces { chart, paths });
        }
        Ok(theirs)
    }
}

impl Whose<'_> {
    fn others(&self, moved: &BTreeSet<ClusterName>) -> Vec<String> {
        moved.iter().filter(|name| !self.members.contains(name)).map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests;
