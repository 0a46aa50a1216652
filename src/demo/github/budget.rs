//! How many requests an actor may make in an hour, and what the hub says of it. Both APIs count in one budget.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::answer::Answer;
use super::state::{Actor, Limit, World};

/// Requests an hour without a token.
const HOURLY_ANONYMOUS: u64 = 60;

/// Whose budget a request of this actor is counted in.
pub fn budget_key(world: &World, actor: &Actor) -> String {
    match actor {
        Actor::Anonymous => "anonymous".to_owned(),
        Actor::User(_) | Actor::App(_) => world.login(actor),
        // Each installation has a budget of its own.
        Actor::Installation { app, installation, .. }
            if world.apps.get(app).is_some_and(|app| app.first != *installation) =>
        {
            format!("{} at {installation}", world.login(actor))
        }
        Actor::Installation { .. } => world.login(actor),
    }
}

/// Lets a request through unless a limit stands against it, and counts it. Not everybody meets the limits that are
/// faults.
pub fn metered(
    world: &mut World,
    key: &str,
    (graphql, limited): (bool, bool),
    answer: impl FnOnce(&mut World) -> Answer,
) -> Answer {
    if let Some((left, wait)) = world.faults.secondary_limit.filter(|_| limited) {
        world.faults.secondary_limit = (left > 1).then_some((left - 1, wait));
        world.faults.refused += 1;
        let mut refused = Answer::error(
            403,
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        );
        refused.headers.push(("retry-after", wait.to_string()));
        return refused;
    }
    let (used, limit) = (limit_of(world, key).used, hourly(world, key));
    if world.faults.rate_limit_exhausted && limited || used >= limit {
        world.faults.refused += 1;
        if graphql {
            let message = format!("API rate limit already exceeded for {key}.");
            return Answer::ok(
                json!({"errors": [{"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": message}]}),
            );
        }
        return Answer::error(403, &format!("API rate limit exceeded for {key}."));
    }
    if let Some(entry) = world.limits.get_mut(key) {
        entry.used += 1;
    }
    answer(world)
}

fn hourly(world: &World, key: &str) -> u64 {
    if key == "anonymous" { HOURLY_ANONYMOUS.min(world.requests_per_hour) } else { world.requests_per_hour }
}

fn limit_of(world: &mut World, key: &str) -> Limit {
    let now = world.now();
    let fresh = Limit { used: 0, reset: now.checked_add(SignedDuration::from_hours(1)).unwrap_or(now) };
    let entry = world.limits.entry(key.to_owned()).or_insert(fresh);
    if entry.reset <= now {
        *entry = fresh;
    }
    *entry
}

/// Used, limit and reset of an actor, as `GET /rate_limit` and GraphQL show them.
pub fn rate_limit(world: &mut World, key: &str) -> Value {
    let entry = limit_of(world, key);
    let limit = hourly(world, key);
    let used = if world.faults.rate_limit_exhausted { limit } else { entry.used.min(limit) };
    let soon = world.faults.resets_in.filter(|_| world.faults.rate_limit_exhausted);
    let soon = soon.and_then(|wait| world.now().checked_add(wait).ok());
    let reset = soon.unwrap_or(entry.reset).as_second();
    let one = json!({"limit": limit, "used": used, "remaining": limit - used, "reset": reset});
    json!({"resources": {"core": one, "graphql": one, "search": one}, "rate": one})
}

/// The budget of an actor for GraphQL's `rateLimit`.
pub fn budget(world: &mut World, actor: &Actor) -> Value {
    let key = budget_key(world, actor);
    rate_limit(world, &key)["rate"].clone()
}
