//! Reads every fact of a repository into one snapshot. What could not be read is absent and says
//! why; what follows from it is decided in `decide`.

mod added;
mod again;
mod all_sources;
pub mod answers;
pub mod ask;
mod base;
mod believed;
mod boxes;
mod changelog;
pub mod chart;
pub mod checkout;
pub mod cluster;
pub mod compared;
pub mod context;
pub mod difference;
mod foreseen;
mod given;
pub mod hub_cache;
pub mod inventory;
mod landed;
mod last_policy;
pub mod lock;
pub mod needed;
pub mod net;
mod notes;
pub mod others;
mod owners;
mod place_owner;
mod place_version;
mod presets;
mod pulls;
pub mod readings;
pub mod released;
mod releases;
mod runs;
mod signed;
mod sources;
mod spots;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod vacant;
pub mod watch;
pub mod whose;

use std::collections::{BTreeMap, BTreeSet};

use decide::plan::{Plan, WaveReport};
use decide::snapshot::{HubFacts, LedgerState, PluginFacts, Read, Reading, Snapshot};
use decide::{PluginLedger, PluginName, PullNumber, Readings, Sha, TierName, Version};
use jiff::Timestamp;
use tracing::Instrument as _;

pub use self::again::again;
use self::base::Base;
pub use self::base::{NoGoodPolicy, NoPolicy};
use self::context::SourceMemory;
pub use self::context::{Context, Reach};
pub use self::foreseen::{Foreseen, foresee};
pub use self::given::SettingsReader;
pub use self::pulls::branch;
pub use self::spots::{Spot, at as spots_at};
use self::whose::Whose;
use crate::hub::{HubPull, HubState, OtherPull, PullPage};
use crate::inventory::ListedCluster;
use crate::ledger::Branch;
use crate::policy::{Loaded, SourceFile};
use crate::{clock, tell, trace};

/// What stands on a pull request beside what was planned.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// What its commit changes, where that is more than anybody reads.
    pub changes: Option<&'a str>,
    /// What people have to do.
    pub tasks: &'a [tell::Task],
}

/// One look at a repository: the planner's snapshot, and what acting and telling need beside it.
pub struct Seen {
    /// What the planner decides on.
    pub snapshot: Snapshot,
    /// The base branch of each tier, and its commit that this look is about.
    bases: BTreeMap<TierName, (String, Sha)>,
    /// The hub's page, ours only, by number.
    pub pulls: Vec<HubPull>,
    /// What became of the box of an open one that was ticked last.
    boxes: BTreeMap<PullNumber, String>,
    /// The open pull requests of others.
    pub others: Vec<OtherPull>,
    /// What authors say of releases.
    told: BTreeMap<(PluginName, Version), changelog::Said>,
    /// What is different in them.
    differences: BTreeMap<(PluginName, Version), tell::Differences>,
    /// The repository's page at the hub.
    pub web: String,
    /// Where people find the dashboard.
    pub dashboard: Option<url::Url>,
    spots: BTreeMap<(PluginName, TierName), Vec<Spot>>,
    /// What each tier rests on, by the name of its branch.
    lines: BTreeMap<String, Read<base::Line>>,
    /// The policy as it was read.
    pub loaded: std::sync::Arc<Loaded>,
    /// Its files, where nothing is wrong with them.
    pub files: Option<Written>,
    /// The inventory as it was read.
    pub clusters: std::sync::Arc<Vec<ListedCluster>>,
}

/// The policy files of a repository at a commit of its default branch.
#[derive(Clone, Debug)]
pub struct Written {
    /// The commit.
    pub commit: Sha,
    /// What they say.
    pub files: std::sync::Arc<Vec<SourceFile>>,
}

