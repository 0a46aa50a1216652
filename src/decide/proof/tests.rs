//! What a merge has to prove, and what stops everything.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::Sha;
use crate::ledger::{Change, Merging, Refusal};
use crate::plan::Gate;
use crate::snapshot::{Command, CommandKind, HubFacts};
use crate::testing::*;
use alloc::vec;

/// The bot asked for the merge of 1.1.0 on bronze, and the hub says this of it.
fn asked(landing: Read<Landing>, minutes: Option<i64>) -> Snapshot {
    let mut world = ready();
    let merging = Merging { head: pull().head, at: ago(6), base: Some("00".into()), forced: None };
    remember(&mut world, Change::Merging(merging));
    edit(&mut world, |pull| {
        pull.landing = landing;
        if let Some(minutes) = minutes {
            pull.state = PullState::Merged { at: ago(minutes), by: BOT.into(), commit: "dd".into() };
        }
    });
    world
}

fn wrong() -> Read<Landing> {
    Read::Known(Landing::Wrong { why: "it also changed CODEOWNERS".into() })
}

fn stops(world: &Snapshot) -> bool {
    crate::plan(world, noon()).entries.iter().any(|record| matches!(record.entry, Entry::Stopped(_)))
}

#[test]
fn f30_what_did_not_land_as_planned_stops_everything() {
    let absent = || Read::Known(Landing::Absent);
    let proven = || Read::Known(Landing::Proven { commit: "dd".into() });
    for (name, landing, minutes, stopped, blocked) in [
        ("proved", proven(), Some(1), false, false),
        ("something else came", wrong(), Some(1), true, true),
        ("something else came, and it is open", wrong(), None, true, true),
        ("not there yet", absent(), Some(1), false, true),
        ("not there for minutes", absent(), Some(2), true, true),
        ("not known", Read::Unread("503".into()), Some(30), false, true),
        ("nothing happened", absent(), None, false, false),
    ] {
        let world = asked(landing, minutes);
        assert_eq!(stops(&world), stopped, "{name}");
        let plan = crate::plan(&world, noon());
        let held = |wave: &crate::WaveReport| wave.blocker().is_some_and(|finding| finding.gate == Gate::Ledger);
        assert_eq!(plan.waves.iter().all(held), blocked, "{name}: {:?}", plan.waves);
        assert!(!blocked || plan.actions.is_empty(), "{name}: {:?}", plan.actions);
    }
}

/// A yes that is not to be seen is asked for again, and the third one is a lie. What the hub did not say is none, and
/// a no in between shows that it does not always lie.
#[test]
fn f30_a_third_false_yes_stops_everything() {
    use Refusal::{FalseYes, No, Unanswered};
    for (name, kinds, stopped) in [
        ("twice", &[FalseYes, FalseYes][..], false),
        ("three times", &[FalseYes, FalseYes, FalseYes], true),
        ("silence between", &[FalseYes, FalseYes, Unanswered, FalseYes], true),
        ("silence at last", &[FalseYes, FalseYes, Unanswered], false),
        ("a no between", &[FalseYes, FalseYes, No, FalseYes], false),
        ("never an answer", &[Unanswered; 9], false),
    ] {
        let world = |landing, head: &str| {
            let mut world = asked(landing, None);
            for kind in kinds {
                let (head, at) = (head.into(), ago(6));
                remember(&mut world, Change::Refused { head, at, why: "nothing came".into(), kind: *kind });
            }
            world
        };
        let (absent, head) = (|| Read::Known(Landing::Absent), pull().head);
        assert_eq!(stops(&world(absent(), head.as_str())), stopped, "{name}");
        assert!(!stops(&world(absent(), "ffffffffff")), "{name}, of another head");
        assert!(!stops(&world(Read::Unread("503".into()), head.as_str())), "{name}, and nobody knows");
    }
}

