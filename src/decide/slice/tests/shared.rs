//! Places that several clusters share.

use super::*;

/// bronze-2, which shares the place of all of bronze, was pinned after 1.1.0 was opened there, which may merge.
fn pinned(until: Option<Timestamp>) -> Snapshot {
    let mut world = ready();
    join(&mut world, "bronze-2", vec![healthy("1.0.0")]);
    let labels = |name: &str| BTreeMap::from([("name".to_string(), name.to_string())]);
    if let Read::Known(clusters) = &mut world.clusters {
        clusters.iter_mut().for_each(|cluster| cluster.labels.extend(labels(cluster.name.as_str())));
    }
    let select = Selector { match_labels: labels("bronze-2"), match_expressions: Vec::new() };
    world.policy.plugins[0].pins =
        vec![Pin { select, version: Some(version("1.0.0")), until, why: "audit".to_string() }];
    world
}

fn is_said(world: &Snapshot) -> bool {
    let plan = crate::plan(world, noon());
    let mut here = plan.waves.iter().filter(|wave| wave.tier.as_str() == "bronze");
    let shared = |because: &Reason| *because == Reason::PlacesShared { tier: "bronze".into() };
    here.any(|wave| wave.findings.iter().any(|finding| shared(&finding.because)))
}

/// A pinned cluster keeps back all that share its place, also where the pull request is open, and as long as
/// the pin holds.
#[test]
fn a_shared_place_is_not_written_beside_a_pin() {
    let doings = crate::next_release::tests::doings;
    assert_eq!(doings(&pinned(None)), [""; 0]);
    assert!(is_said(&pinned(None)));
    assert_eq!(doings(&pinned(Some(noon()))), ["merge 1.1.0 on bronze"], "the pin has ended");
    assert!(!is_said(&pinned(Some(noon()))));
    // Nor is an opening finished that was cut off before the pin.
    let finished = |until| {
        let mut world = pinned(until);
        facts(&mut world).pulls = Read::Known(Vec::new());
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().pull = None;
        doings(&world)
    };
    assert_eq!(finished(None), [""; 0]);
    assert_eq!(finished(Some(noon())), ["open 1.1.0 on bronze"]);
    // A newer release does not move it either.
    let moved = |until| {
        let mut world = pinned(until);
        edit(&mut world, |pull| pull.reviews.clear());
        crate::next_release::tests::finished_above(&mut world);
        doings(&world)
    };
    assert_eq!(moved(None), [""; 0]);
    assert_eq!(moved(Some(noon())), ["move bronze to 1.2.0"]);
}
