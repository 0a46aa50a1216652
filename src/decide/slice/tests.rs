//! A tier of three clusters that a release climbs slice by slice, as a table of what is open, landed
//! and healthy at each step.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

extern crate std;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::ledger::{Announced, Change, Head, Landed};
use crate::model::{Each, MaxUpdate, Merge, MergeRule, Pin, Step};
use crate::plan::Identity::{Bypass, Ordinary};
use crate::plan::{Plan, Proposal, Verdict, WaveState};
use crate::selector::Selector;
use crate::snapshot::{Cluster, Command, CommandKind, Health, Pull, PullState, Read, ReviewDecision, Snapshot};
use crate::testing::*;
use crate::{Action, Entry, PullNumber, Sha};

mod early;
mod failure;
mod first;
mod label;
mod late;
mod shared;
mod verify;
mod way;

const CLUSTERS: [&str; 3] = ["bronze-1", "bronze-2", "bronze-3"];

/// 1.1.0 has finished qa; bronze has three clusters on 1.0.0, a place for each, and moves one at a time.
fn world() -> Snapshot {
    let mut world = ready();
    world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap().clear();
    let members = CLUSTERS.iter().map(|name| (*name).into()).collect();
    let landed = Landed { at: ago(900), commit: None, by: None };
    old(&mut world, Change::Found { members, digest: None, landed });
    old(&mut world, Change::Finished(ago(800)));
    let label = |name: &str| {
        BTreeMap::from([("tier".to_string(), "bronze".to_string()), ("name".to_string(), name.to_string())])
    };
    let bronze_clusters = CLUSTERS.iter().map(|name| Cluster { name: (*name).into(), labels: label(name) });
    match &mut world.clusters {
        Read::Known(clusters) => {
            clusters.retain(|cluster| cluster.name.as_str() == "qa-1");
            clusters.extend(bronze_clusters);
        }
        Read::Unread(_) => unreachable!(),
    }
    facts(&mut world).pulls = Read::Known(Vec::new());
    bronze(&mut world).strategy = Strategy::RollingUpdate { max_update: MaxUpdate::Count(1), by: None };
    for name in CLUSTERS {
        holds(&mut world, name, "1.0.0");
    }
    world
}

fn old(world: &mut Snapshot, change: Change) {
    world.ledger.apply(&Entry::Wave { plugin: "app".into(), tier: "bronze".into(), version: version("1.0.0"), change });
}

/// The base branch holds this version for a cluster, which is healthy on it since ten minutes.
fn holds(world: &mut Snapshot, cluster: &str, text: &str) {
    let file = format!("clusters/bronze/{cluster}/app.yaml");
    let facts = facts(world);
    let Read::Known(base) = &mut facts.base else { unreachable!() };
    let places = base.get_mut(&"bronze".into()).unwrap();
    places.retain(|place| place.cluster.is_some() && place.file != file);
    places.push(Place {
        file,
        cluster: Some(cluster.into()),
        version: Read::Known(version(text)),
        range: None,
        vacant: false,
    });
    places.sort_by(|a, b| a.file.cmp(&b.file));
    facts.readings.insert(cluster.into(), vec![Reading { since: Some(ago(10)), ..healthy(text) }]);
}

use crate::snapshot::Reading;

fn opened(plan: &Plan) -> Option<Proposal> {
    plan.actions.iter().find_map(|action| match action {
        Action::Open(proposal) if proposal.tier.as_str() == "bronze" => Some(proposal.clone()),
        _ => None,
    })
}

fn names(proposal: &Proposal) -> Vec<String> {
    proposal.members.iter().map(ToString::to_string).collect()
}

/// What the bot did about a proposal: its intent, and the open pull request with this number.
fn propose(world: &mut Snapshot, proposal: &Proposal, number: u64, minutes: i64) {
    let head = Sha::new(format!("{number:040}"));
    remember(
        world,
        Change::Intent {
            from: proposal.from.clone(),
            digest: proposal.digest.clone(),
            part: proposal.part.clone(),
            members: proposal.members.clone(),
            head: Head { commit: head.clone(), at: ago(minutes), repeats: false },
        },
    );
    remember(world, Change::Announced(Announced { number: PullNumber(number), at: ago(minutes) }));
    let Read::Known(pulls) = &mut facts(world).pulls else { unreachable!() };
    let mut reviews = vec![approval("maria")];
    reviews[0].commit = head.clone();
    reviews[0].at = ago(minutes);
    pulls.push(Pull { number: PullNumber(number), head, opened_at: ago(minutes), reviews, ..pull() });
}

