//! Connections to clusters, by kubeconfig files of the operator: each is read into a struct of our
//! own and rebuilt field by field, so that nothing in it starts a process, reads another file or
//! goes through a proxy. What an answer means is judged by signals.

mod ask;
mod changes;
mod client;
mod error;
mod get;
mod member;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use decide::snapshot::Health;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt};
use kube::Client;
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use tracing::Instrument as _;

pub use self::ask::{Ask, Asked, Asking, fresh};
pub use self::changes::{Change, Changes, version};
use self::client::config;
pub use self::error::ReadError;
pub use self::get::{Page, object};
use self::get::{Words, get};
use super::net::{Given, SHARED, causes};
use crate::inventory::ListedCluster;
use crate::kubeconfig::{Beside, Connection};
use crate::secret::{self, Secret};
use crate::signal::{Answer, Signal, Target, answer};
use crate::{clock, trace};

/// The longest that one object may take, from connecting to its last byte.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest kubeconfig that is read, in bytes.
const MAX_KUBECONFIG: u64 = 1024 * 1024;
/// Objects asked for at once, over all clusters.
const AT_ONCE: usize = 32;
/// Objects asked for at once at one cluster, so that a slow one cannot take every place.
const PER_CLUSTER: usize = 8;

/// The connections of the operator. Cheap to clone, and shared by all repositories.
#[derive(Clone, Debug)]
pub struct Clusters {
    shared: Arc<Shared>,
    /// The repository that they are used for.
    of: Option<u64>,
    /// There is no other one: what lies in the operator's folder itself is for it.
    alone: bool,
}

#[derive(Debug)]
struct Shared {
    /// None where the operator gave none.
    folder: Option<PathBuf>,
    hosts: Given,
    timeout: Duration,
    open: Mutex<BTreeMap<String, Open>>,
    borrowed: member::Borrowed,
}

/// A connection, and the file that it was made from: a changed file makes a new one.
#[derive(Clone)]
struct Open {
    text: Bytes,
    beside: Beside<Secret>,
    client: Client,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Open(…)") // the text holds credentials
    }
}

/// A kubeconfig of the operator.
struct File {
    /// Which one it is among all of them.
    key: String,
    text: Bytes,
    /// What it names, which may be changed without it.
    beside: Beside<Secret>,
}

/// The operator's folder has no usable connection of a name.
struct NoFile {
    /// It has none at all.
    absent: bool,
    why: String,
}

/// Why a kubeconfig is of no use here; none where a client could be made of it. Nothing is connected to, and nothing
/// of a credential is told. `insecure_http` as in [`Clusters::open`].
pub fn unusable(kubeconfig: &[u8], insecure_http: &[String]) -> Option<String> {
    let made = Connection::read(kubeconfig, insecure_http).and_then(|connection| config(&connection, TIMEOUT));
    made.err().map(|refused| refused.to_string())
}

/// What a signal looks at, as it was read.
struct Read {
    object: Value,
    targets: Vec<Target>,
    more: Vec<Option<Value>>,
}

/// The folder of connections cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the folder of connections to clusters, {folder}: {why}")]
pub struct NoFolder {
    folder: String,
    why: String,
}

