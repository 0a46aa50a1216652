//! Where the clusters of a tier do not all run what failed.

use super::*;
use crate::snapshot::{Cluster, Place};

/// The clusters that bronze has, each with a place of its own that holds this version.
fn holds(world: &mut Snapshot, all: &[(&str, &str)]) {
    let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
    let first = clusters.remove(1);
    clusters.extend(all.iter().map(|(name, _)| Cluster { name: (*name).into(), ..first.clone() }));
    let place = |(name, text): &(&str, &str)| Place {
        file: alloc::format!("clusters/{name}/app.yaml"),
        cluster: Some((*name).into()),
        ..place("bronze", text).1.remove(0)
    };
    let Read::Known(base) = &mut facts(world).base else { unreachable!() };
    base.insert("bronze".into(), all.iter().map(place).collect());
}

/// A cluster joined, or its pin ended, with what ran before; or somebody restored one of those that had moved.
#[test]
fn it_comes_for_those_that_had_moved() {
    let opens = |second: &str, members: &[&str]| {
        let mut world = failing();
        last(&mut world).members = members.iter().map(|name| (*name).into()).collect();
        holds(&mut world, &[("bronze-1", "1.1.0"), ("bronze-2", second)]);
        facts(&mut world).readings.insert("bronze-2".into(), vec![healthy(second)]);
        super::opens(&world).map(|proposal| (proposal.to.to_string(), proposal.members.len()))
    };
    assert_eq!(opens("1.0.0", &["bronze-1"]), Some(("1.0.0".to_string(), 1)));
    assert_eq!(opens("1.1.0", &["bronze-1", "bronze-2"]), Some(("1.0.0".to_string(), 2)));
    assert_eq!(opens("1.0.0", &["bronze-1", "bronze-2"]), None);
}

/// While it is open a cluster comes with what ran before, one is restored, or all of them are, or leave.
#[test]
fn it_goes_on_as_long_as_it_has_something_to_take_back() {
    let plan = |all: &[(&str, &str)]| {
        let mut world = open(Merge::Automatic);
        last(&mut world).members = ["bronze-1".into(), "bronze-3".into()].into_iter().collect();
        holds(&mut world, all);
        crate::plan(&world, noon())
    };
    let failed = ("bronze-1", "1.1.0");
    assert!(merges(&plan(&[failed, ("bronze-2", "1.0.0"), ("bronze-3", "1.1.0")])));
    assert!(merges(&plan(&[failed, ("bronze-2", "0.9.0"), ("bronze-3", "1.0.0")])));
    let cases = [
        ("another version on one, and the other restored", vec![("bronze-1", "0.9.0"), ("bronze-3", "1.0.0")]),
        ("a newer one on somebody", vec![failed, ("bronze-2", "1.2.0"), ("bronze-3", "1.1.0")]),
        ("all have left", vec![("bronze-2", "1.1.0")]),
    ];
    for (name, all) in cases {
        let plan = plan(&all);
        assert!(matches!(plan.actions[..], [Action::Close { pull: PullNumber(8), .. }]), "{name}: {:?}", plan.actions);
    }
}

/// All of them have left, and what others brought along is none of its business; or somebody restored one by
/// hand after the verdict, or everybody who had moved, while a newcomer runs what failed.
#[test]
fn it_does_not_come_where_nobody_is_left_to_take_back() {
    let verdict = || Some(Failed { at: ago(10), why: Reason::NotLanded });
    let mut world = failing();
    *last(&mut world).rewrite().failed = verdict();
    assert!(super::opens(&world).is_some());
    last(&mut world).members = ["bronze-0".into()].into_iter().collect();
    assert_eq!(super::opens(&world), None, "others came to the place that they share");
    let opens = |moved: &[&str], slices: bool, all: &[(&str, &str)]| {
        let mut world = failing();
        let members: crate::Clusters = moved.iter().map(|name| (*name).into()).collect();
        let wave = last(&mut world);
        (*wave.rewrite().failed, wave.members) = (verdict(), members.clone());
        wave.part.partition = if slices { vec![members, ["bronze-8".into()].into_iter().collect()] } else { vec![] };
        holds(&mut world, all);
        super::opens(&world).map(|proposal| proposal.members.len())
    };
    let (one, both) = (["bronze-1"], ["bronze-1", "bronze-2"]);
    assert_eq!(opens(&both, false, &[("bronze-1", "1.1.0"), ("bronze-2", "1.1.0")]), Some(2));
    assert_eq!(opens(&both, false, &[("bronze-1", "1.1.0"), ("bronze-2", "1.0.0")]), None, "somebody's own doing");
    assert_eq!(opens(&one, true, &[("bronze-1", "1.1.0"), ("bronze-8", "1.0.0")]), Some(1));
    assert_eq!(opens(&one, true, &[("bronze-1", "1.0.0"), ("bronze-8", "1.0.0"), ("bronze-9", "1.1.0")]), None);
}

/// The second slice had not landed when the first one failed, and those who were to move with it left.
#[test]
fn it_comes_for_the_slices_that_had_moved_though_the_tier_is_one_now() {
    let mut world = sliced();
    bronze(&mut world).on_failure = OnFailure::RollBack { merge: Merge::Approved };
    let wave = last(&mut world);
    let (partition, slice) = (wave.part.partition.clone(), 1);
    let mut second = Wave::begun(version("1.1.0"), partition[1].clone(), ago(20));
    (second.from, second.part) = (wave.from.clone(), Part { partition, slice, ..Part::default() });
    *second.rewrite().failed = Some(Failed { at: ago(10), why: Reason::NotLanded });
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().push(second);
    assert_eq!(super::opens(&world).map(|proposal| proposal.members), Some(vec!["bronze-2".into()]));
    own_places(&mut world, &[("bronze-2", "1.1.0")]);
    let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
    clusters.retain(|cluster| cluster.name.as_str() != "bronze-1");
    assert_eq!(super::opens(&world).map(|proposal| proposal.members), Some(vec!["bronze-2".into()]));
}

/// All have left, and those who are there run something else by now: that is what is said.
#[test]
fn what_others_run_takes_its_place() {
    let mut world = open(Merge::Automatic);
    last(&mut world).members = ["bronze-1".into()].into_iter().collect();
    holds(&mut world, &[("bronze-2", "0.9.0")]);
    let plan = crate::plan(&world, noon());
    let why = plan.actions.iter().find_map(|action| match action {
        Action::Close { why, .. } => Some(why.to_string()),
        _ => None,
    });
    assert_eq!(why.as_deref(), Some("0.9.0 takes its place"));
}

/// It was cut off before anybody saw its pull request, and one of its clusters was restored meanwhile.
#[test]
fn what_it_takes_back_is_said_though_one_is_restored() {
    let mut world = open(Merge::Automatic);
    last(&mut world).pull = None;
    if let Read::Known(pulls) = &mut facts(&mut world).pulls {
        pulls.retain(|pull| pull.number != PullNumber(8));
    }
    last(&mut world).members = ["bronze-1".into(), "bronze-3".into()].into_iter().collect();
    holds(&mut world, &[("bronze-1", "1.1.0"), ("bronze-3", "1.0.0")]);
    let proposal = opens(&world).expect("opened again");
    assert_eq!((proposal.to.to_string(), proposal.from), ("1.0.0".to_string(), Some(version("1.1.0"))));
}
