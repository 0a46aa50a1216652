//! Pull requests: the list, and each field of one.

use serde_json::Value;

use super::exec::Executor;
use super::objects::{actor, organization, reactions};
use super::query::{Arguments, Fault};
use super::queue;
use super::repository::label;
use super::value::{Object, Resolved, connection, null, ready};
use crate::github::markdown;
use crate::github::rest::render;
use crate::github::standing::latest;
use crate::github::state::{Comment, Pull, REACTIONS, Repository, Review, ReviewState, Role, World, stamp};

impl Executor<'_> {
    /// A page of pull requests that fit the arguments and a condition.
    pub fn pulls(&mut self, id: u64, arguments: &Arguments, fits: impl Fn(&Pull) -> bool) -> Result<Resolved, Fault> {
        self.need(id, "pull_requests")?;
        let world = &*self.world;
        let repo = world.repo(id)?;
        let (states, labels) = (arguments.texts("states"), arguments.texts("labels"));
        let named = |key: &str, name: &str| arguments.text(key).is_none_or(|wanted| wanted == name);
        let mut found: Vec<&Pull> = repo
            .pulls
            .values()
            .filter(|pull| fits(pull) && world.listed(pull))
            .filter(|pull| states.as_ref().is_none_or(|states| states.contains(&state(pull))))
            .filter(|pull| named("headRefName", &pull.head) && named("baseRefName", &pull.base))
            .filter(|pull| labels.as_ref().is_none_or(|names| names.iter().any(|name| pull.labels.contains(*name))))
            .collect();
        let order = arguments.get("orderBy");
        let text = |key: &str| order.and_then(|order| order.get(key)).and_then(Value::as_str);
        match text("field") {
            Some("UPDATED_AT") => found.sort_by_key(|pull| (pull.updated_at, pull.number)),
            _ => found.sort_by_key(|pull| pull.number),
        }
        if text("direction") == Some("DESC") {
            found.reverse();
        }
        let items =
            found.into_iter().map(|pull| (pull.id.to_string(), Resolved::Object(Object::Pull(id, pull.number))));
        connection("PullRequestConnection", arguments, items.collect())
    }

    /// One pull request by number.
    pub fn pull_request(&mut self, id: u64, arguments: &Arguments) -> Result<Resolved, Fault> {
        self.need(id, "pull_requests")?;
        let number = arguments.get("number").and_then(Value::as_u64).unwrap_or(0);
        let found = self.world.repo(id)?.pulls.get(&number).filter(|pull| self.world.listed(pull));
        let missing =
            || Fault::new("NOT_FOUND", format!("Could not resolve to a PullRequest with the number of {number}."));
        found.map(|_| Resolved::Object(Object::Pull(id, number))).ok_or_else(missing)
    }

    /// A field of a pull request.
    pub fn pull(&mut self, id: u64, number: u64, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        match name {
            "mergeable" | "mergeStateStatus" | "canBeRebased" | "reviewDecision" | "additions" | "deletions"
            | "changedFiles" | "files" | "commits" => return self.pull_standing(id, number, name, arguments),
            _ => {}
        }
        let world = &*self.world;
        let repo = world.repo(id)?;
        let pull = world.pull_of(id, number)?;
        if let Some(found) = texts(world, repo, pull, name) {
            return Ok(found);
        }
        let me = world.login(self.actor);
        let commit = |sha: &str| Resolved::Object(Object::Commit(id, sha.to_owned()));
        let branch = |name: &str| match repo.head(name) {
            Some(_) => Resolved::Object(Object::Ref(id, format!("refs/heads/{name}"))),
            None => null(),
        };
        let reviews = |found: Vec<&Review>| {
            let items = found.into_iter().map(|one| (one.id.to_string(), review(world, repo, pull, one, &me)));
            connection("PullRequestReviewConnection", arguments, items.collect())
        };
        Ok(match name {
            "author" => actor(world, &pull.author),
            "editor" => pull.edited.as_ref().map_or_else(null, |(_, by)| actor(world, by)),
            "lastEditedAt" => pull.edited.as_ref().map(|(at, _)| stamp(*at)).into(),
            "mergedBy" => pull.merged.as_ref().map_or_else(null, |merged| actor(world, &merged.by)),
            "mergeCommit" => pull.merged.as_ref().map_or_else(null, |merged| commit(&merged.sha)),
            "headRef" if pull.fork.is_none() => branch(&pull.head),
            "baseRef" => branch(&pull.base),
            "headRepository" | "headRepositoryOwner" if pull.fork.is_some() => null(), // none of this world
            "headRepository" | "baseRepository" | "repository" => Resolved::Object(Object::Repository(id)),
            "headRepositoryOwner" => organization(world, &repo.owner),
            "statusCheckRollup" => return self.commit(id, &pull.head_sha.clone(), name, arguments),
            "labels" => {
                let page = render::page_url(world, repo);
                let items = pull.labels.iter().map(|name| (name.clone(), label(&page, name))).collect();
                connection("LabelConnection", arguments, items)?
            }
            "comments" => {
                let found =
                    repo.comments.values().filter(|one| one.number == number && world.listed_since(one.created_at));
                let items = found.map(|one| (one.id.to_string(), comment(world, repo, one, &me))).collect();
                connection("IssueCommentConnection", arguments, items)?
            }
            "reviews" => {
                let (states, author) = (arguments.texts("states"), arguments.text("author"));
                let wanted = pull.reviews.iter().filter(|one| {
                    states.as_ref().is_none_or(|states| states.contains(&one.state.name()))
                        && author.is_none_or(|login| login == one.author)
                });
                reviews(wanted.collect())?
            }
            "latestReviews" | "latestOpinionatedReviews" => {
                let writers = arguments.get("writersOnly").and_then(Value::as_bool).unwrap_or(false);
                let found = latest(&pull.reviews).into_values();
                reviews(found.filter(|one| !writers || world.role(repo, &one.author) >= Role::Write).collect())?
            }
            "reviewRequests" => {
                let team = |slug: &String| Resolved::Object(Object::Team(repo.owner.clone(), slug.clone()));
                let people = pull.requested.iter().map(|login| (login, actor(world, login)));
                let items =
                    people.chain(pull.requested_teams.iter().map(|slug| (slug, team(slug)))).map(|(name, who)| {
                        let fields = [
                            ("id", format!("RR_{name}").into()),
                            ("asCodeOwner", false.into()),
                            ("requestedReviewer", who),
                        ];
                        (name.clone(), ready("ReviewRequest", fields))
                    });
                connection("ReviewRequestConnection", arguments, items.collect())?
            }
            "participants" => {
                let author = vec![(pull.author.clone(), actor(world, &pull.author))];
                connection("UserConnection", arguments, author)?
            }
            "assignees" | "assignedActors" => {
                let items = pull.assignees.iter().map(|login| (login.clone(), actor(world, login)));
                connection("UserConnection", arguments, items.collect())?
            }
            "suggestedActors" => connection("UserConnection", arguments, Vec::new())?,
            "reviewThreads" => {
                let items = pull.conversations.iter().enumerate().map(|(index, resolved)| {
                    let fields = [("id", format!("PRRT_{index}").into()), ("isResolved", (*resolved).into())];
                    (index.to_string(), ready("PullRequestReviewThread", fields))
                });
                connection("PullRequestReviewThreadConnection", arguments, items.collect())?
            }
            "projectCards" => connection("ProjectCardConnection", arguments, Vec::new())?,
            "projectItems" => connection("ProjectV2ItemConnection", arguments, Vec::new())?,
            "closingIssuesReferences" => connection("IssueConnection", arguments, Vec::new())?,
            "autoMergeRequest" => pull.auto_merge.as_ref().map_or_else(null, |(at, login)| {
                let by = ("enabledBy", actor(world, login));
                ready("AutoMergeRequest", [by, ("enabledAt", stamp(*at).into()), ("mergeMethod", "MERGE".into())])
            }),
            "timelineItems" => self.timeline(id, number, arguments)?,
            "isInMergeQueue" | "isMergeQueueEnabled" | "mergeQueueEntry" => queue::field(world, repo, pull, name),
            "reactionGroups" => Resolved::List(Vec::new()),
            "viewerDidAuthor" => (me == pull.author).into(),
            "viewerLatestReview" => {
                let own = pull.reviews.iter().rev().find(|one| one.author == me);
                own.map_or_else(null, |one| review(world, repo, pull, one, &me))
            }
            "viewerCanMergeAsAdmin" => (world.role(repo, &me) == Role::Admin).into(),
            _ => null(),
        })
    }

    fn pull_standing(&mut self, id: u64, number: u64, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        let standing = self.standing(id, number)?;
        let changes = &standing.changes;
        Ok(match name {
            "mergeable" => match standing.mergeable {
                Some(true) => "MERGEABLE",
                Some(false) => "CONFLICTING",
                None => "UNKNOWN",
            }
            .into(),
            "mergeStateStatus" => standing.state.into(),
            "canBeRebased" => (standing.mergeable == Some(true)).into(),
            "reviewDecision" => standing.decision.into(),
            "additions" => changes.iter().map(|change| change.additions).sum::<u64>().into(),
            "deletions" => changes.iter().map(|change| change.deletions).sum::<u64>().into(),
            "changedFiles" => changes.len().into(),
            "files" => {
                let items = changes.iter().map(|change| {
                    let kind = match change.status {
                        "added" => "ADDED",
                        "removed" => "DELETED",
                        _ => "MODIFIED",
                    };
                    let fields = [
                        ("path", change.path.clone().into()),
                        ("additions", change.additions.into()),
                        ("deletions", change.deletions.into()),
                        ("changeType", kind.into()),
                    ];
                    (change.path.clone(), ready("PullRequestChangedFile", fields))
                });
                connection("PullRequestChangedFileConnection", arguments, items.collect())?
            }
            _ => {
                let repo = self.world.repo(id)?;
                let pull = self.world.pull_of(id, number)?;
                let range = format!("{}..{}", standing.ancestor, pull.head_sha);
                let shas = repo.git.run(&["rev-list", "--reverse", &range])?;
                let page = format!("{}/pull/{number}/commits", render::page_url(self.world, repo));
                let items = shas.lines().map(|sha| {
                    let fields = [
                        ("id", format!("PRC_{number}_{sha}").into()),
                        ("commit", Resolved::Object(Object::Commit(id, sha.to_owned()))),
                        ("pullRequest", Resolved::Object(Object::Pull(id, number))),
                        ("url", format!("{page}/{sha}").into()),
                    ];
                    (sha.to_owned(), ready("PullRequestCommit", fields))
                });
                connection("PullRequestCommitConnection", arguments, items.collect())?
            }
        })
    }
}

