//! Whose word forces a merge, and what makes it void.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::ledger::{Announced, Change, Failed, Grace, Landed, Merging};
use crate::model::MergeRule;
use crate::plan::{Action, Verdict};
use crate::snapshot::{
    CheckState, LedgerGuard, LedgerState, Mergeable, Release, RequiredCheck, Review, ReviewVerdict, Snapshot, UnmetRule,
};
use crate::snapshot::{Command, CommandKind, Read};
use crate::testing::*;
use alloc::string::{String, ToString};
use alloc::vec;
use jiff::SignedDuration;

fn word(minutes: i64) -> Command {
    let what = CommandKind::Force { why: "an outage".into() };
    Command { by: "maria".into(), at: ago(minutes), what, allowed: Read::Known(true) }
}

/// Nobody has approved 1.1.0 on bronze, the file has no grace period and lets one person force, and maria
/// wants it merged.
fn asked() -> Snapshot {
    let mut world = unapproved();
    world.policy.force_by = Some(1);
    bronze(&mut world).force = None;
    edit(&mut world, |pull| pull.commands.push(word(5)));
    world
}

fn change(world: &mut Snapshot, change: impl FnOnce(&mut Command)) {
    edit(world, |pull| change(&mut pull.commands[0]));
}

fn forced(world: &Snapshot) -> Option<ForceEvidence> {
    crate::plan(world, noon()).actions.into_iter().find_map(|action| match action {
        Action::Merge { forced, .. } => forced,
        _ => None,
    })
}

#[test]
fn a_word_stands_for_the_deadline() {
    let evidence = forced(&asked()).expect("it merges");
    let said = evidence.said.as_ref().expect("said");
    assert_eq!((said.by.as_str(), said.at, said.why.as_str()), ("maria", ago(5), "an outage"));
    assert_eq!((evidence.deadline, evidence.notices.len()), (None, 0));
    assert!(evidence.waived.contains("@acme/platform"), "{}", evidence.waived);
    assert!(matches!(says(&asked(), Gate::Approvals).verdict, Verdict::Waived { .. }));
    // A grace period that runs stays what it is, and is not what merges.
    let mut running = asked();
    let later = noon() + SignedDuration::from_hours(9);
    bronze(&mut running).force = unapproved().policy.plugins[0].tiers[1].force.clone();
    remember(&mut running, Change::Grace(Grace { since: ago(30), deadline: later, notices: Vec::new(), giving: None }));
    let plan = crate::plan(&running, noon());
    let wave = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
    assert_eq!(wave.grace.as_ref().map(|grace| grace.deadline), Some(later));
    assert!(merges(&plan) && forced(&running).is_some_and(|evidence| evidence.said.is_some()));
}

