//! What leaves this world: webhooks, and what people are told. When each leaves, and what it says, is in
//! `webhooks.rs` and `told.rs`.

use std::time::Duration;

use jiff::Timestamp;

/// One webhook on its way.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Where it goes.
    pub url: String,
    /// Signs it.
    pub secret: String,
    /// `X-GitHub-Event`.
    pub event: &'static str,
    /// `X-GitHub-Delivery`.
    pub guid: String,
    /// What it says.
    pub body: String,
    /// How long it waits before it leaves.
    pub wait: Duration,
    /// The payload's `action`.
    pub action: Option<String>,
    /// The App it goes to.
    pub app: u64,
    /// Its installation there.
    pub installation: u64,
}

/// One webhook that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// `X-GitHub-Delivery`.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The payload's `action`.
    pub action: Option<String>,
    /// The App it went to.
    pub app: u64,
    /// Its installation there.
    pub installation: u64,
    /// When it left.
    pub at: Timestamp,
    /// The answer's status; none when nothing answered in time.
    pub status: Option<u16>,
}

/// That somebody was told of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whom.
    pub who: String,
    /// The pull request.
    pub number: u64,
    /// The comment.
    pub comment: u64,
    /// GitHub's word for why: `mention`, `team_mention` or `comment`.
    pub why: &'static str,
}
