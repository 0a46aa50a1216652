//! Clusters that join, leave or are pinned while releases climb, and tiers without any.

use super::*;
use crate::model::Next;
use crate::snapshot::SentNotice;

/// All of bronze has finished 1.1.0, in one wave; qa runs it too.
pub(super) fn finished() -> Snapshot {
    let mut world = world();
    bronze(&mut world).strategy = Strategy::AllAtOnce;
    let first = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &first, 21, 600);
    land(&mut world, 21, &CLUSTERS, 500);
    remember(&mut world, Change::Finished(ago(400)));
    world
}

pub(super) fn join(world: &mut Snapshot, name: &str, text: &str) {
    let labels = BTreeMap::from([("tier".to_string(), "bronze".to_string()), ("name".to_string(), name.to_string())]);
    match &mut world.clusters {
        Read::Known(clusters) => clusters.push(Cluster { name: name.into(), labels }),
        Read::Unread(_) => unreachable!(),
    }
    holds(world, name, text);
}

#[test]
fn f14_who_joins_late_catches_up() {
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
    let pin = Pin { select, version: Some(version("1.0.0")), until: Some(noon()), why: "audit".to_string() };
    world.policy.plugins[0].pins = vec![pin];
    let rings = crate::plan(&world, ago(1)).alarm.map(|alarm| alarm.at);
    assert_eq!(rings, Some(noon()), "its end rings");
    assert_ne!(crate::plan(&world, noon()).alarm.map(|alarm| alarm.at), Some(noon()), "and then no more");
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
    remember(&mut world, Change::Grace(crate::ledger::Grace { since, deadline, notices: Vec::new(), giving: None }));
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
fn f14_a_pull_request_is_written_anew_without_those_who_left() {
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
fn f13_an_empty_tier_stops_the_climb_or_is_passed() {
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

/// The last slice's cluster leaves while its pull request is open: the climb ends with those that moved.
#[test]
fn a_climb_whose_last_cluster_leaves_soaks_and_finishes() {
    let mut world = one_of_three();
    for (number, cluster) in [(22, "bronze-2"), (23, "bronze-3")] {
        remember(&mut world, Change::Converged(ago(20)));
        let next = opened(&crate::plan(&world, noon())).unwrap();
        assert_eq!(names(&next), [cluster]);
        propose(&mut world, &next, number, 15);
        if number == 22 {
            land(&mut world, number, &[cluster], 15);
        }
    }
    match &mut world.clusters {
        Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "bronze-3"),
        Read::Unread(_) => unreachable!(),
    }
    let look = |world: &mut Snapshot, hours: i64| {
        let now = noon() + SignedDuration::from_hours(hours);
        for cluster in ["bronze-1", "bronze-2"] {
            let reading = Reading { observed_at: now, since: Some(ago(10)), ..healthy("1.1.0") };
            facts(world).readings.insert(cluster.into(), vec![reading]);
        }
        let plan = crate::plan(world, now);
        plan.entries.iter().for_each(|record| world.ledger.apply(&record.entry));
        plan
    };
    let plan = look(&mut world, 0);
    assert!(matches!(&plan.actions[..], [Action::Close { pull: PullNumber(23), .. }]), "{:?}", plan.actions);
    edit_last(&mut world, |pull| pull.state = PullState::Closed { at: noon(), by: Some(BOT.into()) });
    let plan = look(&mut world, 1);
    assert!(matches!(state(&plan), WaveState::Soaking { .. }), "{:?}", state(&plan));
    assert!(changes(&look(&mut world, 2)).iter().any(|change| change.ends_with("finished")));
    let plan = look(&mut world, 3);
    assert_eq!((plan.actions, plan.entries.len()), (vec![], 0));
    // Somebody takes it off again: what finished is gone.
    holds(&mut world, "bronze-1", "1.0.0");
    holds(&mut world, "bronze-2", "1.0.0");
    assert!(matches!(state(&look(&mut world, 4)), WaveState::Failed { .. }));
}

/// The clusters of a tier that stay.
fn only(world: &mut Snapshot, stays: fn(&str) -> bool) {
    match &mut world.clusters {
        Read::Known(clusters) => {
            clusters.retain(|it| !it.name.as_str().starts_with("bronze") || stays(it.name.as_str()))
        }
        Read::Unread(_) => unreachable!(),
    }
}

/// All have moved, and the last one leaves while they soak: the others finish it.
#[test]
fn a_climb_whose_last_cluster_leaves_when_it_has_landed_finishes_too() {
    let mut world = one_of_three();
    for (number, cluster) in [(22, "bronze-2"), (23, "bronze-3")] {
        remember(&mut world, Change::Converged(ago(20)));
        let next = opened(&crate::plan(&world, noon())).unwrap();
        propose(&mut world, &next, number, 15);
        land(&mut world, number, &[cluster], 15);
    }
    only(&mut world, |name| name != "bronze-3");
    bronze(&mut world).soak.min = SignedDuration::ZERO;
    let changes = changes(&crate::plan(&world, noon()));
    assert!(changes.iter().any(|change| change.ends_with("finished")), "{changes:?}");
}

/// The next slice was taken back, and everybody has left; who joined since was on it already. Nobody would ever
/// soak for it.
#[test]
fn a_climb_that_everybody_has_left_keeps_no_newer_one_out() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    let second = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &second, 22, 15);
    edit_last(&mut world, |pull| pull.state = PullState::Closed { at: ago(5), by: Some(BOT.into()) });
    let why = crate::Reason::NobodyMoves { tier: "bronze".into() };
    remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(5), why }));
    let newer = |stays: fn(&str) -> bool| {
        let mut world = world.clone();
        join(&mut world, "bronze-4", "1.1.0");
        only(&mut world, stays);
        crate::next_release::tests::publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
        let landed = Landed { at: ago(20), commit: None, by: None };
        let found = Change::Found { members: vec!["qa-1".into()], digest: None, landed };
        crate::next_release::tests::on_qa(&mut world, "1.2.0", found);
        crate::next_release::tests::on_qa(&mut world, "1.2.0", Change::Finished(ago(10)));
        let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
        base.extend([place("qa", "1.2.0")]);
        opened(&crate::plan(&world, noon())).map(|proposal| proposal.to)
    };
    assert_eq!(newer(|_| true), Some(version("1.1.0")), "its next slice");
    assert_eq!(newer(|name| name == "bronze-1" || name == "bronze-4"), None, "it soaks");
    assert_eq!(newer(|name| name == "bronze-4"), Some(version("1.2.0")));
}

