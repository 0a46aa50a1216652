//! What people do: they release, review, hold, close, push, merge by hand, and edit the policy.

use decide::model::{Freeze, Merge};
use decide::snapshot::{Breaking, BreakingFact, CommandKind, MissingValue, ReviewVerdict};
use decide::{Digest, Person, PluginName, Sha, TierName};
use jiff::SignedDuration;
use semver::Version;

use crate::fleet::{self, Condition};
use crate::pulls::{BOT, OTHER_BOT, OWNERS, PullRequest, STRANGER, WRITER};
use crate::releases::Published;
use crate::scenario::{Happening, Mode, Opinion};
use crate::world::{Absence, Due, Spot, World};

fn minutes(minutes: u64) -> SignedDuration {
    SignedDuration::from_mins(minutes as i64)
}

pub fn befall(world: &mut World, happening: Happening) {
    world.tally.variant("happening", &happening);
    if !matches!(happening, Happening::Ring) {
        world.note(format!("{happening:?}"));
    }
    let now = world.now;
    let until = |minutes: u64| now + SignedDuration::from_mins(minutes as i64);
    match happening {
        Happening::Publish { plugin, version, quality, marked_breaking } => {
            let mut release = Published::new(world, &plugin, version.parse().unwrap(), quality, marked_breaking);
            peculiar(world, &plugin, &mut release);
            crate::words::annotate(world, &plugin, &mut release);
            world.publish(&plugin, release);
        }
        Happening::Retag { plugin, version } => retag(world, &plugin, &version),
        Happening::Yank { plugin, version } => {
            let version: Version = version.parse().unwrap();
            let release = world.releases.get_mut(&plugin).unwrap().get_mut(&version);
            release.into_iter().for_each(|release| release.yanked = true);
        }
        Happening::Review { plugin, tier, what } => review(world, &(plugin, tier), what),
        Happening::Hold { plugin, tier } => {
            command(world, &(plugin, tier), CommandKind::Hold { why: "wait".to_string() })
        }
        Happening::Resume { plugin, tier } => resume(world, &(plugin, tier)),
        Happening::Acknowledge { plugin, tier, right } => acknowledge(world, &(plugin, tier), right),
        Happening::Fail { plugin, tier, allowed } => say_failed(world, &(plugin, tier), allowed),
        Happening::Pin { plugin, cluster, hours } => crate::edits::pin(world, &plugin, &cluster, hours),
        Happening::Range { plugin, tier, hours } => {
            world.ranges.insert((plugin, tier), until(hours * 60));
        }
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
        Happening::Freeze { tier, hours } => freeze(world, tier, hours),
        Happening::EditPolicy { tier, edit } => crate::edits::edit(world, &tier, edit),
        Happening::Overlap { tier, hours } => {
            crate::edits::overlap(world, &tier, true);
            world.schedule(until(hours * 60), Due::EndOverlap { tier });
        }
        Happening::BreakPolicy { hours } => {
            world.policy_broken = true;
            world.schedule(until(hours * 60), Due::MendPolicy);
        }
        Happening::Flap { cluster, minutes } => fleet::disturb(world, &cluster, minutes, Condition::Degraded),
        Happening::Suspend { cluster, minutes } => fleet::disturb(world, &cluster, minutes, Condition::Suspended),
        Happening::Vanish { cluster, minutes, stale } => {
            let absence = Absence { until: until(minutes), stale_since: stale.then_some(world.now) };
            world.vanished.insert(cluster, absence);
        }
        Happening::Lie { cluster, minutes, lie } => {
            world.lies.insert(cluster, (until(minutes), lie));
        }
        Happening::Join { cluster, tier } => fleet::join(world, &cluster, &tier),
        Happening::Leave { cluster } => fleet::leave(world, &cluster),
        Happening::Retier { cluster, tier } => fleet::retier(world, &cluster, &tier),
        Happening::Outage { minutes } => world.outage = Some(until(minutes)),
        Happening::Lag { minutes, seconds } => {
            world.lag = Some((until(minutes), SignedDuration::from_secs(seconds as i64)));
        }
        Happening::WrongMissing { plugin, minutes } => world.missing = Some((until(minutes), plugin)),
        Happening::Unreadable { minutes, what } => world.unreadable = Some((until(minutes), what)),
        Happening::Skew { minutes, seconds } => world.skew = Some((until(minutes), seconds)),
        Happening::NoRegistry { minutes } => world.no_registry = Some(until(minutes)),
        Happening::NoInventory { minutes } => world.no_inventory = Some(until(minutes)),
        Happening::LoseLedger { pushes, hours } => {
            world.branch.lose(pushes as usize);
            world.losses += 1;
            world.schedule(until(hours * 20), Due::Confirm { allowed: false });
            world.schedule(until(hours * 60), Due::Confirm { allowed: true });
        }
        Happening::Ring => {}
        said @ (Happening::Hotfix { .. }
        | Happening::Label { .. }
        | Happening::SayForce { .. }
        | Happening::SayHotfix { .. }) => {
            crate::words::befall(world, said);
        }
        rare @ (Happening::FreezeByCommand { .. }
        | Happening::UnfreezeByCommand { .. }
        | Happening::Early { .. }
        | Happening::Expire { .. }
        | Happening::Constrain { .. }
        | Happening::Follow { .. }
        | Happening::MergeAndRevert { .. }
        | Happening::Retarget { .. }
        | Happening::NoDigests { .. }) => crate::rarely::befall(world, rare),
        wrong @ (Happening::RefuseMerges { .. }
        | Happening::FalseYes { .. }
        | Happening::ForgeLedger { .. }
        | Happening::Doctor { .. }
        | Happening::ChangeRules { .. }) => crate::merges::befall(world, wrong),
    }
}

