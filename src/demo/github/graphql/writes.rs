//! The writes of GraphQL: those of people's tools, which `gh` makes of `pr comment`, `review`, `merge` and `close`, and
//! those of the merge queue. Each does what the same request over REST does.

use serde_json::Value;

use super::exec::Executor;
use super::objects::actor;
use super::pulls;
use super::query::{Arguments, Fault};
use super::value::{Object, Resolved, ready};
use crate::github::answer::Answer;
use crate::github::demands::{MergeRequest, Way};
use crate::github::state::{Access, ReviewState, Role};

/// Where an input names what is written to.
const NODES: [&str; 3] = ["pullRequestId", "subjectId", "id"];

impl Executor<'_> {
    /// A field of the root of writes.
    pub fn mutation(&mut self, name: &str, arguments: &Arguments) -> Result<Resolved, Fault> {
        let input = arguments.get("input").cloned().unwrap_or_default();
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let node = NODES.into_iter().find_map(text).unwrap_or_default().to_owned();
        let Resolved::Object(Object::Pull(id, number)) = self.node(&node)? else {
            return Err(Fault::new("NOT_FOUND", format!("Could not resolve to a node with the global id of '{node}'")));
        };
        match name {
            "enqueuePullRequest" => self.enqueue(id, number, text("expectedHeadOid")),
            "dequeuePullRequest" => self.dequeue(id, number),
            "addComment" => self.add_comment(id, number, text("body").unwrap_or_default()),
            "addPullRequestReview" => self.add_review(id, number, &input),
            "mergePullRequest" => self.merge(id, number, &input),
            "closePullRequest" => self.close(id, number),
            _ => Ok(super::value::null()),
        }
    }

    fn add_comment(&mut self, id: u64, number: u64, body: &str) -> Result<Resolved, Fault> {
        let may = |permission| self.world.need(self.actor, id, permission, Access::Write, Role::Read);
        may("issues").or_else(|_| may("pull_requests"))?;
        let login = self.world.login(self.actor);
        let comment = self.world.write_comment(id, number, &login, body)?;
        let repo = self.world.repo(id)?;
        let found = repo.comments.get(&comment).ok_or_else(Answer::not_found)?;
        let node = pulls::comment(self.world, repo, found, &login);
        let edge = ready("IssueCommentEdge", [("node", node)]);
        let subject = Resolved::Object(Object::Pull(id, number));
        Ok(ready("AddCommentPayload", [("commentEdge", edge), ("subject", subject)]))
    }

    /// A review that is submitted at once.
    fn add_review(&mut self, id: u64, number: u64, input: &Value) -> Result<Resolved, Fault> {
        self.world.need(self.actor, id, "pull_requests", Access::Write, Role::Read)?;
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let state = match text("event") {
            Some("APPROVE") => ReviewState::Approved,
            Some("REQUEST_CHANGES") => ReviewState::ChangesRequested,
            Some("COMMENT") => ReviewState::Commented,
            Some(_) | None => return Err(Fault::new("UNPROCESSABLE", "Reviews that wait are not known here")),
        };
        let (login, body) = (self.world.login(self.actor), text("body").unwrap_or_default());
        let review = self.world.submit_review(id, number, &login, state, body, text("commitOID"))?;
        let (repo, pull) = (self.world.repo(id)?, self.world.pull_of(id, number)?);
        let found = pull.reviews.iter().find(|one| one.id == review).ok_or_else(Answer::not_found)?;
        let found = pulls::review(self.world, repo, pull, found, &login);
        Ok(ready("AddPullRequestReviewPayload", [("pullRequestReview", found)]))
    }

    fn merge(&mut self, id: u64, number: u64, input: &Value) -> Result<Resolved, Fault> {
        for permission in ["pull_requests", "contents"] {
            self.world.need(self.actor, id, permission, Access::Write, Role::Write)?;
        }
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        let method = text("mergeMethod").unwrap_or("MERGE").to_lowercase();
        let (sha, title, message) = (text("expectedHeadOid"), text("commitHeadline"), text("commitBody"));
        let wanted = MergeRequest { actor: self.actor, method: &method, sha, title, message, way: Way::Button };
        self.world.merge(id, number, &wanted)?;
        let by = actor(self.world, &self.world.login(self.actor));
        let pull = Resolved::Object(Object::Pull(id, number));
        Ok(ready("MergePullRequestPayload", [("pullRequest", pull), ("actor", by)]))
    }

    fn close(&mut self, id: u64, number: u64) -> Result<Resolved, Fault> {
        let login = self.world.login(self.actor);
        let own = self.world.pull_of(id, number)?.author == login;
        let role = if own { Role::Read } else { Role::Triage };
        self.world.need(self.actor, id, "pull_requests", Access::Write, role)?;
        if !self.world.pull_of(id, number)?.is_open() {
            return Err(Answer::error(422, "Could not close the pull request.").into());
        }
        self.world.close(id, number, &login)?;
        Ok(ready("ClosePullRequestPayload", [("pullRequest", Resolved::Object(Object::Pull(id, number)))]))
    }
}
