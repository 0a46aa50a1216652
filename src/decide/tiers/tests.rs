//! What becomes of what is open on a tier, and of what nobody knows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::model::{Empty, MaxUpdate, Strategy};
use crate::next_release::tests::{doings, finished_above, publish};
use crate::snapshot::Mergeable;
use crate::snapshot::{Read, ReviewDecision, Snapshot};
use crate::testing::*;
use crate::{Entry, PullNumber};
use alloc::string::{String, ToString};
use alloc::vec;
use jiff::SignedDuration;

fn does(change: fn(&mut Snapshot)) -> Vec<String> {
    let mut world = ready();
    change(&mut world);
    doings(&world)
}

fn base(world: &mut Snapshot, text: &str) {
    facts(world).base = Read::Known([place("qa", "1.1.0"), place("bronze", text)].into());
}

fn shares_and_rolls(world: &mut Snapshot) {
    bronze(world).strategy = Strategy::RollingUpdate { max_update: MaxUpdate::Count(1), by: None };
}

#[test]
fn what_somebody_overtook_is_closed() {
    assert_eq!(does(|w| base(w, "1.2.0")), ["close bronze: 1.2.0 takes its place"]);
    assert_eq!(does(|w| base(w, "1.0.5")), ["merge 1.1.0 on bronze"]);
}

#[test]
fn a_branch_that_somebody_pushed_to_stays_theirs() {
    let refuse = |world: &mut Snapshot| world.policy.plugins[0].constraint = "~1.0".parse().ok();
    let mut world = ready();
    refuse(&mut world);
    assert_eq!(doings(&world), ["close bronze: outside the constraint `~1.0`"]);
    edit(&mut world, |pull| pull.head = "eeeeeeeeee".into());
    assert_eq!(doings(&world), [""; 0]);
    let withdrawn = |world: &Snapshot| {
        let entries = crate::plan(world, noon()).entries;
        entries.iter().any(|record| matches!(&record.entry, Entry::Wave { change: Change::Withdrawn(_), .. }))
    };
    assert!(!withdrawn(&world));
    edit(&mut world, |pull| pull.state = PullState::Closed { at: ago(1), by: Some(BOT.into()) });
    assert!(withdrawn(&world), "it is closed, and nothing of it is left");
}

#[test]
fn a_conflict_is_written_anew_unless_it_would_move_who_is_pinned() {
    let conflict = |world: &mut Snapshot| edit(world, |pull| pull.mergeable = Mergeable::Conflict);
    let mut world = ready();
    conflict(&mut world);
    assert_eq!(doings(&world), ["move bronze to 1.1.0"]);
    // bronze-2 shares the place of the tier, and is pinned.
    join(&mut world, "bronze-2", vec![healthy("1.0.0")]);
    if let Read::Known(clusters) = &mut world.clusters {
        clusters[2].labels.insert("name".to_string(), "bronze-2".to_string());
    }
    let match_labels = [("name".to_string(), "bronze-2".to_string())].into();
    let select = crate::selector::Selector { match_labels, match_expressions: Vec::new() };
    let pin = crate::model::Pin { select, version: Some(version("1.0.0")), until: None, why: "audit".into() };
    world.policy.plugins[0].pins = vec![pin];
    assert_eq!(doings(&world), [""; 0]);
    let mut closed = ready();
    conflict(&mut closed);
    edit(&mut closed, |pull| pull.state = PullState::Merged { at: ago(1), by: BOT.into(), commit: "dd".into() });
    assert_eq!(doings(&closed), [""; 0], "it is not open any more");
}

