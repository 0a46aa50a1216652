//! The desk on which one plugin is decided: its facts, a working copy of its page of the ledger,
//! and what has been decided so far. The rules are in `settle`, `tiers` and `gate`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use jiff::{SignedDuration, Timestamp};

use crate::clusters::Finder;
use crate::fleet::Fleet;
use crate::gate::after::Pages;
use crate::ledger::{Change, Entry, Frozen, Ledger, PluginLedger};
use crate::member::{Assessment, Question};
use crate::model::{Early, Pin, PluginPolicy, Tier};
use crate::plan::{Action, Alarm, Climb, Pinned, Record, Urgency, WaveReport};
use crate::selector::Labels;
use crate::snapshot::{Place, PluginFacts, Pull, PullState, Read, Release, Snapshot};
use crate::{ClusterName, Clusters, PluginName, Reason, TierName, Version, follow};

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

    /// How far it was used up before a plugin is decided.
    pub(crate) fn mark(&self) -> Mark {
        Mark { open_pulls: self.open_pulls, changed: self.changed.len(), opening: self.opening.len() }
    }

    /// What a plugin took since then.
    pub(crate) fn since(&self, mark: &Mark, plugin: &PluginName) -> Taken {
        Taken {
            open_pulls: self.open_pulls - mark.open_pulls,
            changed: self.changed.get(mark.changed..).unwrap_or_default().to_vec(),
            opening: self.opening.get(mark.opening..).unwrap_or_default().to_vec(),
            page: self.pages.get(plugin).cloned(),
        }
    }

    /// Takes what a plugin took when it was decided.
    pub(crate) fn take(&mut self, plugin: &PluginName, taken: &Taken) {
        self.open_pulls = self.open_pulls.saturating_add(taken.open_pulls);
        self.changed.extend_from_slice(&taken.changed);
        self.opening.extend_from_slice(&taken.opening);
        self.pages.extend(taken.page.clone().map(|page| (plugin.clone(), page)));
    }

    /// Clusters changed within the span before `now`.
    pub(crate) fn changed_lately(&self) -> u32 {
        self.changed.iter().fold(0, |sum, (_, clusters)| sum.saturating_add(*clusters))
    }
}

/// How far what all share was used up at one moment.
pub(crate) struct Mark {
    open_pulls: u32,
    changed: usize,
    opening: usize,
}

/// What one plugin took of what all share.
#[derive(Default)]
pub(crate) struct Taken {
    open_pulls: u32,
    changed: Vec<(Timestamp, u32)>,
    opening: Vec<(PluginName, TierName)>,
    /// Its page, where another plugin waits for it.
    page: Option<PluginLedger>,
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
    pub fleet: &'a Fleet,
    /// The plugin's place in the file.
    pub at: usize,
    pub policy: &'a PluginPolicy,
    pub facts: Option<&'a PluginFacts>,
    pub now: Timestamp,
    pub shared: &'a mut Shared,
    /// The ledger's page with this plan's entries applied.
    pub page: PluginLedger,
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
        let pinned = pinned(snapshot, fleet, policy, now);
        let ahead = ahead(snapshot, fleet, policy, now);
        let free = |selected| {
            if pinned.is_empty() {
                Clusters::clone(selected)
            } else {
                without(selected, |name| pinned.contains_key(name))
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
            page: snapshot.ledger.plugins.get(&policy.name).cloned().unwrap_or_default(),
            done: Decided {
                entries: Vec::new(),
                actions: Vec::new(),
                waves: Vec::new(),
                climbs: Vec::new(),
                alarms: Vec::new(),
            },
            selected: match ahead.is_empty() {
                true => present.clone(),
                false => present.iter().map(|present| without(present, |name| ahead.contains(name))).collect(),
            },
            present,
            pinned,
            ahead,
            ledger: &snapshot.ledger,
            memo: RefCell::default(),
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
        let known = |memo: &Memo| memo.bases.iter().find(|(known, _)| known == tier).map(|(_, base)| base.clone());
        let known = known(&self.memo.borrow());
        known.unwrap_or_else(|| {
            let base = self.base_of(self.plugin(), tier);
            self.memo.borrow_mut().bases.push((tier.clone(), base.clone()));
            base
        })
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
        let pins = policy.map(|policy| pinned(self.snapshot, self.fleet, policy, self.now)).unwrap_or_default();
        let ahead = policy.map(|policy| ahead(self.snapshot, self.fleet, policy, self.now)).unwrap_or_default();
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
    pub(crate) fn places_of(&self, tier: &TierName, clusters: &[ClusterName]) -> Vec<&'a Place> {
        let mut among = Finder::new(clusters);
        let of = |place: &&Place| place.cluster.as_ref().is_none_or(|name| among.has(name));
        self.free_places(tier).filter(of).collect()
    }

    fn free_places(&self, tier: &TierName) -> impl Iterator<Item = &'a Place> {
        let places = self.facts.and_then(|facts| facts.base.known()?.get(tier)).map_or(&[][..], Vec::as_slice);
        places.iter().filter(|place| place.cluster.as_ref().is_none_or(|name| self.pin(name).is_none()))
    }

