//! Who we are, and with how little.

use std::sync::atomic::{AtomicUsize, Ordering};

use decide::Person;
use jiff::SignedDuration;
use serde_json::json;

use super::super::{Credentials, HubError};
use super::{Server, app, reply, repository};
use crate::secret::Secret;

const MINT: &str = "POST /app/installations/10/access_tokens";

#[tokio::test]
async fn the_token_is_for_one_repository_and_what_was_granted() {
    let server = Server::start(|_| None).await;
    let repo = server.open().await;
    assert_eq!(repo.bot(), &Person::from("coldframe1[bot]"));
    let minted = server.seen().into_iter().find(|seen| seen.call() == MINT).unwrap();
    // `statuses` was not granted to the installation; `issues` and `administration` are not asked for.
    let expected = json!({ "repository_ids": [7], "permissions": { "metadata": "read", "contents": "write",
        "pull_requests": "write", "checks": "write", "members": "read" } });
    assert_eq!(minted.body, expected);
    let token = repo.git_token().await.unwrap();
    assert!(token.reveal().starts_with("ghs_1_"));
    assert!(repo.git_url().starts_with("http://127.0.0.1:") && repo.git_url().ends_with("/acme/config.git"));
    assert!(!repo.has_bypass());
}

#[tokio::test]
async fn however_many_ask_one_token_is_minted() {
    let server = Server::start(|_| None).await;
    let hub = server.hub(app(1), None);
    let opens = (0..20).map(|_| async { hub.open(&repository()).await.unwrap().git_token().await.unwrap() });
    let tokens = futures_util::future::join_all(opens).await;
    assert_eq!(server.count(MINT), 1);
    assert!(tokens.windows(2).all(|pair| pair[0] == pair[1]));
    let tasks = server.seen().len();
    hub.open(&repository()).await.unwrap();
    assert_eq!(server.seen().len(), tasks, "opening again asks for nothing");
}

#[tokio::test]
async fn a_token_near_its_end_is_renewed() {
    let server = Server::start(|seen| {
        (seen.call() == MINT).then(|| {
            let expires = crate::clock::now() + SignedDuration::from_millis(400);
            reply(201, &json!({ "token": "ghs_short", "expires_at": expires.to_string() }))
        })
    })
    .await;
    let repo = server.open().await;
    repo.git_token().await.unwrap();
    let before = server.count(MINT);
    tokio::time::sleep(std::time::Duration::from_millis(450)).await;
    repo.git_token().await.unwrap();
    assert_eq!(server.count(MINT), before + 1);
}

#[tokio::test]
async fn a_revoked_token_is_replaced_once() {
    let refusals = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        let first = seen.call() == "GET /repos/acme/config/collaborators/alice/permission";
        let refuse = first && refusals.fetch_add(1, Ordering::SeqCst) == 0;
        let always = seen.call().ends_with("/bob/permission");
        match (refuse || always, first) {
            (true, _) => Some(reply(401, &json!({ "message": "Bad credentials ghs_secret" }))),
            (false, true) => Some(reply(200, &json!({ "permission": "write" }))),
            (false, false) => None,
        }
    })
    .await;
    let repo = server.open().await;
    repo.may_write(&Person::from("alice")).await.unwrap();
    assert_eq!(server.count(MINT), 2);
    let error = repo.may_write(&Person::from("bob")).await.unwrap_err();
    assert!(matches!(error, HubError::Unauthorized { .. }));
    assert!(!error.to_string().contains("ghs_secret"), "{error}");
    assert_eq!(server.count("GET /repos/acme/config/collaborators/bob/permission"), 2);
}

