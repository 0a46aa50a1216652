//! What comes back, when it does not, and what becomes of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::PullNumber;
use crate::ledger::{Announced, Change, Failed, Head};
use crate::model::Hotfix;
use crate::model::Merge;
use crate::plan::{Action, Plan, WaveReport};
use crate::snapshot::{Health, Mergeable, Pull, PullState, Read, Reading, Release, ReviewDecision, Snapshot};
use crate::testing::*;
use crate::{Entry, WaveState};
use alloc::string::{String, ToString};
use jiff::{SignedDuration, Timestamp};

mod later;
mod mixed;
mod refused;

fn failing() -> Snapshot {
    let mut world = landed(vec![Reading { health: Health::Failed, ..healthy("1.1.0") }]);
    bronze(&mut world).on_failure = OnFailure::RollBack { merge: Merge::Approved };
    world
}

fn told(plan: &Plan) -> &WaveReport {
    plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze")
}

fn opens(world: &Snapshot) -> Option<Proposal> {
    crate::plan(world, noon()).actions.into_iter().find_map(|action| match action {
        Action::Open(proposal) => Some(proposal),
        _ => None,
    })
}

/// What a failed bronze says about its rollback.
fn why_not(world: &Snapshot) -> String {
    let plan = crate::plan(world, noon());
    let finding = told(&plan).findings.iter().find(|finding| matches!(finding.because, Reason::NoRollBack { .. }));
    finding.map(|finding| finding.because.to_string()).unwrap_or_default()
}

#[test]
fn what_ran_before_comes_back() {
    let proposal = opens(&failing()).expect("a rollback");
    assert_eq!((proposal.from, proposal.to), (Some(version("1.1.0")), version("1.0.0")));
    assert_eq!(proposal.part.purpose, Purpose::RollBack { of: version("1.1.0") });
    assert_eq!(proposal.digest, Some(digest("1.0.0")));
    let plan = crate::plan(&failing(), noon());
    assert_eq!(told(&plan).rollback_of, Some(version("1.1.0")));
    for on_failure in [OnFailure::Hold, OnFailure::Stall] {
        let mut world = failing();
        bronze(&mut world).on_failure = on_failure;
        assert_eq!(opens(&world), None, "{on_failure:?}");
    }
}

#[test]
fn it_holds_and_says_why_where_there_is_no_safe_way_back() {
    type Case = (&'static str, fn(&mut Snapshot), &'static str);
    let cases: [Case; 14] = [
        (
            "the source does not list it any more",
            |w| facts(w).releases = Read::Known(vec![release("1.1.0")]),
            "it is not rolled back: the source does not list 1.0.0 any more",
        ),
        (
            "other content",
            |w| {
                let other = Release { digest: Some("sha256:22".into()), ..release("1.0.0") };
                facts(w).releases = Read::Known(vec![other, release("1.1.0")]);
            },
            "it is not rolled back: 1.0.0 was published again with other content",
        ),
        (
            "no digest to compare",
            |w| {
                let other = Release { digest: None, ..release("1.0.0") };
                facts(w).releases = Read::Known(vec![other, release("1.1.0")]);
            },
            "it is not rolled back: the source does not prove that 1.0.0",
        ),
        (
            "no digest was pinned",
            |w| w.ledger.plugins.get_mut(&"app".into()).unwrap().releases[0].digest = None,
            "it is not rolled back: the source does not prove that 1.0.0",
        ),
        (
            "a breaking step lies between",
            |w| {
                let marked = Release { marked_breaking: true, ..release("1.1.0") };
                facts(w).releases = Read::Known(vec![release("1.0.0"), marked]);
            },
            "it is not rolled back: the way back from 1.1.0 to 1.0.0 crosses a breaking change",
        ),
        (
            "what failed is not listed, so that nobody knows whether it breaks",
            |w| facts(w).releases = Read::Known(vec![release("1.0.0")]),
            "it is not rolled back: the source does not list 1.1.0 any more",
        ),
        (
            "the file refuses it now",
            |w| w.policy.plugins[0].constraint = ">=1.1".parse().ok(),
            "it is not rolled back: outside the constraint",
        ),
        ("nothing before", |w| last(w).from = None, "it is not rolled back: what ran before it is not known"),
        (
            "the same before",
            |w| last(w).from = Some(version("1.1.0")),
            "it is not rolled back: what ran before it is not known",
        ),
        (
            "something newer before",
            |w| last(w).from = Some(version("1.2.0")),
            "it is not rolled back: what ran before it is not known",
        ),
        (
            "no digest was ever known",
            |w| {
                let other = Release { digest: None, ..release("1.0.0") };
                facts(w).releases = Read::Known(vec![other, release("1.1.0")]);
                let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                page.releases.iter_mut().for_each(|seen| seen.digest = None);
            },
            "it is not rolled back: the source does not prove that 1.0.0",
        ),
        (
            "the source cannot be read",
            |w| facts(w).releases = Read::Unread("503".into()),
            "it is not rolled back: the list of releases could not be read",
        ),
        (
            "a rollback itself",
            |w| last(w).part.purpose = Purpose::RollBack { of: version("1.2.0") },
            "it is not rolled back: it is a rollback itself",
        ),
        (
            "what ran before failed too",
            |w| {
                let change = Change::Failed(Failed { at: ago(400), why: Reason::NotLanded });
                let (plugin, tier) = ("app".into(), "bronze".into());
                w.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.0.0"), change });
            },
            "it is not rolled back: 1.0.0 failed on bronze",
        ),
    ];
    for (name, change, wording) in cases {
        let mut world = failing();
        change(&mut world);
        assert_eq!(opens(&world), None, "{name}");
        let said = why_not(&world);
        assert!(said.starts_with(wording), "{name}: {said}");
    }
}

