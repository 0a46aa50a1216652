//! How each cluster of a wave stands: version proof, then freshness, then state (design: health
//! rules). How long that has to last is in `soak`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jiff::Timestamp;

use crate::desk::Desk;
use crate::ledger::Wave;
use crate::model::{HealthRule, Tier};
use crate::plan::{Member, MemberState};
use crate::reason::MemberTrouble;
use crate::snapshot::{Health, Reading};
use crate::{ClusterName, Reason};

/// The members of a wave at one instant.
pub(crate) struct Assessment {
    pub members: Vec<Member>,
    /// The oldest observation among the healthy members: up to then all of them were looked at.
    pub observed_until: Option<Timestamp>,
}

/// Judges every member of a landed wave.
pub(crate) fn assess(desk: &Desk<'_>, tier: &Tier, wave: &Wave) -> Assessment {
    let mut members = Vec::new();
    let mut observed_until: Option<Timestamp> = None;
    for cluster in desk.members(wave) {
        let readings = desk.facts.and_then(|facts| facts.readings.get(&cluster)).map_or(&[][..], Vec::as_slice);
        let state = judge(&cluster, readings, wave, &tier.health, desk.now);
        if matches!(state, MemberState::Healthy { .. }) {
            let seen = readings.iter().map(|reading| reading.observed_at).min();
            observed_until = observed_until.into_iter().chain(seen).min();
        }
        members.push(Member { cluster, state });
    }
    Assessment { members, observed_until }
}

impl Assessment {
    /// Members in each state that matters to a verdict.
    pub(crate) fn count(&self, is: impl Fn(&MemberState) -> bool) -> usize {
        self.members.iter().filter(|member| is(&member.state)).count()
    }

    /// Healthy members.
    pub(crate) fn healthy(&self) -> usize {
        self.count(|state| matches!(state, MemberState::Healthy { .. }))
    }

    /// Failed members and members of unknown health that the rule tolerates.
    pub(crate) fn tolerated(&self, rule: &HealthRule) -> usize {
        let failed = self.count(|state| matches!(state, MemberState::Failed(_)));
        let unknown = self.count(|state| matches!(state, MemberState::Unknown(_)));
        failed.min(rule.max_failures as usize) + unknown.min(rule.max_unknown as usize)
    }

    /// Whether every member is healthy on this version, tolerated ones left out. A wave in which
    /// nobody is healthy never is.
    pub(crate) fn all_healthy(&self, rule: &HealthRule) -> bool {
        self.healthy() > 0 && self.healthy() + self.tolerated(rule) == self.members.len()
    }

    /// Whether somebody is degraded or has failed beyond what is tolerated, which resets a soak.
    pub(crate) fn degraded(&self, rule: &HealthRule) -> bool {
        let failed = self.count(|state| matches!(state, MemberState::Failed(_)));
        failed > rule.max_failures as usize || self.count(|state| matches!(state, MemberState::Degraded(_))) > 0
    }

    /// What is wrong with members in the states that `is` names.
    pub(crate) fn troubles(&self, is: impl Fn(&MemberState) -> bool) -> Vec<MemberTrouble> {
        self.members
            .iter()
            .filter(|member| is(&member.state))
            .filter_map(|member| member.state.trouble().cloned())
            .collect()
    }

    /// Why the wave has failed, when it has.
    pub(crate) fn failure(&self, tier: &Tier, wave: &Wave, now: Timestamp) -> Option<Reason> {
        let rule = &tier.health;
        let failed = self.troubles(|state| matches!(state, MemberState::Failed(_)));
        // A wave in which nobody is left to be healthy has failed, whatever is tolerated.
        if failed.len() > rule.max_failures as usize || (!failed.is_empty() && failed.len() == self.members.len()) {
            return Some(Reason::MembersFailed { members: failed, tolerated: rule.max_failures });
        }
        let ailing = wave.soak.and_then(|soak| soak.ailing);
        if ailing.is_some_and(|since| now >= since + rule.degraded_for) && self.degraded(rule) {
            let members = self.troubles(|state| matches!(state, MemberState::Degraded(_) | MemberState::Failed(_)));
            if members.len() > rule.max_failures as usize || members.len() == self.members.len() {
                return Some(Reason::MembersFailed { members, tolerated: rule.max_failures });
            }
        }
        let late = past_deadline(wave, rule, now);
        let unknown = self.troubles(|state| matches!(state, MemberState::Unknown(_)));
        // What is tolerated proves nothing: a wave of which nobody became healthy has failed.
        let nobody = self.healthy() == 0;
        let members = if nobody { self.troubles(|_| true) } else { unknown.clone() };
        (late && (nobody || unknown.len() > rule.max_unknown as usize))
            .then_some(Reason::PastProgressDeadline { deadline: rule.progress_deadline, members })
    }
}

impl MemberState {
    /// What is wrong, when something is.
    pub fn trouble(&self) -> Option<&MemberTrouble> {
        match self {
            Self::NotAsked | Self::Healthy { .. } => None,
            Self::Progressing(trouble)
            | Self::Suspended(trouble)
            | Self::Unknown(trouble)
            | Self::Degraded(trouble)
            | Self::Failed(trouble) => Some(trouble),
        }
    }
}

