//! The desk on which one plugin is decided: its facts, a working copy of its page of the ledger,
//! and what has been decided so far. The rules are in `settle`, `tiers` and `gate`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::gate::after::Pages;
use crate::ledger::{Change, Entry, Ledger, PluginLedger, Wave};
use crate::model::{PluginPolicy, Tier};
use crate::plan::{Action, Alarm, Climb, Record, Urgency, WaveReport};
use crate::snapshot::{Place, PluginFacts, Pull, PullState, Read, Release, Snapshot};
use crate::{ClusterName, PluginName, Reason, TierName, Version, follow};

/// What all plugins share while one plan is made: caps that one of them may use up.
pub(crate) struct Shared {
    /// Pull requests of the bot that are open, or will be by this plan.
    pub open_pulls: u32,
    /// Clusters that the bot's merges changed, with the time of each landing; as much later as the
    /// clocks differ, since landings have the hub's time.
    pub changed: Vec<(Timestamp, u32)>,
    /// Tiers on which this plan opens a pull request.
    pub opening: Vec<(PluginName, TierName)>,
    /// Pages of plugins that this plan has decided and others wait for.
    pub pages: Pages,
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
            .values()
            .flat_map(|page| page.tiers.values().flatten())
            .filter_map(|wave| {
                let at = wave.landed.as_ref().map_or(wave.merging.as_ref()?.at, |landed| landed.at);
                let at = at + snapshot.hub.skew.abs();
                wave.merging.as_ref()?;
                (at + CAP_SPAN > now).then_some((at, u32::try_from(wave.members.len()).unwrap_or(u32::MAX)))
            })
            .collect();
        let open_pulls = u32::try_from(open_pulls).unwrap_or(u32::MAX);
        Self { open_pulls, changed, opening: Vec::new(), pages: Pages::new() }
    }

    /// Clusters changed within the span before `now`.
    pub(crate) fn changed_lately(&self) -> u32 {
        self.changed.iter().fold(0, |sum, (_, clusters)| sum.saturating_add(*clusters))
    }
}

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
    pub policy: &'a PluginPolicy,
    pub facts: Option<&'a PluginFacts>,
    pub now: Timestamp,
    pub shared: &'a mut Shared,
    /// The ledger's page with this plan's entries applied.
    pub page: PluginLedger,
    done: Decided,
    /// The ledger as it came, for outages.
    pub ledger: &'a Ledger,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        policy: &'a PluginPolicy,
        now: Timestamp,
        shared: &'a mut Shared,
    ) -> Self {
        Self {
            snapshot,
            policy,
            facts: snapshot.plugins.get(&policy.name),
            now,
            shared,
            page: snapshot.ledger.plugins.get(&policy.name).cloned().unwrap_or_default(),
            done: Decided {
                entries: Vec::new(),
                actions: Vec::new(),
                waves: Vec::new(),
                climbs: Vec::new(),
                alarms: Vec::new(),
            },
            ledger: &snapshot.ledger,
        }
    }

    /// What was decided, and the page with it.
    pub(crate) fn close(self) -> (Decided, PluginLedger) {
        (self.done, self.page)
    }

    pub(crate) fn plugin(&self) -> &PluginName {
        &self.policy.name
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
        self.page.apply(tier, version, &change);
        let plugin = self.plugin().clone();
        let entry = Entry::Wave { plugin, tier: tier.clone(), version: version.clone(), change };
        self.done.entries.push(Record { entry, urgency });
    }

    pub(crate) fn record_entry(&mut self, entry: Entry) {
        if let Entry::Seen { seen, .. } = &entry {
            self.page.releases.push(seen.clone());
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

    /// What the base branch says about a tier.
    pub(crate) fn base(&self, tier: &TierName) -> Base {
        self.base_of(self.plugin(), tier)
    }

    /// The tier, when it follows releases by itself.
    fn follows(&self, plugin: &PluginName, tier: &TierName) -> Option<&'a Tier> {
        let known = || self.snapshot.policy.plugins.iter().find(|policy| policy.name == *plugin);
        let policy = if *plugin == self.policy.name { self.policy } else { known()? };
        policy.tiers.iter().find(|known| known.follows && known.name == *tier)
    }

    /// What the base branch says about a tier of any plugin; what its clusters say where it follows
    /// releases by itself.
    pub(crate) fn base_of(&self, plugin: &PluginName, tier: &TierName) -> Base {
        if let Some(tier) = self.follows(plugin, tier) {
            return follow::base(self, plugin, tier);
        }
        let unread = |why: &str| Base::Unread(why.into());
        let Some(facts) = self.snapshot.plugins.get(plugin) else { return unread("this plugin was not looked at") };
        let places = match &facts.base {
            Read::Known(places) => places.get(tier).map_or(&[][..], Vec::as_slice),
            Read::Unread(why) => return unread(why),
        };
        Base::of(places)
    }

    /// The releases at the source.
    pub(crate) fn releases(&self) -> Result<&'a [Release], &'a str> {
        match self.facts.map(|facts| &facts.releases) {
            Some(Read::Known(releases)) => Ok(releases),
            Some(Read::Unread(why)) => Err(why),
            None => Err("this plugin was not looked at"),
        }
    }

    /// The clusters that a tier selects now.
    pub(crate) fn selected(&self, tier: &Tier) -> Option<Vec<ClusterName>> {
        let clusters = self.snapshot.clusters.known()?;
        Some(
            clusters
                .iter()
                .filter(|cluster| tier.select.matches(&cluster.labels))
                .map(|cluster| cluster.name.clone())
                .collect(),
        )
    }

    /// The members of a wave that are still in the inventory, while that can be read.
    pub(crate) fn members(&self, wave: &Wave) -> Vec<ClusterName> {
        let Some(clusters) = self.snapshot.clusters.known() else { return wave.members.clone() };
        let here: BTreeMap<&ClusterName, ()> = clusters.iter().map(|cluster| (&cluster.name, ())).collect();
        wave.members.iter().filter(|member| here.contains_key(member)).cloned().collect()
    }
}

