//! What people do: they release, review, hold, close, push, merge by hand, and edit the policy.

use decide::model::{Freeze, Merge, Tier};
use decide::snapshot::{CommandKind, ReviewVerdict};
use decide::{Digest, Person, PluginName};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::fleet::{self, Condition};
use crate::pulls::{BOT, OTHER_BOT, OWNERS, STRANGER, WRITER};
use crate::scenario::{Happening, Opinion};
use crate::world::{Absence, Due, Published, Spot, World};

fn minutes(minutes: u64) -> SignedDuration {
    SignedDuration::from_mins(minutes as i64)
}

pub fn befall(world: &mut World, happening: Happening) {
    if !matches!(happening, Happening::Ring) {
        world.note(format!("{happening:?}"));
    }
    let until = |minutes: u64| Some(world.now + SignedDuration::from_mins(minutes as i64));
    match happening {
        Happening::Publish { plugin, version, quality, marked_breaking } => {
            let release = Published::new(&plugin, version.parse().unwrap(), quality, marked_breaking);
            world.publish(&plugin, release);
        }
        Happening::Retag { plugin, version } => retag(world, &plugin, &version),
        Happening::Review { plugin, tier, what } => review(world, &(plugin, tier), what),
        Happening::Hold { plugin, tier } => {
            command(world, &(plugin, tier), CommandKind::Hold { why: "wait".to_string() })
        }
        Happening::Resume { plugin, tier } => command(world, &(plugin, tier), CommandKind::Resume),
        Happening::Close { plugin, tier } => {
            if let Some(number) = world.open_pull(&(plugin, tier)).map(|pull| pull.number) {
                world.close(number, OWNERS[0]);
            }
        }
        Happening::PushToBranch { plugin, tier } => {
            if let Some(number) = world.open_pull(&(plugin, tier)).map(|pull| pull.number) {
                push_to_branch(world, number);
            }
        }
        Happening::MergeByHand { plugin, tier } => {
            if let Some(number) = world.open_pull(&(plugin, tier)).map(|pull| pull.number) {
                merge_by_hand(world, number);
            }
        }
        Happening::Draft { plugin, tier, on } => {
            let now = world.now;
            if let Some(number) = world.open_pull(&(plugin, tier)).map(|pull| pull.number) {
                let pull = world.pull_mut(number).unwrap();
                pull.remember(now);
                pull.draft = on;
            }
        }
        Happening::CommitByHand { plugin, tier, back } => commit_by_hand(world, &(plugin, tier), back),
        Happening::Freeze { tier, hours } => {
            let end = world.now + minutes(hours * 60);
            let why = format!("freeze of {}", world.now);
            let ends_itself = hours % 2 == 0;
            let freeze = Freeze {
                why: why.clone(),
                by: Some(Person::from(OWNERS[0])),
                tiers: tier.into_iter().collect(),
                until: ends_itself.then_some(end),
                ..Freeze::default()
            };
            world.policy.freezes.push(freeze);
            world.policy_commit += 1;
            if !ends_itself {
                world.schedule(end, Due::Unfreeze { why });
            }
        }
        Happening::DropForce { tier } => {
            for plugin in &mut world.policy.plugins {
                plugin.tiers.iter_mut().filter(|known| known.name == tier).for_each(|tier| tier.force = None);
            }
            world.policy_commit += 1;
        }
        Happening::BreakPolicy { hours } => {
            world.policy_broken = true;
            world.schedule(world.now + minutes(hours * 60), Due::MendPolicy);
        }
        Happening::Flap { cluster, minutes } => fleet::disturb(world, &cluster, minutes, Condition::Degraded),
        Happening::Suspend { cluster, minutes } => fleet::disturb(world, &cluster, minutes, Condition::Suspended),
        Happening::Vanish { cluster, minutes: length, stale } => {
            let absence = Absence { until: world.now + minutes(length), stale_since: stale.then_some(world.now) };
            world.vanished.insert(cluster, absence);
        }
        Happening::Outage { minutes } => world.outage = until(minutes),
        Happening::Lag { minutes, seconds } => {
            world.lag = until(minutes).map(|until| (until, SignedDuration::from_secs(seconds as i64)));
        }
        Happening::Skew { minutes } => world.skew = until(minutes),
        Happening::NoRegistry { minutes } => world.no_registry = until(minutes),
        Happening::NoInventory { minutes } => world.no_inventory = until(minutes),
        Happening::Ring => {}
    }
}

