//! What the base branches say: the policy file and the inventory on the default one; the spots that hold
//! versions and the code owners on each tier's; each branch at one commit. What follows from them is
//! decided in `decide`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, bail};
use decide::snapshot::{Cluster, Place, Read};
use decide::{ClusterName, PluginName, Sha, TierName, Version};

use crate::act::edit::find::Wanted;
use crate::clock;
use crate::git::{GitError, Store};
use crate::observe::heard::Versions;
use crate::observe::held::{self, Held, held};
use crate::observe::inventory;
use crate::observe::lock;
use crate::observe::readings::Whose;
use crate::policy::wiring::{Inventory, ListedCluster, Scalar, Write};
use crate::policy::{self, Loaded, SourceFile};
use crate::rooms::Rooms;

/// The two places where the policy file may be; both at once is an error.
const POLICY_FILES: [&str; 2] = ["coldframe.yaml", ".github/coldframe.yaml"];
/// Further files, which hold plugins only.
const POLICY_FOLDER: &str = "coldframe.d";
/// Where GitHub looks for code owners, in its order.
const OWNER_FILES: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

/// The base branches, each at one commit.
pub struct Base {
    /// The commit of the default branch.
    pub commit: Sha,
    /// What each tier rests on, by the name of its branch.
    pub lines: BTreeMap<String, Read<Line>>,
    /// The name of the default branch.
    default: String,
    /// The policy there; the last good one when that has errors.
    pub loaded: Arc<Loaded>,
    /// What is wrong with the newest policy file.
    pub problem: Option<String>,
    /// The inventory.
    pub clusters: Read<Vec<ListedCluster>>,
    /// The spots of each plugin on each tier.
    pub spots: BTreeMap<(PluginName, TierName), Vec<Spot>>,
}

/// A base branch at one commit.
#[derive(Clone, Debug)]
pub struct Line {
    /// The commit.
    pub commit: Sha,
    /// The text of the code owners' file there, when there is one.
    pub owners: Read<Option<String>>,
}

impl Base {
    /// The base branch of a tier.
    pub fn branch(&self, tier: &TierName) -> &str {
        branch_of(&self.loaded, tier, &self.default)
    }

    /// What a tier rests on, or why it could not be read.
    pub fn line(&self, tier: &TierName) -> Result<&Line, &str> {
        match self.lines.get(self.branch(tier)) {
            Some(Read::Known(line)) => Ok(line),
            Some(Read::Unread(why)) => Err(why),
            None => Err("its base branch was not read"),
        }
    }
}

/// The base branch of a tier: its own, or the default one.
fn branch_of<'a>(loaded: &'a Loaded, tier: &TierName, default: &'a str) -> &'a str {
    let own = loaded.ladder.iter().find(|known| known.name == *tier).and_then(|known| known.branch.as_deref());
    own.unwrap_or(default)
}

/// The base branches of the policy as it was last read, the default one among them.
pub fn branches(rooms: &Rooms) -> BTreeSet<String> {
    let known = rooms.memory.policy.as_ref().map(|(_, loaded)| loaded);
    let own = known.into_iter().flat_map(|loaded| &loaded.ladder).filter_map(|tier| tier.branch.clone());
    own.chain([rooms.repository.default_branch.clone()]).collect()
}

/// One spot that holds a version, and what stands there.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The file.
    pub file: String,
    /// What the policy says of it.
    pub write: Write,
    /// Where in it; none where that was not found.
    pub scalar: Option<Scalar>,
    /// The byte at which it begins there.
    pub at: Option<usize>,
    /// The cluster it is for; none = all of the tier.
    pub cluster: Option<ClusterName>,
    /// What stands there.
    pub version: Read<Version>,
    /// The range that stands there instead.
    pub range: Option<String>,
}

impl Spot {
    /// As the planner sees it.
    pub fn place(&self) -> Place {
        Place {
            file: self.file.clone(),
            cluster: self.cluster.clone(),
            version: self.version.clone(),
            range: self.range.clone(),
        }
    }
}

