//! Every example payload that GitHub publishes, signed as GitHub signs, at the bot's endpoint.

use std::collections::BTreeSet;

use aws_lc_rs::hmac;
use coldframe::metrics::Metrics;
use coldframe::secret::Secret;
use coldframe::wake::Bell;
use coldframe::wake::webhook::router;
use serde_json::Value;

use crate::peers::{package, serve};

const SECRET: &str = "It's a Secret to Everybody";

#[tokio::test(flavor = "multi_thread")]
async fn every_published_example_is_taken_when_signed_and_only_then() {
    let file = package("@octokit/webhooks-examples/api.github.com/index.json");
    let events: Vec<Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let host = serve(router(Bell::default(), &[Secret::new(SECRET)], Metrics::new())).await;
    let client = reqwest::Client::new();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let (mut names, mut sent, mut wrong) = (BTreeSet::new(), 0, Vec::new());
    for event in &events {
        let name = event["name"].as_str().unwrap();
        names.insert(name);
        for (index, example) in event["examples"].as_array().unwrap().iter().enumerate() {
            let body = example.to_string();
            let tag = hmac::sign(&key, body.as_bytes());
            let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            let post = || {
                let request = client.post(format!("http://{host}/webhook")).header("content-type", "application/json");
                request.header("x-github-event", name).header("x-github-delivery", index).body(body.clone())
            };
            let signed = post().header("x-hub-signature-256", format!("sha256={hex}")).send().await.unwrap();
            let unsigned = post().send().await.unwrap();
            if (signed.status().as_u16(), unsigned.status().as_u16()) != (202, 401) {
                wrong.push(format!("{name} {index}: {} signed, {} unsigned", signed.status(), unsigned.status()));
            }
            sent += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!((names.len(), sent), (58, 329), "the pinned package has these");
}
