//! How a pull request stands: changes, conflicts, reviews, checks. Looks only; the merge is beside.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::git::Change;
use super::state::{Compared, Kind, Protection, Pull, Repository, Review, ReviewState, Role, World};

/// Caches are emptied beyond so many entries.
const CACHE: usize = 500;

/// How a pull request stands right now.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// None: not known yet, or closed.
    pub mergeable: Option<bool>,
    /// GraphQL's `mergeStateStatus`.
    pub state: &'static str,
    /// GraphQL's `reviewDecision`; none where no review is required.
    pub decision: Option<&'static str>,
    /// Changed files.
    pub changes: Vec<Change>,
    /// Commits.
    pub commits: usize,
    /// The common ancestor of base and head.
    pub ancestor: String,
    /// What reviews and checks are missing, as the merge would say it.
    pub blockers: Vec<String>,
}

impl World {
    /// What `head` changes against `base`.
    pub fn compare(&mut self, id: u64, base: &str, head: &str) -> Result<Compared, Answer> {
        let key = (base.to_owned(), head.to_owned());
        let repo = self.repo_mut(id)?;
        if let Some(known) = repo.compared.get(&key) {
            return Ok(known.clone());
        }
        let ancestor = repo.git.merge_base(base, head).unwrap_or_else(|| super::git::EMPTY_TREE.to_owned());
        let count = repo.git.run(&["rev-list", "--count", &format!("{base}..{head}")])?;
        let compared =
            Compared { changes: repo.git.changes(&ancestor, head)?, commits: count.parse().unwrap_or(0), ancestor };
        if repo.compared.len() > CACHE {
            repo.compared.clear();
        }
        repo.compared.insert(key, compared.clone());
        Ok(compared)
    }

    /// The tree that merging would give; none on conflict.
    pub fn merged_tree(&mut self, id: u64, base: &str, head: &str) -> Result<Option<String>, Answer> {
        let key = (base.to_owned(), head.to_owned());
        let repo = self.repo_mut(id)?;
        if let Some(known) = repo.merges.get(&key) {
            return Ok(known.clone());
        }
        let tree = repo.git.merge_tree(base, head)?;
        if repo.merges.len() > CACHE {
            repo.merges.clear();
        }
        repo.merges.insert(key, tree.clone());
        Ok(tree)
    }

    /// How a pull request stands, as everybody may see it.
    pub fn standing(&mut self, id: u64, number: u64) -> Result<Standing, Answer> {
        let pull = self.pull_of(id, number)?.clone();
        if !pull.is_open() {
            let compared = self.compare(id, &pull.base_sha, &pull.head_sha)?;
            return Ok(Standing {
                state: "UNKNOWN",
                changes: compared.changes,
                commits: compared.commits,
                ancestor: compared.ancestor,
                decision: self.decision(id, &pull)?,
                ..Standing::default()
            });
        }
        let tip = self.tip(id, &pull)?;
        let compared = self.compare(id, &tip, &pull.head_sha)?;
        let clean = self.merged_tree(id, &tip, &pull.head_sha)?.is_some();
        let mut blockers = self.blockers(id, &pull, &compared.changes)?.texts();
        let repo = self.repo(id)?;
        if super::rules::last_push(repo, &pull.base) && !self.last_push_approved(repo, &pull) {
            blockers.push(super::demands::LAST_PUSH.to_owned());
        }
        let strict = repo.protections.get(&pull.base).is_some_and(|protection| protection.strict)
            || super::rules::strict(repo, &pull.base);
        let state = if !clean {
            "DIRTY"
        } else if pull.draft {
            "DRAFT"
        } else if !blockers.is_empty() {
            "BLOCKED"
        } else if strict && !repo.git.is_ancestor(&tip, &pull.head_sha) {
            "BEHIND"
        } else if all_checks(repo, &pull.head_sha).values().any(|state| *state != CheckState::Green) {
            "UNSTABLE"
        } else {
            "CLEAN"
        };
        Ok(Standing {
            mergeable: Some(clean),
            state,
            decision: self.decision(id, &pull)?,
            changes: compared.changes,
            commits: compared.commits,
            ancestor: compared.ancestor,
            blockers,
        })
    }

    /// The same, as a read from outside sees it: `mergeable` may not be worked out yet.
    pub fn standing_read(&mut self, id: u64, number: u64) -> Result<Standing, Answer> {
        let mut standing = self.standing(id, number)?;
        if standing.mergeable.is_some() && self.faults.hide_mergeable() {
            standing.mergeable = None;
            standing.state = "UNKNOWN";
        }
        Ok(standing)
    }