/// Reads the base branches of a repository as they are now.
pub async fn read(rooms: &mut Rooms) -> anyhow::Result<Base> {
    let branch = rooms.repository.default_branch.clone();
    let (commit, files) = rooms
        .git(move |store, access| {
            let Some(commit) = store.fetch(access, &branch, Some(1))? else { return Ok(None) };
            let files = policy_files(store, &commit)?;
            Ok(Some((commit, files)))
        })
        .await?
        .with_context(|| format!("the default branch `{}` does not exist", rooms.repository.default_branch))?;
    let (loaded, problem) = load(rooms, files)?;
    let (wanted, at, default) = (Arc::clone(&loaded), commit.clone(), rooms.repository.default_branch.clone());
    let named = branches(rooms);
    let listed = match &loaded.wiring.inventory {
        Inventory::File { .. } => None,
        Inventory::Listed(listing) => {
            let (clusters, memory) = (Arc::clone(&rooms.clusters), &mut rooms.memory.listed);
            Some(memory.list(listing, &clusters, (clock::now(), rooms.look_again)).await)
        }
    };
    let (lines, clusters, spots) = rooms
        .git(move |store, access| {
            let mut lines = BTreeMap::new();
            for name in named {
                let tip = if name == default { Some(at.clone()) } else { store.fetch(access, &name, Some(1))? };
                let line = match tip {
                    Some(commit) => Read::Known(Line { owners: owners(store, &commit)?, commit }),
                    None => Read::Unread(format!("the branch `{name}` does not exist")),
                };
                lines.insert(name, line);
            }
            let clusters = match (listed, &wanted.wiring.inventory) {
                (None, Inventory::File { path }) => clusters(store, &at, path)?,
                (Some(listed), _) => listed,
                (None, Inventory::Listed(_)) => Read::Unread("it was not asked".to_string()),
            };
            let listed = clusters.known().map_or(&[][..], Vec::as_slice);
            let spots = spots(store, (&lines, &default), &wanted, listed)?;
            Ok((lines, clusters, spots))
        })
        .await?;
    Ok(Base { commit, lines, default: rooms.repository.default_branch.clone(), loaded, problem, clusters, spots })
}

