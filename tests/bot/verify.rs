//! A canary that a workflow of the repository verifies before its next slice.

use demo::github::RunView;

use crate::slices::{OTHER, OWNER, PLUGIN, give, pulls, runs};
use crate::support::{BOT, REPOSITORY, Stage, is_merged};

const WORKFLOW: &str = "\
name: Smoke
run-name: Smoke ${{ inputs.id }}
on:
  workflow_dispatch:
    inputs:
      id: {required: true}
      plugin: {required: true}
      version: {required: true}
      tier: {required: true}
      slice: {required: true}
      clusters: {required: true}
jobs: {smoke: {runs-on: ubuntu-latest, steps: [{run: 'true'}]}}
";

/// The workflow lies on the default branch.
fn has_workflow(stage: &Stage) {
    let github = stage.world.github();
    let path = ".github/workflows/smoke.yml";
    github.push_file(REPOSITORY, "smoke", OTHER, path, WORKFLOW, "A smoke test").unwrap();
    let number = github.open_pull(REPOSITORY, OTHER, "smoke", "main", "A smoke test", "").unwrap();
    github.approve(REPOSITORY, number, OWNER).unwrap();
    github.merge_as(REPOSITORY, number, OTHER).unwrap();
}

fn of_plugin(stage: &Stage) -> Vec<RunView> {
    let all = stage.world.github().runs(REPOSITORY).unwrap();
    all.into_iter().filter(|run| run.inputs["plugin"] == PLUGIN).collect()
}

const CANARY: &str = "strategy: {canary: {steps: [{setWeight: 50}, {verify: {workflow: smoke.yml, timeout: 5m}}]}}";

#[tokio::test(flavor = "multi_thread")]
async fn the_next_slice_waits_for_the_workflow_through_a_crash() {
    let stage = Stage::set().await;
    has_workflow(&stage);
    give(&stage, "qa", CANARY);
    let bot = stage.serve();
    let run = stage.until("the workflow is dispatched", |stage| of_plugin(stage).into_iter().next()).await;
    let first = pulls(&stage, "qa").into_iter().find(is_merged).unwrap();
    assert_eq!(run.title, format!("Smoke cert-manager-qa-1.15.0-{}-1.0.1", first.number));
    assert_eq!((run.actor.as_str(), run.workflow.as_str()), (BOT, "smoke.yml"));
    let told = ["version", "tier", "slice", "clusters"].map(|name| run.inputs[name].as_str());
    assert_eq!(told, ["1.15.0", "qa", "1", "qa-1"]);
    let said =
        |stage: &Stage| pulls(stage, "qa").first().filter(|pull| pull.body.contains("smoke.yml verifies")).cloned();
    stage.until("the pull request says what it waits for", said).await;
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = stage.serve();
    stage.never(6, "the second slice did not wait", |stage| pulls(stage, "qa").len() > 1).await;
    stage.world.github().end_run(REPOSITORY, run.id, Some("success")).unwrap();
    let second = |stage: &Stage| pulls(stage, "qa").into_iter().nth(1).filter(is_merged);
    stage.until("the second slice is merged", second).await;
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze")).await;
    assert_eq!(of_plugin(&stage).len(), 1, "it was dispatched once");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_workflow_finds_wanting_goes_back() {
    let stage = Stage::set().await;
    has_workflow(&stage);
    give(&stage, "qa", &format!("{CANARY}\n    onFailure: {{rollBack: {{merge: automatic}}}}"));
    let _bot = stage.serve();
    let run = stage.until("the workflow is dispatched", |stage| of_plugin(stage).into_iter().next()).await;
    stage.world.github().end_run(REPOSITORY, run.id, Some("failure")).unwrap();
    let back = |stage: &Stage| pulls(stage, "qa").into_iter().nth(1).filter(is_merged);
    let back = stage.until("the way back is merged", back).await;
    assert!(back.title.contains("1.14.7") && back.title.contains("rollback of 1.15.0"), "{}", back.title);
    assert_eq!(runs(&stage, "qa", "qa-1"), "1.14.7");
    let again = |stage: &Stage| pulls(stage, "qa").len() > 2 || stage.pull(PLUGIN, "bronze").is_some();
    stage.never(6, "what failed came back or went on", again).await;
    assert_eq!(of_plugin(&stage).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_not_there_verifies_nothing() {
    let stage = Stage::set().await;
    give(&stage, "qa", CANARY);
    let _bot = stage.serve();
    stage.until("the first slice is merged", |stage| pulls(stage, "qa").into_iter().find(is_merged)).await;
    let unread = "the runs of smoke.yml could not be read";
    let said = |stage: &Stage| pulls(stage, "qa").first().filter(|pull| pull.body.contains(unread)).cloned();
    stage.until("the pull request says why", said).await;
    stage.never(4, "the second slice did not wait", |stage| pulls(stage, "qa").len() > 1).await;
    has_workflow(&stage);
    let run = stage.until("it is dispatched when it is there", |stage| of_plugin(stage).into_iter().next()).await;
    stage.world.github().end_run(REPOSITORY, run.id, Some("success")).unwrap();
    stage.until("the second slice opens", |stage| pulls(stage, "qa").into_iter().nth(1)).await;
}

/// Before the release has finished the tier, whoever has to wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_tier_is_finished_when_its_workflow_has_succeeded() {
    let stage = Stage::set().await;
    has_workflow(&stage);
    give(&stage, "qa", "verify: {workflow: smoke.yml, timeout: 5m}");
    let _bot = stage.serve();
    let run = stage.until("the workflow is dispatched", |stage| of_plugin(stage).into_iter().next()).await;
    let merged = pulls(&stage, "qa").into_iter().find(is_merged).unwrap();
    assert_eq!(run.title, format!("Smoke cert-manager-qa-1.15.0-{}-end.1", merged.number));
    assert_eq!(["slice", "clusters"].map(|name| run.inputs[name].as_str()), ["1", "qa-1,qa-2"]);
    let said =
        |stage: &Stage| pulls(stage, "qa").first().filter(|pull| pull.body.contains("smoke.yml verifies")).cloned();
    stage.until("the pull request says what it waits for", said).await;
    stage.never(6, "bronze did not wait", |stage| stage.pull(PLUGIN, "bronze").is_some()).await;
    stage.world.github().end_run(REPOSITORY, run.id, Some("success")).unwrap();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze")).await;
    assert_eq!(of_plugin(&stage).len(), 1, "once, and on that tier alone");
}
