//! The planner: settles what the world shows into entries, then decides each tier from the bottom
//! up, one plugin after another. What a single gate says is in `gate`; what a wave's clusters say is in
//! `member` and `soak`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use jiff::Timestamp;

use crate::desk::{Decided, Desk, Fresh, InLine, Openings, Ready, Shared, Taken, Turn};
use crate::fleet::Fleet;
use crate::ledger::{Entry, Frozen, Rebuild};
use crate::model::Limits;
use crate::plan::{Alarm, Plan, Record, Urgency};
use crate::proof::{self, Proofs};
use crate::snapshot::{CommandKind, LedgerState, Snapshot};
use crate::{PluginName, Sha, after, frozen, report, settle, tiers};

/// Decides everything about one repository at one instant. Pure: the same snapshot and the same
/// `now` give the same plan.
pub fn plan(snapshot: &Snapshot, now: Timestamp) -> Plan {
    Planner::new(snapshot, now).plan
}

/// A plan that can be brought up to date plugin by plugin: when one reading of thousands has changed,
/// what it does not concern is not decided again.
pub struct Planner {
    fleet: Fleet,
    /// The plugins in the order in which they are decided.
    order: Vec<usize>,
    /// What each plugin has in the plan and took of what all share, in the order of the file.
    parts: Vec<Part>,
    /// How many entries are no plugin's.
    common: usize,
    plan: Plan,
}

/// One plugin's part of a plan.
#[derive(Default)]
struct Part {
    entries: usize,
    actions: usize,
    waves: usize,
    climbs: usize,
    /// The first of its alarms that rings.
    alarm: Option<Alarm>,
    /// What it saw of that when it was decided.
    seen: Seen,
    taken: Taken,
}

/// What a plugin sees of what all share; nothing of a cap that the policy does not set.
#[derive(Default, PartialEq)]
struct Seen {
    openings: Option<Openings>,
    changed: Option<Vec<(Timestamp, u32)>>,
    /// What is due, where something of its own is.
    due: Vec<Ready>,
    /// Places that are kept under the cap of open pull requests.
    kept: Vec<InLine>,
    freezes: Vec<Frozen>,
    proofs: Proofs,
    bringing: bool,
    next: Option<Turn>,
    first: Option<Fresh>,
}

impl Seen {
    fn of(shared: &Shared, limits: &Limits, plugin: &PluginName) -> Self {
        let own = shared.due.iter().any(|due| due.plugin == *plugin);
        Self {
            due: if own { shared.due.clone() } else { Vec::new() },
            kept: shared.kept.clone(),
            openings: limits.open_pulls.map(|_| shared.openings),
            changed: limits.clusters_per_hour.map(|_| shared.changed.clone()),
            freezes: shared.freezes.clone(),
            proofs: shared.proofs.clone(),
            bringing: shared.bringing,
            next: shared.next,
            first: shared.first.clone(),
        }
    }
}

impl Planner {
    /// Decides everything.
    pub fn new(snapshot: &Snapshot, now: Timestamp) -> Self {
        let plugins = &snapshot.policy.plugins;
        let mut planner = Self {
            fleet: Fleet::of(snapshot),
            order: after::order(plugins),
            parts: plugins.iter().map(|_| Part::default()).collect(),
            common: 0,
            plan: Plan::default(),
        };
        let all: Vec<&PluginName> = plugins.iter().map(|plugin| &plugin.name).collect();
        planner.again(snapshot, now, &all);
        planner
    }