/// `OPEN`, `MERGED` or `CLOSED`.
fn state(pull: &Pull) -> &'static str {
    match (&pull.merged, &pull.closed) {
        (Some(_), _) => "MERGED",
        (None, Some(_)) => "CLOSED",
        (None, None) => "OPEN",
    }
}

/// Scalars that stand in the pull request itself.
fn texts(world: &World, repo: &Repository, pull: &Pull, name: &str) -> Option<Resolved> {
    let page = format!("{}/pull/{}", render::page_url(world, repo), pull.number);
    Some(match name {
        "id" => format!("PR_{}", pull.id).into(),
        "databaseId" => pull.id.into(),
        "fullDatabaseId" => pull.id.to_string().into(),
        "number" => pull.number.into(),
        "title" => pull.title.clone().into(),
        "titleHTML" => markdown::escape(&pull.title).into(),
        "body" | "bodyText" => pull.body.clone().into(),
        "bodyHTML" => markdown::html(&pull.body).into(),
        "state" => state(pull).into(),
        "isDraft" => pull.draft.into(),
        "closed" => (!pull.is_open()).into(),
        "closedAt" => pull.closed.as_ref().map(|(at, _)| stamp(*at)).into(),
        "merged" => pull.merged.is_some().into(),
        "mergedAt" => pull.merged.as_ref().map(|merged| stamp(merged.at)).into(),
        "headRefName" => pull.head.clone().into(),
        "headRefOid" => pull.head_sha.clone().into(),
        "baseRefName" => pull.base.clone().into(),
        "baseRefOid" => pull.base_sha.clone().into(),
        "authorAssociation" => render::association(world, repo, &pull.author).into(),
        "createdAt" | "publishedAt" => stamp(pull.created_at).into(),
        "updatedAt" => stamp(pull.updated_at).into(),
        "url" | "permalink" => page.into(),
        "checksUrl" => format!("{page}/checks").into(),
        "resourcePath" => format!("/{}/pull/{}", repo.full_name(), pull.number).into(),
        "totalCommentsCount" => repo.comments.values().filter(|comment| comment.number == pull.number).count().into(),
        "isCrossRepository" => pull.fork.is_some().into(),
        "locked" | "maintainerCanModify" | "viewerCanUpdate" | "viewerCanClose" | "viewerCanReopen" => false.into(),
        _ => return None,
    })
}

