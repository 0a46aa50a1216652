//! A slice that fails: what comes back, what waits, and whose word counts.

use super::*;
use crate::ledger::Purpose;
use crate::model::OnFailure;

/// Two of three have been proposed: the first has landed, the second is open, and the first is ill.
fn second_is_open(on_failure: OnFailure, ill: bool) -> Snapshot {
    let mut world = one_of_three();
    bronze(&mut world).on_failure = on_failure;
    step(&mut world);
    let second = opened(&crate::plan(&world, noon())).expect("the second slice");
    propose(&mut world, &second, 22, 5);
    if ill {
        says_health(&mut world, Health::Failed);
    }
    world
}

fn says_health(world: &mut Snapshot, health: Health) {
    let reading = Reading { health, since: Some(ago(1)), ..healthy("1.1.0") };
    facts(world).readings.insert("bronze-1".into(), vec![reading]);
}

/// A look whose entries are kept.
fn step(world: &mut Snapshot) -> Plan {
    let plan = crate::plan(world, noon());
    for record in &plan.entries {
        world.ledger.apply(&record.entry);
    }
    plan
}

fn closes(plan: &Plan) -> Vec<u64> {
    let closed = plan.actions.iter().filter_map(|action| match action {
        Action::Close { pull, .. } => Some(pull.0),
        _ => None,
    });
    closed.collect()
}

const BACK: OnFailure = OnFailure::RollBack { merge: Merge::Approved };

#[test]
fn clusters_that_have_moved_get_back_what_they_had_and_no_others() {
    let mut world = one_of_three();
    bronze(&mut world).on_failure = BACK;
    says_health(&mut world, Health::Failed);
    let back = opened(&step(&mut world)).expect("a rollback");
    assert_eq!((names(&back), back.to.to_string()), (vec!["bronze-1".to_string()], "1.0.0".to_string()));
    assert_eq!(back.from, Some(version("1.1.0")));
    assert_eq!(back.part.purpose, Purpose::RollBack { of: version("1.1.0") });
}

/// However long the second slice waits for an approval, the first may fail meanwhile, and nobody rings then.
#[test]
fn those_that_have_moved_are_watched_while_the_next_slice_waits() {
    let mut world = second_is_open(OnFailure::Hold, false);
    bronze(&mut world).approvals.each = crate::model::Each::Slice;
    edit_last(&mut world, |pull| pull.reviews.clear());
    let plan = crate::plan(&world, noon());
    assert!(!merges(&plan));
    assert_eq!(plan.alarm.map(|alarm| alarm.at), Some(noon() + world.look_again));
}

#[test]
fn an_open_slice_is_closed_before_the_rollback_comes() {
    let mut world = second_is_open(BACK, true);
    let plan = step(&mut world);
    assert_eq!((closes(&plan), opened(&plan)), (vec![22], None), "{:?}", plan.actions);
    edit_last(&mut world, |pull| pull.state = PullState::Closed { at: noon(), by: Some(BOT.into()) });
    let back = opened(&step(&mut world)).expect("a rollback");
    assert_eq!((names(&back), back.to.to_string()), (vec!["bronze-1".to_string()], "1.0.0".to_string()));
}

#[test]
fn a_stalled_climb_keeps_its_open_slice_and_goes_on_when_all_are_healthy() {
    let fine = second_is_open(OnFailure::Stall, false);
    assert!(merges(&crate::plan(&fine, noon())), "{:?}", crate::plan(&fine, noon()).waves);
    let mut world = second_is_open(OnFailure::Stall, true);
    for _ in 0..3 {
        let plan = step(&mut world);
        assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    }
    says_health(&mut world, Health::Healthy);
    let healed = step(&mut world);
    assert!(changes(&healed).iter().any(|said| said.contains("healthy")), "{:?}", changes(&healed));
    assert!(merges(&healed) || merges(&step(&mut world)), "it goes on: {:?}", crate::plan(&world, noon()).waves);
}

/// Who was ill is pinned or has left: the next slice is the first one now, and waits for nobody's health.
#[test]
fn a_stall_ends_when_nobody_who_has_moved_is_left() {
    let mut world = second_is_open(OnFailure::Stall, true);
    let stalled = changes(&step(&mut world));
    assert!(stalled.iter().any(|said| said.contains("nothing new starts")), "{stalled:?}");
    let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
    clusters.retain(|cluster| cluster.name.as_str() != "bronze-1");
    let left = step(&mut world);
    assert!(merges(&left) || merges(&step(&mut world)), "{:?}", crate::plan(&world, noon()).waves);
}

