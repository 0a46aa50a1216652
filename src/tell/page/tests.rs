//! What stands on a pull request in each state.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::fixture::{self, gates, put, wave};
use super::super::render;
use super::*;
use decide::PullNumber;
use decide::Verdict;
use decide::plan::MemberState;

fn shown(wave: &WaveReport) -> String {
    let view = fixture::view();
    body(&PullFacts::of(&view.plan, wave, &view.links, &[])).unwrap()
}

fn open(change: impl FnOnce(&mut WaveReport)) -> String {
    let state = WaveState::Open { pull: Some(PullNumber(12)), since: fixture::now() };
    let mut wave = wave("cert-manager", "silver", "1.15.0", "1.14.7", state);
    wave.findings = gates("bronze", "1.15.0");
    wave.grace = fixture::open().grace;
    change(&mut wave);
    shown(&wave)
}

fn has(text: &str, wanted: &[&str], not: &[&str]) {
    for wanted in wanted {
        assert!(text.contains(wanted), "`{wanted}` is not in\n{text}");
    }
    for not in not {
        assert!(!text.contains(not), "`{not}` is in\n{text}");
    }
}

/// What people are mailed is the text with which it is opened.
#[test]
fn who_is_mailed_at_the_opening_is_not_told_that_every_gate_passes() {
    let opening = open(|w| (w.state, w.pull, w.grace) = (WaveState::Waiting, None, None));
    has(&opening, &["**Just opened.** Who has to approve it"], &["Every gate passes"]);
}

#[test]
fn the_grace_sentence_is_there_while_nobody_has_approved() {
    let deadline = fixture::at("2026-11-30T08:12:00Z");
    let owners = || Reason::NeedsApproval { owners: Vec::new(), missing: 1 };
    let wait = Verdict::Wait { until: None };
    has(&open(|_| ()), &["**Every gate passes.**"], &["nobody approves", "Waiting for"]);
    let running = open(|w| {
        put(w, Gate::Approvals, wait, owners());
        put(w, Gate::Grace, wait, Reason::GraceRunning { deadline });
    });
    has(&running, &["**If nobody approves**", "Mon 30 Nov 2026, 09:12 CET", "14 d, 3 d and 1 d before"], &["will not"]);
    let blocked = open(|w| {
        put(w, Gate::Approvals, wait, owners());
        let by = Box::new(Reason::WindowClosed { whose: decide::reason::Scope::Tier });
        put(w, Gate::Grace, wait, Reason::ForceBlocked { by });
    });
    has(&blocked, &["**The grace period ended on Mon 30 Nov 2026", "**Not yet:** the grace period is over, but"], &[]);
    let waived = open(|w| put(w, Gate::Approvals, Verdict::Waived { since: deadline }, owners()));
    has(&waived, &["The grace period ended on", "Every gate passes"], &["If nobody approves"]);
    let off = open(|w| {
        put(w, Gate::Approvals, wait, owners());
        put(w, Gate::Grace, wait, Reason::LedgerOpen { why: "anybody can push".to_string() });
    });
    has(&off, &["If nobody approves", "**As things stand it will not:** nothing is forced"], &[]);
    let none = open(|w| {
        w.grace = None;
        put(w, Gate::Approvals, wait, owners());
    });
    has(&none, &["waits for an approval by somebody with write access"], &["nobody approves"]);
}

#[test]
fn what_stops_it_stands_first() {
    let held = open(|w| {
        let why = Reason::Held { by: "bob".into(), why: "the audit".to_string() };
        put(w, Gate::Hold, Verdict::Wait { until: None }, why);
    });
    assert!(held.starts_with("> 🔴 **Held by bob: the audit.**"), "{held}");
    has(&held, &["`/coldframe resume`"], &["Every gate passes"]);
    let at = fixture::now();
    let rejected = WaveState::Rejected { at, by: Some("alice".into()), pull: PullNumber(12) };
    let rejected = open(|w| w.state = rejected);
    assert!(
        rejected.starts_with("> ⛔ **Rejected since Sat 21 Nov 2026, 09:14 CET.** alice closed `#12`"),
        "{rejected}"
    );
    has(&rejected, &["1.15.0 does not go to silver"], &["close this pull request", "nobody approves"]);
    let superseded = WaveState::Superseded { at, by: fixture::version("1.15.1") };
    assert!(open(|w| w.state = superseded).starts_with("> ⏩ **Superseded since"));
    has(&shown(&fixture::held()), &["0.12.1 is on bronze now and may overtake it."], &[]);
}

