//! A tier whose clusters move in the order of a label's values.

use super::*;
use crate::ledger::Superseded;

/// What moved on bronze before, oldest first: its slices in order (none: all at once), and whether it landed.
type Before<'a> = &'a [(&'a str, &'a [&'a str], bool)];

fn begins(before: Before<'_>) -> Vec<String> {
    let mut world = world();
    let by = Some("name".to_string());
    bronze(&mut world).strategy = Strategy::RollingUpdate { max_update: MaxUpdate::Count(1), by };
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    let waves = page.tiers.get_mut(&"bronze".into()).unwrap();
    waves.clear();
    for (minutes, (text, slices, landed)) in (0..300).rev().step_by(10).zip(before) {
        let all: Clusters = CLUSTERS.iter().map(|name| ClusterName::from(*name)).collect();
        let slices: Vec<Clusters> = slices.iter().map(|name| Clusters::from(vec![ClusterName::from(*name)])).collect();
        let mut wave = Wave::begun(version(text), slices.last().cloned().unwrap_or(all), ago(minutes));
        wave.part.slice = u32::try_from(slices.len().saturating_sub(1)).unwrap();
        wave.part.partition = slices;
        if *landed {
            *wave.rewrite().landed = Some(Landed { at: ago(minutes), commit: None, by: None });
            *wave.rewrite().finished = Some(ago(minutes));
        } else {
            *wave.rewrite().superseded = Some(Superseded { at: ago(minutes), by: version("1.0.0") });
        }
        waves.push(wave);
    }
    names(&opened(&crate::plan(&world, noon())).unwrap())
}

#[test]
fn a_release_begins_with_the_value_after_the_one_that_began_before() {
    let [one, two, three] = CLUSTERS;
    let whole = ("1.0.0", &[][..], true);
    assert_eq!(begins(&[whole]), [one]);
    assert_eq!(begins(&[("1.0.0", &[one, two, three], true)]), [two]);
    assert_eq!(begins(&[("1.0.0", &[three, one, two], true)]), [one], "after the last one the first");
    let older = ("0.8.0", &[one, two, three][..], true);
    assert_eq!(begins(&[older, whole]), [two], "what moved all at once began with nobody");
    assert_eq!(begins(&[older, ("0.9.0", &[two, three, one], false), whole]), [two], "nor did what never landed");
    assert_eq!(begins(&[older, ("0.9.0", &[two, three, one], true), whole]), [three]);
}
