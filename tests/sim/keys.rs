//! Draws the rarer keys of the policy and what people do about them. Each has a luck of its own, so that a
//! world without them stays what it was.

use std::collections::BTreeMap;

use decide::constraint::Constraint;
use decide::model::{
    After, Block, Empty, Maintenance, Merge, Next, OnFailure, Pin, PluginPolicy, Promote, Step, Strategy, Tier, Verify,
};
use decide::selector::Selector;
use decide::snapshot::Cluster;
use decide::window::{ClosedDays, Cron, Range, Windows};
use decide::{ClusterName, PluginName};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::rng::Rng;
use crate::scenario::{Edit, Happening, Mode, Scenario};

/// Cron windows of these worlds: each opens on every week.
const CRONS: [&str; 3] = ["30 20 * * *", "0 6 * * 1-5", "15 1 * * 6"];

/// Changes a world that was drawn without the rarer keys; before anything that happens to it is drawn.
pub fn draw(scenario: &mut Scenario) {
    let seed = scenario.seed;
    let mut rng = Rng::fate(seed, &["keys"]);
    if rng.chance(30) {
        return; // as ever
    }
    if Rng::fate(seed, &["keys", "opening"]).chance(12) {
        scenario.policy.opening = Some(by_cron(&mut Rng::fate(seed, &["keys", "opening", "when"])));
    }
    if rng.chance(12) {
        scenario.policy.operator_windows = Some(stocktaking(&mut rng));
    }
    let narrow = scenario.policy.windows.iter().chain(scenario.tiers().iter().filter_map(|tier| tier.windows.as_ref()));
    let narrow = narrow.filter(|windows| !windows.open.is_empty()).count();
    if narrow == 0 && rng.chance(25) {
        scenario.policy.windows = Some(by_cron(&mut rng));
    }
    let mut luck = Rng::fate(seed, &["keys", "maintenance"]);
    if luck.chance(12) {
        // Hours that are few may not meet others that are.
        let free = narrow == 0 && scenario.policy.windows.is_none();
        let windows = if free { by_cron(&mut luck) } else { stocktaking(&mut luck) };
        let match_labels = [("region".to_string(), luck.name(&["ap", "eu", "us"]).to_string())].into();
        let select = Selector { match_labels, match_expressions: Vec::new() };
        scenario.policy.maintenance = vec![Maintenance { select, windows }];
    }
    if scenario.tiers().len() > 3 && rng.chance(12) {
        empty_tier(scenario, &mut rng);
    }
    let names: Vec<PluginName> = scenario.policy.plugins.iter().map(|plugin| plugin.name.clone()).collect();
    let (mode, clusters, per_cluster) = (scenario.mode, scenario.clusters.clone(), scenario.per_cluster.clone());
    let span = scenario.calm.duration_since(scenario.start);
    for (at, plugin) in scenario.policy.plugins.iter_mut().enumerate() {
        let mut rng = Rng::fate(seed, &["keys", plugin.name.as_str()]);
        let own = per_cluster.contains(&plugin.name);
        of_plugin(&mut rng, plugin, mode);
        if at > 0 && rng.chance(15) {
            let version = rng.chance(50).then(|| constraint(">=1.0.1"));
            plugin.after = vec![After { plugin: names[at - 1].clone(), version }];
        }
        if rng.chance(if own { 20 } else { 2 }) && (own || mode == Mode::Safety) {
            let days = rng.range(1, span.as_hours() as u64 / 24 - 1) as i64;
            let until = rng.chance(80).then(|| scenario.start + SignedDuration::from_hours(24 * days));
            let cluster = rng.pick(&clusters).name.clone();
            plugin.pins = vec![pin(&cluster, "1.0.0", until)];
        }
        for (tier_index, tier) in plugin.tiers.iter_mut().enumerate() {
            let mut rng = Rng::fate(seed, &["keys", plugin.name.as_str(), tier.name.as_str()]);
            of_tier(&mut rng, tier, own, &clusters);
            tier.follows = tier_index == 0 && rng.chance(8);
            if Rng::fate(seed, &["keys", "team", plugin.name.as_str(), tier.name.as_str()]).chance(20) {
                tier.approvals.team = Some("@acme/sre".to_string());
            }
            let mut luck = Rng::fate(seed, &["keys", "verify", plugin.name.as_str(), tier.name.as_str()]);
            if luck.chance(10) && !tier.follows {
                tier.verify = Some(Verify { workflow: "e2e.yml".to_string(), timeout: luck.minutes(30, 90) });
            }
        }
        covers(&mut rng, &mut plugin.tiers);
    }
}

