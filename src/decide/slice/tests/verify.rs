//! A workflow between two slices: when it is dispatched, what its run does to the next one.

use jiff::Timestamp;

use super::*;
use crate::ledger::{Failed, Verification};
use crate::model::OnFailure;
use crate::plan::Gate;
use crate::snapshot::{CheckState, WorkflowRun};

/// One of three, then a workflow that may take half an hour, then the rest; the first has landed and is
/// healthy.
fn verified() -> Snapshot {
    let mut world = world();
    let smoke = Step::Verify { workflow: "smoke.yml".to_string(), timeout: SignedDuration::from_mins(30) };
    bronze(&mut world).strategy = Strategy::Canary { steps: vec![Step::SetWeight(10), smoke] };
    let first = opened(&crate::plan(&world, noon())).expect("the first slice is opened");
    propose(&mut world, &first, 21, 60);
    land(&mut world, 21, &["bronze-1"], 40);
    remember(&mut world, Change::Converged(ago(35)));
    world
}

const ID: &str = "app-bronze-1.1.0-21-1.0.1";

fn intend(world: &mut Snapshot, id: &str, minutes: i64) {
    let intent = Verification { id: id.to_string(), slice: 1, step: 0, at: ago(minutes), passed: None };
    remember(world, Change::Dispatching(intent));
}

fn run(world: &mut Snapshot, title: &str, state: CheckState) {
    let Read::Known(runs) = &mut facts(world).runs else { unreachable!() };
    runs.push(WorkflowRun { workflow: "smoke.yml".to_string(), title: title.to_string(), state });
}

fn dispatched(plan: &Plan) -> Option<(String, Vec<String>)> {
    plan.actions.iter().find_map(|action| match action {
        Action::Dispatch { verification, clusters, .. } => {
            Some((verification.id.clone(), clusters.iter().map(ToString::to_string).collect()))
        }
        _ => None,
    })
}

/// What the plan is about to do, what the gate says, and until when.
fn what_follows(world: &Snapshot) -> (String, String, Option<Timestamp>) {
    let plan = crate::plan(world, noon());
    let next = match (opened(&plan), dispatched(&plan)) {
        (Some(proposal), None) => format!("opens {}", names(&proposal).join(" ")),
        (None, Some((id, clusters))) => format!("dispatches {id} for {}", clusters.join(" ")),
        (None, None) => String::new(),
        both => panic!("{both:?}"),
    };
    let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    let finding = report.findings.iter().find(|finding| finding.gate == Gate::Verification);
    let until = finding.and_then(|finding| match finding.verdict {
        Verdict::Wait { until } => until,
        _ => None,
    });
    (next, finding.map(|finding| finding.because.to_string()).unwrap_or_default(), until)
}

