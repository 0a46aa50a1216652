//! The spots that hold versions, read from the base branches. What stands at one of them is in `place_version`, whose it is in
//! `place_owner`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::snapshot::{Place, Read};
use decide::{ClusterName, PluginName, PluginPolicy, Sha, Tier, TierName, Version};

use super::base::{Line, branch_of};
use super::lock;
use super::place_owner::{Fleet, Whose};
use super::place_version::{self, Asked, PlaceVersion, left_out, place_versions};
use super::{vacant, whose};
use crate::edit::find::Wanted;
use crate::git::{GitError, Store};
use crate::inventory::ListedCluster;
use crate::policy::Loaded;
use crate::policy::wiring::{PluginWiring, Scalar, Write};
use crate::tell::PlaceRow;

/// One spot that holds a version, and what stands there.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The file.
    pub file: String,
    /// What the policy says of it.
    pub write: Write,
    /// Where in it; none where that was not found.
    pub scalar: Option<Scalar>,
    /// What kind of place it is, where it was found without a path.
    pub kind: Option<&'static str>,
    /// The byte at which it begins there.
    pub at: Option<usize>,
    /// The cluster it is for; none = all of the tier.
    pub cluster: Option<ClusterName>,
    /// What stands there.
    pub version: Read<Version>,
    /// The range that stands there instead.
    pub range: Option<String>,
    /// Whether the file is not there yet, and a template says what it will be.
    pub vacant: bool,
}

impl Spot {
    /// What a file holds at one place.
    pub(super) fn new(write: &Write, file: String, cluster: Option<ClusterName>, held: PlaceVersion) -> Self {
        let PlaceVersion { scalar, kind, version, range, at, vacant, .. } = held;
        Self { file, write: write.clone(), scalar, kind, at, cluster, version, range, vacant }
    }

    /// As people see it.
    pub(super) fn row(&self, plugin: &PluginName, tier: &TierName) -> PlaceRow {
        let named = self.write.scalar.as_ref().map(|scalar| scalar.path.clone());
        PlaceRow {
            plugin: plugin.clone(),
            tier: tier.clone(),
            write: self.write.file.clone(),
            what: named.or_else(|| Some(self.kind?.to_string())),
            file: self.file.clone(),
            version: self.version.clone(),
        }
    }

    /// As the planner sees it.
    pub fn place(&self) -> Place {
        Place {
            file: self.file.clone(),
            cluster: self.cluster.clone(),
            version: self.version.clone(),
            range: self.range.clone(),
            vacant: self.vacant,
        }
    }
}

/// Where what the default branch holds stands, in a sentence.
pub(super) const DEFAULT: &str = "on the default branch";

/// What a file holds, or why it could not be read.
type Text = Arc<Result<String, String>>;

/// The base branches.
#[derive(Clone, Copy)]
pub(super) struct Branches<'a> {
    /// Each at its commit.
    pub lines: &'a BTreeMap<String, Read<Line>>,
    /// The name of the default one.
    pub default: &'a str,
    /// Where what it holds stands, in a sentence.
    pub called: &'a str,
}

/// The base branches and what they were read for.
struct Reader<'a> {
    store: &'a Store,
    branches: Branches<'a>,
    loaded: &'a Loaded,
    /// By branch and file: a file is read once, however many spots it has.
    texts: BTreeMap<(&'a str, String), Text>,
    /// Only these files are read; none = all of them.
    only: Option<&'a Files>,
}

/// Files of one branch as somebody else has them, or why there is nothing to read.
pub(super) type Files = BTreeMap<String, Result<String, String>>;

/// Every spot of every plugin on every tier.
pub(super) fn read(
    store: &Store,
    branches: Branches<'_>,
    loaded: &Loaded,
    clusters: &[ListedCluster],
) -> Result<BTreeMap<(PluginName, TierName), Vec<Spot>>, GitError> {
    let mut reader = Reader { store, branches, loaded, texts: BTreeMap::new(), only: None };
    let mut spots = reader.of_all(clusters)?;
    place_version::each_place_is_of_one(&mut spots, |tier| branch_of(loaded, tier, branches.default));
    Ok(spots)
}

/// The spots in these files of one of the branches, as they would be with these texts.
pub(super) fn with(
    store: &Store,
    branches: Branches<'_>,
    loaded: &Loaded,
    clusters: &[ListedCluster],
    (branch, files): (&str, &Files),
) -> Result<BTreeMap<(PluginName, TierName), Vec<Spot>>, GitError> {
    let texts = files.iter().map(|(file, text)| ((branch, file.clone()), Arc::new(text.clone()))).collect();
    let mut spots = Reader { store, branches, loaded, texts, only: Some(files) }.of_all(clusters)?;
    spots.retain(|(_, tier), _| branch_of(loaded, tier, branches.default) == branch);
    Ok(spots)
}

