//! The pauses between slices: a time after all that have moved were healthy, or until a person says
//! `/coldframe resume` on a pull request of this tier.

use jiff::Timestamp;

use crate::Reason;
use crate::desk::Desk;
use crate::ledger::Wave;
use crate::model::Tier;
use crate::plan::{Finding, Gate, Verdict};
use crate::slice::Portion;
use crate::snapshot::{Command, CommandKind, Read};

/// Whether the pauses between a landed slice and the portion after it are over, one after the other.
pub(crate) fn finding(desk: &Desk<'_>, tier: &Tier, wave: &Wave, next: &Portion) -> Finding {
    let Some(mut at) = wave.converged else { return Finding::pass(Gate::Hold, Reason::NotHeld) };
    let (from, to) = (wave.part.slice as usize + 1, next.part.slice as usize);
    let between = next.part.pauses.iter().take(to + 1).skip(from);
    for pause in between.flatten() {
        match pause {
            Some(length) => {
                at += *length;
                if desk.now < at {
                    let because = Reason::BetweenSlices { pause: *length };
                    return Finding::new(Gate::Hold, Verdict::Wait { until: Some(at) }, because);
                }
            }
            None => match resumed(desk, tier, at) {
                Some(said) => at = said,
                None => return Finding::wait(Gate::Hold, Reason::NeedsResume),
            },
        }
    }
    Finding::pass(Gate::Hold, Reason::NotHeld)
}

/// When somebody who may first said that it goes on, not before `since`. The hub's times have whole
/// seconds.
fn resumed(desk: &Desk<'_>, tier: &Tier, since: Timestamp) -> Option<Timestamp> {
    let says = |command: &&Command| {
        command.what == CommandKind::Resume
            && command.allowed == Read::Known(true)
            && command.at.as_second() >= since.as_second()
    };
    let pulls = desk.pulls(&tier.name)?;
    pulls.iter().flat_map(|pull| &pull.commands).filter(says).map(|command| command.at).min()
}
