//! Into the merge queue of a base branch and out of it. When the bot wants which is in `act::queue`.

use decide::Sha;
use jiff::Timestamp;
use serde_json::json;

use super::graphql::Envelope;
use super::merge::MergeTurn;
use super::{HubError, RepoHub};

const DOCUMENT: &str = include_str!("queries/queue.graphql");

/// What the hub answered to a pull request that was to be put into the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueAnswer {
    /// It is in it.
    Queued,
    /// It is not.
    Refused {
        /// The hub's words.
        why: String,
    },
    /// It may be.
    Indeterminate {
        /// What happened.
        why: String,
    },
}

impl RepoHub {
    /// Asks the hub to put this head, and no other, into the merge queue. The turn ends with the answer.
    ///
    /// # Errors
    /// It was not asked (limit, too late): nothing happened.
    pub async fn enqueue(
        &self,
        turn: MergeTurn,
        node: &str,
        head: &Sha,
        good_until: Timestamp,
    ) -> Result<QueueAnswer, HubError> {
        let variables = json!({ "pull": node, "head": head.as_str() });
        let answer = self.main().mutate(DOCUMENT, "Enqueue", variables, Some(good_until)).await;
        drop(turn);
        match answer {
            Ok(envelope) => Ok(outcome(&envelope, "/enqueuePullRequest/mergeQueueEntry")),
            Err(HubError::Unsettled { why, .. }) => Ok(QueueAnswer::Indeterminate { why }),
            Err(
                error @ (HubError::Refused { .. }
                | HubError::Forbidden { .. }
                | HubError::NotFound { .. }
                | HubError::Unauthorized { .. }),
            ) => Ok(QueueAnswer::Refused { why: error.to_string() }),
            Err(error) => Err(error),
        }
    }

    /// Takes a pull request out of the merge queue.
    ///
    /// # Errors
    /// The hub did not: it may have merged it meanwhile.
    pub async fn dequeue(&self, node: &str) -> Result<(), HubError> {
        let envelope = self.main().mutate(DOCUMENT, "Dequeue", json!({ "pull": node }), None).await?;
        match outcome(&envelope, "/dequeuePullRequest") {
            QueueAnswer::Queued => Ok(()),
            QueueAnswer::Refused { why } | QueueAnswer::Indeterminate { why } => {
                Err(HubError::Partial { what: "GraphQL Dequeue".to_owned(), why })
            }
        }
    }
}

/// What an answer says of a write, whose result is at `place`.
fn outcome(envelope: &Envelope, place: &str) -> QueueAnswer {
    let faults = envelope.faults();
    let there = envelope.data.as_ref().and_then(|data| data.pointer(place)).is_some_and(|value| !value.is_null());
    match faults.first() {
        None if there => QueueAnswer::Queued,
        None => QueueAnswer::Indeterminate { why: "the hub names no entry".to_owned() },
        Some(fault) if is_no(&fault.kind) => QueueAnswer::Refused { why: fault.message.clone() },
        Some(fault) => QueueAnswer::Indeterminate { why: fault.message.clone() },
    }
}

/// Whether a class of errors says that nothing was done.
fn is_no(kind: &str) -> bool {
    matches!(kind, "UNPROCESSABLE" | "FORBIDDEN" | "NOT_FOUND" | "INSUFFICIENT_SCOPES")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::Value;

    #[test]
    fn only_a_named_entry_is_a_place_in_the_queue() {
        let read = |text: Value| outcome(&serde_json::from_value(text).unwrap(), "/enqueuePullRequest/mergeQueueEntry");
        let entry = json!({"enqueuePullRequest": {"mergeQueueEntry": {"position": 2}}});
        assert_eq!(read(json!({ "data": entry })), QueueAnswer::Queued);
        let nothing = read(json!({"data": {"enqueuePullRequest": {"mergeQueueEntry": null}}}));
        assert!(matches!(nothing, QueueAnswer::Indeterminate { .. }));
        let faulty = |kind: &str| {
            let error = json!({"type": kind, "path": ["enqueuePullRequest"], "message": "Pull request is a draft"});
            read(json!({"data": {"enqueuePullRequest": null}, "errors": [error]}))
        };
        let why = "Pull request is a draft".to_owned();
        assert_eq!(faulty("UNPROCESSABLE"), QueueAnswer::Refused { why: why.clone() });
        assert_eq!(faulty("SERVICE_UNAVAILABLE"), QueueAnswer::Indeterminate { why });
    }
}
