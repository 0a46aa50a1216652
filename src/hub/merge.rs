//! Merging: the one write that everything else is about. The head is named, so that a head which
//! moved is refused; what the answer leaves open is told as that.

use decide::plan::Identity;
use decide::{PullNumber, Sha};
use http::Method;
use serde::Deserialize;
use serde_json::json;

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
    /// The hub does not merge it (405, 422).
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

impl RepoHub {
    /// Asks the hub to merge this head and no other, by a merge commit, or squashed where the
    /// repository allows no merge commits.
    ///
    /// # Errors
    /// It was not asked (limit, no such identity), or the credential may not ask: nothing happened.
    pub async fn merge(
        &self,
        via: Identity,
        number: PullNumber,
        head: &Sha,
        title: &str,
        message: &str,
    ) -> Result<MergeAnswer, HubError> {
        let squash = self.repository().merge_commits == Some(false) && self.repository().squash_merges != Some(false);
        let method = if squash { "squash" } else { "merge" };
        let answer = self.merge_by(method, via, number, head, title, message).await?;
        match &answer {
            // The settings changed since they were read, or were not shown to us. A 405 is a no
            // before anything was done, and the other method has the same compare-and-set.
            MergeAnswer::Refused { why } if !squash && why.to_lowercase().contains("merge commits are not allowed") => {
                self.merge_by("squash", via, number, head, title, message).await
            }
            MergeAnswer::Merged { .. }
            | MergeAnswer::HeadMoved
            | MergeAnswer::Refused { .. }
            | MergeAnswer::Indeterminate { .. } => Ok(answer),
        }
    }

    async fn merge_by(
        &self,
        method: &str,
        via: Identity,
        number: PullNumber,
        head: &Sha,
        title: &str,
        message: &str,
    ) -> Result<MergeAnswer, HubError> {
        #[derive(Deserialize)]
        struct Merged {
            merged: bool,
            sha: Option<String>,
        }
        let client = match (via, &self.inner.bypass) {
            (Identity::Ordinary, _) => self.main(),
            (Identity::Bypass, Some(bypass)) => bypass,
            (Identity::Bypass, None) => {
                let why = "no second App identity that branch rules let pass is set up in this repository";
                return Err(HubError::Setup(why.to_owned()));
            }
        };
        let path = self.path(&format!("/pulls/{}/merge", number.0));
        let sent = json!({
            "sha": head.as_str(), "merge_method": method, "commit_title": title, "commit_message": message,
        });
        match client.write_for::<Merged>(Method::PUT, &path, sent).await {
            Ok(Merged { merged: true, sha: Some(commit) }) => Ok(MergeAnswer::Merged { commit: Sha::new(commit) }),
            Ok(Merged { .. }) => Ok(MergeAnswer::Indeterminate { why: "it names no merged commit".to_owned() }),
            Err(HubError::Refused { status: 409, .. }) => Ok(MergeAnswer::HeadMoved),
            Err(HubError::Refused { status: 405 | 422, why, .. }) => Ok(MergeAnswer::Refused { why }),
            Err(HubError::Unsettled { why, .. }) => Ok(MergeAnswer::Indeterminate { why }),
            Err(other) => Err(other),
        }
    }
}