fn last(world: &mut Snapshot) -> &mut Wave {
    let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
    page.tiers.get_mut(&"bronze".into()).expect("bronze").last_mut().expect("a wave")
}

/// The rollback's pull request is open since five minutes.
fn open(merge: Merge) -> Snapshot {
    let mut world = failing();
    bronze(&mut world).on_failure = OnFailure::RollBack { merge };
    let proposal = opens(&world).expect("a rollback");
    for record in crate::plan(&world, noon()).entries {
        world.ledger.apply(&record.entry);
    }
    let mut remember = |change| {
        let (plugin, tier) = ("app".into(), "bronze".into());
        world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.0.0"), change });
    };
    let head = Head { commit: "rollback00".into(), at: ago(6), repeats: false };
    let Proposal { from, digest, part, members, .. } = proposal;
    remember(Change::Intent { from, digest, part, members, head });
    remember(Change::Announced(Announced { number: PullNumber(8), at: ago(5) }));
    let back = Pull {
        number: PullNumber(8),
        version: Some(version("1.0.0")),
        head: "rollback00".into(),
        opened_at: ago(5),
        reviews: Vec::new(),
        review_decision: ReviewDecision::NotRequired,
        ..pull()
    };
    if let Read::Known(pulls) = &mut facts(&mut world).pulls {
        pulls.insert(0, back);
    }
    world
}

