//! What keeps a release, and what a person said of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
use super::*;
use crate::ledger::{Change, Failed, Landed};
use crate::model::Block;
use crate::snapshot::{CheckState, PullState, Read, Release, RequiredCheck, Snapshot};
use crate::testing::*;
use crate::{Action, Entry, TierName, WaveState};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

#[test]
fn f47_what_is_not_accepted_does_not_merge() {
    let mut cases: Vec<Case> = vec![
        ("accepted", |_| {}, Verdict::Pass, "the policy accepts"),
        (
            "releases unread",
            |w| facts(w).releases = Read::Unread("503".into()),
            Verdict::Unknown,
            "the list of releases could not be read",
        ),
        (
            "yanked",
            |w| facts(w).releases = Read::Known(vec![release("1.0.0")]),
            WAIT,
            "the source does not list 1.1.0 any more",
        ),
        (
            "a pre-release of the tier's constraint",
            |w| bronze(w).constraint = ">=1.0.0-0".parse().ok(),
            Verdict::Pass,
            "the policy accepts",
        ),
        (
            "checks are asked for and nobody looked",
            |w| {
                w.policy.plugins[0].checks = vec!["e2e".into()];
                checks(w, Read::Unread("503".into()));
            },
            Verdict::Unknown,
            "the checks of 1.1.0 could not be read: 503",
        ),
        (
            "one has not run",
            |w| checked(w, &[("unit", CheckState::Success)]),
            WAIT,
            "the commit that released 1.1.0 waits for checks: e2e",
        ),
        ("one runs", |w| checked(w, &[("e2e", CheckState::Pending)]), WAIT, "the commit that released 1.1.0 waits"),
        (
            "it is not signed",
            |w| signed(w, Read::Known(Some("nobody has signed it".to_string()))),
            Verdict::Fail,
            "1.1.0 is not signed as the policy asks: nobody has signed it",
        ),
        ("it is signed", |w| signed(w, Read::Known(None)), Verdict::Pass, "the policy accepts"),
        (
            "nobody knows whether it is signed",
            |w| signed(w, Read::Unread("503".to_string())),
            Verdict::Unknown,
            "the signature of 1.1.0",
        ),
        ("it is green", |w| checked(w, &[("e2e", CheckState::Success)]), Verdict::Pass, "the policy accepts"),
        (
            "red, then green again",
            |w| checked(w, &[("e2e", CheckState::Failure), ("e2e", CheckState::Success)]),
            Verdict::Pass,
            "the policy accepts",
        ),
    ];
    table(Gate::Release, ready, &cases);
    cases.clear();
}

fn checks(world: &mut Snapshot, checks: Read<Vec<RequiredCheck>>) {
    facts(world).releases = Read::Known(vec![release("1.0.0"), Release { checks, ..release("1.1.0") }]);
}

fn signed(world: &mut Snapshot, unsigned: Read<Option<String>>) {
    world.policy.plugins[0].signed = true;
    facts(world).releases = Read::Known(vec![release("1.0.0"), Release { unsigned, ..release("1.1.0") }]);
}

fn checked(world: &mut Snapshot, states: &[(&str, CheckState)]) {
    world.policy.plugins[0].checks = vec!["e2e".into()];
    let check = |(name, state): &(&str, CheckState)| RequiredCheck { name: (*name).into(), state: *state };
    checks(world, Read::Known(states.iter().map(check).collect()));
}

fn block(from: Option<&str>, to: &str, above: Option<&str>) -> Block {
    Block {
        from: from.map(|from| from.parse().unwrap()),
        to: to.parse().unwrap(),
        why: "CRD migration".into(),
        fixed_in: Some(version("1.1.1")),
        above: above.map(TierName::from),
    }
}

/// These take the pull request back: the wave is withdrawn, with the reason.
#[test]
fn a_release_that_is_not_listed_any_more_keeps_nobody_awake() {
    let mut world = ready();
    facts(&mut world).releases = Read::Known(vec![release("1.0.0")]);
    assert_eq!(crate::plan(&world, noon()).alarm, None, "the next poll of the source rings");
    facts(&mut world).releases = Read::Unread("503".into());
    assert!(crate::plan(&world, noon()).alarm.is_some(), "what could not be read is read again soon");
}

