//! Worlds in which 1.0.0 runs on bronze and nobody approves 1.1.0, and what presses to merge it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]

use super::*;
use crate::ledger::{Change, Grace};
use crate::plan::Action;
use crate::snapshot::{Read, SentNotice, Snapshot};
use crate::testing::*;
use alloc::string::String;
use alloc::vec;

const DAY: i64 = 24 * 60;

/// Announced forty days ago, no `force` in the file, each notice of the default sent at its distance
/// from a deadline a day ago.
fn told() -> Snapshot {
    let mut world = unapproved();
    bronze(&mut world).force = None;
    edit(&mut world, |pull| {
        pull.opened_at = ago(40 * DAY);
        pull.notices = NOTICE.iter().map(|before| SentNotice { before: *before, at: ago(DAY) - *before }).collect();
    });
    let (since, deadline) = (ago(40 * DAY), ago(DAY));
    remember(&mut world, Change::Grace(Grace { since, deadline, notices: Vec::new(), giving: None }));
    world
}

fn expire(world: &mut Snapshot, versions: &str, days_ago: i64) {
    let expiry = Expiry { versions: versions.parse().unwrap(), at: ago(days_ago * DAY), why: "CVE-2026-1".into() };
    world.policy.plugins[0].expires.push(expiry);
}

fn forced(world: &Snapshot) -> bool {
    let plan = crate::plan(world, noon());
    plan.actions.iter().any(|action| matches!(action, Action::Merge { forced: Some(_), .. }))
}

fn says_release(world: &Snapshot) -> Vec<String> {
    let plan = crate::plan(world, noon());
    let findings = plan.waves.into_iter().find(|wave| wave.tier.as_str() == "bronze").unwrap().findings;
    findings.iter().filter(|finding| finding.gate == Gate::Release).map(|f| f.because.to_string()).collect()
}

#[test]
fn what_has_expired_is_left_without_approval() {
    type Case = (&'static str, fn(&mut Snapshot), bool);
    let cases: [Case; 11] = [
        ("nothing expires", |_| {}, false),
        ("what runs there has expired", |w| expire(w, "<1.1", 1), true),
        ("it will, tomorrow", |w| expire(w, "<1.1", -1), false),
        ("something else has", |w| expire(w, "<1.0", 1), false),
        (
            "the notices were not sent",
            |w| {
                expire(w, "<1.1", 1);
                edit(w, |pull| pull.notices.clear());
            },
            false,
        ),
        (
            "one was sent late",
            |w| {
                expire(w, "<1.1", 1);
                edit(w, |pull| pull.notices[0].at = ago(13 * DAY));
            },
            false,
        ),
        (
            "a freeze",
            |w| {
                expire(w, "<1.1", 1);
                freeze_all(w);
            },
            false,
        ),
        (
            "the tier below has not finished what comes",
            |w| {
                expire(w, "<1.1", 1);
                let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
                *page.tiers.get_mut(&"qa".into()).unwrap().last_mut().unwrap().rewrite().finished = None;
            },
            false,
        ),
        (
            "people merge there themselves",
            |w| {
                expire(w, "<1.1", 1);
                bronze(w).merge = crate::model::MergeRule::all(crate::model::Merge::Manual);
            },
            false,
        ),
        ("two versions run, and one may", |w| w.policy.plugins[0].max_live = Some(1), true),
        ("two versions run, and two may", |w| w.policy.plugins[0].max_live = Some(2), false),
    ];
    for (name, change, expected) in cases {
        let mut world = told();
        change(&mut world);
        assert_eq!(forced(&world), expected, "{name}: {:?}", crate::plan(&world, noon()).waves[1].findings);
    }
}

/// The tier's own grace period stays where it is shorter, and its notices are the ones that go out.
#[test]
fn the_shorter_of_two_periods_counts() {
    let period = |own: Option<Force>, days_left: i64| {
        let mut world = told();
        bronze(&mut world).force = own;
        expire(&mut world, "<1.1", -days_left);
        let wave = world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).cloned().unwrap();
        let shared = &mut crate::facts::Shared::count(&world, noon());
        let common = crate::facts::Common::of(&world, noon());
        let facts = Facts::new(&common, 0, shared);
        let force = force(&facts, &facts.policy.tiers[1], &wave, noon()).unwrap().into_owned();
        (force.after.as_hours() / 24, force.notice.len())
    };
    let own = |days: i64| Some(Force { after: SignedDuration::from_hours(days * 24), notice: vec![NOTICE[2]] });
    assert_eq!(period(None, 20), (20, 3));
    assert_eq!(period(own(10), 20), (10, 1));
    assert_eq!(period(own(30), 20), (20, 1));
    assert_eq!(period(own(30), -20), (0, 1), "past its date: as soon as people were told");
}

