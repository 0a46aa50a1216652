//! What one decision costs over the fleet that design goals name: 200 plugins, 2,000 clusters, four tiers,
//! so 400,000 readings, each of which is judged; beside it a plain scan over them, which no decision beats.
//! The last lines: ratio, memory, and fleets with a file per cluster.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use criterion::Criterion;
use decide::ledger::{Change, Head, Landed, Part, Soaked};
use decide::model::{Merge, MergeRule, Policy, Soak};
use decide::readings::Row;
use decide::selector::Selector;
use decide::snapshot::{
    Cluster, Health, HubFacts, LedgerGuard, LedgerState, Place, PluginFacts, Read, Reading, Release, Snapshot,
};
use decide::{ClusterName, Digest, Entry, Ledger, PluginName, PluginPolicy, Readings, Tier, TierName, Version};
use jiff::{SignedDuration, Timestamp};

const PLUGINS: usize = 200;
/// Clusters per tier: 2,000 in all.
const TIERS: [(&str, usize); 4] = [("qa", 100), ("bronze", 400), ("silver", 500), ("gold", 1_000)];
const READINGS: usize = PLUGINS * 2_000;

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

fn version() -> Version {
    "1.15.0".parse().unwrap()
}

fn tier(name: &str) -> Tier {
    let match_labels = BTreeMap::from([("tier".to_string(), name.to_string())]);
    Tier {
        merge: MergeRule::all(Merge::Automatic),
        soak: Soak::at_least(SignedDuration::from_hours(72)),
        ..Tier::new(name.into(), Selector { match_labels, match_expressions: Vec::new() })
    }
}

fn clusters() -> Vec<Cluster> {
    let of = |(tier, count): &(&str, usize)| {
        let tier = (*tier).to_string();
        (0..*count)
            .map(|index| Cluster {
                name: ClusterName::new(format!("{tier}-{index:04}")),
                labels: BTreeMap::from([
                    ("tier".to_string(), tier.clone()),
                    ("region".to_string(), format!("eu-{}", index % 5)),
                ]),
            })
            .collect::<Vec<_>>()
    };
    TIERS.iter().flat_map(of).collect()
}

/// As clusters answer: in the same words, each with times of its own.
fn reading(plugin: usize, cluster: usize) -> Reading {
    let own = (plugin * 31 + cluster * 7) as i64;
    Reading {
        signal: format!("HelmRelease plugin-{plugin:03}/plugin-{plugin:03}"),
        health: Health::Healthy,
        running: Some(version()),
        attempted: Some(version()),
        digest: Some(digest()),
        observed_at: now() - SignedDuration::from_secs(1 + own % 59),
        since: Some(now() - SignedDuration::from_hours(29) - SignedDuration::from_secs(own % 3_600)),
        evidence: "$.status.history[0].chartVersion = 1.15.0, Ready=True".to_string(),
    }
}

fn digest() -> Digest {
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into()
}

/// Everything but the readings: each plugin soaks on every tier at once, so that all clusters are judged.
fn world(clusters: Vec<Cluster>) -> Snapshot {
    let tiers: Vec<Tier> = TIERS.iter().map(|(name, _)| tier(name)).collect();
    let mut ledger = Ledger::default();
    let mut policies = Vec::new();
    let mut facts = BTreeMap::new();
    for index in 0..PLUGINS {
        let plugin = PluginName::new(format!("plugin-{index:03}"));
        for (tier, _) in TIERS {
            for change in wave(tier, &clusters) {
                let (plugin, tier, version) = (plugin.clone(), tier.into(), version());
                ledger.apply(&Entry::Wave { plugin, tier, version, change });
            }
        }
        let place = |tier: &str| Place {
            file: format!("{tier}.yaml"),
            cluster: None,
            version: Read::Known(version()),
            range: None,
            vacant: false,
        };
        let release = Release {
            version: version(),
            digest: Some(digest()),
            marked_breaking: false,
            checks: Read::Known(Vec::new()),
            breaking: Vec::new(),
            blocks: Vec::new(),
            missing_values: Vec::new(),
            unsigned: Read::Known(None),
            incomplete: None,
        };
        facts.insert(
            plugin.clone(),
            PluginFacts {
                releases: Read::Known(vec![release]),
                base: Read::Known(TIERS.iter().map(|(tier, _)| (TierName::from(*tier), vec![place(tier)])).collect()),
                pulls: Read::Known(Vec::new()),
                readings: Readings::default(),
                runs: Read::Known(Vec::new()),
                open_now: BTreeMap::new(),
            },
        );
        policies.push(PluginPolicy::new(plugin, tiers.clone()));
    }
    Snapshot {
        policy: Policy { plugins: policies, ..Policy::default() },
        policy_commit: "cccccccccc".into(),
        policy_problem: None,
        clusters: Read::Known(clusters),
        hub: HubFacts { bot: "coldframe[bot]".into(), bypass: true, own: Vec::new(), skew: SignedDuration::ZERO },
        ledger,
        ledger_state: LedgerState::Intact { guarded: LedgerGuard::Sealed },
        look_again: SignedDuration::from_secs(30),
        plugins: facts,
    }
}

