//! The announcement: no merge, automatic or forced, sooner than so long after people were told, which
//! is when the pull request was open and held this release.

use super::asked::AskedOpen;
use crate::Reason;
use crate::plan::{Finding, Gate, Verdict};

/// None where the file asks for no announcement.
pub(crate) fn finding(open: &AskedOpen<'_>) -> Option<Finding> {
    let AskedOpen { facts, tier, wave, .. } = *open;
    let of = tier.announce;
    if of.is_zero() {
        return None;
    }
    // A pull request that was moved to a newer release tells of that one since then.
    let until = wave.pull.as_ref().map(|pull| pull.at.max(wave.begun) + of);
    Some(if until.is_some_and(|until| until <= facts.now) {
        Finding::pass(Gate::Announce, Reason::Told { of })
    } else {
        Finding::new(Gate::Announce, Verdict::Wait { until }, Reason::ToBeTold { of })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::model::{Merge, MergeRule};
    use crate::testing::*;
    use jiff::SignedDuration;

    #[test]
    fn nothing_merges_sooner_after_people_were_told() {
        let until = Verdict::Wait { until: Some(noon() + SignedDuration::from_mins(1)) };
        table(
            Gate::Announce,
            ready,
            &[
                (
                    "told long enough ago",
                    |w| bronze(w).announce = SignedDuration::from_mins(30),
                    Verdict::Pass,
                    "people were told more than 30 min ago",
                ),
                (
                    "told lately",
                    |w| bronze(w).announce = SignedDuration::from_mins(31),
                    until,
                    "people have to be told 31 min before it merges",
                ),
                (
                    "automatic",
                    |w| {
                        bronze(w).announce = SignedDuration::from_mins(31);
                        bronze(w).merge = MergeRule::all(Merge::Automatic);
                    },
                    until,
                    "people have to be told",
                ),
                (
                    "moved to this release since",
                    |w| {
                        bronze(w).announce = SignedDuration::from_mins(30);
                        let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                        page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().begun = ago(29);
                    },
                    until,
                    "people have to be told",
                ),
            ],
        );
        let mut world = ready();
        assert!(merges(&crate::plan(&world, noon())), "without the key it merges at once");
        bronze(&mut world).announce = SignedDuration::from_mins(31);
        let alarm = crate::plan(&world, noon()).alarm.map(|alarm| alarm.at);
        assert_eq!(alarm, Some(noon() + SignedDuration::from_mins(1)), "and the bot wakes for it");
        assert!(merges(&crate::plan(&world, noon() + SignedDuration::from_mins(1))));
    }

    /// People read the gates in one order: they were told before somebody approves.
    #[test]
    fn it_stands_before_the_approvals() {
        let mut world = ready();
        bronze(&mut world).announce = SignedDuration::from_mins(30);
        let plan = crate::plan(&world, noon());
        let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        let at = |gate| report.findings.iter().position(|finding| finding.gate == gate).unwrap();
        assert_eq!(at(Gate::Announce) + 1, at(Gate::Approvals));
    }
}
