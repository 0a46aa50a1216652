//! What somebody filters the log by, and what a collector of traces is sent.

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::Value;

use crate::support::{REPOSITORY, Stage, is_merged};

const PLUGIN: &str = "cert-manager";
const TOKEN: &str = "hunter2canary";
const BLUE_GREEN: HeaderValue = HeaderValue::from_static("blue,green");
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
/// The code of a status of what failed.
const FAILED: i32 = 2;

/// What nobody may read in a log or a trace.
fn secrets(stage: &Stage) -> Vec<String> {
    let given = stage.world.settings();
    let key = |path| std::fs::read_to_string(path).unwrap().lines().nth(1).unwrap().to_owned();
    let mut secrets = vec![key(&given.app_key), key(&given.bypass_app_key), given.webhook_secret.clone()];
    for file in std::fs::read_dir(&given.clusters).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let config: Value = serde_yaml::from_str(&text).unwrap();
        secrets.push(config["users"][0]["user"]["token"].as_str().unwrap().to_owned());
    }
    assert!(secrets.len() > 3 && secrets.iter().all(|secret| secret.len() > 8), "{secrets:?}");
    secrets
}

/// A command that ends by itself, and how long it took.
fn run(stage: &Stage, arguments: &[&str], more: &[(&str, &str)]) -> (Output, Duration) {
    let mut command = stage.command(arguments);
    command.envs(more.iter().copied());
    let begun = Instant::now();
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    (output, begun.elapsed())
}

