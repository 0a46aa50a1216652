//! The conversation of pull requests and of issues, under the names of issues as at the hub.

use axum::http::Method;

use super::call::{Call, Route, create, required};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Actor, Comment, Role, World};
use crate::github::webhooks;

/// GitHub's cap on a comment, in characters.
const LIMIT: usize = 65_536;

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/issues/{number}/comments", list),
        (Method::POST, "/repos/{owner}/{repo}/issues/{number}/comments", write),
        (Method::GET, "/repos/{owner}/{repo}/issues/comments/{comment}", get),
        (Method::PATCH, "/repos/{owner}/{repo}/issues/comments/{comment}", edit),
        (Method::DELETE, "/repos/{owner}/{repo}/issues/comments/{comment}", delete),
    ]
}

/// Comments of pull requests need either of the two permissions.
pub fn place(world: &World, call: &Call<'_>, access: Access) -> Result<u64, Answer> {
    call.repository(world, "issues", access, Role::Read)
        .or_else(|_| call.repository(world, "pull_requests", access, Role::Read))
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = place(world, call, Access::Read)?;
    let number = call.number("number")?;
    world.numbered(id, number)?;
    let repo = world.repo(id)?;
    let since = call.request.query.get("since").map(|text| text.parse::<jiff::Timestamp>());
    let since = since.transpose().map_err(|_| Answer::invalid_field("IssueComment", "since", "invalid"))?;
    let changed = |comment: &&Comment| since.is_none_or(|since| comment.updated_at.as_second() >= since.as_second());
    let comments = repo.comments.values().filter(|comment| comment.number == number).filter(changed);
    let items = comments.map(|comment| render::comment(world, repo, comment)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn write(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = place(world, call, Access::Write)?;
    let number = call.number("number")?;
    let body = required(call, "IssueComment", "body")?.to_owned();
    let login = world.login(call.actor());
    create(world, |world| {
        let comment = world.write_comment(id, number, &login, &body)?;
        let repo = world.repo(id)?;
        let found = repo.comments.get(&comment).ok_or_else(Answer::not_found)?;
        Ok(Answer::created(render::comment(world, repo, found)))
    })
}

impl World {
    /// Writes a comment on a pull request or an issue.
    pub fn write_comment(&mut self, id: u64, number: u64, login: &str, body: &str) -> Result<u64, Answer> {
        check(body)?;
        self.numbered(id, number)?;
        let (comment, now) = (self.id(), self.now());
        let repo = self.repo_mut(id)?;
        repo.comments.insert(
            comment,
            Comment {
                id: comment,
                number,
                author: login.to_owned(),
                body: body.to_owned(),
                created_at: now,
                updated_at: now,
                editor: None,
                reactions: Vec::new(),
            },
        );
        if let Some(pull) = repo.pulls.get_mut(&number) {
            pull.updated_at = now;
        }
        if let Some(issue) = repo.issues.get_mut(&number) {
            issue.updated_at = now;
        }
        self.note(id, format!("commented on #{number} by {login}"));
        self.tell(id, comment);
        webhooks::comment(self, id, comment, "created", login);
        Ok(comment)
    }
}

impl World {
    /// Changes a comment; whose it was, it stays. Nobody is told.
    pub fn edit_comment(&mut self, id: u64, comment: u64, login: &str, body: &str) -> Result<(), Answer> {
        check(body)?;
        let now = self.now();
        let found = self.repo_mut(id)?.comments.get_mut(&comment).ok_or_else(Answer::not_found)?;
        (found.body, found.updated_at, found.editor) = (body.to_owned(), now, Some(login.to_owned()));
        let number = found.number;
        self.note(id, format!("edited a comment on #{number} by {login}"));
        webhooks::comment(self, id, comment, "edited", login);
        Ok(())
    }
}

fn check(body: &str) -> Result<(), Answer> {
    if body.trim().is_empty() {
        return Err(Answer::invalid_field("IssueComment", "body", "missing_field"));
    }
    if body.chars().count() > LIMIT {
        return Err(Answer::invalid("IssueComment", &format!("Body is too long (maximum is {LIMIT} characters)")));
    }
    Ok(())
}

pub fn found<'a>(world: &'a World, call: &Call<'_>, id: u64) -> Result<&'a Comment, Answer> {
    world.repo(id)?.comments.get(&call.number("comment")?).ok_or_else(Answer::not_found)
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = place(world, call, Access::Read)?;
    Ok(Answer::ok(render::comment(world, world.repo(id)?, found(world, call, id)?)))
}

/// People change their own comments, those with write all; Apps their own.
fn may_change(world: &World, call: &Call<'_>, id: u64) -> Result<(), Answer> {
    let comment = found(world, call, id)?;
    let own = world.login(call.actor()) == comment.author;
    let writer = matches!(call.actor(), Actor::User(login) if world.role(world.repo(id)?, login) >= Role::Write);
    if own || writer { Ok(()) } else { Err(Answer::error(403, "Resource not accessible by integration")) }
}

fn edit(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = place(world, call, Access::Write)?;
    may_change(world, call, id)?;
    let body = required(call, "IssueComment", "body")?.to_owned();
    let (comment, login) = (call.number("comment")?, world.login(call.actor()));
    world.edit_comment(id, comment, &login, &body)?;
    get(world, call)
}

fn delete(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = place(world, call, Access::Write)?;
    may_change(world, call, id)?;
    let (comment, number) = (call.number("comment")?, found(world, call, id)?.number);
    let login = world.login(call.actor());
    world.repo_mut(id)?.comments.remove(&comment);
    world.note(id, format!("deleted a comment on #{number} by {login}"));
    Ok(Answer::empty())
}