#[tokio::test]
async fn the_bypassing_app_is_somebody_else_with_less() {
    let server = Server::start(|_| None).await;
    let repo = server.hub(app(1), Some(app(2))).open(&repository()).await.unwrap();
    assert!(repo.has_bypass());
    assert_eq!(repo.bot(), &Person::from("coldframe1[bot]"));
    let seen = server.seen();
    let minted = seen.iter().find(|seen| seen.call() == "POST /app/installations/20/access_tokens").unwrap();
    let permissions = json!({ "metadata": "read", "contents": "write", "pull_requests": "write" });
    assert_eq!(minted.body, json!({ "repository_ids": [7], "permissions": permissions }));
}

#[tokio::test]
async fn a_bypassing_app_that_is_not_installed_here_is_none() {
    let server = Server::start(|seen| {
        let foreign = seen.call().ends_with("/installation") && super::app_of(seen) == 2;
        foreign.then(|| reply(404, &json!({ "message": "Not Found" })))
    })
    .await;
    let repo = server.hub(app(1), Some(app(2))).open(&repository()).await.unwrap();
    assert!(!repo.has_bypass());
}

#[tokio::test]
async fn a_plain_token_is_used_as_it_is() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /user" => Some(reply(403, &json!({ "message": "Resource not accessible by integration" }))),
        "POST /api/graphql" => Some(reply(200, &json!({ "data": { "viewer": { "login": "github-actions[bot]" } } }))),
        _ => None,
    })
    .await;
    let repo = server.open_with_token().await;
    assert_eq!(repo.bot(), &Person::from("github-actions[bot]"));
    assert_eq!(repo.git_token().await.unwrap().reveal(), "ghp_plain");
    assert!(repo.is_plain_token());
    assert!(server.seen().iter().all(|seen| seen.header("authorization") == "Bearer ghp_plain"));
}

#[tokio::test]
async fn repositories_of_every_installation() {
    let one = json!({ "id": 7, "name": "config", "owner": { "login": "acme" }, "default_branch": "main",
        "private": true, "allow_merge_commit": false, "visibility": "private" });
    let list = json!({ "total_count": 1, "repositories": [one.clone()] });
    let server = Server::start(move |seen| match seen.call().as_str() {
        "GET /app/installations?per_page=100" => Some(reply(
            200,
            &json!([
                { "id": 10, "suspended_at": null }, { "id": 11, "suspended_at": "2026-01-01T00:00:00Z" }, { "id": 12 },
            ]),
        )),
        "GET /app/installations/12" => Some(reply(404, &json!({ "message": "Not Found" }))),
        "GET /installation/repositories?per_page=100" => Some(reply(200, &list)),
        "GET /repos/acme/config" => Some(reply(200, &one)),
        _ => None,
    })
    .await;
    let hub = server.hub(app(1), None);
    let all = hub.repositories().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].full_name().as_str(), all[0].installation), ("acme/config", Some(10)));
    assert_eq!(hub.repository("acme/config").await.unwrap(), all[0]);
    let narrowed = server.seen().into_iter().rfind(|seen| seen.call() == MINT).unwrap();
    assert_eq!(narrowed.body, json!({ "repositories": ["config"], "permissions": { "metadata": "read" } }));
    for name in ["config", "acme/config/x", "acme/..", "../x", "acme/a b", "/x", "acme/"] {
        assert!(matches!(hub.repository(name).await, Err(HubError::Setup(_))), "{name}");
    }
}

#[tokio::test]
async fn secrets_do_not_show() {
    let server = Server::start(|_| None).await;
    let hub = server.hub(app(1), Some(Credentials::Token(Secret::new("ghp_other"))));
    let repo = server.open().await;
    let shown = format!("{hub:?} {repo:?} {:?}", app(1));
    assert!(!shown.contains("PRIVATE") && !shown.contains("ghs_") && !shown.contains("ghp_"), "{shown}");
    let bad = Credentials::App { id: 1, key: Secret::new("my-secret-key") };
    let error = super::super::Hub::new(super::Bases::from_hub(&server.url).unwrap(), bad, None).unwrap_err();
    assert!(!error.to_string().contains("my-secret-key"));
}
