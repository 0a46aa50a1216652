//! Replays a history: one cluster per tier, healthy at once; the same world, planner and hands as a
//! story. It goes from event to event, and each plugin has a world of its own unless the policy lets
//! them wait for each other.

use std::collections::{BTreeMap, BTreeSet};

use decide::model::{Limits, Next, Soak, Strategy};
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

/// One way to replay a history.
pub(super) struct Way {
    /// What a free tier takes; none = as the policy says.
    pub next: Option<Next>,
    /// The soak of every tier; none = as the policy says.
    pub soak: Option<SignedDuration>,
}

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

    /// The ladder in words, with its own soaks or with those that are tried.
    pub fn ladder(&self, soaks: &[SignedDuration]) -> String {
        let soaks: Vec<String> = soaks.iter().map(|soak| spell(*soak)).collect();
        let tier_index = |tier: &decide::Tier| match soaks.is_empty() {
            true => format!("{} {}", tier.name, spell(tier.soak.min)),
            false => tier.name.to_string(),
        };
        let rungs = self.policy.ladder.iter().map(tier_index).collect::<Vec<_>>().join(", ");
        if soaks.is_empty() { rungs } else { format!("{rungs}, each with a soak of {} in turn", soaks.join(", ")) }
    }

    /// Strategies of which one cluster per tier shows nothing.
    pub fn hidden(&self) -> Option<String> {
        let tiers = self.policy.ladder.iter().chain(self.policy.policy.plugins.iter().flat_map(|plugin| &plugin.tiers));
        let cut = tiers.filter_map(|tier| Some((tier.name.as_str(), in_slices(&tier.strategy)?)));
        let cut: Vec<String> =
            cut.collect::<BTreeSet<_>>().into_iter().map(|(tier, what)| format!("{tier} {what}")).collect();
        let said = format!(
            "Each tier has one cluster here, so that slices take no time ({}); a story with your clusters shows them.",
            cut.join(", ")
        );
        (!cut.is_empty()).then_some(said)
    }

    /// Replays in one way, and counts.
    pub fn run(&self, history: &History, way: &Way, acknowledge: bool, approve_after: SignedDuration) -> Figures {
        let tiers: Vec<TierName> = self.policy.ladder.iter().map(|tier| tier.name.clone()).collect();
        let span = history.span();
        let mut count = Count::new(tiers, span);
        let mut policy = self.policy.clone();
        for plugin in &mut policy.policy.plugins {
            plugin.next = way.next.unwrap_or(plugin.next);
            if plugin.next == Next::Restart {
                count.restarts(&plugin.name);
            }
            for (tier, min) in plugin.tiers.iter_mut().filter_map(|tier| Some((tier, way.soak?))) {
                tier.soak = Soak { min, max: tier.soak.max.map(|max| max.max(min)) };
            }
        }
        for group in self.groups() {
            let events: Vec<&Event> = history.events.iter().filter(|event| group.contains(&event.plugin)).collect();
            let mut policy = policy.clone();
            policy.policy.plugins.retain(|plugin| group.contains(&plugin.name));
            let mut world = self.world(&policy, span.0, acknowledge, approve_after);
            let last = play(&mut world, &events, span.1, &mut count);
            count.diary(&world.diary);
            count.ends(&last);
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

/// What a tier does with its clusters that is not seen of one.
fn in_slices(strategy: &Strategy) -> Option<&'static str> {
    match strategy {
        Strategy::Canary { steps } => (!steps.is_empty()).then_some("canary"),
        Strategy::BlueGreen { .. } => Some("blueGreen"),
        Strategy::RollingUpdate { .. } => Some("rollingUpdate"),
        Strategy::AllAtOnce | Strategy::Delegated => None,
    }
}

/// From event to event until the history ends; what was planned last.
fn play(world: &mut World, events: &[&Event], ends: Timestamp, count: &mut Count) -> decide::Plan {
    let mut plan = decide::Plan::default();
    let mut events = events.iter().peekable();
    loop {
        let event = events.peek().map(|event| event.at);
        let Some(next) = event.into_iter().chain(world.next(&plan)).min().filter(|next| *next <= ends) else {
            return plan;
        };
        world.go_to(next);
        while let Some(event) = events.next_if(|event| event.at <= world.now) {
            match &event.what {
                What::Release { version, breaking } => {
                    world.publish(&event.plugin, version.clone(), *breaking);
                    count.released(&event.plugin, version, *breaking, event.at);
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
                return plan;
            }
        }
    }
}
