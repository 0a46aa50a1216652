//! One call, one sending: nothing is repeated, followed, or sent elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use decide::{Person, PullNumber};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::super::{Bases, Credentials, Hub, HubError, Role};
use super::{Server, reply, repository};
use crate::secret::Secret;

const COMMENT: &str = "POST /repos/acme/config/issues/1/comments";
const MEMBERS: &str = "GET /orgs/acme/teams/platform/members?per_page=100";

#[tokio::test]
async fn a_write_that_fails_is_sent_once_and_unsettled() {
    for status in [500, 502, 503, 504] {
        let server = Server::start(move |seen| {
            (seen.call() == COMMENT).then(|| reply(status, &json!({ "message": "Unicorn" })))
        })
        .await;
        let error = server.open().await.comment(PullNumber(1), "x").await.unwrap_err();
        assert!(error.may_have_happened(), "{status}: {error}");
        assert_eq!(server.count(COMMENT), 1);
    }
}

/// A server that reads a request, says `answer`, and hangs up; and how often it was called.
async fn rude(answer: &'static [u8]) -> (Bases, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bases = Bases::from_hub(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 16 << 10];
            let read = stream.read(&mut buffer).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
            if request.starts_with("GET /api/v3/user ") {
                let user = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 13\r\n\r\n{\"login\":\"a\"}";
                stream.write_all(user.as_bytes()).await.ok();
                continue;
            }
            counted.fetch_add(1, Ordering::SeqCst);
            stream.write_all(answer).await.ok();
        }
    });
    (bases, count)
}

