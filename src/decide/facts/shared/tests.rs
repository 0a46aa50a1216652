//! What counts under the caps, and for how long.
#![allow(clippy::unwrap_used)]
use super::*;
use crate::PluginPolicy;
use crate::PullNumber;
use crate::ledger::{Change, Head, Landed, Merging, Refusal};
use crate::snapshot::{Landing, Read};
use crate::testing::*;
use alloc::vec;

/// The intent of 1.1.0 is on bronze, and nobody has seen its pull request yet.
fn intended(pulls: Vec<Pull>) -> u32 {
    let mut world = ready();
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().pull = None;
    facts(&mut world).pulls = Read::Known(pulls);
    Shared::count(&world, noon()).openings.unfinished
}

#[test]
fn what_was_cut_off_keeps_a_place_until_it_is_shown() {
    let closed = || PullState::Closed { at: ago(1), by: Some(BOT.into()) };
    assert_eq!(intended(vec![]), 1);
    assert_eq!(intended(vec![pull()]), 0);
    assert_eq!(intended(vec![Pull { head: "eeeeeeeeee".into(), ..pull() }]), 0, "somebody pushed to it");
    assert_eq!(intended(vec![Pull { state: closed(), ..pull() }]), 0, "it was there");
    assert_eq!(intended(vec![Pull { state: closed(), head: "eeeeeeeeee".into(), ..pull() }]), 1, "another one was");
    assert_eq!(intended(vec![Pull { tier: "qa".into(), ..pull() }]), 1, "of another tier");
}

/// Two plugins, each with a new release for its first tier.
#[test]
fn what_one_plugin_opens_the_next_one_counts() {
    let opens = |limit: u32| {
        let mut world = ready();
        world.policy.plugins[0].tiers.truncate(1);
        facts(&mut world).pulls = Read::Known(vec![]);
        facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
        let dns = PluginPolicy { name: "dns".into(), ..world.policy.plugins[0].clone() };
        world.policy.plugins.push(dns);
        world.plugins.insert("dns".into(), world.plugins[&"app".into()].clone());
        let page = world.ledger.plugins[&PluginName::from("app")].clone();
        world.ledger.plugins.insert("dns".into(), page);
        world.policy.limits.open_pulls = Some(limit);
        crate::plan(&world, noon()).actions.len()
    };
    assert_eq!([opens(0), opens(1), opens(2)], [0, 1, 2]);
}

/// What was merged counts for an hour by whichever clock is later.
#[test]
fn a_merge_counts_for_an_hour() {
    let counts = |minutes: i64, skew: i64| {
        let mut world = landed(vec![healthy("1.1.0")]);
        world.hub.skew = SignedDuration::from_mins(skew);
        remember(
            &mut world,
            Change::Merging(Merging { head: "aa".into(), at: ago(minutes), base: None, forced: None }),
        );
        remember(&mut world, Change::Landed(Landed { at: ago(minutes), commit: None, by: None }));
        Shared::count(&world, noon()).changed
    };
    assert_eq!([counts(59, 0).len(), counts(60, 0).len()], [1, 0]);
    assert_eq!([counts(60, 1).len(), counts(60, -1).len(), counts(61, 1).len()], [1, 1, 0]);
    assert_eq!([counts(20, 5), counts(20, -5)], [[(ago(15), 1)], [(ago(15), 1)]], "and so is said until when");
}

#[test]
fn f32_what_the_hub_refused_to_merge_has_changed_no_cluster() {
    let counts = |refused: &[i64]| {
        let mut world = ready();
        edit(&mut world, |pull| pull.landing = Read::Unread("nobody asked".into()));
        let merging = Merging { head: pull().head, at: ago(5), base: None, forced: None };
        remember(&mut world, Change::Merging(merging));
        for minutes in refused {
            let refused =
                Change::Refused { head: pull().head, at: ago(*minutes), why: "405".into(), kind: Refusal::No };
            remember(&mut world, refused);
        }
        Shared::count(&world, noon()).changed.len()
    };
    assert_eq!([counts(&[]), counts(&[6]), counts(&[5]), counts(&[4])], [1, 1, 0, 0]);
}

