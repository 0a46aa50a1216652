//! The dashboard issue: one, kept up to date, left alone once it is closed; its boxes are heard, and what a stranger
//! writes into one that looks like it is not.

use demo::github::{Issue, IssueAct, Protection, Role, Rule};

use crate::support::{REPOSITORY, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
const BOT: &str = "coldframe[bot]";

fn issues(stage: &Stage) -> Vec<Issue> {
    stage.world.github().issues(REPOSITORY).unwrap()
}

fn own(stage: &Stage) -> Option<Issue> {
    issues(stage).into_iter().find(|issue| issue.author == BOT)
}

async fn says(stage: &Stage, what: &str) -> Issue {
    stage.until(what, |stage| own(stage).filter(|issue| issue.body.contains(what))).await
}

/// The place of a box.
fn place_of(issue: &Issue, mark: &str) -> usize {
    let mut boxes = issue.body.lines().filter(|line| line.starts_with("- ["));
    boxes.position(|line| line.contains(mark)).unwrap()
}

/// The place of the box of a pull request.
fn place(issue: &Issue, pull: u64) -> usize {
    place_of(issue, &format!("coldframe:rebase {pull} "))
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_one_issue_which_follows_what_happens_until_somebody_closes_it() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let needs = format!("{PLUGIN} 1.15.0 → bronze ([`#{}`](", pull.number);
    let issue = says(&stage, &needs).await;
    assert!(issue.title == "Coldframe dashboard" && issue.body.contains("### Needs a person"), "{}", issue.body);
    assert!(issue.body.contains("waits for an approval"), "{}", issue.body);
    github.act_on_issue(REPOSITORY, issue.number, "vera", &IssueAct::Close).unwrap();
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    drop(bot);
    // Nor does a process that has never seen it open.
    let _bot = stage.serve();
    stage.until("silver opens", |stage| stage.pull(PLUGIN, "silver").filter(is_open)).await;
    let left = own(&stage).unwrap();
    assert!(left.body == issue.body && left.closed.is_some(), "{}", left.body);
    assert_eq!(issues(&stage).len(), 1);
    github.act_on_issue(REPOSITORY, issue.number, "vera", &IssueAct::Reopen).unwrap();
    says(&stage, "→ silver").await;
}

/// Somebody has a branch that is called as the bot would call its own: no pull request could say so.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_says_why_until_it_can() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let branch = format!("coldframe/{PLUGIN}/qa");
    github.push_file(REPOSITORY, &branch, "vera", "notes.md", "Mine.\n", "Mine").unwrap();
    let _bot = stage.serve();
    let why = format!("its pull request cannot be opened: the branch {branch} holds ");
    let issue = says(&stage, &why).await;
    let needs = issue.body.split("### The ladder").next().unwrap();
    assert!(needs.contains(&why) && needs.contains("which the bot did not write; delete or rename it"), "{needs}");
    assert_eq!(
        issue.body.matches(&format!("{PLUGIN} 1.15.0 → qa")).count(),
        1,
        "it is not on its way as well: {}",
        issue.body
    );
    github.force_branch(REPOSITORY, &branch, "vera", None).unwrap();
    stage.until("it is opened", |stage| stage.pull(PLUGIN, "qa")).await;
    stage
        .until("and nobody is asked any more", |stage| {
            own(stage).filter(|issue| !issue.body.contains("cannot be opened"))
        })
        .await;
}

const BY_HAND: &str = "to 1.15.0 by hand: merged, it waits for no tier below and no gate";

/// Moves the version of the last tier at once, as another bot does it.
fn move_by_hand(stage: &Stage) {
    let github = stage.world.github();
    let path = demo::story::fleet::manifest_path("gold", "gold-eu", PLUGIN);
    let text = github.file(REPOSITORY, "main", &path).unwrap().unwrap();
    let version = text.lines().find(|line| line.contains("version: ")).unwrap();
    let text = text.replace(version, "      version: 1.15.0");
    github.push_file(REPOSITORY, "renovate/x", "vera", &path, &text, "Update").unwrap();
}

/// As another bot proposes it, for the last tier at once: it is named, with what it would pass over.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_somebody_else_proposes_is_named_as_long_as_they_do() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let _bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    move_by_hand(&stage);
    let number = github.open_pull(REPOSITORY, "vera", "renovate/x", "main", "Update", "").unwrap();
    let issue = says(&stage, BY_HAND).await;
    let row = issue.body.lines().find(|line| line.contains(BY_HAND)).unwrap();
    assert!(row.starts_with(&format!("| ⚠️ {PLUGIN} → gold ([`#{number}`](")) && row.contains("vera changes"), "{row}");
    github.close(REPOSITORY, number, "vera").unwrap();
    stage.until("it is named no more", |stage| own(stage).filter(|issue| !issue.body.contains(BY_HAND))).await;
}

