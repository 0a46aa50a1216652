//! How many calls a promotion takes, and a look with nothing to do: printed beside their bounds.

use std::collections::BTreeMap;
use std::time::Duration;

use demo::github::PullView;

use crate::several::{is_over, small};
use crate::support::{BOT, REPOSITORY, Stage, is_approved, is_merged, is_open};
use crate::wake::looks;

/// So many writes a promotion takes at most, and so many of them that make something new. The others are texts that
/// follow what they tell.
const MOST: (f64, f64) = (6.0, 3.0);
/// Calls of a look with nothing to do: twelve looks an hour stay under sixty.
const IDLE: u64 = 5;

/// Calls since then, by route.
fn since(stage: &Stage, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let now = stage.world.github().requests().into_iter();
    now.map(|(route, count)| (route.clone(), count - before.get(&route).copied().unwrap_or(0)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn sum(calls: &BTreeMap<String, u64>, wanted: impl Fn(&str) -> bool) -> u64 {
    calls.iter().filter(|(route, _)| wanted(route)).map(|(_, count)| count).sum()
}

/// A call that makes something new; a token is nothing of the world.
fn makes(route: &str) -> bool {
    route.starts_with("POST ") && !route.contains("access_tokens")
}

fn writes(route: &str) -> bool {
    makes(route) || ["PATCH ", "PUT ", "DELETE "].iter().any(|method| route.starts_with(method))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_takes_few_writes_and_a_look_with_nothing_to_do_none() {
    let stage = small().await;
    let github = stage.world.github();
    // Texts that tell nothing urgent wait for ten times as long.
    let bot = stage.serve_with(&[("COLDFRAME_POLL", "20s")]);
    let over = |stage: &Stage| {
        for pull in stage.pulls().into_iter().filter(|pull| is_open(pull) && !is_approved(pull)) {
            stage.world.github().approve(REPOSITORY, pull.number, "maria").ok();
        }
        is_over(stage).then_some(())
    };
    stage.until("both releases have climbed", over).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let calls = github.requests();
    let promotions = stage.pulls().into_iter().filter(is_merged).count();
    let each = |count: u64| count as f64 / promotions as f64;
    // The dashboard issue is one for all of them.
    let shared = |route: &str| route.contains("/issues");
    let written = each(sum(&calls, |route| writes(route) && !shared(route)));
    let made = each(sum(&calls, |route| makes(route) && !shared(route)));
    println!(
        "{promotions} promotions: {written:.1} writes each (at most {}), {made:.1} of them make something (at most {}), and \
         {:.1} of the issue that they share",
        MOST.0,
        MOST.1,
        each(sum(&calls, |route| writes(route) && shared(route)))
    );
    for (route, count) in calls.iter().filter(|(route, _)| writes(route)) {
        println!("  {:5.1}  {route}", each(*count));
    }
    assert!(made <= MOST.1 && written <= MOST.0, "{made} of {written}: {calls:#?}");
    drop(bot);
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "4s"), ("COLDFRAME_POLL", "1h")]);
    let address = stage.world.settings().dashboard.to_string();
    // Its first looks find out what is so; after that nothing is new.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let (calls, begun) = (github.requests(), looks(&address).await);
    tokio::time::sleep(Duration::from_secs(20)).await;
    let (calls, looks) = (since(&stage, &calls), looks(&address).await - begun);
    assert!(looks > 1, "it does not look\n{}", stage.logged());
    let each = |count: u64| count as f64 / looks as f64;
    // The clusters pull from git, too.
    let asked = each(sum(&calls, |route| !route.starts_with("GIT ")));
    println!("{looks} looks with nothing to do: {asked:.1} calls each (at most {IDLE})");
    for (route, count) in calls.iter().filter(|(route, _)| !route.starts_with("GIT ")) {
        println!("  {:5.1}  {route}", each(*count));
    }
    assert_eq!(sum(&calls, writes), 0, "{calls:#?}");
    assert!(asked <= IDLE as f64, "{calls:#?}");
}

/// What is opened together costs two pushes, and nobody has to come back to read what it waits for.
#[tokio::test(flavor = "multi_thread")]
async fn what_opens_at_once_takes_one_push_and_says_at_once_what_it_waits_for() {
    let stage = Stage::set().await;
    stage.edit_policy("plugins:\n", "freeze: [{why: a quiet day}]\nplugins:\n");
    let github = stage.world.github();
    let before = github.requests();
    let _bot = stage.serve();
    let all = |stage: &Stage| {
        let open: Vec<PullView> =
            stage.pulls().into_iter().filter(|pull| pull.author == BOT && is_open(pull)).collect();
        (open.len() == 3).then_some(open)
    };
    let first = stage.until("all three are open", all).await;
    let pushes = sum(&since(&stage, &before), |route| route == "GIT git-receive-pack");
    println!("3 pull requests at once: {pushes} pushes");
    // What it has found out first, the intents, the branches.
    assert!(pushes <= 3, "{:#?}", since(&stage, &before));
    stage
        .never(6, "it was not opened with its text", |stage| {
            sum(&since(stage, &before), |route| route.starts_with("PATCH ") && route.contains("/pulls/")) > 0
        })
        .await;
    for (pull, now) in first.iter().zip(all(&stage).unwrap()) {
        assert!(pull.body.contains("a quiet day"), "{}", pull.body);
        assert_eq!((&pull.title, &pull.body), (&now.title, &now.body));
        assert_eq!(now.checks.len(), 1, "it was looked at since");
    }
}

/// So many pull requests are opened at once, and so many requests that may take, git's pushes among them.
const AT_ONCE: usize = 20;
const AT_MOST: u64 = 87;

/// Twenty charts have a release on the same day.
#[tokio::test(flavor = "multi_thread")]
async fn what_opens_at_once_shares_its_calls() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let policy = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
    let (head, plugins) = policy.split_once("plugins:\n").unwrap();
    let chart = plugins.lines().find(|line| line.contains("chart: {oci: ")).unwrap();
    let mut text = format!("{head}freeze: [{{why: a quiet day}}]\nplugins:\n");
    for number in 0..AT_ONCE {
        let name = format!("chart-{number:02}");
        text.push_str(&format!(
            "  - name: {name}\n{chart}\n    versions: {{constraint: \"^1.14\"}}\n    write: [{{file: \"extra/{name}/{{tier}}.yaml\", \
             path: $.version}}]\n    signals: [{{helmRelease: {{namespace: {name}, name: {name}}}}}]\n"
        ));
        for tier in ["qa", "bronze", "silver", "gold"] {
            let path = format!("extra/{name}/{tier}.yaml");
            github.push_file(REPOSITORY, "more", "vera", &path, "version: 1.14.7\n", "A chart").unwrap();
        }
    }
    let head = github.push_file(REPOSITORY, "more", "vera", "coldframe.yaml", &text, "More charts").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
    github.force_branch(REPOSITORY, "more", "vera", None).unwrap();
    let before = github.requests();
    let _bot = stage.serve_with(&[("COLDFRAME_SWEEP", "1h"), ("COLDFRAME_POLL", "1h")]);
    let told = |pull: &PullView| pull.author == BOT && is_open(pull) && !pull.checks.is_empty();
    let all = |stage: &Stage| (stage.pulls().iter().filter(|pull| told(pull)).count() == AT_ONCE).then_some(());
    stage.until("all are open, and each has its check", all).await;
    // The clusters read from git as well.
    let mut calls = since(&stage, &before);
    calls.retain(|route, _| !route.starts_with("GIT git-upload-pack"));
    let all = sum(&calls, |_| true);
    println!("{AT_ONCE} pull requests at once: {all} requests (at most {AT_MOST}), without what git reads");
    for (route, count) in &calls {
        println!("  {count:5}  {route}");
    }
    assert!(all <= AT_MOST, "{calls:#?}");
}
