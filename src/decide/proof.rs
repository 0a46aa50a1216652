//! Whether what the bot asked to be merged has landed as planned. What is not proved stops
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
            Some((pull, at, verdict(wave, pull, stopped(pull).map(|stop| stop.at), now - skew)))
        });
        let unasked = pulls.iter().filter_map(|pull| {
            let (at, why) = unasked(snapshot, page, pull)?;
            // It is merged once only, however the two clocks have gone since.
            let is_known = stops(pull).any(|stop| stop.why == why);
            (!is_known).then(|| (pull, at + skew, Verdict::Wrong(why)))
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
mod tests;
