//! Bugs around merges: ledgers and heads of somebody else, words of the last moment, a false yes, refusals, rules.

use decide::plan::{Action, Plan};
use decide::snapshot::{CommandKind, Landing, LedgerGuard, LedgerState, Pull, Read, Snapshot};
use jiff::{SignedDuration, Timestamp};

use super::Bug;
use super::facts::{lied_to, pulls, waves};
use crate::merges::Hand;

/// What somebody else wrote on the ledger branch counts.
fn foreign_ledger_believed(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        if matches!(&snapshot.ledger_state, LedgerState::Unread(why) if why.contains("not the bot's")) {
            snapshot.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Sealed };
        }
    })
}

/// A head that git did not prove is asked for again, and never written anew.
fn unproved_is_asked_again(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        waves(snapshot).filter_map(|wave| wave.refused.as_mut()).for_each(|refused| refused.anew = false);
    })
}

/// On the pull requests that are about to be merged nothing is heard any more.
fn about_to_be_merged(snapshot: &Snapshot, now: Timestamp, deafen: fn(&mut Pull)) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let asked: Vec<_> = waves(snapshot).filter_map(|wave| wave.asked().map(|asked| asked.head.clone())).collect();
        pulls(snapshot).filter(|pull| asked.contains(&pull.head)).for_each(deafen);
    })
}

fn last_hold_overheard(snapshot: &Snapshot, now: Timestamp) -> Plan {
    about_to_be_merged(snapshot, now, |pull| {
        pull.commands.retain(|command| !matches!(command.what, CommandKind::Hold { .. }));
    })
}

fn rules_of_the_first_look(snapshot: &Snapshot, now: Timestamp) -> Plan {
    about_to_be_merged(snapshot, now, |pull| pull.unmet = Read::Known(Vec::new()))
}

/// Whatever the hub calls merged has landed.
fn a_yes_is_a_proof(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        pulls(snapshot).for_each(|pull| pull.landing = Read::Known(Landing::Proven { commit: pull.head.clone() }));
        snapshot.ledger.stops.clear();
    })
}

/// It is seen once that something else came, and forgotten.
fn stops_are_forgotten(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let heads: Vec<_> = snapshot.ledger.stops.iter().map(|stop| stop.head.clone()).collect();
        pulls(snapshot)
            .filter(|pull| heads.contains(&pull.head))
            .for_each(|pull| pull.landing = Read::Known(Landing::Proven { commit: pull.head.clone() }));
        snapshot.ledger.stops.clear();
    })
}

/// What the hub refused is asked for at every look.
fn refusals_are_forgotten(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| waves(snapshot).for_each(|wave| wave.refused = None))
}

/// While one is refused the others wait.
fn one_refusal_stops_all(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    let all = snapshot.ledger.plugins.values().flat_map(|page| page.tiers.values()).flatten();
    if all.filter_map(|wave| wave.refused.as_ref()).any(|refused| now < refused.until()) {
        plan.actions.retain(|action| !matches!(action, Action::Merge { .. }));
    }
    plan
}

/// What was refused counts under the cap of clusters as if it had changed them.
fn refused_counts_as_changed(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let mut heads = Vec::new();
        for wave in waves(snapshot).filter(|wave| wave.landed().is_none()) {
            let (refused, merging) = (wave.refused.as_mut(), wave.merging.as_mut());
            if let (Some(refused), Some(merging)) = (refused, merging) {
                merging.at = merging.at.max(refused.at + SignedDuration::from_secs(1));
                heads.push(merging.head.clone());
            }
        }
        let known = pulls(snapshot).filter(|pull| heads.contains(&pull.head));
        known.for_each(|pull| pull.landing = Read::Unread("nobody asked".to_string()));
    })
}

/// However often a yes was false, it may be true the next time.
fn yes_is_never_a_lie(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        waves(snapshot).filter_map(|wave| wave.refused.as_mut()).for_each(|refused| refused.false_yes = 0);
        snapshot.ledger.stops.clear();
    })
}

/// Whoever merged it, it is merged.
fn unasked_is_welcome(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        snapshot.hub.own.clear();
        snapshot.ledger.stops.clear();
    })
}

/// Hands that forget one step of the way, with the planner as it is.
pub const HANDS: &[(&str, Hand, &[&str])] = &[
    ("a permit is good for ever", Hand::OldPermit, &["S9"]),
    ("whatever the head holds is merged", Hand::AnyHead, &["S6"]),
];

/// Branch rules that want heads up to date are not looked at.
fn behind_is_overlooked(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| pulls(snapshot).for_each(|pull| pull.behind = Read::Known(false)))
}

/// Whether a pull request is behind is never found out, so that none is brought up to date.
fn nobody_comes_up(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let behind = pulls(snapshot).filter(|pull| pull.behind == Read::Known(true));
        behind.for_each(|pull| pull.behind = Read::Unread("503".to_string()));
    })
}

/// What branch rules ask of every merge is overlooked.
fn talk_is_overlooked(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| pulls(snapshot).for_each(|pull| pull.lacks.clear()))
}

/// A tier has finished whatever its workflow says.
fn a_tier_is_not_verified(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.for_each(|tier| tier.verify = None);
    })
}

/// Pull requests are opened whatever the window for that says.
fn opened_at_any_time(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.opening = None)
}

pub const BUGS: &[Bug] = &[
    ("a tier is not verified", a_tier_is_not_verified, &["P3"]),
    ("opened outside of its window", opened_at_any_time, &["S9"]),
    ("a conversation is overlooked", talk_is_overlooked, &["S8"]),
    ("what is behind is merged", behind_is_overlooked, &["S8"]),
    ("nobody is brought up to date", nobody_comes_up, &["L1"]),
    ("a foreign ledger is believed", foreign_ledger_believed, &["S16"]),
    ("an unproved head is asked for again", unproved_is_asked_again, &["L1", "L3", "L5"]),
    ("a hold of the last moment is overheard", last_hold_overheard, &["S9"]),
    ("rules are those of the first look", rules_of_the_first_look, &["S8"]),
    ("a yes of the hub is a proof", a_yes_is_a_proof, &["S14"]),
    ("a yes is never a lie", yes_is_never_a_lie, &["S14"]),
    ("a merge of ours is welcome unasked", unasked_is_welcome, &["S14"]),
    ("what did not land is forgotten", stops_are_forgotten, &["S14"]),
    ("what is refused is asked for at once", refusals_are_forgotten, &["L5"]),
    ("one refusal stops all", one_refusal_stops_all, &["L3"]),
    ("a refused merge has changed clusters", refused_counts_as_changed, &["L3"]),
];
