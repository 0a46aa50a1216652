//! The world as it truly is: base branch, pull requests, releases, clusters, and a diary of all
//! that happened. What of it the bot is shown is in `look`; the bot's own doings arrive by `hand`.

use std::collections::BTreeMap;

use decide::model::Policy;
use decide::snapshot::Cluster;
use decide::{ClusterName, PluginName, TierName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::branch::Branch;
use crate::first::Bare;
use crate::fleet::Running;
use crate::hand::Written;
use crate::places::Place;
use crate::pulls::PullRequest;
use crate::rarely::{Later, Undigested};
use crate::releases::Published;
use crate::rng::Rng;
use crate::runs::Run;
use crate::scenario::{Happening, Lie, Quality, Scenario, Unreadable};
use crate::tally::Tally;

/// A plugin on a tier.
pub type Spot = (PluginName, TierName);

pub struct World {
    pub scenario: Scenario,
    pub now: Timestamp,
    pub policy: Policy,
    /// When the policy file last changed, as its commit.
    pub policy_commit: u64,
    pub policy_broken: bool,
    /// The clusters as the inventory has them; what their labels say is true.
    pub inventory: Vec<Cluster>,
    pub branch: Branch,
    /// How often the branch was rolled back.
    pub losses: u32,
    /// How often people turned a plugin's releases away by the file and took them again.
    pub turns: BTreeMap<PluginName, u32>,
    pub written: Written,
    pub releases: BTreeMap<PluginName, BTreeMap<Version, Published>>,
    pub base: BTreeMap<Spot, Vec<Place>>,
    pub bare: Bare,
    pub pulls: Vec<PullRequest>,
    pub runs: Vec<Run>,
    pub running: BTreeMap<(ClusterName, PluginName), Running>,
    pub vanished: BTreeMap<ClusterName, Absence>,
    pub lies: BTreeMap<ClusterName, (Timestamp, Lie)>,
    /// When the file of a cluster, or of the whole tier, first held a version.
    pub first_held: BTreeMap<(Spot, Option<ClusterName>, Version), Timestamp>,
    /// The hub answers nothing until then.
    pub outage: Option<Timestamp>,
    /// Lists of pull requests are older than they say, until then, by so much.
    pub lag: Option<(Timestamp, SignedDuration)>,
    /// Our clock is off by so many seconds, until then.
    pub skew: Option<(Timestamp, i64)>,
    /// The list of a plugin's pull requests lacks the open ones, until then.
    pub missing: Option<(Timestamp, PluginName)>,
    pub unreadable: Option<(Timestamp, Unreadable)>,
    pub no_registry: Option<Timestamp>,
    pub no_inventory: Option<Timestamp>,
    pub undigested: Option<Undigested>,
    pub merges: crate::merges::Merges,
    /// The first release of a storm in the calm, by plugin; when it ends; and who got nothing of it.
    pub storm: BTreeMap<PluginName, Version>,
    pub storm_ends: Option<Timestamp>,
    pub starved: Vec<String>,
    /// Files that hold a range instead of a version, until then.
    pub ranges: BTreeMap<Spot, Timestamp>,
    pub commits: u64,
    /// Commits that came to the base branch.
    pub trunk: u64,
    pub diary: Vec<(Timestamp, String)>,
    /// Whether the diary is kept; it costs time.
    pub diarist: bool,
    pub tally: Tally,
    queue: BTreeMap<(Timestamp, u64), Due>,
    queued: u64,
}

/// A cluster that does not answer.
#[derive(Clone, Debug)]
pub struct Absence {
    pub until: Timestamp,
    /// It answers with what it said before, under the old date.
    pub stale_since: Option<Timestamp>,
}

/// Something that will happen.
#[derive(Clone, Debug)]
pub enum Due {
    Happening(Happening),
    /// A step of a rollout; void when the cluster was asked for something else since.
    Rollout {
        cluster: ClusterName,
        plugin: PluginName,
        asked: u64,
        step: crate::fleet::Step,
    },
    /// A reviewer looks at a head.
    Review {
        pull: u64,
        head: String,
    },
    /// Somebody who may not, or does not count, approves a head.
    Noise {
        pull: u64,
        head: String,
    },
    /// The required check on a head ends.
    Check {
        pull: u64,
        head: String,
        green: bool,
    },
    Unfreeze {
        why: String,
    },
    MendPolicy,
    /// What keeps a tier that follows releases by itself up to date writes this release.
    Follow {
        plugin: PluginName,
        version: Version,
    },
    /// Somebody lets the next slice go on.
    Resume {
        spot: Spot,
    },
    EndOverlap {
        tier: TierName,
    },
    /// Somebody gives the lost ledger up; at first somebody who may not.
    Confirm {
        allowed: bool,
    },
    Rare(Later),
}

impl World {
    pub fn new(scenario: Scenario) -> Self {
        let first = Version::new(1, 0, 0);
        let mut world = Self {
            now: scenario.start,
            policy: scenario.policy.clone(),
            policy_commit: 1,
            policy_broken: false,
            inventory: scenario.clusters.clone(),
            branch: Branch::default(),
            losses: 0,
            turns: BTreeMap::new(),
            written: Written::new(),
            releases: BTreeMap::new(),
            base: BTreeMap::new(),
            bare: scenario.bare.clone(),
            pulls: Vec::new(),
            runs: Vec::new(),
            running: BTreeMap::new(),
            vanished: BTreeMap::new(),
            lies: BTreeMap::new(),
            first_held: BTreeMap::new(),
            outage: None,
            lag: None,
            skew: None,
            missing: None,
            unreadable: None,
            no_registry: None,
            no_inventory: None,
            undigested: None,
            merges: crate::merges::Merges::default(),
            storm: BTreeMap::new(),
            storm_ends: None,
            starved: Vec::new(),
            ranges: BTreeMap::new(),
            commits: 0,
            trunk: 0,
            diary: Vec::new(),
            diarist: true,
            tally: Tally::default(),
            queue: BTreeMap::new(),
            queued: 0,
            scenario,
        };
        for plugin in world.policy.plugins.clone() {
            let old = Published::new(&world, &plugin.name, first.clone(), Quality::Good, false);
            world.releases.insert(plugin.name.clone(), BTreeMap::from([(first.clone(), old)]));
            for tier in &plugin.tiers {
                let members = world.members(&tier.name);
                let spot = (plugin.name.clone(), tier.name.clone());
                let whose = match world.scenario.per_cluster.contains(&plugin.name) {
                    true => members.iter().cloned().map(Some).collect(),
                    false => vec![None],
                };
                let bare = |whose: &Option<ClusterName>| world.bare.get(&spot).is_some_and(|all| all.contains(whose));
                let there = whose.into_iter().filter(|whose| !bare(whose));
                let place = |whose| Place::new(&spot, whose, first.clone(), world.now, false);
                let places = there.map(place).collect();
                world.base.insert(spot.clone(), places);
                world.note_versions(&spot);
                for cluster in members.into_iter().filter(|name| !world.is_bare(&spot, name)).collect::<Vec<_>>() {
                    let running = Running::new(first.clone(), world.now);
                    world.running.insert((cluster, plugin.name.clone()), running);
                }
            }
        }
        for (at, happening) in world.scenario.happenings.clone() {
            world.schedule(at, Due::Happening(happening));
        }
        world
    }

    pub fn is_calm(&self) -> bool {
        self.now >= self.scenario.calm
    }

    pub fn schedule(&mut self, at: Timestamp, due: Due) {
        self.queued += 1;
        self.queue.insert((at, self.queued), due);
    }

    pub fn note(&mut self, text: impl Into<String>) {
        if self.diarist {
            self.diary.push((self.now, text.into()));
        }
    }

    /// The instant by our own clock.
    pub fn ours(&self) -> Timestamp {
        self.now + SignedDuration::from_secs(self.off())
    }

    /// How many seconds our clock is off.
    pub fn off(&self) -> i64 {
        self.skew.filter(|(until, _)| self.now < *until).map_or(0, |(_, seconds)| seconds)
    }

    /// The clusters of a tier now.
    pub fn members(&self, tier: &TierName) -> Vec<ClusterName> {
        let of_tier = |cluster: &&Cluster| cluster.labels["tier"] == tier.as_str();
        self.inventory.iter().filter(of_tier).map(|cluster| cluster.name.clone()).collect()
    }

    /// The clusters that a pull request moves.
    pub fn moved_by(&self, number: u64) -> Vec<ClusterName> {
        let pull = self.pulls.iter().find(|pull| pull.number == number);
        pull.map_or_else(Vec::new, |pull| pull.members.clone())
    }

    pub fn tier_of(&self, cluster: &ClusterName) -> Option<TierName> {
        let known = self.inventory.iter().find(|known| known.name == *cluster)?;
        Some(TierName::new(known.labels["tier"].clone()))
    }

    pub fn cannot_read(&self, what: Unreadable) -> bool {
        self.unreadable.is_some_and(|(until, fact)| self.now < until && fact == what)
    }

    /// Lets everything happen up to and including `to`.
    pub fn advance(&mut self, to: Timestamp) {
        while let Some(((at, number), _)) = self.queue.first_key_value().filter(|((at, _), _)| *at <= to) {
            let key = (*at, *number);
            self.now = self.now.max(key.0);
            if let Some(due) = self.queue.remove(&key) {
                self.befall(due);
            }
        }
        self.now = self.now.max(to);
    }

    /// The next moment at which somebody rings, after `now`.
    pub fn next_ring(&self) -> Option<Timestamp> {
        let next = self.queue.iter().find(|(_, due)| matches!(due, Due::Happening(Happening::Ring)));
        next.map(|((at, _), _)| *at)
    }

    /// What rings in the calm: the next release of a storm, or a person's word on what stands still.
    pub fn next_in_the_calm(&self) -> Option<Timestamp> {
        let rings = |due: &Due| match due {
            Due::Rare(Later::Storm { .. }) => self.storm_ends.is_some(),
            Due::Rare(Later::AnswerAgain) => true,
            Due::Rare(Later::Clear { allowed }) => *allowed,
            Due::Follow { plugin, .. } => self.follows_from_nothing(plugin),
            _ => false,
        };
        self.queue.iter().find(|(_, due)| rings(due)).map(|((at, _), _)| *at)
    }

    /// Checks that run end now, and what people were about to do unasked is not done: none of that would ring.
    pub fn end_what_is_under_way(&mut self) {
        let now = self.now;
        self.releases.values_mut().flat_map(BTreeMap::values_mut).for_each(|release| {
            release.checked = release.checked.min(now);
            release.complete = release.complete.min(now);
        });
        for (at, due) in std::mem::take(&mut self.queue) {
            match due {
                // Who held in the last moment lets go before it: nobody rings in the calm.
                Due::Check { .. } | Due::Rare(Later::Resume { .. }) => self.befall(due),
                Due::Happening(_) | Due::Noise { .. } | Due::Rare(Later::Revert { .. }) => {}
                due => drop(self.queue.insert(at, due)),
            }
        }
    }

    fn befall(&mut self, due: Due) {
        match due {
            Due::Happening(happening) => crate::people::befall(self, happening),
            Due::Rollout { cluster, plugin, asked, step } => crate::fleet::step(self, &cluster, &plugin, asked, step),
            Due::Review { pull, head } => crate::people::look_at(self, pull, &head),
            Due::Noise { pull, head } => crate::people::approve_in_vain(self, pull, &head),
            Due::Check { pull, head, green } => {
                if let Some(pull) = self.pull_mut(pull).filter(|pull| pull.head == head) {
                    pull.check = Some(green);
                }
            }
            Due::Unfreeze { why } => {
                self.policy.freezes.retain(|freeze| freeze.why != why);
                self.policy_commit += 1;
                self.note("the freeze ends");
            }
            Due::MendPolicy => self.policy_broken = false,
            Due::Follow { plugin, version } => self.follow(&plugin, &version),
            Due::Resume { spot } => crate::people::resume(self, &spot),
            Due::EndOverlap { tier } => crate::edits::overlap(self, &tier, false),
            Due::Confirm { allowed } => crate::people::give_up_the_lost(self, allowed),
            Due::Rare(later) => crate::rarely::later(self, later),
        }
    }

    pub fn luck(&self, parts: &[&str]) -> Rng {
        Rng::fate(self.scenario.seed, parts)
    }

    pub fn new_commit(&mut self) -> String {
        self.commits += 1;
        // People name it by its first seven digits.
        format!("{:07x}{:033x}", self.commits, self.commits)
    }

    /// A release appears at the source, unless it is there.
    pub fn publish(&mut self, plugin: &PluginName, release: Published) {
        let version = release.version.clone();
        self.releases.get_mut(plugin).unwrap().entry(version.clone()).or_insert(release);
        let follows = self.policy.plugins.iter().any(|known| known.name == *plugin && known.tiers[0].follows);
        if follows && self.accepted(plugin).contains(&version) {
            let later = self.now + self.luck(&["follow", plugin.as_str(), &version.to_string()]).minutes(1, 90);
            self.schedule(later, Due::Follow { plugin: plugin.clone(), version });
        }
    }

    /// Whether the tier that follows a plugin's releases has nothing installed: no alarm of the bot waits for the push
    /// that brings the first.
    fn follows_from_nothing(&self, plugin: &PluginName) -> bool {
        let policy = self.policy.plugins.iter().find(|known| known.name == *plugin);
        let first = policy.and_then(|policy| policy.tiers.first()).filter(|tier| tier.follows);
        first.is_some_and(|tier| self.base.get(&(plugin.clone(), tier.name.clone())).is_none_or(Vec::is_empty))
    }

    /// The first tier takes a release by itself, unless it has a newer one.
    fn follow(&mut self, plugin: &PluginName, version: &Version) {
        let policy = self.policy.plugins.iter().find(|known| known.name == *plugin);
        let Some(tier) = policy.and_then(|policy| policy.tiers.first()).filter(|tier| tier.follows) else { return };
        let spot = (plugin.clone(), tier.name.clone());
        if self.release(plugin, version).is_some_and(|release| !release.yanked) {
            let newer = |place: &Place| place.version.clone().max(version.clone());
            let versions: Vec<Version> = self.base[&spot].iter().map(newer).collect();
            self.note(format!("{} of {plugin} follows to {version}", spot.1));
            self.commit(&spot, &versions, false);
            self.install(&spot, version, false, |_| true);
        }
    }

    pub fn release(&self, plugin: &PluginName, version: &Version) -> Option<&Published> {
        self.releases[plugin].get(version)
    }

    pub fn pull_mut(&mut self, number: u64) -> Option<&mut PullRequest> {
        self.pulls.iter_mut().find(|pull| pull.number == number)
    }

    /// The open pull request of a plugin on a tier.
    pub fn open_pull(&self, spot: &Spot) -> Option<&PullRequest> {
        self.pulls.iter().find(|pull| pull.spot == *spot && pull.is_open())
    }

    pub fn tier_index(&self, tier: &TierName) -> usize {
        self.scenario.tiers().iter().position(|known| known.name == *tier).unwrap()
    }

    /// Writes versions to the base branch; clusters follow.
    pub fn commit(&mut self, spot: &Spot, versions: &[Version], by_bot: bool) {
        let (mut moved, now) = (Vec::new(), self.now);
        for (place, version) in self.base.get_mut(spot).unwrap().iter_mut().zip(versions) {
            if place.version != *version {
                place.version = version.clone();
                (place.since, place.by_bot) = (now, by_bot);
                moved.push((place.cluster.clone(), version.clone()));
            }
        }
        self.trunk += 1;
        self.note_versions(spot);
        for (cluster, version) in moved {
            let members = cluster.map_or_else(|| self.members(&spot.1), |cluster| vec![cluster]);
            for member in members {
                crate::fleet::roll_out(self, &member, spot, version.clone());
            }
        }
    }
}
