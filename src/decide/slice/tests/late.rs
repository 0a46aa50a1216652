//! Clusters that join, leave or are pinned while releases climb, and tiers without any.

use super::*;
use crate::snapshot::SentNotice;

/// All of bronze has finished 1.1.0, in one wave; qa runs it too.
fn finished() -> Snapshot {
    let mut world = world();
    bronze(&mut world).strategy = Strategy::AllAtOnce;
    let first = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &first, 21, 600);
    land(&mut world, 21, &CLUSTERS, 500);
    remember(&mut world, Change::Finished(ago(400)));
    world
}

fn join(world: &mut Snapshot, name: &str, text: &str) {
    let labels = BTreeMap::from([("tier".to_string(), "bronze".to_string()), ("name".to_string(), name.to_string())]);
    match &mut world.clusters {
        Read::Known(clusters) => clusters.push(Cluster { name: name.into(), labels }),
        Read::Unread(_) => unreachable!(),
    }
    holds(world, name, text);
}

#[test]
fn who_joins_late_catches_up() {
    let mut world = finished();
    assert_eq!(crate::plan(&world, noon()).actions, []);
    join(&mut world, "bronze-4", "1.0.0");
    let plan = crate::plan(&world, noon());
    let late = opened(&plan).expect("a wave for the one that joined");
    assert_eq!((names(&late), late.part.purpose.clone()), (vec!["bronze-4".to_string()], Purpose::CatchUp));
    assert_eq!((late.from.clone(), late.to.clone()), (Some(version("1.0.0")), version("1.1.0")));
    // Its own soak, and then nothing more; the tier above never lost what had finished.
    propose(&mut world, &late, 24, 100);
    land(&mut world, 24, &["bronze-4"], 90);
    remember(&mut world, Change::Finished(ago(10)));
    let plan = crate::plan(&world, noon());
    assert_eq!((plan.actions, plan.entries), (vec![], vec![]));
    // Who has the version already needs none; nor one that somebody took it from by hand.
    let mut same = finished();
    join(&mut same, "bronze-4", "1.1.0");
    assert_eq!(crate::plan(&same, noon()).actions, []);
    let mut back = finished();
    holds(&mut back, "bronze-2", "1.0.0");
    assert_eq!(crate::plan(&back, noon()).actions, []);
    // The tier's gates hold for it.
    let mut full = finished();
    join(&mut full, "bronze-4", "1.0.0");
    full.policy.limits.open_pulls = Some(0);
    assert_eq!(crate::plan(&full, noon()).actions, []);
    // A newer release takes the late one along.
    let mut newer = finished();
    join(&mut newer, "bronze-4", "1.0.0");
    facts(&mut newer).releases = Read::Known(vec![release("1.0.0"), release("1.1.0"), release("1.2.0")]);
    let landed = Landed { at: ago(300), commit: None, by: None };
    for change in [Change::Found { members: vec!["qa-1".into()], digest: None, landed }, Change::Finished(ago(100))] {
        let (plugin, tier) = ("app".into(), "qa".into());
        newer.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.2.0"), change });
    }
    match &mut facts(&mut newer).base {
        Read::Known(base) => base.extend([place("qa", "1.2.0")]),
        Read::Unread(_) => unreachable!(),
    }
    let next = opened(&crate::plan(&newer, noon())).unwrap();
    assert_eq!((next.to, next.members.len(), next.part.purpose), (version("1.2.0"), 4, Purpose::Promotion));
}

#[test]
fn who_was_pinned_catches_up_when_the_pin_ends() {
    let select = Selector {
        match_labels: BTreeMap::from([("name".to_string(), "bronze-2".to_string())]),
        match_expressions: Vec::new(),
    };
    let mut world = finished();
    let pin = Pin { select, version: version("1.0.0"), until: Some(noon()), why: "audit".to_string() };
    world.policy.plugins[0].pins = vec![pin];
    // While it is pinned it has left the wave, whatever stands in its file.
    holds(&mut world, "bronze-2", "1.0.0");
    let plan = crate::plan(&world, ago(1));
    assert_eq!(plan.actions, []);
    for record in &plan.entries {
        world.ledger.apply(&record.entry);
    }
    assert!(changes(&plan).iter().any(|change| change.ends_with("1 cluster left the tier")), "{:?}", changes(&plan));
    let late = opened(&crate::plan(&world, noon())).unwrap();
    assert_eq!((names(&late), late.part.purpose.clone()), (vec!["bronze-2".to_string()], Purpose::CatchUp));
    // Nobody approves it: it is merged without, after the notices, and the file needs no `force` for that.
    propose(&mut world, &late, 24, 20 * 24 * 60);
    let notices = crate::expiry::NOTICE.iter().map(|before| SentNotice { before: *before, at: ago(60) - *before });
    let notices: Vec<SentNotice> = notices.collect();
    edit_last(&mut world, |pull| {
        pull.reviews.clear();
        pull.review_decision = ReviewDecision::Required;
        pull.notices = notices;
    });
    let (since, deadline) = (ago(20 * 24 * 60), ago(60));
    remember(&mut world, Change::Grace(crate::ledger::Grace { since, deadline, notices: Vec::new() }));
    let forced = |world: &Snapshot| {
        let plan = crate::plan(world, noon());
        plan.actions.iter().any(|action| matches!(action, Action::Merge { forced: Some(_), .. }))
    };
    assert!(forced(&world));
    // One that merely joined late waits for an approval.
    world.policy.plugins[0].pins.clear();
    assert!(!forced(&world));
}