pub(super) fn comment(world: &World, repo: &Repository, comment: &Comment, me: &str) -> Resolved {
    let edited = comment.editor.is_some();
    let edited_at = edited.then(|| stamp(comment.updated_at));
    let page = format!("{}/pull/{}#comment-{}", render::page_url(world, repo), comment.number, comment.id);
    ready(
        "IssueComment",
        [
            ("id", format!("IC_{}", comment.id).into()),
            ("databaseId", comment.id.into()),
            ("fullDatabaseId", comment.id.to_string().into()),
            ("body", comment.body.clone().into()),
            ("bodyText", comment.body.clone().into()),
            ("author", actor(world, &comment.author)),
            ("authorAssociation", render::association(world, repo, &comment.author).into()),
            ("editor", comment.editor.as_ref().map_or_else(null, |login| actor(world, login))),
            ("createdAt", stamp(comment.created_at).into()),
            ("publishedAt", stamp(comment.created_at).into()),
            ("updatedAt", stamp(comment.updated_at).into()),
            ("lastEditedAt", edited_at.into()),
            ("includesCreatedEdit", edited.into()),
            ("isMinimized", false.into()),
            ("url", page.into()),
            ("reactionGroups", Resolved::List(REACTIONS.iter().map(|names| reactions(comment, *names, me)).collect())),
            ("viewerDidAuthor", (me == comment.author).into()),
            ("viewerCanUpdate", (me == comment.author).into()),
        ],
    )
}