async fn merged(stage: &Stage) -> u64 {
    stage.until("qa is merged", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await.number
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_a_server_is_filtered_by_plugin_and_tier() {
    let stage = Stage::set().await;
    let mut command = stage.command(&["serve"]);
    command.env_remove("COLDFRAME_LOG").env("COLDFRAME_LOG_FORMAT", "json");
    let bot = stage.start(command);
    let number = merged(&stage).await;
    assert!(bot.stop().success());

    let log = stage.whole_log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for kind in ["open", "merge"] {
        let is_it = |line: &&Value| {
            let span = &line["span"];
            (&span["plugin"], &span["tier"], &span["kind"]) == (&PLUGIN.into(), &"qa".into(), &kind.into())
        };
        let line = lines.iter().find(is_it).unwrap_or_else(|| panic!("no line of {kind}: {log}"));
        assert_eq!(line["span"]["name"], "action", "{line}");
        assert_eq!(line["span"]["version"], "1.15.0", "{line}");
        assert_eq!(line["span"]["pull_request"], number, "{line}");
        let tick = &line["spans"][0];
        assert_eq!((&tick["name"], &tick["repository"]), (&"tick".into(), &REPOSITORY.into()), "{line}");
        assert!(tick["look"].as_u64().is_some_and(|look| look > 0), "{line}");
        assert!(line["fields"]["message"].as_str().unwrap().contains(&format!("#{number}")), "{line}");
    }
    for secret in secrets(&stage) {
        assert!(!log.contains(&secret));
    }
}

/// A collector on loopback, and what it was sent: the headers and the body of each request.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<(HeaderMap, Bytes)>>>);

impl Collector {
    async fn start(&self) -> String {
        let take = |State(collector): State<Self>, headers: HeaderMap, body: Bytes| async move {
            collector.0.lock().unwrap().push((headers, body));
        };
        let router = Router::new().route("/in/v1/traces", axum::routing::post(take)).with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        format!("http://{host}/in/")
    }

    /// All spans, by what each is called; every one of them says who sent it.
    fn spans(&self, service: &str) -> BTreeMap<Vec<u8>, Span> {
        let mut spans = BTreeMap::new();
        for (_, body) in self.0.lock().unwrap().iter() {
            for resource in ExportTraceServiceRequest::decode(body.clone()).unwrap().resource_spans {
                let attributes = &resource.resource.as_ref().unwrap().attributes;
                assert_eq!(text(attributes, "service.name").as_deref(), Some(service));
                assert_eq!(text(attributes, "service.version").as_deref(), Some(env!("CARGO_PKG_VERSION")));
                let all = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.extend(all.map(|span| (span.span_id.clone(), span)));
            }
        }
        spans
    }
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let one = attributes.iter().find(|one| one.key == key)?;
    match &one.value {
        Some(AnyValue { value: Some(Any::StringValue(text)) }) => Some(text.clone()),
        Some(_) | None => None,
    }
}

fn number(span: &Span, key: &str) -> Option<i64> {
    let one = span.attributes.iter().find(|one| one.key == key)?;
    match one.value {
        Some(AnyValue { value: Some(Any::IntValue(number)) }) => Some(number),
        Some(_) | None => None,
    }
}

/// A span and what it belongs to, from the innermost outwards.
fn way<'a>(spans: &'a BTreeMap<Vec<u8>, Span>, innermost: &'a Span) -> Vec<&'a str> {
    let mut way = vec![innermost.name.as_str()];
    let mut within = innermost;
    while let Some(above) = spans.get(&within.parent_span_id) {
        assert_eq!(above.trace_id, within.trace_id);
        way.push(&above.name);
        within = above;
    }
    assert!(within.parent_span_id.is_empty());
    way
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_each_look_as_one_trace_with_its_actions() {
    let stage = Stage::set().await;
    let collector = Collector::default();
    let endpoint = collector.start().await;
    let authorization = format!("authorization=Bearer%20{TOKEN}, x-team=blue%2Cgreen");
    let bot = stage.serve_with(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
        ("OTEL_EXPORTER_OTLP_HEADERS", &authorization),
        ("OTEL_SERVICE_NAME", "promoter"),
        // Until the end, which sends the rest; and a proxy that leads nowhere.
        ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
        ("HTTP_PROXY", "http://127.0.0.1:9"),
        ("COLDFRAME_LOG", "coldframe=trace"),
    ]);
    let pull = merged(&stage).await;
    assert!(bot.stop().success());

    let spans = collector.spans("promoter");
    for kind in ["open", "merge"] {
        let is_it = |span: &&Span| {
            let said = |key| text(&span.attributes, key).unwrap_or_default();
            span.name == "action"
                && (said("plugin"), said("tier"), said("kind")) == (PLUGIN.into(), "qa".into(), kind.into())
        };
        let action = spans.values().find(is_it).unwrap_or_else(|| panic!("no span of {kind}: {}", stage.logged()));
        assert_eq!(text(&action.attributes, "version").as_deref(), Some("1.15.0"));
        assert_eq!(number(action, "pull_request"), i64::try_from(pull).ok());
        assert!(action.events.iter().any(|event| event.name.starts_with("done: ")), "{:?}", action.events);
        assert_eq!(way(&spans, action), ["action", "act", "tick"]);
        let beside = |of: &[&str]| {
            let mut all = spans.values().filter(|span| span.trace_id == action.trace_id);
            all.find(|span| way(&spans, span) == of).unwrap_or_else(|| panic!("no {of:?} beside {kind}"))
        };
        let tick = beside(&["tick"]);
        assert_eq!(text(&tick.attributes, "repository").as_deref(), Some(REPOSITORY));
        assert!(tick.status.as_ref().is_none_or(|status| status.code != FAILED));
        for (name, field) in [("hub", "pull_requests"), ("charts", "plugins"), ("clusters", "clusters")] {
            let many = number(beside(&[name, "observe", "tick"]), field);
            assert!(many.is_some_and(|many| many > 0 || (kind, name) == ("open", "hub")), "{name}: {many:?}");
        }
        assert!(number(beside(&["decide", "tick"]), "actions").is_some_and(|many| many > 0));
        beside(&["tell", "tick"]);
        if kind == "merge" {
            beside(&["hub", "observe", "action", "act", "tick"]);
        }
    }
    let asked = |span: &&Span| span.name == "chart" && text(&span.attributes, "plugin").as_deref() == Some(PLUGIN);
    let mut charts = spans.values().filter(asked);
    assert!(
        charts.any(|chart| way(&spans, chart) == ["chart", "charts", "observe", "tick"]),
        "its chart source was asked"
    );

    let taken = collector.0.lock().unwrap();
    for (headers, _) in taken.iter() {
        assert_eq!(headers["authorization"], format!("Bearer {TOKEN}").as_str());
        assert_eq!((&headers["x-team"], &headers["content-type"]), (&BLUE_GREEN, &PROTOBUF));
    }
    let said = taken.iter().map(|(_, body)| String::from_utf8_lossy(body)).collect::<String>() + &stage.whole_log();
    for secret in secrets(&stage).into_iter().chain([TOKEN.to_owned()]) {
        assert!(!said.contains(&secret));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_sends_its_trace_and_says_in_it_what_went_wrong() {
    let stage = Stage::set().await;
    let collector = Collector::default();
    let endpoint = collector.start().await;
    let given = ["--otlp-endpoint", endpoint.as_str()];
    let (output, _) = run(&stage, &[["explain", PLUGIN], given].concat(), &[]);
    assert!(output.status.success(), "{output:?}");
    let spans = collector.spans("coldframe");
    let cluster = spans.values().find(|span| span.name == "cluster").expect("a cluster was asked");
    assert_eq!(way(&spans, cluster), ["cluster", "clusters", "observe", "tick"]);
    assert!(number(cluster, "objects").is_some_and(|many| many > 0), "{cluster:?}");
    let connection = text(&cluster.attributes, "connection").unwrap();
    assert!(stage.world.clusters().urls().iter().any(|(name, _)| connection.contains(name)), "{connection}");

    let bare = stage.add_repository("bare");
    let (output, _) = run(&stage, &[["plan", "--repository", &bare].as_slice(), &given].concat(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    for name in ["tick", "observe", "hub"] {
        let spans = collector.spans("coldframe");
        let failed = |span: &&Span| span.name == name && span.status.as_ref().is_some_and(|it| it.code == FAILED);
        let span = spans.values().find(failed).unwrap_or_else(|| panic!("{name} did not fail: {said}"));
        let why = &span.status.as_ref().unwrap().message;
        assert!(!why.is_empty() && said.contains(why), "{why}\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_holds_up_nothing_and_is_named_once() {
    let stage = Stage::set().await;
    let endpoint = format!("http://127.0.0.1:{}", demo::free_port().unwrap());
    let bot = stage.serve_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "500")]);
    merged(&stage).await;
    let lost = |stage: &Stage| stage.whole_log().matches("traces are lost").count();
    stage.until("the log says so", |stage| (lost(stage) > 0).then_some(())).await;
    let begun = Instant::now();
    assert!(bot.stop().success());
    assert!(begun.elapsed() < Duration::from_secs(28), "Kubernetes would have killed it: {:?}", begun.elapsed());
    assert_eq!(lost(&stage), 1, "{}", stage.logged());
    assert!(stage.whole_log().contains("Connection refused"), "and why: {}", stage.logged());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_changes_no_exit_code() {
    let stage = Stage::set().await;
    let bare = stage.add_repository("bare");
    // It takes connections, and nobody reads them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    for arguments in [&["plan"][..], &["explain", PLUGIN], &["once"], &["plan", "--repository", &bare]] {
        let (without, usual) = run(&stage, arguments, &[]);
        let (with, took) = run(&stage, arguments, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
        assert_eq!(with.status.code(), without.status.code(), "{arguments:?}: {with:?}");
        assert!(took < 3 * usual + Duration::from_secs(8), "{arguments:?}: {took:?} instead of {usual:?}");
        let said = String::from_utf8(with.stderr).unwrap();
        assert!(said.contains("the last spans are lost"), "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_followed_is_refused_before_anything_is_done() {
    let stage = Stage::set().await;
    let refused = |name: &str, value: &str| {
        let more = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"), (name, value)];
        let (output, _) = run(&stage, &["once"], &more);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    for endpoint in ["collector:4318", "grpc://collector:4317", &format!("http://me:{TOKEN}@collector:4318")] {
        let said = refused("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
        assert!(said.contains("such as http://collector:4318, without a user") && !said.contains(TOKEN), "{said}");
    }
    let said = refused("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    assert!(said.contains("OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`") && said.contains("4318"), "{said}");
    for headers in [format!("x=1,{TOKEN}"), format!("x=1,{TOKEN} b=c"), format!("x=1,authorization={TOKEN}%0A")] {
        let said = refused("OTEL_EXPORTER_OTLP_HEADERS", &headers);
        assert!(said.contains("header 2 of OTEL_EXPORTER_OTLP_HEADERS") && !said.contains(TOKEN), "{said}");
    }
    let said = refused("COLDFRAME_LOG", "coldframe=inof");
    assert!(said.contains("COLDFRAME_LOG is a level") && said.contains("coldframe=debug"), "{said}");
    assert!(stage.pulls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a19_text_of_others_begins_no_line_of_a_plain_log() {
    let stage = Stage::set().await;
    let bot = stage.serve();
    stage.until("it looks", |stage| stage.whole_log().contains("done: opened").then_some(())).await;
    let key = r#""x\n2000-01-01T00:00:00Z  INFO acted\u001b[2J\u202e": 1"#;
    stage.edit_policy("plugins:", &format!("{key}\nplugins:"));
    stage.until("the mistake is logged", |stage| stage.whole_log().contains("has errors").then_some(())).await;
    assert!(bot.stop().success());
    let log = stage.whole_log();
    assert!(log.contains("2000-01-01T00:00:00Z"), "{log}");
    for line in log.lines() {
        let mut words = line.split_whitespace();
        let (time, level) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        assert!(time.parse::<jiff::Timestamp>().is_ok() && ["INFO", "WARN"].contains(&level), "{line}");
        assert!(!time.starts_with("2000-01-01") && !line.contains(['\u{1b}', '\u{202e}']), "{line}");
    }
}
