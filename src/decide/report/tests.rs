//! What people are told about tiers and climbs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use crate::ledger::{Entry, ForceEvidence, Labelled, Merging, Purpose, Seen, Wave, Withdrawn};
use crate::next_release::tests::{doings, finished_above};
use crate::plan::{Action, Climb, Finding, Plan, Verdict, WaveReport, WaveState};
use crate::snapshot::{Health, Read, Reading, Snapshot};
use crate::testing::*;
use crate::{Gate, PullNumber, Reason, TierName};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use jiff::SignedDuration;

fn bronzes(world: &Snapshot) -> WaveReport {
    let plan: Plan = crate::plan(world, noon());
    plan.waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap()
}

fn gates(report: &WaveReport) -> Vec<Gate> {
    report.findings.iter().map(|finding| finding.gate).collect()
}

fn waves(world: &mut Snapshot) -> &mut Vec<Wave> {
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&TierName::from("bronze")).unwrap()
}

#[test]
fn each_tier_is_told_by_its_place_and_an_open_wave_by_its_members() {
    let plan = crate::plan(&ready(), noon());
    let tiers: Vec<_> = plan.waves.iter().map(|wave| (wave.tier.as_str(), wave.tier_index, wave.of)).collect();
    assert_eq!(tiers, [("qa", 1, 2), ("bronze", 2, 2)]);
    let mut world = ready();
    join(&mut world, "bronze-2", vec![healthy("1.0.0")]);
    assert_eq!(bronzes(&world).members.len(), 2);
}

/// Each release once, the newest first, with where it stands on every tier.
#[test]
fn the_climb_of_each_release_is_told_once() {
    let climbs = |world: &Snapshot| -> Vec<String> {
        let climb = |climb: Climb| {
            let tiers: Vec<_> = climb.tiers.iter().map(|at| format!("{} {:?}", at.tier, at.state)).collect();
            let word = |line: &String| line.split([' ', '{']).take(2).collect::<Vec<_>>().join(" ");
            format!("{}: {}", climb.version, tiers.iter().map(word).collect::<Vec<_>>().join(", "))
        };
        crate::plan(world, noon()).climbs.into_iter().map(climb).collect()
    };
    assert_eq!(climbs(&ready()), ["1.1.0: qa Finished, bronze Open"]);
    let mut world = ready();
    finished_above(&mut world);
    assert_eq!(climbs(&world), ["1.2.0: qa Finished, bronze Waiting", "1.1.0: qa Finished, bronze Open"]);
}

/// The first slice of two has converged and is healthy: the soak is one of all, and has not begun.
#[test]
fn between_two_slices_nothing_soaks() {
    let mut world = sliced();
    bronze(&mut world).health.degraded_for = SignedDuration::from_mins(5);
    let reading = Reading { health: Health::Progressing, ..healthy("1.1.0") };
    facts(&mut world).readings.insert("bronze-2".into(), vec![reading]);
    waves(&mut world).last_mut().unwrap().soak = Some(crate::ledger::Soaked {
        healthy_for: SignedDuration::ZERO,
        until: ago(25),
        paused: true,
        ailing: None,
        begun: None,
    });
    let report = bronzes(&world);
    assert!(matches!(report.state, WaveState::Converging { .. }), "{:?}", report.state);
    assert!(gates(&report).contains(&Gate::Health) && !gates(&report).contains(&Gate::Soak), "{report:?}");
}

/// A release that was stopped between two slices goes no further, and its tier says why.
#[test]
fn why_the_next_slice_does_not_come_is_said() {
    let release = |stopped: bool| {
        let mut world = sliced();
        // What others put there keeps nobody out.
        waves(&mut world).last_mut().unwrap().heads.clear();
        if stopped {
            world.policy.plugins[0].constraint = "<1.1".parse().ok();
        }
        let report = bronzes(&world);
        report.findings.into_iter().find(|finding| finding.gate == Gate::Release).map(|finding| finding.verdict)
    };
    assert_eq!((release(true), release(false)), (Some(Verdict::Fail), None));
}