/// What else may be said of a release: its checks, facts that break, values that clusters lack, and the
/// content of the one before.
fn peculiar(world: &World, plugin: &PluginName, release: &mut Published) {
    let mut luck = world.luck(&["peculiar", plugin.as_str(), &release.version.to_string()]);
    let checked = luck.minutes(0, 12 * 60);
    (release.checked, release.green) = (world.now + checked, luck.chance(88));
    release.complete = world.now + crate::releases::complete_after(world, plugin, &release.version);
    let facts = [
        Breaking::OptionRequired { option: "host".to_string() },
        Breaking::OptionRemoved { option: "port".to_string() },
        Breaking::OptionRetyped { option: "replicas".to_string() },
        Breaking::CommitMarked { words: String::new() },
    ];
    if luck.chance(4) {
        release.shown.breaking = vec![BreakingFact { what: luck.pick(&facts).clone(), at: world.now }];
    }
    if luck.chance(4) {
        let cluster = luck.pick(&world.scenario.clusters).name.clone();
        release.shown.missing_values = vec![MissingValue { cluster, option: "host".to_string() }];
    }
    let before = world.releases[plugin].values().rfind(|older| older.version < release.version);
    if let Some(before) = before.filter(|before| luck.chance(4) && !before.retagged) {
        release.shown.digest = before.shown.digest.clone();
        release.first_digest = before.first_digest.clone();
    }
}

/// In calm times the values that releases require are set.
pub fn set_missing_values(world: &mut World) {
    if world.scenario.mode == Mode::Answered {
        let releases = world.releases.values_mut().flat_map(|releases| releases.values_mut());
        releases.for_each(|release| release.shown.missing_values.clear());
    }
}

fn freeze(world: &mut World, tier: Option<TierName>, hours: u64) {
    let end = world.now + minutes(hours * 60);
    let why = format!("freeze of {}", world.now);
    let ends_itself = hours.is_multiple_of(2);
    let mut luck = world.luck(&["frozen", &why]);
    let plugin = luck.pick(&world.policy.plugins).name.clone();
    let cluster = luck.pick(&world.scenario.clusters).name.clone();
    let (plugins, select) = (luck.chance(25).then_some(plugin), luck.chance(25).then(|| crate::keys::named(&cluster)));
    let freeze = Freeze {
        why: why.clone(),
        by: Some(Person::from(OWNERS[0])),
        tiers: tier.into_iter().collect(),
        plugins: plugins.into_iter().collect(),
        select,
        until: ends_itself.then_some(end),
    };
    world.policy.freezes.push(freeze);
    world.policy_commit += 1;
    if !ends_itself {
        world.schedule(end, Due::Unfreeze { why });
    }
}

/// Somebody acknowledges the release of a pull request, or the one that ran there before.
fn acknowledge(world: &mut World, spot: &Spot, right: bool) {
    let Some(pull) = world.open_pull(spot) else { return };
    let older = world.accepted(&spot.0).into_iter().filter(|known| *known < pull.version).max();
    let named = if right { Some(pull.version.clone()) } else { older };
    if let Some(version) = named {
        command(world, spot, CommandKind::Acknowledge { version: version.to_string().parse().unwrap() });
    }
}

