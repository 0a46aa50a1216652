//! What force needs, each condition taken away, and when people are told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::ledger::{Change, Landed, Merging, Outage};
use crate::snapshot::{
    CheckState, Command, CommandKind, LedgerGuard, LedgerState, Mergeable, MissingValue, Read, Release, RequiredCheck,
    Review, ReviewVerdict, SentNotice, Snapshot,
};
use crate::testing::*;
use alloc::string::String;
use alloc::vec;

fn told(world: &mut Snapshot, minutes: i64) {
    let notice = SentNotice { before: SignedDuration::from_mins(10), at: ago(minutes) };
    edit(world, |pull| pull.notices = vec![notice]);
}

fn graced(world: &mut Snapshot, since: i64) {
    let since = ago(since);
    remember(
        world,
        Change::Grace(Grace {
            since,
            deadline: since + SignedDuration::from_hours(1),
            notices: Vec::new(),
            giving: None,
        }),
    );
}

/// Opened an hour and ten minutes ago, told ten minutes ago: everything that force needs.
fn over() -> Snapshot {
    let mut world = unapproved();
    graced(&mut world, 70);
    told(&mut world, 10);
    world
}

fn forced(world: &Snapshot) -> Option<ForceEvidence> {
    crate::plan(world, noon()).actions.into_iter().find_map(|action| match action {
        Action::Merge { forced, via, .. } => forced.inspect(|_| assert_eq!(via, crate::plan::Identity::Bypass)),
        _ => None,
    })
}

#[test]
fn force_waives_approvals_with_evidence() {
    let evidence = forced(&over()).expect("it merges");
    assert_eq!((evidence.deadline, &evidence.said), (Some(noon()), &None));
    assert_eq!(evidence.notices.len(), 1);
    assert!(evidence.waived.contains("@acme/platform"), "{}", evidence.waived);
    assert!(evidence.held.iter().any(|gate| gate.starts_with("tier below finished")), "{:?}", evidence.held);
    assert!(matches!(says(&over(), Gate::Approvals).verdict, Verdict::Waived { .. }));
}

#[test]
fn nothing_is_forced_that_people_added_to() {
    let mut world = over();
    added(&mut world);
    assert_eq!(forced(&world), None);
    assert!(matches!(says(&world, Gate::Approvals).verdict, Verdict::Wait { .. }));
}

/// 1.1.0 on qa.
fn below(world: &mut Snapshot) -> &mut Wave {
    let page = world.ledger.plugins.get_mut(&"app".into()).expect("app");
    page.tiers.get_mut(&"qa".into()).expect("qa").last_mut().expect("a wave")
}