#[test]
fn what_was_planned_and_never_sent_keeps_nobody_waiting() {
    let counts = |minutes: i64, landing: Read<Landing>, state: PullState| {
        let mut world = ready();
        let merging = Merging { head: pull().head, at: ago(minutes), base: Some("00".into()), forced: None };
        remember(&mut world, Change::Merging(merging));
        edit(&mut world, |pull| (pull.landing, pull.state) = (landing, state));
        let now = noon();
        Shared::count(&world, now).changed.iter().filter(|(at, _)| *at + CAP_SPAN > now).count()
    };
    let absent = || Read::Known(Landing::Absent);
    let nobody = || Read::Unread("503".into());
    let closed = || PullState::Closed { at: ago(1), by: Some(BOT.into()) };
    let merged = || PullState::Merged { at: ago(1), by: BOT.into(), commit: "dd".into() };
    for (name, minutes, landing, state, counted) in [
        ("just now", 1, absent(), PullState::Open, 1),
        ("nothing has come", 2, absent(), PullState::Open, 0),
        ("nobody knows", 2, nobody(), PullState::Open, 1),
        ("it came, and the list lags", 2, Read::Known(Landing::Proven { commit: "dd".into() }), PullState::Open, 1),
        ("the hub says that it merged", 2, absent(), merged(), 1),
        ("closed just now", 1, nobody(), closed(), 1),
        ("closed, and merged no more", 2, nobody(), closed(), 0),
    ] {
        assert_eq!(counts(minutes, landing, state), counted, "{name}");
    }
    // Its head was written anew since, as it was in conflict: what was asked for is merged no more.
    let anew = |minutes: i64, head: &str| {
        let mut world = ready();
        let merging = Merging { head: pull().head, at: ago(minutes), base: Some("00".into()), forced: None };
        remember(&mut world, Change::Merging(merging));
        let waves = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
        waves.last_mut().unwrap().heads.push(Head { commit: "ee".into(), at: ago(1), repeats: true });
        edit(&mut world, |pull| pull.landing = Read::Known(Landing::Absent));
        edit(&mut world, |pull| pull.head = head.into());
        Shared::count(&world, noon()).changed.iter().filter(|(at, _)| *at + CAP_SPAN > noon()).count()
    };
    assert_eq!([anew(1, "ee"), anew(2, "ee"), anew(2, "ff")], [1, 0, 1], "and of a head of somebody else nobody knows");
}

/// A ledger that was lost knows of no intent; what an App merged counts all the same, what a person did does not.
#[test]
fn a_merge_that_a_lost_ledger_forgot_counts_by_who_did_it() {
    let counts = |by: Option<&str>, minutes: i64| {
        let mut world = landed(vec![healthy("1.1.0")]);
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
        wave.merging = None;
        *wave.rewrite().landed = Some(Landed { at: ago(minutes), commit: None, by: by.map(Into::into) });
        Shared::count(&world, noon()).changed_lately()
    };
    assert_eq!([counts(Some(BOT), 59), counts(Some("coldframe-force[bot]"), 59)], [1, 1]);
    assert_eq!([counts(Some(BOT), 60), counts(Some("olga"), 5), counts(None, 5)], [0, 0, 0]);
}

fn ready_one(number: u64, merges: bool) -> Ready {
    let turn = (false, ago(100 - number as i64), PullNumber(number));
    let head = Sha::new(alloc::format!("{number:040x}"));
    Ready { turn, plugin: "app".into(), head, clusters: 3, merges }
}

