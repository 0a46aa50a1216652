//! Which pull request is whose, whom a climb has lost, and which look says something.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::ledger::{Failed, Head, Landed, Superseded};
use crate::plan::Urgency;
use crate::snapshot::{Cluster, Health, Read, Reading, Snapshot};
use crate::testing::*;
use crate::{PullNumber, Sha};
use alloc::vec;

/// What the plan notes of bronze.
fn noted(world: &Snapshot) -> Vec<Change> {
    let entries = crate::plan(world, noon()).entries.into_iter();
    let of_bronze = entries.filter_map(|record| match record.entry {
        Entry::Wave { tier, change, .. } if tier.as_str() == "bronze" => Some(change),
        _ => None,
    });
    of_bronze.collect()
}

fn announced(world: &Snapshot) -> Option<u64> {
    noted(world).into_iter().find_map(|change| match change {
        Change::Announced(announced) => Some(announced.number.0),
        _ => None,
    })
}

fn rejects(world: &Snapshot) -> bool {
    noted(world).iter().any(|change| matches!(change, Change::Rejected(_)))
}

fn waves(world: &mut Snapshot) -> &mut Vec<Wave> {
    world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap()
}

fn pulls(world: &mut Snapshot) -> &mut Vec<Pull> {
    match &mut facts(world).pulls {
        Read::Known(pulls) => pulls,
        Read::Unread(_) => unreachable!(),
    }
}

/// The intent of 1.1.0 is half an hour old, and nobody has seen its pull request yet.
fn intended() -> Snapshot {
    let mut world = ready();
    waves(&mut world).last_mut().unwrap().pull = None;
    world
}

fn by(name: &str, minutes: i64) -> PullState {
    PullState::Closed { at: ago(minutes), by: Some(name.into()) }
}

#[test]
fn a_release_is_seen_once_however_often_it_is_listed() {
    let mut world = ready();
    let listed = ["1.3.0", "v1.2.0", "1.0.0", "1.1.0", "1.2.0"];
    facts(&mut world).releases = Read::Known(listed.map(release).into());
    let seen: Vec<_> = crate::plan(&world, noon())
        .entries
        .into_iter()
        .filter_map(|record| match record.entry {
            Entry::Seen { seen, .. } => Some(seen.version.as_str().into()),
            _ => None,
        })
        .collect::<Vec<alloc::string::String>>();
    assert_eq!(seen, ["1.2.0", "1.3.0"]);
}

#[test]
fn the_pull_request_of_a_wave_is_the_one_that_holds_its_commit() {
    let mut world = intended();
    assert_eq!(announced(&world), Some(7));
    // Another one of the tier is older than the intent, though its number is not.
    pulls(&mut world).push(Pull { number: PullNumber(9), head: "eeeeeeeeee".into(), opened_at: ago(90), ..pull() });
    assert_eq!(announced(&world), Some(7));
}

/// Somebody pushed to it before we saw it: it was opened since the intent, and author and branch were checked.
#[test]
fn one_that_somebody_pushed_to_is_known_by_its_time() {
    let closed = |opened: jiff::Timestamp| {
        let mut world = intended();
        let shown = Pull { head: "eeeeeeeeee".into(), opened_at: opened, state: by("maria", 1), ..pull() };
        *pulls(&mut world) = vec![shown];
        (announced(&world), rejects(&world))
    };
    assert_eq!(closed(ago(29)), (Some(7), true));
    assert_eq!(closed(ago(30)), (Some(7), true), "in that very second");
    assert_eq!(closed(ago(30) - SignedDuration::from_secs(1)), (None, false), "it was there before");
}

/// The pull request was opened for 1.0.5, moved to 1.1.0, pushed to and closed by maria before we saw it moved.
fn moved() -> Snapshot {
    let mut world = intended();
    let waves = waves(&mut world);
    waves[0].pull = Some(Announced { number: PullNumber(5), at: ago(900) });
    let mut older = Wave::begun(version("1.0.5"), waves[0].members.clone(), ago(50));
    older.pull = Some(Announced { number: PullNumber(7), at: ago(50) });
    *older.rewrite().superseded = Some(Superseded { at: ago(31), by: version("1.1.0") });
    waves.insert(1, older);
    let shown = Pull { head: "eeeeeeeeee".into(), opened_at: ago(50), state: by("maria", 1), ..pull() };
    let other = Pull { number: PullNumber(8), head: "ffffffffff".into(), ..shown.clone() };
    *pulls(&mut world) = vec![shown, other];
    world
}

