//! Heads that hold what was planned, to the letter and by the bot, and would bring something else along: by what they
//! build on.

use demo::github::PullView;
use demo::story::fleet::{TIERS, manifest_path};

use crate::merge::{OWNER, PLUGIN, WRITER, forge, open_stage, opened_before};
use crate::support::{REPOSITORY, Stage, is_merged};

const OWNERS: &str = ".github/CODEOWNERS";

/// A commit of somebody on a branch of theirs.
fn theirs(stage: &Stage) -> String {
    stage.world.github().push_file(REPOSITORY, "side", WRITER, OWNERS, "* @eve\n", "Mine").unwrap()
}

/// The same change as a head, beside what is on that branch; the commit that has both.
fn on_top(stage: &Stage, pull: &PullView, message: &str) -> String {
    let github = stage.world.github();
    let (tier, clusters) = TIERS.iter().find(|(tier, _)| *tier == "bronze").unwrap();
    let mut head = String::new();
    for cluster in *clusters {
        let path = manifest_path(tier, cluster, PLUGIN);
        let text = github.file(REPOSITORY, &pull.head, &path).unwrap().unwrap();
        head = github.push_file(REPOSITORY, "side", WRITER, &path, &text, message).unwrap();
    }
    head
}

/// Makes the head of a pull request anew on other parents, as if the bot had written it, and the ledger says that it has.
fn rebuild(stage: &Stage, pull: &PullView, like: &str, parents: &[&str]) -> String {
    let github = stage.world.github();
    let (name, email, _) = github.log(REPOSITORY, &pull.head).unwrap().remove(0).author;
    let head = github.force_commit(REPOSITORY, &pull.head, (like, (&name, &email)), parents).unwrap();
    forge(stage, pull, &head);
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    head
}

async fn is_told(stage: &Stage, words: &str) {
    let told = |stage: &Stage| {
        let body = stage.pull(PLUGIN, "bronze").map(|pull| pull.body).unwrap_or_default();
        (body.contains(words) || stage.whole_log().contains(words)).then_some(())
    };
    stage.until(words, told).await;
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull));
    stage.never(5, "it was merged", merged).await;
    let owners = stage.world.github().file(REPOSITORY, "main", OWNERS).unwrap().unwrap();
    assert!(!owners.contains("eve"), "{owners}");
}

/// With a plain token nothing is sealed: only git tells what would be merged.
#[tokio::test(flavor = "multi_thread")]
async fn a15_a_head_whose_parent_is_not_on_the_base_is_not_merged() {
    let stage = open_stage().await;
    let pull = opened_before(&stage).await;
    let message = stage.world.github().log(REPOSITORY, &pull.head).unwrap().remove(0).message;
    let parent = theirs(&stage);
    let like = on_top(&stage, &pull, &message);
    let head = rebuild(&stage, &pull, &like, &[&parent]);
    let _bot = stage.serve_with_token();
    is_told(&stage, "so that more than one commit would be merged").await;
    stage.until("it is written anew", |stage| stage.pull(PLUGIN, "bronze").filter(|now| now.head_sha != head)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a15_a_head_with_two_parents_is_not_merged() {
    let stage = open_stage().await;
    let pull = opened_before(&stage).await;
    let parent = stage.world.github().log(REPOSITORY, &pull.head).unwrap()[0].parents[0].clone();
    let theirs = theirs(&stage);
    rebuild(&stage, &pull, &pull.head_sha, &[&parent, &theirs]);
    let _bot = stage.serve_with_token();
    is_told(&stage, "it has not one parent").await;
}
