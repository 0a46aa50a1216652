//! Pull requests: list, open, show, change.

use axum::http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::{Call, Route, create, required};
use super::{render, render_git};
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Actor, Pull, Role, World};
use crate::github::webhooks;

/// GitHub's cap on titles and bodies, in characters.
const TITLE: usize = 256;
const BODY: usize = 65_536;

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/pulls", list),
        (Method::POST, "/repos/{owner}/{repo}/pulls", open),
        (Method::GET, "/repos/{owner}/{repo}/pulls/{number}", get),
        (Method::PATCH, "/repos/{owner}/{repo}/pulls/{number}", update),
        (Method::GET, "/repos/{owner}/{repo}/pulls/{number}/files", files),
        (Method::GET, "/repos/{owner}/{repo}/pulls/{number}/commits", commits),
    ]
}

impl World {
    /// Whether lists show it yet: right after it was opened they may lag behind (a fault).
    pub fn listed(&self, pull: &Pull) -> bool {
        self.listed_since(pull.created_at)
    }

    /// Whether lists show yet what happened then.
    pub fn listed_since(&self, at: Timestamp) -> bool {
        let age = self.now().duration_since(at);
        let lag = jiff::SignedDuration::try_from(self.faults.list_lag).unwrap_or_default();
        lag.is_zero() || age >= lag
    }
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Read, Role::Read)?;
    let query = &call.request.query;
    let wanted = |key: &str| query.get(key).map(String::as_str);
    let repo = world.repo(id)?;
    let head = wanted("head").map(|head| head.split_once(':').unwrap_or((repo.owner.as_str(), head)));
    let state = wanted("state").unwrap_or("open");
    let mut pulls: Vec<&Pull> = repo
        .pulls
        .values()
        .filter(|pull| match state {
            "open" => pull.is_open(),
            "closed" => !pull.is_open(),
            _ => true,
        })
        // As at the hub: a head without an owner is no filter that finds something, but none at all.
        .filter(|pull| head.is_none_or(|(owner, name)| owner.eq_ignore_ascii_case(&repo.owner) && pull.is_of(name)))
        .filter(|pull| wanted("base").is_none_or(|base| pull.base == base))
        .filter(|pull| world.listed(pull))
        .collect();
    match wanted("sort") {
        Some("updated") => pulls.sort_by_key(|pull| (pull.updated_at, pull.number)),
        _ => pulls.sort_by_key(|pull| pull.number),
    }
    let ascending = wanted("direction").map_or(wanted("sort").is_some_and(|sort| sort != "created"), |d| d == "asc");
    if !ascending {
        pulls.reverse();
    }
    let items = pulls.into_iter().map(|pull| render::pull(world, repo, pull)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn open(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Write, Role::Read)?;
    let head = required(call, "PullRequest", "head")?.to_owned();
    let base = required(call, "PullRequest", "base")?.to_owned();
    let title = required(call, "PullRequest", "title")?.to_owned();
    let body = call.request.text("body").unwrap_or_default().to_owned();
    let draft = call.request.body.get("draft").and_then(Value::as_bool).unwrap_or(false);
    let login = world.login(call.actor());
    create(world, |world| {
        let number = world.open_pull(id, &login, &head, &base, &title, &body, draft)?;
        let standing = world.standing_read(id, number)?;
        let repo = world.repo(id)?;
        Ok(Answer::created(render::pull_full(world, repo, world.pull_of(id, number)?, &standing)))
    })
}

impl World {
    /// Opens a pull request, by the hub's rules.
    #[allow(clippy::too_many_arguments)] // it is the hub's own form, field by field
    pub fn open_pull(
        &mut self,
        id: u64,
        login: &str,
        head: &str,
        base: &str,
        title: &str,
        body: &str,
        draft: bool,
    ) -> Result<u64, Answer> {
        let repo = self.repo(id)?;
        let (owner, branch) = head.split_once(':').unwrap_or((repo.owner.as_str(), head));
        let invalid = |field: &str| Answer::invalid_field("PullRequest", field, "invalid");
        if !owner.eq_ignore_ascii_case(&repo.owner) {
            return Err(invalid("head")); // from forks they are opened by hand
        }
        let head_sha = repo.head(branch).ok_or_else(|| invalid("head"))?.to_owned();
        let base_sha = repo.head(base).ok_or_else(|| invalid("base"))?.to_owned();
        check_texts(title, body)?;
        if repo.open_for(branch, base).is_some() {
            let message = format!("A pull request already exists for {}:{branch}.", repo.owner);
            return Err(Answer::invalid("PullRequest", &message));
        }
        let (branch, full) = (branch.to_owned(), repo.full_name());
        if self.compare(id, &base_sha, &head_sha)?.commits == 0 {
            return Err(Answer::invalid("PullRequest", &format!("No commits between {base} and {branch}")));
        }
        let (pull_id, now) = (self.id(), self.now());
        let repo = self.repo_mut(id)?;
        repo.last_number += 1;
        let number = repo.last_number;
        repo.git.run(&["update-ref", &format!("refs/pull/{number}/head"), &head_sha])?;
        let pull = Pull {
            id: pull_id,
            number,
            title: title.to_owned(),
            body: body.to_owned(),
            author: login.to_owned(),
            head: branch.clone(),
            fork: None,
            head_sha,
            pusher: login.to_owned(),
            base: base.to_owned(),
            base_sha,
            draft,
            created_at: now,
            updated_at: now,
            edited: None,
            closed: None,
            merged: None,
            auto_merge: None,
            labels: Default::default(),
            assignees: Default::default(),
            requested: Default::default(),
            requested_teams: Default::default(),
            reviews: Vec::new(),
            conversations: Vec::new(),
            timeline: Vec::new(),
            stuck: false,
        };
        repo.pulls.insert(number, pull);
        tracing::debug!(repository = full, number, head = branch, "pull request opened");
        self.note(id, format!("opened #{number} {branch} by {login}"));
        webhooks::pull_request(self, id, number, "opened", login);
        Ok(number)
    }
}

