//! Commits that the hub makes and signs for an App, where branch rules ask for signatures: no key of ours would be known
//! there. They are on no branch; pushing one is the caller's.

use decide::Sha;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{HubError, RepoHub};

/// A file of a tree that the hub is to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path.
    pub path: String,
    /// Whether it is a program.
    pub executable: bool,
    /// Its text; none = it is taken away.
    pub text: Option<String>,
}

/// A commit that the hub made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCommit {
    /// Its id.
    pub id: Sha,
    /// Why its signature is none that the hub knows; none where it does.
    pub unverified: Option<String>,
    /// What the object may look like: the hub tells what it signed and the signature, not how it put the two together.
    pub objects: Vec<String>,
}

#[derive(Deserialize)]
struct Made {
    sha: String,
    #[serde(default)]
    verification: Verification,
}

#[derive(Default, Deserialize)]
struct Verification {
    #[serde(default)]
    verified: bool,
    #[serde(default)]
    reason: String,
    signature: Option<String>,
    payload: Option<String>,
}

impl RepoHub {
    /// Makes a tree like `base` with these files changed; its id.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened; then it does no harm.
    pub async fn make_tree(&self, base: &str, files: &[TreeFile]) -> Result<String, HubError> {
        let entry = |file: &TreeFile| {
            let mode = if file.executable { "100755" } else { "100644" };
            let mut entry = json!({ "path": file.path, "mode": mode, "type": "blob" });
            match &file.text {
                Some(text) => entry["content"] = text.as_str().into(),
                None => entry["sha"] = Value::Null,
            }
            entry
        };
        let sent = json!({ "base_tree": base, "tree": files.iter().map(entry).collect::<Vec<_>>() });
        let made: Made = self.main().write_for(Method::POST, &self.path("/git/trees"), sent).await?;
        Ok(made.sha)
    }

    /// Makes a commit. Who wrote it is left to the hub: it signs for an App only what that says nothing about.
    ///
    /// # Errors
    /// Refused, or unknown whether it happened; then it does no harm.
    pub async fn make_commit(&self, message: &str, tree: &str, parents: &[Sha]) -> Result<HubCommit, HubError> {
        let parents: Vec<&str> = parents.iter().map(Sha::as_str).collect();
        let sent = json!({ "message": message, "tree": tree, "parents": parents });
        let made: Made = self.main().write_for(Method::POST, &self.path("/git/commits"), sent).await?;
        let Verification { verified, reason, signature, payload } = made.verification;
        let objects = payload.zip(signature).map_or_else(Vec::new, |(payload, signature)| signed(&payload, &signature));
        let unverified = (!verified).then(|| super::error::harmless(&reason));
        Ok(HubCommit { id: Sha::new(made.sha), unverified, objects })
    }
}

/// A commit object with its signature, with the last line end of that and without.
fn signed(payload: &str, signature: &str) -> Vec<String> {
    let Some((header, message)) = payload.split_once("\n\n") else { return Vec::new() };
    let with = |signature: &str| format!("{header}\ngpgsig {}\n\n{message}", signature.replace('\n', "\n "));
    vec![with(signature), with(signature.trim_end_matches('\n'))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_stands_at_the_end_of_the_header() {
        let payload = "tree 1\nauthor a\ncommitter b\n\nA change\n\nWhy.\n";
        let [with, without] = signed(payload, "BEGIN\n\nxyz\nEND\n").try_into().unwrap_or_default();
        assert_eq!(with, "tree 1\nauthor a\ncommitter b\ngpgsig BEGIN\n \n xyz\n END\n \n\nA change\n\nWhy.\n");
        assert_eq!(without, with.replace("END\n \n", "END\n"));
        assert!(signed("no message", "x").is_empty());
    }
}
