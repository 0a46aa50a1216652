//! Words in other places than a comment of one's own: in another person's comment they may stop, and let nothing through;
//! in the text of a review they count as in a comment.

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
    stage.until("its page says what is unknown", says("somebody else edited what maria wrote")).await;
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

/// Who approves and says hold in the same breath, holds. The words of a review are answered like any, by a sentence where
/// nobody can react; an edited one may stop and lets nothing through.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_commanded_in_a_review_counts() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "visitor", Role::Read).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.approve_saying(REPOSITORY, pull.number, "maria", "/coldframe hold until the audit is over").unwrap();
    let says = |words: &'static str| {
        move |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(words))
    };
    stage.until("its page says who holds it", says("until the audit is over")).await;
    let answered =
        |words: &'static str| move |stage: &Stage| stage.answers(PLUGIN, "bronze").filter(|text| text.contains(words));
    stage.until("the answer says that it counts", answered("`/coldframe hold`")).await;
    github.review(REPOSITORY, pull.number, "visitor", "/coldframe resume").unwrap();
    stage.until("a stranger's does not", answered("`visitor`")).await;
    github.review(REPOSITORY, pull.number, "maria", "Nothing that commands").unwrap();
    github.edit_review(REPOSITORY, pull.number, "maria", "maria", "/coldframe resume").unwrap();
    stage.until("an edited one lets nothing through", answered("a comment that was edited lets nothing through")).await;
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull));
    stage.never(4, "it was merged over a hold", merged).await;
    // What was answered is not answered again by one that remembers nothing.
    let text = stage.answers(PLUGIN, "bronze");
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = stage.serve();
    stage.never(5, "it wrote again", |stage| stage.answers(PLUGIN, "bronze") != text).await;
    github.review(REPOSITORY, pull.number, "maria", "/coldframe resume").unwrap();
    stage.until("it is merged", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}
