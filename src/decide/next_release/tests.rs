//! Which release a tier takes, and what moves or closes a pull request that is open.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::Reason;
use crate::ledger::{Change, Landed, Part};
use crate::plan::Action;
use crate::snapshot::{Pull, Read, Snapshot};
use crate::testing::*;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::{format, vec::Vec};

/// What the plan does to pull requests, one line each.
pub(crate) fn doings(world: &Snapshot) -> Vec<String> {
    let plan = crate::plan(world, noon());
    let doing = |action: &Action| match action {
        Action::Open(proposal) => format!("open {} on {}", proposal.to, proposal.tier),
        Action::Update { proposal, .. } => format!("move {} to {}", proposal.tier, proposal.to),
        Action::Merge { tier, version, .. } => format!("merge {version} on {tier}"),
        Action::Close { tier, why, .. } => format!("close {tier}: {why}"),
        Action::Notice { tier, .. } => format!("notice on {tier}"),
        Action::Dispatch { tier, workflow, .. } => format!("dispatch {workflow} for {tier}"),
    };
    plan.actions.iter().map(doing).collect()
}

pub(crate) fn publish(world: &mut Snapshot, versions: &[&str]) {
    facts(world).releases = Read::Known(versions.iter().map(|text| release(text)).collect());
}

pub(crate) fn on_qa(world: &mut Snapshot, text: &str, change: Change) {
    let (plugin, tier) = ("app".into(), "qa".into());
    world.ledger.apply(&crate::Entry::Wave { plugin, tier, version: version(text), change });
}

/// 1.2.0 has finished qa, too, while the pull request of 1.1.0 waits on bronze.
pub(crate) fn finished_above(world: &mut Snapshot) {
    publish(world, &["1.0.0", "1.1.0", "1.2.0"]);
    let landed = Landed { at: ago(20), commit: None, by: None };
    on_qa(world, "1.2.0", Change::Found { members: vec!["qa-1".into()], digest: None, landed });
    on_qa(world, "1.2.0", Change::Finished(ago(8)));
    facts(world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
}

/// What clusters ahead of their tier have finished, or those that got back what ran before, has not finished the tier.
#[test]
fn who_is_ahead_or_goes_back_finishes_no_tier() {
    let goes_on = |purpose: Purpose| {
        let mut world = ready();
        finished_above(&mut world);
        facts(&mut world).pulls = Read::Known(Vec::new());
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().pop();
        page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().part.purpose = purpose;
        doings(&world).contains(&"open 1.2.0 on bronze".to_string())
    };
    let of = version("1.3.0");
    let all = [Purpose::Promotion, Purpose::CatchUp, Purpose::Early, Purpose::RollBack { of }];
    assert_eq!(all.map(goes_on), [true, true, false, false]);
}

/// 1.1.0 was merged on qa by the bot and soaks there; nothing is on bronze.
pub(crate) fn soaking(world: &mut Snapshot) {
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    *page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().rewrite().finished = None;
    page.tiers.get_mut(&"bronze".into()).unwrap().pop();
    facts(world).pulls = Read::Known(Vec::new());
    publish(world, &["1.0.0", "1.1.0", "1.2.0"]);
}

#[test]
fn next_says_which_release_a_tier_takes() {
    type Case = (&'static str, fn(&mut Snapshot), [&'static [&'static str]; 3]);
    let cases: [Case; 8] = [
        (
            "a refused release above two that are ready: where none is skipped, they come all the same",
            |w| {
                publish(w, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]);
                let no = crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(9) };
                let head = crate::ledger::Head { commit: "cc".into(), at: ago(20), repeats: false };
                let (part, members) = (crate::ledger::Part::default(), Vec::new());
                on_qa(w, "1.3.0", Change::Intent { from: None, digest: None, part, members, head });
                on_qa(w, "1.3.0", Change::Rejected(no));
            },
            [&["merge 1.1.0 on bronze"], &["open 1.2.0 on qa", "merge 1.1.0 on bronze"], &["merge 1.1.0 on bronze"]],
        ),
        (
            "refused below, and not listed any more either",
            |w| {
                publish(w, &["1.0.0"]);
                let no = crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(9) };
                on_qa(w, "1.1.0", Change::Rejected(no));
            },
            [
                &["close bronze: #9 was closed, which says no to this release"],
                &["close bronze: #9 was closed, which says no to this release"],
                &["close bronze: #9 was closed, which says no to this release"],
            ],
        ),
        (
            "two new releases at the first tier, an approved pull request above",
            |w| publish(w, &["1.0.0", "1.1.0", "1.2.0", "1.3.0"]),
            [
                &["open 1.3.0 on qa", "merge 1.1.0 on bronze"],
                &["open 1.2.0 on qa", "merge 1.1.0 on bronze"],
                &["open 1.3.0 on qa", "close bronze: 1.3.0 takes its place"],
            ],
        ),
        (
            "a newer one has finished the tier below, nobody has approved",
            |w| {
                *w = unapproved();
                finished_above(w);
            },
            [&["move bronze to 1.2.0"], &[], &["close bronze: 1.2.0 takes its place"]],
        ),
        (
            "the same, and it is approved",
            finished_above,
            [&["merge 1.1.0 on bronze"], &["merge 1.1.0 on bronze"], &["close bronze: 1.2.0 takes its place"]],
        ),
        ("the one on the first tier soaks", soaking, [&[], &[], &["open 1.2.0 on qa"]]),
        (
            "the newest was refused: the one before it climbs on",
            |w| {
                publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
                let no = crate::ledger::Rejected { at: ago(1), by: None, pull: crate::PullNumber(9) };
                let landed = Landed { at: ago(20), commit: None, by: None };
                on_qa(w, "1.2.0", Change::Found { members: Vec::new(), digest: None, landed });
                on_qa(w, "1.2.0", Change::Rejected(no));
            },
            [&["merge 1.1.0 on bronze"], &["merge 1.1.0 on bronze"], &["merge 1.1.0 on bronze"]],
        ),
        (
            "nothing is installed: the newest, whatever came before",
            |w| {
                *w = crate::Snapshot { ledger: crate::Ledger::default(), ..ready() };
                publish(w, &["1.0.0", "1.1.0", "1.2.0"]);
                facts(w).pulls = Read::Known(Vec::new());
                facts(w).base = Read::Known([].into());
            },
            [&["open 1.2.0 on qa"], &["open 1.2.0 on qa"], &["open 1.2.0 on qa"]],
        ),
    ];
    for (name, change, expected) in cases {
        for (next, expected) in [Next::NewestFinished, Next::Every, Next::Restart].into_iter().zip(expected) {
            let mut world = ready();
            change(&mut world);
            world.policy.plugins[0].next = next;
            assert_eq!(doings(&world), expected, "{name}, {next:?}");
        }
    }
}

