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
use super::demands::Demand;
use super::{HubError, RepoHub};

/// Why nothing was tried.
const NO_METHOD: &str = "the repository and the rules of its base branch allow no common way to merge; allow merge \
                         commits, squash merges or rebase merges in both";

/// Whether the hub refuses a way of merging, and not the merge.
fn is_about_method(why: &str) -> bool {
    let why = why.to_lowercase();
    ["merge commits", "squash merges are not", "rebase merges are not", "linear history"]
        .iter()
        .any(|text| why.contains(text))
}

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
    /// It may have merged it. Look at the base branch before anything else (`docs/attacks.md`, F29).
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
    /// What the rules of its base branch ask.
    pub demands: &'a [Demand],
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

    /// Asks the hub to merge this head and no other: by a merge commit, else squashed, else rebased, as the repository
    /// and the rules of the branch allow. The turn ends with the answer.
    ///
    /// # Errors
    /// It was not asked (limit, no such identity, too late): nothing happened.
    pub async fn merge(&self, turn: MergeTurn, wanted: &MergeRequest<'_>) -> Result<MergeAnswer, HubError> {
        let mut answer = MergeAnswer::Refused { why: NO_METHOD.to_owned() };
        for method in self.methods(wanted.demands) {
            answer = self.merge_by(method, wanted).await?;
            // The settings changed since they were read, or were not shown to us. A 405 is a no before anything was
            // done, and the other methods have the same compare-and-set.
            if !matches!(&answer, MergeAnswer::Refused { why } if is_about_method(why)) {
                break;
            }
        }
        drop(turn);
        Ok(answer)
    }

    /// The methods by which a merge may be tried, by the hub's names: those that the repository allows, as far as it
    /// says so, and that every rule takes.
    pub(super) fn methods(&self, demands: &[Demand]) -> Vec<&'static str> {
        let settings = self.repository();
        let taken = |method: &str| {
            demands.iter().all(|demand| match demand {
                Demand::Methods { allowed, .. } => allowed.iter().any(|name| name == method),
                Demand::Conversations
                | Demand::UpToDate
                | Demand::Signatures
                | Demand::Deployments(_)
                | Demand::Queue
                | Demand::Never { .. } => true,
            })
        };
        let all =
            [("merge", settings.merge_commits), ("squash", settings.squash_merges), ("rebase", settings.rebase_merges)];
        let possible = all.into_iter().filter(|(method, allowed)| *allowed != Some(false) && taken(method));
        possible.map(|(method, _)| method).collect()
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
        let &MergeRequest { number, head, via, title, message, good_until, demands: _ } = wanted;
        let client = self.identity(via)?;
        let path = self.path(&format!("/pulls/{}/merge", number.0));
        let sent = json!({
            "sha": head.as_str(), "merge_method": method, "commit_title": title, "commit_message": message,
        });
        match client.write_until::<Merged>(Method::PUT, &path, sent, good_until).await {
            Ok(Merged { merged: true, sha: Some(commit) }) => Ok(MergeAnswer::Merged { commit: Sha::new(commit) }),
            Ok(Merged { .. }) => Ok(MergeAnswer::Indeterminate { why: "it names no merged commit".to_owned() }),
            Err(HubError::Refused { status: 409, .. }) => Ok(MergeAnswer::HeadMoved),
            Err(HubError::Refused { why, .. } | HubError::Forbidden { why, .. }) => {
                Ok(MergeAnswer::Refused { why: format!("the hub says \"{}\"", why.trim_end_matches('.')) })
            }
            Err(HubError::NotFound { .. }) => Ok(MergeAnswer::Refused { why: "the hub does not find it".to_owned() }),
            Err(HubError::Unsettled { why, .. }) => Ok(MergeAnswer::Indeterminate { why }),
            Err(other) => Err(other),
        }
    }
}
