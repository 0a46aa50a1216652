//! One sentence on where a pull request stands, and the marks: what people should know before they rely on the rest.

use decide::Reason;
use decide::plan::{Finding, Gate, Verdict, WaveReport, WaveState};

use super::PullFacts;
use crate::tell::{inert, words};

/// One sentence where no list of waits stands.
pub(super) fn status(facts: &PullFacts<'_>, nothing_waits: bool) -> Option<String> {
    queue(facts, nothing_waits).or_else(|| merged(facts)).or_else(|| stands(facts.wave, nothing_waits))
}

/// Who else may merge it, what was let through, and where it goes no further.
pub(super) fn marks(facts: &PullFacts<'_>) -> Vec<String> {
    auto_merge(facts).into_iter().chain(queued_by(facts)).chain(let_through(facts.wave)).collect()
}

/// That a person has taken the merge out of the bot's hands.
fn auto_merge(facts: &PullFacts<'_>) -> Option<String> {
    let by = facts.auto_merge.filter(|_| words::before_landing(&facts.wave.state))?;
    Some(format!(
        "{by} has switched auto-merge on: GitHub merges this as soon as the branch rules allow it, whatever it waits \
         for here"
    ))
}

/// That it waits in the merge queue, where the bot has put it.
fn queue(facts: &PullFacts<'_>, nothing_waits: bool) -> Option<String> {
    let (position, by) = facts.queued.filter(|_| words::before_landing(&facts.wave.state))?;
    (by.is_none() && nothing_waits).then(|| {
        format!(
            "**Every gate passes.** It waits in the merge queue, at place {position}; GitHub merges it when the checks \
             of its group succeed. A hold or a freeze takes it out again."
        )
    })
}

/// That a person has put it into the merge queue.
fn queued_by(facts: &PullFacts<'_>) -> Option<String> {
    let (position, by) = facts.queued.filter(|_| words::before_landing(&facts.wave.state))?;
    let by = by?;
    Some(format!(
        "{by} has put this into the merge queue, at place {position}: GitHub merges it when the checks of its group \
         succeed, whatever it waits for here"
    ))
}

/// What was let through without its proof or through closed windows, and that a release which has landed
/// here failed elsewhere. Missing approvals that were waived stand with the grace period.
fn let_through(wave: &WaveReport) -> Vec<String> {
    let landed = words::landed(wave) && words::end(&wave.state).is_none();
    let mark = |finding: &Finding| match finding.verdict {
        Verdict::Waived { .. } if finding.gate == Gate::Window => Some(format!("Let through: {}", finding.because)),
        Verdict::Waived { .. } if finding.gate != Gate::Approvals => Some(format!("Not proved: {}", finding.because)),
        Verdict::Fail if landed && finding.gate == Gate::Release && about_itself(wave, &finding.because) => {
            Some(format!("It stays here and goes no further: {}", finding.because))
        }
        Verdict::Waived { .. } | Verdict::Fail | Verdict::Pass | Verdict::Wait { .. } | Verdict::Unknown => None,
    };
    wave.findings.iter().filter_map(mark).collect()
}

/// Whether what stops a release is about the one of this wave: a tier that rests says as well why it
/// passes over a newer one.
fn about_itself(wave: &WaveReport, why: &Reason) -> bool {
    matches!(why, Reason::ReleaseHeld { version, .. } if wave.version.as_ref() == Some(version))
}

/// How the clusters take what is merged, which of them do not, and until when it soaks.
fn merged(facts: &PullFacts<'_>) -> Option<String> {
    let wave = facts.wave;
    let (healthy, of) = words::healthy(wave);
    let not_yet = wave.findings.iter().find(|one| one.gate == Gate::Health && one.verdict != Verdict::Pass);
    let not_yet = not_yet.map(|finding| format!(" Not yet: {}.", inert::md(&finding.because.to_string())));
    let not_yet = not_yet.unwrap_or_default();
    let ends = |at| words::when(at, &facts.links.zone(&wave.plugin, &wave.tier));
    let text = match &wave.state {
        WaveState::Converging { .. } if wave.members.asked() => {
            format!("{healthy} of its {of} clusters are healthy on this version.{not_yet}")
        }
        WaveState::Converging { .. } => "Its clusters are on the way to this version.".to_string(),
        WaveState::Soaking { paused: true, .. } => {
            format!("The soak stands still until all of its clusters are healthy again.{not_yet}")
        }
        WaveState::Soaking { until, of: asked, healthy_for, .. } => {
            let ends = ends(*until + (*asked - *healthy_for));
            let clusters = if healthy < of {
                format!("{healthy} of its {of} clusters are healthy on this version, which the policy tolerates")
            } else {
                "All of its clusters are healthy on this version".to_string()
            };
            format!("{clusters}; the soak ends on **{ends}**.")
        }
        WaveState::Open { .. }
        | WaveState::Waiting
        | WaveState::Idle { .. }
        | WaveState::Finished { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => return None,
    };
    Some(format!("**Merged.** {text}"))
}

/// One sentence on where it stands.
fn stands(wave: &WaveReport, nothing_waits: bool) -> Option<String> {
    let text = match &wave.state {
        WaveState::Open { .. } if nothing_waits => "**Every gate passes.** It is merged at the bot's next look.",
        // Approvals and windows are asked of a pull request that is there: of this one nobody has asked yet.
        WaveState::Waiting if nothing_waits => {
            "**Just opened.** Who has to approve it, and what else it waits for, will stand here at the bot's next look."
        }
        WaveState::Finished { .. } if wave.tier_index == wave.of => "**Finished.** This was the last tier.",
        WaveState::Finished { .. } => "**Finished.** This release may go on to the next tier.",
        WaveState::Open { .. }
        | WaveState::Waiting
        | WaveState::Idle { .. }
        | WaveState::Converging { .. }
        | WaveState::Soaking { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => return None,
    };
    Some(text.to_string())
}
