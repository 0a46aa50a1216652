//! The bot's own readers against what others made: charts by real Helm behind a real registry, and
//! real webhook payloads. `./tests/run peers` fetches and starts them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use coldframe::observe::chart;
use coldframe::observe::net::Net;
use coldframe::policy::wiring::Chart;
use coldframe::secret::Secret;
use coldframe::wake::{Bell, webhook};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Charts {
    name: String,
    http: String,
    oci: String,
    hosts: Vec<String>,
    charts: Vec<Packaged>,
}

#[derive(Deserialize)]
struct Packaged {
    version: String,
    archive: String,
    manifest: String,
}

fn charts() -> Charts {
    let path = std::env::var("COLDFRAME_PEER_CHARTS").expect("tests/peers/charts.py sets COLDFRAME_PEER_CHARTS");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Every version is found, in any order, and each has the digest that Helm or the registry names.
async fn all_found(source: Chart, charts: &Charts, digest: impl Fn(&Packaged) -> &str) {
    let net = Net::new(charts.hosts.clone()).unwrap();
    let source = chart::source(&source, &net).unwrap();
    let mut found: Vec<String> = source.versions().await.unwrap().iter().map(ToString::to_string).collect();
    let mut wanted: Vec<String> = charts.charts.iter().map(|chart| chart.version.clone()).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    for chart in &charts.charts {
        let version = chart.version.parse().unwrap();
        let described = source.describe(&version).await.unwrap().expect("an artefact");
        assert_eq!(described.digest.map(|digest| digest.to_string()).as_deref(), Some(digest(chart)), "{version}");
    }
    assert!(source.describe(&"9.9.9".parse().unwrap()).await.unwrap().is_none(), "9.9.9 was never published");
}

#[tokio::test]
#[ignore = "needs the peers: ./tests/run peers"]
async fn charts_behind_a_real_index_are_found() {
    let charts = charts();
    let source = Chart::Http { repository: charts.http.clone(), name: charts.name.clone() };
    all_found(source, &charts, |chart| &chart.archive).await;
}

#[tokio::test]
#[ignore = "needs the peers: ./tests/run peers"]
async fn charts_in_a_real_registry_are_found() {
    let charts = charts();
    let source = Chart::Oci { reference: charts.oci.clone(), plain: true };
    all_found(source, &charts, |chart| &chart.manifest).await;
}

/// Every recorded payload, signed as GitHub signs it, is accepted by the endpoint.
#[tokio::test]
#[ignore = "needs the peers: ./tests/run peers"]
async fn payloads_that_github_sent_are_accepted() {
    const SECRET: &str = "It's a secret to everybody";
    let node = PathBuf::from(std::env::var("COLDFRAME_NODE").expect("./tests/run sets COLDFRAME_NODE"));
    let path = node.join("node_modules/@octokit/webhooks-examples/api.github.com/index.json");
    let events: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/webhook", listener.local_addr().unwrap());
    let router = webhook::router(Bell::default(), &[Secret::new(SECRET)]);
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move { axum::serve(listener, router).await });
    let client = reqwest::Client::new();
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, SECRET.as_bytes());
    let (mut sent, mut refused) = (0, BTreeMap::new());
    for event in &events {
        let name = event["name"].as_str().unwrap();
        for (index, example) in event["examples"].as_array().unwrap().iter().enumerate() {
            let body = serde_json::to_vec(example).unwrap();
            let tag: String =
                aws_lc_rs::hmac::sign(&key, &body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            let request = client.post(&url).header("x-github-event", name).header("x-github-delivery", "1");
            let answer =
                request.header("x-hub-signature-256", format!("sha256={tag}")).body(body).send().await.unwrap();
            sent += 1;
            if !answer.status().is_success() {
                refused.insert(format!("{name} {index}"), answer.text().await.unwrap());
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(sent >= 329, "only {sent} payloads: has the package changed?");
}
