//! Branches that have to be up to date: whose turn it is to be brought up, and who merges before all others because
//! it just was. Each merge puts all others behind.

use jiff::{SignedDuration, Timestamp};

use super::Shared;
use crate::ledger::Wave;
use crate::snapshot::{CheckState, Mergeable, Pull, PullState, Read, RequiredCheck, ReviewDecision, Snapshot};
use crate::{PluginName, PullNumber};

/// How long a head that is up to date may wait for machines alone before the next one is brought up to date, and
/// before others merge past it.
const MACHINES: SignedDuration = SignedDuration::from_hours(1);

/// What is due first is less: a hotfix or a way back, then by the age of the pull request.
pub(crate) type Turn = (bool, Timestamp, PullNumber);

/// A pull request that lacks nothing but to contain its base branch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Behind {
    pub turn: Turn,
    /// Whether this plan brings it up to date.
    pub comes_up: bool,
}

/// A pull request that was brought up to date: whoever merges past it puts it behind again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fresh {
    pub pull: PullNumber,
    /// How long the others wait for it, however often it is brought up.
    pub until: Timestamp,
    opened_at: Timestamp,
}

impl Fresh {
    /// A head that changes what the one before it changed, on a newer base. Only where branch rules want that is it put
    /// behind by others.
    pub(crate) fn of(wave: &Wave, pull: &Pull, now: Timestamp) -> Option<Self> {
        let until = wave.alike().filter(|head| head.repeats).last()?.at + MACHINES;
        (pull.strict && until > now).then_some(Self { pull: pull.number, until, opened_at: pull.opened_at })
    }
}

/// A merge that this plan asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merges {
    /// Whether it goes before everything: a hotfix, or a way back.
    pub hotfix: bool,
    /// What it is, where it was brought up to date.
    pub fresh: Option<Fresh>,
}

impl Shared {
    /// Whether it is the turn of a pull request that lacks nothing but its base; the next one's is after its merge.
    pub(crate) fn comes_up(&mut self, turn: Turn) -> bool {
        let comes_up = !self.bringing && self.next.is_none_or(|next| next == turn);
        self.bringing |= comes_up;
        self.behind.push(Behind { turn, comes_up });
        comes_up
    }

    /// The oldest of those that are behind, where a younger one came up in its stead.
    pub(crate) fn passed_over(&self) -> Option<Turn> {
        let first = self.behind.iter().map(|behind| behind.turn).min()?;
        self.behind.iter().any(|behind| behind.comes_up && behind.turn > first).then_some(first)
    }

    /// Whether somebody comes up to date whom a merge of this very plan puts behind again.
    pub(crate) fn comes_up_in_vain(&self) -> bool {
        self.behind.iter().any(|behind| behind.comes_up) && !self.merges.is_empty()
    }

    /// The merge that others of this plan would have put behind again.
    pub(crate) fn merged_past(&self) -> Option<Fresh> {
        let first = first_of(self.merges.iter().filter_map(|merges| merges.fresh.clone()))?;
        let other = |merges: &Merges| !merges.hotfix && merges.fresh.as_ref() != Some(&first);
        self.merges.iter().any(other).then_some(first)
    }
}

/// The one that merges first.
fn first_of(all: impl Iterator<Item = Fresh>) -> Option<Fresh> {
    all.min_by_key(|fresh| (fresh.opened_at, fresh.pull))
}

/// The pull request for whose merge the others wait: it was brought up to date, and machines have to say something.
pub(super) fn first(snapshot: &Snapshot, now: Timestamp) -> Option<Fresh> {
    first_of(snapshot.plugins.keys().flat_map(|plugin| {
        let up = just_up(snapshot, plugin, now);
        up.filter_map(move |(wave, pull)| Fresh::of(wave, pull, now))
    }))
}

/// Whether a pull request of a plugin holds a commit that is up to date and waits for nothing but machines: its checks,
/// or the hub's word on conflicts.
pub(super) fn has_just_come_up(snapshot: &Snapshot, plugin: &PluginName, now: Timestamp) -> bool {
    just_up(snapshot, plugin, now).next().is_some()
}

fn just_up<'a>(
    snapshot: &'a Snapshot,
    plugin: &'a PluginName,
    now: Timestamp,
) -> impl Iterator<Item = (&'a Wave, &'a Pull)> {
    let pulls = snapshot.plugins.get(plugin).and_then(|facts| facts.pulls.known()).into_iter().flatten();
    let page = snapshot.ledger.plugins.get(plugin);
    let fresh = move |pull: &'a Pull| {
        let wave = page?.climbing(&pull.tier)?;
        wave.head().filter(|head| head.commit == pull.head && head.at + MACHINES > now).map(|_| (wave, pull))
    };
    let waits = |pull: &Pull| {
        let pending = |check: &RequiredCheck| check.state == CheckState::Pending;
        pull.mergeable == Mergeable::Unknown || pull.checks.known().is_some_and(|checks| checks.iter().any(pending))
    };
    let reviewed = |pull: &Pull| match pull.review_decision {
        ReviewDecision::NotRequired | ReviewDecision::Approved => true,
        ReviewDecision::Required | ReviewDecision::ChangesRequested => false,
    };
    let up = move |pull: &Pull| pull.behind == Read::Known(false) && !pull.draft && reviewed(pull);
    pulls.filter(move |pull| pull.state == PullState::Open && up(pull) && waits(pull)).filter_map(fresh)
}

#[cfg(test)]
mod tests;
