//! The JSON of check runs, of what they say of lines, and of commit statuses. Looks only.

use serde_json::{Value, json};

use super::render::{app, page_url, repository_url, user};
use crate::github::state::{Annotation, CheckRun, Repository, Status, World, stamp};

/// A check run.
pub fn check(world: &World, repository: &Repository, check: &CheckRun) -> Value {
    let api = repository_url(world, repository);
    let page = format!("{}/runs/{}", page_url(world, repository), check.id);
    let pulls = repository.pulls.values().filter(|pull| pull.is_open() && pull.head_sha == check.head_sha);
    let pulls: Vec<Value> = pulls
        .map(|pull| {
            let repo = json!({"id": repository.id, "url": api, "name": repository.name});
            json!({
                "id": pull.id, "number": pull.number, "url": format!("{api}/pulls/{}", pull.number),
                "head": {"ref": pull.head, "sha": pull.head_sha, "repo": repo},
                "base": {"ref": pull.base, "sha": pull.base_sha, "repo": repo},
            })
        })
        .collect();
    json!({
        "id": check.id, "node_id": format!("CR_{}", check.id), "name": check.name, "head_sha": check.head_sha,
        "external_id": check.external_id.clone().unwrap_or_default(),
        "url": format!("{api}/check-runs/{}", check.id), "html_url": page,
        "details_url": check.details_url.clone().unwrap_or(page), "status": check.status,
        "conclusion": check.conclusion, "started_at": check.started_at.map(stamp),
        "completed_at": check.completed_at.map(stamp), "check_suite": {"id": check.app},
        "output": {
            "title": check.title, "summary": check.summary, "text": check.text, "annotations_count": check.annotations.len(),
            "annotations_url": format!("{api}/check-runs/{}/annotations", check.id),
        },
        "app": world.apps.get(&check.app).map(|one| app(world, one)), "pull_requests": pulls,
    })
}

/// A commit status.
pub fn status(world: &World, repository: &Repository, status: &Status) -> Value {
    let creator = user(world, &status.creator);
    json!({
        "url": format!("{}/statuses/{}", repository_url(world, repository), status.sha),
        "avatar_url": creator["avatar_url"], "id": status.id, "node_id": format!("SC_{}", status.id),
        "state": status.state, "description": status.description, "target_url": status.target_url,
        "context": status.context, "created_at": stamp(status.created_at), "updated_at": stamp(status.created_at),
        "creator": creator,
    })
}

/// What a check run says of lines.
pub fn annotation(world: &World, repository: &Repository, check: &CheckRun, one: &Annotation) -> Value {
    json!({
        "path": one.path, "start_line": one.start_line, "end_line": one.end_line, "start_column": null,
        "end_column": null, "annotation_level": one.level, "title": one.title, "message": one.message,
        "raw_details": null,
        "blob_href": format!("{}/blob/{}/{}", page_url(world, repository), check.head_sha, one.path),
    })
}
