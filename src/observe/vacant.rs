//! Where a plugin is not installed yet: the file is not there, and a template says what it will be. The planner is
//! told of no place then, which is nothing that runs and nothing that is asked for; where that could be taken for
//! more, it is told that the place could not be read, and why. What the file will be is in `act/edit/template`.

use std::collections::{BTreeMap, BTreeSet};

use decide::ledger::Wave;
use decide::model::Policy;
use decide::snapshot::{Place, Read};
use decide::{ClusterName, Ledger, PluginName, Sha, TierName, Version};

use super::held::{self, Asked, Held};
use super::moved::Fleet;
use super::spots::Spot;
use crate::act::edit::template::{Names, rendered};
use crate::git::{GitError, Store};

type Spots = BTreeMap<(PluginName, TierName), Vec<Spot>>;
/// What the planner is told, per plugin.
pub(super) type Places = BTreeMap<PluginName, BTreeMap<TierName, Vec<Place>>>;

/// Any version will do to see whether a template makes a file with one; which it will be is decided later.
const SAMPLE: &str = "1.0.0";

/// What is to be said of a file in place of what was found; none where it is there, or nothing makes it.
pub(super) fn held(
    store: &Store,
    commit: &Sha,
    file: &str,
    asked: &Asked<'_>,
    fleet: Fleet<'_>,
) -> Result<Option<Held>, GitError> {
    let Some(template) = &asked.write.template else { return Ok(None) };
    match store.read(commit, file) {
        Ok(None) => {}
        Ok(Some(_)) | Err(GitError::Malformed { .. }) => return Ok(None),
        Err(error) => return Err(error),
    }
    if let Some(file) = in_the_way(store, commit, file)? {
        return Ok(Some(Held::unread(format!("it is not there, and {file} is a file where it needs a folder"))));
    }
    let made = read(store, commit, template)?.and_then(|text| made(&text, file, asked, fleet));
    Ok(Some(match made {
        Ok(()) => Held { vacant: true, ..Held::unread(format!("not installed yet; `{template}` makes it")) },
        Err(why) => Held::unread(format!("it is not there, and cannot be made of `{template}`: {why}")),
    }))
}

/// Whether a template makes a file that moves those for whom it is, with any version.
fn made(template: &str, file: &str, asked: &Asked<'_>, fleet: Fleet<'_>) -> Result<(), String> {
    let names = Names::of(asked.write, asked.tier, asked.cluster, asked.wanted.plugin, SAMPLE);
    let write = asked.write.of_one(asked.tier, asked.cluster)?;
    let text = rendered(&write, file, template, &names, asked.wanted).map_err(|bad| bad.to_string())?;
    let places = held::held(&Ok(text), file, asked, fleet);
    if let Some(Read::Unread(why)) = places.iter().map(|held| &held.version).find(|held| held.known().is_none()) {
        return Err(why.clone());
    }
    match held::left_out(&places, &asked.whose.members).first() {
        Some(name) => Err(format!("nothing in it moves {name}")),
        None => Ok(()),
    }
}

