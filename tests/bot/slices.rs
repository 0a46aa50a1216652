//! Climbs that are not one pull request per tier: slices, and the way back after a failed one.

use demo::github::PullView;
use demo::story::fleet::{TIERS, manifest_path};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

pub const OWNER: &str = "maria";
pub const OTHER: &str = "vera";
pub const PLUGIN: &str = "cert-manager";

/// Gives a tier one more key, before any bot runs.
pub fn give(stage: &Stage, tier: &str, key: &str) {
    file(stage, |text| {
        let select = format!("    select: {{matchLabels: {{tier: {tier}}}}}\n");
        assert!(text.contains(&select), "{text}");
        text.replace(&select, &format!("{select}    {key}\n"))
    });
}

/// Puts another policy file in the place of the one that is there.
pub fn file(stage: &Stage, change: impl FnOnce(&str) -> String) {
    let github = stage.world.github();
    let text = change(&github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap());
    github.push_file(REPOSITORY, "rule", OTHER, "coldframe.yaml", &text, "Another rule").unwrap();
    let number = github.open_pull(REPOSITORY, OTHER, "rule", "main", "Another rule", "").unwrap();
    github.approve(REPOSITORY, number, OWNER).unwrap();
    github.merge_as(REPOSITORY, number, OTHER).unwrap();
}

/// Pull requests of the plugin on a tier, oldest first.
pub fn pulls(stage: &Stage, tier: &str) -> Vec<PullView> {
    let branch = format!("coldframe/{PLUGIN}/{tier}");
    let mut pulls: Vec<PullView> = stage.pulls().into_iter().filter(|pull| pull.head == branch).collect();
    pulls.sort_by_key(|pull| pull.number);
    pulls
}

