//! Deliveries over real HTTP, as each sender writes them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use aws_lc_rs::hmac;
use jiff::SignedDuration;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::{Bell, Rung};
use super::*;

/// Where it listens, and the bell at which 7 (`acme/config`) and 8 (`acme/other`) are looked after.
struct Stage {
    url: String,
    bell: Bell,
    client: Client,
}

const FLUX: &str = "flux-secret";
const TOKEN: &str = "argo-token";

impl Stage {
    async fn set(senders: &[(Sender, &[&str])]) -> Self {
        let bell = Bell::default();
        for (id, name) in [(7, "acme/config"), (8, "acme/other")] {
            bell.name(id, name);
            bell.wait(id, Some(crate::clock::now())).await;
        }
        let secrets = |own: &[&str]| own.iter().map(|secret| Secret::new(secret)).collect();
        let senders = Senders { secrets: senders.iter().map(|(sender, own)| (*sender, secrets(own))).collect() };
        let app = router(&bell, &senders, &Metrics::new());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/wake", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, bell, client: Client::new() }
    }

    fn post(&self, path: &str, body: Vec<u8>) -> RequestBuilder {
        let request = self.client.post(format!("{}/{path}", self.url)).timeout(Duration::from_secs(5));
        request.header("Content-Type", "application/json").body(body)
    }

