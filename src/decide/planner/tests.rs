//! Whose turn it is under what all plugins share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

extern crate std;

mod past;

use alloc::vec;

use super::*;
use crate::ledger::Change;
use crate::model::After;
use crate::snapshot::Read;
use crate::testing::*;
use crate::{Action, PluginPolicy, TierName};

/// Plugins that are all ready to merge on one cluster each, opened so many minutes ago, in the order of the file.
fn under_a_cap(opened: &[(&str, i64)], cap: u32) -> Snapshot {
    let mut world = ready();
    let policy = world.policy.plugins.remove(0);
    let facts = world.plugins.remove(&policy.name).unwrap();
    let page = world.ledger.plugins.remove(&policy.name).unwrap();
    for (name, minutes) in opened {
        let mut facts = facts.clone();
        if let Read::Known(pulls) = &mut facts.pulls {
            pulls[0].opened_at = ago(*minutes);
        }
        let name = PluginName::from(*name);
        world.policy.plugins.push(PluginPolicy { name: name.clone(), ..policy.clone() });
        world.plugins.insert(name.clone(), facts);
        world.ledger.plugins.insert(name, page.clone());
    }
    world.policy.limits.clusters_per_hour = Some(cap);
    world
}

fn merged(world: &Snapshot) -> Vec<PluginName> {
    let merged = |action: &Action| match action {
        Action::Merge { plugin, .. } => Some(plugin.clone()),
        _ => None,
    };
    plan(world, noon()).actions.iter().filter_map(merged).collect()
}

fn wave_of<'a>(world: &'a mut Snapshot, name: &str) -> &'a mut crate::ledger::Wave {
    let page = world.ledger.plugins.get_mut(&name.into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap()
}

/// Whoever stands first in the file does not take the room of an hour, hour after hour.
#[test]
fn what_waits_for_longer_has_the_room_under_the_cap_first() {
    let plugins = [("one", 10), ("two", 20), ("three", 15)];
    assert_eq!(merged(&under_a_cap(&plugins, 3)), ["one".into(), "two".into(), "three".into()]);
    assert_eq!(merged(&under_a_cap(&plugins, 2)), ["two".into(), "three".into()]);
    assert_eq!(merged(&under_a_cap(&plugins, 1)), ["two".into()]);
    // Room is kept for the one that is larger than what is left of the hour, and for nothing that waits for people.
    let kept = |change: fn(&mut Snapshot)| {
        let mut world = under_a_cap(&[("one", 10), ("two", 20)], 2);
        let members = ["bronze-1".into(), "bronze-2".into()];
        wave_of(&mut world, "two").members = Vec::from(members).into();
        let merging = crate::ledger::Merging { head: "ff".into(), at: ago(20), base: None, forced: None };
        let (plugin, tier, version) = ("one".into(), "qa".into(), version("1.1.0"));
        world.ledger.apply(&Entry::Wave { plugin, tier, version, change: Change::Merging(merging) });
        let mut landed =
            world.ledger.plugins[&"one".into()].tiers[&"qa".into()].last().unwrap().landed().cloned().unwrap();
        landed.at = ago(20);
        let (plugin, tier) = ("one".into(), "qa".into());
        let version = crate::testing::version("1.1.0");
        world.ledger.apply(&Entry::Wave { plugin, tier, version, change: Change::Landed(landed) });
        world.clusters = match world.clusters {
            Read::Known(mut clusters) => {
                let labels = clusters.last().unwrap().labels.clone();
                clusters.push(crate::snapshot::Cluster { name: "bronze-2".into(), labels });
                Read::Known(clusters)
            }
            unread @ Read::Unread(_) => unread,
        };
        change(&mut world);
        merged(&world)
    };
    assert!(kept(|_| {}).is_empty());
    let unapproved: fn(&mut Snapshot) = |world| {
        if let Read::Known(pulls) = &mut world.plugins.get_mut(&"two".into()).unwrap().pulls {
            pulls[0].reviews.clear();
        }
    };
    assert_eq!(kept(unapproved), ["one".into()]);
    // A hotfix does not wait for what is older.
    let mut world = under_a_cap(&plugins, 1);
    world.policy.plugins[2].hotfixes =
        vec![crate::model::Hotfix { version: version("1.1.0"), why: "CVE".into(), soak: None, through_windows: false }];
    assert_eq!(merged(&world), ["three".into()]);
}