/// The hub asks for no review: what is merged by force needs no second App.
#[test]
fn force_bypasses_only_what_the_hub_asks_for() {
    for (decision, expected) in
        [(ReviewDecision::Required, Identity::Bypass), (ReviewDecision::NotRequired, Identity::Ordinary)]
    {
        let mut world = unapproved();
        let since = ago(70);
        let deadline = ago(10);
        let grace = crate::ledger::Grace { since, deadline, notices: Vec::new(), giving: None };
        remember(&mut world, Change::Grace(grace));
        let before = SignedDuration::from_mins(10);
        edit(&mut world, |pull| {
            pull.review_decision = decision;
            pull.notices = vec![crate::snapshot::SentNotice { before, at: ago(20) }];
        });
        let plan = crate::plan(&world, noon());
        let merged = plan.actions.iter().find_map(|action| match action {
            Action::Merge { via, forced, .. } => Some((*via, forced.is_some())),
            _ => None,
        });
        assert_eq!(merged, Some((expected, true)), "{decision:?}");
    }
}

/// A lost ledger knows nothing of the pull request that is open: it is written anew when its tier may open.
#[test]
fn what_nobody_knows_is_written_anew_when_the_gates_pass() {
    let unknown = |change: fn(&mut Snapshot)| {
        let mut world = ready();
        world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.get_mut(&"bronze".into()).unwrap().pop();
        edit(&mut world, |pull| (pull.number, pull.head) = (PullNumber(9), "eeeeeeeeee".into()));
        change(&mut world);
        doings(&world)
    };
    assert_eq!(unknown(|_| {}), ["move bronze to 1.1.0"]);
    assert_eq!(unknown(shares_and_rolls), [""; 0], "its clusters share a place");
}

/// Only a tier that has no cluster at all is passed.
#[test]
fn f13_a_tier_with_clusters_is_not_passed() {
    let merges_with = |clusters: bool| {
        let mut world = ready();
        world.policy.plugins[0].tiers[0].empty = Empty::Pass;
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        *page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().rewrite().finished = None;
        if let Read::Known(known) = &mut world.clusters {
            known.retain(|cluster| clusters || cluster.name.as_str() != "qa-1");
        }
        merges(&crate::plan(&world, noon()))
    };
    assert!(!merges_with(true) && merges_with(false));
}

/// The hub shows a pull request of this very release that a person closed: on this tier, too, it is a no.
#[test]
fn a_no_on_the_tier_itself_is_one_though_the_ledger_has_lost_it() {
    let closed_on = |tier: &str| {
        let mut world = ready();
        let state = PullState::Closed { at: ago(40), by: Some("noor".into()) };
        let older = Pull { number: PullNumber(5), tier: tier.into(), head: "55".into(), state, ..pull() };
        let Read::Known(pulls) = &mut facts(&mut world).pulls else { unreachable!() };
        pulls.push(older);
        doings(&world)
    };
    let no = "close bronze: #5 was closed by noor, which says no to this release";
    for tier in ["qa", "bronze"] {
        let doings = closed_on(tier);
        assert!(!doings.contains(&"merge 1.1.0 on bronze".to_string()), "{tier}: {doings:?}, not {no}");
    }
    assert_eq!(closed_on("gold"), ["merge 1.1.0 on bronze"]);
}

/// Somebody pushed to its branch, it was taken back meanwhile, and then a person closed it.
#[test]
fn a_no_to_what_somebody_pushed_to_is_one() {
    let opens = |by: &str| {
        let mut world = ready();
        let state = PullState::Closed { at: ago(1), by: Some(by.into()) };
        edit(&mut world, |pull| (pull.state, pull.version, pull.head) = (state, None, "eeeeeeeeee".into()));
        remember(&mut world, Change::Withdrawn(crate::ledger::Withdrawn { at: ago(10), why: Reason::Follows }));
        doings(&world)
    };
    assert_eq!((opens(BOT), opens("noor")), (vec!["open 1.1.0 on bronze".to_string()], vec![]));
}

