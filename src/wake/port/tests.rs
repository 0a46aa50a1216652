//! Connections over real TCP.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::net::SocketAddr;
use std::time::Instant;

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

const BOUNDS: Bounds =
    Bounds { all: 12, each: 8, head: Duration::from_millis(400), whole: Duration::from_millis(1500) };

async fn open(bounds: Bounds) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/", get(|| async { "fine" })).route("/", post(|body: String| async { body }));
    tokio::spawn(serve(listener, app, bounds));
    address
}

/// A connection from one of the loopback's many addresses.
async fn from(host: u8, to: SocketAddr) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).unwrap();
    socket.connect(to).await.unwrap()
}

async fn said(stream: &mut TcpStream, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok();
    String::from_utf8_lossy(&answer).into_owned()
}

const ASK: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/// Whether a connection is still there.
async fn lasts(stream: &mut TcpStream) -> bool {
    tokio::time::timeout(Duration::from_millis(50), stream.read_u8()).await.is_err()
}

#[tokio::test]
async fn a02_half_a_head_is_not_waited_for() {
    let address = open(BOUNDS).await;
    for part in ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: x\r\nx-more: "] {
        let begun = Instant::now();
        let mut stream = from(1, address).await;
        said(&mut stream, part).await;
        let took = begun.elapsed();
        assert!(took >= BOUNDS.head - Duration::from_millis(100) && took < BOUNDS.whole, "{part}: {took:?}");
    }
}

#[tokio::test]
async fn a02_a_body_that_trickles_and_an_answer_that_nobody_reads_end() {
    let address = open(BOUNDS).await;
    let begun = Instant::now();
    let mut stream = from(1, address).await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n").await.unwrap();
    while stream.write_all(b"x").await.is_ok() && begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(begun.elapsed() < BOUNDS.whole * 3, "{:?}", begun.elapsed());
}

/// Whoever sends a whole request is answered, however many others only hold their places.
#[tokio::test]
async fn a02_the_oldest_of_who_has_most_gives_way() {
    let bounds = Bounds { head: Duration::from_secs(30), whole: Duration::from_secs(30), ..BOUNDS };
    let address = open(bounds).await;
    let mut held = Vec::new();
    for host in [2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4] {
        held.push((host, from(host, address).await));
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    for _ in 0..3 {
        assert!(said(&mut from(9, address).await, ASK).await.ends_with("fine"));
    }
    let mut there = Vec::new();
    for (host, stream) in &mut held {
        there.push((*host, lasts(stream).await));
    }
    let gone: Vec<u8> = there.iter().filter(|(_, there)| !there).map(|(host, _)| *host).collect();
    assert!(!gone.is_empty() && gone.iter().all(|host| *host == 4), "{there:?}");
    assert!(!there[7].1 && there[11].1, "the oldest first: {there:?}");
    // One address has never more than its share.
    let mut many = Vec::new();
    for _ in 0..bounds.each + 4 {
        many.push(from(5, address).await);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut left = 0;
    for stream in &mut many {
        left += usize::from(lasts(stream).await);
    }
    assert!(left <= bounds.each, "{left}");
}

#[tokio::test]
async fn a41_bombs_of_heads_and_another_protocol_are_refused() {
    let address = open(BOUNDS).await;
    let long = format!("GET / HTTP/1.1\r\nhost: x\r\nx-long: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(500));
    let target = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(1 << 20));
    let reset = format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{}", "\0\0\u{4}\u{3}\0\0\0\0\u{1}\0\0\0\u{8}".repeat(10_000));
    for (what, text) in [("a long head", long), ("many heads", many), ("a long target", target), ("HTTP/2", reset)] {
        let begun = Instant::now();
        let answer = said(&mut from(1, address).await, &text).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{what}: {answer}");
        assert!(begun.elapsed() < BOUNDS.whole, "{what}");
    }
    let mut stream = from(1, address).await;
    let answer = said(&mut stream, &ASK.repeat(3)).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 1, "one request of a connection: {answer}");
}

#[test]
fn a_network_of_one_host_is_one_address() {
    let of = |text: &str| network(text.parse().unwrap());
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
}

#[test]
fn most_descriptors_are_kept_for_the_work() {
    for descriptors in [64, 256, 1024, 1 << 16] {
        let bounds = Bounds::within(descriptors);
        assert!(bounds.all * 4 <= descriptors && bounds.each >= 2, "{descriptors}: {bounds:?}");
    }
}
