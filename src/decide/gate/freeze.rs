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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::model::Freeze;
    use crate::snapshot::Snapshot;
    use crate::testing::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn freeze(world: &mut Snapshot, change: impl FnOnce(&mut Freeze)) {
        let mut freeze =
            Freeze { why: "incident 42".into(), by: None, tiers: Vec::new(), plugins: Vec::new(), until: None };
        change(&mut freeze);
        world.policy.freezes.push(freeze);
    }

    #[test]
    fn a_freeze_stops_what_is_in_its_scope() {
        let later = Verdict::Wait { until: Some(at("2026-11-24T00:00:00Z")) };
        table(
            Gate::Freeze,
            ready,
            &[
                ("none", |_| {}, Verdict::Pass, "no freeze"),
                ("everything", |w| freeze(w, |_| {}), WAIT, "frozen: incident 42"),
                ("by somebody", |w| freeze(w, |f| f.by = Some("noor".into())), WAIT, "frozen by noor: incident 42"),
                ("this tier", |w| freeze(w, |f| f.tiers = vec!["bronze".into()]), WAIT, "frozen"),
                ("another tier", |w| freeze(w, |f| f.tiers = vec!["qa".into()]), Verdict::Pass, "no freeze"),
                ("this plugin", |w| freeze(w, |f| f.plugins = vec!["app".into()]), WAIT, "frozen"),
                ("another plugin", |w| freeze(w, |f| f.plugins = vec!["dns".into()]), Verdict::Pass, "no freeze"),
                ("with an end", |w| freeze(w, |f| f.until = Some(at("2026-11-24T00:00:00Z"))), later, "frozen"),
                ("over since this instant", |w| freeze(w, |f| f.until = Some(noon())), Verdict::Pass, "no freeze"),
            ],
        );
    }

    #[test]
    fn force_does_not_waive_it() {
        let mut world = unapproved();
        freeze(&mut world, |_| {});
        assert!(!merges(&crate::plan(&world, noon() + jiff::SignedDuration::from_hours(48))));
    }
}
