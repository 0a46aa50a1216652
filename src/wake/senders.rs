//! `POST /wake/…`: controllers and alerts ring when something has happened in a cluster. Verified, bound, and
//! nothing of what they say is looked at: what they ring for is read where it stands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::post;

use super::Bell;
use super::receiver::{Answer, Keys, Receiver, signature};
use super::registry;
use crate::clock;
use crate::metrics::Metrics;
use crate::secret::Secret;

/// The biggest delivery, in bytes: an alert group of some thousand alerts; events are far smaller.
const MOST_BYTES: usize = 4 << 20;
/// Of Flux's provider `generic-hmac` (notification-controller, `docs/spec/v1beta3/providers.md`).
const SIGNATURE: &str = "x-signature";

/// Who may ring after something has happened in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// Flux's notification-controller, provider `generic-hmac`: it signs what it sends.
    Flux,
    /// Argo CD notifications, a webhook service with a bearer token.
    ArgoCd,
    /// Prometheus Alertmanager, a webhook receiver with a bearer token.
    Alertmanager,
    /// A registry of charts (Harbor, Quay, Artifactory), with a token as it can show one.
    Chart,
}

impl Sender {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Flux, Self::ArgoCd, Self::Alertmanager, Self::Chart];

    /// Its name: the end of its path, and the file that its secret is in.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flux => "flux",
            Self::ArgoCd => "argocd",
            Self::Alertmanager => "alertmanager",
            Self::Chart => "chart",
        }
    }
}

/// Secrets of the senders, newest first. Who has none is not listened to.
#[derive(Clone, Debug, Default)]
pub struct Senders {
    /// Each with its secrets.
    pub secrets: Vec<(Sender, Vec<Secret>)>,
}

/// The endpoints of all senders.
pub fn router(bell: &Bell, senders: &Senders, metrics: &Metrics) -> Router {
    Sender::ALL.into_iter().fold(Router::new(), |router, sender| {
        let own = senders.secrets.iter().filter(|(known, _)| *known == sender).flat_map(|(_, secrets)| secrets);
        let own: Vec<Secret> = own.filter(|secret| !secret.reveal().is_empty()).cloned().collect();
        router.merge(Endpoint::new(sender, bell.clone(), &own, metrics.clone()).router())
    })
}

struct Endpoint {
    sender: Sender,
    bell: Bell,
    proof: Proof,
    receiver: Receiver,
    /// Whether the operator was told that a sender rings for whom there is no secret.
    told: AtomicBool,
}

/// How a sender proves who it is.
enum Proof {
    /// Not at all: there is no secret.
    None,
    /// It signs the body.
    Signature(Keys),
    /// It knows a token; digests of them, so that all are as long.
    Bearer(Vec<[u8; 32]>),
}

async fn receive(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let begun = clock::now();
    let (parts, mut body) = request.into_parts();
    let said = match endpoint.verify(&parts.headers, &mut body).await {
        Ok((secret, text)) => {
            endpoint.receiver.verified(secret);
            endpoint.ring(&parts.uri, &text)
        }
        Err(refusal) => Err(refusal),
    };
    endpoint.receiver.answer(said, body, begun).await
}

impl Endpoint {
    fn new(sender: Sender, bell: Bell, secrets: &[Secret], metrics: Metrics) -> Self {
        let proof = match sender {
            Sender::Flux | Sender::ArgoCd | Sender::Alertmanager | Sender::Chart if secrets.is_empty() => Proof::None,
            Sender::Flux => Proof::Signature(Keys::new(secrets)),
            Sender::ArgoCd | Sender::Alertmanager | Sender::Chart => {
                Proof::Bearer(secrets.iter().map(|secret| hashed(secret.reveal().as_bytes())).collect())
            }
        };
        let receiver = Receiver::new(sender.name(), MOST_BYTES, "a delivery has at most 4 MB", metrics);
        Self { sender, bell, proof, receiver, told: AtomicBool::new(false) }
    }

