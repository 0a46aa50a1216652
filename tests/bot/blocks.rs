//! Blocks that stand in no policy file: a label on a pull request, and an annotation of a chart.

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const PLUGIN: &str = "ingress-nginx";

#[tokio::test(flavor = "multi_thread")]
async fn a_label_keeps_a_release_from_the_tiers_above() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let _bot = stage.serve();
    let below = stage.until("qa is merged", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    let open = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(is_open);
    let first = stage.until("bronze opens", open).await;
    github.set_label(REPOSITORY, below.number, OWNER, "coldframe/block", true).unwrap();
    stage.until("it is closed", |stage| stage.pull(PLUGIN, "bronze").filter(|pull| !is_open(pull))).await;
    stage.never(6, "a blocked release came back", |stage| open(stage).is_some()).await;
    github.set_label(REPOSITORY, below.number, OWNER, "coldframe/block", false).unwrap();
    let second = stage.until("it comes back when the label is off", open).await;
    assert_ne!(second.number, first.number);
}