#[test]
fn it_merges_as_the_file_says_and_nothing_forces_it() {
    assert!(merges(&crate::plan(&open(Merge::Automatic), noon())));
    let mut world = open(Merge::Approved);
    assert!(!merges(&crate::plan(&world, noon())), "nobody has approved");
    let hour = SignedDuration::from_hours(1);
    bronze(&mut world).force = Some(crate::model::Force { after: hour, notice: Vec::new() });
    assert!(!merges(&crate::plan(&world, noon() + hour * 9)), "and time approves nothing");
    edit(&mut world, |pull| {
        pull.reviews = vec![crate::snapshot::Review { commit: "rollback00".into(), at: ago(1), ..approval("maria") }];
    });
    assert!(merges(&crate::plan(&world, noon())));
    type Case = (&'static str, fn(&mut Snapshot));
    let cases: [Case; 6] = [
        ("a freeze", |w| {
            let why = String::from("audit");
            w.policy.freezes.push(crate::model::Freeze {
                why,
                by: None,
                tiers: Vec::new(),
                plugins: Vec::new(),
                select: None,
                until: None,
            })
        }),
        ("a closed window", |w| {
            bronze(w).windows = Some(crate::window::Windows {
                zone: jiff::tz::TimeZone::UTC,
                open: vec![crate::window::Range { days: vec![1], from: 0, to: 60 }],
                cron: Vec::new(),
                closed: Vec::new(),
                room: SignedDuration::ZERO,
            })
        }),
        ("a draft", |w| edit(w, |pull| pull.draft = true)),
        ("edited", |w| edit(w, |pull| pull.head = "eeeeeeeeee".into())),
        ("conflict", |w| edit(w, |pull| pull.mergeable = Mergeable::Conflict)),
        ("the source cannot be read", |w| facts(w).releases = Read::Unread("503".into())),
    ];
    for (name, change) in cases {
        let mut world = open(Merge::Automatic);
        change(&mut world);
        assert!(!merges(&crate::plan(&world, noon())), "{name}");
    }
}

#[test]
fn it_stays_a_rollback_when_it_is_written_anew() {
    let mut world = open(Merge::Automatic);
    edit(&mut world, |pull| pull.mergeable = Mergeable::Conflict);
    let plan = crate::plan(&world, noon());
    let again = plan.actions.iter().find_map(|action| match action {
        Action::Update { proposal, .. } => Some(proposal),
        _ => None,
    });
    let again = again.expect("written anew");
    assert_eq!((&again.to, &again.from), (&version("1.0.0"), &Some(version("1.1.0"))));
    assert_eq!(again.part.purpose, Purpose::RollBack { of: version("1.1.0") });
}

#[test]
fn no_newer_release_moves_it_and_an_edit_of_the_file_takes_it_back() {
    let mut world = open(Merge::Approved);
    newer_finished_below(&mut world);
    let plan = crate::plan(&world, noon());
    assert!(plan.actions.iter().all(|action| !matches!(action, Action::Update { .. })), "{:?}", plan.actions);
    let mut world = open(Merge::Approved);
    bronze(&mut world).on_failure = OnFailure::Hold;
    let plan = crate::plan(&world, noon());
    assert!(matches!(plan.actions[..], [Action::Close { pull: PullNumber(8), .. }]), "{:?}", plan.actions);
}

/// Not even a hotfix moves a rollback; a source that leaves a release out at one look keeps it.
#[test]
fn a_hotfix_does_not_move_it_and_a_release_that_is_not_listed_makes_it_wait() {
    let mut world = open(Merge::Approved);
    newer_finished_below(&mut world);
    let hotfix = Hotfix { version: version("1.2.0"), why: "CVE-2026-1".into(), soak: None, through_windows: false };
    world.policy.plugins[0].hotfixes.push(hotfix);
    let plan = crate::plan(&world, noon());
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    let mut world = open(Merge::Automatic);
    facts(&mut world).releases = Read::Known(vec![release("1.1.0")]);
    let plan = crate::plan(&world, noon());
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    assert_eq!(says(&world, Gate::Release).verdict, Verdict::Wait { until: None });
    // A newer one that is ready takes its place: the tier rolls forward.
    newer_finished_below(&mut world);
    facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
    let plan = crate::plan(&world, noon());
    assert!(matches!(plan.actions[..], [Action::Close { pull: PullNumber(8), .. }]), "{:?}", plan.actions);
}

/// The file asks for checks and signatures since: what ran before came without them, and comes back without them.
#[test]
fn checks_and_signatures_are_for_what_is_new() {
    let mut world = failing();
    world.policy.plugins[0].checks = vec!["e2e".into()];
    world.policy.plugins[0].signed = true;
    let unsigned = Read::Known(Some("nobody has signed it".to_string()));
    facts(&mut world).releases = Read::Known(vec![Release { unsigned, ..release("1.0.0") }, release("1.1.0")]);
    assert_eq!(opens(&world).map(|proposal| proposal.to), Some(version("1.0.0")));
}

/// What was taken back once and runs again, a person has put there.
#[test]
fn what_a_person_brings_back_stays() {
    let mut world = failing();
    *last(&mut world).rewrite().failed =
        Some(Failed { at: ago(60), why: Reason::Reverted { version: version("1.1.0") } });
    assert_eq!(opens(&world), None, "somebody had taken it off the base branch");
    let mut world = failing();
    let waves = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
    let landed = waves.last().unwrap().landed().cloned();
    let mut back = Wave::begun(version("1.0.0"), Vec::new().into(), ago(50));
    *back.rewrite().landed = landed;
    back.part.purpose = Purpose::RollBack { of: version("1.1.0") };
    waves.insert(0, back);
    assert_eq!(opens(&world), None, "we had taken it back");
}

/// A tier that follows releases by itself fails, and the bot opens nothing there.
#[test]
fn a_tier_that_follows_releases_by_itself_is_not_rolled_back() {
    let follows = |follows: bool| {
        let mut world = failing();
        bronze(&mut world).follows = follows;
        opens(&world).is_some()
    };
    assert!(follows(false) && !follows(true));
}

fn newer_finished_below(world: &mut Snapshot) {
    facts(world).releases = Read::Known(vec![release("1.0.0"), release("1.1.0"), release("1.2.0")]);
    let landed = crate::ledger::Landed { at: ago(9), commit: None, by: None };
    let found = Change::Found { members: vec!["qa-1".into()], digest: None, landed };
    for change in [found, Change::Finished(ago(8))] {
        let (plugin, tier) = ("app".into(), "qa".into());
        world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.2.0"), change });
    }
    let back = place("bronze", "1.1.0");
    facts(world).base = Read::Known([place("qa", "1.2.0"), back].into());
}

fn apply(world: &mut Snapshot, now: Timestamp) -> Plan {
    let plan = crate::plan(world, now);
    for record in &plan.entries {
        world.ledger.apply(&record.entry);
    }
    plan
}

/// Merged: 1.0.0 runs again, healthy.
fn restored() -> Snapshot {
    let mut world = open(Merge::Automatic);
    let merging = crate::ledger::Merging { head: "rollback00".into(), at: ago(2), base: None, forced: None };
    let (plugin, tier) = ("app".into(), "bronze".into());
    let change = Change::Merging(merging);
    world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.0.0"), change });
    edit(&mut world, |pull| {
        pull.state = PullState::Merged { at: ago(1), by: BOT.into(), commit: "ff".into() };
    });
    facts(&mut world).base = Read::Known([place("qa", "1.1.0"), place("bronze", "1.0.0")].into());
    facts(&mut world).readings.insert("bronze-1".into(), vec![healthy("1.0.0")]);
    world
}

#[test]
fn once_landed_it_converges_the_failed_release_stays_held_and_a_newer_one_comes() {
    let mut world = restored();
    let plan = apply(&mut world, noon());
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    let report = told(&plan);
    assert_eq!(report.version, Some(version("1.0.0")));
    assert!(matches!(report.state, WaveState::Soaking { .. }), "{:?}", report.state);
    let failed = world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).cloned().expect("1.1.0");
    assert!(
        matches!(failed.failed().expect("failed").why, Reason::MembersFailed { .. }),
        "its own reason, not a revert"
    );
    newer_finished_below(&mut world);
    facts(&mut world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
    let finished = Change::Finished(noon());
    let (plugin, tier) = ("app".into(), "bronze".into());
    world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.0.0"), change: finished });
    assert_eq!(opens(&world).map(|proposal| proposal.to), Some(version("1.2.0")));
}

#[test]
fn a_rollback_that_fails_is_not_rolled_back() {
    let mut world = restored();
    facts(&mut world).readings.insert("bronze-1".into(), vec![Reading { health: Health::Failed, ..healthy("1.0.0") }]);
    apply(&mut world, noon());
    assert_eq!(opens(&world), None);
    assert!(why_not(&world).contains("it is a rollback itself"), "{}", why_not(&world));
}

#[test]
fn a_person_who_closes_it_says_no_to_the_rollback_only() {
    let mut world = open(Merge::Approved);
    edit(&mut world, |pull| pull.state = PullState::Closed { at: ago(1), by: Some("noor".into()) });
    apply(&mut world, noon());
    assert_eq!(opens(&world), None);
    assert!(why_not(&world).contains("noor closed #8"), "{}", why_not(&world));
    newer_finished_below(&mut world);
    assert_eq!(opens(&world).map(|proposal| proposal.to), Some(version("1.2.0")), "a newer release may come");
}

#[test]
fn a_stalled_tier_waits_until_all_are_healthy_and_then_soaks_anew() {
    let mut world = failing();
    bronze(&mut world).on_failure = OnFailure::Stall;
    newer_finished_below(&mut world);
    let plan = apply(&mut world, noon());
    assert!(plan.actions.iter().all(|action| !matches!(action, Action::Open(_))), "{:?}", plan.actions);
    let said = says(&world, Gate::Health).because.to_string();
    assert!(said.starts_with("nothing new starts here until all are healthy on it: bronze-1 is failed"), "{said}");
    assert!(apply(&mut world, noon()).entries.is_empty(), "it is said once");
    // All are healthy again: the soak begins at nought, and the release may finish.
    let later = noon() + SignedDuration::from_mins(10);
    let fine = |at| vec![Reading { observed_at: at, since: Some(later), ..healthy("1.1.0") }];
    facts(&mut world).readings.insert("bronze-1".into(), fine(later));
    let plan = apply(&mut world, later);
    assert!(
        matches!(told(&plan).state, WaveState::Soaking { healthy_for, .. } if healthy_for.is_zero()),
        "{:?}",
        told(&plan).state
    );
    for minutes in (13..80).step_by(3) {
        let at = noon() + SignedDuration::from_mins(minutes);
        facts(&mut world).readings.insert("bronze-1".into(), fine(at));
        apply(&mut world, at);
    }
    let wave = world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).cloned().expect("1.1.0");
    assert!(wave.finished().is_some_and(|at| at >= later + SignedDuration::from_mins(60)), "{wave:?}");
    assert!(wave.stalled().is_none() && wave.failed().is_none());
    // A person's word is a verdict though, whatever the clusters say.
    let mut world = failing();
    bronze(&mut world).on_failure = OnFailure::Hold;
    assert!(matches!(told(&crate::plan(&world, noon())).state, WaveState::Failed { .. }));
}

/// A way back that has soaked finishes nothing for the tiers above: what came back had finished before, or
/// was on some clusters only.
#[test]
fn what_came_back_finishes_no_tier() {
    let mut world = ready();
    let finished =
        |world: &Snapshot| crate::next_release::tests::doings(world).iter().any(|doing| doing.starts_with("merge"));
    assert!(finished(&world));
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    let below = page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap();
    below.part.purpose = Purpose::RollBack { of: version("1.2.0") };
    assert!(!finished(&world));
}
