//! Writes, each a compare-and-set where the hub has one. A second "already exists" is "found";
//! what may have happened is told as that, and nothing is sent twice.

use decide::PullNumber;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::branch_pulls::list_of_branch;
use super::client::segment;
use super::{HubError, RepoHub};
use crate::branches;

/// What opening a pull request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It was opened now.
    New(PullNumber),
    /// It was there already.
    Found(PullNumber),
}

impl Opened {
    /// Its number, either way.
    pub fn number(self) -> PullNumber {
        match self {
            Self::New(number) | Self::Found(number) => number,
        }
    }
}

/// Whether the hub has our text: it stores line ends of its own.
pub fn same_text(there: &str, ours: &str) -> bool {
    let lines = |text: &str| text.replace("\r\n", "\n").trim_end().to_string();
    lines(there) == lines(ours)
}

#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

/// What was made, by its number.
#[derive(Deserialize)]
pub(super) struct Identified {
    pub(super) id: u64,
}

impl RepoHub {
    /// Opens the pull request from `head` to `base`, or finds it.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened; then [`RepoHub::pulls_of_branch`] tells.
    pub async fn open_pull(&self, title: &str, head: &str, base: &str, body: &str) -> Result<Opened, HubError> {
        let sent = json!({ "title": title, "head": head, "base": base, "body": body });
        match self.main().write_for::<Numbered>(Method::POST, &self.path("/pulls"), sent).await {
            Ok(opened) => Ok(Opened::New(PullNumber(opened.number))),
            Err(HubError::Refused { what, status: 422, why }) if why.contains("already exists") => {
                let owner = &self.repository().owner;
                let list = list_of_branch(self.main(), &self.path(""), owner, head).await?;
                let found = list.into_iter().find(|pull| pull.open && pull.base == base);
                found
                    .map(|pull| Opened::Found(pull.number))
                    .ok_or(HubError::Unsettled { what, why: format!("{why}; the list does not show it yet") })
            }
            Err(other) => Err(other),
        }
    }

    /// Changes title, text, or both. Without either nothing is sent.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn edit_pull(&self, number: PullNumber, title: Option<&str>, body: Option<&str>) -> Result<(), HubError> {
        let mut sent = serde_json::Map::new();
        for (name, text) in [("title", title), ("body", body)] {
            if let Some(text) = text {
                sent.insert(name.to_owned(), Value::from(text));
            }
        }
        if sent.is_empty() {
            return Ok(());
        }
        self.patch_pull(number, sent.into()).await
    }

    /// Closes it unmerged.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn close_pull(&self, number: PullNumber) -> Result<(), HubError> {
        self.patch_pull(number, json!({ "state": "closed" })).await
    }

    /// Puts labels on it. The hub makes those that the repository does not have.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn add_labels(&self, number: PullNumber, labels: &[String]) -> Result<(), HubError> {
        self.post(&format!("/issues/{}/labels", number.0), json!({ "labels": labels })).await
    }

    /// Assigns people. Who cannot be assigned is left out by the hub without a word.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn assign(&self, number: PullNumber, logins: &[String]) -> Result<(), HubError> {
        self.post(&format!("/issues/{}/assignees", number.0), json!({ "assignees": logins })).await
    }

    /// Asks people and teams for a review: all, or where one of them cannot be asked nobody.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn ask_for_reviews(&self, number: PullNumber, people: &[&str], teams: &[&str]) -> Result<(), HubError> {
        let sent = json!({ "reviewers": people, "team_reviewers": teams });
        self.post(&format!("/pulls/{}/requested_reviewers", number.0), sent).await
    }

    async fn post(&self, path: &str, sent: Value) -> Result<(), HubError> {
        self.main().write(Method::POST, &self.path(path), Some(sent)).await?;
        Ok(())
    }

    async fn patch_pull(&self, number: PullNumber, sent: Value) -> Result<(), HubError> {
        self.main().write(Method::PATCH, &self.path(&format!("/pulls/{}", number.0)), Some(sent)).await?;
        Ok(())
    }

    /// Deletes one of our branches. One that is gone already is deleted.
    ///
    /// # Errors
    /// Not a branch of ours, refused, or unknown whether it happened.
    pub async fn delete_branch(&self, branch: &str) -> Result<(), HubError> {
        if !branch.starts_with(branches::PREFIX) {
            let why = format!("`{}` is no branch of ours, it is left alone", super::error::harmless(branch));
            return Err(HubError::Setup(why));
        }
        let name = branch.split('/').map(segment).collect::<Vec<_>>().join("/");
        match self.main().write(Method::DELETE, &self.path(&format!("/git/refs/heads/{name}")), None).await {
            Ok(_) => Ok(()),
            Err(HubError::Refused { status: 422, why, .. }) if why.contains("does not exist") => Ok(()),
            Err(other) => Err(other),
        }
    }
}
