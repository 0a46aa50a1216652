//! What the policy of a world asks for at this moment: who merges, which versions it takes, whom it pins.

use std::collections::BTreeSet;

use decide::ledger::Purpose;
use decide::model::{Merge, OnFailure, Tier};
use decide::snapshot::{Read, ReviewDecision, UnmetRule};
use decide::{ClusterName, Person, PluginName};
use jiff::Timestamp;
use semver::Version;

use crate::pulls::OWNERS;
use crate::releases::{inside, to_be_left};
use crate::scenario::Unreadable;
use crate::world::{Spot, World};

impl World {
    /// The team that a tier may name: in these worlds the owners are it.
    pub fn team(&self) -> Read<BTreeSet<Person>> {
        match self.cannot_read(Unreadable::Owners) {
            true => Read::Unread("the team is secret".to_string()),
            false => Read::Known(OWNERS.iter().map(|owner| Person::from(*owner)).collect()),
        }
    }

    /// The failed release that a pull request takes back, if it is a rollback.
    pub fn purpose(&self, number: u64) -> Option<decide::Version> {
        let pull = self.pulls.iter().find(|pull| pull.number == number)?;
        match &self.written.get(pull.bot_heads.last()?)?.part.purpose {
            Purpose::RollBack { of } => Some(of.clone()),
            Purpose::Promotion | Purpose::CatchUp | Purpose::Early => None,
        }
    }

    /// Whether a pull request moves clusters ahead of their tier's turn.
    pub fn is_early(&self, number: u64) -> bool {
        let pull = self.pulls.iter().find(|pull| pull.number == number);
        let head = pull.and_then(|pull| self.written.get(pull.bot_heads.last()?));
        head.is_some_and(|commit| commit.part.purpose == Purpose::Early)
    }

    /// Whether the file pins a cluster for a plugin at this moment.
    pub fn is_pinned(&self, plugin: &PluginName, cluster: &ClusterName) -> bool {
        let policy = self.policy.plugins.iter().find(|known| known.name == *plugin).unwrap();
        policy.pins.iter().any(|pin| holds(pin, cluster, self.ours()))
    }

    /// Who merges a pull request, by the policy.
    pub fn rule_of(&self, number: u64) -> Merge {
        let Some(pull) = self.pulls.iter().find(|pull| pull.number == number) else { return Merge::Manual };
        let tier = self.tier(&pull.spot);
        match self.purpose(number) {
            Some(_) => takes_back(tier),
            None => who_merges(tier, self.lowest_of(&pull.spot, &pull.members).as_ref(), &pull.bot_version),
        }
    }

    /// Versions that the policy takes: inside the constraint, no pre-release unless asked for, none that is to be
    /// left.
    pub fn accepted(&self, plugin: &PluginName) -> Vec<Version> {
        let policy = self.policy.plugins.iter().find(|known| known.name == *plugin).unwrap();
        let taken = |version: &&Version| {
            policy.constraint.as_ref().is_none_or(|all| inside(all, version))
                && !to_be_left(policy, version, self.ours())
        };
        let pre = policy.prereleases;
        let releases = self.releases[plugin].values().filter(|release| !release.yanked);
        let versions = releases.map(|release| &release.version).filter(|version| pre || version.pre.is_empty());
        versions.filter(taken).cloned().collect()
    }

    pub fn tier(&self, spot: &Spot) -> &Tier {
        let plugin = self.policy.plugins.iter().find(|plugin| plugin.name == spot.0).unwrap();
        plugin.tiers.iter().find(|tier| tier.name == spot.1).unwrap()
    }

    /// Whether a fault that lasts until some instant still lasts.
    pub fn lasts(&self, until: Option<Timestamp>) -> bool {
        until.is_some_and(|until| self.now < until)
    }
}

/// Whether a pin of these worlds, which names one cluster, holds it at an instant.
pub fn holds(pin: &decide::model::Pin, cluster: &ClusterName, now: Timestamp) -> bool {
    pin.until.is_none_or(|until| now < until)
        && pin.select.match_labels.get("name").is_some_and(|name| name == cluster.as_str())
}

/// The tier's merge rule for a step, by the numbers that change.
fn who_merges(tier: &Tier, from: Option<&Version>, to: &Version) -> Merge {
    let Some(from) = from else { return tier.merge.major };
    if from.major != to.major {
        tier.merge.major
    } else if from.minor != to.minor {
        tier.merge.minor
    } else {
        tier.merge.patch
    }
}

/// Who merges the way back from a failed release.
fn takes_back(tier: &Tier) -> Merge {
    match tier.on_failure {
        OnFailure::RollBack { merge } => merge,
        OnFailure::Hold | OnFailure::Stall => Merge::Manual,
    }
}

/// What of the rules that are not met is shown once nobody's review is missing.
pub fn lacks(decision: ReviewDecision, unmet: Read<Vec<UnmetRule>>) -> Vec<UnmetRule> {
    let reviewed = matches!(decision, ReviewDecision::NotRequired | ReviewDecision::Approved);
    let unmet = unmet.known().cloned().unwrap_or_default();
    unmet.into_iter().filter(|one| reviewed && one.rule == "pull_request").collect()
}
