//! A failed world as a person reads it.

use decide::ledger::Entry;
use decide::model::{PluginPolicy, Tier};
use decide::plan::{Action, Plan, Proposal, Urgency};

use crate::run::Outcome;
use crate::scenario::Scenario;
use crate::world::World;

/// Lines of the diary that are shown; the whole of it with `COLDFRAME_SIM_TRACE=all`.
const LAST: usize = 80;

/// Puts a plan that does something into the diary.
pub fn plan(world: &mut World, plan: &Plan) {
    if !world.diarist {
        return;
    }
    for record in plan.entries.iter().filter(|record| record.urgency == Urgency::Transition || whole()) {
        world.note(match &record.entry {
            Entry::Wave { plugin, tier, version, change } => {
                format!("  notes {plugin} {version} on {tier}: {}", terse(change))
            }
            Entry::Seen { plugin, seen } => format!("  notes the first sight of {plugin} {}", seen.version),
            other => format!("  notes {}", terse(other)),
        });
    }
    for action in &plan.actions {
        world.note(match action {
            Action::Open(to) => {
                let again = if to.written.is_some() { ", which is written already" } else { "" };
                format!("  opens {} {} on {}{again}{}", to.plugin, to.to, to.tier, whose(to))
            }
            Action::Update { pull, proposal, .. } => {
                format!("  moves {pull} to {}{}", proposal.to, whose(proposal))
            }
            Action::Merge { pull, version, via, forced, .. } => {
                format!("  merges {pull} ({version}) as {via:?}{}", if forced.is_some() { ", forced" } else { "" })
            }
            Action::Close { pull, why, .. } => format!("  closes {pull}: {why}"),
            Action::Dispatch { workflow, verification, .. } => {
                format!("  dispatches {workflow} as {}", verification.id)
            }
            Action::Notice { pull, before, deadline, .. } => {
                format!("  gives notice on {pull}, {before:#} before {deadline}")
            }
        });
    }
}

/// For whom a pull request is, and why.
fn whose(proposal: &Proposal) -> String {
    let members: Vec<&str> = proposal.members.iter().map(|name| name.as_str()).collect();
    format!(", {:?} of {}", proposal.part.purpose, members.join(" "))
}

/// Debug output without the noise of nested versions.
fn terse(what: &impl std::fmt::Debug) -> String {
    let text = format!("{what:?}");
    let mut short = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Version { text: ") {
        short.push_str(&rest[..at]);
        let inner = &rest[at + "Version { text: ".len()..];
        short.push_str(inner.split(',').next().unwrap_or(""));
        rest = inner.split_once("} }").map_or("", |(_, rest)| rest);
    }
    short.push_str(rest);
    short.chars().take(300).collect()
}

/// Puts what the planner says about every wave into the diary.
pub fn board(world: &mut World, plan: &Plan) {
    for wave in &plan.waves {
        let version = wave.version.as_ref().map_or(String::new(), ToString::to_string);
        world.note(format!("  {} {}: {version} {}", wave.plugin, wave.tier, terse(&wave.state)));
        for finding in wave.findings.iter().filter(|finding| !finding.verdict.lets_through()) {
            world.note(format!("      {}: {:?}, {}", finding.gate, finding.verdict, finding.because));
        }
    }
    let alarm = plan.alarm.as_ref().map_or("none".to_string(), |alarm| format!("{}: {}", alarm.at, alarm.why));
    world.note(format!("  alarm {alarm}"));
    let base: Vec<String> = world
        .base
        .iter()
        .map(|((plugin, tier), places)| {
            let versions: Vec<String> = places.iter().map(|place| place.version.to_string()).collect();
            format!("{plugin}/{tier} {}", versions.join(" "))
        })
        .collect();
    world.note(format!("  base: {}", base.join(", ")));
}

/// Whether the whole diary of the whole world is wanted.
pub fn whole() -> bool {
    std::env::var("COLDFRAME_SIM_TRACE").is_ok_and(|wish| wish == "all")
}

/// Everything about a failure: the seed, what broke, the policy in short, and the diary.
pub fn report(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut text = format!("seed {}, {:?}, calm at {}\n", scenario.seed, scenario.mode, scenario.calm);
    for broken in &outcome.broken {
        text.push_str(&format!("  {broken}\n"));
    }
    for tier in scenario.tiers() {
        text.push_str(&format!(
            "  tier {}: {} clusters, merge {:?}/{:?}/{:?}, approvals {:?}, soak {:#}, {:?}, force {:?}, windows {:?}\n",
            tier.name,
            scenario.clusters.iter().filter(|cluster| cluster.labels["tier"] == tier.name.as_str()).count(),
            tier.merge.patch,
            tier.merge.minor,
            tier.merge.major,
            tier.approvals,
            tier.soak.min,
            tier.health,
            tier.force,
            tier.windows,
        ));
    }
    text.push_str(&format!(
        "  plugins {:?}, windows {:?}, maintenance {:?}, limits {:?}, {:?}, bypass {}, guarded {}, since known {}, per cluster {:?}\n",
        scenario.policy.plugins.iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>(),
        scenario.policy.windows,
        scenario.policy.maintenance,
        scenario.policy.limits,
        scenario.rules,
        scenario.bypass,
        scenario.guarded,
        scenario.since_known,
        scenario.per_cluster,
    ));
    scenario.policy.plugins.iter().for_each(|plugin| text.push_str(&rarer(plugin)));
    let skipped = if whole() { 0 } else { outcome.diary.len().saturating_sub(LAST) };
    if skipped > 0 {
        text.push_str(&format!("  … {skipped} lines before (COLDFRAME_SIM_TRACE=all shows them)\n"));
    }
    for (at, line) in outcome.diary.iter().skip(skipped) {
        text.push_str(&format!("  {}  {line}\n", at.strftime("%a %d %b %H:%M:%S")));
    }
    text
}

/// The rarer keys of a plugin, as far as they say anything.
fn rarer(plugin: &PluginPolicy) -> String {
    let PluginPolicy { name, constraint, next, cooldown, after, pins, deprecated, expires, max_live, signed, .. } =
        plugin;
    let constraint = constraint.as_ref().map_or("any", |constraint| constraint.as_str());
    let mut text = format!("  {name}: takes {constraint}, next {next:?}, cooldown {cooldown:#}, after {after:?}");
    text.push_str(&format!(
        ", pins {pins:?}, signed {signed}, deprecated {deprecated:?}, expires {expires:?}, live {max_live:?}"
    ));
    for tier in &plugin.tiers {
        let Tier { name, early, strategy, on_failure, watch, announce, .. } = tier;
        text.push_str(&format!("\n    {name}: {strategy:?}, {on_failure:?}, watch {watch:#}, announce {announce:#}"));
        if !early.is_empty() {
            text.push_str(&format!(", early {early:?}"));
        }
    }
    text + "\n"
}