/// The pull request was merged: its clusters hold the version and are healthy on it.
fn land(world: &mut Snapshot, number: u64, clusters: &[&str], minutes: i64) {
    edit_last(world, |pull| {
        assert_eq!(pull.number.0, number);
        pull.state = PullState::Merged { at: ago(minutes), by: BOT.into(), commit: "dddddddddd".into() };
    });
    for cluster in clusters {
        holds(world, cluster, "1.1.0");
    }
    remember(world, Change::Landed(Landed { at: ago(minutes), commit: None, by: None }));
}

fn edit_last(world: &mut Snapshot, change: impl FnOnce(&mut Pull)) {
    match &mut facts(world).pulls {
        Read::Known(pulls) => change(pulls.last_mut().unwrap()),
        Read::Unread(_) => unreachable!(),
    }
}

/// The world after the first slice has landed and its cluster is healthy.
fn one_of_three() -> Snapshot {
    let mut world = world();
    let first = opened(&crate::plan(&world, noon())).expect("the first slice is opened");
    propose(&mut world, &first, 21, 60);
    land(&mut world, 21, &["bronze-1"], 30);
    world
}

fn state(plan: &Plan) -> WaveState {
    plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().state.clone()
}

fn changes(plan: &Plan) -> Vec<String> {
    plan.entries.iter().map(|record| record.entry.to_string()).collect()
}

#[test]
fn the_first_slice_fixes_who_moves_and_when() {
    let first = opened(&crate::plan(&world(), noon())).unwrap();
    assert_eq!(names(&first), ["bronze-1"]);
    assert_eq!((first.part.slice, first.part.slices(), first.part.span()), (0, 3, Some((1, 1, 3))));
    assert_eq!((first.from, first.part.budget), (Some(version("1.0.0")), Some(0)));
    // Two cases that differ in the key alone.
    let mut at_once = world();
    bronze(&mut at_once).strategy = Strategy::AllAtOnce;
    let first = opened(&crate::plan(&at_once, noon())).unwrap();
    assert_eq!((names(&first).len(), first.part.is_whole()), (3, true));
}

#[test]
fn a_slice_waits_for_the_health_of_those_before_it() {
    let mut world = one_of_three();
    let plan = crate::plan(&world, noon());
    let second = opened(&plan).expect("the second slice is opened");
    assert_eq!((names(&second), second.part.slice), (vec!["bronze-2".to_string()], 1));
    assert!(matches!(state(&plan), WaveState::Waiting), "{:?}", state(&plan));
    // Not yet healthy on it: nothing.
    facts(&mut world).readings.insert("bronze-1".into(), vec![healthy("1.0.0")]);
    let plan = crate::plan(&world, noon());
    assert_eq!(plan.actions, []);
    assert!(matches!(state(&plan), WaveState::Converging { .. }), "{:?}", state(&plan));
}

#[test]
fn a_later_slice_merges_only_while_the_earlier_ones_are_healthy() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let second = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &second, 22, 15);
    assert!(merges(&crate::plan(&world, noon())));
    assert_eq!(changes(&crate::plan(&world, noon())), [""; 0], "nothing has to go on that did not stand still");
    let sick = |health, since| vec![Reading { health, since: Some(ago(since)), ..healthy("1.1.0") }];
    facts(&mut world).readings.insert("bronze-1".into(), sick(Health::Progressing, 1));
    let plan = crate::plan(&world, noon());
    assert_eq!(plan.actions, [], "{plan:#?}");
    assert_eq!(says(&world, Gate::Health).verdict, WAIT);
    // Degraded for longer than is tolerated: the release fails, the pull request is closed.
    facts(&mut world).readings.insert("bronze-1".into(), sick(Health::Degraded, 6));
    let plan = crate::plan(&world, noon());
    assert!(matches!(state(&plan), WaveState::Failed { .. }), "{:?}", state(&plan));
    assert!(matches!(&plan.actions[..], [Action::Close { pull: PullNumber(22), .. }]), "{:?}", plan.actions);
}