    fn router(self) -> Router {
        Router::new().route(&format!("/wake/{}", self.sender.name()), post(receive)).with_state(Arc::new(self))
    }

    /// The whole body has come, and whoever sent it knows a secret: which one, and what a registry wrote.
    async fn verify(&self, headers: &HeaderMap, body: &mut Body) -> Result<(usize, Vec<u8>), Answer> {
        match &self.proof {
            Proof::None => {
                if !self.told.swap(true, Ordering::Relaxed) {
                    let name = self.sender.name();
                    tracing::warn!(
                        "somebody rings at /wake/{name}, and there is no secret for it: set COLDFRAME_WAKE_{}, or put \
                         the file `{name}` into the folder of --wake-secrets",
                        name.to_uppercase()
                    );
                }
                Err((StatusCode::NOT_FOUND, "the operator has set no secret for this sender"))
            }
            Proof::Signature(keys) => {
                let refused = (StatusCode::UNAUTHORIZED, "X-Signature is missing or malformed");
                let tag = signature(headers, SIGNATURE, refused)?;
                let mut signing = keys.signing();
                self.receiver.take(headers, body, |piece| signing.update(piece)).await?;
                let secret = signing.signed(&tag).ok_or((StatusCode::UNAUTHORIZED, "the signature does not fit"))?;
                Ok((secret, Vec::new()))
            }
            Proof::Bearer(tokens) => {
                let of_registry = self.sender == Sender::Chart;
                let given = if of_registry { registry::token(headers)? } else { bearer(headers)?.to_vec() };
                let given = hashed(&given);
                let fits = |token: &[u8; 32]| verify_slices_are_equal(token, &given).is_ok();
                let fitting: Vec<bool> = tokens.iter().map(fits).collect();
                let refused = (StatusCode::UNAUTHORIZED, "the token is not the one of this sender");
                let secret = fitting.iter().position(|fits| *fits).ok_or(refused)?;
                let mut text = Vec::new();
                let keep = |piece: &[u8]| {
                    if of_registry && text.len() < registry::MOST {
                        text.extend_from_slice(piece);
                    }
                };
                self.receiver.take(headers, body, keep).await?;
                Ok((secret, text))
            }
        }
    }

    /// Rings for the repository that the address names, or for all; a registry only where a chart comes from what it
    /// names.
    fn ring(&self, uri: &Uri, text: &[u8]) -> Result<&'static str, Answer> {
        let query = uri.query().unwrap_or_default();
        let named = url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "repository");
        tracing::debug!(sender = self.sender.name(), "rung from outside");
        let unknown = (StatusCode::NOT_FOUND, "the repository of the address is not looked after here");
        let only = named.map(|(_, name)| self.bell.called(&name).ok_or(unknown)).transpose()?;
        match (self.sender, only) {
            (Sender::Chart, only) => {
                let text = registry::plain(text);
                let said = self.bell.ring_sources(only, |source| registry::names(&text, source));
                return Ok(if said { "rung" } else { "no chart comes from there" });
            }
            (Sender::Flux | Sender::ArgoCd | Sender::Alertmanager, None) => self.bell.nudge_all(),
            (Sender::Flux | Sender::ArgoCd | Sender::Alertmanager, Some(one)) => self.bell.nudge(one),
        }
        Ok("rung")
    }
}

/// The token of the one header `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Result<&[u8], Answer> {
    let refused = (StatusCode::UNAUTHORIZED, "`Authorization: Bearer …` is missing or malformed");
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(one), None) = (given.next(), given.next()) else { return Err(refused) };
    let (scheme, token) = one.as_bytes().split_at_checked(7).ok_or(refused)?;
    let token = token.trim_ascii();
    if !scheme.eq_ignore_ascii_case(b"bearer ") || token.is_empty() { Err(refused) } else { Ok(token) }
}

fn hashed(text: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text).as_ref());
    hash
}

#[cfg(test)]
mod tests;