/// Merged by the bot thirty hours ago and healthy since.
fn wave(tier: &str, clusters: &[Cluster]) -> Vec<Change> {
    let at = now() - SignedDuration::from_hours(30);
    let members = clusters.iter().filter(|cluster| cluster.labels["tier"] == tier).map(|cluster| cluster.name.clone());
    let soaked = Soaked {
        healthy_for: SignedDuration::from_hours(29),
        until: now() - SignedDuration::from_secs(60),
        paused: false,
        ailing: None,
        begun: Some(now() - SignedDuration::from_hours(29)),
    };
    vec![
        Change::Intent {
            from: Some("1.14.7".parse().unwrap()),
            digest: Some(digest()),
            part: Part::default(),
            members: members.collect(),
            head: Head { commit: "aaaaaaaaaa".into(), at, repeats: false },
        },
        Change::Landed(Landed { at, commit: None, by: None }),
        Change::Converged(at),
        Change::Soaked(soaked),
    ]
}

fn fill(world: &mut Snapshot) {
    let Read::Known(clusters) = &world.clusters else { return };
    let names: Vec<ClusterName> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    for (plugin, facts) in world.plugins.values_mut().enumerate() {
        let answers = names.iter().enumerate();
        facts.readings = answers.map(|(at, name)| (name.clone(), vec![reading(plugin, at)])).collect();
    }
}

/// The least that any decision has to do: touch each reading and ask whether it is healthy, fresh and of
/// this version.
fn scan(world: &Snapshot, wanted: &Version, at: Timestamp) -> usize {
    let fresh = at - SignedDuration::from_mins(5);
    let good = |row: &Row| {
        row.fact.health == Health::Healthy
            && row.observed_at() >= fresh
            && row.fact.running.as_ref().is_some_and(|running| running.proves(wanted))
    };
    world.plugins.values().flat_map(|facts| facts.readings.rows()).filter(|row| good(row)).count()
}

/// The same fleet with a file for each cluster instead of one for each tier.
fn apart(world: &mut Snapshot) {
    let Read::Known(clusters) = &world.clusters else { return };
    for facts in world.plugins.values_mut() {
        let Read::Known(base) = &mut facts.base else { continue };
        for (tier, places) in base {
            let of_tier = clusters.iter().filter(|cluster| cluster.labels["tier"] == tier.as_str());
            let place = |cluster: &Cluster| Place {
                file: format!("{}/plugin.yaml", cluster.name),
                cluster: Some(cluster.name.clone()),
                version: Read::Known(version()),
                range: None,
                vacant: false,
            };
            *places = of_tier.map(place).collect();
        }
    }
}

/// The same fleet with nothing to do: every release has finished every tier.
fn at_rest(world: &mut Snapshot) {
    let pages = world.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut());
    pages.flatten().for_each(|wave| *wave.rewrite().finished = Some(now() - SignedDuration::from_hours(1)));
}

/// Resident memory of this process in bytes, where the system says so.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The best of several runs, in milliseconds.
fn best(times: u32, mut run: impl FnMut()) -> f64 {
    let measure = |_| {
        #[allow(clippy::disallowed_methods)] // a benchmark measures
        let begun = Instant::now();
        run();
        begun.elapsed().as_secs_f64() * 1e3
    };
    (0..times).map(measure).fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut world = world(clusters());
    let before = resident();
    fill(&mut world);
    let held = resident().zip(before).map(|(after, before)| after.saturating_sub(before));
    assert_eq!(scan(&world, &version(), now()), READINGS);
    let plan = decide::plan(&world, now());
    assert_eq!(plan.waves.len(), PLUGINS * TIERS.len());
    assert!(plan.actions.is_empty(), "everything soaks: {:?}", plan.actions.first());

    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    criterion.bench_function("scan of 400,000 readings", |bench| {
        bench.iter(|| scan(black_box(&world), &version(), now()));
    });
    criterion.bench_function("decision over 400,000 readings", |bench| {
        bench.iter(|| decide::plan(black_box(&world), now()));
    });
    criterion.final_summary();
    // Who profiles one of them wants nothing else.
    if std::env::args().any(|argument| argument == "--profile-time") {
        return;
    }

    let scanned = best(50, || {
        black_box(scan(&world, &version(), now()));
    });
    let decided = best(50, || drop(black_box(decide::plan(&world, now()))));
    println!("decision {decided:.2} ms, scan {scanned:.2} ms, ratio {:.1}", decided / scanned);
    if let Some(held) = held {
        println!("snapshot {:.1} bytes per reading", held as f64 / READINGS as f64);
    }
    apart(&mut world);
    let soaking = best(20, || drop(black_box(decide::plan(&world, now()))));
    at_rest(&mut world);
    let resting = best(20, || drop(black_box(decide::plan(&world, now()))));
    println!("with a file for each cluster {soaking:.2} ms, at rest {resting:.2} ms");
}