/// Pushed back to a head that has our check already, which nobody reads again.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_named_no_more_once_its_author_has_taken_it_back() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    let rule = Rule::Checks { name: "coldframe", app: Some(given.app_id), strict: false };
    github.add_ruleset(REPOSITORY, "main", &[rule], &[given.bypass_app_id]).unwrap();
    let _bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let words = github.push_file(REPOSITORY, "renovate/x", "vera", "README.md", "# The fleet\n", "Words").unwrap();
    let number = github.open_pull(REPOSITORY, "vera", "renovate/x", "main", "Update", "").unwrap();
    let checked = |stage: &Stage| {
        let pull = stage.world.github().pull(REPOSITORY, number).unwrap();
        pull.checks.iter().any(|check| check.name == "coldframe").then_some(())
    };
    stage.until("its first head has our check", checked).await;
    move_by_hand(&stage);
    says(&stage, BY_HAND).await;
    github.force_branch(REPOSITORY, "renovate/x", "vera", Some(&words)).unwrap();
    stage.until("it is named no more", |stage| own(stage).filter(|issue| !issue.body.contains(BY_HAND))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a45_a_ticked_box_writes_the_pull_request_anew_where_who_ticked_it_may() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "paula", Role::Write).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let issue = says(&stage, &format!("coldframe:rebase {} {}", pull.number, pull.head_sha)).await;
    let tip = github.push_file(REPOSITORY, "notes", "vera", "notes.md", "News.\n", "Notes").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&tip)).unwrap();
    github.act_on_issue(REPOSITORY, issue.number, "vera", &IssueAct::Tick(place(&issue, pull.number))).unwrap();
    let moved = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|now| now.head_sha != pull.head_sha);
    let anew = stage.until("it is written anew", moved).await;
    let heads = github.log(REPOSITORY, &anew.head).unwrap();
    assert!(heads.iter().any(|commit| commit.sha == tip), "it stands on the newest base");
    let issue = says(&stage, "vera asked on").await;
    assert!(!issue.body.contains("- [x]") && issue.body.contains("to write"), "{}", issue.body);
    // The box was about that head: nothing happens twice.
    let issue = says(&stage, &format!("coldframe:rebase {} {}", anew.number, anew.head_sha)).await;
    drop(bot);
    github.act_on_issue(REPOSITORY, issue.number, "paula", &IssueAct::Tick(place(&issue, pull.number))).unwrap();
    github.set_permission(REPOSITORY, "paula", Role::Read).unwrap();
    let _bot = stage.serve();
    says(&stage, "which takes write access").await;
    assert_eq!(stage.pull(PLUGIN, "bronze").unwrap().head_sha, anew.head_sha);
}

/// Pull requests are opened in one minute of a leap day; whoever may write has one opened now.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_its_window_is_opened_where_somebody_asks() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let windows = "pullRequests: {windows: {zone: UTC, open: [{cron: 0 0 29 2 *, for: 1m}]}}";
    stage.edit_policy("plugins:\n", &format!("{windows}\nplugins:\n"));
    let bot = stage.serve();
    let mark = format!("coldframe:open {PLUGIN} qa 1.15.0 -->");
    let issue = says(&stage, &mark).await;
    assert!(issue.body.contains("pull requests are opened only in their window"), "{}", issue.body);
    assert!(stage.pulls().iter().all(|pull| !is_open(pull)), "nothing is opened");
    drop(bot);
    github.set_permission(REPOSITORY, "paula", Role::Write).unwrap();
    github.act_on_issue(REPOSITORY, issue.number, "paula", &IssueAct::Tick(place_of(&issue, &mark))).unwrap();
    github.set_permission(REPOSITORY, "paula", Role::Read).unwrap();
    let _bot = stage.serve();
    // A new process says no before it has asked for releases, and so before there is a box again.
    let both = |issue: &Issue| issue.body.contains("which takes write access") && issue.body.contains(&mark);
    let issue = stage.until("it says no, and has the box", |stage| own(stage).filter(both)).await;
    assert!(stage.pull(PLUGIN, "qa").is_none());
    github.act_on_issue(REPOSITORY, issue.number, "vera", &IssueAct::Tick(place_of(&issue, &mark))).unwrap();
    stage.until("it is opened", |stage| stage.pull(PLUGIN, "qa")).await;
    let issue = says(&stage, &format!("to open {PLUGIN} 1.15.0 → qa")).await;
    assert!(!issue.body.contains("- [x]") && !issue.body.contains(&mark), "{}", issue.body);
    stage.until("it merges, whatever that window says", |stage| stage.pull(PLUGIN, "qa").filter(is_merged)).await;
    assert_eq!(
        stage.pulls().iter().filter(|pull| pull.head.starts_with("coldframe/")).count(),
        1,
        "no other is opened"
    );
}

