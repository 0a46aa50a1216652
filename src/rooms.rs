//! What the line works with for one repository: its hub, its clone, its ledger, and memory that may
//! be lost at any time. What is done with it is in `tick`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow};
use decide::ledger::Outage;
use decide::{Person, PluginName, PullNumber, Sha, Version};
use jiff::{SignedDuration, Timestamp};
use url::Url;

use crate::git::{Access, Author, GitError, Store};
use crate::hub::{RepoHub, Repository};
use crate::ledger::Branch;
use crate::observe::chart::{Found, Source};
use crate::observe::cluster::Clusters;
use crate::observe::net::Net;
use crate::observe::released::Checked;
use crate::observe::watch::Standing;
use crate::policy::wiring::Chart;
use crate::policy::{Loaded, Setting};
use crate::seal::Seal;
use crate::secret::Secrets;

/// Everything that one repository's line works with.
pub struct Rooms {
    /// The repository at the hub.
    pub repository: Repository,
    /// The hub, with a token for this repository alone.
    pub hub: RepoHub,
    /// The clusters that the operator lets us ask.
    pub clusters: Arc<Clusters>,
    /// What they say.
    pub standing: Standing,
    /// How chart sources are reached.
    pub net: Arc<Net>,
    /// The secrets that the operator gives us.
    pub secrets: Secrets,
    /// What proves that a commit is ours.
    pub seal: Seal,
    /// Where people find the dashboard.
    pub dashboard: Option<Url>,
    /// How soon to look again while something is on its way.
    pub look_again: SignedDuration,
    /// What the policy file is read under: the operator's limits, and how the bot runs.
    pub setting: Arc<Setting>,
    /// Only clusters are asked on whose word something may be decided: for a run that ends, and tells nobody how the
    /// others are.
    pub thrifty: bool,
    /// The ledger, once it was read.
    pub ledger: Option<Branch>,
    /// What was read before and may be used again for a while.
    pub memory: Memory,
    store: Arc<Mutex<Store>>,
}

/// What the operator lets us reach. Cheap to clone, connections are shared.
#[derive(Clone)]
pub struct Reach {
    /// The clusters.
    pub clusters: Arc<Clusters>,
    /// Hosts that a policy file names.
    pub net: Arc<Net>,
    /// The same for repositories that have hosts of their own.
    pub own: Arc<BTreeMap<u64, Arc<Net>>>,
    /// Secrets that a policy file names.
    pub secrets: Secrets,
    /// The keys by which the bot knows its own commits.
    pub seal: Seal,
    /// Where people find the dashboard.
    pub dashboard: Option<Url>,
    /// There is one repository only, and everything is for it.
    pub alone: bool,
}

/// What was read before. Losing it costs calls, never correctness.
#[derive(Default)]
pub struct Memory {
    /// The last policy that had no errors, and the text it was read from.
    pub policy: Option<(Vec<crate::policy::SourceFile>, Arc<Loaded>)>,
    /// Chart sources, with what they said last.
    pub sources: BTreeMap<PluginName, SourceMemory>,
    /// Answers of the hub that hold for a minute.
    pub hub: crate::observe::recall::Recall,
    /// What those said that are no clusters, and since when clusters run what they run.
    pub asked: crate::observe::ask::Memory,
    /// When the hub last answered, and since when it has not.
    pub silent: Option<Timestamp>,
    /// Outages that are over and not yet in the ledger.
    pub outages: Vec<Outage>,
    /// Every question to every cluster.
    pub round: crate::observe::readings::Round,
    /// What a hub listed last.
    pub listed: crate::observe::inventory::Last,
    /// What the commits of open pull requests change, for people.
    pub changes: crate::act::Told,
    /// The paths that they change.
    pub differences: crate::observe::difference::Known,
    /// How far people were told.
    pub told: Option<crate::act::notify::Told>,
    /// Comments that were reacted to.
    pub answered: BTreeSet<u64>,
    /// Pull requests that were opened, by branch: lists may not show them for a while.
    pub opened: BTreeMap<String, Opened>,
}

/// A pull request that the hub said to have opened.
pub struct Opened {
    /// Its number.
    pub number: PullNumber,
    /// The head that it was opened with.
    pub head: Sha,
    /// When.
    pub at: Timestamp,
}

/// One chart source and what it said last.
pub struct SourceMemory {
    /// What it was made from.
    pub chart: Chart,
    /// The source; none when it may not be asked.
    pub source: Option<Arc<dyn Source>>,
    /// When it was asked last.
    pub asked: Option<Timestamp>,
    /// What it said, or why it said nothing.
    pub said: Result<BTreeMap<Version, Found>, String>,
    /// What the hub said of the commits that released those versions.
    pub checked: Checked,
    /// Where it comes from at the hub: repositories and packages.
    pub released_in: BTreeSet<String>,
    /// When somebody rang for it; none once the news is here, or long overdue.
    pub rung: Option<Timestamp>,
}

