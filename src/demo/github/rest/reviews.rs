//! Reviews.

use axum::http::Method;
use serde_json::json;

use super::call::{Call, Route, create, required};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, Review, ReviewState, Role, World};
use crate::github::webhooks;

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/pulls/{number}/reviews", list),
        (Method::POST, "/repos/{owner}/{repo}/pulls/{number}/reviews", submit),
        (Method::GET, "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}", get),
        (Method::PUT, "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}", update),
        (Method::PUT, "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}/dismissals", dismiss),
    ]
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Read, Role::Read)?;
    let (repo, pull) = (world.repo(id)?, world.pull_of(id, call.number("number")?)?);
    let items = pull.reviews.iter().map(|review| render::review(world, repo, pull, review)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn show(world: &World, id: u64, number: u64, review: u64) -> Outcome {
    let (repo, pull) = (world.repo(id)?, world.pull_of(id, number)?);
    let found = pull.reviews.iter().find(|one| one.id == review).ok_or_else(Answer::not_found)?;
    Ok(Answer::ok(render::review(world, repo, pull, found)))
}

fn get(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Read, Role::Read)?;
    show(world, id, call.number("number")?, call.number("review")?)
}

fn submit(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Write, Role::Read)?;
    let number = call.number("number")?;
    let state = match required(call, "PullRequestReview", "event")? {
        "APPROVE" => ReviewState::Approved,
        "REQUEST_CHANGES" => ReviewState::ChangesRequested,
        "COMMENT" => ReviewState::Commented,
        _ => return Err(Answer::invalid_field("PullRequestReview", "event", "invalid")),
    };
    let body = call.request.text("body").unwrap_or_default().to_owned();
    let commit = call.request.text("commit_id").map(str::to_owned);
    let login = world.login(call.actor());
    create(world, |world| {
        let review = world.submit_review(id, number, &login, state, &body, commit.as_deref())?;
        show(world, id, number, review)
    })
}

impl World {
    /// Submits a review. Authors neither approve nor refuse their own.
    pub fn submit_review(
        &mut self,
        id: u64,
        number: u64,
        login: &str,
        state: ReviewState,
        body: &str,
        commit: Option<&str>,
    ) -> Result<u64, Answer> {
        let pull = self.pull_of(id, number)?;
        let refused = |why: &str| {
            Answer::with(
                axum::http::StatusCode::UNPROCESSABLE_ENTITY,
                json!({"message": "Unprocessable Entity", "errors": [why], "status": "422",
                       "documentation_url": "https://docs.github.com/rest/pulls/reviews"}),
            )
        };
        match state {
            ReviewState::Approved if pull.author == login => {
                return Err(refused("Can not approve your own pull request"));
            }
            ReviewState::ChangesRequested if pull.author == login => {
                return Err(refused("Can not request changes on your own pull request"));
            }
            ReviewState::ChangesRequested | ReviewState::Commented if body.trim().is_empty() => {
                return Err(refused("Body can't be blank"));
            }
            ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Commented | ReviewState::Dismissed => {
            }
        }
        let commit = commit.unwrap_or(&pull.head_sha).to_owned();
        let (review, at) = (self.id(), self.now());
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        pull.reviews.push(Review {
            id: review,
            author: login.to_owned(),
            state,
            body: body.to_owned(),
            commit,
            at,
            edited: None,
        });
        pull.requested.remove(login);
        pull.updated_at = at;
        let word = match state {
            ReviewState::Approved => "approved",
            ReviewState::ChangesRequested => "requested changes on",
            ReviewState::Commented => "reviewed",
            ReviewState::Dismissed => "dismissed",
        };
        self.note(id, format!("{word} #{number} by {login}"));
        webhooks::review(self, id, number, review, "submitted", login);
        Ok(review)
    }

    /// Whether somebody may change the words of a review: their own, with write anybody's.
    pub fn may_edit_review(&self, id: u64, number: u64, review: u64, login: &str) -> Result<bool, Answer> {
        let (repo, pull) = (self.repo(id)?, self.pull_of(id, number)?);
        let found = pull.reviews.iter().find(|one| one.id == review).ok_or_else(Answer::not_found)?;
        Ok(found.author == login || self.role(repo, login) >= Role::Write)
    }

    /// Changes the words of a review; whose it was, it stays.
    pub fn edit_review(&mut self, id: u64, number: u64, review: u64, login: &str, body: &str) -> Result<(), Answer> {
        let now = self.now();
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        let found = pull.reviews.iter_mut().find(|one| one.id == review).ok_or_else(Answer::not_found)?;
        (found.body, found.edited) = (body.to_owned(), Some((now, login.to_owned())));
        self.note(id, format!("edited a review of #{number} by {login}"));
        webhooks::review(self, id, number, review, "edited", login);
        Ok(())
    }

    /// Takes a review back.
    pub fn dismiss(&mut self, id: u64, number: u64, review: u64, login: &str) -> Result<(), Answer> {
        let pull = self.repo_mut(id)?.pulls.get_mut(&number).ok_or_else(Answer::not_found)?;
        let found = pull.reviews.iter_mut().find(|one| one.id == review).ok_or_else(Answer::not_found)?;
        if found.state == ReviewState::Commented {
            return Err(Answer::error(422, "Can not dismiss a commented pull request review"));
        }
        found.state = ReviewState::Dismissed;
        self.note(id, format!("dismissed a review of #{number} by {login}"));
        webhooks::review(self, id, number, review, "dismissed", login);
        Ok(())
    }
}

fn dismiss(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Write, Role::Write)?;
    let (number, review) = (call.number("number")?, call.number("review")?);
    required(call, "PullRequestReview", "message")?;
    let login = world.login(call.actor());
    world.dismiss(id, number, review, &login)?;
    show(world, id, number, review)
}

/// People change the words of their own reviews, those with write of all.
fn update(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = call.repository(world, "pull_requests", Access::Write, Role::Read)?;
    let (number, review) = (call.number("number")?, call.number("review")?);
    let body = required(call, "PullRequestReview", "body")?.to_owned();
    let login = world.login(call.actor());
    if !world.may_edit_review(id, number, review, &login)? {
        return Err(Answer::error(403, "Must have admin rights to Repository."));
    }
    world.edit_review(id, number, review, &login, &body)?;
    show(world, id, number, review)
}
