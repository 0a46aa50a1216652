//! Carries out what was planned, in order, until the world moves; what is refused keeps nothing else back. What to do
//! is decided in `decide`; what people read about it is written in `tell`.

mod answers;
mod changes;
mod commit;
pub mod dashboard;
mod edited;
mod groups;
mod install;
mod intent;
pub mod line;
mod merge;
mod notice;
pub mod notify;
mod opened;
mod other_pulls;
mod permit;
mod promote;
mod proof;
mod publish;
mod queue;
mod receipt;
mod verify;

use decide::plan::{Action, Plan, Record, Urgency};
use jiff::Timestamp;

use crate::ledger::Appended;
use crate::observe::Seen;
pub use edited::edited;
pub use intent::branch;
use intent::remember;
pub use line::Line;
pub use receipt::Receipt;

/// Remembers first, then tells, then acts. An entry that another writer fenced off ends it before anything is
/// done: what was planned rests on a ledger that is no more.
pub async fn carry_out(line: &mut Line, seen: &Seen, plan: &Plan, now: Timestamp) -> anyhow::Result<Vec<Receipt>> {
    let mut receipts = Vec::new();
    match remember(line, plan.entries.clone(), now).await? {
        Appended::Nothing | Appended::Waiting => {}
        Appended::Pushed { tip } => receipts.push(Receipt::Noted(format!("the ledger is at {}", tip.short()))),
        Appended::Fenced => return Ok(vec![receipt::fenced()]),
    }
    // First of all: the hub may merge it at any moment.
    receipts.extend(queue::leave(line, seen, plan).await);
    // Before anything is merged: branch rules may require our own check.
    publish::publish(line, seen, plan, now).await;
    other_pulls::publish(line, seen, now).await;
    groups::publish(line, seen, plan, now).await;
    let mut refused = false;
    for action in &plan.actions {
        if queue::has(seen, action) {
            receipts.extend(queue::renew(line, seen, action, now).await?);
            continue;
        }
        let receipt = one(line, seen, plan, action, now).await?;
        tracing::info!(repository = %line.context.repo.full_name(), %receipt, "acted");
        let goes_on = match &receipt {
            // What is refused is that pull request's matter alone: else a branch that somebody calls as we would call ours
            // stopped all others for good.
            Receipt::Done(_) | Receipt::Refused(_) => true,
            Receipt::Noted(_) | Receipt::Moved(_) => false,
        };
        refused |= matches!((action, &receipt), (Action::Merge { .. }, Receipt::Refused(_)));
        receipts.push(receipt);
        if !goes_on {
            break;
        }
    }
    // The next look says so on the pull request.
    if refused {
        receipts.push(Receipt::Noted("why it was not merged is in the ledger".to_string()));
    }
    Ok(receipts)
}

async fn one(line: &mut Line, seen: &Seen, plan: &Plan, action: &Action, now: Timestamp) -> anyhow::Result<Receipt> {
    match action {
        Action::Open(proposal) => {
            let receipt = promote::open(line, seen, plan, proposal, now).await?;
            Ok(receipt.about(proposal, "opened"))
        }
        Action::Update { pull, head, proposal } => {
            let receipt = promote::update(line, seen, plan, (*pull, head), proposal, now).await?;
            Ok(receipt.about(proposal, "written anew"))
        }
        Action::Merge { .. } => merge::merge(line, seen, action, now).await,
        Action::Close { plugin, tier, pull, .. } => {
            line.context.repo.hub.close_pull(*pull).await?;
            Ok(Receipt::Done(format!("closed {pull}, {plugin} → {tier}")))
        }
        Action::Dispatch { .. } => verify::dispatch(line, action, now).await,
        Action::Notice { .. } => notice::give(line, seen, plan, action, now).await,
    }
}

/// Entries for outages of the hub that are over.
pub fn outages(over: &mut Vec<decide::ledger::Outage>) -> Vec<Record> {
    let records =
        over.drain(..).map(|outage| Record { entry: decide::Entry::Outage(outage), urgency: Urgency::Transition });
    records.collect()
}
