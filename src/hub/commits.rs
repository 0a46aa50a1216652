//! What the hub says of commits, of this repository or of another one that our credential may read: the
//! commit at a tag, and the checks on it. Which of them a release needs is said by the policy.

use decide::Sha;
use decide::snapshot::{CheckState, RequiredCheck};
use serde::Deserialize;

use super::client::segment;
use super::wire_file::WireFile;
use super::{HubError, RepoHub};

/// Statuses in one answer; a commit with more of them is nobody's.
const MOST_STATUSES: usize = 100;

#[derive(Deserialize)]
struct WireRef {
    #[serde(rename = "ref")]
    name: String,
}

/// The statuses of a commit, the newest of each context.
#[derive(Deserialize)]
struct WireStatuses {
    sha: String,
    total_count: usize,
    statuses: Vec<WireStatus>,
}

#[derive(Deserialize)]
struct WireStatus {
    context: String,
    state: String,
}

#[derive(Deserialize)]
struct WireRun {
    name: String,
    status: String,
    conclusion: Option<String>,
}

impl RepoHub {
    /// Whether a host and port in an address are those of this hub's pages.
    pub fn is_at(&self, url: &url::Url) -> bool {
        self.main().line().bases.web.origin() == url.origin()
    }

    /// Whether a repository (`owner/name`) has a tag of this name. A repository that is not there or
    /// hidden from us is an error, never a no.
    ///
    /// # Errors
    /// It could not be read.
    pub async fn has_tag(&self, repository: &str, tag: &str) -> Result<bool, HubError> {
        let name = tag.split('/').map(segment).collect::<Vec<_>>().join("/");
        let path = format!("{}/git/matching-refs/tags/{name}?per_page=100", root(repository)?);
        let found: Vec<WireRef> = self.main().pages(&path, None).await?;
        Ok(found.iter().any(|found| found.name == format!("refs/tags/{tag}")))
    }

    /// Whether a commit of this repository is `tip` or an ancestor of it.
    ///
    /// # Errors
    /// It could not be read, or one of them is not there.
    pub async fn contains(&self, tip: &Sha, commit: &Sha) -> Result<bool, HubError> {
        self.is_ancestor(&self.path(""), commit.as_str(), tip.as_str()).await
    }

    /// The text of a file of a public repository, or of our own, at a commit that its default branch contains: others
    /// could be those of somebody's fork, which the hub shows as if they were its own.
    ///
    /// # Errors
    /// It could not be read, is not there, or is not to be read by whoever may write a policy.
    pub async fn pinned_file(&self, repository: &str, path: &str, commit: &Sha) -> Result<String, HubError> {
        let root = root(repository)?;
        let found = self.public(repository, &root).await?;
        if !self.is_ancestor(&root, commit.as_str(), &found.default_branch).await? {
            let branch = super::error::harmless(&found.default_branch);
            return Err(HubError::Setup(format!("{commit} is not on the branch {branch} of {repository}")));
        }
        let file = path.split('/').map(segment).collect::<Vec<_>>().join("/");
        let path = format!("{root}/contents/{file}?ref={}", segment(commit.as_str()));
        self.main().get::<WireFile>(&path).await?.text(&format!("GET {path}"))
    }

    /// Whether one commit is another one or an ancestor of it.
    async fn is_ancestor(&self, root: &str, commit: &str, tip: &str) -> Result<bool, HubError> {
        #[derive(Deserialize)]
        struct Compared {
            status: String,
        }
        // The first page has the files, too, which nobody asks for.
        let path = format!("{root}/compare/{}...{}?per_page=1&page=2", segment(commit), segment(tip));
        let compared: Compared = self.main().get(&path).await?;
        Ok(matches!(compared.status.as_str(), "ahead" | "identical"))
    }

    /// The commit that a tag leads to, through an annotated one, too.
    ///
    /// # Errors
    /// It could not be read, or is not there.
    pub async fn commit_at(&self, repository: &str, tag: &str) -> Result<Sha, HubError> {
        Ok(Sha::new(self.statuses(repository, &format!("tags/{tag}")).await?.sha))
    }

