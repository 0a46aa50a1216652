//! Whether what the bot asked to be merged has landed as planned (design: invariant S14). What is not proved stops
//! every plugin: a hub that merged something else once may do so again. How git proves it is the bot's `act/proof`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::ledger::{Entry, FALSE_YES, Ledger, PluginLedger, Rebuild, Stop, Wave};
use crate::plan::{Record, Urgency};
use crate::snapshot::{Landing, LedgerState, Pull, PullState, Read, Snapshot};
use crate::{PullNumber, Reason};

/// A hub shows what it has merged on every replica within seconds; after this it has not.
pub(crate) const PATIENCE: SignedDuration = SignedDuration::from_mins(2);
/// What merges of the bot are not proved.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Proofs {
    /// The first that went wrong and that nobody has cleared.
    stop: Option<Stop>,
    /// The first of which nobody knows yet.
    waits: Option<(PullNumber, String)>,
}

impl Proofs {
    /// What stands in the way of every merge.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let stopped = self.stop.as_ref().map(|stop| {
            let (pull, head, why) = (stop.pull, stop.head.clone(), stop.why.clone());
            Trouble::Stopped(Reason::Stopped { pull, head, why })
        });
        let waits =
            |(pull, why): &(PullNumber, String)| Trouble::Waits(Reason::Unproven { pull: *pull, why: why.clone() });
        stopped.or_else(|| self.waits.as_ref().map(waits))
    }
}

/// Why nothing may be done now.
pub(crate) enum Trouble {
    /// Until a person clears it.
    Stopped(Reason),
    /// Until the next look knows more.
    Waits(Reason),
}

/// Looks at every merge that was asked for, and says what of it is new to the ledger.
pub(crate) fn read(snapshot: &Snapshot, now: Timestamp) -> (Proofs, Vec<Record>) {
    let mut proofs = Proofs { stop: snapshot.ledger.stop().cloned(), waits: None };
    let mut entries = Vec::new();
    if !matches!(snapshot.ledger_state, LedgerState::Intact { .. }) {
        return (proofs, entries);
    }
    for (plugin, page) in &snapshot.ledger.plugins {
        let Some(pulls) = snapshot.plugins.get(plugin).and_then(|facts| facts.pulls.known()) else { continue };
        let open = page.tiers.values().flatten().filter(|wave| wave.landed().is_none());
        let asked = open.filter_map(|wave| Some((wave, asked_for(wave, pulls)?)));
        let skew = snapshot.hub.skew;
        let stops = |pull: &Pull| {
            let head = pull.head.clone();
            snapshot.ledger.stops.iter().filter(move |stop| stop.head == head)
        };
        let stopped = |pull: &Pull| stops(pull).max_by_key(|stop| (stop.cleared.is_none(), stop.at));
        let asked = asked.filter_map(|(wave, pull)| {
            let at = wave.merging.as_ref()?.at;
            Some((pull, at, verdict(wave, pull, stopped(pull).map(|stop| stop.at), now + skew)))
        });
        let unasked = pulls.iter().filter_map(|pull| {
            let (at, why) = unasked(snapshot, page, pull)?;
            // It is merged once only, however the two clocks have gone since.
            let is_known = stops(pull).any(|stop| stop.why == why);
            (!is_known).then(|| (pull, at - skew, Verdict::Wrong(why)))
        });
        for (pull, at, verdict) in asked.chain(unasked) {
            match verdict {
                // What was asked for since a person cleared it may go wrong once more.
                _ if stopped(pull).is_some_and(|stop| stop.cleared.is_none() || at <= stop.at) => {}
                Verdict::Fine => {}
                Verdict::Waits(why) => proofs.waits = proofs.waits.or(Some((pull.number, why))),
                Verdict::Wrong(why) => {
                    let stop = Stop { pull: pull.number, head: pull.head.clone(), at: now, why, cleared: None };
                    entries.push(Record { entry: Entry::Stopped(stop.clone()), urgency: Urgency::Transition });
                    proofs.stop = proofs.stop.or(Some(stop));
                }
            }
        }
    }
    (proofs, entries)
}

