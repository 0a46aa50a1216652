//! Whose approval counts, for what, and what the hub asks for beside it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::plan::Verdict;
use crate::snapshot::{Snapshot, UnmetRule};
use crate::testing::*;
use alloc::string::ToString;
use alloc::vec;
use jiff::SignedDuration;

fn review(world: &mut Snapshot, change: impl FnOnce(&mut Review)) {
    edit(world, |pull| change(&mut pull.reviews[0]));
}

fn rule(world: &mut Snapshot, merge: Merge) {
    bronze(world).merge = crate::model::MergeRule::all(merge);
}

#[test]
fn a11_a12_a13_f33_whose_yes_counts() {
    table(
        Gate::Approvals,
        ready,
        &[
            ("an owner's", |_| {}, Verdict::Pass, "approved by maria"),
            ("nobody's", |w| edit(w, |pull| pull.reviews.clear()), WAIT, "waits for an approval by @acme/platform"),
            ("the bot's own", |w| review(w, |r| r.by = BOT.into()), WAIT, "waits for an approval"),
            ("an App's", |w| review(w, |r| r.human = false), WAIT, "waits for an approval"),
            ("a reader's", |w| review(w, |r| r.may_write = Read::Known(false)), WAIT, "waits for an approval"),
            (
                "of unknown rights",
                |w| review(w, |r| r.may_write = Read::Unread("503".into())),
                WAIT,
                "waits for an approval",
            ),
            ("for another head", |w| review(w, |r| r.commit = "bbbbbbbbbb".into()), WAIT, "waits for an approval"),
            ("from before the head was written", |w| review(w, |r| r.at = ago(31)), WAIT, "waits for an approval"),
            (
                "from when the head was written, by a clock that is behind ours",
                |w| {
                    review(w, |r| r.at = ago(31));
                    w.hub.skew = SignedDuration::from_mins(1);
                },
                Verdict::Pass,
                "approved by maria",
            ),
            (
                "from before that, whatever the clocks",
                |w| {
                    review(w, |r| r.at = ago(31) - SignedDuration::from_secs(1));
                    w.hub.skew = SignedDuration::from_mins(-1);
                },
                WAIT,
                "waits for an approval",
            ),
            ("taken back", |w| review(w, |r| r.verdict = ReviewVerdict::Dismissed), WAIT, "waits for an approval"),
            (
                "followed by a comment",
                |w| {
                    edit(w, |pull| {
                        let comment = Review { verdict: ReviewVerdict::Commented, ..approval("maria") };
                        pull.reviews.push(comment);
                    })
                },
                Verdict::Pass,
                "approved by maria",
            ),
            ("no owner's", |w| review(w, |r| r.by = "eve".into()), WAIT, "waits for an approval by @acme/platform"),
            (
                "no owner's where none is asked for",
                |w| {
                    bronze(w).approvals.code_owners = false;
                    review(w, |r| r.by = "eve".into());
                },
                Verdict::Pass,
                "approved by eve",
            ),
            (
                "owners unread",
                |w| edit(w, |pull| pull.owned = Read::Unread("503".into())),
                Verdict::Unknown,
                "the code owners could not be read",
            ),
            (
                "no owner's is asked for, and nobody's is there",
                |w| {
                    bronze(w).approvals.code_owners = false;
                    edit(w, |pull| pull.reviews.clear());
                },
                WAIT,
                "waits for an approval by somebody with write access",
            ),
            (
                "of one path alone: the owners of the other are named",
                |w| {
                    edit(w, |pull| {
                        let Read::Known(owned) = &mut pull.owned else { unreachable!() };
                        let (owners, people) = (vec!["@acme/security".into()], [Person::from("eve")].into());
                        owned.push(crate::snapshot::OwnedPath { path: "charts/app.yaml".into(), owners, people });
                    })
                },
                WAIT,
                "waits for an approval by @acme/security",
            ),
            ("one of two", |w| bronze(w).approvals.at_least = 2, WAIT, "waits for an approval by @acme/platform"),
            (
                "two of two",
                |w| {
                    bronze(w).approvals.at_least = 2;
                    edit(w, |pull| pull.reviews.push(approval("noor")));
                },
                Verdict::Pass,
                "approved by maria, noor",
            ),
            (
                "the hub wants more",
                |w| edit(w, |pull| pull.review_decision = ReviewDecision::Required),
                WAIT,
                "waits for an approval",
            ),
        ],
    );
}

