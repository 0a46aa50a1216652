//! Merges that are asked for in vain, again and again: that is one pull request's matter, which its page tells, and the
//! others go on. A hub that lies about the same one three times in a row stops everything.

use demo::github::{MergeFault, PullView};

use crate::merge::{LEDGER, OWNER, PLUGIN, PLUGINS, asked, open_stage, says, stands_still};
use crate::support::{REPOSITORY, Stage, is_merged, is_open};

/// Everything on bronze is approved, and what is asked for PLUGIN there meets this.
async fn all_approved(fault: MergeFault) -> (Stage, crate::support::Bot, PullView) {
    let stage = open_stage().await;
    stage.world.github().faults(|faults| {
        faults.always.insert(format!("coldframe/{PLUGIN}/bronze"), fault);
    });
    let bot = stage.serve();
    // The sick one first: the others come after it in every plan.
    for plugin in PLUGINS {
        let pull = stage.until("bronze opens", |stage| stage.pull(plugin, "bronze").filter(is_open)).await;
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    }
    let sick = stage.pull(PLUGIN, "bronze").unwrap();
    (stage, bot, sick)
}

async fn the_others_merge(stage: &Stage) {
    for plugin in &PLUGINS[1..] {
        stage.until("the others merge", |stage| stage.pull(plugin, "bronze").filter(is_merged)).await;
    }
}

fn refusals(stage: &Stage, words: &str) -> usize {
    let log = stage.world.github().log(REPOSITORY, LEDGER).unwrap();
    let words = format!("{PLUGIN} 1.15.0 on bronze: {words}");
    log.iter().filter(|commit| commit.message.contains(&words)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn f30_a_yes_that_is_never_true_is_one_pull_requests_matter_and_stops_all_at_the_third() {
    let (stage, bot, sick) = all_approved(MergeFault::FalseYes).await;
    says(&stage, sick.number, "the hub said that it merged it, and `main` has nothing of it").await;
    the_others_merge(&stage).await;
    assert!(stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_open(&pull)));
    stands_still(&stage, bot, &sick, "the hub said 3 times that it merged it").await;
    assert_eq!(refusals(&stage, "not merged, though the hub said so"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn f29_a_hub_that_never_answers_is_one_pull_requests_matter() {
    let (stage, _bot, sick) = all_approved(MergeFault::ErrorBefore).await;
    says(&stage, sick.number, "the hub did not say whether it merged it").await;
    the_others_merge(&stage).await;
    let before = asked(&stage);
    stage.never(30, "it is asked for all the time", |stage| asked(stage) > before + 3).await;
    // The hub comes to itself, and it merges by itself.
    stage.world.github().faults(|faults| faults.always.clear());
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f28_a_head_that_is_said_to_move_and_does_not_is_one_pull_requests_matter() {
    let (stage, _bot, sick) = all_approved(MergeFault::HeadSaidToMove).await;
    says(&stage, sick.number, "the hub said that its head had moved, and it has not").await;
    the_others_merge(&stage).await;
    let times = refusals(&stage, "not merged by the hub");
    assert!((1..=4).contains(&times), "it was tried {times} times");
}

/// Asked for one, the hub merges another one of the bot: nobody has asked for that.
#[tokio::test(flavor = "multi_thread")]
async fn f30_another_one_that_was_merged_instead_stops_everything() {
    let stage = open_stage().await;
    let bot = stage.serve();
    for plugin in PLUGINS {
        stage.until("bronze opens", |stage| stage.pull(plugin, "bronze").filter(is_open)).await;
    }
    let asked_for = stage.pull(PLUGIN, "bronze").unwrap();
    stage.world.github().faults(|faults| {
        faults.always.insert(asked_for.head.clone(), MergeFault::Another);
    });
    stage.world.github().approve(REPOSITORY, asked_for.number, OWNER).unwrap();
    let merged =
        |stage: &Stage| stage.pulls().into_iter().rev().find(|pull| is_merged(pull) && pull.head.ends_with("bronze"));
    let merged = stage.until("another is merged", merged).await;
    assert_ne!(merged.number, asked_for.number);
    // The one that stays open says so, by the head of the other.
    let told = PullView { head_sha: merged.head_sha, ..asked_for };
    stands_still(&stage, bot, &told, "merged it, and the bot did not ask for that").await;
}