/// The first notice goes out as soon as it is due, and names why.
#[test]
fn people_are_told() {
    let mut world = told();
    edit(&mut world, |pull| pull.notices.clear());
    expire(&mut world, "<1.1", 1);
    let plan = crate::plan(&world, noon());
    assert!(matches!(&plan.actions[..], [Action::Notice { before, .. }] if *before == NOTICE[0]), "{:?}", plan.actions);
    assert_eq!(says_release(&world)[1], "1.0.0 is to be left by 2026-11-22T12:00:00Z: CVE-2026-1");
}

#[test]
fn what_people_should_leave_is_not_taken_and_is_said() {
    let opens = |change: fn(&mut Snapshot)| {
        let mut world = ready();
        change(&mut world);
        (merges(&crate::plan(&world, noon())), says_release(&world))
    };
    assert!(opens(|_| {}).0);
    let (merged, said) = opens(|w| w.policy.plugins[0].deprecated = "1.1.x".parse().ok());
    assert_eq!((merged, said[0].as_str()), (false, "1.1.0 is deprecated (`1.1.x`)"));
    let (merged, said) = opens(|w| expire(w, "1.1.x", 1));
    assert_eq!((merged, said[0].as_str()), (false, "1.1.0 is to be left by 2026-11-22T12:00:00Z: CVE-2026-1"));
    assert!(opens(|w| expire(w, "1.1.x", -1)).0, "until then it may be taken");
    // What runs on a tier that has nothing to take is said there.
    let (_, said) = opens(|w| {
        w.policy.plugins[0].deprecated = "1.x".parse().ok();
        facts(w).pulls = Read::Known(Vec::new());
        let page = w.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().pop();
    });
    assert!(said.contains(&"1.0.0 is deprecated (`1.x`)".into()), "{said:?}");
}

/// 1.0.0 came by force two hours ago, in the window of the day, and has expired by now, too.
#[test]
fn one_stop_a_window() {
    use crate::ledger::{ForceEvidence, Landed, Merging};
    use crate::window::{Range, Windows};
    let world = |by_force: bool| {
        let mut world = told();
        expire(&mut world, "<1.1", 1);
        let open = vec![Range { days: (1..=7).collect(), from: 6 * 60, to: 22 * 60 }];
        bronze(&mut world).windows = Some(Windows { open, ..Windows::always(jiff::tz::TimeZone::UTC) });
        let evidence = ForceEvidence {
            deadline: None,
            said: None,
            notices: Vec::new(),
            held: Vec::new(),
            waived: String::new(),
            policy: "cc".into(),
        };
        let merging =
            Merging { head: "dd".into(), at: ago(120), base: None, forced: Some(evidence).filter(|_| by_force) };
        let landed = Landed { at: ago(120), commit: None, by: None };
        let mut wave = Wave::begun(version("1.0.0"), vec!["bronze-1".into()].into(), ago(200));
        wave.merging = Some(merging);
        (*wave.rewrite().landed, *wave.rewrite().finished) = (Some(landed), Some(ago(90)));
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        let waves = page.tiers.get_mut(&"bronze".into()).unwrap();
        waves.retain(|wave| wave.version != version("1.0.0"));
        waves.insert(0, wave);
        world
    };
    assert!(forced(&world(false)), "what came with approvals is no stop of ours");
    let mut again = world(true);
    assert!(!forced(&again));
    assert!(says(&again, Gate::Grace).because.to_string().contains("1.0.0 was forced in this window already"));
    // The window closes at ten in the evening: from then on it is the next one that is waited for.
    let closes = at("2026-11-23T22:00:00Z");
    let stops = |now| says_at(&again, Gate::Grace, now).because.to_string().contains("was forced in this window");
    assert_eq!((stops(closes - SignedDuration::from_secs(1)), stops(closes)), (true, false));
    bronze(&mut again).windows = None;
    assert!(forced(&again), "where no window closes there is none to wait for");
}

