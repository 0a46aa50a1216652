//! Which commits of the bot a person's word is a word about. Whose word counts is in `approvals` and `said`.

use super::approvals::open_ledger;
use crate::facts::Facts;
use crate::ledger::{Head, Wave};
use crate::snapshot::Pull;

/// The commits of which a word is a word about what the pull request holds: its head, and those before it that were
/// only brought up to date since, where nobody else could have written that into the ledger. None where the head is
/// not the wave's.
pub(crate) fn same<'w>(facts: &Facts<'_>, wave: &'w Wave, pull: &Pull) -> impl Iterator<Item = &'w Head> + use<'w> {
    let current = wave.head().is_some_and(|head| head.commit == pull.head);
    let most = match (current, open_ledger(facts)) {
        (false, _) => 0,
        (true, Some(_)) => 1,
        (true, None) => usize::MAX,
    };
    wave.alike().take(most)
}
