//! Who waits for whom.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

use super::*;
use crate::PluginPolicy;
use crate::ledger::{Change, Failed};
use crate::plan::Action;
use crate::snapshot::{PluginFacts, Read, Snapshot};
use crate::testing::*;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// `app` goes after `crds`; each has a new release, 1.2.0, and one tier, qa, that runs 1.1.0.
fn two() -> Snapshot {
    let mut world = ready();
    world.policy.plugins[0].tiers.truncate(1);
    let facts = facts(&mut world);
    facts.releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
    facts.pulls = Read::Known(Vec::new());
    let crds = PluginPolicy { name: "crds".into(), ..world.policy.plugins[0].clone() };
    // It stands second in the file, and is decided first all the same.
    world.policy.plugins.push(crds);
    let after = After { plugin: "crds".into(), version: None };
    world.policy.plugins[0].after = vec![after];
    let (facts, page) = (world.plugins[&"app".into()].clone(), world.ledger.plugins[&PluginName::from("app")].clone());
    world.plugins.insert("crds".into(), facts);
    world.ledger.plugins.insert("crds".into(), page);
    world
}

fn crds(world: &mut Snapshot) -> &mut PluginFacts {
    world.plugins.get_mut(&"crds".into()).unwrap()
}

fn nothing_new(world: &mut Snapshot) {
    crds(world).releases = Read::Known(vec![release("1.1.0")]);
}

/// crds stays what it is on qa's one cluster, which has a file of its own.
fn pin_all(world: &mut Snapshot) {
    let (qa, mut places) = place("qa", "1.1.0");
    places[0].cluster = Some("qa-1".into());
    crds(world).base = Read::Known([(qa, places)].into());
    let select = world.policy.plugins[0].tiers[0].select.clone();
    let named = |plugin: &&mut PluginPolicy| plugin.name.as_str() == "crds";
    for policy in world.policy.plugins.iter_mut().filter(named) {
        let why = "an audit".into();
        policy.pins =
            vec![crate::model::Pin { select: select.clone(), version: Some(version("1.1.0")), until: None, why }];
    }
}

fn follows(world: &mut Snapshot) {
    let named = |plugin: &&mut PluginPolicy| plugin.name.as_str() == "crds";
    world.policy.plugins.iter_mut().filter(named).for_each(|policy| policy.tiers[0].follows = true);
}

fn asks(world: &mut Snapshot, version: &str) {
    world.policy.plugins[0].after[0].version = version.parse().ok();
}

fn wave(world: &mut Snapshot) -> &mut Wave {
    let page = world.ledger.plugins.get_mut(&"crds".into()).unwrap();
    page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap()
}

fn opened(world: &Snapshot) -> Vec<String> {
    let plan = crate::plan(world, noon());
    let open = |action: &Action| match action {
        Action::Open(proposal) => Some(proposal.plugin.as_str().into()),
        _ => None,
    };
    plan.actions.iter().filter_map(open).collect()
}

fn because(world: &Snapshot) -> String {
    let plan = crate::plan(world, noon());
    let wave = plan.waves.iter().find(|wave| wave.plugin.as_str() == "app").unwrap();
    wave.blocker().map(|finding| finding.because.to_string()).unwrap_or_default()
}