#[test]
fn a_workflow_is_dispatched_once_and_the_next_slice_waits_for_it() {
    type Case = (&'static str, fn(&mut Snapshot), &'static str, &'static str);
    let due = "dispatches app-bronze-1.1.0-21-1.0.1 for bronze-1";
    let again = "dispatches app-bronze-1.1.0-21-1.0.2 for bronze-1";
    let rest = "opens bronze-2 bronze-3";
    let cases: [Case; 13] = [
        ("nothing was dispatched", |_| {}, due, "smoke.yml verifies what has moved"),
        (
            "another's run",
            |w| run(w, "Smoke app-bronze-1.1.0-21-1.0.11", CheckState::Success),
            due,
            "smoke.yml verifies",
        ),
        ("it is about to run", |w| intend(w, ID, 2), "", "smoke.yml verifies"),
        (
            "it runs",
            |w| {
                intend(w, ID, 20);
                run(w, &format!("Smoke {ID}"), CheckState::Pending)
            },
            "",
            "smoke.yml verifies",
        ),
        (
            "it has succeeded",
            |w| {
                intend(w, ID, 20);
                run(w, &format!("Smoke {ID}"), CheckState::Success)
            },
            rest,
            "",
        ),
        (
            "its success was seen, and its run is not listed any more",
            |w| {
                intend(w, ID, 20);
                remember(w, Change::Verified { id: ID.to_string(), at: ago(10) })
            },
            rest,
            "",
        ),
        ("the intent was cut off", |w| intend(w, ID, 6), again, "smoke.yml verifies"),
        (
            "the first run came late, and the second one runs",
            |w| {
                intend(w, ID, 20);
                intend(w, "app-bronze-1.1.0-21-1.0.2", 14);
                run(w, ID, CheckState::Success);
                run(w, "app-bronze-1.1.0-21-1.0.2", CheckState::Pending);
            },
            "",
            "smoke.yml verifies",
        ),
        (
            "a ledger that was rolled back has forgotten it",
            |w| run(w, &format!("Smoke {ID}"), CheckState::Pending),
            "",
            "smoke.yml verifies",
        ),
        (
            "runs unread",
            |w| facts(w).runs = Read::Unread("503".into()),
            "",
            "the runs of smoke.yml could not be read: 503",
        ),
        ("frozen", |w| freeze_all(w), due, "smoke.yml verifies"),
        (
            "a cluster ails",
            |w| {
                let ails = Reading { health: Health::Degraded, since: Some(ago(1)), ..healthy("1.1.0") };
                facts(w).readings.insert("bronze-1".into(), vec![ails]);
            },
            "",
            "smoke.yml verifies",
        ),
        (
            "the release is held elsewhere",
            |w| {
                let failed = Failed { at: ago(5), why: crate::Reason::NotLanded };
                let (plugin, tier) = ("app".into(), "qa".into());
                w.ledger.apply(&Entry::Wave {
                    plugin,
                    tier,
                    version: version("1.1.0"),
                    change: Change::Failed(failed),
                });
            },
            "",
            "",
        ),
    ];
    for (name, change, next, says) in cases {
        let mut world = verified();
        change(&mut world);
        let (doing, said, _) = what_follows(&world);
        assert_eq!(doing, next, "{name}: {said}");
        assert!(said.starts_with(says), "{name}: {said}");
    }
    let mut world = verified();
    intend(&mut world, ID, 2);
    assert_eq!(what_follows(&world).2, Some(ago(2) + SignedDuration::from_mins(30)), "it says until when");
}

#[test]
fn a_run_that_fails_or_takes_too_long_fails_the_wave() {
    type World = (&'static str, fn(&mut Snapshot), &'static str);
    let worlds: [World; 3] = [
        (
            "red",
            |w| {
                intend(w, ID, 20);
                run(w, ID, CheckState::Failure)
            },
            "smoke.yml found what has moved wanting",
        ),
        (
            "slow",
            |w| {
                intend(w, ID, 31);
                run(w, ID, CheckState::Pending)
            },
            "smoke.yml has not ended within 30 min",
        ),
        (
            "never there",
            |w| (1..=3).for_each(|n| intend(w, &format!("app-bronze-1.1.0-21-1.0.{n}"), 33 - n)),
            "smoke.yml has not ended within 30 min",
        ),
    ];
    for (name, change, why) in worlds {
        for (on_failure, failed) in [
            (OnFailure::Hold, true),
            (OnFailure::RollBack { merge: Merge::Automatic }, true),
            (OnFailure::Stall, false),
        ] {
            let mut world = verified();
            bronze(&mut world).on_failure = on_failure;
            change(&mut world);
            let plan = crate::plan(&world, noon());
            let fails = changes(&plan).iter().any(|change| change.contains("failed"));
            assert_eq!(fails, failed, "{name}, {on_failure:?}: {:?}", changes(&plan));
            let back = opened(&plan).is_some_and(|proposal| proposal.to == version("1.0.0"));
            assert_eq!(back, matches!(on_failure, OnFailure::RollBack { .. }), "{name}: {:?}", plan.actions);
            assert!(dispatched(&plan).is_none(), "{name}");
            let (_, said, _) = what_follows(&world);
            assert_eq!(said, if failed { "" } else { why }, "{name}, {on_failure:?}");
        }
    }
    // Whoever runs it again under `stall` lets it go on.
    let mut world = verified();
    bronze(&mut world).on_failure = OnFailure::Stall;
    intend(&mut world, ID, 39);
    run(&mut world, ID, CheckState::Success);
    assert_eq!(what_follows(&world).0, "opens bronze-2 bronze-3");
}

#[test]
fn pauses_around_a_workflow_come_one_after_the_other() {
    let mut world = verified();
    let Strategy::Canary { steps } = &mut bronze(&mut world).strategy else { unreachable!() };
    steps.insert(1, Step::Pause(Some(SignedDuration::from_mins(5))));
    steps.push(Step::Pause(Some(SignedDuration::from_mins(15))));
    let steps = steps.clone();
    let mut world = super::world();
    bronze(&mut world).strategy = Strategy::Canary { steps };
    let first = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &first, 21, 60);
    land(&mut world, 21, &["bronze-1"], 40);
    remember(&mut world, Change::Converged(ago(4)));
    assert_eq!(what_follows(&world).0, "", "the pause before it is not over");
    remember(&mut world, Change::Converged(ago(35)));
    let id = "app-bronze-1.1.0-21-1.1.1";
    assert_eq!(what_follows(&world).0, format!("dispatches {id} for bronze-1"));
    let intent = Verification { id: id.to_string(), slice: 1, step: 1, at: ago(20), passed: Some(ago(10)) };
    remember(&mut world, Change::Dispatching(intent));
    let plan = crate::plan(&world, noon());
    assert!(opened(&plan).is_none(), "the pause after it counts from its success: {:?}", plan.actions);
    let later = noon() + SignedDuration::from_mins(5);
    assert!(opened(&crate::plan(&world, later)).is_some());
}

