//! The head: ours, mergeable, every required check green on it. Absent is not passed. What people added to it people merge.

use alloc::string::String;
use alloc::vec::Vec;

use super::asked::AskedOpen;
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::plan::{Finding, Gate, Verdict};
use crate::snapshot::{CheckState, Mergeable, Pull, PullState, Read, RequiredCheck};
use crate::{Reason, hotfix};

/// The rule that has conversations resolved. They go on over another commit, so that no head is written anew before;
/// everything else is about the head as it is.
const CONVERSATIONS: &str = "pull_request";

pub(crate) fn finding(open: &AskedOpen<'_>) -> Finding {
    let pull = open.pull;
    let checks = match unready(open) {
        Ok(checks) => checks,
        Err(finding) => return finding,
    };
    // Checks of a head that is about to be written anew would be for nothing.
    match &pull.behind {
        Read::Known(false) => {}
        Read::Known(true) if open.status.added => return edited(pull),
        Read::Known(true) => return Finding::wait(Gate::Head, Reason::Behind { voids: pull.dismisses }),
        Read::Unread(why) => return Finding::unread(Gate::Head, "whether the branch is up to date", why),
    }
    let pending = names(checks, CheckState::Pending);
    let lacks = lacks(pull, |rule| rule != CONVERSATIONS);
    if !pending.is_empty() {
        Finding::wait(Gate::Head, Reason::ChecksPending { names: pending })
    } else if !lacks.is_empty() {
        Finding::wait(Gate::Head, Reason::RulesLack { what: lacks })
    } else if open.status.added {
        Finding::wait(Gate::Head, Reason::HeadAdded { head: pull.head.clone() })
    } else if checks.is_empty() {
        Finding::pass(Gate::Head, Reason::HeadOurs)
    } else {
        Finding::pass(Gate::Head, Reason::ChecksGreen)
    }
}

/// Its checks, as far as they have come; or what is wrong with a head, whichever base it stands on.
fn unready<'a>(open: &AskedOpen<'a>) -> Result<&'a [RequiredCheck], Finding> {
    let AskedOpen { wave, pull, status, .. } = *open;
    let now = open.facts.now;
    match pull.state {
        PullState::Open => {}
        PullState::Merged { .. } | PullState::Closed { .. } => {
            return Err(Finding::fail(Gate::Head, Reason::MergedElsewhere { version: wave.version.clone() }));
        }
    }
    if status.stale || status.outgrown {
        return Err(Finding::wait(Gate::Head, Reason::HeadStale { head: pull.head.clone() }));
    }
    if !(status.current || status.added) {
        return Err(edited(pull));
    }
    // What was refused because of its content is not asked for again, however long ago that was: it is written anew.
    let refused = wave.refused.as_ref().filter(|refused| refused.head == pull.head);
    if let Some(refused) = refused.filter(|refused| refused.anew || now < refused.until()) {
        let verdict = Verdict::Wait { until: Some(refused.until()).filter(|until| now < *until) };
        let because = Reason::MergeRefused { why: refused.why.clone(), anew: refused.anew };
        return Err(Finding::new(Gate::Head, verdict, because));
    }
    match pull.mergeable {
        Mergeable::Yes => {}
        Mergeable::Conflict if status.added => return Err(edited(pull)),
        Mergeable::Conflict => return Err(Finding::wait(Gate::Head, Reason::Conflict)),
        Mergeable::Unknown => return Err(Finding::new(Gate::Head, Verdict::Unknown, Reason::MergeabilityUnknown)),
    }
    let checks = match &pull.checks {
        Read::Known(checks) => checks,
        Read::Unread(why) => return Err(Finding::unread(Gate::Head, "the required checks", why)),
    };
    let failed = names(checks, CheckState::Failure);
    if !failed.is_empty() {
        return Err(Finding::wait(Gate::Head, Reason::ChecksFailed { names: failed }));
    }
    let talk = lacks(pull, |rule| rule == CONVERSATIONS);
    if talk.is_empty() { Ok(checks) } else { Err(Finding::wait(Gate::Head, Reason::RulesLack { what: talk })) }
}

/// Nobody but who pushed can bring it further.
fn edited(pull: &Pull) -> Finding {
    Finding::fail(Gate::Head, Reason::HeadEdited { head: pull.head.clone() })
}

/// What rules of this kind ask for and is not there.
fn lacks(pull: &Pull, of: impl Fn(&str) -> bool) -> Vec<String> {
    pull.lacks.iter().filter(|one| of(&one.rule)).map(|one| one.why.clone()).collect()
}

fn names(checks: &[RequiredCheck], state: CheckState) -> Vec<String> {
    checks.iter().filter(|check| check.state == state).map(|check| check.name.clone()).collect()
}

/// Whether a pull request lacks nothing but to contain its base branch.
pub(crate) fn lacks_only_its_base(open: &AskedOpen<'_>, findings: &[Finding]) -> bool {
    let mut others = findings.iter().filter(|finding| finding.gate != Gate::Head);
    let behind = open.pull.behind == Read::Known(true) && unready(open).is_ok();
    behind && others.all(|finding| finding.verdict.lets_through())
}

/// Whatever may merge waits, for an hour at most, for the pull request that was brought up to date before it: a merge
/// would put that one behind again. A hotfix does not wait.
pub(crate) fn let_pass(facts: &Facts<'_>, wave: &Wave, pull: &Pull, findings: &mut [Finding]) {
    let Some(first) = facts.shared.first.as_ref().filter(|first| first.pull != pull.number) else { return };
    let passes = findings.iter().all(|finding| finding.verdict.lets_through());
    let head = findings.iter_mut().find(|finding| finding.gate == Gate::Head);
    if let Some(head) = head.filter(|_| passes && !hotfix::is_one(facts, wave)) {
        let because = Reason::LetsPass { pull: first.pull };
        *head = Finding::new(Gate::Head, Verdict::Wait { until: Some(first.until) }, because);
    }
}

#[cfg(test)]
mod tests;
