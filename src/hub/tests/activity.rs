//! Who moved a branch, as the hub has noted it.

use decide::Sha;
use serde_json::{Value, json};

use super::super::HubError;
use super::{Server, reply};

const OURS: &str = "GET /repos/acme/config/activity?ref=refs%2Fheads%2Fledger&per_page=30&actor=coldframe1%5Bbot%5D";
const ALL: &str = "GET /repos/acme/config/activity?ref=refs%2Fheads%2Fledger&per_page=100";

fn moved(by: &str, after: &str) -> Value {
    json!({ "after": after, "actor": { "login": by } })
}

async fn found(ours: (u16, Value), all: (u16, Value)) -> Result<Vec<Sha>, HubError> {
    let server = Server::start(move |seen| match seen.call().as_str() {
        OURS => Some(reply(ours.0, &ours.1)),
        ALL => Some(reply(all.0, &all.1)),
        _ => None,
    })
    .await;
    server.open().await.own_moves("ledger").await
}

#[tokio::test]
async fn ours_are_told_from_others() {
    let bot = "coldframe1[bot]";
    let nothing = || (200, json!([]));
    let deleted = moved(bot, &"0".repeat(40));
    let nobody = json!({ "after": "c4", "actor": null });
    let list = json!([deleted, moved(bot, "c3"), nobody, moved("eve", "c2"), moved("Coldframe1[bot]", "c1")]);
    let expected = [Sha::from("c3"), Sha::from("c1")];
    assert_eq!(found((200, list.clone()), nothing()).await.unwrap(), expected);
    assert_eq!(found(nothing(), (200, list)).await.unwrap(), expected, "a hub that finds no App by its name");
    assert_eq!(found(nothing(), nothing()).await.unwrap(), [], "nobody has pushed it yet");
    let others = Value::from(vec![moved("eve", "c2"); 100]);
    let error = found(nothing(), (200, others)).await.unwrap_err().to_string();
    assert!(error.contains("are all of others"), "{error}");
}

#[tokio::test]
async fn what_could_not_be_read_is_no_answer() {
    for (status, body) in [
        (404, json!({ "message": "Not Found" })),
        (403, json!({ "message": "Resource not accessible by integration" })),
        (500, json!({ "message": "Unicorn" })),
        (200, json!([{ "actor": null }])),
    ] {
        assert!(found((status, body.clone()), (200, json!([]))).await.is_err(), "{status} {body}");
        assert!(found((200, json!([])), (status, body.clone())).await.is_err(), "{status} {body}");
    }
}
