//! Plugins whose pull requests for bronze are all approved, where branches have to be up to date.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::ledger::Head;
use crate::model::Hotfix;
use crate::testing::*;
use crate::{Action, PluginPolicy, Reason, Sha};

/// Opened so many minutes ago, in the order of the file. Their numbers are #1, #2 and so on.
fn world(opened: &[(&str, i64)]) -> Snapshot {
    let mut world = ready();
    let policy = world.policy.plugins.remove(0);
    let facts = world.plugins.remove(&policy.name).unwrap();
    let page = world.ledger.plugins.remove(&policy.name).unwrap();
    for (number, (name, minutes)) in (1..).zip(opened) {
        let name = PluginName::from(*name);
        world.policy.plugins.push(PluginPolicy { name: name.clone(), ..policy.clone() });
        world.plugins.insert(name.clone(), facts.clone());
        world.ledger.plugins.insert(name.clone(), page.clone());
        let head = Sha::from(format!("{number:010}").as_str());
        let own = pull_of(&mut world, name.as_str());
        (own.number, own.opened_at, own.head) = (PullNumber(number), ago(*minutes), head.clone());
        own.reviews[0].commit = head.clone();
        let wave = wave_of(&mut world, name.as_str());
        wave.pull.as_mut().unwrap().number = PullNumber(number);
        wave.heads[0].commit = head;
    }
    world
}

fn pull_of<'a>(world: &'a mut Snapshot, name: &str) -> &'a mut Pull {
    match &mut world.plugins.get_mut(&name.into()).unwrap().pulls {
        Read::Known(pulls) => &mut pulls[0],
        Read::Unread(_) => unreachable!(),
    }
}

fn wave_of<'a>(world: &'a mut Snapshot, name: &str) -> &'a mut Wave {
    let page = world.ledger.plugins.get_mut(&name.into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap()
}

/// It was brought up to date so many minutes ago, and a check of it runs.
fn bring_up(world: &mut Snapshot, name: &str, minutes: i64) {
    let commit = Sha::from(format!("up{minutes:08}").as_str());
    wave_of(world, name).heads.push(Head { commit: commit.clone(), at: ago(minutes), repeats: true });
    let pull = pull_of(world, name);
    (pull.head, pull.strict) = (commit, true);
    pull.checks = Read::Known(vec![RequiredCheck { name: "e2e".to_string(), state: CheckState::Pending }]);
}

fn green_checks(world: &mut Snapshot, name: &str) {
    pull_of(world, name).checks = Read::Known(Vec::new());
}

fn make_hotfix(world: &mut Snapshot, name: &str) {
    let policy = world.policy.plugins.iter_mut().find(|policy| policy.name.as_str() == name).unwrap();
    let (version, why) = (version("1.1.0"), "CVE".to_string());
    policy.hotfixes = vec![Hotfix { version, why, soak: None, through_windows: false }];
}

/// What is done, to which plugin, in the order of the plan.
fn done(world: &Snapshot) -> Vec<String> {
    let done = |action: &Action| match action {
        Action::Merge { plugin, .. } => Some(format!("merge {plugin}")),
        Action::Update { proposal, .. } => Some(format!("bring up {}", proposal.plugin)),
        _ => None,
    };
    crate::plan(world, noon()).actions.iter().filter_map(done).collect()
}

/// Whoever stands first in the file does not come up first, hour after hour.
#[test]
fn the_oldest_of_those_that_are_behind_comes_up_first() {
    let behind = |change: fn(&mut Snapshot)| {
        let mut world = world(&[("one", 10), ("two", 20), ("three", 15)]);
        ["one", "two", "three"].iter().for_each(|name| pull_of(&mut world, name).behind = Read::Known(true));
        change(&mut world);
        done(&world)
    };
    assert_eq!(behind(|_| {}), ["bring up two"]);
    assert_eq!(behind(|world| pull_of(world, "two").reviews.clear()), ["bring up three"], "it waits for people");
    assert_eq!(behind(|world| make_hotfix(world, "one")), ["bring up one"]);
    assert!(
        behind(|world| {
            pull_of(world, "one").behind = Read::Known(false);
            bring_up(world, "one", 1)
        })
        .is_empty()
    );
    // Whoever is up to date merges, and then all others are behind once more.
    assert_eq!(behind(|world| pull_of(world, "three").behind = Read::Known(false)), ["merge three"]);
}