    /// What the places of these clusters hold, or those of all of the tier.
    pub(crate) fn spread(&self, tier: &TierName, clusters: &[ClusterName]) -> Spread {
        // Where all is one, what some of it is needs no look at each.
        if let Some(version) = self.everywhere(tier).filter(|_| self.has_place(tier, clusters)) {
            return Spread::of([&version].into_iter());
        }
        let places = self.places_of(tier, clusters);
        let spread = Spread::of(places.iter().filter_map(|place| place.version.known()));
        Spread { places: places.len(), ..spread }
    }

    /// The version that every place of a tier spells alike.
    fn everywhere(&self, tier: &TierName) -> Option<Version> {
        let known = |memo: &Memo| memo.everywhere.iter().find(|(known, _)| known == tier).map(|(_, one)| one.clone());
        let known = known(&self.memo.borrow());
        known.unwrap_or_else(|| {
            let mut versions = self.free_places(tier).map(|place| place.version.known());
            let first = versions.next().flatten();
            let alike = |version: &Version| first.is_some_and(|first| first.as_str() == version.as_str());
            let one = first.filter(|_| versions.all(|version| version.is_some_and(alike))).cloned();
            self.memo.borrow_mut().everywhere.push((tier.clone(), one.clone()));
            one
        })
    }

    /// Whether the first place of a tier that may change is for one of these clusters, or for all: so it
    /// is mostly, and then nothing else has to be looked at.
    fn has_place(&self, tier: &TierName, clusters: &[ClusterName]) -> bool {
        let places = self.facts.and_then(|facts| facts.base.known()?.get(tier)).map_or(&[][..], Vec::as_slice);
        let of = |name: &ClusterName| self.pin(name).is_none() && clusters.first() == Some(name);
        places.first().is_some_and(|place| place.cluster.as_ref().is_none_or(of))
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
    pub(crate) fn selected(&self, tier: &Tier) -> Option<Clusters> {
        match self.rung(tier) {
            Some(at) => self.snapshot.clusters.known().and_then(|_| self.selected.get(at)).cloned(),
            None => Some(without(&self.present(tier)?, |name| self.ahead.contains(name))),
        }
    }

    /// The clusters of a tier that are ahead of it now, in the order of their names.
    pub(crate) fn ahead(&self, tier: &Tier) -> Clusters {
        let present = self.present(tier).filter(|_| !self.ahead.is_empty()).unwrap_or_default();
        without(&present, |name| !self.ahead.contains(name))
    }

    /// The clusters that a tier selects now, in the order of their names; pinned ones left out.
    fn present(&self, tier: &Tier) -> Option<Clusters> {
        self.snapshot.clusters.known()?;
        Some(match self.rung(tier) {
            Some(at) => self.present.get(at)?.clone(),
            None => without(&self.fleet.selected(self.snapshot, &tier.select), |name| self.pin(name).is_some()),
        })
    }

    /// Which tier of this plugin it is; none of another's.
    fn rung(&self, tier: &Tier) -> Option<usize> {
        self.policy.tiers.iter().position(|known| known.name == tier.name && known.select == tier.select)
    }

    /// The pinned clusters of a tier, in the order of their names.
    pub(crate) fn pinned_of(&self, tier: &Tier) -> Vec<Pinned> {
        if self.pinned.is_empty() {
            return Vec::new();
        }
        let of_tier = |name: &ClusterName| self.labels(name).is_some_and(|labels| tier.select.matches(labels));
        let shown = |(name, pin): (&ClusterName, &&Pin)| Pinned {
            cluster: name.clone(),
            version: pin.version.clone(),
            until: pin.until,
            why: pin.why.clone(),
        };
        self.pinned.iter().filter(|(name, _)| of_tier(name)).map(shown).collect()
    }

    /// What selectors see of a cluster.
    pub(crate) fn labels(&self, name: &ClusterName) -> Option<&'a Labels> {
        self.fleet.labels(self.snapshot, name)
    }

