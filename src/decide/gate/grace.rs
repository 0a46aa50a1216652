//! The grace period: notices, the deadline, and the merge without the missing approvals. Force
//! waives approvals only (policy, section 6).

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use super::asked::PullStatus;
use super::{approvals, force_command, freeze};
use crate::facts::Facts;
use crate::ledger::{ForceEvidence, Grace, Ledger, PluginLedger, Wave};
use crate::model::{Force, Merge, Tier};
use crate::plan::{Action, Alarm, Finding, Gate, Verdict};
use crate::snapshot::{Pull, PullState, Read};
use crate::{PullNumber, Reason, TierName, expiry, slice};

/// How long the hub may not show a notice that was just given. One that it does not show then was not given.
const LAG: SignedDuration = SignedDuration::from_mins(1);
/// How far the clocks may differ before nothing is forced.
const MOST_SKEW: SignedDuration = SignedDuration::from_secs(30);

/// From when a clock that is already running on this pull request counts: the clock belongs to the
/// plugin and the tier, a newer release that moved the pull request does not restart it; and the
/// deadline that was announced for it, which the newer release does not move earlier either.
pub(crate) fn inherited(page: &PluginLedger, tier: &TierName, pull: PullNumber) -> Option<(Timestamp, Timestamp)> {
    let waves = page.tiers.get(tier)?.iter().rev();
    waves
        .filter(|wave| wave.pull.as_ref().is_some_and(|announced| announced.number == pull))
        .find_map(|wave| wave.grace.as_ref().map(|grace| (grace.since, grace.deadline)))
}

/// The latest of what was announced, start and period without the hub's outages, and each notice
/// with its distance. It never moves earlier.
pub(crate) fn deadline(grace: &Grace, force: &Force, ledger: &Ledger, now: Timestamp) -> Timestamp {
    // Two processes may have noted the same outage: no time counts twice.
    let mut outages: Vec<_> = ledger.outages.iter().map(|outage| (outage.from, outage.to.min(now))).collect();
    outages.sort();
    let (mut out, mut counted) = (SignedDuration::ZERO, grace.since);
    for (from, to) in outages {
        out += to.duration_since(from.max(counted)).max(SignedDuration::ZERO);
        counted = counted.max(to);
    }
    let told = grace.notices.iter().map(|notice| notice.at + notice.before);
    told.chain([grace.deadline, grace.since + force.after + out]).max().unwrap_or(grace.deadline)
}

/// What comes of a grace period, or of what people say, for an open pull request.
#[derive(Default)]
pub(crate) struct Considered {
    /// That it may be merged without the approvals that it lacks.
    pub forced: Option<ForceEvidence>,
    /// The notice that is due.
    pub notice: Option<Action>,
    pub alarms: Vec<Alarm>,
}

/// Adds what the grace period and people say to the findings of an open pull request; names the next notice
/// when it is due; waives the approvals when every condition holds.
pub(crate) fn consider(
    facts: &Facts<'_>,
    tier: &Tier,
    wave: &Wave,
    pull: &Pull,
    status: &PullStatus,
    findings: &mut Vec<Finding>,
) -> Considered {
    let lacks = |finding: &Finding| finding.gate == Gate::Approvals && !finding.verdict.lets_through();
    // What people added to is merged by people, and by nobody without the approvals.
    if status.added || !findings.iter().any(lacks) {
        return Considered::default();
    }
    // Nothing forces a way back.
    let forcible = wave.rolls_back().is_none() && approvals::rule(tier, wave) == Merge::Approved;
    let over = if forcible { when_over(facts, tier, wave, pull, status, findings) } else { Considered::default() };
    let forced = over.forced.or_else(|| force_command::consider(facts, tier, wave, pull, findings));
    Considered { forced, ..over }
}

/// Waives the approvals when the grace period is over.
fn when_over(
    facts: &Facts<'_>,
    tier: &Tier,
    wave: &Wave,
    pull: &Pull,
    status: &PullStatus,
    findings: &mut Vec<Finding>,
) -> Considered {
    let Some(grace) = &wave.grace else {
        findings.push(Finding::pass(Gate::Grace, Reason::GraceOff));
        return Considered::default();
    };
    let Some(force) = expiry::force(facts, tier, wave, grace.since) else {
        findings.push(Finding::pass(Gate::Grace, Reason::GraceOff));
        return Considered::default();
    };
    if let Some(before) = next_notice(&force, grace) {
        findings.push(running(grace.deadline.max(facts.now + before), grace.deadline));
        let shown = pull.state == PullState::Open && status.current;
        return if shown { notice(facts, tier, wave, pull, grace, before) } else { Considered::default() };
    }
    // The deadline is the hub's: a clock of ours that runs ahead within bounds must not reach it sooner.
    let over = grace.deadline + facts.snapshot.hub.skew.abs().min(MOST_SKEW);
    if facts.now < over {
        findings.push(running(over, grace.deadline));
        return Considered::default();
    }
    if let Some(by) = blocker(facts, pull) {
        findings.push(Finding::wait(Gate::Grace, Reason::ForceBlocked { by: Box::new(by) }));
        return Considered::default();
    }
    if let Some(finding) = expiry::one_stop(facts, tier, wave, grace.since) {
        findings.push(finding);
        return Considered::default();
    }
    let over = Finding::pass(Gate::Grace, Reason::GraceOver { deadline: grace.deadline });
    let evidence = waive(facts, findings, grace.deadline, over);
    let notices = grace.notices.clone();
    let forced = evidence.map(|evidence| ForceEvidence { deadline: Some(grace.deadline), notices, ..evidence });
    Considered { forced, ..Considered::default() }
}