#[test]
fn nobody_merges_past_the_one_that_was_brought_up_to_date() {
    let with = |change: fn(&mut Snapshot)| {
        let mut world = world(&[("one", 10), ("two", 20)]);
        bring_up(&mut world, "two", 5);
        change(&mut world);
        done(&world)
    };
    let nothing: [&str; 0] = [];
    assert_eq!(with(|_| {}), nothing, "a check of it runs");
    let green: fn(&mut Snapshot) = |world| green_checks(world, "two");
    assert_eq!(with(green), ["merge two"], "the next one at the next look");
    assert_eq!(with(|world| make_hotfix(world, "one")), ["merge one"]);
    let urgent: fn(&mut Snapshot) = |world| {
        green_checks(world, "two");
        make_hotfix(world, "two");
    };
    assert_eq!(with(urgent), ["merge two"], "past a hotfix neither");
    let waits: fn(&mut Snapshot) = |world| pull_of(world, "two").draft = true;
    assert_eq!(with(waits), ["merge one"], "it waits for people");
    let free: fn(&mut Snapshot) = |world| {
        green_checks(world, "two");
        pull_of(world, "two").strict = false;
    };
    assert_eq!(with(free), ["merge one", "merge two"], "no rule wants branches up to date");
    // A head that was written for the first time was not brought up; others were not asked to wait.
    assert_eq!(with(|world| wave_of(world, "two").heads[1].repeats = false), ["merge one"]);
    // For an hour and no longer, however often it is brought up.
    assert_eq!(with(|world| wave_of(world, "two").heads[1].at = ago(60)), ["merge one"]);
    let again: fn(&mut Snapshot) = |world| {
        wave_of(world, "two").heads[1].at = ago(60);
        bring_up(world, "two", 1);
    };
    assert_eq!(with(again), ["merge one"]);
}

/// Under the cap the oldest are first, and what was brought up to date merges before what has room beside them: they do
/// not wait for each other.
#[test]
fn what_was_brought_up_to_date_has_its_turn_under_the_cap() {
    let with = |cap: u32| {
        let mut world = world(&[("fresh", 10), ("young", 5), ("old", 20), ("older", 30)]);
        bring_up(&mut world, "fresh", 5);
        green_checks(&mut world, "fresh");
        world.policy.limits.clusters_per_hour = Some(cap);
        done(&world)
    };
    assert_eq!(with(2), ["merge old", "merge older"], "they were opened first, and then there is room for nobody");
    assert_eq!(with(3), ["merge fresh"], "the others have room beside it, at the next look");
    assert_eq!(with(4), ["merge fresh"]);
}

#[test]
fn whom_the_others_let_pass_is_said() {
    let mut world = world(&[("one", 10), ("two", 20)]);
    bring_up(&mut world, "two", 5);
    let plan = crate::plan(&world, noon());
    let one = plan.waves.iter().find(|wave| wave.plugin.as_str() == "one" && wave.tier.as_str() == "bronze").unwrap();
    let blocker = one.blocker().unwrap();
    assert_eq!(blocker.because, Reason::LetsPass { pull: PullNumber(2) });
    assert_eq!(blocker.because.to_string(), "#2 was brought up to date and merges first");
    assert_eq!(blocker.verdict, crate::Verdict::Wait { until: Some(ago(5) + MACHINES) });
    assert_eq!(blocker.because.unblock().unwrap(), "#2, by merging; the others go on after an hour");
    // It stands in the place of what was said of the head, and nothing else is left out.
    let gates = |plan: &crate::Plan| {
        let one = plan.waves.iter().find(|wave| wave.plugin.as_str() == "one" && wave.tier.as_str() == "bronze");
        one.unwrap().findings.iter().map(|finding| finding.gate).collect::<Vec<_>>()
    };
    green_checks(&mut world, "two");
    pull_of(&mut world, "two").strict = false;
    assert_eq!(gates(&plan), gates(&crate::plan(&world, noon())), "as of one that merges");
}

/// Who merges is known only when all were asked, and then who comes up.
#[test]
fn nobody_comes_up_before_it_is_known_what_merges() {
    let behind = |opened: &[(&str, i64)], names: &[&str]| {
        let mut world = world(opened);
        names.iter().for_each(|name| pull_of(&mut world, name).behind = Read::Known(true));
        world
    };
    let mut past = behind(&[("up", 10), ("behind", 12), ("fresh", 20)], &["behind"]);
    bring_up(&mut past, "fresh", 5);
    green_checks(&mut past, "fresh");
    assert_eq!(done(&past), ["merge fresh"]);
    // Four clusters at once for the one that was opened first.
    let mut capped = behind(&[("young", 5), ("two", 10), ("three", 20), ("old", 30)], &["two", "three"]);
    let Read::Known(clusters) = &mut capped.clusters else { unreachable!() };
    for name in ["bronze-2", "bronze-3", "bronze-4"] {
        clusters.push(crate::snapshot::Cluster { name: name.into(), ..clusters[1].clone() });
    }
    wave_of(&mut capped, "old").members = clusters[1..].iter().map(|cluster| cluster.name.clone()).collect();
    capped.policy.limits.clusters_per_hour = Some(4);
    assert_eq!(done(&capped), ["merge old"]);
    // One cluster was changed lately: nobody merges before there is room for it.
    let landed = crate::ledger::Landed { at: ago(20), commit: None, by: Some(BOT.into()) };
    let change = crate::ledger::Change::Found { members: vec!["qa-9".into()], digest: None, landed };
    let (plugin, tier) = ("dns".into(), "qa".into());
    capped.ledger.apply(&crate::Entry::Wave { plugin, tier, version: version("3.0.0"), change });
    assert_eq!(done(&capped), ["bring up three"]);
}
