//! The dashboard and the sandbox's pages in a real browser: the bot runs as a process, a person acts
//! with the mouse. Wants `tests/browser/install.sh`; screenshots lie in target/browser.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[allow(dead_code)]
#[path = "../bot/support.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use demo::github::PullStanding;
use demo::story::fleet::{PLUGINS, TIERS, TROUBLED};
use serde_json::{Value, json};
use support::{BOT, REPOSITORY, Stage, is_merged, is_open, last_lines};
use tokio::process::Command;
use tokio::sync::Mutex;

/// The person in the browser.
const OWNER: &str = "maria";
/// What a stranger would write into release notes.
const HOSTILE: &str = "Safe <script>globalThis.pwned = 1</script> notes\n\
                       <img src=x onerror=\"globalThis.pwned = 1\"> [a link](javascript:globalThis.pwned=1)";
/// A browser takes a core; one at a time.
static ONE: Mutex<()> = Mutex::const_new(());

/// Where `install.sh` put playwright, and where the screenshots go.
fn folder() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/browser");
    std::env::var_os("COLDFRAME_BROWSER").map_or_else(built, PathBuf::from)
}

/// How long one script may take: three starts of Chromium on a cold disk, and the walk itself.
const PATIENCE: Duration = Duration::from_mins(5);

/// Runs one of the scripts beside this file; its complaint is ours. What it did step by step lies in
/// `<script>.log` beside the screenshots, and its end is shown when it fails or hangs.
async fn browse(stage: &Stage, script: &str, given: &Value) {
    let folder = folder();
    assert!(folder.join("node.stamp").exists(), "run tests/browser/install.sh first: {} is empty", folder.display());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(script);
    let log = folder.join(script).with_extension("log");
    let steps = std::fs::File::create(&log).unwrap();
    let mut command = Command::new("node");
    command.arg(path).arg(given.to_string()).envs([("COLDFRAME_BROWSER", &*folder), ("TMPDIR", stage.folder.path())]);
    command.env("DEBUG", "pw:api").stdout(steps.try_clone().unwrap()).stderr(steps);
    let _alone = ONE.lock().await;
    let ran = tokio::time::timeout(PATIENCE, command.kill_on_drop(true).status()).await;
    let said = || last_lines(&std::fs::read_to_string(&log).unwrap_or_default());
    let status = ran.unwrap_or_else(|_| panic!("{script} hangs after:\n{}", said())).expect("Node.js starts");
    assert!(status.success(), "{script}: {}\n{}", said(), stage.logged());
}

fn tiers() -> Vec<&'static str> {
    TIERS.iter().map(|(tier, _)| *tier).collect()
}

