//! A freeze by a command: it stops every plugin, outlives its pull request and a wiped disk, and ends by
//! another command.

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";

#[tokio::test(flavor = "multi_thread")]
async fn a_command_freezes_everything_until_another_lifts_it() {
    let stage = Stage::set().await;
    let bot = stage.serve();
    let open = |stage: &Stage, plugin: &str| stage.pull(plugin, "bronze").filter(is_open);
    let pull = stage.until("bronze opens", |stage| open(stage, "cert-manager")).await;
    let other = stage.until("the other plugin's, too", |stage| open(stage, "ingress-nginx")).await;
    let github = stage.world.github();
    github.comment(REPOSITORY, pull.number, OWNER, "/coldframe freeze everything incident 42").unwrap();
    let said = |stage: &Stage| {
        open(stage, "ingress-nginx").filter(|pull| pull.body.contains("frozen by maria with a command: incident 42"))
    };
    stage.until("the other pull request says so", said).await;
    github.close(REPOSITORY, pull.number, OWNER).unwrap();
    github.approve(REPOSITORY, other.number, OWNER).unwrap();
    drop(bot);
    std::fs::remove_dir_all(stage.data()).unwrap();
    let _bot = stage.serve();
    let merged = |stage: &Stage| stage.pull("ingress-nginx", "bronze").filter(is_merged);
    stage.never(8, "merged in a freeze", |stage| merged(stage).is_some()).await;
    github.comment(REPOSITORY, other.number, OWNER, "/coldframe unfreeze").unwrap();
    stage.until("it merges when the freeze is lifted", merged).await;
}

/// What people say is dated by the hub's clock, of which ours may be ahead: an hour of theirs is not over before.
#[tokio::test(flavor = "multi_thread")]
async fn f36_a_freeze_lasts_by_the_clock_of_the_hub() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    let open = |stage: &Stage| stage.pull("cert-manager", "bronze").filter(is_open);
    let pull = stage.until("bronze opens", open).await;
    let github = stage.world.github();
    github.shift_clock(jiff::SignedDuration::from_mins(-40));
    github.comment(REPOSITORY, pull.number, OWNER, "/coldframe freeze everything for 1h the audit").unwrap();
    let said =
        |stage: &Stage| open(stage).filter(|pull| pull.body.contains("frozen by maria with a command: the audit"));
    stage.until("the pull request says so", said).await;
    github.approve(REPOSITORY, pull.number, OWNER).unwrap();
    let merged = |stage: &Stage| stage.pull("cert-manager", "bronze").filter(is_merged);
    stage.never(8, "merged in a freeze", |stage| merged(stage).is_some()).await;
}