/// Whether a wave that never converged has run out of time.
pub(crate) fn past_deadline(wave: &Wave, rule: &HealthRule, now: Timestamp) -> bool {
    wave.converged.is_none() && wave.landed.as_ref().is_some_and(|landed| now >= landed.at + rule.progress_deadline)
}

/// Whether a member that is not healthy has run out of time. Where the wave converged after the
/// deadline, because the late ones are tolerated, they stay failed; who was healthy then and is on its
/// way again is not late.
fn late(trouble: &MemberTrouble, wave: &Wave, rule: &HealthRule, now: Timestamp) -> bool {
    let Some(landed) = &wave.landed else { return false };
    let deadline = landed.at + rule.progress_deadline;
    match wave.converged {
        None => now >= deadline,
        Some(converged) => converged >= deadline && trouble.since.is_none_or(|since| since <= converged),
    }
}

/// One cluster: the worst of its signals; all must agree.
fn judge(cluster: &ClusterName, readings: &[Reading], wave: &Wave, rule: &HealthRule, now: Timestamp) -> MemberState {
    let worst = readings
        .iter()
        .map(|reading| judge_reading(cluster, reading, wave, rule, now))
        .reduce(worse)
        .unwrap_or_else(|| MemberState::Unknown(trouble(cluster, "not read", "", None)));
    match worst {
        MemberState::Progressing(trouble) | MemberState::Suspended(trouble) | MemberState::Degraded(trouble)
            if late(&trouble, wave, rule, now) =>
        {
            let what = format!("{} past the progress deadline", trouble.what);
            MemberState::Failed(MemberTrouble { what, ..trouble })
        }
        MemberState::NotAsked
        | MemberState::Healthy { .. }
        | MemberState::Unknown(_)
        | MemberState::Failed(_)
        | MemberState::Progressing(_)
        | MemberState::Suspended(_)
        | MemberState::Degraded(_) => worst,
    }
}

fn judge_reading(
    cluster: &ClusterName,
    reading: &Reading,
    wave: &Wave,
    rule: &HealthRule,
    now: Timestamp,
) -> MemberState {
    let landed = wave.landed.as_ref().map_or(wave.begun, |landed| landed.at);
    let says = |what: &str| trouble(cluster, what, &reading.evidence, reading.since);
    // Freshness of the look itself: what was read before landing, or long ago, says nothing.
    if reading.observed_at + rule.max_age < now {
        return MemberState::Unknown(says("not read lately"));
    }
    if reading.observed_at < landed {
        return MemberState::Unknown(says("not read since it landed"));
    }
    let proven = reading.running.as_ref().is_some_and(|running| running.proves(&wave.version));
    let other_content = matches!((&reading.digest, &wave.digest), (Some(found), Some(pinned)) if found != pinned);
    match reading.health {
        Health::Unknown => MemberState::Unknown(says("not read")),
        Health::NotFound => MemberState::Progressing(says("without the object")),
        Health::Suspended => MemberState::Suspended(says("suspended")),
        // The failure of another version, which this one may well mend.
        Health::Failed | Health::Degraded if about_another(reading, wave) => {
            MemberState::Progressing(says(&alloc::format!("{}, still failing", behind(reading))))
        }
        Health::Failed => MemberState::Failed(says("failed")),
        Health::Degraded => {
            let since = reading.since.map_or(reading.observed_at, |since| since.max(landed));
            if now >= since + rule.degraded_for {
                MemberState::Failed(says("degraded"))
            } else {
                MemberState::Degraded(says("degraded"))
            }
        }
        Health::Progressing if proven => MemberState::Progressing(says("progressing")),
        Health::Progressing => MemberState::Progressing(says(&behind(reading))),
        Health::Healthy if !proven => MemberState::Progressing(says(&behind(reading))),
        Health::Healthy if other_content => MemberState::Degraded(says("running other content under this version")),
        Health::Healthy => MemberState::Healthy { since: reading.since },
    }
}

/// Whether a failure is about another version than this wave's.
fn about_another(reading: &Reading, wave: &Wave) -> bool {
    let about = reading.attempted.as_ref().or(reading.running.as_ref());
    about.is_some_and(|version| !version.proves(&wave.version))
}

fn behind(reading: &Reading) -> String {
    match &reading.running {
        Some(version) => format!("on {version}"),
        None => "without proof of a version".to_string(),
    }
}

fn trouble(cluster: &ClusterName, what: &str, evidence: &str, since: Option<Timestamp>) -> MemberTrouble {
    MemberTrouble { cluster: cluster.clone(), what: what.to_string(), evidence: evidence.to_string(), since }
}

/// The worse of two states of one member; of two healthy ones the one that is so for less time.
fn worse(a: MemberState, b: MemberState) -> MemberState {
    if let (MemberState::Healthy { since: one }, MemberState::Healthy { since: two }) = (&a, &b) {
        let since = match (one, two) {
            (Some(one), Some(two)) => Some(*one.max(two)),
            _ => None,
        };
        return MemberState::Healthy { since };
    }
    if rank(&b) > rank(&a) { b } else { a }
}

fn rank(state: &MemberState) -> u8 {
    match state {
        MemberState::NotAsked | MemberState::Healthy { .. } => 0,
        MemberState::Progressing(_) => 1,
        MemberState::Suspended(_) => 2,
        MemberState::Unknown(_) => 3,
        MemberState::Degraded(_) => 4,
        MemberState::Failed(_) => 5,
    }
}
