//! What takes leave away while a permit is being made is heard: of rights, of rules, of the default branch; and a
//! process that stood still between its permit and the call asks for nothing.

use std::time::Duration;

use demo::github::{Protection, Rule};

use crate::merge::{LEDGER, OWNER, PLUGIN, PLUGINS, WRITER, asked, open_stage};
use crate::proxy::Proxy;
use crate::support::{Bot, REPOSITORY, Stage, is_merged, is_open};

/// How a page of all pull requests is asked for, and one of them alone.
const PAGE: &str = r#""operationName":"Pulls""#;
const ONE: &str = r#""operationName":"Pull""#;
const OTHER: &str = PLUGINS[1];

/// A bot behind a line, in the queue to write, with an approved merge that nobody but the bot judges.
async fn in_the_queue() -> (Stage, Proxy, Bot) {
    let stage = open_stage().await;
    let github = stage.world.github();
    github.protect(REPOSITORY, "main", Protection::default()).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    stage.until("another one opens", |stage| stage.pull(OTHER, "bronze").filter(is_open)).await;
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
    // One for the look, one to see whether anybody has said a word since.
    is_heard_behind(1, happens).await;
}

/// The same while another page is.
async fn is_heard_behind(pages: u32, happens: impl FnOnce(&Stage)) {
    let (stage, proxy, _bot) = in_the_queue().await;
    proxy.hold(PAGE, pages).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn f36_a_freeze_elsewhere_while_the_permit_is_made_is_heard() {
    is_heard_behind(0, |stage| {
        let other = stage.pull(OTHER, "bronze").unwrap().number;
        stage.world.github().comment(REPOSITORY, other, WRITER, "/coldframe freeze everything wait").unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f36_a_hold_and_an_objection_while_the_permit_is_made_are_heard() {
    is_heard(|stage| {
        let number = stage.pull(PLUGIN, "bronze").unwrap().number;
        stage.world.github().comment(REPOSITORY, number, WRITER, "/coldframe hold wait").unwrap();
    })
    .await;
    is_heard(|stage| {
        let number = stage.pull(PLUGIN, "bronze").unwrap().number;
        stage.world.github().review(REPOSITORY, number, WRITER, "/coldframe hold wait").unwrap();
    })
    .await;
    is_heard(|stage| {
        let number = stage.pull(PLUGIN, "bronze").unwrap().number;
        stage.world.github().request_changes(REPOSITORY, number, WRITER, "Not now").unwrap();
    })
    .await;
}

/// Whoever may not write commands, freezes and objects wherever they can, while the permit is being made.
#[tokio::test(flavor = "multi_thread")]
async fn a40_words_of_strangers_void_no_permit() {
    let (stage, proxy, _bot) = in_the_queue().await;
    let github = stage.world.github();
    let before = asked(&stage);
    proxy.hold(PAGE, 0).await;
    let open: Vec<_> = stage.pulls().into_iter().filter(is_open).collect();
    assert!(open.len() > 1, "{open:?}");
    for (number, stranger) in ["mallory", "trudy"].into_iter().enumerate() {
        github.add_user(stranger);
        for pull in &open {
            for word in ["hold", "freeze everything x", "fail it broke", "resume", "hotfix 1.15.0 for fun"] {
                github.comment(REPOSITORY, pull.number, stranger, &format!("/coldframe {word} {number}")).unwrap();
            }
            github.request_changes(REPOSITORY, pull.number, stranger, "no").unwrap();
        }
    }
    proxy.release();
    stage.until("it is merged", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    assert_eq!(asked(&stage), before + 1);
    assert!(!stage.whole_log().contains("is not merged"), "a permit was void\n{}", stage.logged());
}