#[test]
fn a_pull_request_is_written_anew_without_those_who_left() {
    let mut world = world();
    bronze(&mut world).strategy = Strategy::AllAtOnce;
    let all = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &all, 21, 15);
    assert!(merges(&crate::plan(&world, noon())));
    match &mut world.clusters {
        Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "bronze-2"),
        Read::Unread(_) => unreachable!(),
    }
    let plan = crate::plan(&world, noon());
    let anew = plan.actions.iter().find_map(|action| match action {
        Action::Update { proposal, .. } => Some(proposal.clone()),
        _ => None,
    });
    let anew = anew.expect("it is written anew");
    assert_eq!((names(&anew), anew.written), (vec!["bronze-1".to_string(), "bronze-3".to_string()], None));
    assert!(!merges(&plan));
    // Who joins while it is open waits.
    let mut world = self::world();
    bronze(&mut world).strategy = Strategy::AllAtOnce;
    propose(&mut world, &all, 21, 15);
    join(&mut world, "bronze-4", "1.0.0");
    edit_last(&mut world, |pull| pull.mergeable = crate::snapshot::Mergeable::Conflict);
    let plan = crate::plan(&world, noon());
    let anew = plan.actions.iter().find_map(|action| match action {
        Action::Update { proposal, .. } => Some(names(proposal)),
        _ => None,
    });
    assert_eq!(anew.map(|names| names.len()), Some(3), "members were fixed when it was opened");
}

#[test]
fn an_empty_tier_stops_the_climb_or_is_passed() {
    let opens = |empty| {
        let mut world = world();
        let mut between = tier("staging");
        between.empty = empty;
        world.policy.plugins[0].tiers.insert(1, between);
        let plan = crate::plan(&world, noon());
        (opened(&plan).map(|proposal| proposal.tier.to_string()), plan.waves[1].findings[0].because.to_string())
    };
    assert_eq!(opens(crate::model::Empty::Error).0, None);
    let (opened, why) = opens(crate::model::Empty::Pass);
    assert_eq!(opened.as_deref(), Some("bronze"));
    assert_eq!(why, "no cluster belongs to tier staging, and releases pass it");
}

/// bronze-2 is ahead of its tier; 1.2.0 has finished qa, between qa and bronze is staging, which soaks it.
fn ahead() -> Snapshot {
    let mut world = finished();
    world.policy.plugins[0].tiers.insert(1, tier("staging"));
    let labels = BTreeMap::from([("tier".to_string(), "staging".to_string())]);
    match &mut world.clusters {
        Read::Known(clusters) => clusters.push(Cluster { name: "staging-1".into(), labels }),
        Read::Unread(_) => unreachable!(),
    }
    facts(&mut world).readings.insert("staging-1".into(), vec![healthy("1.2.0")]);
    facts(&mut world).readings.insert("qa-1".into(), vec![healthy("1.2.0")]);
    facts(&mut world).releases = Read::Known(vec![release("1.0.0"), release("1.1.0"), release("1.2.0")]);
    for (name, cluster) in [("qa", "qa-1"), ("staging", "staging-1")] {
        let landed = Landed { at: ago(30), commit: None, by: None };
        let found = Change::Found { members: vec![cluster.into()], digest: None, landed };
        let finished = (name == "qa").then(|| Change::Finished(ago(25)));
        for change in [found].into_iter().chain(finished) {
            let (plugin, tier) = ("app".into(), name.into());
            world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.2.0"), change });
        }
        match &mut facts(&mut world).base {
            Read::Known(base) => base.extend([place(name, "1.2.0")]),
            Read::Unread(_) => unreachable!(),
        }
    }
    let select = Selector {
        match_labels: BTreeMap::from([("name".to_string(), "bronze-2".to_string())]),
        match_expressions: Vec::new(),
    };
    world.policy.plugins[0].tiers[2].early = vec![crate::model::Early { select, until: None }];
    world
}

