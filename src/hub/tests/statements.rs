//! What is said of commits: one query, and what is made of answers that are not whole.

use std::sync::atomic::{AtomicU64, Ordering};

use decide::snapshot::{CheckState, Read};
use decide::{Person, Sha};
use serde_json::{Value, json};

use super::super::HubError;
use super::{Reply, Seen, Server, reply};
use crate::signal::checks::{Statement, Written};

const GRAPHQL: &str = "POST /api/graphql";

fn history(commits: &Value) -> Value {
    json!({"data": {"repository": {"ref": {"target": {"history": {"nodes": commits}}}}}})
}

fn graphql(answer: impl Fn(&Seen) -> Value + Send + Sync + 'static) -> impl Fn(&Seen) -> Option<Reply> + Send + Sync {
    move |seen| (seen.call() == GRAPHQL).then(|| reply(200, &answer(seen)))
}

fn said(form: Written, name: &str, by: &str, state: CheckState, word: &str, at: &str) -> Statement {
    let (name, by, word) = (name.to_owned(), Some(Person::from(by)), word.to_owned());
    Statement { form, name, by, state, word, at: Some(at.parse().unwrap()) }
}

#[tokio::test]
async fn one_query_reads_what_was_said_of_the_newest_commits() {
    let at = "2026-11-21T10:00:00Z";
    let of_app = json!({"app": {"slug": "argocd-acme"}});
    let contexts = json!({"nodes": [
        {"__typename": "CheckRun", "name": "rollout", "status": "COMPLETED", "conclusion": "SUCCESS",
            "startedAt": "2026-11-21T09:00:00Z", "completedAt": at, "checkSuite": of_app},
        {"__typename": "CheckRun", "name": "smoke", "status": "IN_PROGRESS", "conclusion": null, "startedAt": at,
            "completedAt": null, "checkSuite": of_app},
        {"__typename": "StatusContext", "context": "flux/eu-1", "state": "ERROR", "createdAt": at,
            "creator": {"__typename": "User", "login": "deployer"}},
    ], "pageInfo": {"hasNextPage": false}});
    let deployed = json!({"nodes": [
        {"environment": "eu-1", "latestStatus": {"state": "SUCCESS", "createdAt": at,
            "creator": {"__typename": "Bot", "login": "delivery"}}},
        {"environment": "eu-2", "latestStatus": null},
    ], "pageInfo": {"hasPreviousPage": false}});
    let commits = json!([
        {"oid": "c3", "statusCheckRollup": {"contexts": contexts}, "deployments": deployed},
        {"oid": "c2", "statusCheckRollup": null},
        {"oid": "c1", "statusCheckRollup": {"contexts": {"nodes": [], "pageInfo": {"hasNextPage": true}}}},
        {"oid": "c0", "statusCheckRollup": null, "deployments": {"nodes": [], "pageInfo": {"hasPreviousPage": true}}},
    ]);
    let server = Server::start(graphql(move |_| history(&commits))).await;
    let repo = server.open().await;
    let found = repo.statements("main", true).await.unwrap();
    let asked = server.seen().into_iter().find(|seen| seen.call() == GRAPHQL).unwrap().body;
    assert_eq!(asked["operationName"], "StatementsAndDeployments");
    let variables = json!({"owner": "acme", "name": "config", "branch": "refs/heads/main", "commits": 50});
    assert_eq!(asked["variables"], variables);
    let names: Vec<&Sha> = found.iter().map(|stated| &stated.commit).collect();
    assert_eq!(names, [&Sha::from("c3"), &Sha::from("c2"), &Sha::from("c1"), &Sha::from("c0")]);
    let nothing_yet = Statement {
        form: Written::Deployment,
        name: "eu-2".to_owned(),
        by: None,
        state: CheckState::Pending,
        word: "not begun".to_owned(),
        at: None,
    };
    let expected = vec![
        said(Written::Run, "rollout", "argocd-acme[bot]", CheckState::Success, "success", at),
        said(Written::Run, "smoke", "argocd-acme[bot]", CheckState::Pending, "in_progress", at),
        said(Written::Status, "flux/eu-1", "deployer", CheckState::Failure, "error", at),
        said(Written::Deployment, "eu-1", "delivery[bot]", CheckState::Success, "success", at),
        nothing_yet,
    ];
    assert_eq!(found[0].said, Read::Known(expected));
    assert_eq!(found[1].said, Read::Known(Vec::new()), "nobody has said anything yet");
    assert!(found[2].said.known().is_none() && found[3].said.known().is_none(), "there are more than were read");
    repo.statements("main", false).await.unwrap();
    let asked = server.seen().into_iter().rfind(|seen| seen.call() == GRAPHQL).unwrap().body;
    assert_eq!(asked["operationName"], "Statements", "deployments need a permission of their own");
}

#[tokio::test]
async fn an_answer_that_is_not_whole_is_an_error() {
    type Is = fn(&HubError) -> bool;
    let error = json!([{"type": "FORBIDDEN", "path": ["repository", "ref", "target", "history", "nodes", 0],
        "message": "Resource not accessible by integration"}]);
    let with_error = {
        let mut answer = history(&json!([{"oid": "c1", "statusCheckRollup": null}]));
        answer["errors"] = error;
        answer
    };
    let cases: [(Value, Is); 4] = [
        (with_error, |error| matches!(error, HubError::Partial { .. })),
        (json!({"data": {"repository": {"ref": null}}}), |error| matches!(error, HubError::NotFound { .. })),
        (history(&json!([null])), |error| matches!(error, HubError::Malformed { .. })),
        (history(&json!([{"oid": 7}])), |error| matches!(error, HubError::Malformed { .. })),
    ];
    for (answer, is) in cases {
        let what = answer.to_string();
        let server = Server::start(graphql(move |_| answer.clone())).await;
        let found = server.open().await.statements("main", false).await;
        assert!(found.as_ref().is_err_and(is), "{what}: {found:?}");
    }
}

#[tokio::test]
async fn where_the_hub_gives_up_fewer_commits_are_asked_for() {
    let asked = std::sync::Arc::new(AtomicU64::new(0));
    let seen_by = std::sync::Arc::clone(&asked);
    let server = Server::start(move |seen| {
        if seen.call() != GRAPHQL {
            return None;
        }
        let commits = seen.body["variables"]["commits"].as_u64().unwrap();
        seen_by.store(commits, Ordering::SeqCst);
        Some(if commits > 20 { reply(502, &json!({})) } else { reply(200, &history(&json!([]))) })
    })
    .await;
    assert_eq!(server.open().await.statements("main", false).await.unwrap(), []);
    assert_eq!(asked.load(Ordering::SeqCst), 12);
}
