//! Commits, trees, blobs and comparisons; looks only.

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::call::{Call, Route, required};
use super::{render, render_git};
use crate::github::answer::{Answer, Body, Outcome};
use crate::github::git;
use crate::github::signature::{hub_signature, sign};
use crate::github::state::{Access, Actor, Repository, Role, World};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/commits", commits),
        (Method::GET, "/repos/{owner}/{repo}/commits/{ref...}", commit),
        (Method::GET, "/repos/{owner}/{repo}/git/commits/{sha}", git_commit),
        (Method::POST, "/repos/{owner}/{repo}/git/commits", make_commit),
        (Method::POST, "/repos/{owner}/{repo}/git/trees", make_tree),
        (Method::GET, "/repos/{owner}/{repo}/git/trees/{sha...}", tree),
        (Method::GET, "/repos/{owner}/{repo}/git/blobs/{sha}", blob),
        (Method::GET, "/repos/{owner}/{repo}/compare/{range...}", compare),
    ]
}

/// The commit that a branch, tag or id stands for.
pub fn resolve(repo: &Repository, name: &str) -> Option<String> {
    let short = name.strip_prefix("heads/").unwrap_or(name);
    repo.head(short).map(str::to_owned).or_else(|| repo.git.commit_id(name))
}

fn unknown(name: &str) -> Answer {
    Answer::error(422, &format!("No commit found for SHA: {name}"))
}

fn commits(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let name = call.request.query.get("sha").unwrap_or(&repo.default_branch);
    let sha = resolve(repo, name).ok_or_else(|| unknown(name))?;
    let mut log = repo.git.log(&[&sha, "-1000"])?;
    if let Some(path) = call.request.query.get("path") {
        log.retain(|commit| {
            let first = commit.parents.first().map_or(git::EMPTY_TREE, String::as_str);
            let changes = repo.git.changes(first, &commit.sha).unwrap_or_default();
            changes.iter().any(|change| change.path == *path || change.path.starts_with(&format!("{path}/")))
        });
    }
    let items = log.iter().map(|commit| render_git::commit(world, repo, commit)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn commit(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let (repo, name) = (world.repo(id)?, call.value("ref"));
    let sha = resolve(repo, name).ok_or_else(|| unknown(name))?;
    if call.request.accept.contains("sha") {
        let kind = "application/vnd.github.sha; charset=utf-8";
        return Ok(Answer { body: Some(Body::Raw(kind, sha.into_bytes())), ..Answer::ok(Value::Null) });
    }
    let commit = repo.git.commit(&sha)?;
    if call.request.accept.contains("diff") {
        let first = commit.parents.first().map_or(git::EMPTY_TREE, String::as_str);
        return Ok(Answer::diff(repo.git.diff(first, &sha, None)?));
    }
    let mut value = render_git::commit(world, repo, &commit);
    let parent = commit.parents.first().map_or(git::EMPTY_TREE, String::as_str);
    let changes = repo.git.changes(parent, &sha)?;
    let (plus, minus) =
        (changes.iter().map(|c| c.additions).sum::<u64>(), changes.iter().map(|c| c.deletions).sum::<u64>());
    value["stats"] = json!({"total": plus + minus, "additions": plus, "deletions": minus});
    let files: Vec<Value> = changes.iter().map(|change| render_git::file(world, repo, change, parent, &sha)).collect();
    value["files"] = files.into();
    Ok(Answer::ok(value))
}

fn git_commit(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let sha = repo.git.commit_id(call.value("sha")).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(render_git::git_commit(world, repo, &repo.git.commit(&sha)?)))
}

fn tree(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let (repo, name) = (world.repo(id)?, call.value("sha"));
    let name = resolve(repo, name).unwrap_or_else(|| name.to_owned());
    let (_, sha) = repo.git.object(&format!("{name}^{{tree}}")).ok_or_else(Answer::not_found)?;
    let recursive = call.request.query.contains_key("recursive");
    let api = render::repository_url(world, repo);
    let entries = repo.git.tree(&sha, recursive)?;
    let items: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let mut value = json!({
                "path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha,
                "url": format!("{api}/git/{}s/{}", entry.kind, entry.sha),
            });
            if let Some(size) = entry.size {
                value["size"] = size.into();
            }
            value
        })
        .collect();
    Ok(Answer::ok(json!({"sha": sha, "url": format!("{api}/git/trees/{sha}"), "tree": items, "truncated": false})))
}

