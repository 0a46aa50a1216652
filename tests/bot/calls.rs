//! How many calls a promotion takes, and a look with nothing to do: printed beside what is aimed at, and bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::several::{is_over, small};
use crate::support::{Stage, is_approved, is_merged, is_open};
use crate::wake::looks;

/// Writes of one promotion that are aimed at, and those of them that make something new, which is held. The others are
/// texts that follow what they tell.
const AIM: (f64, f64) = (6.0, 3.0);
/// So many writes a promotion takes at most.
const MOST: f64 = 12.0;
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
    let bot = stage.serve();
    let over = |stage: &Stage| {
        for pull in stage.pulls().into_iter().filter(|pull| is_open(pull) && !is_approved(pull)) {
            stage.world.github().approve(crate::support::REPOSITORY, pull.number, "maria").ok();
        }
        is_over(stage).then_some(())
    };
    stage.until("both releases have climbed", over).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let calls = github.requests();
    let promotions = stage.pulls().into_iter().filter(is_merged).count();
    let each = |count: u64| count as f64 / promotions as f64;
    let (written, made) = (each(sum(&calls, writes)), each(sum(&calls, makes)));
    println!(
        "{promotions} promotions: {written:.1} writes each (aim {}), {made:.1} of them make something (aim {})",
        AIM.0, AIM.1
    );
    for (route, count) in calls.iter().filter(|(route, _)| writes(route)) {
        println!("  {:5.1}  {route}", each(*count));
    }
    assert!(made <= AIM.1 && written <= MOST, "{made} of {written}: {calls:#?}");
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
