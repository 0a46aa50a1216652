//! How answers are judged at the instant, of two signals, and under what is tolerated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::Clusters;
use crate::ledger::{Change, Soaked};
use crate::plan::{Gate, Verdict, WaveState};
use crate::snapshot::{Reading, Snapshot};
use crate::testing::*;
use alloc::vec;
use jiff::SignedDuration;

fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

/// What is said of one cluster of bronze that answers this; it landed half an hour ago.
fn said(readings: Vec<Reading>) -> (Verdict, String) {
    let finding = says(&landed(readings), Gate::Health);
    (finding.verdict, finding.because.to_string())
}

fn reading(change: impl FnOnce(&mut Reading)) -> Reading {
    let mut reading = Reading { since: Some(ago(20)), ..healthy("1.1.0") };
    change(&mut reading);
    reading
}

#[test]
fn an_answer_is_fresh_up_to_its_age_and_from_the_landing_on() {
    let at = |observed: Timestamp, max_age: i64| {
        let mut world = landed(vec![reading(|r| r.observed_at = observed)]);
        bronze(&mut world).health.max_age = minutes(max_age);
        let both = |world: &Snapshot| {
            let finding = says(world, Gate::Health);
            (finding.verdict, finding.because.to_string())
        };
        let one = both(&world);
        // Two signals are judged at length.
        facts(&mut world)
            .readings
            .reread(|_, readings| readings.extend(readings.first().cloned().filter(|r| r.observed_at == observed)));
        assert_eq!(both(&world), one);
        one
    };
    let healthy = (Verdict::Pass, "1 of 1 healthy on this version".to_string());
    assert_eq!(at(ago(5), 5), healthy);
    assert_eq!(at(ago(5) - seconds(1), 5).0, Verdict::Unknown);
    assert_eq!(at(ago(30), 60), healthy);
    assert_eq!(at(ago(30) - seconds(1), 60), (WAIT, "bronze-1 is not read since it landed".to_string()));
}

#[test]
fn who_is_on_its_way_says_where_it_is() {
    let progressing = |running: Option<&str>| {
        said(vec![reading(|r| {
            r.health = Health::Progressing;
            r.running = running.map(version);
        })])
        .1
    };
    assert_eq!(progressing(Some("1.1.0")), "bronze-1 is progressing");
    assert_eq!(progressing(Some("1.0.0")), "bronze-1 is on 1.0.0");
    assert_eq!(progressing(None), "bronze-1 is without proof of a version");
}

#[test]
fn of_two_signals_the_worse_one_is_said_and_of_two_alike_the_first() {
    let evidence = |first: (Health, &str), second: (Health, &str)| {
        let with = |(health, text): (Health, &str)| {
            reading(|r| {
                r.health = health;
                r.evidence = text.to_string();
                r.since = Some(ago(1));
            })
        };
        let plan = crate::plan(&landed(vec![with(first), with(second)]), noon());
        let wave = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        let member = wave.members.iter().next().unwrap();
        member.state.trouble().map(|trouble| trouble.evidence.clone()).unwrap_or_default()
    };
    assert_eq!(evidence((Health::Suspended, "one"), (Health::Suspended, "two")), "one");
    assert_eq!(evidence((Health::Suspended, "one"), (Health::Degraded, "two")), "two");
    assert_eq!(evidence((Health::Degraded, "one"), (Health::Suspended, "two")), "one");
    assert_eq!(evidence((Health::Healthy, "one"), (Health::Healthy, "two")), "", "two healthy ones are healthy");
}

/// What the next look makes of a soak of ten minutes that was seen five minutes ago.
fn soak(answers: &[(&str, Vec<Reading>)], change: fn(&mut Snapshot)) -> Soaked {
    let mut world = landed(answers[0].1.clone());
    for (name, readings) in &answers[1..] {
        join(&mut world, name, readings.clone());
    }
    remember(&mut world, Change::Converged(ago(25)));
    let soaked = Soaked { healthy_for: minutes(10), until: ago(5), paused: false, ailing: None, begun: Some(ago(15)) };
    remember(&mut world, Change::Soaked(soaked));
    change(&mut world);
    for record in crate::plan(&world, noon()).entries {
        world.ledger.apply(&record.entry);
    }
    world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).unwrap().soak.unwrap()
}

#[test]
fn a_soak_goes_as_far_as_the_oldest_look_and_the_latest_beginning() {
    let seen = |observed: i64, since: Option<i64>| {
        vec![reading(|r| (r.observed_at, r.since) = (ago(observed), since.map(ago)))]
    };
    let two = |one, other| {
        let soaked = soak(&[("bronze-1", one), ("bronze-2", other)], |_| {});
        let backwards = |at: Timestamp| noon().duration_since(at).as_mins();
        (soaked.healthy_for.as_mins(), backwards(soaked.until))
    };
    // Up to then all of them were looked at.
    assert_eq!(two(seen(0, Some(20)), seen(2, Some(20))), (13, 2));
    assert_eq!(two(seen(2, Some(20)), seen(0, Some(20))), (13, 2));
    assert_eq!(two(seen(0, Some(20)), seen(0, Some(20))), (15, 0));
    // One of them became healthy since.
    assert_eq!(two(seen(0, Some(20)), seen(0, Some(4))), (4, 0));
    assert_eq!(two(seen(0, Some(4)), seen(0, Some(20))), (4, 0));
    // Where one has no time of its own, what was watched counts.
    assert_eq!(two(seen(0, None), seen(0, Some(4))), (15, 0));
    assert_eq!(two(seen(0, Some(4)), seen(0, None)), (15, 0));
    // Of two signals of one cluster it is the later time.
    let both = [seen(0, Some(20)), seen(0, Some(4))].concat();
    assert_eq!(two(both, seen(0, Some(20))), (4, 0));
}

