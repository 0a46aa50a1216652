//! What a world is made of, drawn from a seed: policy, fleet, branch rules, and everything that
//! will happen to it. Nothing in here happens yet.

use std::collections::BTreeSet;

use decide::model::{Approvals, Force, HealthRule, Limits, Merge, MergeRule, PluginPolicy, Policy, Soak, Tier};
use decide::selector::Selector;
use decide::snapshot::Cluster;
use decide::window::{ClosedDays, Range, Windows};
use decide::{ClusterName, PluginName, TierName};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::rng::Rng;

/// A whole world before its first instant.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub policy: Policy,
    pub clusters: Vec<Cluster>,
    /// Plugins that have one file per cluster; the others have one per tier.
    pub per_cluster: BTreeSet<PluginName>,
    pub rules: BranchRules,
    /// A second App may merge without a review.
    pub bypass: bool,
    /// Only bots can push the ledger branch.
    pub guarded: bool,
    /// Readings say since when.
    pub since_known: bool,
    pub start: Timestamp,
    /// From here on nothing goes wrong any more and people answer at once.
    pub calm: Timestamp,
    pub happenings: Vec<(Timestamp, Happening)>,
    /// What goes wrong inside a tick, by the number of the tick.
    pub cuts: Vec<(u32, Cut)>,
}

/// What the base branch asks of a merge.
#[derive(Clone, Copy, Debug)]
pub struct BranchRules {
    pub review: bool,
    pub dismiss_stale: bool,
    pub check: bool,
}

/// How a release behaves once it is rolled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    Good,
    /// Degraded on this rung of the ladder and above, after it looked healthy for a while.
    Degrades(usize),
    /// Given up by its controller.
    Fails(usize),
    /// Never gets ready.
    Stuck(usize),
}

/// Something that happens to the world and that the bot did not do.
#[derive(Clone, Debug)]
pub enum Happening {
    Publish {
        plugin: PluginName,
        version: String,
        quality: Quality,
        marked_breaking: bool,
    },
    Retag {
        plugin: PluginName,
        version: String,
    },
    // people, at the pull request that is open for this plugin and tier, if there is one
    Review {
        plugin: PluginName,
        tier: TierName,
        what: Opinion,
    },
    Hold {
        plugin: PluginName,
        tier: TierName,
    },
    Resume {
        plugin: PluginName,
        tier: TierName,
    },
    Close {
        plugin: PluginName,
        tier: TierName,
    },
    PushToBranch {
        plugin: PluginName,
        tier: TierName,
    },
    MergeByHand {
        plugin: PluginName,
        tier: TierName,
    },
    Draft {
        plugin: PluginName,
        tier: TierName,
        on: bool,
    },
    // people, at the base branch
    CommitByHand {
        plugin: PluginName,
        tier: TierName,
        back: bool,
    },
    Freeze {
        tier: Option<TierName>,
        hours: u64,
    },
    DropForce {
        tier: TierName,
    },
    BreakPolicy {
        hours: u64,
    },
    // clusters
    Flap {
        cluster: ClusterName,
        minutes: u64,
    },
    Suspend {
        cluster: ClusterName,
        minutes: u64,
    },
    Vanish {
        cluster: ClusterName,
        minutes: u64,
        stale: bool,
    },
    // the hub and the registry
    Outage {
        minutes: u64,
    },
    Lag {
        minutes: u64,
        seconds: u64,
    },
    Skew {
        minutes: u64,
    },
    NoRegistry {
        minutes: u64,
    },
    NoInventory {
        minutes: u64,
    },
    /// A webhook: look now, for no reason that it names.
    Ring,
}

/// What a reviewer does.
#[derive(Clone, Copy, Debug)]
pub enum Opinion {
    Approve,
    RequestChanges,
    TakeBack,
    /// Approvals that must count for nothing: of an App, of a stranger, of somebody who owns nothing.
    Noise,
}

/// What goes wrong in the middle of a tick.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// The process dies after so many steps and starts again without its memory.
    Crash { after: u32 },
    /// The hub does what it is asked and answers with an error.
    LostAnswer,
    /// Somebody pushes to the branch that is about to be merged.
    PushBeforeMerge,
    /// So many minutes pass between looking and acting.
    Stall { minutes: u64 },
}

const PLUGINS: [&str; 3] = ["cert-manager", "ingress", "logs"];
const TIERS: [&str; 4] = ["qa", "bronze", "silver", "gold"];

