//! `POST /webhook`: bound, verify, ring, answer. Nothing of a delivery is looked at before its
//! signature is verified over the raw bytes, and afterwards only which repository it is about;
//! what it says is never believed.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde::Deserialize;

use super::Bell;
use super::door::{Answer, Door, Keys, signature};
use crate::secret::Secret;

/// GitHub's own bound; it does not send bigger ones.
const MOST_BYTES: usize = 25 << 20;
/// Bodies that are held at once, in KiB.
const MOST_HELD: usize = 48 << 10;
const SIGNATURE: &str = "x-hub-signature-256";

/// Events that can change what is decided. Others are acknowledged and ring nothing.
const RINGING: [&str; 22] = [
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
    "deployment_status",
    "issue_comment",
    "member",
    "membership",
    "package",
    "pull_request",
    "pull_request_review",
    "push",
    "registry_package",
    "release",
    "repository",
    "repository_dispatch",
    "repository_ruleset",
    "status",
    "team",
    "team_add",
    "workflow_run",
];
/// Events that change which repositories there are.
const LISTING: [&str; 3] = ["installation", "installation_repositories", "installation_target"];

/// The endpoint. `secrets` is a list so that one can be replaced by another without a gap; with
/// none, nothing is accepted.
pub fn router(bell: Bell, secrets: &[Secret]) -> Router {
    Endpoint::new(bell, secrets).router()
}

struct Endpoint {
    bell: Bell,
    keys: Keys,
    door: Door,
}

/// A delivery, as far as it is read.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Delivery {
    /// What happened to the thing that the event is about; any word.
    #[serde(default)]
    pub action: Option<String>,
    /// Where.
    #[serde(default)]
    pub repository: Option<Numbered>,
    /// Through which installation.
    #[serde(default)]
    pub installation: Option<Numbered>,
    /// Whose act it was.
    #[serde(default)]
    pub sender: Option<Numbered>,
}

/// Something with a number.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Numbered {
    /// Its number.
    pub id: u64,
}

async fn receive(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let said = endpoint.accept(&parts.headers, &mut body).await;
    endpoint.door.answer("github", said, body).await
}

impl Endpoint {
    fn new(bell: Bell, secrets: &[Secret]) -> Self {
        let door = Door::new(MOST_BYTES, "a delivery has at most 25 MB", MOST_HELD);
        Self { bell, keys: Keys::new(secrets), door }
    }

    fn router(self) -> Router {
        Router::new().route("/webhook", post(receive)).with_state(Arc::new(self))
    }

    async fn accept(&self, headers: &HeaderMap, body: &mut Body) -> Result<&'static str, Answer> {
        let refused = (StatusCode::UNAUTHORIZED, "X-Hub-Signature-256 is missing or malformed");
        let tag = signature(headers, SIGNATURE, refused)?;
        let (body, _room) = self.door.read(headers, body).await?;
        if !self.keys.signed(&body, &tag) {
            return Err((StatusCode::UNAUTHORIZED, "the signature does not fit"));
        }
        let event = headers.get("x-github-event").and_then(|event| event.to_str().ok());
        let event = event.ok_or((StatusCode::BAD_REQUEST, "X-GitHub-Event is missing"))?;
        self.ring(event, &body)
    }

    fn ring(&self, event: &str, body: &[u8]) -> Result<&'static str, Answer> {
        let rings = RINGING.contains(&event);
        let lists = LISTING.contains(&event);
        if !rings && !lists {
            return Ok("nothing to do");
        }
        let delivery: Delivery = serde_json::from_slice(body).map_err(|_| {
            (StatusCode::BAD_REQUEST, "the delivery is not JSON; choose the content type `application/json`")
        })?;
        tracing::debug!(
            event,
            action = delivery.action.as_deref().map(|action| action.escape_debug().take(40).collect::<String>()),
            repository = delivery.repository.as_ref().map(|repository| repository.id),
            installation = delivery.installation.as_ref().map(|installation| installation.id),
            "webhook"
        );
        let number = |one: Option<Numbered>| one.map(|one| one.id);
        let (installation, sender) = (number(delivery.installation), number(delivery.sender));
        match delivery.repository {
            // A stranger who installs a public App rings for the list, and wakes no repository.
            _ if lists => {
                self.bell.ring_list(sender);
                self.bell.ring_installation(installation, sender);
            }
            Some(repository) => self.bell.ring(repository.id, sender),
            // About an organization or a team: nobody can say which repositories.
            None => self.bell.ring_installation(installation, sender),
        }
        Ok("rung")
    }
}

#[cfg(test)]
mod tests;
