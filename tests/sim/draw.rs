//! Draws a world from a seed: the ladder, the fleet, the rules of the branch. What will happen to it
//! is in `trouble`.

use decide::model::{
    Approvals, Each, Force, HealthRule, Limits, MaxUpdate, Merge, MergeRule, PluginPolicy, Policy, Soak, Step,
    Strategy, Tier,
};
use std::collections::{BTreeMap, BTreeSet};

use decide::selector::Selector;
use decide::snapshot::Cluster;
use decide::window::{ClosedDays, Range, Windows};
use decide::{ClusterName, PluginName, TierName};
use jiff::{SignedDuration, Timestamp};

use crate::merges::Hand;
use crate::rng::Rng;
use crate::scenario::{BranchRules, Happening, Mode, Scenario};

const PLUGINS: [&str; 3] = ["cert-manager", "ingress", "logs"];
const TIERS: [&str; 4] = ["qa", "bronze", "silver", "gold"];
/// In these zones the clocks change within the worlds.
const ZONES: [&str; 4] = ["Europe/Berlin", "UTC", "America/New_York", "Asia/Kolkata"];

/// The world of a seed; its troubles last for so many days. A world has some kinds of trouble and not others, and
/// seldom loses its ledger (where it is lost, much cannot be demanded any more): what only shows where the rest
/// is quiet is found as well, and a story of it can be read.
pub fn draw(seed: u64, days: u64) -> Scenario {
    let mut scenario = thinned(seed, days);
    crate::merges::draw(&mut scenario);
    scenario
}

/// Everything may happen in one world: some forty acts of people and as many faults.
pub fn crowded(seed: u64, days: u64) -> Scenario {
    let mut scenario = keeps_its_ledger(seed, days);
    crate::merges::draw(&mut scenario);
    scenario
}

/// The world of a seed in which merges do what they should.
pub fn thinned(seed: u64, days: u64) -> Scenario {
    let mut scenario = keeps_its_ledger(seed, days);
    crate::swarm::thin(&mut scenario);
    scenario
}

/// A crowded world in which merges do what they should. None loses its ledger more than twice, most never.
pub fn keeps_its_ledger(seed: u64, days: u64) -> Scenario {
    let mut scenario = any(seed, days);
    let mut left = *Rng::fate(seed, &["ledgers lost"]).pick(&[0, 0, 0, 1, 1, 2]);
    scenario.happenings.retain(|(_, happening)| match happening {
        Happening::LoseLedger { .. } if left == 0 => false,
        Happening::LoseLedger { .. } => {
            left -= 1;
            true
        }
        _ => true,
    });
    scenario
}