/// Each condition that is taken away leaves nothing that is forced.
#[test]
fn everything_else_that_force_needs_is_needed() {
    type Case = (&'static str, fn(&mut Snapshot));
    let cases: [Case; 30] = [
        ("nobody said so", |w| edit(w, |pull| pull.commands.clear())),
        ("who may not", |w| change(w, |said| said.allowed = Read::Known(false))),
        ("whose rights are not known", |w| change(w, |said| said.allowed = Read::Unread("503".into()))),
        ("the bot itself", |w| change(w, |said| said.by = BOT.into())),
        ("before the pull request was there", |w| change(w, |said| said.at = ago(31))),
        ("somebody objects", |w| {
            edit(w, |pull| pull.reviews = vec![Review { verdict: ReviewVerdict::ChangesRequested, ..approval("noor") }])
        }),
        ("a draft", |w| edit(w, |pull| pull.draft = true)),
        ("edited", |w| edit(w, |pull| pull.head = "eeeeeeeeee".into())),
        ("a red check", |w| {
            edit(w, |pull| {
                pull.checks = Read::Known(vec![RequiredCheck { name: "e2e".into(), state: CheckState::Failure }])
            })
        }),
        ("checks that could not be read", |w| edit(w, |pull| pull.checks = Read::Unread("503".into()))),
        ("mergeability unknown", |w| edit(w, |pull| pull.mergeable = Mergeable::Unknown)),
        ("held", |w| {
            let what = CommandKind::Hold { why: String::new() };
            edit(w, |pull| pull.commands.push(Command { what, ..word(1) }));
        }),
        ("a freeze", freeze_all),
        ("outside the window", |w| {
            bronze(w).windows = Some(crate::window::Windows {
                open: vec![crate::window::Range { days: vec![1], from: 0, to: 60 }],
                ..crate::window::Windows::always(jiff::tz::TimeZone::UTC)
            })
        }),
        ("the newest policy file has errors", |w| w.policy_problem = Some("line 3".into())),
        ("others can push the ledger", |w| {
            w.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("no rule".into()) }
        }),
        ("the clocks differ", |w| w.hub.skew = SignedDuration::from_secs(31)),
        ("no bypassing App", |w| w.hub.bypass = false),
        ("a rule would be passed", |w| {
            let queue = UnmetRule { rule: "merge_queue".into(), why: "a queue".into() };
            edit(w, |pull| pull.unmet = Read::Known(vec![queue]))
        }),
        ("nobody knows which rules", |w| edit(w, |pull| pull.unmet = Read::Unread("503".into()))),
        ("two are asked for", |w| w.policy.force_by = None),
        ("breaking and not acknowledged", |w| {
            facts(w).releases = Read::Known(vec![Release { marked_breaking: true, ..release("1.1.0") }])
        }),
        ("other content under this version", |w| {
            let digest = Some("sha256:22".into());
            facts(w).releases = Read::Known(vec![Release { digest, ..release("1.1.0") }]);
        }),
        ("people were told less than `announce` ago", |w| bronze(w).announce = SignedDuration::from_mins(31)),
        ("a manual tier", |w| bronze(w).merge = MergeRule::all(Merge::Manual)),
        ("the tier below has not finished it", |w| *below(w).rewrite().finished = None),
        ("the tier below found it wanting", |w| {
            *below(w).rewrite().failed = Some(Failed { at: ago(1), why: Reason::NotLanded })
        }),
        ("the cap of clusters", |w| {
            w.policy.limits.clusters_per_hour = Some(1);
            let landed = Landed { at: ago(5), commit: None, by: None };
            for change in [
                Change::Found { members: vec!["x".into()], digest: None, landed },
                Change::Merging(Merging { head: "ff".into(), at: ago(5), base: None, forced: None }),
            ] {
                let (plugin, tier, version) = ("dns".into(), "qa".into(), version("3.0.0"));
                w.ledger.apply(&crate::Entry::Wave { plugin, tier, version, change });
            }
        }),
        ("clusters ahead of their tier", |w| wave(w).part.purpose = Purpose::Early),
        ("said of another commit", |w| {
            wave(w).heads.insert(0, Head { commit: "99".into(), at: ago(31), repeats: false })
        }),
    ];
    for (name, change) in cases {
        let mut world = asked();
        assert!(merges(&crate::plan(&world, noon())));
        change(&mut world);
        assert!(!merges(&crate::plan(&world, noon())), "{name}");
    }
}

/// Two people, each with a word that counts; the same one twice is one.
#[test]
fn a11_two_people_force() {
    let by = |world: &mut Snapshot, who: &str, minutes: i64| {
        edit(world, |pull| pull.commands.push(Command { by: who.into(), ..word(minutes) }));
    };
    let mut world = asked();
    world.policy.force_by = None;
    let waits = says_all(&world);
    assert!(waits.contains("maria wants it merged without the missing approvals, which waits for another"), "{waits}");
    by(&mut world, "maria", 4);
    assert!(forced(&world).is_none(), "the same person twice");
    by(&mut world, "kim", 31);
    assert!(forced(&world).is_none(), "a word from before the pull request held it");
    by(&mut world, BOT, 3);
    assert!(forced(&world).is_none(), "the bot");
    by(&mut world, "eve", 3);
    edit(&mut world, |pull| pull.commands.last_mut().expect("eve's").allowed = Read::Known(false));
    assert!(forced(&world).is_none(), "who may not");
    by(&mut world, "noor", 2);
    let evidence = forced(&world).expect("two have said so");
    assert_eq!(evidence.said.as_ref().map(|said| said.by.as_str()), Some("maria"));
    let both = "maria, noor want it merged without the missing approvals: an outage";
    assert!(evidence.held.iter().any(|held| held.contains(both)), "{:?}", evidence.held);
    world.policy.force_by = Some(3);
    assert!(forced(&world).is_none() && says_all(&world).contains("waits for another person"));
}