    /// Which of the two are rung for; a sender never rings for the list.
    async fn rung(&self) -> [bool; 2] {
        for pull in self.bell.hung().values() {
            pull.rope().woken = None;
        }
        let soon = || Some(crate::clock::now() + SignedDuration::from_millis(30));
        assert_eq!(self.bell.wait_for_list(soon()).await, Rung::Alarm);
        [self.bell.wait(7, soon()).await == Rung::Bell, self.bell.wait(8, soon()).await == Rung::Bell]
    }
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

fn signed(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

/// An event as Flux's notification-controller forwards it.
fn event() -> Vec<u8> {
    let event = json!({
        "involvedObject": {"kind": "HelmRelease", "namespace": "apps", "name": "loki", "uid": "0b1c",
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "resourceVersion": "4711"},
        "severity": "info",
        "timestamp": "2026-11-21T10:00:00Z",
        "message": "Helm upgrade succeeded for release apps/loki.v7 with chart loki@1.2.0",
        "reason": "UpgradeSucceeded",
        "metadata": {"revision": "1.2.0", "app-version": "3.1.0"},
        "reportingController": "helm-controller",
        "reportingInstance": "helm-controller-6d5c",
    });
    event.to_string().into_bytes()
}

/// A group of alerts as Alertmanager posts it.
fn alerts(count: usize) -> Vec<u8> {
    let alert = |index| {
        json!({"status": "firing", "labels": {"alertname": "LokiDown", "cluster": format!("eu-{index}")},
        "annotations": {"summary": "no ingester"}, "startsAt": "2026-11-21T10:00:00Z", "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example/graph", "fingerprint": "00ff"})
    };
    let group = json!({
        "version": "4", "groupKey": "{}:{alertname=\"LokiDown\"}", "truncatedAlerts": 0, "status": "firing",
        "receiver": "coldframe", "groupLabels": {"alertname": "LokiDown"}, "commonLabels": {}, "commonAnnotations": {},
        "externalURL": "http://alertmanager.example", "alerts": (0..count).map(alert).collect::<Vec<Value>>(),
    });
    group.to_string().into_bytes()
}

fn all() -> Vec<(Sender, &'static [&'static str])> {
    vec![(Sender::Flux, &[FLUX]), (Sender::ArgoCd, &[TOKEN]), (Sender::Alertmanager, &["alert-token"])]
}

#[tokio::test]
async fn a39_flux_rings_with_its_signature() {
    let stage = Stage::set(&all()).await;
    let send = |body: Vec<u8>, signature: Option<String>| {
        let request = stage.post("flux", body).header("Gotk-Component", "helm-controller");
        let request = match signature {
            Some(signature) => request.header("X-Signature", signature),
            None => request,
        };
        status(request)
    };
    assert_eq!(send(event(), Some(signed(FLUX, &event()))).await, 202);
    assert_eq!(stage.rung().await, [true, true]);
    let sha512 = signed(FLUX, &event()).replace("sha256", "sha512");
    for (what, signature) in [
        ("none", None),
        ("another secret", Some(signed("other", &event()))),
        ("another body", Some(signed(FLUX, b"{}"))),
        ("the token of another sender", Some(signed(TOKEN, &event()))),
        ("another hash", Some(sha512)),
        ("no prefix", Some(signed(FLUX, &event()).replace("sha256=", ""))),
        ("the empty secret", Some(signed("", &event()))),
    ] {
        assert_eq!(send(event(), signature).await, 401, "{what}");
    }
    let bearer = stage.post("flux", event()).bearer_auth(FLUX);
    assert_eq!(status(bearer).await, 401, "it signs, or it is not listened to");
    assert_eq!(stage.rung().await, [false, false]);
}

/// A recorded delivery may be sent again: it rings, and that is all that it ever could.
#[tokio::test]
async fn a04_a_replay_rings_and_many_rings_are_one() {
    let stage = Stage::set(&all()).await;
    for _ in 0..5 {
        assert_eq!(status(stage.post("flux", event()).header("X-Signature", signed(FLUX, &event()))).await, 202);
    }
    assert_eq!(stage.rung().await, [true, true]);
    assert_eq!(stage.rung().await, [false, false]);
}

#[tokio::test]
async fn a39_argo_cd_and_alertmanager_ring_with_their_tokens() {
    let stage = Stage::set(&all()).await;
    for (path, token, body) in [
        ("argocd", TOKEN, br#"{"app":"loki-eu-1","phase":"Succeeded"}"#.to_vec()),
        ("argocd", TOKEN, Vec::new()),
        ("alertmanager", "alert-token", alerts(3)),
        ("alertmanager", "alert-token", b"not even JSON".to_vec()),
    ] {
        assert_eq!(status(stage.post(path, body).bearer_auth(token)).await, 202, "{path}");
        assert_eq!(stage.rung().await, [true, true], "{path}");
    }
    let lower = stage.post("argocd", Vec::new()).header("Authorization", format!("bearer  {TOKEN}"));
    assert_eq!(status(lower).await, 202, "the scheme has no case");
    assert_eq!(stage.rung().await, [true, true]);
    let cases: Vec<(&str, Vec<String>)> = vec![
        ("none", vec![]),
        ("empty", vec![String::new()]),
        ("no token", vec!["Bearer ".to_string()]),
        ("the scheme alone", vec!["Bearer".to_string()]),
        ("another scheme", vec![format!("Basic {TOKEN}")]),
        ("the token alone", vec![TOKEN.to_string()]),
        ("a part of it", vec![format!("Bearer {}", &TOKEN[..4])]),
        ("more than it", vec![format!("Bearer {TOKEN}x")]),
        ("of another sender", vec!["Bearer alert-token".to_string()]),
        ("in capitals", vec![format!("Bearer {}", TOKEN.to_uppercase())]),
        ("twice", vec![format!("Bearer {TOKEN}"), format!("Bearer {TOKEN}")]),
    ];
    for (what, headers) in cases {
        let request = stage.post("argocd", b"{}".to_vec());
        let request = headers.iter().fold(request, |request, value| request.header("Authorization", value));
        assert_eq!(status(request).await, 401, "{what}");
    }
    let signature = stage.post("argocd", event()).header("X-Signature", signed(TOKEN, &event()));
    assert_eq!(status(signature).await, 401);
    assert_eq!(stage.rung().await, [false, false]);
}

#[tokio::test]
async fn an_address_may_name_the_repository() {
    let stage = Stage::set(&all()).await;
    let send = |path: &str| status(stage.post(path, alerts(1)).bearer_auth("alert-token"));
    assert_eq!(send("alertmanager?repository=acme/config").await, 202);
    assert_eq!(stage.rung().await, [true, false]);
    assert_eq!(send("alertmanager?x=1&repository=Acme%2FOther").await, 202);
    assert_eq!(stage.rung().await, [false, true]);
    assert_eq!(send("alertmanager?other=acme/config").await, 202);
    assert_eq!(stage.rung().await, [true, true]);
    assert_eq!(send("alertmanager?repository=acme/unknown").await, 404);
    assert_eq!(send("alertmanager?repository=").await, 404);
    // Who is not verified does not learn which repositories there are.
    let strange = stage.post("alertmanager?repository=acme/unknown", alerts(1)).bearer_auth("wrong");
    assert_eq!(status(strange).await, 401);
    assert_eq!(stage.rung().await, [false, false]);
}

#[tokio::test]
async fn without_a_secret_nobody_is_listened_to() {
    let empty: &[&str] = &["", " "];
    let stage = Stage::set(&[(Sender::ArgoCd, empty)]).await;
    assert_eq!(status(stage.post("flux", event()).header("X-Signature", signed("", &event()))).await, 404);
    for request in [stage.post("argocd", vec![b'x'; 1 << 20]).bearer_auth(""), stage.post("alertmanager", alerts(1))] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 404);
        assert_eq!(answer.text().await.unwrap(), "the operator has set no secret for this sender");
    }
    assert_eq!(stage.rung().await, [false, false]);
    for sender in ["slack", "flux/x", ""] {
        assert_eq!(status(stage.post(sender, event())).await, 404, "{sender}");
    }
    assert_eq!(status(stage.client.get(format!("{}/flux", stage.url))).await, 405);
}