    /// The plan as it was last decided.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Decides the named plugins again, and whatever hangs on them: plugins that wait for them, and those
    /// after them that see a shared cap used up differently, other freezes, or another merge that is not proved.
    ///
    /// The names have to cover each plugin whose facts or page of the ledger differ from those of the last
    /// time; policy, inventory, hub, outages and the state of the ledger have to be what they were (a new
    /// planner is for that). Then the plan is the one that [`plan`] gives for this snapshot, as long as `now`
    /// is what it was; at a later one what is not decided again stands as it was decided.
    pub fn again(&mut self, snapshot: &Snapshot, now: Timestamp, changed: &[&PluginName]) -> &Plan {
        let freezes = frozen::read(snapshot);
        let (proofs, stopped) = proof::read(snapshot, now);
        let mut common = rebuilds(snapshot);
        common.extend(freezes.entries);
        common.extend(stopped);
        replace(&mut self.plan.entries, 0, &mut self.common, common);
        let mut changed: BTreeSet<&PluginName> = changed.iter().copied().collect();
        let anew = || {
            let (freezes, proofs) = (freezes.all.clone(), proofs.clone());
            Shared { freezes, proofs, ..Shared::count(snapshot, now) }
        };
        let shared = self.pass(snapshot, now, &mut changed, anew());
        // Whose turn it is under what all share is known when all of them were decided.
        let (overtaken, jumped) = (shared.was_overtaken(), shared.jumped_the_line());
        let (next, in_vain) = (shared.passed_over(), shared.comes_up_in_vain());
        // Who merges first, only when it is known who has room under the cap: else the one would wait for the other.
        let past = shared.merged_past().filter(|_| !overtaken);
        if !(overtaken || jumped || in_vain || next.is_some() || past.is_some()) {
            return &self.plan;
        }
        let due = if overtaken { shared.ready } else { Vec::new() };
        let kept = if jumped { shared.line } else { Vec::new() };
        let once_more = |past: Option<Fresh>| {
            let anew = anew();
            let (first, bringing) = (anew.first.clone().or(past), anew.bringing || in_vain);
            Shared { due: due.clone(), kept: kept.clone(), next, first, bringing, ..anew }
        };
        let shared = self.pass(snapshot, now, &mut changed, once_more(past));
        if let Some(past) = shared.merged_past().filter(|_| overtaken) {
            self.pass(snapshot, now, &mut changed, once_more(Some(past)));
        }
        &self.plan
    }

    /// Decides each plugin once, in order, that was not decided with these facts already.
    fn pass<'a>(
        &mut self,
        snapshot: &'a Snapshot,
        now: Timestamp,
        changed: &mut BTreeSet<&'a PluginName>,
        mut shared: Shared,
    ) -> Shared {
        let plugins = &snapshot.policy.plugins;
        let awaited: BTreeSet<&PluginName> =
            plugins.iter().flat_map(|plugin| &plugin.after).map(|after| &after.plugin).collect();
        let mut decided: Vec<(usize, Decided)> = Vec::new();
        for at in self.order.iter().copied() {
            let (policy, part) = (&plugins[at], &mut self.parts[at]);
            let seen = Seen::of(&shared, &snapshot.policy.limits, &policy.name);
            let waits = policy.after.iter().any(|after| changed.contains(&after.plugin));
            if waits || seen != part.seen || changed.contains(&policy.name) {
                changed.insert(&policy.name);
                let before = shared.mark();
                decided.push((at, decide(snapshot, &self.fleet, at, now, &mut shared, &awaited)));
                (part.seen, part.taken) = (seen, shared.since(&before, &policy.name));
            } else {
                shared.take(&policy.name, &part.taken);
            }
        }
        decided.sort_by_key(|(at, _)| *at);
        self.put(decided);
        shared
    }

    /// Puts what was decided in the place of what stood there.
    fn put(&mut self, decided: Vec<(usize, Decided)>) {
        let (mut entries, mut actions, mut waves, mut climbs) = (self.common, 0, 0, 0);
        let mut decided = decided.into_iter().peekable();
        for (at, part) in self.parts.iter_mut().enumerate() {
            if let Some((_, done)) = decided.next_if(|(there, _)| *there == at) {
                part.alarm = done.alarms.into_iter().min_by_key(|alarm| alarm.at);
                replace(&mut self.plan.entries, entries, &mut part.entries, done.entries);
                replace(&mut self.plan.actions, actions, &mut part.actions, done.actions);
                replace(&mut self.plan.waves, waves, &mut part.waves, done.waves);
                replace(&mut self.plan.climbs, climbs, &mut part.climbs, done.climbs);
            }
            entries += part.entries;
            actions += part.actions;
            waves += part.waves;
            climbs += part.climbs;
        }
        self.plan.alarm =
            self.parts.iter().filter_map(|part| part.alarm.as_ref()).min_by_key(|alarm| alarm.at).cloned();
    }
}

