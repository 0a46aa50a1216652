//! The release itself: accepted, not held elsewhere, not refused by a person; and the tier's own
//! members.

use crate::desk::Desk;
use crate::plan::{Finding, Gate, Verdict};
use crate::release::{held, rejected, unaccepted};
use crate::{Reason, Version};

pub(crate) fn finding(desk: &Desk<'_>, rung: usize, version: &Version) -> Finding {
    match unaccepted(desk, rung, version).or_else(|| held(desk, version)) {
        None => Finding::pass(Gate::Release, Reason::Accepted),
        Some(why @ Reason::Unread { .. }) => Finding::new(Gate::Release, Verdict::Unknown, why),
        Some(why) => Finding::fail(Gate::Release, why),
    }
}

/// A pull request that a person closed is their no to this release on that tier and above.
pub(crate) fn rejection(desk: &Desk<'_>, rung: usize, version: &Version) -> Finding {
    match rejected(desk, rung, version) {
        None => Finding::pass(Gate::Rejection, Reason::NotRejected),
        Some(why) => Finding::fail(Gate::Rejection, why),
    }
}

/// A tier without clusters promotes nothing.
pub(crate) fn members(desk: &Desk<'_>, rung: usize) -> Finding {
    let tier = &desk.policy.tiers[rung];
    match desk.selected(tier) {
        Some(members) if members.is_empty() => {
            Finding::fail(Gate::Release, Reason::NoMembers { tier: tier.name.clone() })
        }
        Some(_) => Finding::pass(Gate::Release, Reason::Accepted),
        None => Finding::unread(Gate::Release, "the inventory", "it is not there"),
    }
}
