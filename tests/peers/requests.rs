//! What the bot sends, as a process against the sandbox, against GitHub's own description: each
//! operation exists, each body is as it should be, each GraphQL operation is one that GitHub takes.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Mutex;

use demo::github::{Access, Rule};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::graphql::refused;
use crate::openapi::{Difference, Half, differences};
use crate::peers::Running;
use crate::recorder::{Record, record};
use crate::support::{REPOSITORY, Stage};

/// What passed, without what is there twice.
fn distinct(record: &Mutex<Record>) -> Record {
    let mut record = record.lock().unwrap().clone();
    let mut seen = BTreeSet::new();
    record.exchanges.retain(|one| seen.insert(format!("{} {} {}", one.method, one.path, one.request)));
    record.operations.retain(|one| seen.insert(one.to_string()));
    record
}

async fn assert_as_described(record: Record) {
    assert_eq!(record.trouble, Vec::<String>::new());
    let found: BTreeSet<Difference> = tokio::task::spawn_blocking(move || {
        assert_eq!(refused(&record.operations), Vec::<String>::new());
        let found = differences(Half::Requests, &record.exchanges).into_iter().flatten();
        // A repository by its number: GitHub answers it, and its description does not say so.
        found.filter(|one| !one.operation.starts_with("GET /repositories/")).collect()
    })
    .await
    .unwrap();
    assert!(found.is_empty(), "{}", found.iter().map(|one| format!("{one}\n")).collect::<String>());
}

/// Methods and paths with numbers, commits and names of branches taken out.
fn kinds(record: &Record) -> BTreeSet<String> {
    let plain = |part: &str| {
        let number = part.bytes().all(|byte| byte.is_ascii_digit());
        let commit = part.len() == 40 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !part.is_empty() && (number || commit) { "N".to_owned() } else { part.to_owned() }
    };
    let kind = |path: &str| path.split('/').map(plain).collect::<Vec<_>>().join("/");
    record.exchanges.iter().map(|one| format!("{} {}", one.method, kind(&one.path))).collect()
}

fn missing<'w>(record: &Record, wanted: &[&'w str]) -> Vec<&'w str> {
    let seen = kinds(record);
    wanted.iter().copied().filter(|wanted| !seen.contains(*wanted)).collect()
}

