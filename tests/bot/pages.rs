//! The dashboard of the running bot: addresses that stay, and pages that hear of what changes.

use std::time::{Duration, Instant};

use reqwest::redirect::Policy;
use reqwest::{Client, Response};

use crate::support::{REPOSITORY, Stage, is_open};

const PLUGIN: &str = "cert-manager";

fn address(stage: &Stage, path: &str) -> String {
    format!("http://{}{path}", stage.world.settings().dashboard)
}

/// The next number that a listener is told; none where its line has ended.
async fn told(line: &mut Response) -> Option<String> {
    loop {
        let piece = line.chunk().await.ok()??;
        let text = String::from_utf8(piece.to_vec()).unwrap();
        if let Some(number) = text.lines().find_map(|line| line.strip_prefix("data: ")) {
            return Some(number.to_string());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_an_address_and_older_ones_lead_there() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let client = Client::builder().redirect(Policy::none()).build().unwrap();
    let get = async |path: &str| client.get(address(&stage, path)).send().await.unwrap();
    let at = |rest: &str| format!("/{REPOSITORY}{rest}");
    let begun = Instant::now();
    // The pages show what was seen before the last deeds.
    while !get(&at("/plugins/cert-manager/tiers/bronze")).await.text().await.unwrap().contains("pull request #") {
        assert!(begun.elapsed().as_secs() < 60, "{}", stage.logged());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for (path, says) in [
        ("/".to_string(), "needs a person"),
        ("/?state=open".to_string(), PLUGIN),
        (at(""), "On GitHub"),
        (at("?q=cert&needs=person"), PLUGIN),
        (at("/plugins/cert-manager"), "1.15.0</a>: first seen at its source"),
        (at("/plugins/cert-manager/releases/1.15.0"), "What is different beside"),
        (at("/tiers/qa"), "healthy"),
        (at("/tiers/qa?state=healthy&q=qa"), "proved to run what it should"),
    ] {
        let answer = get(&path).await;
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status == 200 && text.contains(says), "{path}: {status}\n{text}");
    }
    for path in [
        at("/plugins/nobody"),
        at("/plugins/cert-manager/tiers/iron"),
        at("/plugins/cert-manager/releases/9.9.9"),
        at("/plugins/cert-manager/releases/none"),
        at("/tiers/iron"),
        at("/plugins"),
        "/acme/nothing".to_string(),
        "/wave?repository=acme%2Fnothing&plugin=cert-manager&tier=qa".to_string(),
    ] {
        assert_eq!(get(&path).await.status(), 404, "{path}");
    }
    let old = get("/wave?repository=acme%2Ffleet&plugin=cert-manager&tier=qa").await;
    assert_eq!(old.status(), 308);
    assert_eq!(old.headers()["location"], "./acme/fleet/plugins/cert-manager/tiers/qa");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_page_hears_of_a_change_and_keeps_no_server_from_stopping() {
    let stage = Stage::set().await;
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let listen = async || reqwest::get(address(&stage, "/events")).await.unwrap();
    let mut line = listen().await;
    assert_eq!(line.headers()["content-type"], "text/event-stream");
    let mut last = told(&mut line).await.unwrap();
    stage.world.github().approve(REPOSITORY, pull.number, "maria").unwrap();
    let begun = Instant::now();
    loop {
        // A line ends by itself after a while, and a page begins another.
        let Some(number) = told(&mut line).await else {
            line = listen().await;
            continue;
        };
        let page = reqwest::get(address(&stage, "/acme/fleet/plugins/cert-manager/tiers/bronze")).await.unwrap();
        if number != last && page.text().await.unwrap().contains("it landed on the base branch") {
            break;
        }
        last = number;
        assert!(begun.elapsed().as_secs() < 90, "nobody was told of the merge\n{}", stage.logged());
    }
    let mut line = listen().await;
    assert!(told(&mut line).await.is_some());
    let begun = Instant::now();
    let stopped = tokio::task::spawn_blocking(move || bot.stop());
    while told(&mut line).await.is_some() {}
    assert!(begun.elapsed() < Duration::from_secs(5), "the line stays open for {:?}", begun.elapsed());
    let ended = stopped.await.unwrap();
    assert!(ended.success() && begun.elapsed() < Duration::from_secs(15), "{ended} after {:?}", begun.elapsed());
}