/// It wakes when a release has had all the time that it may take.
#[test]
fn a_release_that_has_not_converged_is_looked_at_when_its_time_is_up() {
    let mut world = landed(vec![Reading { health: Health::Progressing, ..healthy("1.1.0") }]);
    world.look_again = SignedDuration::from_hours(900);
    bronze(&mut world).health.progress_deadline = SignedDuration::from_hours(2);
    let alarm = crate::plan(&world, noon()).alarm.map(|alarm| alarm.at);
    assert_eq!(alarm, Some(ago(30) + SignedDuration::from_hours(2)));
}

/// The intent is written and the hub shows no pull request: the opening is finished, and the gates are told as
/// they were before it.
#[test]
fn an_opening_that_was_cut_off_is_told_with_its_gates() {
    let below = |purpose: Purpose, early: bool| {
        let mut world = ready();
        facts(&mut world).pulls = Read::Known(Vec::new());
        if early {
            let select = bronze(&mut world).select.clone();
            bronze(&mut world).early = vec![crate::model::Early { select, until: None }];
            own_places(&mut world, &[("bronze-1", "1.0.0")]);
        }
        let wave = waves(&mut world).last_mut().unwrap();
        (wave.part.purpose, wave.pull) = (purpose, None);
        let report = bronzes(&world);
        assert!(crate::plan(&world, noon()).actions.iter().any(|action| matches!(action, Action::Open(_))));
        assert_eq!(report.version, Some(version("1.1.0")));
        let below = report.findings.iter().find(|finding| finding.gate == Gate::TierBelow);
        below.map(|finding| finding.because.to_string())
    };
    let finished = Some("1.1.0 has finished qa".to_string());
    assert_eq!(below(Purpose::Promotion, false), finished);
    assert_eq!(below(Purpose::Promotion, true), finished, "it was begun for the tier's turn");
    let ahead = "1.1.0 has finished qa, which is enough for clusters that are ahead of their tier";
    assert_eq!(below(Purpose::Early, true).as_deref(), Some(ahead));
}

/// What others put on the base branch keeps nobody out, and is told with its health and soak.
#[test]
fn f13_f22_what_others_put_there_is_watched() {
    let mut world = landed(vec![healthy("1.1.0")]);
    waves(&mut world).pop();
    facts(&mut world).pulls = Read::Known(Vec::new());
    let report = bronzes(&world);
    assert_eq!(report.version, Some(version("1.1.0")));
    assert!(gates(&report).contains(&Gate::Soak), "{:?}", report.findings);
}

/// Everybody whom a pull request was for had left when it was taken back; those who came run its release by now.
#[test]
fn what_runs_is_not_told_as_refused() {
    let told = |running: &str| {
        let mut world = ready();
        facts(&mut world).pulls = Read::Known(Vec::new());
        facts(&mut world).base = Read::Known([place("qa", "1.1.0"), place("bronze", running)].into());
        world.policy.plugins[0].constraint = "<1.1".parse().ok();
        let wave = waves(&mut world).last_mut().unwrap();
        wave.members = ["bronze-0".into()].into_iter().collect();
        *wave.rewrite().withdrawn = Some(Withdrawn { at: ago(5), why: Reason::NotLanded });
        gates(&bronzes(&world)).contains(&Gate::Release)
    };
    assert_eq!((told("1.0.0"), told("1.1.0")), (true, false));
}

