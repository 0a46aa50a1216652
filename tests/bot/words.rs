//! What somebody makes of another person's comment: it may stop, and lets nothing through.

use demo::github::Role;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";

#[tokio::test(flavor = "multi_thread")]
async fn a08_an_edited_fail_stops_and_is_a_verdict_by_its_authors_own_hand_alone() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "wim", Role::Write).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.comment(REPOSITORY, pull.number, "maria", "This looks fine").unwrap();
    let comments = github.pull(REPOSITORY, pull.number).unwrap().comments;
    let comment = comments.iter().find(|comment| comment.author == "maria").unwrap().id;
    github.edit_comment(REPOSITORY, comment, "wim", "/coldframe fail it broke").unwrap();
    let says = |words: &'static str| {
        move |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(words))
    };
    stage.until("its page says what is unknown", says("somebody else edited the comment of maria")).await;
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull));
    stage.never(5, "it was merged over an edited word", merged).await;
    let ledger = github.file(REPOSITORY, "coldframe-ledger", "plugins/cert-manager.yaml").unwrap().unwrap();
    assert!(!ledger.contains("failedBy"), "{ledger}");
    github.edit_comment(REPOSITORY, comment, "maria", "/coldframe fail it broke for good").unwrap();
    stage.until("by her own hand it has failed", says("it broke for good")).await;
    let known = |stage: &Stage| {
        let ledger = stage.world.github().file(REPOSITORY, "coldframe-ledger", "plugins/cert-manager.yaml").ok()??;
        ledger.contains("failedBy").then_some(())
    };
    stage.until("the ledger knows it", known).await;
    assert!(!merged(&stage));
}
