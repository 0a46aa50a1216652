//! The sandbox's clusters: each speaks the Kubernetes API on a loopback port of its own, and its
//! controllers roll out what the config repo's branch says. Acts on them are below; nothing here
//! knows of the bot.

mod api;
mod argo;
mod argo_rollout;
mod controller;
mod flux;
mod greenhouse;
mod kinds;
mod mirror;
mod rollout;
mod selector;
mod store;
mod workload;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::clock::now;
use super::loopback::{Loopback, locked, random_hex};
use controller::Inner;
pub use greenhouse::Member;
pub use kinds::Kind;
pub use mirror::GitSource;
pub(super) use mirror::run_git;
use mirror::{Mirror, Tree};
use rollout::Mood;
pub use rollout::Pace;
use store::Key;

/// How often the config repo is asked for a new head.
const ASK: Duration = Duration::from_millis(300);
/// How often the controllers look at their objects.
const TICK: Duration = Duration::from_millis(100);
/// Sightings that are remembered.
const REMEMBERED: usize = 20_000;

/// One cluster to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSpec {
    /// Its name.
    pub name: String,
    /// The folder of the config repo that it applies; Kustomizations of Flux there name further ones.
    pub folder: String,
    /// Its tier.
    pub tier: String,
    /// The name of its kubeconfig.
    pub credential: String,
    /// How fast its controllers are.
    pub pace: Pace,
    /// The clusters that it runs plugins on, where it is a hub.
    pub members: Vec<Member>,
}

/// How well a release is, by the controllers' own knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The wanted version runs and is well.
    Healthy,
    /// On the way to the wanted version.
    Progressing,
    /// The wanted version ran well and does not now.
    Degraded,
    /// The wanted version did not come up.
    Failed,
}

/// One release on one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The version that the manifest names.
    pub wanted: String,
    /// The version that serves.
    pub running: Option<String>,
    /// How it is.
    pub state: State,
    /// Since when.
    pub since: Timestamp,
}

/// A change of one release on one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// When it was so.
    pub at: Timestamp,
    /// Where.
    pub cluster: String,
    /// The cluster's tier.
    pub tier: String,
    /// Which release.
    pub plugin: String,
    /// What it was then.
    pub seen: Seen,
}

/// How a cluster answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// As it should.
    Up,
    /// Not at all: connections open and stay silent.
    Silent,
    /// The credential is not accepted (401).
    Unauthorized,
    /// The credential's role allows nothing (403).
    Forbidden,
}

struct Cluster {
    spec: ClusterSpec,
    token: String,
    link: watch::Sender<Link>,
    inner: Mutex<Inner>,
}

impl Cluster {
    fn link(&self) -> Link {
        *self.link.borrow()
    }

    /// Waits while the cluster is cut off.
    async fn reachable(&self) {
        let mut link = self.link.subscribe();
        // The sender lives as long as the cluster, so this ends only with a link that answers.
        let _ = link.wait_for(|link| *link != Link::Silent).await;
    }
}

/// Clusters that run until this is dropped.
pub struct Clusters {
    clusters: BTreeMap<String, (Arc<Cluster>, Loopback)>,
    sightings: Arc<Mutex<Vec<Sighting>>>,
    _tasks: JoinSet<()>,
}

impl Clusters {
    /// Starts the clusters. What the branch holds now runs everywhere already, as if for a day.
    /// `folder` takes the mirror of the config repo.
    ///
    /// # Errors
    /// When the config repo cannot be read or no port is free.
    pub async fn start(specs: Vec<ClusterSpec>, source: GitSource, folder: PathBuf) -> anyhow::Result<Self> {
        let url = source.url.clone();
        let mut mirror = Mirror::create(source, folder).await?;
        let tree = mirror.pull().await?.with_context(|| format!("{url} has no branch with manifests"))?;
        let mut clusters = BTreeMap::new();
        let began = now() - SignedDuration::from_hours(24);
        for spec in specs {
            let (name, token) = (spec.name.clone(), random_hex()?);
            let inner = Mutex::new(Inner::new(&name, &spec.members));
            let cluster = Arc::new(Cluster { spec, token, link: watch::Sender::new(Link::Up), inner });
            locked(&cluster.inner).take(&tree, &cluster.spec.folder, now(), Some(began));
            let server = Loopback::serve(api::router(cluster.clone())).await?;
            clusters.insert(name, (cluster, server));
        }
        let sightings = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let (heads, head) = watch::channel(Arc::new(tree));
        tasks.spawn(follow_branch(mirror, heads));
        let all: Vec<Arc<Cluster>> = clusters.values().map(|(cluster, _)| cluster.clone()).collect();
        tasks.spawn(run_controllers(all, head, sightings.clone()));
        Ok(Self { clusters, sightings, _tasks: tasks })
    }