/// Somebody gives up what the ledger branch lost, on the newest pull request.
pub fn give_up_the_lost(world: &mut World, allowed: bool) {
    let now = world.now;
    let (Some(cited), Some(newest)) = (world.branch.lost().pop(), world.pulls.last_mut()) else { return };
    let by = if allowed { OWNERS[0] } else { STRANGER };
    newest.command(now, by, CommandKind::Rebuild { cited: cited.short().to_string() });
    world.note(format!("{by} gives up the lost ledger commit {}", cited.short()));
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

/// On the open pull request, or on the last one that was merged: the next slice may go.
pub fn resume(world: &mut World, spot: &Spot) {
    let now = world.now;
    let open = world.open_pull(spot).map(|pull| pull.number);
    let last = world.pulls.iter().rfind(|pull| pull.spot == *spot).map(|pull| pull.number);
    if let Some(number) = open.or(last) {
        world.pull_mut(number).unwrap().command(now, WRITER, CommandKind::Resume);
    }
}

/// Somebody says that the release of the newest pull request has failed.
fn say_failed(world: &mut World, spot: &Spot, allowed: bool) {
    let now = world.now;
    let number = world.pulls.iter().rfind(|pull| pull.spot == *spot).map(|pull| pull.number);
    if let Some(number) = number {
        let by = if allowed { OWNERS[0] } else { STRANGER };
        let what = CommandKind::Fail { why: "it breaks billing".to_string() };
        world.pull_mut(number).unwrap().command(now, by, what);
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
    let pusher = *world.luck(&["push", &head]).pick(&[WRITER, OWNERS[1]]);
    let pull = world.pull_mut(number).unwrap();
    pull.remember(now);
    pull.head = head.clone();
    pull.head_at = now;
    pull.ours = false;
    pull.last_pusher = pusher;
    world.note(format!("{pusher} pushes {} to the branch of #{number}", &head[..7]));
    world.new_head(number, head);
}

/// Of what people push every other commit leaves the versions alone, as whoever sets a value does.
pub fn added_to(world: &World, pull: &PullRequest) -> Option<Sha> {
    let added = !pull.ours && world.luck(&["added", &pull.head]).chance(50);
    pull.bot_heads.last().filter(|_| added).map(|ours| Sha::from(ours.as_str()))
}

pub fn merge_by_hand(world: &mut World, number: u64) {
    let pull = world.pulls.iter().find(|pull| pull.number == number).unwrap();
    if !pull.conflicts(world) && !pull.misplaced {
        world.merge(number, OWNERS[0]);
    }
}

/// Somebody writes a version to the base branch, past every pull request.
fn commit_by_hand(world: &mut World, spot: &Spot, back: bool) {
    let present = world.base[spot].iter().map(|place| place.version.clone()).max();
    let mut accepted = world.accepted(&spot.0);
    accepted.retain(|version| !back || present.as_ref().is_some_and(|present| version < present));
    let choice = accepted.into_iter().max();
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
    if luck.chance(50) {
        world.install(spot, &version, false, |_| !only_one);
    }
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
    if world.is_calm() && world.scenario.mode == Mode::Silent {
        return; // nobody answers any more
    }
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
    crate::words::unblock(pull, now);
    OWNERS.iter().for_each(|owner| pull.review(now, owner, ReviewVerdict::Approved));
    let (spot, held) = (pull.spot.clone(), pull.version.clone());
    let version = pull.version.to_string().parse().unwrap();
    pull.command(now, WRITER, CommandKind::Acknowledge { version });
    world.note(format!("both owners approve #{number}"));
    if world.release(&spot.0, &held).is_some_and(|release| release.yanked) {
        world.close(number, OWNERS[0]); // a release that is no longer published goes nowhere
    } else if world.rule_of(number) == Merge::Manual {
        merge_by_hand(world, number);
    }
}

/// At the beginning of the calm: what people left half done is brought to an end.
pub fn settle_open_business(world: &mut World) {
    let now = world.now;
    raise_the_cap(world);
    let spots: Vec<Spot> = world.base.keys().cloned().collect();
    spots.iter().for_each(|spot| world.resume_later(spot));
    let open: Vec<u64> = world.pulls.iter().filter(|pull| pull.is_open()).map(|pull| pull.number).collect();
    for number in open {
        let pull = world.pull_mut(number).unwrap();
        pull.remember(now);
        (pull.draft, pull.labelled) = (false, false);
        pull.check = Some(true);
        pull.command(now, WRITER, CommandKind::Resume);
        let (ours, spot, version) = (pull.ours, pull.spot.clone(), pull.version.clone());
        // What is no longer published goes nowhere; nor does what the bot forgot with its ledger.
        let gone = world.release(&spot.0, &version).is_none_or(|release| release.yanked) || world.losses > 0;
        if ours && !gone {
            answer_at_once(world, number);
        } else {
            world.close(number, OWNERS[0]);
        }
    }
}

/// A tier that grew beyond the hourly cap of clusters waits for whoever edits the file: here somebody does.
fn raise_the_cap(world: &mut World) {
    let tiers = world.scenario.tiers().iter().map(|tier| world.members(&tier.name).len());
    let open = world.pulls.iter().filter(|pull| pull.is_open()).map(|pull| pull.members.len());
    let largest = tiers.chain(open).max().unwrap_or(1) as u32;
    let cap = &mut world.policy.limits.clusters_per_hour;
    *cap = cap.map(|cap| cap.max(largest));
}
