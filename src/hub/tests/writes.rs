//! Writes: what is sent, and what each answer means.

use std::sync::atomic::{AtomicUsize, Ordering};

use decide::plan::Identity;
use decide::{PullNumber, Sha};
use serde_json::{Value, json};

use super::super::demands::Demand;
use super::super::{CheckConclusion, CheckDraft, HubError, MergeAnswer, MergeRequest, Opened, RepoHub, Repository};
use super::{Server, app, reply, repository};

const PULLS: &str = "POST /repos/acme/config/pulls";
const MERGE: &str = "PUT /repos/acme/config/pulls/7/merge";

fn exists() -> Value {
    json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequest", "code": "custom",
        "message": "A pull request already exists for acme:coldframe/a/b." }] })
}

#[tokio::test]
async fn f16_a_pull_request_is_opened_or_found() {
    let listed = |state: &str, base: &str| {
        json!([{ "number": 5, "state": state, "head": { "ref": "coldframe/a/b", "sha": "2" },
            "base": { "ref": base, "sha": "1" } }])
    };
    type Is = fn(&Result<Opened, HubError>) -> bool;
    let cases: [(u16, Value, Value, Is); 6] = [
        (201, json!({ "number": 5 }), json!([]), |it| matches!(it, Ok(Opened::New(PullNumber(5))))),
        (422, exists(), listed("open", "main"), |it| matches!(it, Ok(Opened::Found(PullNumber(5))))),
        // The hub says that it is there and does not show it: nobody knows.
        (422, exists(), json!([]), |it| matches!(it, Err(HubError::Unsettled { .. }))),
        (422, exists(), listed("closed", "main"), |it| matches!(it, Err(HubError::Unsettled { .. }))),
        (422, json!({ "message": "No commits between main and coldframe/a/b" }), json!([]), |it| {
            matches!(it, Err(HubError::Refused { status: 422, .. }))
        }),
        (201, json!({ "no": "number" }), json!([]), |it| matches!(it, Err(HubError::Unsettled { .. }))),
    ];
    for (number, (status, answer, list, is)) in cases.into_iter().enumerate() {
        let server = Server::start(move |seen| match seen.call() {
            call if call == PULLS => Some(reply(status, &answer)),
            call if call.starts_with("GET /repos/acme/config/pulls?") => Some(reply(200, &list)),
            _ => None,
        })
        .await;
        let result = server.open().await.open_pull("t", "coldframe/a/b", "main", "text").await;
        assert!(is(&result), "case {number}: {result:?}");
        assert_eq!(server.count(PULLS), 1);
        let sent = server.seen().into_iter().find(|seen| seen.call() == PULLS).unwrap().body;
        assert_eq!(sent, json!({ "title": "t", "head": "coldframe/a/b", "base": "main", "body": "text" }));
    }
}

#[tokio::test]
async fn merge_answers() {
    type Is = fn(&Result<MergeAnswer, HubError>) -> bool;
    let message = |text: &str| json!({ "message": text });
    let cases: [(u16, Value, Is); 11] = [
        (
            200,
            json!({ "merged": true, "sha": "9" }),
            |it| matches!(it, Ok(MergeAnswer::Merged { commit }) if commit.as_str() == "9"),
        ),
        (200, json!({ "merged": false }), |it| matches!(it, Ok(MergeAnswer::Indeterminate { .. }))),
        (200, json!("fine"), |it| matches!(it, Ok(MergeAnswer::Indeterminate { .. }))),
        (409, message("Head branch was modified."), |it| matches!(it, Ok(MergeAnswer::HeadMoved))),
        (
            405,
            message("Base branch was modified."),
            |it| matches!(it, Ok(MergeAnswer::Refused { why }) if why.contains("Base branch")),
        ),
        (422, message("Required review missing"), |it| matches!(it, Ok(MergeAnswer::Refused { .. }))),
        (500, message("Unicorn"), |it| matches!(it, Ok(MergeAnswer::Indeterminate { .. }))),
        (502, message("Unicorn"), |it| matches!(it, Ok(MergeAnswer::Indeterminate { .. }))),
        (403, message("Resource not accessible by integration"), |it| matches!(it, Ok(MergeAnswer::Refused { .. }))),
        (404, message("Not Found"), |it| matches!(it, Ok(MergeAnswer::Refused { .. }))),
        (429, message("slow down"), |it| matches!(it, Err(HubError::Limited { .. }))),
    ];
    for (status, answer, is) in cases {
        let server = Server::start(move |seen| (seen.call() == MERGE).then(|| reply(status, &answer))).await;
        let repo = server.open().await;
        let result = merge(&repo, Identity::Ordinary, 60).await;
        assert!(is(&result), "{status}: {result:?}");
        assert_eq!(server.count(MERGE), 1, "{status}");
        let sent = server.seen().into_iter().find(|seen| seen.call() == MERGE).unwrap().body;
        let expected =
            json!({ "sha": "2", "merge_method": "merge", "commit_title": "title", "commit_message": "text" });
        assert_eq!(sent, expected);
    }
}

