//! The merge itself, done by real git, and what the hub answers when it refuses.

use super::answer::Answer;
use super::demands::{CONVERSATION, MergeRequest, QUEUED, UNSIGNED, Way};
use super::faults::MergeFault;
use super::git::Signature;
use super::queue::QUEUE;
use super::rules::bypasses;
use super::signature::{all_verified, hub_signature, sign};
use super::state::{Actor, Merged, Method, Pull, Role, World};

/// What the hub says of a head that is not the one that was asked for.
const MOVED: &str = "Head branch was modified. Review and try the merge again.";

impl World {
    /// Merges, or says as the hub does why not.
    pub fn merge(&mut self, id: u64, number: u64, wanted: &MergeRequest<'_>) -> Result<String, Answer> {
        let head = &self.pull_of(id, number)?.head;
        let fault = self.faults.always.get(head).copied().or_else(|| self.faults.merges.pop_front());
        let mut number = number;
        match fault {
            Some(MergeFault::ErrorBefore) => return Err(Answer::broken()),
            Some(MergeFault::BaseModified) => {
                return Err(Answer::error(405, "Base branch was modified. Review and try the merge again."));
            }
            Some(MergeFault::FalseYes) => return Ok("f".repeat(40)),
            Some(MergeFault::HeadSaidToMove) => return Err(Answer::error(409, MOVED)),
            Some(MergeFault::HeadMoves) => self.move_head(id, number)?,
            Some(MergeFault::Another) => match self.another(id, number)? {
                Some(other) => number = other,
                None => return Ok("f".repeat(40)),
            },
            Some(MergeFault::ErrorAfter | MergeFault::BranchMergedPullOpen | MergeFault::WrongContent) | None => {}
        }
        let pull = self.pull_of(id, number)?.clone();
        if let Some(why) = self.faults.never_merges.get(&pull.head) {
            return Err(Answer::error(405, why));
        }
        let base = self.tip(id, &pull)?;
        let tree = match fault {
            // A hub that lies asks no rule of its own.
            Some(MergeFault::Another) => self.merged_tree(id, &base, &pull.head_sha)?.ok_or_else(Answer::broken)?,
            Some(_) | None => self.permit(id, &pull, wanted)?,
        };
        let login = match wanted.way {
            Way::Button | Way::Entry => self.login(wanted.actor),
            Way::Group => QUEUE.to_owned(),
        };
        let repo = self.repo(id)?;
        let tree = match fault {
            Some(MergeFault::WrongContent) => repo.git.commit(&base)?.tree,
            Some(_) | None => tree,
        };
        let checked = self.group_on(id, number, &base)?.filter(|_| wanted.way == Way::Group && fault.is_none());
        let sha = match checked {
            Some(group) => group,
            None => self.merge_commit(id, &pull, (&base, &tree), wanted, &login)?,
        };
        let (now, repo) = (self.now(), self.repo(id)?);
        // Compared with the tip that was judged: git refuses when it moved meanwhile.
        let moved = repo.git.update_ref(&format!("refs/heads/{}", pull.base), &sha, &base);
        if moved.is_err() {
            return Err(Answer::error(405, "Base branch was modified. Review and try the merge again."));
        }
        let stuck = fault == Some(MergeFault::BranchMergedPullOpen);
        if stuck {
            if let Some(pull) = self.repo_mut(id)?.pulls.get_mut(&number) {
                pull.stuck = true;
            }
        } else {
            self.settle(id, number, Merged { at: now, by: login.clone(), sha: sha.clone() })?;
        }
        self.sync(id, wanted.actor)?;
        if !stuck && self.repo(id)?.delete_branch_on_merge {
            self.delete_head(id, number, wanted.actor)?;
        }
        match fault {
            Some(MergeFault::ErrorAfter | MergeFault::BranchMergedPullOpen) => Err(Answer::broken()),
            Some(_) | None => Ok(sha),
        }
    }

