//! Draws the rarest keys of the policy and the rarest happenings. Each has a fate of its own, so that a world
//! without it stays what it was. How they happen is in `rarely`.

use std::collections::BTreeMap;

use decide::model::{Early, Expiry, Next, PluginPolicy};
use decide::snapshot::FreezeScope;
use decide::{PluginName, TierName};
use jiff::{SignedDuration, Timestamp};

use crate::rng::Rng;
use crate::scenario::{Happening, Mode, Scenario, Spelling};

/// Constraints that take what `<3.0.0` takes, or nearly.
const CONSTRAINTS: [&str; 4] = ["<3.0.0", "^1 || ^2", ">=1.0.0 <3.0.0", ">=1.0.0 !=2.0.0 <3.0.0"];

/// Keys that name no release; before anything that happens is drawn.
pub fn draw(scenario: &mut Scenario) {
    let seed = scenario.seed;
    let early = Rng::fate(seed, &["early"]).chance(30);
    for plugin in &mut scenario.policy.plugins {
        let luck = |what: &str| Rng::fate(seed, &[what, plugin.name.as_str()]);
        if plugin.constraint.is_some() {
            plugin.constraint = luck("constraint").name(&CONSTRAINTS).parse().ok();
        }
        let mut rng = luck("max live");
        plugin.max_live = rng.chance(10).then(|| rng.range(2, 3) as u32);
        plugin.signed = luck("signed").chance(10);
        let mut rng = luck("spelling");
        let v = if rng.chance(20) { *rng.pick(&[100, 100, 50]) } else { 0 };
        let build = if rng.chance(10) { 40 } else { 0 };
        scenario.spelled.insert(plugin.name.clone(), Spelling { v, build, appended: rng.chance(15) });
        let mut rng = luck("early");
        if early && scenario.per_cluster.contains(&plugin.name) && rng.chance(75) {
            let tier_index = rng.range(1, plugin.tiers.len() as u64 - 1) as usize;
            let tier = &mut plugin.tiers[tier_index];
            let here: Vec<_> =
                scenario.clusters.iter().filter(|cluster| cluster.labels["tier"] == tier.name.as_str()).collect();
            let days = rng.range(2, 50) as i64;
            let until = rng.chance(60).then(|| scenario.start + SignedDuration::from_hours(24 * days));
            if here.len() > 1 || scenario.mode == Mode::Safety && !here.is_empty() {
                tier.early.push(Early { select: crate::keys::named(&rng.pick(&here).name), until });
            }
        }
    }
}

/// Whether releases storm in the calm: where nobody has to wait for a window, or for another plugin, and a new
/// release does not restart the climb.
fn storm(scenario: &Scenario) -> bool {
    let policy = &scenario.policy;
    let free = |plugin: &PluginPolicy| {
        let windows = plugin.windows.is_some() || plugin.tiers.iter().any(|tier| tier.windows.is_some());
        !windows && plugin.after.is_empty() && plugin.next != Next::Restart
    };
    let none = [&policy.windows, &policy.operator_windows, &policy.opening].iter().all(|windows| windows.is_none());
    let open = none && policy.maintenance.is_empty() && policy.plugins.iter().all(free);
    open && scenario.mode == Mode::Answered && Rng::fate(scenario.seed, &["storm"]).chance(8)
}

/// What has to name releases, and what happens; once all else is drawn.
pub fn draw_late(scenario: &mut Scenario) {
    let seed = scenario.seed;
    scenario.storm = storm(scenario);
    let published = releases(scenario);
    for plugin in &mut scenario.policy.plugins {
        let mut rng = Rng::fate(seed, &["expiry", plugin.name.as_str()]);
        let Some((at, version)) = some(&mut rng, &published[&plugin.name]) else { continue };
        let below = format!("<{version}").parse().unwrap();
        match rng.range(0, 99) {
            0..=19 => {
                let at = at + SignedDuration::from_hours(rng.range(0, 20 * 24) as i64);
                plugin.expires.push(Expiry { versions: below, at, why: "a hole".to_string() });
            }
            20..=31 => plugin.deprecated = Some(below),
            _ => {}
        }
    }
    let mut happenings = Vec::new();
    for (what, percent, most, draws) in KINDS {
        let mut rng = Rng::fate(seed, &[what]);
        let times = if rng.chance(percent) { rng.range(1, most) } else { 0 };
        (0..times).for_each(|_| draws(scenario, &published, &mut rng, &mut happenings));
    }
    scenario.happenings.extend(happenings);
    scenario.happenings.retain(|(at, _)| *at < scenario.calm);
    scenario.happenings.sort_by_key(|(at, _)| *at);
}

type Published = BTreeMap<PluginName, Vec<(Timestamp, String)>>;
type All = Vec<(Timestamp, Happening)>;
type Draws = fn(&Scenario, &Published, &mut Rng, &mut All);

