//! The same pull requests by Renovate and by `coldframe once`, each in a GitHub of its own in one run: requests at
//! GitHub (reads by git left out: the clusters of the sandbox read all the time), processor time, memory; and once more
//! when nothing is to be done. `COLDFRAME_RENOVATE=1,20,80` names other numbers of charts, `COLDFRAME_CALLS=1` lists calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

#[allow(dead_code)] // the bot's own tests use all of it
#[path = "../../bot/support.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use demo::github::Role;
use support::{REPOSITORY, Stage, is_open};

/// What one run took.
#[derive(Clone, Copy)]
struct Cost {
    /// At GitHub.
    requests: u64,
    /// Of the process and of those that it started, in seconds.
    processor: f64,
    /// The most at once, in MB.
    memory: f64,
}

/// A repository in which so many charts each have a newer release, and nothing else.
async fn set(charts: usize) -> Stage {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let url = stage.world.charts().repository();
    let policy = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
    let (head, _) = policy.split_once("plugins:\n").unwrap();
    let mut text = format!("{head}freeze: [{{why: a quiet day}}]\nplugins:\n");
    let mut files = vec![("charts/repository.yaml".to_owned(), repository(&url))];
    for number in 0..charts {
        let name = format!("chart-{number:02}");
        for version in ["1.0.0", "1.1.0"] {
            stage.world.charts().publish(&name, version, "Better").unwrap();
        }
        text.push_str(&format!(
            "  - name: {name}\n    chart: {{repository: {url}, name: {name}}}\n    write: [{{file: \
             \"charts/{{tier}}/{name}.yaml\", path: $.spec.chart.spec.version}}]\n    signals: [{{helmRelease: \
             {{namespace: {name}, name: {name}}}}}]\n"
        ));
        files.push((format!("charts/qa/{name}.yaml"), release(&name, "1.0.0")));
        // Coldframe alone looks at the tiers above; they run what is newest.
        for tier in ["bronze", "silver", "gold"] {
            files.push((format!("charts/{tier}/{name}.yaml"), release(&name, "1.1.0")));
        }
    }
    files.push(("coldframe.yaml".to_owned(), text));
    files.push(("renovate.json".to_owned(), RENOVATE.to_owned()));
    let mut head = None;
    for (path, text) in &files {
        head = Some(github.push_file(REPOSITORY, "more", "vera", path, text, "Charts").unwrap());
    }
    github.force_branch(REPOSITORY, "main", "vera", head.as_deref()).unwrap();
    github.force_branch(REPOSITORY, "more", "vera", None).unwrap();
    stage
}

/// Every chart in a pull request of its own, all at once, of the files that both look at.
const RENOVATE: &str = r#"{
  "enabledManagers": ["flux"],
  "flux": {"managerFilePatterns": ["/^charts\\/(qa\\/|repository)/"]},
  "prHourlyLimit": 0,
  "prConcurrentLimit": 0,
  "branchConcurrentLimit": 0,
  "dependencyDashboard": true
}
"#;

fn repository(url: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: charts\n  namespace: \
         flux-system\nspec:\n  interval: 10m\n  url: {url}\n"
    )
}

fn release(name: &str, version: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {name}\n  namespace: \
         {name}\nspec:\n  interval: 10m\n  chart:\n    spec:\n      chart: {name}\n      version: {version}\n      \
         sourceRef:\n        kind: HelmRepository\n        name: charts\n        namespace: flux-system\n"
    )
}

/// Runs a command to its end; what it took beside the requests.
fn run(command: &Command, log: &Path) -> (f64, f64) {
    let file = std::fs::File::create(log).unwrap();
    let program = command.get_program().to_owned();
    // GNU time counts what the children of a process took, too.
    let mut timed = Command::new("/usr/bin/time");
    timed.args(["--format", "%U %S %M", "--output"]).arg(log.with_extension("time")).arg(program);
    timed.args(command.get_args()).env_clear();
    timed.envs(command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))));
    if let Some(folder) = command.get_current_dir() {
        timed.current_dir(folder);
    }
    let status = timed.stdout(file.try_clone().unwrap()).stderr(file).stdin(Stdio::null()).status().unwrap();
    let words = std::fs::read_to_string(log.with_extension("time")).unwrap();
    let last: Vec<f64> = words.lines().last().unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
    assert!(status.success(), "{}", support::last_lines(&std::fs::read_to_string(log).unwrap()));
    (last[0] + last[1], last[2] / 1024.0)
}