/// Looks at everything. The hub and the ledger first and the base branch after them: a merge that the page shows, or
/// that another process has noted as landed, is on the branch by then. On a branch that was read before the ledger, what
/// has landed in between looks like something that was taken off again.
pub async fn observe(context: &mut Context) -> anyhow::Result<Seen> {
    let now = clock::now();
    let bot = context.repo.hub.bot().clone();
    let (page, others, ledger_state, base) = trace::within(trace::hub(), hub(context)).await?;
    let loaded = std::sync::Arc::clone(&base.loaded);
    let sources = trace::charts(loaded.policy.plugins.len());
    all_sources::ask(context, &base, now).instrument(sources).await;
    let asking = trace::clusters(base.clusters.known().map_or(0, Vec::len));
    let mut readings = trace::within(asking, answers(context, &base, now)).await?;
    let ledger = context.repo.ledger.as_ref().map(Branch::ledger);
    let mut runs = runs::ask(&context.repo.hub, ledger, &loaded.policy).await;
    let mut pulls = again::all(context, &page, &base, now).await;
    let wished = boxes::ask(context, &page, now).await?;
    for pull in pulls.values_mut().flatten() {
        let asked = context.memory.rebase.get(&pull.number) == Some(&pull.head);
        pull.rebase = asked || wished.contains(&pull.number);
    }
    landed::ask(context, &base, &page, &mut pulls).await;
    let strays = owners::strays(context, &base, now).await;
    let mut places = vacant::places(&base.spots, context.repo.ledger.as_ref().map(Branch::ledger));
    let concerning = |memory: &SourceMemory| memory.compared.concerns();
    let concerned = context.memory.sources.iter().filter(|(_, memory)| concerning(memory));
    let concerned: Vec<PluginName> = concerned.map(|(plugin, _)| plugin.clone()).collect();
    let given = given::places(context, &base, concerned, &pulls).await?;
    let mut plugins = BTreeMap::new();
    let (mut told, mut differences) = (BTreeMap::new(), BTreeMap::new());
    for plugin in &loaded.policy.plugins {
        let memory = context.memory.sources.get(&plugin.name);
        for (version, said) in memory.into_iter().flat_map(|memory| &memory.told) {
            told.insert((plugin.name.clone(), version.clone()), said.clone());
        }
        for (version, found) in memory.into_iter().flat_map(|memory| memory.compared.told()) {
            differences.insert((plugin.name.clone(), version.clone()), found);
        }
        let facts = PluginFacts {
            releases: memory.map_or_else(
                || Read::Unread("it was not asked yet".to_string()),
                |memory| releases::planned(memory, given.get(&plugin.name).map_or(&[], Vec::as_slice)),
            ),
            base: match strays.get(&plugin.name) {
                Some(why) => Read::Unread(why.clone()),
                None => Read::Known(places.remove(&plugin.name).unwrap_or_default()),
            },
            pulls: Read::Known(pulls.remove(&plugin.name).unwrap_or_default()),
            readings: readings.remove(&plugin.name).unwrap_or_default(),
            runs: runs.remove(&plugin.name).unwrap_or(Read::Unread("nobody asked about them".to_string())),
            open_now: context.memory.open_now.get(&plugin.name).cloned().unwrap_or_default(),
        };
        plugins.insert(plugin.name.clone(), facts);
    }
    let snapshot = Snapshot {
        policy: loaded.policy.clone(),
        policy_commit: base.commit.clone(),
        policy_problem: base.problem.clone(),
        clusters: base::planned(&base.clusters),
        hub: HubFacts {
            bot,
            bypass: context.repo.hub.has_bypass(),
            own: context.repo.hub.own().to_vec(),
            skew: context.repo.hub.skew(),
        },
        ledger: context.repo.ledger.as_ref().map(|branch| branch.ledger().clone()).unwrap_or_default(),
        ledger_state,
        look_again: context.look_again,
        plugins,
    };
    let bases = base.loaded.ladder.iter().filter_map(|tier| {
        let line = base.line(&tier.name).ok()?;
        Some((tier.name.clone(), (base.branch(&tier.name).to_string(), line.commit.clone())))
    });
    let bases = bases.collect();
    let clusters = match base.clusters {
        Read::Known(clusters) => clusters,
        Read::Unread(_) => Vec::new(),
    };
    let (web, clusters) = (context.repo.hub.web_url(), std::sync::Arc::new(clusters));
    let (spots, lines, loaded, dashboard) = (base.spots, base.lines, base.loaded, context.dashboard.clone());
    let boxes = context.memory.boxes.clone();
    let files = base.files.map(|files| Written { commit: base.commit, files });
    Ok(Seen {
        snapshot,
        bases,
        pulls: page,
        boxes,
        others,
        told,
        differences,
        web,
        dashboard,
        spots,
        lines,
        loaded,
        files,
        clusters,
    })
}

