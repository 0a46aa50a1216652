//! What somebody puts on the base branch, or takes off it, beside the bot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::ledger::{Merging, Purpose};
use crate::snapshot::{Read, Snapshot};
use crate::testing::*;
use crate::{Entry, WaveState};
use alloc::string::{String, ToString};
use alloc::vec;
use jiff::{SignedDuration, Timestamp};

fn notes(world: &Snapshot, now: Timestamp) -> Vec<(String, Change)> {
    let entries = crate::plan(world, now).entries.into_iter();
    let of_bronze = entries.filter_map(|record| match record.entry {
        Entry::Wave { tier, version, change, .. } if tier.as_str() == "bronze" => Some((version.to_string(), change)),
        _ => None,
    });
    of_bronze.collect()
}

fn waves(world: &mut Snapshot) -> &mut Vec<Wave> {
    world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap()
}

fn base(world: &mut Snapshot, text: &str) {
    facts(world).base = Read::Known([place("qa", "1.1.0"), place("bronze", text)].into());
}

/// 1.1.0 soaks on bronze, and somebody puts something newer there.
#[test]
fn what_is_put_past_a_soaking_release_takes_its_place() {
    let superseded = |change: fn(&mut Snapshot)| {
        let mut world = landed(vec![healthy("1.1.0")]);
        base(&mut world, "1.2.0");
        change(&mut world);
        let by = |change: &Change| match change {
            Change::Superseded(superseded) => Some(superseded.by.to_string()),
            _ => None,
        };
        notes(&world, noon()).iter().find_map(|(version, change)| by(change).filter(|_| version == "1.1.0"))
    };
    assert_eq!(superseded(|_| {}).as_deref(), Some("1.2.0"));
    assert_eq!(superseded(|w| remember(w, Change::Finished(ago(1)))), None, "it had finished");
    assert_eq!(superseded(|w| base(w, "1.1.0")), None);
}

/// The hub says since ten minutes that the pull request is merged, and the base branch does not hold it.
#[test]
fn f26_what_was_merged_and_is_gone_has_failed() {
    let merged = |seconds: i64| {
        let mut world = ready();
        let at = ago(10) + SignedDuration::from_secs(seconds);
        edit(&mut world, |pull| pull.state = PullState::Merged { at, by: BOT.into(), commit: "dd".into() });
        world
    };
    let fails = |seconds: i64, change: fn(&mut Snapshot)| {
        let mut world = merged(seconds);
        change(&mut world);
        let reverted = |change: &Change| match change {
            Change::Failed(failed) => matches!(failed.why, Reason::Reverted { .. }),
            _ => false,
        };
        notes(&world, noon()).iter().any(|(version, change)| version == "1.1.0" && reverted(change))
    };
    assert!(fails(0, |_| {}));
    assert!(!fails(1, |_| {}), "the list may lag behind");
    let alarm = crate::plan(&merged(1), noon()).alarm.map(|alarm| alarm.at);
    assert_eq!(alarm, Some(noon() + SignedDuration::from_secs(1)), "it is looked at again by then");
    assert!(!fails(0, |w| base(w, "1.1.0")), "it is there");
    assert!(!fails(0, |w| edit(w, |pull| pull.state = PullState::Open)), "it was never merged");
    let everybody_left: fn(&mut Snapshot) = |w| {
        if let Read::Known(clusters) = &mut w.clusters {
            clusters[1].name = "bronze-9".into();
        }
    };
    assert!(!fails(0, everybody_left), "of whom nothing can be seen there");
    let unread: fn(&mut Snapshot) = |w| facts(w).base = Read::Unread("503".into());
    assert!(!fails(0, unread));
    let nowhere: fn(&mut Snapshot) = |w| facts(w).base = Read::Known([place("qa", "1.1.0")].into());
    assert!(!fails(0, nowhere), "the tier has no place by which that could be seen");
    let vacant: fn(&mut Snapshot) = |w| {
        let Read::Known(base) = &mut facts(w).base else { unreachable!() };
        let place = &mut base.get_mut(&"bronze".into()).unwrap()[0];
        (place.version, place.vacant) = (Read::Unread("nothing is installed".into()), true);
    };
    assert!(fails(0, vacant), "it was the first one there, and its place is empty again");
}

