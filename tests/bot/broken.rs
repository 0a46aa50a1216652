//! A policy file with mistakes on the default branch: nothing is merged until it is mended, and what the clusters say
//! is noted meanwhile, also by a process that has never seen a good one.

use demo::github::PullView;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
const POLICY: &str = "coldframe.yaml";

/// What the file says, with a typing error or without.
fn policy(stage: &Stage, broken: bool) {
    let github = stage.world.github();
    let text = github.file(REPOSITORY, "main", POLICY).unwrap().unwrap();
    let text =
        if broken { text.replacen("    soak: ", "    soka: ", 1) } else { text.replace("    soka: ", "    soak: ") };
    let branch = if broken { "broken" } else { "mended" };
    let head = github.push_file(REPOSITORY, branch, "vera", POLICY, &text, "Soak").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
}

async fn bronze(stage: &Stage) -> PullView {
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await
}

/// Its text once it says why it waits.
async fn says_why(stage: &Stage) -> PullView {
    let said = "nothing is merged: the newest policy file has errors (coldframe.yaml:";
    stage.until("it says why", |stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(said))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn f45_nothing_is_merged_while_the_policy_is_broken() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let bot = stage.serve();
    bronze(&stage).await;
    policy(&stage, true);
    let pull = says_why(&stage).await;
    let said = "> 🔴 **the newest policy file has errors: coldframe.yaml:";
    let of_all = |stage: &Stage| stage.world.github().issues(REPOSITORY).unwrap().into_iter().next();
    stage.until("the issue says why", |stage| of_all(stage).filter(|issue| issue.body.contains(said))).await;
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    assert!(stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_open(&pull)), "{}", stage.logged());
    // A process that has seen no good one knows no less.
    drop(bot);
    let once = stage.command(&["once"]).env("COLDFRAME_DATA", stage.folder.path().join("fresh")).output().unwrap();
    let said = String::from_utf8_lossy(&once.stderr).into_owned();
    assert!(!once.status.success() && said.contains("soka"), "{said}");
    let table = String::from_utf8_lossy(&once.stdout).into_owned();
    assert!(table.contains(PLUGIN) && table.contains("nothing is merged"), "{table}");
    assert!(stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_open(&pull)), "{}", stage.logged());
    policy(&stage, false);
    let _bot = stage.serve();
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

/// The policy has had a mistake since the first commit: there is nothing to go by, and the issue says so.
#[tokio::test(flavor = "multi_thread")]
async fn f45_where_no_policy_was_ever_good_the_issue_says_what_is_wrong() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    policy(&stage, true);
    let head = github.head(REPOSITORY, "main").unwrap().unwrap();
    github.force_commit(REPOSITORY, "main", (&head, ("vera", "vera@acme.example")), &[]).unwrap();
    let _bot = stage.serve();
    let of_all = |words: &'static str| {
        move |stage: &Stage| {
            let issue = stage.world.github().issues(REPOSITORY).unwrap().into_iter().next();
            issue.filter(|issue| issue.body.contains(words))
        }
    };
    let said = "> 🔴 **the policy file has errors, and no earlier one has none: coldframe.yaml:";
    let issue = stage.until("an issue says why", of_all(said)).await;
    assert!(issue.body.contains("did you mean `soak`?") && stage.pulls().is_empty(), "{}", issue.body);
    policy(&stage, false);
    let issue = stage.until("it shows the ladder", of_all(PLUGIN)).await;
    assert!(!issue.body.contains("errors"), "{}", issue.body);
}