/// Beside what was taken back, people are told what keeps the newer release that would come in its place.
#[test]
fn what_keeps_the_next_release_is_told_beside_what_was_taken_back() {
    let mut world = ready();
    finished_above(&mut world);
    facts(&mut world).pulls = Read::Known(Vec::new());
    facts(&mut world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
    world.policy.plugins[0].constraint = ">=1.2 || <1.1".parse().ok();
    *waves(&mut world).last_mut().unwrap().rewrite().withdrawn = Some(Withdrawn { at: ago(5), why: Reason::NotLanded });
    let label = Labelled { tier: "qa".into(), version: version("1.2.0"), pull: PullNumber(3), at: ago(5) };
    world.ledger.plugins.get_mut(&"app".into()).unwrap().labelled.push(label);
    let report = bronzes(&world);
    assert!(matches!(report.state, WaveState::Withdrawn { .. }), "{report:?}");
    let told = |finding: &Finding| matches!(finding.because, Reason::BlockedByLabel { .. });
    assert!(report.findings.iter().any(told), "{:?}", report.findings);
}

/// A pull request of ours for what has landed past it is closed, though a newer release could take it over.
#[test]
fn what_landed_past_its_pull_request_is_closed() {
    let mut world = ready();
    finished_above(&mut world);
    facts(&mut world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.1.0")].into());
    remember(&mut world, crate::ledger::Change::Landed(crate::ledger::Landed { at: ago(30), commit: None, by: None }));
    remember(&mut world, crate::ledger::Change::Finished(ago(5)));
    assert_eq!(doings(&world), ["close bronze: nothing newer than 1.1.0 is ready for this tier"]);
}

/// What the ledger knows of a wave is told, whatever the base branch holds by now.
#[test]
fn a_wave_is_told_by_what_the_ledger_has_of_it() {
    let mut world = landed(vec![healthy("1.1.0")]);
    let forced = ForceEvidence {
        deadline: Some(ago(31)),
        said: None,
        notices: Vec::new(),
        held: Vec::new(),
        waived: "nobody approved".into(),
        policy: "cccccccccc".into(),
    };
    let wave = waves(&mut world).last_mut().unwrap();
    (wave.from, wave.digest) = (Some(version("0.9.0")), Some("sha256:99".into()));
    wave.part.purpose = Purpose::RollBack { of: version("1.2.0") };
    wave.merging = Some(Merging { head: "aaaaaaaaaa".into(), at: ago(30), base: None, forced: Some(forced.clone()) });
    let report = bronzes(&world);
    assert_eq!((report.from, report.digest), (Some(version("0.9.0")), Some("sha256:99".into())));
    assert_eq!((report.rollback_of, report.forced), (Some(version("1.2.0")), Some(forced)));
    assert_eq!(report.pull, Some(PullNumber(7)));
}

/// The ledger learns the number of a pull request one look after it was opened.
#[test]
fn a_pull_request_is_told_before_the_ledger_has_its_number() {
    let mut world = ready();
    waves(&mut world).last_mut().unwrap().pull = None;
    assert_eq!(bronzes(&world).pull, Some(PullNumber(7)));
}

#[test]
fn a_release_that_waits_is_told_with_its_digest() {
    let mut world = ready();
    finished_above(&mut world);
    facts(&mut world).pulls = Read::Known(Vec::new());
    let seen = Seen { version: version("1.2.0"), digest: Some(digest("1.2.0")), first_seen: ago(20) };
    world.ledger.apply(&Entry::Seen { plugin: "app".into(), seen });
    waves(&mut world).pop();
    freeze_all(&mut world);
    let report = bronzes(&world);
    assert_eq!((report.version, report.digest), (Some(version("1.2.0")), Some(digest("1.2.0"))));
}

/// A slice is told with its own clusters and what they run, not with those of the whole tier.
#[test]
fn a_slice_is_told_with_its_own_clusters() {
    let mut world = sliced();
    join(&mut world, "bronze-3", vec![healthy("0.9.0")]);
    own_places(&mut world, &[("bronze-1", "1.0.0"), ("bronze-2", "1.1.0"), ("bronze-3", "0.9.0")]);
    let wave = waves(&mut world).last_mut().unwrap();
    wave.members = ["bronze-2".into()].into_iter().collect();
    wave.part.partition = ["bronze-2", "bronze-1", "bronze-3"].map(|name| [name.into()].into_iter().collect()).into();
    let report = bronzes(&world);
    assert_eq!((report.part.slice, report.from), (1, Some(version("1.0.0"))));
    let members: Vec<String> = report.members.iter().map(|member| member.cluster.to_string()).collect();
    assert_eq!(members, ["bronze-1"]);
}

/// The tier has finished it; bronze-2 came afterwards.
#[test]
fn a_late_cluster_is_told_alone() {
    let mut world = landed(vec![healthy("1.1.0")]);
    join(&mut world, "bronze-2", vec![healthy("1.0.0")]);
    own_places(&mut world, &[("bronze-1", "1.1.0"), ("bronze-2", "1.0.0")]);
    waves(&mut world).last_mut().unwrap().members = ["bronze-1".into()].into_iter().collect();
    remember(&mut world, crate::ledger::Change::Finished(ago(5)));
    freeze_all(&mut world);
    let report = bronzes(&world);
    assert_eq!((report.part.purpose, report.state), (Purpose::CatchUp, WaveState::Waiting));
    let members: Vec<String> = report.members.iter().map(|member| member.cluster.to_string()).collect();
    assert_eq!(members, ["bronze-2"]);
}
