//! What all plugins share while one plan is made.

use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use super::fresh::{self, Behind, Fresh, Merges, Turn};
use crate::ledger::{Frozen, PluginLedger, Wave};
use crate::model::PluginPolicy;
use crate::proof::{PATIENCE, Proofs};
use crate::snapshot::{Landing, Pull, PullState, Read, Snapshot};
use crate::{Person, PluginName, Sha, TierName};

/// What all plugins share while one plan is made: caps that one of them may use up.
pub(crate) struct Shared {
    /// Pull requests of the bot.
    pub openings: Openings,
    /// Clusters that the bot's merges changed, with the time of each landing; as much later as the
    /// clocks differ, since landings have the hub's time.
    pub changed: Vec<(Timestamp, u32)>,
    /// Waves that lack nothing but perhaps room under the cap of changed clusters.
    pub ready: Vec<Ready>,
    /// Those of them that an earlier look at all plugins found, as long as they have not merged: they are due
    /// before whatever is younger.
    pub due: Vec<Ready>,
    /// Tiers that lack nothing for a pull request but perhaps room under the cap of open ones.
    pub line: Vec<InLine>,
    /// Those of them that an earlier look at all plugins found, as long as they have not opened it: the place of
    /// whom the line comes to first is nobody else's.
    pub kept: Vec<InLine>,
    /// Tiers on which this plan opens a pull request.
    pub opening: Vec<(PluginName, TierName)>,
    /// Pages of plugins that this plan has decided and others wait for.
    pub pages: Pages,
    /// What people have frozen by commands.
    pub freezes: Vec<Frozen>,
    /// Merges of the bot that are not proved.
    pub proofs: Proofs,
    /// Somebody's turn to be brought up to date has come: the next one's is after its merge, which would put all others
    /// behind again.
    pub bringing: bool,
    /// Whose turn that is, where an earlier look at all plugins found that it was another one's.
    pub next: Option<Turn>,
    /// Pull requests that lack nothing but to contain their base branch.
    pub behind: Vec<Behind>,
    /// The one that was brought up to date and merges before all others.
    pub first: Option<Fresh>,
    /// Merges that this plan asks for.
    pub merges: Vec<Merges>,
}

/// Pages of plugins that were decided before this one in the same plan.
pub(crate) type Pages = alloc::collections::BTreeMap<PluginName, PluginLedger>;

/// A wave that may merge as soon as the cap of changed clusters has room for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ready {
    pub turn: Turn,
    pub plugin: PluginName,
    pub head: Sha,
    /// Clusters that it would change, where they do not count already.
    pub clusters: u32,
    /// Whether this plan merges it.
    pub merges: bool,
}

impl Ready {
    fn is(&self, plugin: &PluginName, head: &Sha) -> bool {
        self.plugin == *plugin && self.head == *head
    }
}

/// A tier that may have a pull request as soon as the cap of open ones has room for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InLine {
    /// What is due first is less: a hotfix or a way back, then whose last one was begun first. By the age of a
    /// release it would never be the turn of a tier to which newer ones come all the time.
    pub turn: (bool, Option<Timestamp>),
    pub plugin: PluginName,
    pub tier: TierName,
    /// Whether this plan opens it.
    pub opens: bool,
}

impl InLine {
    fn is(&self, plugin: &PluginName, tier: &TierName) -> bool {
        self.plugin == *plugin && self.tier == *tier
    }
}

/// How many pull requests of the bot there are, for the cap of open ones.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Openings {
    /// Open, or about to be by this plan.
    pub open: u32,
    /// Cut off between the intent and the pull request: a place is kept for each.
    pub unfinished: u32,
}

impl Openings {
    /// One more.
    pub(crate) fn open(&mut self) {
        self.open = self.open.saturating_add(1);
    }

    /// One that was cut off.
    pub(crate) fn finish(&mut self) {
        self.unfinished = self.unfinished.saturating_sub(1);
        self.open();
    }
}

/// Over which time the cap of changed clusters counts.
pub(crate) const CAP_SPAN: SignedDuration = SignedDuration::from_hours(1);

impl Shared {
    pub(crate) fn count(snapshot: &Snapshot, now: Timestamp) -> Self {
        let open_pulls = snapshot
            .plugins
            .values()
            .filter_map(|facts| facts.pulls.known())
            .flatten()
            .filter(|pull| pull.state == PullState::Open)
            .count();
        let changed = snapshot
            .ledger
            .plugins
            .iter()
            .flat_map(|(plugin, page)| page.tiers.values().flatten().map(move |wave| (plugin, wave)))
            .filter_map(|(plugin, wave)| {
                let landed = wave.landed();
                let lately = |at: Timestamp| at + snapshot.hub.skew.abs() + CAP_SPAN > now;
                landed.is_none_or(|landed| lately(landed.at)).then_some(())?;
                let pulls = snapshot.plugins.get(plugin).and_then(|facts| facts.pulls.known());
                let asked = asked_at(wave, pulls.map_or(&[], Vec::as_slice));
                let by = landed.and_then(|landed| landed.by.as_ref());
                // What somebody put there by hand after the hub had refused it to us is theirs.
                let theirs = landed.is_some() && by.is_none() && wave.is_refused();
                // A ledger that was lost has forgotten that we asked for it; the hub knows who did.
                let by_us = (asked.is_some() && !theirs) || by.is_some_and(is_app);
                let at = landed.map(|landed| landed.at).or(asked);
                let at = at.filter(|at| by_us && lately(*at))? + snapshot.hub.skew.abs();
                Some((at, u32::try_from(wave.members.len()).unwrap_or(u32::MAX)))
            })
            .collect();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let openings = Openings { open: number(open_pulls), unfinished: number(unfinished(snapshot)) };
        Self {
            openings,
            changed,
            ready: Vec::new(),
            due: Vec::new(),
            line: Vec::new(),
            kept: Vec::new(),
            opening: Vec::new(),
            pages: Pages::new(),
            freezes: Vec::new(),
            proofs: Proofs::default(),
            bringing: snapshot.plugins.keys().any(|plugin| fresh::has_just_come_up(snapshot, plugin, now)),
            next: None,
            behind: Vec::new(),
            first: fresh::first(snapshot, now),
            merges: Vec::new(),
        }
    }

