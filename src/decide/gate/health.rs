//! Health, progress deadline and soak of a landed wave, as findings. How they are measured is in
//! `member` and `soak`.

use alloc::vec;
use alloc::vec::Vec;

use crate::facts::Facts;
use crate::ledger::Wave;
use crate::member::{self, Assessment, past_deadline};
use crate::model::Tier;
use crate::plan::{Finding, Gate, MemberState, Verdict};
use crate::{Reason, slice};
use jiff::Timestamp;

pub(crate) fn findings(wave: &Wave, tier: &Tier, health: &Assessment, now: Timestamp) -> Vec<Finding> {
    let tier = &*slice::as_begun(tier, wave);
    vec![state(wave, tier, health), deadline(wave, tier, now), soak(wave, tier, health, now)]
}

/// Whether every cluster that has moved so far is healthy: a slice waits for those before it.
pub(crate) fn of_earlier_slices(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Finding {
    let tier = &*slice::as_begun(tier, wave);
    let health = member::assess(facts, tier, wave);
    // Of those before it nobody is left to wait for: it is the first one now.
    let alone = health.members.is_empty() && wave.failed().is_none() && wave.stalled().is_none();
    if alone && wave.landed().is_none() {
        return Finding::pass(Gate::Health, Reason::AllHealthy { members: 0, tolerated: 0 });
    }
    state(wave, tier, &health)
}

fn state(wave: &Wave, tier: &Tier, health: &Assessment) -> Finding {
    if let Some(failed) = wave.failed() {
        return Finding::fail(Gate::Health, failed.why.clone());
    }
    if let Some(stalled) = wave.stalled() {
        return Finding::fail(Gate::Health, Reason::Stalled { why: stalled.why.clone().into() });
    }
    let members = u32::try_from(health.members.len()).unwrap_or(u32::MAX);
    let tolerated = u32::try_from(health.tolerated(&tier.health)).unwrap_or(u32::MAX);
    if health.all_healthy(&tier.health) {
        return Finding::pass(Gate::Health, Reason::AllHealthy { members, tolerated });
    }
    let unknown = health.troubles(|state| matches!(state, MemberState::Unknown(_)));
    let behind = health.troubles(|state| !matches!(state, MemberState::Unknown(_) | MemberState::Healthy { .. }));
    if behind.is_empty() {
        Finding::new(Gate::Health, Verdict::Unknown, Reason::MembersUnknown { members: unknown })
    } else {
        Finding::wait(Gate::Health, Reason::MembersBehind { members: behind })
    }
}

fn deadline(wave: &Wave, tier: &Tier, now: Timestamp) -> Finding {
    let rule = &tier.health;
    if wave.landed().is_none() {
        return Finding::wait(Gate::ProgressDeadline, Reason::NotLanded);
    }
    if !past_deadline(wave, rule, now) {
        return Finding::pass(Gate::ProgressDeadline, Reason::InTime);
    }
    let because = Reason::PastProgressDeadline { deadline: rule.progress_deadline, members: Vec::new() };
    Finding::fail(Gate::ProgressDeadline, because)
}

fn soak(wave: &Wave, tier: &Tier, health: &Assessment, now: Timestamp) -> Finding {
    let of = tier.soak.min;
    if let Some(through) = &wave.let_through {
        let because = Reason::SoakOverdue { after: through.after, members: through.members.clone() };
        return Finding::new(Gate::Soak, Verdict::Waived { since: through.at }, because);
    }
    if wave.finished().is_some() || (of.is_zero() && health.all_healthy(&tier.health)) {
        let because = if of.is_zero() { Reason::SoakNotAsked } else { Reason::Soaked { of } };
        return Finding::pass(Gate::Soak, because);
    }
    match wave.soak {
        Some(soaked) if !soaked.paused => {
            let until = soaked.until + (of - soaked.healthy_for);
            Finding::new(Gate::Soak, Verdict::Wait { until: Some(until) }, Reason::Soaking { of })
        }
        Some(_) => {
            // Until then at the longest, as long as nobody is degraded.
            let until = crate::soak::longest(wave, tier).filter(|until| *until > now && !health.degraded(&tier.health));
            Finding::new(Gate::Soak, Verdict::Wait { until }, Reason::SoakPaused { of })
        }
        None => Finding::wait(Gate::Soak, Reason::Soaking { of }),
    }
}

#[cfg(test)]
mod tests;
