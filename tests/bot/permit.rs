//! What takes leave away while a permit is being made is heard: of rights, of rules, of the default branch; and a
//! process that stood still between its permit and the call asks for nothing.

use std::time::Duration;

use coldframe::demo::github::{Protection, Rule};

use crate::merge::{LEDGER, OWNER, PLUGIN, asked, open_stage};
use crate::proxy::Proxy;
use crate::support::{Bot, REPOSITORY, Stage, is_merged, is_open};

/// How a page of all pull requests is asked for, and one of them alone.
const PAGE: &str = r#""operationName":"Pulls""#;
const ONE: &str = r#""operationName":"Pull""#;

/// A bot behind a line, in the queue to write, with an approved merge that nobody but the bot judges.
async fn in_the_queue() -> (Stage, Proxy, Bot) {
    let stage = open_stage().await;
    let github = stage.world.github();
    github.protect(REPOSITORY, "main", Protection::default()).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    drop(bot);
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    let proxy = Proxy::quiet(github.url()).await;
    let bot = stage.serve_with(&[("COLDFRAME_HUB", &proxy.url), ("COLDFRAME_WRITE_PACE", "15s")]);
    let words = format!("{PLUGIN} 1.15.0 on bronze: about to be merged");
    let about = |stage: &Stage| {
        let log = stage.world.github().log(REPOSITORY, LEDGER).unwrap();
        log.iter().any(|commit| commit.message.contains(&words)).then_some(())
    };
    stage.until("it queues for its turn to write", about).await;
    (stage, proxy, bot)
}

/// While the last page of pull requests is on its way, this happens: nothing is asked for.
async fn is_heard(happens: impl FnOnce(&Stage)) {
    let (stage, proxy, _bot) = in_the_queue().await;
    // One for the look, one to see whether anybody has said a word since.
    proxy.hold(PAGE, 1).await;
    let before = asked(&stage);
    happens(&stage);
    proxy.release();
    stage.never(12, "it was asked for all the same", |stage| asked(stage) > before).await;
    assert!(stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_open(&pull)));
}

#[tokio::test(flavor = "multi_thread")]
async fn f33_an_approver_who_loses_the_right_while_the_permit_is_made_is_heard() {
    is_heard(|stage| stage.world.github().leave_team("acme", "platform", OWNER)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f33_a_rule_that_is_added_while_the_permit_is_made_is_heard() {
    is_heard(|stage| {
        let rule = Rule::Checks { name: "e2e", app: None, strict: false };
        stage.world.github().add_ruleset(REPOSITORY, "main", &[rule], &[]).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f36_a_freeze_on_the_default_branch_while_the_permit_is_made_is_heard() {
    is_heard(|stage| {
        let github = stage.world.github();
        let text = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
        let frozen = format!("{text}\nfreeze:\n  - {{why: the auditors are here}}\n");
        let head = github.push_file(REPOSITORY, "frozen", "vera", "coldframe.yaml", &frozen, "Freeze").unwrap();
        github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f36_a_process_that_stands_still_between_permit_and_call_asks_for_nothing() {
    let (stage, proxy, bot) = in_the_queue().await;
    proxy.hold(ONE, 0).await;
    let (before, pull) = (asked(&stage), stage.pull(PLUGIN, "bronze").unwrap());
    bot.signal("STOP");
    proxy.release();
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, "/coldframe hold wait").unwrap();
    tokio::time::sleep(Duration::from_secs(7)).await;
    bot.signal("CONT");
    let merged =
        |stage: &Stage| asked(stage) > before || stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull));
    stage.never(12, "it was merged over a hold", merged).await;
}
