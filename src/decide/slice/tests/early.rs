//! Clusters that are ahead of their tier.

use super::late::finished;
use super::*;

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
    let head = Head { commit: Sha::new("9".repeat(40)), at: ago(20), repeats: false };
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
    // What it runs is the same artefact under another version, while the others run something else.
    let mut same = ahead();
    holds(&mut same, "bronze-1", "1.0.0");
    assert!(opened(&crate::plan(&same, noon())).is_some());
    let page = same.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.releases.retain(|seen| seen.version != version("1.2.0"));
    let digest = page.seen(&version("1.1.0")).unwrap().digest.clone();
    let first_seen = ago(40);
    page.releases.push(crate::ledger::Seen { version: version("1.2.0"), digest: digest.clone(), first_seen });
    facts(&mut same).releases =
        Read::Known(vec![release("1.0.0"), release("1.1.0"), crate::snapshot::Release { digest, ..release("1.2.0") }]);
    assert_eq!(opened(&crate::plan(&same, noon())), None);
    // It runs there already, and the source names no digests.
    let mut unnamed = ahead();
    holds(&mut unnamed, "bronze-2", "1.2.0");
    let page = unnamed.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.releases.iter_mut().for_each(|seen| seen.digest = None);
    let plain = |text: &&str| crate::snapshot::Release { digest: None, ..release(text) };
    facts(&mut unnamed).releases = Read::Known(["1.0.0", "1.1.0", "1.2.0"].iter().map(plain).collect());
    assert_eq!(opened(&crate::plan(&unnamed, noon())), None);
    // Two cases that differ in the key alone: without it, and past its end, nothing.
    bronzes(&mut world).early[0].until = Some(noon() + SignedDuration::from_secs(1));
    assert!(opened(&crate::plan(&world, noon())).is_some());
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

/// What only passes a first tier without clusters has run nowhere: the next tier has to finish it.
#[test]
fn a_first_tier_without_clusters_is_not_the_first_that_runs_it() {
    let opens = |soaked: bool| {
        let mut world = ahead();
        world.policy.plugins[0].tiers[0].empty = crate::model::Empty::Pass;
        match &mut world.clusters {
            Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "qa-1"),
            Read::Unread(_) => unreachable!(),
        }
        world.policy.plugins[0].tiers.insert(2, tier("canary"));
        let labels = BTreeMap::from([("tier".to_string(), "canary".to_string())]);
        match &mut world.clusters {
            Read::Known(clusters) => clusters.push(Cluster { name: "canary-1".into(), labels }),
            Read::Unread(_) => unreachable!(),
        }
        match &mut facts(&mut world).base {
            Read::Known(base) => base.extend([place("canary", "1.1.0")]),
            Read::Unread(_) => unreachable!(),
        }
        if soaked {
            finish_staging(&mut world);
        }
        let opened = crate::plan(&world, noon()).actions.into_iter().filter_map(|action| match action {
            Action::Open(proposal) if proposal.part.purpose == Purpose::Early => Some(names(&proposal)),
            _ => None,
        });
        opened.last()
    };
    assert_eq!(opens(false), None);
    assert_eq!(opens(true), Some(vec!["bronze-2".to_string()]));
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
    let shared = &mut crate::facts::Shared::count(&world, noon());
    let common = crate::facts::Common::of(&world, noon());
    let facts = Facts::new(&common, 0, shared);
    assert!(!release::has_finished(&facts, 2, &version("1.2.0")));
    // Its failure stops the release everywhere.
    let mut world = ahead_landed();
    finish_staging(&mut world);
    let sick = Reading { health: Health::Failed, since: Some(ago(5)), ..healthy("1.2.0") };
    crate::testing::facts(&mut world).readings.insert("bronze-2".into(), vec![sick]);
    assert_eq!(opened(&crate::plan(&world, noon())), None);
}