/// What has to name releases, once these are drawn; and what people do about the rarer keys.
pub fn draw_late(scenario: &mut Scenario) {
    let mut rng = Rng::fate(scenario.seed, &["keys", "late"]);
    if Rng::fate(scenario.seed, &["keys"]).chance(30) {
        return;
    }
    let published = published(scenario);
    let mut happenings = Vec::new();
    for plugin in &mut scenario.policy.plugins {
        let releases = &published[&plugin.name];
        // A release a day that all have to climb would never be done.
        if plugin.next == Next::Every && scenario.mode != Mode::Safety && releases.len() > 5 {
            plugin.next = Next::NewestFinished;
        }
        if releases.is_empty() {
            continue;
        }
        if rng.chance(15) {
            let (_, version) = rng.pick(releases);
            let from = rng.chance(50).then(|| constraint("<1.3.0"));
            let above = rng.chance(40).then(|| plugin.tiers[rng.range(0, 1) as usize].name.clone());
            let why = "a migration".to_string();
            plugin.blocks.push(Block { from, to: constraint(&format!("={version}")), why, fixed_in: None, above });
        }
        for _ in 0..rng.range(0, 2) {
            let (at, version) = rng.pick(releases).clone();
            let soak = rng.chance(60).then(|| rng.range(0, 60));
            let what = Happening::Hotfix { plugin: plugin.name.clone(), version, soak, through: rng.chance(60) };
            happenings.push((at + rng.minutes(0, 6 * 60), what));
        }
    }
    let span = scenario.calm.duration_since(scenario.start).as_secs() as u64;
    for _ in 0..rng.range(0, 12) {
        let at = scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64);
        happenings.push((at, deed(scenario, &mut rng)));
    }
    scenario.happenings.extend(happenings);
    scenario.happenings.retain(|(at, _)| *at < scenario.calm);
    scenario.happenings.sort_by_key(|(at, _)| *at);
}

fn published(scenario: &Scenario) -> BTreeMap<PluginName, Vec<(Timestamp, String)>> {
    let mut all: BTreeMap<PluginName, Vec<(Timestamp, String)>> =
        scenario.policy.plugins.iter().map(|plugin| (plugin.name.clone(), Vec::new())).collect();
    for (at, happening) in &scenario.happenings {
        if let Happening::Publish { plugin, version, .. } = happening {
            all.entry(plugin.clone()).or_default().push((*at, version.clone()));
        }
    }
    all
}

fn deed(scenario: &Scenario, rng: &mut Rng) -> Happening {
    let plugin = rng.pick(&scenario.policy.plugins).name.clone();
    let tier = rng.pick(scenario.tiers()).name.clone();
    match rng.range(0, 9) {
        0..=2 => Happening::Fail { plugin, tier, allowed: rng.chance(70) },
        3 => Happening::Range { plugin, tier, hours: rng.range(1, 30) },
        4..=5 => {
            let own = scenario.policy.plugins.iter().filter(|known| scenario.per_cluster.contains(&known.name));
            let own: Vec<PluginName> = own.map(|known| known.name.clone()).collect();
            let cluster = rng.pick(&scenario.clusters).name.clone();
            let plugin = if own.is_empty() { return Happening::Ring } else { rng.pick(&own).clone() };
            Happening::Pin { plugin, cluster, hours: rng.range(1, 400) }
        }
        6..=7 => Happening::Resume { plugin, tier },
        _ => {
            let edits = [Edit::RollBackOn, Edit::RollBackOff, Edit::StallOn, Edit::LongerAnnounce];
            Happening::EditPolicy { tier, edit: *rng.pick(&edits) }
        }
    }
}

fn of_plugin(rng: &mut Rng, plugin: &mut PluginPolicy, mode: Mode) {
    plugin.next = match rng.range(0, 9) {
        0 => Next::Every,
        1 => Next::Restart,
        _ => Next::NewestFinished,
    };
    if rng.chance(15) {
        plugin.cooldown = rng.minutes(30, 2 * 24 * 60);
    }
    plugin.prereleases = plugin.constraint.is_none() && rng.chance(10);
    if rng.chance(15) {
        plugin.checks = vec!["release".to_string()];
    }
    if rng.chance(8) && mode != Mode::Silent {
        plugin.windows = Some(stocktaking(rng));
    }
}

