//! What the members of a wave come to, taken together: how many are healthy, and why it has failed. How one of them is
//! judged is in `member`.

use alloc::vec::Vec;

use jiff::Timestamp;

use crate::Reason;
use crate::ledger::Wave;
use crate::model::{HealthRule, Tier};
use crate::plan::{MemberState, Members};
use crate::readings::Stamp;
use crate::reason::MemberTrouble;

/// The members of a wave at one instant.
pub(crate) struct Assessment {
    pub members: Members,
    /// The oldest observation among the healthy members: up to then all of them were looked at.
    pub observed_until: Option<Timestamp>,
    /// Since when all healthy members have been so, by their own times; none when one of them has none.
    pub healthy_since: Option<Timestamp>,
    pub(super) turn: Turn,
}

/// Whether a wave that never converged has run out of time.
pub(crate) fn past_deadline(wave: &Wave, rule: &HealthRule, now: Timestamp) -> bool {
    wave.converged.is_none() && wave.landed().is_some_and(|landed| now >= landed.at + rule.progress_deadline)
}

/// Those whose slice has moved; all, where only others are left: who came ahead of its slice proves nothing of it.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) members: usize,
    healthy: usize,
    failed: usize,
    /// Degraded or failed.
    unwell: usize,
}

impl Turn {
    #[inline]
    pub(super) fn add(&mut self, state: &Result<Stamp, MemberState>) {
        self.members += 1;
        match state {
            Ok(_) | Err(MemberState::Healthy { .. }) => self.healthy += 1,
            Err(MemberState::Failed(_)) => (self.failed, self.unwell) = (self.failed + 1, self.unwell + 1),
            Err(MemberState::Degraded(_)) => self.unwell += 1,
            Err(
                MemberState::NotAsked
                | MemberState::Progressing(_)
                | MemberState::Suspended(_)
                | MemberState::Unknown(_),
            ) => {}
        }
    }
}

impl Assessment {
    /// Members in each state that matters to a verdict, healthy ones aside.
    fn count(&self, is: impl Fn(&MemberState) -> bool) -> usize {
        self.members.odd().filter(|state| is(state)).count()
    }

    /// Healthy members.
    pub(crate) fn healthy(&self) -> usize {
        self.members.healthy()
    }

    /// Failed members and members of unknown health that the rule tolerates.
    pub(crate) fn tolerated(&self, rule: &HealthRule) -> usize {
        let failed = self.count(|state| matches!(state, MemberState::Failed(_)));
        let unknown = self.count(|state| matches!(state, MemberState::Unknown(_)));
        failed.min(rule.max_failures as usize) + unknown.min(rule.max_unknown as usize)
    }

    /// Whether every member is healthy on this version, tolerated ones left out. A wave in which
    /// nobody whose turn it was is healthy never is.
    pub(crate) fn all_healthy(&self, rule: &HealthRule) -> bool {
        self.turn.healthy > 0 && self.healthy() + self.tolerated(rule) == self.members.len()
    }

    /// Whether somebody is degraded or has failed beyond what is tolerated, which resets a soak.
    pub(crate) fn degraded(&self, rule: &HealthRule) -> bool {
        let failed = self.count(|state| matches!(state, MemberState::Failed(_)));
        failed > rule.max_failures as usize || self.count(|state| matches!(state, MemberState::Degraded(_))) > 0
    }

    /// Whether these are all whose turn it was.
    fn nobody_but(&self, those: usize) -> bool {
        those > 0 && those == self.turn.members
    }

    /// What is wrong with members in the states that `is` names.
    pub(crate) fn troubles(&self, is: impl Fn(&MemberState) -> bool) -> Vec<MemberTrouble> {
        self.members.odd().filter(|state| is(state)).filter_map(|state| state.trouble().cloned()).collect()
    }

    /// Why the wave has failed, when it has.
    pub(crate) fn failure(&self, tier: &Tier, wave: &Wave, now: Timestamp) -> Option<Reason> {
        let rule = &tier.health;
        let failed = self.troubles(|state| matches!(state, MemberState::Failed(_)));
        // A wave in which nobody is left to be healthy has failed, whatever is tolerated.
        if failed.len() > rule.max_failures as usize || self.nobody_but(self.turn.failed) {
            return Some(Reason::MembersFailed { members: failed, tolerated: rule.max_failures });
        }
        let ailing = wave.soak.and_then(|soak| soak.ailing);
        if ailing.is_some_and(|since| now >= since + rule.degraded_for) && self.degraded(rule) {
            let members = self.troubles(|state| matches!(state, MemberState::Degraded(_) | MemberState::Failed(_)));
            if members.len() > rule.max_failures as usize || self.nobody_but(self.turn.unwell) {
                return Some(Reason::MembersFailed { members, tolerated: rule.max_failures });
            }
        }
        let late = past_deadline(wave, rule, now);
        let unknown = self.troubles(|state| matches!(state, MemberState::Unknown(_)));
        // What is tolerated proves nothing: a wave of which nobody became healthy has failed.
        let nobody = self.turn.healthy == 0;
        let members = if nobody { self.troubles(|_| true) } else { unknown.clone() };
        (late && (nobody || unknown.len() > rule.max_unknown as usize))
            .then_some(Reason::PastProgressDeadline { deadline: rule.progress_deadline, members })
    }
}