/// What presses to leave what runs on bronze, asked directly.
fn presses(change: fn(&mut Snapshot), wave: fn(&mut Wave)) -> Option<Pressing> {
    let mut world = told();
    expire(&mut world, "<1.1", 1);
    change(&mut world);
    let mut climbs = world.ledger.plugins[&"app".into()].wave(&"bronze".into(), &version("1.1.0")).cloned().unwrap();
    wave(&mut climbs);
    let shared = &mut crate::facts::Shared::count(&world, noon());
    let common = crate::facts::Common::of(&world, noon());
    let facts = Facts::new(&common, 0, shared);
    pressing(&facts, &facts.policy.tiers[1], &climbs, ago(DAY))
}

#[test]
fn what_presses_on_nobody() {
    let by = |pressing: Option<Pressing>| pressing.map(|pressing| pressing.by);
    assert_eq!(by(presses(|_| {}, |_| {})), Some(ago(DAY)));
    assert_eq!(presses(|_| {}, |wave| wave.part.purpose = Purpose::Early), None, "who is ahead");
    let back: fn(&mut Wave) = |wave| wave.part.purpose = Purpose::RollBack { of: version("1.2.0") };
    assert_eq!(presses(|_| {}, back), None, "a way back");
    assert_eq!(presses(|_| {}, |wave| wave.version = version("1.1.0-rc.1")), None, "a pre-release");
    let there: fn(&mut Snapshot) = |w| {
        w.policy.plugins[0].expires[0].versions = "<2".parse().unwrap();
        facts(w).base = Read::Known([place("qa", "1.1.0"), place("bronze", "1.1.0")].into());
    };
    assert_eq!(presses(there, |_| {}), None, "what is there already is not left for itself");
}

/// Too many run: the grace period of the tier counts from the announcement, or thirty days.
#[test]
fn what_is_too_many_goes_after_the_grace_period() {
    let by = |own: fn(&mut Snapshot)| {
        let pressing = presses(own, |_| {});
        pressing.map(|pressing| pressing.by.duration_since(ago(DAY)).as_hours() / 24)
    };
    let too_many_run: fn(&mut Snapshot) = |w| {
        w.policy.plugins[0].expires.clear();
        w.policy.plugins[0].max_live = Some(1);
    };
    assert_eq!(by(too_many_run), Some(30));
    let own: fn(&mut Snapshot) = |w| {
        w.policy.plugins[0].expires.clear();
        w.policy.plugins[0].max_live = Some(1);
        bronze(w).force = Some(Force { after: SignedDuration::from_hours(10 * 24), notice: Vec::new() });
    };
    assert_eq!(by(own), Some(10));
    // Of the versions that run, only what is older than the newest ones is too many.
    let too_many = |text: &str, most: u32| {
        let mut world = told();
        world.policy.plugins[0].max_live = Some(most);
        let shared = &mut crate::facts::Shared::count(&world, noon());
        let common = crate::facts::Common::of(&world, noon());
        let facts = Facts::new(&common, 0, shared);
        crowded(&facts, &version(text)).is_some()
    };
    assert!(too_many("1.0.0", 1) && !too_many("1.1.0", 1) && !too_many("1.0.0", 2) && too_many("0.9.0", 2));
}

/// People read on a quiet tier what is deprecated there, also where nothing expires.
#[test]
fn what_is_deprecated_is_marked() {
    let marked = |change: &dyn Fn(&mut Snapshot)| {
        let mut world = ready();
        change(&mut world);
        let shared = &mut crate::facts::Shared::count(&world, noon());
        let common = crate::facts::Common::of(&world, noon());
        let facts = Facts::new(&common, 0, shared);
        marks(&facts, &facts.policy.tiers[1]).into_iter().map(|finding| finding.because.to_string()).collect::<Vec<_>>()
    };
    let deprecated = |text: &'static str| move |w: &mut Snapshot| w.policy.plugins[0].deprecated = text.parse().ok();
    assert_eq!(marked(&deprecated("<1.1")), ["1.0.0 is deprecated (`<1.1`)"]);
    assert_eq!(marked(&deprecated("<1.0")), [""; 0]);
    assert_eq!(marked(&|_| {}), [""; 0]);
    // Each of the three marks by itself.
    assert_eq!(marked(&|w| expire(w, "1.0.x", 1)), ["1.0.0 is to be left by 2026-11-22T12:00:00Z: CVE-2026-1"]);
    assert_eq!(marked(&|w| w.policy.plugins[0].max_live = Some(1)).len(), 1);
}
