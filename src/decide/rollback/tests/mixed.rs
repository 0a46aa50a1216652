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
