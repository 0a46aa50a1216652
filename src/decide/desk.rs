//! The desk on which one plugin is decided: its facts, a working copy of its page of the ledger,
//! and what has been decided so far. The rules are in `settle`, `tiers` and `gate`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::gate::after::Pages;
use crate::ledger::{Change, Entry, Frozen, Ledger, PluginLedger};
use crate::model::{Early, Pin, PluginPolicy, Tier};
use crate::plan::{Action, Alarm, Climb, Pinned, Record, Urgency, WaveReport};
use crate::selector::Labels;
use crate::snapshot::{Cluster, Place, PluginFacts, Pull, PullState, Read, Release, Snapshot};
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
    /// What people have frozen by commands.
    pub freezes: Vec<Frozen>,
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
        Self { open_pulls, changed, opening: Vec::new(), pages: Pages::new(), freezes: Vec::new() }
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
    /// Clusters that stay on a version, now.
    pinned: BTreeMap<&'a ClusterName, &'a Pin>,
    /// Clusters that are ahead of their tier, now: its turn is not theirs.
    ahead: BTreeSet<&'a ClusterName>,
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
            pinned: pinned(snapshot, policy, now),
            ahead: ahead(snapshot, policy, now),
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

    /// What the base branch says about a tier; pinned clusters left out.
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
        match &facts.base {
            Read::Known(_) if *plugin == self.policy.name => Base::of(&self.places(tier)),
            Read::Known(places) => {
                Base::of(&self.places_elsewhere(plugin, places.get(tier).map_or(&[], Vec::as_slice)))
            }
            Read::Unread(why) => unread(why),
        }
    }

    /// The places of another plugin that may change: those of clusters that it pins are not asked for.
    fn places_elsewhere(&self, plugin: &PluginName, places: &'a [Place]) -> Vec<&'a Place> {
        let policy = self.snapshot.policy.plugins.iter().find(|policy| policy.name == *plugin);
        let pins = policy.map(|policy| pinned(self.snapshot, policy, self.now)).unwrap_or_default();
        let ahead = policy.map(|policy| ahead(self.snapshot, policy, self.now)).unwrap_or_default();
        let apart = |name: &ClusterName| pins.contains_key(name) || ahead.contains(name);
        places.iter().filter(|place| !place.cluster.as_ref().is_some_and(apart)).collect()
    }

    /// The places that a tier's turn may change; none where they could not be read. Those of pinned
    /// clusters are none of ours, those of clusters ahead of the tier have moved.
    pub(crate) fn places(&self, tier: &TierName) -> Vec<&'a Place> {
        let turn = |place: &&Place| place.cluster.as_ref().is_none_or(|name| !self.ahead.contains(name));
        self.free_places(tier).filter(turn).collect()
    }

    /// The places of a tier that belong to these clusters, or to all of the tier.
    pub(crate) fn places_of(&self, tier: &TierName, clusters: &[&ClusterName]) -> Vec<&'a Place> {
        let of = |place: &&Place| place.cluster.as_ref().is_none_or(|name| clusters.contains(&name));
        self.free_places(tier).filter(of).collect()
    }

    fn free_places(&self, tier: &TierName) -> impl Iterator<Item = &'a Place> {
        let places = self.facts.and_then(|facts| facts.base.known()?.get(tier)).map_or(&[][..], Vec::as_slice);
        places.iter().filter(|place| place.cluster.as_ref().is_none_or(|name| self.pin(name).is_none()))
    }

    /// What keeps a cluster on its version: the first pin that selects it and still holds.
    pub(crate) fn pin(&self, name: &ClusterName) -> Option<&'a Pin> {
        self.pinned.get(name).copied()
    }

    /// The releases at the source.
    pub(crate) fn releases(&self) -> Result<&'a [Release], &'a str> {
        match self.facts.map(|facts| &facts.releases) {
            Some(Read::Known(releases)) => Ok(releases),
            Some(Read::Unread(why)) => Err(why),
            None => Err("this plugin was not looked at"),
        }
    }

    /// The clusters whose turn is the tier's, in the order of their names: those that it selects now,
    /// without pinned ones and those that are ahead.
    pub(crate) fn selected(&self, tier: &Tier) -> Option<Vec<ClusterName>> {
        Some(self.present(tier)?.into_iter().filter(|name| !self.ahead.contains(name)).collect())
    }

    /// The clusters of a tier that are ahead of it now, in the order of their names.
    pub(crate) fn ahead(&self, tier: &Tier) -> Vec<ClusterName> {
        let present = self.present(tier).filter(|_| !self.ahead.is_empty()).unwrap_or_default();
        present.into_iter().filter(|name| self.ahead.contains(name)).collect()
    }

    /// The clusters that a tier selects now, in the order of their names; pinned ones left out.
    fn present(&self, tier: &Tier) -> Option<Vec<ClusterName>> {
        let clusters = self.snapshot.clusters.known()?;
        let mut names: Vec<ClusterName> = clusters
            .iter()
            .filter(|cluster| tier.select.matches(&cluster.labels) && self.pin(&cluster.name).is_none())
            .map(|cluster| cluster.name.clone())
            .collect();
        names.sort();
        Some(names)
    }

    /// The pinned clusters of a tier, in the order of their names.
    pub(crate) fn pinned_of(&self, tier: &Tier) -> Vec<Pinned> {
        let of_tier = |name: &ClusterName| self.labels(name).is_some_and(|labels| tier.select.matches(labels));
        let shown = |(name, pin): (&&ClusterName, &&Pin)| Pinned {
            cluster: (*name).clone(),
            version: pin.version.clone(),
            until: pin.until,
            why: pin.why.clone(),
        };
        self.pinned.iter().filter(|(name, _)| of_tier(name)).map(shown).collect()
    }

    /// What selectors see of a cluster.
    pub(crate) fn labels(&self, name: &ClusterName) -> Option<&'a Labels> {
        let clusters = self.snapshot.clusters.known()?;
        clusters.iter().find(|cluster| cluster.name == *name).map(|cluster| &cluster.labels)
    }

    /// Those of a wave's clusters that the tier still has, while the inventory can be read. Who left,
    /// or was pinned since, counts no more.
    pub(crate) fn still(&self, tier: &Tier, clusters: &[&ClusterName]) -> Vec<ClusterName> {
        // An inventory without any cluster is a broken one; nobody is said to have left by it.
        let some = self.snapshot.clusters.known().is_some_and(|clusters| !clusters.is_empty());
        match self.present(tier).filter(|_| some) {
            Some(here) => {
                clusters.iter().filter(|name| here.binary_search(name).is_ok()).map(|n| (*n).clone()).collect()
            }
            None => clusters.iter().map(|name| (*name).clone()).collect(),
        }
    }
}

