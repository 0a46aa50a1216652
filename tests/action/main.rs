//! The Action as README tells people to use it: its workflow in `act`, the binary as a checksummed
//! release file on loopback, the sandbox as the hub. Wants `tests/action/install.sh`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[allow(dead_code)]
#[path = "../bot/support.rs"]
mod support;

mod runner;
mod workflow;

use runner::{Release, Runner};
use support::{BOT, REPOSITORY, Stage, is_merged, is_open};
use workflow::Workflow;

/// Who the plain token belongs to.
const VISITOR: &str = "vera";
/// The plugins whose climb begins on qa.
const PLUGINS: [&str; 3] = ["cert-manager", "ingress-nginx", "kube-state-metrics"];

/// Every plugin was proposed to the first tier, by this author. The sandbox's durations are seconds, so
/// that one run may go on to where a person is needed, but not over them.
fn first_tier_proposed(stage: &Stage, author: &str, log: &str) {
    let pulls = stage.pulls();
    for plugin in PLUGINS {
        let qa = pulls.iter().filter(|pull| pull.head == format!("coldframe/{plugin}/qa")).count();
        assert_eq!(qa, 1, "{plugin} on qa: {log}");
    }
    for pull in pulls {
        assert_eq!(pull.author, author, "#{}", pull.number);
        let tier = pull.head.rsplit('/').next().unwrap();
        let stands = if is_merged(&pull) { tier == "qa" } else { is_open(&pull) && ["qa", "bronze"].contains(&tier) };
        assert!(stands, "{} is {:?}: {log}", pull.title, pull.standing);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_workflow_of_the_readme_opens_the_first_tier() {
    let stage = Stage::set().await;
    let release = Release::serve(&stage).await;
    let workflow = Workflow::of_readme().pointed_at(&stage, &release);
    let runner = Runner::new(&stage, &workflow);
    let run = runner.run("workflow_dispatch").await;
    assert!(run.good, "{}", run.log);
    first_tier_proposed(&stage, BOT, &run.log);
    assert!(run.log.contains("Summary - ## Coldframe on acme/fleet"), "the step summary was written: {}", run.log);
    assert!(run.log.contains("cert-manager 1.15.0 → qa"), "the log says what was done: {}", run.log);
    runner.nothing_secret_in(&run.log);
    runner.nothing_left_behind();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_token_does_without_an_app() {
    let stage = Stage::set().await;
    // Only the Apps may write the ledger as the sandbox is set up; a repository that has none lets writers.
    stage.world.github().clear_rulesets(REPOSITORY).unwrap();
    let release = Release::serve(&stage).await;
    let workflow = Workflow::of_readme()
        .without(&["app-id", "app-private-key"])
        .with(&[("token", "${{ github.token }}")])
        .pointed_at(&stage, &release);
    let run = Runner::new(&stage, &workflow).run("workflow_dispatch").await;
    assert!(run.good, "{}", run.log);
    first_tier_proposed(&stage, VISITOR, &run.log);
    assert!(!run.log.contains(&stage.world.settings().user_token), "the token is in the log");
}

/// The workflow of docs/releases.md in a catalog, whose newest commit takes an option away.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogs_pull_request_is_compared_without_any_secret() {
    let stage = Stage::set().await;
    let release = Release::serve(&stage).await;
    let workflow = Workflow::of_catalog().for_catalog(&release);
    let runner = Runner::new(&stage, &workflow);
    let definition = |version: &str, options: &str| {
        format!(
            "apiVersion: greenhouse.sap/v1alpha1\nkind: PluginDefinition\nmetadata: {{name: perses}}\nspec:\n  version: {version}\n  options:\n{options}    - name: kept\n      type: string\n"
        )
    };
    let file = "perses/plugindefinition.yaml";
    runner.commit(file, &definition("1.4.0", "    - name: gone\n      type: string\n"));
    runner.commit(file, &definition("1.5.0", ""));
    let run = runner.run("pull_request").await;
    assert!(!run.good && run.log.contains("the option `gone` is gone"), "{}", run.log);
    assert!(!run.log.contains("Run Main coldframe once"), "{}", run.log);
    runner.nothing_secret_in(&run.log);
    runner.commit(file, &definition("1.5.0", "    - name: more\n      type: string\n"));
    let run = runner.run("pull_request").await;
    assert!(run.good && run.log.contains("the option `more` is new"), "{}", run.log);
    refused(&runner, "issue_comment", "refuses this event", "an event of strangers").await;
    let run = Runner::new(&stage, &workflow.comparing("-x..HEAD")).run("pull_request").await;
    assert!(!run.good, "{}", run.log);
    assert!(stage.pulls().is_empty(), "something was promoted");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_trusted_runs_nothing() {
    let stage = Stage::set().await;
    let release = Release::serve(&stage).await;
    let right = Workflow::of_readme().pointed_at(&stage, &release);
    let zeros = "0".repeat(64);
    let cases = [
        ("a pinned checksum of something else", right.with(&[("checksum", &zeros)]), "nothing was run"),
        ("a checksum that is none", right.with(&[("checksum", "sha256:abc")]), "is not a SHA-256"),
        (
            "a file that does not fit the checksum beside it",
            right.with(&[("download-url", &release.forged())]),
            "nothing was run",
        ),
        ("no checksum at all", right.with(&[("download-url", &release.bare())]), "There is no checksum"),
        (
            "plain HTTP from elsewhere",
            right.with(&[("download-url", "http://127.0.0.1.example/")]),
            "must begin with https",
        ),
    ];
    for (what, workflow, said) in cases {
        refused(&Runner::new(&stage, &workflow), "workflow_dispatch", said, what).await;
    }
    for event in ["pull_request_target", "issue_comment", "workflow_run", "pull_request"] {
        refused(&Runner::new(&stage, &right.also_on(event)), event, "refuses this event", event).await;
    }
    assert!(stage.pulls().is_empty(), "something ran");
    assert_eq!(stage.world.github().head(REPOSITORY, "coldframe-ledger").unwrap(), None, "something was written");
}

/// The run fails before the bot is started, and says why. (`act` now and then loses the last words of a
/// step that ends quickly; then they are asked for again.)
async fn refused(runner: &Runner, event: &str, said: &str, what: &str) {
    let mut log = String::new();
    for _ in 0..5 {
        let run = runner.run(event).await;
        assert!(!run.good && !run.log.contains("Run Main coldframe once"), "{what}: {}", run.log);
        if run.log.contains(said) {
            return;
        }
        log = run.log;
    }
    panic!("{what} is refused without saying `{said}`: {log}");
}