pub(super) fn review(world: &World, repo: &Repository, pull: &Pull, review: &Review, me: &str) -> Resolved {
    let page = format!("{}/pull/{}#review-{}", render::page_url(world, repo), pull.number, review.id);
    // A commit that the hub has thrown away is none any more.
    let reviewed = match repo.git.object(&review.commit) {
        Some(_) => Resolved::Object(Object::Commit(repo.id, review.commit.clone())),
        None => null(),
    };
    let state = match review.state {
        ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Commented | ReviewState::Dismissed => {
            review.state.name()
        }
    };
    ready(
        "PullRequestReview",
        [
            ("id", format!("PRR_{}", review.id).into()),
            ("databaseId", review.id.into()),
            ("fullDatabaseId", review.id.to_string().into()),
            ("author", actor(world, &review.author)),
            ("authorAssociation", render::association(world, repo, &review.author).into()),
            ("authorCanPushToRepository", (world.role(repo, &review.author) >= Role::Write).into()),
            ("body", review.body.clone().into()),
            ("bodyText", review.body.clone().into()),
            ("state", state.into()),
            ("commit", reviewed),
            ("createdAt", stamp(review.at).into()),
            ("submittedAt", stamp(review.at).into()),
            ("editor", review.edited.as_ref().map_or_else(null, |(_, login)| actor(world, login))),
            ("updatedAt", stamp(review.edited.as_ref().map_or(review.at, |(at, _)| *at)).into()),
            ("publishedAt", stamp(review.at).into()),
            ("lastEditedAt", review.edited.as_ref().map(|(at, _)| stamp(*at)).into()),
            ("includesCreatedEdit", review.edited.is_some().into()),
            ("isMinimized", false.into()),
            ("url", page.into()),
            ("viewerDidAuthor", (me == review.author).into()),
        ],
    )
}
