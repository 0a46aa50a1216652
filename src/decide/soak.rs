//! The soak: time in which all members are healthy on this version. Progressing, suspended and
//! unknown pause it, degraded resets it (policy, section 4). Who is healthy is in `member`.

use jiff::{SignedDuration, Timestamp};

use crate::ledger::{Soaked, Wave};
use crate::member::Assessment;
use crate::model::Tier;
use crate::plan::MemberState;

/// Moves the soak of a landed wave to what is known now. A gap between two looks counts only as
/// far as it was watched (looks no further apart than a reading may be old) or as far as the
/// objects' own transition times prove that nothing happened in it. The time of a pause never
/// counts, nor does the time before the first look at which all were healthy.
pub(crate) fn advance(wave: &Wave, health: &Assessment, tier: &Tier, now: Timestamp) -> Option<Soaked> {
    let rule = &tier.health;
    let before = wave.soak;
    if health.degraded(rule) {
        return before.map(|before| Soaked {
            healthy_for: SignedDuration::ZERO,
            paused: true,
            ailing: before.ailing.or(Some(now)),
            ..before
        });
    }
    if !health.all_healthy(rule) {
        return before.map(|before| Soaked { paused: true, ailing: None, ..before });
    }
    let seen = health.observed_until?;
    let Some(before) = before else {
        return Some(Soaked { healthy_for: SignedDuration::ZERO, until: seen, paused: false, ailing: None });
    };
    if seen <= before.until {
        return Some(Soaked { paused: false, ailing: None, ..before });
    }
    let gap = seen.duration_since(before.until);
    let healthy_for = match healthy_since(health) {
        _ if before.paused => before.healthy_for,
        Some(since) if since <= before.until => before.healthy_for + gap,
        // Somebody changed state between two looks and may have been degraded: start anew there.
        Some(since) => seen.duration_since(since.min(seen)),
        None if gap <= rule.max_age => before.healthy_for + gap,
        None => before.healthy_for,
    };
    Some(Soaked { healthy_for, until: seen, paused: false, ailing: None })
}

/// Since when all healthy members have been so, by their own times; none when one of them has none.
fn healthy_since(health: &Assessment) -> Option<Timestamp> {
    let mut latest = None;
    for member in &health.members {
        match &member.state {
            MemberState::Healthy { since: Some(since) } => latest = latest.max(Some(*since)),
            MemberState::Healthy { since: None } => return None,
            MemberState::NotAsked
            | MemberState::Progressing(_)
            | MemberState::Suspended(_)
            | MemberState::Unknown(_)
            | MemberState::Degraded(_)
            | MemberState::Failed(_) => {}
        }
    }
    latest
}
