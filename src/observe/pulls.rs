//! Turns the hub's page into the planner's pull requests: which tier, which version, whose reviews
//! and commands count. What follows from them is decided in `decide`.

use std::collections::BTreeSet;

use decide::snapshot::{Command, CommandKind, OwnedPath, Pull, PullState, Read, RequiredCheck, Review, SentNotice};
use decide::{Person, PluginName, TierName};
use jiff::Timestamp;

use super::{command, recall::Recall};
use crate::hub::{BRANCH_PREFIX, CHECK, CodeOwners, HubComment, HubPull, HubState, RepoHub, RequiredContext, Role};
use crate::policy::wiring::{People, Right};
use crate::tell;

/// The label that keeps a release from the tiers above.
const BLOCK: &str = "coldframe/block";

/// What the reading of one pull request needs beside the page.
pub struct Around<'a> {
    /// The hub, for rights and teams.
    pub hub: &'a RepoHub,
    /// Who may give which command.
    pub people: &'a People,
    /// The base branch of its tier.
    pub branch: &'a str,
    /// The code owners' file of that branch.
    pub owners: &'a Read<Option<String>>,
    /// The checks that branch rules require.
    pub required: &'a Read<Vec<RequiredContext>>,
    /// When this look began.
    pub now: Timestamp,
}

/// The plugin and the tier that a branch of ours is about.
pub fn subject(branch: &str) -> Option<(PluginName, TierName)> {
    let (plugin, tier) = branch.strip_prefix(BRANCH_PREFIX)?.split_once('/')?;
    (!tier.contains('/')).then(|| (PluginName::from(plugin), TierName::from(tier)))
}

/// Paths that hold the versions of a plugin.
pub struct Paths {
    /// Those that the pull request may change.
    pub own: Vec<String>,
    /// Those of every tier.
    pub all: Vec<String>,
}

/// One pull request as the planner sees it.
pub async fn planned(page: &HubPull, tier: TierName, paths: &Paths, around: &Around<'_>, recall: &mut Recall) -> Pull {
    let open = page.state == HubState::Open;
    let (reviews, unread_reviews) = match &page.reviews {
        Read::Known(_) => (reviews(page, around, recall).await, None),
        Read::Unread(why) => (Vec::new(), Some(format!("its reviews could not be read: {why}"))),
    };
    let (commands, unread_comments) = commands(page, paths, around, recall).await;
    let unread = unread_reviews.or(unread_comments);
    let checks = match unread.filter(|_| open) {
        // A hold or an objection may be hidden in what was not read.
        Some(why) => Read::Unread(why),
        None => checks(page, around.required),
    };
    let owned = if open { owned(&paths.own, around, recall).await } else { Read::Known(Vec::new()) };
    Pull {
        number: page.number,
        tier,
        misplaced: (page.base != around.branch).then(|| page.base.clone()),
        version: trailers(page).version,
        state: state(&page.state),
        head: page.head.clone(),
        opened_at: page.opened_at,
        draft: page.draft,
        mergeable: page.mergeable,
        review_decision: page.review_decision,
        reviews,
        owned,
        checks,
        commands,
        landing: Read::Unread("nobody asked".to_string()),
        notices: notices(page, around.hub.bot()),
        labelled: match &page.labels {
            Read::Known(labels) => Read::Known(labels.iter().any(|label| label == BLOCK)),
            Read::Unread(why) => Read::Unread(why.clone()),
        },
    }
}

impl HubPull {
    /// The one comment that we keep on it.
    pub fn own_comment(&self, bot: &Person) -> Option<&HubComment> {
        let comments = self.comments.known()?;
        comments.iter().find(|comment| comment.by.as_ref().is_some_and(|author| author.login == *bot))
    }
}

/// What the head commit's message says of itself; nothing where it could not be read.
pub fn trailers(page: &HubPull) -> tell::Trailers {
    page.message.known().map(|message| tell::trailers(message)).unwrap_or_default()
}

fn state(state: &HubState) -> PullState {
    let nobody = || Person::from("somebody");
    match state {
        HubState::Open => PullState::Open,
        HubState::Merged { at, by, commit } => PullState::Merged {
            at: *at,
            by: by.as_ref().map_or_else(nobody, |author| author.login.clone()),
            commit: commit.clone().unwrap_or_else(|| decide::Sha::from("")),
        },
        HubState::Closed { at, by } => {
            PullState::Closed { at: *at, by: by.as_ref().map(|author| author.login.clone()) }
        }
    }
}

