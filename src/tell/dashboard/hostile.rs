//! Foreign text on every page of the dashboard: it adds no tag, and hides nothing (`docs/attacks.md`, A35).
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use decide::ledger::Hotfixed;
use decide::model::Hotfix;
use decide::plan::Pinned;
use decide::{PluginName, PullNumber};

use super::*;
use crate::tell::ReleaseNote;
use crate::tell::fixture::{self, HOSTILE};
use crate::tell::hostile::{characters, view};

/// The tags of a page, without their text, and without the blocks that are there for text of several lines.
fn tags(html: &str) -> Vec<String> {
    let tags = html.split('<').skip(1).map(|tag| tag.split('>').next().unwrap());
    let tags = tags.map(|tag| tag.split([' ', '\n']).next().unwrap().to_string());
    tags.filter(|tag| tag.trim_start_matches('/') != "pre").collect()
}

/// Every page of the dashboard with the text wherever it can get to, asked for with it as the filter.
fn pages(text: &str) -> String {
    let (now, silver) = (fixture::now(), "silver".into());
    let mut view = view(text);
    let plugin = PluginName::from("cert-manager");
    let page = view.pages.entry(plugin.clone()).or_default();
    let hotfix =
        Hotfix { version: fixture::version("1.15.0"), why: text.to_string(), soak: None, through_windows: false };
    page.hotfixes.push(Hotfixed { hotfix, by: text.into(), at: now, pull: PullNumber(7) });
    let note = ReleaseNote {
        page: Some(text.to_string()),
        ..fixture::note("1.15.0", text, Some(fixture::differences_that_say(text)))
    };
    view.notes.insert((plugin.clone(), fixture::version("1.15.0")), note);
    for wave in &mut view.plan.waves {
        let pin = Pinned { cluster: text.into(), version: None, until: None, why: text.to_string() };
        wave.pinned = vec![pin];
    }
    let state = DashboardState { views: vec![Arc::new(view.clone())], person: None };
    let asked = Filter { q: text.to_string(), plugin: text.to_string(), state: text.to_string(), ..Filter::default() };
    let mut pages = vec![
        dashboard(&state, &Filter::default(), now),
        dashboard(&state, &asked, now),
        repository_page(&view, &Filter::default(), now),
        tier_page(&view, &silver, &Filter::default(), now),
        tier_page(&view, &silver, &asked, now),
        plugin_page(&view, &plugin, now),
        release_page(&view, &plugin, &fixture::version("1.15.0"), now),
    ];
    for plugin in ["cert-manager", "trust-manager"] {
        pages.push(wave_page(&view, &plugin.into(), &silver, true, now));
        pages.push(plugin_page(&view, &plugin.into(), now));
    }
    pages.into_iter().map(Result::unwrap).collect()
}

#[test]
fn pages_keep_their_tags_whatever_the_data_say() {
    let plain = tags(&pages("plain"));
    for text in HOSTILE {
        let page = pages(text);
        assert_eq!(tags(&page), plain, "{text:?}");
        let mut hidden = Vec::new();
        characters(&page, &mut hidden);
        assert_eq!(hidden, Vec::<String>::new(), "{text:?}");
    }
    assert!(!pages("plain").contains("style=") && !pages("plain").contains("onclick"), "nothing inline (CSP)");
}