    /// The commit that a merge of this pull request makes on its base.
    pub(super) fn merge_commit(
        &self,
        id: u64,
        pull: &Pull,
        (base, tree): (&str, &str),
        wanted: &MergeRequest<'_>,
        login: &str,
    ) -> Result<String, Answer> {
        let (repo, number, now) = (self.repo(id)?, pull.number, self.now());
        let (title, message) = match wanted.method {
            // As the hub does where it is one commit: its text without the first line.
            "squash" => {
                let text = repo.git.commit(&pull.head_sha)?.message;
                let body = text.split_once("\n\n").map_or("", |(_, body)| body.trim_end());
                (format!("{} (#{number})", pull.title), body.to_owned())
            }
            _ => (format!("Merge pull request #{number} from {}/{}", repo.owner, pull.head), pull.title.clone()),
        };
        let title = wanted.title.map_or(title, str::to_owned);
        let message = wanted.message.map_or(message, str::to_owned);
        let text = if message.is_empty() { title } else { format!("{title}\n\n{message}") };
        let parents: &[&str] = if wanted.method == "merge" { &[base, &pull.head_sha] } else { &[base] };
        // A rebased commit keeps its author and its message; the hub commits it.
        let (author, text) = match wanted.method {
            "rebase" => {
                let head = repo.git.commit(&pull.head_sha)?;
                let (name, email, _) = head.author;
                (Signature { name, email }, head.message)
            }
            _ => (self.signature(login), text),
        };
        let sha = repo.git.commit_tree(tree, parents, &author, &hub_signature(), now, &text)?;
        // What it rebases it does not sign.
        Ok(if wanted.method == "rebase" { sha } else { sign(&repo.git, &sha)? })
    }

    /// Another open pull request of the same author and base.
    fn another(&self, id: u64, number: u64) -> Result<Option<u64>, Answer> {
        let asked = self.pull_of(id, number)?;
        let like = |pull: &&Pull| pull.is_open() && (&pull.author, &pull.base) == (&asked.author, &asked.base);
        Ok(self.repo(id)?.pulls.values().filter(like).map(|pull| pull.number).find(|other| *other != number))
    }

    /// The merged tree, when nothing stands against the merge.
    pub(super) fn permit(&mut self, id: u64, pull: &Pull, wanted: &MergeRequest<'_>) -> Result<String, Answer> {
        if !pull.is_open() {
            return Err(Answer::error(405, "Pull Request is not mergeable"));
        }
        if wanted.way == Way::Button && self.position(self.repo(id)?, pull).is_some() {
            return Err(Answer::error(405, "Pull Request is in the merge queue"));
        }
        if pull.draft {
            return Err(Answer::error(405, "Pull Request is still a draft"));
        }
        if wanted.sha.is_some_and(|sha| sha != pull.head_sha) {
            return Err(Answer::error(409, MOVED));
        }
        let Some(method) = Method::of(wanted.method) else {
            return Err(Answer::error(422, "Validation Failed"));
        };
        if !self.repo(id)?.merge_methods.contains(&method) {
            return Err(Answer::error(405, &format!("{} are not allowed on this repository.", method.plural())));
        }
        let base = self.tip(id, pull)?;
        let changes = self.compare(id, &base, &pull.head_sha)?.changes;
        let blockers = self.blockers(id, pull, &changes)?;
        let repo = self.repo(id)?;
        if let Some(protection) = repo.protections.get(&pull.base) {
            let admin = matches!(wanted.actor, Actor::User(login) if self.role(repo, login) == Role::Admin);
            let mut left = blockers.checks.clone();
            if !bypasses(wanted.actor, &protection.bypass_apps) {
                left.splice(0..0, blockers.reviews.clone());
            }
            if protection.conversations && pull.conversations.contains(&false) {
                left.push(CONVERSATION.to_owned());
            }
            if protection.signatures && !all_verified(&repo.git, &base, &pull.head_sha) {
                left.push(UNSIGNED.to_owned());
            }
            if protection.queue && wanted.way == Way::Button {
                left.push(QUEUED.to_owned());
            }
            if protection.strict && wanted.way != Way::Group && !repo.git.is_ancestor(&base, &pull.head_sha) {
                left.push("The head branch is not up to date with the base branch.".to_owned());
            }
            if !left.is_empty() && (protection.enforce_admins || !admin) {
                return Err(Answer::error(405, &left.join(" ")));
            }
        }
        if let Some(why) = self.violation(repo, pull, &base, wanted) {
            return Err(Answer::error(405, &format!("Repository rule violations found\n\n{why}\n\n")));
        }
        let tree = self.merged_tree(id, &base, &pull.head_sha)?;
        tree.ok_or_else(|| Answer::error(405, "Pull Request is not mergeable"))
    }
}
