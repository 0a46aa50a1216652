//! Writes the heads of promotions: their commits first, then the intents of all of them in one commit of the ledger, then
//! all branches in one push. What is opened or moved to them is in `promote`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use decide::ledger::{Change, Entry, Head};
use decide::plan::{Proposal, Record, Urgency};
use decide::{ClusterName, Sha};
use jiff::Timestamp;

use super::intent::remember;
use super::receipt::{Receipt, fenced};
use super::{commit, edited, install};
use crate::act::line::Line;
use crate::git::{Draft, FileChange, Move, Pushed};
use crate::ledger::Appended;
use crate::observe::{Seen, Spot, branch};
use crate::tell;
use crate::{branches, ledger};

/// A head that is on disk, and on no branch yet.
pub(super) struct Made {
    /// Its branch, and where that is to be moved from.
    to: Move,
    intent: Entry,
}

impl Made {
    /// The commit.
    pub(super) fn commit(&self) -> &Sha {
        &self.to.commit
    }
}

/// Builds the commit of a proposal on the present base, for a branch that is at `there` now; the inner error is what
/// became of it instead.
pub(super) async fn make(
    line: &mut Line,
    seen: &Seen,
    proposal: &Proposal,
    there: Option<&Sha>,
    now: Timestamp,
) -> anyhow::Result<Result<Made, Receipt>> {
    let name = branch(&proposal.plugin, &proposal.tier);
    if let Some(found) = there
        && !seen.wrote(&proposal.plugin, &proposal.tier, found)
    {
        // Another process may have written both since: its intent is on the ledger branch before its commit is anywhere.
        if is_fenced(line).await? {
            return Ok(Err(fenced()));
        }
        let why =
            format!("the branch {name} holds {}, which the bot did not write; delete or rename it", found.short());
        return Ok(Err(Receipt::Refused(why)));
    }
    let ledger = line.context.repo.ledger.as_ref().and_then(|branch| branch.tip().cloned());
    let ledger = ledger.context("the ledger has no commit yet that a promotion could cite")?;
    let (base_branch, base) = seen.base(&proposal.tier).context("the base branch of the tier was not read")?;
    let files = match edits(line, base, seen.spots(&proposal.plugin, &proposal.tier), proposal).await? {
        Ok(files) => files,
        Err(why) => return Ok(Err(Receipt::Refused(why))),
    };
    let draft = Draft {
        parents: vec![base.clone()],
        tree_of: Some(base.clone()),
        files,
        message: seen.loaded.wiring.pulls.titled(&tell::commit_message(proposal, &ledger)),
        author: line.context.repo.author(),
        at: now,
    };
    let commit = match commit::make(line, base_branch, draft, now).await? {
        Ok(commit) => commit,
        Err(receipt) => return Ok(Err(receipt)),
    };
    let repeats = repeats(line, seen, proposal, there, &commit).await?;
    let change = Change::Intent {
        from: proposal.from.clone(),
        digest: proposal.digest.clone(),
        part: proposal.part.clone(),
        members: proposal.members.clone(),
        head: Head { commit: commit.clone(), at: now, repeats },
    };
    let (plugin, tier, version) = (proposal.plugin.clone(), proposal.tier.clone(), proposal.to.clone());
    let intent = Entry::Wave { plugin, tier, version, change };
    Ok(Ok(Made { to: Move { branch: name, commit, expected: there.cloned() }, intent }))
}

/// Remembers all of them and pushes their branches; for each, what became of it where it is not on its branch. The inner
/// error is about all of them: nothing was pushed.
pub(super) async fn write(
    line: &mut Line,
    made: &[&Made],
    now: Timestamp,
) -> anyhow::Result<Result<Vec<Option<Receipt>>, Receipt>> {
    let intents = made.iter().map(|made| Record { entry: made.intent.clone(), urgency: Urgency::Transition });
    match remember(line, intents.collect(), now).await? {
        Appended::Fenced => return Ok(Err(fenced())),
        Appended::Nothing | Appended::Waiting | Appended::Pushed { .. } => {}
    }
    let moves: Vec<Move> = made.iter().map(|made| made.to.clone()).collect();
    let pushed = line.context.repo.git(move |store, access| store.push_all(access, &moves)).await?;
    let became = |pushed| match pushed {
        Pushed::Done => None,
        Pushed::Moved { .. } => Some(Receipt::Moved("somebody moved the branch".to_string())),
        Pushed::Refused { why } => Some(Receipt::Refused(format!("the hub refused the branch: {why}"))),
    };
    Ok(Ok(pushed.into_iter().map(became).collect()))
}

/// Whether a commit changes what the newest one of its wave, at the tip of its branch, changes: then it is the same on a
/// newer commit of the base branch.
async fn repeats(
    line: &Line,
    seen: &Seen,
    proposal: &Proposal,
    there: Option<&Sha>,
    commit: &Sha,
) -> anyhow::Result<bool> {
    let page = seen.snapshot.ledger.plugins.get(&proposal.plugin);
    let wave = page.and_then(|page| page.wave(&proposal.tier, &proposal.to));
    let last = wave.and_then(|wave| wave.head()).map(|head| head.commit.clone());
    let Some(last) = last.filter(|last| there == Some(last) && last != commit) else { return Ok(false) };
    let commit = commit.clone();
    line.context.repo.git(move |store, access| store.repeats(access, &last, &commit)).await
}

/// The edited files of the proposal's clusters, among the spots of its plugin and tier at a commit. The inner error is
/// a refusal that names the place.
pub(super) async fn edits(
    line: &Line,
    base: &Sha,
    spots: &[Spot],
    proposal: &Proposal,
) -> anyhow::Result<Result<Vec<FileChange>, String>> {
    let members: BTreeSet<&ClusterName> = proposal.members.iter().collect();
    let moves = |spot: &&Spot| spot.cluster.as_ref().is_none_or(|name| members.contains(name));
    let spots: Vec<Spot> = spots.iter().filter(moves).cloned().collect();
    if spots.is_empty() {
        return Ok(Err("no place on the base branch belongs to these clusters".to_string()));
    }
    let (base, to) = (base.clone(), proposal.to.as_str().to_string());
    // What is not there yet is made; what is there is edited.
    let (vacant, there): (Vec<Spot>, Vec<Spot>) = spots.into_iter().partition(|spot| spot.vacant);
    let mut made: BTreeMap<String, String> = BTreeMap::new();
    for spot in &vacant {
        match install::text(line, &base, spot, proposal).await? {
            Ok(text) => made.insert(spot.file.clone(), text),
            Err(why) => return Ok(Err(why)),
        };
    }
    let files = line.context.repo.git(move |store, _| edited(store, &base, &there, &to)).await?;
    let made = made.into_iter().map(|(path, text)| (path, Some(text.into_bytes())));
    Ok(files.map(|files| files.into_iter().chain(made).collect()))
}

/// Whether another process has written to the ledger since this one read it.
pub(super) async fn is_fenced(line: &Line) -> anyhow::Result<bool> {
    let there = line.context.repo.git(|store, access| store.tip(access, branches::LEDGER)).await?;
    Ok(there.as_ref() != line.context.repo.ledger.as_ref().and_then(ledger::Branch::tip))
}
