//! The world of a rehearsal: a source of releases, a hub with its people, clusters, a clock. How its time
//! goes on is in `course`.

use std::collections::{BTreeMap, BTreeSet};

use decide::ledger::Ledger;
use decide::snapshot::{Cluster, HubFacts, LedgerGuard, LedgerState, PluginFacts, Read, Release, Snapshot};
use decide::{ClusterName, Digest, Person, PluginName, Sha, TierName, Version};
use jiff::{SignedDuration, Timestamp};

use super::diary::{Note, Noted};
use super::fleet::{self, Fleet};
use super::hub::Hub;
use super::workflows::Workflows;
use crate::policy::Loaded;
use crate::policy::wiring::{Notify, People};
use crate::tell::reasons::Occasion;

/// The bot's own login.
pub(crate) const BOT: &str = "coldframe[bot]";

/// How soon the bot looks again after something moved.
const SOON: SignedDuration = SignedDuration::from_mins(2);

/// The world, and what the bot sees of it.
pub(crate) struct World {
    pub now: Timestamp,
    /// What the bot sees; the ledger in it is the bot's memory.
    pub snapshot: Snapshot,
    pub fleet: Fleet,
    pub hub: Hub,
    pub workflows: Workflows,
    /// What happened, for whoever tells or counts it.
    pub diary: Vec<Note>,
    /// Plugins that have one file per cluster.
    per_cluster: BTreeSet<PluginName>,
    pub(super) queue: BTreeMap<(Timestamp, u64), Due>,
    queued: u64,
    commits: u64,
    /// Whether the bot looks again by itself while something is on its way.
    pub(super) restless: bool,
    /// What the hub says of the ledger branch, as long as it answers.
    pub ledger: LedgerState,
    /// Who may give which command.
    pub rights: People,
    /// Who is told of what happens.
    pub notify: Vec<Notify>,
    /// Every occasion on which a reason was given, where somebody wants to know.
    pub occasions: Option<BTreeSet<Occasion>>,
}

/// Something that will happen by itself.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    /// A cluster begins to follow the base branch, or has followed it.
    Rollout { cluster: ClusterName, plugin: PluginName, asked: u64, to: Version, arrives: bool },
    /// Somebody approves a head that is still there.
    Approve { pull: u64, head: Sha, who: Person },
    /// A run of a workflow has taken its time.
    Run { id: String },
    /// Nothing but a reason to look.
    Look,
}

impl World {
    /// A world at `now` in which nothing runs yet.
    pub fn new(now: Timestamp, policy: &Loaded, clusters: Vec<Cluster>, rollout: SignedDuration) -> Self {
        let hub =
            HubFacts { bot: Person::from(BOT), bypass: true, own: vec![Person::from(BOT)], skew: SignedDuration::ZERO };
        let mut world = Self {
            now,
            snapshot: Snapshot {
                policy: policy.policy.clone(),
                policy_commit: Sha::new("0"),
                policy_problem: None,
                clusters: Read::Known(Vec::new()),
                hub,
                ledger: Ledger::default(),
                ledger_state: LedgerState::Intact { guarded: LedgerGuard::Sealed },
                look_again: SOON,
                plugins: BTreeMap::new(),
            },
            fleet: Fleet::new(clusters, rollout),
            hub: Hub::default(),
            workflows: Workflows::default(),
            diary: Vec::new(),
            per_cluster: BTreeSet::new(),
            queue: BTreeMap::new(),
            queued: 0,
            commits: 0,
            restless: true,
            ledger: LedgerState::Intact { guarded: LedgerGuard::Sealed },
            rights: People::default(),
            notify: Vec::new(),
            occasions: None,
        };
        world.follow(policy);
        world
    }

    /// From now on this is the policy file.
    pub fn follow(&mut self, policy: &Loaded) {
        self.snapshot.policy = policy.policy.clone();
        self.snapshot.policy_commit = self.commit();
        self.snapshot.policy_problem = None;
        self.rights = policy.wiring.people;
        self.notify.clone_from(&policy.wiring.notify);
        for plugin in &policy.policy.plugins {
            let spots = policy.wiring.plugins.get(&plugin.name).map_or(&[][..], |wiring| &wiring.write);
            if spots.iter().all(crate::policy::wiring::Write::per_cluster) {
                self.per_cluster.insert(plugin.name.clone());
            }
        }
    }

