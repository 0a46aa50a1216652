//! Opens and moves promotion pull requests: commit, intent, branch, pull request, in that order, so
//! that a crash between any two leaves something that the next look finds and finishes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use decide::ledger::{Change, Entry, Head};
use decide::plan::{Plan, Proposal};
use decide::{ClusterName, Person, PullNumber, Sha};
use jiff::{SignedDuration, Timestamp};

use super::changes::{self, Whose};
use super::intent::{branch, intend};
use super::receipt::{Receipt, fenced};
use super::{commit, edited, install, opened};
use crate::act::line::{Line, Opened};
use crate::git::{Draft, FileChange, Pushed};
use crate::hub::{HubError, HubState, RestPull};
use crate::observe::{Seen, Spot};
use crate::tell;
use crate::{branches, ledger};

/// How long the hub may not show what it has just made; its worst days knew minutes.
const LONGEST_LAG: SignedDuration = SignedDuration::from_mins(10);

/// Writes the commit, pushes the branch, opens the pull request. What already exists is found.
pub(super) async fn open(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    proposal: &Proposal,
    now: Timestamp,
) -> anyhow::Result<Receipt> {
    let name = branch(&proposal.plugin, &proposal.tier);
    // A second, independent look: a person may have said no while our list lagged.
    for earlier in line.context.repo.hub.pulls_of_branch(&name).await? {
        if let Some(receipt) = in_the_way(line, seen, proposal, &earlier, now) {
            return Ok(receipt);
        }
    }
    let there = tip(line, &name).await?;
    let written = proposal.written.as_ref().filter(|head| there.as_ref() == Some(&head.commit));
    if let Some(head) = written
        && let Some(why) = hidden(line, &name, &head.commit, now).await?
    {
        return Ok(Receipt::Refused(why));
    }
    let head = match written {
        Some(head) => head.commit.clone(),
        None => match push_anew(line, seen, proposal, there.as_ref(), now).await? {
            Ok(head) => head,
            Err(receipt) => return Ok(receipt),
        },
    };
    let (title, body) = texts(line, seen, plan, proposal, &head).await?;
    let (base, _) = seen.base(&proposal.tier).context("the base branch of the tier was not read")?;
    // The push may have been long on its way: what another process opened and merged meanwhile has left no branch.
    if is_fenced(line).await? {
        return Ok(fenced());
    }
    let number = line.context.repo.hub.open_pull(&title, &name, base, &body).await?.number();
    line.memory.opened.insert(name, Opened { number, head, at: now });
    opened::add(line, number, &seen.loaded.wiring.pulls).await;
    Ok(Receipt::Done(format!("opened {number}, {title}")))
}

/// What keeps a pull request from being opened beside an earlier one of its branch.
fn in_the_way(line: &Line, seen: &Seen, proposal: &Proposal, earlier: &RestPull, now: Timestamp) -> Option<Receipt> {
    let (number, ours) = (earlier.number, earlier.author.as_ref() == Some(line.context.repo.hub.bot()));
    if earlier.open && ours {
        return Some(Receipt::Moved(format!("{number} is already open for {}", earlier.branch)));
    }
    if earlier.open {
        let by = earlier.author.as_ref().map_or("a deleted account", Person::as_str);
        let why =
            format!("{number} by {by} is open from the branch {}; close it and delete the branch", earlier.branch);
        return Some(Receipt::Refused(why));
    }
    let Some(merged) = earlier.merged_at else {
        let same = proposal.written.as_ref().is_some_and(|head| head.commit == earlier.head);
        return same.then(|| Receipt::Moved(format!("{number} had this very commit and was closed")));
    };
    // Another process opened and merged it after this look had read the hub's page, or the base branch.
    let known = seen.pull(number).is_some_and(|known| known.state != HubState::Open);
    let fresh = now.duration_since(merged) < LONGEST_LAG;
    (ours && fresh && !known).then(|| Receipt::Moved(format!("{number} was merged meanwhile")))
}