/// A crowded world with as many losses of the ledger as chance brings.
pub fn any(seed: u64, days: u64) -> Scenario {
    let mut rng = Rng::fate(seed, &["scenario"]);
    let start: Timestamp = "2026-02-16T06:00:00Z".parse().unwrap();
    let start = start + rng.minutes(0, 21 * 24 * 60);
    let calm = start + SignedDuration::from_hours(24 * days as i64);
    let rungs = rng.range(3, 4) as usize;
    let max_age = match *rng.pick(&[5, 20, 60, 60, 120]) {
        // Where a look is due every few minutes, a world takes as long as ten others.
        5 if !Rng::fate(seed, &["every few minutes"]).chance(10) => 40,
        minutes => minutes,
    };
    let max_age = SignedDuration::from_mins(max_age);
    let windows = rng.chance(30).then(|| windows(&mut rng, true));
    let mut tiers: Vec<Tier> = TIERS[4 - rungs..]
        .iter()
        .enumerate()
        .map(|(tier_index, name)| tier(&mut rng, name, tier_index, max_age, windows.is_none()))
        .collect();
    let mode = match rng.range(0, 9) {
        0..=3 => Mode::Safety,
        4..=7 => Mode::Answered,
        _ => Mode::Silent,
    };
    if mode == Mode::Silent {
        tiers.iter_mut().for_each(|tier| tier.force = tier.force.take().or(Some(force(&mut rng))));
    }
    let clusters = fleet(&mut rng, &tiers);
    let mut plugins: Vec<PluginPolicy> = PLUGINS[..rng.range(2, 3) as usize]
        .iter()
        .map(|name| PluginPolicy {
            constraint: rng.chance(30).then(|| "<3.0.0".parse().unwrap()),
            ..PluginPolicy::new(PluginName::from(*name), tiers.clone())
        })
        .collect();
    let some = |rng: &mut Rng, percent| {
        let chosen = plugins.iter().filter(|_| rng.chance(percent));
        chosen.map(|plugin| plugin.name.clone()).collect()
    };
    let (per_cluster, digests): (BTreeSet<PluginName>, BTreeSet<PluginName>) = (some(&mut rng, 40), some(&mut rng, 40));
    for plugin in plugins.iter_mut().filter(|plugin| per_cluster.contains(&plugin.name)) {
        in_slices(seed, plugin);
    }
    let largest = tiers.iter().map(|tier| clusters.iter().filter(|c| c.labels["tier"] == tier.name.as_str()).count());
    let largest = largest.max().unwrap_or(1) as u64;
    let limits = Limits {
        open_pulls: rng.chance(25).then(|| rng.range(1, 4) as u32),
        clusters_per_hour: rng.chance(35).then(|| rng.range(largest, largest + 4) as u32),
    };
    let mut scenario = Scenario {
        seed,
        policy: Policy { windows, limits, plugins, ..Policy::default() },
        clusters,
        per_cluster,
        templated: BTreeSet::new(),
        bare: BTreeMap::new(),
        digests,
        spelled: BTreeMap::new(),
        rules: BranchRules {
            review: rng.chance(60),
            dismiss_stale: rng.chance(50),
            check: rng.chance(50),
            strict: Rng::fate(seed, &["strict"]).chance(30),
        },
        bypass: mode == Mode::Silent || rng.chance(70),
        guarded: mode == Mode::Silent || rng.chance(85),
        since_known: rng.chance(70),
        replicas: rng.chance(40),
        start,
        calm,
        mode,
        storm: false,
        happenings: Vec::new(),
        cuts: Vec::new(),
        hand: Hand::Careful,
    };
    crate::keys::draw(&mut scenario);
    crate::rare::draw(&mut scenario);
    crate::first::draw(&mut scenario);
    scenario.happenings = crate::trouble::happenings(&scenario, &mut rng);
    crate::keys::draw_late(&mut scenario);
    crate::rare::draw_late(&mut scenario);
    crate::words::draw(&mut scenario);
    scenario.cuts = crate::trouble::cuts(&mut rng);
    scenario
}

fn tier(rng: &mut Rng, name: &str, tier_index: usize, max_age: SignedDuration, narrow: bool) -> Tier {
    let merges = [Merge::Automatic, Merge::Approved, Merge::Approved, Merge::Manual];
    let merge = if tier_index == 0 && rng.chance(60) {
        MergeRule::all(Merge::Automatic)
    } else if rng.chance(85) {
        MergeRule::all(merges[rng.range(0, 2) as usize])
    } else {
        MergeRule { patch: Merge::Automatic, minor: Merge::Approved, major: *rng.pick(&merges) }
    };
    let select =
        Selector { match_labels: [("tier".to_string(), name.to_string())].into(), match_expressions: Vec::new() };
    Tier {
        merge,
        approvals: Approvals {
            code_owners: rng.chance(70),
            at_least: if rng.chance(20) { 2 } else { 1 },
            ..Approvals::default()
        },
        soak: Soak::at_least(max_age * *rng.pick(&[0, 1, 3, 8])),
        health: HealthRule {
            progress_deadline: rng.minutes(90, 300),
            degraded_for: rng.minutes(5, 20),
            max_failures: if rng.chance(20) { 1 } else { 0 },
            max_unknown: if rng.chance(15) { 1 } else { 0 },
            max_age,
        },
        windows: rng.chance(25).then(|| windows(rng, narrow)),
        force: rng.chance(50).then(|| force(rng)),
        ..Tier::new(TierName::from(name), select)
    }
}

