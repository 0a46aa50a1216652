//! Deliveries over real HTTP.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::net::SocketAddr;
use std::time::Duration;

use aws_lc_rs::{digest, hmac};
use jiff::SignedDuration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::{Bell, Rung};
use super::*;

const BODY: &[u8] =
    br#"{"action":"opened","repository":{"id":7,"full_name":"acme/config"},"installation":{"id":10},"new":[1]}"#;

async fn serve(endpoint: Endpoint) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = endpoint.router();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn endpoint(secrets: &[&str]) -> (Endpoint, Bell) {
    let bell = Bell::default();
    let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::new(secret)).collect();
    (Endpoint::new(bell.clone(), &secrets, Metrics::new()), bell)
}

fn hex(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends one delivery with these headers and this body; the status.
async fn post(address: SocketAddr, headers: &[(&str, String)], body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head =
        format!("POST /webhook HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
    stream.write_all(body).await.ok();
    status(&mut stream).await
}

async fn status(stream: &mut TcpStream) -> u16 {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok();
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

async fn rang(bell: &Bell, repository: u64) -> bool {
    let soon = crate::clock::now() + SignedDuration::from_millis(30);
    bell.wait(repository, Some(soon)).await == Rung::Bell
}

async fn listed(bell: &Bell) -> bool {
    let soon = crate::clock::now() + SignedDuration::from_millis(30);
    bell.wait_for_list(Some(soon)).await == Rung::Bell
}

fn event(name: &str) -> (&'static str, String) {
    ("X-GitHub-Event", name.to_owned())
}

#[tokio::test]
async fn a01_one_form_of_signature_and_no_other() {
    let (endpoint, bell) = endpoint(&["s3cret"]);
    let address = serve(endpoint).await;
    let good = hex("s3cret", BODY);
    let sha1 = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, BODY);
    let sha1: String = sha1.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let one = |value: String| vec![("X-Hub-Signature-256", value)];
    let cases: Vec<(&str, Vec<(&str, String)>)> = vec![
        ("none", vec![]),
        ("empty", one(String::new())),
        ("only the prefix", one("sha256=".to_owned())),
        ("no prefix", one(good.clone())),
        ("prefix in upper case", one(format!("SHA256={good}"))),
        ("a space after the prefix", one(format!("sha256= {good}"))),
        ("digits in upper case", one(format!("sha256={}", good.to_uppercase()))),
        ("one digit short", one(format!("sha256={}", &good[..63]))),
        ("one digit long", one(format!("sha256={good}0"))),
        ("half of it", one(format!("sha256={}", &good[..32]))),
        ("twice in one", one(format!("sha256={good}{good}"))),
        ("a list", one(format!("sha256={good},sha256={good}"))),
        ("no hex", one(format!("sha256={}", "g".repeat(64)))),
        ("a sign in it", one(format!("sha256=+{}", &good[1..]))),
        ("all zero", one(format!("sha256={}", "0".repeat(64)))),
        ("another secret", one(format!("sha256={}", hex("other", BODY)))),
        ("the empty secret", one(format!("sha256={}", hex("", BODY)))),
        ("another body", one(format!("sha256={}", hex("s3cret", b"{}")))),
        ("SHA-1 as SHA-256", one(format!("sha256={sha1}"))),
        ("SHA-1 only", vec![("X-Hub-Signature", format!("sha1={sha1}"))]),
        ("the header twice", [one(format!("sha256={good}")), one(format!("sha256={good}"))].concat()),
        ("the last digit wrong", one(format!("sha256={}{}", &good[..63], if good.ends_with('0') { '1' } else { '0' }))),
    ];
    assert!(cases.len() >= 20);
    for (name, mut headers) in cases {
        headers.push(event("push"));
        assert_eq!(post(address, &headers, BODY).await, 401, "{name}");
    }
    assert!(!rang(&bell, 7).await);
    let headers = [("X-Hub-Signature-256", format!("sha256={good}")), event("push")];
    assert_eq!(post(address, &headers, BODY).await, 202);
    assert!(rang(&bell, 7).await);
}

#[tokio::test]
async fn a03_secrets_are_a_list() {
    for (secrets, signed, expected) in [
        (&["old", "new"][..], "old", 202),
        (&["old", "new"], "new", 202),
        (&["new"], "old", 401),
        (&[], "", 401),
        (&["", " "], "", 401),
    ] {
        let (endpoint, _) = endpoint(secrets);
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex(signed, BODY))), event("push")];
        assert_eq!(post(serve(endpoint).await, &headers, BODY).await, expected, "{secrets:?} {signed}");
    }
}

