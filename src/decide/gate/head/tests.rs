//! Which heads merge, and what is said of the others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::ledger::{Change, Refusal};
use crate::next_release::tests::doings;
use crate::snapshot::{LedgerGuard, LedgerState, RequiredCheck, Snapshot, UnmetRule};
use crate::testing::*;
use alloc::string::ToString;
use alloc::vec;

fn lack(rule: &str, why: &str) -> Vec<UnmetRule> {
    vec![UnmetRule { rule: rule.to_string(), why: why.to_string() }]
}

/// The one required check is in this state.
fn checked(world: &mut Snapshot, state: CheckState) {
    edit(world, |pull| pull.checks = Read::Known(vec![RequiredCheck { name: "e2e".into(), state }]));
}

#[test]
fn f08_f09_f18_only_our_own_green_head_merges() {
    table(
        Gate::Head,
        ready,
        &[
            ("ours", |_| {}, Verdict::Pass, "the branch holds what the bot wrote"),
            ("edited", |w| edit(w, |pull| pull.head = "eeeeeeeeee".into()), Verdict::Fail, "somebody pushed eeeeeee"),
            ("added to", added, WAIT, "eeeeeee was added by hand and leaves every version as it is"),
            (
                "added to another commit than the wave's",
                |w| {
                    added(w);
                    edit(w, |pull| pull.added_to = Some("9999999999".into()));
                },
                Verdict::Fail,
                "somebody pushed eeeeeee",
            ),
            (
                "added to, and in conflict",
                |w| {
                    added(w);
                    edit(w, |pull| pull.mergeable = Mergeable::Conflict);
                },
                Verdict::Fail,
                "somebody pushed eeeeeee",
            ),
            (
                "added to, and behind",
                |w| {
                    added(w);
                    edit(w, |pull| pull.behind = Read::Known(true));
                },
                Verdict::Fail,
                "somebody pushed eeeeeee",
            ),
            (
                "added to, and red",
                |w| {
                    added(w);
                    checked(w, CheckState::Failure);
                },
                WAIT,
                "required checks failed: e2e",
            ),
            (
                "an older commit of ours",
                |w| {
                    let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                    let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
                    wave.heads
                        .insert(0, crate::ledger::Head { commit: "9999999999".into(), at: ago(31), repeats: false });
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
                |w| checked(w, CheckState::Pending),
                WAIT,
                "required checks are missing or running: e2e",
            ),
            ("red", |w| checked(w, CheckState::Failure), WAIT, "required checks failed: e2e"),
            ("green", |w| checked(w, CheckState::Success), Verdict::Pass, "every required check is green"),
            (
                "a conversation",
                |w| edit(w, |pull| pull.lacks = lack("pull_request", "a conversation is not resolved")),
                WAIT,
                "branch rules let nobody merge it yet: a conversation is not resolved",
            ),
            (
                "not deployed",
                |w| edit(w, |pull| pull.lacks = lack("required_deployments", "the head is not deployed to qa")),
                WAIT,
                "branch rules let nobody merge it yet: the head is not deployed to qa",
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

/// The bot writes it anew then; a time that has come is none to look forward to.
#[test]
fn until_when_a_refused_head_waits_is_said_as_long_as_it_does() {
    let verdict = |times: i64, seconds: i64, kind: Refusal| {
        let mut world = ready();
        let at = noon() - jiff::SignedDuration::from_secs(seconds);
        for _ in 0..times {
            remember(&mut world, Change::Refused { head: pull().head, at, why: "405".into(), kind });
        }
        says(&world, Gate::Head).verdict
    };
    let later = |seconds: i64| Verdict::Wait { until: Some(noon() + jiff::SignedDuration::from_secs(seconds)) };
    assert_eq!(verdict(1, 4, Refusal::No), later(6));
    assert_eq!([39, 40, 41].map(|seconds| verdict(2, seconds, Refusal::Flawed)), [later(1), WAIT, WAIT]);
}

/// A ready pull request that is behind is brought up to date and not merged; one at a time, as long as the one before
/// it waits for machines alone.
#[test]
fn who_is_behind_is_brought_up_to_date_in_turn() {
    let mut world = ready();
    edit(&mut world, |pull| pull.behind = Read::Known(true));
    assert_eq!(doings(&world), ["move bronze to 1.1.0"]);
    edit(&mut world, |pull| pull.lacks = lack("required_deployments", "not deployed"));
    assert_eq!(doings(&world), ["move bronze to 1.1.0"], "what it lacks is about the head that goes");
    edit(&mut world, |pull| pull.lacks = lack("pull_request", "not resolved"));
    assert!(doings(&world).is_empty(), "people still talk about it");
    edit(&mut world, |pull| pull.lacks.clear());
    edit(&mut world, |pull| pull.reviews.clear());
    assert!(doings(&world).is_empty(), "nobody has approved it");
    let mut world = ready();
    edit(&mut world, |pull| pull.behind = Read::Unread("503".into()));
    assert!(doings(&world).is_empty(), "nobody knows");
    let running = |world: &mut Snapshot| {
        let other = ready();
        world.policy.plugins.push(other.policy.plugins[0].clone());
        world.policy.plugins[1].name = "other".into();
        world.ledger.plugins.insert("other".into(), other.ledger.plugins[&"app".into()].clone());
        let mut facts = other.plugins[&"app".into()].clone();
        let Read::Known(pulls) = &mut facts.pulls else { unreachable!() };
        pulls[0].number = crate::PullNumber(99);
        pulls[0].checks = Read::Known(vec![RequiredCheck { name: "e2e".into(), state: CheckState::Pending }]);
        world.plugins.insert("other".into(), facts);
    };
    let mut world = ready();
    running(&mut world);
    edit(&mut world, |pull| pull.behind = Read::Known(true));
    assert!(doings(&world).is_empty(), "the other one is on its way");
    let page = world.ledger.plugins.get_mut(&"other".into()).unwrap();
    let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
    wave.heads.last_mut().unwrap().at = ago(60);
    assert_eq!(doings(&world), ["move bronze to 1.1.0"], "for an hour and no longer");
}

/// Who was brought up to date keeps what was said of the same change; on a ledger that others can write nobody does.
#[test]
fn what_was_said_of_the_same_change_is_said_of_it_still() {
    let brought = |repeats: bool| {
        let mut world = ready();
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
        wave.heads.push(crate::ledger::Head { commit: "bbbbbbbbbb".into(), at: ago(1), repeats });
        edit(&mut world, |pull| pull.head = "bbbbbbbbbb".into());
        world
    };
    let merges = |world: &Snapshot| {
        crate::plan(world, noon()).actions.iter().any(|action| matches!(action, crate::Action::Merge { .. }))
    };
    assert!(merges(&brought(true)));
    assert!(!merges(&brought(false)), "another change");
    let mut open = brought(true);
    open.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("no key".into()) };
    assert!(!merges(&open));
    // A newer release does not move what was approved before it was brought up to date.
    let moved = |repeats: bool| {
        let mut world = brought(repeats);
        crate::next_release::tests::finished_above(&mut world);
        doings(&world)
    };
    assert_eq!([moved(true), moved(false)], [["merge 1.1.0 on bronze"], ["move bronze to 1.2.0"]]);
}

/// The hub's words and the bot's own are not taken for each other.
#[test]
fn whose_refusal_it_is_is_said() {
    for (anew, words, who) in [
        (false, "it was not merged: no", "whoever can do what the hub asks for"),
        (true, "its commit is to be written anew before it merges: no", "the bot, by writing it anew"),
    ] {
        let because = Reason::MergeRefused { why: "no".into(), anew };
        assert_eq!(alloc::format!("{because}"), words);
        assert!(because.unblock().is_some_and(|unblocks| unblocks.starts_with(who)), "{because}");
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
    // At somebody's wish, unless what others pushed would be lost with it.
    assert!(updates(|pull| (pull.rebase, pull.reviews) = (true, Vec::new())));
    assert!(!updates(|pull| (pull.rebase, pull.head) = (true, "eeeeeeeeee".into())));
    assert!(!updates(|pull| {
        pull.head = "eeeeeeeeee".into();
        pull.mergeable = Mergeable::Conflict;
    }));
}
