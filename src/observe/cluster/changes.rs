//! The changes of a collection, one line of JSON after the other (Kubernetes API concepts, "Efficient detection of
//! changes"). What they mean for a reading is in `observe/watch`.

use bytes::BytesMut;
use futures_util::TryStreamExt as _;
use http::StatusCode;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;

use super::ReadError;
use super::get::{self, MAX_ANSWER, Words};
use crate::observe::net::causes;
use crate::signal::Target;

/// Asks for nothing but metadata of each changed object.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A watch that is open.
pub struct Changes {
    body: futures_util::stream::BoxStream<'static, Result<bytes::Bytes, kube::Error>>,
    /// What has come of the next line.
    line: BytesMut,
    words: Words,
}

/// One change.
#[derive(Debug, PartialEq)]
pub enum Change {
    /// The object is new, or is like this now.
    Put(Value),
    /// The object, as it was before it went away.
    Gone(Value),
    /// Everything up to this moment has been told.
    Bookmark(String),
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    what: String,
    object: Value,
}

/// Opens a watch that goes on from a moment and ends by itself after so many seconds.
pub(super) async fn open(client: &Client, target: &Target, from: &str, seconds: u32) -> Result<Changes, ReadError> {
    let words = Words { verb: "watch", ..Words::of(target) };
    let seconds = seconds.to_string();
    let pairs =
        [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", from), ("timeoutSeconds", &seconds)];
    let accept = if get::is_metadata(target) { METADATA } else { "application/json" };
    let answer = get::send(client, &get::address(target, &pairs), accept, &words, get::Then::Keep).await?;
    if answer.status() == StatusCode::NOT_FOUND {
        return Err(words.malformed("it answered 404"));
    }
    let body: Body = answer.into_body();
    let failed = |error: kube::Error| error;
    let body = Box::pin(body.into_data_stream().map_err(failed));
    Ok(Changes { body, line: BytesMut::new(), words })
}

impl Changes {
    /// The next change; none where the watch ended as it should.
    ///
    /// # Errors
    /// Where the connection breaks, a line is too long or no change, or the watch has to begin anew.
    pub async fn next(&mut self) -> Result<Option<Change>, ReadError> {
        loop {
            if let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
                let line = self.line.split_to(end + 1);
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return self.read(&line).map(Some);
            }
            match self.body.try_next().await {
                Ok(Some(more)) => self.line.extend_from_slice(&more),
                Ok(None) if self.line.iter().all(u8::is_ascii_whitespace) => return Ok(None),
                Ok(None) => return Err(self.words.unreachable("the watch was cut off within a line")),
                Err(error) => return Err(self.words.unreachable(&causes(&error))),
            }
            if self.line.len() > MAX_ANSWER {
                return Err(self.words.malformed(&format!("a change of more than {MAX_ANSWER} bytes")));
            }
        }
    }

    fn read(&self, line: &[u8]) -> Result<Change, ReadError> {
        let Line { what, object } = serde_json::from_slice(line)
            .map_err(|error| self.words.malformed(&format!("a line that is no change ({error})")))?;
        match what.as_str() {
            "ADDED" | "MODIFIED" => Ok(Change::Put(object)),
            "DELETED" => Ok(Change::Gone(object)),
            "BOOKMARK" => Ok(Change::Bookmark(version(&object).to_string())),
            "ERROR" if object.get("code").and_then(Value::as_u64) == Some(410) => {
                Err(ReadError::Expired { resource: format!("watch {}", self.words.resource) })
            }
            "ERROR" => {
                let why = object.get("message").and_then(Value::as_str).unwrap_or("without a message");
                Err(self.words.malformed(&format!("the watch ended with an error: {why}")))
            }
            other => Err(self.words.malformed(&format!("a change of an unknown type `{other}`"))),
        }
    }
}

/// Of which moment an object is.
pub fn version(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}
