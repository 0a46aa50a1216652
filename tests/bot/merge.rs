//! The way of a merge against hostile people and a hub that lies: what is merged is what was planned, on facts of that
//! moment, and what has landed is proved.

use std::collections::VecDeque;
use std::time::Duration;

use demo::github::{MergeFault, PullView, Role};

use crate::support::{Bot, REPOSITORY, ROBOT, Stage, is_approved, is_merged, is_open};

pub const OWNER: &str = "maria";
const ADMIN: &str = "alice";
pub const WRITER: &str = "eve";
pub const LEDGER: &str = "coldframe-ledger";
pub const PLUGIN: &str = "cert-manager";
pub const PLUGINS: [&str; 3] = ["cert-manager", "ingress-nginx", "kube-state-metrics"];

/// The sandbox with somebody who may write, an administrator, and a ledger branch that no rule guards.
pub async fn open_stage() -> Stage {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, WRITER, Role::Write).unwrap();
    github.set_permission(REPOSITORY, ADMIN, Role::Admin).unwrap();
    github.clear_rulesets(REPOSITORY).unwrap();
    stage
}

async fn opened(stage: &Stage, tier: &str) -> PullView {
    stage.until(&format!("{tier} opens"), |stage| stage.pull(PLUGIN, tier).filter(is_open)).await
}

fn said(pull: &PullView) -> String {
    let checks = pull.checks.iter().filter_map(|check| check.summary.clone());
    checks.chain([pull.body.clone()]).collect::<Vec<_>>().join("\n")
}

/// Waits until a pull request says something, on its page or in its check.
pub async fn says(stage: &Stage, number: u64, words: &str) -> String {
    stage
        .until(&format!("#{number} says `{words}`"), |stage| {
            let text = said(&stage.world.github().pull(REPOSITORY, number).unwrap());
            Some(text).filter(|text| text.contains(words))
        })
        .await
}

/// Pushes a file to the branch of a pull request, and puts the id of that commit into the ledger as the bot's.
fn doctor(stage: &Stage, pull: &PullView) -> String {
    let github = stage.world.github();
    let push = |path: &str, text: &str| github.push_file(REPOSITORY, &pull.head, WRITER, path, text, "More").unwrap();
    let head = push(".github/CODEOWNERS", "* @eve\n");
    forge(stage, pull, &head);
    head
}

/// Puts the id of a commit into the ledger as the bot's, in the place of the head of a pull request.
pub fn forge(stage: &Stage, pull: &PullView, head: &str) {
    let github = stage.world.github();
    let page = format!("plugins/{}.yaml", pull.head.split('/').nth(1).unwrap());
    let text = github.file(REPOSITORY, LEDGER, &page).unwrap().unwrap();
    assert!(text.contains(&pull.head_sha), "{text}");
    let forged = text.replace(&pull.head_sha, head);
    github.push_file(REPOSITORY, LEDGER, WRITER, &page, &forged, "cert-manager 1.15.0 on bronze: finished").unwrap();
}

fn owners(stage: &Stage) -> String {
    stage.world.github().file(REPOSITORY, "main", ".github/CODEOWNERS").unwrap().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a15_a_ledger_that_somebody_else_wrote_is_not_believed() {
    let stage = open_stage().await;
    let _bot = stage.serve();
    let pull = opened(&stage, "bronze").await;
    let last = stage.world.github().head(REPOSITORY, LEDGER).unwrap().unwrap();
    doctor(&stage, &pull);
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    let text = says(&stage, pull.number, "is not sealed by this bot").await;
    assert!(text.contains("git push --force origin") && text.contains("coldframe-ledger"), "{text}");
    let before = stage.pulls().iter().filter(|pull| is_merged(pull)).count();
    stage.never(8, "something merged", |stage| stage.pulls().iter().filter(|p| is_merged(p)).count() > before).await;
    assert!(!owners(&stage).contains("eve"));
    // Moved back, it goes on; the branch that somebody pushed to stays theirs.
    stage.world.github().force_branch(REPOSITORY, LEDGER, ADMIN, Some(&last)).unwrap();
    says(&stage, pull.number, "somebody pushed").await;
    assert!(stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_open(&pull)));
}

