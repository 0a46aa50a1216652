//! Verdicts after the fact, on worlds of one plugin.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::plan::{Action, Plan, Verdict, WaveReport};
use crate::snapshot::{Command, CommandKind, Health, PullState, Read, Reading, Snapshot};
use crate::testing::*;
use crate::{Gate, PullNumber, WaveState};
use alloc::string::ToString;
use alloc::vec;
use jiff::SignedDuration;

fn report<'a>(plan: &'a Plan, tier: &str) -> &'a WaveReport {
    plan.waves.iter().find(|wave| wave.tier.as_str() == tier).expect("the tier")
}

/// 1.1.0 finished qa an hour ago, and its cluster says this now.
fn lost(health: Health) -> Snapshot {
    let mut world = ready();
    let reading = Reading { health, since: Some(ago(10)), ..healthy("1.1.0") };
    facts(&mut world).readings.insert("qa-1".into(), vec![reading]);
    world.policy.plugins[0].tiers[0].watch = SignedDuration::from_hours(6);
    world
}

fn stops(world: &Snapshot) -> bool {
    let plan = crate::plan(world, noon());
    let failed = matches!(report(&plan, "qa").state, WaveState::Failed { .. });
    let closed = plan.actions.iter().any(|action| matches!(action, Action::Close { .. }));
    assert_eq!(failed, closed, "{:#?}", plan.actions);
    assert!(!failed || !merges(&plan));
    failed
}