/// What the base branch says about one tier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// It could not be read, and why.
    Unread(alloc::string::String),
    /// No place holds a version.
    Empty,
    /// Every place holds this one.
    Uniform(Version),
    /// Places differ.
    Mixed { lowest: Version, highest: Version },
}

impl Base {
    fn of(places: &[Place]) -> Self {
        let mut versions = Vec::new();
        for place in places {
            match &place.version {
                Read::Known(version) => versions.push(version),
                Read::Unread(why) => return Self::Unread(alloc::format!("{}: {why}", place.file)),
            }
        }
        Self::between(&versions)
    }

    /// What so many versions are together.
    pub(crate) fn between(versions: &[&Version]) -> Self {
        let mut range: Option<(Version, Version)> = None;
        for &version in versions {
            range = Some(match range {
                None => (version.clone(), version.clone()),
                Some((low, high)) => (low.min(version.clone()), high.max(version.clone())),
            });
        }
        match range {
            None => Self::Empty,
            Some((low, high)) if low == high => Self::Uniform(high),
            Some((lowest, highest)) => Self::Mixed { lowest, highest },
        }
    }

    /// The newest version that runs there.
    pub(crate) fn highest(&self) -> Option<&Version> {
        match self {
            Self::Unread(_) | Self::Empty => None,
            Self::Uniform(version) | Self::Mixed { highest: version, .. } => Some(version),
        }
    }

    /// The oldest version that runs there: what a wave starts from.
    pub(crate) fn lowest(&self) -> Option<&Version> {
        match self {
            Self::Unread(_) | Self::Empty => None,
            Self::Uniform(version) | Self::Mixed { lowest: version, .. } => Some(version),
        }
    }
}