#[test]
fn an_objection_stands_until_it_is_taken_back() {
    let object = |w: &mut Snapshot, may_write: Read<bool>| {
        edit(w, |pull| {
            pull.reviews.push(Review { verdict: ReviewVerdict::ChangesRequested, may_write, ..approval("noor") });
        })
    };
    let objected: fn(&mut Snapshot) = |w| {
        edit(w, |pull| {
            pull.reviews.push(Review { verdict: ReviewVerdict::ChangesRequested, ..approval("noor") });
        })
    };
    table(
        Gate::Approvals,
        ready,
        &[
            ("objected", objected, WAIT, "noor requested changes"),
            (
                "on an automatic tier",
                |w| {
                    rule(w, Merge::Automatic);
                    edit(w, |pull| {
                        pull.reviews.push(Review { verdict: ReviewVerdict::ChangesRequested, ..approval("noor") })
                    });
                },
                WAIT,
                "noor requested changes",
            ),
            (
                "then approved",
                |w| {
                    edit(w, |pull| {
                        pull.reviews.push(Review { verdict: ReviewVerdict::ChangesRequested, ..approval("noor") });
                        pull.reviews.push(approval("noor"));
                    })
                },
                Verdict::Pass,
                "approved by",
            ),
        ],
    );
    let mut world = ready();
    object(&mut world, Read::Unread("503".into()));
    assert!(!says(&world, Gate::Approvals).verdict.lets_through(), "unknown rights do not void an objection");
    let mut world = ready();
    edit(&mut world, |pull| {
        let (by, commit, may_write) = ("a deleted account".into(), "".into(), Read::Unread("gone".into()));
        let verdict = ReviewVerdict::ChangesRequested;
        pull.reviews.push(Review { by, commit, verdict, human: false, may_write, ..approval("noor") });
    });
    assert!(says(&world, Gate::Approvals).because.to_string().contains("a deleted account requested changes"));
    let mut world = ready();
    object(&mut world, Read::Known(false));
    assert!(says(&world, Gate::Approvals).verdict.lets_through(), "a reader's objection is an opinion");
}

#[test]
fn the_rule_says_who_merges() {
    let required: fn(&mut Snapshot) = |w| {
        edit(w, |pull| {
            pull.reviews.clear();
            pull.review_decision = ReviewDecision::Required;
        })
    };
    table(
        Gate::Approvals,
        ready,
        &[
            (
                "automatic",
                |w| {
                    rule(w, Merge::Automatic);
                    edit(w, |pull| {
                        pull.reviews.clear();
                        pull.review_decision = ReviewDecision::NotRequired;
                    });
                },
                Verdict::Pass,
                "the policy asks for no approval",
            ),
            ("manual", |w| rule(w, Merge::Manual), WAIT, "the policy leaves this merge to a person"),
        ],
    );
    let via = |bypass: bool| {
        let mut world = ready();
        rule(&mut world, Merge::Automatic);
        required(&mut world);
        world.hub.bypass = bypass;
        crate::plan(&world, noon()).actions.iter().find_map(|action| match action {
            crate::Action::Merge { via, .. } => Some(*via),
            _ => None,
        })
    };
    assert_eq!(via(true), Some(Identity::Bypass), "branch rules want a review that the policy does not");
    assert_eq!(via(false), None, "without the second App it waits");
    let mut world = ready();
    rule(&mut world, Merge::Automatic);
    required(&mut world);
    world.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("a plain token".into()) };
    assert!(!merges(&crate::plan(&world, noon())), "nor past branch rules on a ledger that others can write");
    let mut world = ready();
    rule(&mut world, Merge::Automatic);
    let plan = crate::plan(&world, noon());
    let ordinary = |action: &crate::Action| matches!(action, crate::Action::Merge { via: Identity::Ordinary, .. });
    assert!(plan.actions.iter().any(ordinary), "where no review is missing nothing is bypassed");
}

/// A bypass passes every rule of a ruleset: what else than the review is not met forbids it.
#[test]
fn no_rule_beside_the_review_is_passed() {
    let world = |unmet: Read<Vec<UnmetRule>>| {
        let mut world = ready();
        rule(&mut world, Merge::Automatic);
        edit(&mut world, |pull| {
            pull.reviews.clear();
            (pull.review_decision, pull.unmet) = (ReviewDecision::Required, unmet);
        });
        world
    };
    let queue = UnmetRule { rule: "merge_queue".into(), why: "a queue cannot be jumped".into() };
    let barred = world(Read::Known(vec![queue]));
    let finding = says(&barred, Gate::Approvals);
    assert_eq!(finding.verdict, WAIT);
    assert!(finding.because.to_string().contains("`merge_queue`: a queue cannot be jumped"));
    assert!(!merges(&crate::plan(&barred, noon())));
    let unread = world(Read::Unread("503".into()));
    assert_eq!(says(&unread, Gate::Approvals).verdict, Verdict::Unknown);
    assert!(merges(&crate::plan(&world(Read::Known(Vec::new())), noon())));
}

