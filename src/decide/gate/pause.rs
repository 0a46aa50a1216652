//! What is waited for between slices: a time after all that have moved were healthy, a person who says
//! `/coldframe resume` on a pull request of this tier, or a workflow, which is in `verify`.

use jiff::{SignedDuration, Timestamp};

use super::verify;
use crate::Reason;
use crate::facts::Facts;
use crate::ledger::{Wait, Wave};
use crate::model::{Tier, Verify};
use crate::plan::{Finding, Gate, Verdict};
use crate::slice::Portion;

/// What a landed slice still waits for before the portion after it.
pub(crate) enum Open {
    /// A time is to pass.
    Time { until: Timestamp, pause: SignedDuration },
    /// Somebody is to say that it goes on.
    Resume,
    /// A workflow is to succeed: before which slice, which of the waits there, and which workflow.
    Verify { slice: u32, step: u32, verify: Verify },
}

/// The first of the waits between a landed slice and the portion after it that is not over; they come
/// one after the other. None when all are, and before all that have moved are healthy.
pub(crate) fn open(facts: &Facts<'_>, tier: &Tier, wave: &Wave, next: &Portion) -> Option<Open> {
    let mut at = wave.converged?;
    let (from, to) = (wave.part.slice + 1, next.part.slice);
    for slice in from..=to {
        let waits = next.part.pauses.get(slice as usize).into_iter().flatten();
        for (step, wait) in (0..).zip(waits) {
            match wait {
                Wait::Pause(Some(pause)) => {
                    at += *pause;
                    if facts.now < at {
                        return Some(Open::Time { until: at, pause: *pause });
                    }
                }
                Wait::Pause(None) => match resumed(facts, tier, at) {
                    Some(said) => at = said,
                    None => return Some(Open::Resume),
                },
                Wait::Verify(verify) => match verify::passed(facts, tier, wave, (slice, step)) {
                    Some(passed) => at = at.max(passed),
                    None => return Some(Open::Verify { slice, step, verify: verify.clone() }),
                },
            }
        }
    }
    None
}

/// Whether everything between a landed slice and the portion after it is over.
pub(crate) fn finding(facts: &Facts<'_>, tier: &Tier, wave: &Wave, next: &Portion) -> Finding {
    match open(facts, tier, wave, next) {
        None => Finding::pass(Gate::Hold, Reason::NotHeld),
        Some(Open::Time { until, pause }) => {
            Finding::new(Gate::Hold, Verdict::Wait { until: Some(until) }, Reason::BetweenSlices { pause })
        }
        Some(Open::Resume) => Finding::wait(Gate::Hold, Reason::NeedsResume),
        Some(Open::Verify { slice, step, verify }) => verify::finding(facts, tier, wave, (slice, step), &verify),
    }
}

/// When somebody who may first said that it goes on, not before `since`. The hub's times have whole
/// seconds.
fn resumed(facts: &Facts<'_>, tier: &Tier, since: Timestamp) -> Option<Timestamp> {
    let pulls = facts.pulls(&tier.name)?;
    let words = pulls.iter().flat_map(|pull| &facts.commands(pull).resumes);
    words.filter(|word| word.at.as_second() >= since.as_second()).map(|word| word.at).min()
}
