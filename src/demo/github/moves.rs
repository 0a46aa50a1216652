//! What follows when branches move or pull requests turn: pushes, synchronised heads, dismissed
//! approvals, closings. Every way in (git, REST, pages, merges) ends here.

use super::answer::Answer;
use super::git::ZERO;
use super::rules::covers;
use super::state::{Activity, Actor, Merged, Pull, ReviewState, Rule, Turn, Turned, World};
use super::webhooks;

impl World {
    /// Compares git's refs with what was last seen, and lets follow what follows.
    pub fn sync(&mut self, id: u64, actor: &Actor) -> Result<(), Answer> {
        let repo = self.repo(id)?;
        let now: std::collections::BTreeMap<String, String> = repo.git.refs()?.into_iter().collect();
        let before = repo.refs.clone();
        let mut moves: Vec<(String, Option<String>, Option<String>)> = Vec::new();
        for (name, sha) in &now {
            if before.get(name) != Some(sha) {
                moves.push((name.clone(), before.get(name).cloned(), Some(sha.clone())));
            }
        }
        for (name, sha) in &before {
            if !now.contains_key(name) {
                moves.push((name.clone(), Some(sha.clone()), None));
            }
        }
        let at = self.now();
        let repo = self.repo_mut(id)?;
        repo.refs = now;
        if !moves.is_empty() {
            repo.pushed_at = at;
        }
        for (name, old, new) in moves {
            self.moved(id, actor, &name, old.as_deref(), new.as_deref())?;
        }
        self.regroup(id)
    }