    /// How the checks of these names stand on a commit, by its id. One that has several of a name needs
    /// all of them green; one that has none is left out.
    ///
    /// # Errors
    /// Runs or statuses could not be read: then nothing is known.
    pub async fn checks_on(
        &self,
        repository: &str,
        commit: &Sha,
        names: &[String],
    ) -> Result<Vec<RequiredCheck>, HubError> {
        let commit = commit.as_str();
        let path = format!("{}/commits/{}/check-runs?filter=latest&per_page=100", root(repository)?, segment(commit));
        let runs: Vec<WireRun> = self.main().pages(&path, Some("check_runs")).await?;
        let statuses = self.statuses(repository, commit).await?;
        if statuses.sha != commit {
            let what = format!("GET {path}");
            return Err(HubError::Malformed { what, why: format!("it speaks of {}, not of {commit}", statuses.sha) });
        }
        let runs = runs.iter().map(|run| (&run.name, of_run(&run.status, run.conclusion.as_deref())));
        let states: Vec<(&String, CheckState)> =
            runs.chain(statuses.statuses.iter().map(|status| (&status.context, of_status(&status.state)))).collect();
        let stands = |name: &String| {
            let of_name = states.iter().filter(|(known, _)| *known == name).map(|(_, state)| *state);
            Some(RequiredCheck { name: name.clone(), state: of_name.reduce(worse)? })
        };
        Ok(names.iter().filter_map(stands).collect())
    }

    async fn statuses(&self, repository: &str, name: &str) -> Result<WireStatuses, HubError> {
        let path = format!("{}/commits/{}/status?per_page={MOST_STATUSES}", root(repository)?, segment(name));
        let found: WireStatuses = self.main().get(&path).await?;
        if found.total_count > found.statuses.len() {
            let why = format!("{} statuses on one commit", found.total_count);
            return Err(HubError::TooMuch { what: format!("GET {path}"), why });
        }
        Ok(found)
    }
}

/// `/repos/{owner}/{name}` of any repository.
pub(super) fn root(repository: &str) -> Result<String, HubError> {
    match repository.split_once('/') {
        Some((owner, name)) if super::plain(owner) && super::plain(name) => Ok(format!("/repos/{owner}/{name}")),
        _ => Err(HubError::Setup(format!("`{}` is not `owner/name`", super::error::harmless(repository)))),
    }
}

/// Neutral and skipped are not green here, other than on a pull request: what released a version has to
/// have run. They may still run, as may every word that we do not know.
pub(super) fn of_run(status: &str, conclusion: Option<&str>) -> CheckState {
    match (status, conclusion) {
        ("completed", Some("success")) => CheckState::Success,
        (
            "completed",
            Some("failure" | "timed_out" | "cancelled" | "action_required" | "startup_failure" | "stale"),
        ) => CheckState::Failure,
        _ => CheckState::Pending,
    }
}

fn of_status(state: &str) -> CheckState {
    match state {
        "success" => CheckState::Success,
        "failure" | "error" => CheckState::Failure,
        _ => CheckState::Pending,
    }
}

fn worse(one: CheckState, other: CheckState) -> CheckState {
    match (one, other) {
        (CheckState::Failure, _) | (_, CheckState::Failure) => CheckState::Failure,
        (CheckState::Pending, _) | (_, CheckState::Pending) => CheckState::Pending,
        (CheckState::Success, CheckState::Success) => CheckState::Success,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_what_ran_to_a_good_end_is_green() {
        use CheckState::{Failure, Pending, Success};
        for (status, conclusion, state) in [
            ("completed", Some("success"), Success),
            ("completed", Some("neutral"), Pending),
            ("completed", Some("skipped"), Pending),
            ("completed", Some("failure"), Failure),
            ("completed", Some("cancelled"), Failure),
            ("completed", Some("word of tomorrow"), Pending),
            ("completed", None, Pending),
            ("in_progress", Some("success"), Pending),
            ("queued", None, Pending),
        ] {
            assert_eq!(of_run(status, conclusion), state, "{status} {conclusion:?}");
        }
        for (word, state) in
            [("success", Success), ("error", Failure), ("failure", Failure), ("pending", Pending), ("", Pending)]
        {
            assert_eq!(of_status(word), state, "{word}");
        }
        assert_eq!([Success, Pending, Failure].into_iter().reduce(worse), Some(Failure));
        assert_eq!([Success, Pending].into_iter().reduce(worse), Some(Pending));
        assert_eq!([Success, Success].into_iter().reduce(worse), Some(Success));
    }

    #[test]
    fn a_repository_is_an_owner_and_a_name() {
        assert_eq!(root("acme/charts").unwrap(), "/repos/acme/charts");
        for text in ["charts", "acme/", "/charts", "acme/a/b", "acme/..", "acme/a%2Fb", "acme/a?b"] {
            assert!(root(text).is_err(), "{text}");
        }
    }
}