/// Under `restart` a newer release on the first tier ends a climb that has begun to move here.
#[test]
fn a_climb_that_was_given_up_moves_no_further() {
    let mut world = one_of_three();
    remember(&mut world, Change::Converged(ago(20)));
    crate::next_release::tests::publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
    let landed = Landed { at: ago(20), commit: None, by: None };
    let found = Change::Found { members: vec!["qa-1".into()], digest: None, landed };
    crate::next_release::tests::on_qa(&mut world, "1.2.0", found);
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.extend([place("qa", "1.2.0")]);
    for (next, opens) in [(Next::NewestFinished, true), (Next::Restart, false)] {
        world.policy.plugins[0].next = next;
        assert_eq!(opened(&crate::plan(&world, noon())).is_some(), opens, "{next:?}");
    }
}

/// What follows releases by itself catches up by itself.
#[test]
fn who_joins_a_tier_that_follows_gets_no_pull_request() {
    let mut world = finished();
    join(&mut world, "bronze-4", "1.0.0");
    world.policy.plugins[0].tiers.remove(0);
    world.policy.plugins[0].tiers[0].follows = true;
    assert_eq!(opened(&crate::plan(&world, noon())), None);
    world.policy.plugins[0].tiers[0].follows = false;
    assert!(opened(&crate::plan(&world, noon())).is_some());
}