#[tokio::test]
async fn what_rings() {
    let (endpoint, bell) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    // Event, body; status, whether 7 rings, whether 8 does, whether the list does.
    let cases: [(&str, &[u8], u16, [bool; 3]); 14] = [
        ("pull_request", BODY, 202, [true, false, false]),
        ("check_run", br#"{"action":"a_new_one","repository":{"id":8}}"#, 202, [false, true, false]),
        ("status", br#"{"repository":{"id":7}}"#, 202, [true, false, false]),
        // Flux's provider `githubdispatch`, as GitHub hands its event on.
        (
            "repository_dispatch",
            br#"{"action":"HelmRelease/loki.apps","branch":"main","client_payload":{"severity":"info",
                "reason":"UpgradeSucceeded","metadata":{"revision":"1.2.0"}},"repository":{"id":7}}"#,
            202,
            [true, false, false],
        ),
        ("ping", br#"{"zen":"x","repository":{"id":7}}"#, 202, [false; 3]),
        ("star", BODY, 202, [false; 3]),
        ("never_heard_of", b"not json", 202, [false; 3]),
        ("installation_repositories", br#"{"installation":{"id":10}}"#, 202, [true; 3]),
        ("installation", br#"{"action":"created","installation":{"id":10}}"#, 202, [true; 3]),
        ("installation_repositories", br#"{"installation":{"id":10}}"#, 202, [false; 3]),
        ("membership", br#"{"organization":{"id":1}}"#, 202, [true, true, false]),
        ("push", b"payload=%7B%7D", 400, [false; 3]),
        ("push", br#"{"repository":{"id":-7}}"#, 400, [false; 3]),
        ("push", br#"{"repository":{"id":"7"}}"#, 400, [false; 3]),
    ];
    for id in [7, 8] {
        assert!(!rang(&bell, id).await);
    }
    for (name, body, expected, rings) in cases {
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex("s", body))), event(name)];
        assert_eq!(post(address, &headers, body).await, expected, "{name}");
        assert_eq!([rang(&bell, 7).await, rang(&bell, 8).await, listed(&bell).await], rings, "{name}");
    }
    let signed = [("X-Hub-Signature-256", format!("sha256={}", hex("s", BODY)))];
    assert_eq!(post(address, &signed, BODY).await, 400, "no event");
}

#[tokio::test]
async fn a02_too_big_is_refused_before_it_is_read_and_while_it_is() {
    let (endpoint, bell) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    let signature = format!("x-hub-signature-256: sha256={}\r\n", "0".repeat(64));

    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST /webhook HTTP/1.1\r\nhost: x\r\n{signature}content-length: 26214401\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(status(&mut stream).await, 413);

    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST /webhook HTTP/1.1\r\nhost: x\r\n{signature}transfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let chunk = [format!("{:x}\r\n", 1 << 20).as_bytes(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    let sending = async {
        for _ in 0..27 {
            if writing.write_all(&chunk).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let mut answer = [0; 12];
    tokio::select! {
        () = sending => {}
        read = reading.read_exact(&mut answer) => { read.unwrap(); }
    }
    assert_eq!(&answer, b"HTTP/1.1 413");
    assert!(!rang(&bell, 7).await);
}

/// Who signs wrongly is told so, however much was sent: a connection that breaks off says nothing.
#[tokio::test]
async fn refused_before_it_is_read_is_answered_on_a_line_that_goes_on() {
    let (endpoint, bell) = endpoint(&["s"]);
    let url = format!("http://{}/webhook", serve(endpoint).await);
    let client = reqwest::Client::new();
    let big = vec![b'x'; 8 << 20];
    for number in 0..5 {
        let body = format!(r#"{{"repository":{{"id":7}},"after":"{number}"}}"#);
        let unsigned = client.post(&url).header("X-GitHub-Event", "push").body(big.clone()).send().await.unwrap();
        assert_eq!(unsigned.status(), 401);
        let signed = client.post(&url).header("X-GitHub-Event", "push");
        let signed = signed.header("X-Hub-Signature-256", format!("sha256={}", hex("s", body.as_bytes()))).body(body);
        assert_eq!(signed.send().await.unwrap().status(), 202);
        assert!(rang(&bell, 7).await);
    }
}

#[tokio::test]
async fn a02_a_slow_delivery_ends() {
    let (mut endpoint, _) = endpoint(&["s"]);
    endpoint.receiver.longest = Duration::from_millis(200);
    let address = serve(endpoint).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let signature = format!("sha256={}", hex("s", BODY));
    let head = format!(
        "POST /webhook HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: {signature}\r\ncontent-length: 90\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(status(&mut stream).await, 408);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"POST /webhook HTTP/1.1\r\nhost: x\r\ncontent-length: 90\r\n\r\n{").await.unwrap();
    assert_eq!(status(&mut stream).await, 401, "and the line ends, too");
}

/// What is signed is verified as it comes; only what may have to be read is kept.
#[tokio::test]
async fn a02_big_deliveries_are_verified_and_not_kept() {
    let (endpoint, bell) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    let delivery = |size: usize| [br#"{"repository":{"id":7},"x":""#.as_slice(), &vec![b'x'; size], b"\"}"].concat();
    for (size, rings) in [(0, true), (MOST_HELD - 100, true), (MOST_HELD, false), (20 << 20, false)] {
        let body = delivery(size);
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex("s", &body))), event("push")];
        assert_eq!(post(address, &headers, &body).await, 202, "{size}");
        assert_eq!(rang(&bell, 7).await, rings, "{size}");
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex("other", &body))), event("push")];
        assert_eq!(post(address, &headers, &body).await, 401, "{size}");
    }
}

/// An unsigned body may be as long and as slow as it likes: one that is signed does not wait for it.
#[tokio::test]
async fn a02_what_is_unsigned_delays_nothing_that_is_signed() {
    let (endpoint, bell) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    let wrong = format!("x-hub-signature-256: sha256={}\r\n", "0".repeat(64));
    let mut strangers = Vec::new();
    for proof in ["", wrong.as_str()].repeat(8) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("POST /webhook HTTP/1.1\r\nhost: x\r\n{proof}content-length: {}\r\n\r\n", 25 << 20);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; 8 << 20]).await.unwrap();
        strangers.push(stream);
    }
    let begun = std::time::Instant::now();
    for number in 0..5 {
        let body = format!(r#"{{"repository":{{"id":7}},"after":"{number}"}}"#);
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex("s", body.as_bytes()))), event("push")];
        assert_eq!(post(address, &headers, body.as_bytes()).await, 202);
        assert!(rang(&bell, 7).await);
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// What was good once is good for nothing again, under whatever id and event; neither is signed.
#[tokio::test]
async fn a04_what_has_rung_rings_no_more() {
    let (endpoint, bell) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    for (name, rings) in [("star", false), ("push", true), ("push", false), ("status", false), ("installation", false)]
    {
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex("s", BODY))), event(name)];
        assert_eq!(post(address, &headers, BODY).await, 202, "{name}");
        assert_eq!((rang(&bell, 7).await, listed(&bell).await), (rings, false), "{name}");
    }
}

