//! Commits that people put on top of ours in the branch of a pull request: whether they leave every version as it is, as
//! whoever does a task of the checklist does. Who merges such, and after whose yes, is decided in `decide`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::plan::WaveReport;
use decide::snapshot::{Place, Pull, PullState, Read};
use decide::{Ledger, PluginName, Sha, TierName};

use super::base::Base;
use super::context::Context;
use super::{Seen, spots};
use crate::git::{Access, GitError, Store};
use crate::inventory::ListedCluster;
use crate::ledger::Branch;
use crate::policy::{Loaded, wiring::Scalar};

/// So many commits of people are followed back to ours.
const MOST: usize = 20;

/// Says of each open pull request whose head is not ours whether it stands on ours and leaves the versions alone. What
/// cannot be read does not.
pub(super) async fn ask(context: &mut Context, base: &Base, pulls: &mut BTreeMap<PluginName, Vec<Pull>>) {
    let mut used = BTreeSet::new();
    for (plugin, pulls) in pulls {
        for pull in pulls.iter_mut().filter(|pull| pull.state == PullState::Open) {
            let Some(ours) = left(context, plugin, pull) else { continue };
            // Which places there are, the policy on the base branch says.
            let key = (pull.head.clone(), ours.clone(), base.commit.clone());
            used.insert(key.clone());
            if !context.memory.added.contains_key(&key) {
                match look(context, base, (plugin, &pull.tier), &key).await {
                    Ok(found) => context.memory.added.insert(key.clone(), found),
                    Err(why) => {
                        tracing::debug!(number = %pull.number, %why, "what was pushed to it could not be read");
                        continue;
                    }
                };
            }
            pull.added_to = Some(ours).filter(|_| context.memory.added.get(&key) == Some(&true));
        }
    }
    context.memory.added.retain(|key, _| used.contains(key));
}

/// Whether the ledger knows a commit as one that the bot wrote for this tier.
pub(super) fn wrote(ledger: Option<&Ledger>, plugin: &PluginName, tier: &TierName, commit: &Sha) -> bool {
    let page = ledger.and_then(|ledger| ledger.plugins.get(plugin));
    let waves = page.and_then(|page| page.tiers.get(tier)).into_iter().flatten();
    waves.flat_map(|wave| &wave.heads).any(|head| head.commit == *commit)
}

impl Seen {
    /// The head of a wave's pull request, where people added to ours and left every version as it is.
    pub fn added(&self, wave: &WaveReport) -> Option<&Sha> {
        let pulls = self.snapshot.plugins.get(&wave.plugin)?.pulls.known()?;
        let own = pulls.iter().find(|pull| Some(pull.number) == wave.pull)?;
        own.added_to.is_some().then_some(&own.head)
    }
}

/// The commit of the wave under way, where its pull request holds another one that is not ours.
fn left(context: &Context, plugin: &PluginName, pull: &Pull) -> Option<Sha> {
    let ledger = context.repo.ledger.as_ref().map(Branch::ledger)?;
    if wrote(Some(ledger), plugin, &pull.tier, &pull.head) {
        return None;
    }
    ledger.plugins.get(plugin)?.climbing(&pull.tier)?.head().map(|head| head.commit.clone())
}

async fn look(
    context: &Context,
    base: &Base,
    (plugin, tier): (&PluginName, &TierName),
    (head, ours, _): &(Sha, Sha, Sha),
) -> Result<bool, String> {
    let Read::Known(clusters) = &base.clusters else { return Err("the inventory was not read".to_string()) };
    let of_tier = base.spots.get(&(plugin.clone(), tier.clone())).into_iter().flatten();
    let files: BTreeSet<String> = of_tier.map(|spot| spot.file.clone()).collect();
    let branch = base.branch(tier);
    let beside = base.spots.iter().filter(|((_, other), spots)| {
        base.branch(other) == branch && spots.iter().any(|spot| files.contains(&spot.file))
    });
    let (who, loaded) = (beside.map(|(who, _)| who.clone()).collect(), Arc::clone(&base.loaded));
    let held = Held { files, who, loaded, clusters: clusters.clone() };
    let (head, ours) = (head.clone(), ours.clone());
    let found = context.repo.git(move |store, access| held.is_added(store, access, &head, &ours)).await;
    found.map_err(|error| format!("{error:#}"))
}

/// Files in which people may add to a commit, and whose versions these hold.
struct Held {
    files: BTreeSet<String>,
    who: Vec<(PluginName, TierName)>,
    loaded: Arc<Loaded>,
    clusters: Vec<ListedCluster>,
}

/// Where versions stand, and which.
type Versions = Vec<(Option<Scalar>, Place)>;

impl Held {
    /// Whether `head` follows `ours` one commit after another, and changes nothing but files that ours changes, and in them
    /// no version and no place of one.
    fn is_added(&self, store: &Store, access: &Access, head: &Sha, ours: &Sha) -> Result<bool, GitError> {
        let mut at = head.clone();
        for _ in 0..MOST {
            if at == *ours || !store.fetch_commit(access, &at)? {
                break;
            }
            let Some(parent) = store.parent(&at)? else { return Ok(false) };
            at = parent;
        }
        if at != *ours || head == ours || !store.fetch_commit(access, ours)? {
            return Ok(false);
        }
        let Some(before) = store.parent(ours)? else { return Ok(false) };
        if !store.fetch_commit(access, &before)? {
            return Ok(false);
        }
        let planned: BTreeSet<String> = store.paths_changed(&before, ours)?.into_iter().collect();
        let changed = store.paths_changed(ours, head)?;
        if !changed.iter().all(|path| planned.contains(path) && self.files.contains(path)) {
            return Ok(false);
        }
        let (then, now) = (self.versions(store, ours)?, self.versions(store, head)?);
        let is_read = |(_, place): &(Option<Scalar>, Place)| place.version.known().is_some();
        Ok(!then.is_empty() && then == now && now.iter().all(is_read))
    }

    /// The versions in these files at a commit.
    fn versions(&self, store: &Store, commit: &Sha) -> Result<Versions, GitError> {
        let mut versions = Versions::new();
        for (plugin, tier) in &self.who {
            let spots = spots::at(store, commit, &self.loaded, &self.clusters, (plugin, tier))?;
            let here = spots.into_iter().filter(|spot| self.files.contains(&spot.file));
            versions.extend(here.map(|spot| (spot.scalar.clone(), spot.place())));
        }
        Ok(versions)
    }
}