/// What `pull.mjs` expects of the pull request of a plugin on bronze, and what it does there.
fn person(stage: &Stage, number: u64, plugin: &str, (from, to): (&str, &str), act: Value) -> Value {
    let mut given = json!({
        "pull": format!("{}/{REPOSITORY}/pull/{number}", stage.world.settings().hub),
        "title": format!("{plugin} {to} → bronze (2 of 4)"), "tier": "bronze", "row": [plugin, from, to],
        "tiers": tiers(), "files": 3, "who": OWNER, "notes": [],
    });
    given.as_object_mut().unwrap().extend(act.as_object().unwrap().clone());
    given
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_decides_in_the_browser_and_the_bot_follows() {
    let stage = Stage::whole().await;
    stage.world.charts().publish("cert-manager", "1.15.1", HOSTILE).unwrap();
    let _bot = stage.serve();
    let bronze = async |plugin| {
        stage
            .until("bronze waits with its check", |stage| {
                stage.pull(plugin, "bronze").filter(|pull| is_open(pull) && !pull.checks.is_empty())
            })
            .await
    };

    let pull = bronze("cert-manager").await;
    let notes = ["Safe", "notes", "javascript"];
    let act = json!({"button": "Approve", "said": "approved", "shot": "approve", "notes": notes});
    browse(&stage, "pull.mjs", &person(&stage, pull.number, "cert-manager", ("1.14.7", "1.15.1"), act)).await;
    let merged = stage.until("the bot merges", |stage| stage.pull("cert-manager", "bronze").filter(is_merged)).await;
    let by_bot = matches!(&merged.standing, PullStanding::Merged { by, .. } if by == BOT);
    assert!(by_bot && merged.number == pull.number, "{:?}", merged.standing);
    let yes: Vec<&str> =
        merged.reviews.iter().filter(|review| review.approves()).map(|review| review.author.as_str()).collect();
    assert_eq!(yes, [OWNER], "hers was the only yes");

    let pull = bronze("kube-state-metrics").await;
    let act = json!({"button": "Close pull request", "said": "closed this", "shot": "close"});
    browse(&stage, "pull.mjs", &person(&stage, pull.number, "kube-state-metrics", ("5.25.0", "5.25.1"), act)).await;
    let told = |stage: &Stage| {
        stage.pull("kube-state-metrics", "bronze").filter(|pull| pull.body.contains(OWNER) && !is_open(pull))
    };
    stage.until("the bot says that it was refused", told).await;
    let back = |stage: &Stage| {
        stage.pull("kube-state-metrics", "bronze").is_none_or(|now| now.number != pull.number || is_open(&now))
            || stage.pull("kube-state-metrics", "silver").is_some()
    };
    stage.never(8, "5.25.1 came back after a no", back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a46_people_sign_in_and_see_what_they_may_read() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    github.set_private(REPOSITORY, true).unwrap();
    github.add_user("eve");
    let home = format!("http://{}", given.dashboard);
    let (id, secret) = github.sign_in_at(given.app_id, &format!("{home}/signed-in")).unwrap();
    let metrics = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let _bot = stage.serve_with(&[
        ("COLDFRAME_PUBLIC_URL", &home),
        ("COLDFRAME_CLIENT_ID", &id),
        ("COLDFRAME_CLIENT_SECRET", &secret),
        ("COLDFRAME_METRICS", &metrics),
    ]);
    stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    let walk = json!({
        "dashboard": format!("{home}/"), "hub": given.hub, "repository": REPOSITORY, "plugin": "cert-manager",
        "owner": OWNER, "stranger": "eve",
    });
    browse(&stage, "sign-in.mjs", &walk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_shows_what_stands_where() {
    let stage = Stage::whole().await;
    let held = "ingress-nginx";
    stage.world.clusters().break_version(TROUBLED, held, "4.11.3").unwrap();
    let _bot = stage.serve();
    for tier in ["bronze", "silver"] {
        let pull = stage.until("a tier opens", |stage| stage.pull(held, tier).filter(is_open)).await;
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    }
    let blamed = |stage: &Stage| stage.pull(held, "silver").filter(|pull| pull.body.contains(TROUBLED));
    stage.until("silver is merged", |stage| stage.pull(held, "silver").filter(is_merged)).await;
    let failed = |stage: &Stage| blamed(stage).filter(|pull| pull.body.contains("🔴"));
    stage.until("silver is held for its cluster", failed).await;
    let waits = |stage: &Stage| stage.pull("cert-manager", "bronze").filter(is_open);
    let waiting = stage.until("another waits for a yes", waits).await;
    let mut plugins: Vec<&str> = PLUGINS.iter().map(|plugin| plugin.name).collect();
    plugins.sort_unstable();
    let given = json!({
        "dashboard": format!("http://{}/", stage.world.settings().dashboard), "tiers": tiers(), "plugins": plugins,
        "held": held, "where": "silver", "ill": TROUBLED, "clusters": 4, "waiting": "cert-manager", "waits": "bronze",
        "who": OWNER, "pull": format!("{}/{REPOSITORY}/pull/{}", stage.world.settings().hub, waiting.number),
    });
    browse(&stage, "dashboard.mjs", &given).await;
}