fn retag(world: &mut World, plugin: &PluginName, version: &str) {
    let version: Version = version.parse().unwrap();
    let release = world.releases.get_mut(plugin).unwrap().get_mut(&version);
    if let Some(release) = release {
        release.retagged = true;
        release.shown.digest = Some(Digest::new(format!("sha256:{:064x}", 0xbad)));
    }
}

fn review(world: &mut World, spot: &Spot, what: Opinion) {
    let now = world.now;
    let mut luck = world.luck(&["opinion", spot.0.as_str(), spot.1.as_str(), &now.to_string()]);
    let Some(number) = world.open_pull(spot).map(|pull| pull.number) else { return };
    let pull = world.pull_mut(number).unwrap();
    match what {
        Opinion::Approve => pull.review(now, luck.name(&OWNERS), ReviewVerdict::Approved),
        Opinion::RequestChanges => pull.review(now, luck.name(&[OWNERS[1], WRITER]), ReviewVerdict::ChangesRequested),
        Opinion::TakeBack => {
            if let Some(last) = pull.reviews.last().map(|review| review.by.to_string()) {
                pull.review(now, &last, ReviewVerdict::Dismissed);
            }
        }
        Opinion::Noise => {
            let verdict = *luck.pick(&[ReviewVerdict::Approved, ReviewVerdict::Approved, ReviewVerdict::Commented]);
            pull.review(now, luck.name(&[STRANGER, OTHER_BOT, BOT, WRITER]), verdict);
        }
    }
}

fn command(world: &mut World, spot: &Spot, what: CommandKind) {
    let now = world.now;
    if let Some(number) = world.open_pull(spot).map(|pull| pull.number) {
        world.pull_mut(number).unwrap().command(now, WRITER, what);
    }
}

pub fn push_to_branch(world: &mut World, number: u64) {
    let (head, now) = (world.new_commit(), world.now);
    let pull = world.pull_mut(number).unwrap();
    pull.remember(now);
    pull.head = head.clone();
    pull.head_at = now;
    pull.ours = false;
    world.note(format!("{WRITER} pushes {} to the branch of #{number}", &head[..7]));
    world.new_head(number, head);
}

fn merge_by_hand(world: &mut World, number: u64) {
    let pull = world.pulls.iter().find(|pull| pull.number == number).unwrap();
    if !pull.conflicts(world) {
        world.merge(number, OWNERS[0]);
    }
}

/// Somebody writes a version to the base branch, past every pull request.
fn commit_by_hand(world: &mut World, spot: &Spot, back: bool) {
    let present = world.base[spot].iter().map(|place| place.version.clone()).max().unwrap();
    let accepted = world.accepted(&spot.0);
    let choice = if back { accepted.into_iter().filter(|v| *v < present).max() } else { accepted.into_iter().max() };
    let Some(version) = choice else { return };
    let mut luck = world.luck(&["by hand", spot.0.as_str(), spot.1.as_str(), &world.now.to_string()]);
    let only_one = luck.chance(30);
    let versions: Vec<Version> = world.base[spot]
        .iter()
        .enumerate()
        .map(|(index, place)| if only_one && index > 0 { place.version.clone() } else { version.clone() })
        .collect();
    world.note(format!("{WRITER} commits {} {version} to {} by hand", spot.0, spot.1));
    world.commit(spot, &versions, false);
}