/// Asked for one, the hub merged another of ours: nobody but the bot merges as the bot.
#[test]
fn f30_a_merge_of_ours_that_the_bot_did_not_ask_for_stops_everything() {
    let merged = |change: fn(&mut Snapshot)| {
        let mut world = ready();
        edit(&mut world, |pull| {
            pull.state = PullState::Merged { at: ago(5), by: BOT.into(), commit: "dd".into() };
        });
        world.hub.own.push(BOT.into());
        change(&mut world);
        world
    };
    let by = |world: &mut Snapshot, login: &str| {
        edit(world, |pull| pull.state = PullState::Merged { at: ago(5), by: login.into(), commit: "dd".into() });
    };
    fn rebuilt(world: &mut Snapshot, minutes: i64, cited: &str) {
        let rebuild = Rebuild { cited: cited.into(), by: "noor".into(), at: ago(minutes), pull: PullNumber(7) };
        world.ledger.apply(&Entry::Rebuilt(rebuild));
    }
    assert!(stops(&merged(|_| {})), "by the bot");
    assert!(stops(&merged(|w| rebuilt(w, 6, "cc"))), "the ledger was lost before");
    assert!(!stops(&merged(|w| rebuilt(w, 4, "cc"))), "and since: then nobody knows");
    let mut cleared = merged(|_| {});
    let (pull, head, why) = (PullNumber(5), Sha::from("bb"), String::from("another"));
    cleared.ledger.apply(&Entry::Stopped(Stop { pull, head, at: ago(9), why, cleared: None }));
    rebuilt(&mut cleared, 4, "bb");
    assert!(stops(&cleared), "who cleared another stop has given up no ledger");
    // The bot's clock was a minute late, and is not any more.
    let mut known = merged(|_| {});
    crate::plan(&known, ago(6)).entries.iter().for_each(|record| known.ledger.apply(&record.entry));
    assert!(known.ledger.stop().is_some());
    rebuilt(&mut known, 4, crate::testing::pull().head.as_str());
    assert!(known.ledger.stop().is_none() && !stops(&known), "it was merged once, and somebody has cleared that");
    let mut bypass = merged(|w| w.hub.own.push("second[bot]".into()));
    by(&mut bypass, "second[bot]");
    assert!(stops(&bypass), "by the other identity");
    let mut person = merged(|_| {});
    by(&mut person, "maria");
    assert!(!stops(&person), "by a person");
    assert!(!stops(&merged(|w| w.hub.own.clear())), "as somebody whom others may be, too");
    let mut intended = asked(Read::Known(Landing::Proven { commit: "dd".into() }), Some(1));
    intended.hub.own.push(BOT.into());
    assert!(!stops(&intended), "asked for");
    let elsewhere = |w: &mut Snapshot| edit(w, |pull| pull.head = "eeeeeeeeee".into());
    assert!(!stops(&merged(elsewhere)), "with what the bot did not write");
}

#[test]
fn a_stop_outlives_what_it_was_seen_by_until_a_person_clears_it() {
    let mut world = asked(wrong(), Some(1));
    for record in crate::plan(&world, noon()).entries {
        world.ledger.apply(&record.entry);
    }
    assert_eq!(world.ledger.stops.len(), 1);
    edit(&mut world, |pull| pull.landing = Read::Unread("nobody asked".into()));
    assert!(!stops(&world), "it is written once");
    assert!(crate::plan(&world, noon()).actions.is_empty());
    let head = pull().head;
    let word = |cited: &str, allowed| Command {
        by: "noor".into(),
        at: ago(0),
        what: CommandKind::Rebuild { cited: cited.into() },
        allowed,
    };
    for (cited, allowed, clears) in [
        (head.as_str(), Read::Known(false), false),
        (head.as_str(), Read::Unread("503".into()), false),
        ("fffffff", Read::Known(true), false),
        (head.as_str(), Read::Known(true), true),
    ] {
        let mut world = world.clone();
        edit(&mut world, |pull| pull.commands = vec![word(cited, allowed.clone())]);
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
        }
        assert_eq!(world.ledger.stop().is_none(), clears, "{cited} {allowed:?}");
        assert_eq!(world.ledger.stops.len(), 1, "it is cleared, and not forgotten");
    }
}

/// The hub shows the same of it at every look.
#[test]
fn what_stopped_everything_is_no_news_though_it_is_still_to_be_seen() {
    let mut world = asked(wrong(), Some(1));
    crate::plan(&world, noon()).entries.iter().for_each(|record| world.ledger.apply(&record.entry));
    assert!(world.ledger.stop().is_some() && !stops(&world), "it is known");
    let rebuild = Rebuild { cited: pull().head, by: "noor".into(), at: noon(), pull: PullNumber(7) };
    world.ledger.apply(&Entry::Rebuilt(rebuild));
    assert!(world.ledger.stop().is_none() && !stops(&world), "a person has cleared it");
}