    /// Those of a wave's clusters that the tier still has, while the inventory can be read. Who left,
    /// or was pinned since, counts no more.
    pub(crate) fn still(&self, tier: &Tier, clusters: &Clusters) -> Clusters {
        // An inventory without any cluster is a broken one; nobody is said to have left by it.
        let some = self.snapshot.clusters.known().is_some_and(|clusters| !clusters.is_empty());
        let Some(here) = self.present(tier).filter(|_| some) else { return clusters.clone() };
        let same = |(tier, asked, _): &&(Clusters, Clusters, Clusters)| tier.is(&here) && asked.is(clusters);
        let known = self.memo.borrow().still.iter().find(same).map(|(_, _, still)| still.clone());
        known.unwrap_or_else(|| {
            let still = among(&here, clusters);
            self.memo.borrow_mut().still.push((here, clusters.clone(), still.clone()));
            still
        })
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

/// Those of some clusters that are here, in their own order.
fn among(here: &Clusters, clusters: &Clusters) -> Clusters {
    if here == clusters {
        return clusters.clone();
    }
    let mut here = Finder::new(here);
    let there: Vec<bool> = clusters.iter().map(|name| here.has(name)).collect();
    if there.iter().all(|there| *there) {
        return clusters.clone();
    }
    clusters.iter().zip(there).filter(|(_, there)| *there).map(|(name, _)| name.clone()).collect()
}

/// Clusters that stay on a version.
type Pins<'a> = BTreeMap<ClusterName, &'a Pin>;

fn ahead(snapshot: &Snapshot, fleet: &Fleet, policy: &PluginPolicy, now: Timestamp) -> BTreeSet<ClusterName> {
    let holds = |early: &&Early| early.until.is_none_or(|until| now < until);
    let mut ahead = BTreeSet::new();
    for tier in policy.tiers.iter().skip(1).filter(|tier| !tier.early.is_empty()) {
        let early = |name: &&ClusterName| {
            let labels = fleet.labels(snapshot, name);
            labels.is_some_and(|labels| tier.early.iter().filter(holds).any(|early| early.select.matches(labels)))
        };
        ahead.extend(fleet.selected(snapshot, &tier.select).iter().filter(early).cloned());
    }
    ahead
}

fn pinned<'a>(snapshot: &Snapshot, fleet: &Fleet, policy: &'a PluginPolicy, now: Timestamp) -> Pins<'a> {
    let holds = |pin: &&Pin| pin.until.is_none_or(|until| now < until);
    let mut pinned = BTreeMap::new();
    // The first one that selects a cluster counts.
    for pin in policy.pins.iter().filter(holds).rev() {
        pinned.extend(fleet.selected(snapshot, &pin.select).iter().map(|name| (name.clone(), pin)));
    }
    pinned
}

/// The others of some clusters, in their order.
fn without(clusters: &Clusters, is: impl Fn(&ClusterName) -> bool) -> Clusters {
    if !clusters.iter().any(&is) {
        return clusters.clone();
    }
    clusters.iter().filter(|name| !is(name)).cloned().collect()
}

/// What some places hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// How many places there are, also of those that could not be read.
    pub places: usize,
    /// How many of them could be read.
    pub read: usize,
    /// The oldest version that could be read.
    pub lowest: Option<Version>,
    /// The newest.
    pub highest: Option<Version>,
}

impl Spread {
    fn of<'a>(versions: impl Iterator<Item = &'a Version>) -> Self {
        let mut spread = Self::default();
        for version in versions {
            spread.read += 1;
            spread.lowest = spread.lowest.filter(|lowest| lowest <= version).or_else(|| Some(version.clone()));
            spread.highest = spread.highest.filter(|highest| highest > version).or_else(|| Some(version.clone()));
        }
        Self { places: spread.read, ..spread }
    }

    /// Whether there are places and all of them hold this version.
    pub(crate) fn is(&self, version: &Version) -> bool {
        let ends = [&self.lowest, &self.highest];
        self.places > 0 && self.read == self.places && ends.iter().all(|end| end.as_ref() == Some(version))
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