    fn moved(
        &mut self,
        id: u64,
        actor: &Actor,
        name: &str,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Result<(), Answer> {
        let login = self.login(actor);
        let git = self.repo(id)?.git.clone();
        let forced = match (old, new) {
            (Some(old), Some(new)) => !git.is_ancestor(old, new),
            (None, _) | (_, None) => false,
        };
        webhooks::push(self, id, &login, name, old.unwrap_or(ZERO), new.unwrap_or(ZERO), forced);
        let Some(branch) = name.strip_prefix("refs/heads/") else { return Ok(()) };
        self.remember_move(id, &login, name, (old, new), forced)?;
        match new {
            None => self.note(id, format!("deleted {branch} by {login}")),
            Some(sha) => self.note(id, format!("pushed {branch} at {} by {login}", &sha[..7])),
        }
        let pulls = &self.repo(id)?.pulls;
        let open = |pull: &&Pull| pull.is_open() && (pull.is_of(branch) || pull.base == branch);
        let touched: Vec<Pull> = pulls.values().filter(open).cloned().collect();
        for pull in touched {
            match new {
                Some(new) if pull.is_of(branch) => self.head_moved(id, &pull, new, forced, &login)?,
                None if pull.is_of(branch) => {
                    self.turn(id, pull.number, Turned::HeadDeleted, &login, None)?;
                    self.close(id, pull.number, &login)?;
                }
                // Its commits came to the base by another way: that is a merge too.
                Some(new) if !pull.stuck && git.is_ancestor(&pull.head_sha, new) => {
                    let at = self.now();
                    self.settle(id, pull.number, Merged { at, by: login.clone(), sha: new.to_owned() })?;
                }
                None => self.close(id, pull.number, &login)?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn remember_move(
        &mut self,
        id: u64,
        login: &str,
        name: &str,
        (old, new): (Option<&str>, Option<&str>),
        forced: bool,
    ) -> Result<(), Answer> {
        let (activity, at) = (self.id(), self.now());
        let repo = self.repo_mut(id)?;
        let merged = |pull: &Pull| pull.merged.as_ref().is_some_and(|merged| Some(merged.sha.as_str()) == new);
        let kind = match (old, new) {
            (None, _) => "branch_creation",
            (_, None) => "branch_deletion",
            _ if forced => "force_push",
            _ if repo.pulls.values().any(merged) => "pr_merge",
            _ => "push",
        };
        let [before, after] = [old, new].map(|sha| sha.unwrap_or(ZERO).to_owned());
        let (name, by) = (name.to_owned(), login.to_owned());
        repo.activities.push(Activity { id: activity, name, before, after, kind, by, at });
        Ok(())
    }

    fn head_moved(&mut self, id: u64, pull: &Pull, new: &str, forced: bool, login: &str) -> Result<(), Answer> {
        let base = self.tip(id, pull)?;
        let before = self.compare(id, &base, &pull.head_sha)?.changes;
        let same = before == self.compare(id, &base, new)?.changes && {
            let git = &self.repo(id)?.git;
            git.commit(&pull.head_sha)?.tree == git.commit(new)?.tree
        };
        let now = self.now();
        let repo = self.repo_mut(id)?;
        let classic = repo.protections.get(&pull.base).is_some_and(|protection| protection.dismiss_stale);
        let sets = repo.rulesets.iter().filter(|set| covers(set, &pull.base));
        let ruled = sets.flat_map(|set| &set.rules).any(|rule| *rule == Rule::Stale);
        let dismiss = (classic || ruled) && !same;
        repo.git.run(&["update-ref", &format!("refs/pull/{}/head", pull.number), new])?;
        let mut dismissed = Vec::new();
        if let Some(pull) = repo.pulls.get_mut(&pull.number) {
            pull.head_sha = new.to_owned();
            pull.pusher = login.to_owned();
            pull.base_sha = base;
            pull.updated_at = now;
            pull.stuck = false;
            for review in &mut pull.reviews {
                if dismiss && review.state == ReviewState::Approved {
                    review.state = ReviewState::Dismissed;
                    dismissed.push(review.id);
                }
            }
        }
        if forced {
            self.turn(id, pull.number, Turned::ForcePushed, login, Some(new))?;
        }
        self.dequeue(id, pull.number, login, "BRANCH_PROTECTIONS")?;
        self.note(id, format!("synchronized #{} at {} by {login}", pull.number, &new[..7]));
        webhooks::pull_request(self, id, pull.number, "synchronize", login);
        for review in dismissed {
            self.note(id, format!("dismissed a stale approval of #{}", pull.number));
            webhooks::review(self, id, pull.number, review, "dismissed", login);
        }
        Ok(())
    }

    /// Adds a turn to a pull request's timeline.
    pub fn turn(
        &mut self,
        id: u64,
        number: u64,
        what: Turned,
        login: &str,
        commit: Option<&str>,
    ) -> Result<(), Answer> {
        let (turn, at) = (self.id(), self.now());
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        pull.timeline.push(Turn { id: turn, what, at, by: login.to_owned(), commit: commit.map(str::to_owned) });
        pull.updated_at = at;
        Ok(())
    }

    /// Marks a pull request as merged.
    pub fn settle(&mut self, id: u64, number: u64, merged: Merged) -> Result<(), Answer> {
        let (login, sha) = (merged.by.clone(), merged.sha.clone());
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        pull.closed = Some((merged.at, login.clone()));
        pull.merged = Some(merged);
        self.repo_mut(id)?.queue.retain(|queued| queued.number != number);
        self.turn(id, number, Turned::Merged, &login, Some(&sha))?;
        self.turn(id, number, Turned::Closed, &login, Some(&sha))?;
        self.note(id, format!("merged #{number} by {login}"));
        webhooks::pull_request(self, id, number, "closed", &login);
        Ok(())
    }

    /// Closes a pull request unmerged; one that is closed stays as it is.
    pub fn close(&mut self, id: u64, number: u64, login: &str) -> Result<(), Answer> {
        let at = self.now();
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        if !pull.is_open() {
            return Ok(());
        }
        pull.closed = Some((at, login.to_owned()));
        self.dequeue(id, number, login, "MANUAL")?;
        self.turn(id, number, Turned::Closed, login, None)?;
        self.note(id, format!("closed #{number} by {login}"));
        webhooks::pull_request(self, id, number, "closed", login);
        Ok(())
    }

    /// Opens a closed one again, where the hub lets: unmerged, head branch still where it was, no
    /// other open one for the same branches.
    pub fn reopen(&mut self, id: u64, number: u64, login: &str) -> Result<(), Answer> {
        let pull = self.pull_of(id, number)?.clone();
        if pull.is_open() {
            return Ok(());
        }
        let cannot = |why: String| Err(Answer::invalid("PullRequest", &why));
        if pull.merged.is_some() {
            return cannot("state cannot be changed. The pull request is merged.".to_owned());
        }
        let repo = self.repo(id)?;
        let tip = if pull.fork.is_some() { Some(pull.head_sha.as_str()) } else { repo.head(&pull.head) };
        match tip {
            None => return cannot(format!("state cannot be changed. The {} branch has been deleted.", pull.head)),
            Some(sha) if sha != pull.head_sha && !repo.git.is_ancestor(&pull.head_sha, sha) => {
                let why = "was force-pushed or recreated.";
                return cannot(format!("state cannot be changed. The {} branch {why}", pull.head));
            }
            Some(_) => {}
        }
        if let Some(other) = repo.open_for(&pull.head, &pull.base).filter(|_| pull.fork.is_none()) {
            return cannot(format!("state cannot be changed. There is already an open pull request (#{other})."));
        }
        let head = tip.unwrap_or(&pull.head_sha).to_owned();
        if let Some(pull) = self.repo_mut(id)?.pulls.get_mut(&number) {
            pull.closed = None;
            pull.head_sha = head;
        }
        self.turn(id, number, Turned::Reopened, login, None)?;
        self.note(id, format!("reopened #{number} by {login}"));
        webhooks::pull_request(self, id, number, "reopened", login);
        Ok(())
    }

    /// Marks as draft, or as ready for review.
    pub fn set_draft(&mut self, id: u64, number: u64, draft: bool, login: &str) -> Result<(), Answer> {
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        let (what, action, words) = match draft {
            true => (Turned::ConvertedToDraft, "converted_to_draft", "converted to draft"),
            false => (Turned::ReadyForReview, "ready_for_review", "marked ready"),
        };
        self.turn(id, number, what, login, None)?;
        self.note(id, format!("{words} #{number} by {login}"));
        webhooks::pull_request(self, id, number, action, login);
        Ok(())
    }

    /// Deletes the head branch of a pull request.
    pub fn delete_head(&mut self, id: u64, number: u64, actor: &Actor) -> Result<(), Answer> {
        let repo = self.repo(id)?;
        let pull = repo.pulls.get(&number).ok_or_else(Answer::not_found)?;
        let branch = pull.head.clone();
        if let Some(sha) = repo.head(&branch).filter(|_| pull.fork.is_none()) {
            repo.git.update_ref(&format!("refs/heads/{branch}"), ZERO, sha)?;
        }
        self.sync(id, actor)
    }

    /// Somebody pushes to the head of a pull request (a fault: it happens inside a merge call).
    pub fn move_head(&mut self, id: u64, number: u64) -> Result<(), Answer> {
        let pull = self.pull_of(id, number)?.clone();
        let repo = self.repo(id)?;
        let pusher = repo.owner.clone();
        let note = format!("pushed while #{number} was being merged\n");
        let tree = repo.git.write_tree(Some(&pull.head_sha), &[("moved.txt", Some(note.as_bytes()))])?;
        let signature = self.signature(&pusher);
        let parents = [pull.head_sha.as_str()];
        let sha = repo.git.commit_tree(&tree, &parents, &signature, &signature, self.now(), "A change in between")?;
        repo.git.update_ref(&format!("refs/heads/{}", pull.head), &sha, &pull.head_sha)?;
        self.sync(id, &Actor::User(pusher))
    }
}

impl super::state::Repository {
    /// The open pull request for a head and a base: there is at most one.
    pub fn open_for(&self, head: &str, base: &str) -> Option<u64> {
        let mut open = self.pulls.values().filter(|pull| pull.is_open());
        open.find(|pull| pull.is_of(head) && pull.base == base).map(|pull| pull.number)
    }
}