/// What is shown of who is ahead is what has landed for them and is not over.
#[test]
fn only_what_landed_and_is_not_over_is_shown_of_who_is_ahead() {
    let shown = |world: &Snapshot| {
        let shared = &mut crate::facts::Shared::count(world, noon());
        let common = crate::facts::Common::of(world, noon());
        let facts = Facts::new(&common, 0, shared);
        early_wave(&facts, &facts.policy.tiers[2]).is_some()
    };
    let mut world = ahead();
    let Proposal { from, digest, part, members, .. } = opened(&crate::plan(&world, noon())).unwrap();
    let head = Head { commit: Sha::new("9".repeat(40)), at: ago(20), repeats: false };
    write(&mut world, "1.2.0", Change::Intent { from, digest, part, members, head });
    assert!(!shown(&world), "still open");
    let mut world = ahead_landed();
    assert!(shown(&world));
    write(&mut world, "1.2.0", Change::Finished(ago(1)));
    assert!(!shown(&world), "it has finished");
    let mut world = ahead_landed();
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().part.purpose = Purpose::Promotion;
    assert!(!shown(&world), "the turn of all");
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

/// Under `restart` a newer release on the first tier takes the place of what they would get.
#[test]
fn nobody_gets_ahead_what_was_abandoned() {
    let opens = |next: crate::model::Next, newest: &str| {
        let mut world = ahead();
        world.policy.plugins[0].next = next;
        let landed = Landed { at: ago(5), commit: None, by: None };
        let found = Change::Found { members: vec!["qa-1".into()], digest: None, landed };
        let entry = Entry::Wave { plugin: "app".into(), tier: "qa".into(), version: version(newest), change: found };
        world.ledger.apply(&entry);
        match (&mut facts(&mut world).base, place("qa", newest)) {
            (Read::Known(base), (tier, places)) => drop(base.insert(tier, places)),
            (Read::Unread(_), _) => unreachable!(),
        }
        let versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];
        facts(&mut world).releases = Read::Known(versions.iter().map(|text| release(text)).collect());
        opened(&crate::plan(&world, noon())).map(|early| early.to.to_string())
    };
    use crate::model::Next::{NewestFinished, Restart};
    assert_eq!(opens(NewestFinished, "1.3.0").as_deref(), Some("1.2.0"));
    assert_eq!(opens(Restart, "1.3.0"), None);
    let mut hotfix = ahead();
    hotfix.policy.plugins[0].next = Restart;
    facts(&mut hotfix).releases =
        Read::Known(["1.0.0", "1.1.0", "1.2.0", "1.3.0"].iter().map(|text| release(text)).collect());
    let of = |world: &Snapshot| {
        let opened = crate::plan(world, noon()).actions.into_iter().filter_map(|action| match action {
            Action::Open(proposal) if proposal.tier.as_str() == "bronze" => Some(proposal.to.to_string()),
            _ => None,
        });
        opened.last()
    };
    assert_eq!(of(&hotfix), None, "1.3.0 is about to enter the first tier");
    hotfix.policy.plugins[0].hotfixes.push(crate::model::Hotfix {
        version: version("1.2.0"),
        why: "CVE-2026-1".into(),
        soak: None,
        through_windows: false,
    });
    assert_eq!(of(&hotfix).as_deref(), Some("1.2.0"), "nothing takes the place of a hotfix");
}

