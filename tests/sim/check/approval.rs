//! S7: whose yes lets an ordinary merge through.

use decide::model::{Each, Merge};
use decide::snapshot::{Pull, Read, ReviewVerdict, Snapshot};
use semver::Version;

use super::Watch;
use crate::pulls::{BOT, OWNERS, PullRequest};
use crate::world::{Spot, World};

impl Watch {
    /// S7: an ordinary merge has the approvals that the policy asks for, for this very head.
    pub(super) fn approved(
        &mut self,
        world: &mut World,
        shown: &Snapshot,
        seen: &Pull,
        spot: &Spot,
        version: &Version,
    ) {
        let tier = world.tier(spot).clone();
        let rule = world.rule_of(seen.number.0);
        if rule == Merge::Manual {
            self.fails(world, format!("S7 merges {}, which the policy leaves to a person", seen.number));
        }
        if !objectors(seen).is_empty() {
            self.fails(world, format!("S7 merges {} over a request for changes", seen.number));
        }
        if rule != Merge::Approved {
            return;
        }
        let mut yes = yeses(world, seen);
        yes.extend(covered(world, shown, spot, version));
        if tier.approvals.each == Each::Tier {
            // A later slice rests on the approvals of those that are merged: same step, same release.
            let merged = |pull: &&PullRequest| pull.closed.as_ref().is_some_and(|end| end.merged.is_some());
            let earlier = world.pulls.iter().filter(|pull| pull.spot == *spot && pull.bot_version == *version);
            yes.extend(earlier.filter(merged).flat_map(|pull| yeses(world, &pull.shown(world))).collect::<Vec<_>>());
        }
        yes.sort_unstable();
        yes.dedup();
        let yes: Vec<&str> = yes.iter().map(String::as_str).collect();
        let owner = !tier.approvals.code_owners || yes.iter().any(|by| OWNERS.contains(by));
        // In these worlds the owners are the team.
        let counts = |by: &&&str| tier.approvals.team.is_none() || OWNERS.contains(by);
        if !owner || yes.iter().filter(counts).count() < tier.approvals.at_least as usize {
            self.fails(world, format!("S7 merges {} with the approvals of {yes:?} only", seen.number));
        }
    }
}

/// People who approved the same release on a tier below whose approvals the file lets count here.
fn covered(world: &World, shown: &Snapshot, spot: &Spot, version: &Version) -> Vec<String> {
    let policy = shown.policy.plugins.iter().find(|known| known.name == spot.0).unwrap();
    let below = policy.tiers.iter().take_while(|tier| tier.name != spot.1);
    let covering: Vec<_> =
        below.filter(|tier| tier.approvals.covers.contains(&spot.1)).map(|tier| &tier.name).collect();
    let merged = |pull: &&PullRequest| pull.closed.as_ref().is_some_and(|end| end.merged.is_some());
    let given = world
        .pulls
        .iter()
        .filter(|pull| pull.spot.0 == spot.0 && covering.contains(&&pull.spot.1) && pull.bot_version == *version);
    given
        .filter(merged)
        .map(|pull| pull.shown(world))
        .filter(|pull| objectors(pull).is_empty())
        .flat_map(|pull| yeses(world, &pull))
        .collect()
}

/// People whose approval counts for the head that the bot wrote.
fn yeses(world: &World, seen: &Pull) -> Vec<String> {
    let truth = world.pulls.iter().find(|pull| pull.number == seen.number.0);
    let written = truth.map(|pull| pull.alike_since);
    // Whose head it is that was shown; what somebody pushes meanwhile, the hub refuses.
    let present = truth.filter(|pull| pull.head == seen.head.as_str());
    let pusher = present.map_or(BOT, |pull| pull.last_pusher);
    // What was only brought up to date since changes what was approved.
    let same = |commit: &str| present.is_some_and(|pull| pull.alike.iter().any(|head| head == commit));
    let mut yes: Vec<String> = Vec::new();
    for review in &seen.reviews {
        let by = review.by.as_str();
        let counts = last_word(seen, by) == Some(ReviewVerdict::Approved)
            && review.verdict == ReviewVerdict::Approved
            && review.human
            && by != BOT
            && by != pusher
            && review.may_write == Read::Known(true)
            && (review.commit == seen.head || same(review.commit.as_str()))
            && written.is_some_and(|written| review.at >= written);
        if counts && !yes.iter().any(|known| known == by) {
            yes.push(by.to_string());
        }
    }
    yes
}

fn last_word(seen: &Pull, by: &str) -> Option<ReviewVerdict> {
    let of_them = seen.reviews.iter().filter(|review| review.by.as_str() == by);
    of_them.filter(|review| review.verdict != ReviewVerdict::Commented).map(|review| review.verdict).next_back()
}

/// People with write access whose last word asks for changes.
pub(super) fn objectors(seen: &Pull) -> Vec<&str> {
    let writers = seen.reviews.iter().filter(|review| review.may_write == Read::Known(true));
    writers
        .map(|review| review.by.as_str())
        .filter(|by| last_word(seen, by) == Some(ReviewVerdict::ChangesRequested))
        .collect()
}
