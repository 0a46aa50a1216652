//! Servers on loopback that speak HTTP: what is sent to them, and what is made of what they answer. A real
//! Prometheus is asked in `tests/peers`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use decide::ledger::{Landed, Wave};
use decide::snapshot::Health;
use decide::{PluginLedger, Version};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::clock;
use crate::observe::tests::others::{metrics, page};

/// An answer.
type Say = fn() -> Response;

/// What a server answers to everything, and what it was asked.
#[derive(Clone)]
struct Server {
    answer: Say,
    asked: Arc<Mutex<Vec<(Uri, HeaderMap)>>>,
}

async fn serve(answer: Say) -> (String, Server) {
    async fn told(State(server): State<Server>, uri: Uri, headers: HeaderMap) -> Response {
        server.asked.lock().unwrap().push((uri, headers));
        (server.answer)()
    }
    let server = Server { answer, asked: Arc::default() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let router = Router::new().fallback(told).with_state(server.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (host, server)
}

fn whose(cluster: &str) -> Whose {
    Whose { plugin: "loki".into(), tier: "gold".into(), cluster: cluster.into() }
}

fn ago(minutes: i64) -> Timestamp {
    clock::now() - SignedDuration::from_mins(minutes)
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// 1.1.0 landed everywhere long ago, 1.2.0 an hour ago on `eu-1`.
fn ledger() -> Ledger {
    let wave = |version: Version, members: &[&str], minutes| {
        let members: Vec<decide::ClusterName> = members.iter().map(|name| (*name).into()).collect();
        let landed = Some(Landed { at: ago(minutes), commit: None, by: None });
        let mut wave = Wave::begun(version, members.into(), ago(minutes));
        *wave.rewrite().landed = landed;
        wave
    };
    let waves = vec![wave(version("1.1.0"), &["eu-1", "eu-2", "eu-3"], 10_000), wave(version("1.2.0"), &["eu-1"], 60)];
    let page = PluginLedger { tiers: [("gold".into(), waves)].into(), ..PluginLedger::default() };
    Ledger { plugins: [("loki".into(), page)].into(), ..Ledger::default() }
}

fn helm(cluster: &str, runs: &str) -> (Whose, Reading) {
    let reading = Reading {
        signal: "HelmRelease loki/loki".to_string(),
        health: Health::Healthy,
        running: Some(version(runs)),
        attempted: None,
        digest: None,
        observed_at: clock::now(),
        since: Some(ago(59)),
        evidence: String::new(),
    };
    (whose(cluster), reading)
}

/// A query, or a page where the settings are of one.
fn question(settings: &Value, cluster: &str) -> About {
    match settings.get("query") {
        Some(_) => About::Metrics(Arc::new(metrics(settings, cluster).unwrap())),
        None => About::Page(Arc::new(page(settings, cluster).unwrap())),
    }
}

/// Asks about clusters, each with settings and what Helm says to run there.
async fn ask(asks: &[(&str, &str, Value)], secrets: &Secrets, allow: &[String]) -> Vec<Reading> {
    let net = Net::new(allow.to_vec()).unwrap();
    let reach = Reach { net: &net, secrets, repository: 7 };
    let readings: Vec<(Whose, Reading)> = asks.iter().map(|(cluster, runs, _)| helm(cluster, runs)).collect();
    let asks: Vec<Ask> = asks
        .iter()
        .map(|(cluster, _, settings)| Ask {
            whose: whose(cluster),
            index: 1,
            dated: true,
            fresh: SignedDuration::from_mins(2),
            about: question(settings, cluster),
        })
        .collect();
    let order: Vec<Whose> = asks.iter().map(|ask| ask.whose.clone()).collect();
    let ledger = ledger();
    let known = (Some(&ledger), &mut Memory::default());
    let mut answers = answers(&reach, asks, &readings, known, clock::now()).await;
    answers.sort_by_key(|(whose, _)| order.iter().position(|one| one == whose));
    answers.into_iter().map(|(_, reading)| reading).collect()
}

fn settings(host: &str) -> Value {
    json!({"url": format!("http://{host}/prom/"), "query": "up{c=\"{{cluster}}\",v=\"{{version}}\"}", "expect": ">= 1"})
}

async fn alone(host: &str, settings: Value) -> Reading {
    ask(&[("eu-1", "1.2.0", settings)], &Secrets::default(), &[host.to_string()]).await.remove(0)
}

fn now(value: &str) -> Value {
    let at = clock::now().as_second();
    json!({"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [at, value]}]}})
}

fn one() -> Response {
    now("1").to_string().into_response()
}

#[tokio::test]
async fn a_query_about_the_version_that_others_prove() {
    let (host, server) = serve(one).await;
    let reading = alone(&host, settings(&host)).await;
    assert_eq!(reading.health, Health::Healthy, "{}", reading.evidence);
    assert_eq!(reading.running, Some(version("1.2.0")));
    assert_eq!(reading.signal, format!("Prometheus {host}"));
    let asked = server.asked.lock().unwrap().remove(0).0;
    assert_eq!(asked.path(), "/prom/api/v1/query");
    let url = url::Url::parse(&format!("http://x{asked}")).unwrap();
    let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    assert_eq!(query[0], ("query".to_string(), "up{c=\"eu-1\",v=\"1.2.0\"}".to_string()));
    assert_eq!(query[1], ("lookback_delta".to_string(), "300s".to_string()));
}

#[tokio::test]
async fn what_is_no_whole_answer_is_unknown_and_says_why() {
    let cases: [(Say, &str); 7] = [
        (|| "<html>".into_response(), "no JSON"),
        (|| Redirect::temporary("http://127.0.0.1:1/").into_response(), "it leads elsewhere (307"),
        (|| StatusCode::UNAUTHORIZED.into_response(), "not allowed (401"),
        (|| (StatusCode::BAD_GATEWAY, now("1").to_string()).into_response(), "it answered with 502"),
        (|| "x".repeat(5 << 20).into_response(), "more than 4194304 bytes"),
        (|| json!({"status": "success"}).to_string().into_response(), "no numbers"),
        (
            || json!({"status": "success", "data": {"resultType": "vector", "result": []}}).to_string().into_response(),
            "no data",
        ),
    ];
    for (answer, words) in cases {
        let (host, _) = serve(answer).await;
        let reading = alone(&host, settings(&host)).await;
        assert_eq!((reading.health, reading.running), (Health::Unknown, None), "{words}");
        assert!(reading.evidence.contains(words), "{}", reading.evidence);
    }
    let (host, _) = serve(|| {
        let body = json!({"status": "error", "errorType": "bad_data", "error": "parse error"}).to_string();
        (StatusCode::BAD_REQUEST, body).into_response()
    })
    .await;
    let reading = alone(&host, settings(&host)).await;
    assert!(reading.evidence.contains("400 Bad Request: bad_data: parse error"), "{}", reading.evidence);
}

#[tokio::test]
async fn a_host_that_nobody_allowed_is_not_asked() {
    let (host, server) = serve(one).await;
    let reading = ask(&[("eu-1", "1.2.0", settings(&host))], &Secrets::default(), &[]).await.remove(0);
    assert_eq!(reading.health, Health::Unknown);
    assert!(reading.evidence.contains("plain http"), "{}", reading.evidence);
    assert!(server.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn one_that_is_down_is_unknown_for_every_cluster() {
    let asks = ["eu-2", "eu-3"].map(|cluster| (cluster, "1.1.0", settings("127.0.0.1:1")));
    for reading in ask(&asks, &Secrets::default(), &["127.0.0.1:1".to_string()]).await {
        assert_eq!(reading.health, Health::Unknown, "{}", reading.evidence);
    }
}

#[tokio::test]
async fn headers_of_the_operator_reach_the_host_beside_them_and_no_text() {
    let (host, server) = serve(one).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("7")).unwrap();
    let text = format!("http://{host}/{{cluster}}\nAuthorization: Bearer hush-hush\nX-Scope-OrgID: acme\n");
    std::fs::write(folder.path().join("7/PROM_EU"), text).unwrap();
    let secrets = Secrets::new(Some(folder.path().to_path_buf()), false);
    let settings = |name: &str| json!({"secret": name, "query": "up", "expect": ">= 1"});
    let found = ask(&[("eu-1", "1.2.0", settings("PROM_EU"))], &secrets, std::slice::from_ref(&host)).await.remove(0);
    assert_eq!((found.health, found.signal.as_str()), (Health::Healthy, "Prometheus PROM_EU"), "{}", found.evidence);
    let (uri, headers) = server.asked.lock().unwrap().remove(0);
    assert_eq!(uri.path(), "/eu-1/api/v1/query");
    assert_eq!(
        (&headers["authorization"], &headers["x-scope-orgid"]),
        (&"Bearer hush-hush".parse().unwrap(), &"acme".parse().unwrap())
    );
    // Where it is not allowed, the error names no address.
    let found = ask(&[("eu-1", "1.2.0", settings("PROM_EU"))], &secrets, &[]).await.remove(0);
    assert!(found.evidence.contains("plain http") && !found.evidence.contains(&host), "{}", found.evidence);
    let found = ask(&[("eu-1", "1.2.0", settings("PROM_US"))], &secrets, &[]).await.remove(0);
    assert!(found.evidence.contains("no secret PROM_US"), "{}", found.evidence);
}

#[tokio::test]
async fn members_on_the_old_version_are_the_baseline() {
    let cluster = |value: &'static str| json!({"expect": "< 1", "query": format!("vector({value})")});
    let serve_query = |State(()): State<()>, uri: Uri| async move {
        let url = url::Url::parse(&format!("http://x{uri}")).unwrap();
        let query = url.query_pairs().find(|(key, _)| key == "query").unwrap().1.into_owned();
        now(query.trim_start_matches("vector(").trim_end_matches(')')).to_string()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let router = Router::new().fallback(serve_query).with_state(());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let of = |value: &'static str| {
        let mut settings = cluster(value);
        settings["url"] = json!(format!("http://{host}"));
        settings["baseline"] = json!({"notWorseThanBy": "10%", "otherwise": "unknown"});
        settings
    };
    let fleet = |new: &'static str, old: [&'static str; 2], runs: &'static str| {
        let (host, one, two, three) = (host.clone(), of(new), of(old[0]), of(old[1]));
        async move {
            let asks = [("eu-1", "1.2.0", one), ("eu-2", runs, two), ("eu-3", runs, three)];
            let readings = ask(&asks, &Secrets::default(), &[host]).await;
            readings.into_iter().map(|reading| (reading.health, reading.evidence)).collect::<Vec<_>>()
        }
    };
    let good = fleet("0.2", ["0.1", "0.3"], "1.1.0").await;
    assert_eq!(good[0].0, Health::Healthy, "{}", good[0].1);
    let bad = fleet("0.3", ["0.1", "0.3"], "1.1.0").await;
    assert_eq!(bad[0].0, Health::Degraded, "{}", bad[0].1);
    // Nobody is left behind, so that nothing is proved.
    let none = fleet("0.2", ["0.1", "0.3"], "1.2.0").await;
    assert_eq!(none[0].0, Health::Unknown, "{}", none[0].1);
}

fn page_of(host: &str) -> Value {
    json!({
        "url": format!("http://{host}/{{cluster}}?full=1"), "version": "$.version", "time": "$.at",
        "state": {"path": "$.status", "healthy": ["ok"], "degraded": ["bad"]},
    })
}

fn status(code: StatusCode, status: &str, at: i64) -> Response {
    (code, json!({"version": "1.2.0", "status": status, "at": at}).to_string()).into_response()
}

#[tokio::test]
async fn a_page_says_its_version_state_and_time() {
    let (host, server) = serve(|| status(StatusCode::OK, "ok", clock::now().as_second() - 60)).await;
    let reading = alone(&host, page_of(&host)).await;
    assert_eq!((reading.health, reading.running), (Health::Healthy, Some(version("1.2.0"))), "{}", reading.evidence);
    assert!(reading.observed_at <= ago(1), "as of when it says");
    let (uri, headers) = server.asked.lock().unwrap().remove(0);
    assert_eq!((uri.to_string().as_str(), &headers["accept"]), ("/eu-1?full=1", &"application/json".parse().unwrap()));
    let cases: [(Say, Health, &str); 7] = [
        (|| status(StatusCode::SERVICE_UNAVAILABLE, "bad", 5), Health::Degraded, "$.status=bad"),
        (|| status(StatusCode::SERVICE_UNAVAILABLE, "ok", 5), Health::Unknown, "no success"),
        (|| status(StatusCode::OK, "starting", 5), Health::Progressing, "$.status=starting"),
        (|| "{}".into_response(), Health::Unknown, "nothing at $.at"),
        (|| StatusCode::NOT_FOUND.into_response(), Health::Unknown, "404 Not Found and something that is no JSON"),
        (|| Redirect::temporary("/ok").into_response(), Health::Unknown, "it leads elsewhere (307"),
        (|| "x".repeat(2 << 20).into_response(), Health::Unknown, "more than 1048576 bytes"),
    ];
    for (answer, health, words) in cases {
        let (host, _) = serve(answer).await;
        let reading = alone(&host, page_of(&host)).await;
        assert_eq!(reading.health, health, "{}", reading.evidence);
        assert!(reading.evidence.contains(words), "{}", reading.evidence);
    }
}

#[tokio::test]
async fn a_page_from_a_cache_is_as_old_as_it_is() {
    let (host, _) =
        serve(|| ([("age", "600")], status(StatusCode::OK, "ok", clock::now().as_second())).into_response()).await;
    assert!(alone(&host, page_of(&host)).await.observed_at <= ago(10));
    let (host, _) = serve(|| ([("age", "old")], status(StatusCode::OK, "ok", 5)).into_response()).await;
    assert_eq!(alone(&host, page_of(&host)).await.health, Health::Unknown);
}

#[tokio::test]
async fn a_page_is_one_of_the_others_that_have_to_agree() {
    let (host, _) = serve(|| status(StatusCode::OK, "ok", clock::now().as_second())).await;
    let (prom, server) = serve(one).await;
    let net = Net::new(vec![host.clone(), prom.clone()]).unwrap();
    let reach = Reach { net: &net, secrets: &Secrets::default(), repository: 7 };
    let asks = |runs| {
        let settings = [page_of(&host), settings(&prom)];
        let ask = |(index, settings)| Ask {
            whose: whose("eu-1"),
            index,
            dated: false,
            fresh: SignedDuration::ZERO,
            about: question(settings, "eu-1"),
        };
        (settings.iter().enumerate().map(ask).collect::<Vec<_>>(), helm("eu-1", runs))
    };
    let ledger = ledger();
    // The page does not say since when it is so, and nobody has seen it before.
    for (runs, words) in [("1.1.0", "the other signals say"), ("1.2.0", "1.2.0 is there since")] {
        let (asks, helm) = asks(runs);
        let known = (Some(&ledger), &mut Memory::default());
        let readings = answers(&reach, asks, &[helm], known, clock::now()).await;
        let query = readings.iter().find(|(_, reading)| reading.signal.starts_with("Prometheus")).unwrap();
        assert_eq!(query.1.health, Health::Progressing, "{}", query.1.evidence);
        assert!(query.1.evidence.contains(words), "{}", query.1.evidence);
        assert!(server.asked.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn what_was_answered_a_moment_ago_is_not_asked_again() {
    let (host, server) = serve(one).await;
    let (page_host, page_server) = serve(|| status(StatusCode::OK, "ok", clock::now().as_second())).await;
    let net = Net::new(vec![host.clone(), page_host.clone()]).unwrap();
    let reach = Reach { net: &net, secrets: &Secrets::default(), repository: 7 };
    let (query, page) = (question(&settings(&host), "eu-1"), question(&page_of(&page_host), "eu-2"));
    let ask = |cluster: &str, about: &About, fresh| Ask {
        whose: whose(cluster),
        index: 1,
        dated: true,
        fresh: SignedDuration::from_secs(fresh),
        about: about.clone(),
    };
    let (ledger, mut memory) = (ledger(), Memory::default());
    let count = || (server.asked.lock().unwrap().len(), page_server.asked.lock().unwrap().len());
    let (start, [new, newer]) = (clock::now(), ["1.2.0", "1.3.0"].map(|runs| helm("eu-1", runs)));
    for (seconds, fresh, runs, expected) in [
        (0, 60, &new, (1, 1)),
        (30, 60, &new, (1, 1)),
        (61, 60, &new, (2, 2)),
        (70, 5, &new, (3, 3)),
        // Another version is another ground, which asks anew; and one that is not proved is not asked about.
        (71, 60, &newer, (3, 3)),
        (72, 60, &new, (3, 3)),
        // A clock that was set back.
        (0, 60, &new, (4, 4)),
    ] {
        let asks = vec![ask("eu-1", &query, fresh), ask("eu-2", &page, fresh)];
        let now = start + SignedDuration::from_secs(seconds);
        let known = (Some(&ledger), &mut memory);
        let said = answers(&reach, asks, std::slice::from_ref(runs), known, now).await;
        assert_eq!((said.len(), count()), (2, expected), "after {seconds} s");
    }
    // Another question in its place.
    let again = question(&settings(&host), "eu-1");
    answers(&reach, vec![ask("eu-1", &again, 60)], std::slice::from_ref(&new), (Some(&ledger), &mut memory), start)
        .await;
    assert_eq!(count(), (5, 4));
}

#[tokio::test]
async fn what_could_not_be_read_is_asked_again_soon() {
    let (host, server) = serve(|| StatusCode::BAD_GATEWAY.into_response()).await;
    let net = Net::new(vec![host.clone()]).unwrap();
    let reach = Reach { net: &net, secrets: &Secrets::default(), repository: 7 };
    let about = question(&settings(&host), "eu-1");
    let (ledger, mut memory, start, new) = (ledger(), Memory::default(), clock::now(), helm("eu-1", "1.2.0"));
    for (seconds, count) in [(0, 1), (20, 1), (31, 2)] {
        let fresh = SignedDuration::from_mins(10);
        let ask = Ask { whose: whose("eu-1"), index: 1, dated: true, fresh, about: about.clone() };
        let now = start + SignedDuration::from_secs(seconds);
        answers(&reach, vec![ask], std::slice::from_ref(&new), (Some(&ledger), &mut memory), now).await;
        assert_eq!(server.asked.lock().unwrap().len(), count, "after {seconds} s");
    }
}
