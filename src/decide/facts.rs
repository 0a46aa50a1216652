//! The facts on which one plugin is decided: what was observed of it, and its page of the ledger as far as it is settled.
//! Whoever is given them reads; what is decided is written to the `draft`, by `settle` and `tiers` alone.

mod common;
mod draft;
pub(crate) mod follow;
mod fresh;
mod places;
mod roster;
mod shared;

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use jiff::Timestamp;

use crate::commands::{AllCommands, Commands};
use crate::fleet::Fleet;
use crate::ledger::{Ledger, PluginLedger};
use crate::member::{Assessment, Question};
use crate::model::{Hotfix, PluginPolicy};
use crate::plan::Alarm;
use crate::snapshot::{PluginFacts, Pull, PullState, Read, Release, Snapshot};
use crate::{ClusterName, Clusters, PluginName, PullNumber, Reason, TierName, Version};

pub(crate) use common::Common;
pub(crate) use draft::{Decided, Draft, Noted, Told};
pub(crate) use fresh::{Fresh, Merges, Turn};
pub(crate) use places::Base;
use roster::Pins;
pub(crate) use shared::{CAP_SPAN, InLine, Ready, Shared, asked_at};

/// One plugin under decision.
pub(crate) struct Facts<'a> {
    pub snapshot: &'a Snapshot,
    pub fleet: &'a Fleet,
    commands: &'a AllCommands<'a>,
    /// The plugin's place in the file.
    pub at: usize,
    pub policy: &'a PluginPolicy,
    /// What was read of it; none where nothing was.
    pub observed: Option<&'a PluginFacts>,
    pub now: Timestamp,
    pub shared: &'a mut Shared,
    /// The ledger's page with this plan's entries applied; a copy only where there are any.
    pub page: Cow<'a, PluginLedger>,
    /// Releases that may pass a climbing one, by the file or a command; `hotfix` fills it.
    pub hotfixes: Cow<'a, [Hotfix]>,
    /// Clusters that stay on a version, now.
    pinned: Pins<'a>,
    /// Clusters that are ahead of their tier, now: its turn is not theirs.
    ahead: BTreeSet<ClusterName>,
    /// Whom each tier of the plugin selects now, pinned ones left out.
    present: Vec<Clusters>,
    /// Those of them whose turn is the tier's.
    selected: Vec<Clusters>,
    /// The ledger as it came, for outages.
    pub ledger: &'a Ledger,
    memo: RefCell<Memo>,
}

/// Answers that stay the same while one plugin is decided: they rest on what was read and on their
/// questions alone.
#[derive(Default)]
struct Memo {
    bases: Vec<(TierName, Base)>,
    /// The version that every place of a tier spells alike, where there is one.
    everywhere: Vec<(TierName, Option<Version>)>,
    /// Whom a tier selects, who was asked about, and who of them is still there.
    still: Vec<(Clusters, Clusters, Clusters)>,
    health: Vec<(Question, Rc<Assessment>)>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(common: &'a Common<'a>, at: usize, shared: &'a mut Shared) -> Self {
        let Common { snapshot, now, fleet, commands } = common;
        let (snapshot, now) = (*snapshot, *now);
        let policy = &snapshot.policy.plugins[at];
        let pinned = roster::pinned(snapshot, fleet, policy, now);
        let ahead = roster::ahead(snapshot, fleet, policy, now);
        let free = |selected| {
            if pinned.is_empty() {
                Clusters::clone(selected)
            } else {
                roster::without(selected, |name| pinned.contains_key(name))
            }
        };
        let present: Vec<Clusters> = fleet.of_tiers(at).map(free).collect();
        Self {
            snapshot,
            fleet,
            commands,
            at,
            policy,
            observed: snapshot.plugins.get(&policy.name),
            now,
            shared,
            page: snapshot.ledger.plugins.get(&policy.name).map_or_else(Cow::default, Cow::Borrowed),
            hotfixes: Cow::Borrowed(&policy.hotfixes),
            selected: match ahead.is_empty() {
                true => present.clone(),
                false => present.iter().map(|present| roster::without(present, |name| ahead.contains(name))).collect(),
            },
            present,
            pinned,
            ahead,
            ledger: &snapshot.ledger,
            memo: RefCell::default(),
        }
    }

    pub(crate) fn plugin(&self) -> &PluginName {
        &self.policy.name
    }

    /// This instant by the hub's clock, which dates everything that people see there.
    pub(crate) fn hub_now(&self) -> Timestamp {
        self.now - self.snapshot.hub.skew
    }

    /// A ring at `at`; none where that has passed.
    pub(crate) fn alarm(&self, at: Timestamp, why: Reason) -> Option<Alarm> {
        (at > self.now).then_some(Alarm { at, why })
    }

    /// A ring soon, because something is on its way that rings no bell.
    pub(crate) fn soon(&self) -> Option<Alarm> {
        self.alarm(self.now + self.snapshot.look_again, Reason::LookAgain)
    }

    /// Our pull requests of a tier, newest last; none when they could not be read.
    pub(crate) fn pulls(&self, tier: &TierName) -> Option<Vec<&'a Pull>> {
        let pulls = self.observed?.pulls.known()?;
        let mut pulls: Vec<&Pull> = pulls.iter().filter(|pull| pull.tier == *tier).collect();
        pulls.sort_by_key(|pull| pull.number);
        Some(pulls)
    }

    /// The open pull request of a tier.
    pub(crate) fn open_pull(&self, tier: &TierName) -> Option<&'a Pull> {
        self.pulls(tier)?.into_iter().rfind(|pull| pull.state == PullState::Open)
    }

    /// The release of a pull request; where somebody pushed to its branch, the one that it had.
    pub(crate) fn release_of<'b>(&'b self, pull: &'b Pull) -> Option<&'b Version> {
        let waves = self.page.tiers.get(&pull.tier).into_iter().flatten().rev();
        let mut had = waves.filter(|wave| wave.pull.as_ref().is_some_and(|announced| announced.number == pull.number));
        pull.version.as_ref().or_else(|| had.next().map(|wave| &wave.version))
    }

    /// What people said on a pull request of this plugin.
    pub(crate) fn commands(&self, pull: &Pull) -> &'a Commands<'a> {
        self.commands.on(&self.policy.name, pull)
    }

    /// What people said on the pull requests of this plugin.
    pub(crate) fn all_commands(&self) -> impl Iterator<Item = (PullNumber, &'a Commands<'a>)> {
        self.commands.of_plugin(&self.policy.name)
    }

    /// The releases at the source.
    pub(crate) fn releases(&self) -> Result<&'a [Release], &'a str> {
        match self.observed.map(|observed| &observed.releases) {
            Some(Read::Known(releases)) => Ok(releases),
            Some(Read::Unread(why)) => Err(why),
            None => Err("this plugin was not looked at"),
        }
    }

    /// How clusters stand, asked once however often it is needed.
    pub(crate) fn health(&self, question: Question, judge: impl FnOnce(&Question) -> Assessment) -> Rc<Assessment> {
        let known = |memo: &Memo| memo.health.iter().find(|(known, _)| *known == question).map(|(_, all)| all.clone());
        let known = known(&self.memo.borrow());
        known.unwrap_or_else(|| {
            let assessment = Rc::new(judge(&question));
            self.memo.borrow_mut().health.push((question, assessment.clone()));
            assessment
        })
    }
}
