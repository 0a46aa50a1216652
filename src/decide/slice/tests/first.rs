//! Clusters on which nothing is installed yet.

use super::late::{finished, join};
use super::*;

/// Nothing is installed there yet, and the bot may write the first version.
fn vacate(world: &mut Snapshot, name: &str) {
    let Read::Known(base) = &mut facts(world).base else { unreachable!() };
    let places = base.get_mut(&"bronze".into()).unwrap();
    let place = places.iter_mut().find(|place| place.cluster.as_ref().is_some_and(|it| it.as_str() == name)).unwrap();
    (place.version, place.vacant) = (Read::Unread("not installed yet".to_string()), true);
    facts(world).readings.insert(name.into(), Vec::new());
}

#[test]
fn who_joins_with_nothing_installed_catches_up_too() {
    let mut world = finished();
    join(&mut world, "bronze-4", "1.0.0");
    vacate(&mut world, "bronze-4");
    let late = opened(&crate::plan(&world, noon())).expect("a wave for the one that joined");
    assert_eq!((names(&late), late.part.purpose.clone()), (vec!["bronze-4".to_string()], Purpose::CatchUp));
    assert_eq!((late.from.clone(), late.to.clone()), (None, version("1.1.0")), "a first install");
    propose(&mut world, &late, 24, 100);
    land(&mut world, 24, &["bronze-4"], 90);
    remember(&mut world, Change::Finished(ago(10)));
    let plan = crate::plan(&world, noon());
    assert_eq!((plan.actions, plan.entries), (vec![], vec![]));
}

#[test]
fn who_has_nothing_installed_is_no_member_of_what_others_put_there() {
    let mut world = world();
    world.ledger = crate::Ledger::default();
    join(&mut world, "bronze-4", "1.0.0");
    vacate(&mut world, "bronze-4");
    let plan = crate::plan(&world, noon());
    let of_bronze = |entry: &Entry| matches!(entry, Entry::Wave { tier, .. } if tier.as_str() == "bronze");
    assert!(!plan.entries.iter().any(|record| of_bronze(&record.entry)), "{:#?}", plan.entries);
    // It is no trouble either: without it the others would wait for nothing more.
    let wave = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert_eq!(wave.findings.iter().find(|finding| finding.verdict == crate::plan::Verdict::Unknown), None);
}
