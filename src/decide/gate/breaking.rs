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
pub(crate) fn is_breaking(desk: &Desk<'_>, from: &Version, to: &Version) -> bool {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::plan::Verdict;
    use crate::snapshot::{Release, Snapshot};
    use crate::testing::*;
    use alloc::vec;

    fn say(world: &mut Snapshot, to: &str, allowed: Read<bool>) {
        let what = CommandKind::Acknowledge { version: version(to) };
        edit(world, |pull| pull.commands = vec![Command { by: "maria".into(), at: ago(5), what, allowed }]);
    }

    fn mark(world: &mut Snapshot) {
        let marked = Release { marked_breaking: true, ..release("1.1.0") };
        facts(world).releases = Read::Known(vec![release("1.0.0"), marked]);
    }

    #[test]
    fn a_breaking_step_waits_for_the_right_word() {
        table(
            Gate::Breaking,
            ready,
            &[
                ("a minor step", |_| {}, Verdict::Pass, "not a breaking step"),
                ("marked by its author", mark, WAIT, "1.0.0 to 1.1.0 may break"),
                (
                    "acknowledged",
                    |w| {
                        mark(w);
                        say(w, "1.1.0", Read::Known(true));
                    },
                    Verdict::Pass,
                    "maria acknowledged",
                ),
                (
                    "acknowledged for another version",
                    |w| {
                        mark(w);
                        say(w, "1.2.0", Read::Known(true));
                    },
                    WAIT,
                    "1.0.0 to 1.1.0",
                ),
                (
                    "by somebody who may not",
                    |w| {
                        mark(w);
                        say(w, "1.1.0", Read::Known(false));
                    },
                    WAIT,
                    "1.0.0 to 1.1.0",
                ),
                (
                    "by somebody whose rights are not known",
                    |w| {
                        mark(w);
                        say(w, "1.1.0", Read::Unread("503".into()));
                    },
                    WAIT,
                    "1.0.0 to 1.1.0",
                ),
            ],
        );
    }

    #[test]
    fn numbers_that_break() {
        for (from, to, breaks) in
            [("1.9.0", "2.0.0", true), ("0.3.1", "0.4.0", true), ("0.3.1", "0.3.2", false), ("1.1.0", "1.2.0", false)]
        {
            assert_eq!(version(to).breaks_after(&version(from)), breaks, "{from} to {to}");
        }
    }
}
