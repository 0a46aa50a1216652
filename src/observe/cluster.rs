//! Connections to clusters, by kubeconfig files of the operator: each is read into a struct of our
//! own and rebuilt field by field, so that nothing in it starts a process, reads another file or
//! goes through a proxy. What an answer means is judged by signals.

mod kubeconfig;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use decide::snapshot::{Health, Reading};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};

use super::net::causes;
use super::signal::{Signal, Target, one_line, title};
use crate::clock;
use crate::policy::wiring::ListedCluster;

/// The longest that one object may take, from connecting to its last byte.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest object that is read, in bytes; etcd holds none above 1.5 MiB by default.
const MAX_OBJECT: usize = 4 * 1024 * 1024;
/// The largest kubeconfig that is read, in bytes.
const MAX_KUBECONFIG: u64 = 1024 * 1024;
/// Objects asked for at once, over all clusters.
const AT_ONCE: usize = 32;
/// Objects asked for at once at one cluster, so that a slow one cannot take every place.
const PER_CLUSTER: usize = 8;

/// The connections of the operator.
#[derive(Clone, Debug)]
pub struct Clusters {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// None where the operator gave none.
    folder: Option<PathBuf>,
    insecure_http: Vec<String>,
    timeout: Duration,
    open: Mutex<BTreeMap<String, Open>>,
}

/// A connection, and the file that it was made from: a changed file makes a new one.
#[derive(Clone)]
struct Open {
    text: Bytes,
    client: Client,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Open(…)") // the text holds credentials
    }
}

/// One question to one cluster.
pub struct Ask {
    /// The cluster.
    pub cluster: ListedCluster,
    /// The question.
    pub signal: Box<dyn Signal>,
}

/// The folder of connections cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the folder of connections to clusters, {folder}: {why}")]
pub struct NoFolder {
    folder: String,
    why: String,
}

/// Why an object could not be read. None of them holds anything of a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no usable connection.
    #[error("no connection `{credential}`: {why}")]
    NoConnection {
        /// Its name in the operator's folder.
        credential: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The cluster said no.
    #[error("not allowed to get {resource} ({status}); give the credential the verb `get` on it")]
    Denied {
        /// What was asked for, as roles name it.
        resource: String,
        /// 401 or 403.
        status: u16,
    },
    /// No answer; the rest of a round is not asked either.
    #[error("get {resource}: {why}")]
    Unreachable {
        /// What was asked for.
        resource: String,
        /// What happened.
        why: String,
    },
    /// An answer that is no object.
    #[error("get {resource}: {why}")]
    Malformed {
        /// What was asked for.
        resource: String,
        /// What is wrong with the answer.
        why: String,
    },
}

