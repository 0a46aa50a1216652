//! Carries out what was planned, in order, until the world moves; what is refused keeps nothing else back. What to do
//! is decided in `decide`; what people read about it is written in `tell`.

mod answers;
mod changes;
mod edited;
mod install;
pub mod line;
mod merge;
mod notice;
pub mod notify;
mod permit;
mod promote;
mod proof;
mod publish;
mod verify;

use std::fmt;

use decide::plan::{Action, Plan, Proposal, Record, Urgency};
use decide::{PluginName, TierName};
use jiff::Timestamp;

use crate::ledger::Appended;
use crate::observe::Seen;
pub use edited::edited;
pub use line::Line;

/// What became of one planned thing.
#[derive(Clone, Debug, PartialEq)]
pub enum Receipt {
    /// Entries are on the ledger branch.
    Noted(String),
    /// It is done.
    Done(String),
    /// The world moved: nothing was changed, the next look decides anew.
    Moved(String),
    /// It was refused for a reason that a person has to see.
    Refused(String),
}

impl Receipt {
    /// Whether the world is different now, so that another look is due at once.
    pub fn changed(&self) -> bool {
        match self {
            Self::Noted(_) | Self::Done(_) | Self::Moved(_) => true,
            Self::Refused(_) => false,
        }
    }

    /// Why it was refused.
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Self::Refused(why) => Some(why),
            Self::Noted(_) | Self::Done(_) | Self::Moved(_) => None,
        }
    }

    /// A refusal says what was not done.
    fn about(self, proposal: &Proposal, done: &str) -> Self {
        let Proposal { plugin, tier, to, .. } = proposal;
        match self {
            Self::Refused(why) => Self::Refused(format!("{plugin} {to} → {tier} is not {done}: {why}")),
            other @ (Self::Noted(_) | Self::Done(_) | Self::Moved(_)) => other,
        }
    }

    /// Whether it is about the ledger and not about a planned action.
    pub fn is_note(&self) -> bool {
        matches!(self, Self::Noted(_))
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noted(what) => write!(f, "noted: {what}"),
            Self::Done(what) => write!(f, "done: {what}"),
            Self::Moved(what) => write!(f, "not done, the world moved: {what}"),
            Self::Refused(what) => write!(f, "refused: {what}"),
        }
    }
}

/// Remembers first, then tells, then acts. An entry that another writer fenced off ends it before anything is
/// done: what was planned rests on a ledger that is no more.
pub async fn carry_out(line: &mut Line, seen: &Seen, plan: &Plan, now: Timestamp) -> anyhow::Result<Vec<Receipt>> {
    let mut receipts = Vec::new();
    match remember(line, plan.entries.clone(), now).await? {
        Appended::Nothing | Appended::Waiting => {}
        Appended::Pushed { tip } => receipts.push(Receipt::Noted(format!("the ledger is at {}", tip.short()))),
        Appended::Fenced => return Ok(vec![fenced()]),
    }
    // Before anything is merged: branch rules may require our own check.
    publish::publish(line, seen, plan, now).await;
    for action in &plan.actions {
        let receipt = one(line, seen, plan, action, now).await?;
        tracing::info!(repository = %line.context.repo.full_name(), %receipt, "acted");
        let goes_on = match &receipt {
            // What is refused is that pull request's matter alone: else a branch that somebody calls as we would call ours
            // stopped all others for good.
            Receipt::Done(_) | Receipt::Refused(_) => true,
            Receipt::Noted(_) | Receipt::Moved(_) => false,
        };
        receipts.push(receipt);
        if !goes_on {
            break;
        }
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

/// Writes entries to the ledger branch.
async fn remember(line: &mut Line, records: Vec<Record>, now: Timestamp) -> anyhow::Result<Appended> {
    if records.is_empty() && line.context.repo.ledger.is_none() {
        // It could not be read; people are told so all the same.
        return Ok(Appended::Nothing);
    }
    line.context.repo.with_ledger(move |branch, store, access| branch.append(store, access, &records, now)).await
}

/// Writes one transition that an effect rests on.
async fn intend(line: &mut Line, entry: decide::Entry, now: Timestamp) -> anyhow::Result<Option<Receipt>> {
    let record = Record { entry, urgency: Urgency::Transition };
    Ok(match remember(line, vec![record], now).await? {
        Appended::Fenced => Some(fenced()),
        Appended::Nothing | Appended::Waiting | Appended::Pushed { .. } => None,
    })
}

fn fenced() -> Receipt {
    Receipt::Moved("another writer moved the ledger branch".to_string())
}

/// The branch of a plugin on a tier; built from names that the policy's reader has checked.
pub fn branch(plugin: &PluginName, tier: &TierName) -> String {
    format!("coldframe/{plugin}/{tier}")
}

/// Entries for outages of the hub that are over.
pub fn outages(over: &mut Vec<decide::ledger::Outage>) -> Vec<Record> {
    let records =
        over.drain(..).map(|outage| Record { entry: decide::Entry::Outage(outage), urgency: Urgency::Transition });
    records.collect()
}