/// Waives the missing approvals since some instant; what else held is the evidence.
pub(super) fn waive(
    facts: &Facts<'_>,
    findings: &mut Vec<Finding>,
    since: Timestamp,
    why: Finding,
) -> Option<ForceEvidence> {
    let approvals = findings.iter_mut().find(|finding| finding.gate == Gate::Approvals)?;
    let waived = approvals.because.to_string();
    approvals.verdict = Verdict::Waived { since };
    findings.push(why);
    let held = findings.iter().filter(|finding| finding.verdict == Verdict::Pass);
    Some(ForceEvidence {
        deadline: None,
        said: None,
        notices: Vec::new(),
        held: held.map(|finding| alloc::format!("{}: {}", finding.gate, finding.because)).collect(),
        waived,
        policy: facts.snapshot.policy_commit.clone(),
    })
}

fn running(until: Timestamp, deadline: Timestamp) -> Finding {
    Finding::new(Gate::Grace, Verdict::Wait { until: Some(until) }, Reason::GraceRunning { deadline })
}

/// The first notice that has not gone out; they go out in the order of the file, one after another.
fn next_notice(force: &Force, grace: &Grace) -> Option<SignedDuration> {
    force.notice.iter().copied().find(|before| !grace.notices.iter().any(|sent| sent.before == *before))
}

/// The notice that is due next: given now, or when it is to be thought of again.
fn notice(
    facts: &Facts<'_>,
    tier: &Tier,
    wave: &Wave,
    pull: &Pull,
    grace: &Grace,
    before: SignedDuration,
) -> Considered {
    let again = |alarms: Vec<Option<Alarm>>| Considered {
        alarms: alarms.into_iter().flatten().collect(),
        ..Considered::default()
    };
    let due = grace.deadline - before;
    if facts.now < due {
        return again(vec![facts.alarm(due, Reason::NoticeDue { before })]);
    }
    if let Some(giving) = grace.giving.as_ref().filter(|giving| giving.before == before && facts.now < giving.at + LAG)
    {
        return again(vec![facts.alarm(giving.at + LAG, Reason::NoticeDue { before }), facts.soon()]);
    }
    // A notice that does not name who could approve would be none.
    let Some(owners) = asked(facts, tier, wave, pull) else { return again(vec![facts.soon()]) };
    let notice = Action::Notice {
        plugin: facts.plugin().clone(),
        tier: tier.name.clone(),
        version: wave.version.clone(),
        pull: pull.number,
        before,
        deadline: grace.deadline.max(facts.hub_now() + before),
        owners,
    };
    Considered { notice: Some(notice), ..Considered::default() }
}

/// The owners of what a wave changes; none where the file asks for them and nobody knows who they are.
fn asked(facts: &Facts<'_>, tier: &Tier, wave: &Wave, pull: &Pull) -> Option<Vec<String>> {
    let Read::Known(owned) = &pull.owned else { return (!tier.approvals.code_owners).then(Vec::new) };
    let mine = owned.iter().filter(|path| slice::concerns(facts, tier, wave, &path.path));
    let owners: BTreeSet<&String> = mine.flat_map(|path| &path.owners).collect();
    Some(owners.into_iter().cloned().collect())
}

/// What keeps force off although the deadline has passed or somebody asks for it. Everything else that it must not waive
/// (window, freeze, tier below, head, hold, breaking, limits) is a gate of its own.
pub(super) fn blocker(facts: &Facts<'_>, pull: &Pull) -> Option<Reason> {
    if let Some(broken) = freeze::broken(facts) {
        return Some(broken);
    }
    let by = approvals::objections(pull);
    if !by.is_empty() {
        return Some(Reason::ChangesRequested { by });
    }
    if let Some(open) = approvals::open_ledger(facts) {
        return Some(open);
    }
    if facts.snapshot.hub.skew.abs() > MOST_SKEW {
        return Some(Reason::ClockSkew { skew: facts.snapshot.hub.skew });
    }
    approvals::barred(facts, pull).map(|obstacle| obstacle.why)
}

#[cfg(test)]
mod tests;