/// With a plain token nothing is sealed: what a forged ledger calls ours is held against git all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a15_a_head_with_anything_else_in_it_is_not_merged() {
    let stage = open_stage().await;
    let github = stage.world.github();
    let bot = stage.serve_with_token();
    let pull = stage.until("qa opens", |stage| stage.pull(PLUGIN, "qa").filter(is_open)).await;
    assert_eq!(pull.author, ROBOT);
    let ledger = |stage: &Stage| {
        let text = stage.world.github().file(REPOSITORY, LEDGER, "plugins/cert-manager.yaml").ok()??;
        text.contains(&pull.head_sha).then_some(())
    };
    stage.until("the ledger knows its head", ledger).await;
    let head = doctor(&stage, &pull);
    // An owner is talked into it: a plain token has nobody else to ask.
    let approve = |stage: &Stage| {
        let now = stage.world.github().pull(REPOSITORY, pull.number).unwrap();
        if is_open(&now) && !is_approved(&now) {
            stage.world.github().approve(REPOSITORY, pull.number, OWNER).ok();
        }
        now
    };
    stage.until("the branch is written anew", |stage| Some(approve(stage)).filter(|now| now.head_sha != head)).await;
    stage.until("what was planned merges", |stage| Some(approve(stage)).filter(is_merged)).await;
    assert!(!owners(&stage).contains("eve"), "{}", owners(&stage));
    let log = stage.world.github().log(REPOSITORY, LEDGER).unwrap();
    assert!(log.iter().any(|commit| commit.message.contains("its commit is to be written anew")));
    drop(bot);
    // What is planned to the letter, by somebody else.
    let pull = opened_before(&stage).await;
    let parent = github.log(REPOSITORY, &pull.head).unwrap()[0].parents[0].clone();
    let eve = (WRITER, "eve@users.noreply.github.com");
    let head = github.force_commit(REPOSITORY, &pull.head, (&pull.head_sha, eve), &[&parent]).unwrap();
    forge(&stage, &pull, &head);
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    let _bot = stage.serve_with_token();
    let words = "is not by robot alone";
    stage.until(words, |stage| stage.whole_log().contains(words).then_some(())).await;
    stage.until("it is written anew", |stage| stage.pull(PLUGIN, "bronze").filter(|now| now.head_sha != head)).await;
    assert!(!stage.pull(PLUGIN, "bronze").is_some_and(|now| is_merged(&now)));
}

/// The next pull request, as the ledger knows it, when the bot that opened it is gone.
pub async fn opened_before(stage: &Stage) -> PullView {
    let _bot = stage.serve_with_token();
    let pull = opened(stage, "bronze").await;
    let known = |stage: &Stage| {
        let text = stage.world.github().file(REPOSITORY, LEDGER, "plugins/cert-manager.yaml").ok()??;
        text.contains(&pull.head_sha).then_some(())
    };
    stage.until("the ledger knows its head", known).await;
    pull
}