/// What the hub and the ledger say, and the base branch.
async fn hub(context: &mut Context) -> anyhow::Result<(Vec<HubPull>, Vec<OtherPull>, LedgerState, Base)> {
    loop {
        let branches = base::branches(context);
        let PullPage { ours, others } = page(context, &branches).await?;
        let ledger_state = believed::ledger_state(context, &ours).await;
        let base = base::read(context).await?;
        // Only the policy file says which branches there are.
        if base::branches(context).is_subset(&branches) {
            trace::counted("pull_requests", ours.len());
            return Ok((ours, others, ledger_state, base));
        }
    }
}

/// Our pull requests against these branches, by number; and those that the ledger waits for, wherever
/// somebody let them go meanwhile. Beside them the open ones of others.
pub async fn page(context: &Context, branches: &BTreeSet<String>) -> anyhow::Result<PullPage> {
    let PullPage { ours: mut page, mut others } = PullPage::default();
    for branch in branches {
        let of_branch = context.repo.hub.pulls(branch).await?;
        page.extend(of_branch.ours);
        others.extend(of_branch.others);
    }
    for number in awaited(context) {
        if page.iter().any(|pull| pull.number == number) {
            continue;
        }
        match context.repo.hub.pull(number).await {
            Ok(pull) => page.push(pull),
            Err(error) => tracing::info!(%number, %error, "a pull request that the ledger waits for is not shown"),
        }
    }
    page.retain(|pull| pull.is_by(context.repo.hub.bot()));
    page.sort_by_key(|pull| pull.number);
    Ok(PullPage { ours: page, others })
}

/// The pull requests of waves that climb, and those whose label blocks a release.
fn awaited(context: &Context) -> Vec<PullNumber> {
    let pages = context.repo.ledger.iter().flat_map(|branch| branch.ledger().plugins.values());
    let of_page = |page: &PluginLedger| {
        let climbing = page.tiers.keys().filter_map(|tier| page.climbing(tier)?.pull.as_ref());
        let climbing = climbing.map(|pull| pull.number);
        climbing.chain(page.labelled.iter().map(|labelled| labelled.pull)).collect::<Vec<_>>()
    };
    pages.flat_map(of_page).collect()
}

impl Seen {
    /// One pull request of the page.
    pub fn pull(&self, number: PullNumber) -> Option<&HubPull> {
        self.pulls.iter().find(|pull| pull.number == number)
    }

    /// Whether something of ours waits in a merge queue.
    pub fn has_queued(&self) -> bool {
        self.pulls.iter().any(|pull| pull.state == HubState::Open && pull.queued.is_some())
    }

    /// The base branch of a tier and its commit; none where it could not be read.
    pub fn base(&self, tier: &TierName) -> Option<(&str, &Sha)> {
        self.bases.get(tier).map(|(branch, commit)| (branch.as_str(), commit))
    }

    /// Every base branch and its commit.
    pub fn all_bases(&self) -> BTreeMap<&str, &Sha> {
        self.bases.values().map(|(branch, commit)| (branch.as_str(), commit)).collect()
    }

    /// The spots that hold the version of a plugin on a tier.
    pub fn spots(&self, plugin: &PluginName, tier: &TierName) -> &[Spot] {
        self.spots.get(&(plugin.clone(), tier.clone())).map_or(&[], Vec::as_slice)
    }

    /// Every spot in the order of the policy, for people.
    pub fn places(&self) -> Vec<tell::PlaceRow> {
        let plugins = self.snapshot.policy.plugins.iter();
        let tiers = plugins.flat_map(|plugin| plugin.tiers.iter().map(|tier| (&plugin.name, &tier.name)));
        let rows = |(plugin, tier): (&PluginName, &TierName)| -> Vec<tell::PlaceRow> {
            self.spots(plugin, tier).iter().map(|spot| spot.row(plugin, tier)).collect()
        };
        tiers.flat_map(rows).collect()
    }

    /// Whether the ledger knows a commit as one that the bot wrote for this tier, or one of our pull
    /// requests had it as its head.
    pub fn wrote(&self, plugin: &PluginName, tier: &TierName, commit: &Sha) -> bool {
        added::wrote(Some(&self.snapshot.ledger), plugin, tier, commit)
            || self.pulls.iter().any(|pull| {
                pull.head == *commit && pulls::subject(&pull.branch) == Some((plugin.clone(), tier.clone()))
            })
    }

