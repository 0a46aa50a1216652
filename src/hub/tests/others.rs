//! What a pull request of somebody else changes, as the hub lists it.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::{Reply, Server, reply};
use crate::hub::{ChangedFile, HubError};
use decide::{PullNumber, Sha};

const HEAD: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
const BLOB: &str = "bbcd538c8e72b8c175046e27cc8f907076331401";

fn file(path: &str, status: &str, at: &str) -> Value {
    let contents = format!("https://api.github.example/repos/acme/config/contents/{path}?ref={at}");
    json!({ "filename": path, "status": status, "sha": BLOB, "contents_url": contents })
}

async fn listed(answer: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static) -> Result<Vec<ChangedFile>, HubError> {
    let server = Server::start(move |seen| answer(&seen.call())).await;
    server.open().await.changed_files(PullNumber(7), &Sha::from(HEAD)).await
}

async fn of(files: Value) -> Result<Vec<ChangedFile>, HubError> {
    let path = "GET /repos/acme/config/pulls/7/files?per_page=100";
    listed(move |call| (call == path).then(|| reply(200, &files))).await
}

#[tokio::test]
async fn what_a_pull_request_changes_is_read_at_its_head() {
    let mut moved = file("b.yaml", "renamed", HEAD);
    moved["previous_filename"] = json!("a.yaml");
    let found =
        of(json!([file("coldframe.yaml", "modified", HEAD), moved, file("gone", "removed", "1")])).await.unwrap();
    let changed = |path: &str, before: Option<&str>, blob: Option<&str>| ChangedFile {
        path: path.to_owned(),
        before: before.map(str::to_owned),
        blob: blob.map(Sha::from),
    };
    let expected = [
        changed("coldframe.yaml", None, Some(BLOB)),
        changed("b.yaml", Some("a.yaml"), Some(BLOB)),
        changed("gone", None, None),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_list_that_may_be_about_something_else_is_none() {
    let other = "1".repeat(40);
    for files in [json!([]), json!([file("a", "modified", HEAD), file("b", "added", &other)]), json!([{}])] {
        assert!(matches!(of(files.clone()).await, Err(HubError::Malformed { .. })), "{files}");
    }
    let full: Vec<Value> = (0..100).map(|number| file(&number.to_string(), "added", HEAD)).collect();
    let endless = listed(move |call| {
        let page = call.rsplit_once("page=")?.1.parse::<u64>().ok()?;
        let next = format!("</api/v3/repos/acme/config/pulls/7/files?per_page=100&page={}>; rel=\"next\"", page + 1);
        call.contains("/pulls/7/files").then(|| reply(200, &json!(full)).with("link", next))
    });
    assert!(matches!(endless.await, Err(HubError::TooMuch { .. })));
}

#[tokio::test]
async fn the_text_of_a_file_is_read_within_a_bound() {
    let text = |body: Value| async move {
        let server = Server::start(move |seen| {
            let path = format!("GET /repos/acme/config/git/blobs/{BLOB}");
            (seen.call() == path).then(|| reply(200, &body))
        });
        server.await.open().await.text_of(&Sha::from(BLOB)).await
    };
    let blob = |size: u64, content: &str| json!({ "size": size, "encoding": "base64", "content": content });
    // The hub breaks its lines.
    assert_eq!(text(blob(6, "YTog\nMQo=\n")).await.unwrap(), "a: 1\n");
    assert!(matches!(text(blob(2 << 20, "YTog")).await, Err(HubError::TooMuch { .. })));
    assert_eq!(text(blob(1, "/w==")).await.unwrap(), "\u{fffd}");
    assert!(matches!(text(blob(1, "?")).await, Err(HubError::Malformed { .. })));
}