/// Under `restart` the first tier's own pull request moves, also an approved one; a held one and
/// one about which people were told does not.
#[test]
fn f24_restart_moves_the_first_pull_request() {
    let world = |change: fn(&mut Snapshot)| {
        let mut world = ready();
        world.policy.plugins[0].tiers.remove(0);
        world.policy.plugins[0].next = Next::Restart;
        publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
        change(&mut world);
        doings(&world)
    };
    assert_eq!(world(|_| {}), ["move bronze to 1.2.0"]);
    assert_eq!(world(|w| edit(w, |pull| pull.draft = true)), [""; 0]);
    assert_eq!(world(|w| edit(w, |pull| pull.head = "eeeeeeeeee".into())), [""; 0]);
    let told = |w: &mut Snapshot| {
        let before = jiff::SignedDuration::from_mins(10);
        edit(w, |pull| pull.notices = vec![crate::snapshot::SentNotice { before, at: ago(1) }]);
    };
    assert_eq!(world(told), ["close bronze: 1.2.0 takes its place".to_string()]);
}

/// Above the first tier what is newer than a hotfix, and has finished the tier below, has its fix.
#[test]
fn above_the_first_tier_the_newest_is_taken_though_a_hotfix_is_ready() {
    let opens = |newest: bool| {
        let mut world = ready();
        finished_above(&mut world);
        world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap().pop();
        facts(&mut world).pulls = Read::Known(Vec::new());
        hotfix(&mut world, "1.1.0");
        if newest {
            publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
        } else {
            publish(&mut world, &["1.0.0", "1.1.0"]);
        }
        doings(&world)
    };
    assert_eq!((opens(true), opens(false)), (vec!["open 1.2.0 on bronze".into()], vec!["open 1.1.0 on bronze".into()]));
}

fn hotfix(world: &mut Snapshot, text: &str) {
    let why = "CVE-2026-1".into();
    let hotfix = crate::model::Hotfix { version: version(text), why, soak: None, through_windows: false };
    world.policy.plugins[0].hotfixes.push(hotfix);
}

