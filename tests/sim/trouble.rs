//! Everything that will happen to a world: releases, people, failing clusters, an unwell hub, and
//! ticks that are cut in the middle.

use decide::{ClusterName, PluginName, TierName};
use jiff::{SignedDuration, Timestamp};

use crate::rng::Rng;
use crate::scenario::{Cut, Edit, Happening, Lie, Opinion, Quality, Scenario, Unreadable};

/// The happenings of a scenario in order of time, up to the calm.
pub fn happenings(scenario: &Scenario, rng: &mut Rng) -> Vec<(Timestamp, Happening)> {
    let mut all = Vec::new();
    for plugin in &scenario.policy.plugins {
        releases(scenario, &plugin.name, rng, &mut all);
    }
    let span = scenario.calm.duration_since(scenario.start).as_secs() as u64;
    let sometime = |rng: &mut Rng| scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64);
    for _ in 0..rng.range(10, 70) {
        all.push((sometime(rng), deed(scenario, rng)));
    }
    let troubled = rng.chance(75);
    for number in 0..if troubled { rng.range(4, 60) } else { 0 } {
        all.push((sometime(rng), fault(scenario, number, rng)));
    }
    for _ in 0..rng.range(0, 60) {
        all.push((sometime(rng), Happening::Ring));
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Releases at the plugin's own pace: a few a month, a few a week, or storms of several a day.
fn releases(scenario: &Scenario, plugin: &PluginName, rng: &mut Rng, all: &mut Vec<(Timestamp, Happening)>) {
    let (mut major, mut minor, mut patch) = (1, 0, 0);
    let mut at = scenario.start + rng.minutes(10, 2 * 24 * 60);
    let pace = *rng.pick(&[4 * 60, 24 * 60, 4 * 24 * 60, 8 * 24 * 60]);
    for _ in 0..60 {
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
        let tier_index = rng.range(0, scenario.tiers().len() as u64 - 1) as usize;
        let bad = [
            Quality::Degrades(tier_index),
            Quality::Flaps(tier_index),
            Quality::Fails(tier_index),
            Quality::Stuck(tier_index),
        ];
        let quality = if rng.chance(65) { Quality::Good } else { *rng.pick(&bad) };
        let plugin = plugin.clone();
        let after = at + rng.minutes(5, 3 * 24 * 60);
        if rng.chance(10) {
            all.push((after, Happening::Retag { plugin: plugin.clone(), version: version.clone() }));
        } else if rng.chance(8) {
            all.push((after, Happening::Yank { plugin: plugin.clone(), version: version.clone() }));
        }
        all.push((at, Happening::Publish { plugin, version, quality, marked_breaking: rng.chance(5) }));
        // A storm: the next one comes within the hour.
        at += if rng.chance(15) { rng.minutes(2, 60) } else { rng.minutes(30, 2 * pace) };
    }
}

/// What a person does.
fn deed(scenario: &Scenario, rng: &mut Rng) -> Happening {
    let plugin = rng.pick(&scenario.policy.plugins).name.clone();
    let tier: TierName = rng.pick(scenario.tiers()).name.clone();
    match rng.range(0, 26) {
        0..=1 => Happening::Close { plugin, tier },
        2..=3 => Happening::PushToBranch { plugin, tier },
        4..=5 => Happening::MergeByHand { plugin, tier },
        6 => Happening::Hold { plugin, tier },
        7 => Happening::Resume { plugin, tier },
        8 => Happening::Draft { plugin, tier, on: rng.chance(50) },
        9..=11 => Happening::CommitByHand { plugin, tier, back: rng.chance(50) },
        12 => Happening::Freeze { tier: rng.chance(50).then_some(tier), hours: rng.range(1, 72) },
        13..=16 => {
            let edits = [
                Edit::LongerSoak,
                Edit::ShorterSoak,
                Edit::ForceOn,
                Edit::ForceOff,
                Edit::LongerForce,
                Edit::ShorterForce,
                Edit::Automatic,
                Edit::Approved,
                Edit::MoreApprovals,
                Edit::FewerApprovals,
                Edit::WindowsOff,
            ];
            Happening::EditPolicy { tier, edit: *rng.pick(&edits) }
        }
        17 => Happening::BreakPolicy { hours: rng.range(1, 48) },
        26 => Happening::Overlap { tier, hours: rng.range(1, 12) },
        18..=20 => Happening::Acknowledge { plugin, tier, right: rng.chance(60) },
        _ => {
            let opinions =
                [Opinion::Approve, Opinion::RequestChanges, Opinion::TakeBack, Opinion::Noise, Opinion::Noise];
            Happening::Review { plugin, tier, what: *rng.pick(&opinions) }
        }
    }
}

/// What goes wrong by itself.
fn fault(scenario: &Scenario, number: u64, rng: &mut Rng) -> Happening {
    let plugin = rng.pick(&scenario.policy.plugins).name.clone();
    let tier: TierName = rng.pick(scenario.tiers()).name.clone();
    let cluster = rng.pick(&scenario.clusters).name.clone();
    match rng.range(0, 21) {
        0..=2 => Happening::Flap { cluster, minutes: rng.range(1, 60) },
        3 => Happening::Suspend { cluster, minutes: rng.range(5, 600) },
        4..=6 => Happening::Vanish { cluster, minutes: rng.range(5, 900), stale: rng.chance(50) },
        7..=9 => {
            let lies = [Lie::OldVersion, Lie::OldGeneration, Lie::NoVersion, Lie::OtherContent];
            Happening::Lie { cluster, minutes: rng.range(5, 900), lie: *rng.pick(&lies) }
        }
        10 => Happening::Join { cluster: ClusterName::new(format!("j{number:02}-{tier}")), tier },
        11 => Happening::Leave { cluster },
        12 => Happening::Retier { cluster, tier },
        13 => Happening::Outage { minutes: rng.range(2, 600) },
        14 => Happening::Lag { minutes: rng.range(10, 600), seconds: rng.range(1, 180) },
        15 => Happening::WrongMissing { plugin, minutes: rng.range(1, 90) },
        16 => {
            let what = [Unreadable::Checks, Unreadable::Owners, Unreadable::Rights, Unreadable::Files];
            Happening::Unreadable { minutes: rng.range(5, 600), what: *rng.pick(&what) }
        }
        17 => {
            let seconds = *rng.pick(&[-3_600, -45, -20, 20, 45, 45, 600]);
            Happening::Skew { minutes: rng.range(10, 4_000), seconds }
        }
        18 => Happening::NoRegistry { minutes: rng.range(10, 900) },
        19 => Happening::NoInventory { minutes: rng.range(10, 300) },
        _ => Happening::LoseLedger { pushes: rng.range(1, 30), hours: rng.range(1, 48) },
    }
}

/// Ticks that do not end as they should.
pub fn cuts(rng: &mut Rng) -> Vec<(u32, Cut)> {
    let count = if rng.chance(60) { rng.range(0, 60) } else { 0 };
    let mut cuts: Vec<(u32, Cut)> = (0..count)
        .map(|_| {
            let cut = match rng.range(0, 11) {
                0..=5 => Cut::Crash { after: rng.range(0, 6) as u32 },
                6 => Cut::LostAnswer,
                7..=8 => Cut::PushBeforeMerge,
                9 => Cut::Stall { minutes: rng.range(1, 180) },
                _ => Cut::Overtaken,
            };
            (rng.range(0, 1_500) as u32, cut)
        })
        .collect();
    cuts.sort_by_key(|(tick, _)| *tick);
    cuts
}
