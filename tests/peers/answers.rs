//! Every REST route of the sandbox's GitHub, asked for real, against GitHub's own description. What
//! differs is listed in known-differences.txt, no more and no less.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use demo::github::GitHub;
use serde_json::{Value, json};

use crate::openapi::{Difference, Half, differences};
use crate::peers::here;
use crate::town::{REPO, Town};

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_answers_as_github_says_it_does() {
    let mut town = Town::build().await;
    apps_and_people(&mut town).await;
    repository(&mut town).await;
    let head = branches_and_files(&mut town).await;
    checks(&mut town, &head).await;
    pulls(&mut town, &head).await;
    let noted = town.reads("bot", "~/activity").await;
    assert_ne!(noted, json!([]), "so that the shape of a move is looked at");
    town.hub.release(REPO, "v9.9.9", "alice", "- A change\n").unwrap();
    town.hub.draft_release(REPO, "v9.9.10", "alice", "").unwrap();
    let released = town.reads("bot", "~/releases").await;
    assert_eq!(released.as_array().map(Vec::len), Some(2), "{released}");
    refusals(&mut town).await;

    let routes: BTreeSet<String> = GitHub::routes().into_iter().collect();
    let idle: Vec<&String> = routes.difference(&town.driven).collect();
    assert!(idle.is_empty(), "not driven: {idle:#?}");
    let exchanges = std::mem::take(&mut town.exchanges);
    let found: BTreeSet<Difference> = tokio::task::spawn_blocking(move || differences(Half::Answers, &exchanges))
        .await
        .unwrap()
        .into_iter()
        .flatten()
        .collect();
    let found: BTreeSet<Difference> = found.into_iter().map(without_numbers).collect();
    let known: BTreeSet<Difference> = known();
    let list =
        |differences: Vec<&Difference>| differences.iter().map(|one| format!("{one} | why\n")).collect::<String>();
    let (new, gone) = (list(found.difference(&known).collect()), list(known.difference(&found).collect()));
    assert!(new.is_empty(), "not in known-differences.txt:\n{new}");
    assert!(gone.is_empty(), "in known-differences.txt, but no longer so; take them out:\n{gone}");
}

/// Routes without an operation are named by their paths, in which numbers differ from run to run.
fn without_numbers(mut difference: Difference) -> Difference {
    let steady = |part: &str| if part.parse::<u64>().is_ok() { "N".to_owned() } else { part.to_owned() };
    difference.operation = difference.operation.split('/').map(steady).collect::<Vec<_>>().join("/");
    difference
}

