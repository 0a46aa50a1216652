//! Where a plugin is not installed yet: the file is not there, and a template says what it will be. The planner is
//! told of a vacant place then; where something has been there before, of one that could not be read, and why. What
//! the file will be is in `edit/template`.

use std::collections::BTreeMap;

use decide::ledger::Wave;
use decide::snapshot::{Place, Read};
use decide::{ClusterName, Ledger, PluginName, Sha, TierName, Version};

use super::place_owner::Fleet;
use super::place_version::{self, Asked, PlaceVersion};
use super::spots::Spot;
use crate::edit::template::{Names, rendered};
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
) -> Result<Option<PlaceVersion>, GitError> {
    let Some(template) = &asked.write.template else { return Ok(None) };
    match store.read(commit, file) {
        Ok(None) => {}
        Ok(Some(_)) | Err(GitError::Malformed { .. }) => return Ok(None),
        Err(error) => return Err(error),
    }
    if let Some(file) = in_the_way(store, commit, file)? {
        return Ok(Some(PlaceVersion::unread(format!(
            "it is not there, and {file} is a file where it needs a folder"
        ))));
    }
    let made = read(store, commit, template)?.and_then(|text| made(&text, file, asked, fleet));
    Ok(Some(match made {
        Ok(()) => {
            PlaceVersion { vacant: true, ..PlaceVersion::unread(format!("not installed yet; `{template}` makes it")) }
        }
        Err(why) => PlaceVersion::unread(format!("it is not there, and cannot be made of `{template}`: {why}")),
    }))
}

/// Whether a template makes a file that moves those for whom it is, with any version.
fn made(template: &str, file: &str, asked: &Asked<'_>, fleet: Fleet<'_>) -> Result<(), String> {
    let names = Names::of(asked.write, asked.tier, asked.cluster, asked.wanted.plugin, SAMPLE);
    let write = asked.write.of_one(asked.tier, asked.cluster)?;
    let text = rendered(&write, file, template, &names, asked.wanted).map_err(|bad| bad.to_string())?;
    let places = place_version::place_versions(&Ok(text), file, asked, fleet);
    if let Some(Read::Unread(why)) = places.iter().map(|held| &held.version).find(|held| held.known().is_none()) {
        return Err(why.clone());
    }
    match place_version::left_out(&places, &asked.whose.members).first() {
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
pub(super) fn places(spots: &Spots, ledger: Option<&Ledger>) -> Places {
    let mut places = Places::new();
    for ((plugin, tier), of_tier) in spots {
        let page = ledger.and_then(|ledger| ledger.plugins.get(plugin));
        let waves = page.and_then(|page| page.tiers.get(tier)).map_or(&[][..], Vec::as_slice);
        let around = Around::of(of_tier, waves);
        let of_tier = of_tier.iter().map(|spot| around.place(spot)).collect();
        places.entry(plugin.clone()).or_default().insert(tier.clone(), of_tier);
    }
    places
}

/// What is there on a tier beside what is not.
#[derive(Default)]
struct Around<'a> {
    /// What has landed on a cluster, which has not left since.
    landed: BTreeMap<ClusterName, &'a Version>,
    /// A file that is there, of a cluster or of all.
    files: BTreeMap<Option<&'a ClusterName>, &'a str>,
}

impl<'a> Around<'a> {
    /// Nothing is looked up where nothing is missing.
    fn of(of_tier: &'a [Spot], waves: &'a [Wave]) -> Self {
        if !of_tier.iter().any(|spot| spot.vacant) {
            return Self::default();
        }
        let moved = |wave: &'a Wave| wave.moved().iter().map(|name| (name.clone(), &wave.version)).collect::<Vec<_>>();
        let there = of_tier.iter().filter(|spot| !spot.vacant);
        Self {
            landed: waves.iter().flat_map(moved).collect(),
            files: there.map(|spot| (spot.cluster.as_ref(), spot.file.as_str())).collect(),
        }
    }

    /// As the planner sees it: what is missing and was there is not known.
    fn place(&self, spot: &Spot) -> Place {
        match self.more_than_new(spot).filter(|_| spot.vacant) {
            Some(why) => Place { version: Read::Unread(why), vacant: false, ..spot.place() },
            None => spot.place(),
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
        file.map(|file| format!("it is not there, and {file} beside it is; write it by hand"))
    }
}

#[cfg(test)]
mod tests;
