//! 500 webhooks a second at a running `serve`, each signed and new, beside a server that takes a body and forgets it:
//! how long an answer takes, how long the bot's memory stays as it was. `COLDFRAME_WEBHOOKS=seconds` makes it longer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

#[allow(dead_code)] // the bot's own tests use all of it
#[path = "../../bot/support.rs"]
mod support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use axum::http::StatusCode;
use bytes::Bytes;
use reqwest::Client;
use serde_json::Value;

use support::{Bot, REPOSITORY, Stage, is_open, memory};

/// A second.
const RATE: u32 = 500;
/// GitHub's deliveries about pull requests have some 25,000 bytes.
const BYTES: usize = 25_000;
/// What is aimed at, of 99 of 100 answers.
const AIM: Duration = Duration::from_millis(20);

/// Where something listens for deliveries.
async fn listening(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/webhook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// A delivery as the sandbox sends it, made as long as GitHub's are.
async fn delivery(stage: &Stage) -> Value {
    let kept: Arc<Mutex<Option<Value>>> = Arc::default();
    let into = Arc::clone(&kept);
    let keep = move |body: Bytes| {
        *into.lock().unwrap() = serde_json::from_slice(&body).ok();
        async { "kept" }
    };
    let url = listening(axum::Router::new().route("/webhook", axum::routing::post(keep))).await;
    stage.world.set_webhook(&url).unwrap();
    stage.world.github().comment(REPOSITORY, 1, "maria", "Hello").unwrap();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if let Some(mut body) = kept.lock().unwrap().take() {
            body["pad"] = Value::from("x".repeat(BYTES.saturating_sub(body.to_string().len())));
            return body;
        }
    }
    panic!("no webhook came");
}

/// How long each answer took, of deliveries that come when they are due, whether or not those before were answered.
async fn storm(url: &str, body: &Value, secret: &str, seconds: u32, round: &str) -> Vec<Duration> {
    let client = Client::builder().no_proxy().build().unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let begun = Instant::now();
    let mut sent = Vec::new();
    for number in 0..RATE * seconds {
        let id = format!("{round}-{number}");
        let mut body = body.clone();
        body["numbered"] = Value::from(id.clone());
        let text = body.to_string();
        let tag: String = hmac::sign(&key, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let request = client.post(url).header("x-hub-signature-256", format!("sha256={tag}")).body(text);
        let request = request.header("content-type", "application/json").header("x-github-event", "issue_comment");
        let request = request.header("x-github-delivery", id);
        tokio::time::sleep_until((begun + Duration::from_secs(1) * number / RATE).into()).await;
        sent.push(tokio::spawn(async move {
            let asked = Instant::now();
            let status = request.send().await.unwrap().status();
            (asked.elapsed(), status)
        }));
    }
    let mut took = Vec::new();
    for one in sent {
        let (elapsed, status) = one.await.unwrap();
        assert_eq!(status, StatusCode::ACCEPTED);
        took.push(elapsed);
    }
    took.sort();
    took
}

fn told(who: &str, took: &[Duration]) -> Duration {
    let at = |share: usize| took[(took.len() * share / 1_000).min(took.len() - 1)];
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    println!("{who}: p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms", ms(at(500)), ms(at(990)), ms(at(999)));
    at(990)
}

#[tokio::main]
async fn main() {
    let seconds: u32 = std::env::var("COLDFRAME_WEBHOOKS").map_or(20, |text| text.parse().unwrap());
    let stage = Stage::set().await;
    let settings = stage.world.settings();
    let (url, secret) = (format!("http://{}/webhook", settings.listen), settings.webhook_secret.clone());
    let bot: Bot = stage.serve_with(&[("COLDFRAME_SWEEP", "5m"), ("COLDFRAME_POLL", "30s")]);
    stage.until("a pull request", |stage| stage.pull("cert-manager", "qa").filter(is_open)).await;
    let body = delivery(&stage).await;
    let bare = axum::Router::new().route("/webhook", axum::routing::post(async |_: Bytes| StatusCode::ACCEPTED));
    let bare = told("a bare server", &storm(&listening(bare).await, &body, &secret, seconds, "bare").await);
    // The first one fills what stays: connections, what was seen lately.
    storm(&url, &body, &secret, seconds, "first").await;
    let before = memory(&bot.0, "VmRSS");
    let ours = told("coldframe serve", &storm(&url, &body, &secret, seconds, "second").await);
    storm(&url, &body, &secret, seconds, "third").await;
    let after = memory(&bot.0, "VmRSS");
    println!("p99 is {:.1} of the bare server's", ours.as_secs_f64() / bare.as_secs_f64());
    println!("memory: {} MiB before, {} MiB after {} more deliveries", before >> 10, after >> 10, 2 * RATE * seconds);
    let holds = |what: &str, holds: bool| println!("  {} {what}", if holds { "holds:" } else { "DOES NOT HOLD:" });
    holds("99 of 100 answers within 20 ms", ours < AIM);
    holds("memory is flat, within a tenth", after * 10 <= before * 11);
}
