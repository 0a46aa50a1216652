//! Pull requests, what is said on them, and what is said about commits.

use std::collections::BTreeSet;

use jiff::Timestamp;

/// One pull request.
#[derive(Clone, Debug)]
pub struct Pull {
    /// Its id.
    pub id: u64,
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Login of who opened it.
    pub author: String,
    /// Head branch.
    pub head: String,
    /// The fork that the head branch is in, `owner/name`; none = this repository.
    pub fork: Option<String>,
    /// Head commit; stays when the branch is deleted.
    pub head_sha: String,
    /// Who pushed the head.
    pub pusher: String,
    /// Base branch.
    pub base: String,
    /// Tip of the base when the head moved last.
    pub base_sha: String,
    /// Not ready for review.
    pub draft: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When anything changed last.
    pub updated_at: Timestamp,
    /// When its text was changed last, and by whom.
    pub edited: Option<(Timestamp, String)>,
    /// When it was closed (merged or not), and by whom.
    pub closed: Option<(Timestamp, String)>,
    /// How it was merged.
    pub merged: Option<Merged>,
    /// Who has switched auto-merge on, and when.
    pub auto_merge: Option<(Timestamp, String)>,
    /// Names of labels.
    pub labels: BTreeSet<String>,
    /// Logins of those who are assigned.
    pub assignees: BTreeSet<String>,
    /// Logins asked to review.
    pub requested: BTreeSet<String>,
    /// Teams of the organization asked to review, by their names in addresses.
    pub requested_teams: BTreeSet<String>,
    /// Reviews, oldest first.
    pub reviews: Vec<Review>,
    /// Conversations about lines, oldest first: whether each is resolved.
    pub conversations: Vec<bool>,
    /// Closings, reopenings and merges, oldest first.
    pub timeline: Vec<Turn>,
    /// The hub lost track of it: its merge is on the base, yet it stays open (a fault).
    pub stuck: bool,
}

impl Pull {
    /// Neither closed nor merged.
    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Whether this branch of this repository is its head.
    pub fn is_of(&self, branch: &str) -> bool {
        self.fork.is_none() && self.head == branch
    }
}

/// How a pull request was merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// The commit on the base.
    pub sha: String,
}

/// A turn in the life of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub id: u64,
    /// What happened.
    pub what: Turned,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// The merge commit, or the new head.
    pub commit: Option<String>,
}

/// What happened in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// Closed, merged or not.
    Closed,
    /// Opened again.
    Reopened,
    /// Merged.
    Merged,
    /// Head replaced by one that does not contain the old.
    ForcePushed,
    /// Head branch deleted.
    HeadDeleted,
    /// Marked as a draft.
    ConvertedToDraft,
    /// No draft any more.
    ReadyForReview,
    /// Put into the merge queue.
    Enqueued,
    /// Taken out of it, unmerged: the hub's word for why.
    Dequeued(&'static str),
}

/// One review.
#[derive(Clone, Debug)]
pub struct Review {
    /// Its id.
    pub id: u64,
    /// Who.
    pub author: String,
    /// What they said.
    pub state: ReviewState,
    /// In words.
    pub body: String,
    /// The head they saw.
    pub commit: String,
    /// When.
    pub at: Timestamp,
    /// When its words were changed last, and by whom.
    pub edited: Option<(Timestamp, String)>,
}

/// What a review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// Yes.
    Approved,
    /// No.
    ChangesRequested,
    /// Neither.
    Commented,
    /// Taken back.
    Dismissed,
}

impl ReviewState {
    /// GitHub's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// A comment on a pull request.
#[derive(Clone, Debug)]
pub struct Comment {
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
    /// By whom.
    pub editor: Option<String>,
    /// Reactions to it, oldest first.
    pub reactions: Vec<Reaction>,
}

/// What a reaction may be: as REST calls it, and as GraphQL does.
pub const REACTIONS: [(&str, &str); 8] = [
    ("+1", "THUMBS_UP"),
    ("-1", "THUMBS_DOWN"),
    ("laugh", "LAUGH"),
    ("hooray", "HOORAY"),
    ("confused", "CONFUSED"),
    ("heart", "HEART"),
    ("rocket", "ROCKET"),
    ("eyes", "EYES"),
];

/// A reaction to a comment.
#[derive(Clone, Debug)]
pub struct Reaction {
    /// Its id.
    pub id: u64,
    /// Whose.
    pub by: String,
    /// One of [`REACTIONS`], as REST calls it.
    pub content: &'static str,
    /// When.
    pub at: Timestamp,
}

/// A check run.
#[derive(Clone, Debug)]
pub struct CheckRun {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The commit it speaks of.
    pub head_sha: String,
    /// The App that wrote it.
    pub app: u64,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// Set when completed.
    pub conclusion: Option<String>,
    /// Headline of the output.
    pub title: Option<String>,
    /// Markdown of the output.
    pub summary: Option<String>,
    /// More Markdown.
    pub text: Option<String>,
    /// Where more stands.
    pub details_url: Option<String>,
    /// The App's own name for it.
    pub external_id: Option<String>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it was completed.
    pub completed_at: Option<Timestamp>,
    /// What it says of lines, in the order in which it was said.
    pub annotations: Vec<Annotation>,
}

/// What a check run says of lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The file.
    pub path: String,
    /// Its first line.
    pub start_line: u64,
    /// Its last line.
    pub end_line: u64,
    /// `notice`, `warning` or `failure`.
    pub level: String,
    /// What is said.
    pub message: String,
    /// Its headline.
    pub title: Option<String>,
}

/// A deployment of a commit to an environment.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its id.
    pub id: u64,
    /// The commit.
    pub sha: String,
    /// Where to.
    pub environment: String,
    /// Who asked for it.
    pub creator: String,
    /// When.
    pub created_at: Timestamp,
    /// What was said of it last.
    pub status: Option<DeploymentStatus>,
}

/// What was said of a deployment.
#[derive(Clone, Debug)]
pub struct DeploymentStatus {
    /// GitHub's word: `success`, `failure`, `inactive` and others.
    pub state: String,
    /// Who said it.
    pub creator: String,
    /// When.
    pub created_at: Timestamp,
}

/// A commit status.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its id.
    pub id: u64,
    /// The commit.
    pub sha: String,
    /// Its name.
    pub context: String,
    /// `error`, `failure`, `pending` or `success`.
    pub state: String,
    /// One line.
    pub description: Option<String>,
    /// Where more stands.
    pub target_url: Option<String>,
    /// Who wrote it.
    pub creator: String,
    /// When.
    pub created_at: Timestamp,
}
