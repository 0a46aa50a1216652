//! What is written to the ledger branch before the hub is asked for anything.

use decide::plan::{Record, Urgency};
use jiff::Timestamp;

use super::line::Line;
use super::receipt::{Receipt, fenced};
use crate::ledger::Appended;

/// Writes one transition that an effect rests on.
pub(super) async fn intend(line: &mut Line, entry: decide::Entry, now: Timestamp) -> anyhow::Result<Option<Receipt>> {
    let record = Record { entry, urgency: Urgency::Transition };
    Ok(match remember(line, vec![record], now).await? {
        Appended::Fenced => Some(fenced()),
        Appended::Nothing | Appended::Waiting | Appended::Pushed { .. } => None,
    })
}

/// Writes entries to the ledger branch.
pub(super) async fn remember(line: &mut Line, records: Vec<Record>, now: Timestamp) -> anyhow::Result<Appended> {
    if records.is_empty() && line.context.repo.ledger.is_none() {
        // It could not be read; people are told so all the same.
        return Ok(Appended::Nothing);
    }
    line.context.repo.with_ledger(move |branch, store, access| branch.append(store, access, &records, now)).await
}