    /// The bot looks only when something happens or its alarm rings: where everything that happens is
    /// an event, nothing is missed.
    pub fn only_events(&mut self) {
        self.restless = false;
        self.snapshot.look_again = SignedDuration::from_hours(24 * 3_000);
    }

    /// A version that was there before the story: on the base branch of each tier and in its clusters.
    pub fn begin_with(&mut self, plugin: &PluginName, version: &Version) {
        self.publish(plugin, version.clone(), false);
        let Some(policy) = self.snapshot.policy.plugins.iter().find(|known| known.name == *plugin) else { return };
        for tier in policy.tiers.clone() {
            let members = self.members(&tier.name, plugin);
            for cluster in &members {
                fleet::install(self, cluster, plugin, version);
            }
            let keys = self.keys(plugin, &members);
            let places = self.hub.base.entry((plugin.clone(), tier.name)).or_default();
            places.extend(keys.into_iter().map(|key| (key, version.clone())));
        }
    }

    /// A release appears at the source; a second one of the same version has other content.
    pub fn publish(&mut self, plugin: &PluginName, version: Version, marked_breaking: bool) {
        let digest = Some(Digest::new(format!("sha256:{version}")));
        self.list(
            plugin,
            Release {
                version,
                digest,
                marked_breaking,
                breaking: Vec::new(),
                blocks: Vec::new(),
                missing_values: Vec::new(),
                incomplete: None,
                unsigned: Read::Known(None),
                checks: Read::Known(Vec::new()),
            },
        );
    }

    /// The source lists a release.
    pub fn list(&mut self, plugin: &PluginName, release: Release) {
        if let Read::Known(releases) = &mut self.facts(plugin).releases {
            releases.push(release);
        }
    }

    /// The content of a release changes under the same version.
    pub fn republish(&mut self, plugin: &PluginName, version: &Version) -> bool {
        let found = self.release_mut(plugin, version);
        found.map(|release| release.digest = Some(Digest::new(format!("sha256:{version}-again")))).is_some()
    }

    /// A release that the source lists.
    pub fn release_mut(&mut self, plugin: &PluginName, version: &Version) -> Option<&mut Release> {
        match &mut self.facts(plugin).releases {
            Read::Known(releases) => releases.iter_mut().find(|release| release.version == *version),
            Read::Unread(_) => None,
        }
    }

    pub fn facts(&mut self, plugin: &PluginName) -> &mut PluginFacts {
        self.snapshot.plugins.entry(plugin.clone()).or_insert_with(|| PluginFacts {
            releases: Read::Known(Vec::new()),
            base: Read::Known(BTreeMap::new()),
            pulls: Read::Known(Vec::new()),
            readings: decide::Readings::default(),
            runs: Read::Known(Vec::new()),
            open_now: BTreeMap::new(),
        })
    }

    /// The clusters that a tier selects for a plugin now.
    pub fn members(&self, tier: &TierName, plugin: &PluginName) -> Vec<ClusterName> {
        let policy = self.snapshot.policy.plugins.iter().find(|known| known.name == *plugin);
        let Some(tier) = policy.and_then(|policy| policy.tiers.iter().find(|known| known.name == *tier)) else {
            return Vec::new();
        };
        let of_tier = |cluster: &&Cluster| tier.select.matches(&cluster.labels);
        self.fleet.clusters.iter().filter(of_tier).map(|cluster| cluster.name.clone()).collect()
    }

    /// The places of the base branch that belong to these clusters.
    pub fn keys(&self, plugin: &PluginName, members: &[ClusterName]) -> Vec<Option<ClusterName>> {
        if self.per_cluster.contains(plugin) { members.iter().cloned().map(Some).collect() } else { vec![None] }
    }

    /// The hub's own time: the bot's clock may be ahead of it.
    pub fn hub_now(&self) -> Timestamp {
        self.now - self.snapshot.hub.skew
    }

    /// A new commit.
    pub fn commit(&mut self) -> Sha {
        self.commits += 1;
        Sha::new(format!("{:07x}{:033x}", self.commits, 0))
    }

    pub fn note(&mut self, what: Noted) {
        self.diary.push(Note { at: self.now, what });
    }

    pub fn schedule(&mut self, at: Timestamp, due: Due) {
        self.queued += 1;
        self.queue.insert((at, self.queued), due);
    }

    /// Something moved: the bot looks again soon.
    pub fn stir(&mut self) {
        if self.restless {
            self.snapshot.look_again = SOON;
        }
    }
}
