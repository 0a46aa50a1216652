//! What people say in comments that hurries a release: drawn with a luck of its own, so that a world without
//! these words stays what it was; and what counts of them, by the world's own memory.

use decide::PluginName;
use decide::ledger::{ForceEvidence, Rebuild};
use decide::model::Hotfix;
use decide::snapshot::{ChartBlock, Command, CommandKind, Pull, Read, Snapshot};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::pulls::{OWNERS, PullRequest, STRANGER};
use crate::releases::Published;
use crate::rng::Rng;
use crate::scenario::{Happening, Scenario};
use crate::world::{Spot, World};

/// Adds what is said to what happens; once the releases are drawn.
pub fn draw(scenario: &mut Scenario) {
    let mut rng = Rng::fate(scenario.seed, &["words"]);
    if rng.chance(40) {
        return; // as ever
    }
    let published = scenario.happenings.iter().filter(|(_, what)| matches!(what, Happening::Publish { .. }));
    let published: Vec<_> = published.cloned().collect();
    if published.is_empty() {
        return;
    }
    let mut said = Vec::new();
    for _ in 0..rng.range(0, 3) {
        let (at, Happening::Publish { plugin, version, .. }) = rng.pick(&published) else { continue };
        let (plugin, tier) = (plugin.clone(), rng.pick(scenario.tiers()).name.clone());
        let (soak, through) = (rng.chance(60).then(|| rng.range(0, 60)), rng.chance(50));
        // Some are said before the release is there, and some of one that never will be.
        let version = if rng.chance(10) { "7.7.7".to_string() } else { version.clone() };
        let what = Happening::SayHotfix { plugin, tier, version, soak, through, allowed: rng.chance(80) };
        said.push((*at + rng.minutes(0, 8 * 60) - SignedDuration::from_mins(60), what));
    }
    let span = scenario.calm.duration_since(scenario.start).as_secs() as u64;
    for _ in 0..rng.range(0, 8) {
        let (plugin, tier) = (rng.pick(&scenario.policy.plugins).name.clone(), rng.pick(scenario.tiers()).name.clone());
        let at = scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64);
        said.push((at, Happening::SayForce { plugin, tier, allowed: rng.chance(75) }));
    }
    for _ in 0..rng.range(0, 4) {
        let (plugin, tier) = (rng.pick(&scenario.policy.plugins).name.clone(), rng.pick(scenario.tiers()).name.clone());
        let at = scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64);
        said.push((at, Happening::Label { plugin: plugin.clone(), tier: tier.clone(), on: true }));
        if rng.chance(60) {
            said.push((at + rng.minutes(30, 5 * 24 * 60), Happening::Label { plugin, tier, on: false }));
        }
    }
    scenario.happenings.extend(said);
    scenario.happenings.retain(|(at, _)| *at < scenario.calm);
    scenario.happenings.sort_by_key(|(at, _)| *at);
}

/// What people write: into the file, on a pull request, as a label.
pub fn befall(world: &mut World, happening: Happening) {
    let hotfix = |version: String, soak: Option<u64>, through_windows| Hotfix {
        version: version.parse().unwrap(),
        why: "a hole".to_string(),
        soak: soak.map(|minutes| SignedDuration::from_mins(minutes as i64)),
        through_windows,
    };
    match happening {
        Happening::Hotfix { plugin, version, soak, through } => {
            crate::edits::hotfix(world, &plugin, hotfix(version, soak, through));
        }
        Happening::Label { plugin, tier, on } => label(world, &(plugin, tier), on),
        Happening::SayForce { plugin, tier, allowed } => say_force(world, &(plugin, tier), allowed),
        Happening::SayHotfix { plugin, tier, version, soak, through, allowed } => {
            say_hotfix(world, &(plugin, tier), hotfix(version, soak, through), allowed);
        }
        _ => {}
    }
}

/// Somebody names a release a hotfix, on the newest pull request of a tier.
fn say_hotfix(world: &mut World, spot: &Spot, hotfix: Hotfix, allowed: bool) {
    say(world, spot, CommandKind::Hotfix(hotfix), allowed);
}

/// Somebody wants the newest pull request of a tier merged now; mostly somebody else agrees, or the same
/// person says it twice.
fn say_force(world: &mut World, spot: &Spot, allowed: bool) {
    let force = || CommandKind::Force { why: "an outage".to_string() };
    say(world, spot, force(), allowed);
    let mut luck = world.luck(&["second word", spot.0.as_str(), spot.1.as_str(), &world.now.to_string()]);
    if allowed && luck.chance(85) {
        let (now, by) = (world.now, *luck.pick(&[OWNERS[1], OWNERS[1], OWNERS[1], OWNERS[0], STRANGER]));
        if let Some(pull) = world.pulls.iter_mut().rfind(|pull| pull.spot == *spot) {
            pull.command(now, by, force());
            // And sometimes what they said it of is not what it should be: it is written anew, and they said nothing
            // of that.
            pull.doctored |= pull.ours && luck.chance(20);
        }
    }
}