/// Every policy file at a commit.
fn policy_files(store: &Store, commit: &Sha) -> Result<Vec<SourceFile>, GitError> {
    let mut paths: Vec<String> = POLICY_FILES.iter().map(ToString::to_string).collect();
    paths.extend(store.list(commit, POLICY_FOLDER)?.into_iter().filter(|path| path.ends_with(".yaml")));
    let mut files = Vec::new();
    for path in paths {
        if let Some(bytes) = store.read(commit, &path)? {
            files.push(SourceFile { path, text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(files)
}

/// Parses the policy unless it is the one that was parsed before. One with errors leaves the last
/// good one in force for reading, and says so.
fn load(rooms: &mut Rooms, files: Vec<SourceFile>) -> anyhow::Result<(Arc<Loaded>, Option<String>)> {
    if let Some((known, loaded)) = &rooms.memory.policy
        && *known == files
    {
        return Ok((Arc::clone(loaded), None));
    }
    let error = match files.iter().filter(|file| POLICY_FILES.contains(&file.path.as_str())).count() {
        0 => format!("there is no {} on the default branch", POLICY_FILES.join(" or ")),
        1 => match policy::load_in(&files, &rooms.setting) {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                rooms.memory.policy = Some((files, Arc::clone(&loaded)));
                return Ok((loaded, None));
            }
            Err(problems) => policy::render(&problems, &files),
        },
        _ => format!("there are both {}; keep one", POLICY_FILES.join(" and ")),
    };
    match &rooms.memory.policy {
        Some((_, last)) => Ok((Arc::clone(last), Some(error))),
        None => bail!("{error}"),
    }
}

fn clusters(store: &Store, commit: &Sha, path: &str) -> Result<Read<Vec<ListedCluster>>, GitError> {
    let Some(bytes) = store.read(commit, path)? else {
        return Ok(Read::Unread(format!("the inventory `{path}` is not on the default branch")));
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match inventory::file::parse(path, &text) {
        Ok(clusters) => Read::Known(clusters),
        Err(problems) => Read::Unread(policy::render(&problems, &[SourceFile { path: path.to_string(), text }])),
    })
}

/// Every spot of every plugin on every tier. A file is read once, however many spots it has.
fn spots(
    store: &Store,
    (lines, default): (&BTreeMap<String, Read<Line>>, &str),
    loaded: &Loaded,
    clusters: &[ListedCluster],
) -> Result<BTreeMap<(PluginName, TierName), Vec<Spot>>, GitError> {
    let mut texts: BTreeMap<(&str, String), Result<String, String>> = BTreeMap::new();
    let mut spots = BTreeMap::new();
    for plugin in &loaded.policy.plugins {
        let Some(wiring) = loaded.wiring.plugins.get(&plugin.name) else { continue };
        for tier in &plugin.tiers {
            let members: Vec<&ClusterName> = clusters
                .iter()
                .filter(|cluster| tier.select.matches(&cluster.labels))
                .map(|cluster| &cluster.name)
                .collect();
            let branch = branch_of(loaded, &tier.name, default);
            let wanted = Wanted { chart: wiring.chart.name(), plugin: plugin.name.as_str() };
            let mut of_tier = Vec::new();
            for write in &wiring.write {
                for (file, cluster) in files(write, &tier.name, &members) {
                    let file = match file {
                        Ok(file) => file,
                        Err(why) => {
                            let (file, version) = (write.file.clone(), Read::Unread(why));
                            of_tier.push(Spot {
                                file,
                                write: write.clone(),
                                scalar: None,
                                at: None,
                                cluster,
                                version,
                                range: None,
                            });
                            continue;
                        }
                    };
                    let key = (branch, file.clone());
                    if !texts.contains_key(&key) {
                        let text = match lines.get(branch) {
                            Some(Read::Known(line)) => text(store, &line.commit, &file, (branch, default))?,
                            Some(Read::Unread(why)) => Err(why.clone()),
                            None => Err(format!("the branch `{branch}` was not read")),
                        };
                        texts.insert(key.clone(), text);
                    }
                    let mut held = match texts.get(&key) {
                        Some(text) => held(text, (write, &file), wanted),
                        None => Held::unread(String::new()),
                    };
                    if let (Some(Ok(text)), Some(scalar)) = (texts.get(&key), &held.scalar)
                        && let Some(Read::Known(line)) = lines.get(branch)
                        && let Some(why) = lock::trouble(store, &line.commit, (&file, text), scalar)?
                    {
                        held = Held::unread(why);
                    }
                    let Held { scalar, version, range, at } = held;
                    of_tier.push(Spot { file, write: write.clone(), scalar, at, cluster, version, range });
                }
            }
            spots.insert((plugin.name.clone(), tier.name.clone()), of_tier);
        }
    }
    held::one_plugin_each(&mut spots, |tier| branch_of(loaded, tier, default));
    Ok(spots)
}

/// Commits that are fetched at one look because clusters name them; the others have to wait for the next.
const MOST_FETCHED: usize = 16;

/// The versions that stand at commits which clusters say that they run. Clusters are not believed: a commit
/// that the repository does not have proves nothing.
pub async fn versions(rooms: &mut Rooms, base: &Base, wanted: Vec<(Whose, Sha)>) -> anyhow::Result<Versions> {
    if wanted.is_empty() {
        return Ok(Versions::new());
    }
    let loaded = Arc::clone(&base.loaded);
    let found = rooms
        .git(move |store, access| {
            let mut here: BTreeMap<Sha, Result<(), String>> = BTreeMap::new();
            for (_, commit) in &wanted {
                if !here.contains_key(commit) {
                    let known = if here.len() < MOST_FETCHED || store.has(commit) {
                        match store.fetch_commit(access, commit) {
                            Ok(true) => Ok(()),
                            Ok(false) => Err("the repository has no such commit".to_string()),
                            Err(error) => Err(error.to_string()),
                        }
                    } else {
                        Err("too many commits are asked about at once".to_string())
                    };
                    here.insert(commit.clone(), known);
                }
            }
            let mut versions = Versions::new();
            for (whose, commit) in wanted {
                let version = match here.get(&commit) {
                    Some(Ok(())) => version_for(store, &commit, &loaded, &whose)?,
                    Some(Err(why)) => Err(why.clone()),
                    None => continue,
                };
                versions.insert((whose, commit), version);
            }
            Ok(versions)
        })
        .await?;
    Ok(found)
}

/// The one version that a commit holds for a cluster.
fn version_for(
    store: &Store,
    commit: &Sha,
    loaded: &Loaded,
    whose: &Whose,
) -> Result<Result<Version, String>, GitError> {
    let Some(wiring) = loaded.wiring.plugins.get(&whose.plugin) else { return Ok(Err("no such plugin".to_string())) };
    let mut found: Option<Version> = None;
    for write in &wiring.write {
        for (file, _) in files(write, &whose.tier, &[&whose.cluster]) {
            let file = match file {
                Ok(file) => file,
                Err(why) => return Ok(Err(why)),
            };
            let text = match store.read(commit, &file) {
                Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8")),
                Ok(None) => Err(format!("{file} is not there")),
                Err(error @ GitError::Malformed { .. }) => Err(error.to_string()),
                Err(error) => return Err(error),
            };
            let wanted = Wanted { chart: wiring.chart.name(), plugin: whose.plugin.as_str() };
            match held(&text, (write, &file), wanted).version {
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

/// The files that a pattern stands for on one tier, or why it stands for none.
fn files(
    write: &Write,
    tier: &TierName,
    members: &[&ClusterName],
) -> Vec<(Result<String, String>, Option<ClusterName>)> {
    if !write.per_cluster() {
        return vec![(write.file_of(tier, None), None)];
    }
    members.iter().map(|name| (write.file_of(tier, Some(name)), Some((*name).clone()))).collect()
}

fn text(
    store: &Store,
    commit: &Sha,
    file: &str,
    (branch, default): (&str, &str),
) -> Result<Result<String, String>, GitError> {
    let place = if branch == default { "the default branch".to_string() } else { format!("the branch `{branch}`") };
    Ok(match store.read(commit, file) {
        Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_string()),
        Ok(None) => Err(format!("the file does not exist on {place}")),
        Err(error @ GitError::Malformed { .. }) => Err(error.to_string()),
        Err(error) => return Err(error),
    })
}

fn owners(store: &Store, commit: &Sha) -> Result<Read<Option<String>>, GitError> {
    for file in OWNER_FILES {
        match store.read(commit, file) {
            Ok(Some(bytes)) => return Ok(Read::Known(Some(String::from_utf8_lossy(&bytes).into_owned()))),
            Ok(None) => {}
            Err(error @ GitError::Malformed { .. }) => return Ok(Read::Unread(error.to_string())),
            Err(error) => return Err(error),
        }
    }
    Ok(Read::Known(None))
}

/// The inventory as the planner sees it.
pub fn planned(clusters: &Read<Vec<ListedCluster>>) -> Read<Vec<Cluster>> {
    match clusters {
        Read::Known(clusters) => Read::Known(
            clusters
                .iter()
                .map(|cluster| Cluster { name: cluster.name.clone(), labels: cluster.labels.clone() })
                .collect(),
        ),
        Read::Unread(why) => Read::Unread(why.clone()),
    }
}
