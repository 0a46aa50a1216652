//! Whether the ledger can be believed. A lost one delays; it never mis-promotes.

use crate::desk::Desk;
use crate::plan::{Finding, Gate};
use crate::snapshot::LedgerState;
use crate::{Reason, Sha};

pub(crate) fn finding(desk: &Desk<'_>) -> Finding {
    match &desk.snapshot.ledger_state {
        LedgerState::Intact { .. } => Finding::pass(Gate::Ledger, Reason::LedgerIntact),
        LedgerState::Lost { cited, .. } => {
            let cited = cited.last().cloned().unwrap_or_else(|| Sha::new(""));
            Finding::fail(Gate::Ledger, Reason::LedgerLost { cited })
        }
        LedgerState::Unread(why) => Finding::unread(Gate::Ledger, "the ledger branch", why),
    }
}
