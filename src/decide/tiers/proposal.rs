//! What a pull request shall contain. Whether there is to be one is decided in `tiers`.

use crate::facts::Facts;
use crate::ledger::{Head, Wave};
use crate::plan::Proposal;
use crate::slice::{self, Portion};
use crate::{Version, source};

/// What the pull request of a wave shall contain once more; members stay who they were when it was
/// begun, except for those who have left. `written`: the commit is there and is good.
pub(super) fn again(facts: &Facts<'_>, tier_index: usize, wave: &Wave, written: bool) -> Proposal {
    let members = facts.still(&facts.policy.tiers[tier_index], &wave.own());
    let members = if written { wave.members.clone() } else { members };
    let portion = Portion { part: wave.part.clone(), members };
    let proposal = proposal(facts, tier_index, wave.version.clone(), portion, wave.head().filter(|_| written).cloned());
    // A rollback takes back what failed, also where somebody has restored a cluster already.
    Proposal { from: wave.rolls_back().cloned().or(proposal.from), ..proposal }
}

/// What a pull request shall contain.
pub(super) fn proposal(
    facts: &Facts<'_>,
    tier_index: usize,
    to: Version,
    portion: Portion,
    written: Option<Head>,
) -> Proposal {
    let tier = &facts.policy.tiers[tier_index];
    Proposal {
        plugin: facts.plugin().clone(),
        tier: tier.name.clone(),
        from: slice::from(facts, tier, &portion.members),
        digest: source::pinned(facts, &to),
        part: portion.part,
        members: portion.members.to_vec(),
        written,
        to,
    }
}
