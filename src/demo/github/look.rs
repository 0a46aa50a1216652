//! Looking at the world from inside the process: for the story, and for tests that assert that nothing
//! unexpected was done.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::GitHub;
use super::git::Commit;
use super::setup::plainly;
use super::signature::verification;
use super::state::{Annotation, Delivered, Issue, Repository, ReviewState, Told, World};

/// A pull request as a test wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullView {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: String,
    /// Who opened it.
    pub author: String,
    /// Its head branch.
    pub head: String,
    /// Its head commit.
    pub head_sha: String,
    /// Its base branch.
    pub base: String,
    /// Open, merged, closed.
    pub standing: PullStanding,
    /// A draft.
    pub draft: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Labels.
    pub labels: Vec<String>,
    /// Who is assigned.
    pub assignees: Vec<String>,
    /// Who is asked for a review: people, and teams by the names that addresses have.
    pub requested: Vec<String>,
    /// Reviews, oldest first.
    pub reviews: Vec<ReviewView>,
    /// Comments, oldest first.
    pub comments: Vec<CommentView>,
    /// Check runs on its head, oldest first.
    pub checks: Vec<CheckView>,
    /// Paths it changes.
    pub files: Vec<String>,
    /// What reviews and checks are missing for a merge.
    pub blockers: Vec<String>,
}

/// Open, merged or closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullStanding {
    /// Open.
    Open,
    /// Merged.
    Merged {
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
        /// The commit on the base.
        commit: String,
    },
    /// Closed unmerged.
    Closed {
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
    },
}