/// However often somebody rings, a source has so long a rest.
const REST: SignedDuration = SignedDuration::from_secs(5);

impl SourceMemory {
    /// When it is asked again; none before the first time. A ring often comes before what it rings for is there: the
    /// source is asked at once, and then after pauses that grow until they are those of the policy.
    pub fn due(&self, poll: SignedDuration) -> Option<Timestamp> {
        let asked = self.asked?;
        let pause = self.rung.map_or(poll, |rung| asked.duration_since(rung).clamp(REST, poll.max(REST)));
        asked.checked_add(pause).ok()
    }
}

impl Reach {
    /// What of it one repository may use, by its number.
    #[must_use]
    pub fn of(&self, repository: u64) -> Self {
        let net = Arc::clone(self.own.get(&repository).unwrap_or(&self.net));
        let clusters = Arc::new(self.clusters.of(repository, self.alone));
        Self { clusters, net, seal: self.seal.of(repository), ..self.clone() }
    }
}

impl Rooms {
    /// Opens the clone of a repository below `data`; it is keyed by the repository's number, which a
    /// rename does not change.
    pub fn open(
        repository: Repository,
        hub: RepoHub,
        reach: Reach,
        standing: Standing,
        look_again: SignedDuration,
        setting: Arc<Setting>,
        data: &Path,
    ) -> anyhow::Result<Self> {
        let folder = data.join(format!("{}.git", repository.id));
        let store = Store::open(&folder).with_context(|| format!("the clone in {}", folder.display()))?;
        Ok(Self {
            repository,
            hub,
            clusters: reach.clusters,
            standing,
            net: reach.net,
            secrets: reach.secrets,
            seal: reach.seal,
            dashboard: reach.dashboard,
            look_again,
            setting,
            thrifty: false,
            ledger: None,
            memory: Memory::default(),
            store: Arc::new(Mutex::new(store)),
        })
    }

    /// `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.repository.owner, self.repository.name)
    }

    /// Where charts come from at the hub.
    pub fn sources(&self) -> BTreeSet<String> {
        self.memory.sources.values().flat_map(|memory| memory.released_in.iter().cloned()).collect()
    }

    /// Somebody rang for these.
    pub fn rung(&mut self, sources: &BTreeSet<String>, now: Timestamp) {
        let rung = self.memory.sources.values_mut().filter(|memory| !memory.released_in.is_disjoint(sources));
        rung.for_each(|memory| memory.rung = Some(now));
    }

    /// When a source that was rung for is to be asked next.
    pub fn next_ask(&self) -> Option<Timestamp> {
        let rung = self.memory.sources.values().filter(|memory| memory.rung.is_some() && memory.source.is_some());
        rung.filter_map(|memory| memory.due(SignedDuration::MAX)).min()
    }

    /// Who our commits say wrote them.
    pub fn author(&self) -> Author {
        author(self.hub.bot())
    }

    /// Runs git work on a thread that may block.
    pub async fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store, &Access) -> Result<T, GitError> + Send + 'static,
    ) -> anyhow::Result<T> {
        let access = self.access().await?;
        let store = Arc::clone(&self.store);
        let work = move || work(&store.lock().unwrap_or_else(PoisonError::into_inner), &access);
        Ok(tokio::task::spawn_blocking(work).await.map_err(|error| anyhow!("git work was cut off: {error}"))??)
    }

    /// Runs work on the ledger branch on a thread that may block. The ledger is read first when it
    /// was not yet.
    pub async fn with_ledger<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Branch, &Store, &Access) -> Result<T, crate::ledger::LedgerError> + Send + 'static,
    ) -> anyhow::Result<T> {
        let access = self.access().await?;
        let (store, author, seal) = (Arc::clone(&self.store), self.author(), self.seal.clone());
        let branch = self.ledger.take();
        let work = move || -> Result<(Branch, Result<T, crate::ledger::LedgerError>), crate::ledger::LedgerError> {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let mut branch = match branch {
                Some(branch) => branch,
                None => Branch::load(&store, &access, author, seal)?,
            };
            let result = work(&mut branch, &store, &access);
            Ok((branch, result))
        };
        let done =
            tokio::task::spawn_blocking(work).await.map_err(|error| anyhow!("ledger work was cut off: {error}"))?;
        let (branch, result) = done?;
        self.ledger = Some(branch);
        Ok(result?)
    }

    async fn access(&self) -> anyhow::Result<Access> {
        Ok(Access { url: self.hub.git_url(), token: Some(self.hub.git_token().await?) })
    }
}

/// The author of a commit by `login`, with the address that the hub knows for it.
fn author(login: &Person) -> Author {
    Author {
        name: login.to_string(),
        email: format!("{}@users.noreply.github.com", login.as_str().replace("[bot]", "-bot")),
    }
}
