//! What a hub gives beside readings: its lists of clusters, and the Secrets with credentials for them. A Secret
//! is read when its cluster is asked itself and the operator's folder has no connection for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::Value;
use tokio::sync::Mutex;

use super::client::config;
use super::get::{Words, get, items};
use super::{Clusters, ReadError};
use crate::clock;
use crate::inventory::Data;
use crate::inventory::{ListedCluster, SecretRef};
use crate::kubeconfig::Connection;
use crate::observe::net::causes;
use crate::signal::{Target, Which};

/// How long a Secret that was read is used: its credentials may be taken back.
const KEPT: SignedDuration = SignedDuration::from_mins(5);
/// How long nothing is asked again after a Secret that could not be used; one round is shorter.
const REFUSED: SignedDuration = SignedDuration::from_secs(10);
/// A list of a whole fleet takes longer than one object.
const PATIENCE: u32 = 3;

/// The connections that Secrets of hubs have given, each with a lock of its own, so that many questions to one
/// cluster read its Secret once.
/// What two repositories call by one name may be two hubs.
pub(super) type Borrowed = Mutex<BTreeMap<(Option<u64>, SecretRef), Arc<Mutex<Option<Held>>>>>;

/// What came of a Secret.
#[derive(Debug)]
pub(super) struct Held {
    at: Timestamp,
    /// The cluster did not take it.
    doubted: bool,
    what: Result<(Connection, OpenClient), ReadError>,
}

/// A client without its insides in messages.
#[derive(Clone)]
struct OpenClient(Client);

impl std::fmt::Debug for OpenClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client(…)")
    }
}

impl Held {
    fn counts(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        let kept = if self.what.is_ok() { KEPT } else { REFUSED };
        !self.doubted && !age.is_negative() && age < kept
    }
}

impl Clusters {
    /// Every object of a hub with these labels, page by page.
    ///
    /// # Errors
    /// As of one object; no part of a list is given.
    pub async fn list(&self, connection: &str, target: &Target) -> Result<Vec<Value>, ReadError> {
        let patience = self.shared.timeout * PATIENCE;
        let listing = async { items(&self.named(connection).await?, target).await };
        tokio::time::timeout(patience, listing).await.unwrap_or_else(|_| {
            Err(Words::of(target).unreachable(&format!("not listed within {} s", patience.as_secs_f32())))
        })
    }

    /// The connection of a cluster: the operator's own, or else what the Secret of a hub says.
    pub(super) async fn client(&self, cluster: &ListedCluster) -> Result<Client, ReadError> {
        match (self.file(&cluster.credential).await, &cluster.secret_ref) {
            (Err(no), Some(secret_ref)) if no.absent => self.borrowed(&cluster.credential, secret_ref).await,
            (found, _) => self.by_file(&cluster.credential, found).await,
        }
    }

    /// Credentials that a cluster did not take are read again: they may have been changed since.
    pub(super) async fn not_taken(&self, cluster: &ListedCluster, error: &ReadError) {
        if let (Some(secret_ref), ReadError::Denied { status: 401, .. }) = (&cluster.secret_ref, error) {
            let place = self.shared.borrowed.lock().await.get(&(self.of, secret_ref.clone())).cloned();
            if let Some(place) = place
                && let Some(held) = place.lock().await.as_mut()
            {
                held.doubted = true;
            }
        }
    }

    async fn borrowed(&self, credential: &str, secret_ref: &SecretRef) -> Result<Client, ReadError> {
        let place = {
            let mut all = self.shared.borrowed.lock().await;
            let key = (self.of, secret_ref.clone());
            if !all.contains_key(&key) {
                // Clusters leave, and their credentials with them.
                let now = clock::now();
                all.retain(|_, place| {
                    place.try_lock().map_or(true, |held| held.as_ref().is_some_and(|held| held.counts(now)))
                });
            }
            Arc::clone(all.entry(key).or_default())
        };
        let mut held = place.lock().await;
        let now = clock::now();
        if let Some(known) = held.as_ref().filter(|known| known.counts(now)) {
            return known.what.clone().map(|(_, client)| client.0);
        }
        let (doubted, before) = match held.take() {
            Some(known) => (known.doubted, known.what.ok()),
            None => (false, None),
        };
        let known = before.as_ref().map(|(connection, _)| connection.clone());
        let mut what = self.open_lent(credential, secret_ref, before).await;
        // The same again would be refused again, once for each question.
        if doubted && what.as_ref().is_ok_and(|(connection, _)| Some(connection) == known.as_ref()) {
            let why = format!("the cluster does not take the credentials of {} (401)", title(secret_ref));
            what = Err(ReadError::NoConnection { credential: credential.to_string(), why });
        }
        let answer = what.clone().map(|(_, client)| client.0);
        *held = Some(Held { at: now, doubted: false, what });
        answer
    }

