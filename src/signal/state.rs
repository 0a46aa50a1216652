//! A state that stands at a path, and what its values mean: for kinds that know nothing of what they read.

use decide::snapshot::Health;
use serde_json::Value;

use super::settings::{Settings, SignalError, optional, required};
use jsonpath::Path;
use parse::read::{Form, Shape};
use parse::settings::{Given, Refused, Values};

pub(super) static STATE: Shape = Shape {
    what: "state",
    keys: &[
        required("path", Form::JsonPath, &["The place."]),
        required("healthy", Form::Words, &["Values that mean healthy."]),
        optional("degraded", Form::Words, &["Values that mean degraded. Default none."]),
        optional("suspended", Form::Words, &["Values that mean suspended. Default none."]),
    ],
    unsupported: &[],
    about: &["Where a state stands, and what its values mean. A value in no list is progressing."],
};

/// What controllers call states: these are told though no list has them.
const KNOWN: [&str; 47] = [
    "Aborted",
    "Accepted",
    "Active",
    "Available",
    "Bound",
    "Complete",
    "Completed",
    "Creating",
    "Degraded",
    "Deleting",
    "Deployed",
    "Down",
    "Error",
    "Failed",
    "Failing",
    "False",
    "Healthy",
    "Initializing",
    "Installed",
    "Installing",
    "Missing",
    "NotReady",
    "null",
    "Offline",
    "OK",
    "Online",
    "OutOfSync",
    "Paused",
    "Pending",
    "Progressing",
    "Provisioned",
    "Provisioning",
    "Ready",
    "Reconciling",
    "Running",
    "Starting",
    "Stopped",
    "Succeeded",
    "Suspended",
    "Synced",
    "Terminating",
    "True",
    "Unhealthy",
    "Unknown",
    "Up",
    "Updating",
    "Upgrading",
];

/// The place, and the values.
#[derive(Clone, Debug)]
pub(super) struct States {
    pub path: Path,
    healthy: Vec<String>,
    degraded: Vec<String>,
    suspended: Vec<String>,
}

impl States {
    pub fn new(settings: &Settings<'_>) -> Result<Self, SignalError> {
        let state = settings.within("state").ok_or(SignalError::Missing { key: "state" })?;
        Ok(Self {
            path: state.path("path")?.ok_or(SignalError::Missing { key: "state.path" })?,
            healthy: state.list("healthy").to_vec(),
            degraded: state.list("degraded").to_vec(),
            suspended: state.list("suspended").to_vec(),
        })
    }

    /// What a value means, and what is told of it. A value is repeated where it is a state: what else stands at a path
    /// that somebody wrote into a policy may be a secret.
    pub fn judge(&self, value: &Value) -> (Health, String) {
        let text = value.as_str().map_or_else(|| value.to_string(), ToString::to_string);
        let listed = [&self.healthy, &self.degraded, &self.suspended].into_iter().any(|list| list.contains(&text));
        let path = self.path.as_str();
        let told = if listed || KNOWN.iter().any(|known| known.eq_ignore_ascii_case(&text)) {
            format!("{path}={text}")
        } else {
            format!("{path} holds no state that is known ({} characters)", text.chars().count())
        };
        (self.health(&text), told)
    }

    fn health(&self, text: &str) -> Health {
        let is_in = |values: &[String]| values.iter().any(|value| value == text);
        if is_in(&self.healthy) {
            Health::Healthy
        } else if is_in(&self.degraded) {
            Health::Degraded
        } else if is_in(&self.suspended) {
            Health::Suspended
        } else {
            Health::Progressing
        }
    }
}

/// A value means one thing, and one of them means healthy.
pub(super) fn refuse(values: &Values) -> Result<(), Refused> {
    let Some(Given::Map(state)) = values.get("state") else { return Ok(()) };
    let mut seen: Vec<&String> = Vec::new();
    for (key, at) in [("healthy", "state.healthy"), ("degraded", "state.degraded"), ("suspended", "state.suspended")] {
        let Some(Given::List(list)) = state.get(key) else { continue };
        if key == "healthy" && list.is_empty() {
            let help = "name at least one, such as `healthy: [\"True\"]`".to_string();
            return Err(Refused { at, why: "no value would mean healthy".to_string(), help });
        }
        for value in list {
            if seen.contains(&value) {
                let why = format!("the value `{value}` stands here twice");
                return Err(Refused { at, why, help: "a value means one thing".to_string() });
            }
            seen.push(value);
        }
    }
    Ok(())
}
