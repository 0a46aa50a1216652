//! Clusters that nobody can reach: their controllers write at the hub what they applied.

use demo::clusters::Link;
use demo::github::Access;

use crate::slices::file;
use crate::support::{REPOSITORY, Stage, is_merged};

const PLUGIN: &str = "cert-manager";

/// Asks what `signal` says in place of the clusters of the first tier, which nobody can reach.
fn ask_the_hub(stage: &Stage, signal: &str) {
    file(stage, |text| {
        let asked = "helmRelease: {namespace: cert-manager, name: cert-manager}";
        assert!(text.contains(asked), "{text}");
        text.replace(asked, signal)
    });
    for cluster in ["qa-1", "qa-2"] {
        stage.world.clusters().set_link(cluster, Link::Silent).unwrap();
    }
}

fn app(stage: &Stage, name: &str) -> u64 {
    let permissions = [("checks", Access::Write), ("deployments", Access::Write)];
    let app = stage.world.github().add_app(name, &permissions).unwrap();
    stage.world.github().install_app(app.id, REPOSITORY).unwrap();
    app.id
}

fn climbs(stage: &Stage) -> bool {
    stage.pull(PLUGIN, "bronze").is_some()
}

/// The head of main once the first tier is merged.
async fn landed(stage: &Stage) -> String {
    stage.until("the first tier is merged", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    stage.world.github().head(REPOSITORY, "main").unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_climbs_on_check_runs_of_its_controllers_and_on_nobody_elses() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let (controllers, stranger) = (app(&stage, "controllers"), app(&stage, "stranger"));
    ask_the_hub(&stage, "checks: {run: \"applied on {cluster}\", by: \"controllers[bot]\"}");
    let _bot = stage.serve();
    let head = landed(&stage).await;
    let says = |app: u64, cluster: &str, conclusion: Option<&str>| {
        github.check(REPOSITORY, app, &head, &format!("applied on {cluster}"), conclusion).unwrap();
    };
    says(stranger, "qa-1", Some("success"));
    says(stranger, "qa-2", Some("success"));
    says(controllers, "qa-1", Some("success"));
    says(controllers, "qa-2", None);
    stage.never(5, "climbed before both controllers had applied it", climbs).await;
    let output = tokio::task::block_in_place(|| stage.command(&["explain", PLUGIN, "qa"]).output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("run applied on qa-2 of"), "{text}");
    says(controllers, "qa-2", Some("success"));
    stage.until("it climbs when both have", |stage| stage.pull(PLUGIN, "bronze")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_climbs_on_deployments_of_the_commit_that_has_the_release() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let delivery = app(&stage, "delivery");
    ask_the_hub(&stage, "checks: {deployment: \"{cluster}\", by: \"delivery[bot]\"}");
    let before = github.head(REPOSITORY, "main").unwrap().unwrap();
    let deploy = |commit: &str, cluster: &str, state: &str| {
        github.deploy(REPOSITORY, delivery, commit, cluster, state).unwrap();
    };
    ["qa-1", "qa-2"].iter().for_each(|cluster| deploy(&before, cluster, "success"));
    let _bot = stage.serve();
    let head = landed(&stage).await;
    deploy(&head, "qa-1", "success");
    stage.never(5, "climbed while one of them had deployed the commit before", climbs).await;
    deploy(&head, "qa-2", "success");
    stage.until("it climbs when both have deployed it", |stage| stage.pull(PLUGIN, "bronze")).await;
}
