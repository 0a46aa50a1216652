//! Whether the ledger can be believed, and what was merged by it was proved. A lost one delays; it never mis-promotes.

use crate::facts::Facts;
use crate::plan::{Finding, Gate, Verdict};
use crate::proof::Trouble;
use crate::snapshot::LedgerState;
use crate::{Reason, Sha};

/// What is asked about everything at once.
pub(crate) fn finding(facts: &Facts<'_>) -> Finding {
    match &facts.snapshot.ledger_state {
        LedgerState::Intact { .. } => match facts.shared.proofs.trouble() {
            None => Finding::pass(Gate::Ledger, Reason::LedgerIntact),
            Some(Trouble::Stopped(why)) => Finding::fail(Gate::Ledger, why),
            Some(Trouble::Waits(why)) => Finding::new(Gate::Ledger, Verdict::Unknown, why),
        },
        LedgerState::Lost { cited, .. } => {
            let cited = cited.last().cloned().unwrap_or_else(|| Sha::new(""));
            Finding::fail(Gate::Ledger, Reason::LedgerLost { cited })
        }
        LedgerState::Unread(why) => Finding::unread(Gate::Ledger, "the ledger branch", why),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::snapshot::{Command, CommandKind, Read, Snapshot};
    use crate::testing::*;
    use alloc::vec;

    #[test]
    fn a_ledger_that_cannot_be_believed_stops_everything() {
        let lost = |world: &mut Snapshot| {
            world.ledger_state = LedgerState::Lost { cited: vec!["0123456789".into()], tip: None };
        };
        table(
            Gate::Ledger,
            ready,
            &[
                ("rolled back", lost, Verdict::Fail, "the ledger branch has lost commit 0123456"),
                (
                    "unread",
                    |w| w.ledger_state = LedgerState::Unread("503".into()),
                    Verdict::Unknown,
                    "the ledger branch could not be read",
                ),
            ],
        );
    }

    #[test]
    fn a_person_who_may_gives_up_what_was_lost() {
        let asked = |cited: &str, allowed: bool| {
            let mut world = ready();
            let cited_commits = vec!["0123456789".into(), "9876543210".into()];
            world.ledger_state = LedgerState::Lost { cited: cited_commits, tip: None };
            edit(&mut world, |pull| {
                let what = CommandKind::Rebuild { cited: cited.into() };
                pull.commands = vec![Command { by: "maria".into(), at: ago(5), what, allowed: Read::Known(allowed) }];
            });
            crate::plan(&world, noon())
        };
        let plan = asked("9876543", true);
        assert_eq!(plan.entries.len(), 2, "one word gives up all that is lost: {:?}", plan.entries);
        assert!(plan.actions.is_empty(), "nothing is done before the rebuild is in the ledger");
        let report = plan.waves.iter().find(|wave| wave.tier.as_str() == "bronze");
        assert_eq!(
            report.and_then(|wave| wave.pull),
            Some(crate::PullNumber(7)),
            "the reason stands on the pull request"
        );
        let mut forgotten = ready();
        forgotten.ledger = crate::Ledger::default();
        forgotten.ledger_state = LedgerState::Lost { cited: vec!["0123456789".into()], tip: None };
        let report = crate::plan(&forgotten, noon()).waves.into_iter().find(|wave| wave.tier.as_str() == "bronze");
        assert_eq!(report.and_then(|wave| wave.pull), Some(crate::PullNumber(7)), "even where nothing is remembered");
        assert!(asked("9876543", false).entries.is_empty(), "who may not gives nothing up");
        assert!(asked("0123456", true).entries.is_empty(), "a word about an earlier loss is none about this one");
        assert!(asked("fffffff", true).entries.is_empty(), "another commit is not this one");
    }
}
