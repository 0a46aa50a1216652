//! A small world for the tables of the gates: 1.1.0 has finished qa, its pull request for bronze is
//! open and may merge. Each case changes one thing and says what the gate answers then.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

extern crate std;

mod text;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use crate::ledger::{Announced, Change, Head, Landed, Seen};
use crate::model::{Force, Freeze, Merge, MergeRule, Policy, Soak, Tier};
use crate::plan::{Action, Finding, Gate, Plan, Verdict};
use crate::selector::Selector;
use crate::snapshot::{
    Cluster, Health, HubFacts, Landing, LedgerGuard, LedgerState, Mergeable, OwnedPath, Place, PluginFacts, Pull,
    PullState, Read, Reading, Release, Review, ReviewDecision, ReviewVerdict, Snapshot,
};
use crate::{ClusterName, Entry, Ledger, Person, PluginName, PluginPolicy, PullNumber, Reason, Sha, TierName, Version};

pub(crate) const BOT: &str = "coldframe[bot]";

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Noon of the day on which everything below happens.
pub(crate) fn noon() -> Timestamp {
    at("2026-11-23T12:00:00Z")
}

pub(crate) fn ago(minutes: i64) -> Timestamp {
    noon() - SignedDuration::from_mins(minutes)
}

pub(crate) fn version(text: &str) -> Version {
    text.parse().unwrap()
}

pub(crate) fn tier(name: &str) -> Tier {
    let match_labels = BTreeMap::from([("tier".to_string(), name.to_string())]);
    Tier {
        merge: MergeRule::all(Merge::Approved),
        soak: Soak::at_least(SignedDuration::from_hours(1)),
        ..Tier::new(name.into(), Selector { match_labels, match_expressions: Vec::new() })
    }
}

/// A healthy answer of a cluster, as fresh as can be.
pub(crate) fn healthy(running: &str) -> Reading {
    Reading {
        signal: "HelmRelease app/app".to_string(),
        health: Health::Healthy,
        running: Some(version(running)),
        attempted: None,
        digest: None,
        observed_at: noon(),
        since: Some(ago(600)),
        evidence: String::new(),
    }
}

/// The pull request of 1.1.0 for bronze, approved by an owner.
pub(crate) fn pull() -> Pull {
    Pull {
        behind: Read::Known(false),
        strict: false,
        dismisses: false,
        unmet: Read::Known(Vec::new()),
        lacks: Vec::new(),
        number: PullNumber(7),
        tier: "bronze".into(),
        misplaced: None,
        version: Some(version("1.1.0")),
        state: PullState::Open,
        head: "aaaaaaaaaa".into(),
        opened_at: ago(30),
        draft: false,
        mergeable: Mergeable::Yes,
        review_decision: ReviewDecision::Approved,
        reviews: vec![approval("maria")],
        owned: Read::Known(vec![OwnedPath {
            path: "clusters/bronze/app.yaml".to_string(),
            owners: vec!["@acme/platform".to_string()],
            people: [Person::from("maria"), Person::from("noor")].into(),
        }]),
        team: Read::Known([].into()),
        checks: Read::Known(Vec::new()),
        commands: Vec::new(),
        landing: Read::Known(Landing::Proven { commit: "dd".into() }),
        notices: Vec::new(),
        labelled: Read::Known(false),
        added_to: None,
        rebase: false,
    }
}

pub(crate) fn approval(by: &str) -> Review {
    Review {
        by: by.into(),
        verdict: ReviewVerdict::Approved,
        at: ago(10),
        commit: "aaaaaaaaaa".into(),
        human: true,
        may_write: Read::Known(true),
    }
}