/// Why a pull request that no list shows is not opened: it was, with this very head. A person may have closed it
/// since. Where not even its number is found for so long, the hub refuses a second one itself.
async fn hidden(line: &Line, branch: &str, head: &Sha, now: Timestamp) -> anyhow::Result<Option<String>> {
    let Some(opened) = line.memory.opened.get(branch).filter(|opened| opened.head == *head) else { return Ok(None) };
    let number = opened.number;
    match line.context.repo.hub.pull(number).await {
        Ok(_) => Ok(Some(format!("{number} is there, and the hub does not list it yet"))),
        Err(HubError::NotFound { .. }) if now.duration_since(opened.at) < LONGEST_LAG => {
            Ok(Some(format!("{number} was just opened, and the hub does not show it yet")))
        }
        Err(HubError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Moves the open pull request to what is proposed, by writing its branch anew on the present base.
pub(super) async fn update(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    (pull, head): (PullNumber, &Sha),
    proposal: &Proposal,
    now: Timestamp,
) -> anyhow::Result<Receipt> {
    let name = branch(&proposal.plugin, &proposal.tier);
    let there = tip(line, &name).await?;
    if there.as_ref() != Some(head) {
        return Ok(Receipt::Moved(format!("the branch of {pull} moved")));
    }
    let head = match push_anew(line, seen, proposal, there.as_ref(), now).await? {
        Ok(head) => head,
        Err(receipt) => return Ok(receipt),
    };
    let (title, body) = texts(line, seen, plan, proposal, &head).await?;
    line.context.repo.hub.edit_pull(pull, Some(&title), Some(&body)).await?;
    Ok(Receipt::Done(format!("moved {pull} to {title}")))
}

/// Builds the commit on the present base, writes the intent, pushes the branch from `there`; the commit, or
/// a receipt where that did not come to its end.
async fn push_anew(
    line: &mut Line,
    seen: &Seen,
    proposal: &Proposal,
    there: Option<&Sha>,
    now: Timestamp,
) -> anyhow::Result<Result<Sha, Receipt>> {
    if let Some(held) = there
        && !seen.wrote(&proposal.plugin, &proposal.tier, held)
    {
        // Another process may have written both since: its intent is on the ledger branch before its commit is anywhere.
        if is_fenced(line).await? {
            return Ok(Err(fenced()));
        }
        let name = branch(&proposal.plugin, &proposal.tier);
        let why = format!("the branch {name} holds {}, which the bot did not write; delete or rename it", held.short());
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
    let name = branch(&plugin, &tier);
    if let Some(receipt) = intend(line, Entry::Wave { plugin, tier, version, change }, now).await? {
        return Ok(Err(receipt));
    }
    let (expected, head) = (there.cloned(), commit.clone());
    let pushed = line
        .context
        .repo
        .git(move |store, access| store.push_forced(access, &name, &commit, expected.as_ref()))
        .await?;
    Ok(match pushed {
        Pushed::Done => Ok(head),
        Pushed::Moved { .. } => Err(Receipt::Moved("somebody moved the branch".to_string())),
        Pushed::Refused { why } => Err(Receipt::Refused(format!("the hub refused the branch: {why}"))),
    })
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
async fn is_fenced(line: &Line) -> anyhow::Result<bool> {
    let there = tip(line, branches::LEDGER).await?;
    Ok(there.as_ref() != line.context.repo.ledger.as_ref().and_then(ledger::Branch::tip))
}

async fn tip(line: &Line, name: &str) -> anyhow::Result<Option<Sha>> {
    let name = name.to_string();
    line.context.repo.git(move |store, access| store.tip(access, &name)).await
}

/// Title and body as the plan has them; the next look writes what has changed since.
async fn texts(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    proposal: &Proposal,
    head: &Sha,
) -> anyhow::Result<(String, String)> {
    let wave = plan.waves.iter().find(|wave| wave.plugin == proposal.plugin && wave.tier == proposal.tier);
    let wave = wave.context("the plan proposes a wave that it does not report")?;
    let whose = Whose { plugin: &proposal.plugin, tier: &proposal.tier, members: &proposal.members };
    let changes = changes::section(line, seen, whose, head).await.unwrap_or_else(|error| {
        tracing::warn!(%head, error = %format!("{error:#}"), "what a commit changes is told at the next look");
        None
    });
    Ok((seen.title(wave), seen.body(plan, wave, head, changes.as_deref())?))
}