    /// A wave lacks nothing but perhaps room; what merges is due no more.
    pub(crate) fn is_ready(&mut self, ready: Ready) {
        if ready.merges {
            self.due.retain(|due| !due.is(&ready.plugin, &ready.head));
        }
        self.ready.push(ready);
    }

    /// Clusters of waves that are due before the one of a plugin with this head. What is not ready itself takes
    /// no turn.
    pub(crate) fn due_before(&self, plugin: &PluginName, head: &Sha) -> u32 {
        let Some(own) = self.due.iter().find(|due| due.is(plugin, head)) else { return 0 };
        let before = self.due.iter().filter(|due| due.turn < own.turn);
        before.fold(0, |sum, due| sum.saturating_add(due.clusters))
    }

    /// Whether something younger took the room that something older waits for.
    pub(crate) fn was_overtaken(&self) -> bool {
        let waiting = self.ready.iter().filter(|ready| !ready.merges).map(|ready| ready.turn).min();
        waiting.is_some_and(|first| self.ready.iter().any(|ready| ready.merges && ready.turn > first))
    }

    /// A tier lacks nothing for a pull request but perhaps room; for what is opened no place is kept any more.
    pub(crate) fn stands_in_line(&mut self, place: InLine) {
        if place.opens {
            self.kept.retain(|kept| !kept.is(&place.plugin, &place.tier));
        }
        self.line.push(place);
    }

    /// How many places are kept for others while a tier asks for one. Who did not stand in line comes after all
    /// who did.
    pub(crate) fn kept_before(&self, plugin: &PluginName, tier: &TierName) -> u32 {
        let own = self.kept.iter().find(|kept| kept.is(plugin, tier));
        let before = self.kept.iter().filter(|kept| own.is_none_or(|own| kept.turn < own.turn)).count();
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// Whether a tier took the place of another one whose turn it was.
    pub(crate) fn jumped_the_line(&self) -> bool {
        let waiting = self.line.iter().filter(|place| !place.opens).map(|place| place.turn).min();
        waiting.is_some_and(|first| self.line.iter().any(|place| place.opens && place.turn > first))
    }

    /// Clusters changed within the span before `now`.
    pub(crate) fn changed_lately(&self) -> u32 {
        self.changed.iter().fold(0, |sum, (_, clusters)| sum.saturating_add(*clusters))
    }
}

/// From when a merge that the bot asked for counts for an hour. Where its pull request is still open and git says
/// that nothing has come of it, or was closed unmerged, it counts for as long as something may still come: what was
/// planned and never sent keeps nobody else waiting.
pub(crate) fn asked_at(wave: &Wave, pulls: &[Pull]) -> Option<Timestamp> {
    let asked = wave.asked()?;
    let nothing = |pull: &Pull| match pull.state {
        PullState::Open => pull.landing == Read::Known(Landing::Absent),
        PullState::Closed { .. } => true,
        PullState::Merged { .. } => false,
    };
    // A head that was written anew since is merged no more.
    let anew = |pull: &Pull| {
        let own = wave.pull.as_ref().is_some_and(|announced| announced.number == pull.number);
        own && pull.state == PullState::Open && wave.head().is_some_and(|head| head.commit == pull.head)
    };
    let in_vain = pulls.iter().any(|pull| if pull.head == asked.head { nothing(pull) } else { anew(pull) });
    Some(if in_vain { asked.at + PATIENCE - CAP_SPAN } else { asked.at })
}

/// Whether an App merged it: ours, or the one that may bypass reviews, which has a name of its own.
fn is_app(by: &Person) -> bool {
    by.as_str().ends_with("[bot]")
}

/// Openings that were cut off between the intent and the pull request.
fn unfinished(snapshot: &Snapshot) -> usize {
    let cut_off = |policy: &PluginPolicy, tier: &TierName| {
        let page = snapshot.ledger.plugins.get(&policy.name);
        let wave = page.and_then(|page| page.climbing(tier)).filter(|wave| wave.pull.is_none())?;
        let pulls = snapshot.plugins.get(&policy.name)?.pulls.known()?;
        let shown = |pull: &Pull| {
            let written = wave.head().is_some_and(|head| head.commit == pull.head);
            pull.tier == *tier && (pull.state == PullState::Open || written)
        };
        (!pulls.iter().any(shown)).then_some(())
    };
    let policies = snapshot.policy.plugins.iter();
    policies.flat_map(|policy| policy.tiers.iter().filter_map(move |tier| cut_off(policy, &tier.name))).count()
}

#[cfg(test)]
mod tests;
