//! Pages of pull requests: the list, and the conversation with checks, buttons and diff.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::page::{Page, Visit, base, check_word, diff, marked, time};
use crate::github::markdown;
use crate::github::standing::Standing;
use crate::github::state::{Pull, Repository, ReviewState, Role, Turned, World};

fn state(pull: &Pull) -> (&'static str, &'static str) {
    match (&pull.merged, &pull.closed) {
        (Some(_), _) => ("merged", "merged"),
        (None, Some(_)) => ("closed", "closed"),
        (None, None) if pull.draft => ("draft", "draft"),
        (None, None) => ("open", "open"),
    }
}

/// The list: open ones, or with `?state=closed` the others.
pub fn list(world: &mut World, id: u64, visit: &Visit<'_>) -> Result<Page, Page> {
    let open = visit.incoming.parameters().get("state").is_none_or(|state| state != "closed");
    let repo = world.repo(id)?;
    let (mut data, total) = (base(repo), repo.pulls.len());
    let pulls: Vec<Pull> = repo.pulls.values().rev().filter(|pull| pull.is_open() == open).cloned().collect();
    let mut items = Vec::new();
    for pull in &pulls {
        let review = match world.standing(id, pull.number)?.decision.filter(|_| open) {
            Some("APPROVED") => "approved",
            Some("CHANGES_REQUESTED") => "changes requested",
            Some(_) => "review required",
            None => "",
        };
        let (state, word) = state(pull);
        items.push(json!({
            "number": pull.number, "title": pull.title, "author": pull.author, "head": pull.head, "base": pull.base,
            "created": time(pull.created_at), "labels": pull.labels, "state": state, "word": word, "review": review,
        }));
    }
    let (shown, hidden) = (pulls.len(), total - pulls.len());
    data["open"] = open.into();
    data["open_count"] = (if open { shown } else { hidden }).into();
    data["closed_count"] = (if open { hidden } else { shown }).into();
    data["pulls"] = items.into();
    Ok(Page::new("pulls", "Pull requests", data))
}

/// One pull request.
pub fn show(world: &mut World, id: u64, number: u64, visit: &Visit<'_>) -> Result<Page, Page> {
    let standing = world.standing(id, number)?;
    let (repo, pull) = (world.repo(id)?, world.pull_of(id, number)?);
    let who = visit.who.as_deref();
    let role = who.map_or(Role::None, |login| world.role(repo, login));
    let own = who == Some(pull.author.as_str());
    let (state, word) = state(pull);
    let mut data = base(repo);
    data["pull"] = json!({
        "number": number, "title": pull.title, "author": pull.author, "head": pull.head, "base": pull.base,
        "sha": pull.head_sha, "short": &pull.head_sha[..7], "state": state, "word": word, "open": pull.is_open(),
        "created": time(pull.created_at), "commits": count(standing.commits, "commit"), "changed": count(standing.changes.len(), "file"),
        "labels": pull.labels, "body": markdown::with_boxes(&pull.body, own || role >= Role::Write),
    });
    data["items"] = conversation(repo, pull).into();
    data["checks"] = checks(world, repo, pull).into();
    data["mergeable"] = mergeable(&standing).into();
    let text = repo.git.diff(&standing.ancestor, &pull.head_sha, None)?;
    data["files"] = diff(&text, &standing.changes);
    data["blockers"] = standing.blockers.clone().into();
    data["own"] = own.into();
    data["may_merge"] = (role >= Role::Write && !pull.draft).into();
    data["may_close"] = (role >= Role::Triage || own).into();
    let closed = pull.closed.is_some();
    data["may_reopen"] = (closed && pull.merged.is_none() && (role >= Role::Triage || own)).into();
    data["may_delete"] = (closed && role >= Role::Write && repo.head(&pull.head).is_some()).into();
    Ok(Page::new("pull", &format!("{} · #{number}", pull.title), data))
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn mergeable(standing: &Standing) -> &'static str {
    match standing.mergeable {
        Some(true) => "✔ No conflicts with the base branch.",
        Some(false) => "✖ It conflicts with the base branch.",
        None => "… Whether it conflicts is not known yet.",
    }
}