/// An open pull request of clusters that are ahead no more keeps the tier's turn from nobody.
#[test]
fn past_its_end_what_is_open_is_taken_back() {
    let closes = |until: Option<Timestamp>, finished: bool| {
        let mut world = ahead();
        let early = opened(&crate::plan(&world, noon())).unwrap();
        let head = Head { commit: Sha::new("9".repeat(40)), at: ago(20), repeats: false };
        let Proposal { from, digest, part, members, .. } = early;
        write(&mut world, "1.2.0", Change::Intent { from, digest, part, members, head: head.clone() });
        let shown = Pull { number: PullNumber(31), tier: "bronze".into(), head: head.commit, ..pull() };
        facts(&mut world).pulls = Read::Known(vec![Pull { version: Some(version("1.2.0")), ..shown }]);
        bronzes(&mut world).early[0].until = until;
        if finished {
            finish_staging(&mut world);
        }
        let plan = crate::plan(&world, noon());
        plan.actions.into_iter().find_map(|action| match action {
            Action::Close { why, .. } => Some(why.to_string()),
            _ => None,
        })
    };
    assert_eq!(closes(None, false), None);
    assert_eq!(closes(Some(noon()), false).as_deref(), Some("1.2.0 has not finished staging"));
    assert_eq!(closes(Some(noon()), true), None);
}

/// The tier in between has finished a newer one that failed on the first tier since, and never this one.
#[test]
fn what_the_tier_in_between_has_gone_on_without_stays_open_for_who_is_ahead() {
    let mut world = ahead();
    facts(&mut world).releases = Read::Known(["1.0.0", "1.2.0", "1.3.0"].map(release).to_vec());
    let mut write_there = |tier: &str, change: Change| {
        let (plugin, tier) = ("app".into(), tier.into());
        world.ledger.apply(&Entry::Wave { plugin, tier, version: version("1.3.0"), change });
    };
    for (tier, cluster) in [("qa", "qa-1"), ("staging", "staging-1")] {
        let landed = Landed { at: ago(24), commit: None, by: None };
        write_there(tier, Change::Found { members: vec![cluster.into()], digest: None, landed });
        write_there(tier, Change::Finished(ago(20)));
    }
    let why = Reason::FailedBy { by: "eve".into(), why: "slow".into() };
    write_there("qa", Change::Failed(crate::ledger::Failed { at: ago(10), why }));
    match &mut facts(&mut world).base {
        Read::Known(base) => base.extend([place("staging", "1.3.0")]),
        Read::Unread(_) => unreachable!(),
    }
    facts(&mut world).readings.insert("staging-1".into(), vec![healthy("1.3.0")]);
    let early = opened(&crate::plan(&world, noon())).expect("a wave for the one that is ahead");
    assert_eq!((names(&early), early.to.to_string()), (vec!["bronze-2".to_string()], "1.2.0".to_string()));
    let head = Head { commit: Sha::new("9".repeat(40)), at: ago(20), repeats: false };
    let Proposal { from, digest, part, members, .. } = early;
    write(&mut world, "1.2.0", Change::Intent { from, digest, part, members, head: head.clone() });
    let shown = Pull { number: PullNumber(31), tier: "bronze".into(), head: head.commit, ..pull() };
    facts(&mut world).pulls = Read::Known(vec![Pull { version: Some(version("1.2.0")), ..shown }]);
    let plan = crate::plan(&world, noon());
    let closed = |action: &Action| matches!(action, Action::Close { .. });
    assert!(!plan.actions.iter().any(closed), "{:?}", plan.actions);
}

