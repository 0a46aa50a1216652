//! The world as it truly is: base branch, pull requests, releases, clusters, and a diary of all
//! that happened. What of it the bot is shown is in `look`; the bot's own doings arrive by `hand`.

use std::collections::BTreeMap;

use decide::model::Policy;
use decide::snapshot::Release;
use decide::{ClusterName, Digest, PluginName, TierName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::fleet::Running;
use crate::pulls::PullRequest;
use crate::rng::Rng;
use crate::scenario::{Happening, Quality, Scenario};

/// A plugin on a tier.
pub type Spot = (PluginName, TierName);

pub struct World {
    pub scenario: Scenario,
    pub now: Timestamp,
    pub policy: Policy,
    /// When the policy file last changed, as its commit.
    pub policy_commit: u64,
    pub policy_broken: bool,
    pub releases: BTreeMap<PluginName, BTreeMap<Version, Published>>,
    pub base: BTreeMap<Spot, Vec<Place>>,
    pub pulls: Vec<PullRequest>,
    pub running: BTreeMap<(ClusterName, PluginName), Running>,
    pub vanished: BTreeMap<ClusterName, Absence>,
    /// The hub answers nothing until then.
    pub outage: Option<Timestamp>,
    /// Lists of pull requests are older than they say, until then, by so much.
    pub lag: Option<(Timestamp, SignedDuration)>,
    pub skew: Option<Timestamp>,
    pub no_registry: Option<Timestamp>,
    pub no_inventory: Option<Timestamp>,
    pub commits: u64,
    pub diary: Vec<(Timestamp, String)>,
    queue: BTreeMap<(Timestamp, u64), Due>,
    queued: u64,
}

/// One release at the source.
#[derive(Clone, Debug)]
pub struct Published {
    pub version: Version,
    /// As the source shows it.
    pub shown: Release,
    pub retagged: bool,
    pub quality: Quality,
}

/// One file of the base branch.
#[derive(Clone, Debug)]
pub struct Place {
    pub file: String,
    pub cluster: Option<ClusterName>,
    pub version: Version,
    /// Every version that ever stood here, since when, and whether the bot's merge put it there.
    pub past: Vec<(Timestamp, Version, bool)>,
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
}

impl World {
    pub fn new(scenario: Scenario) -> Self {
        let first = Version::new(1, 0, 0);
        let mut world = Self {
            now: scenario.start,
            policy: scenario.policy.clone(),
            policy_commit: 1,
            policy_broken: false,
            releases: BTreeMap::new(),
            base: BTreeMap::new(),
            pulls: Vec::new(),
            running: BTreeMap::new(),
            vanished: BTreeMap::new(),
            outage: None,
            lag: None,
            skew: None,
            no_registry: None,
            no_inventory: None,
            commits: 0,
            diary: Vec::new(),
            queue: BTreeMap::new(),
            queued: 0,
            scenario,
        };
        for plugin in world.policy.plugins.clone() {
            let old = Published::new(&plugin.name, first.clone(), Quality::Good, false);
            world.releases.insert(plugin.name.clone(), BTreeMap::from([(first.clone(), old)]));
            for tier in &plugin.tiers {
                let members = world.scenario.members(&tier.name);
                let place = |cluster: Option<ClusterName>| Place {
                    file: format!(
                        "clusters/{}/{}{}.yaml",
                        tier.name,
                        plugin.name,
                        cluster.as_ref().map_or(String::new(), |c| format!("-{c}"))
                    ),
                    cluster,
                    version: first.clone(),
                    past: vec![(world.now, first.clone(), false)],
                };
                let places = if world.scenario.per_cluster.contains(&plugin.name) {
                    members.iter().cloned().map(Some).map(place).collect()
                } else {
                    vec![place(None)]
                };
                world.base.insert((plugin.name.clone(), tier.name.clone()), places);
                for cluster in members {
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
        self.diary.push((self.now, text.into()));
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
        }
    }

    pub fn luck(&self, parts: &[&str]) -> Rng {
        Rng::fate(self.scenario.seed, parts)
    }

    pub fn new_commit(&mut self) -> String {
        self.commits += 1;
        format!("{:040x}", u128::from(self.commits) << 100 | u128::from(self.commits))
    }

    /// A release appears at the source, unless it is there.
    pub fn publish(&mut self, plugin: &PluginName, release: Published) {
        self.releases.get_mut(plugin).unwrap().entry(release.version.clone()).or_insert(release);
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

    pub fn rung(&self, tier: &TierName) -> usize {
        self.scenario.tiers().iter().position(|known| known.name == *tier).unwrap()
    }

    /// Writes versions to the base branch; clusters follow.
    pub fn commit(&mut self, spot: &Spot, versions: &[Version], by_bot: bool) {
        let now = self.now;
        let mut moved = Vec::new();
        for (place, version) in self.base.get_mut(spot).unwrap().iter_mut().zip(versions) {
            if place.version != *version {
                place.version = version.clone();
                place.past.push((now, version.clone(), by_bot));
                moved.push((place.cluster.clone(), version.clone()));
            }
        }
        for (cluster, version) in moved {
            let members = cluster.map_or_else(|| self.scenario.members(&spot.1), |cluster| vec![cluster]);
            for member in members {
                crate::fleet::roll_out(self, &member, spot, version.clone());
            }
        }
    }

    /// From here on nothing goes wrong: what is broken is mended, and a last good release comes out.
    pub fn calm_down(&mut self) {
        self.outage = None;
        self.lag = None;
        self.skew = None;
        self.no_registry = None;
        self.no_inventory = None;
        self.policy_broken = false;
        self.policy.freezes.clear();
        self.policy_commit += 1;
        self.vanished.clear();
        self.note("calm begins");
        crate::fleet::heal(self);
        crate::people::settle_open_business(self);
        for plugin in self.policy.plugins.clone() {
            let newest = self.accepted(&plugin.name).into_iter().max().unwrap_or(Version::new(1, 0, 0));
            let last = Version::new(newest.major, newest.minor, newest.patch + 1);
            self.note(format!("{} {last} is published, the last one", plugin.name));
            let release = Published::new(&plugin.name, last, Quality::Good, false);
            self.publish(&plugin.name, release);
        }
    }
}

impl Published {
    pub fn new(plugin: &PluginName, version: Version, quality: Quality, marked_breaking: bool) -> Self {
        let digest = format!("sha256:{:064x}", Rng::fate(1, &[plugin.as_str(), &version.to_string()]).next());
        let shown = Release {
            version: version.to_string().parse().unwrap(),
            digest: Some(Digest::new(digest)),
            marked_breaking,
            checks: decide::snapshot::Read::Known(Vec::new()),
        };
        Self { version, shown, retagged: false, quality }
    }
}
