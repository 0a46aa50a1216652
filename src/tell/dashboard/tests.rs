//! What the pages show of a fleet, what a filter leaves, and how large they are.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use decide::ledger::{Landed, Seen, Wave};
use decide::plan::{Member, MemberState, WaveReport};
use decide::reason::MemberTrouble;

use super::*;
use crate::tell::fixture::{self, now};

/// The fixture's six plugins so many times.
fn fleet(copies: usize) -> View {
    let mut view = fixture::view();
    let waves = view.plan.waves.clone();
    let copy = |copy: usize| {
        waves
            .iter()
            .cloned()
            .map(move |wave| WaveReport { plugin: format!("{}-{copy}", wave.plugin).as_str().into(), ..wave })
    };
    view.plan.waves = (0..copies).flat_map(copy).collect();
    view
}

fn ladder(view: &View, filter: &Filter) -> String {
    let state = DashboardState { views: vec![Arc::new(view.clone())], person: None };
    dashboard(&state, filter, now()).unwrap()
}

fn rows(page: &str) -> Vec<&str> {
    let names = page.split("<th scope=\"row\"><a href=\"./acme/fleet/plugins/").skip(1);
    names.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn a_thousand_plugins_come_in_pages_and_what_is_held_comes_first() {
    let view = fleet(167);
    let pages: Vec<String> =
        (1..=6).map(|page| ladder(&view, &Filter { page: Some(page), ..Filter::default() })).collect();
    let all: Vec<&str> = pages.iter().flat_map(|page| rows(page)).collect();
    assert_eq!(pages.iter().map(|page| rows(page).len()).collect::<Vec<_>>(), [200, 200, 200, 200, 200, 2]);
    let at = |name: &str| all.iter().position(|row| *row == name).unwrap();
    assert!(at("trust-manager-0") < at("cert-manager-0") && at("cert-manager-166") < at("velero-0"));
    assert!(pages[0].contains("Rows 1 to 200 of 1002") && pages[0].contains("href=\"?page&#x3D;2\" rel=\"next\""));
    assert!(pages[5].contains("Rows 1001 to 1002 of 1002") && !pages[5].contains("rel=\"next\""));
    assert_eq!(ladder(&view, &Filter { page: Some(99), ..Filter::default() }), pages[5]);
    assert_eq!(ladder(&view, &Filter { page: Some(0), ..Filter::default() }), pages[0]);
}

#[test]
fn a_filter_leaves_what_it_names() {
    let view = fixture::view();
    let left = |filter: Filter| {
        let page = ladder(&view, &filter);
        rows(&page).into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let of = || Filter::default();
    assert_eq!(left(Filter { plugin: "loki".into(), ..of() }), ["loki"]);
    assert_eq!(left(Filter { state: "failed".into(), ..of() }), ["trust-manager"]);
    assert_eq!(left(Filter { state: "soaking".into(), tier: "bronze".into(), ..of() }), ["ingress-nginx"]);
    assert_eq!(left(Filter { state: "soaking".into(), tier: "gold".into(), ..of() }), Vec::<String>::new());
    assert_eq!(left(Filter { needs: "person".into(), ..of() }), ["trust-manager", "cert-manager"]);
    assert_eq!(left(Filter { q: "@ACME/platform".into(), ..of() }), ["cert-manager"], "what it waits for");
    assert_eq!(left(Filter { q: "7.1.1".into(), ..of() }), ["velero"]);
    let nothing = ladder(&view, &Filter { q: "nowhere".into(), ..of() });
    assert!(nothing.contains("Nothing is like that now") && nothing.contains("value=\"nowhere\""));
    let gold = ladder(&view, &Filter { tier: "gold".into(), ..of() });
    assert_eq!((gold.matches("<td class=").count(), rows(&gold).len()), (6, 6), "its column alone");
    assert!(gold.contains("<option selected>gold</option>"));
}

#[test]
fn the_clusters_of_a_tier_stand_as_they_stand_worst() {
    let view = fixture::view();
    let tier = |filter: Filter| tier_page(&view, &"silver".into(), &filter, now()).unwrap();
    let page = tier(Filter::default());
    assert!(page.contains("4 clusters, each by its worst state"), "{page}");
    let failed = page.find("1 failed").unwrap();
    assert!(failed < page.find("3 healthy").unwrap(), "those that need somebody first");
    assert!(page.contains("given up by its controller") && page.contains("UpgradeFailed"));
    let healthy = tier(Filter { state: "healthy".into(), ..Filter::default() });
    assert!(!healthy.contains("data-key=\"failed\"") && !healthy.contains("class=\"troubled\""), "{healthy}");
    assert!(tier(Filter { q: "eu-9".into(), ..Filter::default() }).contains("None is like that now"));
}

#[test]
fn what_happened_is_told_with_its_release_and_its_tier() {
    let page = plugin_page(&fixture::noted(), &"cert-manager".into(), now()).unwrap();
    let text: String = page.split(['<', '>']).step_by(2).collect();
    assert!(text.contains("1.15.0 on silver: pull request #12 was opened"), "{text}");
    let (opened, seen) = (text.find("#12 was opened").unwrap(), text.find("1.15.0: first seen at its source").unwrap());
    assert!(opened < seen, "the newest first");
    let release = release_page(&fixture::noted(), &"cert-manager".into(), &fixture::version("1.14.7"), now()).unwrap();
    let text: String = release.split(['<', '>']).step_by(2).collect();
    assert!(text.contains("first seen at its source") && !text.contains("#12"), "{text}");
}

/// 200 plugins on four tiers, 2,000 clusters, each plugin on all of them, a past of fifty releases.
fn large() -> View {
    let mut view = fleet(34);
    view.plan.waves.truncate(800);
    let trouble = |name: &str| MemberTrouble {
        cluster: name.into(),
        what: "degraded".to_string(),
        evidence: "HelmRelease trust-manager/trust-manager: UpgradeFailed, timed out waiting for the condition"
            .to_string(),
        since: Some(now()),
    };
    let state = |number: usize, name: &str| match number % 10 {
        0 => MemberState::Degraded(trouble(name)),
        _ => MemberState::Healthy { since: Some(now()) },
    };
    let member = |number: usize| {
        let name = format!("prod-eu-west-{number:04}");
        Member { state: state(number, &name), cluster: name.as_str().into() }
    };
    let members: decide::plan::Members = (0..2_000).map(member).collect();
    for wave in view.plan.waves.iter_mut().filter(|wave| !wave.members.is_empty()) {
        wave.members = members.clone();
    }
    let plugin = view.plan.waves[0].plugin.clone();
    let page = view.pages.entry(plugin).or_default();
    for number in 0..50 {
        let version = fixture::version(&format!("4.{number}.0"));
        page.releases.push(Seen { version: version.clone(), digest: None, first_seen: now() });
        for tier in ["qa", "bronze", "silver", "gold"] {
            let mut wave = Wave::begun(version.clone(), members.clusters().into(), now());
            *wave.rewrite().landed = Some(Landed { at: now(), commit: None, by: Some("maria".into()) });
            *wave.rewrite().finished = Some(now());
            page.tiers.entry(tier.into()).or_default().push(wave);
        }
    }
    view
}

#[test]
fn no_page_of_a_large_fleet_has_more_than_300_kilobytes() {
    let view = large();
    let plugin = view.plan.waves[0].plugin.clone();
    let version = fixture::version("4.49.0");
    let wave = view.plan.waves.iter().find(|wave| !wave.findings.is_empty()).unwrap();
    let none = Filter::default();
    for (name, page) in [
        ("ladder", ladder(&view, &none)),
        ("repository", repository_page(&view, &none, now()).unwrap()),
        ("plugin", plugin_page(&view, &plugin, now()).unwrap()),
        ("tier", tier_page(&view, &"silver".into(), &none, now()).unwrap()),
        ("wave", wave_page(&view, &wave.plugin, &wave.tier, true, now()).unwrap()),
        ("release", release_page(&view, &plugin, &version, now()).unwrap()),
    ] {
        assert!(page.len() > 2_000 && page.len() < 300_000, "{name}: {} bytes", page.len());
    }
}
