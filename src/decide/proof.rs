//! Whether what the bot asked to be merged has landed as planned (design: invariant S14). What is not proved stops
//! every plugin: a hub that merged something else once may do so again. How git proves it is the bot's `act/proof`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::ledger::{Entry, Stop, Wave};
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
        for wave in page.tiers.values().flatten().filter(|wave| wave.landed.is_none()) {
            let Some(pull) = asked_for(wave, pulls) else { continue };
            let known = snapshot.ledger.stops.iter().any(|stop| stop.head == pull.head);
            match verdict(pull, now + snapshot.hub.skew) {
                _ if known => {}
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

enum Verdict {
    Fine,
    Waits(String),
    Wrong(String),
}

fn verdict(pull: &Pull, now: Timestamp) -> Verdict {
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
        (Read::Known(Landing::Absent) | Read::Unread(_), PullState::Open | PullState::Closed { .. }) => Verdict::Fine,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::ledger::{Change, Merging};
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

    #[test]
    fn what_is_not_proved_has_not_landed() {
        let lands = |landing| {
            let mut world = asked(landing, Some(1));
            facts(&mut world).base = landed(vec![]).plugins[&"app".into()].base.clone();
            let entries = crate::plan(&world, noon()).entries;
            entries.iter().any(|record| matches!(&record.entry, Entry::Wave { change: Change::Landed(_), .. }))
        };
        assert!(lands(Read::Known(Landing::Proven { commit: "dd".into() })));
        assert!(!lands(Read::Unread("503".into())));
    }
}