/// Compressed deliveries are not GitHub's: what is signed is what comes, and it is not unpacked.
#[tokio::test]
async fn a02_nothing_is_unpacked() {
    let (endpoint, bell) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packed, BODY).unwrap();
    let body = packed.finish().unwrap();
    let signature = format!("sha256={}", hex("s", &body));
    let headers = [("X-Hub-Signature-256", signature), event("push"), ("Content-Encoding", "gzip".to_owned())];
    assert_eq!(post(address, &headers, &body).await, 400);
    assert!(!rang(&bell, 7).await);
}

#[tokio::test]
async fn a03_an_old_secret_expires_once_the_new_one_is_used() {
    let (mut endpoint, _) = endpoint(&["new", "old"]);
    endpoint.replaced = SignedDuration::from_millis(100);
    let numbers = endpoint.receiver.metrics();
    let address = serve(endpoint).await;
    let send = async |secret: &str| {
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex(secret, BODY))), event("push")];
        post(address, &headers, BODY).await
    };
    for (secret, expected) in [("old", 202), ("new", 202), ("other", 401)] {
        assert_eq!(send(secret).await, expected, "{secret}");
    }
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!((send("old").await, send("new").await), (401, 202));
    let text = numbers.render().unwrap();
    for (secret, count) in [("1", 2), ("2", 1), ("none", 2)] {
        let line = format!("coldframe_deliveries_total{{sender=\"github\",secret=\"{secret}\"}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
}

#[tokio::test]
async fn only_post_only_there() {
    let (endpoint, _) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    for (request, expected) in
        [("GET /webhook", 405), ("POST /webhook/", 404), ("POST /webhook/x", 404), ("POST /", 404)]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let text = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        assert_eq!(status(&mut stream).await, expected, "{request}");
    }
}

