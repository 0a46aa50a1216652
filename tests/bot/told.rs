//! Who is told what: notices before the grace period ends, and answers to commands.

use std::time::Duration;

use demo::github::{CommentView, Role};

use crate::support::{BOT, REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "kube-state-metrics";
const OWNER: &str = "maria";

/// Our notices on the pull request of bronze, oldest first.
fn notices(stage: &Stage) -> Vec<CommentView> {
    let comments = stage.pull(PLUGIN, "bronze").map(|pull| pull.comments).unwrap_or_default();
    let ours = comments.into_iter().filter(|comment| comment.author == BOT && comment.body.contains("**Notice, "));
    ours.collect()
}

/// Whether an owner was told of a comment, and why.
fn told(stage: &Stage, comment: u64) -> Option<&'static str> {
    let told = stage.world.github().told();
    told.iter().find(|told| told.comment == comment && told.who == OWNER).map(|told| told.why)
}

/// GitHub tells nobody of an edited comment: each notice is one of its own that mentions the owners, and it is
/// those that the merge cites.
#[tokio::test(flavor = "multi_thread")]
async fn every_notice_reaches_the_code_owners_once() {
    let stage = Stage::set().await;
    stage.give("bronze", "force: {after: 60s, notice: [55s, 30s, 10s]}");
    let bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    stage.until("the first notice", |stage| notices(stage).into_iter().next()).await;
    // What went out is known wherever the bot starts anew, also while pages lag.
    stage.world.github().faults(|faults| faults.list_lag = Duration::from_secs(4));
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = stage.serve();
    stage.until("it is merged by force", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    let notices = notices(&stage);
    assert_eq!(notices.len(), 3, "{notices:#?}");
    for (notice, before) in notices.iter().zip(["55 s", "30 s", "10 s"]) {
        assert!(notice.body.contains(&format!("**Notice, {before} before the deadline.**")), "{}", notice.body);
        assert_eq!(notice.created_at, notice.updated_at, "nobody is told of an edit");
        assert_eq!(told(&stage, notice.id), Some("team_mention"), "{}", notice.body);
    }
    let cited =
        |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains("Notices that were sent:"));
    stage.until("they are the evidence on its page", cited).await;
}

fn answers(stage: &Stage) -> Option<String> {
    stage.answers(PLUGIN, "bronze")
}

/// Our reactions to somebody's comments.
fn reactions(stage: &Stage, by: &str) -> Vec<Vec<&'static str>> {
    let comments = stage.pull(PLUGIN, "bronze").unwrap().comments;
    let theirs = comments.into_iter().filter(|comment| comment.author == by);
    theirs
        .map(|comment| {
            let ours = comment.reactions.into_iter().filter(|(by, _)| by == BOT);
            ours.map(|(_, content)| content).collect()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_answered_once() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "visitor", Role::Read).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let say = |who: &str, text: &str| github.comment(REPOSITORY, pull.number, who, text).unwrap();
    say(OWNER, "/coldframe hold the audit is on");
    stage.until("what counts gets a yes", |stage| (reactions(stage, OWNER) == [["+1"]]).then_some(())).await;
    assert_eq!(answers(&stage), None, "a yes needs no words");
    say(OWNER, "thanks, /coldframe");
    say(OWNER, "/coldframe hodl");
    say(OWNER, "/coldframe force");
    say("visitor", "/coldframe resume");
    let done = |stage: &Stage| {
        let answer = answers(stage)?;
        (answer.contains("hodl") && answer.contains("visitor") && answer.contains("force")).then_some(answer)
    };
    let answer = stage.until("each of the others gets a sentence", done).await;
    for words in ["did you mean `/coldframe hold`", "write `/coldframe force <why>`", "`maria`", "`visitor`"] {
        assert!(answer.contains(words), "{words}: {answer}");
    }
    let none: [&str; 0] = [];
    let expected = [&["+1"][..], &none, &["confused"], &["confused"]];
    stage.until("each is marked", |stage| (reactions(stage, OWNER) == expected).then_some(())).await;
    stage.until("also a stranger's", |stage| (reactions(stage, "visitor") == [["-1"]]).then_some(())).await;
    // A restart answers nothing again, and a stranger makes the bot write no more.
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let writes = |stage: &Stage| {
        let requests = stage.world.github().requests();
        requests
            .into_iter()
            .filter(|(route, _)| route.contains("/comments") && !route.starts_with("GET"))
            .collect::<Vec<_>>()
    };
    let before = writes(&stage);
    (0..9).for_each(|_| say("visitor", "/coldframe unfreeze"));
    let _bot = stage.serve();
    stage.never(6, "it wrote again", |stage| writes(stage) != before).await;
    assert_eq!(answers(&stage).as_deref(), Some(answer.as_str()));
}

/// Who asks gets the commands with their rights, and how it stands; once, however often the bot starts anew.
#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_in_the_same_comment() {
    let stage = Stage::set().await;
    stage.edit_policy("plugins:", "people: {fail: admin}\nplugins:");
    let github = stage.world.github();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let say = |who: &str, text: &str| github.comment(REPOSITORY, pull.number, who, text).unwrap();
    let contains = |words: &'static str| move |stage: &Stage| answers(stage).filter(|answer| answer.contains(words));
    say(OWNER, "/coldframe help");
    let answer = stage.until("the commands", contains("| write | what it does | who may |")).await;
    for words in ["`/coldframe hold <why>`", "`/coldframe fail <why>` | this release has failed", "an administrator of"]
    {
        assert!(answer.contains(words), "{words}: {answer}");
    }
    assert!(!answer.contains("did not count") && !answer.contains("How it stands"), "{answer}");
    say(OWNER, "/coldframe status please");
    let answer = stage.until("how it stands", contains("How it stands on")).await;
    assert!(answer.contains("approval") && answer.contains("Who can unblock"), "{answer}");
    let yes = |stage: &Stage| (reactions(stage, OWNER) == [["+1"], ["+1"]]).then_some(());
    stage.until("both are marked", yes).await;
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = stage.serve();
    stage.never(6, "it wrote again", |stage| answers(stage).as_deref() != Some(answer.as_str())).await;
}

/// Whoever comes back to what was merged reads in its text how it is there, not what it waited for before; the check is
/// about the merge, and says so once.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_merged_is_followed_until_it_has_finished() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    let merged = |stage: &Stage| stage.pull(PLUGIN, "qa").filter(is_merged);
    let told = |stage: &Stage| merged(stage).filter(|pull| pull.body.contains("**Merged.**"));
    stage.until("its text says that it is merged", told).await;
    let finished = |stage: &Stage| merged(stage).filter(|pull| pull.body.contains("| qa | ✅ finished"));
    let pull = stage.until("and that it has finished", finished).await;
    let [check] = &pull.checks[..] else { panic!("one check: {:?}", pull.checks) };
    assert_eq!((check.title.as_deref(), check.conclusion.as_deref()), (Some("Merged"), Some("success")));
    assert!(pull.comments.is_empty(), "nobody was bothered");
    let written = |stage: &Stage| -> u64 {
        let calls = stage.world.github().requests();
        calls
            .iter()
            .filter(|(route, _)| route.starts_with("PATCH ") && route.contains("check-runs"))
            .map(|(_, n)| n)
            .sum()
    };
    assert_eq!(written(&stage), 0, "no check is written twice");
}
