//! A release comes to a tier only after it has finished the tier below.

use crate::desk::Desk;
use crate::plan::{Finding, Gate};
use crate::release::has_finished;
use crate::{Reason, Version};

pub(crate) fn finding(desk: &Desk<'_>, rung: usize, version: &Version) -> Finding {
    let Some(below) = rung.checked_sub(1) else { return Finding::pass(Gate::TierBelow, Reason::FirstTier) };
    let tier = desk.policy.tiers[below].name.clone();
    let version = version.clone();
    if has_finished(desk, below, &version) {
        Finding::pass(Gate::TierBelow, Reason::TierBelowFinished { tier, version })
    } else {
        Finding::wait(Gate::TierBelow, Reason::TierBelowUnfinished { tier, version })
    }
}
