//! Merging: the one write that everything else is about. The head is named, so that a head which
//! moved is refused; what the answer leaves open is told as that.

use decide::plan::Identity;
use decide::{PullNumber, Sha};
use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::budget::Turn;
use super::client::Client;
use super::{HubError, RepoHub};

/// What the hub answered to a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeAnswer {
    /// Merged, it says. Whether the content is on the base branch, git proves.
    Merged {
        /// The commit on the base branch.
        commit: Sha,
    },
    /// The head is not the one that was asked for any more (409).
    HeadMoved,
    /// The hub does not merge it: a rule, or the credential may not.
    Refused {
        /// Its words.
        why: String,
    },
    /// It may have merged it. Look at the base branch before anything else (design: failure F29).
    Indeterminate {
        /// What happened.
        why: String,
    },
}

/// A merge that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct MergeRequest<'a> {
    /// Which pull request.
    pub number: PullNumber,
    /// At this head and no other.
    pub head: &'a Sha,
    /// Who asks.
    pub via: Identity,
    /// The subject of the commit.
    pub title: &'a str,
    /// The rest of its message.
    pub message: &'a str,
    /// Until when it may be sent.
    pub good_until: Timestamp,
}

/// The turn to write, of one identity.
#[derive(Debug)]
pub struct MergeTurn {
    _turn: Turn,
}

impl RepoHub {
    /// Waits for the turn to write. What is to be found out before a merge is found out after this: the queue may be
    /// that of a whole installation.
    ///
    /// # Errors
    /// There is no such identity here.
    pub async fn turn_to_merge(&self, via: Identity) -> Result<MergeTurn, HubError> {
        Ok(MergeTurn { _turn: self.identity(via)?.turn().await })
    }

    /// Asks the hub to merge this head and no other, by a merge commit, or squashed where the
    /// repository allows no merge commits. The turn ends with the answer.
    ///
    /// # Errors
    /// It was not asked (limit, no such identity, too late): nothing happened.
    pub async fn merge(&self, turn: MergeTurn, wanted: &MergeRequest<'_>) -> Result<MergeAnswer, HubError> {
        let squash = self.repository().merge_commits == Some(false) && self.repository().squash_merges != Some(false);
        let method = if squash { "squash" } else { "merge" };
        let answer = self.merge_by(method, wanted).await?;
        let answer = match &answer {
            // The settings changed since they were read, or were not shown to us. A 405 is a no
            // before anything was done, and the other method has the same compare-and-set.
            MergeAnswer::Refused { why } if !squash && why.to_lowercase().contains("merge commits are not allowed") => {
                self.merge_by("squash", wanted).await?
            }
            MergeAnswer::Merged { .. }
            | MergeAnswer::HeadMoved
            | MergeAnswer::Refused { .. }
            | MergeAnswer::Indeterminate { .. } => answer,
        };
        drop(turn);
        Ok(answer)
    }

    fn identity(&self, via: Identity) -> Result<&Client, HubError> {
        match (via, &self.inner.bypass) {
            (Identity::Ordinary, _) => Ok(self.main()),
            (Identity::Bypass, Some(bypass)) => Ok(bypass),
            (Identity::Bypass, None) => {
                let why = "no second App identity that branch rules let pass is set up in this repository";
                Err(HubError::Setup(why.to_owned()))
            }
        }
    }

    async fn merge_by(&self, method: &str, wanted: &MergeRequest<'_>) -> Result<MergeAnswer, HubError> {
        #[derive(Deserialize)]
        struct Merged {
            merged: bool,
            sha: Option<String>,
        }
        let &MergeRequest { number, head, via, title, message, good_until } = wanted;
        let client = self.identity(via)?;
        let path = self.path(&format!("/pulls/{}/merge", number.0));
        let sent = json!({
            "sha": head.as_str(), "merge_method": method, "commit_title": title, "commit_message": message,
        });
        match client.write_until::<Merged>(Method::PUT, &path, sent, good_until).await {
            Ok(Merged { merged: true, sha: Some(commit) }) => Ok(MergeAnswer::Merged { commit: Sha::new(commit) }),
            Ok(Merged { .. }) => Ok(MergeAnswer::Indeterminate { why: "it names no merged commit".to_owned() }),
            Err(HubError::Refused { status: 409, .. }) => Ok(MergeAnswer::HeadMoved),
            Err(HubError::Refused { why, .. } | HubError::Forbidden { why, .. }) => Ok(MergeAnswer::Refused { why }),
            Err(HubError::NotFound { .. }) => Ok(MergeAnswer::Refused { why: "it does not find it".to_owned() }),
            Err(HubError::Unsettled { why, .. }) => Ok(MergeAnswer::Indeterminate { why }),
            Err(other) => Err(other),
        }
    }
}
