//! Climbs that cannot go on and give way to a newer release, and on whose yes and whose health one goes on.

use super::late::finished;
use super::*;
use crate::snapshot::{LedgerGuard, LedgerState};

/// The source takes a release back while its slices climb: nothing more of it is opened, and a newer one
/// that has finished the tier below takes the tier.
#[test]
fn a_climb_whose_release_was_taken_back_gives_way() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    crate::next_release::tests::publish(&mut world, &["1.0.0", "1.2.0"]);
    assert_eq!(crate::next_release::tests::doings(&world), ["open 1.2.0 on qa"]);
    crate::next_release::tests::on_qa(
        &mut world,
        "1.2.0",
        Change::Found {
            members: vec!["qa-1".into()],
            digest: None,
            landed: Landed { at: ago(20), commit: None, by: None },
        },
    );
    crate::next_release::tests::on_qa(&mut world, "1.2.0", Change::Finished(ago(8)));
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.extend([place("qa", "1.2.0")]);
    let next = opened(&crate::plan(&world, noon())).expect("the newer one is opened");
    assert_eq!((next.to, next.part.slice), (version("1.2.0"), 0));
}

/// Its second slice was taken back, and a newer release took the tier's turn since: what was given up is not gone
/// on with where it stood.
#[test]
fn a_slice_that_was_overtaken_after_it_was_taken_back_does_not_go_on() {
    let next = |overtaken: bool| {
        let mut world = one_of_three();
        remember(&mut world, Change::Converged(ago(20)));
        let second = opened(&crate::plan(&world, noon())).expect("the second slice");
        propose(&mut world, &second, 22, 15);
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        let wave = page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap();
        *wave.rewrite().withdrawn = Some(crate::ledger::Withdrawn { at: ago(10), why: crate::Reason::Conflict });
        *wave.rewrite().superseded = overtaken.then(|| crate::ledger::Superseded { at: ago(9), by: version("1.2.0") });
        facts(&mut world).pulls = Read::Known(Vec::new());
        opened(&crate::plan(&world, noon())).map(|proposal| proposal.part.slice)
    };
    assert_eq!([next(false), next(true)], [Some(1), None]);
}

/// A cluster of the first slice fails after the second was taken back: the release fails there as it would between two
/// slices, instead of waiting for good.
#[test]
fn what_has_moved_fails_though_the_next_slice_was_taken_back() {
    let failed = |minutes: i64| {
        let mut world = one_of_three();
        remember(&mut world, Change::Converged(ago(20)));
        let second = opened(&crate::plan(&world, noon())).expect("the second slice");
        propose(&mut world, &second, 22, 18);
        remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(17), why: crate::Reason::Conflict }));
        facts(&mut world).pulls = Read::Known(Vec::new());
        let ill = Reading { health: Health::Degraded, since: Some(ago(minutes)), ..healthy("1.1.0") };
        facts(&mut world).readings.insert("bronze-1".into(), vec![ill]);
        let entries = crate::plan(&world, noon()).entries;
        entries.iter().any(|record| matches!(&record.entry, Entry::Wave { change: Change::Failed(_), .. }))
    };
    assert_eq!([failed(1), failed(16)], [false, true]);
}

/// A ledger that was lost once does not know any more that the tier below had finished what climbs here, and
/// has seen a newer one finish there since: the half climb gives way, instead of waiting for good.
#[test]
fn a_climb_that_the_tier_below_has_forgotten_gives_way() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let qa = |world: &mut Snapshot| -> usize {
        let waves = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"qa".into()).unwrap();
        waves.retain(|wave| wave.version != version("1.1.0"));
        waves.len()
    };
    assert_eq!(qa(&mut world), 1);
    let (publish, on_qa) = (crate::next_release::tests::publish, crate::next_release::tests::on_qa);
    publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
    let landed = Landed { at: ago(20), commit: None, by: None };
    on_qa(&mut world, "1.2.0", Change::Found { members: vec!["qa-1".into()], digest: None, landed });
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.extend([place("qa", "1.2.0")]);
    facts(&mut world).readings.insert("qa-1".into(), vec![healthy("1.2.0")]);
    assert_eq!(opened(&crate::plan(&world, noon())), None, "the newer one soaks");
    on_qa(&mut world, "1.2.0", Change::Finished(ago(8)));
    let next = opened(&crate::plan(&world, noon())).expect("the newer one is opened");
    assert_eq!((next.to, next.part.slice), (version("1.2.0"), 0));
}

