//! A hotfix by a command: it moves a held pull request, counts only from who may say it, and is remembered.

use demo::github::Role;

use crate::support::{REPOSITORY, Stage, is_open};

const OWNER: &str = "maria";
const WRITER: &str = "wim";
const PLUGIN: &str = "cert-manager";

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_an_owner_makes_a_release_a_hotfix() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.add_user(WRITER);
    github.set_permission(REPOSITORY, WRITER, Role::Write).unwrap();
    let bot = stage.serve();
    let open = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(is_open);
    let pull = stage.until("bronze opens", open).await;
    let say = |who: &str, words: &str| github.comment(REPOSITORY, pull.number, who, words).unwrap();
    say(WRITER, "/coldframe hold wait for me");
    stage.until("it is held", |stage| open(stage).filter(|pull| pull.body.contains("held by wim"))).await;
    stage.world.charts().publish(PLUGIN, "1.15.1", "Closes a hole").unwrap();
    say(WRITER, "/coldframe hotfix 1.15.1 a hole");
    let fixed = |stage: &Stage| open(stage).filter(|pull| pull.title.contains("1.15.1"));
    let on_qa = |stage: &Stage| stage.pull(PLUGIN, "qa").filter(|pull| pull.title.contains("1.15.1"));
    stage.until("the release enters qa", on_qa).await;
    stage.never(8, "a held pull request was moved by a writer", |stage| fixed(stage).is_some()).await;
    say(OWNER, "/coldframe hotfix 1.15.1 soak 1s a hole");
    // The files of qa are nobody's: there it takes an administrator.
    stage.never(4, "an owner hurried what nobody owns", |stage| fixed(stage).is_some()).await;
    github.set_permission(REPOSITORY, OWNER, Role::Admin).unwrap();
    let moved = stage.until("the pull request moves", fixed).await;
    assert_eq!(moved.number, pull.number);
    drop(bot);
    let page = github.file(REPOSITORY, "coldframe-ledger", "plugins/cert-manager.yaml").unwrap().unwrap();
    assert!(page.contains("hotfixes:") && page.contains("by: maria"), "{page}");
    assert!(!page.contains("by: wim"), "{page}");
}
