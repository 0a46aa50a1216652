//! Merges one pull request: intent with its evidence first, then a second look, then the hub's own
//! compare-and-set. Whether it happened is settled by looking, never by the answer alone.

use decide::ledger::{Change, Entry, Merging};
use decide::plan::Action;
use jiff::Timestamp;

use super::permit::Permit;
use super::{Receipt, branch, intend};
use crate::hub::MergeAnswer;
use crate::rooms::Rooms;

pub(super) async fn merge(rooms: &mut Rooms, action: &Action, now: Timestamp) -> anyhow::Result<Receipt> {
    let Action::Merge { plugin, tier, version, head, forced, pull, .. } = action else {
        return Ok(Receipt::Refused("only a merge can be merged".to_string()));
    };
    let merging = Merging { head: head.clone(), at: now, forced: forced.clone() };
    let entry = Entry::Wave {
        plugin: plugin.clone(),
        tier: tier.clone(),
        version: version.clone(),
        change: Change::Merging(merging),
    };
    if let Some(receipt) = intend(rooms, entry, now).await? {
        return Ok(receipt);
    }
    let permit = match Permit::obtain(rooms, action).await? {
        Ok(permit) => permit,
        Err(why) => return Ok(Receipt::Moved(format!("{pull} is not merged: {why}"))),
    };
    let (number, head, via) = permit.terms();
    let title = format!("{plugin} {version} → {tier} ({number})");
    let message = match permit {
        Permit::Merge(_) => String::new(),
        Permit::Force(_) => match forced.as_ref().and_then(|evidence| evidence.said.as_ref()) {
            Some(said) => format!("Merged without the missing approvals, as {} said.", said.by),
            None => "Merged without the missing approvals: the grace period is over.".to_string(),
        },
    };
    Ok(match rooms.hub.merge(via, number, head, &title, &message).await? {
        MergeAnswer::Merged { .. } => {
            let name = branch(plugin, tier);
            if let Err(error) = rooms.hub.delete_branch(&name).await {
                tracing::warn!(%name, %error, "the merged branch stays");
            }
            Receipt::Done(format!("merged {number}, {plugin} {version} → {tier}"))
        }
        MergeAnswer::HeadMoved => Receipt::Moved(format!("the head of {number} moved")),
        MergeAnswer::Refused { why } => Receipt::Refused(format!("the hub did not merge {number}: {why}")),
        MergeAnswer::Indeterminate { why } => {
            Receipt::Moved(format!("the hub did not say whether it merged {number}: {why}"))
        }
    })
}