    fn decision(&mut self, id: u64, pull: &Pull) -> Result<Option<&'static str>, Answer> {
        let base = if pull.is_open() { self.tip(id, pull)? } else { pull.base_sha.clone() };
        let changes = self.compare(id, &base, &pull.head_sha)?.changes;
        let repo = self.repo(id)?;
        let last_push = super::rules::last_push(repo, &pull.base);
        let protection = repo.protections.get(&pull.base).cloned().unwrap_or_default();
        if !protection.reviews() && !last_push {
            return Ok(None);
        }
        let standing = self.reviews(repo, pull, &protection, &changes, &base);
        let missing = !standing.missing.is_empty() || (last_push && !self.last_push_approved(repo, pull));
        Ok(Some(match (standing.refused.is_empty(), missing) {
            (false, _) => "CHANGES_REQUESTED",
            (true, true) => "REVIEW_REQUIRED",
            (true, false) => "APPROVED",
        }))
    }

    /// Whether somebody who may write, and did not push it, has approved the head as it is. The hub says of one that
    /// was approved before the last push what it says of one that nobody has looked at: `REVIEW_REQUIRED`
    /// (strands-labs/robots#1921).
    pub(super) fn last_push_approved(&self, repo: &Repository, pull: &Pull) -> bool {
        latest(&pull.reviews).iter().any(|(login, review)| {
            let other = *login != pull.author && *login != pull.pusher;
            review.state == ReviewState::Approved && review.commit == pull.head_sha && other && self.writes(repo, login)
        })
    }

    /// What reviews and checks are missing, each group in the words of a refused merge.
    pub fn blockers(&self, id: u64, pull: &Pull, changes: &[Change]) -> Result<Blockers, Answer> {
        let repo = self.repo(id)?;
        let mut found = Blockers::default();
        let Some(protection) = repo.protections.get(&pull.base) else { return Ok(found) };
        let base = repo.head(&pull.base).unwrap_or(&pull.base_sha);
        if protection.reviews() {
            let reviews = self.reviews(repo, pull, protection, changes, base);
            found.reviews.extend(reviews.missing);
            found.reviews.extend(reviews.refused.iter().map(|login| format!("Changes requested by {login}.")));
        }
        let states = all_checks(repo, &pull.head_sha);
        for name in &protection.required_checks {
            let word = match states.get(name) {
                Some(CheckState::Green) => continue,
                Some(CheckState::Pending) => "pending",
                Some(CheckState::Red) => "failing",
                None => "expected",
            };
            found.checks.push(format!("Required status check \"{name}\" is {word}."));
        }
        Ok(found)
    }

    /// Approvals count from people who may write now; the author's never, the last of each person only.
    fn reviews(
        &self,
        repo: &Repository,
        pull: &Pull,
        protection: &Protection,
        changes: &[Change],
        base: &str,
    ) -> ReviewStanding {
        let last = latest(&pull.reviews);
        let counted = |wanted: ReviewState| {
            last.iter().filter(move |(_, review)| review.state == wanted).map(|(login, _)| (*login).to_owned())
        };
        let may = |login: &String| *login != pull.author && self.writes(repo, login);
        let approvers: Vec<String> = counted(ReviewState::Approved).filter(|login| may(login)).collect();
        let refused = counted(ReviewState::ChangesRequested).filter(|login| may(login)).collect();
        let mut missing = Vec::new();
        let wanted = protection.required_approving_review_count as usize;
        if approvers.len() < wanted {
            let (what, verb) = if wanted == 1 { ("review", "is") } else { ("reviews", "are") };
            missing.push(format!("At least {wanted} approving {what} {verb} required by reviewers with write access."));
        }
        if protection.require_code_owner_reviews {
            let file = self.owners(repo, base);
            let mut waiting: Vec<String> = Vec::new();
            for change in changes {
                let owners = file.of(&change.path);
                let approved = |owner: &String| approvers.iter().any(|login| self.owns(repo, owner, login));
                if owners.is_empty() || owners.iter().any(approved) {
                    continue;
                }
                let names: Vec<&str> = owners.iter().map(|owner| owner.trim_start_matches('@')).collect();
                let sentence = format!("Waiting on code owner review from {}.", names.join(" or "));
                if !waiting.contains(&sentence) {
                    waiting.push(sentence);
                }
            }
            missing.extend(waiting);
        }
        ReviewStanding { missing, refused }
    }

    /// Whether somebody's review counts: people by their role, Apps by `contents: write` here.
    fn writes(&self, repo: &Repository, login: &str) -> bool {
        match self.account(login).map(|account| account.kind) {
            Some(Kind::Bot) => self.apps.values().any(|app| {
                app.login() == login
                    && app.installed_in(repo.id).is_some()
                    && app.permissions.get("contents") == Some(&super::state::Access::Write)
            }),
            Some(Kind::User | Kind::Organization) | None => self.role(repo, login) >= Role::Write,
        }
    }
}

struct ReviewStanding {
    missing: Vec<String>,
    refused: Vec<String>,
}

/// What stands against a merge.
#[derive(Default)]
pub struct Blockers {
    /// Missing approvals and requested changes.
    pub reviews: Vec<String>,
    /// Required checks that are not green.
    pub checks: Vec<String>,
}

impl Blockers {
    fn texts(self) -> Vec<String> {
        self.reviews.into_iter().chain(self.checks).collect()
    }
}

/// The last review of each person that says yes or no, or was taken back; remarks do not replace it.
pub fn latest(reviews: &[Review]) -> BTreeMap<&str, &Review> {
    let speaking = reviews.iter().filter(|review| review.state != ReviewState::Commented);
    speaking.map(|review| (review.author.as_str(), review)).collect()
}

/// How a check or status stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// Success, neutral or skipped.
    Green,
    /// Not finished.
    Pending,
    /// Anything else.
    Red,
}

/// State of every check and status of a commit by name; of several with one name the newest.
pub fn all_checks(repo: &Repository, sha: &str) -> BTreeMap<String, CheckState> {
    let mut states = BTreeMap::new();
    for status in repo.statuses.iter().filter(|status| status.sha == sha) {
        let state = match status.state.as_str() {
            "success" => CheckState::Green,
            "pending" => CheckState::Pending,
            _ => CheckState::Red,
        };
        states.insert(status.context.clone(), state);
    }
    for check in repo.checks.values().filter(|check| check.head_sha == sha) {
        let state = match check.conclusion.as_deref() {
            None => CheckState::Pending,
            Some("success" | "neutral" | "skipped") => CheckState::Green,
            Some(_) => CheckState::Red,
        };
        states.insert(check.name.clone(), state);
    }
    states
}
