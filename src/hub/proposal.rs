//! A change of one file that a person proposes: branch, commit and pull request are theirs, made with their own token.
//! What it changes is decided elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decide::Sha;
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::line::Call;
use super::sign_in::Visitor;
use super::{HubError, Repository, segment};

/// What is proposed.
pub struct Proposal<'a> {
    /// Where.
    pub repository: &'a Repository,
    /// The commit of its default branch that the file was read from.
    pub commit: &'a Sha,
    /// The branch to make.
    pub branch: &'a str,
    /// The file, from the root.
    pub path: &'a str,
    /// What it says at that commit.
    pub before: &'a str,
    /// What it is to say.
    pub after: &'a str,
    /// The title of commit and pull request.
    pub title: &'a str,
    /// The text of the pull request.
    pub text: &'a str,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Proposed {
    /// It is open.
    Open {
        /// The pull request.
        number: u64,
        /// Its page.
        url: String,
        /// It was before.
        before: bool,
    },
    /// The branch is there, and no pull request.
    Branch,
    /// The file is another one there than it was read.
    Changed,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
}

impl Visitor {
    /// Proposes it. What fails in between leaves no branch behind, as far as GitHub lets it be removed.
    ///
    /// # Errors
    /// The hub does not let them, or does not answer.
    pub async fn propose(&self, proposal: &Proposal<'_>) -> Result<Proposed, HubError> {
        let Proposal { repository, commit, branch, .. } = proposal;
        let root = format!("/repos/{}/{}", segment(&repository.owner), segment(&repository.name));
        let made = json!({"ref": format!("refs/heads/{branch}"), "sha": commit.as_str()});
        match self.asks::<Value>(Call::write(Method::POST, format!("{root}/git/refs"), Some(made))).await {
            Ok(_) => {}
            Err(HubError::Refused { status: 422, why, .. }) if why.contains("already exists") => {
                return self.standing(&root, proposal).await;
            }
            Err(other) => return Err(other),
        }
        let opened = self.fill(&root, proposal).await;
        if !matches!(opened, Ok(Proposed::Open { .. })) {
            let call = Call::write(Method::DELETE, format!("{root}/git/refs/heads/{branch}"), None);
            if let Err(error) = self.exchange(&call).await {
                tracing::debug!(%error, "the branch of a proposal that failed stays");
            }
        }
        opened
    }

    /// The commit and the pull request.
    async fn fill(&self, root: &str, proposal: &Proposal<'_>) -> Result<Proposed, HubError> {
        #[derive(Deserialize)]
        struct File {
            sha: String,
            content: String,
        }
        let Proposal { repository, branch, path, before, after, title, text, .. } = proposal;
        let path: Vec<String> = path.split('/').map(segment).collect();
        let path = format!("{root}/contents/{}", path.join("/"));
        let file: File = self.asks(Call::get(format!("{path}?ref={}", segment(branch)))).await?;
        let content: String = file.content.split_ascii_whitespace().collect();
        // Letter by letter: what is no text was read as something else, and would be written so.
        if STANDARD.decode(content).ok().as_deref() != Some(before.as_bytes()) {
            return Ok(Proposed::Changed);
        }
        let written = json!({"message": title, "content": STANDARD.encode(after), "sha": file.sha, "branch": branch});
        self.asks::<Value>(Call::write(Method::PUT, path, Some(written))).await?;
        let opened = json!({"title": title, "head": branch, "base": repository.default_branch, "body": text});
        let pull: Pull = self.asks(Call::write(Method::POST, format!("{root}/pulls"), Some(opened))).await?;
        Ok(Proposed::Open { number: pull.number, url: pull.html_url, before: false })
    }

    /// What is proposed from a branch that is there.
    async fn standing(&self, root: &str, proposal: &Proposal<'_>) -> Result<Proposed, HubError> {
        let Proposal { repository, branch, .. } = proposal;
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("head", &format!("{}:{branch}", repository.owner))
            .append_pair("base", &repository.default_branch)
            .append_pair("state", "open")
            .finish();
        let pulls: Vec<Pull> = self.asks(Call::get(format!("{root}/pulls?{query}"))).await?;
        let open = |pull: Pull| Proposed::Open { number: pull.number, url: pull.html_url, before: true };
        Ok(pulls.into_iter().next().map_or(Proposed::Branch, open))
    }

    async fn asks<T: DeserializeOwned>(&self, call: Call) -> Result<T, HubError> {
        self.exchange(&call).await?.success(&call)?.json(&call)
    }
}