    /// Addresses and tiers for the texts.
    pub fn links(&self) -> tell::Links {
        tell::Links { dashboard: self.dashboard.clone(), ..tell::Links::of(&self.web, &self.snapshot) }
    }

    /// The title of a wave's pull request.
    pub fn title(&self, wave: &WaveReport) -> String {
        self.loaded.wiring.pulls.titled(&tell::title(wave))
    }

    /// The body of a wave's pull request with this head.
    pub fn body(
        &self,
        plan: &Plan,
        wave: &WaveReport,
        head: &Sha,
        Beside { changes, tasks }: Beside<'_>,
    ) -> Result<String, tell::TellError> {
        let notes = self.steps(wave);
        let page = wave.pull.and_then(|number| self.pull(number));
        let by_itself = page.and_then(|page| page.auto_merge.as_ref());
        let queued = page.and_then(HubPull::place_in_queue);
        let links = self.links();
        let facts = tell::PullFacts::of(plan, wave, &links, &notes).changing(changes);
        let facts = facts.written_for(&self.loaded.wiring.pulls).asking(tasks, page.map(|page| page.body.as_str()));
        let facts = facts.merging_by_itself(by_itself).queued(queued);
        let heard = wave.pull.and_then(|number| self.boxes.get(&number)).map(String::as_str);
        // What somebody has pushed is not written anew.
        let facts = if self.is_edited(wave) { facts } else { facts.offering(head, heard) };
        tell::body(&facts)
    }

    /// Whether the head of a wave's pull request is somebody else's.
    fn is_edited(&self, wave: &WaveReport) -> bool {
        let pulls = self.snapshot.plugins.get(&wave.plugin).and_then(|facts| facts.pulls.known());
        let own = pulls.into_iter().flatten().find(|pull| Some(pull.number) == wave.pull);
        own.is_some_and(|pull| pull.version.is_none())
    }
}

/// The readings: first of the clusters and of what the hub says of commits, then of those that rest on what these
/// prove.
async fn answers(context: &mut Context, base: &Base, now: Timestamp) -> anyhow::Result<BTreeMap<PluginName, Readings>> {
    let Read::Known(clusters) = &base.clusters else {
        // Nothing is decided without them; what is watched goes on, for the next look.
        return Ok(BTreeMap::new());
    };
    let ledger = context.repo.ledger.as_ref().map(Branch::ledger);
    let needed = context.only_needed.then(|| needed::needed(&base.loaded.policy, ledger, now));
    let round = std::mem::take(&mut context.memory.round).of(&base.loaded, clusters, needed);
    let answers = round.ask(&mut context.watches, now).await;
    let stated = ask::checks::answers(&context.repo.hub, round.stated(), |tier| base.branch(tier)).await;
    let others = round.others();
    context.memory.round = round;
    let commits = answers.commits().into_iter().chain(ask::checks::commits(&stated)).collect();
    let versions = base::versions(context, base, commits).await?;
    let stated = ask::checks::readings(&stated, &versions, context.repo.ledger.as_ref().map(Branch::ledger));
    let asking: BTreeSet<PluginName> = others.iter().map(|ask| ask.whose.plugin.clone()).collect();
    let mut beside = answers.of(&asking, &versions);
    beside.extend(stated.iter().filter(|(whose, _)| asking.contains(&whose.plugin)).cloned());
    let more = ask_others(context, others, &beside, now).await;
    Ok(answers.readings(&versions, stated.into_iter().chain(more).collect()))
}

/// Asks those that are no clusters, with what the clusters prove and what the ledger says of landings.
async fn ask_others(
    context: &mut Context,
    asks: Vec<ask::Ask>,
    answers: &[(Whose, Reading)],
    now: Timestamp,
) -> Vec<(Whose, Reading)> {
    let (net, repository) = (std::sync::Arc::clone(&context.net), context.repo.repository.id);
    let reach = ask::Reach { net: &net, secrets: &context.secrets, repository };
    let ledger = context.repo.ledger.as_ref().map(Branch::ledger);
    ask::answers(&reach, asks, answers, (ledger, &mut context.memory.asked), now).await
}
