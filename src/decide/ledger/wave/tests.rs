//! What a wave says of itself.
#![allow(clippy::unwrap_used)]

use alloc::vec;

use super::*;
use crate::ledger::Refused;
use crate::testing::{ago, version};

#[test]
fn a_part_is_whole_only_when_nothing_sets_it_apart() {
    assert!(Part::default().is_whole());
    let late = Part { purpose: Purpose::CatchUp, ..Part::default() };
    let second = Part { slice: 1, ..Part::default() };
    assert!(!late.is_whole() && !second.is_whole());
    assert!(second.is_like(&second) && !second.is_like(&Part::default()) && !late.is_like(&Part::default()));
}

fn fresh() -> Wave {
    Wave::begun(version("1.1.0"), [ClusterName::from("qa-1")].into_iter().collect(), ago(60))
}

fn landed() -> Wave {
    Wave { landed: Some(Landed { at: ago(50), commit: None, by: None }), ..fresh() }
}

fn withdrawn() -> Withdrawn {
    Withdrawn { at: ago(5), why: crate::Reason::NotLanded }
}

#[test]
fn only_what_was_taken_back_before_it_landed_is_shelved() {
    let superseded = || Some(Superseded { at: ago(5), by: version("1.2.0") });
    let cases = [
        (fresh(), false),
        (Wave { withdrawn: Some(withdrawn()), ..fresh() }, true),
        (Wave { superseded: superseded(), ..fresh() }, true),
        (landed(), false),
        (Wave { superseded: superseded(), ..landed() }, false),
        (Wave { withdrawn: Some(withdrawn()), ..landed() }, false),
    ];
    for (wave, shelved) in cases {
        assert_eq!(wave.is_shelved(), shelved, "{wave:?}");
    }
}

/// Of who came in the place of all that had moved nobody would ever soak, unless it is somebody else's turn.
#[test]
fn a_climb_is_deserted_when_everybody_of_it_has_left() {
    let left = |wave: Wave| Wave { left: vec!["qa-1".into()], ..wave };
    let of = |purpose: Purpose| Part { purpose, ..Part::default() };
    let failed = Failed { at: ago(5), why: crate::Reason::NotLanded };
    let cases = [
        (left(landed()), true),
        (landed(), false),
        (left(fresh()), false),
        (left(Wave { finished: Some(ago(5)), ..landed() }), false),
        (left(Wave { stalled: Some(failed.clone()), ..landed() }), true),
        (left(Wave { failed: Some(failed), ..landed() }), false),
        (left(Wave { part: of(Purpose::Early), ..landed() }), false),
        (left(Wave { part: of(Purpose::CatchUp), ..landed() }), false),
        (left(Wave { part: of(Purpose::Early), withdrawn: Some(withdrawn()), ..landed() }), false),
    ];
    for (wave, deserted) in cases {
        assert_eq!(wave.is_deserted(), deserted, "{wave:?}");
    }
}

#[test]
fn slices_of_one_climb_have_version_purpose_and_partition_in_common() {
    let partition: Vec<Clusters> = ["qa-1", "qa-2"].map(|name| [ClusterName::from(name)].into_iter().collect()).into();
    let part = |slice: u32, purpose: Purpose| Part { slice, purpose, partition: partition.clone(), ..Part::default() };
    let first = Wave { part: part(0, Purpose::Promotion), ..fresh() };
    let other = |version: &str, part: Part| Wave { version: crate::testing::version(version), part, ..fresh() };
    assert!(first.climbs_with(&other("1.1.0", part(1, Purpose::Promotion))));
    assert!(!first.climbs_with(&other("1.2.0", part(1, Purpose::Promotion))));
    assert!(!first.climbs_with(&other("1.1.0", part(1, Purpose::CatchUp))));
    assert!(!first.climbs_with(&other("1.1.0", Part { partition: Vec::new(), ..part(1, Purpose::Promotion) })));
    assert!(!fresh().climbs_with(&fresh()), "what is not cut into slices is alone");
}

#[test]
fn how_often_the_hub_lied_is_written_where_it_did() {
    let written = |false_yes| {
        let (head, why) = ("aa".into(), "405".into());
        let refused = Refused { head, at: ago(5), why, times: 1, anew: false, again: false, unsure: false, false_yes };
        let text = serde_json::to_value(&refused).unwrap();
        assert_eq!(serde_json::from_value::<Refused>(text.clone()).unwrap(), refused);
        text.get("false_yes").is_some()
    };
    assert_eq!((written(0), written(2)), (false, true));
}
