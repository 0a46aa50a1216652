//! Writes, each a compare-and-set where the hub has one. A second "already exists" is "found";
//! what may have happened is told as that, and nothing is sent twice.

use decide::plan::Identity;
use decide::{PullNumber, Sha};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::segment;
use super::pulls::list_of_branch;
use super::{BRANCH_PREFIX, HubError, RepoHub};

/// The name of our check run and of our commit status.
pub const CHECK: &str = "coldframe";
/// The hub's bound on the description of a status.
const DESCRIPTION: usize = 140;
/// The hub's bound on texts of check runs, in bytes, with room for the mark of the cut.
const SUMMARY: usize = 65_000;

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

/// How our check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckConclusion {
    /// It waits; a neutral one would satisfy a required check.
    ActionRequired,
    /// The bot may merge.
    Success,
    /// The bot never will.
    Failure,
}

/// Our check on one commit, as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDraft {
    /// The commit.
    pub head: Sha,
    /// How it stands.
    pub conclusion: CheckConclusion,
    /// One line; a plain token's status shows only this, cut to 140 characters.
    pub title: String,
    /// Markdown, cut to what the hub takes.
    pub summary: String,
    /// Where "Details" leads.
    pub details: Option<String>,
}

impl CheckDraft {
    /// A mark of the content. The hub keeps it as `external_id`, and [`super::HubCheck::mark`]
    /// shows it again: when the two agree nothing has to be written.
    pub fn mark(&self) -> String {
        let parts = (self.head.as_str(), conclusion(self.conclusion), &self.title, &self.summary, &self.details);
        let text = format!("{parts:?}");
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
        digest.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The description that a plain token's status shows.
    pub fn description(&self) -> String {
        match self.title.char_indices().nth(DESCRIPTION - 1) {
            Some((end, last)) if end + last.len_utf8() < self.title.len() => format!("{}…", &self.title[..end]),
            _ => self.title.clone(),
        }
    }
}

fn conclusion(conclusion: CheckConclusion) -> &'static str {
    match conclusion {
        CheckConclusion::ActionRequired => "action_required",
        CheckConclusion::Success => "success",
        CheckConclusion::Failure => "failure",
    }
}

/// The text in at most `most` bytes, with a mark where it was cut.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub('…'.len_utf8());
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= room).last().unwrap_or(0);
    format!("{}…", &text[..end])
}

#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

#[derive(Deserialize)]
struct Identified {
    id: u64,
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

    async fn patch_pull(&self, number: PullNumber, sent: Value) -> Result<(), HubError> {
        self.main().write(Method::PATCH, &self.path(&format!("/pulls/{}", number.0)), Some(sent)).await?;
        Ok(())
    }

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

    /// Comments on it; the number of the comment.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn comment(&self, number: PullNumber, body: &str) -> Result<u64, HubError> {
        let path = self.path(&format!("/issues/{}/comments", number.0));
        let made: Identified = self.main().write_for(Method::POST, &path, json!({ "body": body })).await?;
        Ok(made.id)
    }

    /// Puts another text into a comment of ours.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn edit_comment(&self, id: u64, body: &str) -> Result<(), HubError> {
        let path = self.path(&format!("/issues/comments/{id}"));
        self.main().write(Method::PATCH, &path, Some(json!({ "body": body }))).await?;
        Ok(())
    }

    /// Writes our check: a check run, made new or in place of `existing`; with a plain token,
    /// which cannot, a commit status. The number of the run.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened.
    pub async fn set_check(&self, check: &CheckDraft, existing: Option<u64>) -> Result<Option<u64>, HubError> {
        if self.inner.plain {
            let path = self.path(&format!("/statuses/{}", segment(check.head.as_str())));
            self.main().write(Method::POST, &path, Some(status(check))).await?;
            return Ok(None);
        }
        let mut sent = json!({
            "name": CHECK,
            "status": "completed",
            "conclusion": conclusion(check.conclusion),
            "external_id": check.mark(),
            "output": { "title": check.title, "summary": cut(&check.summary, SUMMARY) },
        });
        if let Some(details) = &check.details {
            sent["details_url"] = Value::from(details.as_str());
        }
        let (method, path) = match existing {
            Some(id) => (Method::PATCH, self.path(&format!("/check-runs/{id}"))),
            None => {
                sent["head_sha"] = Value::from(check.head.as_str());
                (Method::POST, self.path("/check-runs"))
            }
        };
        let run: Identified = self.main().write_for(method, &path, sent).await?;
        Ok(Some(run.id))
    }

    /// Deletes one of our branches. One that is gone already is deleted.
    ///
    /// # Errors
    /// Not a branch of ours, refused, or unknown whether it happened.
    pub async fn delete_branch(&self, branch: &str) -> Result<(), HubError> {
        if !branch.starts_with(BRANCH_PREFIX) {
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

fn status(check: &CheckDraft) -> Value {
    let state = match check.conclusion {
        CheckConclusion::ActionRequired => "pending",
        CheckConclusion::Success => "success",
        CheckConclusion::Failure => "failure",
    };
    let mut sent = json!({ "state": state, "context": CHECK, "description": check.description() });
    if let Some(details) = &check.details {
        sent["target_url"] = Value::from(details.as_str());
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(title: &str) -> CheckDraft {
        let (summary, details) = ("| gate |".to_owned(), None);
        let conclusion = CheckConclusion::ActionRequired;
        CheckDraft { head: Sha::from("abc"), conclusion, title: title.to_owned(), summary, details }
    }

    #[test]
    fn texts_are_cut_at_letters() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("shorter", 6), "sho…");
        assert_eq!(cut("üüüü", 7), "üü…");
        for length in [139, 140, 141, 500] {
            let description = draft(&"ü".repeat(length)).description();
            assert_eq!(description.chars().count(), length.min(140), "{length}");
            assert_eq!(description.ends_with('…'), length > 140, "{length}");
        }
    }

    #[test]
    fn the_mark_changes_with_the_content() {
        let mark = draft("a").mark();
        assert_eq!(mark, draft("a").mark());
        assert_eq!(mark.len(), 32);
        let other = CheckDraft { conclusion: CheckConclusion::Success, ..draft("a") };
        for changed in [draft("b"), other, CheckDraft { head: Sha::from("abd"), ..draft("a") }] {
            assert_ne!(mark, changed.mark());
        }
    }

    #[test]
    fn a_status_stands_for_a_check() {
        for (conclusion, state) in [
            (CheckConclusion::ActionRequired, "pending"),
            (CheckConclusion::Success, "success"),
            (CheckConclusion::Failure, "failure"),
        ] {
            let sent = status(&CheckDraft { conclusion, details: Some("http://x".to_owned()), ..draft("t") });
            assert_eq!((&sent["state"], &sent["context"]), (&json!(state), &json!("coldframe")));
            assert_eq!(sent["target_url"], json!("http://x"));
        }
    }
}
