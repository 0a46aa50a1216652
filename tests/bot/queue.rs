//! Base branches that a merge queue merges to: what the bot puts into it, takes out again, and tries later.

use demo::github::{Method, PullStanding, PullView, Rule};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
/// As the hub calls who merges what the queue has checked.
const QUEUE: &str = "github-merge-queue[bot]";

fn queue(stage: &Stage) -> Vec<u64> {
    stage.world.github().queue(REPOSITORY).unwrap()
}

fn is_queued(stage: &Stage, number: u64) -> bool {
    queue(stage).contains(&number)
}

async fn queued(stage: &Stage, tier: &str) -> PullView {
    stage
        .until("it is in the queue", |stage| stage.pull(PLUGIN, tier).filter(|pull| is_queued(stage, pull.number)))
        .await
}

async fn says(stage: &Stage, tier: &str, words: &str) {
    let told = |stage: &Stage| stage.pull(PLUGIN, tier).filter(|pull| pull.body.contains(words));
    stage.until(&format!("its page says {words}"), told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_queue_merges_what_the_bot_puts_into_it() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.add_ruleset(REPOSITORY, "main", &[Rule::MergeQueue], &[]).unwrap();
    let bot = stage.serve();
    let pull = queued(&stage, "qa").await;
    says(&stage, "qa", "It waits in the merge queue, at place").await;
    let merged = |stage: &Stage| stage.pull(PLUGIN, "qa").is_some_and(|pull| is_merged(&pull));
    let left = |stage: &Stage| merged(stage) || !is_queued(stage, pull.number);
    stage.never(5, "it did not wait for the queue", left).await;
    // A new process finds it there, and puts it there no second time.
    drop(bot);
    let _bot = stage.serve();
    stage.never(5, "a new process took it out", left).await;
    while github.settle_queue(REPOSITORY, true).unwrap().is_some_and(|settled| settled != pull.number) {}
    let by = |pull: &PullView| matches!(&pull.standing, PullStanding::Merged { by, .. } if by == QUEUE);
    stage.until("the queue merged it", |stage| stage.pull(PLUGIN, "qa").filter(by)).await;
    stage.until("the climb goes on", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_leaves_the_queue() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.add_ruleset(REPOSITORY, "main", &[Rule::MergeQueue], &[]).unwrap();
    let _bot = stage.serve();
    let pull = queued(&stage, "qa").await;
    let others = |stage: &Stage| Some(queue(stage)).filter(|queue| queue.len() == 3);
    stage.until("the others are in it", others).await;
    github.comment(REPOSITORY, pull.number, "maria", "/coldframe hold wait").unwrap();
    let left = |stage: &Stage| (!is_queued(stage, pull.number)).then_some(());
    stage.until("the hold takes it out", left).await;
    assert_eq!(queue(&stage).len(), 2, "the others stay");
    stage.never(4, "it went in again", |stage| is_queued(stage, pull.number)).await;
    github.comment(REPOSITORY, pull.number, "maria", "/coldframe resume").unwrap();
    queued(&stage, "qa").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_queue_or_a_person_took_out_is_told_and_tried_later() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.add_ruleset(REPOSITORY, "main", &[Rule::MergeQueue], &[]).unwrap();
    let _bot = stage.serve();
    let pull = queued(&stage, "qa").await;
    while github.settle_queue(REPOSITORY, false).unwrap().is_some_and(|settled| settled != pull.number) {}
    let told = |stage: &Stage, words: &str| stage.pull(PLUGIN, "qa").filter(|pull| pull.body.contains(words));
    let words = "the merge queue took it out: a required check of its group failed";
    stage.until("its page says that its group failed", |stage| told(stage, words)).await;
    stage.never(4, "it went in again at once", |stage| is_queued(stage, pull.number)).await;
    queued(&stage, "qa").await;
    github.dequeue_as(REPOSITORY, pull.number, "maria").unwrap();
    let words = "maria took it out of the merge queue";
    stage.until("its page names who took it out", |stage| told(stage, words)).await;
    stage.never(4, "it went in again at once", |stage| is_queued(stage, pull.number)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_put_into_the_queue_is_theirs() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    stage.give("qa", "merge: manual");
    github.add_ruleset(REPOSITORY, "main", &[Rule::MergeQueue], &[]).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("qa opens", |stage| stage.pull(PLUGIN, "qa").filter(is_open)).await;
    github.enqueue_as(REPOSITORY, pull.number, "maria").unwrap();
    says(&stage, "qa", "maria has put this into the merge queue").await;
    stage.never(4, "the bot took it out", |stage| !is_queued(stage, pull.number)).await;
}

/// Up-to-date branches, a queue and signatures at once: five plugins climb all four tiers.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_every_branch_rule_climbs() {
    let stage = Stage::calm().await;
    let github = stage.world.github();
    let check = Rule::Checks { name: "coldframe", app: None, strict: true };
    github.add_ruleset(REPOSITORY, "main", &[check, Rule::MergeQueue, Rule::Signatures], &[]).unwrap();
    let _bot = stage.serve();
    let all = |stage: &Stage| {
        for pull in stage.pulls().iter().filter(|pull| is_open(pull)) {
            if !pull.reviews.iter().any(|review| review.author == "maria" && review.commit == pull.head_sha) {
                github.approve(REPOSITORY, pull.number, "maria").unwrap();
            }
        }
        github.settle_queue(REPOSITORY, true).unwrap();
        let gold: Vec<_> =
            demo::story::fleet::PLUGINS.iter().filter_map(|plugin| stage.pull(plugin.name, "gold")).collect();
        (gold.len() == 5 && gold.iter().all(is_merged)).then_some(())
    };
    stage.within(480, "every plugin is on gold", all).await;
}

/// The check of our name on a commit that is there last.
fn conclusion(stage: &Stage, commit: &str) -> Option<String> {
    let mut checks = stage.world.github().checks(REPOSITORY, commit).unwrap().into_iter();
    checks.rfind(|check| check.name == "coldframe")?.conclusion
}

/// A repository that squashes and whose rules ask for our check, from our App: in the queue as well.
#[tokio::test(flavor = "multi_thread")]
async fn a15_merge_groups_get_the_check_that_rules_ask_for_and_lend_it_to_nobody() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_merge_methods(REPOSITORY, &[Method::Squash]).unwrap();
    let check = Rule::Checks { name: "coldframe", app: Some(stage.world.settings().app_id), strict: false };
    github.add_ruleset(REPOSITORY, "main", &[check, Rule::MergeQueue], &[]).unwrap();
    let _bot = stage.serve();
    queued(&stage, "qa").await;
    github.push_file(REPOSITORY, "words", "vera", "README.md", "# The fleet\n", "Words").unwrap();
    let words = github.open_pull(REPOSITORY, "vera", "words", "main", "Words", "").unwrap();
    let enter = |_: &Stage| github.enqueue_as(REPOSITORY, words, "vera").ok();
    stage.until("a person's enters when its check is green", enter).await;
    let all_green = |stage: &Stage, at_least: usize| {
        let green = |(_, commit): &(u64, String)| conclusion(stage, commit).as_deref() == Some("success");
        Some(github.groups(REPOSITORY).unwrap()).filter(|groups| groups.len() >= at_least && groups.iter().all(green))
    };
    let groups = stage.until("every group has the check", |stage| all_green(stage, 4)).await;
    // Somebody keeps the commit of a group, whose check is green, and proposes it when the group is no more.
    let [(first, _), (_, group), ..] = groups.as_slice() else { panic!("{groups:?}") };
    github.force_branch(REPOSITORY, "kept", "vera", Some(group)).unwrap();
    github.dequeue_as(REPOSITORY, *first, "maria").unwrap();
    stage.until("the groups that were made anew have it", |stage| all_green(stage, 3)).await;
    assert!(github.groups(REPOSITORY).unwrap().iter().all(|(_, commit)| commit != group), "{groups:?}");
    let kept = github.open_pull(REPOSITORY, "vera", "kept", "main", "Mine", "").unwrap();
    let red = |stage: &Stage| (conclusion(stage, group).as_deref() == Some("action_required")).then_some(());
    stage.until("its check is taken back", red).await;
    assert!(github.enqueue_as(REPOSITORY, kept, "vera").is_err(), "what was in the queue went in under another name");
    while github.settle_queue(REPOSITORY, true).unwrap().is_some_and(|settled| settled != words) {}
    assert!(is_merged(&github.pull(REPOSITORY, words).unwrap()), "the queue did not merge a person's");
}

/// Nobody rings when a window closes.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_there_when_its_window_closes_leaves_the_queue() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let (minute, hour) = (now.minute(), now.hour());
    stage.give("qa", &format!("windows: {{zone: UTC, open: [{{cron: {minute} {hour} * * *, for: 2m}}]}}"));
    github.add_ruleset(REPOSITORY, "main", &[Rule::MergeQueue], &[]).unwrap();
    let _bot = stage.serve();
    let pull = queued(&stage, "qa").await;
    stage.until("the closed window takes it out", |stage| (!is_queued(stage, pull.number)).then_some(())).await;
    assert!(is_open(&stage.pull(PLUGIN, "qa").unwrap()), "nothing merged it");
}
