//! Everything that will happen to a world: releases, people, failing clusters, an unwell hub, and
//! ticks that are cut in the middle.

use decide::{PluginName, TierName};
use jiff::{SignedDuration, Timestamp};

use crate::rng::Rng;
use crate::scenario::{Cut, Happening, Opinion, Quality, Scenario};

/// The happenings of a scenario in order of time, up to the calm.
pub fn happenings(scenario: &Scenario, rng: &mut Rng) -> Vec<(Timestamp, Happening)> {
    let mut all = Vec::new();
    for plugin in &scenario.policy.plugins {
        releases(scenario, &plugin.name, rng, &mut all);
    }
    let span = scenario.calm.duration_since(scenario.start).as_secs() as u64;
    let troubled = rng.range(0, 3); // a quarter of the worlds has releases only
    for _ in 0..rng.range(5, 40) * troubled.min(1) {
        let at = scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64);
        all.push((at, trouble(scenario, rng)));
    }
    for _ in 0..rng.range(0, 60) {
        all.push((scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64), Happening::Ring));
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

fn releases(scenario: &Scenario, plugin: &PluginName, rng: &mut Rng, all: &mut Vec<(Timestamp, Happening)>) {
    let (mut major, mut minor, mut patch) = (1, 0, 0);
    let mut at = scenario.start + rng.minutes(10, 2 * 24 * 60);
    let pace = *rng.pick(&[60, 12 * 60, 4 * 24 * 60]);
    for _ in 0..40 {
        if at >= scenario.calm {
            break;
        }
        match rng.range(0, 9) {
            0 => (major, minor, patch) = (major + 1, 0, 0),
            1..=3 => (minor, patch) = (minor + 1, 0),
            _ => patch += 1,
        }
        let suffix = if rng.chance(8) { "-rc.1" } else { "" };
        let version = format!("{major}.{minor}.{patch}{suffix}");
        let rung = rng.range(0, scenario.tiers().len() as u64 - 1) as usize;
        let quality = *rng.pick(&[
            Quality::Good,
            Quality::Good,
            Quality::Good,
            Quality::Good,
            Quality::Good,
            Quality::Degrades(rung),
            Quality::Fails(rung),
            Quality::Stuck(rung),
        ]);
        let happening = Happening::Publish {
            plugin: plugin.clone(),
            version: version.clone(),
            quality,
            marked_breaking: rng.chance(5),
        };
        all.push((at, happening));
        if rng.chance(10) {
            all.push((at + rng.minutes(5, 24 * 60), Happening::Retag { plugin: plugin.clone(), version }));
        }
        at += rng.minutes(4, 2 * pace);
    }
}

fn trouble(scenario: &Scenario, rng: &mut Rng) -> Happening {
    let plugin = rng.pick(&scenario.policy.plugins).name.clone();
    let tier: TierName = rng.pick(scenario.tiers()).name.clone();
    let cluster = rng.pick(&scenario.clusters).name.clone();
    match rng.range(0, 25) {
        0..=1 => Happening::Close { plugin, tier },
        2..=3 => Happening::PushToBranch { plugin, tier },
        4..=5 => Happening::MergeByHand { plugin, tier },
        6 => Happening::Hold { plugin, tier },
        7 => Happening::Resume { plugin, tier },
        8 => Happening::Draft { plugin, tier, on: rng.chance(50) },
        9..=10 => Happening::CommitByHand { plugin, tier, back: rng.chance(50) },
        11 => Happening::Freeze { tier: rng.chance(50).then_some(tier), hours: rng.range(1, 72) },
        12 => Happening::DropForce { tier },
        13 => Happening::BreakPolicy { hours: rng.range(1, 48) },
        14..=15 => Happening::Flap { cluster, minutes: rng.range(1, 40) },
        16 => Happening::Suspend { cluster, minutes: rng.range(5, 600) },
        17..=18 => Happening::Vanish { cluster, minutes: rng.range(5, 900), stale: rng.chance(50) },
        19 => Happening::Outage { minutes: rng.range(2, 600) },
        20 => Happening::Lag { minutes: rng.range(10, 600), seconds: rng.range(1, 180) },
        21 => Happening::Skew { minutes: rng.range(10, 4_000) },
        22 => Happening::NoRegistry { minutes: rng.range(10, 900) },
        23 => Happening::NoInventory { minutes: rng.range(10, 300) },
        _ => {
            let opinions =
                [Opinion::Approve, Opinion::RequestChanges, Opinion::TakeBack, Opinion::Noise, Opinion::Noise];
            Happening::Review { plugin, tier, what: *rng.pick(&opinions) }
        }
    }
}

/// Ticks that do not end as they should.
pub fn cuts(rng: &mut Rng) -> Vec<(u32, Cut)> {
    let count = if rng.chance(60) { rng.range(0, 30) } else { 0 };
    let mut cuts: Vec<(u32, Cut)> = (0..count)
        .map(|_| {
            let cut = match rng.range(0, 9) {
                0..=5 => Cut::Crash { after: rng.range(0, 6) as u32 },
                6 => Cut::LostAnswer,
                7..=8 => Cut::PushBeforeMerge,
                _ => Cut::Stall { minutes: rng.range(1, 180) },
            };
            (rng.range(0, 250) as u32, cut)
        })
        .collect();
    cuts.sort_by_key(|(tick, _)| *tick);
    cuts
}
