//! Webhooks: signed, complete, sent beside what happens, lost and doubled when told so.
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::HeaderMap;

use super::*;

type Inbox = Arc<Mutex<Vec<(String, String, bool, Value)>>>;

/// A receiver that checks signatures; gives its URL and what came: event, delivery id, signed, payload.
async fn receiver(secret: &'static str) -> (String, Inbox) {
    let inbox = Inbox::default();
    let kept = inbox.clone();
    let take = move |headers: HeaderMap, body: Bytes| async move {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret.as_bytes());
        let tag = aws_lc_rs::hmac::sign(&key, &body);
        let signed = text("x-hub-signature-256") == format!("sha256={}", super::super::auth::hex(tag.as_ref()));
        let payload = serde_json::from_slice(&body).unwrap();
        kept.lock().unwrap().push((text("x-github-event"), text("x-github-delivery"), signed, payload));
        "ok"
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/hook", axum::routing::post(take));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, inbox)
}

async fn until(inbox: &Inbox, enough: usize) -> Vec<(String, String, bool, Value)> {
    for _ in 0..200 {
        if inbox.lock().unwrap().len() >= enough {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    inbox.lock().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_arrive_signed() {
    let town = town().await;
    let (url, inbox) = receiver("s3cret").await;
    town.hub.set_webhook(town.bot.id, &url, "s3cret").unwrap();
    let head = town.branch("s", "clusters/silver/app.yaml", "1.1.0");
    let number = town.open("s").await;
    town.hub.approve(REPO, number, "alice").unwrap();
    town.hub.comment(REPO, number, "bob", "hello").unwrap();
    town.post("/repos/acme/config/check-runs", json!({"name": "c", "head_sha": head, "conclusion": "success"})).await;
    town.branch("s", "clusters/silver/app.yaml", "1.2.0");
    town.patch("/repos/acme/config/pulls/1", json!({"title": "other"})).await;
    town.hub.close(REPO, number, "bob").unwrap();
    town.hub.reopen(REPO, number, "bob").unwrap();
    town.hub.merge_as(REPO, number, "carol").unwrap();
    let came = until(&inbox, 14).await;
    assert!(came.iter().all(|(_, id, signed, _)| *signed && id.len() == 36));
    let mut kinds: Vec<String> = came
        .iter()
        .map(|(event, _, _, payload)| match payload["action"].as_str() {
            Some(action) => format!("{event}.{action}"),
            None => event.clone(),
        })
        .collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "check_run.created",
            "issue_comment.created",
            "pull_request.closed",
            "pull_request.edited",
            "pull_request.opened",
            "pull_request.reopened",
            "pull_request.synchronize",
            "pull_request_review.dismissed",
            "pull_request_review.submitted",
            "push",
        ]
    );
    for (event, _, _, payload) in &came {
        assert_eq!(payload["repository"]["full_name"], REPO, "{event}");
        assert_eq!(payload["installation"]["id"], town.bot.installation_id, "{event}");
        assert!(payload["sender"]["login"].is_string(), "{event}");
    }
    let push = came.iter().find(|(event, _, _, _)| event == "push").unwrap();
    assert_eq!((&push.3["ref"], &push.3["created"]), (&json!("refs/heads/s"), &json!(true)));
    let merged = came.iter().filter(|(_, _, _, payload)| payload["pull_request"]["merged"] == true).count();
    assert_eq!(merged, 1);
    assert_eq!(town.hub.deliveries().iter().filter(|one| one.status == Some(200)).count(), came.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn installations_ring_too() {
    let town = town().await;
    let (url, inbox) = receiver("x").await;
    let app = town.hub.add_app("new", &[("contents", Access::Read)]).unwrap();
    town.hub.set_webhook(app.id, &url, "x").unwrap();
    town.hub.install_app(app.id, REPO).unwrap();
    town.hub.add_repository("acme", "second", &[]).unwrap();
    town.hub.install_app(app.id, "acme/second").unwrap();
    let mut came: Vec<String> =
        until(&inbox, 2).await.into_iter().map(|one| format!("{}.{}", one.0, one.3["action"])).collect();
    came.sort();
    assert_eq!(came, ["installation.\"created\"", "installation_repositories.\"added\""]);
}

/// As GitHub does: a comment on a pull request rings an App that may read issues, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn an_app_gets_no_event_that_it_has_no_permission_for() {
    let town = town().await;
    let (url, inbox) = receiver("x").await;
    town.hub.set_webhook(town.bot.id, &url, "x").unwrap();
    town.hub.set_app_permission(town.bot.id, "issues", None).unwrap();
    town.hub.push_file(REPO, "s", "bob", "a", "1", "one").unwrap();
    let number = town.hub.open_pull(REPO, "bob", "s", "main", "s", "").unwrap();
    town.hub.comment(REPO, number, "bob", "first").unwrap();
    town.hub.set_app_permission(town.bot.id, "issues", Some(Access::Read)).unwrap();
    town.hub.comment(REPO, number, "bob", "second").unwrap();
    let came = until(&inbox, 3).await;
    let comments: Vec<&Value> =
        came.iter().filter(|one| one.0 == "issue_comment").map(|one| &one.3["comment"]["body"]).collect();
    assert_eq!(comments, ["second"], "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_lost_doubled_and_never_retried() {
    let town = town().await;
    let (url, inbox) = receiver("x").await;
    town.hub.set_webhook(town.bot.id, &url, "x").unwrap();
    town.hub.faults(|faults| faults.webhooks.drop_next = 1);
    town.hub.push_file(REPO, "lost", "bob", "a", "1", "one").unwrap();
    town.hub.faults(|faults| faults.webhooks.duplicates = 2);
    town.hub.push_file(REPO, "lost", "bob", "a", "2", "two").unwrap();
    let came = until(&inbox, 3).await;
    assert_eq!(came.len(), 3);
    assert!(came.iter().all(|one| one.1 == came[0].1), "a duplicate has the same delivery id");
    let late = std::time::Duration::from_millis(400);
    town.hub.faults(|faults| faults.webhooks = Webhooks { delay: late, ..Webhooks::default() });
    town.hub.push_file(REPO, "lost", "bob", "a", "late", "late").unwrap();
    tokio::time::sleep(late / 4).await;
    assert_eq!(inbox.lock().unwrap().len(), 3);
    assert_eq!(until(&inbox, 4).await.len(), 4);
    town.hub.faults(|faults| faults.webhooks = Webhooks { drop_all: true, ..Webhooks::default() });
    town.hub.push_file(REPO, "lost", "bob", "a", "3", "three").unwrap();
    town.hub.faults(|faults| faults.webhooks = Webhooks::default());
    town.hub.set_webhook(town.bot.id, "http://127.0.0.1:9/none", "x").unwrap();
    town.hub.push_file(REPO, "lost", "bob", "a", "4", "four").unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(inbox.lock().unwrap().len(), 4);
    let failed = town.hub.deliveries().into_iter().filter(|one| one.status.is_none()).count();
    assert_eq!(failed, 1, "tried once, and not again");
}
