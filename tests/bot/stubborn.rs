//! What must never happen, whatever clusters and people do.

use std::collections::VecDeque;

use demo::github::MergeFault;
use demo::github::PullStanding;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";

#[tokio::test(flavor = "multi_thread")]
async fn f10_a_cluster_that_stays_ready_on_the_old_version_stops_the_climb() {
    let stage = Stage::set().await;
    stage.world.clusters().stick("qa-2", "cert-manager").unwrap();
    let _bot = stage.serve();
    stage.until("qa is merged", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
    stage.never(15, "bronze was opened", |stage| stage.pull("cert-manager", "bronze").is_some()).await;
    // The cluster gives in, and the climb goes on by itself.
    stage.world.clusters().recover("qa-2", "cert-manager").unwrap();
    stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f17_a_pull_request_that_a_person_closed_stays_closed() {
    let stage = Stage::set().await;
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage.world.github().close(REPOSITORY, pull.number, OWNER).unwrap();
    stage
        .until("its text says so", |stage| {
            stage
                .pull("cert-manager", "bronze")
                .filter(|pull| pull.body.contains("maria") && pull.body.contains("Reject"))
        })
        .await;
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = stage.serve();
    let again = |stage: &Stage| {
        stage.pull("cert-manager", "bronze").is_none_or(|now| now.number != pull.number || is_open(&now))
            || stage.pull("cert-manager", "silver").is_some()
    };
    stage.never(10, "1.15.0 came back after a no", again).await;
    // A newer release may come.
    stage.world.charts().publish("cert-manager", "1.15.1", "A fix").unwrap();
    let newer =
        stage.until("1.15.1 opens on bronze", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    assert!(newer.number > pull.number && newer.title.contains("1.15.1"), "{}", newer.title);
}

#[tokio::test(flavor = "multi_thread")]
async fn f28_a_head_that_moves_between_check_and_merge_is_refused_and_looked_at_again() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage.world.github().faults(|faults| faults.merges = VecDeque::from([MergeFault::HeadMoves]));
    let requests = |stage: &Stage| stage.world.github().requests();
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage
        .until("the head moved inside the merge call", |stage| {
            stage.pull("cert-manager", "bronze").filter(|now| now.head_sha != pull.head_sha)
        })
        .await;
    stage
        .never(8, "an edited head was merged", |stage| {
            stage.pull("cert-manager", "bronze").is_some_and(|now| is_merged(&now))
        })
        .await;
    let now = stage.pull("cert-manager", "bronze").unwrap();
    assert_eq!(now.standing, PullStanding::Open);
    let text = stage
        .until("its check says why", |stage| {
            let check = stage.pull("cert-manager", "bronze")?.checks.into_iter().next_back()?;
            check.summary.filter(|summary| summary.contains("somebody pushed"))
        })
        .await;
    assert!(text.contains("keeps its hands off"), "{text}");
    let merges: u64 = requests(&stage)
        .iter()
        .filter(|(route, _)| route.starts_with("PUT") && route.ends_with("/merge"))
        .map(|(_, count)| count)
        .sum();
    // One for each plugin's qa that had come so far, one that was refused with 409: none was sent twice.
    let merged = stage.pulls().iter().filter(|pull| is_merged(pull)).count() as u64;
    assert_eq!(merges, merged + 1, "{:?}", requests(&stage));
}

#[tokio::test(flavor = "multi_thread")]
async fn f29_f31_an_answer_that_is_lost_after_the_merge_is_settled_by_looking() {
    let stage = Stage::set().await;
    stage.world.github().faults(|faults| {
        faults.merges = VecDeque::from([MergeFault::ErrorAfter, MergeFault::ErrorBefore, MergeFault::BaseModified])
    });
    let _bot = stage.serve();
    for plugin in ["cert-manager", "ingress-nginx", "kube-state-metrics"] {
        stage.until("bronze opens", |stage| stage.pull(plugin, "bronze")).await;
        let merged = stage.pulls().into_iter().filter(|pull| pull.head == format!("coldframe/{plugin}/qa")).count();
        assert_eq!(merged, 1, "{plugin} was proposed to qa once");
    }
}
