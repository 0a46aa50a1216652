//! A ledger that was rolled back or deleted stops merging until a person confirms the rebuild.

use std::collections::VecDeque;

use jiff::Timestamp;

use demo::github::{MergeFault, PullView, Role};

use crate::support::{Bot, REPOSITORY, Stage, is_approved, is_merged, is_open};

const BRANCH: &str = "coldframe-ledger";
const OWNER: &str = "maria";
const ADMIN: &str = "alice";
const WRITER: &str = "eve";
const PLUGIN: &str = "cert-manager";

/// The lost commit that a text names.
fn named(text: &str) -> Option<String> {
    let after = text.split("/coldframe rebuild ").nth(1)?;
    Some(after.chars().take_while(char::is_ascii_hexdigit).collect())
}

fn says_lost(pull: &PullView) -> Option<String> {
    let told = pull.checks.iter().filter_map(|check| check.summary.as_deref()).chain([pull.body.as_str()]);
    told.filter_map(named).next_back().filter(|commit| commit.len() >= 7)
}

/// The forced merge's deadline, as the pull request announces it.
fn deadline(stage: &Stage) -> Option<String> {
    let body = stage.pull("kube-state-metrics", "gold")?.body;
    let line = body.lines().find(|line| line.contains("grace period"))?;
    Some(line.to_owned())
}

/// Rolls the branch back by three commits, or by more where the one that the newest pull request
/// cites is older: what nothing cites can't be missed.
fn roll_back(stage: &Stage) {
    let github = stage.world.github();
    let log = github.log(REPOSITORY, BRANCH).unwrap();
    let newest = stage.pulls().into_iter().filter(is_open).max_by_key(|pull| pull.number).unwrap();
    let promotion = github.log(REPOSITORY, &newest.head).unwrap().remove(0);
    let cites = coldframe::tell::trailers(&promotion.message).ledger.unwrap();
    let cited = log.iter().position(|commit| commit.sha == cites.as_str()).unwrap();
    github.force_branch(REPOSITORY, BRANCH, "root", Some(&log[3.max(cited + 1)].sha)).unwrap();
}

async fn lose(to: impl FnOnce(&Stage)) {
    lose_by(Stage::serve, "bronze", to).await;
}