/// Somebody moved bronze-2 ahead of its slice: that it is well says nothing of bronze-1, the only one of the first.
#[test]
fn who_moved_ahead_of_its_slice_does_not_answer_for_those_before_it() {
    for (health, opens) in [(Health::Healthy, true), (Health::Failed, false)] {
        let mut world = world();
        bronze(&mut world).health.max_failures = 1;
        let first = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &first, 21, 60);
        land(&mut world, 21, &["bronze-1"], 30);
        holds(&mut world, "bronze-2", "1.1.0");
        facts(&mut world).readings.insert("bronze-2".into(), vec![healthy("1.1.0")]);
        let first = Reading { health, since: Some(ago(1)), ..healthy("1.1.0") };
        facts(&mut world).readings.insert("bronze-1".into(), vec![first]);
        let plan = crate::plan(&world, noon());
        assert_eq!(opened(&plan).is_some(), opens, "{health:?}: {:?}", plan.actions);
        assert_eq!(matches!(state(&plan), WaveState::Failed { .. }), !opens, "{:?}", state(&plan));
    }
}

#[test]
fn a_signal_without_times_fails_an_earlier_slice_too() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let second = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &second, 22, 15);
    let sick = Reading { health: Health::Degraded, since: None, ..healthy("1.1.0") };
    facts(&mut world).readings.insert("bronze-1".into(), vec![sick.clone()]);
    let plan = crate::plan(&world, noon());
    for record in &plan.entries {
        world.ledger.apply(&record.entry);
    }
    let later = noon() + SignedDuration::from_mins(6);
    facts(&mut world).readings.insert("bronze-1".into(), vec![Reading { observed_at: later, ..sick }]);
    assert!(matches!(state(&crate::plan(&world, later)), WaveState::Failed { .. }));
}

#[test]
fn the_soak_runs_once_over_all_of_them() {
    let mut world = one_of_three();
    for (number, cluster) in [(22, "bronze-2"), (23, "bronze-3")] {
        remember(&mut world, Change::Converged(ago(20)));
        let plan = crate::plan(&world, noon());
        assert!(!changes(&plan).iter().any(|change| change.ends_with("finished")), "{:?}", changes(&plan));
        let next = opened(&plan).unwrap();
        assert_eq!(names(&next), [cluster]);
        propose(&mut world, &next, number, 20);
        land(&mut world, number, &[cluster], 15);
    }
    let plan = crate::plan(&world, noon());
    assert_eq!(opened(&plan), None);
    assert!(matches!(state(&plan), WaveState::Soaking { .. }), "{:?}", state(&plan));
    assert_eq!(plan.waves[1].members.len(), 3);
    for record in &plan.entries {
        world.ledger.apply(&record.entry);
    }
    let later = noon() + SignedDuration::from_hours(1);
    for cluster in CLUSTERS {
        let reading = Reading { observed_at: later, since: Some(ago(15)), ..healthy("1.1.0") };
        facts(&mut world).readings.insert(cluster.into(), vec![reading]);
    }
    assert!(changes(&crate::plan(&world, later)).iter().any(|change| change.ends_with("finished")));
    // One of the first slice that is not healthy keeps all from it.
    let reading = Reading { observed_at: later, health: Health::Progressing, ..healthy("1.1.0") };
    facts(&mut world).readings.insert("bronze-1".into(), vec![reading]);
    assert!(!changes(&crate::plan(&world, later)).iter().any(|change| change.ends_with("finished")));
}