#[test]
fn f50_health_that_is_lost_while_watched_stops_the_tiers_above() {
    type Case = (&'static str, fn(&mut Snapshot), Health, bool);
    let cases: [Case; 8] = [
        ("failed", |_| {}, Health::Failed, true),
        ("degraded for ten minutes", |_| {}, Health::Degraded, true),
        ("not watched", |w| w.policy.plugins[0].tiers[0].watch = SignedDuration::ZERO, Health::Failed, false),
        (
            "watched for less",
            |w| w.policy.plugins[0].tiers[0].watch = SignedDuration::from_hours(1),
            Health::Failed,
            false,
        ),
        ("healthy", |_| {}, Health::Healthy, false),
        ("not known", |_| {}, Health::Unknown, false),
        ("on the way", |_| {}, Health::Progressing, false),
        (
            "degraded not long enough",
            |w| w.policy.plugins[0].tiers[0].health.degraded_for = SignedDuration::from_mins(11),
            Health::Degraded,
            false,
        ),
    ];
    for (name, change, health, expected) in cases {
        let mut world = lost(health);
        change(&mut world);
        assert_eq!(stops(&world), expected, "{name}");
    }
    let plan = crate::plan(&lost(Health::Failed), noon());
    let why = plan.actions.iter().find_map(|action| match action {
        Action::Close { why, .. } => Some(why.to_string()),
        _ => None,
    });
    let expected = "1.1.0 failed on qa: it lost its health after it had finished: qa-1 is failed";
    assert!(why.as_deref().is_some_and(|why| why.starts_with(expected)), "{why:?}");
}

/// Where no patience is asked for, a signal without times fails the release at the look that shows it.
#[test]
fn a_signal_without_times_counts_from_this_look() {
    let fails = |degraded_for: i64| {
        let mut world = lost(Health::Degraded);
        let reading = Reading { health: Health::Degraded, since: None, ..healthy("1.1.0") };
        facts(&mut world).readings.insert("qa-1".into(), vec![reading]);
        world.policy.plugins[0].tiers[0].health.degraded_for = SignedDuration::from_mins(degraded_for);
        stops(&world)
    };
    assert_eq!([fails(0), fails(1)], [true, false]);
}

#[test]
fn a_signal_without_times_is_watched_look_after_look_and_wakes() {
    let mut world = lost(Health::Degraded);
    world.look_again = SignedDuration::from_hours(9);
    let ill = |at| vec![Reading { health: Health::Degraded, since: None, observed_at: at, ..healthy("1.1.0") }];
    facts(&mut world).readings.insert("qa-1".into(), ill(noon()));
    let plan = crate::plan(&world, noon());
    assert_eq!(plan.alarm.map(|alarm| alarm.at), Some(ago(60) + SignedDuration::from_hours(6)), "the watch ends");
    let state = report(&crate::plan(&world, noon()), "qa").state.clone();
    assert!(matches!(state, WaveState::Finished { .. }), "{state:?}");
    for record in crate::plan(&world, noon()).entries {
        world.ledger.apply(&record.entry);
    }
    let later = noon() + SignedDuration::from_mins(5);
    facts(&mut world).readings.insert("qa-1".into(), ill(later));
    assert!(matches!(report(&crate::plan(&world, later), "qa").state, WaveState::Failed { .. }));
}

/// Degraded at one look, healthy at the next and degraded again: the time in between was none of illness.
#[test]
fn who_recovers_is_watched_anew() {
    let mut world = lost(Health::Degraded);
    let mut state = None;
    let minute = SignedDuration::from_mins(1);
    let looks = [Health::Degraded, Health::Healthy, Health::Degraded];
    for (at, health) in (0..).map(|look| noon() + minute * 3 * look).zip(looks) {
        let reading = Reading { health, since: None, observed_at: at, ..healthy("1.1.0") };
        facts(&mut world).readings.insert("qa-1".into(), vec![reading]);
        let plan = crate::plan(&world, at);
        plan.entries.iter().for_each(|record| world.ledger.apply(&record.entry));
        state = Some(report(&plan, "qa").state.clone());
    }
    assert!(matches!(state, Some(WaveState::Finished { .. })), "{state:?}");
    // Where nobody may be degraded for any time at all, the first look is enough.
    let mut strict = lost(Health::Degraded);
    strict.policy.plugins[0].tiers[0].health.degraded_for = SignedDuration::ZERO;
    let reading = Reading { health: Health::Degraded, since: None, ..healthy("1.1.0") };
    facts(&mut strict).readings.insert("qa-1".into(), vec![reading]);
    assert!(stops(&strict));
}

/// 1.2.0 is on qa's base branch by now, and its cluster still says that 1.1.0 is ill.
#[test]
fn where_a_newer_release_has_begun_to_move_its_health_counts() {
    let mut world = lost(Health::Failed);
    crate::next_release::tests::finished_above(&mut world);
    assert!(!stops(&world));
}

/// A release that stalls has no soak, and nobody ails on it yet: that is looked at anew.
#[test]
fn what_stalls_begins_at_nought() {
    let mut world = landed(vec![Reading { health: Health::Failed, ..healthy("1.1.0") }]);
    bronze(&mut world).on_failure = OnFailure::Stall;
    let entries = crate::plan(&world, noon()).entries;
    let soaked = entries.iter().find_map(|record| match &record.entry {
        crate::Entry::Wave { change: Change::Soaked(soaked), .. } => Some(*soaked),
        _ => None,
    });
    let soaked = soaked.expect("a soak");
    assert_eq!((soaked.healthy_for, soaked.paused, soaked.ailing), (SignedDuration::ZERO, true, None));
}

/// 1.1.0 landed on bronze too, before qa lost it.
#[test]
fn what_has_landed_above_stays_and_is_said() {
    let mut world = landed(vec![healthy("1.1.0")]);
    let reading = Reading { health: Health::Failed, ..healthy("1.1.0") };
    facts(&mut world).readings.insert("qa-1".into(), vec![reading]);
    world.policy.plugins[0].tiers[0].watch = SignedDuration::from_hours(6);
    let plan = crate::plan(&world, noon());
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    let above = report(&plan, "bronze");
    assert!(matches!(above.state, WaveState::Soaking { .. }), "{:?}", above.state);
    let finding = above.findings.iter().find(|finding| finding.gate == Gate::Release).expect("said");
    assert_eq!(finding.verdict, Verdict::Fail);
    assert!(finding.because.to_string().starts_with("1.1.0 failed on qa"), "{}", finding.because);
}

fn says(world: &mut Snapshot, minutes: i64, allowed: Read<bool>) {
    let what = CommandKind::Fail { why: "customers cannot log in".into() };
    edit(world, |pull| pull.commands = vec![Command { by: "noor".into(), at: ago(minutes), what, allowed }]);
}

#[test]
fn a_person_who_may_fails_a_release_after_the_fact() {
    let finished = || {
        let mut world = landed(vec![healthy("1.1.0")]);
        remember(&mut world, Change::Finished(ago(20)));
        world
    };
    let failed = |world: &Snapshot| match &report(&crate::plan(world, noon()), "bronze").state {
        WaveState::Failed { why, .. } => Some(why.to_string()),
        _ => None,
    };
    let mut world = finished();
    says(&mut world, 5, Read::Known(true));
    assert_eq!(failed(&world).as_deref(), Some("noor says that it failed: customers cannot log in"));
    let mut world = finished();
    says(&mut world, 5, Read::Known(false));
    assert_eq!(failed(&world), None, "who may not fails nothing");
    let mut world = finished();
    says(&mut world, 5, Read::Unread("503".into()));
    assert_eq!(failed(&world), None, "rights that are not known are no verdict");
    let mut world = finished();
    says(&mut world, 31, Read::Known(true));
    assert_eq!(failed(&world), None, "it was said about what the pull request held before");
    world.hub.skew = SignedDuration::from_secs(60);
    assert!(failed(&world).is_some(), "by clocks that are a minute apart it may have been after that");
    world.hub.skew = SignedDuration::from_secs(-59);
    assert_eq!(failed(&world), None);
    let mut world = finished();
    says(&mut world, 5, Read::Known(true));
    let entries = |world: &Snapshot| crate::plan(world, noon()).entries;
    entries(&world).iter().for_each(|record| world.ledger.apply(&record.entry));
    assert_eq!(entries(&world), [], "it is remembered once");
}

/// A person merged it while the ledger was lost, and the only cluster of it had left before that was seen.
#[test]
fn what_was_merged_unseen_fails_by_the_word() {
    let fails = |merged: bool| {
        let mut world = ready();
        says(&mut world, 5, Read::Known(true));
        let state = match merged {
            true => PullState::Merged { at: ago(20), by: "olga".into(), commit: "bb".into() },
            false => PullState::Closed { at: ago(20), by: Some(BOT.into()) },
        };
        edit(&mut world, |pull| pull.state = state);
        let why = Reason::NobodyMoves { tier: "bronze".into() };
        remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(10), why }));
        let entries = crate::plan(&world, noon()).entries;
        entries.iter().any(|record| matches!(&record.entry, crate::Entry::Wave { change: Change::Failed(_), .. }))
    };
    assert_eq!([fails(true), fails(false)], [true, false]);
}

