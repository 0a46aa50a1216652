//! The release itself: accepted, not held elsewhere, not refused by a person; and the tier's own
//! members.

use super::asked::Asked;
use crate::facts::Facts;
use crate::model::Tier;
use crate::obstacle::{Lasts, Obstacle};
use crate::plan::{Finding, Gate, Verdict};
use crate::release::{doubted, held, rejected, unaccepted};
use crate::snapshot::Place;
use crate::{Reason, Version, cooldown};

pub(crate) fn finding(asked: &Asked<'_>) -> Finding {
    let Asked { facts, tier_index, version, .. } = *asked;
    match unaccepted(facts, tier_index, version).or_else(|| held(facts, version)) {
        None => accepted(facts, tier_index, version),
        Some(Obstacle { lasts, why }) => match lasts {
            Lasts::Unread => Finding::new(Gate::Release, Verdict::Unknown, why),
            // A source that left it out once may list it again: the next poll rings, nobody has to look sooner.
            Lasts::Unlisted | Lasts::Pending => Finding::wait(Gate::Release, why),
            Lasts::Failed | Lasts::Outside | Lasts::Refused => Finding::fail(Gate::Release, why),
        },
    }
}

/// A range on the base branch: a controller would move the tier past every gate.
pub(crate) fn range(facts: &Facts<'_>, tier: &Tier) -> Option<Finding> {
    if tier.follows {
        return None;
    }
    let places = facts.observed?.base.known()?.get(&tier.name)?;
    let because = |place: &Place| Some(Reason::RangeInPlace { file: place.file.clone(), range: place.range.clone()? });
    places.iter().find_map(because).map(|why| Finding::fail(Gate::Release, why))
}

/// One that may climb, unless it is taken together with others later, or somebody may have said that it
/// failed.
fn accepted(facts: &Facts<'_>, tier_index: usize, version: &Version) -> Finding {
    if let Some(why) = doubted(facts, version) {
        return Finding::unread(Gate::Release, "whether somebody may say that it failed", why);
    }
    match cooldown::cooling(facts, tier_index, version) {
        Some(until) => {
            let because = Reason::Cooling { cooldown: facts.policy.cooldown };
            Finding::new(Gate::Release, Verdict::Wait { until: Some(until) }, because)
        }
        None => Finding::pass(Gate::Release, Reason::Accepted),
    }
}

/// A pull request that a person closed is their no to this release on that tier and above.
pub(crate) fn rejection(asked: &Asked<'_>) -> Finding {
    match rejected(asked.facts, asked.tier_index, asked.version) {
        None => Finding::pass(Gate::Rejection, Reason::NotRejected),
        Some(why) => Finding::fail(Gate::Rejection, why),
    }
}

/// A tier without clusters promotes nothing.
pub(crate) fn members(asked: &Asked<'_>) -> Finding {
    let Asked { facts, tier, .. } = *asked;
    match facts.selected(tier) {
        Some(members) if members.is_empty() => Finding::fail(Gate::Release, nobody(facts, tier)),
        Some(_) => Finding::pass(Gate::Release, Reason::Accepted),
        None => Finding::unread(Gate::Release, "the inventory", "it is not there"),
    }
}

/// Why nobody on a tier is to move.
pub(crate) fn nobody(facts: &Facts<'_>, tier: &Tier) -> Reason {
    let tier_name = tier.name.clone();
    match facts.fleet.selected(facts.snapshot, &tier.select).is_empty() {
        true => Reason::NoMembers { tier: tier_name },
        false => Reason::NobodyMoves { tier: tier_name },
    }
}

#[cfg(test)]
mod tests;
