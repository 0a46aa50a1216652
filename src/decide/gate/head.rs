//! The head: ours and unedited, mergeable, every required check green on it. Absent is not passed.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;

use super::Standing;
use crate::Reason;
use crate::ledger::Wave;
use crate::plan::{Finding, Gate, Verdict};
use crate::snapshot::{CheckState, Mergeable, Pull, PullState, Read};

pub(crate) fn finding(wave: &Wave, pull: &Pull, standing: &Standing, now: Timestamp) -> Finding {
    match pull.state {
        PullState::Open => {}
        PullState::Merged { .. } | PullState::Closed { .. } => {
            return Finding::fail(Gate::Head, Reason::MergedElsewhere { version: wave.version.clone() });
        }
    }
    if standing.stale || standing.outgrown {
        return Finding::wait(Gate::Head, Reason::HeadStale { head: pull.head.clone() });
    }
    if !standing.current {
        return Finding::fail(Gate::Head, Reason::HeadEdited { head: pull.head.clone() });
    }
    // What was refused because of its content is not asked for again, however long ago that was: it is written anew.
    let refused = wave.refused.as_ref().filter(|refused| refused.head == pull.head);
    if let Some(refused) = refused.filter(|refused| refused.anew || now < refused.until()) {
        let verdict = Verdict::Wait { until: Some(refused.until()).filter(|until| now < *until) };
        return Finding::new(Gate::Head, verdict, Reason::MergeRefused { why: refused.why.clone() });
    }
    match pull.mergeable {
        Mergeable::Yes => {}
        Mergeable::Conflict => return Finding::wait(Gate::Head, Reason::Conflict),
        Mergeable::Unknown => return Finding::new(Gate::Head, Verdict::Unknown, Reason::MergeabilityUnknown),
    }
    let checks = match &pull.checks {
        Read::Known(checks) => checks,
        Read::Unread(why) => return Finding::unread(Gate::Head, "the required checks", why),
    };
    let named = |state: CheckState| -> Vec<String> {
        checks.iter().filter(|check| check.state == state).map(|check| check.name.clone()).collect()
    };
    let (failed, pending) = (named(CheckState::Failure), named(CheckState::Pending));
    if !failed.is_empty() {
        Finding::wait(Gate::Head, Reason::ChecksFailed { names: failed })
    } else if !pending.is_empty() {
        Finding::wait(Gate::Head, Reason::ChecksPending { names: pending })
    } else if checks.is_empty() {
        Finding::pass(Gate::Head, Reason::HeadOurs)
    } else {
        Finding::pass(Gate::Head, Reason::ChecksGreen)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::ledger::{Change, Refusal};
    use crate::snapshot::RequiredCheck;
    use crate::testing::*;
    use alloc::vec;

    #[test]
    fn f08_f09_f18_only_our_own_green_head_merges() {
        let check = |state| Read::Known(vec![RequiredCheck { name: "e2e".into(), state }]);
        let _ = check;
        table(
            Gate::Head,
            ready,
            &[
                ("ours", |_| {}, Verdict::Pass, "the branch holds what the bot wrote"),
                (
                    "edited",
                    |w| edit(w, |pull| pull.head = "eeeeeeeeee".into()),
                    Verdict::Fail,
                    "somebody pushed eeeeeee",
                ),
                (
                    "an older commit of ours",
                    |w| {
                        let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                        let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
                        wave.heads.insert(0, crate::ledger::Head { commit: "9999999999".into(), at: ago(31) });
                        edit(w, |pull| pull.head = "9999999999".into());
                    },
                    WAIT,
                    "the branch still holds 9999999",
                ),
                (
                    "not worked out",
                    |w| edit(w, |pull| pull.mergeable = Mergeable::Unknown),
                    Verdict::Unknown,
                    "the hub has not worked out",
                ),
                ("conflict", |w| edit(w, |pull| pull.mergeable = Mergeable::Conflict), WAIT, "it conflicts"),
                (
                    "checks unread",
                    |w| edit(w, |pull| pull.checks = Read::Unread("503".into())),
                    Verdict::Unknown,
                    "the required checks could not be read",
                ),
                (
                    "absent or running",
                    |w| {
                        edit(w, |pull| {
                            pull.checks =
                                Read::Known(vec![RequiredCheck { name: "e2e".into(), state: CheckState::Pending }])
                        })
                    },
                    WAIT,
                    "required checks are missing or running: e2e",
                ),
                (
                    "red",
                    |w| {
                        edit(w, |pull| {
                            pull.checks =
                                Read::Known(vec![RequiredCheck { name: "e2e".into(), state: CheckState::Failure }])
                        })
                    },
                    WAIT,
                    "required checks failed: e2e",
                ),
                (
                    "green",
                    |w| {
                        edit(w, |pull| {
                            pull.checks =
                                Read::Known(vec![RequiredCheck { name: "e2e".into(), state: CheckState::Success }])
                        })
                    },
                    Verdict::Pass,
                    "every required check is green",
                ),
                (
                    "merged, but not on the base",
                    |w| {
                        edit(w, |pull| {
                            pull.state = PullState::Merged { at: ago(1), by: "maria".into(), commit: "dd".into() }
                        })
                    },
                    Verdict::Fail,
                    "the hub says it is merged",
                ),
            ],
        );
    }

    /// A refusal of the hub is tried again after its pause; a head that git does not prove is never merged, and the first
    /// time written anew at once.
    #[test]
    fn f32_a15_a_refused_head_waits_or_is_written_anew() {
        let plan = |times: u32, before: bool, anew: bool, seconds: i64| {
            let mut world = ready();
            let at = noon() - jiff::SignedDuration::from_secs(seconds);
            for anew in (1..times).map(|_| before).chain([anew]) {
                let kind = if anew { Refusal::Flawed } else { Refusal::No };
                let refused = Change::Refused { head: pull().head, at, why: "405".into(), kind };
                remember(&mut world, refused);
            }
            let actions = crate::plan(&world, noon()).actions;
            let is = |what: fn(&crate::Action) -> bool| actions.iter().any(what);
            (
                is(|action| matches!(action, crate::Action::Merge { .. })),
                is(|action| matches!(action, crate::Action::Update { .. })),
            )
        };
        for (times, before, anew, seconds, merges, updates) in [
            (1, false, false, 9, false, false),
            (1, false, false, 10, true, false),
            (2, false, false, 39, false, false),
            (2, false, false, 40, true, false),
            (12, false, false, 6 * 3600 - 1, false, false),
            (12, false, false, 6 * 3600, true, false),
            (1, true, true, 0, false, true),
            (1, true, true, 3600, false, true),
            (2, true, true, 39, false, false),
            (2, true, true, 40, false, true),
            (12, true, true, 6 * 3600, false, true),
            (12, false, true, 0, false, true),
        ] {
            assert_eq!(
                plan(times, before, anew, seconds),
                (merges, updates),
                "{times} times, anew {anew}, {seconds} s ago"
            );
        }
    }

    #[test]
    fn f18_f25_a_conflict_is_written_anew_and_an_edit_is_left_alone() {
        let updates = |change: fn(&mut Pull)| {
            let mut world = ready();
            edit(&mut world, change);
            crate::plan(&world, noon()).actions.iter().any(|action| matches!(action, crate::Action::Update { .. }))
        };
        assert!(updates(|pull| pull.mergeable = Mergeable::Conflict));
        assert!(!updates(|pull| pull.head = "eeeeeeeeee".into()));
        assert!(!updates(|pull| {
            pull.head = "eeeeeeeeee".into();
            pull.mergeable = Mergeable::Conflict;
        }));
    }
}