/// The world described above.
pub(crate) fn ready() -> Snapshot {
    let plugin = PluginName::from("app");
    let mut ledger = Ledger::default();
    for text in ["1.0.0", "1.1.0"] {
        let seen = Seen { version: version(text), digest: Some(digest(text)), first_seen: ago(900) };
        ledger.apply(&Entry::Seen { plugin: plugin.clone(), seen });
    }
    let mut remember = |tier: &str, text: &str, change: Change| {
        ledger.apply(&Entry::Wave { plugin: plugin.clone(), tier: tier.into(), version: version(text), change });
    };
    let landed = |minutes| Landed { at: ago(minutes), commit: None, by: None };
    let found = |members: &str| Change::Found { members: vec![members.into()], digest: None, landed: landed(900) };
    remember("qa", "1.0.0", found("qa-1"));
    remember("qa", "1.0.0", Change::Finished(ago(800)));
    remember("bronze", "1.0.0", found("bronze-1"));
    remember("bronze", "1.0.0", Change::Finished(ago(800)));
    remember("qa", "1.1.0", intent("qa-1", "bbbbbbbbbb", 700));
    remember("qa", "1.1.0", Change::Landed(landed(690)));
    remember("qa", "1.1.0", Change::Finished(ago(60)));
    remember("bronze", "1.1.0", intent("bronze-1", "aaaaaaaaaa", 30));
    remember("bronze", "1.1.0", Change::Announced(Announced { number: PullNumber(7), at: ago(30) }));
    Snapshot {
        policy: Policy {
            plugins: vec![PluginPolicy::new(plugin.clone(), vec![tier("qa"), tier("bronze")])],
            ..Policy::default()
        },
        policy_commit: "cccccccccc".into(),
        policy_problem: None,
        clusters: Read::Known(vec![cluster("qa"), cluster("bronze")]),
        hub: HubFacts { bot: BOT.into(), bypass: true, own: Vec::new(), skew: SignedDuration::ZERO },
        ledger,
        ledger_state: LedgerState::Intact { guarded: LedgerGuard::Sealed },
        look_again: SignedDuration::from_secs(30),
        plugins: BTreeMap::from([(
            plugin,
            PluginFacts {
                releases: Read::Known(vec![release("1.0.0"), release("1.1.0")]),
                base: Read::Known(BTreeMap::from([place("qa", "1.1.0"), place("bronze", "1.0.0")])),
                pulls: Read::Known(vec![pull()]),
                readings: [("qa-1".into(), vec![healthy("1.1.0")]), ("bronze-1".into(), vec![healthy("1.0.0")])]
                    .into_iter()
                    .collect(),
                runs: Read::Known(Vec::new()),
                open_now: BTreeMap::new(),
            },
        )]),
    }
}

fn intent(member: &str, head: &str, minutes: i64) -> Change {
    Change::Intent {
        from: Some(version("1.0.0")),
        digest: Some("sha256:11".into()),
        part: crate::ledger::Part::default(),
        members: vec![member.into()],
        head: Head { commit: Sha::from(head), at: ago(minutes), repeats: false },
    }
}

/// `sha256:11` for 1.1.0.
pub(crate) fn digest(text: &str) -> crate::Digest {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    crate::Digest::new(alloc::format!("sha256:{}", digits.trim_end_matches('0')))
}

pub(crate) fn release(text: &str) -> Release {
    Release {
        version: version(text),
        digest: Some(digest(text)),
        marked_breaking: false,
        breaking: Vec::new(),
        blocks: Vec::new(),
        missing_values: Vec::new(),
        unsigned: Read::Known(None),
        incomplete: None,
        checks: Read::Known(Vec::new()),
    }
}

pub(crate) fn place(tier: &str, text: &str) -> (TierName, Vec<Place>) {
    let file = alloc::format!("clusters/{tier}/app.yaml");
    (tier.into(), vec![Place { file, cluster: None, version: Read::Known(version(text)), range: None, vacant: false }])
}

fn cluster(tier: &str) -> Cluster {
    let labels = BTreeMap::from([("tier".to_string(), tier.to_string())]);
    Cluster { name: alloc::format!("{tier}-1").as_str().into(), labels }
}

/// 1.1.0 on bronze's base branch since half an hour, with these answers of its cluster.
pub(crate) fn landed(readings: Vec<Reading>) -> Snapshot {
    let mut world = ready();
    facts(&mut world).base = Read::Known(BTreeMap::from([place("qa", "1.1.0"), place("bronze", "1.1.0")]));
    let merged = PullState::Merged { at: ago(30), by: BOT.into(), commit: "dddddddddd".into() };
    edit(&mut world, |pull| pull.state = merged);
    facts(&mut world).readings.insert("bronze-1".into(), readings);
    let landed = Change::Landed(Landed { at: ago(30), commit: None, by: None });
    remember(&mut world, landed);
    world
}

/// One more cluster of bronze, a member of its 1.1.0 from the beginning, with these answers.
pub(crate) fn join(world: &mut Snapshot, name: &str, readings: Vec<Reading>) {
    if let Read::Known(clusters) = &mut world.clusters {
        clusters.push(Cluster { name: name.into(), ..cluster("bronze") });
    }
    let page = world.ledger.plugins.get_mut(&PluginName::from("app")).unwrap();
    let wave = page.tiers.get_mut(&TierName::from("bronze")).unwrap().last_mut().unwrap();
    wave.members = wave.members.iter().cloned().chain([name.into()]).collect();
    facts(world).readings.insert(name.into(), readings);
}

/// Writes a change of bronze's 1.1.0 into the ledger.
pub(crate) fn remember(world: &mut Snapshot, change: Change) {
    world.ledger.apply(&Entry::Wave { plugin: "app".into(), tier: "bronze".into(), version: version("1.1.0"), change });
}

/// Bronze with a grace period of an hour, one notice ten minutes before, nobody's approval.
pub(crate) fn unapproved() -> Snapshot {
    let mut world = ready();
    let notice = vec![SignedDuration::from_mins(10)];
    bronze(&mut world).force = Some(Force { after: SignedDuration::from_hours(1), notice });
    edit(&mut world, |pull| {
        pull.reviews.clear();
        pull.review_decision = ReviewDecision::Required;
    });
    world
}

