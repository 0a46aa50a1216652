//! The timeline of a pull request: its turns, comments and reviews in one list.

use super::exec::Executor;
use super::objects::actor;
use super::pulls::{comment, review};
use super::query::{Arguments, Fault};
use super::value::{Object, Resolved, connection_with, null, ready};
use crate::github::rest::render;
use crate::github::state::{Pull, Repository, Turn, Turned, World, stamp};

impl Executor<'_> {
    /// What happened to a pull request and what was said on it, oldest first.
    pub fn timeline(&self, id: u64, number: u64, arguments: &Arguments) -> Result<Resolved, Fault> {
        let world = &*self.world;
        let (repo, pull) = (world.repo(id)?, world.pull_of(id, number)?);
        let me = world.login(self.actor);
        let mut all: Vec<(jiff::Timestamp, u64, &'static str, Resolved)> = Vec::new();
        for turn in &pull.timeline {
            let (kind, fields) = event(world, repo, pull, turn);
            all.push((turn.at, turn.id, kind, fields));
        }
        for one in repo.comments.values().filter(|one| one.number == number) {
            all.push((one.created_at, one.id, "ISSUE_COMMENT", comment(world, repo, one, &me)));
        }
        for one in &pull.reviews {
            all.push((one.at, one.id, "PULL_REQUEST_REVIEW", review(world, repo, pull, one, &me)));
        }
        all.sort_by_key(|(at, id, _, _)| (*at, *id));
        let total = all.len();
        let types = arguments.texts("itemTypes");
        all.retain(|(_, _, kind, _)| types.as_ref().is_none_or(|types| types.contains(kind)));
        let own = [
            ("filteredCount", all.len().into()),
            ("pageCount", all.len().into()),
            ("updatedAt", stamp(pull.updated_at).into()),
            ("totalCount", total.into()),
        ];
        let items = all.into_iter().map(|(_, key, _, item)| (key.to_string(), item)).collect();
        connection_with("PullRequestTimelineItemsConnection", arguments, items, &own, |_| Default::default())
    }
}

/// A turn as a timeline item, with the name that `itemTypes` knows it by.
fn event(world: &World, repo: &Repository, pull: &Pull, turn: &Turn) -> (&'static str, Resolved) {
    let by = || actor(world, &turn.by);
    let commit = || match &turn.commit {
        Some(sha) => Resolved::Object(Object::Commit(repo.id, sha.clone())),
        None => null(),
    };
    let branch = |name: &str| Resolved::Object(Object::Ref(repo.id, format!("refs/heads/{name}")));
    let (kind, name) = match turn.what {
        Turned::Closed => ("CLOSED_EVENT", "ClosedEvent"),
        Turned::Reopened => ("REOPENED_EVENT", "ReopenedEvent"),
        Turned::Merged => ("MERGED_EVENT", "MergedEvent"),
        Turned::ForcePushed => ("HEAD_REF_FORCE_PUSHED_EVENT", "HeadRefForcePushedEvent"),
        Turned::HeadDeleted => ("HEAD_REF_DELETED_EVENT", "HeadRefDeletedEvent"),
        Turned::ConvertedToDraft => ("CONVERT_TO_DRAFT_EVENT", "ConvertToDraftEvent"),
        Turned::ReadyForReview => ("READY_FOR_REVIEW_EVENT", "ReadyForReviewEvent"),
        Turned::Enqueued => ("ADDED_TO_MERGE_QUEUE_EVENT", "AddedToMergeQueueEvent"),
        Turned::Dequeued(_) => ("REMOVED_FROM_MERGE_QUEUE_EVENT", "RemovedFromMergeQueueEvent"),
    };
    let reason = match turn.what {
        Turned::Dequeued(why) => why.into(),
        Turned::Closed
        | Turned::Reopened
        | Turned::Merged
        | Turned::ForcePushed
        | Turned::HeadDeleted
        | Turned::ConvertedToDraft
        | Turned::ReadyForReview
        | Turned::Enqueued => null(),
    };
    let fields = [
        ("id", format!("E_{}", turn.id).into()),
        ("actor", by()),
        ("createdAt", stamp(turn.at).into()),
        ("closable", Resolved::Object(Object::Pull(repo.id, pull.number))),
        ("pullRequest", Resolved::Object(Object::Pull(repo.id, pull.number))),
        ("commit", commit()),
        ("afterCommit", commit()),
        ("reason", reason),
        ("mergeRefName", pull.base.clone().into()),
        ("mergeRef", branch(&pull.base)),
        ("ref", branch(&pull.head)),
        ("headRefName", pull.head.clone().into()),
        ("url", format!("{}/pull/{}#event-{}", render::page_url(world, repo), pull.number, turn.id).into()),
    ];
    (kind, ready(name, fields))
}
