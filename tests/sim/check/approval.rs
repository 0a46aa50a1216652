//! S7: whose yes lets an ordinary merge through.

use decide::model::Merge;
use decide::snapshot::{Pull, Read, ReviewVerdict};
use semver::Version;

use super::Watch;
use crate::people::who_merges;
use crate::pulls::{BOT, OWNERS};
use crate::world::{Spot, World};

impl Watch {
    /// S7: an ordinary merge has the approvals that the policy asks for, for this very head.
    pub(super) fn approved(&mut self, world: &mut World, seen: &Pull, spot: &Spot, version: &Version) {
        let tier = world.tier(spot).clone();
        let rule = who_merges(&tier, world.from(spot).as_ref(), version);
        if rule == Merge::Manual {
            self.fails(world, format!("S7 merges {}, which the policy leaves to a person", seen.number));
        }
        if !objectors(seen).is_empty() {
            self.fails(world, format!("S7 merges {} over a request for changes", seen.number));
        }
        if rule != Merge::Approved {
            return;
        }
        let truth = world.pulls.iter().find(|pull| pull.number == seen.number.0);
        let written = truth.map(|pull| pull.bot_wrote_at);
        let pusher = truth.map_or(BOT, |pull| pull.last_pusher);
        let mut yes: Vec<&str> = Vec::new();
        for review in &seen.reviews {
            let by = review.by.as_str();
            let counts = last_word(seen, by) == Some(ReviewVerdict::Approved)
                && review.verdict == ReviewVerdict::Approved
                && review.human
                && by != BOT
                && by != pusher
                && review.may_write == Read::Known(true)
                && review.commit == seen.head
                && written.is_some_and(|written| review.at >= written);
            if counts && !yes.contains(&by) {
                yes.push(by);
            }
        }
        let owner = !tier.approvals.code_owners || yes.iter().any(|by| OWNERS.contains(by));
        if !owner || yes.len() < tier.approvals.at_least as usize {
            self.fails(world, format!("S7 merges {} with the approvals of {yes:?} only", seen.number));
        }
    }
}

fn last_word(seen: &Pull, by: &str) -> Option<ReviewVerdict> {
    let of_them = seen.reviews.iter().filter(|review| review.by.as_str() == by);
    of_them.filter(|review| review.verdict != ReviewVerdict::Commented).map(|review| review.verdict).next_back()
}

/// People with write access whose last word asks for changes.
pub(super) fn objectors(seen: &Pull) -> Vec<&str> {
    let people = seen.reviews.iter().filter(|review| review.human && review.may_write == Read::Known(true));
    people
        .map(|review| review.by.as_str())
        .filter(|by| last_word(seen, by) == Some(ReviewVerdict::ChangesRequested))
        .collect()
}