#[tokio::test]
async fn news_of_a_source_rings_where_its_charts_are_used() {
    let (endpoint, bell) = endpoint(&["s"]);
    let address = serve(endpoint).await;
    bell.listens(7, ["acme/charts", "acme/oci/loki"].map(str::to_owned).into());
    let cases: [(&str, &[u8], bool); 9] = [
        ("release", br#"{"action":"published","repository":{"id":9,"full_name":"Acme/charts"}}"#, true),
        ("release", br#"{"action":"published","repository":{"id":9,"full_name":"acme/other"}}"#, false),
        ("push", br#"{"ref":"refs/tags/v1","repository":{"id":9,"full_name":"acme/charts"}}"#, true),
        ("push", br#"{"ref":"refs/heads/main","repository":{"id":9,"full_name":"acme/charts"}}"#, false),
        ("create", br#"{"ref":"v1","ref_type":"tag","repository":{"id":9,"full_name":"acme/charts"}}"#, true),
        ("create", br#"{"ref":"x","ref_type":"branch","repository":{"id":9,"full_name":"acme/charts"}}"#, false),
        ("repository_dispatch", br#"{"action":"x","repository":{"id":9,"full_name":"acme/charts"}}"#, true),
        (
            "registry_package",
            br#"{"registry_package":{"namespace":"acme","name":"oci/loki"},"repository":{"id":9,"full_name":"a/b"}}"#,
            true,
        ),
        ("package", br#"{"package":{"namespace":null,"name":"loki"},"repository":{"id":9,"full_name":"a/b"}}"#, false),
    ];
    for (name, body, rings) in cases {
        let headers = [("X-Hub-Signature-256", format!("sha256={}", hex("s", body))), event(name)];
        assert_eq!(post(address, &headers, body).await, 202, "{name}");
        assert_eq!((rang(&bell, 7).await, !bell.fresh(7).is_empty()), (rings, rings), "{name} {body:?}");
    }
}
