//! Issues of our own. What stands in one is written in `tell`, and kept up to date in `act`.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::pull::Author;
use super::pull_wire::{WireActor, WireConnection};
use super::pulls::{data, not_there, partial};
use super::{HubError, RepoHub};

const DOCUMENT: &str = include_str!("queries/issues.graphql");
const WHAT: &str = "GraphQL Issues";

/// An issue that we opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubIssue {
    /// Its number.
    pub number: u64,
    /// Whether it is open.
    pub open: bool,
    /// Its text.
    pub body: String,
    /// Who edited the text last; none where nobody did, or the account is gone.
    pub editor: Option<Author>,
}

#[derive(Deserialize)]
struct Data {
    repository: Option<WireRepository>,
}

#[derive(Deserialize)]
struct WireRepository {
    issues: Option<WireConnection<WireIssue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireIssue {
    number: u64,
    state: String,
    #[serde(default)]
    body: String,
    viewer_did_author: bool,
    editor: Option<WireActor>,
}

impl RepoHub {
    /// The issues that we opened, oldest first, at most fifty.
    ///
    /// # Errors
    /// `Forbidden` where we may not read issues; else they were not read.
    pub async fn own_issues(&self) -> Result<Vec<HubIssue>, HubError> {
        let repository = self.repository();
        let variables = json!({ "owner": repository.owner, "name": repository.name, "by": self.bot().as_str() });
        let envelope = self.main().query(DOCUMENT, "Issues", variables).await?;
        let faults = envelope.faults();
        if let Some(fault) = faults.iter().find(|fault| fault.kind == "FORBIDDEN") {
            return Err(HubError::Forbidden { what: WHAT.to_owned(), why: fault.message.clone() });
        }
        let page: Data = data(WHAT, envelope, &faults)?;
        if !faults.is_empty() {
            return Err(partial(WHAT, &faults));
        }
        let issues = page.repository.and_then(|repository| repository.issues);
        let issues = issues.ok_or_else(|| not_there(WHAT, &faults))?.entries(WHAT)?;
        let own = issues.into_iter().filter(|issue| issue.viewer_did_author);
        Ok(own
            .map(|issue| HubIssue {
                number: issue.number,
                open: issue.state == "OPEN",
                body: issue.body,
                editor: issue.editor.map(WireActor::read),
            })
            .collect())
    }

    /// Opens an issue; its number.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn open_issue(&self, title: &str, body: &str) -> Result<u64, HubError> {
        #[derive(Deserialize)]
        struct Numbered {
            number: u64,
        }
        let sent = json!({ "title": title, "body": body });
        let made: Numbered = self.main().write_for(Method::POST, &self.path("/issues"), sent).await?;
        Ok(made.number)
    }

    /// Puts another text into an issue.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn edit_issue(&self, number: u64, body: &str) -> Result<(), HubError> {
        let path = self.path(&format!("/issues/{number}"));
        self.main().write(Method::PATCH, &path, Some(json!({ "body": body }))).await?;
        Ok(())
    }

    /// Closes an issue.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn close_issue(&self, number: u64) -> Result<(), HubError> {
        let path = self.path(&format!("/issues/{number}"));
        self.main().write(Method::PATCH, &path, Some(json!({ "state": "closed" }))).await?;
        Ok(())
    }
}