/// A review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewView {
    /// Who.
    pub author: String,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED` or `DISMISSED`.
    pub state: &'static str,
    /// The head they saw.
    pub commit: String,
    /// In words.
    pub body: String,
}

impl ReviewView {
    /// Whether it is a standing yes.
    pub fn approves(&self) -> bool {
        self.state == ReviewState::Approved.name()
    }
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentView {
    /// Its id.
    pub id: u64,
    /// The pull request.
    pub number: u64,
    /// Who.
    pub author: String,
    /// What.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// Reactions to it, oldest first: by whom, and which.
    pub reactions: Vec<(String, &'static str)>,
}

/// A check run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckView {
    /// Its name.
    pub name: String,
    /// The commit.
    pub head_sha: String,
    /// The App's slug.
    pub app: String,
    /// `completed` ...
    pub status: String,
    /// `success` ...
    pub conclusion: Option<String>,
    /// Headline.
    pub title: Option<String>,
    /// Markdown.
    pub summary: Option<String>,
    /// What it says of lines.
    pub annotations: Vec<Annotation>,
}

fn view(world: &mut World, id: u64, number: u64) -> anyhow::Result<PullView> {
    let standing = world.standing(id, number).map_err(plainly)?;
    let pull = world.pull_of(id, number).map_err(plainly)?.clone();
    let repo = world.repo(id).map_err(plainly)?;
    Ok(PullView {
        comments: comments(repo, Some(number)),
        checks: checks(world, repo, &pull.head_sha),
        files: standing.changes.into_iter().map(|change| change.path).collect(),
        blockers: standing.blockers,
        standing: match (&pull.merged, &pull.closed) {
            (Some(merged), _) => {
                PullStanding::Merged { by: merged.by.clone(), at: merged.at, commit: merged.sha.clone() }
            }
            (None, Some((at, by))) => PullStanding::Closed { by: by.clone(), at: *at },
            (None, None) => PullStanding::Open,
        },
        reviews: pull
            .reviews
            .iter()
            .map(|review| ReviewView {
                author: review.author.clone(),
                state: review.state.name(),
                commit: review.commit.clone(),
                body: review.body.clone(),
            })
            .collect(),
        labels: pull.labels.iter().cloned().collect(),
        assignees: pull.assignees.iter().cloned().collect(),
        requested: pull.requested.iter().chain(&pull.requested_teams).cloned().collect(),
        number: pull.number,
        title: pull.title,
        body: pull.body,
        author: pull.author,
        head: pull.head,
        head_sha: pull.head_sha,
        base: pull.base,
        draft: pull.draft,
        created_at: pull.created_at,
    })
}

fn comments(repo: &Repository, number: Option<u64>) -> Vec<CommentView> {
    let wanted = repo.comments.values().filter(|comment| number.is_none_or(|number| number == comment.number));
    wanted
        .map(|comment| CommentView {
            id: comment.id,
            number: comment.number,
            author: comment.author.clone(),
            body: comment.body.clone(),
            created_at: comment.created_at,
            updated_at: comment.updated_at,
            reactions: comment.reactions.iter().map(|one| (one.by.clone(), one.content)).collect(),
        })
        .collect()
}

fn checks(world: &World, repo: &Repository, commit: &str) -> Vec<CheckView> {
    let wanted = repo.checks.values().filter(|check| check.head_sha == commit);
    wanted
        .map(|check| CheckView {
            name: check.name.clone(),
            head_sha: check.head_sha.clone(),
            app: world.apps.get(&check.app).map_or_else(String::new, |app| app.slug.clone()),
            status: check.status.clone(),
            conclusion: check.conclusion.clone(),
            title: check.title.clone(),
            summary: check.summary.clone(),
            annotations: check.annotations.clone(),
        })
        .collect()
}

impl GitHub {
    /// All pull requests of a repository, by number.
    pub fn pulls(&self, repository: &str) -> anyhow::Result<Vec<PullView>> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let numbers: Vec<u64> = world.repo(id).map_err(plainly)?.pulls.keys().copied().collect();
        numbers.into_iter().map(|number| view(&mut world, id, number)).collect()
    }

    /// The number that a repository keeps whatever it is called.
    pub fn repository_id(&self, repository: &str) -> anyhow::Result<u64> {
        self.world().named(repository)
    }

    /// One pull request.
    pub fn pull(&self, repository: &str, number: u64) -> anyhow::Result<PullView> {
        let mut world = self.world();
        let id = world.named(repository)?;
        view(&mut world, id, number)
    }

    /// All issues of a repository that are no pull requests, oldest first.
    pub fn issues(&self, repository: &str) -> anyhow::Result<Vec<Issue>> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        Ok(repo.issues.values().cloned().collect())
    }

    /// All comments of a repository, oldest first.
    pub fn comments(&self, repository: &str) -> anyhow::Result<Vec<CommentView>> {
        let world = self.world();
        let id = world.named(repository)?;
        Ok(comments(world.repo(id).map_err(plainly)?, None))
    }

    /// The commits of a branch along first parents, newest first.
    pub fn log(&self, repository: &str, branch: &str) -> anyhow::Result<Vec<Commit>> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        repo.git.log(&["--first-parent", &format!("refs/heads/{branch}")])
    }

    /// Whether the hub knows who signed a commit.
    pub fn is_verified(&self, repository: &str, sha: &str) -> anyhow::Result<bool> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        Ok(verification(&repo.git, sha)?.verified)
    }

    /// The check runs on a commit.
    pub fn checks(&self, repository: &str, commit: &str) -> anyhow::Result<Vec<CheckView>> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        Ok(checks(&world, repo, commit))
    }

    /// The commit at a branch; none when there is no such branch.
    pub fn head(&self, repository: &str, branch: &str) -> anyhow::Result<Option<String>> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        Ok(repo.head(branch).map(str::to_owned))
    }

    /// All branches with their commits.
    pub fn branches(&self, repository: &str) -> anyhow::Result<BTreeMap<String, String>> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        let names = repo.refs.iter().filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?, sha)));
        Ok(names.map(|(name, sha)| (name.to_owned(), sha.clone())).collect())
    }

    /// The text of a file at a branch or commit; none when it is not there.
    pub fn file(&self, repository: &str, at: &str, path: &str) -> anyhow::Result<Option<String>> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        let commit = repo.head(at).unwrap_or(at);
        Ok(repo.git.file(commit, path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The unified diff of one commit against its first parent.
    pub fn diff(&self, repository: &str, commit: &str) -> anyhow::Result<String> {
        let world = self.world();
        let repo = world.repo(world.named(repository)?).map_err(plainly)?;
        let found = repo.git.commit(commit)?;
        repo.git.diff(found.parents.first().map_or(super::git::EMPTY_TREE, String::as_str), commit, None)
    }

    /// What happened in a repository, in order: `opened #3 coldframe/x/qa by coldframe[bot]`.
    pub fn events(&self, repository: &str) -> anyhow::Result<Vec<String>> {
        let world = self.world();
        let id = world.named(repository)?;
        Ok(world.events.iter().filter(|event| event.repository == id).map(|event| event.text.clone()).collect())
    }

    /// How often each method and route was asked, such as `GET /repos/{owner}/{repo}/pulls`.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.world().requests.clone()
    }

    /// Webhooks that left, with the answer that they got.
    pub fn deliveries(&self) -> Vec<Delivered> {
        self.world().delivered.clone()
    }

    /// What the hub told people of, in order.
    pub fn told(&self) -> Vec<Told> {
        self.world().told.clone()
    }

    /// All routes of the REST API that it answers, as `GET /repos/{owner}/{repo}`.
    pub fn routes() -> Vec<String> {
        super::rest::routes().into_iter().map(|(method, path, _)| format!("{method} {path}")).collect()
    }
}