/// Its pull request is one like any other: caps and approvals hold for it, the tier's turn does not.
#[test]
fn the_gates_hold_for_who_is_ahead() {
    let mut world = ahead();
    world.policy.limits.open_pulls = Some(0);
    let plan = crate::plan(&world, noon());
    assert_eq!(opened(&plan), None);
    let mut world = ahead();
    let early = opened(&crate::plan(&world, noon())).unwrap();
    let head = Head { commit: Sha::new("9".repeat(40)), at: ago(20), repeats: false };
    let Proposal { from, digest, part, members, .. } = early;
    write(&mut world, "1.2.0", Change::Intent { from, digest, part, members, head: head.clone() });
    let mut shown = Pull { number: PullNumber(31), tier: "bronze".into(), head: head.commit, ..pull() };
    shown.version = Some(version("1.2.0"));
    shown.reviews.iter_mut().for_each(|review| review.commit = shown.head.clone());
    facts(&mut world).pulls = Read::Known(vec![shown]);
    assert!(merges(&crate::plan(&world, noon())), "before staging has finished it");
    edit(&mut world, |pull| pull.reviews.clear());
    assert!(!merges(&crate::plan(&world, noon())));
    // The tier's own turn takes the pull request, as long as nobody has said yes or was told of it.
    finish_staging(&mut world);
    let moves = |change: fn(&mut Pull)| {
        let mut world = world.clone();
        edit(&mut world, change);
        let plan = crate::plan(&world, noon());
        plan.actions.iter().find_map(|action| match action {
            Action::Update { proposal, .. } => Some((names(proposal).len(), proposal.part.purpose.clone())),
            _ => None,
        })
    };
    assert_eq!(moves(|_| {}), Some((2, Purpose::Promotion)));
    assert_eq!(moves(|pull| pull.draft = true), None);
    assert_eq!(moves(|pull| pull.state = PullState::Closed { at: ago(1), by: Some(BOT.into()) }), None);
    let approve: fn(&mut Pull) = |pull| {
        pull.reviews.push(crate::snapshot::Review { commit: pull.head.clone(), ..approval("eve") });
    };
    assert_eq!(moves(approve), None);
    let told: fn(&mut Pull) = |pull| {
        pull.notices.push(crate::snapshot::SentNotice { before: SignedDuration::from_hours(1), at: ago(1) });
    };
    assert_eq!(moves(told), None);
}

/// Everybody has it already, one because it was ahead and the others by somebody's hand.
#[test]
fn what_everybody_has_is_nobodys_turn() {
    let mut world = ahead_landed();
    finish_staging(&mut world);
    bronzes(&mut world).early.clear();
    assert!(opened(&crate::plan(&world, noon())).is_some(), "the others are behind");
    CLUSTERS.iter().for_each(|name| holds(&mut world, name, "1.2.0"));
    assert_eq!(opened(&crate::plan(&world, noon())), None);
}

/// Who was ahead belongs to another tier now: nobody waits for what it ran here.
#[test]
fn it_comes_to_rest_when_everybody_ahead_has_left() {
    let mut world = ahead_landed();
    match &mut world.clusters {
        Read::Known(clusters) => clusters.retain(|cluster| cluster.name.as_str() != "bronze-2"),
        Read::Unread(_) => unreachable!(),
    }
    match &mut facts(&mut world).base {
        Read::Known(base) => base.values_mut().for_each(|places| {
            places.retain(|place| place.cluster.as_ref().is_none_or(|name| name.as_str() != "bronze-2"))
        }),
        Read::Unread(_) => unreachable!(),
    }
    let plan = crate::plan(&world, noon());
    let shown = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert!(!matches!(shown.state, WaveState::Soaking { .. } | WaveState::Converging { .. }), "{:?}", shown.state);
}

/// The others have got the same release in their turn, while it still soaked on who is ahead.
#[test]
fn it_comes_to_rest_when_the_tier_has_finished() {
    let mut world = ahead_landed();
    assert!(crate::plan(&world, noon()).alarm.is_some(), "it soaks");
    finish_staging(&mut world);
    let turn = opened(&crate::plan(&world, noon())).unwrap();
    let head = Head { commit: Sha::new("8".repeat(40)), at: ago(15), repeats: false };
    let Proposal { from, digest, part, members, .. } = turn;
    for name in &members {
        holds(&mut world, name.as_str(), "1.2.0");
    }
    for change in [
        Change::Intent { from, digest, part, members, head },
        Change::Landed(Landed { at: ago(15), commit: None, by: None }),
        Change::Finished(ago(1)),
    ] {
        write(&mut world, "1.2.0", change);
    }
    let plan = crate::plan(&world, noon());
    let shown = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert!(matches!(shown.state, WaveState::Finished { .. }), "{:?}", shown.state);
}