/// Pushes a commit that cites a ledger commit which never was, to the first pull request of `tier`; others merge.
async fn invent(stage: &Stage, tier: &str) {
    let pull = opened(stage, tier).await;
    let github = stage.world.github();
    let message = github.log(REPOSITORY, &pull.head).unwrap().remove(0).message;
    let cites = coldframe::tell::trailers(&message).ledger.unwrap();
    let invented = message.replace(cites.as_str(), &"1".repeat(40));
    github.push_file(REPOSITORY, &pull.head, WRITER, "more.yaml", "a: 1\n", &invented).unwrap();
    says(stage, pull.number, "somebody pushed").await;
    let other = |stage: &Stage| stage.pull(PLUGINS[1], tier);
    let other = stage.until("another opens", |stage| other(stage).filter(is_open)).await;
    github.approve(REPOSITORY, other.number, OWNER).unwrap();
    stage.until("another merges", |stage| stage.pull(PLUGINS[1], tier).filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invented_citation_stops_nobody() {
    let stage = open_stage().await;
    let _bot = stage.serve();
    invent(&stage, "bronze").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invented_citation_stops_nobody_where_nothing_is_sealed() {
    let stage = open_stage().await;
    let _bot = stage.serve_with_token();
    invent(&stage, "qa").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a09_f36_a_hold_in_the_queue_is_heard() {
    let stage = Stage::set().await;
    let bot = stage.serve();
    let pull = opened(&stage, "bronze").await;
    drop(bot);
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    let about = |stage: &Stage| {
        let log = stage.world.github().log(REPOSITORY, LEDGER).unwrap();
        log.iter()
            .any(|commit| commit.message.contains("cert-manager 1.15.0 on bronze: about to be merged"))
            .then_some(())
    };
    let _bot = stage.serve_with(&[("COLDFRAME_WRITE_PACE", "20s")]);
    stage.until("it queues for its turn to write", about).await;
    // Whoever looked before the queue has looked by now.
    tokio::time::sleep(Duration::from_secs(4)).await;
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, "/coldframe hold wait").unwrap();
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull));
    stage.never(45, "it was merged over a hold", merged).await;
}

/// Merges that were asked for since the sandbox began.
pub fn asked(stage: &Stage) -> u64 {
    let requests = stage.world.github().requests();
    let merges = requests.iter().filter(|(route, _)| route.starts_with("PUT") && route.ends_with("/merge"));
    merges.map(|(_, count)| count).sum()
}

/// Everything stands still, says so, outlives the process, and goes on when an administrator has cleared it.
pub async fn stands_still(stage: &Stage, bot: Bot, pull: &PullView, words: &str) {
    let github = stage.world.github();
    let text = says(stage, pull.number, "everything stands still because").await;
    assert!(text.contains(words), "{text}");
    let (merges, count) = (asked(stage), stage.pulls().len());
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let bot = stage.serve();
    let moves = |stage: &Stage| asked(stage) > merges || stage.pulls().len() > count;
    stage.never(10, "it goes on after a restart", moves).await;
    let clear = format!("/coldframe rebuild {}", &pull.head_sha[..7]);
    github.comment(REPOSITORY, pull.number, OWNER, &clear).unwrap();
    stage.never(6, "one who does not administer it cleared it", moves).await;
    github.comment(REPOSITORY, pull.number, ADMIN, &clear).unwrap();
    stage.until("it goes on", |stage| (asked(stage) > merges || stage.pulls().len() > count).then_some(())).await;
    drop(bot);
}

#[tokio::test(flavor = "multi_thread")]
async fn f30_a_merge_with_the_wrong_content_stops_everything() {
    let stage = open_stage().await;
    stage.world.github().faults(|faults| faults.merges = VecDeque::from([MergeFault::WrongContent]));
    let bot = stage.serve();
    let pull = stage.until("one is merged, it says", |stage| stage.pulls().into_iter().find(is_merged)).await;
    stands_still(&stage, bot, &pull, "it does not change").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f30_a_merge_that_never_happened_deletes_nothing_and_merges_once_more() {
    let stage = open_stage().await;
    stage.world.github().faults(|faults| faults.merges = VecDeque::from([MergeFault::FalseYes]));
    let _bot = stage.serve();
    for plugin in PLUGINS {
        stage.until("bronze opens", |stage| stage.pull(plugin, "bronze")).await;
        let qa = stage.pulls().into_iter().filter(|pull| pull.head == format!("coldframe/{plugin}/qa")).count();
        assert_eq!(qa, 1, "{plugin} was proposed to qa once");
    }
    assert_eq!(asked(&stage), 4, "each once, and once more what was not done");
}

#[tokio::test(flavor = "multi_thread")]
async fn f29_a_branch_that_was_merged_while_its_pull_request_stays_open_is_not_merged_again() {
    let stage = open_stage().await;
    stage.world.github().faults(|faults| faults.merges = VecDeque::from([MergeFault::BranchMergedPullOpen]));
    let _bot = stage.serve();
    for plugin in PLUGINS {
        stage.until("bronze opens", |stage| stage.pull(plugin, "bronze")).await;
    }
    assert_eq!(asked(&stage), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn f32_a_refusal_for_ever_is_one_pull_requests_matter() {
    let stage = open_stage().await;
    let (rule, lacks) =
        ("Repository rule violations found", "A conversation must be resolved before this pull request can be merged");
    let why = format!("{rule}\n\n{lacks}.\n\n");
    stage.world.github().faults(|faults| {
        faults.never_merges.insert("coldframe/cert-manager/bronze".to_owned(), why);
    });
    let _bot = stage.serve();
    for plugin in PLUGINS {
        let pull = stage.until("bronze opens", |stage| stage.pull(plugin, "bronze").filter(is_open)).await;
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    }
    for plugin in &PLUGINS[1..] {
        stage.until("the others merge", |stage| stage.pull(plugin, "bronze").filter(is_merged)).await;
    }
    let pull = stage.pull(PLUGIN, "bronze").unwrap();
    says(&stage, pull.number, &format!("the hub says \"{rule}. {lacks}\"")).await;
    let tried = || {
        let log = stage.world.github().log(REPOSITORY, LEDGER).unwrap();
        log.iter().filter(|commit| commit.message.contains("bronze: not merged by the hub")).count()
    };
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert!((1..=3).contains(&tried()), "it was tried {} times", tried());
    // Somebody resolves it, and it merges by itself.
    stage.world.github().faults(|faults| faults.never_merges.clear());
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

/// Whoever may write can call a branch as the bot would; that keeps back what would be on it, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a10_a_branch_of_somebody_else_keeps_back_its_own_alone() {
    let stage = open_stage().await;
    let github = stage.world.github();
    let branch = "coldframe/cert-manager/qa";
    github.push_file(REPOSITORY, branch, WRITER, "mine.txt", "mine\n", "Mine").unwrap();
    let _bot = stage.serve();
    for plugin in &PLUGINS[1..] {
        stage.until("the others open", |stage| stage.pull(plugin, "qa")).await;
    }
    assert!(stage.pull(PLUGIN, "qa").is_none(), "{:?}", stage.pulls());
    stage
        .until("the log says what to do", |stage| stage.whole_log().contains("delete or rename it").then_some(()))
        .await;
    github.force_branch(REPOSITORY, branch, WRITER, None).unwrap();
    stage.until("it opens, too", |stage| stage.pull(PLUGIN, "qa")).await;
}

/// The same with a pull request on it, which the hub would let nobody open a second time.
#[tokio::test(flavor = "multi_thread")]
async fn a10_a_pull_request_of_somebody_else_keeps_back_its_own_alone() {
    let stage = open_stage().await;
    let github = stage.world.github();
    let branch = "coldframe/cert-manager/qa";
    github.push_file(REPOSITORY, branch, WRITER, "mine.txt", "mine\n", "Mine").unwrap();
    let number = github.open_pull(REPOSITORY, WRITER, branch, "main", "cert-manager 1.15.0 → qa", "").unwrap();
    let _bot = stage.serve();
    for plugin in &PLUGINS[1..] {
        stage.until("the others open", |stage| stage.pull(plugin, "qa")).await;
    }
    let said = format!(
        "cert-manager 1.15.0 → qa is not opened: #{number} by {WRITER} is open from the branch {branch}; close it and \
         delete the branch"
    );
    stage.until("the log says what to do", |stage| stage.whole_log().contains(&said).then_some(())).await;
    let dashboard = format!("http://{}/", stage.world.settings().dashboard);
    let shows = async || reqwest::get(&dashboard).await.unwrap().text().await.unwrap().contains(&said);
    assert!(shows().await, "the log says it, and the dashboard does not");
    github.close(REPOSITORY, number, WRITER).unwrap();
    github.force_branch(REPOSITORY, branch, WRITER, None).unwrap();
    let ours = |pull: &PullView| is_open(pull) || is_merged(pull);
    stage.until("it opens, too", |stage| stage.pull(PLUGIN, "qa").filter(ours)).await;
    let begun = std::time::Instant::now();
    while shows().await {
        assert!(begun.elapsed().as_secs() < 30, "the dashboard goes on to say what is over");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