#[tokio::test]
async fn a03_secrets_are_a_list_so_that_one_can_be_replaced() {
    let stage = Stage::set(&[(Sender::Flux, &["new", "old"]), (Sender::ArgoCd, &["new", "old"])]).await;
    for (secret, expected) in [("new", 202), ("old", 202), ("older", 401)] {
        let flux = stage.post("flux", event()).header("X-Signature", signed(secret, &event()));
        assert_eq!(status(flux).await, expected, "{secret}");
        assert_eq!(status(stage.post("argocd", event()).bearer_auth(secret)).await, expected, "{secret}");
    }
}

/// The status of a request whose body is sent until the answer comes.
async fn refused(address: &str, head: &str, chunk: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let sending = async {
        while writing.write_all(chunk).await.is_ok() && !chunk.is_empty() {}
        std::future::pending::<()>().await;
    };
    let mut answer = [0; 12];
    tokio::select! {
        () = sending => {}
        read = reading.read_exact(&mut answer) => { read.unwrap(); }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a02_too_big_a_delivery_rings_nothing() {
    let stage = Stage::set(&all()).await;
    let address = stage.url.trim_start_matches("http://").trim_end_matches("/wake");
    let chunk = [format!("{:x}\r\n", 1 << 20).as_bytes(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    for (path, proof) in
        [("flux", format!("x-signature: {}", signed(FLUX, b""))), ("argocd", format!("authorization: Bearer {TOKEN}"))]
    {
        let head = format!("POST /wake/{path} HTTP/1.1\r\nhost: x\r\n{proof}\r\n");
        let said = format!("{head}content-length: {}\r\n\r\n", MOST_BYTES + 1);
        assert_eq!(refused(address, &said, b"").await, "HTTP/1.1 413", "{path}: before it is read");
        let unsaid = format!("{head}transfer-encoding: chunked\r\n\r\n");
        assert_eq!(refused(address, &unsaid, &chunk).await, "HTTP/1.1 413", "{path}: while it is read");
    }
    assert_eq!(stage.rung().await, [false, false]);
    let fits = stage.post("alertmanager", alerts(10_000)).bearer_auth("alert-token");
    assert_eq!(status(fits).await, 202, "as many alerts as anybody has");
    assert_eq!(stage.rung().await, [true, true]);
}

/// Who is refused is told so on a line that goes on, however much was sent.
#[tokio::test]
async fn refused_deliveries_are_answered_on_a_line_that_goes_on() {
    let stage = Stage::set(&all()).await;
    for _ in 0..5 {
        assert_eq!(status(stage.post("argocd", vec![b'x'; 3 << 20]).bearer_auth("wrong")).await, 401);
        assert_eq!(status(stage.post("argocd", Vec::new()).bearer_auth(TOKEN)).await, 202);
    }
}

#[tokio::test]
async fn a_slow_delivery_ends() {
    for sender in [Sender::Flux, Sender::ArgoCd] {
        let mut endpoint = Endpoint::new(sender, Bell::default(), &[Secret::new(TOKEN)], Metrics::new());
        endpoint.receiver.longest = Duration::from_millis(200);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, endpoint.router()).await });
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /wake/{} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nx-signature: {}\r\n\
             content-length: 90\r\n\r\n{{",
            sender.name(),
            signed(TOKEN, b"{")
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408"), "{sender:?}: {answer}");
    }
}

/// The manual names every address and setting, and its manifests are YAML.
#[test]
fn the_manual_shows_how_each_sender_is_set_up() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/wake.md")).unwrap();
    for sender in Sender::ALL {
        let setting = format!("COLDFRAME_WAKE_{}", sender.name().to_uppercase());
        assert!(page.contains(&format!("/wake/{}", sender.name())) && page.contains(&setting), "{sender:?}");
    }
    let blocks: Vec<&str> = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "one for each sender");
    for block in blocks {
        for document in serde_yaml::Deserializer::from_str(block) {
            let read: Result<Value, _> = serde::Deserialize::deserialize(document);
            assert!(read.is_ok_and(|value| value.is_object()), "{block}");
        }
    }
}

#[tokio::test]
async fn a39_a_registry_rings_for_the_charts_that_it_names() {
    let stage = Stage::set(&[(Sender::Chart, &["new-token", "old-token"])]).await;
    let sources = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
    stage.bell.listens(7, sources(&["library/charts/loki"]));
    stage.bell.listens(8, sources(&["library/charts/mimir"]));
    let pushed = |chart: &str| {
        let url = format!("harbor.example/library/charts/{chart}:1.2.3");
        json!({"type": "PUSH_ARTIFACT", "event_data": {"resources": [{"resource_url": url}]}}).to_string().into_bytes()
    };
    let send = |path: &str, chart: &str| stage.post(path, pushed(chart));
    assert_eq!(status(send("chart", "loki").bearer_auth("old-token")).await, 202);
    assert_eq!((stage.bell.fresh(7), stage.bell.fresh(8)), (sources(&["library/charts/loki"]), sources(&[])));
    assert_eq!(stage.rung().await, [true, false]);
    assert_eq!(status(send("chart", "mimir").basic_auth("coldframe", Some("new-token"))).await, 202);
    assert_eq!(stage.rung().await, [false, true]);
    assert_eq!(status(send("chart?repository=acme/config", "mimir").bearer_auth("new-token")).await, 202);
    assert_eq!(status(send("chart", "tempo").header("X-JFrog-Event-Auth", "new-token")).await, 202);
    assert_eq!(stage.rung().await, [false, false], "nobody takes a chart from there");
    for request in [
        send("chart", "loki"),
        send("chart", "loki").bearer_auth("other"),
        send("chart", "loki").basic_auth("new-token", Some("x")),
    ] {
        assert_eq!(status(request).await, 401);
    }
    assert_eq!(stage.rung().await, [false, false]);
}
