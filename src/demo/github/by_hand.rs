//! What people do, from inside the process: reviews, comments, merges, pushes. For the story and for tests; what the
//! browser lets them do is in `acts.rs`.

use anyhow::Context as _;

use super::GitHub;
use super::acts::{Act, IssueAct};
use super::git::{Signature, ZERO};
use super::setup::plainly;
use super::state::{Access, Actor, Release, ReviewState, Role};
use super::webhooks;

impl GitHub {
    fn act(&self, repository: &str, number: u64, login: &str, act: Act) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.act(id, number, login, act).map_err(plainly)?;
        world.merge_by_themselves();
        Ok(())
    }

    /// Switches auto-merge on: it is merged in this person's name as soon as branch rules allow it. Where they do
    /// already, there is nothing to switch on.
    pub fn enable_auto_merge(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.need(&Actor::User(login.to_owned()), id, "contents", Access::Write, Role::Write).map_err(plainly)?;
        let standing = world.standing(id, number).map_err(plainly)?;
        anyhow::ensure!(standing.state != "CLEAN", "Pull request is in clean status");
        world.enable_auto_merge(id, number, login).map_err(plainly)
    }

    /// Approves a pull request at its present head.
    pub fn approve(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Approve(String::new()))
    }

    /// Requests changes.
    pub fn request_changes(&self, repository: &str, number: u64, login: &str, text: &str) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::RequestChanges(text.to_owned()))
    }

    /// Reviews a pull request with words alone.
    pub fn review(&self, repository: &str, number: u64, login: &str, text: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.submit_review(id, number, login, ReviewState::Commented, text, None).map(drop).map_err(plainly)
    }

    /// Approves it with words.
    pub fn approve_saying(&self, repository: &str, number: u64, login: &str, text: &str) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Approve(text.to_owned()))
    }

    /// Ticks the box of the text at this place, from zero.
    pub fn tick(&self, repository: &str, number: u64, login: &str, place: usize) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Tick(place))
    }

    /// Edits the newest review of a person, one's own or with write anybody's.
    pub fn edit_review(&self, repository: &str, number: u64, of: &str, login: &str, text: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let pull = world.pull_of(id, number).map_err(plainly)?;
        let found = pull.reviews.iter().rfind(|review| review.author == of).map(|review| review.id);
        let review = found.with_context(|| format!("{of} has not reviewed #{number}"))?;
        let may = world.may_edit_review(id, number, review, login).map_err(plainly)?;
        anyhow::ensure!(may, "{login} may not edit this review");
        world.edit_review(id, number, review, login, text).map_err(plainly)
    }

    /// Takes back all reviews of a person, as an administrator can.
    pub fn dismiss_reviews(&self, repository: &str, number: u64, of: &str, login: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let pull = world.pull_of(id, number).map_err(plainly)?;
        let theirs = |review: &&super::state::Review| {
            review.author == of && !matches!(review.state, ReviewState::Commented | ReviewState::Dismissed)
        };
        let reviews: Vec<u64> = pull.reviews.iter().filter(theirs).map(|review| review.id).collect();
        for review in reviews {
            world.dismiss(id, number, review, login).map_err(plainly)?;
        }
        Ok(())
    }

    /// Comments on a pull request.
    pub fn comment(&self, repository: &str, number: u64, login: &str, text: &str) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Comment(text.to_owned()))
    }

    /// Edits a comment, one's own or with write anybody's.
    pub fn edit_comment(&self, repository: &str, comment: u64, login: &str, text: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repo(id).map_err(plainly)?;
        let author = repo.comments.get(&comment).map(|comment| comment.author.clone());
        let may = author.is_some_and(|author| author == login) || world.role(repo, login) >= Role::Write;
        anyhow::ensure!(may, "{login} may not edit this comment");
        world.edit_comment(id, comment, login, text).map_err(plainly)
    }

    /// Puts the edit of a comment into the second in which it was written: whole seconds are all that the hub tells.
    pub fn as_if_edited_at_once(&self, repository: &str, comment: u64) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repo_mut(id).map_err(plainly)?;
        let comment = repo.comments.get_mut(&comment).ok_or_else(|| anyhow::anyhow!("there is no such comment"))?;
        comment.updated_at = comment.created_at;
        Ok(())
    }

    /// Begins a conversation about a line.
    pub fn converse(&self, repository: &str, number: u64) -> anyhow::Result<()> {
        self.conversations(repository, number, |all| all.push(false))
    }

    /// Somebody resolves every conversation.
    pub fn resolve(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        self.conversations(repository, number, |all| all.fill(true))?;
        let mut world = self.world();
        let id = world.named(repository)?;
        webhooks::resolved(&mut world, id, number, login);
        Ok(())
    }

    fn conversations(&self, repository: &str, number: u64, change: impl FnOnce(&mut Vec<bool>)) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repositories.get_mut(&id).context("it was just found")?;
        change(&mut repo.pulls.get_mut(&number).context("no such pull request")?.conversations);
        Ok(())
    }

    /// The commits that the reviews of a pull request were about are gone from the hub.
    pub fn lose_reviewed(&self, repository: &str, number: u64) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repositories.get_mut(&id).context("it was just found")?;
        let pull = repo.pulls.get_mut(&number).context("no such pull request")?;
        pull.reviews.iter_mut().for_each(|review| review.commit = ZERO.to_owned());
        Ok(())
    }

    /// Deletes an account. What it said stays, and is nobody's.
    pub fn remove_user(&self, login: &str) {
        let mut world = self.world();
        world.accounts.remove(login);
        for repo in world.repositories.values_mut() {
            repo.roles.remove(login);
        }
        for team in world.teams.values_mut() {
            team.remove(login);
        }
    }

    /// Closes a pull request unmerged.
    pub fn close(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Close)
    }

    /// Opens a closed one again.
    pub fn reopen(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Reopen)
    }

    /// Presses the merge button.
    pub fn merge_as(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Merge)
    }

    /// Marks as a draft, or as ready for review.
    pub fn set_draft(&self, repository: &str, number: u64, login: &str, draft: bool) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Draft(draft))
    }

    /// Puts a label on, or takes it off.
    pub fn set_label(&self, repository: &str, number: u64, login: &str, name: &str, on: bool) -> anyhow::Result<()> {
        self.act(repository, number, login, Act::Label { name: name.to_owned(), on })
    }

    /// Edits title and body, as somebody with triage can.
    pub fn edit_pull(&self, repository: &str, number: u64, login: &str, title: &str, body: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.edit_pull(id, number, title, body, login).map_err(plainly)
    }

    /// Opens a pull request as a person; gives its number.
    pub fn open_pull(
        &self,
        repository: &str,
        login: &str,
        head: &str,
        base: &str,
        title: &str,
        body: &str,
    ) -> anyhow::Result<u64> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.open_pull(id, login, head, base, title, body, false).map_err(plainly)
    }

    /// Commits one file to a branch, which starts at the default branch where it is missing; gives
    /// the commit. Branch rules bind as they bind a push.
    pub fn push_file(
        &self,
        repository: &str,
        branch: &str,
        login: &str,
        path: &str,
        text: &str,
        message: &str,
    ) -> anyhow::Result<String> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let actor = Actor::User(login.to_owned());
        world.need(&actor, id, "contents", Access::Write, Role::Write).map_err(plainly)?;
        world.write_file(id, branch, &actor, &[(path, Some(text.as_bytes()))], message).map_err(plainly)
    }

    /// Releases what the default branch holds: a tag, and the release at it with a text.
    pub fn release(&self, repository: &str, tag: &str, login: &str, text: &str) -> anyhow::Result<()> {
        self.put_release(repository, tag, login, text, false)
    }

    /// The same, which nobody sees yet who may not write.
    pub fn draft_release(&self, repository: &str, tag: &str, login: &str, text: &str) -> anyhow::Result<()> {
        self.put_release(repository, tag, login, text, true)
    }

    fn put_release(&self, repository: &str, tag: &str, login: &str, text: &str, draft: bool) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let actor = Actor::User(login.to_owned());
        world.need(&actor, id, "contents", Access::Write, Role::Write).map_err(plainly)?;
        let (number, at) = (world.id(), world.now());
        let (tag, text, author) = (tag.to_owned(), text.to_owned(), login.to_owned());
        let release = Release { id: number, tag, text, draft, author, at };
        let repo = world.repositories.get_mut(&id).context("it was just found")?;
        repo.releases.push(release.clone());
        if draft {
            return Ok(());
        }
        let head = repo.head(&repo.default_branch).context("nothing is there to release")?.to_owned();
        repo.git.update_ref(&format!("refs/tags/{}", release.tag), &head, ZERO)?;
        world.sync(id, &actor).map_err(plainly)?;
        webhooks::release(&mut world, id, &release);
        Ok(())
    }

    /// Opens an issue.
    pub fn open_issue(&self, repository: &str, login: &str, title: &str, body: &str) -> anyhow::Result<u64> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.open_issue(id, login, title, body).map_err(plainly)
    }

    /// Ticks a box of an issue, closes it or opens it again.
    pub fn act_on_issue(&self, repository: &str, number: u64, login: &str, act: &IssueAct) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.act_on_issue(id, number, login, act).map_err(plainly)
    }

    /// Moves a branch to any commit, or deletes it (none), past all rules: what an administrator does
    /// by hand in an emergency, and how a test rolls a branch back.
    pub fn force_branch(
        &self,
        repository: &str,
        branch: &str,
        login: &str,
        commit: Option<&str>,
    ) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repositories.get(&id).context("it was just found")?;
        let commit =
            commit.map(|name| repo.git.commit_id(name).with_context(|| format!("no commit {name}"))).transpose()?;
        let old = repo.head(branch).unwrap_or(ZERO);
        repo.git.update_ref(&format!("refs/heads/{branch}"), commit.as_deref().unwrap_or(ZERO), old)?;
        world.sync(id, &Actor::User(login.to_owned())).map_err(plainly)
    }

    /// Moves a branch to a commit that somebody made by hand: the tree and the message of another one, by anybody, with
    /// any parents. Gives its id.
    pub fn force_commit(
        &self,
        repository: &str,
        branch: &str,
        (like, author): (&str, (&str, &str)),
        parents: &[&str],
    ) -> anyhow::Result<String> {
        let made = {
            let world = self.world();
            let repo = world.repositories.get(&world.named(repository)?).context("it was just found")?;
            let like = repo.git.commit(like)?;
            let who = Signature { name: author.0.to_owned(), email: author.1.to_owned() };
            repo.git.commit_tree(&like.tree, parents, &who, &who, world.now(), &like.message)?
        };
        self.force_branch(repository, branch, author.0, Some(&made))?;
        Ok(made)
    }
}
