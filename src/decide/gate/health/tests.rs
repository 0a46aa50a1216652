//! How a landed wave stands, as its gates say it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::WaveState;
use crate::ledger::{Change, Soaked};
use crate::snapshot::{Health, Reading, Snapshot};
use crate::testing::*;
use alloc::string::ToString;
use jiff::SignedDuration;

/// Changes what bronze-1 answers.
fn reread(world: &mut Snapshot, mut change: impl FnMut(&mut Reading)) {
    facts(world).readings.reread(|cluster, readings| {
        readings.iter_mut().filter(|_| cluster.as_str() == "bronze-1").for_each(&mut change);
    });
}

fn reading(change: impl FnOnce(&mut Reading)) -> Snapshot {
    let mut reading = healthy("1.1.0");
    reading.since = Some(ago(20));
    change(&mut reading);
    landed(vec![reading])
}

#[test]
fn f10_f12_version_proof_then_freshness_then_state() {
    type Case = (&'static str, fn() -> Snapshot, Verdict, &'static str);
    let cases: [Case; 11] = [
        ("healthy on it", || reading(|_| {}), Verdict::Pass, "1 of 1 healthy on this version"),
        (
            "healthy on the old version",
            || reading(|r| r.running = Some(version("1.0.0"))),
            WAIT,
            "bronze-1 is on 1.0.0",
        ),
        ("no proof of a version", || reading(|r| r.running = None), WAIT, "bronze-1 is without proof of a version"),
        (
            "build metadata of the controller",
            || reading(|r| r.running = Some(version("1.1.0+abc"))),
            Verdict::Pass,
            "1 of 1",
        ),
        (
            "other content",
            || reading(|r| r.digest = Some("sha256:22".into())),
            WAIT,
            "bronze-1 is running other content",
        ),
        (
            "read before it landed",
            || {
                let mut world = reading(|r| r.observed_at = ago(31));
                bronze(&mut world).health.max_age = SignedDuration::from_hours(1);
                world
            },
            WAIT,
            "bronze-1 is not read since it landed",
        ),
        ("read long ago", || reading(|r| r.observed_at = ago(6)), Verdict::Unknown, "bronze-1 is not read lately"),
        ("not read at all", || landed(Vec::new()), Verdict::Unknown, "bronze-1 is not read"),
        ("suspended", || reading(|r| r.health = Health::Suspended), WAIT, "bronze-1 is suspended"),
        ("no object", || reading(|r| r.health = Health::NotFound), WAIT, "bronze-1 is without the object"),
        (
            "degraded for a minute",
            || {
                reading(|r| {
                    r.health = Health::Degraded;
                    r.since = Some(ago(1));
                })
            },
            WAIT,
            "bronze-1 is degraded",
        ),
    ];
    for (name, world, verdict, wording) in cases {
        let finding = says(&world(), Gate::Health);
        assert_eq!(finding.verdict, verdict, "{name}: {finding:?}");
        assert!(finding.because.to_string().starts_with(wording), "{name}: {}", finding.because);
    }
}

/// Somebody put it there by hand while its source was silent: what was pinned at the first sight holds for it, too.
#[test]
fn what_was_found_before_its_first_sight_is_held_to_its_digest() {
    let mut world = reading(|r| r.digest = Some("sha256:22".into()));
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().digest = None;
    let finding = says(&world, Gate::Health);
    assert_eq!(finding.verdict, WAIT, "{finding:?}");
    assert!(finding.because.to_string().contains("other content"), "{}", finding.because);
}

#[test]
fn every_signal_has_to_agree() {
    let old = Reading { running: Some(version("1.0.0")), ..healthy("1.1.0") };
    let finding = says(&landed(vec![healthy("1.1.0"), old]), Gate::Health);
    assert_eq!(finding.verdict, WAIT);
}

