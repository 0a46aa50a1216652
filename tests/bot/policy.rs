//! Pull requests of people: a policy that they propose is checked and followed by nobody, and where rules want our check
//! the others get it, but never on a head that the bot stands for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use demo::github::{CheckView, PullView, Role, Rule};
use demo::story::fleet::manifest_path;

use crate::support::{REPOSITORY, ROBOT, Stage, is_merged, is_open};

const PLUGIN: &str = "cert-manager";
const POLICY: &str = "coldframe.yaml";

/// The check of our name on a pull request that says something else than before, if it says anything.
fn check(stage: &Stage, number: u64) -> Option<CheckView> {
    let pull = stage.world.github().pull(REPOSITORY, number).unwrap();
    pull.checks.into_iter().rfind(|check| check.name == "coldframe")
}

/// Waits for a check that ends so.
async fn ends(stage: &Stage, number: u64, conclusion: &str) -> CheckView {
    let found = |stage: &Stage| check(stage, number).filter(|check| check.conclusion.as_deref() == Some(conclusion));
    stage.until(&format!("the check on #{number} is {conclusion}"), found).await
}

fn policy(stage: &Stage) -> String {
    stage.world.github().file(REPOSITORY, "main", POLICY).unwrap().unwrap()
}

/// A person changes a file on a branch.
fn push(stage: &Stage, branch: &str, path: &str, text: &str) {
    stage.world.github().push_file(REPOSITORY, branch, "vera", path, text, "A change").unwrap();
}

/// The same as a pull request.
fn propose(stage: &Stage, branch: &str, path: &str, text: &str) -> u64 {
    push(stage, branch, path, text);
    stage.world.github().open_pull(REPOSITORY, "vera", branch, "main", "A change", "").unwrap()
}

/// The rules of main want our check, by our App.
fn require(stage: &Stage) {
    let given = stage.world.settings();
    let rule = Rule::Checks { name: "coldframe", app: Some(given.app_id), strict: false };
    stage.world.github().add_ruleset(REPOSITORY, "main", &[rule], &[given.bypass_app_id]).unwrap();
}

async fn bronze(stage: &Stage) -> PullView {
    stage.until("bronze opens", |stage| stage.pull(PLUGIN, "bronze").filter(is_open)).await
}