fn check_texts(title: &str, body: &str) -> Result<(), Answer> {
    let too_long = |field: &str, limit: usize| {
        Answer::invalid_with(json!([{
            "resource": "PullRequest", "field": field, "code": "custom",
            "message": format!("{field} is too long (maximum is {limit} characters)"),
        }]))
    };
    if title.trim().is_empty() {
        return Err(Answer::invalid_field("PullRequest", "title", "missing_field"));
    }
    if title.chars().count() > TITLE {
        return Err(too_long("title", TITLE));
    }
    if body.chars().count() > BODY {
        return Err(too_long("body", BODY));
    }
    Ok(())
}

/// The number in the path, of a pull request that there is.
pub(super) fn number(world: &World, call: &Call<'_>, id: u64) -> Result<u64, Answer> {
    let number = call.number("number")?;
    let pull = world.pull_of(id, number)?;
    if world.listed(pull) { Ok(number) } else { Err(Answer::not_found()) }
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Read, Role::Read)?;
    let number = number(world, call, id)?;
    let standing = world.standing_read(id, number)?;
    if call.request.accept.contains("diff") {
        let diff = world.repo(id)?.git.diff(&standing.ancestor, &world.pull_of(id, number)?.head_sha, None)?;
        return Ok(Answer::diff(diff));
    }
    Ok(Answer::ok(render::pull_full(world, world.repo(id)?, world.pull_of(id, number)?, &standing)))
}

fn update(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Write, Role::Read)?;
    let number = number(world, call, id)?;
    let login = world.login(call.actor());
    let pull = world.pull_of(id, number)?;
    if let Actor::User(login) = call.actor()
        && *login != pull.author
        && world.role(world.repo(id)?, login) < Role::Triage
    {
        return Err(Answer::error(403, "Must have admin rights to Repository."));
    }
    let title = call.request.text("title").unwrap_or(&pull.title).to_owned();
    let body = match call.request.body.get("body") {
        Some(Value::String(body)) => body.clone(),
        Some(Value::Null) => String::new(),
        Some(_) => return Err(Answer::invalid_field("PullRequest", "body", "invalid")),
        None => pull.body.clone(),
    };
    check_texts(&title, &body)?;
    world.edit_pull(id, number, &title, &body, &login)?;
    if let Some(base) = call.request.text("base") {
        retarget(world, id, number, base, &login)?;
    }
    match call.request.text("state") {
        Some("closed") => world.close(id, number, &login)?,
        Some("open") => world.reopen(id, number, &login)?,
        Some(_) => return Err(Answer::invalid_field("PullRequest", "state", "invalid")),
        None => {}
    }
    let standing = world.standing_read(id, number)?;
    Ok(Answer::ok(render::pull_full(world, world.repo(id)?, world.pull_of(id, number)?, &standing)))
}

impl World {
    /// Changes title and body; the same texts again change nothing.
    pub fn edit_pull(&mut self, id: u64, number: u64, title: &str, body: &str, login: &str) -> Result<(), Answer> {
        let now = self.now();
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        if pull.title == title && pull.body == body {
            return Ok(());
        }
        if pull.body != body {
            pull.edited = Some((now, login.to_owned()));
        }
        pull.title = title.to_owned();
        pull.body = body.to_owned();
        pull.updated_at = now;
        self.note(id, format!("edited #{number} by {login}"));
        webhooks::pull_request(self, id, number, "edited", login);
        Ok(())
    }
}

fn retarget(world: &mut World, id: u64, number: u64, base: &str, login: &str) -> Result<(), Answer> {
    let (repo, pull) = (world.repo(id)?, world.pull_of(id, number)?);
    if pull.base == base {
        return Ok(());
    }
    let invalid = || Answer::invalid_field("PullRequest", "base", "invalid");
    let sha = repo.head(base).filter(|_| pull.is_open()).ok_or_else(invalid)?.to_owned();
    if pull.fork.is_none() && repo.open_for(&pull.head, base).is_some() {
        return Err(Answer::invalid("PullRequest", "A pull request already exists for these branches."));
    }
    if let Some(pull) = world.repo_mut(id)?.pulls.get_mut(&number) {
        pull.base = base.to_owned();
        pull.base_sha = sha;
    }
    world.note(id, format!("retargeted #{number} to {base} by {login}"));
    webhooks::pull_request(world, id, number, "edited", login);
    Ok(())
}

fn files(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Read, Role::Read)?;
    let number = number(world, call, id)?;
    let standing = world.standing(id, number)?;
    let (repo, pull) = (world.repo(id)?, world.pull_of(id, number)?);
    let from = &standing.ancestor;
    let items =
        standing.changes.iter().map(|change| render_git::file(world, repo, change, from, &pull.head_sha)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn commits(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Read, Role::Read)?;
    let number = number(world, call, id)?;
    let standing = world.standing(id, number)?;
    let (repo, pull) = (world.repo(id)?, world.pull_of(id, number)?);
    let mut log = repo.git.log(&[&format!("{}..{}", standing.ancestor, pull.head_sha)])?;
    log.reverse();
    let items = log.iter().map(|commit| render_git::commit(world, repo, commit)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}