fn replace<T>(all: &mut Vec<T>, begin: usize, count: &mut usize, new: Vec<T>) {
    let before = core::mem::replace(count, new.len());
    all.splice(begin..begin + before, new);
}

fn decide(
    snapshot: &Snapshot,
    fleet: &Fleet,
    at: usize,
    now: Timestamp,
    shared: &mut Shared,
    awaited: &BTreeSet<&PluginName>,
) -> Decided {
    let mut desk = Desk::new(snapshot, fleet, at, now, shared);
    settle::settle(&mut desk);
    tiers::decide(&mut desk);
    report::climbs(&mut desk);
    desk.close(awaited)
}

/// A lost ledger is given up when a person who may says so on one of our pull requests, naming the newest
/// of the lost commits, which is the one that we name. One word gives up every commit that is missing at
/// that moment, and none that was lost later: what is lost once more may have taken with it what we knew of
/// an earlier word, and that one is no word about this loss. A merge that did not land as planned is cleared in the
/// same way, by its head, and where that goes wrong once more, by another word.
fn rebuilds(snapshot: &Snapshot) -> Vec<Record> {
    let stopped = snapshot.ledger.stops.iter().filter(|stop| stop.cleared.is_none());
    match &snapshot.ledger_state {
        LedgerState::Lost { cited, .. } => settled(snapshot, cited),
        LedgerState::Intact { .. } => {
            stopped.flat_map(|stop| settled(snapshot, core::slice::from_ref(&stop.head))).collect()
        }
        LedgerState::Unread(_) => Vec::new(),
    }
}

/// An entry for each of these commits, where a person who may has named the last of them.
fn settled(snapshot: &Snapshot, cited: &[Sha]) -> Vec<Record> {
    let stops = snapshot.ledger.stops.iter().filter(|stop| cited.last() == Some(&stop.head));
    let heard = stops.filter_map(|stop| stop.cleared.as_ref()).map(|cleared| cleared.at).max();
    let confirmed = snapshot
        .plugins
        .values()
        .filter_map(|facts| facts.pulls.known())
        .flatten()
        .flat_map(|pull| pull.commands.iter().map(move |command| (pull.number, command)))
        .filter(|(_, command)| Some(command.at) > heard)
        .find(|(_, command)| command.allowed.known() == Some(&true) && names_last(&command.what, cited));
    let Some((pull, command)) = confirmed else { return Vec::new() };
    cited
        .iter()
        .map(|cited| Record {
            entry: Entry::Rebuilt(Rebuild { cited: cited.clone(), by: command.by.clone(), at: command.at, pull }),
            urgency: Urgency::Transition,
        })
        .collect()
}

fn names_last(what: &CommandKind, lost: &[Sha]) -> bool {
    match what {
        CommandKind::Rebuild { cited } => {
            cited.len() >= 7 && lost.last().is_some_and(|sha| sha.as_str().starts_with(cited.as_str()))
        }
        CommandKind::Hold { .. }
        | CommandKind::Fail { .. }
        | CommandKind::Resume
        | CommandKind::Freeze { .. }
        | CommandKind::Hotfix(_)
        | CommandKind::Force { .. }
        | CommandKind::Unfreeze
        | CommandKind::Acknowledge { .. } => false,
    }
}

#[cfg(test)]
mod tests;