#[test]
fn a_soak_stands_still_and_forgets_what_it_has_to() {
    let as_is = |health| vec![reading(|r| r.health = health)];
    let fine = Soaked { healthy_for: minutes(15), until: noon(), paused: false, ailing: None, begun: Some(ago(15)) };
    assert_eq!(soak(&[("bronze-1", as_is(Health::Healthy))], |_| {}), fine);
    let ailing: fn(&mut Snapshot) = |w| {
        let before = w.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).unwrap().soak.unwrap();
        remember(w, Change::Soaked(Soaked { ailing: Some(ago(6)), begun: None, ..before }));
    };
    let paused = Soaked { healthy_for: minutes(10), until: ago(5), paused: true, ..fine };
    assert_eq!(soak(&[("bronze-1", as_is(Health::Suspended))], |_| {}), paused);
    let nobody_looked_better = Soaked { begun: None, ..paused };
    assert_eq!(soak(&[("bronze-1", as_is(Health::Suspended))], ailing), nobody_looked_better, "nobody ails any more");
    // The same answer once more: nobody ails, and all were healthy at that look.
    let again = vec![reading(|r| r.observed_at = ago(5))];
    let seen = Soaked { healthy_for: minutes(10), until: ago(5), begun: Some(ago(5)), ..fine };
    assert_eq!(soak(&[("bronze-1", again)], ailing), seen);
    // A failure that is tolerated resets nothing, and neither does one that may be and is not.
    let tolerant: fn(&mut Snapshot) = |w| bronze(w).health.max_failures = 1;
    assert_eq!(soak(&[("bronze-1", as_is(Health::Healthy))], tolerant), fine);
    let one_failed = [("bronze-1", as_is(Health::Healthy)), ("bronze-2", as_is(Health::Failed))];
    assert_eq!(soak(&one_failed, tolerant), fine);
}

/// What is tolerated proves nothing where nobody is healthy.
#[test]
fn nobody_healthy_is_not_all_healthy() {
    let mut world = landed(Vec::new());
    bronze(&mut world).health.max_unknown = 1;
    assert_eq!(says(&world, Gate::Health).verdict, Verdict::Unknown);
}

fn state(world: &Snapshot) -> WaveState {
    crate::plan(world, noon()).waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().state
}

/// Signals that name no times: since six minutes somebody was seen degraded, look after look.
#[test]
fn who_ails_for_long_counts_as_failed() {
    let fails = |ill: usize, of: usize, tolerated: u32| {
        let answer = |at: usize| {
            let health = if at < ill { Health::Degraded } else { Health::Healthy };
            vec![Reading { health, since: None, ..healthy("1.1.0") }]
        };
        let mut world = landed(answer(0));
        for at in 1..of {
            join(&mut world, &format!("bronze-{}", at + 1), answer(at));
        }
        bronze(&mut world).health.max_failures = tolerated;
        let zero = SignedDuration::ZERO;
        let soaked = Soaked { healthy_for: zero, until: ago(7), paused: true, ailing: Some(ago(6)), begun: None };
        remember(&mut world, Change::Soaked(soaked));
        matches!(state(&world), WaveState::Failed { .. })
    };
    assert!(fails(1, 3, 0));
    assert!(!fails(1, 3, 1));
    assert!(fails(2, 3, 1));
    assert!(fails(1, 1, 1), "nobody is left to be healthy");
    assert!(!fails(0, 3, 0));
}

/// Two became healthy in time; the third was tolerated, so that all counted as healthy after the deadline.
#[test]
fn who_was_late_stays_late_and_who_comes_back_is_not() {
    let state_of = |since: Option<i64>, tolerated: u32| {
        let third = vec![reading(|r| {
            r.health = Health::Progressing;
            r.since = since.map(ago);
        })];
        let mut world = landed(vec![reading(|_| {})]);
        join(&mut world, "bronze-2", vec![reading(|_| {})]);
        join(&mut world, "bronze-3", third);
        bronze(&mut world).health.progress_deadline = minutes(20);
        bronze(&mut world).health.max_failures = tolerated;
        remember(&mut world, Change::Converged(ago(10)));
        let finding = says(&world, Gate::Health);
        (matches!(state(&world), WaveState::Failed { .. }), finding.verdict.lets_through())
    };
    assert_eq!(state_of(Some(15), 1), (false, true), "late, and tolerated");
    assert_eq!(state_of(Some(10), 1), (false, true), "since that very look");
    assert_eq!(state_of(Some(9), 1), (false, false), "it was healthy then, and is waited for");
    assert_eq!(state_of(None, 1), (false, true), "nobody knows since when: it may be the one");
    assert_eq!(state_of(None, 0), (false, false), "none was late when all were healthy");
    assert_eq!(state_of(Some(15), 0), (true, false), "who was tolerated then and is not now");
    assert_eq!(state_of(Some(9), 0), (false, false));
}

