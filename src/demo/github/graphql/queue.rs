//! The merge queue as GraphQL shows it, and the two writes that only GraphQL has: into it and out of it. Where they are
//! asked for is in `writes`.

use super::exec::Executor;
use super::objects::actor;
use super::query::Fault;
use super::value::{Object, Resolved, null, ready};
use crate::github::answer::Answer;
use crate::github::queue::has_queue;
use crate::github::state::{Access, MergeGroup, Pull, Repository, Role, World, stamp};

/// A field of a pull request that is about the queue.
pub fn field(world: &World, repo: &Repository, pull: &Pull, name: &str) -> Resolved {
    match name {
        "isMergeQueueEnabled" => has_queue(repo, &pull.base).into(),
        "isInMergeQueue" => world.position(repo, pull).is_some().into(),
        _ => entry(world, repo, pull),
    }
}

fn entry(world: &World, repo: &Repository, pull: &Pull) -> Resolved {
    let queued = repo.queue.iter().find(|queued| queued.number == pull.number);
    let Some((queued, position)) = queued.zip(world.position(repo, pull)) else { return null() };
    let commit = |of: fn(&MergeGroup) -> &String| match &queued.group {
        Some(group) => Resolved::Object(Object::Commit(repo.id, of(group).clone())),
        None => null(),
    };
    let fields = [
        ("id", format!("MQE_{}", pull.id).into()),
        ("position", position.into()),
        ("state", if queued.group.is_some() { "AWAITING_CHECKS" } else { "UNMERGEABLE" }.into()),
        ("headCommit", commit(|group| &group.commit)),
        ("baseCommit", commit(|group| &group.parent)),
        ("enqueuer", actor(world, &queued.by)),
        ("enqueuedAt", stamp(queued.at).into()),
    ];
    ready("MergeQueueEntry", fields)
}

impl Executor<'_> {
    /// Puts a pull request into the queue.
    pub fn enqueue(&mut self, id: u64, number: u64, head: Option<&str>) -> Result<Resolved, Fault> {
        self.world.enqueue(id, number, self.actor, head)?;
        let (repo, pull) = (self.world.repo(id)?, self.world.pull_of(id, number)?);
        Ok(ready("EnqueuePullRequestPayload", [("mergeQueueEntry", entry(self.world, repo, pull))]))
    }

    /// Takes it out.
    pub fn dequeue(&mut self, id: u64, number: u64) -> Result<Resolved, Fault> {
        self.world.need(self.actor, id, "pull_requests", Access::Write, Role::Write)?;
        let gone = {
            let (repo, pull) = (self.world.repo(id)?, self.world.pull_of(id, number)?);
            entry(self.world, repo, pull)
        };
        if matches!(gone, Resolved::Leaf(_)) {
            return Err(Answer::error(422, "Pull request is not in the queue").into());
        }
        let login = self.world.login(self.actor);
        self.world.dequeue(id, number, &login, "MANUAL")?;
        Ok(ready("DequeuePullRequestPayload", [("mergeQueueEntry", gone)]))
    }
}
