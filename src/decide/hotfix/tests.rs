//! What a hotfix passes, and what not even a hotfix does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::WaveState;
use crate::ledger::{Change, Grace, Soaked};
use crate::next_release::tests::{doings, finished_above, on_qa, publish, soaking};
use crate::snapshot::{Command, CommandKind, Read};
use crate::snapshot::{SentNotice, Snapshot};
use crate::testing::*;
use crate::window::{Range, Windows};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use jiff::SignedDuration;

fn fix(world: &mut Snapshot, text: &str, change: fn(&mut Hotfix)) {
    let mut hotfix = Hotfix { version: version(text), why: "CVE-2026-1".into(), soak: None, through_windows: false };
    change(&mut hotfix);
    world.policy.plugins[0].hotfixes.push(hotfix);
}

/// Each world, what the plan does without the entry for 1.2.0, and with it.
#[test]
fn a_hotfix_passes_what_climbs() {
    type Case = (&'static str, fn(&mut Snapshot), &'static [&'static str], &'static [&'static str]);
    let merge = &["merge 1.1.0 on bronze"][..];
    let moved = &["move bronze to 1.2.0"][..];
    let cases: [Case; 8] = [
        ("the one on the tier soaks", soaking, &[], &["open 1.2.0 on qa"]),
        ("the open one is approved", finished_above, merge, moved),
        (
            "people were told of the open one",
            |w| {
                *w = unapproved();
                finished_above(w);
                let before = SignedDuration::from_mins(10);
                edit(w, |pull| pull.notices = vec![SentNotice { before, at: ago(5) }]);
            },
            &[],
            moved,
        ),
        (
            "the open one is held",
            |w| {
                finished_above(w);
                edit(w, |pull| pull.draft = true);
            },
            &[],
            moved,
        ),
        (
            "somebody pushed to the branch",
            |w| {
                finished_above(w);
                edit(w, |pull| pull.head = "eeeeeeeeee".into());
            },
            &[],
            &[],
        ),
        (
            "it has not finished the tier below: the order stays",
            |w| {
                finished_above(w);
                let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                *page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().rewrite().finished = None;
            },
            merge,
            merge,
        ),
        (
            "a newer release is there: the hotfix first",
            |w| publish(w, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]),
            &["open 1.3.0 on qa", "merge 1.1.0 on bronze"],
            &["open 1.2.0 on qa", "merge 1.1.0 on bronze"],
        ),
        (
            "within the cooldown",
            |w| {
                w.policy.plugins[0].cooldown = SignedDuration::from_hours(1);
                publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
            },
            merge,
            &["open 1.2.0 on qa", "merge 1.1.0 on bronze"],
        ),
    ];
    for (name, change, without, with) in cases {
        let mut world = ready();
        change(&mut world);
        assert_eq!(doings(&world), without, "{name}");
        fix(&mut world, "1.2.0", |_| {});
        assert_eq!(doings(&world), with, "{name}, with a hotfix");
    }
}

/// The pull request was moved from 1.0.5, about which people were told, to 1.1.0.
/// 1.0.5 came to bronze before 1.1.0, with this pull request; 1.1.0's own is not known yet.
fn came_before(world: &mut Snapshot, number: u64, grace: Option<Grace>) {
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    let waves = page.tiers.get_mut(&"bronze".into()).unwrap();
    let mut older = waves.last().unwrap().clone();
    older.version = version("1.0.5");
    *older.rewrite().superseded = Some(crate::ledger::Superseded { at: ago(1), by: version("1.1.0") });
    older.grace = grace;
    older.pull = Some(crate::ledger::Announced { number: crate::PullNumber(number), at: ago(70) });
    waves.last_mut().unwrap().pull = None;
    waves.insert(1, older);
}

#[test]
fn a_hotfix_restarts_the_clock() {
    let since = |hotfix: bool, number: u64| {
        let mut world = unapproved();
        if hotfix {
            fix(&mut world, "1.1.0", |_| {});
        }
        let grace = Grace { since: ago(70), deadline: ago(10), notices: Vec::new(), giving: None };
        came_before(&mut world, number, Some(grace));
        let before = SignedDuration::from_mins(10);
        edit(&mut world, |pull| pull.notices = vec![SentNotice { before, at: ago(20) }]);
        let plan = crate::plan(&world, noon());
        let wave = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        let grace = wave.grace.clone().unwrap();
        (grace.since, grace.notices.len(), merges(&plan))
    };
    assert_eq!(since(false, 7), (ago(70), 1, true));
    assert_eq!(since(true, 7), (noon(), 0, false));
    // Each had a pull request of its own: this one's clock was never another's.
    assert_eq!((since(false, 5).0, since(true, 5).0), (noon(), noon()));
    let lately = || noon() - SignedDuration::from_secs(10);
    let opened_lately = |number: u64| {
        let mut world = unapproved();
        fix(&mut world, "1.1.0", |_| {});
        came_before(&mut world, number, None);
        edit(&mut world, |pull| pull.opened_at = lately());
        let plan = crate::plan(&world, noon());
        plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().grace.clone().unwrap().since
    };
    assert_eq!((opened_lately(7), opened_lately(5)), (noon(), lately()), "a new one counts from its opening");
}

#[test]
fn its_own_soak_is_only_ever_shorter() {
    let state = |change: Option<fn(&mut Hotfix)>| {
        let mut world = landed(vec![healthy("1.1.0")]);
        if let Some(change) = change {
            fix(&mut world, "1.1.0", change);
        }
        remember(&mut world, Change::Converged(ago(20)));
        let healthy_for = SignedDuration::from_mins(20);
        let soaked = Soaked { healthy_for, begun: Some(ago(20)), until: noon(), paused: false, ailing: None };
        remember(&mut world, Change::Soaked(soaked));
        let plan = crate::plan(&world, noon());
        plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().state.clone()
    };
    let hour = |state: WaveState| matches!(state, WaveState::Soaking { of, .. } if of == SignedDuration::from_hours(1));
    assert!(hour(state(None)) && hour(state(Some(|_| {}))));
    assert!(hour(state(Some(|fix| fix.soak = Some(SignedDuration::from_hours(5))))));
    let short = state(Some(|fix| fix.soak = Some(SignedDuration::from_mins(10))));
    assert!(matches!(short, WaveState::Finished { .. }), "{short:?}");
}

#[test]
fn closed_windows_let_it_through_and_freezes_do_not() {
    let closed: fn(&mut Snapshot) = |world| {
        let open = vec![Range { days: vec![1], from: 0, to: 60 }];
        bronze(world).windows = Some(Windows { open, ..Windows::always(jiff::tz::TimeZone::UTC) });
    };
    let through: fn(&mut Hotfix) = |fix| fix.through_windows = true;
    let world = |change: fn(&mut Hotfix)| {
        let mut world = ready();
        closed(&mut world);
        fix(&mut world, "1.1.0", change);
        world
    };
    assert!(!merges(&crate::plan(&world(|_| {}), noon())));
    assert!(merges(&crate::plan(&world(through), noon())));
    let finding = says(&world(through), Gate::Window);
    assert!(matches!(finding.verdict, Verdict::Waived { .. }));
    assert_eq!(finding.because.to_string(), "a hotfix (CVE-2026-1), though the window of the tier is closed");
    let mut frozen = world(through);
    freeze_all(&mut frozen);
    assert!(!merges(&crate::plan(&frozen, noon())));
    // Force waives approvals and nothing else: it waits for the window.
    let mut over = unapproved();
    let since = ago(70);
    remember(&mut over, Change::Grace(Grace { since, deadline: ago(10), notices: Vec::new(), giving: None }));
    let before = SignedDuration::from_mins(10);
    edit(&mut over, |pull| pull.notices = vec![SentNotice { before, at: ago(20) }]);
    assert!(merges(&crate::plan(&over, noon())));
    closed(&mut over);
    fix(&mut over, "1.1.0", through);
    assert!(!merges(&crate::plan(&over, noon())));
}

fn say(world: &mut Snapshot, text: &str, through_windows: bool, allowed: Read<bool>) {
    let hotfix = Hotfix { version: version(text), why: "CVE-2026-1".into(), soak: None, through_windows };
    let command = Command { by: "noor".into(), at: ago(5), what: CommandKind::Hotfix(hotfix), allowed };
    edit(world, |pull| pull.commands.push(command));
}

fn remember_all(world: &mut Snapshot) -> usize {
    let entries = crate::plan(world, noon()).entries;
    let hotfixes = entries.iter().filter(|record| matches!(record.entry, Entry::Hotfix { .. }));
    hotfixes.for_each(|record| world.ledger.apply(&record.entry));
    world.ledger.plugins[&"app".into()].hotfixes.len()
}

/// 1.2.0 has finished qa while the approved pull request of 1.1.0 waits on bronze, and noor says so.
#[test]
fn a_command_makes_one() {
    let moved = ["move bronze to 1.2.0"];
    let merge = ["merge 1.1.0 on bronze"];
    let world = |allowed: Read<bool>| {
        let mut world = ready();
        finished_above(&mut world);
        say(&mut world, "1.2.0", false, allowed);
        world
    };
    assert_eq!(doings(&world(Read::Known(true))), moved);
    assert_eq!(doings(&world(Read::Known(false))), merge);
    assert_eq!(doings(&world(Read::Unread("503".into()))), merge, "rights that are not known");
    // It is remembered once, and outlives its comment where only the bots write the ledger.
    let mut known = world(Read::Known(true));
    assert_eq!((remember_all(&mut known), remember_all(&mut known)), (1, 1));
    assert_eq!(remember_all(&mut world(Read::Unread("503".into()))), 0);
    edit(&mut known, |pull| pull.commands.clear());
    assert_eq!(doings(&known), moved);
    known.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("no rule".into()) };
    assert_eq!(doings(&known), merge, "anybody may have written that");
    say(&mut known, "1.2.0", false, Read::Known(true));
    assert_eq!(doings(&known), moved, "the hub confirms it");
}

/// The comments stay, and are read at every look.
#[test]
fn a_word_is_written_once() {
    let mut world = ready();
    (0..2).for_each(|_| say(&mut world, "1.1.0", true, Read::Known(true)));
    let written = |world: &Snapshot| {
        let entries = crate::plan(world, noon()).entries;
        entries.iter().filter(|record| matches!(record.entry, Entry::Hotfix { .. })).count()
    };
    assert_eq!(written(&world), 1, "noor said it twice within a second");
    remember_all(&mut world);
    assert_eq!(written(&world), 0, "the ledger knows it");
}

/// Each version that noor names on the pull request of 1.1.0, and what is said there.
#[test]
fn what_changes_nothing_is_said() {
    let tells = |text: &str, change: fn(&mut Snapshot)| {
        let mut world = ready();
        say(&mut world, text, true, Read::Known(true));
        change(&mut world);
        let plan = crate::plan(&world, noon());
        let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        let named =
            |finding: &&Finding| matches!(finding.because, Reason::HotfixByCommand { .. } | Reason::HotfixVoid { .. });
        let said = bronze.findings.iter().find(named).map(|finding| finding.because.to_string());
        (said.unwrap_or_default(), remember_all(&mut world), merges(&plan))
    };
    let void = |text: &str, why: &str| {
        alloc::format!("noor names {text} a hotfix with a command, which changes nothing: {why}")
    };
    let one = "a hotfix, as noor said with a command: CVE-2026-1".to_string();
    assert_eq!(tells("1.1.0", |_| {}), (one, 1, true));
    assert_eq!(tells("1.0.0", |_| {}), (String::new(), 1, true), "it runs, and nothing newer runs everywhere");
    // What makes 1.1.0 one is the file; noor spoke of another release.
    let of_file: fn(&mut Snapshot) = |w| {
        publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
        fix(w, "1.1.0", |_| {});
    };
    assert_eq!(tells("1.2.0", of_file), (String::new(), 1, true));
    // Once said, and then not to be believed any more.
    let mut forgotten = ready();
    say(&mut forgotten, "1.1.0", true, Read::Known(true));
    remember_all(&mut forgotten);
    edit(&mut forgotten, |pull| pull.commands.clear());
    let by_command = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        let bronze = plan.waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        bronze.findings.iter().any(|finding| matches!(finding.because, Reason::HotfixByCommand { .. }))
    };
    assert!(by_command(&forgotten));
    forgotten.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("no rule".into()) };
    assert!(!by_command(&forgotten));
    let unlisted = void("1.9.0", "the source does not list 1.9.0 any more");
    assert_eq!(tells("1.9.0", |_| {}), (unlisted, 0, true));
    let older = void("0.9.0", "1.0.0 takes its place");
    assert_eq!(tells("0.9.0", |w| publish(w, &["0.9.0", "1.0.0", "1.1.0"])), (older, 1, true));
    let outside = void("1.2.0", "outside the constraint `~1.1`");
    let constrain: fn(&mut Snapshot) = |w| {
        publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
        w.policy.plugins[0].constraint = "~1.1".parse().ok();
    };
    assert_eq!(tells("1.2.0", constrain), (outside, 1, true));
}

