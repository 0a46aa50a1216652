//! Why the hub did not do or say what was asked, told apart where somebody acts on the difference.

use http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;

/// Why a call did not give its answer. No secret is ever in one: what the hub said is cut short
/// and its tokens are taken out.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// Our own settings are wrong: key, address, identity.
    #[error("{0}")]
    Setup(String),
    /// No answer, and nothing can have happened there.
    #[error("{what}: no answer from the hub: {why}")]
    Unreachable {
        /// The call.
        what: String,
        /// What happened.
        why: String,
    },
    /// A write without a clear answer: it may have happened. Look before anything else.
    #[error("{what}: the hub did not say whether it happened ({why})")]
    Unsettled {
        /// The call.
        what: String,
        /// What happened.
        why: String,
    },
    /// A read that the hub failed to answer.
    #[error("{what}: the hub failed with {status}: {why}")]
    Failed {
        /// The call.
        what: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        why: String,
    },
    /// The rate limit is used up; nothing is sent before `until`.
    #[error("{what}: the hub's rate limit holds until {until}: {why}")]
    Limited {
        /// The call.
        what: String,
        /// By our own clock.
        until: Timestamp,
        /// Which limit.
        why: String,
    },
    /// It was not sent: what it rests on is too old by now.
    #[error("{what}: not sent, what it rests on was good until {until}")]
    Stale {
        /// The call.
        what: String,
        /// Until when it was good.
        until: Timestamp,
    },
    /// The credential is not accepted.
    #[error("{what}: the hub does not accept the credential: {why}")]
    Unauthorized {
        /// The call.
        what: String,
        /// What it said.
        why: String,
    },
    /// The credential may not do this.
    #[error("{what}: the hub forbids it: {why}")]
    Forbidden {
        /// The call.
        what: String,
        /// What it said.
        why: String,
    },
    /// Not found, this time. One such answer never proves that a thing is closed or gone: the hub
    /// also answers so by mistake and where it hides things (`docs/attacks.md`, F06).
    #[error("{what}: the hub does not find it, or hides it from this credential")]
    NotFound {
        /// The call.
        what: String,
    },
    /// It is somewhere else now. Never followed: an old name can be registered by somebody else.
    #[error("{what}: moved to {to}; look it up anew by its id")]
    Moved {
        /// The call.
        what: String,
        /// Where the hub points.
        to: String,
    },
    /// Understood and refused.
    #[error("{what}: refused with {status}: {why}")]
    Refused {
        /// The call.
        what: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        why: String,
    },
    /// The answer is not what the API describes.
    #[error("{what}: the answer makes no sense: {why}")]
    Malformed {
        /// The call.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// The answer is bigger than what we take.
    #[error("{what}: too much: {why}")]
    TooMuch {
        /// The call.
        what: String,
        /// Which bound.
        why: String,
    },
    /// GraphQL answered with errors for a part that everything else depends on.
    #[error("{what}: only a part was answered: {why}")]
    Partial {
        /// The call.
        what: String,
        /// Its errors.
        why: String,
    },
    /// An entry of CODEOWNERS that cannot be turned into people.
    #[error("code owner `{owner}` cannot be turned into people: {why}")]
    Owner {
        /// The entry.
        owner: String,
        /// Why not.
        why: String,
    },
}

impl HubError {
    /// Whether a write may have happened in spite of this error.
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Unsettled { .. })
    }

    /// The same with the permission that the call takes, where an App was told so.
    pub(crate) fn with_permission(self, accepted: Option<&str>) -> Self {
        match (self, accepted) {
            (Self::Forbidden { what, why }, Some(accepted)) => {
                let why = format!("{why}; the App needs the permission {}", harmless(accepted));
                Self::Forbidden { what, why }
            }
            (other, _) => other,
        }
    }

    /// Whether the same call may work later without anybody doing something.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Unsettled { .. }
            | Self::Failed { .. }
            | Self::Limited { .. }
            | Self::Stale { .. }
            | Self::NotFound { .. }
            | Self::Malformed { .. }
            | Self::Partial { .. } => true,
            Self::Setup(_)
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::Moved { .. }
            | Self::Refused { .. }
            | Self::TooMuch { .. }
            | Self::Owner { .. } => false,
        }
    }
}

