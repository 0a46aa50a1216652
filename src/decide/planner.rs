//! The planner: settles what the world shows into entries, then decides each tier from the bottom
//! up. What a single gate says is in `gate`; what a wave's clusters say is in `member` and `soak`.

use alloc::vec::Vec;

use jiff::Timestamp;

use crate::desk::{Decided, Desk, Shared};
use crate::fleet::Fleet;
use crate::ledger::{Entry, Rebuild};
use crate::plan::{Alarm, Plan, Record, Urgency};
use crate::snapshot::{CommandKind, LedgerState, Snapshot};
use crate::{Sha, after, report, settle, tiers};

/// Decides everything about one repository at one instant. Pure: the same snapshot and the same
/// `now` give the same plan.
pub fn plan(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    plan.entries.extend(rebuilds(snapshot));
    let fleet = Fleet::of(snapshot);
    let mut shared = Shared::count(snapshot, now);
    let mut alarms: Vec<Alarm> = Vec::new();
    let plugins = &snapshot.policy.plugins;
    let mut decided: Vec<(usize, Decided)> = Vec::new();
    for at in after::order(plugins) {
        let policy = &plugins[at];
        let mut desk = Desk::new(snapshot, &fleet, policy, now, &mut shared);
        settle::settle(&mut desk);
        tiers::decide(&mut desk);
        report::climbs(&mut desk);
        let (done, page) = desk.close();
        decided.push((at, done));
        shared.pages.insert(policy.name.clone(), page);
    }
    decided.sort_by_key(|(at, _)| *at);
    for (_, done) in decided {
        plan.entries.extend(done.entries);
        plan.actions.extend(done.actions);
        plan.waves.extend(done.waves);
        plan.climbs.extend(done.climbs);
        alarms.extend(done.alarms);
    }
    plan.alarm = alarms.into_iter().min_by_key(|alarm| alarm.at);
    plan
}

/// A lost ledger is given up when a person who may says so on one of our pull requests, naming a
/// lost commit. One word gives up every commit that is missing at that moment.
fn rebuilds(snapshot: &Snapshot) -> Vec<Record> {
    let LedgerState::Lost { cited, .. } = &snapshot.ledger_state else { return Vec::new() };
    let confirmed = snapshot
        .plugins
        .values()
        .filter_map(|facts| facts.pulls.known())
        .flatten()
        .flat_map(|pull| pull.commands.iter().map(move |command| (pull.number, command)))
        .find(|(_, command)| command.allowed.known() == Some(&true) && names_one(&command.what, cited));
    let Some((pull, command)) = confirmed else { return Vec::new() };
    cited
        .iter()
        .map(|cited| Record {
            entry: Entry::Rebuilt(Rebuild { cited: cited.clone(), by: command.by.clone(), at: command.at, pull }),
            urgency: Urgency::Transition,
        })
        .collect()
}

fn names_one(what: &CommandKind, lost: &[Sha]) -> bool {
    match what {
        CommandKind::Rebuild { cited } => {
            cited.len() >= 7 && lost.iter().any(|sha| sha.as_str().starts_with(cited.as_str()))
        }
        CommandKind::Hold { .. } | CommandKind::Fail { .. } | CommandKind::Resume | CommandKind::Acknowledge { .. } => {
            false
        }
    }
}