#[test]
fn what_is_stopped_is_taken_back() {
    type Case = (&'static str, fn(&mut Snapshot), &'static str);
    let cases: [Case; 8] = [
        (
            "blocked from what runs",
            |w| w.policy.plugins[0].blocks = vec![block(Some("<1.1"), "1.1.0", None)],
            "the step from 1.0.0 to 1.1.0 is blocked: CRD migration (mended in 1.1.1)",
        ),
        (
            "blocked above the first tier, from anywhere",
            |w| w.policy.plugins[0].blocks = vec![block(None, "1.1.x", Some("qa"))],
            "the step from 1.0.0 to 1.1.0 is blocked",
        ),
        (
            "the same content under another version",
            |w| {
                let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                page.releases.iter_mut().for_each(|seen| seen.digest = Some("sha256:11".into()));
            },
            "1.1.0 is the same artefact as 1.0.0",
        ),
        (
            "red checks",
            |w| checked(w, &[("e2e", CheckState::Failure)]),
            "checks failed on the commit that released 1.1.0: e2e",
        ),
        (
            "constraint of the plugin",
            |w| w.policy.plugins[0].constraint = "~1.0".parse().ok(),
            "outside the constraint `~1.0`",
        ),
        ("constraint of the tier", |w| bronze(w).constraint = "~1.0".parse().ok(), "outside the constraint `~1.0`"),
        (
            "other content",
            |w| facts(w).releases = Read::Known(vec![Release { digest: Some("sha256:22".into()), ..release("1.1.0") }]),
            "1.1.0 was published again",
        ),
        (
            "failed elsewhere",
            |w| {
                let failed = Failed { at: ago(5), why: Reason::NotLanded };
                let entry = Entry::Wave {
                    plugin: "app".into(),
                    tier: "qa".into(),
                    version: version("1.1.0"),
                    change: Change::Failed(failed),
                };
                w.ledger.apply(&entry);
            },
            "1.1.0 failed on qa",
        ),
    ];
    for (name, change, wording) in cases {
        let mut world = ready();
        change(&mut world);
        let plan = crate::plan(&world, noon());
        let close = plan.actions.iter().find_map(|action| match action {
            Action::Close { why, .. } => Some(why.to_string()),
            _ => None,
        });
        assert!(close.as_deref().is_some_and(|why| why.starts_with(wording)), "{name}: {:?}", plan.actions);
        assert!(!merges(&plan), "{name}");
    }
}

#[test]
fn a_block_is_for_its_edge_and_its_tiers_alone() {
    for block in [
        block(Some("<1.0"), "1.1.0", None),
        block(Some("<1.1"), "1.2.0", None),
        block(Some("<1.1"), "1.1.0", Some("bronze")),
    ] {
        let mut world = ready();
        world.policy.plugins[0].blocks = vec![block.clone()];
        assert!(merges(&crate::plan(&world, noon())), "{block:?}");
    }
    // A pre-release does not slip through.
    let mut world = ready();
    facts(&mut world).base = Read::Known([place("qa", "1.1.0"), place("bronze", "1.0.1-rc.1")].into());
    world.policy.plugins[0].blocks = vec![block(Some("<1.1"), "1.1.0", None)];
    assert!(!merges(&crate::plan(&world, noon())));
}

/// The newest is blocked on qa from 1.1.0: the newest that is not goes first, and the tier that
/// waits for nothing else says why.
#[test]
fn where_the_newest_is_blocked_the_newest_unblocked_stop_is_taken() {
    let opened = |versions: &[&str], blocks: Vec<Block>| {
        let mut world = ready();
        world.policy.plugins[0].blocks = blocks;
        facts(&mut world).releases = Read::Known(versions.iter().map(|text| release(text)).collect());
        let plan = crate::plan(&world, noon());
        let opened = plan.actions.iter().find_map(|action| match action {
            Action::Open(proposal) => Some(proposal.to.to_string()),
            _ => None,
        });
        let qa = plan.waves.iter().find(|wave| wave.tier.as_str() == "qa").unwrap().blocker().cloned();
        (opened.unwrap_or_default(), qa.map(|finding| finding.because.to_string()).unwrap_or_default())
    };
    let versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];
    assert_eq!(opened(&versions, vec![]), ("1.3.0".into(), String::new()));
    let stop = || block(Some("<1.2"), ">=1.3", None);
    assert_eq!(opened(&versions, vec![stop()]), ("1.2.0".into(), String::new()));
    let (none, because) = opened(&versions, vec![stop(), block(None, "1.2.0", None)]);
    assert_eq!(
        (none.as_str(), because.as_str()),
        ("", "the step from 1.1.0 to 1.3.0 is blocked: CRD migration (mended in 1.1.1)")
    );
}