pub fn runs(stage: &Stage, tier: &str, cluster: &str) -> String {
    let path = manifest_path(tier, cluster, PLUGIN);
    let text = stage.world.github().file(REPOSITORY, "main", &path).unwrap().unwrap();
    let line = text.lines().find(|line| line.trim_start().starts_with("version: ")).unwrap();
    line.split_whitespace().nth(1).unwrap().trim_matches('"').to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_moves_cluster_by_cluster_and_each_waits_for_the_last() {
    let stage = Stage::set().await;
    stage.give("qa", "strategy: {rollingUpdate: {maxUpdate: 1}}");
    stage.world.clusters().stick("qa-1", PLUGIN).unwrap();
    let _bot = stage.serve();
    let first = stage.until("the first slice is merged", |stage| pulls(stage, "qa").into_iter().find(is_merged)).await;
    assert!(first.title.contains("cluster 1 of 2"), "{}", first.title);
    assert_eq!((runs(&stage, "qa", "qa-1"), runs(&stage, "qa", "qa-2")), ("1.15.0".to_owned(), "1.14.7".to_owned()));
    stage.never(8, "the second slice did not wait", |stage| pulls(stage, "qa").len() > 1).await;
    stage.world.clusters().recover("qa-1", PLUGIN).unwrap();
    let second = |stage: &Stage| pulls(stage, "qa").into_iter().nth(1).filter(is_merged);
    let second = stage.until("the second slice is merged", second).await;
    assert!(second.title.contains("cluster 2 of 2"), "{}", second.title);
    let said = "It changes one value in `clusters/qa/qa-2/cert-manager.yaml`.";
    assert!(second.body.contains("slice 2 of 2") && second.body.contains(said), "{}", second.body);
    assert_eq!(runs(&stage, "qa", "qa-2"), "1.15.0");
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze")).await;
    assert_eq!(pulls(&stage, "qa").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_tier_gets_back_what_ran_there() {
    let stage = Stage::set().await;
    stage.give("bronze", "onFailure: {rollBack: {merge: automatic}}");
    stage.world.clusters().break_version("bronze-us", PLUGIN, "1.15.0").unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
    let back = |stage: &Stage| pulls(stage, "bronze").into_iter().nth(1).filter(is_merged);
    let back = stage.until("the way back is merged", back).await;
    assert!(back.title.contains("1.14.7") && back.title.contains("rollback of 1.15.0"), "{}", back.title);
    let bronze = TIERS.iter().find(|(tier, _)| *tier == "bronze").unwrap().1;
    bronze.iter().for_each(|cluster| assert_eq!(runs(&stage, "bronze", cluster), "1.14.7"));
    let again = |stage: &Stage| pulls(stage, "bronze").len() > 2 || stage.pull(PLUGIN, "silver").is_some();
    stage.never(8, "what failed came back or went on", again).await;
}

/// A label orders the slices: no pull request has clusters of two regions though more might move at once, and the next
/// release begins with the next region.
#[tokio::test(flavor = "multi_thread")]
async fn a_tier_moves_region_by_region_and_the_next_release_begins_elsewhere() {
    let stage = Stage::set().await;
    stage.give("bronze", "strategy: {rollingUpdate: {maxUpdate: 2, by: region}}");
    let _bot = stage.serve();
    let clusters = ["bronze-ap", "bronze-eu", "bronze-us"];
    let all = |stage: &Stage| clusters.map(|cluster| runs(stage, "bronze", cluster));
    let merged = |stage: &Stage| pulls(stage, "bronze").into_iter().filter(is_merged).count();
    let next = async |merges: usize| {
        let open = |stage: &Stage| pulls(stage, "bronze").into_iter().find(is_open);
        let pull = stage.until("the next slice opens", open).await;
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
        stage.until("it is merged", |stage| (merged(stage) == merges).then_some(())).await;
        all(&stage)
    };
    assert_eq!(next(1).await, ["1.15.0", "1.14.7", "1.14.7"]);
    assert_eq!(next(2).await, ["1.15.0", "1.15.0", "1.14.7"]);
    assert_eq!(next(3).await, ["1.15.0"; 3]);
    stage.until("silver opens", |stage| stage.pull(PLUGIN, "silver")).await;
    stage.world.charts().publish(PLUGIN, "1.16.0", "More").unwrap();
    assert_eq!(next(4).await, ["1.15.0", "1.16.0", "1.15.0"]);
}

/// Clusters of one region have days of their own: the others move, and its pull request waits and says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_region_merges_in_its_own_windows() {
    let stage = Stage::set().await;
    stage.give("bronze", "strategy: {rollingUpdate: {by: region}}");
    let today = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC).date();
    let (from, to) = (today - jiff::Span::new().days(1), today + jiff::Span::new().days(1));
    let windows = format!(
        "maintenanceWindows:\n  - select: {{matchLabels: {{tier: bronze, region: eu}}}}\n    windows: {{zone: UTC, closed: [{{from: {from}, \
         to: {to}, why: the fair}}]}}\n"
    );
    stage.edit_policy("plugins:\n", &format!("{windows}plugins:\n"));
    let _bot = stage.serve();
    let open = |stage: &Stage| pulls(stage, "bronze").into_iter().find(is_open);
    for cluster in ["bronze-ap", "bronze-eu"] {
        let pull = stage.until("the next slice opens", open).await;
        stage.world.github().approve(REPOSITORY, pull.number, OWNER).unwrap();
        let there = |stage: &Stage| (runs(stage, "bronze", cluster) == "1.15.0").then_some(());
        if cluster == "bronze-ap" {
            stage.until("it is merged", there).await;
            continue;
        }
        let told =
            |stage: &Stage| open(stage).filter(|pull| pull.body.contains("these clusters are closed for: the fair"));
        stage.until("its page says what it waits for", told).await;
        stage.never(6, "it was merged on a closed day", |stage| there(stage).is_some()).await;
        stage.edit_policy(&windows, "");
        stage.until("it is merged when nothing is closed any more", there).await;
    }
}
