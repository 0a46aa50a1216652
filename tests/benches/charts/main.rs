//! Charts: an index of 50,000 versions, read for one chart and, as its peer, as a whole; two hundred charts of it compared
//! with their predecessors, by requests, time and memory; two charts of a hundred templates compared in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::ETAG;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use coldframe::observe::chart::{Mirrors, index, source};
use coldframe::observe::net::Net;
use coldframe::policy::wiring;
use compare::{Chart, compare};

const CHARTS: usize = 1_000;
const VERSIONS: usize = 50;
/// So many of the charts are followed by plugins.
const FOLLOWED: usize = 200;
const TEMPLATES: usize = 100;
/// What is aimed at, beside the bytes of the index and for two charts.
const ROOM: usize = 32 << 20;
const AIM: Duration = Duration::from_millis(20);

fn main() {
    let step = std::env::args().find_map(|argument| argument.strip_prefix("--step=").map(str::to_owned));
    match step.as_deref() {
        Some("cut") => in_index(|text| drop(index::read(text, "chart-500").unwrap().unwrap())),
        Some("whole") => in_index(|text| drop(serde_yaml::from_str::<serde_json::Value>(text).unwrap())),
        Some("follow") => tokio::runtime::Runtime::new().unwrap().block_on(follow()),
        Some(other) => panic!("no step {other}"),
        None => {
            let [cut, whole] = ["cut", "whole"].map(run);
            let (text, room) = (index_text().len(), ROOM >> 20);
            println!("an index of {} versions, {} MB", CHARTS * VERSIONS, text >> 20);
            println!("  one chart of it   {:7.1} ms, {:4} MB over its bytes (aim {room})", cut.0, cut.1 >> 20);
            println!("  all of it         {:7.1} ms, {:4} MB", whole.0, whole.1 >> 20);
            println!("  ratio of the times {:.3} (aim 0.5)", cut.0 / whole.0);
            let followed = run("follow");
            println!("  {:.0} ms, {} MB at most", followed.0, followed.1 >> 20);
            in_memory();
        }
    }
}

/// Runs a step in a process of its own, which prints milliseconds and bytes last.
fn run(step: &str) -> (f64, usize) {
    let output = Command::new(std::env::current_exe().unwrap()).arg(format!("--step={step}")).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{step}: {told}{}", String::from_utf8_lossy(&output.stderr));
    let (before, last) = told.trim_end().rsplit_once('\n').unwrap_or(("", told.trim_end()));
    if !before.is_empty() {
        println!("{before}");
    }
    let (time, bytes) = last.split_once(' ').unwrap();
    (time.parse().unwrap(), bytes.parse().unwrap())
}

fn in_index(read: impl Fn(&str)) {
    let text = index_text();
    let (before, begun) = (peak(), Instant::now());
    read(&text);
    println!("{} {}", millis(begun.elapsed()), peak().saturating_sub(before));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The most memory that this process had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// An index as Helm writes it, with what real ones have beside a version.
fn index_text() -> String {
    let mut text = "apiVersion: v1\nentries:\n".to_owned();
    for chart in 0..CHARTS {
        writeln!(text, "  chart-{chart}:").unwrap();
        for version in (0..VERSIONS).rev() {
            write!(
                text,
                "  - annotations:\n      licenses: Apache-2.0\n    apiVersion: v2\n    appVersion: 3.{version}.0\n    created: \"2026-11-21T10:00:00.123456789Z\"\n    \
                 description: A chart that installs something of number {chart}\n    icon: https://charts.example/{chart}/icon.svg\n    home: https://charts.example/{chart}\n    \
                 keywords:\n    - logs\n    - metrics\n    maintainers:\n    - email: someone@example.org\n      name: someone\n    \
                 name: chart-{chart}\n    type: application\n    urls:\n    - chart-{chart}-1.{version}.0.tgz\n    version: 1.{version}.0\n"
            )
            .unwrap();
        }
    }
    text.push_str("generated: \"2026-11-21T10:00:00Z\"\n");
    text
}

/// The package of a chart of which each version has other values and one other template.
fn package(chart: &str, version: usize, templates: usize) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut add = |path: String, text: String| {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("{chart}/{path}"), text.as_bytes()).unwrap();
    };
    add(
        "Chart.yaml".into(),
        format!("apiVersion: v2\nname: {chart}\nversion: 1.{version}.0\nappVersion: \"3.{version}\"\n"),
    );
    let mut values = format!("image: {{repository: acme/{chart}, tag: \"3.{version}\"}}\n");
    for number in 0..templates {
        writeln!(values, "part{number}: {{enabled: true, replicas: {}, labels: {{team: logs}}}}", 1 + number % 3)
            .unwrap();
    }
    add("values.yaml".into(), values);
    for number in 0..templates {
        let mut text = format!("{{{{- if .Values.part{number}.enabled }}}}\napiVersion: apps/v1\nkind: Deployment\n");
        for line in 0..60 {
            writeln!(
                text,
                "  line{line}: {{{{ .Values.part{number}.replicas }}}} # {}",
                if line == number % 60 { version } else { 0 }
            )
            .unwrap();
        }
        text.push_str("{{- end }}\n");
        add(format!("templates/part{number}.yaml"), text);
    }
    let mut gz = tar.into_inner().unwrap();
    gz.flush().unwrap();
    gz.finish().unwrap()
}

