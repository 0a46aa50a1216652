//! What the endpoints share that others ring at: a bounded body, signatures, an answer on a line that goes on.
//! Who may ring, and what for, is in `webhook` and `senders`.

use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::{BodyExt as _, Limited};

use jiff::Timestamp;

use crate::clock;
use crate::metrics::Metrics;
use crate::secret::Secret;

/// GitHub gives up after ten seconds, the senders of clusters after ten to fifteen.
const LONGEST: Duration = Duration::from_secs(9);

/// A status, and the words with it.
pub(super) type Answer = (StatusCode, &'static str);

/// Bounds of one endpoint.
pub(super) struct Receiver {
    /// Who rings there.
    sender: &'static str,
    metrics: Metrics,
    /// The biggest body, in bytes.
    most: usize,
    /// What is said of a bigger one.
    too_big: &'static str,
    /// The longest that one body may take.
    pub longest: Duration,
}

impl Receiver {
    /// A receiver that takes bodies of `most` bytes.
    pub fn new(sender: &'static str, most: usize, too_big: &'static str, metrics: Metrics) -> Self {
        Self { sender, metrics, most, too_big, longest: LONGEST }
    }

    /// Counts a delivery with the secret that it was verified by, so that an operator sees when nobody uses an old one.
    pub fn verified(&self, secret: usize) {
        self.metrics.delivery(self.sender, Some(secret + 1));
    }

    /// The numbers that it counts into.
    #[cfg(test)]
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Takes a body off the line within its bounds, and shows each piece of it. Nothing is kept here: until a
    /// signature is known, who sends is a stranger.
    pub async fn take(&self, headers: &HeaderMap, body: &mut Body, mut piece: impl FnMut(&[u8])) -> Result<(), Answer> {
        self.announced(headers)?;
        let taking = async {
            let mut size = 0;
            while let Some(frame) = body.frame().await {
                let Ok(data) = frame.map_err(|_| BROKEN_OFF)?.into_data() else { continue };
                size += data.len();
                if size > self.most {
                    return Err((StatusCode::PAYLOAD_TOO_LARGE, self.too_big));
                }
                piece(&data);
            }
            Ok(())
        };
        let taken = tokio::time::timeout(self.longest, taking).await;
        taken.map_err(|_| (StatusCode::REQUEST_TIMEOUT, "the delivery took too long"))?
    }

    /// The answer to a sender, whose delivery began then. What is left of a refused delivery is taken off the line.
    pub async fn answer(&self, said: Result<&'static str, Answer>, body: Body, begun: Timestamp) -> Response {
        let refusal = match said {
            Ok(said) => {
                let took = Duration::try_from(clock::now().duration_since(begun));
                self.metrics.delivered(took.unwrap_or_default());
                return (StatusCode::ACCEPTED, said).into_response();
            }
            Err(refusal) => refusal,
        };
        tracing::info!(sender = self.sender, status = refusal.0.as_u16(), why = refusal.1, "delivery refused");
        if refusal.0 == StatusCode::UNAUTHORIZED {
            self.metrics.delivery(self.sender, None);
        }
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

/// Secrets that sign, newest first: a list, so that one can be replaced by another without a gap.
pub(super) struct Keys(Vec<hmac::Key>);

/// Signatures of a body under each secret, made while it comes.
pub(super) struct Signing(Vec<hmac::Context>);

impl Keys {
    /// Empty secrets are none.
    pub fn new(secrets: &[Secret]) -> Self {
        let secrets = secrets.iter().map(Secret::reveal).filter(|secret| !secret.is_empty());
        Self(secrets.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())).collect())
    }

    /// Begins with a body.
    pub fn signing(&self) -> Signing {
        Signing(self.0.iter().map(hmac::Context::with_key).collect())
    }
}

impl Signing {
    /// Goes on with a piece of it.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.iter_mut().for_each(|context| context.update(piece));
    }

    /// Which secret made this tag, from 0. Every one is compared, each in constant time.
    pub fn signed(self, tag: &[u8; 32]) -> Option<usize> {
        let fits = |context: hmac::Context| verify_slices_are_equal(context.sign().as_ref(), tag).is_ok();
        let fitting: Vec<bool> = self.0.into_iter().map(fits).collect();
        fitting.iter().position(|fits| *fits)
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
