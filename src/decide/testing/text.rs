//! What a snapshot, a policy and a ledger look like as text.
#![allow(clippy::unwrap_used, clippy::expect_used)]
extern crate std;

use crate::model::{Each, Empty, Next};
use crate::snapshot::{Landing, Pull, Read, Snapshot, UnmetRule};
use crate::testing::*;
use crate::{Readings, plan};
use jiff::SignedDuration;
use serde_json::Value;
use std::string::ToString;

fn again(snapshot: &Snapshot) -> Snapshot {
    serde_json::from_value(serde_json::to_value(snapshot).unwrap()).unwrap()
}

#[test]
fn what_is_written_is_read_again_as_it_was() {
    for world in [ready(), unapproved(), landed(alloc::vec![healthy("1.1.0"), healthy("1.0.0")])] {
        assert_eq!(again(&world), world);
        let decided = plan(&world, noon());
        for wave in &decided.waves {
            let read: crate::plan::Members =
                serde_json::from_value(serde_json::to_value(&wave.members).unwrap()).unwrap();
            assert_eq!(read, wave.members);
            assert_eq!(read.len(), wave.members.len());
        }
        assert_eq!(plan(&again(&world), noon()), decided);
    }
    let wrong = serde_json::from_value::<Readings>(Value::Bool(true)).unwrap_err().to_string();
    assert!(wrong.contains("a map of clusters to lists of readings"), "{wrong}");
}

/// Who reads the ledger or a snapshot finds what differs from the usual, and nothing else.
#[test]
fn what_is_as_usual_is_left_out() {
    let mut world = ready();
    let text = |world: &Snapshot, path: &str| serde_json::to_value(world).unwrap().pointer(path).cloned();
    let (policy, tier, approvals) =
        ("/policy/plugins/0/next", "/policy/plugins/0/tiers/1/empty", "/policy/plugins/0/tiers/1/approvals/each");
    let (runs, label) = ("/plugins/app/runs", "/plugins/app/pulls/known/0/labelled");
    assert_eq!([policy, tier, approvals, label].map(|path| text(&world, path)), [None, None, None, None]);
    assert!(text(&world, runs).is_some());
    world.policy.plugins[0].next = Next::Every;
    bronze(&mut world).empty = Empty::Pass;
    bronze(&mut world).approvals.each = Each::Slice;
    facts(&mut world).runs = Read::Unread("nobody asked for them".into());
    edit(&mut world, |pull| pull.labelled = Read::Known(true));
    let said = [policy, tier, approvals].map(|path| text(&world, path));
    assert_eq!(said, ["every", "pass", "slice"].map(|word| Some(Value::from(word))));
    assert!(text(&world, label).is_some() && text(&world, runs).is_none());
    assert_eq!(again(&world), world);
    let mut written = serde_json::to_value(&world).unwrap();
    written.as_object_mut().unwrap().remove("lookAgain");
    let read: Snapshot = serde_json::from_value(written).unwrap();
    assert_eq!(read.look_again, SignedDuration::from_secs(30));
}

/// What nobody asked for, and what is not there.
#[test]
fn what_a_pull_request_lacks_is_left_out() {
    let said = |pull: &Pull| {
        let text = serde_json::to_value(pull).unwrap();
        assert_eq!(serde_json::from_value::<Pull>(text.clone()).unwrap(), *pull);
        ["unmet", "landing", "team"].map(|key| text.get(key).is_some())
    };
    let unasked = Pull { landing: Read::Unread("nobody asked".into()), ..pull() };
    assert_eq!(said(&unasked), [false, false, false]);
    let unmet = UnmetRule { rule: "required_signatures".into(), why: "a commit is not signed".into() };
    let landing = Read::Known(Landing::Absent);
    let team = Read::Known(["maria".into()].into());
    assert_eq!(said(&Pull { unmet: Read::Known(alloc::vec![unmet]), landing, team, ..pull() }), [true, true, true]);
}
