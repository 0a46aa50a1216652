//! Who we are, and with how little.

use std::sync::atomic::{AtomicUsize, Ordering};

use decide::Person;
use jiff::SignedDuration;
use serde_json::json;

use super::super::{Credentials, HubError, Owner};
use super::{Server, app, reply, repository};
use crate::secret::Secret;

const MINT: &str = "POST /app/installations/10/access_tokens";

#[tokio::test]
async fn the_token_is_for_one_repository_and_what_was_granted() {
    let server = Server::start(|_| None).await;
    let repo = server.open().await;
    assert_eq!(repo.bot(), &Person::from("coldframe1[bot]"));
    let minted = server.seen().into_iter().find(|seen| seen.call() == MINT).unwrap();
    // `statuses` was not granted to the installation; `administration` is not asked for.
    let expected = json!({ "repository_ids": [7], "permissions": { "metadata": "read", "contents": "write",
        "pull_requests": "write", "checks": "write", "issues": "write", "members": "read" } });
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

/// A repository as the hub describes it.
fn described(id: u64, owner: &str, name: &str) -> serde_json::Value {
    json!({ "id": id, "name": name, "owner": { "login": owner }, "default_branch": "main",
        "private": true, "allow_merge_commit": false, "visibility": "private" })
}

#[tokio::test]
async fn a05_repositories_of_one_account_and_nobody_elses() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /app" => Some(reply(200, &json!({ "id": 1, "slug": "coldframe1", "owner": { "id": 70, "login": "acme" } }))),
        "GET /app/installations?per_page=100" => Some(reply(
            200,
            &json!([
                { "id": 10, "account": { "id": 70, "login": "acme" } }, { "id": 11, "account": { "id": 71, "login": "stranger" } },
                { "id": 13, "account": { "slug": "an-enterprise" } }, { "id": 14, "account": null },
            ]),
        )),
        "GET /orgs/acme/installation" => {
            Some(reply(200, &json!({ "id": 10, "account": { "id": 70, "login": "acme" }, "suspended_at": null })))
        }
        "GET /users/alice/installation" => {
            Some(reply(200, &json!({ "id": 11, "suspended_at": "2026-01-01T00:00:00Z" })))
        }
        "GET /installation/repositories?per_page=100" => {
            Some(reply(200, &json!({ "total_count": 1, "repositories": [described(7, "acme", "config")] })))
        }
        "GET /repos/acme/config" => Some(reply(200, &described(7, "acme", "config"))),
        _ => None,
    })
    .await;
    let hub = server.hub(app(1), None);
    assert_eq!(hub.registrar().await.unwrap(), Some(Owner { id: 70, login: "acme".to_owned() }));
    assert_eq!(hub.accounts().await.unwrap(), ["acme", "stranger"]);
    let listed = hub.repositories("acme").await.unwrap();
    let all = listed.repositories;
    assert_eq!((all.len(), listed.owner), (1, Some(70)));
    assert_eq!((all[0].full_name().as_str(), all[0].installation), ("acme/config", Some(10)));
    assert!(hub.repositories("alice").await.unwrap().repositories.is_empty(), "suspended");
    assert!(hub.repositories("nobody").await.unwrap().repositories.is_empty(), "not installed");
    assert_eq!(hub.repository("acme/config").await.unwrap(), all[0]);
    let narrowed = server.seen().into_iter().rfind(|seen| seen.call() == MINT).unwrap();
    assert_eq!(narrowed.body, json!({ "repositories": ["config"], "permissions": { "metadata": "read" } }));
    for name in ["config", "acme/config/x", "acme/..", "../x", "acme/a b", "/x", "acme/"] {
        assert!(matches!(hub.repository(name).await, Err(HubError::Setup(_))), "{name}");
    }
}