/// Charts as two hundred plugins follow them, over HTTP.
async fn follow() {
    struct Shelf {
        index: Bytes,
        packages: Vec<[Bytes; 2]>,
        requests: AtomicUsize,
        sent: AtomicUsize,
    }
    async fn serve(State(shelf): State<Arc<Shelf>>, Path(name): Path<String>, headers: HeaderMap) -> Response {
        shelf.requests.fetch_add(1, Ordering::Relaxed);
        let body = if name == "index.yaml" {
            if headers.contains_key("if-none-match") {
                return StatusCode::NOT_MODIFIED.into_response();
            }
            shelf.index.clone()
        } else {
            let (chart, version) =
                name.trim_start_matches("chart-").trim_end_matches(".0.tgz").split_once("-1.").unwrap();
            let at = usize::from(version.parse::<usize>().unwrap() == VERSIONS - 1);
            shelf.packages[chart.parse::<usize>().unwrap()][at].clone()
        };
        shelf.sent.fetch_add(body.len(), Ordering::Relaxed);
        ([(ETAG, "\"one\"")], body).into_response()
    }
    let of = |chart: usize| {
        [VERSIONS - 2, VERSIONS - 1].map(|version| package(&format!("chart-{chart}"), version, 10).into())
    };
    let packages = (0..FOLLOWED).map(of).collect();
    let (requests, sent) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let shelf = Arc::new(Shelf { index: index_text().into(), packages, requests, sent });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let router = Router::new().route("/{name}", get(serve)).with_state(Arc::clone(&shelf));
    tokio::spawn(async move { axum::serve(listener, router).await });

    let folder = tempfile::tempdir().unwrap();
    let (net, mirrors) = (Net::new(vec![host.clone()]).unwrap(), Mirrors::in_folder(folder.path().to_path_buf()));
    let (begun, before) = (Instant::now(), peak());
    let [old, new] = [VERSIONS - 2, VERSIONS - 1].map(|version| format!("1.{version}.0").parse().unwrap());
    let one = async |chart: usize| {
        let wanted = wiring::Chart::Http { repository: format!("http://{host}"), name: format!("chart-{chart}") };
        let source = source(&wanted, &net, &mirrors).unwrap();
        assert_eq!(source.versions().await.unwrap().len(), VERSIONS);
        let mut charts = Vec::new();
        for version in [&old, &new] {
            let found = source.describe(version).await.unwrap().unwrap();
            charts.push(Chart::read(&source.contents(&found).await.unwrap().unwrap().package.unwrap()).unwrap());
        }
        let report = compare(&charts[0], &charts[1]);
        assert!(!report.changes.is_empty());
    };
    futures_util::future::join_all((0..FOLLOWED).map(one)).await;
    let (requests, sent) = (shelf.requests.load(Ordering::Relaxed), shelf.sent.load(Ordering::Relaxed));
    println!("{FOLLOWED} charts of it compared with those before them: {requests} requests, {} MB", sent >> 20);
    println!("{} {}", millis(begun.elapsed()), peak().saturating_sub(before));
}

fn in_memory() {
    let [old, new] = [1, 2].map(|version| Chart::read(&package("loki", version, TEMPLATES)).unwrap());
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let begun = Instant::now();
            assert!(!compare(&old, &new).changes.is_empty());
            begun.elapsed()
        })
        .collect();
    times.sort();
    let (best, middle) = (millis(times[0]), millis(times[times.len() / 2]));
    println!("two charts of {TEMPLATES} templates: best {best:.2} ms, median {middle:.2} ms (aim {})", AIM.as_millis());
}