/// The pull request of a wave: the one it knows by number, or the one that holds its commit.
pub(crate) fn own_pull<'a>(wave: &Wave, pulls: &[&'a Pull]) -> Option<&'a Pull> {
    let written = |pull: &&&Pull| wave.head().is_some_and(|head| head.commit == pull.head);
    // Somebody may have pushed to it before we first saw it; the branch and the author were checked.
    let since = |pull: &&&Pull| pull.opened_at.as_second() >= wave.begun.as_second();
    match &wave.pull {
        Some(known) => pulls.iter().rfind(|pull| known.number == pull.number).copied(),
        None => pulls.iter().rfind(written).or_else(|| pulls.iter().rfind(since)).copied(),
    }
}

/// Whether a wave has to be proved before what stands on the base branch counts as its landing.
pub(crate) fn is_awaited(wave: &Wave, pull: &Pull) -> bool {
    let merged = matches!(pull.state, PullState::Merged { .. });
    wave.merging.as_ref().is_some_and(|merging| merged && merging.head == pull.head) && pull.landing.known().is_none()
}

/// The pull request of a merge that the bot asked for.
fn asked_for<'a>(wave: &Wave, pulls: &'a [Pull]) -> Option<&'a Pull> {
    let merging = wave.merging.as_ref()?;
    pulls.iter().find(|pull| pull.head == merging.head)
}

/// When the hub merged a pull request as one of our Apps, and what is wrong with that: the ledger has every merge that
/// they ask for before it is asked for. What a lost ledger has forgotten, nobody knows.
fn unasked(snapshot: &Snapshot, page: &PluginLedger, pull: &Pull) -> Option<(Timestamp, String)> {
    let PullState::Merged { at, by, .. } = &pull.state else { return None };
    let wave =
        page.tiers.get(&pull.tier)?.iter().rfind(|wave| wave.head().is_some_and(|head| head.commit == pull.head))?;
    let asked = wave.merging.as_ref().is_some_and(|merging| merging.head == pull.head);
    let Ledger { rebuilds, stops, .. } = &snapshot.ledger;
    let lost = |rebuild: &&Rebuild| !stops.iter().any(|stop| stop.head == rebuild.cited);
    let forgotten = rebuilds.iter().filter(lost).any(|rebuild| rebuild.at >= *at);
    (snapshot.hub.own.contains(by) && !asked && !forgotten)
        .then(|| (*at, format!("the hub says that {by} merged it, and the bot did not ask for that")))
}

enum Verdict {
    Fine,
    Waits(String),
    Wrong(String),
}

/// What came of a merge that was asked for; of false answers those since this head stopped everything the last time.
fn verdict(wave: &Wave, pull: &Pull, stopped: Option<Timestamp>, now: Timestamp) -> Verdict {
    let refused = wave.refused.as_ref().filter(|refused| refused.head == pull.head);
    let lies = refused.is_some_and(|refused| refused.false_yes >= FALSE_YES && Some(refused.at) > stopped);
    match (&pull.landing, &pull.state) {
        (Read::Known(Landing::Wrong { why }), _) => Verdict::Wrong(why.clone()),
        (Read::Known(Landing::Proven { .. }), _) => Verdict::Fine,
        (Read::Known(Landing::Absent), PullState::Merged { at, .. }) if now >= *at + PATIENCE => {
            Verdict::Wrong("the hub says that it is merged, and the base branch has nothing of it".to_string())
        }
        (Read::Known(Landing::Absent), PullState::Merged { .. }) => {
            Verdict::Waits("the hub says that it is merged, and the base branch does not show it".to_string())
        }
        (Read::Unread(why), PullState::Merged { .. }) => Verdict::Waits(why.clone()),
        (Read::Known(Landing::Absent), PullState::Open) if lies => {
            let why =
                format!("the hub said {FALSE_YES} times that it merged it, and the base branch has nothing of it");
            Verdict::Wrong(why)
        }
        (Read::Known(Landing::Absent) | Read::Unread(_), PullState::Open | PullState::Closed { .. }) => Verdict::Fine,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::Sha;
    use crate::ledger::{Change, Merging, Refusal};
    use crate::plan::Gate;
    use crate::snapshot::{Command, CommandKind};
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
}