/// A stranger, an App, the bot itself, or somebody who owns nothing approves.
pub fn approve_in_vain(world: &mut World, number: u64, head: &str) {
    let (now, mut luck) = (world.now, world.luck(&["in vain", head]));
    if let Some(pull) = world.pull_mut(number).filter(|pull| pull.is_open() && pull.head == head) {
        pull.review(now, luck.name(&[STRANGER, OTHER_BOT, BOT, WRITER]), ReviewVerdict::Approved);
    }
}

/// A reviewer comes to a head that is still there, and likes it.
pub fn look_at(world: &mut World, number: u64, head: &str) {
    let now = world.now;
    if let Some(pull) = world.pull_mut(number).filter(|pull| pull.is_open() && pull.head == head) {
        pull.review(now, OWNERS[0], ReviewVerdict::Approved);
        pull.review(now, OWNERS[1], ReviewVerdict::Approved);
        world.note(format!("both owners approve #{number}"));
    }
}

/// In calm times people answer at once: they approve, acknowledge, and merge what is theirs to merge.
pub fn answer_at_once(world: &mut World, number: u64) {
    let now = world.now;
    let Some(pull) = world.pull_mut(number).filter(|pull| pull.is_open()) else { return };
    if pull.reviews.iter().any(|review| review.by.as_str() == WRITER) {
        pull.review(now, WRITER, ReviewVerdict::Dismissed);
    }
    pull.review(now, OWNERS[0], ReviewVerdict::Approved);
    pull.review(now, OWNERS[1], ReviewVerdict::Approved);
    let version = pull.version.to_string().parse().unwrap();
    pull.command(now, WRITER, CommandKind::Acknowledge { version });
    let (spot, version) = (pull.spot.clone(), pull.version.clone());
    world.note(format!("both owners approve #{number}"));
    let from = world.base[&spot].iter().map(|place| place.version.clone()).min().unwrap();
    let tier = world.tier(&spot).clone();
    if who_merges(&tier, &from, &version) == Merge::Manual {
        merge_by_hand(world, number);
    }
}

/// At the beginning of the calm: what people left half done is brought to an end.
pub fn settle_open_business(world: &mut World) {
    let now = world.now;
    let open: Vec<u64> = world.pulls.iter().filter(|pull| pull.is_open()).map(|pull| pull.number).collect();
    for number in open {
        let pull = world.pull_mut(number).unwrap();
        pull.remember(now);
        pull.draft = false;
        pull.check = Some(true);
        pull.command(now, WRITER, CommandKind::Resume);
        if pull.ours {
            answer_at_once(world, number);
        } else {
            world.close(number, OWNERS[0]);
        }
    }
}

/// The tier's merge rule for a step, by the numbers that change.
pub fn who_merges(tier: &Tier, from: &Version, to: &Version) -> Merge {
    if from.major != to.major {
        tier.merge.major
    } else if from.minor != to.minor {
        tier.merge.minor
    } else {
        tier.merge.patch
    }
}

impl World {
    /// Versions that the policy takes: inside the constraint of these worlds (`<3.0.0`), no pre-release.
    pub fn accepted(&self, plugin: &PluginName) -> Vec<Version> {
        let policy = self.policy.plugins.iter().find(|known| known.name == *plugin).unwrap();
        let bound = if policy.constraint.is_some() { 3 } else { u64::MAX };
        let releases = self.releases[plugin].keys();
        releases.filter(|version| version.pre.is_empty() && version.major < bound).cloned().collect()
    }

    pub fn tier(&self, spot: &Spot) -> &Tier {
        let plugin = self.policy.plugins.iter().find(|plugin| plugin.name == spot.0).unwrap();
        plugin.tiers.iter().find(|tier| tier.name == spot.1).unwrap()
    }

    /// Whether a fault that lasts until some instant still lasts.
    pub fn lasts(&self, until: Option<Timestamp>) -> bool {
        until.is_some_and(|until| self.now < until)
    }
}