#[test]
fn an_open_pull_request_is_closed_by_the_word() {
    let mut world = ready();
    says(&mut world, 5, Read::Known(true));
    let plan = crate::plan(&world, noon());
    let closes = plan.actions.iter().any(|action| matches!(action, Action::Close { pull: PullNumber(7), .. }));
    assert!(closes && !merges(&plan), "{:?}", plan.actions);
    // Said on another tier's pull request by somebody whose rights could not be read: it waits.
    let mut world = ready();
    let merged = PullState::Merged { at: ago(690), by: BOT.into(), commit: "bb".into() };
    let what = CommandKind::Fail { why: "no".into() };
    let command = Command { by: "noor".into(), at: ago(5), what, allowed: Read::Unread("503".into()) };
    if let Read::Known(pulls) = &mut facts(&mut world).pulls {
        let below = Pull { number: PullNumber(3), tier: "qa".into(), state: merged, commands: vec![command], ..pull() };
        pulls.insert(1, below);
    }
    let finding = crate::testing::says(&world, Gate::Release);
    assert_eq!(finding.verdict, Verdict::Unknown, "{finding:?}");
    assert!(!merges(&crate::plan(&world, noon())));
}

/// The bot failed 1.1.0 for that word and closed its pull request; then the ledger was rolled back.
#[test]
fn a_word_that_the_ledger_has_forgotten_is_read_at_the_hub() {
    let state = |said: i64, closed: i64| {
        let mut world = ready();
        says(&mut world, said, Read::Known(true));
        edit(&mut world, |pull| pull.state = PullState::Closed { at: ago(closed), by: Some(BOT.into()) });
        report(&crate::plan(&world, noon()), "bronze").state.clone()
    };
    assert!(matches!(state(5, 4), WaveState::Failed { .. }), "{:?}", state(5, 4));
    assert!(!matches!(state(3, 4), WaveState::Failed { .. }), "said when it had been taken back already");
}