#[tokio::test]
async fn a_broken_connection_is_unsettled_for_a_write_and_nothing_for_a_read() {
    let half = b"HTTP/1.1 201 Created\r\ncontent-length: 400\r\n\r\n{\"id\":";
    for answer in [&b""[..], half] {
        let (bases, count) = rude(answer).await;
        let hub = Hub::new(bases, Credentials::Token(Secret::new("t")), None).unwrap();
        let repo = hub.open(&repository()).await.unwrap();
        let error = repo.comment(PullNumber(1), "x").await.unwrap_err();
        assert!(error.may_have_happened(), "{error}");
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let error = repo.may_write(&Person::from("a")).await.unwrap_err();
        assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn a_write_that_was_never_sent_has_not_happened() {
    let server = Server::start(|seen| (seen.call() == "GET /user").then(|| reply(200, &json!({ "login": "a" })))).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let repo = server.open_with_token().await;
    assert!(repo.comment(PullNumber(1), "x").await.is_err());
    let hub = Hub::new(Bases::from_hub(&nobody).unwrap(), Credentials::Token(Secret::new("t")), None).unwrap();
    let error = hub.open(&repository()).await.unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    assert!(!error.may_have_happened());
}

#[tokio::test]
async fn pages_follow_with_the_token_and_stay_on_the_origin() {
    let server = Server::start(|seen| {
        let host = seen.header("host").to_owned();
        let next = format!("<http://{host}/api/v3/orgs/acme/teams/platform/members?per_page=100&page=2>; rel=\"next\"");
        match seen.call().as_str() {
            MEMBERS => Some(reply(200, &json!([{ "login": "alice" }])).with("link", next)),
            call if call == format!("{MEMBERS}&page=2") => Some(reply(200, &json!([{ "login": "bob" }]))),
            _ => None,
        }
    })
    .await;
    let people = server.open().await.team_members("acme", "platform").await.unwrap();
    assert_eq!(people.into_iter().collect::<Vec<_>>(), [Person::from("alice"), Person::from("bob")]);
    let seen = server.seen();
    let pages: Vec<_> = seen.iter().filter(|seen| seen.path.contains("/teams/")).collect();
    assert_eq!(pages.len(), 2);
    assert!(pages.iter().all(|page| page.header("authorization").starts_with("Bearer ghs_1_")));
}

#[tokio::test]
async fn a23_a_next_page_elsewhere_is_refused_and_nothing_is_sent_there() {
    let thief = Server::start(|_| Some(reply(200, &json!([])))).await;
    let next = format!("<{}/api/v3/steal>; rel=\"next\"", thief.url);
    let server = Server::start(move |seen| {
        (seen.call() == MEMBERS).then(|| reply(200, &json!([{ "login": "alice" }])).with("link", next.clone()))
    })
    .await;
    let error = server.open().await.team_members("acme", "platform").await.unwrap_err();
    assert!(matches!(error, HubError::Malformed { .. }), "{error}");
    assert_eq!(thief.seen().len(), 0);
}

#[tokio::test]
async fn a_list_that_leads_to_itself_ends() {
    let server = Server::start(|seen| {
        let next = format!("<http://{}{}>; rel=\"next\"", seen.header("host"), seen.path);
        (seen.call() == MEMBERS).then(|| reply(200, &json!([])).with("link", next))
    })
    .await;
    let error = server.open().await.team_members("acme", "platform").await.unwrap_err();
    assert!(matches!(error, HubError::TooMuch { .. }), "{error}");
    assert_eq!(server.count(MEMBERS), 1);
}

#[tokio::test]
async fn redirects_are_told_and_not_followed() {
    let thief = Server::start(|_| Some(reply(201, &json!({ "id": 1 })))).await;
    let target = format!("{}/api/v3/x", thief.url);
    for status in [301, 302, 307, 308] {
        let target = target.clone();
        let server = Server::start(move |seen| {
            (seen.call() == COMMENT).then(|| reply(status, &json!({})).with("location", target.clone()))
        })
        .await;
        let error = server.open().await.comment(PullNumber(1), "x").await.unwrap_err();
        assert!(matches!(error, HubError::Moved { .. }), "{status}: {error}");
    }
    assert_eq!(thief.seen().len(), 0);
}

#[tokio::test]
async fn nothing_is_sent_before_a_limit_ends() {
    let server = Server::start(|seen| {
        (seen.call() == COMMENT).then(|| {
            reply(403, &json!({ "message": "You have exceeded a secondary rate limit" })).with("retry-after", "30")
        })
    })
    .await;
    let repo = server.open().await;
    let error = repo.comment(PullNumber(1), "x").await.unwrap_err();
    let HubError::Limited { until, .. } = error else { panic!("{error}") };
    let wait = until.duration_since(crate::clock::now()).as_secs();
    assert!((28..=30).contains(&wait), "{wait}");
    let before = server.seen().len();
    assert!(matches!(repo.comment(PullNumber(1), "x").await, Err(HubError::Limited { .. })));
    assert!(matches!(repo.pulls("main").await, Err(HubError::Limited { .. })));
    assert_eq!(server.seen().len(), before);
}

#[tokio::test]
async fn writes_keep_their_distance() {
    let server = Server::start(|seen| (seen.call() == COMMENT).then(|| reply(201, &json!({ "id": 1 })))).await;
    let bases = Bases::from_hub(&server.url).unwrap();
    let hub = Hub::with_pace(bases, super::app(1), None, std::time::Duration::from_millis(150)).unwrap();
    let repo = hub.open(&repository()).await.unwrap();
    let start = crate::clock::now();
    let three = (0..3).map(|_| repo.comment(PullNumber(1), "x"));
    assert!(futures_util::future::join_all(three).await.iter().all(Result::is_ok));
    assert!(crate::clock::now().duration_since(start).as_millis() >= 300);
}

#[tokio::test]
async fn an_answer_without_end_is_cut() {
    let server = Server::start(|seen| {
        (seen.call() == MEMBERS).then(|| reply(200, &json!([])).bytes(vec![b' '; super::super::wire::MOST + 1]))
    })
    .await;
    let error = server.open().await.team_members("acme", "platform").await.unwrap_err();
    assert!(matches!(error, HubError::TooMuch { .. }), "{error}");
}

#[tokio::test]
async fn requests_say_who_asks_once() {
    let server = Server::start(|seen| {
        (seen.call() == MEMBERS).then(|| reply(200, &json!([])).with("date", "Fri, 15 Jan 2100 08:00:00 GMT"))
    })
    .await;
    let repo = server.open().await;
    repo.team_members("acme", "platform").await.unwrap();
    for seen in server.seen() {
        assert_eq!(seen.headers.get_all("user-agent").iter().count(), 1);
        assert!(seen.header("user-agent").starts_with("coldframe/"));
        assert_eq!(seen.header("accept"), "application/vnd.github+json");
        assert_eq!(seen.header("x-github-api-version"), "2022-11-28");
    }
    assert!(repo.skew().as_hours() < -24 * 365, "{:?}", repo.skew());
}

/// What has not changed is named, and comes without a body; what has is believed at once.
#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    const RIGHTS: &str = "GET /repos/acme/config/collaborators/eve/permission";
    let (taken, unchanged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (is_taken, count) = (Arc::clone(&taken), Arc::clone(&unchanged));
    let server = Server::start(move |seen| {
        if seen.call() != RIGHTS {
            return (seen.call() == "GET /user").then(|| reply(200, &json!({ "login": "a" })));
        }
        let role = if is_taken.load(Ordering::SeqCst) { "read" } else { "write" };
        let tag = format!("W/\"{role}\"");
        if seen.header("if-none-match") == tag {
            count.fetch_add(1, Ordering::SeqCst);
            return Some(reply(304, &json!({})).bytes(Vec::new()).with("etag", tag));
        }
        Some(reply(200, &json!({ "permission": role })).with("etag", tag))
    })
    .await;
    let repo = server.open().await;
    let eve = Person::from("eve");
    for _ in 0..3 {
        assert_eq!(repo.may_write(&eve).await.unwrap(), Role::Write);
    }
    assert_eq!((server.count(RIGHTS), unchanged.load(Ordering::SeqCst)), (3, 2));
    taken.store(true, Ordering::SeqCst);
    assert_eq!(repo.may_write(&eve).await.unwrap(), Role::Read);
    assert_eq!(repo.may_write(&eve).await.unwrap(), Role::Read);
    assert_eq!((server.count(RIGHTS), unchanged.load(Ordering::SeqCst)), (5, 3));
    // Another identity is told by itself.
    assert_eq!(server.open_with_token().await.may_write(&eve).await.unwrap(), Role::Read);
    assert_eq!(unchanged.load(Ordering::SeqCst), 3);
}
