//! What Microsoft's own parser of Adaptive Cards makes of a message for Teams.

use coldframe::policy::wiring::Event;
use coldframe::tell::Links;
use coldframe::tell::notify::{News, teams};
use decide::PullNumber;
use serde_json::{Value, json};

use crate::peers::{node, script};

#[test]
fn a_card_for_teams_shows_what_it_says_and_nothing_comes_alive() {
    let news = |pull: Option<PullNumber>, text: &str| News {
        event: Event::Failed,
        plugin: "loki".into(),
        tier: "gold".into(),
        version: "1.2.0".parse().unwrap(),
        at: None,
        pull,
        text: text.to_owned(),
    };
    let hostile = "has failed: [free](https://evil.example) **now** <b>{{DATE(2026-11-29T00:00:00Z)}}</b>";
    let all = [news(Some(PullNumber(7)), hostile), news(None, "does not go on")];
    let links = Links { repo: "https://hub.example/acme/fleet".to_owned(), ..Links::default() };
    let message: Value = serde_json::from_str(&teams(&all.each_ref(), &links)).unwrap();
    let read = script(node(), "card.cjs", &message);
    let texts = [format!("loki 1.2.0 on gold {hostile}"), "loki 1.2.0 on gold does not go on".to_owned()];
    let kind = "application/vnd.microsoft.card.adaptive";
    assert_eq!(read, json!({"kind": kind, "complaints": [], "texts": texts}));
}