/// What happens in how many of a hundred worlds, and at most how often.
const KINDS: [(&str, u64, u64, Draws); 9] = [
    ("freeze by command", 25, 3, freezes),
    ("expire", 15, 1, expires),
    ("constrain", 20, 2, constrains),
    ("follow", 12, 2, follows),
    ("merge and revert", 20, 3, merges_and_reverts),
    ("no digests", 25, 2, names_no_digests),
    ("early by an edit", 15, 2, puts_ahead),
    ("pin a shared place", 20, 2, pins_shared),
    ("another branch", 15, 2, retargets),
];

fn sometime(scenario: &Scenario, rng: &mut Rng) -> Timestamp {
    let span = scenario.calm.duration_since(scenario.start).as_secs() as u64;
    scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64)
}

fn spot(scenario: &Scenario, rng: &mut Rng) -> (PluginName, TierName) {
    (rng.pick(&scenario.policy.plugins).name.clone(), rng.pick(scenario.tiers()).name.clone())
}

/// A plugin that has, or has not, a file for each cluster.
fn plugin(scenario: &Scenario, rng: &mut Rng, own: bool) -> Option<PluginName> {
    let plugins = scenario.policy.plugins.iter().map(|plugin| &plugin.name);
    let plugins: Vec<_> = plugins.filter(|name| scenario.per_cluster.contains(name) == own).collect();
    (!plugins.is_empty()).then(|| (*rng.pick(&plugins)).clone())
}

/// Somebody freezes; mostly somebody lifts it some hours or days later.
fn freezes(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let (at, (plugin, tier)) = (sometime(scenario, rng), spot(scenario, rng));
    let scope = *rng.pick(&[FreezeScope::Everything, FreezeScope::Tier, FreezeScope::Plugin]);
    let hours = rng.chance(50).then(|| rng.range(1, 150));
    let (allowed, lifted) = (rng.chance(80), at + rng.minutes(30, 5 * 24 * 60));
    all.push((at, Happening::FreezeByCommand { plugin: plugin.clone(), tier: tier.clone(), scope, hours, allowed }));
    if rng.chance(70) {
        all.push((lifted, Happening::UnfreezeByCommand { plugin, tier, allowed: rng.chance(80) }));
    }
}

fn expires(scenario: &Scenario, published: &Published, rng: &mut Rng, all: &mut All) {
    let plugin = rng.pick(&scenario.policy.plugins).name.clone();
    if let Some((at, below)) = some(rng, &published[&plugin]) {
        let hours = rng.range(0, 12 * 24);
        all.push((at + rng.minutes(10, 5 * 24 * 60), Happening::Expire { plugin, below, hours }));
    }
}

fn constrains(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let (plugin, tier) = spot(scenario, rng);
    let tier = rng.chance(50).then_some(tier);
    all.push((sometime(scenario, rng), Happening::Constrain { plugin, tier, hours: rng.range(1, 100) }));
}

fn follows(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let plugin = rng.pick(&scenario.policy.plugins).name.clone();
    all.push((sometime(scenario, rng), Happening::Follow { plugin, hours: rng.range(2, 200) }));
}

fn merges_and_reverts(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let (plugin, tier) = spot(scenario, rng);
    all.push((sometime(scenario, rng), Happening::MergeAndRevert { plugin, tier, minutes: rng.range(1, 6) }));
}

fn names_no_digests(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let plugin = rng.pick(&scenario.policy.plugins).name.clone();
    all.push((sometime(scenario, rng), Happening::NoDigests { plugin, hours: rng.range(1, 500) }));
}

fn puts_ahead(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let Some(plugin) = plugin(scenario, rng, true) else { return };
    let cluster = rng.pick(&scenario.clusters).name.clone();
    let hours = rng.chance(70).then(|| rng.range(5, 600));
    all.push((sometime(scenario, rng), Happening::Early { plugin, cluster, hours }));
}

fn retargets(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let (plugin, tier) = spot(scenario, rng);
    all.push((sometime(scenario, rng), Happening::Retarget { plugin, tier, hours: rng.range(1, 60) }));
}

/// Where clusters share a file none of them can be pinned: the bot leaves the tier alone until the pin ends.
fn pins_shared(scenario: &Scenario, _: &Published, rng: &mut Rng, all: &mut All) {
    let Some(plugin) = plugin(scenario, rng, false) else { return };
    let cluster = rng.pick(&scenario.clusters).name.clone();
    all.push((sometime(scenario, rng), Happening::Pin { plugin, cluster, hours: rng.range(1, 100) }));
}

/// Releases that are drawn, pre-releases left out, and what the constraint of these worlds refuses.
fn releases(scenario: &Scenario) -> Published {
    let mut all: Published = scenario.policy.plugins.iter().map(|plugin| (plugin.name.clone(), Vec::new())).collect();
    for (at, happening) in &scenario.happenings {
        if let Happening::Publish { plugin, version, .. } = happening
            && !version.contains('-')
            && version.split('.').next().is_some_and(|major| ["1", "2"].contains(&major))
        {
            all.entry(plugin.clone()).or_default().push((*at, version.clone()));
        }
    }
    all
}

/// One of the releases of the first half.
fn some(rng: &mut Rng, releases: &[(Timestamp, String)]) -> Option<(Timestamp, String)> {
    let half = &releases[..releases.len().div_ceil(2)];
    (!half.is_empty()).then(|| rng.pick(half).clone())
}
