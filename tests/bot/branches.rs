//! A tier whose places lie on a branch of its own.

use decide::PluginLedger;
use demo::github::{Protection, PullView};
use demo::story::fleet::manifest_path;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const OTHER: &str = "vera";
const PLUGIN: &str = "cert-manager";

/// A branch like the default one, on which owners have to agree.
fn branch(stage: &Stage, name: &str) {
    let github = stage.world.github();
    github.push_file(REPOSITORY, name, OTHER, "EDGE.md", "bronze pulls from here", "A branch for bronze").unwrap();
    let rule = Protection { require_code_owner_reviews: true, dismiss_stale: true, ..Protection::default() };
    github.protect(REPOSITORY, name, rule).unwrap();
}

fn open(stage: &Stage) -> Option<PullView> {
    stage.pull(PLUGIN, "bronze").filter(is_open)
}

fn runs(stage: &Stage, branch: &str) -> bool {
    let path = manifest_path("bronze", "bronze-eu", PLUGIN);
    stage.world.github().file(REPOSITORY, branch, &path).unwrap().unwrap().contains("version: 1.15.0")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_climbs_on_its_own_branch() {
    let stage = Stage::set().await;
    branch(&stage, "edge");
    stage.give("bronze", "branch: edge");
    stage.give("silver", "branch: nowhere");
    let bot = stage.serve();
    let pull = stage.until("bronze opens", open).await;
    assert_eq!(pull.base, "edge");
    assert!(stage.pull(PLUGIN, "qa").is_some_and(|below| below.base == "main"));
    stage
        .never(5, "nobody has approved it", |stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull)))
        .await;
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it is merged", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    assert!(runs(&stage, "edge") && !runs(&stage, "main"));
    let landed = |stage: &Stage| {
        let page = stage.world.github().file(REPOSITORY, "coldframe-ledger", "plugins/cert-manager.yaml").unwrap()?;
        let page: PluginLedger = serde_yaml::from_str(&page).unwrap();
        page.wave(&"bronze".into(), &"1.15.0".parse().unwrap())?.landed().cloned()
    };
    let landed = stage.until("its landing is proved there", landed).await;
    assert!(landed.commit.is_some(), "{landed:?}");
    drop(bot);
    let told = stage.command(&["explain", PLUGIN, "silver"]).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("the branch `nowhere` does not exist"), "{told}");
    assert!(stage.pull(PLUGIN, "silver").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_follows_its_tier_to_another_branch() {
    let stage = Stage::set().await;
    branch(&stage, "edge");
    stage.give("bronze", "branch: edge");
    let _bot = stage.serve();
    let first = stage.until("bronze opens", open).await;
    assert_eq!(first.base, "edge");
    stage.edit_policy("    branch: edge\n", "");
    let second = stage.until("another one opens", |stage| open(stage).filter(|pull| pull.number != first.number)).await;
    assert_eq!(second.base, "main");
    stage.world.github().approve(REPOSITORY, second.number, OWNER).unwrap();
    stage.until("it is merged", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    assert!(runs(&stage, "main") && !runs(&stage, "edge"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a16_a_policy_counts_from_the_default_branch_alone() {
    let stage = Stage::set().await;
    stage.edit_policy("plugins:\n", "freeze: [{why: a quiet day}]\nplugins:\n");
    let github = stage.world.github();
    let text = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
    let text = text.replacen("freeze: [{why: a quiet day}]\n", "", 1);
    github.push_file(REPOSITORY, "thaw", "vera", "coldframe.yaml", &text, "No freeze").unwrap();
    let number = github.open_pull(REPOSITORY, "vera", "thaw", "main", "No freeze", "").unwrap();
    let _bot = stage.serve();
    let ours = |stage: &Stage| stage.pulls().iter().any(|pull| pull.head.starts_with("coldframe/") && is_merged(pull));
    stage.until("it has looked", |stage| stage.whole_log().contains("looked after").then_some(())).await;
    stage.never(8, "a pull request's own policy counted", ours).await;
    github.approve(REPOSITORY, number, "maria").unwrap();
    github.merge_as(REPOSITORY, number, "vera").unwrap();
    stage.until("it counts once it is merged", |stage| ours(stage).then_some(())).await;
}