/// Whether two who may said of this very head that it shall merge now, one of them as the evidence has it.
pub fn forces(pull: &PullRequest, evidence: &ForceEvidence, head: &str) -> bool {
    let Some(said) = evidence.said.as_ref().filter(|_| evidence.deadline.is_none()) else { return false };
    let same = |other: &String| pull.head == head && pull.alike.contains(other);
    let counts = |command: &&Command| {
        matches!(command.what, CommandKind::Force { .. })
            && command.allowed == Read::Known(true)
            && !command.by.as_str().ends_with("[bot]")
            && pull.at(command.at).is_some_and(|then| then.head == head || same(&then.head))
    };
    let words: Vec<&Command> = pull.commands.iter().filter(counts).collect();
    words.iter().any(|word| word.by == said.by && word.at == said.at)
        && words.iter().any(|word| word.by != said.by)
        && pull.bot_heads.iter().any(|ours| ours == head)
}

/// Whether a word names a lost commit, or one that was written after it: who spoke of an earlier loss knew
/// nothing of this one.
pub fn gives_up(world: &World, given: &Rebuild) -> bool {
    let of_pull = world.pulls.iter().filter(|pull| pull.number == given.pull.0).flat_map(|pull| &pull.commands);
    let said = of_pull.filter(|command| command.by == given.by && command.at == given.at);
    let mut named = said.filter_map(|command| match &command.what {
        CommandKind::Rebuild { cited } => Some(cited.as_str()),
        _ => None,
    });
    // In these worlds the names of commits are in order.
    named.any(|named| given.cited.short() <= named)
}

/// Somebody puts the label that blocks on the newest pull request of a tier, or takes it off all of them.
fn label(world: &mut World, spot: &Spot, on: bool) {
    let now = world.now;
    let of_tier = world.pulls.iter_mut().filter(|pull| pull.spot == *spot).rev();
    for pull in of_tier.take(if on { 1 } else { usize::MAX }).filter(|pull| pull.labelled != on) {
        pull.remember(now);
        pull.labelled = on;
    }
}

/// Who approves what a pull request was moved to takes the label off: it would keep that back, too.
pub fn unblock(pull: &mut PullRequest, now: Timestamp) {
    if pull.labelled {
        pull.remember(now);
        pull.labelled = false;
    }
}

/// Some authors block steps to a release of theirs.
pub fn annotate(world: &World, plugin: &PluginName, release: &mut Published) {
    let mut luck = world.luck(&["annotated", plugin.as_str(), &release.version.to_string()]);
    if luck.chance(3) {
        let from = luck.chance(50).then(|| "<1.3.0".parse().unwrap());
        release.shown.blocks = vec![ChartBlock { from, why: "a migration".to_string() }];
    }
}

/// Whether a label keeps a release from this tier, as the bot was shown.
pub fn is_labelled(world: &World, shown: &Snapshot, spot: &Spot, version: &Version) -> bool {
    let pulls = shown.plugins[&spot.0].pulls.known().into_iter().flatten();
    let below = pulls.filter(|pull| world.tier_index(&pull.tier) < world.tier_index(&spot.1));
    let holds = |pull: &Pull| pull.version.as_ref().is_some_and(|held| crate::releases::plain(held) == *version);
    below.into_iter().any(|pull| pull.labelled == Read::Known(true) && holds(pull))
}

fn say(world: &mut World, spot: &Spot, what: CommandKind, allowed: bool) {
    let now = world.now;
    let by = if allowed { OWNERS[0] } else { STRANGER };
    if let Some(pull) = world.pulls.iter_mut().rfind(|pull| pull.spot == *spot) {
        pull.command(now, by, what);
    }
}

/// What makes a release a hotfix at this moment: the file, and what somebody who may has said.
pub fn hotfixes(world: &World, plugin: &PluginName, version: &Version) -> Vec<Hotfix> {
    let said = world.pulls.iter().filter(|pull| pull.spot.0 == *plugin).flat_map(|pull| &pull.commands);
    let said = said.filter(|command| command.allowed == Read::Known(true)).filter_map(|command| match &command.what {
        CommandKind::Hotfix(hotfix) => Some(hotfix),
        _ => None,
    });
    let filed = world.policy.plugins.iter().filter(|policy| policy.name == *plugin).flat_map(|policy| &policy.hotfixes);
    let all = filed.chain(said);
    all.filter(|hotfix| crate::releases::plain(&hotfix.version) == *version).cloned().collect()
}