async fn cost(stage: &Stage, command: Command, log: &Path) -> Cost {
    let before = stage.world.github().requests();
    let log = log.to_owned();
    let (processor, memory) = tokio::task::spawn_blocking(move || run(&command, &log)).await.unwrap();
    let after = stage.world.github().requests();
    // The clusters of the sandbox read by git all the time; what they read counts for neither.
    let sum = |calls: &BTreeMap<String, u64>| -> u64 {
        calls.iter().filter(|(route, _)| !route.starts_with("GIT git-upload-pack")).map(|(_, count)| count).sum()
    };
    if std::env::var_os("COLDFRAME_CALLS").is_some() {
        for (route, count) in &after {
            let more = count - before.get(route).unwrap_or(&0);
            if more > 0 {
                println!("    {more:5} {route}");
            }
        }
    }
    Cost { requests: sum(&after) - sum(&before), processor, memory }
}

fn renovate(stage: &Stage, peers: &Path, token: &str) -> Command {
    let base = stage.folder.path().join("renovate");
    std::fs::create_dir_all(&base).unwrap();
    let mut command = Command::new(peers.join("node_modules/.bin/node"));
    command.arg(peers.join("node_modules/renovate/dist/renovate.js")).current_dir(&base);
    let path = std::env::var("PATH").unwrap();
    command.envs([
        ("PATH", path.as_str()),
        ("HOME", base.to_str().unwrap()),
        ("RENOVATE_BASE_DIR", base.to_str().unwrap()),
        ("RENOVATE_PLATFORM", "github"),
        ("RENOVATE_ENDPOINT", &format!("{}/api/v3/", stage.world.github().url())),
        ("RENOVATE_TOKEN", token),
        ("RENOVATE_REPOSITORIES", REPOSITORY),
        ("RENOVATE_ONBOARDING", "false"),
        ("RENOVATE_REPOSITORY_CACHE", "enabled"),
        ("RENOVATE_GIT_AUTHOR", "Renovate <renovate@example.org>"),
        ("LOG_LEVEL", "info"),
    ]);
    command
}

/// The bot as one identity, as Renovate is; the App that may pass branch rules is asked who it is, too.
fn once(stage: &Stage) -> Command {
    let mut command = stage.command(&["once"]);
    command.env_remove("COLDFRAME_BYPASS_APP_ID").env_remove("COLDFRAME_BYPASS_APP_KEY");
    command
}

fn opened(stage: &Stage, by: &str) -> usize {
    stage.pulls().iter().filter(|pull| is_open(pull) && pull.author == by).count()
}

fn told(who: &str, first: Cost, idle: Cost) {
    let Cost { requests, processor, memory } = first;
    println!(
        "  {who:10} {requests:5} requests, {processor:6.2} s of processor, {memory:4.0} MB; nothing to do: {} requests, \
         {:.2} s",
        idle.requests, idle.processor
    );
}

#[tokio::main]
async fn main() {
    let sizes = std::env::var("COLDFRAME_RENOVATE").unwrap_or_else(|_| "1,20,80".to_owned());
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = here.join("tests/benches/renovate/install.sh");
    assert!(Command::new(script).status().unwrap().success(), "Renovate could not be installed");
    let peers: PathBuf = here.join("target/renovate");
    for size in sizes.split(',').map(|size| size.parse::<usize>().unwrap()) {
        println!("{size} pull requests");
        let stage = set(size).await;
        stage.world.github().set_permission(REPOSITORY, "renovate", Role::Write).unwrap();
        let token = stage.world.github().add_token("renovate");
        let log = |name: &str| stage.folder.path().join(name);
        let begun = Instant::now();
        let first = cost(&stage, renovate(&stage, &peers, &token), &log("first")).await;
        assert_eq!(opened(&stage, "renovate"), size, "{}", std::fs::read_to_string(log("first")).unwrap());
        let idle = cost(&stage, renovate(&stage, &peers, &token), &log("idle")).await;
        told("Renovate", first, idle);
        let theirs = (first, idle);
        let stage = set(size).await;
        let log = |name: &str| stage.folder.path().join(name);
        let first = cost(&stage, once(&stage), &log("first")).await;
        assert_eq!(opened(&stage, support::BOT), size, "{}", std::fs::read_to_string(log("first")).unwrap());
        let idle = cost(&stage, once(&stage), &log("idle")).await;
        told("Coldframe", first, idle);
        let share = |ours: f64, theirs: f64| ours / theirs;
        println!(
            "  of Renovate's: {:.2} of its requests (aim 0.33), {:.3} of its processor time and {:.3} of its memory (aim \
             0.05), {:.2} of its requests with nothing to do; {:.0} s",
            share(first.requests as f64, theirs.0.requests as f64),
            share(first.processor, theirs.0.processor),
            share(first.memory, theirs.0.memory),
            share(idle.requests as f64, theirs.1.requests as f64),
            begun.elapsed().as_secs_f64()
        );
    }
}