/// A ledger to which anybody may write says that it finished, and not that it ever landed.
#[test]
fn what_never_landed_was_not_taken_off() {
    let fails = |world: &Snapshot| notes(world, noon()).iter().any(|(_, change)| matches!(change, Change::Failed(_)));
    let mut world = ready();
    remember(&mut world, Change::Finished(ago(60)));
    assert!(!fails(&world));
    remember(&mut world, Change::Landed(Landed { at: ago(90), commit: None, by: None }));
    assert!(fails(&world), "it was there, and 1.0.0 is again");
}

/// 1.1.0 had finished; then 1.2.0 came, failed and was taken back past it to 1.0.0.
#[test]
fn our_own_way_back_is_nobodys_revert() {
    let fails = |of: &str, merging: bool| {
        let mut world = ready();
        edit(&mut world, |pull| {
            pull.state = PullState::Merged { at: ago(300), by: BOT.into(), commit: "dd".into() };
        });
        let all = waves(&mut world);
        let newer = &mut all[1];
        *newer.rewrite().landed = Some(Landed { at: ago(300), commit: None, by: None });
        *newer.rewrite().finished = Some(ago(200));
        let merging = merging.then(|| Merging { head: "back".into(), at: ago(6), base: None, forced: None });
        let mut back = Wave::begun(version("1.0.0"), newer.members.clone(), ago(9));
        (back.merging, back.part.purpose) = (merging, Purpose::RollBack { of: version(of) });
        *back.rewrite().landed = Some(Landed { at: ago(5), commit: None, by: None });
        all.push(back);
        notes(&world, noon()).iter().any(|(version, change)| version == "1.1.0" && matches!(change, Change::Failed(_)))
    };
    assert!(!fails("1.2.0", true));
    assert!(!fails("1.1.0", true), "it was that of this very release");
    assert!(fails("1.0.5", true), "it took back something older");
    assert!(fails("1.2.0", false), "somebody else merged it");
}

/// Of several places one is still another's: that is no climb of ours that landed.
#[test]
fn f23_a_release_lands_when_every_place_holds_it() {
    let mut world = ready();
    base(&mut world, "1.1.0");
    let lands = |world: &Snapshot| notes(world, noon()).iter().any(|(_, change)| matches!(change, Change::Landed(_)));
    assert!(lands(&world));
    let Read::Known(places) = &mut facts(&mut world).base else { unreachable!() };
    places.get_mut(&"bronze".into()).unwrap().extend(place("bronze", "1.0.0").1);
    assert!(!lands(&world));
    let state =
        crate::plan(&world, noon()).waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().state;
    assert!(matches!(state, WaveState::Open { .. }), "{state:?}");
    assert_eq!(vec![lands(&ready())], [false]);
}

/// 1.1.0 and 1.2.0 have finished; the only cluster of the tier leaves it, and comes back with the version of elsewhere.
#[test]
fn who_comes_back_with_an_older_version_takes_nothing_back() {
    let world = |left: bool| {
        let mut world = ready();
        remember(&mut world, Change::Landed(Landed { at: ago(300), commit: None, by: None }));
        remember(&mut world, Change::Finished(ago(200)));
        let all = waves(&mut world);
        let mut newer = Wave::begun(version("1.2.0"), all[1].members.clone(), ago(20));
        *newer.rewrite().landed = Some(Landed { at: ago(19), commit: None, by: None });
        *newer.rewrite().finished = Some(ago(10));
        newer.left = if left { newer.members.to_vec() } else { Vec::new() };
        all.push(newer);
        own_places(&mut world, &[("bronze-1", "1.0.0")]);
        world
    };
    let failed = |left: bool| {
        let fails = |(version, change): &(String, Change)| matches!(change, Change::Failed(_)).then(|| version.clone());
        notes(&world(left), noon()).iter().filter_map(fails).collect::<Vec<_>>()
    };
    assert_eq!(failed(false), ["1.1.0", "1.2.0"], "somebody took both off");
    assert_eq!(failed(true), [""; 0]);
    // That it has left is noted with what ran last, though nothing runs there any more.
    let mut empty = world(false);
    let Read::Known(clusters) = &mut empty.clusters else { unreachable!() };
    clusters.retain(|cluster| cluster.name.as_str() != "bronze-1");
    facts(&mut empty).base = Read::Known([place("qa", "1.1.0")].into());
    let left = |(version, change): &(String, Change)| matches!(change, Change::Left { .. }).then(|| version.clone());
    assert_eq!(notes(&empty, noon()).iter().filter_map(left).collect::<Vec<_>>(), ["1.2.0"]);
}
