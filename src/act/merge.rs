//! Merges one pull request, in one line: intent, turn, permit, merge, proof, and only then what is tidied up. Each step
//! rests on the one before it; whether it happened is settled by git, never by the answer alone.

use decide::ledger::{Change, Entry, Merging};
use decide::plan::Action;
use decide::snapshot::Landing;
use decide::{PluginName, Sha, TierName, Version};
use jiff::Timestamp;

use super::permit::{No, Permit};
use super::{Receipt, branch, intend, proof};
use crate::clock;
use crate::git::Asked;
use crate::hub::{HubError, MergeAnswer, MergeRequest};
use crate::observe::Seen;
use crate::rooms::Rooms;

pub(super) async fn merge(rooms: &mut Rooms, seen: &Seen, action: &Action, now: Timestamp) -> anyhow::Result<Receipt> {
    let Action::Merge { plugin, tier, version, head, forced, pull, via } = action else {
        return Ok(Receipt::Refused("only a merge can be merged".to_string()));
    };
    let Some((base, before)) = seen.base(tier) else {
        return Ok(Receipt::Moved(format!("{pull} is not merged: its base branch was not read")));
    };
    let wave = Wave { plugin, tier, version };
    let merging = Merging { head: head.clone(), at: now, base: Some(before.clone()), forced: forced.clone() };
    // What came to nothing before the call is the same intent still: it is not written once more.
    if !is_intended(seen, &wave, &merging)
        && let Some(receipt) = intend(rooms, wave.entry(Change::Merging(merging)), now).await?
    {
        return Ok(receipt);
    }
    let turn = rooms.hub.turn_to_merge(*via).await?;
    let permit = match Permit::obtain(rooms, action).await? {
        Ok(permit) => permit,
        Err(No::Moved(why)) => return Ok(Receipt::Moved(format!("{pull} is not merged: {why}"))),
        Err(No::Flawed(why)) => return refused(rooms, &wave, head, &why, true).await,
    };
    let (number, head, via, good_until) = permit.terms();
    let title = format!("{plugin} {version} → {tier} ({number})");
    let message = message(action);
    // As they were just read for the permit.
    let demands = &rooms.memory.hub.known_demands(base);
    let request = MergeRequest { number, head, via, title: &title, message: &message, good_until, demands };
    let named = match rooms.hub.merge(turn, &request).await {
        Ok(MergeAnswer::Merged { commit }) => Some(commit),
        Ok(MergeAnswer::Indeterminate { why }) => {
            tracing::warn!(%number, %why, "the hub did not say whether it merged");
            None
        }
        Ok(MergeAnswer::HeadMoved) => return Ok(Receipt::Moved(format!("the head of {number} moved"))),
        Ok(MergeAnswer::Refused { why }) => return refused(rooms, &wave, head, &why, false).await,
        Err(error @ HubError::Stale { .. }) => return Ok(Receipt::Moved(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    let asked = Asked { head: head.clone(), before: before.clone(), named };
    Ok(match proof::landing(rooms, base, &asked).await? {
        Landing::Proven { .. } => {
            tidy_up(rooms, &wave).await;
            Receipt::Done(format!("merged {number}, {plugin} {version} → {tier}"))
        }
        Landing::Absent => Receipt::Moved(format!("`{base}` does not hold {number}")),
        Landing::Wrong { why } => Receipt::Moved(format!("{number} did not land as planned: {why}")),
    })
}

/// What a merge is about.
struct Wave<'a> {
    plugin: &'a PluginName,
    tier: &'a TierName,
    version: &'a Version,
}

impl Wave<'_> {
    fn entry(&self, change: Change) -> Entry {
        let (plugin, tier, version) = (self.plugin.clone(), self.tier.clone(), self.version.clone());
        Entry::Wave { plugin, tier, version, change }
    }
}

/// Whether the ledger has this intent, and no answer of the hub to it.
fn is_intended(seen: &Seen, wave: &Wave<'_>, merging: &Merging) -> bool {
    let page = seen.snapshot.ledger.plugins.get(wave.plugin);
    let Some(known) = page.and_then(|page| page.wave(wave.tier, wave.version)) else { return false };
    known.asked().is_some_and(|before| Merging { at: before.at, ..merging.clone() } == *before)
}

/// Remembers that the hub, or the proof of the head, said no: it is left alone for a while, and the others go on.
async fn refused(rooms: &mut Rooms, wave: &Wave<'_>, head: &Sha, why: &str, anew: bool) -> anyhow::Result<Receipt> {
    let now = clock::now();
    let (head, told) = (head.clone(), why.to_string());
    let change = Change::Refused { head, at: now, why: told, anew };
    if let Some(receipt) = intend(rooms, wave.entry(change), now).await? {
        return Ok(receipt);
    }
    let Wave { plugin, tier, version } = wave;
    Ok(Receipt::Refused(format!("{plugin} {version} → {tier} is not merged: {why}")))
}

/// The message of the merge commit.
fn message(action: &Action) -> String {
    let Action::Merge { forced: Some(evidence), .. } = action else { return String::new() };
    match &evidence.said {
        Some(said) => format!("Merged without the missing approvals, as {} said.", said.by),
        None => "Merged without the missing approvals: the grace period is over.".to_string(),
    }
}

/// Takes the merged branch away.
async fn tidy_up(rooms: &Rooms, wave: &Wave<'_>) {
    let name = branch(wave.plugin, wave.tier);
    if let Err(error) = rooms.hub.delete_branch(&name).await {
        tracing::warn!(%name, %error, "the merged branch stays");
    }
}
