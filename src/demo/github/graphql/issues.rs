//! Issues that are no pull requests.

use serde_json::Value;

use super::exec::Executor;
use super::objects::actor;
use super::query::{Arguments, Fault};
use super::value::{Resolved, connection, null, ready};
use crate::github::rest::render;
use crate::github::state::{Issue, Repository, World, stamp};

impl Executor<'_> {
    /// The issues of a repository: by state, by author; in the order of their numbers unless asked otherwise.
    pub fn issues(&self, id: u64, arguments: &Arguments) -> Result<Resolved, Fault> {
        self.need(id, "issues")?;
        let (world, states) = (&*self.world, arguments.texts("states"));
        let repo = world.repo(id)?;
        let creator = arguments.get("filterBy").and_then(|filter| filter["createdBy"].as_str());
        let wanted = |issue: &&Issue| {
            states.as_ref().is_none_or(|states| states.contains(&state(issue)))
                && creator.is_none_or(|creator| creator.eq_ignore_ascii_case(&issue.author))
        };
        let me = world.login(self.actor);
        let shown = |issue: &Issue| (issue.id.to_string(), shown(world, repo, issue, &me));
        let mut items: Vec<_> = repo.issues.values().filter(wanted).map(shown).collect();
        if arguments.get("orderBy").and_then(|order| order["direction"].as_str()) == Some("DESC") {
            items.reverse();
        }
        connection("IssueConnection", arguments, items)
    }

    /// One issue by number.
    pub fn issue(&self, id: u64, arguments: &Arguments) -> Result<Resolved, Fault> {
        self.need(id, "issues")?;
        let number = arguments.get("number").and_then(Value::as_u64).unwrap_or(0);
        let (world, repo) = (&*self.world, self.world.repo(id)?);
        let missing = || Fault::new("NOT_FOUND", format!("Could not resolve to an Issue with the number of {number}."));
        let found = repo.issues.get(&number).ok_or_else(missing)?;
        Ok(shown(world, repo, found, &world.login(self.actor)))
    }
}

fn state(issue: &Issue) -> &'static str {
    if issue.closed.is_none() { "OPEN" } else { "CLOSED" }
}

fn shown(world: &World, repo: &Repository, issue: &Issue, me: &str) -> Resolved {
    let edited = issue.edited.as_ref();
    ready(
        "Issue",
        [
            ("id", format!("I_{}", issue.id).into()),
            ("databaseId", issue.id.into()),
            ("number", issue.number.into()),
            ("title", issue.title.clone().into()),
            ("body", issue.body.clone().into()),
            ("state", state(issue).into()),
            ("closed", issue.closed.is_some().into()),
            ("url", format!("{}/issues/{}", render::page_url(world, repo), issue.number).into()),
            ("author", actor(world, &issue.author)),
            ("editor", edited.map_or_else(null, |(_, by)| actor(world, by))),
            ("lastEditedAt", edited.map(|(at, _)| stamp(*at)).into()),
            ("createdAt", stamp(issue.created_at).into()),
            ("updatedAt", stamp(issue.updated_at).into()),
            ("viewerDidAuthor", (issue.author == me).into()),
        ],
    )
}