impl Clusters {
    /// Connections from a folder of `<credential>.yaml`. `hosts` may be reached over plain http, such
    /// as a sandbox on loopback. Files are read when they are needed, and again when they change; what
    /// is wrong with one of them shows up in the readings of its clusters.
    ///
    /// # Errors
    /// Where there is no such folder.
    pub fn open(folder: &Path, hosts: Given) -> Result<Self, NoFolder> {
        let wrong = |why: String| NoFolder { folder: folder.display().to_string(), why };
        match std::fs::metadata(folder) {
            Ok(found) if found.is_dir() => Ok(Self::build(Some(folder.to_path_buf()), hosts, TIMEOUT)),
            Ok(_) => Err(wrong("it is a file; give the folder that holds `<credential>.yaml`".to_string())),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// No connections: every reading is unknown.
    pub fn none() -> Self {
        Self::build(None, Given::default(), TIMEOUT)
    }

    fn build(folder: Option<PathBuf>, hosts: Given, timeout: Duration) -> Self {
        let (open, borrowed) = (Mutex::default(), member::Borrowed::default());
        let shared = Shared { folder, hosts, timeout, open, borrowed };
        Self { shared: Arc::new(shared), of: None, alone: true }
    }

    /// The same for one repository, by its number: its policy reaches what lies in the folder's folder of that name,
    /// or else in `shared`, and nothing else. Where it is `alone`, it reaches without them what lies in the folder.
    #[must_use]
    pub fn of(&self, repository: u64, alone: bool) -> Self {
        Self { shared: Arc::clone(&self.shared), of: Some(repository), alone }
    }

    /// Whether there is a connection to a cluster that can be used; nothing is asked through it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn usable(&self, cluster: &ListedCluster) -> Result<(), ReadError> {
        self.client(cluster).await.map(drop)
    }

    /// Reads one object, or a list of objects as one; `None` where the cluster says that there is none.
    ///
    /// # Errors
    /// Where there is no connection, the cluster does not answer within ten seconds, or with
    /// something else than what was asked for.
    pub async fn read(&self, cluster: &ListedCluster, target: &Target) -> Result<Option<Value>, ReadError> {
        let reading = async { get(&self.client(cluster).await?, target).await };
        self.in_time((cluster, target), reading).await
    }

    /// Reads what a signal looks at: its object, and further ones that this names.
    async fn read_all(&self, cluster: &ListedCluster, signal: &dyn Signal) -> Result<Option<Read>, ReadError> {
        let Some(object) = self.read(cluster, &signal.target()).await? else { return Ok(None) };
        let targets = signal.more(&object);
        let more = futures_util::stream::iter(&targets).then(|target| self.read(cluster, target)).try_collect().await?;
        Ok(Some(Read { object, targets, more }))
    }

    /// One page of the objects that a target with labels names.
    ///
    /// # Errors
    /// As [`Self::read`]; and where the list has to begin anew.
    pub async fn page(&self, cluster: &ListedCluster, target: &Target, token: Option<&str>) -> Result<Page, ReadError> {
        let reading = async { get::page(&self.client(cluster).await?, target, token).await };
        self.in_time((cluster, target), reading).await
    }

    /// Opens a watch on the objects that a target with labels names: it goes on from a moment, and the server ends
    /// it after so many seconds.
    ///
    /// # Errors
    /// As [`Self::page`].
    pub async fn watch(
        &self,
        cluster: &ListedCluster,
        target: &Target,
        from: &str,
        seconds: u32,
    ) -> Result<Changes, ReadError> {
        let opening = async { changes::open(&self.client(cluster).await?, target, from, seconds).await };
        self.in_time((cluster, target), opening).await
    }

    async fn in_time<T>(
        &self,
        (cluster, target): (&ListedCluster, &Target),
        reading: impl Future<Output = Result<T, ReadError>>,
    ) -> Result<T, ReadError> {
        match tokio::time::timeout(self.shared.timeout, reading).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => {
                self.not_taken(cluster, &error).await;
                Err(error)
            }
            Err(_) => {
                let why = format!("no answer within {} s", self.shared.timeout.as_secs_f32());
                Err(Words::of(target).unreachable(&why))
            }
        }
    }

    /// Asks everything, many at a time; one reading per ask, in their order. A cluster that does not
    /// answer is asked no further in this round, and delays nobody else. What could not be read is
    /// unknown. `done` is told how many are answered.
    pub async fn answers(&self, asks: Vec<Ask>, done: &(dyn Fn(usize) + Sync)) -> Vec<Asked> {
        let mut groups: BTreeMap<String, Vec<(usize, Ask)>> = BTreeMap::new();
        for (index, ask) in asks.into_iter().enumerate() {
            groups.entry(ask.cluster.credential.clone()).or_default().push((index, ask));
        }
        let permits = Semaphore::new(AT_ONCE);
        let mut running: FuturesUnordered<_> = groups.into_values().map(|group| self.group(group, &permits)).collect();
        let mut found: BTreeMap<usize, Asked> = BTreeMap::new();
        while let Some(answers) = running.next().await {
            found.extend(answers);
            done(found.len());
        }
        found.into_values().collect()
    }

    /// The asks of one connection, a few at a time.
    async fn group(&self, asks: Vec<(usize, Ask)>, permits: &Semaphore) -> Vec<(usize, Asked)> {
        let dead = AtomicBool::new(false);
        let connection = asks.first().map_or("", |(_, ask)| ask.cluster.credential.as_str());
        let span = trace::cluster(connection, asks.len());
        futures_util::stream::iter(asks)
            .map(|(index, ask)| self.answer(index, ask, permits, &dead))
            .buffer_unordered(PER_CLUSTER)
            .collect()
            .instrument(span)
            .await
    }

