//! Carries out what was planned, in order, until the world moves; what is refused keeps nothing else back. What to do
//! is decided in `decide`; what people read about it is written in `tell`.

mod answers;
mod changes;
mod commit;
pub mod dashboard;
mod edited;
mod groups;
mod heads;
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
mod tasks;
mod verify;

use decide::plan::{Action, Plan, Proposal, Record, Urgency};
use decide::{PluginName, TierName};
use jiff::Timestamp;
use tracing::Span;

use crate::ledger::Appended;
use crate::observe::Seen;
use crate::trace;
pub use edited::edited;
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
    line.memory.refused.retain(|key, _| plan.actions.iter().any(|action| opens(action, key)));
    let (mut refused, mut rest) = (false, plan.actions.as_slice());
    while let Some((action, after)) = rest.split_first() {
        // What is opened together has a span for each.
        let span = if let Action::Open(_) = action { Span::none() } else { trace::action(action) };
        if queue::has(seen, action) {
            receipts.extend(trace::within(span, queue::renew(line, seen, action, now)).await?);
            rest = after;
            continue;
        }
        let became;
        (became, rest) = trace::within(span, next(line, seen, plan, (action, rest), now)).await?;
        for receipt in &became {
            refused |= matches!((action, receipt), (Action::Merge { .. }, Receipt::Refused(_)));
        }
        let goes_on = became.iter().all(Receipt::goes_on);
        receipts.extend(became);
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

/// Does the first of what is left, and what is opened together with it; with what is left then.
async fn next<'a>(
    line: &mut Line,
    seen: &Seen,
    plan: &Plan,
    (action, left): (&Action, &'a [Action]),
    now: Timestamp,
) -> anyhow::Result<(Vec<Receipt>, &'a [Action])> {
    let receipt = match action {
        Action::Open(_) => {
            let opening = opening(left);
            let receipts = promote::open(line, seen, plan, &opening, now).await?;
            for (receipt, (_, span)) in receipts.iter().zip(&opening) {
                span.in_scope(|| say(line, receipt));
            }
            return Ok((receipts, &left[opening.len()..]));
        }
        Action::Update { pull, head, proposal } => {
            let receipt = promote::update(line, seen, plan, (*pull, head), proposal, now).await?;
            receipt.about(proposal, "written anew")
        }
        Action::Merge { .. } => merge::merge(line, seen, action, now).await?,
        Action::Close { plugin, tier, pull, .. } => {
            line.context.repo.hub.close_pull(*pull).await?;
            Receipt::Done(format!("closed {pull}, {plugin} → {tier}"))
        }
        Action::Dispatch { .. } => verify::dispatch(line, action, now).await?,
        Action::Notice { .. } => notice::give(line, seen, plan, action, now).await?,
    };
    say(line, &receipt);
    Ok((vec![receipt], &left[1..]))
}

fn say(line: &Line, receipt: &Receipt) {
    trace::acted(&line.context.repo.full_name(), receipt, receipt.refusal().is_some());
}

fn opens(action: &Action, (plugin, tier): &(PluginName, TierName)) -> bool {
    matches!(action, Action::Open(proposal) if proposal.plugin == *plugin && proposal.tier == *tier)
}

/// What is opened together: the first of these, up to where something else comes.
fn opening(actions: &[Action]) -> Vec<(&Proposal, Span)> {
    let proposals = actions
        .iter()
        .map_while(|action| if let Action::Open(one) = action { Some((one, trace::action(action))) } else { None });
    proposals.take(promote::TOGETHER).collect()
}

/// Entries for outages of the hub that are over.
pub fn outages(over: &mut Vec<decide::ledger::Outage>) -> Vec<Record> {
    let records =
        over.drain(..).map(|outage| Record { entry: decide::Entry::Outage(outage), urgency: Urgency::Transition });
    records.collect()
}