impl Scenario {
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::fate(seed, &["scenario"]);
        let start: Timestamp = "2026-03-02T06:00:00Z".parse().unwrap();
        let start = start + rng.minutes(0, 7 * 24 * 60);
        let calm = start + rng.minutes(3 * 24 * 60, 15 * 24 * 60);
        let rungs = rng.range(2, 4) as usize;
        let max_age = SignedDuration::from_mins(*rng.pick(&[5, 20, 60]));
        let windows = rng.chance(30).then(|| windows(&mut rng, true));
        let tiers: Vec<Tier> = TIERS[4 - rungs..]
            .iter()
            .enumerate()
            .map(|(i, name)| tier(&mut rng, name, i, max_age, windows.is_none()))
            .collect();
        let clusters = fleet(&mut rng, &tiers);
        let plugins: Vec<PluginPolicy> = PLUGINS[..rng.range(1, 3) as usize]
            .iter()
            .map(|name| PluginPolicy {
                constraint: rng.chance(30).then(|| "<3.0.0".parse().unwrap()),
                ..PluginPolicy::new(PluginName::from(*name), tiers.clone())
            })
            .collect();
        let per_cluster = plugins.iter().filter(|_| rng.chance(40)).map(|plugin| plugin.name.clone()).collect();
        let largest =
            tiers.iter().map(|tier| clusters.iter().filter(|c| c.labels["tier"] == tier.name.as_str()).count());
        let largest = largest.max().unwrap_or(1) as u64;
        let limits = Limits {
            open_pulls: rng.chance(25).then(|| rng.range(1, 4) as u32),
            clusters_per_hour: rng.chance(25).then(|| rng.range(largest, largest + 4) as u32),
        };
        let mut scenario = Self {
            seed,
            policy: Policy { windows, limits, plugins, ..Policy::default() },
            clusters,
            per_cluster,
            rules: BranchRules { review: rng.chance(60), dismiss_stale: rng.chance(50), check: rng.chance(50) },
            bypass: rng.chance(70),
            guarded: rng.chance(85),
            since_known: rng.chance(70),
            start,
            calm,
            happenings: Vec::new(),
            cuts: Vec::new(),
        };
        scenario.happenings = crate::trouble::happenings(&scenario, &mut rng);
        scenario.cuts = crate::trouble::cuts(&mut rng);
        scenario
    }

    pub fn tiers(&self) -> &[Tier] {
        &self.policy.plugins[0].tiers
    }

    /// The clusters of a tier; a label carries the tier's name.
    pub fn members(&self, tier: &TierName) -> Vec<ClusterName> {
        let of_tier = |cluster: &&Cluster| cluster.labels["tier"] == tier.as_str();
        self.clusters.iter().filter(of_tier).map(|cluster| cluster.name.clone()).collect()
    }
}

fn tier(rng: &mut Rng, name: &str, rung: usize, max_age: SignedDuration, narrow: bool) -> Tier {
    let merges = [Merge::Automatic, Merge::Approved, Merge::Approved, Merge::Manual];
    let merge = if rung == 0 && rng.chance(60) {
        MergeRule::all(Merge::Automatic)
    } else if rng.chance(85) {
        MergeRule::all(merges[rng.range(0, 2) as usize])
    } else {
        MergeRule { patch: Merge::Automatic, minor: Merge::Approved, major: *rng.pick(&merges) }
    };
    let days = |days: u64| SignedDuration::from_hours(24 * days as i64);
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
            max_unknown: if rng.chance(10) { 1 } else { 0 },
            max_age,
        },
        windows: rng.chance(25).then(|| windows(rng, narrow)),
        force: rng.chance(50).then(|| Force {
            after: days(rng.range(1, 5)),
            notice: rng.pick(&[vec![], vec![days(1)], vec![days(1), SignedDuration::from_hours(6)]]).clone(),
        }),
        ..Tier::new(TierName::from(name), select)
    }
}

fn fleet(rng: &mut Rng, tiers: &[Tier]) -> Vec<Cluster> {
    let count = rng.range(3.max(tiers.len() as u64), 8) as usize;
    let mut clusters: Vec<Cluster> = (0..count)
        .map(|index| {
            let tier = if index < tiers.len() { &tiers[index].name } else { &rng.pick(tiers).name };
            Cluster {
                name: ClusterName::new(format!("{tier}-{index}")),
                labels: [("tier".to_string(), tier.to_string())].into(),
            }
        })
        .collect();
    clusters.sort_by(|a, b| a.name.cmp(&b.name));
    clusters
}

/// Windows that open in every week; without `narrow` only closed days, as two narrow windows may never
/// be open together.
fn windows(rng: &mut Rng, narrow: bool) -> Windows {
    let zone = *rng.pick(&["Europe/Berlin", "UTC", "America/New_York", "Asia/Kolkata"]);
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
    Windows { open, closed, room, ..Windows::always(TimeZone::get(zone).unwrap()) }
}
