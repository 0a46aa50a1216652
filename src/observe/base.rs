//! What the base branches say: the policy file and the inventory on the default one, the code owners on each
//! tier's; each branch at one commit. The spots that hold versions are read in `spots`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use decide::snapshot::{Cluster, Read};
use decide::{PluginName, Sha, TierName};

use crate::clock;
use crate::git::{GitError, Store};
use crate::hub::code_owners::LOCATIONS;
use crate::inventory;
use crate::inventory::ListedCluster;
use crate::observe::answers::Versions;
use crate::observe::context::Context;
use crate::observe::last_policy;
use crate::observe::owners::OwnersFile;
use crate::observe::presets;
use crate::observe::spots::{self, Spot};
use crate::observe::whose::Whose;
use crate::policy::wiring::Inventory;
use crate::policy::{self, Loaded, SourceFile};

/// The two places where the policy file may be; both at once is an error.
pub(super) const POLICY_FILES: [&str; 2] = ["coldframe.yaml", ".github/coldframe.yaml"];
/// Further files, which hold plugins only.
pub const POLICY_FOLDER: &str = "coldframe.d";

/// There is no policy file, and there was none since this process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {} or {} on the default branch", POLICY_FILES[0], POLICY_FILES[1])]
pub struct NoPolicy;

/// The policy file has errors, and no earlier one is known that has none. It holds what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}\nand none of the last {most} commits holds a policy that can be read", most = last_policy::MOST)]
pub struct NoGoodPolicy(pub String);

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
    /// The policy files of that commit; none where something is wrong with them.
    pub files: Option<Arc<Vec<SourceFile>>>,
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
    /// The code owners' file there, when there is one.
    pub owners: Read<Option<OwnersFile>>,
}

impl Base {
    /// The base branch of a tier.
    pub fn branch(&self, tier: &TierName) -> &str {
        branch_of(&self.loaded, tier, &self.default)
    }

    /// The default branch, or why it could not be read.
    pub fn main(&self) -> Result<&Line, &str> {
        self.named(&self.default)
    }

    /// What a tier rests on, or why it could not be read.
    pub fn line(&self, tier: &TierName) -> Result<&Line, &str> {
        self.named(self.branch(tier))
    }

    fn named(&self, branch: &str) -> Result<&Line, &str> {
        match self.lines.get(branch) {
            Some(Read::Known(line)) => Ok(line),
            Some(Read::Unread(why)) => Err(why),
            None => Err("its base branch was not read"),
        }
    }
}

/// The base branch of a tier: its own, or the default one.
pub(super) fn branch_of<'a>(loaded: &'a Loaded, tier: &TierName, default: &'a str) -> &'a str {
    let own = loaded.ladder.iter().find(|known| known.name == *tier).and_then(|known| known.branch.as_deref());
    own.unwrap_or(default)
}

/// The base branches of the policy as it was last read, the default one among them.
pub fn branches(context: &Context) -> BTreeSet<String> {
    let known = context.memory.policy.as_ref().map(|(_, loaded)| loaded);
    let own = known.into_iter().flat_map(|loaded| &loaded.ladder).filter_map(|tier| tier.branch.clone());
    own.chain([context.repo.repository.default_branch.clone()]).collect()
}

/// Reads the base branches of a repository as they are now.
pub async fn read(context: &mut Context) -> anyhow::Result<Base> {
    let branch = context.repo.repository.default_branch.clone();
    let (commit, files) = context
        .repo
        .git(move |store, access| {
            let Some(commit) = store.fetch(access, &branch, Some(1))? else { return Ok(None) };
            let files = policy_files(store, &commit)?;
            Ok(Some((commit, files)))
        })
        .await?
        .with_context(|| format!("the default branch `{}` does not exist", context.repo.repository.default_branch))?;
    let (loaded, problem) = load(context, files, &commit).await?;
    let files = context.memory.policy.as_ref().filter(|_| problem.is_none()).map(|(files, _)| Arc::clone(files));
    let (wanted, at, default) = (Arc::clone(&loaded), commit.clone(), context.repo.repository.default_branch.clone());
    let named = branches(context);
    let listed = match &loaded.wiring.inventory {
        Inventory::File { .. } => None,
        Inventory::Listed(listing) => {
            let (clusters, memory) = (Arc::clone(&context.clusters), &mut context.memory.listed);
            Some(memory.list(listing, &clusters, (clock::now(), context.look_again)).await)
        }
    };
    let (lines, clusters, spots) = context
        .repo
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
            let branches = spots::Branches { lines: &lines, default: &default, called: spots::DEFAULT };
            let spots = spots::read(store, branches, &wanted, listed)?;
            Ok((lines, clusters, spots))
        })
        .await?;
    Ok(Base {
        commit,
        lines,
        default: context.repo.repository.default_branch.clone(),
        loaded,
        problem,
        files,
        clusters,
        spots,
    })
}