/// Somebody moves the other clusters past their slices: what the first one was healthy for is no soak of
/// theirs.
#[test]
fn the_soak_of_a_slice_is_none_of_the_whole() {
    let mut world = one_of_three();
    for record in crate::plan(&world, noon()).entries {
        world.ledger.apply(&record.entry);
    }
    let soaked = |world: &Snapshot| {
        world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).and_then(|wave| wave.soak)
    };
    let first = soaked(&world).expect("the look is noted");
    assert_eq!((first.healthy_for, first.paused, first.begun), (SignedDuration::ZERO, true, None));
    let next = noon() + SignedDuration::from_mins(2);
    let reading = Reading { observed_at: next, since: None, ..healthy("1.1.0") };
    facts(&mut world).readings.insert("bronze-1".into(), vec![reading]);
    assert_eq!(changes(&crate::plan(&world, next)), [""; 0], "nothing new is to be noted");
    CLUSTERS.iter().for_each(|name| holds(&mut world, name, "1.1.0"));
    let later = noon() + SignedDuration::from_mins(4);
    for name in CLUSTERS {
        let reading = Reading { observed_at: later, since: None, ..healthy("1.1.0") };
        facts(&mut world).readings.insert(name.into(), vec![reading]);
    }
    for record in crate::plan(&world, later).entries {
        world.ledger.apply(&record.entry);
    }
    let whole = soaked(&world).unwrap();
    assert_eq!((whole.healthy_for, whole.paused, whole.begun), (SignedDuration::ZERO, false, Some(later)));
    let look = |world: &mut Snapshot, minutes: i64| {
        let at = noon() + SignedDuration::from_mins(minutes);
        for name in CLUSTERS {
            let reading = Reading { observed_at: at, since: None, ..healthy("1.1.0") };
            facts(world).readings.insert(name.into(), vec![reading]);
        }
        for record in crate::plan(world, at).entries {
            world.ledger.apply(&record.entry);
        }
        soaked(world).unwrap()
    };
    assert_eq!(look(&mut world, 7).healthy_for, SignedDuration::from_mins(3));
    // Somebody takes the last one back to what it had: what all of them were healthy for is gone.
    holds(&mut world, "bronze-3", "1.0.0");
    let again = look(&mut world, 9);
    assert_eq!((again.healthy_for, again.paused, again.begun), (SignedDuration::ZERO, true, None));
}

#[test]
fn what_keeps_the_next_slice_back() {
    let opens = |change: fn(&mut Snapshot)| {
        let mut world = one_of_three();
        remember(&mut world, Change::Converged(ago(20)));
        change(&mut world);
        opened(&crate::plan(&world, noon())).map(|proposal| names(&proposal))
    };
    let second = Some(vec!["bronze-2".to_string()]);
    assert_eq!(opens(|_| {}), second);
    assert_eq!(opens(|w| w.policy.plugins[0].constraint = "~1.0".parse().ok()), None, "not accepted any more");
    assert_eq!(opens(|w| w.policy.limits.open_pulls = Some(0)), None);
    let ill: fn(&mut Snapshot) = |w| {
        let reading = Reading { health: Health::Progressing, ..healthy("1.1.0") };
        facts(w).readings.insert("bronze-1".into(), vec![reading]);
    };
    assert_eq!(opens(ill), None, "they were healthy once, and are not now");
    assert_eq!(opens(|w| holds(w, "bronze-1", "1.0.0")), None, "somebody took the first one back");
    assert_eq!(opens(|w| holds(w, "bronze-3", "1.2.0")), None, "somebody put a newer one on another");
    // Who has left is passed over; who was moved by hand needs no pull request.
    let gone: fn(&mut Snapshot) = |w| match &mut w.clusters {
        Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "bronze-2"),
        Read::Unread(_) => unreachable!(),
    };
    assert_eq!(opens(gone), Some(vec!["bronze-3".to_string()]));
    assert_eq!(opens(|w| holds(w, "bronze-2", "1.1.0")), Some(vec!["bronze-3".to_string()]));
    // The partition stands, whatever the file says by now.
    assert_eq!(opens(|w| bronze(w).strategy = Strategy::AllAtOnce), second);
}

/// A lost ledger was rebuilt up to the first slice: the open pull request of the second is unknown, and
/// is written anew instead of a second one beside it.
#[test]
fn a_pull_request_that_no_slice_knows_is_written_anew() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let Read::Known(pulls) = &mut facts(&mut world).pulls else { unreachable!() };
    pulls.push(Pull { number: PullNumber(22), head: "eeeeeeeeee".into(), ..pull() });
    let plan = crate::plan(&world, noon());
    let [Action::Update { pull: PullNumber(22), proposal, .. }] = &plan.actions[..] else {
        panic!("{:?}", plan.actions)
    };
    assert_eq!((names(proposal), proposal.part.slice), (vec!["bronze-2".to_string()], 1));
    // Not before those that have moved are healthy.
    facts(&mut world).readings.insert("bronze-1".into(), vec![healthy("1.0.0")]);
    assert_eq!(crate::plan(&world, noon()).actions, []);
}