#[test]
fn no_second_app_is_needed_where_no_review_is_missing() {
    for decision in [ReviewDecision::NotRequired, ReviewDecision::Approved] {
        let mut world = ready();
        world.hub.bypass = false;
        edit(&mut world, |pull| pull.review_decision = decision);
        assert_eq!(says(&world, Gate::Approvals).verdict, Verdict::Pass, "{decision:?}");
    }
}

/// The members of the team whose yes counts, as the hub tells them.
fn of_team(world: &mut Snapshot, at_least: u32, members: Read<alloc::collections::BTreeSet<Person>>) {
    let approvals = &mut bronze(world).approvals;
    (approvals.team, approvals.at_least, approvals.code_owners) = (Some("@acme/sre".into()), at_least, false);
    edit(world, |pull| pull.team = members);
}

#[test]
fn two_of_a_team_are_two_of_that_team() {
    fn members(names: &[&str]) -> Read<alloc::collections::BTreeSet<Person>> {
        Read::Known(names.iter().map(|name| Person::from(*name)).collect())
    }
    fn also(world: &mut Snapshot, by: &str) {
        edit(world, |pull| pull.reviews.push(approval(by)));
    }
    table(
        Gate::Approvals,
        ready,
        &[
            ("a member's", |w| of_team(w, 1, members(&["maria"])), Verdict::Pass, "approved by maria"),
            (
                "somebody else's",
                |w| of_team(w, 1, members(&["sam"])),
                WAIT,
                "waits for an approval by members of @acme/sre",
            ),
            (
                "a member's and somebody else's",
                |w| {
                    of_team(w, 2, members(&["maria", "sam"]));
                    also(w, "eve");
                },
                WAIT,
                "waits for an approval by members of @acme/sre",
            ),
            (
                "two members'",
                |w| {
                    of_team(w, 2, members(&["maria", "sam"]));
                    also(w, "sam");
                },
                Verdict::Pass,
                "approved by maria, sam",
            ),
            ("a team without members", |w| of_team(w, 2, members(&[])), WAIT, "waits for 2 approvals by members of"),
            (
                "a team that is secret to us",
                |w| of_team(w, 1, Read::Unread("no permission to read members".into())),
                Verdict::Unknown,
                "the members of @acme/sre could not be read: no permission to read members",
            ),
            (
                "a member's, and a path is somebody else's",
                |w| {
                    of_team(w, 1, members(&["eve"]));
                    bronze(w).approvals.code_owners = true;
                    review(w, |r| r.by = "eve".into());
                },
                WAIT,
                "waits for an approval by @acme/platform",
            ),
            (
                "nobody's, and a path is somebody else's",
                |w| {
                    of_team(w, 2, members(&["eve"]));
                    bronze(w).approvals.code_owners = true;
                    edit(w, |pull| pull.reviews.clear());
                },
                WAIT,
                "waits for 2 approvals by members of @acme/sre, and for one by @acme/platform",
            ),
        ],
    );
}

/// Whoever pushed may be one of those who say yes, so that one more has to; and nothing is forced.
#[test]
fn what_people_added_to_needs_one_more_yes_to_it_and_no_grace() {
    fn yes(world: &mut Snapshot, by: &[&str]) {
        added(world);
        edit(world, |pull| {
            let (first, head) = (pull.reviews[0].clone(), pull.head.clone());
            let given = |by: &&str| Review { by: (*by).into(), commit: head.clone(), ..first.clone() };
            pull.reviews = by.iter().map(given).collect();
        });
    }
    table(
        Gate::Approvals,
        ready,
        &[
            ("approved before", added, WAIT, "waits for 2 approvals, among them @acme/platform"),
            ("by one", |w| yes(w, &["maria"]), WAIT, "waits for an approval"),
            ("by two", |w| yes(w, &["maria", "vera"]), Verdict::Pass, "approved by maria, vera"),
            (
                "by two who do not own it",
                |w| yes(w, &["otto", "vera"]),
                WAIT,
                "waits for an approval by @acme/platform",
            ),
            (
                "by two where the tier asks for two",
                |w| {
                    yes(w, &["maria", "vera"]);
                    bronze(w).approvals.at_least = 2;
                },
                WAIT,
                "waits for an approval",
            ),
            (
                "though the policy asks for nobody",
                |w| {
                    yes(w, &["maria"]);
                    rule(w, Merge::Automatic);
                    bronze(w).approvals.code_owners = false;
                    bronze(w).approvals.at_least = 0;
                },
                WAIT,
                "waits for an approval",
            ),
            (
                "left to people anyway",
                |w| {
                    yes(w, &[]);
                    rule(w, Merge::Manual);
                },
                WAIT,
                "the policy leaves this merge to a person",
            ),
        ],
    );
    let mut world = ready();
    yes(&mut world, &["maria", "vera"]);
    assert!(!merges(&crate::plan(&world, noon())), "people merge it");
}