/// A person has cleared the third false yes, the bot asks once more, and the hub lies once more.
#[test]
fn f30_what_was_cleared_and_goes_wrong_once_more_stops_everything_again() {
    let mut world = asked(Read::Known(Landing::Absent), None);
    let head = pull().head;
    let minute = |minute| noon() + SignedDuration::from_mins(minute);
    let nothing = |at, kind| Change::Refused { head: head.clone(), at, why: "nothing came".into(), kind };
    let lie = |at| nothing(at, Refusal::FalseYes);
    let word = |at| Command {
        by: "noor".into(),
        at,
        what: CommandKind::Rebuild { cited: head.to_string() },
        allowed: Read::Known(true),
    };
    let look = |world: &mut Snapshot, now| {
        crate::plan(world, now).entries.iter().for_each(|record| world.ledger.apply(&record.entry));
        world.ledger.stop().is_some()
    };
    [ago(6), ago(3), noon()].into_iter().for_each(|at| remember(&mut world, lie(at)));
    assert!(look(&mut world, noon()));
    edit(&mut world, |pull| pull.commands = vec![word(minute(1))]);
    assert!(!look(&mut world, minute(2)));
    let merging = Merging { head: head.clone(), at: minute(3), base: Some("00".into()), forced: None };
    remember(&mut world, Change::Merging(merging));
    assert!(!look(&mut world, minute(4)), "nothing is known of it yet");
    remember(&mut world, nothing(minute(4), Refusal::Unanswered));
    assert!(!look(&mut world, minute(5)), "who says nothing does not say yes");
    remember(&mut world, lie(minute(5)));
    assert!(look(&mut world, minute(6)));
    assert!(look(&mut world, minute(7)), "what was said of the first is no word about the second");
    let again = world.ledger.clone();
    again.stops.iter().for_each(|stop| world.ledger.apply(&Entry::Stopped(stop.clone())));
    again.rebuilds.iter().for_each(|said| world.ledger.apply(&Entry::Rebuilt(said.clone())));
    assert_eq!(world.ledger, again, "read once more, nothing is new");
    edit(&mut world, |pull| pull.commands.push(word(minute(8))));
    assert!(!look(&mut world, minute(9)));
    assert_eq!(world.ledger.stops.len(), 2);
}

#[test]
fn what_is_not_proved_has_not_landed() {
    let lands = |landing, minutes, head: &str| {
        let mut world = asked(landing, minutes);
        edit(&mut world, |pull| pull.head = head.into());
        facts(&mut world).base = landed(vec![]).plugins[&"app".into()].base.clone();
        let entries = crate::plan(&world, noon()).entries;
        entries.iter().any(|record| matches!(&record.entry, Entry::Wave { change: Change::Landed(_), .. }))
    };
    let (asked, unread) = (pull().head, || Read::Unread("503".into()));
    assert!(lands(Read::Known(Landing::Proven { commit: "dd".into() }), Some(1), asked.as_str()));
    assert!(!lands(unread(), Some(1), asked.as_str()));
    assert!(lands(unread(), None, asked.as_str()), "somebody put it there beside its open pull request");
    assert!(lands(unread(), Some(1), "eeeeeeeeee"), "somebody merged what the bot did not ask for");
}

/// The hub dates its merges by its own clock, of which ours is ahead, or behind.
#[test]
fn a_merge_is_dated_by_the_hubs_clock() {
    let stopped = |ahead: i64, minutes: i64| {
        let mut world = asked(Read::Known(Landing::Absent), Some(minutes));
        world.hub.skew = SignedDuration::from_mins(ahead);
        stops(&world)
    };
    assert_eq!([stopped(1, 2), stopped(1, 3), stopped(-1, 0), stopped(-1, 1)], [false, true, false, true]);
    // Another stop of this head was cleared; the merge that nobody asked for came after it.
    let since = |ahead: i64| {
        let mut world = ready();
        world.hub = HubFacts { own: vec![BOT.into()], skew: SignedDuration::from_mins(ahead), ..world.hub };
        edit(&mut world, |pull| {
            pull.state = PullState::Merged { at: ago(6), by: BOT.into(), commit: "dd".into() };
        });
        let cleared = Some(crate::ledger::Lifted { by: "noor".into(), at: ago(5) });
        let (pull, head, why) = (PullNumber(7), pull().head, String::from("another"));
        world.ledger.stops.push(Stop { pull, head, at: ago(5), why, cleared });
        stops(&world)
    };
    assert_eq!([since(0), since(2)], [false, true]);
}
