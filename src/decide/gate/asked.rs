//! What a gate is asked about: a release that may come to a tier, or a wave with its open pull request and how that one
//! stands to it.

use crate::facts::Facts;
use crate::ledger::{Part, Purpose, Wave};
use crate::model::Tier;
use crate::plan::Identity;
use crate::snapshot::Pull;
use crate::{ClusterName, Version};

/// A release that may come to a tier.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub facts: &'a Facts<'a>,
    pub tier_index: usize,
    pub tier: &'a Tier,
    pub version: &'a Version,
    /// For which clusters, where they are ahead of the tier.
    pub early: Option<&'a [ClusterName]>,
}

/// A wave with its open pull request.
#[derive(Clone, Copy)]
pub(crate) struct AskedOpen<'a> {
    pub facts: &'a Facts<'a>,
    pub tier_index: usize,
    pub tier: &'a Tier,
    pub wave: &'a Wave,
    pub pull: &'a Pull,
    pub status: &'a PullStatus,
}

/// How a pull request stands to its wave: whose commit it holds, who would merge it.
pub(crate) struct PullStatus {
    /// The head is the commit of this wave.
    pub current: bool,
    /// The head is an older commit of ours that waits to be replaced.
    pub stale: bool,
    /// People added to the commit of this wave, and left every version as it is.
    pub added: bool,
    /// Anybody's valid approval lies on it.
    pub approved_by_anybody: bool,
    /// Somebody holds it.
    pub held: bool,
    /// It would move clusters that have left the tier or were pinned since.
    pub outgrown: bool,
    /// It has to be written anew: stale, outgrown, or in conflict with the base.
    pub rewrite: bool,
    /// Who would ask for the merge.
    pub identity: Identity,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(facts: &'a Facts<'a>, tier_index: usize, version: &'a Version) -> Self {
        Self { facts, tier_index, tier: &facts.policy.tiers[tier_index], version, early: None }
    }

    /// The same for clusters that move as such a part of a climb.
    pub(crate) fn of_part(self, part: &Part, clusters: &'a [ClusterName]) -> Self {
        let early = match part.purpose {
            Purpose::Early => Some(clusters),
            Purpose::Promotion | Purpose::CatchUp | Purpose::RollBack { .. } => None,
        };
        Self { early, ..self }
    }
}

impl PullStatus {
    /// Whether the bot wrote what the branch holds.
    pub(crate) fn ours(&self) -> bool {
        self.current || self.stale
    }
}