/// Everybody who moved before has left the tier: the open slice is the first one now, and waits for nobody.
#[test]
fn a_later_slice_whose_forerunners_have_left_waits_for_nobody() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let second = opened(&crate::plan(&world, noon())).expect("the second slice");
    propose(&mut world, &second, 22, 15);
    let health = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        let bronze = plan.waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        bronze.findings.into_iter().find(|finding| finding.gate == crate::plan::Gate::Health).unwrap()
    };
    facts(&mut world).readings.insert("bronze-1".into(), Vec::new());
    assert!(!health(&world).verdict.lets_through());
    match &mut world.clusters {
        Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "bronze-1"),
        Read::Unread(_) => unreachable!(),
    }
    let finding = health(&world);
    assert!(finding.verdict.lets_through(), "{finding:?}");
    assert_eq!(finding.because.to_string(), "nobody who moved before is left to wait for");
}

/// The path of a cluster whose turn comes later is nobody's to approve yet; any other path is.
#[test]
fn a_slice_needs_the_owners_of_its_own_paths() {
    let verdict = |path: &str| {
        let mut world = world();
        let first = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &first, 21, 60);
        edit_last(&mut world, |pull| {
            let (owners, people) = (vec!["@acme/security".to_string()], ["eve".into()].into());
            let path = path.to_string();
            pull.owned = Read::Known(vec![crate::snapshot::OwnedPath { path, owners, people }]);
        });
        says(&world, crate::plan::Gate::Approvals).verdict
    };
    assert_eq!(verdict("clusters/bronze/bronze-1/app.yaml"), WAIT);
    assert_eq!(verdict("clusters/bronze/bronze-2/app.yaml"), Verdict::Pass);
    assert_eq!(verdict("charts/app.yaml"), WAIT);
}

/// While slices are still to come nothing soaks, and nothing is said of a soak.
#[test]
fn between_slices_nothing_is_said_of_a_soak() {
    let mut world = one_of_three();
    world.policy.limits.open_pulls = Some(0);
    remember(&mut world, Change::Converged(ago(20)));
    for record in crate::plan(&world, noon()).entries {
        world.ledger.apply(&record.entry);
    }
    let plan = crate::plan(&world, noon());
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert!(matches!(bronze.state, WaveState::Converging { healthy: 1, .. }), "{:?}", bronze.state);
    let told = |gate| bronze.findings.iter().any(|finding| finding.gate == gate);
    assert!(told(crate::plan::Gate::Health) && !told(crate::plan::Gate::Soak), "{:?}", bronze.findings);
    assert!(told(crate::plan::Gate::Limits), "the next one waits for that");
}

#[test]
fn whose_approval_a_later_slice_rests_on() {
    let verdict = |change: fn(&mut Snapshot)| {
        let mut world = one_of_three();
        remember(&mut world, Change::Converged(ago(20)));
        let second = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &second, 22, 15);
        edit_last(&mut world, |pull| {
            pull.reviews.clear();
            pull.review_decision = ReviewDecision::NotRequired;
        });
        change(&mut world);
        let plan = crate::plan(&world, noon());
        let wants = |review: ReviewDecision| if review == ReviewDecision::Required { Bypass } else { Ordinary };
        for action in &plan.actions {
            let Action::Merge { via, .. } = action else { continue };
            let last = facts(&mut world).pulls.known().and_then(|pulls| pulls.last()).map(|pull| pull.review_decision);
            assert_eq!(Some(*via), last.map(wants));
        }
        (says(&world, Gate::Approvals).verdict, merges(&plan))
    };
    let required: fn(&mut Snapshot) = |w| edit_last(w, |pull| pull.review_decision = ReviewDecision::Required);
    assert_eq!(verdict(|_| {}), (Verdict::Pass, true));
    assert_eq!(verdict(|w| bronze(w).approvals.each = Each::Slice), (WAIT, false));
    assert_eq!(verdict(|w| edit(w, |pull| pull.reviews.clear())), (WAIT, false), "the first had none");
    assert_eq!(verdict(|w| edit(w, |pull| pull.reviews[0].may_write = Read::Known(false))), (WAIT, false));
    assert_eq!(verdict(required), (Verdict::Pass, true), "the bypassing App merges");
    let open: fn(&mut Snapshot) = |w| {
        w.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Open("a plain token".into()) };
    };
    assert_eq!(verdict(open), (WAIT, false), "whoever may write could say so on the ledger");
    let objection: fn(&mut Snapshot) = |w| {
        let verdict = crate::snapshot::ReviewVerdict::ChangesRequested;
        edit(w, |pull| pull.reviews.push(crate::snapshot::Review { verdict, ..approval("noor") }));
    };
    assert_eq!(verdict(objection), (WAIT, false), "somebody objects to the first since");
    let by_hand: fn(&mut Snapshot) = |w| {
        edit(w, |pull| pull.state = PullState::Closed { at: ago(30), by: Some(BOT.into()) });
    };
    assert_eq!(verdict(by_hand), (WAIT, false), "the first came by hand, and its pull request was closed");
    assert_eq!(
        verdict(|w| {
            edit_last(w, |pull| pull.review_decision = ReviewDecision::Required);
            w.hub.bypass = false;
        }),
        (WAIT, false),
        "without it the hub would refuse"
    );
    let elsewhere: fn(&mut Snapshot) = |w| {
        let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
        let waves = page.tiers.get_mut(&"bronze".into()).unwrap();
        waves.iter_mut().filter(|wave| wave.part.slice == 1).for_each(|wave| wave.from = Some(version("0.9.0")));
    };
    assert_eq!(verdict(elsewhere), (WAIT, false), "another step");
}

