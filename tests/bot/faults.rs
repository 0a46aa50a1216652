//! What the hub does wrong or late: webhooks that come as they like, lists that lag, answers that are not true,
//! creations that fail, budgets that are used up. None of it makes the bot do a thing twice.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use demo::github::{CreateFault, Faults};

use crate::support::{BOT, REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const PLUGINS: [&str; 3] = ["cert-manager", "ingress-nginx", "kube-state-metrics"];

/// Waits until every plugin has been merged to the first tier and is open on the second.
async fn climbed(stage: &Stage) {
    for plugin in PLUGINS {
        stage.until(&format!("{plugin} opens on bronze"), |stage| stage.pull(plugin, "bronze").filter(is_open)).await;
    }
}

/// Each release was proposed to each tier once, merged once, and said once.
fn nothing_was_done_twice(stage: &Stage) {
    let mut titles = BTreeMap::<String, usize>::new();
    for pull in stage.pulls() {
        *titles.entry(pull.title.clone()).or_default() += 1;
        let said = pull.comments.iter().filter(|comment| comment.author == BOT).count();
        assert!(said <= 1, "#{} has {said} comments of the bot", pull.number);
        let mut names: Vec<&str> = pull.checks.iter().map(|check| check.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), pull.checks.len(), "#{} has a check twice", pull.number);
    }
    assert!(titles.values().all(|count| *count == 1), "{titles:?}");
    let merged = stage.pulls().iter().filter(|pull| is_merged(pull)).count();
    let log = stage.world.github().log(REPOSITORY, "main").unwrap();
    let merges = log.iter().filter(|commit| commit.message.contains('→')).count();
    assert_eq!(merges, merged, "each merge is one commit on the base");
}

#[tokio::test(flavor = "multi_thread")]
async fn f02_f03_late_doubled_and_shuffled_webhooks_change_nothing() {
    let stage = Stage::set().await;
    stage.world.github().faults(|faults| {
        faults.webhooks.duplicates = 3;
        faults.webhooks.delay = Duration::from_secs(3);
        faults.webhooks.shuffle = Duration::from_secs(4);
    });
    let _bot = stage.serve();
    climbed(&stage).await;
    let pull = stage.pull("cert-manager", "bronze").unwrap();
    stage.world.github().close(REPOSITORY, pull.number, OWNER).unwrap();
    // What comes now tells of the time when it was open.
    let reopened = |stage: &Stage| stage.pull("cert-manager", "bronze").is_none_or(|now| is_open(&now));
    stage.never(14, "an event of the past moved it", reopened).await;
    assert!(stage.world.github().deliveries().len() > 20, "webhooks came");
    nothing_was_done_twice(&stage);
}

/// No delivery is asked for again: the looks at the start find what they would have rung for.
#[tokio::test(flavor = "multi_thread")]
async fn f01_what_came_while_it_was_away_is_found_when_it_starts() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let bot = stage.serve();
    climbed(&stage).await;
    drop(bot);
    let [approved, closed] = ["cert-manager", "ingress-nginx"].map(|plugin| stage.pull(plugin, "bronze").unwrap());
    github.approve(REPOSITORY, approved.number, OWNER).unwrap();
    github.comment(REPOSITORY, approved.number, OWNER, "/coldframe status").unwrap();
    github.close(REPOSITORY, closed.number, OWNER).unwrap();
    stage.world.charts().publish("kube-state-metrics", "5.25.2", "").unwrap();
    let missed = || github.deliveries().iter().filter(|one| one.status.is_none()).count();
    stage.until("GitHub has given up on them", |_| (missed() >= 3).then_some(())).await;
    // Nothing but its start makes it look.
    github.faults(|faults| faults.webhooks.drop_all = true);
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "1h")]);
    stage.until("the approval", |stage| stage.pull("cert-manager", "bronze").filter(is_merged)).await;
    stage.until("the question", |stage| stage.answers("cert-manager", "bronze")).await;
    let newer = |stage: &Stage| stage.pull("kube-state-metrics", "qa").filter(|pull| pull.title.contains("5.25.2"));
    stage.until("the release", newer).await;
    let same = stage.pulls().iter().filter(|pull| pull.title == closed.title).count();
    assert_eq!(same, 1, "what was refused meanwhile was opened again");
}

#[tokio::test(flavor = "multi_thread")]
async fn f04_f05_what_does_not_show_yet_is_not_made_again() {
    let stage = Stage::set().await;
    stage.world.github().faults(|faults| faults.list_lag = Duration::from_secs(5));
    let bot = stage.serve();
    stage.until("qa opens", |stage| stage.pull("cert-manager", "qa")).await;
    // Whatever the process expected to see is forgotten with it.
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = stage.serve();
    climbed(&stage).await;
    nothing_was_done_twice(&stage);
}

