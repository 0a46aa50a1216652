//! Gets an answer over HTTP, bounded in bytes, time and number, no redirect followed. Who does not answer is asked
//! no further in the same round.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::sync::Semaphore;
use url::Url;

use super::Reach;
use crate::observe::net::{Fetched, NetError};
use crate::signal::Endpoint;

/// Answers waited for at once, of all servers.
const AT_ONCE: usize = 16;
/// The longest that one answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// One round of asking.
pub(super) struct Line<'a> {
    reach: &'a Reach<'a>,
    permits: Semaphore,
    dead: Mutex<BTreeSet<String>>,
}

impl<'a> Line<'a> {
    pub fn new(reach: &'a Reach<'a>) -> Self {
        Self { reach, permits: Semaphore::new(AT_ONCE), dead: Mutex::default() }
    }

    /// A place among those that are waited for.
    pub async fn place(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    /// What an endpoint answers, of at most so many bytes; `complete` makes its address that of the question.
    ///
    /// # Errors
    /// Why there is no answer. None holds an address or a header that the operator keeps.
    pub async fn get(
        &self,
        endpoint: &Endpoint,
        complete: impl FnOnce(&mut Url) -> Result<(), String>,
        most: usize,
    ) -> Result<Fetched, String> {
        let title = endpoint.title();
        let dead = || self.dead.lock().unwrap_or_else(PoisonError::into_inner);
        if dead().contains(&title) {
            return Err("not asked, because it did not answer just now".to_string());
        }
        let way = endpoint.way(|name| self.reach.secret(name))?;
        let mut url = way.url;
        complete(&mut url)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.extend(way.headers);
        match tokio::time::timeout(TIMEOUT, self.reach.net.ask(&url, headers, most)).await {
            Ok(Ok(fetched)) => allowed(fetched),
            Ok(Err(error)) => {
                if matches!(error, NetError::Failed { .. }) {
                    dead().insert(title);
                }
                Err(words(endpoint, &error))
            }
            Err(_) => {
                dead().insert(title);
                Err(format!("no answer within {} s", TIMEOUT.as_secs()))
            }
        }
    }
}

/// An answer, unless it says who else or with what to ask.
fn allowed(fetched: Fetched) -> Result<Fetched, String> {
    match fetched.status {
        status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
            Err(format!("not allowed ({status}); the operator's secret that `secret` names can hold a header for it"))
        }
        status if status.is_redirection() => {
            Err(format!("it leads elsewhere ({status}), which is not followed; write the address that answers"))
        }
        _ => Ok(fetched),
    }
}

/// An error, without the address where that is a secret.
fn words(endpoint: &Endpoint, error: &NetError) -> String {
    match endpoint {
        Endpoint::Address(_) => error.to_string(),
        Endpoint::Secret { .. } => match error {
            NetError::Refused { why, .. } | NetError::Failed { why, .. } | NetError::Settings { why, .. } => {
                why.clone()
            }
            NetError::TooLarge { most, .. } => format!("it answered with more than {most} bytes"),
        },
    }
}