#[test]
fn versions_that_are_spelled_differently() {
    let opened = |versions: &[&str], change: fn(&mut Snapshot)| {
        let mut world = ready();
        change(&mut world);
        facts(&mut world).releases = Read::Known(versions.iter().map(|text| release(text)).collect());
        let plan = crate::plan(&world, noon());
        plan.actions.iter().find_map(|action| match action {
            Action::Open(proposal) => Some(proposal.to.to_string()),
            _ => None,
        })
    };
    let prereleases: fn(&mut Snapshot) = |w| w.policy.plugins[0].prereleases = true;
    type Case = (&'static [&'static str], fn(&mut Snapshot), Option<&'static str>);
    let cases: [Case; 12] = [
        (&["1.0.0", "1.1.0", "v1.2.0"], |_| {}, Some("v1.2.0")),
        (&["1.0.0", "1.1.0", "v1.1.0", "1.1.0+7"], |_| {}, None),
        (&["1.0.0", "1.1.0", "1.2.0+7"], |_| {}, Some("1.2.0+7")),
        (&["1.2.0+9", "1.1.0", "1.2.0+7"], |_| {}, Some("1.2.0+7")),
        // pre-releases
        (&["1.1.0", "1.2.0-rc.1"], |_| {}, None),
        (&["1.1.0", "1.2.0-rc.1"], prereleases, Some("1.2.0-rc.1")),
        (&["1.1.0", "1.2.0-rc.1", "1.2.0"], prereleases, Some("1.2.0")),
        (&["1.1.0", "1.2.0-rc.1"], |w| w.policy.plugins[0].constraint = "^1.0.0-0".parse().ok(), Some("1.2.0-rc.1")),
        (&["1.1.0", "1.2.0-rc.1"], |w| w.policy.plugins[0].constraint = "^1".parse().ok(), None),
        (
            &["1.1.0", "1.2.0-rc.1"],
            |w| {
                w.policy.plugins[0].prereleases = true;
                w.policy.plugins[0].constraint = "^1".parse().ok();
            },
            Some("1.2.0-rc.1"),
        ),
        (
            &["1.1.0", "2.0.0-rc.1"],
            |w| {
                w.policy.plugins[0].prereleases = true;
                w.policy.plugins[0].constraint = "<2".parse().ok();
            },
            None,
        ),
        (
            &["1.1.0", "1.2.0-rc.1"],
            |w| {
                w.policy.plugins[0].prereleases = true;
                w.policy.plugins[0].tiers[0].constraint = "~1.1".parse().ok();
            },
            None,
        ),
    ];
    for (versions, change, expected) in cases {
        assert_eq!(opened(versions, change).as_deref(), expected, "{versions:?}");
    }
}

/// Of two that differ in build metadata alone the first one seen is the release; the other changes
/// nothing about it, whatever its digest and its place in the list.
#[test]
fn f49_build_metadata_does_not_change_a_release() {
    let other = Release { digest: Some("sha256:99".into()), ..release("1.1.0+other") };
    let mut world = ready();
    facts(&mut world).releases = Read::Known(vec![other.clone(), release("1.0.0"), release("1.1.0")]);
    assert!(merges(&crate::plan(&world, noon())));
    facts(&mut world).releases = Read::Known(vec![release("1.0.0"), other]);
    assert_eq!(says(&world, Gate::Release).verdict, Verdict::Fail, "it took the place of the first one");
}

