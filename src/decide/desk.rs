//! The desk on which one plugin is decided: its facts, a working copy of its page of the ledger,
//! and what has been decided so far. The rules are in `settle`, `tiers` and `gate`.

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

use crate::fleet::Fleet;
use crate::ledger::{Change, Entry, Ledger, PluginLedger};
use crate::member::{Assessment, Question};
use crate::model::{Hotfix, PluginPolicy};
use crate::plan::{Action, Alarm, Climb, Record, Urgency, WaveReport};
use crate::snapshot::{PluginFacts, Pull, PullState, Read, Release, Snapshot};
use crate::{ClusterName, Clusters, PluginName, Reason, TierName, Version};

pub(crate) use fresh::{Fresh, Merges, Turn};
pub(crate) use places::Base;
use roster::Pins;
pub(crate) use shared::{CAP_SPAN, InLine, Ready, Shared, asked_at};

/// What was decided about one plugin.
pub(crate) struct Decided {
    pub entries: Vec<Record>,
    pub actions: Vec<Action>,
    pub waves: Vec<WaveReport>,
    pub climbs: Vec<Climb>,
    pub alarms: Vec<Alarm>,
}

/// One plugin under decision.
pub(crate) struct Desk<'a> {
    pub snapshot: &'a Snapshot,
    pub fleet: &'a Fleet,
    /// The plugin's place in the file.
    pub at: usize,
    pub policy: &'a PluginPolicy,
    pub facts: Option<&'a PluginFacts>,
    pub now: Timestamp,
    pub shared: &'a mut Shared,
    /// The ledger's page with this plan's entries applied; a copy only where there are any.
    pub page: Cow<'a, PluginLedger>,
    /// Releases that may pass a climbing one, by the file or a command; `hotfix` fills it.
    pub hotfixes: Cow<'a, [Hotfix]>,
    done: Decided,
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

impl<'a> Desk<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        fleet: &'a Fleet,
        at: usize,
        now: Timestamp,
        shared: &'a mut Shared,
    ) -> Self {
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
            at,
            policy,
            facts: snapshot.plugins.get(&policy.name),
            now,
            shared,
            page: snapshot.ledger.plugins.get(&policy.name).map_or_else(Cow::default, Cow::Borrowed),
            hotfixes: Cow::Borrowed(&policy.hotfixes),
            done: Decided {
                entries: Vec::new(),
                actions: Vec::new(),
                waves: Vec::new(),
                climbs: Vec::new(),
                alarms: Vec::new(),
            },
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

    /// What was decided. Those who wait for the plugin are shown its page.
    pub(crate) fn close(self, awaited: &BTreeSet<&PluginName>) -> Decided {
        if awaited.contains(&self.policy.name) {
            self.shared.pages.insert(self.policy.name.clone(), self.page.into_owned());
        }
        self.done
    }

    pub(crate) fn plugin(&self) -> &PluginName {
        &self.policy.name
    }

    /// This instant by the hub's clock, which dates everything that people see there.
    pub(crate) fn hub_now(&self) -> Timestamp {
        self.now - self.snapshot.hub.skew
    }

    /// Remembers a transition of a wave, and sees it at once.
    pub(crate) fn record(&mut self, tier: &TierName, version: &Version, change: Change) {
        self.remember(tier, version, change, Urgency::Transition);
    }

    /// Remembers the movement of a soak; it may reach the branch later.
    pub(crate) fn record_progress(&mut self, tier: &TierName, version: &Version, change: Change) {
        self.remember(tier, version, change, Urgency::Progress);
    }

    fn remember(&mut self, tier: &TierName, version: &Version, change: Change, urgency: Urgency) {
        self.page.to_mut().apply(tier, version, &change);
        let plugin = self.plugin().clone();
        let entry = Entry::Wave { plugin, tier: tier.clone(), version: version.clone(), change };
        self.done.entries.push(Record { entry, urgency });
    }

    pub(crate) fn record_entry(&mut self, entry: Entry) {
        match &entry {
            Entry::Seen { seen, .. } => self.page.to_mut().releases.push(seen.clone()),
            Entry::Hotfix { said, .. } => self.page.to_mut().hotfixes.push(said.clone()),
            Entry::Labelled { labelled, .. } => self.page.to_mut().labelled.push(labelled.clone()),
            Entry::Unlabelled { pull, .. } => self.page.to_mut().labelled.retain(|known| known.pull != *pull),
            Entry::Wave { .. }
            | Entry::Outage(_)
            | Entry::Rebuilt(_)
            | Entry::Stopped(_)
            | Entry::Frozen(_)
            | Entry::Thawed(_) => {}
        }
        self.done.entries.push(Record { entry, urgency: Urgency::Transition });
    }

    pub(crate) fn act(&mut self, action: Action) {
        if let Action::Open(proposal) = &action {
            self.shared.opening.push((proposal.plugin.clone(), proposal.tier.clone()));
        }
        self.done.actions.push(action);
    }

    pub(crate) fn report(&mut self, wave: WaveReport) {
        self.done.waves.push(wave);
    }

    pub(crate) fn reports(&self) -> &[WaveReport] {
        &self.done.waves
    }

    pub(crate) fn climb(&mut self, climb: Climb) {
        self.done.climbs.push(climb);
    }

    /// Asks to be woken at `at`, unless that has passed.
    pub(crate) fn wake(&mut self, at: Timestamp, why: Reason) {
        if at > self.now {
            self.done.alarms.push(Alarm { at, why });
        }
    }

    /// Asks to be woken soon, because something is on its way that rings no bell.
    pub(crate) fn look_again(&mut self) {
        self.wake(self.now + self.snapshot.look_again, Reason::LookAgain);
    }

    /// Our pull requests of a tier, newest last; none when they could not be read.
    pub(crate) fn pulls(&self, tier: &TierName) -> Option<Vec<&'a Pull>> {
        let pulls = self.facts?.pulls.known()?;
        let mut pulls: Vec<&Pull> = pulls.iter().filter(|pull| pull.tier == *tier).collect();
        pulls.sort_by_key(|pull| pull.number);
        Some(pulls)
    }

    /// The open pull request of a tier.
    pub(crate) fn open_pull(&self, tier: &TierName) -> Option<&'a Pull> {
        self.pulls(tier)?.into_iter().rfind(|pull| pull.state == PullState::Open)
    }

    /// The releases at the source.
    pub(crate) fn releases(&self) -> Result<&'a [Release], &'a str> {
        match self.facts.map(|facts| &facts.releases) {
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
