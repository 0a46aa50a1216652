//! Issues. The hub lists pull requests among them; what is said in either is in `comments.rs`.

use axum::http::Method;
use serde_json::Value;

use super::call::{Call, Route, create, required};
use super::{comments, render};
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Actor, Issue, Role, World};
use crate::github::webhooks;

/// GitHub's cap on the text of an issue, in characters.
const LIMIT: usize = 65_536;

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/issues", list),
        (Method::POST, "/repos/{owner}/{repo}/issues", open),
        (Method::GET, "/repos/{owner}/{repo}/issues/{number}", get),
        (Method::PATCH, "/repos/{owner}/{repo}/issues/{number}", edit),
    ]
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = comments::place(world, call, Access::Read)?;
    let (repo, number) = (world.repo(id)?, call.number("number")?);
    if let Some(issue) = repo.issues.get(&number) {
        return Ok(Answer::ok(render::plain_issue(world, repo, issue)));
    }
    Ok(Answer::ok(render::issue(world, repo, world.pull_of(id, number)?)))
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "issues", Access::Read, Role::Read)?;
    let repo = world.repo(id)?;
    let query = |name: &str| call.request.query.get(name).map(String::as_str);
    let state = query("state").unwrap_or("open");
    let wanted = |value: &Value| {
        let creator = query("creator").is_none_or(|creator| value["user"]["login"] == creator);
        creator && (state == "all" || value["state"] == state)
    };
    let issues = repo.issues.values().map(|issue| (issue.number, render::plain_issue(world, repo, issue)));
    let pulls = repo.pulls.values().map(|pull| (pull.number, render::issue(world, repo, pull)));
    let mut all: Vec<(u64, Value)> = issues.chain(pulls).filter(|(_, value)| wanted(value)).collect();
    all.sort_by_key(|(number, _)| *number);
    if query("direction") != Some("asc") {
        all.reverse();
    }
    Ok(Answer::page(call.request, &world.api(), all.into_iter().map(|(_, value)| value).collect()))
}

fn open(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "issues", Access::Write, Role::Read)?;
    let title = required(call, "Issue", "title")?.to_owned();
    let body = call.request.body.get("body").and_then(Value::as_str).unwrap_or_default().to_owned();
    let login = world.login(call.actor());
    create(world, |world| {
        let number = world.open_issue(id, &login, &title, &body)?;
        let repo = world.repo(id)?;
        let found = repo.issues.get(&number).ok_or_else(Answer::not_found)?;
        Ok(Answer::created(render::plain_issue(world, repo, found)))
    })
}

fn edit(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "issues", Access::Write, Role::Read)?;
    let number = call.number("number")?;
    let login = world.login(call.actor());
    let repo = world.repo(id)?;
    let issue = repo.issues.get(&number).ok_or_else(Answer::not_found)?;
    // Whoever may write may change anybody's; Apps what is in the repository.
    let may = match call.actor() {
        Actor::User(login) => *login == issue.author || world.role(repo, login) >= Role::Write,
        Actor::Installation { .. } => true,
        Actor::App(_) | Actor::Anonymous => false,
    };
    if !may {
        return Err(Answer::error(403, "Must have admin rights to Repository."));
    }
    let field = |name: &str| call.request.body.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(body) = field("body") {
        world.edit_issue(id, number, &login, &body)?;
    }
    match field("state").as_deref() {
        Some("closed") => world.close_issue(id, number, &login, true)?,
        Some("open") => world.close_issue(id, number, &login, false)?,
        Some(_) => return Err(Answer::invalid_field("Issue", "state", "invalid")),
        None => {}
    }
    get(world, call)
}

impl World {
    /// Opens an issue.
    pub fn open_issue(&mut self, id: u64, login: &str, title: &str, body: &str) -> Result<u64, Answer> {
        check(body)?;
        if title.trim().is_empty() {
            return Err(Answer::invalid_field("Issue", "title", "missing_field"));
        }
        let (own, now) = (self.id(), self.now());
        let repo = self.repo_mut(id)?;
        repo.last_number += 1;
        let number = repo.last_number;
        let (author, title, body) = (login.to_owned(), title.to_owned(), body.to_owned());
        let issue = Issue {
            id: own,
            number,
            author,
            title,
            body,
            created_at: now,
            updated_at: now,
            edited: None,
            closed: None,
        };
        repo.issues.insert(number, issue);
        self.note(id, format!("opened issue #{number} by {login}"));
        webhooks::issue(self, id, number, "opened", login);
        Ok(number)
    }

    /// Changes the text of an issue.
    pub fn edit_issue(&mut self, id: u64, number: u64, login: &str, body: &str) -> Result<(), Answer> {
        check(body)?;
        let now = self.now();
        let issue = self.repo_mut(id)?.issues.get_mut(&number).ok_or_else(Answer::not_found)?;
        (issue.body, issue.updated_at) = (body.to_owned(), now);
        issue.edited = Some((now, login.to_owned()));
        self.note(id, format!("edited issue #{number} by {login}"));
        webhooks::issue(self, id, number, "edited", login);
        Ok(())
    }

    /// Closes an issue, or opens it again.
    pub fn close_issue(&mut self, id: u64, number: u64, login: &str, closed: bool) -> Result<(), Answer> {
        let now = self.now();
        let issue = self.repo_mut(id)?.issues.get_mut(&number).ok_or_else(Answer::not_found)?;
        if issue.closed.is_some() == closed {
            return Ok(());
        }
        (issue.closed, issue.updated_at) = (closed.then(|| (now, login.to_owned())), now);
        let action = if closed { "closed" } else { "reopened" };
        self.note(id, format!("{action} issue #{number} by {login}"));
        webhooks::issue(self, id, number, action, login);
        Ok(())
    }
}

fn check(body: &str) -> Result<(), Answer> {
    if body.chars().count() > LIMIT {
        return Err(Answer::invalid("Issue", &format!("body is too long (maximum is {LIMIT} characters)")));
    }
    Ok(())
}
