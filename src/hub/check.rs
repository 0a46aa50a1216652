//! Our check on a commit: a check run of an App, a commit status with a plain token.

use decide::Sha;
use http::Method;
use serde_json::{Value, json};

use super::client::segment;
use super::write::Identified;
use super::{HubError, RepoHub};

/// The name of our check run and of our commit status.
pub const CHECK: &str = "coldframe";
/// The hub's bound on the description of a status.
const DESCRIPTION: usize = 140;
/// The hub's bound on texts of check runs, in bytes, with room for the mark of the cut.
const SUMMARY: usize = 65_000;

/// The hub takes so many annotations with one request.
const ANNOTATIONS: usize = 50;

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

/// What our check says of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckAnnotation {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
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
    /// What is wrong at which line; the first fifty are told.
    pub annotations: Vec<CheckAnnotation>,
}

impl CheckDraft {
    /// A mark of the content. The hub keeps it as `external_id`, and [`super::HubCheck::mark`]
    /// shows it again: when the two agree nothing has to be written.
    pub fn mark(&self) -> String {
        let parts = (self.head.as_str(), conclusion(self.conclusion), &self.title, &self.summary, &self.details);
        let mut text = format!("{parts:?}");
        if !self.annotations.is_empty() {
            text.push_str(&format!("{:?}", self.annotations));
        }
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

impl RepoHub {
    /// Writes our check: a check run, made new or in place of `existing`; with a plain token,
    /// which cannot, a commit status. The number of the run. The hub adds annotations to those that `existing`
    /// has, so that one with other annotations has to be made new.
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
        if !check.annotations.is_empty() {
            sent["output"]["annotations"] = check.annotations.iter().take(ANNOTATIONS).map(annotation).collect();
        }
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
}

fn annotation(one: &CheckAnnotation) -> Value {
    let line = one.line.max(1);
    json!({
        "path": one.path, "start_line": line, "end_line": line, "annotation_level": "failure", "message": one.message,
    })
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
        let annotations = Vec::new();
        CheckDraft { head: Sha::from("abc"), conclusion, title: title.to_owned(), summary, details, annotations }
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
        let said = |line| {
            let annotations = vec![CheckAnnotation { path: "a".to_owned(), line, message: "no".to_owned() }];
            CheckDraft { annotations, ..draft("a") }
        };
        assert_ne!(said(1).mark(), said(2).mark());
        for changed in [draft("b"), other, said(1), CheckDraft { head: Sha::from("abd"), ..draft("a") }] {
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
