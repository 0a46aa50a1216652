//! A workflow that verifies a whole tier. Those between slices are tried where slices are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

use alloc::string::{String, ToString};
use alloc::vec;

use super::*;
use crate::WaveState;
use crate::ledger::Landed;
use crate::model::Soak;
use crate::snapshot::{Health, Reading, Snapshot, WorkflowRun};
use crate::testing::*;

const ID: &str = "app-bronze-1.1.0-7-end.1";

/// 1.1.0 is on bronze and healthy; before it has finished there, a workflow that may take 25 minutes.
fn verified() -> Snapshot {
    let mut world = landed(vec![healthy("1.1.0")]);
    let verify = Verify { workflow: "e2e.yml".to_string(), timeout: SignedDuration::from_mins(25) };
    (bronze(&mut world).verify, bronze(&mut world).soak) = (Some(verify), Soak::default());
    remember(&mut world, Change::Converged(ago(25)));
    world
}

fn intend(world: &mut Snapshot, minutes: i64) {
    let intent = Verification { id: ID.to_string(), slice: 1, step: END, at: ago(minutes), passed: None };
    remember(world, Change::Dispatching(intent));
}

fn run(world: &mut Snapshot, state: CheckState) {
    let title = alloc::format!("E2E {ID}");
    facts(world).runs = Read::Known(vec![WorkflowRun { workflow: "e2e.yml".to_string(), title, state }]);
}

/// How bronze stands, what is dispatched, and what the gate says.
fn stands(world: &Snapshot) -> (&'static str, String, String) {
    let plan = crate::plan(world, noon());
    let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    let state = match report.state {
        WaveState::Finished { .. } => "finished",
        WaveState::Failed { .. } => "failed",
        WaveState::Soaking { .. } => "soaking",
        WaveState::Converging { .. } => "rolling out",
        _ => "something else",
    };
    let dispatched = plan.actions.iter().find_map(|action| match action {
        Action::Dispatch { verification, .. } => Some(verification.id.clone()),
        _ => None,
    });
    let said = report.findings.iter().find(|finding| finding.gate == Gate::Verification);
    (state, dispatched.unwrap_or_default(), said.map(|finding| finding.because.to_string()).unwrap_or_default())
}

#[test]
fn a_release_has_finished_a_tier_when_its_workflow_has_succeeded() {
    type Case = (&'static str, fn(&mut Snapshot), &'static str, &'static str, &'static str);
    let waits = "e2e.yml verifies what has moved";
    let cases: [Case; 9] = [
        ("nothing was dispatched", |_| {}, "soaking", ID, waits),
        ("it is about to run", |w| intend(w, 2), "soaking", "", waits),
        (
            "it runs",
            |w| {
                intend(w, 20);
                run(w, CheckState::Pending)
            },
            "soaking",
            "",
            waits,
        ),
        (
            "its success was seen",
            |w| {
                intend(w, 20);
                remember(w, Change::Verified { id: ID.to_string(), at: ago(1) })
            },
            "finished",
            "",
            "",
        ),
        (
            "its success was seen, and somebody ails",
            |w| {
                intend(w, 20);
                remember(w, Change::Verified { id: ID.to_string(), at: ago(1) });
                let ails = Reading { health: Health::Progressing, ..healthy("1.1.0") };
                facts(w).readings.insert("bronze-1".into(), vec![ails]);
            },
            "rolling out",
            "",
            "",
        ),
        (
            "it failed",
            |w| {
                intend(w, 20);
                run(w, CheckState::Failure)
            },
            "failed",
            "",
            "",
        ),
        (
            "it took too long",
            |w| {
                intend(w, 26);
                run(w, CheckState::Pending)
            },
            "failed",
            "",
            "",
        ),
        (
            "somebody is degraded",
            |w| {
                let ails = Reading { health: Health::Degraded, since: Some(ago(1)), ..healthy("1.1.0") };
                facts(w).readings.insert("bronze-1".into(), vec![ails]);
            },
            "soaking",
            "",
            waits,
        ),
        ("nobody asks for it any more", |w| bronze(w).verify = None, "finished", "", ""),
    ];
    for (name, change, state, dispatched, says) in cases {
        let mut world = verified();
        change(&mut world);
        assert_eq!(stands(&world), (state, dispatched.to_string(), says.to_string()), "{name}");
    }
}

#[test]
fn the_success_of_the_workflow_is_noted_and_ends_the_climb_at_the_next_look() {
    let mut world = verified();
    intend(&mut world, 20);
    run(&mut world, CheckState::Success);
    let plan = crate::plan(&world, noon());
    let noted: Vec<String> = plan.entries.iter().map(|record| alloc::format!("{record:?}")).collect();
    assert!(noted.iter().any(|record| record.contains("Verified")), "{noted:?}");
    plan.entries.iter().for_each(|record| world.ledger.apply(&record.entry));
    assert_eq!(stands(&world).0, "finished");
}

/// Nothing is dispatched before all were healthy, nor for what the bot did not bring here.
#[test]
fn what_was_found_or_is_on_its_way_is_not_verified() {
    let mut world = landed(vec![healthy("1.0.0")]);
    bronze(&mut world).verify = verified().policy.plugins[0].tiers[1].verify.clone();
    assert_eq!(stands(&world).1, "", "it is rolled out");
    let mut world = verified();
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().heads.clear();
    assert_eq!(stands(&world), ("finished", String::new(), String::new()), "somebody put it there");
}

/// Whoever empties a tier while its workflow runs, and fills it again, has not verified it.
#[test]
fn what_is_found_again_on_a_tier_that_was_emptied_is_verified() {
    let again = |mut world: Snapshot| {
        let waves = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
        let mut wave = waves.last().unwrap().clone();
        (wave.heads, wave.pull, wave.verifications) = (vec![], None, vec![]);
        *wave.rewrite().landed = Some(Landed { at: ago(26), commit: None, by: None });
        wave.begun += SignedDuration::from_mins(1);
        waves.push(wave);
        world
    };
    let mut world = verified();
    intend(&mut world, 27);
    let found = again(world.clone());
    let id = "app-bronze-1.1.0-0-end.1";
    assert_eq!(stands(&found), ("soaking", id.to_string(), "e2e.yml verifies what has moved".to_string()));
    remember(&mut world, Change::Verified { id: ID.to_string(), at: ago(1) });
    assert_eq!(stands(&again(world)).0, "finished", "it was verified before they left");
    // What the bot never brought here is not.
    let mut found = again(verified());
    let waves = found.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
    let at = waves.len() - 2;
    let mut older = waves[at].clone();
    older.version = version("1.0.5");
    waves[at].heads.clear();
    assert_eq!(stands(&found).0, "finished", "somebody put it there");
    let waves = found.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
    waves.insert(at, older);
    assert_eq!(stands(&found).0, "finished", "though the bot brought another one before");
}

/// Under `stall` a run that fails fails nothing: whoever runs it again with success lets the release go on.
#[test]
fn under_stall_the_workflow_may_be_run_again() {
    let mut world = verified();
    bronze(&mut world).on_failure = OnFailure::Stall;
    intend(&mut world, 20);
    run(&mut world, CheckState::Failure);
    assert_eq!(stands(&world).2, "e2e.yml found what has moved wanting");
    assert_ne!(stands(&world).0, "failed");
    remember(&mut world, Change::Verified { id: ID.to_string(), at: ago(1) });
    assert_eq!(stands(&world).0, "finished");
}
