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
    let found = plan.entries.iter().find_map(|record| match &record.entry {
        Entry::Wave { tier, change: Change::Found { members, .. }, .. } if tier.as_str() == "bronze" => Some(members),
        _ => None,
    });
    assert_eq!(found.map(Vec::as_slice), Some(&CLUSTERS.map(ClusterName::from)[..]));
    // It is no trouble either: without it the others would wait for nothing more.
    let wave = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert_eq!(wave.findings.iter().find(|finding| finding.verdict == crate::plan::Verdict::Unknown), None);
}

/// Only bronze-1, which is ahead of its tier, has had anything installed, or will have.
fn alone() -> Snapshot {
    let mut world = world();
    world.ledger = crate::Ledger::default();
    CLUSTERS.iter().for_each(|name| vacate(&mut world, name));
    let match_labels = [("name".to_string(), "bronze-1".to_string())].into();
    let select = Selector { match_labels, match_expressions: Vec::new() };
    bronze(&mut world).early = vec![crate::model::Early { select, until: None }];
    qa_has_finished(&mut world);
    world
}

fn qa_has_finished(world: &mut Snapshot) {
    let landed = Landed { at: ago(900), commit: None, by: None };
    for change in [Change::Found { members: vec!["qa-1".into()], digest: None, landed }, Change::Finished(ago(800))] {
        let (plugin, tier) = ("app".into(), "qa".into());
        world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.1.0"), change });
    }
}

#[test]
fn who_is_ahead_of_those_with_nothing_lands() {
    let mut world = alone();
    let intent = Change::Intent {
        from: None,
        digest: None,
        part: Part { purpose: Purpose::Early, ..Part::default() },
        members: vec!["bronze-1".into()],
        head: crate::ledger::Head { commit: "cc".into(), at: ago(60), repeats: false },
    };
    remember(&mut world, intent);
    holds(&mut world, "bronze-1", "1.1.0");
    let entries = crate::plan(&world, noon()).entries.into_iter();
    let landed = |entry: &Entry| matches!(entry, Entry::Wave { change: Change::Landed(_), .. });
    assert!(entries.map(|record| record.entry).any(|entry| landed(&entry)));
}

#[test]
fn what_only_those_ahead_have_comes_to_those_with_nothing() {
    let mut world = alone();
    holds(&mut world, "bronze-1", "1.1.0");
    let landed = Landed { at: ago(500), commit: None, by: None };
    remember(&mut world, Change::Found { members: vec!["bronze-1".into()], digest: None, landed });
    world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap()[0].part.purpose =
        Purpose::Early;
    remember(&mut world, Change::Finished(ago(400)));
    // It is ahead no more.
    let bronze = bronze(&mut world);
    (bronze.early, bronze.strategy) = (Vec::new(), Strategy::AllAtOnce);
    let plan = crate::plan(&world, noon());
    let first = opened(&plan).expect("the others get it in their turn");
    assert!(names(&first).contains(&"bronze-2".to_string()), "{first:?}");
}