/// The first tier's open pull request is for 1.1.0.
#[test]
fn which_hotfix_moves_what_is_open() {
    let world = |versions: &[&str], hotfixes: &[&str]| {
        let mut world = ready();
        world.policy.plugins[0].tiers.remove(0);
        publish(&mut world, versions);
        hotfixes.iter().for_each(|text| hotfix(&mut world, text));
        doings(&world)
    };
    let merge = "merge 1.1.0 on bronze";
    assert_eq!(world(&["1.0.0", "1.0.5", "1.1.0"], &[]), [merge]);
    assert_eq!(world(&["1.0.0", "1.0.5", "1.1.0"], &["1.0.5"]), ["move bronze to 1.0.5"], "an older one passes");
    assert_eq!(world(&["1.0.0", "1.0.5", "1.1.0"], &["1.0.5", "1.1.0"]), [merge], "it is one itself");
    assert_eq!(world(&["1.0.0", "1.1.0", "1.2.0"], &["1.1.0", "1.2.0"]), ["move bronze to 1.2.0"]);
    assert_eq!(world(&["1.0.0", "1.1.0"], &["1.1.0"]), [merge]);
}

/// 1.2.0 failed on qa, and somebody took it off again.
#[test]
fn f48_after_a_failure_only_what_is_newer_comes() {
    let opens = |versions: &[&str]| {
        let mut world = ready();
        world.policy.plugins[0].tiers.truncate(1);
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"qa".into()).unwrap().truncate(1);
        facts(&mut world).pulls = Read::Known(Vec::new());
        facts(&mut world).base = Read::Known([place("qa", "1.0.0")].into());
        publish(&mut world, versions);
        let landed = Landed { at: ago(20), commit: None, by: None };
        on_qa(&mut world, "1.2.0", Change::Found { members: vec!["qa-1".into()], digest: None, landed });
        let why = Reason::FailedBy { by: "maria".into(), why: "it breaks billing".into() };
        on_qa(&mut world, "1.2.0", Change::Failed(crate::ledger::Failed { at: ago(10), why }));
        doings(&world)
    };
    assert_eq!(opens(&["1.0.0", "1.1.0", "1.2.0"]), [""; 0]);
    assert_eq!(opens(&["1.0.0", "1.1.0", "1.2.0", "1.3.0"]), ["open 1.3.0 on qa"]);
}

/// A person's yes to this very commit keeps the pull request for it.
#[test]
fn whose_yes_keeps_what_is_open() {
    use crate::snapshot::{Review, ReviewVerdict};
    let moves = |review: Review| {
        let mut world = ready();
        finished_above(&mut world);
        edit(&mut world, |pull| pull.reviews = vec![review]);
        doings(&world) == ["move bronze to 1.2.0"]
    };
    assert!(!moves(Review { by: "eve".into(), ..approval("eve") }), "also of who is no owner");
    assert!(moves(Review { human: false, ..approval("maria") }), "an App's");
    assert!(moves(Review { commit: "bbbbbbbbbb".into(), ..approval("maria") }), "to another commit");
    assert!(moves(Review { verdict: ReviewVerdict::Commented, ..approval("maria") }), "a comment");
}

/// bronze-1 is ahead of its tier, by this selector of names.
fn ahead(world: &mut Snapshot, until: Option<jiff::Timestamp>) {
    let match_labels = [("name".to_string(), "bronze-1".to_string())].into();
    let select = crate::selector::Selector { match_labels, match_expressions: Vec::new() };
    bronze(world).early = vec![crate::model::Early { select, until }];
    let Read::Known(clusters) = &mut world.clusters else { unreachable!() };
    let first = clusters.iter_mut().find(|cluster| cluster.name.as_str() == "bronze-1").unwrap();
    first.labels.insert("name".to_string(), "bronze-1".to_string());
}

/// 1.1.0 has landed on these clusters of bronze in waves of this purpose, one after the other, and none is open.
fn came(world: &mut Snapshot, waves: &[(&str, Purpose)]) {
    facts(world).pulls = Read::Known(Vec::new());
    let bronze = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
    let begun = bronze.pop().unwrap();
    for (name, purpose) in waves {
        let mut wave = begun.clone();
        wave.members = [(*name).into()].into_iter().collect();
        wave.part.purpose = purpose.clone();
        *wave.rewrite().landed = Some(Landed { at: ago(30), commit: None, by: None });
        *wave.rewrite().finished = Some(ago(20));
        bronze.push(wave);
    }
}