/// Whose word it is about: a wave of this pull request that can still fail.
#[test]
fn a_word_is_about_the_wave_of_its_own_pull_request() {
    use crate::ledger::{Announced, Head, Landed, Purpose};
    // 1.0.0 came with #5, and came back with #8 after 1.1.0 had failed.
    let failed = |said_on: u64, clocks: i64, said: i64| {
        let mut world = landed(vec![healthy("1.1.0")]);
        remember(&mut world, Change::Failed(Failed { at: ago(8), why: Reason::NotLanded }));
        facts(&mut world).base = Read::Known([place("qa", "1.1.0"), place("bronze", "1.0.0")].into());
        facts(&mut world).readings.insert("bronze-1".into(), vec![healthy("1.0.0")]);
        world.hub.skew = SignedDuration::from_secs(clocks);
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        let waves = page.tiers.get_mut(&"bronze".into()).unwrap();
        let announced = |number| Some(Announced { number: PullNumber(number), at: ago(900) });
        waves[0].pull = announced(5);
        let mut back = Wave::begun(version("1.0.0"), waves[0].members.clone(), ago(7));
        back.pull = announced(8);
        back.heads = vec![Head { commit: "88".into(), at: ago(7), repeats: false }];
        back.part.purpose = Purpose::RollBack { of: version("1.1.0") };
        *back.rewrite().landed = Some(Landed { at: ago(6), commit: None, by: None });
        waves.push(back);
        let what = CommandKind::Fail { why: "customers cannot log in".into() };
        let at = ago(7) - SignedDuration::from_secs(said);
        let commands = vec![Command { by: "noor".into(), at, what, allowed: Read::Known(true) }];
        let state = PullState::Merged { at: ago(6), by: BOT.into(), commit: "dd".into() };
        let number = PullNumber(said_on);
        facts(&mut world).pulls =
            Read::Known(vec![Pull { number, head: "88".into(), state, commands, version: None, ..pull() }]);
        let fails = |world: &Snapshot| {
            let entries = crate::plan(world, noon()).entries;
            let failed = entries
                .iter()
                .filter(|record| matches!(&record.entry, crate::Entry::Wave { change: Change::Failed(_), .. }));
            failed.count()
        };
        let count = fails(&world);
        for record in crate::plan(&world, noon()).entries {
            world.ledger.apply(&record.entry);
        }
        assert_eq!(fails(&world), 0, "it is noted once");
        count
    };
    assert_eq!(failed(8, 0, -1), 1);
    assert_eq!(failed(5, 0, -1), 0, "what came back is not what came first");
    assert_eq!((failed(8, 20, 20), failed(8, -20, 20)), (1, 1), "clocks differ");
    assert_eq!((failed(8, 20, 21), failed(8, 0, 1)), (0, 0), "it was said before");
}

/// Signals without times: somebody was seen degraded, and is well again, or the wave stalls for it.
#[test]
fn who_is_well_again_ails_no_more() {
    let soaks = |world: &Snapshot, tier: &str| {
        let entries = crate::plan(world, noon()).entries.into_iter();
        let soaked = entries.filter_map(|record| match record.entry {
            crate::Entry::Wave { tier: of, change: Change::Soaked(soaked), .. } if of.as_str() == tier => {
                Some(soaked.ailing)
            }
            _ => None,
        });
        soaked.collect::<Vec<_>>()
    };
    let (zero, ailing) = (SignedDuration::ZERO, Some(ago(3)));
    let soaked = Soaked { healthy_for: zero, until: ago(3), paused: true, ailing, begun: None };
    let mut world = lost(Health::Healthy);
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().soak = Some(soaked);
    assert_eq!(soaks(&world, "qa"), [None]);
    let mut world = landed(vec![Reading { health: Health::Failed, ..healthy("1.1.0") }]);
    remember(&mut world, Change::Soaked(soaked));
    bronze(&mut world).on_failure = OnFailure::Stall;
    assert_eq!(soaks(&world, "bronze"), [None]);
    // Where a newer release has begun to move, it is that one whose health counts.
    let mut world = lost(Health::Failed);
    assert!(stops(&world));
    facts(&mut world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
    let plan = crate::plan(&world, noon());
    assert!(!plan.actions.iter().any(|action| matches!(action, Action::Close { .. })), "{:?}", plan.actions);
}

/// A word fails one release: what failed 1.0.5 on a pull request that has been moved to 1.1.0 since is not said of
/// 1.1.0, however far apart the two clocks have gone.
#[test]
fn a_word_that_failed_the_release_before_fails_no_other() {
    let mut world = ready();
    world.hub.skew = SignedDuration::from_secs(-3_600);
    says(&mut world, 20, Read::Known(true));
    let closes = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        plan.actions.iter().any(|action| matches!(action, Action::Close { pull: PullNumber(7), .. }))
    };
    assert!(closes(&world), "by these clocks it may have been said of 1.1.0");
    let why = Reason::FailedBy { by: "noor".into(), why: "customers cannot log in".into() };
    let waves = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
    let this = waves.last().unwrap().clone();
    let mut before = Wave::begun(version("1.0.5"), this.members.clone(), ago(40));
    before.pull = this.pull;
    *before.rewrite().failed = Some(Failed { at: ago(19), why });
    waves.insert(waves.len() - 1, before);
    assert!(!closes(&world));
    let mut elsewhere = world.clone();
    let page = elsewhere.ledger.plugins.get_mut(&"app".into()).unwrap();
    let before = page.tiers.get_mut(&"bronze".into()).unwrap().iter_mut().find(|wave| wave.version == version("1.0.5"));
    before.unwrap().pull.as_mut().unwrap().number = PullNumber(5);
    assert!(closes(&elsewhere), "what was said on another pull request was not said here");
    edit(&mut world, |pull| pull.commands.push(Command { at: ago(1), ..pull.commands[0].clone() }));
    assert!(closes(&world), "said once more, it is said of this one");
}