/// At the commit that is named, whatever the branch says by now; nothing is merged by one that not everybody may read, or
/// that is on no default branch.
#[tokio::test(flavor = "multi_thread")]
async fn a_preset_of_another_repository_is_read_at_its_commit() {
    const PRESETS: &str = "acme/presets";
    let stage = Stage::set().await;
    let github = stage.world.github();
    let file = |label: &str| format!("pullRequests: {{labels: [{label}]}}\n");
    github.add_repository("acme", "presets", &[("strict.yaml".to_owned(), file("strict"))]).unwrap();
    github.set_permission(PRESETS, "vera", Role::Write).unwrap();
    let first = github.head(PRESETS, "main").unwrap().unwrap();
    github.push_file(PRESETS, "main", "vera", "strict.yaml", &file("loose"), "Loose").unwrap();
    let side = github.push_file(PRESETS, "side", "vera", "strict.yaml", &file("side"), "Side").unwrap();
    let extends = |commit: &str| format!("extends: [{PRESETS}/strict.yaml@{commit}]\nplugins:\n");
    stage.edit_policy("plugins:\n", &extends(&first));
    let bot = stage.serve();
    let labelled = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.labels == ["strict"]);
    stage.until("it is opened as that preset says", labelled).await;
    stage.edit_policy(&extends(&first), &extends(&side));
    let words = "is not on the branch main of acme/presets";
    let says = |stage: &Stage| stage.pull(PLUGIN, "bronze").filter(|pull| pull.body.contains(words));
    stage.until("it says why", says).await;
    drop(bot);
    stage.edit_policy(&extends(&side), &extends(&first));
    github.set_private(PRESETS, true).unwrap();
    let number = bronze(&stage).await.number;
    github.approve(REPOSITORY, number, "maria").unwrap();
    let said = stage.command(&["once"]).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("acme/presets/strict.yaml@") && said.contains("could not be read"), "{said}");
    assert!(is_open(&bronze(&stage).await));
    github.set_private(PRESETS, false).unwrap();
    let _bot = stage.serve();
    stage.until("it merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a44_a_proposed_policy_is_checked_at_its_lines_and_followed_by_nobody() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    let pull = bronze(&stage).await;
    // Bronze would be merged without anybody's approval.
    let soon = policy(&stage).replacen("    merge: approved\n", "    merge: automatic\n", 1);
    let typo = soon.replacen("    soak: 2s\n", "    soka: 3s\n", 1);
    let number = propose(&stage, "sooner", POLICY, &typo);
    let red = ends(&stage, number, "failure").await;
    let line = typo.lines().position(|line| line == "    soka: 3s").unwrap() as u64 + 1;
    let [said] = red.annotations.as_slice() else { panic!("{red:?}") };
    assert_eq!((said.path.as_str(), said.start_line, said.level.as_str()), (POLICY, line, "failure"));
    assert_eq!(said.message, "unknown key `soka` in tier `bronze` (did you mean `soak`?)");
    let summary = red.summary.unwrap();
    assert!(summary.contains(&format!("coldframe.yaml:{line}:5: unknown key `soka` in tier `bronze`")), "{summary}");

    push(&stage, "sooner", POLICY, &soon.replacen("    soak: 2s\n", "    soak: 3s\n", 1));
    let green = ends(&stage, number, "success").await;
    let (title, summary) = (green.title.unwrap(), green.summary.unwrap());
    assert!(title.starts_with("bronze: merge approved → automatic, and 1 more difference"), "{title}");
    assert!(summary.contains("- bronze: soak 2s → 3s\n") && green.annotations.is_empty(), "{summary}");
    let follows = format!("- {PLUGIN} 1.15.0 on bronze would no longer wait at these gates: approvals");
    let told = |stage: &Stage| check(stage, number).filter(|check| check.summary.as_ref().unwrap().contains(&follows));
    stage.until("what would follow is told", told).await;
    let merged = |stage: &Stage| stage.pull(PLUGIN, "bronze").is_some_and(|pull| is_merged(&pull));
    stage.never(4, "a policy was followed that nobody merged", merged).await;
    assert!(is_open(&stage.world.github().pull(REPOSITORY, pull.number).unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_rules_want_comes_to_pull_requests_of_people() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    require(&stage);
    let _bot = stage.serve();
    bronze(&stage).await;
    let number = propose(&stage, "words", "README.md", "# The fleet\n");
    assert!(github.merge_as(REPOSITORY, number, "vera").is_err(), "the rule binds");
    let said = ends(&stage, number, "success").await;
    assert_eq!(said.title.as_deref(), Some("Coldframe has nothing to say about this pull request"));
    github.merge_as(REPOSITORY, number, "vera").unwrap();
    // A value beside the version is nothing of the bot's; the version is.
    let path = manifest_path("gold", "gold-eu", PLUGIN);
    let text = github.file(REPOSITORY, "main", &path).unwrap().unwrap();
    let version = text.lines().find(|line| line.contains("version: ")).unwrap();
    let number = propose(&stage, "value", &path, &format!("{text}    more: 1\n"));
    ends(&stage, number, "success").await;
    let number = propose(&stage, "version", &path, &text.replace(version, "      version: 1.15.0"));
    let said = ends(&stage, number, "action_required").await;
    assert!(said.summary.as_ref().unwrap().contains(&format!("- {PLUGIN} on gold: ")), "{said:?}");
    assert!(github.merge_as(REPOSITORY, number, "maria").is_err(), "nobody passes the ladder by hand");
    // A head is judged once: what is said stays, and is written once.
    let before = github.requests();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let (after, blobs) = (github.requests(), "GET /repos/{owner}/{repo}/git/blobs/{sha}");
    let files = "GET /repos/{owner}/{repo}/pulls/{number}/files";
    assert_eq!((before.get(files), before.get(blobs)), (after.get(files), after.get(blobs)));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_such_a_rule_nothing_is_written_where_nothing_is_to_be_said() {
    let stage = Stage::set().await;
    let _bot = stage.serve();
    bronze(&stage).await;
    let number = propose(&stage, "words", "README.md", "# The fleet\n");
    let files = "GET /repos/{owner}/{repo}/pulls/{number}/files";
    let looked = |stage: &Stage| stage.world.github().requests().get(files).copied();
    stage.until("it is looked at", looked).await;
    stage.never(4, "something was said", |stage| check(stage, number).is_some()).await;
    assert_eq!(looked(&stage), Some(1), "a head is looked at once");
}

/// Counts who comes.
async fn listener() -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (host, count) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&count);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    (host, count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a44_a_policy_of_a_fork_reaches_nobody_and_uses_no_secret() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    let (host, came) = listener().await;
    let folder = stage.secrets().join(github.repository_id(REPOSITORY).unwrap().to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("OPS_CHAT"), format!("http://{host}/hook\n")).unwrap();
    let (secrets, allowed) = (stage.secrets().display().to_string(), stage.allowed(&host));
    let _bot = stage.serve_with(&[("COLDFRAME_SECRETS", &secrets), ("COLDFRAME_ALLOW_HOSTS", &allowed)]);
    let pull = bronze(&stage).await;

    let asks = format!("      - prometheus: {{url: \"http://{host}\", query: \"up\", expect: \">= 1\"}}\n");
    let asked = "      - helmRelease: {namespace: cert-manager, name: cert-manager}\n";
    let notify = "notify: [{slack: {url: {secret: OPS_CHAT}}, on: [upcoming, blocked, finished]}]\nplugins:\n";
    let text = policy(&stage).replacen("plugins:\n", notify, 1).replacen(asked, &format!("{asked}{asks}"), 1);
    let text = format!(
        "{text}\n  - name: theirs\n    chart: {{repository: \"http://{host}\", name: theirs}}\n    write: [{{file: \
         \"clusters/{{tier}}/{{cluster}}/theirs.yaml\", path: $.spec.chart.spec.version}}]\n    signals: [{{helmRelease: \
         {{namespace: theirs, name: theirs}}}}]\n"
    );
    let files = [(POLICY, Some(text.as_str()))];
    let number = github.open_fork_pull(REPOSITORY, "mallory", ("their-own", "main"), &files).unwrap();
    let said = ends(&stage, number, "success").await;
    let summary = said.summary.unwrap();
    for words in ["- plugin theirs is new", "- notify none → ", "OPS\\_CHAT"] {
        assert!(summary.contains(words), "{summary}");
    }
    assert!(summary.contains("charts and signals are not asked before"), "{summary}");
    // Somebody would be told of it by now.
    github.approve(REPOSITORY, pull.number, "maria").unwrap();
    stage.until("bronze merges", |stage| stage.pull(PLUGIN, "bronze").filter(is_merged)).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(came.load(Ordering::SeqCst), 0, "somebody was asked or told by a policy of a fork");
    // A mistake of theirs is told, too.
    let typo = text.replacen("    soak: 2s\n", "    soka: 2s\n", 1);
    github.push_to_fork(REPOSITORY, number, &[(POLICY, Some(&typo))]).unwrap();
    assert_eq!(ends(&stage, number, "failure").await.annotations.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a43_a_head_of_the_bot_gets_no_green_check_by_a_pull_request_of_a_person() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    require(&stage);
    let _bot = stage.serve();
    let ours = bronze(&stage).await;
    // The bot's own commit on a person's branch; a branch that is called like one of the bot's; the commit with another
    // one on top; all beside one that gets its check.
    github.force_branch(REPOSITORY, "mine", "vera", Some(&ours.head_sha)).unwrap();
    let same = github.open_pull(REPOSITORY, "vera", "mine", "main", "The same commit", "").unwrap();
    let named = propose(&stage, "coldframe/words/gold", "README.md", "# Named\n");
    github.force_branch(REPOSITORY, "over", "vera", Some(&ours.head_sha)).unwrap();
    let over = propose(&stage, "over", "README.md", "# Over\n");
    let other = propose(&stage, "words", "README.md", "# The fleet\n");
    ends(&stage, other, "success").await;
    let green = |stage: &Stage| {
        let ends = [same, named, over].map(|number| check(stage, number).and_then(|check| check.conclusion));
        ends.iter().any(|conclusion| conclusion.as_deref() == Some("success"))
    };
    stage.never(5, "a head that the bot stands for is green", green).await;
    assert_eq!(ends(&stage, over, "action_required").await.head_sha.len(), 40);
    for number in [ours.number, same, over] {
        assert!(github.merge_as(REPOSITORY, number, "maria").is_err(), "#{number} was merged past the gates");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_token_says_it_once_and_in_one_line() {
    let stage = Stage::set().await;
    let github = stage.world.github();
    // They bind the ledger's branch to the App.
    github.clear_rulesets(REPOSITORY).unwrap();
    let _bot = stage.serve_with_token();
    bronze(&stage).await;
    let typo = policy(&stage).replacen("    soak: 2s\n", "    soka: 2s\n", 1);
    let number = propose(&stage, "typo", POLICY, &typo);
    let head = github.pull(REPOSITORY, number).unwrap().head_sha;
    let event = format!("status coldframe is failure at {} by {ROBOT}", &head[..7]);
    let said = |stage: &Stage| {
        let events = stage.world.github().events(REPOSITORY).unwrap();
        events.iter().filter(|one| **one == event).count()
    };
    stage.until("the status is there", |stage| (said(stage) > 0).then_some(())).await;
    stage.never(5, "it was said again", |stage| said(stage) > 1).await;
}
