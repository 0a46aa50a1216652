//! The index of a chart repository, asked for once for all plugins whose charts come from there. What it says of one of
//! them is read in `http`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use http::header::{AUTHORIZATION, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use url::Url;

use super::found::{SourceError, closed, is_closed, status};
use super::registry::credentials;
use crate::clock;
use crate::observe::net::Net;

/// The largest index that is read, in bytes (`docs/attacks.md`, A24).
const MAX_INDEX: usize = 64 * 1024 * 1024;
/// For so long an answer serves everybody who asks.
pub(super) const FRESH: SignedDuration = SignedDuration::from_secs(2);

/// An index, and what its server said last.
pub(super) struct Index {
    /// Its address.
    pub url: Url,
    net: Net,
    fresh: SignedDuration,
    last: Mutex<Option<Last>>,
    /// So many are asking now.
    asking: AtomicUsize,
}

/// The last answer with a body. The body itself is kept by those who read it: it may be large.
struct Last {
    at: Timestamp,
    validator: Option<(HeaderName, HeaderValue)>,
    /// Counts the bodies.
    number: u64,
    body: Weak<Bytes>,
    /// As long as somebody waits for it.
    held: Option<Arc<Bytes>>,
}

/// Somebody who asks.
struct Asking<'a>(&'a AtomicUsize);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What one asker gets.
pub(super) enum Told {
    /// What it read last still holds.
    Unchanged,
    /// A body, with its number.
    Body(u64, Arc<Bytes>),
}

impl Index {
    /// The index of a repository.
    pub fn new(repository: &str, net: &Net, fresh: SignedDuration) -> Result<Self, SourceError> {
        let refused = |why: String| SourceError::Refused { url: repository.to_string(), why };
        let mut url = Url::parse(repository).map_err(|error| refused(format!("not a URL ({error})")))?;
        url.set_fragment(None);
        url.path_segments_mut()
            .map_err(|()| refused("not an address of a repository".to_string()))?
            .pop_if_empty()
            .push("index.yaml");
        net.check(&url)?;
        Ok(Self { url, net: net.clone(), fresh, last: Mutex::default(), asking: AtomicUsize::new(0) })
    }

    /// The index as it is now, for somebody who has read the body of this number.
    pub async fn ask(&self, known: Option<u64>) -> Result<Told, SourceError> {
        self.asking.fetch_add(1, Ordering::Relaxed);
        let _asking = Asking(&self.asking);
        // Held while asking: whoever comes in between wants the same answer.
        let mut last = self.last.lock().await;
        let told = self.told(&mut last, known).await;
        if let Some(last) = last.as_mut().filter(|_| self.asking.load(Ordering::Relaxed) == 1) {
            last.held = None;
        }
        told
    }

    async fn told(&self, last: &mut Option<Last>, known: Option<u64>) -> Result<Told, SourceError> {
        let now = clock::now();
        if let Some(last) = last.as_ref().filter(|last| now.duration_since(last.at).abs() < self.fresh)
            && let Some(told) = last.told(known)
        {
            return Ok(told);
        }
        // Who has not read the last body asks for it as a whole, unless somebody is reading it now.
        let holds = last.as_ref().filter(|last| last.told(known).is_some());
        let validator = holds.and_then(|last| last.validator.clone());
        let mut headers = HeaderMap::new();
        headers.extend(validator);
        let login = self.net.login(&self.url)?;
        if let Some(value) = login.as_ref().and_then(|found| credentials(&found.login)) {
            headers.insert(AUTHORIZATION, value);
        }
        let answer = self.net.get(&self.url, headers, MAX_INDEX).await?;
        if answer.status == StatusCode::NOT_MODIFIED
            && let Some(last) = last.as_mut()
            && let Some(told) = last.told(known)
        {
            last.at = now;
            return Ok(told);
        }
        if is_closed(&answer) {
            return Err(closed(&self.url, &answer, login.as_ref().map(|found| found.file.as_path()), &self.net));
        }
        if answer.status != StatusCode::OK {
            return Err(status(&self.url, &answer));
        }
        let validator = |ask: HeaderName, told: HeaderName| answer.headers.get(told).map(|value| (ask, value.clone()));
        let validator = validator(IF_NONE_MATCH, ETAG).or_else(|| validator(IF_MODIFIED_SINCE, LAST_MODIFIED));
        let (number, body) = (last.as_ref().map_or(0, |last| last.number + 1), Arc::new(answer.body));
        *last = Some(Last { at: now, validator, number, body: Arc::downgrade(&body), held: Some(Arc::clone(&body)) });
        Ok(Told::Body(number, body))
    }
}

impl Last {
    /// What somebody who has read this body gets without asking; none where the body is gone and wanted.
    fn told(&self, known: Option<u64>) -> Option<Told> {
        if known == Some(self.number) {
            return Some(Told::Unchanged);
        }
        self.body.upgrade().map(|body| Told::Body(self.number, body))
    }
}
