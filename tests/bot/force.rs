//! `/coldframe force`: the word of two owners merges without the missing approval, a writer's beside one owner's
//! does not, and the evidence says who.

use demo::github::Role;

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const OWNER: &str = "maria";
const SECOND: &str = "vera";
const WRITER: &str = "wim";
const PLUGIN: &str = "cert-manager";

#[tokio::test(flavor = "multi_thread")]
async fn a11_the_word_of_two_owners_merges_without_an_approval() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.add_user(WRITER);
    github.set_permission(REPOSITORY, WRITER, Role::Write).unwrap();
    let _bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let say = |who: &str, words: &str| github.comment(REPOSITORY, pull.number, who, words).unwrap();
    say(WRITER, "/coldframe force an outage");
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(is_merged);
    stage.never(8, "a writer's word forced it", |stage| merged(stage).is_some()).await;
    say(OWNER, "/coldframe force an outage");
    say(OWNER, "/coldframe force still an outage");
    let waits =
        |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains("waits for another person"));
    stage.until("its page says that one is not enough", waits).await;
    stage.never(3, "one owner forced it alone", |stage| merged(stage).is_some()).await;
    say(SECOND, "/coldframe force an outage");
    let merged = stage.until("two owners' words merge it", merged).await;
    assert_eq!((merged.number, merged.reviews.len()), (pull.number, 0));
    let said = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains("as **maria** said on"));
    let told = stage.until("its page says who", said).await;
    assert!(told.body.contains("an outage") && told.body.contains("Merged by force"), "{}", told.body);
    let page = github.file(REPOSITORY, "coldframe-ledger", "plugins/cert-manager.yaml").unwrap().unwrap();
    assert!(page.contains("said:") && page.contains("by: maria"), "{page}");
}