#[test]
fn a_word_on_the_pull_request_of_one_slice_fails_the_whole_climb() {
    let mut world = second_is_open(OnFailure::Hold, false);
    let what = CommandKind::Fail { why: "customers cannot log in".into() };
    let command = Command { by: "noor".into(), at: ago(1), what, allowed: Read::Known(true) };
    let Read::Known(pulls) = &mut facts(&mut world).pulls else { unreachable!() };
    pulls.iter_mut().find(|pull| pull.number.0 == 21).expect("#21").commands.push(command);
    let plan = step(&mut world);
    assert_eq!(closes(&plan), vec![22], "{:?}", plan.actions);
    assert!(!merges(&plan) && opened(&plan).is_none());
}

/// While a slice is taken back its climb stands still, with what has moved: who is taken off it then fails it.
#[test]
fn a_cluster_that_is_taken_back_fails_a_climb_whose_next_slice_was_withdrawn() {
    let mut world = second_is_open(OnFailure::Hold, false);
    land(&mut world, 22, &["bronze-2"], 4);
    remember(&mut world, Change::Converged(ago(2)));
    let third = opened(&step(&mut world)).expect("the third slice");
    propose(&mut world, &third, 23, 1);
    let why = crate::Reason::NothingNewer { version: None };
    remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: noon(), why }));
    edit_last(&mut world, |pull| pull.state = PullState::Closed { at: noon(), by: Some(BOT.into()) });
    assert_eq!(opened(&crate::plan(&world, noon())).map(|third| names(&third)), Some(vec!["bronze-3".to_string()]));
    holds(&mut world, "bronze-1", "1.0.0");
    let plan = crate::plan(&world, noon());
    assert_eq!((changes(&plan), opened(&plan)), (vec!["app 1.1.0 on bronze: failed".to_string()], None));
    // Who has left and comes back is somebody new, and nobody who was taken back.
    let clusters = world.clusters.clone();
    if let Read::Known(clusters) = &mut world.clusters {
        clusters.retain(|cluster| cluster.name.as_str() != "bronze-1");
    }
    step(&mut world);
    world.clusters = clusters;
    assert!(!changes(&crate::plan(&world, noon())).iter().any(|said| said.ends_with("failed")));
}

/// The first slice was seen healthy long after it landed. Somebody puts the others' version on the base branch just
/// now: whoever still runs what came before is on the way, as nobody is whom the bot moved so long ago.
#[test]
fn who_was_moved_ahead_of_its_slice_is_not_late_with_those_before_it() {
    let fails = |by_hand: bool| {
        let mut world = one_of_three();
        bronze(&mut world).health.progress_deadline = SignedDuration::from_mins(10);
        if !by_hand {
            let second = opened(&step(&mut world)).expect("the second slice");
            propose(&mut world, &second, 22, 25);
            land(&mut world, 22, &["bronze-2"], 20);
        }
        holds(&mut world, "bronze-2", "1.1.0");
        facts(&mut world).readings.insert("bronze-2".into(), vec![healthy("1.0.0")]);
        let failed = matches!(state(&crate::plan(&world, noon())), WaveState::Failed { .. });
        // Its own answer is believed.
        let degraded = Reading { health: Health::Failed, since: Some(ago(1)), ..healthy("1.1.0") };
        facts(&mut world).readings.insert("bronze-2".into(), vec![degraded]);
        (failed, matches!(state(&crate::plan(&world, noon())), WaveState::Failed { .. }))
    };
    assert_eq!((fails(true), fails(false)), ((false, true), (true, true)));
}

/// How many failures are tolerated is fixed when the first slice opens.
#[test]
fn an_edit_of_what_is_tolerated_changes_no_climb_that_has_begun() {
    let fails = |then: u32, now: u32| {
        let mut world = world();
        bronze(&mut world).strategy = Strategy::RollingUpdate { max_update: MaxUpdate::Count(2), by: None };
        bronze(&mut world).health.max_failures = then;
        let first = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &first, 21, 60);
        land(&mut world, 21, &["bronze-1", "bronze-2"], 30);
        says_health(&mut world, Health::Failed);
        bronze(&mut world).health.max_failures = now;
        matches!(state(&crate::plan(&world, noon())), WaveState::Failed { .. })
    };
    assert_eq!([fails(0, 0), fails(0, 1), fails(1, 1), fails(1, 0)], [true, true, false, false]);
}

/// Slices that came from different versions have no one version to go back to.
#[test]
fn slices_from_different_versions_have_no_way_back() {
    let back = |first_from: &str| {
        let mut world = second_is_open(BACK, false);
        land(&mut world, 22, &["bronze-2"], 4);
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        let waves = page.tiers.get_mut(&"bronze".into()).unwrap();
        waves.iter_mut().filter(|wave| wave.part.slice == 0 && wave.version == version("1.1.0")).for_each(|wave| {
            wave.from = Some(version(first_from));
        });
        says_health(&mut world, Health::Failed);
        opened(&crate::plan(&world, noon())).map(|back| back.to.to_string())
    };
    assert_eq!((back("1.0.0").as_deref(), back("0.9.0")), (Some("1.0.0"), None));
}
