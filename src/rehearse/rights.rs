//! Who may do what at the hub of a rehearsal: commands as the policy file gives them to people, and what
//! branch rules say of reviews.

use std::collections::BTreeSet;

use decide::Person;
use decide::snapshot::{CommandKind, Pull, Read, ReviewDecision, ReviewVerdict};

use super::hub::Hub;
use super::world::World;
use crate::observe::command::{is_for_every_tier, right};
use crate::policy::wiring::Right;

/// Whether the policy file lets somebody give a command on this pull request.
pub(super) fn may(world: &World, number: u64, who: &Person, what: &CommandKind) -> bool {
    let hub = &world.hub;
    let admin = hub.admins.contains(who);
    match right(what, &world.rights) {
        Right::Write => !hub.strangers.contains(who),
        Right::Admin => admin,
        Right::CodeOwners => {
            let owned = hub.pull(number).and_then(|pull| pull.owned.known());
            let everywhere = || {
                let mut tiers = world.snapshot.policy.plugins.iter().flat_map(|plugin| &plugin.tiers);
                let owns = |people: &BTreeSet<Person>| people.is_empty() || people.contains(who);
                tiers.all(|tier| owns(hub.people_of(&tier.name)))
            };
            !hub.strangers.contains(who)
                && owned.is_some_and(|paths| paths.iter().all(|path| path.people.contains(who)))
                && (!is_for_every_tier(what) || everywhere())
        }
    }
}

/// The hub's own word on the reviews of a pull request.
pub(super) fn reviewed(hub: &Hub, pull: &Pull) -> ReviewDecision {
    if !hub.asks_reviews {
        return pull.review_decision;
    }
    let on_head = |verdict: ReviewVerdict| {
        let said = pull.reviews.iter().filter(|review| review.commit == pull.head);
        said.filter(|review| review.may_write == Read::Known(true)).any(|review| review.verdict == verdict)
    };
    if on_head(ReviewVerdict::Approved) { ReviewDecision::Approved } else { ReviewDecision::Required }
}