#[test]
fn pauses_between_slices() {
    let steps = |pause| vec![Step::SetWeight(10), Step::Pause(pause), Step::SetWeight(50)];
    let canary = |pause: Option<SignedDuration>, change: fn(&mut Snapshot)| {
        let mut world = world();
        bronze(&mut world).strategy = Strategy::Canary { steps: steps(pause) };
        let first = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &first, 21, 60);
        land(&mut world, 21, &["bronze-1"], 30);
        remember(&mut world, Change::Converged(ago(20)));
        change(&mut world);
        opened(&crate::plan(&world, noon())).is_some()
    };
    let minutes = |minutes| Some(SignedDuration::from_mins(minutes));
    assert!(canary(minutes(20), |_| {}));
    assert!(!canary(minutes(21), |_| {}));
    assert!(!canary(None, |_| {}));
    fn resume(world: &mut Snapshot, minutes: i64, allowed: Read<bool>) {
        let said = Command { by: "maria".into(), at: ago(minutes), what: CommandKind::Resume, allowed };
        edit_last(world, |pull| pull.commands.push(said));
    }
    assert!(canary(None, |w| resume(w, 5, Read::Known(true))));
    assert!(!canary(None, |w| resume(w, 5, Read::Known(false))), "who may not");
    assert!(!canary(None, |w| resume(w, 5, Read::Unread("503".into()))), "unknown is not yes");
    assert!(!canary(None, |w| resume(w, 25, Read::Known(true))), "before they were healthy");
    // What was waited for before a slice is not waited for again behind it.
    let third: fn(&mut Snapshot) = |world| {
        let second = opened(&crate::plan(world, noon())).unwrap();
        propose(world, &second, 22, 15);
        land(world, 22, &["bronze-2"], 10);
        remember(world, Change::Converged(ago(5)));
    };
    assert!(canary(minutes(20), third));
}

#[test]
fn a_shared_place_moves_everybody() {
    let mut world = world();
    facts(&mut world).base = Read::Known(BTreeMap::from([place("qa", "1.1.0"), place("bronze", "1.0.0")]));
    let finding = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        assert_eq!(opened(&plan), None);
        plan.waves[1].blocker().map(|finding| finding.because.clone())
    };
    assert_eq!(finding(&world), Some(Reason::PlacesShared { tier: "bronze".into() }));
    bronze(&mut world).strategy = Strategy::Delegated;
    assert!(opened(&crate::plan(&world, noon())).is_some());
}

#[test]
fn pinned_clusters_are_no_members() {
    let mut world = world();
    bronze(&mut world).strategy = Strategy::AllAtOnce;
    bronze(&mut world).merge = MergeRule::all(Merge::Automatic);
    let select = Selector {
        match_labels: BTreeMap::from([("name".to_string(), "bronze-2".to_string())]),
        match_expressions: Vec::new(),
    };
    let pin = Pin { select, version: Some(version("1.0.0")), until: Some(noon()), why: "audit".to_string() };
    let members = |world: &Snapshot, now| names(&opened(&crate::plan(world, now)).unwrap());
    assert_eq!(members(&world, noon()).len(), 3);
    world.policy.plugins[0].pins = vec![pin];
    assert_eq!(members(&world, noon()).len(), 3, "the pin has ended");
    assert_eq!(members(&world, ago(1)), ["bronze-1", "bronze-3"]);
    let plan = crate::plan(&world, ago(1));
    let shown: Vec<String> = plan.waves[1].pinned.iter().map(|pin| format!("{} {}", pin.cluster, pin.why)).collect();
    assert_eq!(shown, ["bronze-2 audit"]);
    // One without a version is on what its file says.
    holds(&mut world, "bronze-2", "0.9.0");
    world.policy.plugins[0].pins[0].version = None;
    assert_eq!(crate::plan(&world, ago(1)).waves[1].pinned[0].version, Some(version("0.9.0")));
}
