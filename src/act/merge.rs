//! Merges one pull request, in one line: intent, turn, permit, merge, proof, and only then what is tidied up. Each step
//! rests on the one before it; whether it happened is settled by git, never by the answer alone.

use decide::ledger::{Change, Entry, Merging, Refusal};
use decide::plan::Action;
use decide::snapshot::Landing;
use decide::{PluginName, PullNumber, Sha, TierName, Version};
use jiff::Timestamp;

use super::intent::intend;
use super::permit::{No, Permit};
use super::proof;
use super::queue::{self, Entered};
use super::receipt::Receipt;
use crate::act::line::Line;
use crate::clock;
use crate::git::Asked;
use crate::hub::demands::Demand;
use crate::hub::{HubError, HubState, MergeAnswer, MergeRequest};
use crate::observe::{Seen, branch};

pub(super) async fn merge(line: &mut Line, seen: &Seen, action: &Action, now: Timestamp) -> anyhow::Result<Receipt> {
    let Action::Merge { plugin, tier, version, head, forced, pull, via } = action else {
        return Ok(Receipt::Refused("only a merge can be merged".to_string()));
    };
    let Some((base, before)) = seen.base(tier) else {
        return Ok(Receipt::Moved(format!("{pull} is not merged: its base branch was not read")));
    };
    let wave = Wave { plugin, tier, version };
    let known = known(seen, action).filter(|known| known.asked().is_some_and(|asked| asked.head == *head));
    if let Some(why) = queue::taken_out(line, seen, action) {
        return refused(line, &wave, head, why, Refusal::No).await;
    }
    // What was asked for before and may still come is looked for from where the branch was then.
    let earlier = known.and_then(|known| known.asked()?.base.clone());
    let before = &earlier.unwrap_or_else(|| before.clone());
    let merging = Merging { head: head.clone(), at: now, base: Some(before.clone()), forced: forced.clone() };
    // What came to nothing before the call is the same intent still: it is not written once more.
    if !known.is_some_and(|known| is_intended(known, &merging))
        && let Some(receipt) = intend(line, wave.entry(Change::Merging(merging)), now).await?
    {
        return Ok(receipt);
    }
    let turn = line.context.repo.hub.turn_to_merge(*via).await?;
    let permit = match Permit::obtain(line, action).await? {
        Ok(permit) => permit,
        Err(No::Moved(why)) => return Ok(Receipt::Moved(format!("{pull} is not merged: {why}"))),
        Err(No::Unknown(why)) => return refused(line, &wave, head, why, Refusal::No).await,
        Err(No::Flawed(why)) => return refused(line, &wave, head, why, Refusal::Flawed).await,
    };
    let (number, head, via, good_until) = permit.terms();
    let title = seen.loaded.wiring.pulls.titled(&format!("{plugin} {version} → {tier} ({number})"));
    let message = message(action);
    // As they were just read for the permit.
    let demands = &line.context.memory.hub.known_demands(base);
    if demands.contains(&Demand::Queue) {
        let node = seen.pull(number).map_or("", |page| page.node.as_str());
        return match queue::enter(line, turn, (number, head), node, good_until).await? {
            Entered::Yes => {
                Ok(Receipt::Done(format!("put {number} into the merge queue, {plugin} {version} → {tier}")))
            }
            Entered::No(why) => refused(line, &wave, head, why, Refusal::No).await,
            Entered::Unknown(why) => unless_moved(line, &wave, (number, head), why, Refusal::Unanswered).await,
        };
    }
    let request = MergeRequest { number, head, via, title: &title, message: &message, good_until, demands };
    let (named, kind, said) = match line.context.repo.hub.merge(turn, &request).await {
        Ok(MergeAnswer::Merged { commit }) => {
            (Some(commit), Refusal::FalseYes, "the hub said that it merged it".to_string())
        }
        Ok(MergeAnswer::Indeterminate { why }) => {
            tracing::warn!(%number, %why, "the hub did not say whether it merged");
            (None, Refusal::Unanswered, format!("the hub did not say whether it merged it ({why})"))
        }
        Ok(MergeAnswer::HeadMoved) => {
            let why = "the hub said that its head had moved, and it has not".to_string();
            return unless_moved(line, &wave, (number, head), why, Refusal::No).await;
        }
        Ok(MergeAnswer::Refused { why }) => return refused(line, &wave, head, why, Refusal::No).await,
        Err(HubError::Stale { .. }) => {
            let why = "what it rests on was too old when it was about to be asked for".to_string();
            return refused(line, &wave, head, why, Refusal::No).await;
        }
        Err(error) => return Err(error.into()),
    };
    let asked = Asked { head: head.clone(), before: before.clone(), named };
    match proof::landing(line, base, &asked).await? {
        Landing::Proven { .. } => {
            tidy_up(line, &wave, asked.named.is_some()).await;
            Ok(Receipt::Done(format!("merged {number}, {plugin} {version} → {tier}")))
        }
        Landing::Absent => {
            let why = format!("{said}, and `{base}` has nothing of it");
            // What it did instead is looked at before anything else is asked for: the others go on at the next look.
            Ok(match unless_moved(line, &wave, (number, head), why, kind).await? {
                Receipt::Refused(why) => Receipt::Moved(why),
                other @ (Receipt::Noted(_) | Receipt::Done(_) | Receipt::Moved(_)) => other,
            })
        }
        Landing::Wrong { why } => Ok(Receipt::Moved(format!("{number} did not land as planned: {why}"))),
    }
}