fn bronzes(world: &mut Snapshot) -> &mut crate::model::Tier {
    &mut world.policy.plugins[0].tiers[2]
}

fn write(world: &mut Snapshot, text: &str, change: Change) {
    world.ledger.apply(&Entry::Wave { plugin: "app".into(), tier: "bronze".into(), version: version(text), change });
}

/// The bot opened the pull request for who is ahead, and it was merged half an hour ago.
fn ahead_landed() -> Snapshot {
    let mut world = ahead();
    let early = opened(&crate::plan(&world, noon())).unwrap();
    let head = Head { commit: Sha::new("9".repeat(40)), at: ago(20) };
    let Proposal { from, digest, part, members, .. } = early;
    write(&mut world, "1.2.0", Change::Intent { from, digest, part, members, head });
    write(&mut world, "1.2.0", Change::Landed(Landed { at: ago(20), commit: None, by: None }));
    holds(&mut world, "bronze-2", "1.2.0");
    world
}

fn finish_staging(world: &mut Snapshot) {
    let change = Change::Finished(ago(1));
    world.ledger.apply(&Entry::Wave {
        plugin: "app".into(),
        tier: "staging".into(),
        version: version("1.2.0"),
        change,
    });
}

#[test]
fn who_is_ahead_gets_what_has_finished_the_first_tier() {
    let mut world = ahead();
    let plan = crate::plan(&world, noon());
    let early = opened(&plan).expect("a wave for the one that is ahead");
    assert_eq!(
        (names(&early), early.to, early.part.purpose),
        (vec!["bronze-2".to_string()], version("1.2.0"), Purpose::Early)
    );
    // Two cases that differ in the key alone: without it, and past its end, nothing.
    bronzes(&mut world).early[0].until = Some(noon());
    assert_eq!(opened(&crate::plan(&world, noon())), None);
    let mut world = ahead();
    bronzes(&mut world).early.clear();
    assert_eq!(opened(&crate::plan(&world, noon())), None);
    // What is not accepted there, or was not finished anywhere, is nobody's.
    let mut world = ahead();
    bronzes(&mut world).constraint = "<1.2".parse().ok();
    assert_eq!(opened(&crate::plan(&world, noon())), None);
    // The tier's own turn takes all others, and who is ahead is not among them.
    let mut world = ahead();
    finish_staging(&mut world);
    let turn = opened(&crate::plan(&world, noon())).unwrap();
    assert_eq!(
        (names(&turn), turn.part.purpose),
        (vec!["bronze-1".to_string(), "bronze-3".to_string()], Purpose::Promotion)
    );
}

#[test]
fn who_is_ahead_finishes_nothing_and_keeps_nobody() {
    let mut world = ahead_landed();
    let plan = crate::plan(&world, noon());
    assert_eq!(plan.actions, [], "one is enough");
    let shown = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert!(matches!(shown.state, WaveState::Soaking { .. }), "{:?}", shown.state);
    // The others follow in their turn, while it still soaks; it has finished no tier.
    finish_staging(&mut world);
    let turn = opened(&crate::plan(&world, noon())).expect("the tier's turn");
    assert_eq!((names(&turn).len(), turn.from), (2, Some(version("1.1.0"))));
    write(&mut world, "1.2.0", Change::Finished(ago(1)));
    assert_eq!(opened(&crate::plan(&world, noon())).map(|turn| turn.members.len()), Some(2));
    let shared = &mut crate::desk::Shared::count(&world, noon());
    let desk = Desk::new(&world, &world.policy.plugins[0], noon(), shared);
    assert!(!release::has_finished(&desk, 2, &version("1.2.0")));
    // Its failure stops the release everywhere.
    let mut world = ahead_landed();
    finish_staging(&mut world);
    let sick = Reading { health: Health::Failed, since: Some(ago(5)), ..healthy("1.2.0") };
    facts(&mut world).readings.insert("bronze-2".into(), vec![sick]);
    assert_eq!(opened(&crate::plan(&world, noon())), None);
}

/// Past `until` their turn is the tier's again, and the others still get what only they have.
#[test]
fn who_was_ahead_does_not_keep_the_others_back() {
    let mut world = ahead_landed();
    finish_staging(&mut world);
    bronzes(&mut world).early[0].until = Some(noon());
    let turn = opened(&crate::plan(&world, noon())).expect("the tier's turn");
    assert_eq!((turn.to, turn.part.purpose), (version("1.2.0"), Purpose::Promotion));
}
