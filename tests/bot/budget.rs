//! The hub's limits, and people who would use them up.

use std::time::Duration;

use demo::github::Role;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
const OWNER: &str = "maria";

/// How often the routes that hold one of these words were asked.
fn asked(stage: &Stage, words: &[&str]) -> u64 {
    let requests = stage.world.github().requests();
    requests.iter().filter(|(route, _)| words.iter().all(|word| route.contains(word))).map(|(_, count)| count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a40_a_flood_of_comments_leaves_the_reserve_to_merges() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    for number in 0..40 {
        github.set_permission(REPOSITORY, &format!("m{number}"), Role::Read).unwrap();
    }
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    for word in ["hold for the audit", "resume"] {
        github.comment(REPOSITORY, pull.number, OWNER, &format!("/coldframe {word}")).unwrap();
    }
    // A fifth of the hour's budget is left.
    github.leave_requests(1_000);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let texts = asked(&stage, &["PATCH", "/pulls/"]);
    let rights = asked(&stage, &["GET", "/collaborators/", "/permission"]);
    for number in 0..40 {
        github.comment(REPOSITORY, pull.number, &format!("m{number}"), "/coldframe hotfix 1.15.0 for fun").unwrap();
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let asked_for = asked(&stage, &["GET", "/collaborators/", "/permission"]) - rights;
    assert!(asked_for < 20, "each of those who wrote was looked up: {asked_for}");
    // What would stop is asked about all the same: a stranger's word stops nothing, and who resumed has resumed.
    for word in ["hold", "fail it broke", "freeze everything x"] {
        github.comment(REPOSITORY, pull.number, "m0", &format!("/coldframe {word}")).unwrap();
    }
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it is merged all the same", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    assert_eq!(asked(&stage, &["PATCH", "/pulls/"]), texts, "texts can wait for the next hour");
}

/// One person's flood hides no word of anybody else's, and keeps nothing from going on.
#[tokio::test(flavor = "multi_thread")]
async fn a40_two_hundred_comments_hide_no_hold_and_keep_nothing_from_merging() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "eve", Role::Read).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let say = |who: &str, what: &str| github.comment(REPOSITORY, pull.number, who, what).unwrap();
    let flood = |count: usize| {
        for number in 0..count {
            say("eve", ["/coldframe hold", "/coldframe resume", "me too"][number % 3]);
        }
    };
    say(OWNER, "/coldframe hold for the audit");
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    flood(60);
    let is_told = |stage: &Stage| {
        let body = stage.pull(PLUGIN, "bronze").map(|pull| pull.body)?;
        body.contains("for the audit").then_some(())
    };
    stage.until("the page says who holds it", is_told).await;
    flood(140);
    for _ in 0..101 {
        github.request_changes(REPOSITORY, pull.number, "eve", "no").unwrap();
    }
    stage.never(6, "a hold was lost", |stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull))).await;
    say(OWNER, "/coldframe resume");
    stage.until("it is merged", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f37_nothing_is_asked_before_a_limit_ends_and_then_it_goes_on() {
    const MANY: u32 = 1_000_000;
    let stage = Stage::set().await;
    let github = stage.world.github();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    github.faults(|faults| faults.secondary_limit = Some((MANY, 3)));
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    tokio::time::sleep(Duration::from_secs(9)).await;
    let mut left = MANY;
    github.faults(|faults| left = faults.secondary_limit.take().map_or(0, |(left, _)| left));
    let tried = MANY - left;
    assert!((1..=16).contains(&tried), "each identity asks once in three seconds: {tried} in nine");
    assert!(stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_open(&pull)));
    stage.until("it is merged", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f39_an_outage_is_remembered_whichever_call_meets_it() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let here = github.installation(stage.world.settings().app_id, REPOSITORY).unwrap();
    let _bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let outages = |stage: &Stage| {
        let text = stage.world.github().file(REPOSITORY, "coldframe-ledger", "ledger.yaml").unwrap()?;
        let page: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        page["outages"].as_array().map(Vec::len)
    };
    assert_eq!(outages(&stage).unwrap_or(0), 0);
    github.faults(|faults| faults.broken_installation = Some(here));
    tokio::time::sleep(Duration::from_secs(5)).await;
    github.faults(|faults| faults.broken_installation = None);
    stage.until("it is in the ledger", |stage| outages(stage).filter(|count| *count == 1)).await;
}