/// Who was ahead of the tier does not make a release one that the others have had.
#[test]
fn the_others_get_in_their_turn_what_only_those_ahead_have() {
    use Purpose::{Early, Promotion};
    let world = |waves: &[(&str, Purpose)], places: &[(&str, &str)]| {
        let mut world = ready();
        join(&mut world, "bronze-2", vec![healthy("1.0.0")]);
        join(&mut world, "bronze-3", vec![healthy("1.0.0")]);
        came(&mut world, waves);
        ahead(&mut world, Some(noon()));
        own_places(&mut world, places);
        world
    };
    let opens = |world: &Snapshot| {
        let opens = |action| if let Action::Open(proposal) = action { Some(proposal) } else { None };
        let opened = crate::plan(world, noon()).actions.into_iter().find_map(opens);
        opened.map(|proposal| (proposal.to.to_string(), proposal.part.purpose, proposal.members.len()))
    };
    let turn = Some(("1.1.0".to_string(), Promotion, 3));
    let two = &[("bronze-1", "1.1.0"), ("bronze-2", "1.1.0"), ("bronze-3", "1.0.0")];
    assert_eq!(opens(&world(&[("bronze-1", Early), ("bronze-2", Early)], two)), turn);
    let late = Some(("1.1.0".to_string(), Purpose::CatchUp, 1));
    assert_eq!(opens(&world(&[("bronze-1", Early), ("bronze-2", Promotion)], two)), late, "the tier had its turn");
    let all = &[("bronze-1", "1.1.0"), ("bronze-2", "1.1.0"), ("bronze-3", "1.1.0")];
    assert_eq!(opens(&world(&[("bronze-1", Promotion)], all)), None);
    assert_eq!(opens(&world(&[("bronze-1", Early)], all)), None, "there is nothing left to change");
    let newer = &[("bronze-1", "1.2.0"), ("bronze-2", "1.2.0"), ("bronze-3", "1.2.0")];
    assert_eq!(opens(&world(&[("bronze-1", Early)], newer)), None, "somebody put a newer one there");
}

/// What has landed on a cluster that is ahead of the tier by now keeps its place, also as a hotfix: it is no
/// newer than itself.
#[test]
fn a_hotfix_does_not_pass_itself() {
    let mut world = landed(vec![healthy("1.1.0")]);
    join(&mut world, "bronze-2", vec![healthy("1.0.0")]);
    let bronze = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
    bronze.last_mut().unwrap().members = ["bronze-1".into()].into_iter().collect();
    own_places(&mut world, &[("bronze-1", "1.1.0"), ("bronze-2", "1.0.0")]);
    hotfix(&mut world, "1.1.0");
    ahead(&mut world, None);
    assert_eq!(doings(&world), [""; 0]);
}

/// A tier that has begun to move goes to the end of that release, though nobody has approved the next slice.
#[test]
fn a_later_slice_stays_what_it_is() {
    let world = |slice: bool| {
        let mut world = sliced();
        bronze(&mut world).merge = crate::model::MergeRule::all(crate::model::Merge::Approved);
        let bronze = world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap();
        let mut first = bronze.pop().unwrap();
        let mut next = first.clone();
        (next.members, next.converged) = (first.part.partition[1].clone(), None);
        *next.rewrite().landed = None;
        first.pull = None;
        next.part = if slice { Part { slice: 1, ..next.part } } else { Part::default() };
        bronze.extend(slice.then_some(first).into_iter().chain([next]));
        let base: &[(&str, &str)] = if slice {
            &[("bronze-1", "1.0.0"), ("bronze-2", "1.1.0")]
        } else {
            &[("bronze-1", "1.0.0"), ("bronze-2", "1.0.0")]
        };
        own_places(&mut world, base);
        let open = Pull { reviews: Vec::new(), review_decision: crate::snapshot::ReviewDecision::Required, ..pull() };
        facts(&mut world).pulls = Read::Known(vec![open]);
        let own = base.to_vec();
        finished_above(&mut world);
        own_places(&mut world, &own);
        doings(&world)
    };
    assert_eq!(world(false), ["move bronze to 1.2.0"]);
    assert_eq!(world(true), [""; 0]);
}
