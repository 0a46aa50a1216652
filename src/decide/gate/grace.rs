//! The grace period: notices, the deadline, and the merge without the missing approvals. Force
//! waives approvals only (policy, section 6).

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use super::{Standing, approvals};
use crate::desk::Desk;
use crate::ledger::{ForceEvidence, Grace, Ledger, PluginLedger, Wave};
use crate::model::{Force, Merge, Tier};
use crate::plan::{Action, Finding, Gate, Verdict};
use crate::snapshot::{LedgerGuard, LedgerState, Pull, PullState};
use crate::{PullNumber, Reason, TierName};

/// How far the clocks may differ before nothing is forced (design: invariant S8).
const MOST_SKEW: SignedDuration = SignedDuration::from_secs(30);

/// From when a clock that is already running on this pull request counts: the clock belongs to the
/// plugin and the tier, a newer release that moved the pull request does not restart it.
pub(crate) fn carried(page: &PluginLedger, tier: &TierName, pull: PullNumber) -> Option<Timestamp> {
    let waves = page.tiers.get(tier)?.iter().rev();
    waves
        .filter(|wave| wave.pull.as_ref().is_some_and(|announced| announced.number == pull))
        .find_map(|wave| Some(wave.grace.as_ref()?.since))
}

/// The latest of what was announced, start and period without the hub's outages, and each notice
/// with its distance. It never moves earlier.
pub(crate) fn deadline(grace: &Grace, force: &Force, ledger: &Ledger, now: Timestamp) -> Timestamp {
    let out = ledger.outages.iter().fold(SignedDuration::ZERO, |sum, outage| {
        let (from, to) = (outage.from.max(grace.since), outage.to.min(now));
        if to > from { sum + to.duration_since(from) } else { sum }
    });
    let told = grace.notices.iter().map(|notice| notice.at + notice.before);
    told.chain([grace.deadline, grace.since + force.after + out]).max().unwrap_or(grace.deadline)
}

/// Adds what the grace period says to the findings of an open pull request; sends the next notice
/// when it is due; waives the approvals when every condition holds.
pub(crate) fn consider(
    desk: &mut Desk<'_>,
    tier: &Tier,
    wave: &Wave,
    pull: &Pull,
    standing: &Standing,
    findings: &mut Vec<Finding>,
) -> Option<ForceEvidence> {
    let at = findings.iter().position(|finding| finding.gate == Gate::Approvals)?;
    if findings[at].verdict.lets_through() || tier.merge.of(wave.from.as_ref(), &wave.version) != Merge::Approved {
        return None;
    }
    let (Some(force), Some(grace)) = (&tier.force, &wave.grace) else {
        findings.push(Finding::pass(Gate::Grace, Reason::GraceOff));
        return None;
    };
    if let Some(before) = next_notice(force, grace) {
        if pull.state == PullState::Open && standing.current {
            give_notice(desk, tier, wave, pull, grace, before);
        }
        findings.push(running(grace.deadline.max(desk.now + before), grace.deadline));
        return None;
    }
    if desk.now < grace.deadline {
        findings.push(running(grace.deadline, grace.deadline));
        return None;
    }
    if let Some(by) = blocker(desk, pull) {
        findings.push(Finding::wait(Gate::Grace, Reason::ForceBlocked { by: Box::new(by) }));
        return None;
    }
    let waived = findings[at].because.to_string();
    findings[at].verdict = Verdict::Waived { since: grace.deadline };
    findings.push(Finding::pass(Gate::Grace, Reason::GraceOver { deadline: grace.deadline }));
    let held = findings.iter().filter(|finding| finding.verdict == Verdict::Pass);
    Some(ForceEvidence {
        deadline: grace.deadline,
        notices: grace.notices.clone(),
        held: held.map(|finding| alloc::format!("{}: {}", finding.gate, finding.because)).collect(),
        waived,
        policy: desk.snapshot.policy_commit.clone(),
    })
}

fn running(until: Timestamp, deadline: Timestamp) -> Finding {
    Finding::new(Gate::Grace, Verdict::Wait { until: Some(until) }, Reason::GraceRunning { deadline })
}

/// The first notice that has not gone out; they go out in the order of the file, one after another.
fn next_notice(force: &Force, grace: &Grace) -> Option<SignedDuration> {
    force.notice.iter().copied().find(|before| !grace.notices.iter().any(|sent| sent.before == *before))
}

fn give_notice(desk: &mut Desk<'_>, tier: &Tier, wave: &Wave, pull: &Pull, grace: &Grace, before: SignedDuration) {
    let due = grace.deadline - before;
    if desk.now < due {
        desk.wake(due, Reason::NoticeDue { before });
        return;
    }
    let action = Action::Notice {
        plugin: desk.plugin().clone(),
        tier: tier.name.clone(),
        version: wave.version.clone(),
        pull: pull.number,
        before,
        deadline: grace.deadline.max(desk.now + before),
    };
    desk.act(action);
    desk.look_again();
}

/// What keeps force off although the deadline has passed. Everything else that it must not waive
/// (window, freeze, tier below, head, hold, breaking, limits) is a gate of its own.
fn blocker(desk: &Desk<'_>, pull: &Pull) -> Option<Reason> {
    if let Some(why) = &desk.snapshot.policy_problem {
        return Some(Reason::PolicyBroken { why: why.clone() });
    }
    let by = approvals::objections(pull);
    if !by.is_empty() {
        return Some(Reason::ChangesRequested { by });
    }
    let open = |why: &str| Some(Reason::LedgerOpen { why: why.to_string() });
    match &desk.snapshot.ledger_state {
        LedgerState::Intact { guarded: LedgerGuard::BotsOnly } => {}
        LedgerState::Intact { guarded: LedgerGuard::Open(why) | LedgerGuard::Unread(why) } => return open(why),
        LedgerState::Lost { .. } | LedgerState::Unread(_) => return open("the ledger cannot be believed"),
    }
    if desk.snapshot.hub.skew.abs() > MOST_SKEW {
        return Some(Reason::ClockSkew { skew: desk.snapshot.hub.skew });
    }
    (approvals::review_missing(pull) && !desk.snapshot.hub.bypass).then_some(Reason::BypassMissing)
}