impl Clusters {
    /// Connections from a folder of `<credential>.yaml`. `insecure_http` names hosts (`host` or
    /// `host:port`) that may be reached over plain http, such as a sandbox on loopback. Files are
    /// read when they are needed, and again when they change; what is wrong with one of them shows
    /// up in the readings of its clusters.
    ///
    /// # Errors
    /// Where there is no such folder.
    pub fn open(folder: &Path, insecure_http: &[String]) -> Result<Self, NoFolder> {
        let wrong = |why: String| NoFolder { folder: folder.display().to_string(), why };
        match std::fs::metadata(folder) {
            Ok(found) if found.is_dir() => Ok(Self::build(Some(folder.to_path_buf()), insecure_http, TIMEOUT)),
            Ok(_) => Err(wrong("it is a file; give the folder that holds `<credential>.yaml`".to_string())),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// No connections: every reading is unknown.
    pub fn none() -> Self {
        Self::build(None, &[], TIMEOUT)
    }

    fn build(folder: Option<PathBuf>, insecure_http: &[String], timeout: Duration) -> Self {
        let open = Mutex::new(BTreeMap::new());
        Self { shared: Arc::new(Shared { folder, insecure_http: insecure_http.to_vec(), timeout, open }) }
    }

    /// Reads one object; `None` where the cluster says that there is none.
    ///
    /// # Errors
    /// Where there is no connection, the cluster does not answer within ten seconds, or with
    /// something else than an object.
    pub async fn read(&self, cluster: &ListedCluster, target: &Target) -> Result<Option<Value>, ReadError> {
        let resource = resource(target);
        match tokio::time::timeout(self.shared.timeout, self.get(cluster, target, &resource)).await {
            Ok(answer) => answer,
            Err(_) => {
                let why = format!("no answer within {} s", self.shared.timeout.as_secs_f32());
                Err(ReadError::Unreachable { resource, why })
            }
        }
    }

    async fn get(&self, cluster: &ListedCluster, target: &Target, resource: &str) -> Result<Option<Value>, ReadError> {
        let unreachable = |why: String| ReadError::Unreachable { resource: resource.to_string(), why: one_line(&why) };
        let malformed = |why: String| ReadError::Malformed { resource: resource.to_string(), why: one_line(&why) };
        let client = self.client(&cluster.credential).await?;
        let request = Request::get(path(target))
            .header(http::header::ACCEPT, "application/json")
            .body(Body::empty())
            .map_err(|error| malformed(error.to_string()))?;
        let answer = client.send(request).await.map_err(|error| unreachable(causes(&error)))?;
        let status = answer.status();
        match status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(ReadError::Denied { resource: resource.to_string(), status: status.as_u16() });
            }
            _ if status.is_redirection() => {
                return Err(malformed(format!("it answered {status}, which is not followed")));
            }
            StatusCode::NOT_FOUND => {}
            _ => return Err(malformed(format!("it answered {status}"))),
        }
        let body = Limited::new(answer.into_body(), MAX_OBJECT).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                malformed(format!("more than {MAX_OBJECT} bytes"))
            } else {
                unreachable(causes(error.as_ref()))
            }
        })?;
        let object: Value = serde_json::from_slice(&body.to_bytes())
            .map_err(|error| malformed(format!("it answered {status} with something that is not JSON ({error})")))?;
        if status == StatusCode::NOT_FOUND {
            return absent(&object, target).map(|()| None).map_err(malformed);
        }
        if object.get("kind").and_then(Value::as_str) != Some(target.gvk.kind.as_str()) {
            return Err(malformed(format!("it is no {}", target.gvk.kind)));
        }
        Ok(Some(object))
    }

    /// Asks everything, many at a time; one reading per ask, in their order. A cluster that does not
    /// answer is asked no further in this round, and delays nobody else. What could not be read is
    /// unknown.
    pub async fn readings(&self, asks: Vec<Ask>) -> Vec<Reading> {
        let mut groups: BTreeMap<String, Vec<(usize, Ask)>> = BTreeMap::new();
        for (index, ask) in asks.into_iter().enumerate() {
            groups.entry(ask.cluster.credential.clone()).or_default().push((index, ask));
        }
        let permits = Semaphore::new(AT_ONCE);
        let mut running: FuturesUnordered<_> = groups.into_values().map(|group| self.group(group, &permits)).collect();
        let mut found: BTreeMap<usize, Reading> = BTreeMap::new();
        while let Some(readings) = running.next().await {
            found.extend(readings);
        }
        found.into_values().collect()
    }

    /// The asks of one connection, a few at a time.
    async fn group(&self, asks: Vec<(usize, Ask)>, permits: &Semaphore) -> Vec<(usize, Reading)> {
        let dead = AtomicBool::new(false);
        futures_util::stream::iter(asks)
            .map(|(index, ask)| self.reading(index, ask, permits, &dead))
            .buffer_unordered(PER_CLUSTER)
            .collect()
            .await
    }

    async fn reading(&self, index: usize, ask: Ask, permits: &Semaphore, dead: &AtomicBool) -> (usize, Reading) {
        let target = ask.signal.target();
        let (observed_at, answer) = {
            let _permit = permits.acquire().await;
            // Before asking: what is answered may be as old as the question.
            let observed_at = clock::now();
            let answer = if dead.load(Ordering::Relaxed) {
                let why = "not asked, because the cluster did not answer just now".to_string();
                Err(ReadError::Unreachable { resource: resource(&target), why })
            } else {
                self.read(&ask.cluster, &target).await
            };
            (observed_at, answer)
        };
        let absent = |health, evidence: String| Reading {
            signal: title(&target),
            health,
            running: None,
            attempted: None,
            digest: None,
            observed_at,
            since: None,
            evidence: one_line(&evidence),
        };
        let reading = match answer {
            Ok(Some(object)) => {
                let signal = ask.signal;
                // Paths of a policy over an object of a cluster: bounded, but not to be trusted with
                // the thread that all others wait on.
                let judged = tokio::task::spawn_blocking(move || signal.judge(&object, observed_at)).await;
                judged.unwrap_or_else(|error| absent(Health::Unknown, format!("it could not be judged: {error}")))
            }
            Ok(None) => absent(Health::NotFound, format!("{} is not there", title(&target))),
            Err(error) => {
                if matches!(error, ReadError::Unreachable { .. }) {
                    dead.store(true, Ordering::Relaxed);
                }
                absent(Health::Unknown, error.to_string())
            }
        };
        (index, reading)
    }

    async fn client(&self, credential: &str) -> Result<Client, ReadError> {
        let no = |why: String| ReadError::NoConnection { credential: credential.to_string(), why };
        let text = self.file(credential).await.map_err(no)?;
        let mut open = self.shared.open.lock().await;
        if let Some(known) = open.get(credential).filter(|known| known.text == text) {
            return Ok(known.client.clone());
        }
        let config = kubeconfig::Connection::read(&text, &self.shared.insecure_http)
            .and_then(|connection| connection.config(self.shared.timeout))
            .map_err(|error| no(error.to_string()))?;
        let client = Client::try_from(config).map_err(|error| no(causes(&error)))?;
        open.insert(credential.to_string(), Open { text, client: client.clone() });
        Ok(client)
    }

    async fn file(&self, credential: &str) -> Result<Bytes, String> {
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
        let starts = credential.bytes().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if !starts || credential.len() > 253 || !credential.bytes().all(plain) {
            return Err(
                "a name has letters, digits, `-`, `_` and `.`; name one as `credential:` in the inventory".to_string()
            );
        }
        let Some(folder) = &self.shared.folder else {
            return Err("the operator gave no folder of connections to clusters".to_string());
        };
        let path = folder.join(format!("{credential}.yaml"));
        let wrong = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                format!("there is no {credential}.yaml in the operator's folder")
            } else {
                format!("{credential}.yaml: {error}")
            }
        };
        let size = tokio::fs::metadata(&path).await.map_err(wrong)?.len();
        if size > MAX_KUBECONFIG {
            return Err(format!("{credential}.yaml has {size} bytes, more than {MAX_KUBECONFIG}"));
        }
        Ok(Bytes::from(tokio::fs::read(&path).await.map_err(wrong)?))
    }
}