/// The spots of one plugin on one tier as a commit has them.
///
/// # Errors
/// When the commit is not on disk, or its objects are broken.
pub fn at(
    store: &Store,
    commit: &Sha,
    loaded: &Loaded,
    clusters: &[ListedCluster],
    (plugin, tier): (&PluginName, &TierName),
) -> Result<Vec<Spot>, GitError> {
    let policy = loaded.policy.plugins.iter().find(|known| known.name == *plugin);
    let of_tier = policy.and_then(|policy| policy.tiers.iter().find(|known| known.name == *tier));
    let (Some(policy), Some(of_tier), Some(wiring)) = (policy, of_tier, loaded.wiring.plugins.get(plugin)) else {
        return Ok(Vec::new());
    };
    let owners = Read::Unread("nobody asked".to_string());
    let line = Read::Known(Line { commit: commit.clone(), owners });
    let default = branch_of(loaded, tier, "the default branch");
    let lines = [(default.to_string(), line)].into();
    let branches = Branches { lines: &lines, default, called: DEFAULT };
    let mut reader = Reader { store, branches, loaded, texts: BTreeMap::new(), only: None };
    let names = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    reader.of_tier(policy, wiring, of_tier, Fleet { clusters, names: &names, tiers: &policy.tiers })
}

impl<'a> Reader<'a> {
    fn of_all(&mut self, clusters: &[ListedCluster]) -> Result<BTreeMap<(PluginName, TierName), Vec<Spot>>, GitError> {
        let names = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        let (loaded, mut spots) = (self.loaded, BTreeMap::new());
        for plugin in &loaded.policy.plugins {
            let Some(wiring) = loaded.wiring.plugins.get(&plugin.name) else { continue };
            let fleet = Fleet { clusters, names: &names, tiers: &plugin.tiers };
            for tier in &plugin.tiers {
                spots.insert((plugin.name.clone(), tier.name.clone()), self.of_tier(plugin, wiring, tier, fleet)?);
            }
        }
        Ok(spots)
    }

    fn of_tier(
        &mut self,
        plugin: &PluginPolicy,
        wiring: &PluginWiring,
        tier: &Tier,
        fleet: Fleet<'_>,
    ) -> Result<Vec<Spot>, GitError> {
        let members = fleet.members(tier);
        let address = wiring.chart.address();
        let wanted =
            Wanted { chart: wiring.chart.name(), plugin: plugin.name.as_str(), address: Some(address.as_str()) };
        let mut all = Vec::new();
        for write in &wiring.write {
            for cluster in of(write, &members) {
                let file = match write.file_of(&tier.name, cluster) {
                    Ok(file) if self.only.is_none_or(|only| only.contains_key(&file)) => file,
                    Ok(_) => continue,
                    Err(why) => {
                        all.push(Spot::new(write, write.file.clone(), cluster.cloned(), PlaceVersion::unread(why)));
                        continue;
                    }
                };
                let whose = whose(write, tier, cluster, &members, fleet);
                let asked = Asked { write, tier: &tier.name, cluster, wanted, whose };
                self.of_file(&asked, file, fleet, &mut all)?;
            }
        }
        Ok(all)
    }

    fn of_file(
        &mut self,
        asked: &Asked<'_>,
        file: String,
        fleet: Fleet<'_>,
        all: &mut Vec<Spot>,
    ) -> Result<(), GitError> {
        let branch = branch_of(self.loaded, asked.tier, self.branches.default);
        let text = self.text(branch, &file)?;
        if let (Err(_), Some(Read::Known(line))) = (text.as_ref(), self.branches.lines.get(branch))
            && let Some(first) = vacant::held(self.store, &line.commit, &file, asked, fleet)?
        {
            all.push(Spot::new(asked.write, file, asked.cluster.cloned(), first));
            return Ok(());
        }
        let places = if fleet.clusters.is_empty() && asked.write.scalar.is_none() && !asked.whose.captured {
            vec![PlaceVersion::unread(
                "without the inventory nobody knows whom the places in this file move".to_string(),
            )]
        } else {
            place_versions(&text, &file, asked, fleet)
        };
        let left = left_out(&places, &asked.whose.members);
        let several = places.len() > 1;
        for held in places {
            let held = match (text.as_ref(), &held.scalar, self.branches.lines.get(branch)) {
                (Ok(text), Some(scalar), Some(Read::Known(line))) => {
                    match lock::trouble(self.store, &line.commit, (&file, text), scalar)? {
                        Some(why) => PlaceVersion::unread(why),
                        None => held,
                    }
                }
                _ => held,
            };
            // Of several places one that moves a single cluster is that cluster's own.
            let own = held.moves.as_ref().filter(|moved| several && moved.len() == 1);
            let cluster = asked.cluster.or(own.and_then(BTreeSet::first)).cloned();
            all.push(Spot::new(asked.write, file.clone(), cluster, held));
        }
        all.extend(left.into_iter().map(|name| {
            let why = PlaceVersion::unread(format!("nothing there moves {name}"));
            Spot::new(asked.write, file.clone(), Some(name.clone()), why)
        }));
        Ok(())
    }