#[test]
fn between_two_slices_the_last_pull_request_says_what_the_next_one_waits_for() {
    let between = |because: Reason, gate: Gate| {
        let mut wave = fixture::soaking();
        let verdict = Verdict::Wait { until: Some(fixture::at("2026-11-21T09:14:00Z")) };
        wave.findings.push(Finding { gate, verdict, because });
        shown(&wave)
    };
    let verifying = Reason::Verifying { workflow: "smoke.yml".to_string() };
    let text = between(verifying, Gate::Verification);
    has(&text, &["**verification**: smoke.yml verifies what has moved, until **Sat 21 Nov 2026, 10:14 CET**"], &[]);
    has(&between(Reason::NeedsResume, Gate::Hold), &["**hold**: the next slice waits", "`/coldframe resume`"], &[]);
    has(&shown(&fixture::soaking()), &["**Merged.**"], &["Waiting for"]);
}

#[test]
fn the_text_moves_only_with_the_world() {
    let mut later = fixture::soaking();
    let before = shown(&later);
    if let WaveState::Soaking { healthy_for, until, .. } = &mut later.state {
        *healthy_for += jiff::SignedDuration::from_mins(5);
        *until += jiff::SignedDuration::from_mins(5);
    }
    assert_eq!(shown(&later), before, "a soak that goes on");
    let mut landed = fixture::forced();
    has(&shown(&landed), &["**Merged.** 5 of its 8 clusters are healthy on this version. Not yet: us-g1 is "], &[]);
    landed.members.change(3, |member| member.state = MemberState::Healthy { since: None });
    has(&shown(&landed), &["**Merged.** 6 of its 8 clusters"], &[]);
}

#[test]
fn steps_are_named_by_their_numbers() {
    for (from, to, wanted) in [
        (None, "1.0.0", "First install"),
        (Some("1.14.7"), "1.15.0", "Minor release"),
        (Some("1.14.7"), "2.0.0", "Major release"),
        (Some("v1.14.7"), "1.14.8", "Patch release"),
        (Some("1.15.0-rc.1"), "1.15.0-rc.2", "Newer pre-release"),
        (Some("1.15.0-rc.1"), "1.15.0", "Release of a pre-release that runs here"),
        (Some("1.15.0"), "1.14.7", "Step back to an older version"),
        (Some("1.15.0"), "1.15.0+b2", "The same version again"),
    ] {
        let from = from.map(fixture::version);
        assert_eq!(words::step(from.as_ref(), &fixture::version(to)), wanted, "{from:?} {to}");
    }
}

#[test]
fn many_clusters_are_folded() {
    let few = open(|_| ());
    has(&few, &["4 (eu-1, eu-2, us-1, ap-1)"], &["<details>"]);
    let many = open(|w| {
        w.members = (0..400)
            .map(|n| decide::plan::Member {
                cluster: format!("c{n}").as_str().into(),
                state: decide::plan::MemberState::NotAsked,
            })
            .collect();
    });
    has(&many, &["| 400 |", "<summary>The 400 clusters</summary>", "`c299`", "and 100 more"], &["`c300`"]);
}

#[test]
fn a_rollback_says_why_what_and_how_to_stop_it() {
    let why = Reason::MembersFailed { members: Vec::new(), tolerated: 0 };
    let rollback = |w: &mut WaveReport| {
        (w.version, w.from) = (Some("1.14.7".parse().unwrap()), Some("1.15.0".parse().unwrap()));
        w.rollback_of = Some("1.15.0".parse().unwrap());
        w.grace = None;
        let of = "1.15.0".parse().unwrap();
        put(w, Gate::Release, Verdict::Pass, Reason::RollsBack { of, why: Box::new(why.clone()) });
    };
    let text = open(rollback);
    has(
        &text,
        &[
            "**This takes 1.15.0 back.** It failed on silver: ",
            "it restores 1.14.7, which ran there before",
            "1.15.0 then stays on silver until a newer release comes",
            "`/coldframe hold <why>`",
            "Step back to an older version",
        ],
        &["That is a no to 1.14.7"],
    );
    let mut wave = fixture::open();
    rollback(&mut wave);
    assert_eq!(title(&wave), "cert-manager 1.14.7 → silver (rollback of 1.15.0)");
}

