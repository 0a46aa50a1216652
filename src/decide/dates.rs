//! What rings no bell of its own: dates of the policy file at which something begins or ends, and what soaks.

use alloc::vec::Vec;

use crate::facts::{Base, Facts};
use crate::model::Tier;
use crate::plan::Alarm;
use crate::{Reason, release, slice, source};

/// Rings at each date of the policy file that is still to come: the ends of pins, clusters ahead of their tier,
/// versions that expire.
pub(crate) fn of_the_file(facts: &Facts<'_>) -> Vec<Alarm> {
    let policy = facts.policy;
    let pins = policy.pins.iter().filter_map(|pin| pin.until);
    let early = policy.tiers.iter().flat_map(|tier| &tier.early).filter_map(|early| early.until);
    let dates = pins.chain(early).chain(policy.expires.iter().map(|expiry| expiry.at));
    dates.filter_map(|at| facts.alarm(at, Reason::LookAgain)).collect()
}

/// What runs here and has not finished soaks whatever else is said about the tier; nothing else would
/// ring.
pub(crate) fn watch(facts: &Facts<'_>, tier: &Tier) -> Option<Alarm> {
    let base = facts.base(&tier.name);
    // What a tier takes by itself rings no bell when it moves; where nobody is, or everybody is pinned, nothing does.
    let nobody = matches!(base, Base::Empty);
    let coming = || source::listed(facts, base.highest()).iter().any(|to| release::stopped(facts, 0, to).is_none());
    let comes = || tier.follows && !nobody && (matches!(base, Base::Mixed { .. }) || coming());
    // What was withdrawn or refused, and then put there by hand, soaks like all that somebody puts there, also on
    // one cluster of several.
    let here =
        || facts.page.present(&tier.name, |wave| wave.state().soaks()).any(|wave| slice::is_there(facts, tier, wave));
    if here() || comes() { facts.soon() } else { None }
}