    /// Reads a Secret; where it says what it said before, the client stays.
    async fn open_lent(
        &self,
        credential: &str,
        secret_ref: &SecretRef,
        before: Option<(Connection, OpenClient)>,
    ) -> Result<(Connection, OpenClient), ReadError> {
        let title = title(secret_ref);
        let no = |why: String| ReadError::NoConnection { credential: credential.to_string(), why };
        let target = secret(secret_ref);
        let read = get(&self.named(&secret_ref.connection).await?, &target).await;
        let found = read.map_err(|error| match error {
            error @ ReadError::Unreachable { .. } => error,
            error @ (ReadError::NoConnection { .. }
            | ReadError::Denied { .. }
            | ReadError::Expired { .. }
            | ReadError::NotServed { .. }
            | ReadError::Malformed { .. }) => no(format!("{title}: {error}")),
        })?;
        let Some(found) = found else {
            return Err(no(format!("there is no {credential}.yaml in the operator's folder, and no {title}")));
        };
        let credentials =
            secret_ref.kind.credentials.ok_or_else(|| no(format!("{} lends none", secret_ref.kind.name)))?;
        let refused = |why: String| no(format!("{title}: {why}"));
        let connection = (credentials.open)(&Data::of(&found), &self.insecure_http());
        let connection = connection.map_err(|error| refused(error.to_string()))?;
        if let Some(before) = before.filter(|(known, _)| *known == connection) {
            return Ok(before);
        }
        let config = config(&connection, self.shared.timeout).map_err(|error| refused(error.to_string()))?;
        let client = Client::try_from(config).map_err(|error| refused(causes(&error)))?;
        Ok((connection, OpenClient(client)))
    }
}

fn title(secret_ref: &SecretRef) -> String {
    format!("Secret {}/{} through `{}`", secret_ref.namespace, secret_ref.name, secret_ref.connection)
}

fn secret(secret_ref: &SecretRef) -> Target {
    Target {
        group: "".into(),
        version: "v1".into(),
        kind: "Secret".into(),
        plural: "secrets".into(),
        namespace: Some(secret_ref.namespace.clone()),
        which: Which::Named(secret_ref.name.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kubeconfig::Parts;

    #[tokio::test]
    async fn credentials_are_used_for_a_while_and_a_refusal_for_less() {
        let text = |text: &str| Some(text.to_string());
        let parts = Parts {
            unverified: false,
            server: text("https://eu-1.example"),
            server_name: None,
            authority: None,
            certificate: None,
            key: None,
            token: text("t"),
        };
        let connection = Connection::of(parts, &["token", "", "", ""], &[]).unwrap();
        let client = Client::try_from(config(&connection, std::time::Duration::from_secs(1)).unwrap()).unwrap();
        let at: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        let held = Held { at, doubted: false, what: Ok((connection, OpenClient(client))) };
        let no = ReadError::NoConnection { credential: "eu-1".to_string(), why: String::new() };
        let refused = Held { at, doubted: false, what: Err(no) };
        for (seconds, good, bad) in
            [(0, true, true), (9, true, true), (10, true, false), (299, true, false), (300, false, false)]
        {
            let now = at + SignedDuration::from_secs(seconds);
            assert_eq!((held.counts(now), refused.counts(now)), (good, bad), "{seconds}");
        }
        assert!(!held.counts(at - SignedDuration::from_secs(1)), "a clock that was set back proves nothing");
    }
}
