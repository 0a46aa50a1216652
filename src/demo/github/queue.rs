//! The merge queue of a branch: what enters it, leaves it, and is merged by it. Whether the checks of its first group
//! are green a test says, but for those that an App has to give: nothing else runs here.

use super::answer::{Answer, Body};
use super::demands::{MergeRequest, Way};
use super::rules::covers;
use super::setup::plainly;
use super::state::{Access, Actor, Kind, Method, Pull, Queued, Repository, Role, Rule, Turned, World};
use super::{GitHub, webhooks};

/// Who merges what the queue has checked.
pub const QUEUE: &str = "github-merge-queue[bot]";

/// Whether what goes to a branch goes through a queue.
pub fn has_queue(repo: &Repository, branch: &str) -> bool {
    let ruled = repo.rulesets.iter().filter(|set| covers(set, branch)).flat_map(|set| &set.rules);
    let classic = repo.protections.get(branch).is_some_and(|protection| protection.queue);
    classic || ruled.into_iter().any(|rule| *rule == Rule::MergeQueue)
}

impl World {
    /// The place in its queue, from one.
    pub fn position(&self, repo: &Repository, pull: &Pull) -> Option<usize> {
        let same_base = |queued: &&Queued| repo.pulls.get(&queued.number).is_some_and(|other| other.base == pull.base);
        repo.queue.iter().filter(same_base).position(|queued| queued.number == pull.number).map(|before| before + 1)
    }

    /// Puts a pull request at the end of the queue, or says in the hub's words why not.
    pub fn enqueue(&mut self, id: u64, number: u64, actor: &Actor, head: Option<&str>) -> Result<(), Answer> {
        self.need(actor, id, "pull_requests", Access::Write, Role::Write)?;
        self.need(actor, id, "contents", Access::Write, Role::Write)?;
        let (repo, pull) = (self.repo(id)?, self.pull_of(id, number)?.clone());
        let refused = |why: &str| Err(Answer::error(422, why));
        if !has_queue(repo, &pull.base) {
            return refused("Pull request A merge queue is not enabled for this branch.");
        }
        if self.position(repo, &pull).is_some() {
            return refused("Pull request is already in the queue");
        }
        let method = Self::queue_method(repo);
        let wanted = MergeRequest { actor, method, sha: head, title: None, message: None, way: Way::Entry };
        self.permit(id, &pull, &wanted)
            .map_err(|answer| Answer::error(422, &format!("Pull request {}", words(answer))))?;
        let (by, at) = (self.login(actor), self.now());
        self.repo_mut(id)?.queue.push(Queued { number, by: by.clone(), at, group: None });
        self.turn(id, number, Turned::Enqueued, &by, None)?;
        self.note(id, format!("put #{number} into the merge queue by {by}"));
        webhooks::pull_request(self, id, number, "enqueued", &by);
        self.regroup(id)
    }

    /// Takes a pull request out of the queue; one that is not in it stays as it is.
    pub fn dequeue(&mut self, id: u64, number: u64, login: &str, why: &'static str) -> Result<(), Answer> {
        let queue = &mut self.repo_mut(id)?.queue;
        let before = queue.len();
        queue.retain(|queued| queued.number != number);
        if queue.len() == before {
            return Ok(());
        }
        self.turn(id, number, Turned::Dequeued(why), login, None)?;
        self.note(id, format!("took #{number} out of the merge queue by {login}: {why}"));
        webhooks::pull_request(self, id, number, "dequeued", login);
        self.regroup(id)
    }

    /// The method that a queue merges by.
    pub fn queue_method(repo: &Repository) -> &'static str {
        match repo.merge_methods.first() {
            None | Some(Method::Merge) => "merge",
            Some(Method::Squash) => "squash",
            Some(Method::Rebase) => "rebase",
        }
    }

    /// Merges the first of the queue, or takes it out where its checks failed. None where nobody waits.
    fn settle_queue(&mut self, id: u64, green: bool) -> Result<Option<u64>, Answer> {
        let Some(first) = self.repo(id)?.queue.first().cloned() else { return Ok(None) };
        self.account_add(QUEUE, Kind::Bot);
        let actor = self.actor_of(&first.by);
        let method = Self::queue_method(self.repo(id)?);
        let wanted = MergeRequest { actor: &actor, method, sha: None, title: None, message: None, way: Way::Group };
        let merged = match green {
            true => self.merge(id, first.number, &wanted).map_err(|_| "BRANCH_PROTECTIONS"),
            false => Err("CI_FAILURE"),
        };
        if let Err(why) = merged {
            self.dequeue(id, first.number, QUEUE, why)?;
        }
        Ok(Some(first.number))
    }

    /// Who acts under a login.
    fn actor_of(&self, login: &str) -> Actor {
        let app = self.apps.values().find(|app| app.login() == login);
        app.map_or_else(|| Actor::User(login.to_owned()), |app| Actor::App(app.id))
    }
}

/// The hub's words in a refusal.
fn words(answer: Answer) -> String {
    match answer.body {
        Some(Body::Json(value)) => value["message"].as_str().unwrap_or_default().to_owned(),
        Some(Body::Raw(_, _)) | None => String::new(),
    }
}

impl GitHub {
    /// Puts a pull request into the merge queue as a person.
    pub fn enqueue_as(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.enqueue(id, number, &Actor::User(login.to_owned()), None).map_err(plainly)
    }

    /// Takes one out of it as a person.
    pub fn dequeue_as(&self, repository: &str, number: u64, login: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.dequeue(id, number, login, "MANUAL").map_err(plainly)
    }

    /// The numbers in the merge queue, the first one first.
    pub fn queue(&self, repository: &str) -> anyhow::Result<Vec<u64>> {
        let world = self.world();
        let id = world.named(repository)?;
        Ok(world.repo(id).map_err(plainly)?.queue.iter().map(|queued| queued.number).collect())
    }

    /// Takes out what waits for a branch that has no queue any more.
    pub(super) fn clear_queues(&self, repository: &str) -> anyhow::Result<()> {
        let mut world = self.world();
        let id = world.named(repository)?;
        let repo = world.repo(id).map_err(plainly)?;
        let pulls = repo.queue.iter().filter_map(|queued| repo.pulls.get(&queued.number));
        let lost: Vec<u64> = pulls.filter(|pull| !has_queue(repo, &pull.base)).map(|pull| pull.number).collect();
        lost.into_iter().try_for_each(|number| world.dequeue(id, number, QUEUE, "QUEUE_CLEARED").map_err(plainly))
    }

    /// Ends the checks of the first of the queue: green merges it, red takes it out. Its number, where one waited.
    pub fn settle_queue(&self, repository: &str, green: bool) -> anyhow::Result<Option<u64>> {
        let mut world = self.world();
        let id = world.named(repository)?;
        world.settle_queue(id, green).map_err(plainly)
    }
}