#[test]
fn what_is_not_proved_is_marked_loudly() {
    let at = fixture::now();
    let after = decide::model::Soak::default().min + jiff::SignedDuration::from_hours(168);
    let through = |w: &mut WaveReport| {
        let members = Vec::new();
        put(w, Gate::Limits, Verdict::Waived { since: at }, Reason::SoakOverdue { after, members });
        w.state = WaveState::Finished { at };
    };
    has(&open(through), &["> ⚠️ Not proved: let through after 7 d"], &[]);
    let below = open(|w| {
        let because = Reason::TierBelowLetThrough { tier: "bronze".into(), version: "1.15.0".parse().unwrap() };
        put(w, Gate::TierBelow, Verdict::Waived { since: at }, because);
    });
    has(&below, &["> ⚠️ Not proved: 1.15.0 has left bronze though"], &[]);
    let hotfix = open(|w| {
        let closed = Box::new(Reason::WindowClosed { whose: decide::reason::Scope::Tier });
        let because = Reason::HotfixThroughWindows { why: "CVE-2026-1".to_string(), closed };
        put(w, Gate::Window, Verdict::Waived { since: at }, because);
    });
    has(&hotfix, &["> ⚠️ Let through: a hotfix (CVE-2026-1), though the window"], &["Not proved"]);
    let elsewhere = open(|w| {
        let why = Reason::FailedBy { by: "pat".into(), why: "no logins".to_string() }.into();
        let (version, tier) = ("1.15.0".parse().unwrap(), "bronze".into());
        put(w, Gate::Release, Verdict::Fail, Reason::ReleaseHeld { version, tier, why });
        w.state = WaveState::Finished { at };
    });
    has(&elsewhere, &["> ⚠️ It stays here and goes no further: 1.15.0 failed on bronze: pat says"], &[]);
    let newer = open(|w| {
        let to = "1.16.0".parse().unwrap();
        let because = Reason::EdgeBlocked { from: None, to, why: "CRD migration".to_string(), fixed_in: None };
        put(w, Gate::Release, Verdict::Fail, because);
        w.state = WaveState::Finished { at };
    });
    has(&newer, &[], &["goes no further"]);
}

#[test]
fn files_that_are_added_are_said() {
    let mut view = fixture::view();
    let tier = view.links.tiers.get_mut(&("cert-manager".into(), "silver".into())).unwrap();
    let state = WaveState::Open { pull: Some(PullNumber(12)), since: fixture::now() };
    let mut wave = wave("cert-manager", "silver", "1.15.0", "1.14.7", state);
    let own = wave.members.clusters().first().unwrap().clone();
    let file = |name: &str| (format!("clusters/{name}.yaml"), Some(decide::ClusterName::from(name)));
    tier.vacant = vec![file(own.as_str()), file("elsewhere")];
    let text = |wave: &WaveReport| body(&PullFacts::of(&view.plan, wave, &view.links, &[])).unwrap();
    let said = format!("First install on `{own}`: it adds `clusters/{own}.yaml`.");
    has(&text(&wave), &["**Minor release**.", &said], &["elsewhere"]);
    wave.from = None;
    has(&text(&wave), &["**First install**.", &format!("It adds `clusters/{own}.yaml`.")], &["First install on"]);
    wave.state = WaveState::Finished { at: fixture::now() };
    has(&text(&wave), &[], &["adds"]);
}

/// Else it would be rewritten for as long as its release climbs.
#[test]
fn what_has_finished_a_tier_says_nothing_of_the_tiers_above() {
    let view = fixture::view();
    let of = |tier: &str| {
        let waves = &view.plan.waves;
        let wave =
            waves.iter().find(|wave| wave.plugin.as_str() == "cert-manager" && wave.tier.as_str() == tier).unwrap();
        body(&PullFacts::of(&view.plan, wave, &view.links, &[])).unwrap()
    };
    has(&of("bronze"), &["| qa |", "| bronze |", "It goes on from here"], &["| silver |", "| gold |"]);
    has(&of("silver"), &["| bronze |", "| silver |", "| gold |"], &["It goes on from here"]);
}

/// Nothing that people need is lost by an order of the policy's own, in whatever state the wave is.
#[test]
fn the_policys_order_has_what_the_bots_order_has() {
    use crate::policy::wiring::{Body, Piece, Section};
    let (order, view) = ([Section::Help, Section::Status, Section::Summary], fixture::view());
    let pieces = order.into_iter().map(Piece::Section);
    let pieces = [Piece::Text("Hello {plugin}, {tier}, {version}.".to_string())].into_iter().chain(pieces);
    let own = Body { written: String::new(), pieces: pieces.collect() };
    for wave in [fixture::open(), fixture::held(), fixture::soaking(), fixture::forced()] {
        let facts = PullFacts::of(&view.plan, &wave, &view.links, &[]);
        let page = Page::of(&facts);
        let text = body(&PullFacts { body: Some(&own), ..facts }).unwrap();
        let hello = format!("Hello {}, {}, {}.\n\n", wave.plugin, wave.tier, wave.version.as_ref().unwrap());
        assert!(text.starts_with(&hello), "{text}");
        for name in ["pull/summary", "pull/status", "pull/help", "pull/forced"] {
            let section = render::markdown(name, &page).unwrap();
            assert!(text.contains(section.trim()), "{name} is not in\n{text}");
        }
        assert!(!text.contains("### The climb"), "{text}");
    }
}