/// Plugins that want to open 1.2.0 on bronze, where their last pull request was begun so many minutes ago.
fn in_line(begun: &[(&str, i64)], limit: u32) -> Snapshot {
    let mut world = ready();
    let by = version("1.2.0");
    remember(&mut world, Change::Superseded(crate::ledger::Superseded { at: ago(5), by }));
    crate::next_release::tests::finished_above(&mut world);
    facts(&mut world).pulls = Read::Known(vec![]);
    let policy = world.policy.plugins.remove(0);
    let facts = world.plugins.remove(&policy.name).unwrap();
    let page = world.ledger.plugins.remove(&policy.name).unwrap();
    for (name, minutes) in begun {
        let name = PluginName::from(*name);
        world.policy.plugins.push(PluginPolicy { name: name.clone(), ..policy.clone() });
        world.plugins.insert(name.clone(), facts.clone());
        world.ledger.plugins.insert(name.clone(), page.clone());
        wave_of(&mut world, name.as_str()).begun = ago(*minutes);
    }
    world.policy.limits.open_pulls = Some(limit);
    world
}

fn opened(world: &Snapshot) -> Vec<(PluginName, TierName)> {
    let opened = |action: &Action| match action {
        Action::Open(proposal) => Some((proposal.plugin.clone(), proposal.tier.clone())),
        _ => None,
    };
    plan(world, noon()).actions.iter().filter_map(opened).collect()
}

/// Nor does it take the only place under the cap of open pull requests, release after release.
#[test]
fn whose_last_pull_request_is_the_oldest_opens_the_next_one_first() {
    let plugins = [("one", 10), ("two", 20), ("three", 15)];
    let first = |limit: u32, change: fn(&mut Snapshot)| {
        let mut world = in_line(&plugins, limit);
        change(&mut world);
        opened(&world).into_iter().map(|(plugin, _)| plugin).collect::<Vec<_>>()
    };
    assert_eq!(first(3, |_| {}), ["one".into(), "two".into(), "three".into()]);
    assert_eq!(first(2, |_| {}), ["two".into(), "three".into()]);
    assert_eq!(first(1, |_| {}), ["two".into()]);
    assert!(first(0, |_| {}).is_empty());
    // No place is kept for whom something else keeps waiting.
    let waits: fn(&mut Snapshot) = |world| {
        world.policy.plugins[1].after = vec![After { plugin: "one".into(), version: ">=9".parse().ok() }];
    };
    assert_eq!(first(1, waits), ["three".into()]);
    // Who never had one comes before all who had, and a hotfix before everybody.
    assert_eq!(first(1, |world| wave_of(world, "one").heads.clear()), ["one".into()]);
    let hotfix: fn(&mut Snapshot) = |world| {
        let version = version("1.2.0");
        let hotfix = crate::model::Hotfix { version, why: "CVE".into(), soak: None, through_windows: false };
        world.policy.plugins[0].hotfixes = vec![hotfix];
    };
    assert_eq!(first(1, hotfix), ["one".into()]);
    // One that waits for another plugin does not take the place while that one stands in line.
    let after: fn(&mut Snapshot) = |world| {
        world.policy.plugins[1].after = vec![After { plugin: "one".into(), version: None }];
    };
    assert_eq!(first(1, after), ["three".into()]);
}

/// The tiers of one plugin stand in the same line: newer releases on the first one keep nobody above it out.
#[test]
fn a_tier_above_has_its_turn_though_newer_releases_come_below() {
    let opens = |qa: i64, bronze: i64| {
        let mut world = in_line(&[("app", bronze)], 1);
        let text = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];
        facts(&mut world).releases = Read::Known(text.into_iter().map(release).collect());
        let heads = wave_of(&mut world, "app").heads.clone();
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        let last = page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap();
        (last.begun, last.heads) = (ago(qa), heads);
        opened(&world).into_iter().map(|(_, tier)| tier).collect::<Vec<_>>()
    };
    assert_eq!(opens(30, 20), ["qa".into()]);
    assert_eq!(opens(10, 20), ["bronze".into()]);
    assert_eq!(opens(20, 20), ["qa".into()], "from the bottom up");
}
