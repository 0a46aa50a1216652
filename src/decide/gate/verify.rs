//! Workflows that verify what has moved, before the next slice does or before the release has finished the tier: when
//! one is dispatched, and what its run says. What else is waited for between slices is in `pause`.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use jiff::{SignedDuration, Timestamp};

use super::pause::{self, Open};
use crate::Reason;
use crate::facts::{Facts, Noted};
use crate::ledger::{Change, Purpose, Verification, Wave};
use crate::member;
use crate::model::{OnFailure, Tier, Verify};
use crate::plan::{Action, Finding, Gate, Verdict};
use crate::slice::{self, Portion};
use crate::snapshot::{CheckState, Read};

/// An intent of which the hub shows no run after this long was cut off before its effect.
const LOST: SignedDuration = SignedDuration::from_mins(5);
/// So often a workflow is dispatched for one step, when no run comes of it.
const ATTEMPTS: usize = 3;

/// The step of what verifies the whole tier.
const END: u32 = u32::MAX;

/// How the runs of one step stand.
enum Stand<'a> {
    /// This is to be dispatched: nothing was yet, or what was has no run.
    Due(Verification),
    /// This was dispatched, and a lost ledger forgot it.
    Found(Verification),
    /// A run is on its way.
    Running(&'a Verification),
    /// Every run that there is has succeeded.
    Green(&'a Verification),
    /// One has failed.
    Red,
    /// It took too long, or no run ever came.
    Late,
    /// The runs could not be read.
    Unread(&'a str),
}

/// When the success of a step was seen.
pub(crate) fn passed(facts: &Facts<'_>, tier: &Tier, wave: &Wave, place: (u32, u32)) -> Option<Timestamp> {
    attempts(facts, tier, wave, place).into_iter().find_map(|attempt| attempt.passed)
}

/// The dispatches for one step after a slice. They may be noted with a later one that was taken back.
fn attempts<'a>(facts: &'a Facts<'_>, tier: &Tier, wave: &Wave, place: (u32, u32)) -> Vec<&'a Verification> {
    // Of a slice that nobody is left to move with, those before it have landed.
    let slices = facts.page.landed_with(&tier.name, wave).into_iter().filter_map(Wave::landed);
    let Some(landed) = wave.landed().or(slices.max_by_key(|landed| landed.at)) else { return Vec::new() };
    let same = |other: &&Wave| other.climbs_with(wave) || (other.version == wave.version && other.begun == wave.begun);
    let waves = facts.page.tiers.get(&tier.name).into_iter().flatten().filter(same);
    let all = waves.flat_map(|wave| &wave.verifications);
    all.filter(|one| (one.slice, one.step) == place && one.at >= landed.at).collect()
}

fn stand<'a>(facts: &'a Facts<'_>, tier: &Tier, wave: &Wave, place: (u32, u32), verify: &Verify) -> Stand<'a> {
    let attempts = attempts(facts, tier, wave, place);
    let runs = match facts.observed.map(|facts| &facts.runs) {
        Some(Read::Known(runs)) => runs,
        Some(Read::Unread(why)) => return Stand::Unread(why),
        None => return Stand::Unread("it was not looked at"),
    };
    let state = |id: &str| {
        let named = |title: &str| title.split_whitespace().any(|word| word == id);
        runs.iter().filter(|run| run.workflow == verify.workflow).find(|run| named(&run.title)).map(|run| run.state)
    };
    let next = || {
        let next = next(facts, tier, wave, place, attempts.len() + 1);
        if state(&next.id).is_some() { Stand::Found(next) } else { Stand::Due(next) }
    };
    let Some(last) = attempts.last().copied() else { return next() };
    let states = || attempts.iter().filter_map(|attempt| state(&attempt.id));
    let late = facts.now >= last.at + verify.timeout;
    if states().any(|state| state == CheckState::Failure) {
        return Stand::Red;
    }
    if states().any(|state| state == CheckState::Pending) {
        return if late { Stand::Late } else { Stand::Running(last) };
    }
    if states().next().is_some() {
        return Stand::Green(last);
    }
    match (facts.now >= last.at + LOST && attempts.len() < ATTEMPTS, late) {
        (true, _) => next(),
        (false, true) => Stand::Late,
        (false, false) => Stand::Running(last),
    }
}

/// What is remembered of a dispatch. Its id is this landing's own by the number of the pull request.
fn next(facts: &Facts<'_>, tier: &Tier, wave: &Wave, (slice, step): (u32, u32), attempt: usize) -> Verification {
    let pull = wave.pull.as_ref().map_or(0, |pull| pull.number.0);
    let at = if step == END { "end".to_string() } else { format!("{slice}.{step}") };
    let id = format!("{}-{}-{}-{pull}-{at}.{attempt}", facts.plugin(), tier.name, wave.version);
    Verification { id, slice, step, at: facts.now, passed: None }
}

/// What a step says that has not succeeded yet.
pub(crate) fn finding(facts: &Facts<'_>, tier: &Tier, wave: &Wave, place: (u32, u32), verify: &Verify) -> Finding {
    let Verify { workflow, timeout } = verify.clone();
    let because = Reason::Verifying { workflow: workflow.clone() };
    match stand(facts, tier, wave, place, verify) {
        Stand::Due(_) | Stand::Found(_) | Stand::Green(_) => Finding::wait(Gate::Verification, because),
        Stand::Running(last) => {
            Finding::new(Gate::Verification, Verdict::Wait { until: Some(last.at + timeout) }, because)
        }
        Stand::Red => Finding::fail(Gate::Verification, Reason::VerifyFailed { workflow }),
        Stand::Late => Finding::fail(Gate::Verification, Reason::VerifyTimedOut { workflow, timeout }),
        Stand::Unread(why) => Finding::unread(Gate::Verification, &format!("the runs of {workflow}"), why),
    }
}

/// Notes a success, and a dispatch that the ledger has lost. Why the wave fails, when a run failed or took
/// too long: under `stall` it does not, a run that is started again there may still succeed.
pub(crate) fn settled(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> (Option<Noted>, Option<Reason>) {
    let asked = match slice::following(facts, tier, wave) {
        Some(next) => between(facts, tier, wave, &next),
        None => at_the_end(facts, tier, wave),
    };
    let Some((place, verify)) = asked else { return (None, None) };
    let Verify { workflow, timeout } = verify.clone();
    let (note, why) = match stand(facts, tier, wave, place, &verify) {
        Stand::Due(_) | Stand::Running(_) | Stand::Unread(_) => (None, None),
        Stand::Found(known) => (Some(Change::Dispatching(known)), None),
        Stand::Green(last) => (Some(Change::Verified { id: last.id.clone(), at: facts.now }), None),
        Stand::Red => (None, Some(Reason::VerifyFailed { workflow })),
        Stand::Late => (None, Some(Reason::VerifyTimedOut { workflow, timeout })),
    };
    let noted = note.map(|note| Noted::new(&wave.version, note));
    match tier.on_failure {
        OnFailure::Hold | OnFailure::RollBack { .. } => (noted, why),
        OnFailure::Stall => (noted, None),
    }
}

/// The workflow that keeps the next portion, and its place.
fn between(facts: &Facts<'_>, tier: &Tier, wave: &Wave, next: &Portion) -> Option<((u32, u32), Verify)> {
    match pause::open(facts, tier, wave, next)? {
        Open::Verify { slice, step, verify } => Some(((slice, step), verify)),
        Open::Time { .. } | Open::Resume => None,
    }
}

/// The workflow without which a climb does not end, as long as it has not succeeded, and its place. It is asked for what
/// the bot brought here, also where everybody left meanwhile and was found with it again: who came late gets what was
/// verified, and the way back is no new release.
fn wanted<'a>(facts: &Facts<'_>, tier: &'a Tier, wave: &Wave) -> Option<((u32, u32), &'a Verify)> {
    let verify = tier.verify.as_ref().filter(|_| !tier.follows)?;
    let climbs = match wave.part.purpose {
        Purpose::Promotion => true,
        Purpose::CatchUp | Purpose::Early | Purpose::RollBack { .. } => false,
    };
    let place = (wave.part.slice + 1, END);
    let verified = match wave.head() {
        Some(_) => passed(facts, tier, wave, place).is_some(),
        None => !was_brought(facts, tier, wave),
    };
    (climbs && !verified).then_some((place, verify))
}

/// Whether the bot brought what was found here with an earlier wave, and no workflow has verified the tier since.
fn was_brought(facts: &Facts<'_>, tier: &Tier, found: &Wave) -> bool {
    let waves = facts.page.tiers.get(&tier.name).into_iter().flatten();
    let climbs =
        || waves.clone().filter(|wave| wave.version == found.version && wave.part.purpose == Purpose::Promotion);
    let passed = |wave: &Wave| wave.verifications.iter().any(|one| one.step == END && one.passed.is_some());
    climbs().any(|wave| wave.head().is_some() && wave.landed().is_some()) && !climbs().any(passed)
}

/// The same from when all were healthy.
fn at_the_end(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Option<((u32, u32), Verify)> {
    wave.converged?;
    wanted(facts, tier, wave).map(|(place, verify)| (place, verify.clone()))
}

/// Whether what was found on a tier waits for its workflow all the same, since the bot had brought it there.
pub(crate) fn is_owed(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> bool {
    wave.head().is_none() && wanted(facts, tier, wave).is_some()
}

/// Whether no workflow keeps a climb of which all have moved from its end.
pub(crate) fn is_over(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> bool {
    wanted(facts, tier, wave).is_none()
}

/// What the workflow says that keeps a climb from its end.
pub(crate) fn of_the_tier(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Option<Finding> {
    let (place, verify) = at_the_end(facts, tier, wave)?;
    Some(finding(facts, tier, wave, place, &verify))
}

/// The dispatch that is due before the next portion, when nothing else keeps it.
pub(crate) fn dispatch(
    facts: &Facts<'_>,
    tier: &Tier,
    wave: &Wave,
    next: &Portion,
    findings: &[Finding],
) -> Option<Action> {
    let kept = |finding: &Finding| finding.gate != Gate::Verification && !finding.verdict.lets_through();
    if findings.iter().any(kept) {
        return None;
    }
    dispatched(facts, tier, wave, between(facts, tier, wave, next)?)
}

/// The dispatch that is due when all have moved and were healthy; while somebody is degraded it would be for nothing.
pub(crate) fn dispatch_at_the_end(facts: &Facts<'_>, tier: &Tier, wave: &Wave) -> Option<Action> {
    let asked = at_the_end(facts, tier, wave)?;
    let degraded = member::assess(facts, tier, wave).degraded(&tier.health);
    if degraded { None } else { dispatched(facts, tier, wave, asked) }
}

fn dispatched(facts: &Facts<'_>, tier: &Tier, wave: &Wave, (place, verify): ((u32, u32), Verify)) -> Option<Action> {
    let Stand::Due(verification) = stand(facts, tier, wave, place, &verify) else { return None };
    Some(Action::Dispatch {
        plugin: facts.plugin().clone(),
        tier: tier.name.clone(),
        version: wave.version.clone(),
        workflow: verify.workflow,
        verification,
        clusters: slice::moved(facts, tier, wave).to_vec(),
    })
}

#[cfg(test)]
mod tests;
