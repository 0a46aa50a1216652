//! Replays a history: one cluster per tier, healthy at once; the same world, planner and hands as a
//! story. It goes from event to event, and each plugin has a world of its own unless the policy lets
//! them wait for each other.

use std::collections::BTreeMap;

use decide::model::{Limits, Next};
use decide::reason::spell;
use decide::selector::Selector;
use decide::snapshot::Cluster;
use decide::{ClusterName, Person, PluginName, TierName};
use jiff::{SignedDuration, Timestamp};

use super::figures::{Count, Figures};
use super::read::{Event, History, What};
use crate::policy::{Loaded, Problems, Setting, SourceFile};
use crate::rehearse::setup;
use crate::rehearse::world::World;

/// The label by which a cluster of the replay belongs to its tier.
const LABEL: &str = "coldframe.rehearsal/tier";
/// People read commands on pull requests that were closed this long ago.
const MEMORY: SignedDuration = SignedDuration::from_hours(24 * 120);

/// What is replayed.
pub(super) struct Plan {
    policy: Loaded,
    clusters: Vec<Cluster>,
}

impl Plan {
    /// Reads the policy; every plugin of the history follows its ladder.
    pub fn new(main: &SourceFile, history: &History) -> Result<Self, Problems> {
        let plugins = history.plugins();
        let mut policy = setup::policy(main, &plugins, &Setting::default())?;
        policy.policy.plugins.retain(|plugin| plugins.contains(&plugin.name));
        // Which clusters a tier has is not what is rehearsed: one each.
        for tier in policy.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers) {
            tier.select = selector(&tier.name);
        }
        let cluster = |name: &TierName| Cluster {
            name: ClusterName::new(format!("{name}-1")),
            labels: selector(name).match_labels,
        };
        let clusters = policy.ladder.iter().map(|tier| cluster(&tier.name)).collect();
        Ok(Self { policy, clusters })
    }

    /// The ladder in words.
    pub fn ladder(&self) -> String {
        let rung = |tier: &decide::Tier| format!("{} {}", tier.name, spell(tier.soak.min));
        self.policy.ladder.iter().map(rung).collect::<Vec<_>>().join(", ")
    }

    /// Replays under one rule, and counts.
    pub fn run(&self, history: &History, next: Next, acknowledge: bool, approve_after: SignedDuration) -> Figures {
        let tiers: Vec<TierName> = self.policy.ladder.iter().map(|tier| tier.name.clone()).collect();
        let span = history.span();
        let mut count = Count::new(tiers, span);
        let mut policy = self.policy.clone();
        for plugin in &mut policy.policy.plugins {
            plugin.next = next;
        }
        for group in self.groups() {
            let events: Vec<&Event> = history.events.iter().filter(|event| group.contains(&event.plugin)).collect();
            let mut policy = policy.clone();
            policy.policy.plugins.retain(|plugin| group.contains(&plugin.name));
            let mut world = self.world(&policy, span.0, acknowledge, approve_after);
            play(&mut world, &events, span.1, &mut count);
            count.diary(&world.diary);
        }
        count.done()
    }

    /// Plugins that have to be replayed together: all of them where they share caps or wait for each
    /// other, else each alone, which is faster and gives the same.
    fn groups(&self) -> Vec<Vec<PluginName>> {
        let plugins = &self.policy.policy.plugins;
        let shared = self.policy.policy.limits != Limits::default() || plugins.iter().any(|p| !p.after.is_empty());
        let names = plugins.iter().map(|plugin| plugin.name.clone());
        if shared { vec![names.collect()] } else { names.map(|name| vec![name]).collect() }
    }

    fn world(&self, policy: &Loaded, begins: Timestamp, acknowledge: bool, approve_after: SignedDuration) -> World {
        let mut world = World::new(begins, policy, self.clusters.clone(), SignedDuration::ZERO);
        world.only_events();
        world.hub.forget_after = Some(MEMORY);
        let asked = policy.ladder.iter().chain(policy.policy.plugins.iter().flat_map(|plugin| &plugin.tiers));
        let people = asked.map(|tier| tier.approvals.at_least).max().unwrap_or(1).max(1);
        for number in 1..=people {
            let person = Person::new(format!("reviewer-{number}"));
            world.hub.owners.insert(person.clone());
            world.hub.approvers.push((person, approve_after));
        }
        if acknowledge {
            world.hub.acknowledgers.push(Person::from("reviewer-1"));
        }
        world
    }
}

fn selector(tier: &TierName) -> Selector {
    let match_labels = BTreeMap::from([(LABEL.to_string(), tier.to_string())]);
    Selector { match_labels, match_expressions: Vec::new() }
}

/// From event to event until the history ends.
fn play(world: &mut World, events: &[&Event], ends: Timestamp, count: &mut Count) {
    let mut plan = decide::Plan::default();
    let mut events = events.iter().peekable();
    loop {
        let event = events.peek().map(|event| event.at);
        let Some(next) = event.into_iter().chain(world.next(&plan)).min().filter(|next| *next <= ends) else { return };
        world.go_to(next);
        while let Some(event) = events.next_if(|event| event.at <= world.now) {
            match &event.what {
                What::Release { version, breaking } => {
                    world.publish(&event.plugin, version.clone(), *breaking);
                    count.released(&event.plugin, version, event.at);
                }
                What::Removed => {
                    world.snapshot.policy.plugins.retain(|plugin| plugin.name != event.plugin);
                    count.removed(&event.plugin, event.at);
                }
            }
        }
        match world.settle() {
            Ok(settled) => plan = settled,
            Err(restless) => {
                count.restless(restless.0);
                return;
            }
        }
    }
}