#[test]
fn a_range_on_a_gated_tier_is_refused() {
    let mut world = ready();
    let (tier, mut places) = place("bronze", "1.0.0");
    places[0].version = Read::Unread("line 1: `^1` is not a version".into());
    places[0].range = Some("^1".into());
    facts(&mut world).base = Read::Known([place("qa", "1.1.0"), (tier, places)].into());
    let finding = says(&world, Gate::Release);
    assert_eq!(finding.verdict, Verdict::Fail);
    assert!(finding.because.to_string().starts_with("clusters/bronze/app.yaml holds the range `^1`"));
    assert!(crate::plan(&world, noon()).actions.is_empty());
}

/// 1.1.0 was taken off qa by hand, or an older version was put there: it climbs no further, qa takes
/// nothing that is not newer, and what comes after may.
#[test]
fn what_a_person_took_back_stays_back() {
    for put_back in ["1.0.0", "0.9.0"] {
        let mut world = ready();
        facts(&mut world).base = Read::Known([place("qa", put_back), place("bronze", "1.0.0")].into());
        let plan = crate::plan(&world, noon());
        let taken_back = plan.actions.iter().any(|action| {
                matches!(action, Action::Close { tier, why: Reason::ReleaseHeld { .. }, .. } if tier.as_str() == "bronze")
            });
        assert!(taken_back && plan.actions.len() == 1, "{put_back}: {:?}", plan.actions);
        let failed = plan.entries.iter().any(|record| {
                matches!(&record.entry, Entry::Wave { version: of, change: Change::Failed(Failed { why: Reason::Reverted { .. }, .. }), .. } if *of == version("1.1.0"))
            });
        assert!(failed, "{put_back}: {:?}", plan.entries);
        facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.0.5"), release("1.2.0")]);
        let plan = crate::plan(&world, noon());
        let opens = |action: &Action| matches!(action, Action::Open(proposal) if proposal.to == version("1.2.0"));
        assert!(plan.actions.iter().any(opens), "{put_back}: {:?}", plan.actions);
    }
}

#[test]
fn a_closed_pull_request_is_a_no_that_sticks() {
    let mut world = ready();
    edit(&mut world, |pull| pull.state = PullState::Closed { at: ago(1), by: Some("noor".into()) });
    let plan = crate::plan(&world, noon());
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").expect("bronze");
    assert!(matches!(&report.state, WaveState::Rejected { by: Some(by), .. } if by.as_str() == "noor"), "{report:?}");
    // Without the ledger's memory of it, the hub's page alone is enough.
    world.ledger.plugins.get_mut(&"app".into()).expect("app").tiers.remove(&"bronze".into());
    assert!(crate::plan(&world, noon()).actions.is_empty());
    // A newer release may come.
    facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
    let finished = [
        Change::Found {
            members: vec!["qa-1".into()],
            digest: None,
            landed: Landed { at: ago(9), commit: None, by: None },
        },
        Change::Finished(ago(8)),
    ];
    for change in finished {
        world.ledger.apply(&Entry::Wave { plugin: "app".into(), tier: "qa".into(), version: version("1.2.0"), change });
    }
    facts(&mut world).base = Read::Known([place("qa", "1.2.0"), place("bronze", "1.0.0")].into());
    let plan = crate::plan(&world, noon());
    let opens =
        plan.actions.iter().any(|action| matches!(action, Action::Open(proposal) if proposal.to == version("1.2.0")));
    assert!(opens, "{:?}", plan.actions);
}

/// That the tier below runs it is no signature: whoever may merge there could bring it everywhere.
#[test]
fn a37_what_is_not_signed_climbs_no_further() {
    let mut world = ready();
    assert!(matches!(crate::plan(&world, noon()).actions[..], [Action::Merge { .. }]));
    signed(&mut world, Read::Unread("503".to_string()));
    assert_eq!(crate::plan(&world, noon()).actions, [], "it is neither merged nor taken back");
    signed(&mut world, Read::Known(Some("another key has signed it".to_string())));
    let plan = crate::plan(&world, noon());
    assert!(matches!(plan.actions[..], [Action::Close { .. }]), "{:?}", plan.actions);
}