    async fn answer(&self, index: usize, ask: Ask, permits: &Semaphore, dead: &AtomicBool) -> (usize, Asked) {
        let signal = match ask.signal() {
            Ok(signal) => signal,
            Err(error) => {
                let answer = Answer::unasked("signal", &error.to_string(), clock::now());
                return (index, Asked { answer, more: Vec::new() });
            }
        };
        let target = signal.target();
        let (observed_at, read) = {
            let _permit = permits.acquire().await;
            // Before asking: what is answered may be as old as the question.
            let observed_at = clock::now();
            let read = if dead.load(Ordering::Relaxed) {
                Err(Words::of(&target).unreachable("not asked, because the cluster did not answer just now"))
            } else {
                self.read_all(&ask.cluster, signal.as_ref()).await
            };
            (observed_at, read)
        };
        let absent = |health, evidence: &str| Answer::absent(&target, health, evidence, observed_at);
        let mut more = Vec::new();
        let answer = match read {
            Ok(Some(Read { object, targets, more: others })) => {
                more = targets;
                // Paths of a policy over an object of a cluster: bounded, but not to be trusted with
                // the thread that all others wait on.
                let judged =
                    tokio::task::spawn_blocking(move || answer(signal.as_ref(), &object, &others, observed_at)).await;
                judged.unwrap_or_else(|error| absent(Health::Unknown, &format!("it could not be judged: {error}")))
            }
            Ok(None) => Answer::not_there(&target, observed_at),
            Err(error) => {
                if matches!(error, ReadError::Unreachable { .. }) {
                    dead.store(true, Ordering::Relaxed);
                }
                absent(Health::Unknown, &error.to_string())
            }
        };
        (index, Asked { answer, more })
    }

    /// The connection of this name in the operator's folder.
    async fn named(&self, credential: &str) -> Result<Client, ReadError> {
        self.by_file(credential, self.file(credential).await).await
    }

    async fn by_file(&self, credential: &str, found: Result<File, NoFile>) -> Result<Client, ReadError> {
        let no = |why: String| ReadError::NoConnection { credential: credential.to_string(), why };
        let File { key, text, beside } = found.map_err(|file| no(file.why))?;
        let mut open = self.shared.open.lock().await;
        if let Some(known) = open.get(&key).filter(|known| known.text == text && known.beside == beside) {
            return Ok(known.client.clone());
        }
        let config = Connection::read_with(&text, beside.clone(), &self.insecure_http())
            .and_then(|connection| config(&connection, self.shared.timeout))
            .map_err(|error| no(error.to_string()))?;
        let client = Client::try_from(config).map_err(|error| no(causes(&error)))?;
        open.insert(key, Open { text, beside, client: client.clone() });
        Ok(client)
    }

    async fn file(&self, credential: &str) -> Result<File, NoFile> {
        let no = |why: String| NoFile { absent: false, why };
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
        let starts = credential.bytes().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if !starts || credential.len() > 253 || !credential.bytes().all(plain) {
            return Err(no(
                "a name has letters, digits, `-`, `_` and `.`; name one as `credential:` in the inventory".to_string()
            ));
        }
        let Some(folder) = &self.shared.folder else {
            return Err(no("the operator gave no folder of connections to clusters".to_string()));
        };
        let own = self.own_folder(folder).await.map_err(no)?;
        let folder = own.as_ref().map_or_else(|| folder.clone(), |own| folder.join(own));
        let path = folder.join(format!("{credential}.yaml"));
        let wrong = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                let whose = own.as_ref().map_or("'s folder".to_string(), |own| format!("'s folder `{own}`"));
                NoFile { absent: true, why: format!("there is no {credential}.yaml in the operator{whose}") }
            } else {
                no(format!("{credential}.yaml: {error}"))
            }
        };
        // With hosts of its own, a repository may reach what others may not by the same file.
        let whose = self.of.filter(|repository| self.shared.hosts.has_own(*repository));
        let key = format!("{}{}", whose.map_or_else(String::new, |id| format!("{id}:")), path.display());
        let size = tokio::fs::metadata(&path).await.map_err(wrong)?.len();
        if size > MAX_KUBECONFIG {
            return Err(no(format!("{credential}.yaml has {size} bytes, more than {MAX_KUBECONFIG}")));
        }
        let text = Bytes::from(tokio::fs::read(&path).await.map_err(wrong)?);
        let names = Connection::names(&text);
        let wrong = |why: String| no(format!("{credential}.yaml: {why}"));
        let token = names.token.map(|name| secret::beside(&folder, &name)).transpose().map_err(wrong)?;
        let authority = names.authority.map(|name| secret::file_beside(&folder, &name, "certificate-authority"));
        let beside = Beside { token, authority: authority.transpose().map_err(wrong)? };
        Ok(File { key, text, beside })
    }

    /// The folder within the operator's that this repository has to itself or shares; none where the operator's is
    /// for one repository alone.
    async fn own_folder(&self, folder: &Path) -> Result<Option<String>, String> {
        let Some(repository) = self.of else { return Ok(None) };
        let number = repository.to_string();
        for name in [number.as_str(), SHARED] {
            if tokio::fs::try_exists(folder.join(name)).await.map_err(|error| format!("{name}: {error}"))? {
                return Ok(Some(name.to_string()));
            }
        }
        if self.alone {
            return Ok(None);
        }
        Err(format!(
            "the operator's folder has no folder `{number}` for this repository, and no folder `{SHARED}` for all of them"
        ))
    }

    /// Hosts that may be reached over plain http.
    fn insecure_http(&self) -> Vec<String> {
        self.shared.hosts.of(self.of)
    }
}

#[cfg(test)]
mod tests;
