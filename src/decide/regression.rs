//! Verdicts after the fact: health that is lost while a finished release is still watched, and the word
//! of a person. Both un-finish the release on that tier, and the tiers above stop. How health is
//! judged is in `member`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use jiff::Timestamp;

use crate::commands::Word;
use crate::facts::{Facts, Noted};
use crate::ledger::{Change, Failed, Soaked, State, Wave};
use crate::member;
use crate::model::{OnFailure, Tier};
use crate::plan::Alarm;
use crate::snapshot::{Pull, PullState};
use crate::soak;
use crate::{Person, Reason, slice};

/// `/coldframe fail <why>` on the pull request of a wave, by somebody who may: landed or open, it has
/// failed. What was said about an older release on the same pull request is not about this one.
pub(crate) fn said(facts: &Facts<'_>, tier: &Tier, pull: &Pull) -> Option<Noted> {
    let wave = about(facts, tier, pull)?;
    let failed = Failed { at: facts.now, why: reason(word(facts, wave, pull)?) };
    Some(Noted::new(&wave.version, Change::Failed(failed)))
}

/// What somebody who may said about this wave on its pull request.
fn word<'a>(facts: &Facts<'a>, wave: &Wave, pull: &Pull) -> Option<&'a Word<'a, &'a str>> {
    let since = wave.head().map_or(wave.begun, |head| head.at);
    let slack = facts.snapshot.hub.skew.abs().as_secs();
    let mut spent = spent(facts, wave, pull);
    let mut words = facts.commands(pull).failures.iter().filter(|word| {
        let place = spent.iter().position(|known| *known == (word.by, word.what));
        place.map(|place| spent.swap_remove(place)).is_none()
    });
    // The hub's times have whole seconds.
    words.find(|word| word.at.as_second() + slack >= since.as_second())
}

fn reason(word: &Word<'_, &str>) -> Reason {
    Reason::FailedBy { by: word.by.clone(), why: word.what.into() }
}

/// The words on a pull request by which an older release on it has failed: each fails one release, however the
/// two clocks have gone since.
fn spent<'a>(facts: &'a Facts<'_>, wave: &Wave, pull: &Pull) -> Vec<(&'a Person, &'a str)> {
    let waves = facts.page.tiers.get(&pull.tier).into_iter().flatten();
    let older = waves.filter(|other| {
        other.version != wave.version && other.pull.as_ref().is_some_and(|shown| shown.number == pull.number)
    });
    older.filter_map(|other| other.failed()?.said()).collect()
}

/// The word for which a pull request of ours was taken back, as far as the hub still tells: it was there when
/// the pull request was closed. A ledger that was rolled back has forgotten it.
pub(crate) fn taken_back_for(facts: &Facts<'_>, wave: &Wave, pull: &Pull, closed: Timestamp) -> Option<Failed> {
    let word = word(facts, wave, pull).filter(|word| word.at <= closed)?;
    Some(Failed { at: facts.now, why: reason(word) })
}

/// The wave that a word on a pull request is about, as long as it can still fail: what is said of one
/// slice is said of the whole climb. What a person merged fails, too, though its wave was over before that was seen.
fn about<'a>(facts: &'a Facts<'_>, tier: &Tier, pull: &Pull) -> Option<&'a Wave> {
    let waves = facts.page.tiers.get(&tier.name)?;
    let wave = waves.iter().rev().find(|wave| {
        wave.pull.as_ref().is_some_and(|announced| announced.number == pull.number)
            && (wave.landed().is_some() || !wave.is_over() || matches!(pull.state, PullState::Merged { .. }))
    })?;
    let newest = facts.page.wave(&tier.name, &wave.version)?;
    let same = newest == wave || (newest.rolls_back().is_none() && wave.rolls_back().is_none());
    (same && newest.failed().is_none()).then_some(wave)
}

/// A wave has failed by the health of its members: for good, or until they are healthy where the file
/// says `stall`. What was a soak is none.
pub(crate) fn fail(tier: &Tier, wave: &Wave, why: Reason, now: Timestamp) -> Vec<Noted> {
    let failed = Failed { at: now, why };
    match tier.on_failure {
        OnFailure::Hold | OnFailure::RollBack { .. } => alloc::vec![Noted::new(&wave.version, Change::Failed(failed))],
        OnFailure::Stall if wave.stalled().is_some() => Vec::new(),
        OnFailure::Stall => {
            let soaked = Soaked { ailing: None, ..soak::reset(wave, now) };
            let changes = [Change::Stalled(failed), Change::Soaked(soaked)];
            changes.into_iter().map(|change| Noted::new(&wave.version, change)).collect()
        }
    }
}

/// Until when a lost health still counts against a finished wave, while that is to come.
pub(crate) fn watched_until(wave: &Wave, tier: &Tier, now: Timestamp) -> Option<Timestamp> {
    let State::Finished(at) = wave.state() else { return None };
    Some(at + tier.watch).filter(|until| *until > now)
}

/// What becomes of those that have finished and are watched still, and when to look again.
pub(crate) fn watched(facts: &Facts<'_>, tier: &Tier) -> (Vec<Noted>, Vec<Alarm>) {
    let (mut noted, mut alarms) = (Vec::new(), Vec::new());
    for wave in facts.page.present(&tier.name, |wave| watched_until(wave, tier, facts.now).is_some()) {
        let clusters = facts.still(tier, &wave.clusters());
        let tier = &*slice::as_begun(tier, wave);
        // Where a newer release has begun to move, it is that one whose health counts.
        if clusters.is_empty() || !slice::holds(facts, tier, &clusters, &wave.version) {
            continue;
        }
        if let Some(until) = watched_until(wave, tier, facts.now) {
            alarms.extend(facts.alarm(until, Reason::Watched { of: tier.watch }));
            alarms.extend(facts.soon());
            noted.extend(watch(facts, tier, wave));
        }
    }
    (noted, alarms)
}

fn watch(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Vec<Noted> {
    // What was let through before it converged is not late now.
    let converged = wave.converged.or(wave.landed().map(|landed| landed.at));
    let mut wave = wave.clone();
    wave.converged = converged;
    let health = member::assess(facts, tier, &wave);
    let ailing = wave.soak.and_then(|soak| soak.ailing);
    // Signals that name no times are watched look after look; nothing else of the soak moves any more.
    let next = match (health.degraded(&tier.health), ailing, wave.soak) {
        (true, None, _) => Some(soak::reset(&wave, facts.now)),
        (false, Some(_), Some(before)) => Some(Soaked { ailing: None, ..before }),
        (true, Some(_), _) | (false, _, _) => None,
    };
    let mut noted: Vec<Noted> =
        next.map(|next| Noted::progress(&wave.version, Change::Soaked(next))).into_iter().collect();
    let mut watched = wave;
    watched.soak = next.or(watched.soak);
    if let Some(why) = health.failure(tier, &watched, facts.now) {
        noted.extend(fail(tier, &watched, Reason::HealthLost { why: Box::new(why) }, facts.now));
    }
    noted
}

#[cfg(test)]
mod tests;