/// What a merge is about.
struct Wave<'a> {
    plugin: &'a PluginName,
    tier: &'a TierName,
    version: &'a Version,
}

/// What the ledger has of the wave that is to be merged.
pub(super) fn known<'a>(seen: &'a Seen, action: &Action) -> Option<&'a decide::ledger::Wave> {
    let Action::Merge { plugin, tier, version, .. } = action else { return None };
    seen.snapshot.ledger.plugins.get(plugin)?.wave(tier, version)
}

impl Wave<'_> {
    fn entry(&self, change: Change) -> Entry {
        let (plugin, tier, version) = (self.plugin.clone(), self.tier.clone(), self.version.clone());
        Entry::Wave { plugin, tier, version, change }
    }
}

/// Whether the ledger has this intent, and nothing that came of it.
fn is_intended(known: &decide::ledger::Wave, merging: &Merging) -> bool {
    let since = |asked: &Merging| known.refused.as_ref().is_some_and(|refused| refused.at >= asked.at);
    let same = |asked: &Merging| Merging { at: asked.at, ..merging.clone() } == *asked;
    known.asked().is_some_and(|asked| same(asked) && !since(asked))
}

/// What did not come is refused, unless the hub shows that the world has moved: the next look decides anew then.
async fn unless_moved(
    line: &mut Line,
    wave: &Wave<'_>,
    (number, head): (PullNumber, &Sha),
    why: String,
    kind: Refusal,
) -> anyhow::Result<Receipt> {
    let stands = match line.context.repo.hub.pull(number).await {
        Ok(pull) => pull.head == *head && pull.state == HubState::Open,
        Err(error) => {
            tracing::warn!(%number, %error, "how it stands after a merge that did not come");
            true
        }
    };
    match stands {
        true => refused(line, wave, head, why, kind).await,
        false => Ok(Receipt::Moved(format!("{number} is not as it was, and nothing of it has come"))),
    }
}

/// Remembers why nothing came of it: it is left alone for a while, and the others go on.
async fn refused(line: &mut Line, wave: &Wave<'_>, head: &Sha, why: String, kind: Refusal) -> anyhow::Result<Receipt> {
    let now = clock::now();
    let change = Change::Refused { head: head.clone(), at: now, why: why.clone(), kind };
    if let Some(receipt) = intend(line, wave.entry(change), now).await? {
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

/// Takes the merged branch away, unless the hub does: where it did not say that it merged, it may not have noticed.
async fn tidy_up(line: &Line, wave: &Wave<'_>, said: bool) {
    if said && line.context.repo.repository.deletes_merged == Some(true) {
        return;
    }
    let name = branch(wave.plugin, wave.tier);
    if let Err(error) = line.context.repo.hub.delete_branch(&name).await {
        tracing::warn!(%name, %error, "the merged branch stays");
    }
}
