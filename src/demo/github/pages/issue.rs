//! Pages of issues: the list, and one with its boxes.

use serde_json::{Value, json};

use super::page::{Page, Visit, base, time};
use crate::github::markdown;
use crate::github::state::{Issue, Role, World};

fn state(issue: &Issue) -> &'static str {
    if issue.closed.is_none() { "open" } else { "closed" }
}

/// All of them, the newest first.
pub fn list(world: &World, id: u64) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let items: Vec<Value> = repo
        .issues
        .values()
        .rev()
        .map(|issue| {
            let (number, title, author) = (issue.number, &issue.title, &issue.author);
            json!({"number": number, "title": title, "author": author, "state": state(issue), "at": time(issue.created_at)})
        })
        .collect();
    let mut data = base(repo);
    data["issues"] = items.into();
    Ok(Page::new("issues", "Issues", data))
}

/// One issue. Whoever may edit it ticks its boxes.
pub fn show(world: &World, id: u64, number: u64, visit: &Visit<'_>) -> Result<Page, Page> {
    let repo = world.repo(id)?;
    let issue = repo.issues.get(&number).ok_or_else(Page::not_found)?;
    let may = visit.who.as_deref().is_some_and(|who| who == issue.author || world.role(repo, who) >= Role::Write);
    let mut data = base(repo);
    data["issue"] = json!({
        "number": number, "title": issue.title, "author": issue.author, "state": state(issue),
        "open": issue.closed.is_none(), "created": time(issue.created_at),
        "edited": issue.edited.as_ref().map(|(at, by)| format!("{by}, {}", time(*at))),
        "body": markdown::with_boxes(&issue.body, may),
    });
    data["may"] = may.into();
    Ok(Page::new("issue", &format!("{} · #{number}", issue.title), data))
}