fn checks(world: &World, repo: &Repository, pull: &Pull) -> Vec<Value> {
    let runs = repo.checks.values().filter(|check| check.head_sha == pull.head_sha).map(|check| {
        let (kind, word) = check_word(check.conclusion.as_deref());
        json!({
            "name": check.name, "title": check.title, "kind": kind, "word": word, "open": kind != "success",
            "by": world.apps.get(&check.app).map(|app| app.slug.clone()),
            "summary": marked(check.summary.as_deref()), "text": marked(check.text.as_deref()),
        })
    });
    let statuses = repo.statuses.iter().filter(|status| status.sha == pull.head_sha).map(|status| {
        let kind = match status.state.as_str() {
            "success" => "success",
            "pending" => "pending",
            _ => "failure",
        };
        json!({
            "name": status.context, "title": status.description, "kind": kind, "word": status.state, "by": status.creator,
            "summary": "", "text": "",
        })
    });
    runs.chain(statuses).collect()
}

/// Comments, reviews and turns in the order in which they happened.
fn conversation(repo: &Repository, pull: &Pull) -> Vec<Value> {
    let mut items: Vec<(Timestamp, u64, Value)> = Vec::new();
    for comment in repo.comments.values().filter(|comment| comment.number == pull.number) {
        let edited = (comment.updated_at != comment.created_at).then(|| time(comment.updated_at));
        items.push((
            comment.created_at,
            comment.id,
            json!({
                "kind": "comment", "author": comment.author, "words": "commented", "at": time(comment.created_at),
                "edited": edited, "body": markdown::html(&comment.body), "anchor": format!("comment-{}", comment.id),
            }),
        ));
    }
    for review in &pull.reviews {
        let (kind, words) = match review.state {
            ReviewState::Approved => ("approved", "approved these changes"),
            ReviewState::ChangesRequested => ("refused", "requested changes"),
            ReviewState::Commented => ("comment", "reviewed"),
            ReviewState::Dismissed => ("dismissed", "gave a review that was dismissed"),
        };
        items.push((
            review.at,
            review.id,
            json!({
                "kind": kind, "author": review.author, "words": format!("{words} at {}", &review.commit[..7]),
                "at": time(review.at), "body": markdown::html(&review.body), "anchor": format!("review-{}", review.id),
            }),
        ));
    }
    for turn in &pull.timeline {
        let commit = turn.commit.as_deref().map(|sha| &sha[..7]).unwrap_or_default();
        let (kind, words) = match turn.what {
            Turned::Merged => ("merged", format!("merged this as {commit}")),
            // A merge closes too; one line is enough.
            Turned::Closed if turn.commit.is_some() => continue,
            Turned::Closed => ("closed", "closed this".to_owned()),
            Turned::Reopened => ("reopened", "reopened this".to_owned()),
            Turned::ForcePushed => ("pushed", format!("replaced the head with {commit}")),
            Turned::HeadDeleted => ("closed", "deleted the head branch".to_owned()),
            Turned::ConvertedToDraft => ("draft", "marked this as a draft".to_owned()),
            Turned::ReadyForReview => ("ready", "marked this as ready for review".to_owned()),
            Turned::Enqueued => ("queued", "added this to the merge queue".to_owned()),
            Turned::Dequeued(why) => ("queued", format!("removed this from the merge queue ({why})")),
        };
        items.push((turn.at, turn.id, json!({
            "kind": kind, "author": turn.by, "words": words, "at": time(turn.at), "anchor": format!("event-{}", turn.id),
        })));
    }
    items.sort_by_key(|(at, id, _)| (*at, *id));
    items.into_iter().map(|(_, _, value)| value).collect()
}