/// Asks for the merge of 7 at head 2, on what is good for so many seconds from now on.
async fn merge(repo: &RepoHub, via: Identity, seconds: i64) -> Result<MergeAnswer, HubError> {
    let turn = repo.turn_to_merge(via).await?;
    let good_until = crate::clock::now() + jiff::SignedDuration::from_secs(seconds);
    let head = Sha::from("2");
    let (number, title, message) = (PullNumber(7), "title", "text");
    let request = MergeRequest { number, head: &head, via, title, message, good_until, demands: &[] };
    repo.merge(turn, &request).await
}

#[tokio::test]
async fn f36_what_rests_on_old_facts_is_not_sent() {
    let server = Server::start(|_| None).await;
    let repo = server.open().await;
    assert!(matches!(merge(&repo, Identity::Ordinary, -1).await, Err(HubError::Stale { .. })));
    assert_eq!(server.count(MERGE), 0);
    // The turn has ended with it.
    assert!(merge(&repo, Identity::Ordinary, 60).await.is_ok());
    assert_eq!(server.count(MERGE), 1);
}

#[tokio::test]
async fn a_repository_without_merge_commits_is_squashed() {
    let tries = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        (seen.call() == MERGE).then(|| match tries.fetch_add(1, Ordering::SeqCst) {
            0 => reply(405, &json!({ "message": "Merge commits are not allowed on this repository." })),
            _ => reply(200, &json!({ "merged": true, "sha": "9" })),
        })
    })
    .await;
    let merged = MergeAnswer::Merged { commit: Sha::from("9") };
    let told = Repository { merge_commits: Some(false), ..repository() };
    for repository in [repository(), told] {
        let repo = server.hub(app(1), None).open(&repository).await.unwrap();
        let answer = merge(&repo, Identity::Ordinary, 60).await;
        assert_eq!(answer.unwrap(), merged);
    }
    let sent: Vec<Value> =
        server.seen().into_iter().filter(|seen| seen.call() == MERGE).map(|seen| seen.body).collect();
    let methods: Vec<&Value> = sent.iter().map(|body| &body["merge_method"]).collect();
    assert_eq!(methods, ["merge", "squash", "squash"]);
    assert!(sent.iter().all(|body| body["sha"] == "2"));
}

/// By whatever the settings of the repository and the rules of the branch leave.
#[tokio::test]
async fn the_method_is_one_that_settings_and_rules_allow() {
    let linear =
        Demand::Methods { rule: "required_linear_history".into(), allowed: vec!["squash".into(), "rebase".into()] };
    let rebase = Repository { merge_commits: Some(false), squash_merges: Some(false), ..repository() };
    let merges = Repository { squash_merges: Some(false), rebase_merges: Some(false), ..repository() };
    let server = Server::start(|_| None).await;
    for (repository, demands, expected) in [
        (repository(), &[][..], &["merge", "squash", "rebase"][..]),
        (repository(), std::slice::from_ref(&linear), &["squash", "rebase"]),
        (rebase.clone(), &[], &["rebase"]),
        (rebase, std::slice::from_ref(&linear), &["rebase"]),
        (merges, std::slice::from_ref(&linear), &[]),
    ] {
        let repo = server.hub(app(1), None).open(&repository).await.unwrap();
        assert_eq!(repo.methods(demands), expected);
    }
}

#[tokio::test]
async fn the_bypass_merges_with_its_own_token() {
    let server =
        Server::start(|seen| (seen.call() == MERGE).then(|| reply(200, &json!({ "merged": true, "sha": "9" })))).await;
    let repo = server.hub(app(1), Some(app(2))).open(&repository()).await.unwrap();
    for (via, token) in [(Identity::Bypass, "Bearer ghs_2_"), (Identity::Ordinary, "Bearer ghs_1_")] {
        merge(&repo, via, 60).await.unwrap();
        let last = server.seen().pop().unwrap();
        assert!(last.header("authorization").starts_with(token), "{via:?}");
    }
    let alone = server.open().await;
    let refused = merge(&alone, Identity::Bypass, 60).await;
    assert!(matches!(refused, Err(HubError::Setup(_))));
    assert_eq!(server.count(MERGE), 2);
}

