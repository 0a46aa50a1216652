//! Dates of the policy file, at which something begins or ends that rings no bell of its own.

use crate::Reason;
use crate::desk::Desk;

/// Rings at each of them that is still to come: the ends of pins, clusters ahead of their tier,
/// versions that expire.
pub(crate) fn wake(desk: &mut Desk<'_>) {
    let policy = desk.policy;
    let pins = policy.pins.iter().filter_map(|pin| pin.until);
    let early = policy.tiers.iter().flat_map(|tier| &tier.early).filter_map(|early| early.until);
    for at in pins.chain(early).chain(policy.expires.iter().map(|expiry| expiry.at)) {
        desk.wake(at, Reason::LookAgain);
    }
}
