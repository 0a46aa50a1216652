//! The head: ours and unedited, mergeable, every required check green on it. Absent is not passed.

use alloc::string::String;
use alloc::vec::Vec;

use super::Standing;
use crate::Reason;
use crate::ledger::Wave;
use crate::plan::{Finding, Gate, Verdict};
use crate::snapshot::{CheckState, Mergeable, Pull, PullState, Read};

pub(crate) fn finding(wave: &Wave, pull: &Pull, standing: &Standing) -> Finding {
    match pull.state {
        PullState::Open => {}
        PullState::Merged { .. } | PullState::Closed { .. } => {
            return Finding::fail(Gate::Head, Reason::MergedElsewhere { version: wave.version.clone() });
        }
    }
    if standing.stale {
        return Finding::wait(Gate::Head, Reason::HeadStale { head: pull.head.clone() });
    }
    if !standing.current {
        return Finding::fail(Gate::Head, Reason::HeadEdited { head: pull.head.clone() });
    }
    match pull.mergeable {
        Mergeable::Yes => {}
        Mergeable::Conflict => return Finding::wait(Gate::Head, Reason::Conflict),
        Mergeable::Unknown => return Finding::new(Gate::Head, Verdict::Unknown, Reason::MergeabilityUnknown),
    }
    let checks = match &pull.checks {
        Read::Known(checks) => checks,
        Read::Unread(why) => return Finding::unread(Gate::Head, "the required checks", why),
    };
    let named = |state: CheckState| -> Vec<String> {
        checks.iter().filter(|check| check.state == state).map(|check| check.name.clone()).collect()
    };
    let (failed, pending) = (named(CheckState::Failure), named(CheckState::Pending));
    if !failed.is_empty() {
        Finding::wait(Gate::Head, Reason::ChecksFailed { names: failed })
    } else if !pending.is_empty() {
        Finding::wait(Gate::Head, Reason::ChecksPending { names: pending })
    } else if checks.is_empty() {
        Finding::pass(Gate::Head, Reason::HeadOurs)
    } else {
        Finding::pass(Gate::Head, Reason::ChecksGreen)
    }
}