/// One that is read before it landed will be read again: it is not one of those that never answer.
#[test]
fn an_answer_from_before_it_landed_is_waited_for_whatever_silence_is_tolerated() {
    let verdict = |second: Vec<Reading>| {
        let mut world = landed(vec![healthy("1.1.0")]);
        join(&mut world, "bronze-2", second);
        let rule = &mut bronze(&mut world).health;
        (rule.max_unknown, rule.max_age) = (1, SignedDuration::from_hours(1));
        says(&world, Gate::Health).verdict
    };
    let before = Reading { observed_at: ago(31), since: Some(ago(900)), ..healthy("1.0.0") };
    assert_eq!(verdict(vec![before]), WAIT);
    assert_eq!(verdict(Vec::new()), Verdict::Pass, "nobody is there to answer");
}

#[test]
fn what_fails_a_wave() {
    type Case = (&'static str, fn() -> Snapshot, bool);
    let cases: [Case; 8] = [
        ("given up by its controller", || reading(|r| r.health = Health::Failed), true),
        (
            "degraded for five minutes",
            || {
                reading(|r| {
                    r.health = Health::Degraded;
                    r.since = Some(ago(5));
                })
            },
            true,
        ),
        (
            "degraded on the old version after a failed upgrade",
            || {
                reading(|r| {
                    r.health = Health::Degraded;
                    r.running = Some(version("1.0.0"));
                    r.attempted = Some(version("1.1.0"));
                    r.since = Some(ago(5));
                })
            },
            true,
        ),
        (
            "degraded since before it landed, landed long enough ago",
            || {
                reading(|r| {
                    r.health = Health::Degraded;
                    r.since = Some(ago(900));
                })
            },
            true,
        ),
        (
            "the only member failed, though one failure is tolerated",
            || {
                let mut w = reading(|r| r.health = Health::Failed);
                bronze(&mut w).health.max_failures = 1;
                w
            },
            true,
        ),
        (
            "nobody healthy at the deadline, though one failure is tolerated",
            || {
                let mut w = reading(|r| r.health = Health::Progressing);
                bronze(&mut w).health.max_failures = 1;
                bronze(&mut w).health.progress_deadline = SignedDuration::from_mins(30);
                w
            },
            true,
        ),
        (
            "past the progress deadline",
            || {
                let mut w = reading(|r| r.health = Health::Progressing);
                bronze(&mut w).health.progress_deadline = SignedDuration::from_mins(30);
                w
            },
            true,
        ),
        (
            "unknown past the progress deadline",
            || {
                let mut w = reading(|r| r.health = Health::Unknown);
                bronze(&mut w).health.progress_deadline = SignedDuration::from_mins(30);
                w
            },
            true,
        ),
    ];
    for (name, world, fails) in cases {
        let plan = crate::plan(&world(), noon());
        let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
        assert_eq!(matches!(report.state, WaveState::Failed { .. }), fails, "{name}: {:?}", report.state);
    }
}

#[test]
fn so_many_may_fail_or_be_unknown_and_no_more() {
    use Health::{Degraded, Failed, Healthy, Progressing, Suspended, Unknown};
    #[derive(PartialEq, Debug)]
    enum Is {
        Fine,
        Waits,
        Lost,
    }
    // bronze-1, bronze-2, bronze-3; failures and unknown ones tolerated; past the deadline.
    let cases = [
        ([Healthy, Healthy, Healthy], 0, 0, false, Is::Fine),
        ([Healthy, Healthy, Failed], 0, 0, false, Is::Lost),
        ([Healthy, Healthy, Failed], 1, 0, false, Is::Fine),
        ([Healthy, Failed, Failed], 1, 0, false, Is::Lost),
        ([Failed, Failed, Failed], 3, 0, false, Is::Lost),
        ([Healthy, Healthy, Unknown], 0, 0, false, Is::Waits),
        ([Healthy, Healthy, Unknown], 0, 0, true, Is::Lost),
        ([Healthy, Healthy, Unknown], 0, 1, false, Is::Fine),
        ([Healthy, Unknown, Unknown], 0, 1, false, Is::Waits),
        ([Healthy, Unknown, Unknown], 0, 1, true, Is::Lost),
        ([Unknown, Unknown, Unknown], 0, 3, true, Is::Lost),
        ([Healthy, Failed, Unknown], 1, 1, false, Is::Fine),
        ([Healthy, Failed, Unknown], 0, 2, false, Is::Lost),
        ([Healthy, Failed, Unknown], 1, 0, true, Is::Lost),
        ([Healthy, Healthy, Progressing], 0, 0, false, Is::Waits),
        ([Healthy, Healthy, Progressing], 0, 0, true, Is::Lost),
        ([Healthy, Healthy, Progressing], 1, 0, true, Is::Fine),
        ([Healthy, Healthy, Suspended], 0, 0, false, Is::Waits),
        ([Healthy, Healthy, Suspended], 0, 0, true, Is::Lost),
        ([Healthy, Healthy, Degraded], 1, 0, false, Is::Waits),
    ];
    for (states, failures, unknown, late, expected) in cases {
        let as_is = |health| {
            let since = (health == Degraded).then_some(ago(1));
            alloc::vec![Reading { health, since, ..healthy("1.1.0") }]
        };
        let mut world = landed(as_is(states[0]));
        join(&mut world, "bronze-2", as_is(states[1]));
        join(&mut world, "bronze-3", as_is(states[2]));
        let rule = &mut bronze(&mut world).health;
        (rule.max_failures, rule.max_unknown) = (failures, unknown);
        rule.progress_deadline = SignedDuration::from_mins(if late { 30 } else { 31 });
        let is = match says(&world, Gate::Health).verdict {
            Verdict::Pass => Is::Fine,
            Verdict::Wait { .. } | Verdict::Unknown => Is::Waits,
            Verdict::Fail => Is::Lost,
            Verdict::Waived { .. } => unreachable!(),
        };
        assert_eq!(is, expected, "{states:?}, {failures} and {unknown} tolerated, late: {late}");
    }
}

fn soaked(minutes: i64, until: i64, paused: bool, world: &mut Snapshot) {
    remember(world, Change::Converged(ago(25)));
    let soaked = Soaked {
        healthy_for: SignedDuration::from_mins(minutes),
        until: ago(until),
        paused,
        ailing: None,
        begun: Some(ago(25)),
    };
    remember(world, Change::Soaked(soaked));
}

fn healthy_for(world: &Snapshot) -> SignedDuration {
    let plan = crate::plan(world, noon());
    let records = plan.entries.iter().filter_map(|record| match &record.entry {
        crate::Entry::Wave { tier, change: Change::Soaked(soaked), .. } if tier.as_str() == "bronze" => {
            Some(soaked.healthy_for)
        }
        _ => None,
    });
    records.max().unwrap_or(SignedDuration::ZERO)
}

/// A fix has landed, and the controller still reports the failure that it mends.
#[test]
fn a_fix_does_not_fail_for_its_predecessors_fault() {
    for health in [Health::Failed, Health::Degraded] {
        let world = reading(|r| {
            r.health = health;
            r.running = Some(version("1.0.0"));
            r.attempted = Some(version("1.0.9"));
            r.since = Some(ago(900));
        });
        let finding = says(&world, Gate::Health);
        assert_eq!(finding.verdict, WAIT, "{finding:?}");
        assert_eq!(finding.because.to_string(), "bronze-1 is on 1.0.0, still failing");
    }
}

#[test]
fn f11_soak_runs_only_while_healthy() {
    type Case = (&'static str, fn(&mut Snapshot), i64);
    let cases: [Case; 7] = [
        ("watched", |w| soaked(10, 2, false, w), 12),
        ("a gap that the object's own times prove", |w| soaked(5, 15, false, w), 20),
        (
            "it changed state in between, unseen",
            |w| {
                soaked(10, 15, false, w);
                reread(w, |r| r.since = Some(ago(4)));
            },
            4,
        ),
        (
            "no transition times, watched",
            |w| {
                soaked(10, 2, false, w);
                reread(w, |r| r.since = None);
            },
            12,
        ),
        (
            "no transition times, not watched",
            |w| {
                soaked(10, 15, false, w);
                reread(w, |r| r.since = None);
            },
            10,
        ),
        ("after a pause nothing of the pause counts", |w| soaked(10, 5, true, w), 10),
        (
            "degraded resets",
            |w| {
                soaked(10, 2, false, w);
                reread(w, |r| {
                    r.health = Health::Degraded;
                    r.since = Some(ago(1));
                });
            },
            0,
        ),
    ];
    for (name, change, minutes) in cases {
        let mut world = reading(|_| {});
        change(&mut world);
        assert_eq!(healthy_for(&world), SignedDuration::from_mins(minutes), "{name}");
    }
}

#[test]
fn it_finishes_after_the_soak_and_wakes_for_it() {
    let mut world = reading(|_| {});
    soaked(58, 1, false, &mut world);
    let plan = crate::plan(&world, noon());
    let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
    assert!(matches!(report.state, WaveState::Soaking { .. }), "{:?}", report.state);
    world.look_again = SignedDuration::from_hours(1);
    assert_eq!(crate::plan(&world, noon()).alarm.map(|alarm| alarm.at), Some(noon() + SignedDuration::from_mins(1)));
    let mut world = reading(|_| {});
    soaked(59, 1, false, &mut world);
    let plan = crate::plan(&world, noon());
    let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
    assert_eq!(report.state, WaveState::Finished { at: noon() });
}

/// Bronze landed half an hour ago.
#[test]
fn the_deadline_to_become_healthy_passes_at_its_instant() {
    let says = |converged: bool, deadline: i64, seconds: i64| {
        let mut world = reading(|r| r.health = Health::Progressing);
        bronze(&mut world).health.progress_deadline = SignedDuration::from_mins(deadline);
        if converged {
            remember(&mut world, Change::Converged(ago(20)));
        }
        let finding = says_at(&world, Gate::ProgressDeadline, noon() - SignedDuration::from_secs(seconds));
        (finding.verdict, finding.because.to_string())
    };
    let in_time = (Verdict::Pass, "within the progress deadline".to_string());
    assert_eq!(says(false, 30, 1), in_time);
    assert_eq!(says(false, 30, 0), (Verdict::Fail, "not healthy 30 min after it landed".to_string()));
    assert_eq!(says(true, 25, 0), in_time, "they were healthy before");
}

/// Paused for good, it says until when at the longest, as long as nobody is degraded.
#[test]
fn a_paused_soak_says_until_when_at_the_longest() {
    let until = |max: i64, health: Health| {
        let mut world = reading(|r| {
            r.health = health;
            r.since = Some(ago(1));
        });
        bronze(&mut world).soak.max = Some(SignedDuration::from_mins(max));
        soaked(10, 2, true, &mut world);
        edit(&mut world, |pull| pull.draft = true);
        says(&world, Gate::Soak).verdict
    };
    let wait = |until: Option<i64>| Verdict::Wait { until: until.map(ago) };
    assert_eq!(until(31, Health::Suspended), wait(Some(-1)));
    assert_eq!(until(30, Health::Suspended), wait(None), "that is over, and something else keeps it");
    assert_eq!(until(31, Health::Degraded), wait(None));
}

/// It failed after the fact: what it had soaked stays said.
#[test]
fn what_had_finished_says_how_long_it_was_healthy() {
    let mut world = reading(|_| {});
    soaked(60, 1, false, &mut world);
    remember(&mut world, Change::Finished(ago(1)));
    remember(&mut world, Change::Failed(crate::ledger::Failed { at: ago(1), why: Reason::NotLanded }));
    let finding = says(&world, Gate::Soak);
    assert_eq!((finding.verdict, finding.because.to_string()), (Verdict::Pass, "all were healthy for 1 h".into()));
    bronze(&mut world).soak = crate::model::Soak::default();
    assert_eq!(says(&world, Gate::Soak).because, Reason::SoakNotAsked);
}
