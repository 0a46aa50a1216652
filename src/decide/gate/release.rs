//! The release itself: accepted, not held elsewhere, not refused by a person; and the tier's own
//! members.

use crate::desk::Desk;
use crate::plan::{Finding, Gate, Verdict};
use crate::release::{doubted, held, rejected, unaccepted};
use crate::{Reason, Version};

pub(crate) fn finding(desk: &Desk<'_>, rung: usize, version: &Version) -> Finding {
    match unaccepted(desk, rung, version).or_else(|| held(desk, version)) {
        None => match doubted(desk, version) {
            None => Finding::pass(Gate::Release, Reason::Accepted),
            Some(why) => Finding::unread(Gate::Release, "whether somebody may say that it failed", why),
        },
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::ledger::{Change, Failed, Landed};
    use crate::snapshot::{PullState, Read, Release, Snapshot};
    use crate::testing::*;
    use crate::{Action, Entry, WaveState};
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn what_is_not_accepted_does_not_merge() {
        let mut cases: Vec<Case> = vec![
            ("accepted", |_| {}, Verdict::Pass, "the policy accepts"),
            (
                "releases unread",
                |w| facts(w).releases = Read::Unread("503".into()),
                Verdict::Unknown,
                "the list of releases could not be read",
            ),
            (
                "yanked",
                |w| facts(w).releases = Read::Known(vec![release("1.0.0")]),
                Verdict::Unknown,
                "release 1.1.0 could not be read",
            ),
        ];
        table(Gate::Release, ready, &cases);
        cases.clear();
    }

    /// These take the pull request back: the wave is withdrawn, with the reason.
    #[test]
    fn what_is_stopped_is_taken_back() {
        type Case = (&'static str, fn(&mut Snapshot), &'static str);
        let cases: [Case; 4] = [
            (
                "constraint of the plugin",
                |w| w.policy.plugins[0].constraint = "~1.0".parse().ok(),
                "outside the constraint `~1.0`",
            ),
            ("constraint of the tier", |w| bronze(w).constraint = "~1.0".parse().ok(), "outside the constraint `~1.0`"),
            (
                "other content",
                |w| {
                    facts(w).releases =
                        Read::Known(vec![Release { digest: Some("sha256:22".into()), ..release("1.1.0") }])
                },
                "1.1.0 was published again",
            ),
            (
                "failed elsewhere",
                |w| {
                    let failed = Failed { at: ago(5), why: Reason::NotLanded };
                    let entry = Entry::Wave {
                        plugin: "app".into(),
                        tier: "qa".into(),
                        version: version("1.1.0"),
                        change: Change::Failed(failed),
                    };
                    w.ledger.apply(&entry);
                },
                "1.1.0 failed on qa",
            ),
        ];
        for (name, change, wording) in cases {
            let mut world = ready();
            change(&mut world);
            let plan = crate::plan(&world, noon());
            let close = plan.actions.iter().find_map(|action| match action {
                Action::Close { why, .. } => Some(why.to_string()),
                _ => None,
            });
            assert!(close.as_deref().is_some_and(|why| why.starts_with(wording)), "{name}: {:?}", plan.actions);
            assert!(!merges(&plan), "{name}");
        }
    }

    #[test]
    fn a_closed_pull_request_is_a_no_that_sticks() {
        let mut world = ready();
        edit(&mut world, |pull| pull.state = PullState::Closed { at: ago(1), by: Some("noor".into()) });
        let plan = crate::plan(&world, noon());
        assert!(plan.actions.is_empty(), "{:?}", plan.actions);
        let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
        assert!(
            matches!(&report.state, WaveState::Rejected { by: Some(by), .. } if by.as_str() == "noor"),
            "{report:?}"
        );
        // Without the ledger's memory of it, the hub's page alone is enough.
        world.ledger.plugins.get_mut(&"app".into()).expect("app").tiers.remove(&"bronze".into());
        assert!(crate::plan(&world, noon()).actions.is_empty());
        // A newer release may come.
        facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
        let finished = [
            Change::Found {
                members: vec!["qa-1".into()],
                digest: None,
                landed: Landed { at: ago(9), commit: None, by: None },
            },
            Change::Finished(ago(8)),
        ];
        for change in finished {
            world.ledger.apply(&Entry::Wave {
                plugin: "app".into(),
                tier: "qa".into(),
                version: version("1.2.0"),
                change,
            });
        }
        facts(&mut world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
        let plan = crate::plan(&world, noon());
        let opens = plan
            .actions
            .iter()
            .any(|action| matches!(action, Action::Open(proposal) if proposal.to == version("1.2.0")));
        assert!(opens, "{:?}", plan.actions);
    }
}