/// A person closed the pull request of 1.2.0 on qa: no word makes it come back.
#[test]
fn a_no_stays_a_no() {
    let mut world = ready();
    publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
    let landed = crate::ledger::Landed { at: ago(20), commit: None, by: None };
    on_qa(&mut world, "1.2.0", Change::Found { members: Vec::new(), digest: None, landed });
    let no = crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(9) };
    on_qa(&mut world, "1.2.0", Change::Rejected(no));
    say(&mut world, "1.2.0", true, Read::Known(true));
    assert_eq!(doings(&world), ["merge 1.1.0 on bronze"]);
}

#[test]
fn the_file_and_a_command_say_it_together() {
    let mut world = ready();
    bronze(&mut world).windows = Some(Windows {
        open: vec![Range { days: vec![1], from: 0, to: 60 }],
        ..Windows::always(jiff::tz::TimeZone::UTC)
    });
    fix(&mut world, "1.1.0", |_| {});
    assert!(!merges(&crate::plan(&world, noon())));
    say(&mut world, "1.1.0", true, Read::Known(true));
    assert!(merges(&crate::plan(&world, noon())));
}

/// Without proof of its version nothing finishes, hotfix or not.
#[test]
fn it_needs_the_proof_of_its_version() {
    let mut world = landed(vec![healthy("1.0.0")]);
    fix(&mut world, "1.1.0", |fix| fix.soak = Some(SignedDuration::ZERO));
    on_qa(&mut world, "1.1.0", Change::Finished(ago(60)));
    let plan = crate::plan(&world, noon());
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert!(matches!(bronze.state, WaveState::Converging { healthy: 0, .. }), "{:?}", bronze.state);
}
