//! Whose a path is decides who may force: nobody's path is not everybody's, and a broken line is not silence.

use coldframe::demo::github::{PullView, Role};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
const OWNERS: &str = ".github/CODEOWNERS";
const BRONZE: &str = "/clusters/bronze/  @acme/platform\n";

/// Two people who may write and own nothing.
fn writers(stage: &Stage) {
    for writer in ["wim", "wes"] {
        stage.world.github().set_permission(REPOSITORY, writer, Role::Write).unwrap();
    }
}

/// Changes the code owners by a pull request of its own.
fn owners(stage: &Stage, part: &str, by: &str) {
    stage.edit_file(OWNERS, part, by);
}

async fn bronze(stage: &Stage) -> PullView {
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await
}

fn force(stage: &Stage, who: &str) {
    let number = stage.pull(PLUGIN, "bronze").unwrap().number;
    stage.world.github().comment(REPOSITORY, number, who, "/coldframe force an outage").unwrap();
}

fn merged(stage: &Stage) -> bool {
    stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull))
}

/// The line lacks an `@`: the hub asks nobody for a review there, and any two writers forced it.
#[tokio::test(flavor = "multi_thread")]
async fn a14_a_broken_line_leaves_its_paths_to_nobody_until_it_is_mended() {
    let stage = Stage::set().await;
    writers(&stage);
    owners(&stage, BRONZE, "/clusters/bronze/  acme/platform\n");
    let _bot = stage.serve();
    bronze(&stage).await;
    force(&stage, "wim");
    force(&stage, "wes");
    let line = "CODEOWNERS, line 5: `acme/platform` is no owner; write `@acme/platform`";
    let told = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(line));
    stage.until("its page says which line and what to write", told).await;
    stage.never(6, "writers forced what a typo left without an owner", merged).await;
    // Only the hub knows whom these words stand for: a team that is not there, and one that may not write.
    stage.world.github().add_team("acme", "readers", &["wim", "wes"]);
    let mut before = "/clusters/bronze/  acme/platform\n";
    for line in ["/clusters/bronze/  @acme/nobody\n", "/clusters/bronze/  @acme/readers\n"] {
        owners(&stage, before, line);
        before = line;
        let told = |stage: &Stage| {
            let body = stage.pull(PLUGIN, "bronze")?.body;
            (body.contains("CODEOWNERS, line 5: the hub says `Unknown owner`")).then_some(())
        };
        stage.until("its page says what the hub says", told).await;
        for who in ["wim", "wes"] {
            force(&stage, who);
        }
        stage.never(4, "writers forced what no team owns", merged).await;
    }
    owners(&stage, before, BRONZE);
    force(&stage, "maria");
    stage.never(4, "an owner and two writers are not two owners", merged).await;
    force(&stage, "vera");
    stage.until("two owners' words merge it", |stage| merged(stage).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a07_a_path_without_an_owner_is_an_administrators() {
    let stage = Stage::set().await;
    writers(&stage);
    owners(&stage, BRONZE, "/clusters/bronze/\n");
    stage.edit_policy("plugins:\n", "people: {forceBy: 1}\nplugins:\n");
    let _bot = stage.serve();
    bronze(&stage).await;
    for who in ["wim", "wes", "maria"] {
        force(&stage, who);
    }
    stage.never(8, "the word of a writer forced what nobody owns", merged).await;
    stage.world.github().set_permission(REPOSITORY, "wes", Role::Admin).unwrap();
    stage.until("an administrator's word merges it", |stage| merged(stage).then_some(())).await;
}

/// A plugin in a file that anybody may change, for clusters that others own.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_file_without_an_owner_sets_nothing_for_paths_of_others() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let text = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap();
    let (rest, own) = text.split_at(text.find("  - name: ingress-nginx\n").unwrap());
    let end = own[3..].find("\n  - name: ").map_or(own.len(), |at| at + 4);
    let (own, after) = own.split_at(end);
    let folder = "coldframe.d/ingress.yaml";
    let head = github.push_file(REPOSITORY, "split", "vera", folder, &format!("plugins:\n{own}"), "Apart").unwrap();
    assert!(!head.is_empty());
    let head =
        github.push_file(REPOSITORY, "split", "vera", "coldframe.yaml", &format!("{rest}{after}"), "Less").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&head)).unwrap();
    let _bot = stage.serve();
    stage.until("the plugins of the main file climb", |stage| stage.pull(PLUGIN, "bronze")).await;
    stage.never(4, "it was moved", |stage| stage.pull("ingress-nginx", "qa").is_some()).await;
    let said = tokio::task::block_in_place(|| stage.command(&["explain", "ingress-nginx"]).output().unwrap());
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("coldframe.d/ingress.yaml has no owner in CODEOWNERS"), "{said}");
    assert!(said.contains("write `/coldframe.d/ingress.yaml @acme/platform`"), "{said}");
    owners(&stage, BRONZE, &format!("{BRONZE}/coldframe.d/ @acme/platform\n"));
    stage.until("with an owner it climbs", |stage| stage.pull("ingress-nginx", "qa")).await;
}