#[test]
fn what_a_plugin_took_is_what_another_one_finds_taken() {
    let mut shared = Shared::count(&ready(), noon());
    (shared.openings, shared.due) =
        (Openings { open: 2, unfinished: 2 }, vec![ready_one(1, false), ready_one(2, false)]);
    shared.openings.open();
    shared.openings.finish();
    assert_eq!((shared.openings.open, shared.openings.unfinished), (4, 1));
    shared.is_ready(ready_one(1, true));
    shared.is_ready(ready_one(3, false));
    let due = |shared: &Shared| shared.due.iter().map(|due| due.turn.2.0).collect::<Vec<_>>();
    assert_eq!(due(&shared), [2], "what merges is due no more");
}

#[test]
fn places_are_kept_for_those_whose_turn_it_is() {
    let place = |name: &str, minutes: i64, opens: bool| {
        let (plugin, tier) = (name.into(), "bronze".into());
        InLine { turn: (true, Some(ago(minutes))), plugin, tier, opens }
    };
    let mut shared = Shared::count(&ready(), noon());
    shared.kept = vec![place("one", 10, true), place("two", 20, false)];
    let kept = |shared: &Shared, name: &str, tier: &str| shared.kept_before(&name.into(), &tier.into());
    assert_eq!([kept(&shared, "one", "bronze"), kept(&shared, "two", "bronze")], [1, 0]);
    assert_eq!([kept(&shared, "one", "qa"), kept(&shared, "three", "bronze")], [2, 2], "they did not stand in line");
    shared.stands_in_line(place("one", 10, false));
    assert_eq!(shared.kept.len(), 2, "it still waits");
    assert!(!shared.jumped_the_line(), "nobody opens");
    shared.stands_in_line(place("two", 20, true));
    assert!(!shared.jumped_the_line(), "the older one opens");
    assert_eq!(kept(&shared, "one", "bronze"), 0, "for what is opened no place is kept");
    shared.stands_in_line(place("three", 10, true));
    assert!(!shared.jumped_the_line(), "both are as old");
    shared.stands_in_line(place("four", 5, true));
    assert!(shared.jumped_the_line());
}

#[test]
fn only_what_merges_before_an_older_one_that_waits_has_overtaken_it() {
    let overtaken = |ready: &[Ready]| {
        let mut shared = Shared::count(&crate::testing::ready(), noon());
        ready.iter().for_each(|ready| shared.is_ready(ready.clone()));
        shared.was_overtaken()
    };
    assert!(!overtaken(&[]));
    assert!(!overtaken(&[ready_one(1, false)]), "nobody merges");
    assert!(!overtaken(&[ready_one(1, true), ready_one(2, true)]), "nobody waits");
    assert!(!overtaken(&[ready_one(1, true), ready_one(2, false)]), "the older one merges");
    assert!(!overtaken(&[ready_one(1, false), ready_one(2, false)]));
    assert!(!overtaken(&[ready_one(2, false), ready_one(2, true)]), "its own turn");
    assert!(overtaken(&[ready_one(1, false), ready_one(2, true)]));
}

/// The hub had refused the merge; what stands on the base branch since, somebody put there.
#[test]
fn what_somebody_put_there_after_a_refusal_is_no_change_of_the_bots() {
    let counts = |refused: Option<Refusal>, by: Option<&str>| {
        let mut world = ready();
        let merging = Merging { head: pull().head, at: ago(50), base: None, forced: None };
        remember(&mut world, Change::Merging(merging));
        if let Some(kind) = refused {
            remember(&mut world, Change::Refused { head: pull().head, at: ago(49), why: "405".into(), kind });
        }
        let landed = Landed { at: ago(5), commit: None, by: by.map(Into::into) };
        remember(&mut world, Change::Landed(landed));
        Shared::count(&world, noon()).changed.len()
    };
    assert_eq!([counts(None, None), counts(Some(Refusal::No), None)], [1, 0]);
    assert_eq!(counts(Some(Refusal::Unanswered), None), 1, "it may have been ours all the same");
    assert_eq!(counts(Some(Refusal::No), Some(BOT)), 1, "the hub says that it was");
}
