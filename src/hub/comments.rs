//! Comments on pull requests: written once, edited where they are ours, listed for a second look, and reacted to.

use decide::{Person, PullNumber};
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::write::Identified;
use super::{HubError, RepoHub};

/// A comment as REST lists it, which is no page of GraphQL and does not lag with one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestComment {
    /// Its number.
    pub id: u64,
    /// Who wrote it; none for a deleted account.
    pub by: Option<Person>,
    /// When, by the hub's clock.
    pub at: Timestamp,
    /// Its text.
    pub body: String,
}

/// What the bot says to a comment without words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It counts.
    Yes,
    /// It does not.
    No,
    /// It was not understood.
    Confused,
}

impl Reaction {
    fn content(self) -> &'static str {
        match self {
            Self::Yes => "+1",
            Self::No => "-1",
            Self::Confused => "confused",
        }
    }
}

impl RepoHub {
    /// Comments on it; the number of the comment.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn comment(&self, number: PullNumber, body: &str) -> Result<u64, HubError> {
        let path = self.path(&format!("/issues/{}/comments", number.0));
        let made: Identified = self.main().write_for(Method::POST, &path, json!({ "body": body })).await?;
        Ok(made.id)
    }

    /// Puts another text into a comment of ours. The hub tells nobody of it.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn edit_comment(&self, id: u64, body: &str) -> Result<(), HubError> {
        let path = self.path(&format!("/issues/comments/{id}"));
        self.main().write(Method::PATCH, &path, Some(json!({ "body": body }))).await?;
        Ok(())
    }

    /// Deletes a comment of ours.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn delete_comment(&self, id: u64) -> Result<(), HubError> {
        let path = self.path(&format!("/issues/comments/{id}"));
        self.main().write(Method::DELETE, &path, None).await?;
        Ok(())
    }

    /// The comments on it that we wrote or that changed since then: the second look before one is written.
    ///
    /// # Errors
    /// The list was not read.
    pub async fn own_comments(&self, number: PullNumber, since: Timestamp) -> Result<Vec<RestComment>, HubError> {
        #[derive(Deserialize)]
        struct Wire {
            id: u64,
            user: Option<User>,
            created_at: Timestamp,
            #[serde(default)]
            body: String,
        }
        #[derive(Deserialize)]
        struct User {
            login: String,
        }
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ");
        let path = self.path(&format!("/issues/{}/comments?since={since}&per_page=100", number.0));
        let list: Vec<Wire> = self.main().pages(&path, None).await?;
        let read = list.into_iter().map(|wire| RestComment {
            id: wire.id,
            by: wire.user.map(|user| Person::new(user.login)),
            at: wire.created_at,
            body: wire.body,
        });
        Ok(read.filter(|comment| comment.by.as_ref() == Some(self.bot())).collect())
    }

    /// Reacts to a comment; whether this is the first time. The hub keeps one reaction of a kind from each account,
    /// so that of several who try one is told so.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn react(&self, comment: u64, reaction: Reaction) -> Result<bool, HubError> {
        let path = self.path(&format!("/issues/comments/{comment}/reactions"));
        let answer = self.main().write(Method::POST, &path, Some(json!({ "content": reaction.content() }))).await?;
        Ok(answer.status == StatusCode::CREATED)
    }
}
