//! Works out how an open pull request stands to its wave: whose commit it holds, and who would merge it. What it still
//! lacks is asked by the gates.

use super::asked::PullStatus;
use super::{about, approvals, hold};
use crate::Sha;
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::snapshot::{Pull, ReviewVerdict};

impl PullStatus {
    pub(crate) fn of(facts: &Facts<'_>, tier_index: usize, wave: &Wave, pull: &Pull) -> Self {
        let tier = &facts.policy.tiers[tier_index];
        let current = wave.head().is_some_and(|head| head.commit == pull.head);
        let mut waves = facts.page.tiers.get(&tier.name).into_iter().flatten();
        // Trailers prove nothing here: who amends our commit keeps them.
        let ours = current || waves.any(|wave| wave.heads.iter().any(|head| head.commit == pull.head));
        let stale = ours && !current;
        let refused = wave.refused.as_ref().filter(|refused| refused.head == pull.head);
        let anew = refused.is_some_and(|refused| refused.rewrites(facts.now));
        // A merge that was asked for may come still, with this head.
        let wished = pull.rebase && wave.asked().is_none();
        let fits = facts.still(tier, &wave.own()).len() == wave.members.len();
        let outgrown = current && !fits;
        let is_ours = |on: &Sha| wave.head().is_some_and(|head| head.commit == *on);
        Self {
            current,
            stale,
            added: !ours && fits && pull.added_to.as_ref().is_some_and(is_ours),
            approved_by_anybody: pull.reviews.iter().any(|review| {
                let is_about = || about::same(facts, wave, pull).any(|head| head.commit == review.commit);
                review.human && review.verdict == ReviewVerdict::Approved && (review.commit == pull.head || is_about())
            }),
            held: hold::is_held(facts, pull),
            outgrown,
            rewrite: stale || outgrown || anew || (current && (pull.conflicts() || wished)),
            identity: approvals::identity(facts, tier, wave, pull),
        }
    }
}
