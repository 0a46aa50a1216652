//! The numbers of the bot as a real Prometheus reads them: alerts have their tests, and every panel of the dashboard shows
//! something of a bot at work.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::peers::{here, peer};
use crate::prometheus::{query_text, scraping};
use crate::support::Stage;

fn chart_file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/chart/files");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// What promtool says, with this on its standard input.
fn promtool(folder: &Path, arguments: &[&str], input: &str) -> String {
    let file = folder.join("input");
    std::fs::write(&file, input).unwrap();
    let mut command = Command::new(peer("bin/promtool"));
    command.args(arguments).current_dir(folder).stdin(Stdio::from(std::fs::File::open(&file).unwrap()));
    let done = command.output().expect("run tests/peers/install.sh");
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(done.status.success(), "promtool {arguments:?}: {said}");
    said
}

#[test]
fn every_alert_has_its_test() {
    let folder = tempfile::tempdir().unwrap();
    let (rules, tests) = (chart_file("rules.yaml"), std::fs::read_to_string(here().join("rules.test.yaml")).unwrap());
    std::fs::write(folder.path().join("rules.yaml"), &rules).unwrap();
    std::fs::write(folder.path().join("rules.test.yaml"), &tests).unwrap();
    promtool(folder.path(), &["check", "rules", "rules.yaml"], "");
    promtool(folder.path(), &["test", "rules", "rules.test.yaml"], "");
    let names: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let of_it = tests.split("alertname: ").skip(1).filter(|rest| rest.lines().next() == Some(name));
        let raised = of_it.filter(|rest| rest.split("eval_time").next().unwrap().contains("exp_alerts")).count();
        assert!(raised >= 1, "nothing raises {name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_panel_shows_something_of_a_bot_at_work() {
    let stage = Stage::set().await;
    stage.give("bronze", "force: {after: 1h, notice: [55m]}");
    let _bot = stage.serve();
    let given = stage.world.settings();
    let numbers = format!("http://{}/metrics", given.dashboard);
    let text = async || match reqwest::get(&numbers).await {
        Ok(answer) => answer.text().await.unwrap_or_default(),
        Err(_) => String::new(),
    };
    let folder = tempfile::tempdir().unwrap();
    let wanted = ["coldframe_force_deadline_timestamp_seconds{", "coldframe_lead_time_seconds{", "sender=\"github\""];
    let (begun, mut seen) = (Instant::now(), String::new());
    while !wanted.iter().all(|part| seen.contains(part)) {
        assert!(begun.elapsed() < Duration::from_secs(240), "{seen}");
        tokio::time::sleep(Duration::from_millis(500)).await;
        seen = text().await;
    }
    assert_eq!(promtool(folder.path(), &["check", "metrics"], &seen).trim(), "");
    let looks = "sum(increase(coldframe_ticks_total[1m])) > 1";
    let (_running, host) = scraping(folder.path(), &given.dashboard, looks, "value").await;
    let board: Value = serde_json::from_str(&chart_file("dashboard.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let answer: Value = serde_json::from_str(&query_text(&host, expression).await).unwrap();
            let found = answer["data"]["result"].as_array().is_some_and(|found| !found.is_empty());
            assert!(found, "{} asks `{expression}` and gets {answer}", panel["title"]);
        }
    }
    assert!(panels.len() >= 15, "{}", panels.len());
}
