//! JWTs, installation tokens, and what they may do.
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_jwt_must_be_fresh_short_and_signed() {
    let town = town().await;
    for (issued, expires, status, says) in [
        (-60, 500, 200, ""),
        (-60, -1, 401, "'Expiration time' claim ('exp') must be a numeric value"),
        (-60, 1_000, 401, "too far in the future"),
        (60, 500, 401, "'Issued at' claim ('iat')"),
    ] {
        let token = jwt(&town.hub, &town.bot, issued, expires);
        let answer = town.ask(Method::GET, "/app", &token, Value::Null).await;
        assert_eq!(answer.0, status, "{issued} {expires} {}", answer.1);
        assert!(message(&answer.1).contains(says), "{}", answer.1);
    }
    let mut forged = town.bot.clone();
    forged.key_pem = town.bypass.key_pem.clone();
    let answer = town.ask(Method::GET, "/app", &jwt(&town.hub, &forged, -60, 500), Value::Null).await;
    assert_eq!((answer.0, message(&answer.1)), (401, "A JSON web token could not be decoded"));
    let answer = town.ask(Method::GET, "/app", "ghs_unknown", Value::Null).await;
    assert_eq!((answer.0, message(&answer.1)), (401, "Bad credentials"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_narrowed_and_end() {
    let town = town().await;
    let own = jwt(&town.hub, &town.bot, -60, 500);
    let listed = town.ask(Method::GET, "/app/installations", &own, Value::Null).await.1;
    assert_eq!(listed[0]["id"], town.bot.installation_id);
    let path = format!("/app/installations/{}/access_tokens", town.bot.installation_id);
    let id = town.get("/repos/acme/config").await.1["id"].clone();
    let narrow = json!({"repository_ids": [id], "permissions": {"contents": "read"}});
    let (status, minted) = town.ask(Method::POST, &path, &own, narrow).await;
    assert_eq!(status, 201);
    assert_eq!(minted["permissions"], json!({"contents": "read", "metadata": "read"}));
    let reader = minted["token"].as_str().unwrap();
    let body = json!({"ref": "refs/heads/x", "sha": town.hub.head(REPO, "main").unwrap()});
    let refused = town.ask(Method::POST, "/repos/acme/config/git/refs", reader, body).await;
    assert_eq!((refused.0, message(&refused.1)), (403, "Resource not accessible by integration"));
    for (body, status) in [
        (json!({"repository_ids": [1]}), 422),
        (json!({"permissions": {"administration": "read"}}), 422),
        (json!({"permissions": {"contents": "write"}}), 201),
    ] {
        assert_eq!(town.ask(Method::POST, &path, &own, body.clone()).await.0, status, "{body}");
    }
    town.hub.world().clock.shift(jiff::SignedDuration::from_mins(61));
    assert_eq!(town.get("/repos/acme/config").await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_sees_only_where_it_is_installed() {
    let town = town().await;
    town.hub.add_repository("acme", "secret", &[]).unwrap();
    town.hub.set_private("acme/secret", true).unwrap();
    assert_eq!(town.get("/repos/acme/secret").await.0, 404);
    let listed = town.get("/installation/repositories").await.1;
    assert_eq!((&listed["total_count"], &listed["repositories"][0]["full_name"]), (&json!(1), &json!(REPO)));
    town.hub.uninstall_app(town.bot.id, REPO).unwrap();
    let body = json!({"body": "hi"});
    assert_eq!(town.post("/repos/acme/config/issues/1/comments", body).await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn octocrab_signs_in_as_an_app() {
    let town = town().await;
    let key = octocrab_key(&town.bot);
    let client = octocrab::Octocrab::builder()
        .base_uri(format!("{}/api/v3", town.hub.url()))
        .unwrap()
        .app(octocrab::models::AppId(town.bot.id), key)
        .build()
        .unwrap();
    let here = client.installation(octocrab::models::InstallationId(town.bot.installation_id)).unwrap();
    let repository = here.repos("acme", "config").get().await.unwrap();
    assert_eq!(repository.full_name.as_deref(), Some(REPO));
}

fn octocrab_key(app: &AppSettings) -> octocrab::jsonwebtoken::EncodingKey {
    octocrab::jsonwebtoken::EncodingKey::from_rsa_pem(app.key_pem.as_bytes()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_teams_and_roles() {
    let town = town().await;
    for (login, permission, role) in
        [("alice", "write", "write"), ("carol", "admin", "admin"), ("eve", "read", "read"), ("acme", "admin", "admin")]
    {
        let answer = town.get(&format!("/repos/acme/config/collaborators/{login}/permission")).await.1;
        assert_eq!((&answer["permission"], &answer["role_name"]), (&json!(permission), &json!(role)), "{login}");
    }
    assert_eq!(town.get("/repos/acme/config/collaborators/nobody/permission").await.0, 404);
    let members = town.get("/orgs/acme/teams/platform/members").await.1;
    assert_eq!(members[0]["login"], "alice");
    town.hub.leave_team("acme", "platform", "alice");
    assert_eq!(town.get("/orgs/acme/teams/platform/members").await.1, json!([]));
    let answer = town.get("/repos/acme/config/collaborators/alice/permission").await.1;
    assert_eq!(answer["permission"], "read");
    let eve = town.hub.add_token("eve");
    assert_eq!(town.ask(Method::GET, "/user", &eve, Value::Null).await.1["login"], "eve");
    assert_eq!(town.get("/user").await.0, 403);
    assert_eq!(town.get("/users/coldframe%5Bbot%5D").await.1["type"], "Bot");
}