/// The file that lies where one of the folders of another one would.
fn in_the_way<'a>(store: &Store, commit: &Sha, file: &'a str) -> Result<Option<&'a str>, GitError> {
    for (end, _) in file.match_indices('/') {
        let Some(folder) = file.get(..end) else { continue };
        match store.read(commit, folder) {
            Ok(Some(_)) => return Ok(Some(folder)),
            // What cannot be read as a file is a folder.
            Ok(None) | Err(GitError::Malformed { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The text of a template, or why it has none.
pub fn read(store: &Store, commit: &Sha, template: &str) -> Result<Result<String, String>, GitError> {
    Ok(match store.read(commit, template) {
        Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| "the template is not UTF-8".to_string()),
        Ok(None) => Err("the template does not exist there; correct `template`".to_string()),
        Err(error @ GitError::Malformed { .. }) => Err(error.to_string()),
        Err(error) => return Err(error),
    })
}

/// As the planner sees the spots of every plugin.
pub(super) fn places(spots: &Spots, policy: &Policy, ledger: Option<&Ledger>) -> Places {
    let waves = |plugin: &PluginName, tier: &TierName| -> &[Wave] {
        let page = ledger.and_then(|ledger| ledger.plugins.get(plugin));
        page.and_then(|page| page.tiers.get(tier)).map_or(&[], Vec::as_slice)
    };
    let mut places = Places::new();
    for ((plugin, tier), of_tier) in spots {
        let awaited = awaited(policy, plugin, |before| {
            let of_other = spots.get(&(before.clone(), tier.clone())).map_or(&[][..], Vec::as_slice);
            late(of_other, waves(before, tier))
        });
        let around = Around::of(of_tier, waves(plugin, tier));
        let seen = |spot: &Spot| seen(spot, &around, &awaited);
        places.entry(plugin.clone()).or_default().insert(tier.clone(), of_tier.iter().filter_map(seen).collect());
    }
    places
}

/// One spot as the planner sees it; none where nothing is there yet.
fn seen(spot: &Spot, around: &Around<'_>, awaited: &BTreeMap<ClusterName, PluginName>) -> Option<Place> {
    let unread = |why: String| Some(Place { version: Read::Unread(why), ..spot.place() });
    let waits = match &spot.cluster {
        Some(cluster) => awaited.get_key_value(cluster),
        None => awaited.iter().next(),
    };
    if let Some((cluster, before)) = waits {
        return unread(format!(
            "{before} goes before it and is not installed on {cluster} yet; write its file there by hand, or wait for \
             its next release"
        ));
    }
    if !spot.vacant {
        return Some(spot.place());
    }
    around.more_than_new(spot).and_then(unread)
}

/// What is there on a tier beside what is not.
#[derive(Default)]
struct Around<'a> {
    /// What has landed on a cluster, which has not left since.
    landed: BTreeMap<ClusterName, &'a Version>,
    /// A file that is there, of a cluster or of all.
    files: BTreeMap<Option<&'a ClusterName>, &'a str>,
    /// The one version of all that is there, where the bot has not recorded it.
    unrecorded: Option<&'a Version>,
}

impl<'a> Around<'a> {
    /// Nothing is looked up where nothing is missing.
    fn of(of_tier: &'a [Spot], waves: &'a [Wave]) -> Self {
        if !of_tier.iter().any(|spot| spot.vacant) {
            return Self::default();
        }
        let moved = |wave: &'a Wave| wave.moved().iter().map(|name| (name.clone(), &wave.version)).collect::<Vec<_>>();
        let there = || of_tier.iter().filter(|spot| !spot.vacant);
        let recorded = |version: &Version| {
            let newest = waves.iter().rev().find(|wave| wave.version == *version);
            newest.is_some_and(|wave| !wave.own().is_empty())
        };
        let first = there().next().and_then(|spot| spot.version.known());
        let one = first.filter(|first| there().all(|spot| spot.version.known() == Some(first)));
        Self {
            landed: waves.iter().flat_map(moved).collect(),
            files: there().map(|spot| (spot.cluster.as_ref(), spot.file.as_str())).collect(),
            unrecorded: one.filter(|version| !recorded(version)),
        }
    }

    /// Why a file that is missing may be more than a cluster that waits for its first release.
    fn more_than_new(&self, spot: &Spot) -> Option<String> {
        let (landed, file) = match &spot.cluster {
            Some(cluster) => {
                (self.landed.get(cluster), self.files.get(&Some(cluster)).or_else(|| self.files.get(&None)))
            }
            None => (self.landed.values().next_back(), self.files.values().next()),
        };
        if let Some(version) = landed {
            return Some(format!(
                "it is not there, and {version} has landed on it before; write it again by hand, or take the cluster \
                 out of the tier"
            ));
        }
        if let Some(file) = file {
            return Some(format!("it is not there, and {file} beside it is; write it by hand"));
        }
        // What nobody recorded would count as landed on every cluster of the tier, on this one, too.
        self.unrecorded.map(|version| {
            format!(
                "it is not there, and others of the tier run {version}, which the bot did not bring; write it by hand \
                 once"
            )
        })
    }
}

/// The clusters on which one that goes before a plugin is not installed yet, with its name.
fn awaited(
    policy: &Policy,
    plugin: &PluginName,
    late: impl Fn(&PluginName) -> BTreeSet<ClusterName>,
) -> BTreeMap<ClusterName, PluginName> {
    let own = policy.plugins.iter().filter(|known| known.name == *plugin);
    let before = own.flat_map(|own| &own.after).map(|after| &after.plugin);
    before.flat_map(|before| late(before).into_iter().map(|cluster| (cluster, before.clone()))).collect()
}

/// Clusters that wait for the first release of a plugin which others of their tier run, and that no climb under way
/// is bringing it to: the planner does not know that it lacks there.
fn late(of_tier: &[Spot], waves: &[Wave]) -> BTreeSet<ClusterName> {
    if of_tier.iter().all(|spot| spot.vacant) {
        return BTreeSet::new();
    }
    let under_way: BTreeSet<ClusterName> =
        waves.iter().filter(|wave| !wave.is_over()).flat_map(|wave| wave.clusters().to_vec()).collect();
    let vacant = of_tier.iter().filter(|spot| spot.vacant).filter_map(|spot| spot.cluster.clone());
    vacant.filter(|cluster| !under_way.contains(cluster)).collect()
}

#[cfg(test)]
mod tests;