#[test]
fn after_the_first_notice_no_newer_release_moves_the_pull_request() {
    let moves = |told_them: bool| {
        let mut world = unapproved();
        graced(&mut world, 55);
        if told_them {
            told(&mut world, 1);
        }
        facts(&mut world).releases = Read::Known(vec![release("1.0.0"), release("1.1.0"), release("1.2.0")]);
        let landed = Landed { at: ago(9), commit: None, by: None };
        let found = Change::Found { members: vec!["qa-1".into()], digest: None, landed };
        for change in [found, Change::Finished(ago(8))] {
            let (plugin, tier) = ("app".into(), "qa".into());
            world.ledger.apply(&crate::Entry::Wave { plugin, tier, version: version("1.2.0"), change });
        }
        facts(&mut world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
        crate::plan(&world, noon()).actions.iter().any(|action| matches!(action, Action::Update { .. }))
    };
    assert!(moves(false) && !moves(true));
}

/// Each condition that is taken away leaves nothing that is forced.
#[test]
fn f39_f45_each_condition_of_force_is_needed() {
    type Case = (&'static str, fn(&mut Snapshot));
    let cases: [Case; 32] = [
        ("the notice was not sent", |w| edit(w, |pull| pull.notices.clear())),
        ("the notice went out later than its distance", |w| told(w, 9)),
        ("the period is not over", |w| {
            *w = unapproved();
            graced(w, 59);
            told(w, 10);
        }),
        ("an outage of the hub lies in it", |w| w.ledger.outages.push(Outage { from: ago(40), to: ago(20) })),
        ("the file has no force", |w| bronze(w).force = None),
        ("the newest policy file has errors", |w| w.policy_problem = Some("line 3".into())),
        ("others can push the ledger", |w| {
            w.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("no rule".into()) }
        }),
        ("the clocks differ", |w| w.hub.skew = SignedDuration::from_secs(31)),
        ("no bypassing App", |w| w.hub.bypass = false),
        ("somebody objects", |w| {
            edit(w, |pull| pull.reviews = vec![Review { verdict: ReviewVerdict::ChangesRequested, ..approval("noor") }])
        }),
        ("a draft", |w| edit(w, |pull| pull.draft = true)),
        ("edited", |w| edit(w, |pull| pull.head = "eeeeeeeeee".into())),
        ("a red check", |w| {
            edit(w, |pull| {
                pull.checks = Read::Known(vec![RequiredCheck { name: "e2e".into(), state: CheckState::Failure }])
            })
        }),
        ("held", |w| {
            edit(w, |pull| {
                pull.commands = vec![Command {
                    by: "noor".into(),
                    at: ago(1),
                    what: CommandKind::Hold { why: String::new() },
                    allowed: Read::Known(true),
                }]
            })
        }),
        ("breaking and not acknowledged", |w| {
            facts(w).releases = Read::Known(vec![Release { marked_breaking: true, ..release("1.1.0") }])
        }),
        ("outside the window", |w| {
            bronze(w).windows = Some(crate::window::Windows {
                open: vec![crate::window::Range { days: vec![1], from: 0, to: 60 }],
                ..crate::window::Windows::always(jiff::tz::TimeZone::UTC)
            })
        }),
        ("the cap of clusters", |w| {
            w.policy.limits.clusters_per_hour = Some(1);
            let landed = Landed { at: ago(5), commit: None, by: None };
            for change in [
                Change::Found { members: vec!["x".into()], digest: None, landed },
                Change::Merging(Merging { head: "ff".into(), at: ago(5), base: None, forced: None }),
            ] {
                w.ledger.apply(&crate::Entry::Wave {
                    plugin: "dns".into(),
                    tier: "qa".into(),
                    version: version("3.0.0"),
                    change,
                });
            }
        }),
        ("a freeze", freeze_all),
        ("the tier below has not finished it", |w| *below(w).rewrite().finished = None),
        ("the tier below found it wanting afterwards", |w| {
            *below(w).rewrite().failed = Some(crate::ledger::Failed { at: ago(1), why: Reason::NotLanded })
        }),
        ("the tier below stalls on it", |w| {
            *below(w).rewrite().stalled = Some(crate::ledger::Failed { at: ago(1), why: Reason::NotLanded })
        }),
        ("somebody whose rights are not known objects", |w| {
            edit(w, |pull| {
                let may_write = Read::Unread("503".into());
                let verdict = ReviewVerdict::ChangesRequested;
                pull.reviews = vec![Review { verdict, may_write, ..approval("noor") }];
            })
        }),
        ("a check that is not there yet", |w| {
            edit(w, |pull| {
                pull.checks = Read::Known(vec![RequiredCheck { name: "e2e".into(), state: CheckState::Pending }])
            })
        }),
        ("checks that could not be read", |w| edit(w, |pull| pull.checks = Read::Unread("503".into()))),
        ("mergeability unknown", |w| edit(w, |pull| pull.mergeable = Mergeable::Unknown)),
        ("a conflict", |w| edit(w, |pull| pull.mergeable = Mergeable::Conflict)),
        ("a required value is missing, though acknowledged", |w| {
            let missing = MissingValue { cluster: "bronze-1".into(), option: "host".into() };
            facts(w).releases = Read::Known(vec![Release { missing_values: vec![missing], ..release("1.1.0") }]);
            edit(w, |pull| {
                let what = CommandKind::Acknowledge { version: version("1.1.0") };
                pull.commands = vec![Command { by: "maria".into(), at: ago(1), what, allowed: Read::Known(true) }];
            });
        }),
        ("breaking and acknowledged for another version", |w| {
            facts(w).releases = Read::Known(vec![Release { marked_breaking: true, ..release("1.1.0") }]);
            edit(w, |pull| {
                let what = CommandKind::Acknowledge { version: version("1.2.0") };
                pull.commands = vec![Command { by: "maria".into(), at: ago(1), what, allowed: Read::Known(true) }];
            });
        }),
        ("people were told less than `announce` ago", |w| bronze(w).announce = SignedDuration::from_mins(31)),
        ("the notice is older than the clock: force was off in between", |w| told(w, 71)),
        ("other content under this version", |w| {
            let digest = Some("sha256:22".into());
            facts(w).releases = Read::Known(vec![Release { digest, ..release("1.1.0") }]);
        }),
        ("a manual tier", |w| bronze(w).merge = crate::model::MergeRule::all(Merge::Manual)),
    ];
    for (name, change) in cases {
        let mut world = over();
        change(&mut world);
        assert!(!merges(&crate::plan(&world, noon())), "{name}");
    }
}

fn gives(world: &Snapshot, at: Timestamp) -> Option<Vec<String>> {
    crate::plan(world, at).actions.into_iter().find_map(|action| match action {
        Action::Notice { owners, .. } => Some(owners),
        _ => None,
    })
}

/// The period is for approvals that are missing: once they are there, it keeps nothing and nobody is told.
#[test]
fn what_is_approved_merges_though_its_grace_period_runs() {
    let mut world = unapproved();
    graced(&mut world, 55);
    assert_eq!(says(&world, Gate::Grace).because, Reason::GraceRunning { deadline: ago(-5) });
    edit(&mut world, |pull| {
        pull.reviews = vec![approval("maria")];
        pull.review_decision = crate::snapshot::ReviewDecision::Approved;
    });
    let plan = crate::plan(&world, noon());
    assert!(merges(&plan), "{:?}", plan.actions);
    assert_eq!((gives(&world, noon()), forced(&world).is_some()), (None, false));
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("a report");
    assert!(bronze.findings.iter().all(|finding| finding.gate != Gate::Grace), "{:?}", bronze.findings);
}

/// The hub tells nobody else: a notice names the owners, and where they cannot be read there is none yet.
#[test]
fn a_notice_is_for_those_who_may_approve() {
    let mut world = unapproved();
    graced(&mut world, 50);
    assert_eq!(gives(&world, noon()), Some(vec!["@acme/platform".into()]));
    edit(&mut world, |pull| pull.owned = Read::Unread("503".into()));
    assert_eq!(gives(&world, noon()), None);
    bronze(&mut world).approvals.code_owners = false;
    assert_eq!(gives(&world, noon()), Some(vec![]), "nobody's word is asked for");
}

/// Whoever gave it may have ended before the hub showed it.
#[test]
fn a_notice_that_is_being_given_is_waited_for() {
    let mut world = unapproved();
    let (since, before) = (ago(50), SignedDuration::from_mins(10));
    let giving = Some(SentNotice { before, at: noon() });
    let grace = Grace { since, deadline: since + SignedDuration::from_hours(1), notices: Vec::new(), giving };
    remember(&mut world, Change::Grace(grace));
    let late = noon() + LAG;
    assert_eq!((gives(&world, noon()), gives(&world, late - SignedDuration::from_secs(1))), (None, None));
    assert!(crate::plan(&world, noon()).alarm.is_some_and(|alarm| alarm.at <= late), "and looked for");
    assert!(gives(&world, late).is_some(), "it was not given");
    edit(&mut world, |pull| pull.notices = vec![SentNotice { before, at: noon() }]);
    let plan = crate::plan(&world, noon());
    let graces = plan.entries.iter().filter_map(|record| match &record.entry {
        crate::Entry::Wave { change: Change::Grace(grace), .. } => Some(grace),
        _ => None,
    });
    assert!(graces.into_iter().any(|grace| grace.giving.is_none() && grace.notices.len() == 1), "{:?}", plan.entries);
}

#[test]
fn notices_go_out_when_due_and_the_deadline_never_moves_earlier() {
    let notices = |minutes: i64| {
        let mut world = unapproved();
        graced(&mut world, minutes);
        crate::plan(&world, noon()).actions.into_iter().find_map(|action| match action {
            Action::Notice { deadline, .. } => Some(deadline),
            _ => None,
        })
    };
    assert_eq!(notices(49), None);
    assert_eq!(notices(50), Some(noon() + SignedDuration::from_mins(10)));
    assert_eq!(notices(90), Some(noon() + SignedDuration::from_mins(10)), "a late notice moves the deadline");
    // Nobody is told of what is not open any more, or is not what the bot wrote.
    for change in [
        |pull: &mut Pull| pull.head = "eeeeeeeeee".into(),
        |pull: &mut Pull| pull.state = PullState::Closed { at: ago(1), by: Some(BOT.into()) },
    ] {
        let mut world = unapproved();
        graced(&mut world, 50);
        edit(&mut world, change);
        let plan = crate::plan(&world, noon());
        assert!(!plan.actions.iter().any(|action| matches!(action, Action::Notice { .. })), "{:?}", plan.actions);
    }
    // A notice that is late keeps its distance.
    let until = |minutes: i64| {
        let mut world = unapproved();
        graced(&mut world, minutes);
        match says(&world, Gate::Grace).verdict {
            Verdict::Wait { until } => until,
            _ => None,
        }
    };
    assert_eq!(until(49), Some(noon() + SignedDuration::from_mins(11)));
    assert_eq!(until(55), Some(noon() + SignedDuration::from_mins(10)));
    let mut world = unapproved();
    graced(&mut world, 49);
    let due = noon() + SignedDuration::from_mins(1);
    assert_eq!(crate::plan(&world, noon()).alarm.map(|alarm| alarm.at), Some(due), "the bot wakes for the notice");
    let mut world = unapproved();
    let later = noon() + SignedDuration::from_hours(9);
    remember(&mut world, Change::Grace(Grace { since: ago(70), deadline: later, notices: Vec::new(), giving: None }));
    let report = crate::plan(&world, noon());
    let wave = report.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
    assert_eq!(wave.grace.as_ref().map(|grace| grace.deadline), Some(later));
}

/// The deadline is the hub's: a clock of ours that differs waits as much longer, up to half a minute.
#[test]
fn a_clock_that_differs_forces_nothing_sooner() {
    for seconds in [-30, -20, 0, 20, 30] {
        let mut world = over();
        world.hub.skew = SignedDuration::from_secs(seconds);
        let due = noon() + SignedDuration::from_secs(seconds.abs());
        let merges_at = |at| merges(&crate::plan(&world, at));
        assert!(!merges_at(due - SignedDuration::from_secs(1)), "{seconds}");
        assert!(merges_at(due), "{seconds}");
        let before = says_at(&world, Gate::Grace, due - SignedDuration::from_secs(1)).verdict;
        assert_eq!(before, Verdict::Wait { until: Some(due) }, "{seconds}");
    }
}

#[test]
fn f39_an_outage_that_two_processes_noted_counts_once() {
    let grace = Grace { since: ago(60), deadline: ago(60), notices: Vec::new(), giving: None };
    let force = Force { after: SignedDuration::from_mins(60), notice: Vec::new() };
    let of = |spans: &[(i64, i64)]| {
        let outages = spans.iter().map(|(from, to)| Outage { from: ago(*from), to: ago(*to) }).collect();
        deadline(&grace, &force, &Ledger { outages, ..Ledger::default() }, noon())
    };
    let later = |minutes| noon() + SignedDuration::from_mins(minutes);
    assert_eq!(of(&[(40, 20), (35, 15)]), later(25));
    assert_eq!(of(&[(35, 15), (40, 20), (38, 30)]), later(25));
    assert_eq!(of(&[(40, 35), (20, 10), (90, 55)]), later(20));
}

#[test]
fn the_clock_starts_with_the_announcement_or_when_force_is_switched_on() {
    // Opened thirty minutes ago and announced in an earlier look: switched on later.
    let grace = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        plan.waves
            .iter()
            .find(|wave| wave.tier.as_str() == "bronze")
            .and_then(|wave| wave.grace.clone())
            .map(|grace| grace.since)
    };
    assert_eq!(grace(&unapproved()), Some(noon()));
    let mut fresh = unapproved();
    let page = fresh.ledger.plugins.get_mut(&"app".into()).expect("app");
    page.tiers.get_mut(&"bronze".into()).expect("bronze").last_mut().expect("a wave").pull = None;
    assert_eq!(grace(&fresh), Some(noon()), "seen late: nobody knows whether force was on when it was opened");
    fresh.look_again = SignedDuration::from_mins(15);
    assert_eq!(grace(&fresh), Some(ago(30)), "the look after the opening");
    // The clock is the hub's, as the notices are.
    fresh.hub.skew = SignedDuration::from_mins(10);
    assert_eq!(grace(&fresh), Some(ago(30)), "twenty minutes later by the hub's clock");
    let mut ahead = unapproved();
    ahead.hub.skew = SignedDuration::from_mins(10);
    assert_eq!(grace(&ahead), Some(ago(10)));
}

