//! Who may do what at the hub of a rehearsal: commands as the policy file gives them to people, and what
//! branch rules say of reviews.

use std::collections::BTreeSet;

use decide::Person;
use decide::snapshot::{CommandKind, OwnedPath, Pull, Read, ReviewDecision, ReviewVerdict};

use super::hub::Hub;
use super::world::World;
use crate::command::{is_for_every_tier, right};
use crate::policy::wiring::Right;

/// Whether the policy file lets somebody give a command on this pull request.
pub(super) fn may(world: &World, number: u64, who: &Person, what: &CommandKind) -> bool {
    let hub = &world.hub;
    let admin = hub.admins.contains(who);
    match right(what, &world.rights) {
        Right::Write => !hub.strangers.contains(who),
        Right::Admin => admin,
        Right::CodeOwners => {
            let speaks = |people: &BTreeSet<Person>| if people.is_empty() { admin } else { people.contains(who) };
            let owned = hub.pull(number).and_then(|pull| pull.owned.known());
            let everywhere = || {
                let mut tiers = world.snapshot.policy.plugins.iter().flat_map(|plugin| &plugin.tiers);
                tiers.all(|tier| speaks(hub.people_of(&tier.name)))
            };
            // Where nobody owns what it changes, an administrator speaks for it.
            let here = |paths: &Vec<OwnedPath>| match paths.as_slice() {
                [] => admin,
                paths => paths.iter().all(|path| speaks(&path.people)),
            };
            !hub.strangers.contains(who) && owned.is_some_and(here) && (!is_for_every_tier(what) || everywhere())
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
