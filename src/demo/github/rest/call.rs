//! What a handler gets and gives: a call of a route, what its body must hold, and the faults that creations meet.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::Value;

use crate::github::answer::{Answer, Outcome, Request};
use crate::github::faults::CreateFault;
use crate::github::state::{Access, Actor, Role, World};

/// A request with the values of its route's placeholders.
pub struct Call<'a> {
    /// The request.
    pub request: &'a Request,
    /// Values of the placeholders by name.
    pub values: BTreeMap<&'static str, String>,
}

impl Call<'_> {
    /// A placeholder's value.
    pub fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// A placeholder that is a number; 404 when it is none.
    pub fn number(&self, name: &str) -> Result<u64, Answer> {
        self.value(name).parse().map_err(|_| Answer::not_found())
    }

    /// Who asks.
    pub fn actor(&self) -> &Actor {
        &self.request.actor
    }

    /// The id of the repository of the path, when the actor may do this in it.
    pub fn repository(&self, world: &World, permission: &str, access: Access, role: Role) -> Result<u64, Answer> {
        let id = world.find(self.value("owner"), self.value("repo")).ok_or_else(Answer::not_found)?;
        world.need(self.actor(), id, permission, access, role)?;
        Ok(id)
    }
}

/// Who answers a route.
pub type Handler = fn(&mut World, &Call<'_>) -> Outcome;

/// A route: method, template and who answers. `{name...}` takes the rest of the path.
pub type Route = (Method, &'static str, Handler);

impl World {
    /// Whether the next creation fails, and if so whether before or after its effect.
    pub fn creation_fault(&mut self) -> Option<CreateFault> {
        self.faults.creations.pop_front()
    }
}

/// Creates something, with the faults that creations meet.
pub fn create(world: &mut World, effect: impl FnOnce(&mut World) -> Outcome) -> Outcome {
    match world.creation_fault() {
        None => effect(world),
        Some(CreateFault::ErrorBefore) => Err(Answer::broken()),
        Some(CreateFault::ErrorAfter) => {
            effect(world)?;
            Err(Answer::broken())
        }
    }
}

/// A text of a body that must be there.
pub fn required<'a>(call: &'a Call<'_>, resource: &str, field: &str) -> Result<&'a str, Answer> {
    match call.request.body.get(field) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Err(Answer::invalid_field(resource, field, "missing_field")),
        Some(_) => Err(Answer::invalid_field(resource, field, "invalid")),
    }
}
