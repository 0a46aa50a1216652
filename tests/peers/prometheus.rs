//! Queries against a real Prometheus, which scrapes what this test serves.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use coldframe::observe::ask::{About, Ask, Memory, Reach, answers};
use coldframe::observe::net::Net;
use coldframe::observe::whose::Whose;
use coldframe::policy::{SourceFile, load};
use coldframe::secret::Secrets;
use coldframe::signal::{Question, question};
use decide::ledger::{Landed, Wave};
use decide::snapshot::{Health, Reading};
use decide::{Ledger, PluginLedger};
use jiff::{SignedDuration, Timestamp};

use crate::peers::{Running, peer, serve};

const METRICS: &str = "\
up_to{pod=\"loki-0\"} 1
up_to{pod=\"loki-1\"} 1
failing{pod=\"loki-0\"} 1
failing{pod=\"loki-1\"} 0
undefined{pod=\"loki-0\"} NaN
gotk_resource_info{name=\"loki\",ready=\"True\",revision=\"1.2.0\"} 1
";

/// A Prometheus that scrapes this test every second.
async fn prometheus(folder: &std::path::Path) -> (Running, String) {
    let target = serve(axum::Router::new().fallback(|| async { METRICS })).await;
    // Of some seconds ago: a range ends with the whole second before now.
    scraping(folder, &target, "undefined offset 3s", "loki-0").await
}

/// A Prometheus that scrapes this address every second, once it answers this query with this.
pub async fn scraping(folder: &std::path::Path, target: &str, query: &str, part: &str) -> (Running, String) {
    let host = format!("127.0.0.1:{}", demo::free_port().unwrap());
    let settings = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nscrape_configs:\n  - job_name: loki\n    \
         static_configs: [{{targets: [\"{target}\"], labels: {{cluster: eu-1}}}}]\n"
    );
    let file = folder.join("prometheus.yml");
    std::fs::write(&file, settings).unwrap();
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new(peer("bin/prometheus"));
    command.env_clear().arg(format!("--config.file={}", file.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
    command.arg(format!("--web.listen-address={host}"));
    // Debian's own places for its pages do not exist where it is only unpacked.
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let running = Running(command.spawn().expect("run tests/peers/install.sh"));
    let begun = Instant::now();
    loop {
        let text = query_text(&host, query).await;
        if text.contains(part) {
            return (running, host);
        }
        let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(begun.elapsed() < Duration::from_secs(60), "Prometheus has nothing: {text} {}", log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What a Prometheus answers; nothing where it does not.
pub async fn query_text(host: &str, query: &str) -> String {
    let mut url = reqwest::Url::parse(&format!("http://{host}/api/v1/query")).unwrap();
    url.query_pairs_mut().append_pair("query", query);
    match reqwest::get(url).await {
        Ok(answer) => answer.text().await.unwrap_or_default(),
        Err(_) => String::new(),
    }
}

fn ago(minutes: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_mins(minutes)
}

/// 1.2.0 runs on `eu-1` for two hours, by a HelmRelease and by the ledger.
async fn ask(host: &str, keys: &str) -> Reading {
    let text = format!(
        "tiers: [{{name: gold}}]\nplugins:\n  - name: loki\n    chart: {{oci: oci://registry.example/loki}}\n    \
         write: [{{file: loki.yaml, path: $.version}}]\n    signals: [{{prometheus: {{url: \"http://{host}\", {keys}}}}}]\n"
    );
    let loaded = load(&[SourceFile { path: "coldframe.yaml".to_owned(), text }]).unwrap();
    let spec = &loaded.wiring.plugins.values().next().unwrap().signals[0];
    let whose = Whose { plugin: "loki".into(), tier: "gold".into(), cluster: "eu-1".into() };
    let Ok(Question::Metrics(metrics)) = question(spec, &whose.cluster, &whose.tier) else { panic!("no query") };
    let version: decide::Version = "1.2.0".parse().unwrap();
    let landed = Some(Landed { at: ago(121), commit: None, by: None });
    let members = vec![whose.cluster.clone()].into();
    let mut wave = Wave::begun(version.clone(), members, ago(130));
    *wave.rewrite().landed = landed;
    let page = PluginLedger { tiers: [("gold".into(), vec![wave])].into(), ..PluginLedger::default() };
    let ledger = Ledger { plugins: [("loki".into(), page)].into(), ..Ledger::default() };
    let helm = Reading {
        signal: "HelmRelease loki/loki".to_owned(),
        health: Health::Healthy,
        running: Some(version),
        attempted: None,
        digest: None,
        observed_at: Timestamp::now(),
        since: Some(ago(120)),
        evidence: String::new(),
    };
    let net = Net::new(vec![host.to_owned()]).unwrap();
    let reach = Reach { net: &net, secrets: &Secrets::default(), repository: 1 };
    let asks = vec![Ask {
        whose: whose.clone(),
        index: 0,
        dated: true,
        fresh: SignedDuration::ZERO,
        about: About::Metrics(metrics.into()),
    }];
    let known = (Some(&ledger), &mut Memory::default());
    answers(&reach, asks, &[(whose, helm)], known, Timestamp::now()).await.remove(0).1
}

#[tokio::test(flavor = "multi_thread")]
async fn pass_fail_no_data_bad_query_down() {
    let folder = tempfile::tempdir().unwrap();
    let (running, host) = prometheus(folder.path()).await;
    for (keys, health, words) in [
        (r#"query: 'up_to{cluster="{{cluster}}"}', expect: "== 1""#, Health::Healthy, "2 series in all"),
        (r#"query: 'min_over_time(up_to{job="{{plugin}}"}[10m])', expect: "== 1""#, Health::Healthy, "about 1.2.0"),
        (r#"query: 'count(up_to{pod=~"loki-.*"})', expect: ">= 2""#, Health::Healthy, "2 of the answer is >= 2"),
        (r#"query: 'scalar(count(up_to))', expect: "== 2""#, Health::Healthy, "1 series in all"),
        (r#"query: 'up_to > bool {{from}}', expect: "== 0""#, Health::Healthy, "2 series"),
        (r#"query: failing, expect: "== 1""#, Health::Degraded, "is not == 1, 1 of 2 series"),
        (r#"query: undefined, expect: "== 1""#, Health::Unknown, "proves nothing"),
        (r#"query: 'up_to{cluster="{{tier}}"}', expect: "== 1""#, Health::Unknown, "no data"),
        (r#"query: 'sum(up_to', expect: "== 1""#, Health::Unknown, "bad_data"),
        (r#"query: 'up_to[5m]', expect: "== 1""#, Health::Unknown, "many values per series"),
        (r#"query: up_to, expect: "== 1", range: 1h"#, Health::Healthy, "2 series in all"),
        (r#"query: failing, expect: "== 1", range: 1h, step: 15s"#, Health::Degraded, "1 of 2 series"),
        (
            r#"query: 'gotk_resource_info{ready="True"}', expect: "== 1", version: revision"#,
            Health::Healthy,
            "revision",
        ),
        (
            r#"query: gotk_resource_info, expect: "== 1", version: name"#,
            Health::Unknown,
            "is a text of 4 characters that is no version",
        ),
    ] {
        let reading = ask(&host, keys).await;
        assert_eq!(reading.health, health, "{keys}: {}", reading.evidence);
        assert!(reading.evidence.contains(words), "{keys}: {}", reading.evidence);
        assert!(Timestamp::now().duration_since(reading.observed_at) < SignedDuration::from_mins(1), "{keys}");
        let proven = reading.running.is_some_and(|running| running.as_str() == "1.2.0");
        assert!(proven || health == Health::Unknown, "{keys}");
    }
    // Longer than it has been scraped: no point of before is made up.
    let reading = ask(&host, r#"query: up_to, expect: "== 1", range: 1h, step: 15s"#).await;
    assert!(reading.since.unwrap() > ago(10), "{:?}", reading.since);
    drop(running);
    let reading = ask(&host, r#"query: up_to, expect: "== 1""#).await;
    assert_eq!(reading.health, Health::Unknown, "{}", reading.evidence);
    assert!(reading.evidence.contains(&host), "{}", reading.evidence);
}