/// A newer release has finished the tier below, and people were asked about this one.
#[test]
fn what_is_reported_of_an_open_wave() {
    let mut world = ready();
    finished_above(&mut world);
    publish(&mut world, &["1.0.0", "1.1.0", "1.2.0"]);
    let plan = crate::plan(&world, noon());
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert_eq!((bronze.tier_index, bronze.of, bronze.members.len()), (2, 2, 1));
    let climbs: Vec<(String, usize)> =
        plan.climbs.iter().map(|climb| (climb.version.to_string(), climb.tiers.len())).collect();
    assert_eq!(climbs, [("1.2.0".to_string(), 2), ("1.1.0".to_string(), 2)]);
    // The hub has not shown it yet: the gates of an opening are told.
    let mut world = ready();
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap().pull = None;
    facts(&mut world).pulls = Read::Known(vec![]);
    let plan = crate::plan(&world, noon());
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    assert!(matches!(bronze.state, crate::WaveState::Open { pull: None, .. }), "{:?}", bronze.state);
    assert!(bronze.findings.iter().any(|finding| finding.gate == Gate::TierBelow));
    assert!(bronze.blocker().is_none(), "{:?}", bronze.blocker());
}

/// The checks of 1.1.0 turned red, and it was taken back: it is also the newest that the tier passes over.
#[test]
fn what_was_taken_back_is_told_of_once() {
    let mut world = ready();
    world.policy.plugins[0].checks = vec!["e2e".to_string()];
    let (name, state) = ("e2e".to_string(), crate::snapshot::CheckState::Failure);
    let checks = Read::Known(vec![crate::snapshot::RequiredCheck { name, state }]);
    facts(&mut world).releases =
        Read::Known(vec![release("1.0.0"), crate::snapshot::Release { checks, ..release("1.1.0") }]);
    assert_eq!(doings(&world), ["close bronze: checks failed on the commit that released 1.1.0: e2e"]);
    for record in crate::plan(&world, noon()).entries {
        world.ledger.apply(&record.entry);
    }
    edit(&mut world, |pull| pull.state = PullState::Closed { at: noon(), by: Some(BOT.into()) });
    let plan = crate::plan(&world, noon());
    let bronze = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    let red = bronze.findings.iter().filter(|finding| finding.gate == Gate::Release);
    assert_eq!(red.count(), 1, "{:?}", bronze.findings);
}

/// What has landed rings when its time to become healthy is over.
#[test]
fn a_landed_wave_rings_at_its_deadline() {
    let ill = crate::snapshot::Reading { health: crate::snapshot::Health::Progressing, ..healthy("1.1.0") };
    let mut world = landed(vec![ill]);
    world.look_again = SignedDuration::from_hours(9);
    let alarm = crate::plan(&world, noon()).alarm.map(|alarm| alarm.at);
    assert_eq!(alarm, Some(ago(30) + SignedDuration::from_hours(2)));
}

/// The source takes a release back while it soaks: what runs is watched to its end before a newer one comes.
#[test]
fn what_soaks_keeps_its_tier_though_it_is_listed_no_more() {
    let mut world = landed(vec![healthy("1.1.0")]);
    finished_above(&mut world);
    base(&mut world, "1.1.0");
    let Read::Known(all) = &mut facts(&mut world).base else { unreachable!() };
    all.extend([place("qa", "1.2.0")]);
    publish(&mut world, &["1.0.0", "1.2.0"]);
    bronze(&mut world).soak = crate::model::Soak::at_least(SignedDuration::from_hours(9));
    assert_eq!(doings(&world), [""; 0]);
    remember(&mut world, Change::Finished(ago(1)));
    assert_eq!(doings(&world), ["open 1.2.0 on bronze"]);
}

/// What runs is 1.1.0 on both tiers; the source has forgotten it, and offers what came before as if it were new.
#[test]
fn a38_a_source_that_offers_what_is_older_takes_nobody_back() {
    for offered in [&["1.0.0"][..], &["1.0.0", "1.0.9"], &[]] {
        let mut world = landed(vec![healthy("1.1.0")]);
        facts(&mut world).pulls = Read::Known(vec![]);
        facts(&mut world).releases = Read::Known(offered.iter().map(|text| release(text)).collect());
        let plan = crate::plan(&world, noon());
        assert!(plan.actions.is_empty(), "{offered:?}: {:?}", plan.actions);
        facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
        let opens = |action: &Action| matches!(action, Action::Open(proposal) if proposal.to == version("1.2.0"));
        assert!(crate::plan(&world, noon()).actions.iter().any(opens), "a newer one climbs");
    }
}