/// The success of one workflow is none of the next, nor one from before the slice landed.
#[test]
fn each_workflow_has_to_succeed_itself() {
    let two = |minutes: i64| {
        let mut world = super::world();
        let verify = |file: &str| Step::Verify { workflow: file.to_string(), timeout: SignedDuration::from_mins(30) };
        bronze(&mut world).strategy =
            Strategy::Canary { steps: vec![Step::SetWeight(10), verify("smoke.yml"), verify("load.yml")] };
        let first = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &first, 21, 60);
        land(&mut world, 21, &["bronze-1"], 40);
        remember(&mut world, Change::Converged(ago(35)));
        let passed = Some(ago(minutes));
        let intent = Verification { id: ID.to_string(), slice: 1, step: 0, at: ago(minutes), passed };
        remember(&mut world, Change::Dispatching(intent));
        what_follows(&world).0
    };
    assert_eq!(two(20), "dispatches app-bronze-1.1.0-21-1.1.1 for bronze-1");
    assert_eq!(two(40), "dispatches app-bronze-1.1.0-21-1.1.1 for bronze-1", "in that very instant");
    assert_eq!(two(41), format!("dispatches {ID} for bronze-1"), "it was about what stood there before");
}

/// The second of three was taken back and its cluster has left: what is to come before the third is verified
/// after the first, and fails the release where it fails.
#[test]
fn what_comes_after_a_slice_that_was_taken_back_is_verified_too() {
    let fails = |state: CheckState, withdrawn: bool| {
        let mut world = super::world();
        let smoke = Step::Verify { workflow: "smoke.yml".to_string(), timeout: SignedDuration::from_mins(30) };
        bronze(&mut world).strategy =
            Strategy::Canary { steps: vec![Step::SetWeight(10), Step::SetWeight(60), smoke, Step::SetWeight(100)] };
        let first = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &first, 21, 60);
        land(&mut world, 21, &["bronze-1"], 40);
        remember(&mut world, Change::Converged(ago(35)));
        let second = opened(&crate::plan(&world, noon())).unwrap();
        assert_eq!((names(&second), second.part.slices()), (vec!["bronze-2".to_string()], 3));
        propose(&mut world, &second, 22, 30);
        if state == CheckState::Failure && !withdrawn {
            let no = crate::ledger::Rejected { at: ago(20), by: None, pull: PullNumber(22) };
            remember(&mut world, Change::Rejected(no));
        }
        if withdrawn {
            let why = Reason::NotLanded;
            remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(20), why }));
            edit_last(&mut world, |pull| pull.state = PullState::Closed { at: ago(20), by: Some(BOT.into()) });
        }
        match &mut world.clusters {
            Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "bronze-2"),
            Read::Unread(_) => unreachable!(),
        }
        let id = "app-bronze-1.1.0-21-2.0.1";
        let intent = Verification { id: id.to_string(), slice: 2, step: 0, at: ago(10), passed: None };
        remember(&mut world, Change::Dispatching(intent));
        run(&mut world, id, state);
        changes(&crate::plan(&world, noon())).iter().any(|change| change.contains("failed"))
    };
    assert!(fails(CheckState::Failure, true));
    assert!(!fails(CheckState::Success, true) && !fails(CheckState::Pending, true));
    assert!(!fails(CheckState::Failure, false), "a person has said no to it, and nothing comes any more");
}
