//! Whose a path is decides who may force: nobody's path is not everybody's, and a broken line is not silence.

use std::time::Duration;

use demo::github::{PullView, Role};

use crate::support::{BOT, REPOSITORY, Stage, is_merged, is_open};
use crate::wake::looks;

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

/// Waits until the bot has looked again, and has done what it would do about what was said by now.
async fn has_heard(stage: &Stage) {
    let shown = &stage.world.settings().dashboard;
    let before = looks(shown).await;
    while looks(shown).await < before + 3 {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
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
    // Only the hub knows whom these words stand for: a team that is not there, and one that may not write. Whose the
    // path is meant to be is unknown, so that two administrators do not speak for it either.
    stage.world.github().add_team("acme", "readers", &["wim", "wes"]);
    let mut before = "/clusters/bronze/  acme/platform\n";
    for (number, line, admins) in [
        (6, "# Nobody\n/clusters/bronze/  @acme/nobody\n", ["abe", "ada"]),
        (7, "# People\n# who read\n/clusters/bronze/  @acme/readers\n", ["amy", "ari"]),
    ] {
        owners(&stage, before, line);
        before = line;
        let words = format!("CODEOWNERS, line {number}: the hub says `Unknown owner`");
        let told = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(&words));
        stage.until("its page says which line, and what the hub says of it", told).await;
        for who in admins {
            stage.world.github().set_permission(REPOSITORY, who, Role::Admin).unwrap();
        }
        for who in ["wim", "wes"].into_iter().chain(admins) {
            force(&stage, who);
        }
        has_heard(&stage).await;
        assert!(!merged(&stage), "somebody forced what no team owns");
        for who in admins {
            stage.world.github().set_permission(REPOSITORY, who, Role::Read).unwrap();
        }
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

/// Waits until a pull request is there whose title has this, on the tier whose files nobody owns.
async fn on_qa(stage: &Stage, plugin: &str, title: &str) -> u64 {
    let open = |stage: &Stage| stage.pull(plugin, "qa").filter(|pull| is_open(pull) && pull.title.contains(title));
    stage.until("qa opens", open).await.number
}

/// Whether the bot has told each of the three that the word takes somebody else.
fn are_refused(stage: &Stage, number: u64) -> Option<()> {
    let comments = stage.world.github().pull(REPOSITORY, number).unwrap().comments;
    let told = |who: &str| {
        let line = |line: &str| line.contains(who) && line.contains("this takes a code owner of every path");
        comments.iter().any(|comment| comment.author == BOT && comment.body.lines().any(line))
    };
    ["wim", "wes", "maria"].into_iter().all(told).then_some(())
}

/// The policy leaves the word to code owners, and these files have none.
#[tokio::test(flavor = "multi_thread")]
async fn a07_what_nobody_owns_is_acknowledged_by_an_administrator() {
    let stage = Stage::set().await;
    writers(&stage);
    stage.edit_policy("plugins:\n", "people: {acknowledge: codeOwners}\nplugins:\n");
    stage.world.charts().publish("ingress-nginx", "5.0.0", "All is new").unwrap();
    let _bot = stage.serve();
    let number = on_qa(&stage, "ingress-nginx", "5.0.0").await;
    let say = |who: &str| {
        stage.world.github().comment(REPOSITORY, number, who, "/coldframe acknowledge 5.0.0").unwrap();
    };
    for who in ["wim", "wes", "maria"] {
        say(who);
    }
    stage.until("each is told whose word it takes", |stage| are_refused(stage, number)).await;
    let merged = |stage: &Stage| is_merged(&stage.world.github().pull(REPOSITORY, number).unwrap());
    stage.never(3, "who owns nothing there acknowledged it", merged).await;
    stage.world.github().set_permission(REPOSITORY, "ada", Role::Admin).unwrap();
    say("ada");
    stage.until("an administrator's word merges it", |stage| merged(stage).then_some(())).await;
}

/// The same with a word that opens closed windows.
#[tokio::test(flavor = "multi_thread")]
async fn a07_what_nobody_owns_goes_through_windows_by_an_administrators_word() {
    let stage = Stage::set().await;
    writers(&stage);
    stage.give("qa", "windows: {zone: UTC, open: [{cron: 0 0 29 2 *, for: 1m}]}");
    let _bot = stage.serve();
    let number = on_qa(&stage, PLUGIN, "1.15.0").await;
    let say = |who: &str| {
        let word = "/coldframe hotfix 1.15.0 through windows a hole";
        stage.world.github().comment(REPOSITORY, number, who, word).unwrap();
    };
    for who in ["wim", "wes", "maria"] {
        say(who);
    }
    stage.until("each is told whose word it takes", |stage| are_refused(stage, number)).await;
    let merged = |stage: &Stage| is_merged(&stage.world.github().pull(REPOSITORY, number).unwrap());
    stage.never(3, "it went through a window by the word of somebody who owns nothing there", merged).await;
    // The word is about every tier: it takes somebody who owns the others, too.
    stage.world.github().set_permission(REPOSITORY, "maria", Role::Admin).unwrap();
    say("maria");
    stage.until("an administrator's word merges it", |stage| merged(stage).then_some(())).await;
}

/// Everybody may write here; the yes of a team counts, as long as its member is in it.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_yes_of_a_team_counts_where_the_tier_names_one() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    writers(&stage);
    for member in ["sue", "sam"] {
        github.set_permission(REPOSITORY, member, Role::Write).unwrap();
    }
    github.add_team("acme", "sre", &["sue", "sam", "wes"]);
    let approvals = "approvals: {codeOwners: true, atLeast: 1}";
    stage.edit_policy(approvals, "approvals: {codeOwners: false, atLeast: 2, team: acme/sre}");
    let _bot = stage.serve();
    let number = bronze(&stage).await.number;
    let told =
        |stage: &Stage, words: &str| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(words)).map(|_| ());
    // The hub shows it to nobody, and its members are no owners: only what it may itself do counts.
    let two = "waits for 2 approvals by members of";
    for who in ["maria", "wim", "sue"] {
        github.approve(REPOSITORY, number, who).unwrap();
    }
    stage.until("a team that may not write counts for nothing", |stage| told(stage, two)).await;
    github.set_permission(REPOSITORY, "acme/sre", Role::Write).unwrap();
    let one = "waits for an approval by members of";
    stage.within(120, "one of its members has approved", |stage| told(stage, one)).await;
    github.approve(REPOSITORY, number, "wes").unwrap();
    github.leave_team("acme", "sre", "wes");
    stage.never(8, "who has left the team counted", merged).await;
    github.approve(REPOSITORY, number, "sam").unwrap();
    stage.within(120, "two of the team merge it", |stage| merged(stage).then_some(())).await;
}