    /// Writes one kubeconfig per cluster into the folder, named by its credential.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_kubeconfigs(&self, folder: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for (cluster, server) in self.clusters.values() {
            let path = folder.join(format!("{}.yaml", cluster.spec.credential));
            let text = serde_yaml::to_string(&kubeconfig(cluster, server))?;
            super::loopback::write_private(&path, text.as_bytes())?;
        }
        Ok(())
    }

    /// The API's URL of every cluster.
    pub fn urls(&self) -> BTreeMap<String, String> {
        self.clusters.iter().map(|(name, (_, server))| (name.clone(), server.url())).collect()
    }

    /// The truth about every release: cluster, then plugin.
    pub fn look(&self) -> BTreeMap<String, BTreeMap<String, Seen>> {
        let own = self.clusters.values().filter(|(cluster, _)| cluster.spec.members.is_empty());
        let mut all: BTreeMap<String, BTreeMap<String, Seen>> =
            own.map(|(cluster, _)| (cluster.spec.name.clone(), BTreeMap::new())).collect();
        for (name, (cluster, _)) in &self.clusters {
            for ((cluster, plugin), seen) in locked(&cluster.inner).seen(name) {
                all.entry(cluster).or_default().insert(plugin, seen);
            }
        }
        all
    }

    /// Everything that happened, in order, from the given index on.
    pub fn sightings(&self, from: usize) -> Vec<Sighting> {
        locked(&self.sightings).iter().skip(from).cloned().collect()
    }

    /// The release stays Ready on the version that it has, whatever its manifest says.
    ///
    /// # Errors
    /// When there is no such cluster, as with all acts below.
    pub fn stick(&self, cluster: &str, plugin: &str) -> anyhow::Result<()> {
        self.mood(cluster, plugin, Some(Mood::Stuck))
    }

    /// The release is not well any more.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn degrade(&self, cluster: &str, plugin: &str) -> anyhow::Result<()> {
        self.mood(cluster, plugin, Some(Mood::Degraded))
    }

    /// The release is well and not well in turns.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn flap(&self, cluster: &str, plugin: &str) -> anyhow::Result<()> {
        self.mood(cluster, plugin, Some(Mood::Flapping))
    }

    /// Ends every one of these, and mends versions that did not come up.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn recover(&self, cluster: &str, plugin: &str) -> anyhow::Result<()> {
        locked(&self.cluster(cluster)?.inner).broken.retain(|(broken, _)| broken != plugin);
        self.mood(cluster, plugin, None)
    }

    /// This version of the plugin will not come up on this cluster.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn break_version(&self, cluster: &str, plugin: &str, version: &str) -> anyhow::Result<()> {
        locked(&self.cluster(cluster)?.inner).broken.insert((plugin.to_owned(), version.to_owned()));
        Ok(())
    }

    /// The cluster gives no answer, watches included. Its controllers run on.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn partition(&self, cluster: &str) -> anyhow::Result<()> {
        self.set_link(cluster, Link::Silent)
    }

    /// How the cluster answers from now on.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn set_link(&self, cluster: &str, link: Link) -> anyhow::Result<()> {
        self.cluster(cluster)?.link.send_replace(link);
        Ok(())
    }

    /// Forgets past changes: older watches and lists that go on get 410.
    ///
    /// # Errors
    /// When there is no such cluster.
    pub fn compact(&self, cluster: &str) -> anyhow::Result<()> {
        locked(&self.cluster(cluster)?.inner).store.compact();
        Ok(())
    }

    /// Puts an object of any kind there, status included.
    ///
    /// # Errors
    /// When there is no such cluster, or the object has no name.
    pub fn put(&self, cluster: &str, kind: &Kind, object: &Value) -> anyhow::Result<()> {
        let name = object["metadata"]["name"].as_str().context("the object has no metadata.name")?;
        let key = Key::new(kind, object["metadata"]["namespace"].as_str().unwrap_or("default"), name);
        let mut inner = locked(&self.cluster(cluster)?.inner);
        if !inner.kinds.contains(kind) {
            inner.kinds.push(kind.clone());
        }
        inner.store.apply(kind, &key, object, now());
        if let Some(status) = object.get("status") {
            inner.store.set_status(kind, &key, status.clone());
        }
        Ok(())
    }

    fn mood(&self, cluster: &str, plugin: &str, mood: Option<Mood>) -> anyhow::Result<()> {
        let mut inner = locked(&self.cluster(cluster)?.inner);
        match mood {
            Some(mood) => inner.moods.insert(plugin.to_owned(), mood),
            None => inner.moods.remove(plugin),
        };
        Ok(())
    }

    fn cluster(&self, name: &str) -> anyhow::Result<&Arc<Cluster>> {
        let known = || self.clusters.keys().cloned().collect::<Vec<_>>().join(", ");
        let found = self.clusters.get(name).map(|(cluster, _)| cluster);
        found.with_context(|| format!("the sandbox has no cluster `{name}`; it has {}", known()))
    }
}