fn ahead<'a>(snapshot: &'a Snapshot, policy: &'a PluginPolicy, now: Timestamp) -> BTreeSet<&'a ClusterName> {
    let holds = |early: &&Early| early.until.is_none_or(|until| now < until);
    let mut ahead = BTreeSet::new();
    for tier in policy.tiers.iter().skip(1).filter(|tier| !tier.early.is_empty()) {
        let selects = |cluster: &&Cluster| {
            let early = || tier.early.iter().filter(holds).any(|early| early.select.matches(&cluster.labels));
            tier.select.matches(&cluster.labels) && early()
        };
        ahead.extend(snapshot.clusters.known().into_iter().flatten().filter(selects).map(|cluster| &cluster.name));
    }
    ahead
}

fn pinned<'a>(snapshot: &'a Snapshot, policy: &'a PluginPolicy, now: Timestamp) -> BTreeMap<&'a ClusterName, &'a Pin> {
    let holds = |pin: &&Pin| pin.until.is_none_or(|until| now < until);
    let pins: Vec<&Pin> = policy.pins.iter().filter(holds).collect();
    let clusters = snapshot.clusters.known().filter(|_| !pins.is_empty());
    let of =
        |cluster: &'a Cluster| Some((&cluster.name, *pins.iter().find(|pin| pin.select.matches(&cluster.labels))?));
    clusters.into_iter().flatten().filter_map(of).collect()
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
    fn of(places: &[&Place]) -> Self {
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
