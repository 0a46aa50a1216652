//! What the commit of a pull request changes, where that is more than anybody reads. It is found out once for each
//! commit, from git alone; how it is told is in `tell/changes`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::{ClusterName, PluginName, Sha, TierName};

use crate::act::line::Line;
use crate::git::{Access, Changes, GitError, Store};
use crate::observe::{Seen, Spot};
use crate::tell;

/// What is known of the commits of open pull requests: the section, or none where there is none to be shown.
pub type Told = BTreeMap<Sha, Option<Arc<str>>>;

/// What git says of a commit.
enum Found {
    /// It is more than anybody reads.
    Many(Box<Changes>),
    /// It can be read, or the commit cannot be had any more.
    Nothing,
    /// It is not here, and few files are expected in it.
    NotHere,
}

/// Whose commit it is.
#[derive(Clone, Copy)]
pub(super) struct Whose<'a> {
    pub plugin: &'a PluginName,
    pub tier: &'a TierName,
    pub members: &'a [ClusterName],
}

/// The section for a commit that the bot wrote for this tier; none where few files change, or where nobody can say
/// any more what does. A commit of somebody else builds on ours: what it changes is not all that would be merged.
pub(super) async fn section(
    line: &mut Line,
    seen: &Seen,
    whose: Whose<'_>,
    commit: &Sha,
) -> anyhow::Result<Option<Arc<str>>> {
    if !is_ours(line, whose, commit) {
        return Ok(None);
    }
    if let Some(known) = line.memory.changes.get(commit) {
        return Ok(known.clone());
    }
    let (wanted, many) = (commit.clone(), files(seen, whose) > tell::MANY);
    let section = match line.context.repo.git(move |store, access| look(store, access, &wanted, many)).await? {
        Found::Many(changes) => Some(Arc::from(tell::changes(&changes)?)),
        Found::Nothing => None,
        Found::NotHere => return Ok(None),
    };
    line.memory.changes.insert(commit.clone(), section.clone());
    Ok(section)
}

/// Whether the ledger says that the bot wrote it.
fn is_ours(line: &Line, whose: Whose<'_>, commit: &Sha) -> bool {
    let page = line.context.repo.ledger.as_ref().and_then(|branch| branch.ledger().plugins.get(whose.plugin));
    let waves = page.and_then(|page| page.tiers.get(whose.tier)).into_iter().flatten();
    waves.flat_map(|wave| &wave.heads).any(|head| head.commit == *commit)
}

/// How many files hold the version of these clusters.
fn files(seen: &Seen, whose: Whose<'_>) -> usize {
    let members: BTreeSet<&ClusterName> = whose.members.iter().collect();
    let of = |spot: &&Spot| spot.cluster.as_ref().is_none_or(|name| members.contains(name));
    let spots = seen.spots(whose.plugin, whose.tier).iter().filter(of);
    spots.map(|spot| spot.file.as_str()).collect::<BTreeSet<_>>().len()
}

/// Reads the commit. One that was lost with the cache is fetched again where many files are expected in it.
fn look(store: &Store, access: &Access, commit: &Sha, many: bool) -> Result<Found, GitError> {
    if !many && !store.has(commit) {
        return Ok(Found::NotHere);
    }
    if !brought(store, access, commit)? {
        return Ok(Found::Nothing);
    }
    let Some(base) = store.parent(commit)? else { return Ok(Found::Nothing) };
    if !brought(store, access, &base)? {
        return Ok(Found::Nothing);
    }
    match store.changes(commit) {
        Ok(changes) if changes.files > tell::MANY => Ok(Found::Many(Box::new(changes))),
        Ok(_) | Err(GitError::Malformed { .. }) => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

/// Whether a commit is here now. What may pass is an error: the text stays as it is until then.
fn brought(store: &Store, access: &Access, commit: &Sha) -> Result<bool, GitError> {
    match store.fetch_commit(access, commit) {
        Err(error) if !error.passes() => {
            tracing::info!(%commit, %error, "what a commit changes is not told, because it is not to be had");
            Ok(false)
        }
        done => done,
    }
}
