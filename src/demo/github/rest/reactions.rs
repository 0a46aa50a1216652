//! Reactions to comments of pull requests: one of each kind per account.

use axum::http::Method;
use serde_json::{Value, json};

use super::call::{Call, Route, required};
use super::comments::{found, place};
use super::render;
use crate::github::answer::{Answer, Outcome};
use crate::github::state::{Access, REACTIONS, Reaction, World, stamp};

pub fn routes() -> Vec<Route> {
    vec![
        (Method::GET, "/repos/{owner}/{repo}/issues/comments/{comment}/reactions", list),
        (Method::POST, "/repos/{owner}/{repo}/issues/comments/{comment}/reactions", react),
    ]
}

fn list(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = place(world, call, Access::Read)?;
    let wanted = call.request.query.get("content");
    let reactions = found(world, call, id)?.reactions.iter();
    let items = reactions.filter(|one| wanted.is_none_or(|wanted| wanted == one.content));
    let items = items.map(|one| reaction(world, one)).collect();
    Ok(Answer::page(call.request, &world.api(), items))
}

fn react(world: &mut World, call: &Call<'_>) -> Outcome {
    let id = place(world, call, Access::Write)?;
    let number = call.number("comment")?;
    found(world, call, id)?;
    let content = required(call, "Reaction", "content")?;
    let Some((content, _)) = REACTIONS.iter().find(|(name, _)| *name == content) else {
        return Err(Answer::invalid_field("Reaction", "content", "invalid"));
    };
    let (login, now, fresh) = (world.login(call.actor()), world.now(), world.id());
    let comment = world.repo_mut(id)?.comments.get_mut(&number).ok_or_else(Answer::not_found)?;
    let known = comment.reactions.iter().find(|one| one.content == *content && one.by == login).cloned();
    let (answer, one): (fn(Value) -> Answer, Reaction) = match known {
        Some(one) => (Answer::ok, one),
        None => {
            let one = Reaction { id: fresh, by: login, content, at: now };
            comment.reactions.push(one.clone());
            (Answer::created, one)
        }
    };
    Ok(answer(reaction(world, &one)))
}

fn reaction(world: &World, one: &Reaction) -> Value {
    json!({
        "id": one.id, "node_id": format!("REA_{}", one.id), "user": render::user(world, &one.by),
        "content": one.content, "created_at": stamp(one.at),
    })
}
