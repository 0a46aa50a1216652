//! A freeze stops every merge in scope at once; force does not waive it.

use crate::Reason;
use crate::desk::Desk;
use crate::model::Tier;
use crate::plan::{Finding, Gate, Verdict};

pub(crate) fn finding(desk: &Desk<'_>, tier: &Tier) -> Finding {
    let mut freezes = desk.snapshot.policy.freezes.iter();
    match freezes.find(|freeze| freeze.covers(desk.plugin(), &tier.name, desk.now)) {
        None => Finding::pass(Gate::Freeze, Reason::NotFrozen),
        Some(freeze) => Finding::new(
            Gate::Freeze,
            Verdict::Wait { until: freeze.until },
            Reason::Frozen { why: freeze.why.clone(), by: freeze.by.clone() },
        ),
    }
}