/// A tier that has begun to move goes to the end of that release.
#[test]
fn no_newer_release_moves_a_later_slice() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let second = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &second, 22, 15);
    edit_last(&mut world, |pull| pull.reviews.clear());
    edit(&mut world, |pull| pull.reviews.clear());
    crate::next_release::tests::publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
    let landed = Landed { at: ago(20), commit: None, by: None };
    let found = Change::Found { members: vec!["qa-1".into()], digest: None, landed };
    for change in [found, Change::Finished(ago(8))] {
        crate::next_release::tests::on_qa(&mut world, "1.2.0", change);
    }
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.extend([place("qa", "1.2.0")]);
    assert_eq!(crate::next_release::tests::doings(&world), [""; 0]);
}

/// Somebody takes the first slice off the base branch while the second is open, or was taken back.
#[test]
fn what_has_moved_and_is_taken_off_has_failed() {
    let fails = |change: fn(&mut Snapshot)| {
        let mut world = one_of_three();
        remember(&mut world, Change::Converged(ago(20)));
        let second = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &second, 22, 15);
        holds(&mut world, "bronze-1", "1.0.0");
        change(&mut world);
        changes(&crate::plan(&world, noon())).iter().any(|change| change.contains("failed"))
    };
    let withdraw: fn(&mut Snapshot) = |w| {
        edit_last(w, |pull| pull.state = PullState::Closed { at: ago(5), by: Some(BOT.into()) });
        remember(w, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(5), why: Reason::NotLanded }));
    };
    let superseded: fn(&mut Snapshot) = |w| {
        edit_last(w, |pull| pull.state = PullState::Closed { at: ago(5), by: Some(BOT.into()) });
        remember(w, Change::Superseded(crate::ledger::Superseded { at: ago(5), by: version("1.2.0") }));
    };
    assert_eq!([fails(|_| {}), fails(withdraw), fails(superseded)], [true, true, false]);
    assert!(!fails(|w| holds(w, "bronze-1", "1.1.0")));
}

/// What a pinned cluster runs is none of what its tier runs.
#[test]
fn who_is_pinned_does_not_show_in_what_the_tier_runs() {
    let mut world = finished();
    let match_labels = BTreeMap::from([("name".to_string(), "bronze-2".to_string())]);
    let select = Selector { match_labels, match_expressions: Vec::new() };
    world.policy.plugins[0].pins =
        vec![Pin { select, version: Some(version("1.0.0")), until: None, why: "audit".to_string() }];
    holds(&mut world, "bronze-2", "1.0.0");
    // It runs all the same, for whoever counts what does.
    let shared = &mut crate::facts::Shared::count(&world, noon());
    let common = crate::facts::Common::of(&world, noon());
    let facts = Facts::new(&common, 0, shared);
    assert_eq!(facts.base(&"bronze".into()), crate::facts::Base::Uniform(version("1.1.0")));
    assert_eq!(facts.running(&facts.policy.tiers[1]), [version("1.0.0"), version("1.1.0")]);
}

/// One cluster of a finished release is on another version: that is somebody's own doing.
#[test]
fn f50_one_cluster_that_somebody_puts_back_fails_nothing_that_has_finished() {
    let mut world = finished();
    holds(&mut world, "bronze-2", "1.0.0");
    assert_eq!(changes(&crate::plan(&world, noon())), [""; 0]);
    CLUSTERS.iter().for_each(|name| holds(&mut world, name, "1.0.0"));
    assert_eq!(changes(&crate::plan(&world, noon())), ["app 1.1.0 on bronze: failed"], "all of them");
}

