//! What the hub says of the releases of another repository, and a file that lies on its default branch. Only what
//! everybody may read: a release is named by a chart, and charts are strangers' words.

use serde::Deserialize;

use super::client::segment;
use super::commits::root;
use super::wire_file::WireFile;
use super::{HubError, RepoHub};

/// A release that everybody may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRelease {
    /// Its tag.
    pub tag: String,
    /// Its text, Markdown of strangers; none where it is empty.
    pub text: Option<String>,
}

#[derive(Deserialize)]
struct WireRelease {
    tag_name: String,
    draft: bool,
    body: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WirePublic {
    private: bool,
    pub(super) default_branch: String,
}

impl RepoHub {
    /// The newest hundred releases of a public repository, or of our own.
    ///
    /// # Errors
    /// They could not be read, or not everybody may read them.
    pub async fn releases(&self, repository: &str) -> Result<Vec<HubRelease>, HubError> {
        let root = root(repository)?;
        self.public(repository, &root).await?;
        let found: Vec<WireRelease> = self.main().get(&format!("{root}/releases?per_page=100")).await?;
        // Who may write there is shown drafts as well.
        let published = found.into_iter().filter(|release| !release.draft);
        let text = |body: Option<String>| body.filter(|text| !text.trim().is_empty());
        Ok(published.map(|release| HubRelease { tag: release.tag_name, text: text(release.body) }).collect())
    }

    /// The text of a file on the default branch of a public repository, or of our own; none where there is no such file.
    ///
    /// # Errors
    /// As `releases`.
    pub async fn public_file(&self, repository: &str, path: &str) -> Result<Option<String>, HubError> {
        let root = root(repository)?;
        self.public(repository, &root).await?;
        let file = path.split('/').map(segment).collect::<Vec<_>>().join("/");
        let path = format!("{root}/contents/{file}");
        match self.main().get::<WireFile>(&path).await {
            Ok(file) => file.text(&format!("GET {path}")).map(Some),
            Err(HubError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The page of a release.
    pub fn release_page(&self, repository: &str, tag: &str) -> String {
        let tag = tag.split('/').map(segment).collect::<Vec<_>>().join("/");
        format!("{}/{repository}/releases/tag/{tag}", self.main().line().bases.web.as_str().trim_end_matches('/'))
    }

    /// What the hub says of a repository, if everybody may read it or it is our own: a token of a person reads more than
    /// whoever writes the policy.
    pub(super) async fn public(&self, repository: &str, root: &str) -> Result<WirePublic, HubError> {
        let found: WirePublic = self.main().get(root).await?;
        if found.private && repository != self.repository().full_name() {
            return Err(HubError::Setup(format!("{repository} is not public")));
        }
        Ok(found)
    }
}