#[test]
fn a_tier_that_follows_since_gets_no_later_slice() {
    let mut world = one_of_three();
    world.policy.plugins[0].tiers.remove(0);
    assert!(opened(&crate::plan(&world, noon())).is_some());
    world.policy.plugins[0].tiers[0].follows = true;
    assert_eq!(opened(&crate::plan(&world, noon())), None);
}

/// Its pull request was merged, and the cluster left before anybody looked: nothing was taken off again.
#[test]
fn a_merged_slice_whose_cluster_has_left_has_not_failed() {
    let mut world = world();
    let first = opened(&crate::plan(&world, noon())).unwrap();
    propose(&mut world, &first, 21, 60);
    edit_last(&mut world, |pull| {
        pull.state = PullState::Merged { at: ago(30), by: BOT.into(), commit: "dddddddddd".into() };
    });
    let failed = |world: &Snapshot| changes(&crate::plan(world, noon())).iter().any(|change| change.contains("failed"));
    assert!(failed(&world), "somebody took it off");
    match &mut world.clusters {
        Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "bronze-1"),
        Read::Unread(_) => unreachable!(),
    }
    assert!(!failed(&world));
}

/// The bot took it back, and somebody put it on the base branch all the same: it soaks, and rings until it has.
#[test]
fn what_was_withdrawn_and_put_there_by_hand_is_watched() {
    let mut world = ready();
    facts(&mut world).pulls = Read::Known(Vec::new());
    let why = crate::Reason::NothingNewer { version: None };
    remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(20), why }));
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.extend([place("bronze", "1.1.0")]);
    facts(&mut world).readings.insert("bronze-1".into(), vec![healthy("1.1.0")]);
    bronze(&mut world).soak.min = SignedDuration::from_hours(1);
    let plan = crate::plan(&world, noon());
    assert!(plan.entries.iter().any(|record| matches!(&record.entry, Entry::Wave { change: Change::Soaked(_), .. })));
    assert!(plan.alarm.is_some(), "it soaks");
}

/// The same where somebody has joined the tier since, and is on what was there before.
#[test]
fn what_was_put_on_one_cluster_of_several_is_watched() {
    let mut world = ready();
    facts(&mut world).pulls = Read::Known(Vec::new());
    let no = crate::ledger::Rejected { at: ago(20), by: Some("olga".into()), pull: crate::PullNumber(7) };
    remember(&mut world, Change::Rejected(no));
    let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
    let late = crate::snapshot::Cluster { name: "bronze-2".into(), ..clusters[1].clone() };
    clusters.push(late);
    let at = |cluster: &str, text: &str| Place {
        file: alloc::format!("clusters/{cluster}/app.yaml"),
        cluster: Some(cluster.into()),
        ..place("bronze", text).1.remove(0)
    };
    let Read::Known(base) = &mut facts(&mut world).base else { unreachable!() };
    base.insert("bronze".into(), alloc::vec![at("bronze-1", "1.1.0"), at("bronze-2", "1.0.0")]);
    facts(&mut world).readings.insert("bronze-1".into(), vec![healthy("1.1.0")]);
    let plan = crate::plan(&world, noon());
    assert!(plan.entries.iter().any(|record| matches!(&record.entry, Entry::Wave { change: Change::Soaked(_), .. })));
    assert!(plan.alarm.is_some(), "it soaks");
}

