//! `POST /webhook`: bound, verify, ring, answer. Nothing of a delivery is looked at before its
//! signature is verified over the raw bytes, and afterwards only which repository it is about;
//! what it says is never believed.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use http_body_util::{BodyExt as _, Limited};
use serde::Deserialize;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Bell;
use crate::secret::Secret;

/// GitHub's own bound; it does not send bigger ones.
const MOST_BYTES: usize = 25 << 20;
/// GitHub gives up after ten seconds.
const LONGEST: Duration = Duration::from_secs(9);
/// Bodies that are held at once, in KiB: many senders cannot fill the memory.
const MOST_HELD: usize = 48 << 10;
const SIGNATURE: &str = "x-hub-signature-256";

/// Events that can change what is decided. Others are acknowledged and ring nothing.
const RINGING: [&str; 21] = [
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
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
    keys: Vec<hmac::Key>,
    held: Semaphore,
    longest: Duration,
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
}

/// Something with a number.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Numbered {
    /// Its number.
    pub id: u64,
}

type Answer = (StatusCode, &'static str);

async fn receive(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    match endpoint.accept(&parts.headers, &mut body).await {
        Ok(said) => (StatusCode::ACCEPTED, said).into_response(),
        Err(refusal) => {
            tracing::info!(status = refusal.0.as_u16(), why = refusal.1, "webhook refused");
            if endpoint.let_go(refusal.0, body).await {
                refusal.into_response()
            } else {
                (refusal.0, [(header::CONNECTION, "close")], refusal.1).into_response()
            }
        }
    }
}

impl Endpoint {
    fn new(bell: Bell, secrets: &[Secret]) -> Self {
        let keys = secrets.iter().map(Secret::reveal).filter(|secret| !secret.is_empty());
        let keys = keys.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())).collect();
        Self { bell, keys, held: Semaphore::new(MOST_HELD), longest: LONGEST }
    }

    fn router(self) -> Router {
        Router::new().route("/webhook", post(receive)).with_state(Arc::new(self))
    }

    async fn accept(&self, headers: &HeaderMap, body: &mut Body) -> Result<&'static str, Answer> {
        let tag = signature(headers)?;
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > MOST_BYTES) {
            return Err(too_big());
        }
        let (body, _room) = tokio::time::timeout(self.longest, self.read(body))
            .await
            .map_err(|_| (StatusCode::REQUEST_TIMEOUT, "the delivery took too long"))??;
        if !self.is_signed(&body, &tag) {
            return Err((StatusCode::UNAUTHORIZED, "the signature does not fit"));
        }
        let event = headers.get("x-github-event").and_then(|event| event.to_str().ok());
        let event = event.ok_or((StatusCode::BAD_REQUEST, "X-GitHub-Event is missing"))?;
        self.ring(event, &body)
    }

    /// The body within the bound of one, and of all that are held at once.
    async fn read(&self, body: &mut Body) -> Result<(Vec<u8>, Vec<SemaphorePermit<'_>>), Answer> {
        let mut bytes = Vec::new();
        let mut room = Vec::new();
        let mut kept = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the delivery broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > MOST_BYTES {
                return Err(too_big());
            }
            let needed = (bytes.len() + data.len()).div_ceil(1024);
            if needed > kept {
                let more = u32::try_from(needed - kept).unwrap_or(u32::MAX);
                let busy = (StatusCode::SERVICE_UNAVAILABLE, "too many deliveries at once");
                room.push(self.held.acquire_many(more).await.map_err(|_| busy)?);
                kept = needed;
            }
            bytes.extend_from_slice(&data);
        }
        Ok((bytes, room))
    }

    /// Takes what is left of a refused delivery off the line and keeps none of it: whoever is still
    /// sending would find the connection broken, not the answer that says why. Whether all of it came;
    /// what is too big or too slow is not waited for.
    async fn let_go(&self, refusal: StatusCode, body: Body) -> bool {
        if !matches!(refusal, StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST) {
            return false;
        }
        let mut rest = Limited::new(body, MOST_BYTES);
        let whole = async {
            while let Some(frame) = rest.frame().await {
                if frame.is_err() {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(self.longest, whole).await.unwrap_or(false)
    }

    /// Against every secret, each in constant time.
    fn is_signed(&self, body: &[u8], tag: &[u8; 32]) -> bool {
        let fitting = self.keys.iter().filter(|key| hmac::verify(key, body, tag).is_ok());
        fitting.count() > 0
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
        match delivery.repository {
            Some(repository) if !lists => self.bell.ring(repository.id),
            // About an organization, a team, an installation: nobody can say which repositories.
            _ => self.bell.ring_all(),
        }
        Ok("rung")
    }
}

fn too_big() -> Answer {
    (StatusCode::PAYLOAD_TOO_LARGE, "a delivery has at most 25 MB")
}

/// The signature in its one form: one header, `sha256=`, 64 digits of lower-case hex.
fn signature(headers: &HeaderMap) -> Result<[u8; 32], Answer> {
    let refused = (StatusCode::UNAUTHORIZED, "X-Hub-Signature-256 is missing or malformed");
    let mut given = headers.get_all(SIGNATURE).iter();
    let (Some(one), None) = (given.next(), given.next()) else { return Err(refused) };
    let hex = one.as_bytes().strip_prefix(b"sha256=").filter(|hex| hex.len() == 64).ok_or(refused)?;
    let mut tag = [0; 32];
    for (byte, pair) in tag.iter_mut().zip(hex.chunks_exact(2)) {
        *byte = match pair {
            [high, low] => nibble(*high).ok_or(refused)? << 4 | nibble(*low).ok_or(refused)?,
            _ => return Err(refused),
        };
    }
    Ok(tag)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
