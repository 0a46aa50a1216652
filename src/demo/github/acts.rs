//! What a person can do to a pull request in the browser. Each act is refused by the same rules as over HTTP.

use super::answer::Answer;
use super::demands::{MergeRequest, Way};
use super::state::{Access, Actor, ReviewState, Role, World};
use super::webhooks;

/// What a person can do to a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Approve, with words or without.
    Approve(String),
    /// Request changes, with words.
    RequestChanges(String),
    /// Say something.
    Comment(String),
    /// Close it unmerged.
    Close,
    /// Open it again.
    Reopen,
    /// Merge it.
    Merge,
    /// Mark it as a draft, or as ready.
    Draft(bool),
    /// Put a label on it, or take it off.
    Label {
        /// The label's name.
        name: String,
        /// Put it on.
        on: bool,
    },
    /// Delete its head branch.
    DeleteBranch,
    /// Tick the box of its text at this place, from zero.
    Tick(usize),
}

/// What a person can do to an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueAct {
    /// Tick the box at this place, from zero.
    Tick(usize),
    /// Close it.
    Close,
    /// Open it again.
    Reopen,
}

impl World {
    /// Does what a person wants to an issue: only its author and who may write can edit it.
    pub fn act_on_issue(&mut self, id: u64, number: u64, login: &str, act: &IssueAct) -> Result<(), Answer> {
        let repo = self.repo(id)?;
        let issue = repo.issues.get(&number).ok_or_else(Answer::not_found)?;
        if issue.author != login && self.role(repo, login) < Role::Write {
            return Err(Answer::error(403, "Must have admin rights to Repository."));
        }
        match act {
            IssueAct::Tick(place) => {
                let body = ticked(&issue.body, *place).ok_or_else(Answer::not_found)?;
                self.edit_issue(id, number, login, &body)
            }
            IssueAct::Close => self.close_issue(id, number, login, true),
            IssueAct::Reopen => self.close_issue(id, number, login, false),
        }
    }
}

/// A merge commit of whatever the head is now.
fn at_once(actor: &Actor) -> MergeRequest<'_> {
    MergeRequest { actor, method: "merge", sha: None, title: None, message: None, way: Way::Button }
}

/// The text with one of its boxes ticked.
fn ticked(body: &str, place: usize) -> Option<String> {
    let (at, _) = body.match_indices("- [").filter(|(at, _)| body.as_bytes().get(*at + 4) == Some(&b']')).nth(place)?;
    Some(format!("{}- [x]{}", &body[..at], &body[at + 5..]))
}

impl World {
    /// Does what a person wants, if they may.
    pub fn act(&mut self, id: u64, number: u64, login: &str, act: Act) -> Result<(), Answer> {
        let actor = Actor::User(login.to_owned());
        let role = self.role(self.repo(id)?, login);
        let own = self.pull_of(id, number)?.author == login;
        let need = match &act {
            Act::Approve(_) | Act::RequestChanges(_) | Act::Comment(_) => Role::Read,
            Act::Close | Act::Reopen | Act::Draft(_) if own => Role::Read,
            Act::Close | Act::Reopen | Act::Label { .. } => Role::Triage,
            Act::Tick(_) if own => Role::Read,
            Act::Merge | Act::Draft(_) | Act::DeleteBranch | Act::Tick(_) => Role::Write,
        };
        self.need(&actor, id, "pull_requests", if need > Role::Read { Access::Write } else { Access::Read }, need)?;
        if role == Role::None {
            return Err(Answer::not_found());
        }
        match act {
            Act::Approve(text) => self.submit_review(id, number, login, ReviewState::Approved, &text, None).map(drop),
            Act::RequestChanges(text) => {
                self.submit_review(id, number, login, ReviewState::ChangesRequested, &text, None).map(drop)
            }
            Act::Comment(text) => self.write_comment(id, number, login, &text).map(drop),
            Act::Close => self.close(id, number, login),
            Act::Reopen => self.reopen(id, number, login),
            Act::Draft(draft) => self.set_draft(id, number, draft, login),
            Act::Label { name, on: true } => self.label(id, number, &[name], &[]),
            Act::Label { name, on: false } => self.label(id, number, &[], &[name]),
            Act::DeleteBranch => self.delete_head(id, number, &actor),
            Act::Tick(place) => {
                let pull = self.pull_of(id, number)?;
                let body = ticked(&pull.body, place).ok_or_else(Answer::not_found)?;
                let title = pull.title.clone();
                self.edit_pull(id, number, &title, &body, login)
            }
            Act::Merge => {
                let wanted = at_once(&actor);
                self.merge(id, number, &wanted).map(drop)
            }
        }
    }
}

impl World {
    /// Switches auto-merge on.
    pub fn enable_auto_merge(&mut self, id: u64, number: u64, login: &str) -> Result<(), Answer> {
        let now = self.now();
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        (pull.auto_merge, pull.updated_at) = (Some((now, login.to_owned())), now);
        self.note(id, format!("switched auto-merge on for #{number} by {login}"));
        webhooks::pull_request(self, id, number, "auto_merge_enabled", login);
        Ok(())
    }

    /// Merges whatever has auto-merge switched on and meets its branch rules now.
    pub fn merge_by_themselves(&mut self) {
        let ready = |world: &mut Self, id, number| {
            world.standing(id, number).is_ok_and(|standing| matches!(standing.state, "CLEAN" | "UNSTABLE"))
        };
        let waiting: Vec<(u64, u64, String)> = self
            .repositories
            .iter()
            .flat_map(|(id, repo)| repo.pulls.values().map(move |pull| (*id, pull)))
            .filter(|(_, pull)| pull.is_open())
            .filter_map(|(id, pull)| Some((id, pull.number, pull.auto_merge.as_ref()?.1.clone())))
            .collect();
        for (id, number, login) in waiting {
            if ready(self, id, number) {
                let actor = Actor::User(login);
                let wanted = at_once(&actor);
                // Who may not merge any more merges nothing.
                drop(self.merge(id, number, &wanted));
            }
        }
    }
}
