//! Clusters that nobody can reach: their controllers write at the hub what they applied.

use coldframe::demo::clusters::Link;
use coldframe::demo::github::Access;

use crate::slices::file;
use crate::support::{REPOSITORY, Stage, is_merged};

const PLUGIN: &str = "cert-manager";

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_climbs_on_what_its_controllers_write_at_the_hub_and_on_nothing_else() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let app = |name: &str| {
        let app = github.add_app(name, &[("checks", Access::Write)]).unwrap();
        github.install_app(app.id, REPOSITORY).unwrap();
        app.id
    };
    let (controllers, stranger) = (app("controllers"), app("stranger"));
    file(&stage, |text| {
        let asked = "helmRelease: {namespace: cert-manager, name: cert-manager}";
        assert!(text.contains(asked), "{text}");
        text.replace(asked, "checks: {run: \"applied on {cluster}\", by: \"controllers[bot]\"}")
    });
    for cluster in ["qa-1", "qa-2"] {
        stage.world.clusters().set_link(cluster, Link::Silent).unwrap();
    }
    let _bot = stage.serve();
    stage.until("the first tier is merged", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    let head = github.head(REPOSITORY, "main").unwrap().unwrap();
    let says = |app: u64, cluster: &str, conclusion: Option<&str>| {
        github.check(REPOSITORY, app, &head, &format!("applied on {cluster}"), conclusion).unwrap();
    };
    says(stranger, "qa-1", Some("success"));
    says(stranger, "qa-2", Some("success"));
    says(controllers, "qa-1", Some("success"));
    says(controllers, "qa-2", None);
    let climbs = |stage: &Stage| stage.pull(PLUGIN, "bronze").is_some();
    stage.never(5, "climbed before both controllers had applied it", climbs).await;
    let output = tokio::task::block_in_place(|| stage.command(&["explain", PLUGIN, "qa"]).output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("run applied on qa-2 of"), "{text}");
    says(controllers, "qa-2", Some("success"));
    stage.until("it climbs when both have", |stage| stage.pull(PLUGIN, "bronze")).await;
}