/// Turns an answer that is no success into an error. Rate limits were told apart before.
pub(crate) fn of_status(what: &str, writes: bool, status: StatusCode, location: Option<&str>, body: &[u8]) -> HubError {
    let what = what.to_owned();
    let why = said(body);
    match status.as_u16() {
        300..=399 => HubError::Moved { what, to: harmless(location.unwrap_or("nowhere")) },
        401 => HubError::Unauthorized { what, why },
        403 => HubError::Forbidden { what, why },
        404 => HubError::NotFound { what },
        // 408: whether the request was read to its end is not known.
        408 if writes => HubError::Unsettled { what, why: format!("408: {why}") },
        status @ 400..=499 => HubError::Refused { what, status, why },
        status if writes => HubError::Unsettled { what, why: format!("{status}: {why}") },
        status => HubError::Failed { what, status, why },
    }
}

/// The hub's own words in a refusal, in one line of bounded length.
pub(crate) fn said(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        message: Option<String>,
        errors: Option<serde_json::Value>,
    }
    let Ok(refusal) = serde_json::from_slice::<Refusal>(body) else {
        return harmless(&String::from_utf8_lossy(body.get(..600).unwrap_or(body)));
    };
    let mut text = in_one_line(&refusal.message.unwrap_or_default());
    let errors = match refusal.errors {
        Some(serde_json::Value::Array(errors)) => errors,
        Some(other) => vec![other],
        None => Vec::new(),
    };
    for error in errors.iter().take(10) {
        let field = |name: &str| error.get(name).and_then(serde_json::Value::as_str);
        let part = match (error.as_str().or_else(|| field("message")), field("field"), field("code")) {
            (Some(message), _, _) => message.to_owned(),
            (None, field, code) => format!("{} {}", field.unwrap_or_default(), code.unwrap_or_default()),
        };
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str(part.trim());
    }
    harmless(&text)
}

/// Its paragraphs behind each other, each a sentence: branch rules are told so.
fn in_one_line(text: &str) -> String {
    let mut line = String::new();
    for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
        let ended = line.is_empty() || line.ends_with(['.', ':', ';', ',', '!', '?']);
        line.push_str(if ended { "" } else { "." });
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(part);
    }
    line
}

/// Foreign text for an error or a log line: one line, bounded, nothing that looks like a token.
pub(crate) fn harmless(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut words = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let secret = ["ghs_", "ghp_", "gho_", "ghu_", "ghr_", "github_pat_", "eyJ"];
        words.push(if secret.iter().any(|prefix| word.contains(prefix)) { "(hidden)" } else { word });
    }
    let mut line = words.join(" ");
    if let Some((cut, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(cut);
        line.push('…');
    }
    if line.is_empty() { "it said nothing".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_apart() {
        let of = |status: u16, writes| {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            of_status("POST /x", writes, status, Some("/elsewhere"), b"{\"message\":\"no\"}")
        };
        assert!(matches!(of(301, true), HubError::Moved { .. }));
        assert!(matches!(of(401, true), HubError::Unauthorized { .. }));
        assert!(matches!(of(404, false), HubError::NotFound { .. }));
        assert!(matches!(of(409, true), HubError::Refused { status: 409, .. }));
        assert!(matches!(of(422, true), HubError::Refused { status: 422, .. }));
        assert!(matches!(of(500, false), HubError::Failed { status: 500, .. }));
        for status in [408, 500, 502, 503, 504] {
            assert!(of(status, true).may_have_happened(), "{status}");
        }
        assert!(!of(422, true).may_have_happened());
    }

    #[test]
    fn the_hubs_words_are_read_and_made_harmless() {
        for (body, text) in [
            (
                r#"{"message":"Validation Failed","errors":[{"message":"A pull request already exists for a:b."}]}"#,
                "Validation Failed; A pull request already exists for a:b.",
            ),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"head","code":"invalid"}]}"#,
                "Validation Failed; head invalid",
            ),
            (r#"{"message":"No","errors":["one","two"]}"#, "No; one; two"),
            (
                r#"{"message":"Repository rule violations found\n\nCannot update this protected ref.\n\n"}"#,
                "Repository rule violations found. Cannot update this protected ref.",
            ),
            ("<html>\r\n\u{1b}[31mUnicorn</html>", "<html> [31mUnicorn</html>"),
            ("", "it said nothing"),
            (r#"{"message":"bad token ghs_abcdef of yours"}"#, "bad token (hidden) of yours"),
        ] {
            assert_eq!(said(body.as_bytes()), text);
        }
        assert!(said("x".repeat(5000).as_bytes()).chars().count() <= 301);
    }
}