#[tokio::test(flavor = "multi_thread")]
async fn f05_a_no_is_heard_though_the_list_lags() {
    let stage = Stage::set().await;
    stage.world.github().faults(|faults| faults.list_lag = Duration::from_secs(15));
    let _bot = stage.serve();
    let pull = stage.until("qa opens", |stage| stage.pull("cert-manager", "qa").filter(is_open)).await;
    stage.world.github().close(REPOSITORY, pull.number, OWNER).unwrap();
    let again = |stage: &Stage| stage.pull("cert-manager", "qa").is_none_or(|now| now.number != pull.number);
    stage.never(20, "it was opened again after a no that did not show", again).await;
    let text = |stage: &Stage| stage.pull("cert-manager", "qa").filter(|now| now.body.contains("maria"));
    stage.until("its text says whose no it is", text).await;
    nothing_was_done_twice(&stage);
}

#[tokio::test(flavor = "multi_thread")]
async fn f06_a_wrong_404_proves_nothing() {
    let stage = Stage::set().await;
    // A look asks some ten times: at one in seven four of five would fail, and of a merge whose permit met three in a
    // row the pauses are longer than this test.
    stage.world.github().faults(|faults| faults.not_found_every = 20);
    let _bot = stage.serve();
    climbed(&stage).await;
    let pull = stage.pull("cert-manager", "bronze").unwrap();
    // Every second one is lost.
    stage.world.github().faults(|faults| faults.not_found_every = 2);
    let gone = |stage: &Stage| !stage.pull("cert-manager", "bronze").is_some_and(|now| is_open(&now));
    stage.never(10, "it was closed for a 404", gone).await;
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    stage.world.github().faults(|faults| faults.not_found_every = 20);
    stage.until("it merges in spite of them", |stage| stage.pull("cert-manager", "bronze").filter(is_merged)).await;
    nothing_was_done_twice(&stage);
}

#[tokio::test(flavor = "multi_thread")]
async fn f08_what_the_hub_has_not_worked_out_is_not_merged() {
    let stage = Stage::set().await;
    stage.world.github().faults(|faults| faults.mergeable_unknown_reads = u32::MAX);
    let _bot = stage.serve();
    stage.until("qa opens", |stage| stage.pull("cert-manager", "qa")).await;
    let merged = |stage: &Stage| stage.pulls().iter().any(is_merged);
    stage.never(10, "merged though nobody knew whether it could be", merged).await;
    stage.world.github().faults(|faults| faults.mergeable_unknown_reads = 3);
    stage.until("it merges when that is known", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f15_f16_creations_that_fail_end_in_one_of_each() {
    use CreateFault::{ErrorAfter, ErrorBefore};
    let stage = Stage::set().await;
    let trouble = [ErrorAfter, ErrorBefore, ErrorAfter, ErrorAfter, ErrorBefore, ErrorAfter, ErrorAfter];
    stage.world.github().faults(|faults| faults.creations = VecDeque::from(trouble));
    let _bot = stage.serve();
    climbed(&stage).await;
    let mut left = None;
    stage.world.github().faults(|faults| left = Some(faults.creations.len()));
    assert_eq!(left, Some(0), "each was met");
    nothing_was_done_twice(&stage);
}

/// Sets a limit, has people ring at it for some seconds, and says how often the bot ran into it.
async fn refusals(stage: &Stage, limit: impl FnOnce(&mut Faults), seconds: u64) -> u64 {
    let pull = stage.pull("cert-manager", "bronze").unwrap();
    let github = stage.world.github();
    github.faults(|faults| {
        limit(faults);
        faults.refused = 0;
    });
    for second in 0..seconds {
        github.comment(REPOSITORY, pull.number, OWNER, &format!("The {second}. second")).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let mut refused = 0;
    github.faults(|faults| refused = faults.refused);
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn f37_nothing_is_sent_before_a_limit_ends() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    climbed(&stage).await;
    // Each identity (the App, its installation, the second App's) may learn of it once.
    let secondary = refusals(&stage, |faults| faults.secondary_limit = Some((1_000, 20)), 12).await;
    assert!((1..=4).contains(&secondary), "{secondary} requests against a secondary limit");
    stage.world.github().faults(|faults| faults.secondary_limit = None);
    tokio::time::sleep(Duration::from_secs(9)).await;
    let approve = |plugin: &str| {
        let pull = stage.pull(plugin, "bronze").unwrap();
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    };
    approve("cert-manager");
    stage.until("it goes on afterwards", |stage| stage.pull("cert-manager", "bronze").filter(is_merged)).await;

    let used_up = |faults: &mut Faults| {
        (faults.rate_limit_exhausted, faults.resets_in) = (true, Some(Duration::from_secs(20)));
    };
    let exhausted = refusals(&stage, used_up, 12).await;
    // REST and GraphQL have a budget each.
    assert!((1..=6).contains(&exhausted), "{exhausted} requests against a budget that is used up");
    stage.world.github().faults(|faults| *faults = Faults::default());
    tokio::time::sleep(Duration::from_secs(10)).await;
    approve("ingress-nginx");
    stage.until("and then, too", |stage| stage.pull("ingress-nginx", "bronze").filter(is_merged)).await;
    nothing_was_done_twice(&stage);
}