/// Everything that is said of bronze.
fn says_all(world: &Snapshot) -> String {
    let plan = crate::plan(world, noon());
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
    bronze.findings.iter().map(|finding| alloc::format!("{}\n", finding.because)).collect()
}

fn wave(world: &mut Snapshot) -> &mut Wave {
    let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
    page.tiers.get_mut(&"bronze".into()).expect("bronze").last_mut().expect("a wave")
}

/// 1.1.0 on qa.
fn below(world: &mut Snapshot) -> &mut Wave {
    let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
    page.tiers.get_mut(&"qa".into()).expect("qa").last_mut().expect("a wave")
}

/// The pull request was moved from 1.0.5 to 1.1.0; only what was said after it was seen to hold that counts.
#[test]
fn a09_a_moved_pull_request_voids_what_was_said() {
    let moved = |shown: Option<i64>| {
        let mut world = asked();
        let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
        let waves = page.tiers.get_mut(&"bronze".into()).expect("bronze");
        let mut older = waves.last().expect("a wave").clone();
        older.version = version("1.0.5");
        *older.rewrite().superseded = Some(crate::ledger::Superseded { at: ago(8), by: version("1.1.0") });
        older.pull = Some(Announced { number: crate::PullNumber(7), at: ago(30) });
        waves.insert(1, older);
        wave(&mut world).shown =
            shown.map(|minutes| Head { commit: "aaaaaaaaaa".into(), at: ago(minutes), repeats: false });
        world
    };
    let seen_now = |world: &Snapshot| {
        let entries = crate::plan(world, noon()).entries;
        entries.iter().any(|record| record.entry.to_string().ends_with("on bronze: its pull request holds aaaaaaa"))
    };
    let said = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze").clone();
        let void = bronze.findings.iter().any(|finding| matches!(finding.because, Reason::ForceVoid { .. }));
        (merges(&plan), void)
    };
    assert!(seen_now(&moved(None)), "the look that first shows it");
    assert_eq!(said(&moved(None)), (false, true));
    assert!(!seen_now(&moved(Some(6))));
    assert_eq!(said(&moved(Some(6))), (true, false));
    assert_eq!(said(&moved(Some(5))), (false, true), "in that very second");
    assert_eq!(said(&moved(Some(4))), (false, true));
    assert!(!seen_now(&asked()), "opened with it");
    // What somebody pushed to it is no commit of ours, and what was shown once was another one.
    let mut pushed = moved(None);
    edit(&mut pushed, |pull| pull.head = "eeeeeeeeee".into());
    assert!(!crate::plan(&pushed, noon()).entries.iter().any(|record| record.entry.to_string().contains("holds")));
    let mut other = moved(Some(6));
    wave(&mut other).shown = Some(Head { commit: "bbbbbbbbbb".into(), at: ago(6), repeats: false });
    assert_eq!((seen_now(&other), said(&other)), (true, (false, true)));
    let mut back = moved(Some(6));
    wave(&mut back).heads.insert(0, Head { commit: "9999999999".into(), at: ago(31), repeats: false });
    wave(&mut back).shown = Some(Head { commit: "9999999999".into(), at: ago(6), repeats: false });
    edit(&mut back, |pull| pull.head = "9999999999".into());
    assert_eq!(said(&back), (false, true), "it holds an older commit of ours again");
    // It is said right behind the approvals that it is about.
    let plan = crate::plan(&moved(None), noon());
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
    let at = bronze.findings.iter().position(|finding| matches!(finding.because, Reason::ForceVoid { .. }));
    let approvals = bronze.findings.iter().position(|finding| finding.gate == Gate::Approvals);
    assert_eq!(at, approvals.map(|at| at + 1));
}

/// Our clock is ahead of the hub's, or behind: a pull request that was opened with its commit is no other.
#[test]
fn clocks_that_differ_void_no_word() {
    let word_counts = |skew: i64, opened: i64| {
        let mut world = asked();
        world.hub.skew = SignedDuration::from_secs(skew);
        edit(&mut world, |pull| pull.opened_at = ago(30) - SignedDuration::from_secs(opened));
        merges(&crate::plan(&world, noon()))
    };
    assert!(word_counts(20, 20) && word_counts(-20, 20));
    assert!(!word_counts(20, 21), "it was there before");
}