/// The next slice was taken back while its cluster was pinned, and the pin has ended: who has left a climb comes
/// after it, as a new one.
#[test]
fn who_has_left_a_slice_that_was_taken_back_is_not_moved_by_it() {
    let next = |left: &[&str]| {
        let mut world = one_of_three();
        remember(&mut world, Change::Converged(ago(20)));
        let second = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &second, 22, 15);
        edit_last(&mut world, |pull| pull.state = PullState::Closed { at: ago(5), by: Some(BOT.into()) });
        if !left.is_empty() {
            remember(&mut world, Change::Left { clusters: left.iter().map(|name| (*name).into()).collect() });
        }
        let why = Reason::NobodyMoves { tier: "bronze".into() };
        remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(5), why }));
        opened(&crate::plan(&world, noon())).map(|next| (names(&next).join(" "), next.part.slice))
    };
    assert_eq!(next(&[]), Some(("bronze-2".to_string(), 1)));
    assert_eq!(next(&["bronze-2"]), Some(("bronze-3".to_string(), 2)));
    assert_eq!(next(&["bronze-2", "bronze-3"]), None, "it ends with who has moved");
    // Who had moved, and came back, is looked at all the same.
    assert_eq!(next(&["bronze-1"]), Some(("bronze-2".to_string(), 1)));
}

/// What holds a climb up between two slices is said once, and what does not hold it up is not said.
#[test]
fn between_slices_only_what_holds_the_climb_up_is_said() {
    let said = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        let bronze = plan.waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
        bronze.findings
    };
    let mut world = one_of_three();
    facts(&mut world).readings.insert("bronze-1".into(), vec![healthy("1.0.0")]);
    let health = |finding: &&crate::plan::Finding| finding.gate == crate::plan::Gate::Health;
    assert_eq!(said(&world).iter().filter(health).count(), 1, "{:?}", said(&world));
    let release = |finding: &crate::plan::Finding| finding.gate == crate::plan::Gate::Release;
    assert!(!said(&world).iter().any(release), "{:?}", said(&world));
}

/// A later slice was taken back, and all whose turn was still to come have left: who had moved is the climb.
#[test]
fn a_climb_whose_others_have_left_is_watched_to_its_end() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let second = opened(&crate::plan(&world, noon())).expect("the second slice");
    propose(&mut world, &second, 22, 15);
    edit_last(&mut world, |pull| pull.state = PullState::Closed { at: ago(5), by: Some(BOT.into()) });
    remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(5), why: Reason::NotLanded }));
    let leave = |world: &mut Snapshot, names: &[&str]| {
        let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
        clusters.retain(|cluster| !names.contains(&cluster.name.as_str()));
        let Read::Known(base) = &mut facts(world).base else { unreachable!() };
        let gone =
            |place: &crate::snapshot::Place| place.cluster.as_ref().is_some_and(|name| names.contains(&name.as_str()));
        base.get_mut(&"bronze".into()).unwrap().retain(|place| !gone(place));
    };
    leave(&mut world, &["bronze-2", "bronze-3"]);
    let shown = crate::plan(&world, noon()).waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert_eq!(shown.version, Some(version("1.1.0")), "{:?}", shown.state);
    assert!(!matches!(shown.state, WaveState::Idle { .. }), "{:?}", shown.state);
}

/// Of a tier that follows releases by itself, what its clusters say is what they hold.
#[test]
fn who_follows_by_itself_goes_astray_by_what_its_clusters_say() {
    let astray = |running: &str| {
        let mut world = landed(vec![healthy(running)]);
        bronze(&mut world).follows = true;
        let shared = &mut crate::facts::Shared::count(&world, noon());
        let common = crate::facts::Common::of(&world, noon());
        let facts = Facts::new(&common, 0, shared);
        let tier = &facts.policy.tiers[1];
        let wave = facts.page.wave(&tier.name, &version("1.1.0")).unwrap();
        super::astray(&facts, tier, wave).map(|astray| match astray {
            Astray::Back(to) => format!("back to {}", to[0]),
            Astray::Past(to) => format!("past to {to}"),
        })
    };
    assert_eq!(astray("1.1.0"), None);
    assert_eq!(astray("1.0.0").as_deref(), Some("back to 1.0.0"));
    assert_eq!(astray("1.2.0").as_deref(), Some("past to 1.2.0"));
}