/// A 404 means that there is no such object only where the API server says so about this very
/// object: a kind that is not installed, or a proxy in between, answers 404, too.
fn absent(answer: &Value, target: &Target) -> Result<(), String> {
    let detail = |key: &str| answer.get("details").and_then(|details| details.get(key)).and_then(Value::as_str);
    let is_status = answer.get("kind").and_then(Value::as_str) == Some("Status");
    if is_status && detail("name") == Some(&target.name) {
        return Ok(());
    }
    let kind = &target.gvk.kind;
    Err(format!("it answered 404, but not about this {kind}; is {} installed there?", target.gvk.api_version()))
}

fn path(target: &Target) -> String {
    let mut path = if target.gvk.group.is_empty() {
        format!("/api/{}", target.gvk.version)
    } else {
        format!("/apis/{}/{}", target.gvk.group, target.gvk.version)
    };
    if let Some(namespace) = &target.namespace {
        path.push_str(&format!("/namespaces/{namespace}"));
    }
    format!("{path}/{}/{}", target.plural, target.name)
}

/// `helmreleases.helm.toolkit.fluxcd.io cert-manager/cert-manager`, as roles and people name it.
fn resource(target: &Target) -> String {
    let group = if target.gvk.group.is_empty() { String::new() } else { format!(".{}", target.gvk.group) };
    match &target.namespace {
        Some(namespace) => format!("{}{group} {namespace}/{}", target.plural, target.name),
        None => format!("{}{group} {}", target.plural, target.name),
    }
}

#[cfg(test)]
mod tests;