pub(crate) fn facts(world: &mut Snapshot) -> &mut PluginFacts {
    world.plugins.get_mut(&PluginName::from("app")).unwrap()
}

/// People added to the head of bronze's pull request, and left every version as it is.
pub(crate) fn added(world: &mut Snapshot) {
    edit(world, |pull| pull.added_to = Some(core::mem::replace(&mut pull.head, "eeeeeeeeee".into())));
}

pub(crate) fn edit(world: &mut Snapshot, change: impl FnOnce(&mut Pull)) {
    match &mut facts(world).pulls {
        Read::Known(pulls) => change(&mut pulls[0]),
        Read::Unread(_) => unreachable!(),
    }
}

/// Freezes everything, without an end.
pub(crate) fn freeze_all(world: &mut Snapshot) {
    world.policy.freezes.push(Freeze { why: "audit".into(), ..Freeze::default() });
}

pub(crate) fn bronze(world: &mut Snapshot) -> &mut Tier {
    &mut world.policy.plugins[0].tiers[1]
}

/// What a gate says about bronze at noon.
pub(crate) fn says(world: &Snapshot, gate: Gate) -> Finding {
    says_at(world, gate, noon())
}

pub(crate) fn says_at(world: &Snapshot, gate: Gate, now: Timestamp) -> Finding {
    let plan = crate::plan(world, now);
    let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze").unwrap();
    let found = report.findings.iter().find(|finding| finding.gate == gate);
    found.cloned().unwrap_or_else(|| panic!("no {gate} among {:?}", report.findings))
}

pub(crate) fn merges(plan: &Plan) -> bool {
    plan.actions.iter().any(|action| matches!(action, Action::Merge { .. }))
}

/// One line of a gate's table: what is changed, and the verdict and the beginning of the wording
/// that follow. Where the gate does not let through, nothing merges.
pub(crate) type Case = (&'static str, fn(&mut Snapshot), Verdict, &'static str);

/// Runs a gate's table over a world.
pub(crate) fn table(gate: Gate, world: fn() -> Snapshot, cases: &[Case]) {
    for (name, change, verdict, wording) in cases {
        let mut world = world();
        change(&mut world);
        let finding = says(&world, gate);
        assert_eq!(finding.verdict, *verdict, "{name}: {finding:?}");
        let text = finding.because.to_string();
        assert!(text.starts_with(wording), "{name}: {text}");
        let merges = merges(&crate::plan(&world, noon()));
        assert!(!merges || verdict.lets_through(), "{name} merges");
    }
}

pub(crate) const WAIT: Verdict = Verdict::Wait { until: None };

/// A climb that is half done: bronze has two clusters with a place each and moves one at a time; 1.1.0 has
/// landed on bronze-2, its first slice, which is healthy, and bronze-1 still runs 1.0.0. No pull request is open.
pub(crate) fn sliced() -> Snapshot {
    let mut world = ready();
    facts(&mut world).pulls = Read::Known(Vec::new());
    join(&mut world, "bronze-2", vec![healthy("1.1.0")]);
    own_places(&mut world, &[("bronze-1", "1.0.0"), ("bronze-2", "1.1.0")]);
    bronze(&mut world).strategy =
        crate::model::Strategy::RollingUpdate { max_update: crate::model::MaxUpdate::Count(1), by: None };
    let page = world.ledger.plugins.get_mut(&PluginName::from("app")).unwrap();
    let wave = page.tiers.get_mut(&TierName::from("bronze")).unwrap().last_mut().unwrap();
    wave.members = [ClusterName::from("bronze-2")].into_iter().collect();
    wave.part.partition = ["bronze-2", "bronze-1"].map(|name| [ClusterName::from(name)].into_iter().collect()).into();
    *wave.rewrite().landed = Some(Landed { at: ago(30), commit: None, by: None });
    wave.converged = Some(ago(25));
    world
}

/// Each of these clusters has a place of its own on bronze's base branch, which holds this version.
pub(crate) fn own_places(world: &mut Snapshot, all: &[(&str, &str)]) {
    let own = |(name, text): &(&str, &str)| Place {
        file: alloc::format!("clusters/{name}/app.yaml"),
        cluster: Some((*name).into()),
        version: Read::Known(version(text)),
        range: None,
        vacant: false,
    };
    match &mut facts(world).base {
        Read::Known(base) => drop(base.insert("bronze".into(), all.iter().map(own).collect())),
        Read::Unread(_) => unreachable!(),
    }
}

#[test]
fn the_world_of_the_tables_merges() {
    let plan = crate::plan(&ready(), noon());
    assert!(merges(&plan), "{plan:#?}");
    let because = Reason::Approved { by: vec!["maria".into()] };
    assert_eq!(says(&ready(), Gate::Approvals).because, because);
}