    fn text(&mut self, branch: &'a str, file: &str) -> Result<Text, GitError> {
        let key = (branch, file.to_string());
        if let Some(text) = self.texts.get(&key) {
            return Ok(Arc::clone(text));
        }
        let text = Arc::new(match self.branches.lines.get(branch) {
            Some(Read::Known(line)) => {
                let place = if branch == self.branches.default {
                    self.branches.called.to_string()
                } else {
                    format!("on the branch `{branch}`")
                };
                text(self.store, &line.commit, file, &place)?
            }
            Some(Read::Unread(why)) => Err(why.clone()),
            None => Err(format!("the branch `{branch}` was not read")),
        });
        self.texts.insert(key, Arc::clone(&text));
        Ok(text)
    }
}

/// For each cluster of its own, or once for all.
fn of<'a>(write: &Write, members: &BTreeSet<&'a ClusterName>) -> Vec<Option<&'a ClusterName>> {
    if write.per_cluster() { members.iter().copied().map(Some).collect() } else { vec![None] }
}

fn whose<'a>(
    write: &Write,
    tier: &Tier,
    cluster: Option<&'a ClusterName>,
    members: &BTreeSet<&'a ClusterName>,
    fleet: Fleet<'_>,
) -> Whose<'a> {
    let members = cluster.map_or_else(|| members.clone(), |name| [name].into());
    let captured = write.per_tier() || write.per_cluster() || tier.branch.is_some() || fleet.tiers.len() == 1;
    Whose { members, captured }
}

/// The one version that a commit holds for a cluster.
pub(super) fn version_for(
    store: &Store,
    commit: &Sha,
    loaded: &Loaded,
    clusters: &[ListedCluster],
    of_whom: &whose::Whose,
) -> Result<Result<Version, String>, GitError> {
    let policy = loaded.policy.plugins.iter().find(|plugin| plugin.name == of_whom.plugin);
    let tier = policy.and_then(|plugin| plugin.tiers.iter().find(|tier| tier.name == of_whom.tier));
    let (Some(policy), Some(tier), Some(wiring)) = (policy, tier, loaded.wiring.plugins.get(&of_whom.plugin)) else {
        return Ok(Err("no such plugin".to_string()));
    };
    let names = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let fleet = Fleet { clusters, names: &names, tiers: &policy.tiers };
    let address = wiring.chart.address();
    let wanted = Wanted { chart: wiring.chart.name(), plugin: policy.name.as_str(), address: Some(address.as_str()) };
    let members = fleet.members(tier);
    let mut found: Option<Version> = None;
    for write in &wiring.write {
        let cluster = write.per_cluster().then_some(&of_whom.cluster);
        let file = match write.file_of(&tier.name, cluster) {
            Ok(file) => file,
            Err(why) => return Ok(Err(why)),
        };
        let text = text(store, commit, &file, "on that commit")?.map_err(|why| format!("{file}: {why}"));
        let asked =
            Asked { write, tier: &tier.name, cluster, wanted, whose: whose(write, tier, cluster, &members, fleet) };
        for held in place_versions(&text, &file, &asked, fleet) {
            if held.moves.as_ref().is_some_and(|moved| !moved.contains(&of_whom.cluster)) {
                continue;
            }
            match held.version {
                Read::Known(version) if found.as_ref().is_none_or(|known| *known == version) => found = Some(version),
                Read::Known(version) => {
                    let other = found.map(|other| other.to_string()).unwrap_or_default();
                    return Ok(Err(format!("{file} says {version}, another place {other}")));
                }
                Read::Unread(why) => return Ok(Err(why)),
            }
        }
    }
    Ok(found.ok_or_else(|| "nothing there says a version".to_string()))
}

fn text(store: &Store, commit: &Sha, file: &str, place: &str) -> Result<Result<String, String>, GitError> {
    Ok(match store.read(commit, file) {
        Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_string()),
        Ok(None) => Err(format!("the file does not exist {place}")),
        Err(error @ GitError::Malformed { .. }) => Err(error.to_string()),
        Err(error) => return Err(error),
    })
}