fn draft() -> CheckDraft {
    CheckDraft {
        head: Sha::from("2"),
        conclusion: CheckConclusion::ActionRequired,
        title: "Waiting: 2 of 9 gates".to_owned(),
        summary: "x".repeat(70_000),
        details: None,
        annotations: Vec::new(),
    }
}

#[tokio::test]
async fn the_check_is_made_then_updated() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "POST /repos/acme/config/check-runs" => Some(reply(201, &json!({ "id": 28_543_210_987_u64 }))),
        "PATCH /repos/acme/config/check-runs/28543210987" => Some(reply(200, &json!({ "id": 28_543_210_987_u64 }))),
        _ => None,
    })
    .await;
    let repo = server.open().await;
    let id = repo.set_check(&draft(), None).await.unwrap();
    assert_eq!(id, Some(28_543_210_987));
    repo.set_check(&draft(), id).await.unwrap();
    let seen = server.seen();
    let [made, updated] = &seen[seen.len() - 2..] else { panic!() };
    assert_eq!((&made.body["head_sha"], &updated.body["head_sha"]), (&json!("2"), &Value::Null));
    for body in [&made.body, &updated.body] {
        assert_eq!((&body["name"], &body["status"]), (&json!("coldframe"), &json!("completed")));
        assert_eq!((&body["conclusion"], &body["external_id"]), (&json!("action_required"), &json!(draft().mark())));
        assert!(body["output"]["summary"].as_str().unwrap().len() <= 65_535);
    }
    assert!(matches!(repo.set_check(&draft(), Some(1)).await, Err(HubError::NotFound { .. })));
}

#[tokio::test]
async fn a_plain_token_writes_a_status() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /user" => Some(reply(200, &json!({ "login": "alice" }))),
        "POST /repos/acme/config/statuses/2" => Some(reply(201, &json!({ "id": 1 }))),
        _ => None,
    })
    .await;
    assert_eq!(server.open_with_token().await.set_check(&draft(), Some(3)).await.unwrap(), None);
    let sent = server.seen().pop().unwrap().body;
    assert_eq!(sent, json!({ "state": "pending", "context": "coldframe", "description": "Waiting: 2 of 9 gates" }));
}

#[tokio::test]
async fn edits_comments_and_branches() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "POST /repos/acme/config/issues/7/comments" => Some(reply(201, &json!({ "id": 11 }))),
        "DELETE /repos/acme/config/git/refs/heads/coldframe/a/b" => Some(reply(204, &json!(null)).bytes(Vec::new())),
        "DELETE /repos/acme/config/git/refs/heads/coldframe/a/gone" => {
            Some(reply(422, &json!({ "message": "Reference does not exist" })))
        }
        call if call.starts_with("PATCH /repos/acme/config/") => Some(reply(200, &json!({}))),
        _ => None,
    })
    .await;
    let repo = server.open().await;
    let number = PullNumber(7);
    repo.edit_pull(number, Some("t"), None).await.unwrap();
    repo.edit_pull(number, None, Some("b")).await.unwrap();
    repo.edit_pull(number, None, None).await.unwrap();
    repo.close_pull(number).await.unwrap();
    assert_eq!(repo.comment(number, "c").await.unwrap(), 11);
    repo.edit_comment(11, "d").await.unwrap();
    repo.delete_branch("coldframe/a/b").await.unwrap();
    repo.delete_branch("coldframe/a/gone").await.unwrap();
    assert!(matches!(repo.delete_branch("main").await, Err(HubError::Setup(_))));
    assert!(repo.delete_branch("coldframe/../../heads/main").await.is_err());
    let calls = server.calls();
    let expected = [
        "PATCH /repos/acme/config/pulls/7",
        "PATCH /repos/acme/config/pulls/7",
        "PATCH /repos/acme/config/pulls/7",
        "POST /repos/acme/config/issues/7/comments",
        "PATCH /repos/acme/config/issues/comments/11",
        "DELETE /repos/acme/config/git/refs/heads/coldframe/a/b",
        "DELETE /repos/acme/config/git/refs/heads/coldframe/a/gone",
    ];
    assert_eq!(calls, expected);
    let bodies: Vec<Value> = server.seen().into_iter().map(|seen| seen.body).collect();
    for body in [json!({ "title": "t" }), json!({ "body": "b" }), json!({ "state": "closed" }), json!({ "body": "d" })]
    {
        assert!(bodies.contains(&body), "{body}");
    }
}