/// `operation | places in the body | what | why` a line; several places stand apart by spaces.
fn known() -> BTreeSet<Difference> {
    let text = std::fs::read_to_string(here().join("known-differences.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut known = BTreeSet::new();
    for line in lines {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [operation, place, what, why] = parts[..] else { panic!("not `operation | place | what | why`: {line}") };
        assert!(why.len() > 3 && why != "why", "says no reason: {line}");
        for place in place.split(' ') {
            let [operation, place, what] = [operation, place, what].map(str::to_owned);
            let difference = Difference { operation, place, what };
            assert!(known.insert(difference), "twice: {line}");
        }
    }
    known
}

async fn apps_and_people(town: &mut Town) {
    let installation = town.bot.installation_id;
    town.reads("app", "/app").await;
    town.reads("app", "/app/installations").await;
    town.reads("app", &format!("/app/installations/{installation}")).await;
    town.reads("app", "~/installation").await;
    town.reads("app", "/orgs/acme/installation").await;
    town.hub.set_webhook(town.bot.id, "http://127.0.0.1:1/webhook", "secret").unwrap();
    town.hub.push_file(REPO, "ring", "alice", "ring", "x", "Ring").unwrap();
    while town.hub.deliveries().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    town.reads("app", "/app/hook/config").await;
    let sent = town.reads("app", "/app/hook/deliveries").await;
    assert_ne!(sent, json!([]), "so that the shape of a delivery is looked at");
    let manifest = json!({
        "name": "another", "url": "https://acme.example", "redirect_url": "http://127.0.0.1:1/x",
        "hook_attributes": {"url": "https://acme.example/webhook"},
        "default_permissions": {"contents": "read"}, "default_events": ["push"],
    });
    let code = town.hub.register_app(&manifest.to_string(), "acme").unwrap();
    town.does("nobody", "POST", &format!("/app-manifests/{code}/conversions"), json!({})).await;
    town.hub.add_repository("alice", "own", &[]).unwrap();
    town.hub.install_app(town.bot.id, "alice/own").unwrap();
    town.reads("app", "/users/alice/installation").await;
    town.reads("bot", "/installation/repositories").await;
    town.reads("bot", "/").await;
    town.reads("bot", "/meta").await;
    town.reads("alice", "/user").await;
    for login in ["alice", "acme", "coldframe[bot]"] {
        town.reads("bot", &format!("/users/{login}")).await;
    }
    town.reads("bot", "/orgs/acme/teams/platform").await;
    town.reads("bot", "/orgs/acme/teams/platform/members").await;
    town.reads("bot", "/orgs/acme/teams/platform/repos/acme/config").await;
    town.reads("bot", "/orgs/acme/members/alice").await;
    town.reads("bot", "~/collaborators/bob/permission").await;
    town.reads("bot", "~/collaborators/bob").await;
    town.reads("bot", "/rate_limit").await;
}

async fn repository(town: &mut Town) {
    let id = town.reads("bot", "~").await["id"].clone();
    town.reads("bot", &format!("/repositories/{id}")).await;
    town.reads("bot", "~/branches").await;
    town.reads("bot", "~/branches/main").await;
    town.reads("carol", "~/branches/main/protection").await;
    town.reads("bot", "~/rules/branches/coldframe-ledger").await;
    let sets = town.reads("bot", "~/rulesets").await;
    town.reads("bot", &format!("~/rulesets/{}", sets[0]["id"])).await;
    town.reads("carol", &format!("~/rulesets/{}", sets[0]["id"])).await;
    let rules = json!({
        "name": "another", "target": "branch", "enforcement": "active",
        "conditions": {"ref_name": {"include": ["refs/heads/elsewhere"], "exclude": []}}, "rules": [{"type": "creation"}],
        "bypass_actors": [{"actor_id": town.bot.id, "actor_type": "Integration", "bypass_mode": "always"}],
    });
    town.does("carol", "POST", "~/rulesets", rules).await;
    let errors = town.reads("bot", "~/codeowners/errors").await;
    assert_ne!(errors["errors"], json!([]), "so that the shape of an error is looked at");
}

/// Makes branches and commits; gives the head of `feature/one`.
async fn branches_and_files(town: &mut Town) -> String {
    let main = town.hub.head(REPO, "main").unwrap().unwrap();
    for name in ["feature/one", "feature/two", "gone"] {
        let made = json!({"ref": format!("refs/heads/{name}"), "sha": main});
        town.does("bot", "POST", "~/git/refs", made).await;
    }
    town.does("bot", "DELETE", "~/git/refs/heads/gone", Value::Null).await;
    let path = "~/contents/clusters/qa/app.yaml";
    let blob = town.reads("bot", path).await["sha"].clone();
    for (branch, version) in [("feature/one", "1.1.0"), ("feature/two", "1.2.0")] {
        let content = STANDARD.encode(format!("version: {version}\n"));
        let body = json!({"message": "Bump", "content": content, "branch": branch, "sha": blob});
        town.does("bot", "PUT", path, body).await;
    }
    let new = json!({"message": "Add", "content": STANDARD.encode("x: y\n"), "branch": "feature/two"});
    town.does("bot", "PUT", "~/contents/clusters/qa/new.yaml", new).await;
    let one = town.hub.head(REPO, "feature/one").unwrap().unwrap();
    let back = json!({"sha": main, "force": true});
    town.does("bot", "PATCH", "~/git/refs/heads/feature/one", back).await;
    town.does("bot", "PATCH", "~/git/refs/heads/feature/one", json!({"sha": one})).await;
    let tree = town.reads("bot", &format!("~/git/commits/{one}")).await["tree"]["sha"].clone();
    let entries = json!([
        {"path": "clusters/qa/app.yaml", "mode": "100644", "type": "blob", "content": "version: 1.3.0\n"},
        {"path": "clusters/qa/none.yaml", "mode": "100644", "type": "blob", "sha": null},
    ]);
    let made = town.does("bot", "POST", "~/git/trees", json!({"base_tree": tree, "tree": entries})).await;
    let signed = json!({"message": "Bump", "tree": made["sha"], "parents": [one]});
    town.does("bot", "POST", "~/git/commits", signed.clone()).await;
    town.does("carol", "POST", "~/git/commits", signed).await;
    for path in [
        "~/git/ref/heads/feature/one".to_owned(),
        "~/git/matching-refs/heads/feature".to_owned(),
        "~/contents/".to_owned(),
        "~/contents/clusters?ref=feature/one".to_owned(),
        "~/commits".to_owned(),
        "~/commits?sha=feature/one&path=clusters/qa/app.yaml".to_owned(),
        "~/commits/feature/one".to_owned(),
        format!("~/git/trees/{}?recursive=1", tree.as_str().unwrap()),
        format!("~/git/blobs/{}", blob.as_str().unwrap()),
        "~/compare/main...feature/one".to_owned(),
        "~/compare/feature/one...main".to_owned(),
    ] {
        town.reads("bot", &path).await;
    }
    one
}

async fn checks(town: &mut Town, head: &str) {
    let output = json!({"title": "Waiting", "summary": "for a review", "text": "and time"});
    let begun = json!({"name": "coldframe", "head_sha": head, "status": "in_progress", "output": output});
    let run = town.does("bot", "POST", "~/check-runs", begun).await["id"].clone();
    let done = json!({"conclusion": "success", "details_url": "https://coldframe.example/1"});
    town.reads("bot", &format!("~/check-runs/{run}")).await;
    town.does("bot", "PATCH", &format!("~/check-runs/{run}"), done).await;
    let at = json!({"path": "coldframe.yaml", "start_line": 3, "end_line": 3, "annotation_level": "failure",
                    "message": "unknown key"});
    let told = json!({"output": {"title": "1 problem", "summary": "in the policy", "annotations": [at]}});
    town.does("bot", "PATCH", &format!("~/check-runs/{run}"), told).await;
    assert_ne!(town.reads("bot", &format!("~/check-runs/{run}/annotations")).await, json!([]));
    let status = json!({"state": "success", "context": "ci", "description": "green"});
    town.does("bob", "POST", &format!("~/statuses/{head}"), status).await;
    for list in ["check-runs", "status", "statuses"] {
        town.reads("bot", &format!("~/commits/{head}/{list}")).await;
    }
    let deployment = json!({"ref": head, "environment": "eu-1", "auto_merge": false, "required_contexts": []});
    let deployment = town.does("bob", "POST", "~/deployments", deployment).await["id"].clone();
    for state in ["in_progress", "success"] {
        town.does("bob", "POST", &format!("~/deployments/{deployment}/statuses"), json!({"state": state})).await;
    }
    let smoke = "~/actions/workflows/smoke.yml";
    let dispatch = json!({"ref": "main", "inputs": {"id": "app-qa-1"}});
    town.does("bot", "POST", &format!("{smoke}/dispatches"), dispatch).await;
    let run = town.hub.runs(REPO).unwrap().remove(0).id;
    town.reads("bot", &format!("{smoke}/runs?event=workflow_dispatch")).await;
    town.hub.end_run(REPO, run, Some("success")).unwrap();
    let runs = town.reads("bot", &format!("{smoke}/runs?actor=coldframe%5Bbot%5D&per_page=100")).await;
    assert_eq!(runs["workflow_runs"][0]["display_title"], "Smoke app-qa-1");
}

async fn pulls(town: &mut Town, head: &str) {
    let open = |head: &str, draft: bool| json!({"title": format!("Bump on {head}"), "head": head, "base": "main", "body": "**why**", "draft": draft});
    town.does("bot", "POST", "~/pulls", open("feature/one", false)).await;
    town.does("bot", "POST", "~/pulls", open("feature/two", true)).await;
    town.does("bot", "PATCH", "~/pulls/1", json!({"title": "Bump", "body": "why"})).await;
    town.does(
        "bot",
        "POST",
        "~/pulls/1/requested_reviewers",
        json!({"reviewers": ["bob"], "team_reviewers": ["platform"]}),
    )
    .await;
    town.does("bot", "POST", "~/issues/1/assignees", json!({"assignees": ["bob", "nobody"]})).await;
    town.does("bot", "POST", "~/issues/1/labels", json!({"labels": ["gold", "silver"]})).await;
    town.does("bot", "DELETE", "~/issues/1/labels/gold", Value::Null).await;
    let comment = town.does("bot", "POST", "~/issues/1/comments", json!({"body": "first"})).await["id"].clone();
    let comment = format!("~/issues/comments/{comment}");
    town.does("bot", "PATCH", &comment, json!({"body": "edited"})).await;
    town.reads("bot", &comment).await;
    town.reads("bot", "~/issues/1/comments").await;
    town.does("bot", "POST", &format!("{comment}/reactions"), json!({"content": "+1"})).await;
    town.reads("bot", &format!("{comment}/reactions")).await;
    let review = json!({"event": "REQUEST_CHANGES", "body": "no", "commit_id": head});
    let review = town.does("bob", "POST", "~/pulls/1/reviews", review).await["id"].clone();
    town.does("alice", "POST", "~/pulls/1/reviews", json!({"event": "APPROVE"})).await;
    town.reads("bot", &format!("~/pulls/1/reviews/{review}")).await;
    town.does("bob", "PUT", &format!("~/pulls/1/reviews/{review}"), json!({"body": "no, not yet"})).await;
    let dismissed = json!({"message": "it is right", "event": "DISMISS"});
    town.does("carol", "PUT", &format!("~/pulls/1/reviews/{review}/dismissals"), dismissed).await;
    for path in
        ["~/pulls/1", "~/pulls/2", "~/pulls", "~/pulls/1/files", "~/pulls/1/commits", "~/pulls/1/reviews", "~/issues/1"]
    {
        town.reads("bot", path).await;
    }
    town.does("bot", "PUT", "~/pulls/1/merge", json!({"sha": head, "merge_method": "squash"})).await;
    town.reads("bot", "~/pulls/1/merge").await;
    town.reads("bot", "~/pulls/1").await;
    town.does("bot", "PATCH", "~/pulls/2", json!({"state": "closed"})).await;
    town.reads("bot", "~/pulls?state=all").await;
    town.does("bot", "DELETE", &comment, Value::Null).await;
    let issue =
        town.does("bot", "POST", "~/issues", json!({"title": "News", "body": "- [ ] look"})).await["number"].clone();
    let issue = format!("~/issues/{issue}");
    town.does("bot", "POST", &format!("{issue}/comments"), json!({"body": "more"})).await;
    town.reads("bot", &format!("{issue}/comments")).await;
    town.does("alice", "PATCH", &issue, json!({"body": "- [x] look"})).await;
    town.does("bot", "PATCH", &issue, json!({"state": "closed"})).await;
    town.reads("bot", &issue).await;
    town.reads("bot", "~/issues?state=all&creator=coldframe%5Bbot%5D").await;
}

/// Refusals have shapes, too.
async fn refusals(town: &mut Town) {
    let again = json!({"title": "t", "head": "feature/one", "base": "absent"});
    for (who, method, path, body, status) in [
        ("bot", "GET", "~/pulls/99", Value::Null, 404),
        ("bot", "GET", "~/git/ref/heads/absent", Value::Null, 404),
        ("bot", "GET", "~/contents/absent", Value::Null, 404),
        ("bot", "GET", "~/pulls/2/merge", Value::Null, 404),
        ("bot", "GET", "~/branches/main/protection", Value::Null, 403),
        ("nobody", "GET", "/user", Value::Null, 401),
        ("bot", "POST", "~/pulls", again, 422),
        ("bot", "POST", "~/pulls", json!({"head": "feature/two", "base": "main"}), 422),
        ("bot", "POST", "~/git/refs", json!({"ref": "refs/heads/feature/two", "sha": "0".repeat(40)}), 422),
        ("bot", "PUT", "~/pulls/1/merge", json!({}), 405),
        ("bot", "POST", "~/actions/workflows/absent.yml/dispatches", json!({"ref": "main"}), 404),
        ("bot", "POST", "~/actions/workflows/smoke.yml/dispatches", json!({"ref": "main", "inputs": {"x": "y"}}), 422),
        ("bot", "GET", "~/actions/workflows/absent.yml/runs", Value::Null, 404),
        ("bob", "POST", "~/check-runs", json!({"name": "c", "head_sha": "0".repeat(40)}), 403),
    ] {
        let (found, answer) = town.asks(who, method, path, body).await;
        assert_eq!(found, status, "{method} {path}: {answer}");
    }
}