/// The cluster of a tier was replaced while its release soaked, or left the tier by a mistake and came back: it
/// soaks there from now on, and finishes.
#[test]
fn a_release_that_everybody_has_left_soaks_with_those_in_their_place() {
    let finishes = |name: &str, how: fn(&mut Snapshot)| {
        let mut world = crate::testing::landed(vec![healthy("1.1.0")]);
        bronze(&mut world).soak.min = SignedDuration::ZERO;
        remember(&mut world, Change::Left { clusters: vec!["bronze-1".into()] });
        let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
        clusters[1].name = name.into();
        how(&mut world);
        facts(&mut world).readings.insert(name.into(), vec![healthy("1.1.0")]);
        let plan = crate::plan(&world, noon());
        plan.entries.iter().for_each(|record| world.ledger.apply(&record.entry));
        let again = crate::plan(&world, noon());
        assert_eq!(again.entries, [], "{name}");
        changes(&plan).iter().any(|change| change.ends_with("finished"))
    };
    assert!(finishes("bronze-2", |_| {}));
    assert!(finishes("bronze-1", |_| {}));
    let failed = |w: &mut Snapshot| {
        let failed = crate::ledger::Failed { at: ago(1), why: crate::Reason::NotLanded };
        remember(w, Change::Failed(failed));
    };
    assert!(!finishes("bronze-2", failed), "what failed stays so");
    assert!(!finishes("bronze-2", |w| bronze(w).soak.min = SignedDuration::from_mins(1)), "the soak begins now");
    let stalled = |w: &mut Snapshot| {
        let stalled = crate::ledger::Failed { at: ago(1), why: crate::Reason::NotLanded };
        remember(w, Change::Stalled(stalled));
    };
    assert!(finishes("bronze-2", stalled), "who was ill is not there any more");
}

/// What an empty tier's file holds begins with its first cluster, which else nobody would ever soak for.
#[test]
fn an_empty_tier_begins_with_its_first_cluster() {
    let mut world = ready();
    world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap().clear();
    facts(&mut world).pulls = Read::Known(Vec::new());
    let everybody = world.clusters.known().cloned().unwrap();
    let finds = |world: &Snapshot| {
        let found = |entry: &Entry| matches!(entry, Entry::Wave { tier, change: Change::Found { .. }, .. } if tier.as_str() == "bronze");
        crate::plan(world, noon()).entries.iter().any(|record| found(&record.entry))
    };
    world.clusters = Read::Known(everybody.iter().filter(|one| one.name.as_str() == "qa-1").cloned().collect());
    assert!(!finds(&world));
    world.clusters = Read::Known(everybody);
    assert!(finds(&world));
}

/// A tier that nobody is on any more, and whose file still holds a version, keeps nobody awake.
#[test]
fn a_tier_without_clusters_rings_no_bell() {
    let mut world = ready();
    world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap().clear();
    let landed = Landed { at: ago(900), commit: None, by: None };
    old(&mut world, Change::Found { members: vec!["bronze-1".into()], digest: None, landed });
    facts(&mut world).pulls = Read::Known(Vec::new());
    bronze(&mut world).empty = crate::model::Empty::Pass;
    assert!(crate::plan(&world, noon()).alarm.is_some(), "it soaks");
    match &mut world.clusters {
        Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() == "qa-1"),
        Read::Unread(_) => unreachable!(),
    }
    assert_eq!(crate::plan(&world, noon()).alarm, None);
}

/// Who came late gets what the tier runs, as long as that may be taken there.
#[test]
fn nobody_catches_up_to_what_was_stopped_or_abandoned() {
    let opens = |change: fn(&mut Snapshot)| {
        let mut world = finished();
        join(&mut world, "bronze-4", "1.0.0");
        join(&mut world, "bronze-5", "1.1.0");
        change(&mut world);
        opened(&crate::plan(&world, noon())).map(|late| names(&late))
    };
    assert_eq!(opens(|_| {}), Some(vec!["bronze-4".to_string()]), "bronze-5 has it");
    assert_eq!(opens(|w| w.policy.plugins[0].constraint = "~1.0".parse().ok()), None);
    let newer: fn(&mut Snapshot) = |w| {
        facts(w).releases = Read::Known(vec![release("1.0.0"), release("1.1.0"), release("1.2.0")]);
        w.policy.plugins[0].next = Next::Restart;
    };
    assert_eq!(opens(newer), None, "1.2.0 is about to take its place");
    assert_eq!(opens(|w| holds(w, "bronze-3", "1.2.0")), None, "somebody put a newer one on another");
}
