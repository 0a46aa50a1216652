//! Health, progress deadline and soak of a landed wave, as findings. How they are measured is in
//! `member` and `soak`.

use alloc::vec;
use alloc::vec::Vec;

use crate::Reason;
use crate::ledger::Wave;
use crate::member::{Assessment, past_deadline};
use crate::model::Tier;
use crate::plan::{Finding, Gate, MemberState, Verdict};
use jiff::Timestamp;

pub(crate) fn findings(wave: &Wave, tier: &Tier, health: &Assessment, now: Timestamp) -> Vec<Finding> {
    vec![state(wave, tier, health), deadline(wave, tier, now), soak(wave, tier, health)]
}

fn state(wave: &Wave, tier: &Tier, health: &Assessment) -> Finding {
    if let Some(failed) = &wave.failed {
        return Finding::fail(Gate::Health, failed.why.clone());
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
    let Some(landed) = &wave.landed else { return Finding::wait(Gate::ProgressDeadline, Reason::NotLanded) };
    if wave.converged.is_some() || !past_deadline(wave, rule, now) {
        return Finding::pass(Gate::ProgressDeadline, Reason::InTime);
    }
    let _ = landed;
    let because = Reason::PastProgressDeadline { deadline: rule.progress_deadline, members: Vec::new() };
    Finding::fail(Gate::ProgressDeadline, because)
}

fn soak(wave: &Wave, tier: &Tier, health: &Assessment) -> Finding {
    let of = tier.soak.min;
    if wave.finished.is_some() || (of.is_zero() && health.all_healthy(&tier.health)) {
        let because = if of.is_zero() { Reason::SoakNotAsked } else { Reason::Soaked { of } };
        return Finding::pass(Gate::Soak, because);
    }
    match wave.soak {
        Some(soaked) if !soaked.paused => {
            let until = soaked.until + (of - soaked.healthy_for);
            Finding::new(Gate::Soak, Verdict::Wait { until: Some(until) }, Reason::Soaking { of })
        }
        Some(_) => Finding::wait(Gate::Soak, Reason::SoakPaused { of }),
        None => Finding::wait(Gate::Soak, Reason::Soaking { of }),
    }
}
