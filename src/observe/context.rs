//! What one repository is observed with: the repository itself, what the operator lets us reach, and memory that may be
//! lost at any time. What is read with it is in the files beside this one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::{PluginName, PullNumber, Sha, TierName, Version};
use jiff::{SignedDuration, Timestamp};
use url::Url;

use super::changelog::{Changelogs, Said};
use super::chart::{Found, Mirrors, Source, Trust};
use super::cluster::Clusters;
use super::compared::Compared;
use super::net::Net;
use super::released::Checked;
use super::signed::Signatures;
use super::watch::Watches;
use crate::policy::wiring::Chart;
use crate::policy::{Loaded, Setting, SourceFile};
use crate::repo::Repo;
use crate::seal::Seal;
use crate::secret::Secrets;

/// Everything that one repository is observed with.
pub struct Context {
    /// The repository.
    pub repo: Repo,
    /// The clusters that the operator lets us ask.
    pub clusters: Arc<Clusters>,
    /// What they say.
    pub watches: Watches,
    /// How chart sources are reached.
    pub net: Arc<Net>,
    /// Whose certificates of signers are believed.
    pub trust: Arc<Trust>,
    /// The secrets that the operator gives us.
    pub secrets: Secrets,
    /// Where people find the dashboard.
    pub dashboard: Option<Url>,
    /// How soon to look again while something is on its way.
    pub look_again: SignedDuration,
    /// What the policy file is read under: the operator's limits, and how the bot runs.
    pub setting: Arc<Setting>,
    /// Only clusters are asked on whose word something may be decided: for a run that ends, and tells nobody how the
    /// others are.
    pub only_needed: bool,
    /// What was read before and may be used again for a while.
    pub memory: Memory,
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
    /// Whose certificates of signers are believed.
    pub trust: Arc<Trust>,
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
    pub policy: Option<(Arc<Vec<SourceFile>>, Arc<Loaded>)>,
    /// Presets of other repositories.
    pub presets: super::presets::Known,
    /// What the log says is wrong with the newest policy.
    pub broken: Option<String>,
    /// Chart sources, with what they said last.
    pub sources: BTreeMap<PluginName, SourceMemory>,
    /// What the hub's pages say of releases.
    pub changelogs: Changelogs,
    /// Clones of repositories that these lie in.
    pub mirrors: Option<Arc<Mirrors>>,
    /// Answers of the hub that hold for a minute.
    pub hub: super::hub_cache::HubCache,
    /// What those said that are no clusters, and since when clusters run what they run.
    pub asked: super::ask::Memory,
    /// Every question to every cluster.
    pub round: super::readings::Round,
    /// What a hub listed last.
    pub listed: super::inventory::Last,
    /// Open pull requests that a person wants written anew, with the heads that they were about.
    pub rebase: BTreeMap<PullNumber, Sha>,
    /// Releases that a person wants opened now, by plugin and tier.
    pub open_now: BTreeMap<PluginName, BTreeMap<TierName, Version>>,
    /// What became of the box of an open pull request when it was ticked last.
    pub boxes: BTreeMap<PullNumber, String>,
    /// The paths that the heads of open pull requests change.
    pub differences: super::difference::Known,
    /// Whether people who put a commit on top of one of ours left every version as it is, by the two and by the commit of
    /// the policy.
    pub added: BTreeMap<(Sha, Sha, Sha), bool>,
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
    /// How those versions differ from one to the next.
    pub compared: Compared,
    /// Which of them are signed, where that is asked for.
    pub signatures: Signatures,
    /// What authors say of them.
    pub told: BTreeMap<Version, Said>,
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

impl Context {
    /// That of a repository that was never observed before.
    pub fn new(repo: Repo, reach: Reach, watches: Watches, look_again: SignedDuration, setting: Arc<Setting>) -> Self {
        let Reach { clusters, net, trust, secrets, dashboard, own: _, seal: _, alone: _ } = reach;
        let memory = Memory::default();
        Self {
            repo,
            clusters,
            watches,
            net,
            trust,
            secrets,
            dashboard,
            look_again,
            setting,
            only_needed: false,
            memory,
        }
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
}