async fn follow_branch(mut mirror: Mirror, heads: watch::Sender<Arc<Tree>>) {
    loop {
        tokio::time::sleep(ASK).await;
        match mirror.pull().await {
            Ok(Some(tree)) => {
                heads.send_replace(Arc::new(tree));
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the sandbox's clusters cannot pull their manifests; they ask again"),
        }
    }
}

async fn run_controllers(
    clusters: Vec<Arc<Cluster>>,
    mut head: watch::Receiver<Arc<Tree>>,
    sightings: Arc<Mutex<Vec<Sighting>>>,
) {
    let mut known: BTreeMap<(String, String), Seen> = BTreeMap::new();
    let mut head_since = now();
    loop {
        let time = now();
        if head.has_changed().unwrap_or(false) {
            head.mark_unchanged();
            head_since = time;
        }
        let tree = head.borrow().clone();
        for cluster in &clusters {
            let mut inner = locked(&cluster.inner);
            let pulled = SignedDuration::try_from(cluster.spec.pace.pull).unwrap_or_default();
            if inner.behind(&tree) && time.duration_since(head_since) >= pulled {
                inner.take(&tree, &cluster.spec.folder, time, None);
            }
            inner.tick(time, cluster.spec.pace);
            for (key, seen) in inner.seen(&cluster.spec.name) {
                if known.get(&key).is_none_or(|before| differs(before, &seen)) {
                    known.insert(key.clone(), seen.clone());
                    note(&sightings, cluster, key, seen, time);
                }
            }
        }
        tokio::time::sleep(TICK).await;
    }
}

/// Stages that are the same to everybody but the controller are one sighting.
fn differs(before: &Seen, after: &Seen) -> bool {
    (&before.wanted, &before.running, before.state) != (&after.wanted, &after.running, after.state)
}

fn note(
    sightings: &Mutex<Vec<Sighting>>,
    by: &Cluster,
    (cluster, plugin): (String, String),
    seen: Seen,
    at: Timestamp,
) {
    let mut sightings = locked(sightings);
    if sightings.len() < REMEMBERED {
        let member = by.spec.members.iter().find(|member| member.name == cluster);
        let tier = member.map_or(&by.spec.tier, |member| &member.tier).clone();
        sightings.push(Sighting { at, cluster, tier, plugin, seen });
    }
}

fn kubeconfig(cluster: &Cluster, server: &Loopback) -> Value {
    let name = &cluster.spec.name;
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server.url()}}],
        "users": [{"name": "reader", "user": {"token": cluster.token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "reader"}}],
    })
}
