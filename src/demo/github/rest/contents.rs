//! Files by REST, at any commit: read, and write one as a commit on a branch.

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::call::{Call, Route, required};
use super::{objects, render, render_git};
use crate::github::answer::{Answer, Body, Outcome};
use crate::github::state::{Access, Actor, Repository, Role, World};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/contents/{path...}", get),
        (Method::PUT, "/repos/{owner}/{repo}/contents/{path...}", put),
    ]
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Read, Role::Read)?;
    let (repo, path) = (world.repo(id)?, call.value("path"));
    let name = call.request.query.get("ref").unwrap_or(&repo.default_branch);
    let commit = objects::resolve(repo, name)
        .ok_or_else(|| Answer::error(404, &format!("No commit found for the ref {name}")))?;
    let (kind, sha) = repo.git.object(&format!("{commit}:{path}")).ok_or_else(Answer::not_found)?;
    if kind == "tree" {
        let entries = repo.git.tree(&sha, false)?;
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let items = entries.iter().map(|entry| {
            let kind = if entry.kind == "tree" { "dir" } else { "file" };
            item(world, repo, &commit, &format!("{prefix}{}", entry.path), &entry.sha, kind, entry.size.unwrap_or(0))
        });
        return Ok(Answer::ok(Value::Array(items.collect())));
    }
    let bytes = repo.git.blob(&sha).ok_or_else(Answer::not_found)?;
    if call.request.accept.contains("raw") {
        let body = Some(Body::Raw("application/vnd.github.raw+json; charset=utf-8", bytes));
        return Ok(Answer { body, ..Answer::ok(Value::Null) });
    }
    // A link is answered as the hub does: with its target, and never as the file behind it.
    let link = repo.git.run(&["ls-tree", &commit, "--", path]).is_ok_and(|line| line.starts_with("120000"));
    let kind = if link { "symlink" } else { "file" };
    let mut value = item(world, repo, &commit, path, &sha, kind, bytes.len() as u64);
    if link {
        value["target"] = String::from_utf8_lossy(&bytes).into_owned().into();
    } else {
        // GitHub breaks the lines of base64 at 60 characters.
        let text = STANDARD.encode(&bytes);
        let lines: Vec<&str> = (0..text.len()).step_by(60).map(|at| &text[at..text.len().min(at + 60)]).collect();
        value["encoding"] = "base64".into();
        value["content"] = lines.iter().map(|line| format!("{line}\n")).collect::<String>().into();
    }
    Ok(Answer::ok(value))
}

fn item(world: &World, repo: &Repository, commit: &str, path: &str, sha: &str, kind: &str, size: u64) -> Value {
    let (api, page) = (render::repository_url(world, repo), render::page_url(world, repo));
    let name = path.rsplit('/').next().unwrap_or(path);
    let url = format!("{api}/contents/{path}?ref={commit}");
    let object = if kind == "dir" { "trees" } else { "blobs" };
    let git = format!("{api}/git/{object}/{sha}");
    let html = format!("{page}/{}/{commit}/{path}", if kind == "dir" { "tree" } else { "blob" });
    json!({
        "name": name, "path": path, "sha": sha, "size": size, "url": url, "html_url": html, "git_url": git,
        "download_url": if kind == "dir" { Value::Null } else { format!("{page}/raw/{commit}/{path}").into() },
        "type": kind, "_links": {"self": url, "git": git, "html": html},
    })
}

fn put(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "contents", Access::Write, Role::Write)?;
    let message = required(call, "Commit", "message")?.to_owned();
    let content = required(call, "Commit", "content")?.replace(['\n', '\r'], "");
    let bytes = STANDARD.decode(content).map_err(|_| Answer::error(422, "content is not valid Base64"))?;
    let repo = world.repo(id)?;
    let branch = call.request.text("branch").unwrap_or(&repo.default_branch).to_owned();
    let path = call.value("path").to_owned();
    let now = repo.head(&branch).and_then(|head| repo.git.object(&format!("{head}:{path}"))).map(|(_, sha)| sha);
    if now.as_deref() != call.request.text("sha") {
        let why = if now.is_some() { "does not match" } else { "wasn't supplied" };
        return Err(Answer::error(409, &format!("{path} {why} {}", now.unwrap_or_default())));
    }
    let sha = world.write_file(id, &branch, call.actor(), &[(&path, Some(&bytes))], &message)?;
    let repo = world.repo(id)?;
    let blob = repo.git.object(&format!("{sha}:{path}")).map(|(_, sha)| sha).unwrap_or_default();
    let commit = render_git::git_commit(world, repo, &repo.git.commit(&sha)?);
    let content = item(world, repo, &sha, &path, &blob, "file", bytes.len() as u64);
    let body = json!({"content": content, "commit": commit});
    Ok(if now.is_some() { Answer::ok(body) } else { Answer::created(body) })
}

impl World {
    /// Commits files (none = removed) on a branch, made from the default branch where it is missing.
    pub fn write_file(
        &mut self,
        id: u64,
        branch: &str,
        actor: &Actor,
        files: &[(&str, Option<&[u8]>)],
        message: &str,
    ) -> Result<String, Answer> {
        let repo = self.repo(id)?;
        let old = repo.head(branch).map(str::to_owned);
        let base = old.clone().or_else(|| repo.head(&repo.default_branch).map(str::to_owned));
        let name = format!("refs/heads/{branch}");
        let tree = repo.git.write_tree(base.as_deref(), files)?;
        let parents: Vec<&str> = base.iter().map(String::as_str).collect();
        let login = self.login(actor);
        let signature = self.signature(&login);
        let committer = crate::github::signature::hub_signature();
        let new = repo.git.commit_tree(&tree, &parents, &signature, &committer, self.now(), message)?;
        let new = crate::github::signature::sign(&repo.git, &new)?;
        if let Some(refusal) = self.refuses(repo, &name, actor, old.as_deref(), Some(&new)) {
            return Err(Answer::error(409, &format!("Repository rule violations found\n\n{}\n\n", refusal.why)));
        }
        repo.git.update_ref(&name, &new, old.as_deref().unwrap_or(crate::github::git::ZERO))?;
        self.sync(id, actor)?;
        Ok(new)
    }
}