fn of_tier(rng: &mut Rng, tier: &mut Tier, own: bool, clusters: &[Cluster]) {
    tier.on_failure = match rng.range(0, 19) {
        0..=1 => OnFailure::Stall,
        2..=3 => OnFailure::RollBack { merge: Merge::Automatic },
        4..=5 => OnFailure::RollBack { merge: Merge::Approved },
        _ => OnFailure::Hold,
    };
    if rng.chance(20) {
        tier.watch = rng.minutes(30, 36 * 60);
    }
    if rng.chance(15) {
        tier.announce = rng.minutes(30, 24 * 60);
    }
    if rng.chance(15) {
        tier.soak.max = Some(tier.soak.min * 2 + rng.minutes(30, 12 * 60));
    }
    if !own && rng.chance(12) {
        tier.strategy = Strategy::Delegated;
    }
    if own && rng.chance(12) {
        let here = clusters.iter().find(|cluster| cluster.labels["tier"] == tier.name.as_str());
        let promote = if rng.chance(50) { Promote::Manual } else { Promote::Automatic };
        if let Some(first) = here {
            tier.strategy = Strategy::BlueGreen { preview: named(&first.name), verify: None, promote };
        }
    } else if own && rng.chance(10) {
        tier.strategy = Strategy::Canary { steps: vec![Step::SetWeight(30), Step::Pause(None)] };
    }
}

/// Approvals given on one tier that count on tiers above it.
fn covers(rng: &mut Rng, tiers: &mut [Tier]) {
    if rng.chance(20) {
        let giver = rng.range(0, tiers.len() as u64 - 2) as usize;
        let above = tiers[giver + 1..].iter().map(|tier| tier.name.clone()).filter(|_| rng.chance(70)).collect();
        tiers[giver].approvals.covers = above;
    }
}

/// A tier in the middle that has no cluster and is passed.
fn empty_tier(scenario: &mut Scenario, rng: &mut Rng) {
    let name = scenario.tiers()[rng.range(1, 2) as usize].name.clone();
    let up = scenario.tiers()[3].name.clone();
    for cluster in scenario.clusters.iter_mut().filter(|cluster| cluster.labels["tier"] == name.as_str()) {
        cluster.labels.insert("tier".to_string(), up.to_string());
    }
    for tier in scenario.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers) {
        tier.empty = if tier.name == name { Empty::Pass } else { tier.empty };
    }
    // The cap has to let the largest tier through still.
    let largest = scenario.clusters.iter().filter(|cluster| cluster.labels["tier"] == up.as_str()).count() as u32;
    let cap = &mut scenario.policy.limits.clusters_per_hour;
    *cap = cap.map(|cap| cap.max(largest));
}

pub fn pin(cluster: &ClusterName, version: &str, until: Option<Timestamp>) -> Pin {
    Pin { select: named(cluster), version: Some(version.parse().unwrap()), until, why: "an audit".to_string() }
}

pub fn named(cluster: &ClusterName) -> Selector {
    let match_labels = [("name".to_string(), cluster.to_string())].into();
    Selector { match_labels, match_expressions: Vec::new() }
}

fn constraint(text: &str) -> Constraint {
    text.parse().unwrap()
}

/// Always open but for a few days.
fn stocktaking(rng: &mut Rng) -> Windows {
    let from = rng.range(1, 20) as i8;
    let date = |day| jiff::civil::date(2026, 3, day);
    let closed =
        ClosedDays { from: date(from), to: date(from + rng.range(0, 4) as i8), why: "stocktaking".to_string() };
    Windows { closed: vec![closed], ..Windows::always(zone(rng)) }
}

/// Open for some hours after a schedule fires, and sometimes in a range of the week beside it.
fn by_cron(rng: &mut Rng) -> Windows {
    let cron = Cron { cron: rng.name(&CRONS).parse().unwrap(), lasts: rng.minutes(90, 20 * 60) };
    let also = rng.chance(20).then(|| Range { days: vec![7], from: 0, to: 1440 });
    Windows { cron: vec![cron], open: also.into_iter().collect(), ..Windows::always(zone(rng)) }
}

fn zone(rng: &mut Rng) -> TimeZone {
    decide::zone::zone(rng.name(&["Europe/Berlin", "America/New_York", "Asia/Kolkata"])).unwrap()
}
