//! `POST /webhook`: bound, verify, ring, answer. Nothing of a delivery is looked at before its
//! signature is verified over the raw bytes, and afterwards only which repository or package it is about;
//! what it says is never believed.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::Bell;
use super::receiver::{Answer, Keys, Receiver, signature};
use super::replays::Replays;
use crate::clock;
use crate::metrics::Metrics;
use crate::secret::Secret;

/// GitHub's own bound; it does not send bigger ones.
const MOST_BYTES: usize = 25 << 20;
/// Of a bigger one nothing is kept while it comes, and so it rings nothing: with every place of the port taken by
/// strangers, what they send fits into 48 MiB. Only pushes with thousands of files are bigger, and what they change
/// rings in other ways, or is found by the next sweep.
const MOST_HELD: usize = 192 << 10;
/// For how long an older secret counts after a newer one was used: what was under way then has come.
const REPLACED: SignedDuration = SignedDuration::from_hours(1);
const SIGNATURE: &str = "x-hub-signature-256";

/// Events that can change what is decided. Others are acknowledged and ring nothing.
const RINGING: [&str; 25] = [
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
    "deployment_status",
    "issue_comment",
    "issues",
    "member",
    "membership",
    "merge_group",
    "package",
    "pull_request",
    "pull_request_review",
    "pull_request_review_thread",
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

/// The endpoint. `secrets` is a list, newest first, so that one can be replaced by another without a gap; with
/// none, nothing is accepted.
pub fn router(bell: Bell, secrets: &[Secret], metrics: Metrics) -> Router {
    Endpoint::new(bell, secrets, metrics).router()
}

struct Endpoint {
    bell: Bell,
    keys: Keys,
    receiver: Receiver,
    replays: Replays,
    /// When the newest secret was used first.
    renewed: OnceLock<Timestamp>,
    /// For how long older ones count after that.
    replaced: SignedDuration,
}

/// A delivery, as far as it is read.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Delivery {
    /// What happened to the thing that the event is about; any word.
    #[serde(default)]
    pub action: Option<String>,
    /// Where.
    #[serde(default)]
    pub repository: Option<Place>,
    /// What was pushed or created there.
    #[serde(default, rename = "ref")]
    pub reference: Option<String>,
    /// What kind of thing that is, where the name does not say so.
    #[serde(default)]
    pub ref_type: Option<String>,
    /// The package that was published.
    #[serde(default, alias = "registry_package")]
    pub package: Option<Package>,
    /// Through which installation.
    #[serde(default)]
    pub installation: Option<Numbered>,
    /// Whose act it was.
    #[serde(default)]
    pub sender: Option<Numbered>,
}

/// A repository.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub id: u64,
    /// `owner/name`.
    #[serde(default)]
    pub full_name: Option<String>,
}

/// A package of a registry.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Package {
    /// Whose it is.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What it is called there.
    #[serde(default)]
    pub name: Option<String>,
}

impl Delivery {
    /// The sources of charts that may have a new version after it, in lower case: the repository, and the path of the
    /// package.
    fn released(&self, event: &str) -> Vec<String> {
        let releases = match event {
            "push" => self.reference.as_deref().is_some_and(|name| name.starts_with("refs/tags/")),
            "create" => self.ref_type.as_deref() == Some("tag"),
            "package" | "registry_package" | "release" | "repository_dispatch" => true,
            _ => false,
        };
        if !releases {
            return Vec::new();
        }
        let package = self.package.as_ref().and_then(|package| {
            let (namespace, name) = (package.namespace.as_deref()?, package.name.as_deref()?);
            Some(format!("{namespace}/{name}"))
        });
        let repository = self.repository.as_ref().and_then(|repository| repository.full_name.clone());
        repository.into_iter().chain(package).map(|name| name.to_lowercase()).collect()
    }
}

/// Something with a number.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Numbered {
    /// Its number.
    pub id: u64,
}

async fn receive(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let begun = clock::now();
    let (parts, mut body) = request.into_parts();
    let said = endpoint.accept(&parts.headers, &mut body).await;
    endpoint.receiver.answer(said, body, begun).await
}

impl Endpoint {
    fn new(bell: Bell, secrets: &[Secret], metrics: Metrics) -> Self {
        let receiver = Receiver::new("github", MOST_BYTES, "a delivery has at most 25 MB", metrics);
        let replays = Replays::default();
        Self { bell, keys: Keys::new(secrets), receiver, replays, renewed: OnceLock::new(), replaced: REPLACED }
    }

    fn router(self) -> Router {
        Router::new().route("/webhook", post(receive)).with_state(Arc::new(self))
    }

    async fn accept(&self, headers: &HeaderMap, body: &mut Body) -> Result<&'static str, Answer> {
        let refused = (StatusCode::UNAUTHORIZED, "X-Hub-Signature-256 is missing or malformed");
        let tag = signature(headers, SIGNATURE, refused)?;
        let mut signing = self.keys.signing();
        let mut held = Some(Vec::new());
        let piece = |piece: &[u8]| {
            signing.update(piece);
            held = held.take().filter(|held: &Vec<u8>| held.len() + piece.len() <= MOST_HELD);
            if let Some(held) = &mut held {
                held.reserve_exact(piece.len());
                held.extend_from_slice(piece);
            }
        };
        self.receiver.take(headers, body, piece).await?;
        let secret = signing.signed(&tag).ok_or((StatusCode::UNAUTHORIZED, "the signature does not fit"))?;
        self.is_current(secret)?;
        self.receiver.verified(secret);
        let Some(body) = held else { return Ok("too big to be looked into: the next sweep finds it") };
        let event = headers.get("x-github-event").and_then(|event| event.to_str().ok());
        let event = event.ok_or((StatusCode::BAD_REQUEST, "X-GitHub-Event is missing"))?;
        if self.replays.has(&tag) {
            return Ok("it was here before");
        }
        if !self.ring(event, &body)? {
            return Ok("nothing to do");
        }
        self.replays.remember(tag, clock::now());
        Ok("rung")
    }

    /// An older secret is refused once the newest one has been in use for a while.
    fn is_current(&self, secret: usize) -> Result<(), Answer> {
        let now = clock::now();
        if secret == 0 {
            self.renewed.get_or_init(|| now);
        } else if self.renewed.get().is_some_and(|since| now.duration_since(*since) >= self.replaced) {
            return Err((StatusCode::UNAUTHORIZED, "signed with a secret that a newer one has replaced"));
        }
        Ok(())
    }

    /// Whether it is of a kind that rings.
    fn ring(&self, event: &str, body: &[u8]) -> Result<bool, Answer> {
        let rings = RINGING.contains(&event);
        let lists = LISTING.contains(&event);
        if !rings && !lists {
            return Ok(false);
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
        let released = delivery.released(event);
        let number = |one: Option<Numbered>| one.map(|one| one.id);
        let (installation, sender) = (number(delivery.installation), number(delivery.sender));
        match delivery.repository {
            // A stranger who installs a public App rings for the list, and wakes no repository.
            _ if lists => {
                self.bell.ring_list(sender);
                self.bell.ring_installation(installation, sender);
            }
            Some(repository) => {
                self.bell.ring(repository.id, sender);
                self.bell.ring_source(&released, sender);
            }
            // About an organization or a team: nobody can say which repositories.
            None => self.bell.ring_installation(installation, sender),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