/// The ledger is lost while a pull request of `tier` waits for an approval.
async fn lose_by(serve: fn(&Stage) -> Bot, tier: &str, to: impl FnOnce(&Stage)) {
    let stage = Stage::set().await;
    stage.world.github().clear_rulesets(REPOSITORY).unwrap();
    let bot = serve(&stage);
    let pull = stage.until("it opens", |stage| stage.pull(PLUGIN, tier).filter(is_open)).await;
    drop(bot);
    to(&stage);
    let _bot = serve(&stage);
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    let lost = stage.until("the reason on the pull request", |stage| says_lost(&stage.pull(PLUGIN, tier)?)).await;
    let merged_before: Vec<u64> = stage.pulls().iter().filter(|pull| is_merged(pull)).map(|pull| pull.number).collect();
    let merged = |stage: &Stage| stage.pulls().iter().filter(|pull| is_merged(pull)).count();
    stage.never(8, "merged without a ledger", |stage| merged(stage) != merged_before.len()).await;

    stage.world.github().set_permission(REPOSITORY, ADMIN, Role::Admin).unwrap();
    stage.world.github().comment(REPOSITORY, pull.number, ADMIN, &format!("/coldframe rebuild {lost}")).unwrap();
    // Written anew or not, it needs an approval of what it holds now.
    stage
        .until("the climb goes on", |stage| {
            let now = stage.pull(PLUGIN, tier)?;
            if is_open(&now) && !is_approved(&now) {
                stage.world.github().approve(REPOSITORY, now.number, OWNER).ok();
            }
            Some(now).filter(is_merged)
        })
        .await;
    let mut seen = std::collections::BTreeSet::new();
    for pull in stage.pulls().into_iter().filter(is_merged) {
        assert!(seen.insert(pull.title.clone()), "{} was merged twice", pull.title);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_rolled_back_by_three_commits() {
    lose(roll_back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_deleted() {
    lose(|stage| stage.world.github().force_branch(REPOSITORY, BRANCH, "root", None).unwrap()).await;
}

/// Only the hub's own notes of who pushed remember it: no head that is not ours by its seal is believed.
#[tokio::test(flavor = "multi_thread")]
async fn f40_deleted_where_nothing_is_sealed() {
    let delete = |stage: &Stage| stage.world.github().force_branch(REPOSITORY, BRANCH, WRITER, None).unwrap();
    lose_by(Stage::serve_with_token, "qa", delete).await;
}

/// Moves the branch back to before the first commit that says this, and lets the bot forget all it knew; the commit
/// that was its newest.
fn forget(stage: &Stage, words: &str) -> String {
    let github = stage.world.github();
    let log = github.log(REPOSITORY, BRANCH).unwrap();
    let first = log.iter().rposition(|commit| commit.message.contains(words)).unwrap();
    github.force_branch(REPOSITORY, BRANCH, WRITER, Some(&log[first + 1].sha)).unwrap();
    std::fs::remove_dir_all(stage.data()).unwrap();
    log[0].sha.clone()
}

async fn open_stage() -> Stage {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.clear_rulesets(REPOSITORY).unwrap();
    github.set_permission(REPOSITORY, WRITER, Role::Write).unwrap();
    github.set_permission(REPOSITORY, ADMIN, Role::Admin).unwrap();
    stage
}

/// What the pages of all pull requests say.
fn said(stage: &Stage) -> String {
    let texts = |pull: PullView| pull.checks.into_iter().filter_map(|check| check.summary).chain([pull.body]);
    stage.pulls().into_iter().flat_map(texts).collect::<Vec<_>>().join("\n")
}

/// The commit that the ledger branch has lost, as some page says.
fn lost(stage: &Stage) -> Option<String> {
    named(said(stage).split_once("the ledger branch has lost commit")?.1)
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_stop_is_not_rolled_back() {
    let stage = open_stage().await;
    let github = stage.world.github();
    let bot = stage.serve();
    for plugin in [PLUGIN, "ingress-nginx", "kube-state-metrics"] {
        stage.until("bronze opens", |stage| stage.pull(plugin, "bronze").filter(is_open)).await;
    }
    github.faults(|faults| faults.merges = VecDeque::from([MergeFault::WrongContent]));
    github.approve(REPOSITORY, stage.pull(PLUGIN, "bronze").unwrap().number, OWNER).unwrap();
    let stands = |stage: &Stage| said(stage).contains("everything stands still because").then_some(());
    stage.until("everything stands still", stands).await;
    drop(bot);
    let newest = forget(&stage, "cert-manager 1.15.0 on bronze: about to be merged");
    let count = |stage: &Stage| (stage.pulls().len(), stage.pulls().iter().filter(|pull| is_merged(pull)).count());
    let before = count(&stage);
    let _bot = stage.serve();
    let lost = stage.until("it says what is lost", lost).await;
    assert!(newest.starts_with(&lost), "{lost} of {newest}");
    stage.never(8, "it goes on without the stop", |stage| count(stage) != before).await;
    // Where the branch is moved back, nothing has been given up.
    github.force_branch(REPOSITORY, BRANCH, ADMIN, Some(&newest)).unwrap();
    stage.until("it stands still for the old reason", stands).await;
    stage.never(6, "the stop is gone", |stage| count(stage) != before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_a_verdict_that_nothing_cites_is_not_rolled_back() {
    let stage = open_stage().await;
    let github = stage.world.github();
    stage.world.clusters().break_version("qa-1", PLUGIN, "1.15.0").unwrap();
    let bot = stage.serve();
    let failed = |stage: &Stage| {
        let log = stage.world.github().log(REPOSITORY, BRANCH).ok()?;
        log.iter().any(|commit| commit.message.contains("cert-manager 1.15.0 on qa: failed")).then_some(())
    };
    stage.until("it fails on qa", failed).await;
    drop(bot);
    let newest = forget(&stage, "cert-manager 1.15.0 on qa: failed");
    stage.world.clusters().recover("qa-1", PLUGIN).unwrap();
    // No pull request is open that could say it.
    let _bot = stage.serve();
    let told = |stage: &Stage| {
        let log = stage.whole_log();
        log.lines().any(|line| line.contains("has lost what it held") && line.contains(&newest)).then_some(())
    };
    stage.until("the log says what is lost", told).await;
    stage.never(8, "what failed climbs on", |stage| stage.pull(PLUGIN, "bronze").is_some()).await;
    let page = stage.pull(PLUGIN, "qa").unwrap();
    assert!(is_merged(&page));
    github.comment(REPOSITORY, page.number, ADMIN, &format!("/coldframe rebuild {newest}")).unwrap();
    stage.until("it is given up, and goes on", |stage| stage.pull(PLUGIN, "bronze")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f40_nobody_is_told_to_roll_it_back() {
    let stage = open_stage().await;
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    drop(bot);
    let newest = forget(&stage, "1.15.0 on bronze: about to be proposed");
    let github = stage.world.github();
    let old = github.head(REPOSITORY, BRANCH).unwrap().unwrap();
    github.push_file(REPOSITORY, BRANCH, WRITER, "plugins/more.yaml", "{}\n", "More").unwrap();
    let _bot = stage.serve();
    let told = |stage: &Stage| Some(said(stage)).filter(|text| text.contains("is not sealed by this bot"));
    let told = stage.until("it says so", told).await;
    assert!(told.contains(&format!("{newest}:coldframe-ledger")), "{told}");
    assert!(!told.contains(&old), "{told}");
    github.force_branch(REPOSITORY, BRANCH, ADMIN, Some(&newest)).unwrap();
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_never_moves_earlier() {
    let stage = Stage::set().await;
    let bot = stage.serve();
    let climb = |stage: &Stage| {
        for pull in stage
            .pulls()
            .into_iter()
            .filter(|pull| is_open(pull) && !is_approved(pull) && !pull.head.ends_with("/gold"))
        {
            stage.world.github().approve(REPOSITORY, pull.number, OWNER).ok();
        }
        deadline(stage)
    };
    let before = stage.until("a deadline is announced", climb).await;
    drop(bot);
    roll_back(&stage);
    let _bot = stage.serve();
    let pull = stage.pull("kube-state-metrics", "gold").unwrap();
    let lost = stage
        .until("the reason on the pull request", |stage| says_lost(&stage.pull("kube-state-metrics", "gold")?))
        .await;
    stage.world.github().set_permission(REPOSITORY, ADMIN, Role::Admin).unwrap();
    stage.world.github().comment(REPOSITORY, pull.number, ADMIN, &format!("/coldframe rebuild {lost}")).unwrap();
    let merged =
        stage.until("it is merged by force", |stage| stage.pull("kube-state-metrics", "gold").filter(is_merged)).await;
    let demo::github::PullStanding::Merged { at, .. } = merged.standing else { unreachable!() };
    let first: Timestamp = announced(&before);
    assert!(at >= first, "merged at {at}, announced was {first}: {before}");
}

/// The time that a sentence announces, as the pull request writes times in UTC.
fn announced(sentence: &str) -> Timestamp {
    let pattern =
        sentence.split("**").find_map(|part| jiff::civil::DateTime::strptime("%a %d %b %Y, %H:%M UTC", part).ok());
    let local = pattern.unwrap_or_else(|| panic!("no time in {sentence:?}"));
    local.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp()
}

/// What a soak has come to waits in memory for a quarter of an hour: whoever stops the bot in between loses none of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_to_be_written_is_written_when_it_stops() {
    let stage = Stage::set().await;
    stage.edit_policy("soak: 1s", "soak: 1h");
    let bot = stage.serve();
    let page = |stage: &Stage| stage.world.github().file(REPOSITORY, BRANCH, "plugins/cert-manager.yaml").unwrap();
    let soaks = |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.body.contains("soak") && is_merged(pull));
    stage.until("it soaks", soaks).await;
    let mut pages = VecDeque::from([page(&stage)]);
    let quiet = |stage: &Stage| {
        pages.push_back(page(stage));
        // A hundred and fifty looks of a tenth of a second.
        (pages.len() > 150).then(|| pages.pop_front())?;
        pages.iter().all(|one| *one == pages[0]).then(|| pages[0].clone())?
    };
    let before = stage.until("nothing is written for a while", quiet).await;
    let ended = bot.stop();
    assert!(ended.success(), "{ended}");
    let after = page(&stage).unwrap();
    assert_ne!(before, after, "what it knew of the soak is lost\n{}", stage.whole_log());
    assert_eq!(before.lines().count(), after.lines().count(), "{after}");
}
