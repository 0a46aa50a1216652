//! A ledger that was rolled back or deleted stops merging until a person confirms the rebuild.

use jiff::Timestamp;

use coldframe::demo::github::{PullView, Role};

use crate::support::{REPOSITORY, Stage, is_approved, is_merged, is_open};

const BRANCH: &str = "coldframe-ledger";
const OWNER: &str = "maria";
const ADMIN: &str = "alice";

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
    let stage = Stage::set().await;
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    stage
        .until("it has its check", |stage| stage.pull("cert-manager", "bronze").filter(|pull| !pull.checks.is_empty()))
        .await;
    drop(bot);
    to(&stage);
    let _bot = stage.serve();
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    let lost =
        stage.until("the reason on the pull request", |stage| says_lost(&stage.pull("cert-manager", "bronze")?)).await;
    let merged_before: Vec<u64> = stage.pulls().iter().filter(|pull| is_merged(pull)).map(|pull| pull.number).collect();
    let merged = |stage: &Stage| stage.pulls().iter().filter(|pull| is_merged(pull)).count();
    stage.never(8, "merged without a ledger", |stage| merged(stage) != merged_before.len()).await;

    stage.world.github().set_permission(REPOSITORY, ADMIN, Role::Admin).unwrap();
    stage.world.github().comment(REPOSITORY, pull.number, ADMIN, &format!("/coldframe rebuild {lost}")).unwrap();
    // Written anew or not, it needs an approval of what it holds now.
    stage
        .until("the climb goes on", |stage| {
            let now = stage.pull("cert-manager", "bronze")?;
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
    let coldframe::demo::github::PullStanding::Merged { at, .. } = merged.standing else { unreachable!() };
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