async fn reviews(page: &HubPull, around: &Around<'_>, recall: &mut Recall) -> Vec<Review> {
    let mut reviews = Vec::new();
    for review in page.reviews.known().into_iter().flatten() {
        // A review without an author, or that the hub ties to no commit, is nobody's for this head.
        let (Some(by), Some(commit)) = (&review.by, &review.commit) else { continue };
        let may_write = match recall.role(around.hub, &by.login, around.now).await {
            Read::Known(role) => Read::Known(role >= Role::Write),
            Read::Unread(why) => Read::Unread(why),
        };
        reviews.push(Review {
            by: by.login.clone(),
            verdict: review.verdict,
            at: review.at,
            commit: commit.clone(),
            human: by.human,
            may_write,
        });
    }
    reviews
}

/// Commands in comments, and what of the comments could not be read.
async fn commands(
    page: &HubPull,
    paths: &Paths,
    around: &Around<'_>,
    recall: &mut Recall,
) -> (Vec<Command>, Option<String>) {
    let comments = match &page.comments {
        Read::Known(comments) => comments,
        Read::Unread(why) => return (Vec::new(), Some(format!("its comments could not be read: {why}"))),
    };
    let mut commands = Vec::new();
    for comment in comments {
        // Apps give no commands. A comment that was edited may still stop, but lets nothing through.
        let Some(by) = comment.by.as_ref().filter(|by| by.human) else { continue };
        let stops = |what: &CommandKind| matches!(what, CommandKind::Hold { .. } | CommandKind::Freeze { .. });
        let said = command::parse(&comment.body).filter(|what| comment.edited_at.is_none() || stops(what));
        let Some(what) = said else { continue };
        let files = if command::is_for_every_tier(&what) { &paths.all } else { &paths.own };
        let allowed = allowed(&by.login, command::right(&what, around.people), files, around, recall).await;
        commands.push(Command { by: by.login.clone(), at: comment.at, what, allowed });
    }
    let older = page.more_comments.then(|| "it has more than fifty comments, the older ones were not read".to_string());
    (commands, older)
}

async fn allowed(
    person: &Person,
    right: Right,
    files: &[String],
    around: &Around<'_>,
    recall: &mut Recall,
) -> Read<bool> {
    // However many people say something, what merges rest on is left enough of the hub's budget.
    let role = match recall.role(&around.hub.leisurely(), person, around.now).await {
        Read::Known(role) => role,
        Read::Unread(why) => return Read::Unread(why),
    };
    match right {
        Right::Write => Read::Known(role >= Role::Write),
        Right::Admin => Read::Known(role == Role::Admin),
        Right::CodeOwners => match owned(files, around, recall).await {
            Read::Known(owned) => {
                Read::Known(role >= Role::Write && owned.iter().all(|path| path.people.contains(person)))
            }
            Read::Unread(why) => Read::Unread(why),
        },
    }
}

/// The owned ones among the paths that a pull request may change.
async fn owned(files: &[String], around: &Around<'_>, recall: &mut Recall) -> Read<Vec<OwnedPath>> {
    let text = match around.owners {
        Read::Known(Some(text)) => text,
        Read::Known(None) => return Read::Known(Vec::new()),
        Read::Unread(why) => return Read::Unread(why.clone()),
    };
    let rules = match CodeOwners::parse(text) {
        Ok(rules) => rules,
        Err(error) => return Read::Unread(error.to_string()),
    };
    let mut owned = Vec::new();
    for path in files {
        let owners = rules.owners_of(path).to_vec();
        if owners.is_empty() {
            continue;
        }
        let mut people = BTreeSet::new();
        for owner in &owners {
            match recall.people(around.hub, owner, around.now).await {
                Ok(of_owner) => people.extend(of_owner),
                Err(error) => return Read::Unread(format!("the people of {owner}: {error}")),
            }
        }
        owned.push(OwnedPath { path: path.clone(), owners, people });
    }
    Read::Known(owned)
}

fn checks(page: &HubPull, required: &Read<Vec<RequiredContext>>) -> Read<Vec<RequiredCheck>> {
    let required = match required {
        Read::Known(required) => required,
        Read::Unread(why) => return Read::Unread(why.clone()),
    };
    let mut checks = Vec::new();
    for context in required.iter().filter(|context| context.name != CHECK) {
        match page.check_state(context) {
            Read::Known(state) => checks.push(RequiredCheck { name: context.name.clone(), state }),
            Read::Unread(why) => return Read::Unread(why),
        }
    }
    Read::Known(checks)
}

/// The notices that our own comment carries. Its last edit is the latest of them; an earlier one is
/// in the ledger with its own time.
fn notices(page: &HubPull, bot: &Person) -> Vec<SentNotice> {
    let Some(comment) = page.own_comment(bot) else { return Vec::new() };
    let at = comment.edited_at.unwrap_or(comment.at);
    tell::read_notices(&comment.body).into_iter().map(|before| SentNotice { before, at }).collect()
}