#[test]
fn a_wave_opens_after_those_of_others() {
    type Case = (&'static str, fn(&mut Snapshot), &'static [&'static str], &'static str);
    let both = &["app", "crds"][..];
    let first = "crds goes first and has not finished on qa";
    let cases: [Case; 20] = [
        ("the other opens in the same plan", |_| {}, &["crds"], first),
        ("nobody goes first", |w| w.policy.plugins[0].after.clear(), both, ""),
        ("the other has nothing new", nothing_new, &["app"], ""),
        (
            "the other is on the base branch and soaks",
            |w| {
                nothing_new(w);
                *wave(w).rewrite().finished = None;
            },
            &[],
            first,
        ),
        (
            "the other has its pull request",
            |w| {
                nothing_new(w);
                let wave = wave(w);
                (*wave.rewrite().landed, *wave.rewrite().finished) = (None, None);
                crds(w).base = Read::Known([place("qa", "1.0.0")].into());
            },
            &["crds"],
            first,
        ),
        (
            "the other failed and still runs",
            |w| {
                nothing_new(w);
                *wave(w).rewrite().failed = Some(Failed { at: ago(5), why: Reason::NotLanded });
            },
            &[],
            first,
        ),
        (
            "the other is half way",
            |w| {
                nothing_new(w);
                let places = [place("qa", "1.1.0").1, place("qa", "1.0.0").1].concat();
                crds(w).base = Read::Known([("qa".into(), places)].into());
            },
            &[],
            first,
        ),
        (
            "nobody knows what the other runs",
            |w| crds(w).base = Read::Unread("503".into()),
            &[],
            "what crds runs on qa could not be read: 503",
        ),
        (
            "the other is not installed",
            |w| {
                nothing_new(w);
                crds(w).base = Read::Known([].into());
                crds(w).releases = Read::Known(Vec::new());
            },
            &["app"],
            "",
        ),
        (
            "it runs enough",
            |w| {
                nothing_new(w);
                asks(w, ">=1.1");
            },
            &["app"],
            "",
        ),
        (
            "it runs too little",
            |w| {
                nothing_new(w);
                asks(w, ">=1.2");
            },
            &[],
            "crds goes first and runs 1.1.0 on qa; asked for is `>=1.2`",
        ),
        (
            "every cluster is pinned to enough",
            |w| {
                nothing_new(w);
                asks(w, ">=1.1");
                pin_all(w);
            },
            &["app"],
            "",
        ),
        (
            "every cluster is pinned to too little",
            |w| {
                nothing_new(w);
                asks(w, ">=1.2");
                pin_all(w);
            },
            &[],
            "crds goes first and runs 1.1.0 on qa; asked for is `>=1.2`",
        ),
        (
            "one of two clusters is pinned to too little: it is not asked",
            |w| {
                nothing_new(w);
                asks(w, ">=1.1");
                pin_all(w);
                let labels = [("tier".into(), "qa".into()), ("name".into(), "qa-2".into())].into();
                if let Read::Known(clusters) = &mut w.clusters {
                    clusters.push(crate::snapshot::Cluster { name: "qa-2".into(), labels });
                }
                let named = |plugin: &&mut PluginPolicy| plugin.name.as_str() == "crds";
                for policy in w.policy.plugins.iter_mut().filter(named) {
                    policy.pins[0].select.match_labels = [("name".into(), "qa-2".into())].into();
                }
                let mut pinned = place("qa", "1.0.0").1;
                (pinned[0].cluster, pinned[0].file) = (Some("qa-2".into()), "clusters/qa/2.yaml".into());
                let Read::Known(base) = &mut crds(w).base else { unreachable!() };
                base.get_mut(&"qa".into()).unwrap().append(&mut pinned);
            },
            &["app"],
            "",
        ),
        (
            "it goes after two, and nobody knows what the first of them runs",
            |w| {
                nothing_new(w);
                *wave(w).rewrite().finished = None;
                w.policy.plugins[0].after.insert(0, After { plugin: "dns".into(), version: None });
            },
            &[],
            "what dns runs on qa could not be read: this plugin was not looked at",
        ),
        (
            "it goes after two, and nobody knows what the last of them runs",
            |w| {
                nothing_new(w);
                *wave(w).rewrite().finished = None;
                w.policy.plugins[0].after.push(After { plugin: "dns".into(), version: None });
            },
            &[],
            "what dns runs on qa could not be read: this plugin was not looked at",
        ),
        (
            "one for which it does not wait opens in the same plan",
            |w| {
                nothing_new(w);
                let mut page = w.ledger.plugins[&PluginName::from("app")].clone();
                page.tiers.remove(&"bronze".into());
                w.ledger.plugins.insert("dns".into(), page);
                w.plugins.insert("dns".into(), w.plugins[&"app".into()].clone());
                let dns = PluginPolicy { name: "dns".into(), after: vec![], ..w.policy.plugins[0].clone() };
                w.policy.plugins.insert(0, dns);
            },
            &["dns", "app"],
            "",
        ),
        (
            "it follows releases by itself, and its clusters run enough",
            |w| {
                nothing_new(w);
                asks(w, ">=1.2");
                follows(w);
                let page = w.ledger.plugins.get_mut(&"crds".into()).unwrap();
                page.tiers.clear();
                crds(w).readings.insert("qa-1".into(), vec![healthy("1.2.0")]);
            },
            &["app"],
            "",
        ),
        (
            "it follows releases by itself, and its clusters run too little",
            |w| {
                nothing_new(w);
                asks(w, ">=1.2");
                follows(w);
                crds(w).base = Read::Known([place("qa", "1.2.0")].into());
            },
            &[],
            "crds goes first and runs 1.1.0 on qa; asked for is `>=1.2`",
        ),
        (
            "something is asked for and it is not installed",
            |w| {
                crds(w).base = Read::Known([].into());
                crds(w).releases = Read::Known(Vec::new());
                asks(w, ">=1.2");
            },
            &[],
            "crds goes first and runs nothing on qa; asked for is `>=1.2`",
        ),
    ];
    for (name, change, expected, wording) in cases {
        let mut world = two();
        change(&mut world);
        assert_eq!(opened(&world), expected, "{name}");
        assert_eq!(because(&world), wording, "{name}");
    }
}

/// Under a cap of one, the open one gives its place to the one that it waits for, and comes back.
#[test]
fn what_waits_for_another_one_gives_it_the_last_place() {
    let done = |cap: Option<u32>, asked: &str| {
        let mut world = ready();
        let crds = PluginPolicy { name: "crds".into(), ..world.policy.plugins[0].clone() };
        world.policy.plugins[0].after = vec![After { plugin: "crds".into(), version: asked.parse().ok() }];
        world.policy.plugins.push(crds);
        let mut page = world.ledger.plugins[&PluginName::from("app")].clone();
        page.tiers.get_mut(&"bronze".into()).unwrap().pop();
        let facts = world.plugins[&"app".into()].clone();
        world.plugins.insert("crds".into(), PluginFacts { pulls: Read::Known(Vec::new()), ..facts });
        world.ledger.plugins.insert("crds".into(), page);
        world.policy.limits.open_pulls = cap;
        let plan = crate::plan(&world, noon());
        let done = |action: &Action| match action {
            Action::Open(proposal) => Some(alloc::format!("open {}", proposal.plugin)),
            Action::Close { plugin, why, .. } => Some(alloc::format!("close {plugin}: {why}")),
            Action::Merge { plugin, .. } => Some(alloc::format!("merge {plugin}")),
            _ => None,
        };
        plan.actions.iter().filter_map(done).collect::<Vec<_>>()
    };
    let gives_way = ["close app: crds goes first and runs 1.0.0 on bronze; asked for is `>=1.1`"];
    assert_eq!(done(Some(1), ">=1.1"), gives_way);
    assert_eq!(done(Some(2), ">=1.1"), ["open crds"], "there is room for both");
    assert_eq!(done(None, ">=1.1"), ["open crds"]);
    assert_eq!(done(Some(1), ">=1.0"), ["merge app"], "it waits for nobody");
}

/// crds has nothing new and needs no place: that another plugin waits for one on the same tier changes nothing.
#[test]
fn what_waits_for_one_that_needs_no_place_stays_open() {
    let mut world = ready();
    let policy = world.policy.plugins[0].clone();
    let mut page = world.ledger.plugins[&PluginName::from("app")].clone();
    page.tiers.get_mut(&"bronze".into()).unwrap().pop();
    let facts = PluginFacts { pulls: Read::Known(Vec::new()), ..world.plugins[&"app".into()].clone() };
    for name in ["crds", "dns"] {
        world.policy.plugins.push(PluginPolicy { name: name.into(), ..policy.clone() });
        world.plugins.insert(name.into(), facts.clone());
        world.ledger.plugins.insert(name.into(), page.clone());
    }
    crds(&mut world).releases = Read::Known(vec![release("1.0.0")]);
    let before = ["crds", "dns"].map(|name| After { plugin: name.into(), version: None });
    world.policy.plugins[0].after = before.into();
    asks(&mut world, ">=1.1");
    world.policy.limits.open_pulls = Some(1);
    let plan = crate::plan(&world, noon());
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    let blocker = |name: &str| {
        let mut waves = plan.waves.iter().filter(|wave| wave.tier.as_str() == "bronze");
        waves.find(|wave| wave.plugin.as_str() == name).unwrap().blocker().unwrap().gate
    };
    assert_eq!([blocker("app"), blocker("dns")], [Gate::After, Gate::Limits]);
}

/// Once open, it merges although the other has begun since, unless what it needs is gone.
#[test]
fn what_is_open_needs_what_it_asked_for() {
    let world = |asked: Option<&str>| {
        let mut world = ready();
        let crds = PluginPolicy { name: "crds".into(), ..world.policy.plugins[0].clone() };
        let after = After { plugin: "crds".into(), version: asked.and_then(|asked| asked.parse().ok()) };
        world.policy.plugins[0].after = vec![after];
        world.policy.plugins.push(crds);
        let page = world.ledger.plugins[&PluginName::from("app")].clone();
        let facts = world.plugins[&"app".into()].clone();
        world.plugins.insert("crds".into(), PluginFacts { pulls: Read::Unread("503".into()), ..facts });
        world.ledger.plugins.insert("crds".into(), page);
        world
    };
    let merged = |asked: Option<&str>| merges(&crate::plan(&world(asked), noon()));
    let half = |asked: &str| {
        let mut world = world(Some(asked));
        let places = [place("bronze", "1.0.0").1, place("bronze", "1.1.0").1].concat();
        crds(&mut world).base = Read::Known([("bronze".into(), places)].into());
        merges(&crate::plan(&world, noon()))
    };
    assert!(merged(None));
    assert!(merged(Some(">=1.0")));
    assert!(!merged(Some(">=1.1")), "bronze runs 1.0.0");
    assert!(!half(">=1.1") && !half("<=1.0"), "and 1.1.0 beside it");
    assert!(half(">=1.0"));
}

#[test]
fn who_waits_is_decided_later_and_reported_in_its_place() {
    let plugins = |names: &[(&str, &[&str])]| -> Vec<PluginPolicy> {
        let one = |(name, after): &(&str, &[&str])| PluginPolicy {
            after: after.iter().map(|plugin| After { plugin: (*plugin).into(), version: None }).collect(),
            ..PluginPolicy::new((*name).into(), Vec::new())
        };
        names.iter().map(one).collect()
    };
    for (names, expected) in [
        (&[("a", &[][..]), ("b", &[])][..], &[0, 1][..]),
        (&[("a", &["c"]), ("b", &[]), ("c", &["b"])], &[1, 2, 0]),
        (&[("a", &["b"]), ("b", &["a"]), ("c", &[])], &[2, 0, 1]),
        (&[("a", &["a", "elsewhere"])], &[0]),
    ] {
        assert_eq!(crate::after::order(&plugins(names)), expected, "{names:?}");
    }
    let plan = crate::plan(&two(), noon());
    let order: Vec<&str> = plan.waves.iter().map(|wave| wave.plugin.as_str()).collect();
    assert_eq!(order, ["app", "crds"]);
}

#[test]
fn a_wave_that_somebody_else_put_there_keeps_nobody() {
    let mut world = two();
    nothing_new(&mut world);
    let wave = wave(&mut world);
    *wave.rewrite().finished = None;
    wave.heads.clear();
    assert_eq!(opened(&world), ["app"]);
    world.ledger.apply(&crate::Entry::Wave {
        plugin: "crds".into(),
        tier: "qa".into(),
        version: version("1.1.0"),
        change: Change::Failed(Failed { at: ago(5), why: Reason::NotLanded }),
    });
    assert!(opened(&world).is_empty());
}

/// A cluster of the tier lacks crds, which nobody needs to have recorded.
#[test]
fn who_lacks_it_is_waited_for() {
    let mut world = two();
    nothing_new(&mut world);
    assert_eq!(opened(&world), ["app"]);
    let (qa, mut places) = place("qa", "1.1.0");
    places[0].cluster = Some("qa-1".into());
    let version = Read::Unread("not installed yet".into());
    let vacant = crate::snapshot::Place { cluster: Some("qa-2".into()), version, vacant: true, ..places[0].clone() };
    places.push(vacant);
    crds(&mut world).base = Read::Known([(qa, places)].into());
    assert_eq!(opened(&world), [""; 0]);
    assert_eq!(because(&world), "crds goes first and has not finished on qa");
}
