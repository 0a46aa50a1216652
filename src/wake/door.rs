//! What the endpoints share that others ring at: a bounded body, signatures, an answer on a line that goes on.
//! Who may ring, and what for, is in `webhook` and `senders`.

use std::time::Duration;

use aws_lc_rs::hmac;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::{BodyExt as _, Limited};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::secret::Secret;

/// GitHub gives up after ten seconds, the senders of clusters after ten to fifteen.
const LONGEST: Duration = Duration::from_secs(9);

/// A status, and the words with it.
pub(super) type Answer = (StatusCode, &'static str);

/// Bounds of one endpoint.
pub(super) struct Door {
    /// The biggest body, in bytes.
    most: usize,
    /// What is said of a bigger one.
    too_big: &'static str,
    /// Room for bodies that are held at once, in KiB: many senders cannot fill the memory.
    pub held: Semaphore,
    /// The longest that one body may take.
    pub longest: Duration,
}

impl Door {
    /// A door that takes bodies of `most` bytes, and holds `held` KiB at once.
    pub fn new(most: usize, too_big: &'static str, held: usize) -> Self {
        Self { most, too_big, held: Semaphore::new(held), longest: LONGEST }
    }

    /// The body within the bound of one, and of all that are held at once.
    pub async fn read(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<(Vec<u8>, Vec<SemaphorePermit<'_>>), Answer> {
        self.announced(headers)?;
        let reading = tokio::time::timeout(self.longest, self.held(body)).await;
        reading.map_err(|_| (StatusCode::REQUEST_TIMEOUT, "the delivery took too long"))?
    }

    /// Takes a body off the line within its bound and keeps none of it.
    pub async fn skip(&self, headers: &HeaderMap, body: &mut Body) -> Result<(), Answer> {
        self.announced(headers)?;
        let skipping = async {
            let mut size = 0;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|_| BROKEN_OFF)?;
                size += frame.data_ref().map_or(0, bytes::Bytes::len);
                if size > self.most {
                    return Err((StatusCode::PAYLOAD_TOO_LARGE, self.too_big));
                }
            }
            Ok(())
        };
        let skipped = tokio::time::timeout(self.longest, skipping).await;
        skipped.map_err(|_| (StatusCode::REQUEST_TIMEOUT, "the delivery took too long"))?
    }

    /// The answer to a sender. What is left of a refused delivery is taken off the line.
    pub async fn answer(&self, sender: &str, said: Result<&'static str, Answer>, body: Body) -> Response {
        let refusal = match said {
            Ok(said) => return (StatusCode::ACCEPTED, said).into_response(),
            Err(refusal) => refusal,
        };
        tracing::info!(sender, status = refusal.0.as_u16(), why = refusal.1, "delivery refused");
        if self.let_go(refusal.0, body).await {
            refusal.into_response()
        } else {
            (refusal.0, [(header::CONNECTION, "close")], refusal.1).into_response()
        }
    }

    fn announced(&self, headers: &HeaderMap) -> Result<(), Answer> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > self.most) {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, self.too_big));
        }
        Ok(())
    }

    async fn held(&self, body: &mut Body) -> Result<(Vec<u8>, Vec<SemaphorePermit<'_>>), Answer> {
        let mut bytes = Vec::new();
        let mut room = Vec::new();
        let mut kept = 0;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BROKEN_OFF)?.into_data() else { continue };
            if bytes.len() + data.len() > self.most {
                return Err((StatusCode::PAYLOAD_TOO_LARGE, self.too_big));
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
        if !matches!(refusal, StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) {
            return false;
        }
        let mut rest = Limited::new(body, self.most);
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
}

const BROKEN_OFF: Answer = (StatusCode::BAD_REQUEST, "the delivery broke off");

/// Secrets that sign: a list, so that one can be replaced by another without a gap.
pub(super) struct Keys(Vec<hmac::Key>);

impl Keys {
    /// Empty secrets are none.
    pub fn new(secrets: &[Secret]) -> Self {
        let secrets = secrets.iter().map(Secret::reveal).filter(|secret| !secret.is_empty());
        Self(secrets.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())).collect())
    }

    /// Against every secret, each in constant time.
    pub fn signed(&self, body: &[u8], tag: &[u8; 32]) -> bool {
        self.0.iter().filter(|key| hmac::verify(key, body, tag).is_ok()).count() > 0
    }
}

/// The signature in its one form: one header, `sha256=`, 64 digits of lower-case hex.
pub(super) fn signature(headers: &HeaderMap, name: &str, refused: Answer) -> Result<[u8; 32], Answer> {
    let mut given = headers.get_all(name).iter();
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