/// Every policy file at a commit.
pub(super) fn policy_files(store: &Store, commit: &Sha) -> Result<Vec<SourceFile>, GitError> {
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

/// Parses the policy unless it is the one that was parsed before. One with errors leaves the last good one in force for
/// reading, and says so; a process that has seen no good one looks for it in the history of the branch.
async fn load(
    context: &mut Context,
    files: Vec<SourceFile>,
    commit: &Sha,
) -> anyhow::Result<(Arc<Loaded>, Option<String>)> {
    if let Some((known, loaded)) = &context.memory.policy
        && **known == files
    {
        context.memory.broken = None;
        return Ok((Arc::clone(loaded), None));
    }
    let error = match files.iter().filter(|file| POLICY_FILES.contains(&file.path.as_str())).count() {
        0 if context.memory.policy.is_none() => bail!(NoPolicy),
        0 => NoPolicy.to_string(),
        1 => match whole(context, &files).await {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                context.memory.policy = Some((Arc::new(files), Arc::clone(&loaded)));
                context.memory.broken = None;
                return Ok((loaded, None));
            }
            Err(why) => why,
        },
        _ => format!("there are both {}; keep one", POLICY_FILES.join(" and ")),
    };
    if context.memory.policy.is_none() {
        let (setting, newest) = (Arc::clone(&context.setting), commit.clone());
        let presets = context.memory.presets.values().cloned().collect();
        let find = move |store: &Store, access: &_| last_policy::find(store, access, (&setting, presets), &newest);
        let before = context.repo.git(find).await?;
        context.memory.policy = before.map(|(files, loaded)| (Arc::new(files), Arc::new(loaded)));
    }
    match &context.memory.policy {
        Some((_, last)) => {
            if context.memory.broken.as_ref() != Some(&error) {
                let repository = context.repo.full_name();
                tracing::warn!(repository, "nothing is merged, the policy has errors: {error}");
                context.memory.broken = Some(error.clone());
            }
            Ok((Arc::clone(last), Some(error)))
        }
        None => bail!(NoGoodPolicy(error)),
    }
}

/// The policy with the presets of other repositories that it extends, or what is wrong with it.
async fn whole(context: &mut Context, files: &[SourceFile]) -> Result<Loaded, String> {
    let hub = context.repo.hub.clone();
    let files = presets::with_presets(&hub, &mut context.memory.presets, files.to_vec()).await?;
    policy::load_in(&files, &context.setting).map_err(|problems| policy::render(&problems, &files))
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

/// Commits that are fetched at one look because clusters name them; the others have to wait for the next.
const MOST_FETCHED: usize = 16;

/// The versions that stand at commits which clusters say that they run. Clusters are not believed: a commit
/// that the repository does not have proves nothing.
pub async fn versions(context: &mut Context, base: &Base, wanted: Vec<(Whose, Sha)>) -> anyhow::Result<Versions> {
    if wanted.is_empty() {
        return Ok(Versions::new());
    }
    let loaded = Arc::clone(&base.loaded);
    let listed = base.clusters.known().cloned().unwrap_or_default();
    let found = context
        .repo
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
                    Some(Ok(())) => spots::version_for(store, &commit, &loaded, &listed, &whose)?,
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

/// The file of code owners at a commit.
pub(super) fn owners(store: &Store, commit: &Sha) -> Result<Read<Option<OwnersFile>>, GitError> {
    for path in LOCATIONS {
        match store.read(commit, path) {
            Ok(Some(bytes)) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return Ok(Read::Known(Some(OwnersFile { path, text })));
            }
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
