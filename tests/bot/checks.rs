//! Releases that wait for checks of the commit that released them.

use demo::github::{Access, Role};

use crate::slices::file;
use crate::support::{REPOSITORY, Stage, is_merged};

const CHARTS: &str = "acme/charts";
const CHART: &str = "ingress-nginx";

/// The repository of the charts, its head, and the App whose checks run there.
fn charts(stage: &Stage) -> (String, u64) {
    let github = stage.world.github();
    let files = [("README.md".to_owned(), "# Charts\n".to_owned())];
    github.add_repository("acme", "charts", &files).unwrap();
    github.set_permission(CHARTS, "vera", Role::Write).unwrap();
    let ci = github.add_app("ci", &[("checks", Access::Write)]).unwrap();
    (github.head(CHARTS, "main").unwrap().unwrap(), ci.id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_waits_until_its_checks_are_green_and_climbs_then() {
    let stage = Stage::set().await;
    let (commit, ci) = charts(&stage);
    let github = stage.world.github();
    // One names its repository and finds the tag, of the other the chart says where it was made.
    file(&stage, |text| {
        let one = text.replace(
            "versions: {constraint: \"^1.14\"}",
            "versions: {constraint: \"^1.14\", checks: {all: [e2e, lint], from: acme/charts}}",
        );
        let two = one.replace(
            "name: ingress-nginx}\n    poll: 1s\n",
            "name: ingress-nginx}\n    poll: 1s\n    versions: {checks: [e2e]}\n",
        );
        assert!(two.len() > one.len() && one.len() > text.len(), "{text}");
        two
    });
    let newest = "4.12.0";
    let source = format!("{}/{CHARTS}.git", stage.world.settings().hub);
    stage.world.charts().publish_from(CHART, newest, (&source, &commit), &[]).unwrap();
    github.check(CHARTS, ci, &commit, "lint", Some("success")).unwrap();
    github.check(CHARTS, ci, &commit, "e2e", None).unwrap();
    let _bot = stage.serve();
    let opened = |stage: &Stage, plugin: &str| stage.pull(plugin, "qa").is_some();
    let either = |stage: &Stage| opened(stage, "cert-manager") || opened(stage, CHART);
    stage.until("the third plugin climbs", |stage| stage.pull("kube-state-metrics", "qa")).await;
    stage.never(4, "opened without its checks", either).await;
    let said = |plugin: &str| {
        let output = stage.command(&["explain", plugin, "qa"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (one, two) = tokio::task::block_in_place(|| (said("cert-manager"), said(CHART)));
    assert!(one.contains("acme/charts has no tag v1.15.0 or 1.15.0 or cert-manager-1.15.0"), "{one}");
    assert!(two.contains("the commit that released 4.12.0 waits for checks: e2e"), "{two}");

    github.tag(CHARTS, "vera", "v1.15.0", &commit).unwrap();
    github.check(CHARTS, ci, &commit, "e2e", Some("success")).unwrap();
    for plugin in ["cert-manager", CHART] {
        let merged = |stage: &Stage| stage.pull(plugin, "qa").filter(is_merged);
        let pull = stage.until("it climbs when they are green", merged).await;
        assert!(pull.title.contains(if plugin == CHART { newest } else { "1.15.0" }), "{}", pull.title);
    }
    // Green is green: nobody asks about it again.
    let asked = || github.requests()["GET /repos/{owner}/{repo}/commits/{ref}/check-runs"];
    let before = asked();
    stage.until("it goes on", |stage| stage.pull("cert-manager", "bronze")).await;
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert!(asked() <= before + 1, "{before} calls became {}", asked());
    assert_eq!(github.pulls(REPOSITORY).unwrap().iter().filter(|pull| pull.title.contains("4.11")).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_not_green() {
    let stage = Stage::set().await;
    let (commit, ci) = charts(&stage);
    let github = stage.world.github();
    github.tag(CHARTS, "vera", "v1.15.0", &commit).unwrap();
    github.check(CHARTS, ci, &commit, "e2e", Some("success")).unwrap();
    github.set_private(CHARTS, true).unwrap();
    file(&stage, |text| {
        let checks = "versions: {constraint: \"^1.14\", checks: {all: [e2e], from: acme/charts}}";
        text.replace("versions: {constraint: \"^1.14\"}", checks)
    });
    let _bot = stage.serve();
    stage.until("another plugin climbs", |stage| stage.pull("kube-state-metrics", "qa")).await;
    stage.never(4, "opened on checks that nobody saw", |stage| stage.pull("cert-manager", "qa").is_some()).await;
    let output = tokio::task::block_in_place(|| stage.command(&["explain", "cert-manager", "qa"]).output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the checks of 1.15.0 could not be read: acme/charts: "), "{text}");
    github.set_private(CHARTS, false).unwrap();
    stage.until("it climbs when it can be read", |stage| stage.pull("cert-manager", "qa").filter(is_merged)).await;
}
