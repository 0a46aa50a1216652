//! What a checkout on this disk holds of what its policy speaks of: read as the base branches are, and by the same
//! finder. Which of it is a mistake is said in `cli/check`.

use std::collections::BTreeMap;

use decide::snapshot::Read;
use decide::{ClusterName, PluginName, TierName};

use super::base::{self, Line};
use super::spots::{self, Branches, Spot};
use crate::git::{Checkout, GitError};
use crate::inventory;
use crate::inventory::ListedCluster;
use crate::policy::wiring::Inventory;
use crate::policy::{Loaded, Problems, SourceFile};

/// What is there.
pub struct Holds {
    /// The clusters.
    pub listed: Listed,
    /// How many places hold a version.
    pub places: usize,
    /// Those that hold none.
    pub unread: Vec<Unread>,
    /// Branches of tiers that this checkout does not have.
    pub strange: Vec<String>,
    /// The file of code owners, or why it cannot be read.
    pub owners: Read<Option<SourceFile>>,
}

/// The clusters, as far as a checkout says which there are.
pub enum Listed {
    /// They are in its file.
    Known(Vec<ListedCluster>),
    /// Its file has mistakes.
    Broken(Problems, SourceFile),
    /// It has no such file, or one that cannot be read.
    Missing(String),
    /// A hub lists them, which is not asked.
    Elsewhere,
}

/// A place without a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Whose version should stand there.
    pub plugin: PluginName,
    /// On which tier.
    pub tier: TierName,
    /// Which `write` of the plugin, from 0.
    pub write: usize,
    /// The file.
    pub file: String,
    /// The cluster, where it has a place of its own.
    pub cluster: Option<ClusterName>,
    /// Why there is none.
    pub why: String,
}

/// Where what it holds stands, in a sentence.
const HERE: &str = "in this checkout";
/// Its name among branches: no branch can have it.
const DEFAULT: &str = "";

/// Reads it.
///
/// # Errors
/// Where the repository itself is broken.
pub fn read(checkout: &Checkout, loaded: &Loaded) -> Result<Holds, GitError> {
    let store = checkout.store();
    let owners = base::owners(store, &checkout.commit)?;
    let here = Line { owners: owners.clone(), commit: checkout.commit.clone() };
    let mut lines = BTreeMap::from([(DEFAULT.to_string(), Read::Known(here))]);
    let mut strange = Vec::new();
    for name in loaded.ladder.iter().filter_map(|tier| tier.branch.as_ref()) {
        let line = match checkout.branch(name) {
            Some(commit) => Read::Known(Line { owners: Read::Known(None), commit }),
            None => Read::Unread(String::new()),
        };
        if line.known().is_none() && !lines.contains_key(name) {
            strange.push(name.clone());
        }
        lines.insert(name.clone(), line);
    }
    let listed = match &loaded.wiring.inventory {
        Inventory::File { path } => listed(checkout, path)?,
        Inventory::Listed(_) => Listed::Elsewhere,
    };
    let clusters = if let Listed::Known(clusters) = &listed { clusters.as_slice() } else { &[] };
    let branches = Branches { lines: &lines, default: DEFAULT, called: HERE };
    let spots = spots::read(store, branches, loaded, clusters)?;
    let (mut places, mut unread) = (0, Vec::new());
    for ((plugin, tier), spots) in spots {
        let branch = base::branch_of(loaded, &tier, DEFAULT);
        let alone = branch != DEFAULT || loaded.ladder.len() == 1;
        let known = |spot: &Spot| matches!(listed, Listed::Known(_)) || explains_itself(spot, alone);
        for spot in spots.into_iter().filter(|spot| known(spot) && lines.get(branch).is_some_and(there)) {
            match trouble(loaded, &plugin, &tier, spot) {
                None => places += 1,
                Some(one) => unread.push(one),
            }
        }
    }
    let owners = match owners {
        Read::Known(file) => Read::Known(file.map(|file| SourceFile { path: file.path.to_string(), text: file.text })),
        Read::Unread(why) => Read::Unread(why),
    };
    Ok(Holds { listed, places, unread, strange, owners })
}

fn there(line: &Read<Line>) -> bool {
    line.known().is_some()
}

fn listed(checkout: &Checkout, path: &str) -> Result<Listed, GitError> {
    let bytes = match checkout.store().read(&checkout.commit, path) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Listed::Missing(format!("there is no `{path}` {HERE}"))),
        Err(error @ GitError::Malformed { .. }) => return Ok(Listed::Missing(error.to_string())),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match inventory::file::parse(path, &text) {
        Ok(clusters) => Listed::Known(clusters),
        Err(problems) => Listed::Broken(problems, SourceFile { path: path.to_string(), text }),
    })
}

/// Whether a place can be read without knowing the clusters: the policy says whose it is, and not the file.
fn explains_itself(spot: &Spot, alone: bool) -> bool {
    spot.write.scalar.is_some() || spot.write.per_tier() || alone
}

/// Why a place holds no version; none where it does, or may do without.
fn trouble(loaded: &Loaded, plugin: &PluginName, tier: &TierName, spot: Spot) -> Option<Unread> {
    let Read::Unread(why) = &spot.version else { return None };
    let policy = loaded.policy.plugins.iter().find(|known| known.name == *plugin)?;
    let follows = policy.tiers.iter().any(|known| known.name == *tier && known.follows);
    if spot.vacant || (follows && spot.range.is_some()) {
        return None;
    }
    let write = loaded.wiring.plugins.get(plugin)?.write.iter().position(|write| *write == spot.write)?;
    let (plugin, tier, why) = (plugin.clone(), tier.clone(), why.clone());
    Some(Unread { plugin, tier, write, file: spot.file, cluster: spot.cluster, why })
}