#[test]
fn a_pull_request_that_was_moved_is_known_whatever_its_head_is() {
    assert_eq!((announced(&moved()), rejects(&moved())), (Some(7), true));
    type Case = (&'static str, fn(&mut Snapshot));
    let cases: [Case; 3] = [
        ("it was moved to another release", |w| {
            *waves(w)[1].rewrite().superseded = Some(Superseded { at: ago(31), by: version("1.0.9") })
        }),
        ("what it held before has landed", |w| {
            *waves(w)[1].rewrite().landed = Some(Landed { at: ago(40), commit: None, by: None });
        }),
        ("we closed it ourselves", |w| pulls(w)[0].state = by(BOT, 1)),
    ];
    for (name, change) in cases {
        let mut world = moved();
        change(&mut world);
        assert_eq!((announced(&world), rejects(&world)), (None, false), "{name}");
    }
}

/// A ledger that was rolled back has forgotten what is open.
#[test]
fn what_is_open_and_nobodys_belongs_to_the_climb() {
    let known = |opened: jiff::Timestamp, claimed_by_older: Option<u64>| {
        let mut world = intended();
        waves(&mut world)[0].pull =
            claimed_by_older.map(|number| Announced { number: PullNumber(number), at: ago(90) });
        edit(&mut world, |pull| (pull.head, pull.opened_at) = ("eeeeeeeeee".into(), opened));
        announced(&world)
    };
    let earliest = ago(30) - SignedDuration::from_hours(1);
    assert_eq!(known(ago(60), None), Some(7));
    assert_eq!(known(ago(60), Some(5)), Some(7), "another one is another's");
    assert_eq!(known(ago(60), Some(7)), None, "it is another's");
    assert_eq!(known(earliest, None), Some(7), "clocks differ by so much");
    assert_eq!(known(earliest - SignedDuration::from_secs(1), None), None);
}

/// bronze-2 belongs to the tier no more.
#[test]
fn who_leaves_is_noted_where_it_matters() {
    let left = |change: fn(&mut Snapshot)| {
        let mut world = landed(vec![healthy("1.1.0")]);
        for wave in waves(&mut world).iter_mut() {
            wave.members = vec!["bronze-1".into(), "bronze-2".into()].into();
        }
        change(&mut world);
        let entries = crate::plan(&world, noon()).entries.into_iter();
        let left = entries.filter_map(|record| match record.entry {
            Entry::Wave { version, change: Change::Left { clusters }, .. } => {
                Some((version.as_str().into(), clusters.len()))
            }
            _ => None,
        });
        left.collect::<Vec<(alloc::string::String, usize)>>()
    };
    assert_eq!(left(|_| {}), [("1.1.0".into(), 1)], "1.0.0 has finished and runs no more");
    assert_eq!(left(|w| *waves(w)[1].rewrite().finished = Some(ago(1))), [("1.1.0".into(), 1)], "it finished and runs");
    let failed: fn(&mut Snapshot) = |w| {
        *waves(w)[1].rewrite().failed = Some(Failed { at: ago(1), why: Reason::NotLanded });
    };
    assert_eq!(left(failed), [], "nothing comes of a failed one");
    assert_eq!(left(|w| waves(w)[1].left = vec!["bronze-2".into()]), [], "it is known");
}

/// Health is judged of what is on the base branch, and only of that.
#[test]
fn only_what_is_there_is_judged() {
    let failed = || vec![Reading { health: Health::Failed, running: None, ..healthy("1.1.0") }];
    let mut world = ready();
    facts(&mut world).readings.insert("bronze-1".into(), failed());
    assert!(merges(&crate::plan(&world, noon())), "what ails has not moved yet: {:?}", noted(&world));
    let mut world = landed(vec![healthy("1.1.0")]);
    let converges = |world: &Snapshot| noted(world).iter().any(|change| matches!(change, Change::Converged(_)));
    assert!(converges(&world));
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.get_mut(&"bronze".into()).unwrap()[0].version = Read::Unread("503".into());
    assert!(!converges(&world), "nobody knows what the base branch holds");
}

/// A decision rests on a transition; what a soak has counted may be counted once more.
#[test]
fn only_the_movement_of_a_soak_may_reach_the_branch_later() {
    let world = landed(vec![healthy("1.1.0")]);
    let entries = crate::plan(&world, noon()).entries.into_iter();
    let urgencies = entries.filter_map(|record| match record.entry {
        Entry::Wave { change: Change::Converged(_), .. } => Some(("converged", record.urgency)),
        Entry::Wave { change: Change::Soaked(_), .. } => Some(("soaked", record.urgency)),
        _ => None,
    });
    let expected = [("converged", Urgency::Transition), ("soaked", Urgency::Progress)];
    assert_eq!(urgencies.collect::<Vec<_>>(), expected);
}

/// A shelved climb of another release has nobody left to lose.
#[test]
fn nobody_leaves_what_was_superseded() {
    let mut world = ready();
    let mut older = Wave::begun(version("1.0.5"), vec!["gone-1".into()].into(), ago(50));
    older.heads = vec![Head { commit: Sha::from("99"), at: ago(50), repeats: false }];
    *older.rewrite().superseded = Some(Superseded { at: ago(31), by: version("1.1.0") });
    waves(&mut world).insert(1, older);
    let cluster = |name: &str, world: &Snapshot| Cluster {
        name: name.into(),
        labels: world.clusters.known().unwrap()[1].labels.clone(),
    };
    let one = cluster("bronze-9", &world);
    if let Read::Known(clusters) = &mut world.clusters {
        clusters.push(one);
    }
    assert!(!noted(&world).iter().any(|change| matches!(change, Change::Left { .. })), "{:?}", noted(&world));
}