#[tokio::test]
async fn f43_a_repository_is_read_anew_by_its_number_and_its_name_proves_nothing() {
    // Whom the number and the name lead to; what is found.
    let cases = [
        (Some((7, "acme", "renamed")), None, Ok("acme/renamed")),
        (Some((7, "beta", "config")), None, Ok("beta/config")),
        // Another one took the name over.
        (Some((7, "acme", "renamed")), Some((99, "acme", "config")), Ok("acme/renamed")),
        (None, Some((99, "acme", "config")), Err("another repository now: number 99, not 7")),
        (None, None, Err("the hub does not find it")),
    ];
    for (by_number, by_name, expected) in cases {
        let server = Server::start(move |seen| match seen.call().as_str() {
            "GET /repositories/7" => by_number.map(|(id, owner, name)| reply(200, &described(id, owner, name))),
            "GET /repos/acme/config" => by_name.map(|(id, owner, name)| reply(200, &described(id, owner, name))),
            _ => None,
        })
        .await;
        let found = server.hub(app(1), None).again(&repository()).await;
        match (found, expected) {
            (Ok(found), Ok(name)) => assert_eq!((found.id, found.full_name().as_str()), (7, name)),
            (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{error}"),
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn f43_a_redirect_of_the_name_is_not_followed() {
    let server = Server::start(|seen| {
        let to = "/api/v3/repositories/99/installation";
        seen.call().ends_with("config/installation").then(|| reply(301, &json!({})).with("location", to))
    })
    .await;
    let error = server.hub(app(1), None).again(&repository()).await.unwrap_err();
    assert!(matches!(error, HubError::Moved { .. }), "{error}");
    assert!(server.seen().iter().all(|seen| !seen.path.contains("/99")), "it went there");
}

#[tokio::test]
async fn f44_an_app_that_was_installed_anew_is_found() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /repos/acme/config/installation" => Some(reply(200, &json!({ "id": 30 }))),
        MINT => Some(reply(404, &json!({ "message": "Not Found" }))),
        "GET /app/installations/30" => Some(reply(200, &json!({ "id": 30, "permissions": { "metadata": "read" } }))),
        "POST /app/installations/30/access_tokens" => {
            let expires = crate::clock::now() + SignedDuration::from_hours(1);
            Some(reply(201, &json!({ "token": "ghs_new", "expires_at": expires.to_string() })))
        }
        "GET /repos/acme/config" => Some(reply(200, &described(7, "acme", "config"))),
        _ => None,
    })
    .await;
    let hub = server.hub(app(1), None);
    let found = hub.again(&repository()).await.unwrap();
    assert_eq!(found.installation, Some(30));
    assert_eq!(hub.open(&found).await.unwrap().git_token().await.unwrap().reveal(), "ghs_new");
}

#[tokio::test]
async fn what_an_installation_was_granted_is_asked_once_unless_a_token_is_refused() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /repos/acme/config/installation" => {
            Some(reply(200, &json!({ "id": 10, "permissions": { "metadata": "read", "contents": "write" } })))
        }
        MINT if seen.body["permissions"]["contents"] == "write" => {
            Some(reply(422, &json!({ "message": "The permissions requested are not granted to this installation." })))
        }
        "GET /app/installations/10" => Some(reply(200, &json!({ "id": 10, "permissions": { "contents": "read" } }))),
        "GET /repos/acme/config" => Some(reply(200, &described(7, "acme", "config"))),
        _ => None,
    })
    .await;
    let hub = server.hub(app(1), None);
    let found = hub.repository("acme/config").await.unwrap();
    assert!(matches!(hub.open(&found).await, Err(HubError::Refused { .. })));
    let asked = |what: &str| server.count(what);
    assert_eq!((asked("GET /app/installations/10"), asked(MINT)), (0, 2));
    // It was granted less meanwhile.
    hub.open(&found).await.unwrap();
    assert_eq!((asked("GET /app/installations/10"), asked(MINT)), (1, 3));
}

#[tokio::test]
async fn a40_one_installation_that_is_slow_leaves_the_others_their_places() {
    let server = Server::start(|_| None).await;
    let hub = server.hub(app(1), None);
    let (one, other) = (hub.main.budget(10), hub.main.budget(11));
    let taken: Vec<_> = std::iter::from_fn(|| one.places.try_acquire().ok()).collect();
    assert!(!taken.is_empty() && one.places.try_acquire().is_err());
    assert!(other.places.try_acquire().is_ok());
}

#[tokio::test]
async fn a32_what_the_key_signs_is_short_lived_and_tokens_are_for_one_repository() {
    use base64::Engine as _;
    let server = Server::start(|_| None).await;
    server.open().await;
    let mut signed = 0;
    for seen in server.seen() {
        let jwt = seen.header("authorization").strip_prefix("Bearer ").unwrap_or_default().to_owned();
        let Some(claims) = jwt.split('.').nth(1) else { continue };
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        let (from, until) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
        let now = crate::clock::now().as_second();
        assert!(until - now <= 9 * 60 && until - from <= 10 * 60, "{claims}");
        signed += 1;
    }
    assert!(signed > 0);
    let minted = server.seen().into_iter().find(|seen| seen.call() == MINT).unwrap();
    assert_eq!(minted.body["repository_ids"], json!([7]));
}

#[tokio::test]
async fn f42_with_the_token_of_a_workflow_nothing_is_bypassed() {
    let server = Server::start(|seen| match seen.call().as_str() {
        "GET /user" => Some(reply(403, &json!({ "message": "Resource not accessible by integration" }))),
        "POST /api/graphql" => Some(reply(200, &json!({ "data": { "viewer": { "login": "github-actions[bot]" } } }))),
        _ => None,
    })
    .await;
    let token = Credentials::Token(Secret::new("ghs_workflow"));
    let repo = server.hub(token, Some(app(2))).open(&repository()).await.unwrap();
    assert!(repo.is_workflow_token() && !repo.has_bypass());
    let person =
        Server::start(|seen| (seen.call() == "GET /user").then(|| reply(200, &json!({ "login": "vera" })))).await;
    let token = Credentials::Token(Secret::new("ghp_person"));
    assert!(!person.hub(token, None).open(&repository()).await.unwrap().is_workflow_token());
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
