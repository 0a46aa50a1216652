//! Proofs from git around a merge: before it, that the head is what the bot would write, and nothing else; after it,
//! that the base branch got just that (`docs/attacks.md`, A15 and F30). What follows is decided by the caller.

use std::time::Duration;

use decide::plan::Proposal;
use decide::snapshot::Landing;
use decide::{PluginName, Sha, TierName, Version};

use super::heads;
use crate::act::line::Line;
use crate::git::{Asked, Raw};
use crate::hub::HubError;
use crate::observe::{Seen, spots_at};

/// Pauses between looks at the base branch after a merge: replicas of a hub may lag.
const PAUSES: [u64; 6] = [0, 250, 500, 1_000, 2_000, 4_000];

/// A head that is to be merged, and for what.
#[derive(Clone, Copy)]
pub(super) struct Planned<'a> {
    pub plugin: &'a PluginName,
    pub tier: &'a TierName,
    pub version: &'a Version,
    pub head: &'a Sha,
}

/// Why a head may not be merged.
#[derive(Debug)]
pub(super) enum Flaw {
    /// It is not what the bot would write on the commit that it builds on: it has to be written anew.
    NotAsPlanned(String),
    /// It could not be found out.
    Unknown(String),
}

/// Rebuilds the head from the commit that it builds on: the version at the planned places, one scalar each, and the
/// lock beside it. Anything else in it is a flaw, and so is another author, or a parent that is not on the base branch.
pub(super) async fn head(line: &Line, seen: &Seen, planned: Planned<'_>) -> anyhow::Result<Result<(), Flaw>> {
    let Some(proposal) = proposal(seen, planned) else {
        return Ok(Err(Flaw::NotAsPlanned("the ledger knows no such commit of the bot".to_string())));
    };
    let wanted = planned.head.clone();
    let found = line.context.repo.git(move |store, access| match store.fetch_commit(access, &wanted)? {
        true => Ok(Some(store.raw(&wanted)?)),
        false => Ok(None),
    });
    let Some(raw) = found.await? else {
        return Ok(Err(Flaw::Unknown(format!("the hub does not give {}", planned.head.short()))));
    };
    let parent = match one_parent(line, &raw) {
        Ok(parent) => parent,
        Err(why) => return Ok(Err(Flaw::NotAsPlanned(why))),
    };
    if let Err(flaw) = on_base(line, seen, planned.tier, &parent).await? {
        return Ok(Err(flaw));
    }
    let spots = {
        let (loaded, clusters, at) = (seen.loaded.clone(), seen.clusters.clone(), parent.clone());
        let (plugin, tier) = (planned.plugin.clone(), planned.tier.clone());
        line.context.repo.git(move |store, _| spots_at(store, &at, &loaded, &clusters, (&plugin, &tier))).await?
    };
    let files = match heads::edits(line, &parent, &spots, &proposal).await? {
        Ok(files) => files,
        Err(why) => return Ok(Err(Flaw::NotAsPlanned(why))),
    };
    let commit = planned.head.clone();
    let same = line.context.repo.git(move |store, _| store.is_made_of(&commit, &parent, &files)).await?;
    let why =
        || format!("{} changes something else than the planned version at the planned places", planned.head.short());
    Ok(if same { Ok(()) } else { Err(Flaw::NotAsPlanned(why())) })
}

/// What the head was written for, as the ledger has it.
fn proposal(seen: &Seen, planned: Planned<'_>) -> Option<Proposal> {
    let waves = seen.snapshot.ledger.plugins.get(planned.plugin)?.tiers.get(planned.tier)?;
    let written = |wave: &&decide::ledger::Wave| wave.head().is_some_and(|head| head.commit == *planned.head);
    let wave = waves.iter().rev().filter(|wave| wave.version == *planned.version).find(written)?;
    Some(Proposal {
        plugin: planned.plugin.clone(),
        tier: planned.tier.clone(),
        from: wave.from.clone(),
        to: wave.version.clone(),
        digest: wave.digest.clone(),
        part: wave.part.clone(),
        members: wave.members.to_vec(),
        written: None,
    })
}

fn one_parent(line: &Line, raw: &Raw) -> Result<Sha, String> {
    if !line.context.repo.says_ours(raw) {
        return Err(format!("its commit is not by {} alone", line.context.repo.hub.bot()));
    }
    match raw.parents.as_slice() {
        [only] => Ok(only.clone()),
        parents => Err(format!("its commit has {} parents, and the bot writes such with one", parents.len())),
    }
}

/// Whether a commit is on the base branch of a tier: what it brings along is merged, too.
async fn on_base(line: &Line, seen: &Seen, tier: &TierName, commit: &Sha) -> anyhow::Result<Result<(), Flaw>> {
    let Some((branch, tip)) = seen.base(tier) else {
        return Ok(Err(Flaw::Unknown("its base branch was not read".to_string())));
    };
    if commit == tip {
        return Ok(Ok(()));
    }
    let brought = |is_here: bool| {
        let why = format!("{} is not on `{branch}`, so that more than one commit would be merged", commit.short());
        if is_here { Ok(()) } else { Err(Flaw::NotAsPlanned(why)) }
    };
    let here = match line.context.repo.hub.contains(tip, commit).await {
        Ok(here) => here,
        // A limit is everybody's, what the hub does not find out this pull request's alone.
        Err(error @ HubError::Limited { .. }) => return Err(error.into()),
        Err(error) => return Ok(Err(Flaw::Unknown(error.to_string()))),
    };
    let (wanted, is_here) = (commit.clone(), brought(here));
    Ok(match is_here {
        Ok(()) if line.context.repo.git(move |store, access| store.fetch_commit(access, &wanted)).await? => Ok(()),
        Ok(()) => Err(Flaw::Unknown(format!("the hub does not give {}", commit.short()))),
        flaw => flaw,
    })
}

/// What came to the base branch, looked at until the change is there or has had time to come.
pub(super) async fn landing(line: &Line, branch: &str, asked: &Asked) -> anyhow::Result<Landing> {
    let mut seen = Landing::Absent;
    for pause in PAUSES {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let (name, asked) = (branch.to_string(), asked.clone());
        let look = line.context.repo.git(move |store, access| match store.fetch(access, &name, Some(1))? {
            Some(tip) => store.landing(access, &asked, &tip),
            None => Ok(Landing::Wrong { why: format!("the branch `{name}` does not exist any more") }),
        });
        seen = look.await?;
        match seen {
            Landing::Absent => {}
            Landing::Proven { .. } | Landing::Wrong { .. } => break,
        }
    }
    Ok(seen)
}
