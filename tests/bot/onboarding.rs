//! A repository without a policy: one pull request proposes one, nothing else happens before it is merged, and closing
//! it means no.

use std::path::Path;
use std::process::Command;

use demo::github::{PullView, Role};

use crate::support::{BOT, Bot, Stage, is_open};

const NEWCOMER: &str = "acme/newcomer";
const BRANCH: &str = "coldframe-onboarding";

/// Adds a repository with these files and installs the App on it.
fn add(stage: &Stage, files: &[(String, String)]) {
    let github = stage.world.github();
    github.add_repository("acme", "newcomer", files).unwrap();
    github.install_app(stage.world.settings().app_id, NEWCOMER).unwrap();
    for person in ["vera", "maria"] {
        github.set_permission(NEWCOMER, person, Role::Write).unwrap();
    }
}

/// The files of a folder.
fn files(folder: &Path, prefix: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(&entry.path(), &format!("{path}/")));
        } else {
            all.push((path, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
    all
}

fn flux() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/repositories/flux")
}

/// What `coldframe init` prints there.
fn printed() -> String {
    let mut init = Command::new(env!("CARGO_BIN_EXE_coldframe"));
    String::from_utf8(init.arg("init").arg(flux()).output().unwrap().stdout).unwrap()
}

fn serve(stage: &Stage) -> Bot {
    stage.serve_with(&[("COLDFRAME_REPOSITORY", NEWCOMER)])
}

/// Every pull request there, but those that people have merged.
fn pulls(stage: &Stage) -> Vec<PullView> {
    let all = stage.world.github().pulls(NEWCOMER).unwrap();
    all.into_iter().filter(|pull| pull.author == BOT).collect()
}

fn proposed(stage: &Stage) -> Option<PullView> {
    let mut pulls = pulls(stage);
    assert!(pulls.len() < 2, "one pull request and no other: {pulls:?}");
    pulls.pop().filter(|pull| pull.head == BRANCH)
}

fn policy(stage: &Stage) -> Option<String> {
    stage.world.github().file(NEWCOMER, BRANCH, "coldframe.yaml").ok()?
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_a_policy_gets_one_proposed_and_nothing_else() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    add(&stage, &files(&flux(), ""));
    let before = github.head(NEWCOMER, "main").unwrap();
    let bot = serve(&stage);
    let pull = stage.until("a policy is proposed", proposed).await;
    assert!(is_open(&pull) && pull.base == "main", "{pull:?}");
    for words in ["Nothing happens until it is merged", "close this pull request", "A release climbs:"] {
        assert!(pull.body.contains(words), "{words}: {}", pull.body);
    }
    // It is what people get from the command, and `check` takes it.
    let (printed, text) = (printed(), policy(&stage).unwrap());
    assert!(printed.starts_with(&text), "{printed}\n{text}");
    let nothing_else = |stage: &Stage| {
        proposed(stage);
        let github = stage.world.github();
        github.head(NEWCOMER, "main").unwrap() != before
            || github.head(NEWCOMER, "coldframe-ledger").unwrap().is_some()
            || github.head(NEWCOMER, BRANCH).unwrap().as_ref() != Some(&pull.head_sha)
    };
    stage.never(4, "something else happened", nothing_else).await;
    // What remembers nothing opens no second one.
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = serve(&stage);
    stage.never(5, "something happened after a restart", nothing_else).await;
}

/// The proposal follows the repository, until somebody makes it theirs.
#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_kept_up_to_date_and_left_to_whoever_changes_it() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let all = files(&flux(), "");
    let (left, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|(path, _)| path.contains("kube-state-metrics"));
    assert!(!left.is_empty() && !all.is_empty());
    add(&stage, &all);
    let _bot = serve(&stage);
    stage.until("a policy is proposed", proposed).await;
    let short = policy(&stage).unwrap();
    for (path, text) in &left {
        github.push_file(NEWCOMER, "main", "vera", path, text, "One more").unwrap();
    }
    let printed = printed();
    assert!(!printed.starts_with(&short), "{short}");
    let whole = |stage: &Stage| policy(stage).filter(|text| printed.starts_with(text.as_str()));
    let text = stage.until("the proposal has what came", whole).await;
    let text = format!("{text}# ours now\n");
    github.push_file(NEWCOMER, BRANCH, "vera", "coldframe.yaml", &text, "As we want it").unwrap();
    let (path, _) = &left[0];
    github.push_file(NEWCOMER, "main", "vera", path, "nothing\n", "One less").unwrap();
    stage.never(5, "it was written over", |stage| policy(stage).as_deref() != Some(text.as_str())).await;
    proposed(&stage).filter(is_open).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_proposal_means_no() {
    let stage = Stage::set().await;
    add(&stage, &files(&flux(), ""));
    let bot = serve(&stage);
    let pull = stage.until("a policy is proposed", proposed).await;
    stage.world.github().close(NEWCOMER, pull.number, "maria").unwrap();
    let again = |stage: &Stage| proposed(stage).is_none_or(|pull| is_open(&pull));
    stage.never(4, "it was proposed again", again).await;
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = serve(&stage);
    stage
        .until("the log says so", |stage| stage.whole_log().contains("which proposed one, is closed").then_some(()))
        .await;
    stage.never(4, "it was proposed again after a restart", again).await;
}

/// Once it is merged the bot goes to work; where a policy is taken away later, none is proposed any more.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_merged_is_followed() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    add(&stage, &files(&flux(), ""));
    let before = github.head(NEWCOMER, "main").unwrap();
    let bot = serve(&stage);
    let pull = stage.until("a policy is proposed", proposed).await;
    github.merge_as(NEWCOMER, pull.number, "maria").unwrap();
    let ledger = |stage: &Stage| stage.world.github().head(NEWCOMER, "coldframe-ledger").unwrap();
    stage.until("it begins its ledger", ledger).await;
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    github.force_branch(NEWCOMER, "main", "root", before.as_deref()).unwrap();
    let _bot = serve(&stage);
    let missing = |stage: &Stage| stage.whole_log().contains("it had one before").then_some(());
    stage.until("the log says what is missing", missing).await;
    assert_eq!(pulls(&stage).len(), 1);
}
