//! A breaking step waits, on the first tier, for a person to acknowledge the migration notes.
//! Breaking is by number, or as the author marked it; the comparison of two charts is yet to come.

use alloc::vec::Vec;

use crate::desk::Desk;
use crate::ledger::Wave;
use crate::model::Tier;
use crate::plan::{Finding, Gate};
use crate::snapshot::{Command, CommandKind, Pull, Read};
use crate::{Person, Reason, Version};

pub(crate) fn finding(desk: &Desk<'_>, _tier: &Tier, wave: &Wave, pull: &Pull) -> Finding {
    let Some(from) = &wave.from else { return Finding::pass(Gate::Breaking, Reason::NotBreaking) };
    if !is_breaking(desk, from, &wave.version) {
        return Finding::pass(Gate::Breaking, Reason::NotBreaking);
    }
    // The word holds for the release: it is given once, on the pull request of whichever tier.
    let mut pulls: Vec<&Pull> = desk.facts.and_then(|facts| facts.pulls.known()).into_iter().flatten().collect();
    pulls.push(pull);
    match pulls.iter().flat_map(|pull| &pull.commands).find_map(|command| acknowledges(command, &wave.version)) {
        Some(by) => Finding::pass(Gate::Breaking, Reason::Acknowledged { by }),
        None => {
            let because = Reason::BreakingUnacknowledged { from: from.clone(), to: wave.version.clone() };
            Finding::wait(Gate::Breaking, because)
        }
    }
}

/// Whether the step is breaking by number or by its author's mark.
fn is_breaking(desk: &Desk<'_>, from: &Version, to: &Version) -> bool {
    let marked = |version: &Version| version > from && version <= to;
    to.breaks_after(from)
        || desk
            .releases()
            .is_ok_and(|releases| releases.iter().any(|release| release.marked_breaking && marked(&release.version)))
}

fn acknowledges(command: &Command, version: &Version) -> Option<Person> {
    match (&command.what, &command.allowed) {
        (CommandKind::Acknowledge { version: acknowledged }, Read::Known(true)) if acknowledged == version => {
            Some(command.by.clone())
        }
        _ => None,
    }
}