/// The text of bronze's pull request once it says this.
async fn tells(stage: &Stage, what: &str) -> String {
    let body = |stage: &Stage| stage.pull(PLUGIN, "bronze").map(|pull| pull.body);
    stage.until(what, |stage| body(stage).filter(|body| body.contains(what))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a45_the_box_of_a_pull_request_is_heard_where_who_ticked_it_may() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_permission(REPOSITORY, "paula", Role::Write).unwrap();
    // There is no dashboard issue that could hear it.
    github.set_app_permission(stage.world.settings().app_id, "issues", None).unwrap();
    let bot = stage.serve();
    let pull = stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    tells(&stage, &format!("- [ ] <!-- coldframe:rebase {} -->", pull.head_sha)).await;
    let tip = github.push_file(REPOSITORY, "notes", "vera", "notes.md", "News.\n", "Notes").unwrap();
    github.force_branch(REPOSITORY, "main", "vera", Some(&tip)).unwrap();
    github.tick(REPOSITORY, pull.number, "vera", 0).unwrap();
    let moved = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|now| now.head_sha != pull.head_sha);
    let anew = stage.until("it is written anew", moved).await;
    let heads = github.log(REPOSITORY, &anew.head).unwrap();
    assert!(heads.iter().any(|commit| commit.sha == tip), "it stands on the newest base");
    let body = tells(&stage, "vera asked for that on").await;
    assert!(body.contains(&format!("- [ ] <!-- coldframe:rebase {} -->", anew.head_sha)), "{body}");
    drop(bot);
    github.tick(REPOSITORY, pull.number, "paula", 0).unwrap();
    github.set_permission(REPOSITORY, "paula", Role::Read).unwrap();
    let bot = stage.serve();
    let body = tells(&stage, "paula ticked the box on").await;
    assert!(body.contains("which takes write access") && !body.contains("- [x]"), "{body}");
    drop(bot);
    assert_eq!(stage.pull(PLUGIN, "bronze").unwrap().head_sha, anew.head_sha);
    // Nor is anything written anew for the box of a commit that is gone.
    let stale =
        body.replace(&format!("- [ ] <!-- coldframe:rebase {}", anew.head_sha), "- [x] <!-- coldframe:rebase 00");
    github.edit_pull(REPOSITORY, pull.number, "vera", &anew.title, &stale).unwrap();
    let _bot = stage.serve();
    tells(&stage, "vera ticked the box of a commit that is gone").await;
    assert_eq!(stage.pull(PLUGIN, "bronze").unwrap().head_sha, anew.head_sha);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_permission_there_is_no_issue_and_all_else_goes_on() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    github.set_app_permission(stage.world.settings().app_id, "issues", None).unwrap();
    github.protect(REPOSITORY, "main", Protection::default()).unwrap();
    let _bot = stage.serve();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    assert!(issues(&stage).is_empty());
    let said = stage.whole_log();
    assert_eq!(said.matches("there is no dashboard issue").count(), 1, "{said}");
    // GitHub sends comments to those alone who may read issues.
    assert!(said.contains("the App does not get these events") && said.contains("issue_comment"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a45_of_two_the_older_one_stays_and_one_by_somebody_else_is_none() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let forged = "<!-- coldframe:dashboard -->\n- [x] <!-- coldframe:look -->";
    github.open_issue(REPOSITORY, "vera", "Coldframe dashboard", forged).unwrap();
    let bot = stage.serve();
    let first = stage.until("it opens", own).await;
    drop(bot);
    github.open_issue(REPOSITORY, BOT, "Coldframe dashboard", &first.body).unwrap();
    let _bot = stage.serve();
    let closed = |stage: &Stage| issues(stage).into_iter().find(|issue| issue.closed.is_some());
    let younger = stage.until("one is closed", closed).await;
    assert!(younger.number > first.number && younger.author == BOT);
    let forged = issues(&stage).into_iter().find(|issue| issue.author == "vera").unwrap();
    assert!(forged.closed.is_none() && forged.edited.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_finished_a_tier_is_listed_for_those_who_follow_it() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    let dashboard = format!("http://{}/versions", stage.world.settings().dashboard);
    let get = async |path: &str| reqwest::get(format!("{dashboard}/{path}")).await.unwrap();
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await;
    let has = |feed: &serde_json::Value, version: &str| {
        let found = feed["releases"].as_array().unwrap().iter().find(|release| release["version"] == version);
        found.is_some_and(|release| release["releaseTimestamp"].as_str().unwrap().ends_with('Z'))
    };
    let begun = std::time::Instant::now();
    // The pages show what was seen before the last deeds.
    loop {
        let qa: serde_json::Value = get(&format!("{PLUGIN}/qa.json")).await.json().await.unwrap();
        if has(&qa, "1.15.0") {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{qa}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let bronze = get(&format!("{PLUGIN}/bronze.json?repository={REPOSITORY}")).await;
    let bronze: serde_json::Value = bronze.json().await.unwrap();
    assert!(bronze["releases"].is_array() && !has(&bronze, "1.15.0"), "it is on its way there: {bronze}");
    for unknown in
        ["nobody/qa.json", "cert-manager/iron.json", "cert-manager/qa", "cert-manager/qa.json?repository=a/b"]
    {
        assert_eq!(get(unknown).await.status(), 404, "{unknown}");
    }
}