/// A tree like another one, with some files changed.
fn make_tree(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Write, Role::Write)?;
    let repo = world.repo(id)?;
    let given = call.request.body.get("tree").and_then(Value::as_array);
    let given = given.ok_or_else(|| Answer::invalid_field("Tree", "tree", "missing_field"))?;
    let mut files = Vec::new();
    for entry in given {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let (Some(path), Some(mode)) = (text("path"), text("mode")) else {
            return Err(Answer::error(422, "Must supply a valid tree.path and tree.mode"));
        };
        let bytes = match (text("content"), text("sha")) {
            (Some(content), None) => Some(content.as_bytes().to_vec()),
            (None, Some(sha)) => Some(repo.git.blob(sha).ok_or_else(|| Answer::error(422, "tree.sha is not a blob"))?),
            (None, None) => None,
            (Some(_), Some(_)) => return Err(Answer::error(422, "Must supply either tree.sha or tree.content")),
        };
        files.push((mode, path, bytes));
    }
    let base = call.request.text("base_tree").map(|name| {
        let found = repo.git.object(&format!("{name}^{{tree}}")).map(|(_, sha)| sha);
        found.ok_or_else(|| Answer::error(422, "base_tree is not a valid tree oid"))
    });
    let files: Vec<_> = files.iter().map(|(mode, path, bytes)| (*mode, *path, bytes.as_deref())).collect();
    let sha = repo.git.tree_of(base.transpose()?.as_deref(), &files)?;
    let api = render::repository_url(world, repo);
    Ok(Answer::created(json!({"sha": sha, "url": format!("{api}/git/trees/{sha}"), "tree": [], "truncated": false})))
}

/// A commit that no branch has. What an App commits without saying who wrote it, the hub signs.
fn make_commit(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Write, Role::Write)?;
    let (repo, body) = (world.repo(id)?, &call.request.body);
    let (message, tree) = (required(call, "Commit", "message")?, required(call, "Commit", "tree")?);
    if repo.git.object(tree).is_none_or(|(kind, _)| kind != "tree") {
        return Err(Answer::error(422, "Tree SHA does not exist"));
    }
    let parents = body.get("parents").and_then(Value::as_array).into_iter().flatten();
    let parents: Vec<&str> = parents.filter_map(Value::as_str).collect();
    if parents.iter().any(|parent| repo.git.commit_id(parent).is_none()) {
        return Err(Answer::error(422, "Parent SHA does not exist or is not a commit object"));
    }
    let signs = matches!(call.actor(), Actor::Installation { .. })
        && ["author", "committer", "signature"].iter().all(|name| body.get(*name).is_none());
    let own = world.signature(&world.login(call.actor()));
    let committer = if signs { hub_signature() } else { own.clone() };
    let sha = repo.git.commit_tree(tree, &parents, &own, &committer, world.now(), message.trim_end_matches('\n'))?;
    let sha = if signs { sign(&repo.git, &sha)? } else { sha };
    Ok(Answer::created(render_git::git_commit(world, repo, &repo.git.commit(&sha)?)))
}

fn blob(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let (repo, sha) = (world.repo(id)?, call.value("sha"));
    let bytes = repo.git.blob(sha).filter(|_| sha.len() == 40).ok_or_else(Answer::not_found)?;
    let api = render::repository_url(world, repo);
    Ok(Answer::ok(json!({
        "sha": sha, "node_id": format!("B_{sha}"), "size": bytes.len(), "url": format!("{api}/git/blobs/{sha}"),
        "encoding": "base64", "content": STANDARD.encode(&bytes),
    })))
}

fn compare(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let (base, head) = call.value("range").split_once("...").ok_or_else(Answer::not_found)?;
    let repo = world.repo(id)?;
    let base = resolve(repo, base).ok_or_else(Answer::not_found)?;
    let head = resolve(repo, head).ok_or_else(Answer::not_found)?;
    let ahead = world.compare(id, &base, &head)?;
    let behind = world.compare(id, &head, &base)?.commits;
    let repo = world.repo(id)?;
    if repo.git.merge_base(&base, &head).is_none() {
        return Err(Answer::error(404, "No common ancestor between the two commits."));
    }
    if call.request.accept.contains("diff") {
        return Ok(Answer::diff(repo.git.diff(&ahead.ancestor, &head, None)?));
    }
    let status = match (ahead.commits, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        (_, _) => "diverged",
    };
    let mut log = repo.git.log(&[&format!("{base}..{head}"), "-250"])?;
    log.reverse();
    let one = |sha: &str| anyhow::Ok(render_git::commit(world, repo, &repo.git.commit(sha)?));
    let api = format!("{}/compare/{base}...{head}", render::repository_url(world, repo));
    let page = format!("{}/compare/{base}...{head}", render::page_url(world, repo));
    let files: Vec<Value> =
        ahead.changes.iter().map(|change| render_git::file(world, repo, change, &ahead.ancestor, &head)).collect();
    Ok(Answer::ok(json!({
        "url": api, "html_url": page, "permalink_url": page, "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"), "base_commit": one(&base)?, "merge_base_commit": one(&ahead.ancestor)?,
        "status": status, "ahead_by": ahead.commits, "behind_by": behind, "total_commits": ahead.commits,
        "commits": log.iter().map(|commit| render_git::commit(world, repo, commit)).collect::<Vec<_>>(), "files": files,
    })))
}