/// What an App does to see a release through.
const OF_AN_APP: [&str; 22] = [
    "GET /repos/acme/charts/releases",
    "GET /repos/acme/charts/contents/CHANGELOG.md",
    "GET /repos/acme/fleet/activity",
    "GET /repos/acme/fleet/rules/branches/main",
    "POST /app/installations/N/access_tokens",
    "POST /repos/acme/fleet/pulls",
    "PATCH /repos/acme/fleet/pulls/N",
    "PUT /repos/acme/fleet/pulls/N/merge",
    "GET /repos/acme/fleet/issues/N/comments",
    "POST /repos/acme/fleet/issues/N/comments",
    "POST /repos/acme/fleet/issues",
    "PATCH /repos/acme/fleet/issues/N",
    "POST /repos/acme/fleet/git/trees",
    "POST /repos/acme/fleet/git/commits",
    "POST /repos/acme/fleet/issues/N/labels",
    "POST /repos/acme/fleet/issues/N/assignees",
    "POST /repos/acme/fleet/pulls/N/requested_reviewers",
    "POST /repos/acme/fleet/check-runs",
    "PATCH /repos/acme/fleet/check-runs/N",
    "GET /repos/acme/fleet/pulls/N/files",
    "GET /repos/acme/fleet/git/blobs/N",
    "DELETE /repos/acme/fleet/git/refs/heads/coldframe/cert-manager/qa",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_an_app_sends_is_what_github_takes() {
    let stage = Stage::set().await;
    let beside = "pullRequests: {labels: [promotion], assignees: [maria], reviewers: [vera, acme/platform]}\n";
    stage.edit_policy("plugins:\n", &format!("{beside}plugins:\n"));
    stage.world.github().add_ruleset(REPOSITORY, "main", &[Rule::Signatures], &[]).unwrap();
    let given = stage.world.settings();
    let (address, record) = record(&given.hub).await;
    let mut command = stage.command(&["serve"]);
    command.env("COLDFRAME_HUB", &address);
    command.env("COLDFRAME_LISTEN", &given.listen).env("COLDFRAME_DASHBOARD", &given.dashboard);
    command.env("COLDFRAME_WEBHOOK_SECRET", &given.webhook_secret);
    let log = std::fs::File::create(stage.folder.path().join("bot.log")).unwrap();
    let github = stage.world.github();
    // What authors say of a release is read where its chart says that it comes from.
    github.add_repository("acme", "charts", &[("README.md".to_owned(), "Charts\n".to_owned())]).unwrap();
    let (home, commit) = (format!("{address}/acme/charts"), "1".repeat(40));
    stage.world.charts().publish_from("cert-manager", "1.15.2", (&home, &commit), &[]).unwrap();
    // The bot takes merged branches away itself.
    github.set_delete_branch_on_merge(REPOSITORY, false).unwrap();
    // Somebody proposes a policy with a mistake.
    let text = github.file(REPOSITORY, "main", "coldframe.yaml").unwrap().unwrap().replacen("soak:", "soka:", 1);
    github.push_file(REPOSITORY, "typo", "vera", "coldframe.yaml", &text, "A typo").unwrap();
    github.open_pull(REPOSITORY, "vera", "typo", "main", "A typo", "").unwrap();
    let bot = Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    let all = stage.until("each kind of request", |_| {
        let left = missing(&record.lock().unwrap(), &OF_AN_APP);
        left.is_empty().then_some(())
    });
    tokio::select! {
        () = all => {}
        // People and clusters act meanwhile.
        _ = stage.world.run_story(false) => {}
    }
    drop(bot);
    let record = distinct(&record);
    assert_eq!(missing(&record, &OF_AN_APP), Vec::<&str>::new(), "{}", stage.logged());
    assert!(record.others > 0, "git went through, too");
    // The one document that is not in a file.
    assert!(record.operations.iter().any(|one| one["operation"] == "PullsOfBranches"), "it asked for several branches");
    assert_as_described(record).await;
}

/// What the bot does with the token of a person, who may not write check runs.
const OF_A_PERSON: [&str; 3] = ["GET /user", "POST /repos/acme/fleet/pulls", "POST /repos/acme/fleet/statuses/N"];

#[tokio::test(flavor = "multi_thread")]
async fn what_a_token_of_a_person_sends_is_what_github_takes() {
    let stage = Stage::set().await;
    // They bind the ledger's branch to the App.
    stage.world.github().clear_rulesets(REPOSITORY).unwrap();
    let given = stage.world.settings();
    let (address, record) = record(&given.hub).await;
    let mut said = String::new();
    for _ in 0..3 {
        let mut command = stage.command(&["once"]);
        for name in ["COLDFRAME_APP_ID", "COLDFRAME_APP_KEY", "COLDFRAME_BYPASS_APP_ID", "COLDFRAME_BYPASS_APP_KEY"] {
            command.env_remove(name);
        }
        command.env("COLDFRAME_HUB", &address).env("COLDFRAME_TOKEN", &given.user_token);
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        said += &format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let record = distinct(&record);
    assert_eq!(missing(&record, &OF_A_PERSON), Vec::<&str>::new(), "{:#?}\n{said}", kinds(&record));
    assert_as_described(record).await;
}

/// What the dashboard asks for somebody who has signed in, with their token.
const OF_A_VISITOR: [&str; 8] = [
    "GET /user",
    "GET /repositories/N",
    "POST /repos/acme/fleet/git/refs",
    "GET /repos/acme/fleet/contents/coldframe.yaml",
    "PUT /repos/acme/fleet/contents/coldframe.yaml",
    "POST /repos/acme/fleet/pulls",
    "GET /repos/acme/fleet/pulls",
    "DELETE /repos/acme/fleet/git/refs/heads/maria/cert-manager-gold-1.14.7",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_a_visitor_of_the_dashboard_asks_is_what_github_takes() {
    let stage = Stage::set().await;
    let (github, given) = (stage.world.github(), stage.world.settings());
    let (address, record) = record(&given.hub).await;
    let home = format!("http://{}", given.dashboard);
    let (id, secret) = github.sign_in_at(given.app_id, &format!("{home}/signed-in")).unwrap();
    let metrics = format!("127.0.0.1:{}", demo::free_port().unwrap());
    let bot = stage.serve_with(&[
        ("COLDFRAME_HUB", &address),
        ("COLDFRAME_PUBLIC_URL", &home),
        ("COLDFRAME_CLIENT_ID", &id),
        ("COLDFRAME_CLIENT_SECRET", &secret),
        ("COLDFRAME_METRICS", &metrics),
    ]);
    stage.until("bronze is open", |stage| stage.pull("cert-manager", "bronze")).await;
    let mut maria = Browser::new(&home, &address, &given.hub);
    maria.signs_in("maria").await;
    let wave = "/acme/fleet/plugins/cert-manager/tiers/gold";
    assert_eq!(maria.says(wave).await.0, 200, "{}", stage.logged());
    // Once without what it takes, and so taken back; once with it; and once more.
    for (access, status) in [(Access::Read, 403), (Access::Write, 200), (Access::Write, 200)] {
        github.set_app_permission(given.app_id, "pull_requests", Some(access)).unwrap();
        let said = maria.sends(&format!("{wave}/version"), &[("version", "1.14.7")], Some(&home)).await;
        assert_eq!(said.0, status, "{said:?}");
    }
    drop(bot);
    let record = distinct(&record);
    assert_eq!(missing(&record, &OF_A_VISITOR), Vec::<&str>::new(), "{:#?}", kinds(&record));
    assert_as_described(record).await;
}

#[test]
fn what_passed_twice_is_looked_at_once() {
    let operation = json!({"query": "{ viewer { login } }"});
    let record = Record { operations: vec![operation.clone(), operation, Value::Null], ..Record::default() };
    assert_eq!(distinct(&Mutex::new(record)).operations.len(), 2);
}

/// What `doctor` asks beside what the bot asks anyway.
const OF_A_DOCTOR: [&str; 6] = [
    "GET /app",
    "GET /app/hook/config",
    "GET /app/hook/deliveries",
    "GET /repos/acme/fleet/installation",
    "GET /repos/acme/fleet/rules/branches/coldframe-ledger",
    "GET /repos/acme/fleet/rulesets/N",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_a_doctor_asks_is_what_github_answers() {
    let stage = Stage::set().await;
    let (address, record) = record(&stage.world.settings().hub).await;
    let mut command = stage.command(&["doctor"]);
    let output = tokio::task::block_in_place(|| command.env("COLDFRAME_HUB", &address).output()).unwrap();
    let record = distinct(&record);
    assert_eq!(missing(&record, &OF_A_DOCTOR), Vec::<&str>::new(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_as_described(record).await;
}
