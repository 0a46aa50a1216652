//! How the rarest things happen: commands that freeze, edits of keys that few use, a pull request that is
//! merged and taken off again, words about a rollback; and how they end when the calm begins.

use decide::model::{Early, Expiry};
use decide::snapshot::{CommandKind, FreezeScope};
use decide::{ClusterName, PluginName, TierName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::pulls::{OWNERS, STRANGER, WRITER};
use crate::scenario::{Edit, Happening};
use crate::world::{self, Spot, World};

/// What ends, or follows, later.
#[derive(Clone, Debug)]
pub enum Later {
    /// The constraints of a plugin are what they were.
    Widen { plugin: PluginName },
    /// The first tier of a plugin is under the bot's hand again.
    Unfollow { plugin: PluginName },
    /// Somebody puts back what stood on the base branch.
    Revert { spot: Spot, versions: Vec<Version> },
    /// A pull request goes to the base branch again.
    Return { pull: u64 },
    /// Somebody says of merges that did not land as planned that things may go on.
    Clear { allowed: bool },
    /// The ledger branch is the bot's again.
    MendLedger,
    /// Who held in the last moment lets it go.
    Resume { pull: u64 },
    /// People answer once more on what is open.
    AnswerAgain,
    /// A release of a storm in the calm, and after the pace the next one.
    Storm { pace: SignedDuration, until: Timestamp },
}

/// The source names no digests of what was published before, until then.
#[derive(Clone, Debug)]
pub struct Undigested {
    pub plugin: PluginName,
    pub since: Timestamp,
    pub until: Timestamp,
}

pub fn befall(world: &mut World, happening: Happening) {
    let now = world.now;
    let until = |hours: u64| now + SignedDuration::from_hours(hours as i64);
    match happening {
        Happening::FreezeByCommand { plugin, tier, scope, hours, allowed } => {
            freeze(world, &(plugin, tier), scope, hours, allowed);
        }
        Happening::UnfreezeByCommand { plugin, tier, allowed } => {
            say(world, &(plugin, tier), CommandKind::Unfreeze, allowed);
        }
        Happening::Early { plugin, cluster, hours } => put_ahead(world, &plugin, &cluster, hours.map(until)),
        Happening::Expire { plugin, below, hours } => {
            let (versions, at) = (format!("<{below}").parse().unwrap(), until(hours));
            edit(world, &plugin, |policy| {
                policy.expires.push(Expiry { versions, at, why: "a hole".to_string() });
            });
        }
        Happening::Constrain { plugin, tier, hours } => {
            *world.turns.entry(plugin.clone()).or_default() += 1;
            constrain(world, &plugin, tier.as_ref());
            world.schedule(until(hours), world::Due::Rare(Later::Widen { plugin }));
        }
        Happening::Follow { plugin, hours } => {
            *world.turns.entry(plugin.clone()).or_default() += 1;
            // The file refuses a workflow for what the bot does not bring.
            edit(world, &plugin, |policy| (policy.tiers[0].follows, policy.tiers[0].verify) = (true, None));
            world.schedule(until(hours), world::Due::Rare(Later::Unfollow { plugin }));
        }
        Happening::MergeAndRevert { plugin, tier, minutes } => merge_and_revert(world, (plugin, tier), minutes),
        Happening::Retarget { plugin, tier, hours } => {
            let Some(number) = world.open_pull(&(plugin, tier)).map(|pull| pull.number) else { return };
            retarget(world, number, true);
            world.schedule(until(hours), world::Due::Rare(Later::Return { pull: number }));
        }
        Happening::NoDigests { plugin, hours } => {
            world.undigested = Some(Undigested { plugin, since: now, until: until(hours) });
        }
        _ => {}
    }
}

pub fn later(world: &mut World, later: Later) {
    match later {
        Later::Widen { plugin } => widen(world, &plugin),
        Later::Unfollow { plugin } => unfollow(world, &plugin),
        Later::AnswerAgain => {
            let ours = world.pulls.iter().filter(|pull| pull.is_open() && pull.ours);
            let ours: Vec<u64> = ours.map(|pull| pull.number).collect();
            ours.into_iter().for_each(|number| crate::people::answer_at_once(world, number));
        }
        Later::Storm { pace, until } => world.storm_on(pace, until),
        Later::Return { pull } => retarget(world, pull, false),
        Later::Clear { allowed } => crate::merges::clear(world, allowed),
        Later::MendLedger => world.branch.mend(),
        Later::Resume { pull } => {
            let now = world.now;
            world.pull_mut(pull).into_iter().for_each(|pull| pull.command(now, WRITER, CommandKind::Resume));
        }
        Later::Revert { spot, versions } => {
            if world.base[&spot].len() == versions.len() {
                world.note(format!("{WRITER} takes the merge on {} of {} off again", spot.1, spot.0));
                world.commit(&spot, &versions, false);
            }
        }
    }
}

/// At the beginning of the calm: what was frozen is free, what was narrowed is wide again, and no tier has only
/// clusters that are ahead of it.
pub fn settle(world: &mut World) {
    world.undigested = None;
    (0..world.pulls.len() as u64).for_each(|index| retarget(world, index + 1, false));
    crate::runs::settle(world);
    crate::merges::settle(world);
    let now = world.now;
    for pull in &mut world.pulls {
        if pull.commands.iter().any(|command| matches!(command.what, CommandKind::Freeze { .. })) {
            pull.command(now, WRITER, CommandKind::Unfreeze);
        }
    }
    for plugin in world.policy.plugins.clone() {
        widen(world, &plugin.name);
        unfollow(world, &plugin.name);
        for tier in &plugin.tiers {
            let ahead = |name: &ClusterName| {
                tier.early
                    .iter()
                    .any(|early| early.select.match_labels.get("name").is_some_and(|of| of == name.as_str()))
            };
            if world.members(&tier.name).iter().all(|name| ahead(name) || world.is_pinned(&plugin.name, name)) {
                edit(world, &plugin.name, |policy| {
                    policy.tiers.iter_mut().filter(|known| known.name == tier.name).for_each(|tier| tier.early.clear());
                });
            }
        }
    }
}

/// A rollback has been opened: sometimes the file asks for none soon after.
pub fn rollback_opened(world: &mut World, number: u64, spot: &Spot) {
    let mut luck = world.luck(&["rollback opened", &number.to_string()]);
    if !world.is_calm() && world.purpose(number).is_some() && luck.chance(15) {
        let edit = Happening::EditPolicy { tier: spot.1.clone(), edit: Edit::RollBackOff };
        world.schedule(world.now + luck.minutes(1, 10 * 60), world::Due::Happening(edit));
    }
}

/// A rollback has been merged: sometimes somebody says that it has failed, too.
pub fn rollback_merged(world: &mut World, number: u64, spot: &Spot) {
    let mut luck = world.luck(&["rollback merged", &number.to_string()]);
    if !world.is_calm() && world.purpose(number).is_some() && luck.chance(20) {
        let fail = Happening::Fail { plugin: spot.0.clone(), tier: spot.1.clone(), allowed: true };
        world.schedule(world.now + luck.minutes(5, 10 * 60), world::Due::Happening(fail));
    }
}

fn edit(world: &mut World, plugin: &PluginName, change: impl FnOnce(&mut decide::model::PluginPolicy)) {
    if let Some(policy) = world.policy.plugins.iter_mut().find(|policy| policy.name == *plugin) {
        change(policy);
    }
    world.policy_commit += 1;
}

/// On the newest pull request of a tier, open or not.
fn say(world: &mut World, spot: &Spot, what: CommandKind, allowed: bool) {
    let (now, by) = (world.now, if allowed { WRITER } else { STRANGER });
    let newest = world.pulls.iter_mut().rfind(|pull| pull.spot == *spot);
    newest.into_iter().for_each(|pull| pull.command(now, by, what.clone()));
}

fn freeze(world: &mut World, spot: &Spot, scope: FreezeScope, hours: Option<u64>, allowed: bool) {
    let lasts = hours.map(|hours| SignedDuration::from_hours(hours as i64));
    say(world, spot, CommandKind::Freeze { scope, lasts, why: "an incident".to_string() }, allowed);
}

fn put_ahead(world: &mut World, plugin: &PluginName, cluster: &ClusterName, until: Option<Timestamp>) {
    let Some(tier) = world.tier_of(cluster).filter(|tier| world.tier_index(tier) > 0) else { return };
    let select = crate::keys::named(cluster);
    edit(world, plugin, |policy| {
        policy.tiers.iter_mut().filter(|known| known.name == tier).for_each(|tier| {
            tier.early.push(Early { select: select.clone(), until });
        });
    });
}

/// Below the release that climbs here, or the newest there is; pre-releases name nothing.
fn constrain(world: &mut World, plugin: &PluginName, tier: Option<&TierName>) {
    let tiers: Vec<TierName> = world.scenario.tiers().iter().map(|tier| tier.name.clone()).collect();
    let open = tiers.iter().filter(|name| tier.is_none_or(|tier| tier == *name));
    let open = open.filter_map(|name| world.open_pull(&(plugin.clone(), name.clone())));
    let climbing = open.map(|pull| pull.version.clone()).next();
    let Some(version) = climbing.or_else(|| world.accepted(plugin).into_iter().max()) else { return };
    if !version.pre.is_empty() {
        return;
    }
    let below = format!("<{version}").parse().ok();
    edit(world, plugin, |policy| match tier {
        None => policy.constraint = below,
        Some(name) => {
            policy
                .tiers
                .iter_mut()
                .filter(|tier| tier.name == *name)
                .for_each(|tier| tier.constraint.clone_from(&below));
        }
    });
}

/// Points a pull request that is still open at another branch, or back.
fn retarget(world: &mut World, number: u64, away: bool) {
    let now = world.now;
    let Some(pull) = world.pull_mut(number).filter(|pull| pull.is_open() && pull.misplaced != away) else { return };
    pull.remember(now);
    pull.misplaced = away;
    world.note(format!("#{number} goes to {}", if away { "another branch" } else { "its own branch again" }));
}

fn widen(world: &mut World, plugin: &PluginName) {
    let drawn = world.scenario.policy.plugins.iter().find(|known| known.name == *plugin).unwrap().constraint.clone();
    edit(world, plugin, |policy| {
        policy.constraint = drawn;
        policy.tiers.iter_mut().for_each(|tier| tier.constraint = None);
    });
}

fn unfollow(world: &mut World, plugin: &PluginName) {
    let drawn = world.scenario.policy.plugins.iter().find(|known| known.name == *plugin).unwrap().tiers[0].follows;
    edit(world, plugin, |policy| policy.tiers[0].follows = drawn);
}

fn merge_and_revert(world: &mut World, spot: Spot, minutes: u64) {
    let Some(number) = world.open_pull(&spot).map(|pull| pull.number) else { return };
    let versions = world.base[&spot].iter().map(|place| place.version.clone()).collect();
    let before = world.commits;
    crate::people::merge_by_hand(world, number);
    if world.commits > before {
        let at = world.now + SignedDuration::from_mins(minutes as i64);
        world.note(format!("{} has merged #{number}", OWNERS[0]));
        world.schedule(at, world::Due::Rare(Later::Revert { spot, versions }));
        world.schedule(at + SignedDuration::from_secs(30), world::Due::Happening(Happening::Ring));
    }
}