/// An answer is used again only for the very same question.
#[test]
fn two_orders_are_one_only_in_every_word() {
    let order = |text: &str, name: &str, digest: &str, minutes: i64| Order {
        clusters: Clusters::from(vec![ClusterName::from(name)]),
        version: version(text),
        digest: Some(digest.into()),
        since: ago(minutes),
    };
    let one = || order("1.1.0", "bronze-1", "sha256:11", 5);
    assert!(one() == one());
    for other in [
        order("v1.1.0", "bronze-1", "sha256:11", 5),
        order("1.1.0", "bronze-2", "sha256:11", 5),
        order("1.1.0", "bronze-1", "sha256:22", 5),
        order("1.1.0", "bronze-1", "sha256:11", 6),
    ] {
        assert!(one() != other);
    }
}

/// Who is late is said to be late, and what it says of itself besides.
#[test]
fn who_is_late_is_said_to_be_late() {
    let mut world = landed(vec![reading(|r| r.health = Health::Progressing)]);
    bronze(&mut world).health.progress_deadline = minutes(30);
    let finding = says(&world, Gate::Health);
    assert_eq!(
        finding.because.to_string(),
        "bronze-1 is progressing past the progress deadline; 1 failed, 0 tolerated"
    );
}

/// The bot was away and saw only after the deadline that all were healthy. Whoever is on its way again since, by a
/// signal that does not say since when, was not late.
#[test]
fn who_was_healthy_after_the_deadline_is_not_late_by_it() {
    let late = |max_failures| {
        let on_its_way = Reading { health: Health::Progressing, since: None, ..healthy("1.1.0") };
        let mut world = landed(vec![reading(|_| {})]);
        join(&mut world, "bronze-2", vec![on_its_way]);
        let health = &mut bronze(&mut world).health;
        (health.progress_deadline, health.max_failures) = (minutes(20), max_failures);
        remember(&mut world, Change::Converged(ago(5)));
        let finding = says(&world, Gate::Health);
        (finding.because.to_string(), matches!(state(&world), WaveState::Failed { .. }))
    };
    assert_eq!(late(0), ("bronze-2 is progressing".to_string(), false));
    // One may have failed, and then this may be it.
    assert_eq!(late(1), ("1 of 2 healthy on this version, 1 tolerated".to_string(), false));
}

/// Those whose slice it was have left: whoever came ahead of it answers for the release, alone.
#[test]
fn where_only_those_ahead_of_their_slice_are_left_they_count() {
    let healthy_with = |clusters: &[&str], health: Health| {
        let mut readings = Readings::default();
        for name in clusters {
            readings.insert((*name).into(), vec![Reading { health, ..healthy("1.1.0") }]);
        }
        let names = |names: &[&str]| names.iter().map(|name| ClusterName::from(*name)).collect::<Clusters>();
        let order = Order { clusters: names(&["bronze-1"]), version: version("1.1.0"), digest: None, since: ago(30) };
        let question = Question {
            clusters: names(clusters),
            orders: vec![order],
            sliced: true,
            landed: Some(ago(30)),
            converged: Some(ago(20)),
            max_age: minutes(10),
            degraded_for: minutes(5),
            progress_deadline: minutes(60),
            tolerates: true,
        };
        question.answer(&readings, noon())
    };
    let rule = HealthRule { max_failures: 1, ..tier("bronze").health };
    assert!(healthy_with(&["bronze-2"], Health::Healthy).all_healthy(&rule));
    let failure = |clusters: &[&str]| {
        let wave = Wave::begun(version("1.1.0"), [].into_iter().collect(), ago(60));
        let tier = Tier { health: rule, ..tier("bronze") };
        healthy_with(clusters, Health::Failed).failure(&tier, &wave, noon())
    };
    assert!(failure(&["bronze-2"]).is_some(), "nobody is left to be healthy");
    assert!(failure(&[]).is_none(), "where nobody is, nobody has failed");
}

/// Two may fail; of the two that there are one has failed, and one has been degraded for long.
#[test]
fn nobody_is_left_to_be_healthy_where_some_failed_and_the_others_ail() {
    let mut world = landed(vec![reading(|reading| reading.health = Health::Failed)]);
    let degraded = Reading { health: Health::Degraded, since: None, ..healthy("1.1.0") };
    join(&mut world, "bronze-2", vec![degraded]);
    bronze(&mut world).health.max_failures = 2;
    let zero = SignedDuration::ZERO;
    let soaked = Soaked { healthy_for: zero, until: ago(7), paused: true, ailing: Some(ago(6)), begun: None };
    remember(&mut world, Change::Soaked(soaked));
    assert!(matches!(state(&world), WaveState::Failed { .. }), "{:?}", state(&world));
}
