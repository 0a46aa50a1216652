//! The envelope of GraphQL: data and errors side by side. A partial answer keeps both; whoever
//! reads it decides how much of it can be believed.

use serde::Deserialize;
use serde_json::Value;

use super::error::harmless;

/// What came back: data as far as there is any, and what went wrong.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope {
    #[serde(default)]
    pub(crate) data: Option<Value>,
    #[serde(default)]
    errors: Option<Vec<Value>>,
}

/// One error, with the place that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Field names and indices from the root; empty = the whole request.
    pub(crate) path: Vec<String>,
    /// GitHub's class of it, such as `NOT_FOUND`, `FORBIDDEN`, `RATE_LIMITED`.
    pub(crate) kind: String,
    /// Its words, made harmless.
    pub(crate) message: String,
}

impl Envelope {
    /// The errors, at most a hundred.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let errors = self.errors.iter().flatten().take(100);
        errors
            .map(|error| {
                let path = error.get("path").and_then(Value::as_array).into_iter().flatten();
                let text = |name: &str| error.get(name).and_then(Value::as_str);
                let code = error.pointer("/extensions/code").and_then(Value::as_str);
                Fault {
                    path: path.map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect(),
                    kind: text("type").or(code).unwrap_or_default().to_owned(),
                    message: harmless(text("message").unwrap_or_default()),
                }
            })
            .collect()
    }
}

/// Whether a GraphQL answer with status 200 is the refusal of a limit.
pub(crate) fn is_limit(body: &[u8]) -> bool {
    // Pages of megabytes are not parsed twice: a refusal is short.
    if body.len() > 64 << 10 {
        return false;
    }
    let envelope = serde_json::from_slice::<Envelope>(body);
    envelope.is_ok_and(|envelope| {
        envelope.faults().iter().any(|fault| {
            let message = fault.message.to_lowercase();
            matches!(fault.kind.as_str(), "RATE_LIMITED" | "RATE_LIMIT" | "graphql_rate_limit")
                || message.contains("secondary rate limit")
                || message.contains("api rate limit")
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn errors_carry_their_place() {
        let body = r#"{"data":{"a":null},"errors":[
            {"type":"FORBIDDEN","path":["repository","open","nodes",0,"commits"],"message":"no"},
            {"message":"whole"}, {"extensions":{"code":"undefinedField"},"message":"x"}]}"#;
        let faults = serde_json::from_str::<Envelope>(body).unwrap().faults();
        assert_eq!(faults[0].path, ["repository", "open", "nodes", "0", "commits"]);
        assert_eq!(
            (faults[0].kind.as_str(), faults[1].path.len(), faults[2].kind.as_str()),
            ("FORBIDDEN", 0, "undefinedField")
        );
    }

    #[test]
    fn limits_hide_in_a_200() {
        for (body, limit) in [
            (
                r#"{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded for installation ID 1."}]}"#,
                true,
            ),
            (r#"{"errors":[{"message":"You have exceeded a secondary rate limit."}]}"#, true),
            (r#"{"errors":[{"type":"NOT_FOUND","message":"Could not resolve"}]}"#, false),
            (r#"{"data":{"body":"API rate limit"}}"#, false),
            ("not json", false),
        ] {
            assert_eq!(is_limit(body.as_bytes()), limit, "{body}");
        }
    }
}