/// Some tiers of a plugin with a file per cluster move in slices.
fn in_slices(seed: u64, plugin: &mut PluginPolicy) {
    for tier in &mut plugin.tiers {
        let mut rng = Rng::fate(seed, &["slices", plugin.name.as_str(), tier.name.as_str()]);
        if rng.chance(60) {
            let max_update = *rng.pick(&[MaxUpdate::Count(1), MaxUpdate::Count(2), MaxUpdate::Percent(50)]);
            tier.strategy = if rng.chance(30) {
                let pause = Step::Pause(Some(rng.minutes(5, 300)));
                let mut steps = vec![Step::SetWeight(20), pause, Step::SetWeight(60)];
                let mut fate = Rng::fate(seed, &["verify", plugin.name.as_str(), tier.name.as_str()]);
                if fate.chance(50) {
                    let timeout = fate.minutes(60, 180);
                    steps
                        .insert(fate.range(1, 3) as usize, Step::Verify { workflow: "smoke.yml".to_string(), timeout });
                }
                Strategy::Canary { steps }
            } else {
                let mut fate = Rng::fate(seed, &["by", plugin.name.as_str(), tier.name.as_str()]);
                Strategy::RollingUpdate { max_update, by: fate.chance(40).then(|| "region".to_string()) }
            };
            tier.approvals.each = if rng.chance(30) { Each::Slice } else { Each::Tier };
        }
    }
}

pub fn force(rng: &mut Rng) -> Force {
    let days = |days: u64| SignedDuration::from_hours(24 * days as i64);
    Force {
        after: days(rng.range(1, 5)),
        notice: rng.pick(&[vec![], vec![days(1)], vec![days(1), SignedDuration::from_hours(6)]]).clone(),
    }
}

/// Eight to twelve clusters, at least one on each tier.
fn fleet(rng: &mut Rng, tiers: &[Tier]) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = (0..rng.range(8, 12) as usize)
        .map(|index| {
            let tier = if index < tiers.len() { &tiers[index].name } else { &rng.pick(tiers).name };
            cluster(ClusterName::new(format!("c{index:02}-{tier}")), tier)
        })
        .collect();
    clusters.sort_by(|a, b| a.name.cmp(&b.name));
    clusters
}

/// A cluster whose labels carry its tier's name, its own and mostly a region.
pub fn cluster(name: ClusterName, tier: &TierName) -> Cluster {
    let region = ["ap", "eu", "us", ""][name.as_str().bytes().map(usize::from).sum::<usize>() % 4];
    let region = Some(("region".to_string(), region.to_string())).filter(|_| !region.is_empty());
    let labels = [("tier".to_string(), tier.to_string()), ("name".to_string(), name.to_string())];
    Cluster { labels: labels.into_iter().chain(region).collect(), name }
}

/// Windows that open in every week; without `narrow` only closed days, as two narrow windows may never
/// be open together.
fn windows(rng: &mut Rng, narrow: bool) -> Windows {
    let zone = *rng.pick(&ZONES);
    let open = if narrow && rng.chance(80) {
        let (from, to) = *rng.pick(&[(480, 960), (0, 1440), (1320, 240), (120, 180)]);
        vec![Range { days: (1..=rng.range(3, 7) as u8).collect(), from, to }]
    } else {
        Vec::new()
    };
    let closed = if open.is_empty() || rng.chance(30) {
        let from = rng.range(4, 20) as i8;
        let date = |day| jiff::civil::date(2026, 3, day);
        vec![ClosedDays { from: date(from), to: date(from + rng.range(0, 5) as i8), why: "stocktaking".to_string() }]
    } else {
        Vec::new()
    };
    let room = if rng.chance(20) { SignedDuration::from_mins(30) } else { SignedDuration::ZERO };
    Windows { open, closed, room, ..Windows::always(decide::zone::zone(zone).unwrap()) }
}