/// 1.0.5 had the pull request before, and its clock ran for an hour and ten minutes.
#[test]
fn a_clock_is_carried_by_the_move_and_not_over_a_time_without_force() {
    let grace = |known: bool| {
        let mut world = unapproved();
        told(&mut world, 15);
        let waves = world.ledger.plugins.get_mut(&"app".into()).expect("app").tiers.get_mut(&"bronze".into());
        let waves = waves.expect("bronze");
        let mut older = waves.last().expect("a wave").clone();
        older.version = version("1.0.5");
        older.grace = Some(Grace { since: ago(70), deadline: ago(5), notices: Vec::new(), giving: None });
        *older.rewrite().superseded = Some(crate::ledger::Superseded { at: ago(20), by: version("1.1.0") });
        if !known {
            waves.last_mut().expect("a wave").pull = None;
        }
        waves.insert(1, older);
        let plan = crate::plan(&world, noon());
        let forced = merges(&plan);
        let wave = plan.waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
        let grace = wave.grace.expect("a clock");
        (grace.since, grace.deadline, forced)
    };
    assert_eq!(grace(false), (ago(70), ago(5), true), "just moved");
    let later = noon() + SignedDuration::from_hours(1);
    assert_eq!(grace(true), (noon(), later, false), "force was off, and is on again");
}
