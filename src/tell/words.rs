//! The words that every page shares: a state's mark and name, a verdict, an instant, what holds a
//! wave back. One word means one thing, wherever it is shown.

use decide::ledger::{Part, Purpose};
use decide::model::Freeze;
use decide::plan::{Finding, Gate, MemberState, Verdict, WaveReport, WaveState};
use decide::reason::spell;
use decide::{Reason, Version};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::inert;

/// How a state looks: colour never alone, a mark and a word beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// One column wide, for terminals and pages.
    pub mark: &'static str,
    /// For Markdown.
    pub emoji: &'static str,
    /// The word.
    pub word: &'static str,
    /// The name of the style, and what colour it stands for.
    pub tone: Tone,
}

/// What a colour means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    /// It failed, or a person stopped it.
    Bad,
    /// A person or a window is waited for.
    Attention,
    /// It moves by itself.
    Moving,
    /// It is done.
    Good,
    /// Nothing to see.
    Quiet,
}

/// The version that stands beside a wave: what an idle tier runs, else what the wave brings.
pub(crate) fn version(wave: &WaveReport) -> Option<&Version> {
    match &wave.state {
        WaveState::Idle { running } => running.as_ref(),
        WaveState::Waiting
        | WaveState::Open { .. }
        | WaveState::Converging { .. }
        | WaveState::Soaking { .. }
        | WaveState::Finished { .. }
        | WaveState::Failed { .. }
        | WaveState::Rejected { .. }
        | WaveState::Superseded { .. }
        | WaveState::Withdrawn { .. } => wave.version.as_ref(),
    }
}

impl Tone {
    /// The class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Attention => "attention",
            Self::Moving => "moving",
            Self::Good => "good",
            Self::Quiet => "quiet",
        }
    }
}

const fn look(mark: &'static str, emoji: &'static str, word: &'static str, tone: Tone) -> Look {
    Look { mark, emoji, word, tone }
}

/// The look of a wave's state.
pub(crate) fn state(state: &WaveState) -> Look {
    match state {
        WaveState::Idle { .. } => look("·", "⚪", "idle", Tone::Quiet),
        WaveState::Waiting => look("○", "⚪", "waits", Tone::Quiet),
        WaveState::Open { .. } => look("●", "🟡", "open", Tone::Attention),
        WaveState::Converging { .. } => look("◔", "🔵", "rolling out", Tone::Moving),
        WaveState::Soaking { paused: false, .. } => look("◐", "🔵", "soaking", Tone::Moving),
        WaveState::Soaking { paused: true, .. } => look("◑", "🟠", "soak paused", Tone::Attention),
        WaveState::Finished { .. } => look("✔", "✅", "finished", Tone::Good),
        WaveState::Failed { .. } => look("✖", "🔴", "failed", Tone::Bad),
        WaveState::Rejected { .. } => look("⊘", "⛔", "rejected", Tone::Bad),
        WaveState::Superseded { .. } => look("»", "⏩", "superseded", Tone::Quiet),
        WaveState::Withdrawn { .. } => look("↩", "↩️", "taken back", Tone::Quiet),
    }
}

/// The look of a whole wave: its state, but stopped when a gate fails, held when a person holds it, and ready when
/// nothing keeps an open one back.
pub(crate) fn wave(wave: &WaveReport) -> Look {
    if let Some(finding) = stop(wave).filter(|_| before_landing(&wave.state)) {
        let known = [(Gate::Hold, "held"), (Gate::Freeze, "frozen"), (Gate::Rejection, "rejected")];
        let word = known.iter().find(|(gate, _)| *gate == finding.gate).map_or("stopped", |(_, word)| *word);
        return look("✖", "🔴", word, Tone::Bad);
    }
    if matches!(wave.state, WaveState::Open { .. }) && !wave.findings.is_empty() && holding(wave).next().is_none() {
        return look("●", "🟢", "ready", Tone::Moving);
    }
    // Nobody of ours brought it here: it was on the base branch when we first looked.
    if matches!(wave.state, WaveState::Finished { .. }) && wave.pull.is_none() {
        return look("·", "⚪", "runs", Tone::Quiet);
    }
    if matches!(wave.state, WaveState::Converging { .. }) && wave.pull.is_none() {
        return look("◔", "🔵", "being proved", Tone::Moving);
    }
    state(&wave.state)
}

/// Whether a wave has yet to be merged.
pub(crate) fn before_landing(state: &WaveState) -> bool {
    matches!(state, WaveState::Waiting | WaveState::Open { .. })
}

/// The look of a verdict.
pub(crate) fn verdict(finding: &Finding) -> Look {
    match finding.verdict {
        Verdict::Pass => look("✔", "✅", "pass", Tone::Good),
        Verdict::Wait { .. } if finding.gate == Gate::Grace => look("◐", "⏳", "runs", Tone::Moving),
        Verdict::Wait { .. } if finding.gate >= Gate::Health => look("◔", "🔵", "waits", Tone::Moving),
        Verdict::Wait { .. } => look("○", "🟡", "waits", Tone::Attention),
        Verdict::Fail => look("✖", "🔴", "fails", Tone::Bad),
        Verdict::Unknown => look("?", "❔", "unknown", Tone::Attention),
        Verdict::Waived { .. } => look("»", "⏩", "waived", Tone::Attention),
    }
}

/// The look of a member's state.
pub(crate) fn member(state: &MemberState) -> Look {
    match state {
        MemberState::NotAsked => look("·", "⚪", "not asked", Tone::Quiet),
        MemberState::Healthy { .. } => look("✔", "✅", "healthy", Tone::Good),
        MemberState::Progressing(_) => look("◔", "🔵", "progressing", Tone::Moving),
        MemberState::Suspended(_) => look("‖", "🟠", "suspended", Tone::Attention),
        MemberState::Unknown(_) => look("?", "❔", "unknown", Tone::Attention),
        MemberState::Degraded(_) => look("!", "🟠", "degraded", Tone::Bad),
        MemberState::Failed(_) => look("✖", "🔴", "failed", Tone::Bad),
    }
}

/// Since when a member is as it is, and the evidence.
pub(crate) fn member_facts(state: &MemberState) -> (Option<Timestamp>, String) {
    match state {
        MemberState::NotAsked => (None, String::new()),
        MemberState::Healthy { since } => (*since, String::new()),
        MemberState::Progressing(trouble)
        | MemberState::Suspended(trouble)
        | MemberState::Unknown(trouble)
        | MemberState::Degraded(trouble)
        | MemberState::Failed(trouble) => {
            let what = if trouble.evidence.is_empty() {
                trouble.what.clone()
            } else {
                format!("{} ({})", trouble.what, trouble.evidence)
            };
            (trouble.since, inert::line(&what))
        }
    }
}

/// Findings that hold a wave back. A running grace period is none of them: it is how a missing
/// approval is waited out, and stands in a sentence of its own.
pub(crate) fn holding(wave: &WaveReport) -> impl Iterator<Item = &Finding> {
    wave.findings.iter().filter(|finding| !finding.verdict.lets_through() && finding.gate != Gate::Grace)
}

/// The finding that stops a wave until somebody acts: a failed gate, else a hold, a freeze or a
/// lost ledger.
pub(crate) fn stop(wave: &WaveReport) -> Option<&Finding> {
    holding(wave).find(|finding| finding.verdict == Verdict::Fail).or_else(|| {
        holding(wave).find(|finding| match finding.gate {
            Gate::Hold | Gate::Freeze | Gate::Ledger | Gate::Rejection => finding.verdict != Verdict::Unknown,
            Gate::Release
            | Gate::TierBelow
            | Gate::After
            | Gate::Breaking
            | Gate::Verification
            | Gate::Window
            | Gate::Announce
            | Gate::Approvals
            | Gate::Head
            | Gate::Limits
            | Gate::Grace
            | Gate::Health
            | Gate::ProgressDeadline
            | Gate::Soak => false,
        })
    })
}

/// The one thing that a wave waits for: what stops it, else what keeps it from its turn, else what
/// a person has to do, else the first gate that does not let through.
pub(crate) fn first(wave: &WaveReport) -> Option<&Finding> {
    let gate = |gates: &'static [Gate]| holding(wave).find(move |finding| gates.contains(&finding.gate));
    stop(wave)
        .or_else(|| gate(&[Gate::Release, Gate::TierBelow, Gate::After]))
        .or_else(|| gate(&[Gate::Breaking, Gate::Approvals, Gate::Head]))
        .or_else(|| holding(wave).next())
}

/// What comes next of a wave that waits for nothing.
pub(crate) fn next(wave: &WaveReport) -> &'static str {
    if matches!(wave.state, WaveState::Waiting) { "opens with the next look" } else { "merges with the next look" }
}

/// A freeze with its scope.
pub(crate) fn freeze(freeze: &Freeze) -> String {
    let tiers = freeze.tiers.iter().map(|tier| tier.as_str());
    let scope: Vec<&str> = tiers.chain(freeze.plugins.iter().map(|plugin| plugin.as_str())).collect();
    let scope = if scope.is_empty() { "everything".to_string() } else { scope.join(", ") };
    let why = Reason::Frozen { why: freeze.why.clone(), by: freeze.by.clone() };
    inert::line(&format!("{scope}: {why}"))
}

/// Why a wave stands still for good, in the reason's own words.
pub(crate) fn end(state: &WaveState) -> Option<Reason> {
    match state {
        WaveState::Failed { why, .. } | WaveState::Withdrawn { why, .. } => Some(why.clone()),
        WaveState::Rejected { by, pull, .. } => Some(Reason::Rejected { by: by.clone(), pull: *pull }),
        WaveState::Superseded { by, .. } => Some(Reason::Superseded { by: by.clone() }),
        WaveState::Idle { .. }
        | WaveState::Waiting
        | WaveState::Open { .. }
        | WaveState::Converging { .. }
        | WaveState::Soaking { .. }
        | WaveState::Finished { .. } => None,
    }
}

/// Since when a wave is in its state.
pub(crate) fn since(state: &WaveState) -> Option<Timestamp> {
    match state {
        WaveState::Idle { .. } | WaveState::Waiting => None,
        WaveState::Open { since, .. } => Some(*since),
        WaveState::Converging { landed, .. } | WaveState::Soaking { landed, .. } => Some(*landed),
        WaveState::Finished { at }
        | WaveState::Failed { at, .. }
        | WaveState::Rejected { at, .. }
        | WaveState::Superseded { at, .. }
        | WaveState::Withdrawn { at, .. } => Some(*at),
    }
}

/// Whether the release is, or was, on the base branch. A wave may fail before it lands; then its
/// members were never asked.
pub(crate) fn landed(wave: &WaveReport) -> bool {
    match &wave.state {
        WaveState::Converging { .. } | WaveState::Soaking { .. } | WaveState::Finished { .. } => true,
        WaveState::Failed { .. } | WaveState::Superseded { .. } | WaveState::Withdrawn { .. } => wave.members.asked(),
        WaveState::Idle { .. } | WaveState::Waiting | WaveState::Open { .. } | WaveState::Rejected { .. } => false,
    }
}

/// Until when a finding waits, if that is known.
pub(crate) fn until(finding: &Finding) -> Option<Timestamp> {
    match (&finding.verdict, &finding.because) {
        (Verdict::Wait { until }, Reason::GraceRunning { deadline }) => Some(until.unwrap_or(*deadline)),
        (Verdict::Wait { until }, _) => *until,
        (Verdict::Pass | Verdict::Fail | Verdict::Unknown | Verdict::Waived { .. }, _) => None,
    }
}

/// Who can unblock a finding that does not let through.
pub(crate) fn who(finding: &Finding) -> Option<String> {
    if finding.verdict.lets_through() { None } else { finding.because.unblock().map(|who| inert::line(&who)) }
}

/// `Mon 23 Nov 2026, 08:00 CET`: the zone is part of the text, so that nobody has to guess.
pub(crate) fn when(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%a %-d %b %Y, %H:%M %Z").to_string()
}

/// `23 Nov 08:00`, where the year and the zone stand nearby.
pub(crate) fn brief(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%-d %b %H:%M").to_string()
}

/// `in 2 d 3 h` or `5 min ago`; whole minutes once it is more than one.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    let distance = at.duration_since(now);
    let whole = |duration: SignedDuration| {
        let seconds = duration.as_secs();
        spell(SignedDuration::from_secs(if seconds >= 60 { seconds - seconds % 60 } else { seconds }))
    };
    if distance.is_negative() {
        format!("{} ago", whole(distance.abs()))
    } else if distance.is_zero() {
        "now".to_string()
    } else {
        format!("in {}", whole(distance))
    }
}

/// `1 cluster`, `4 clusters`.
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// What kind of step it is, by the numbers.
pub(crate) fn step(from: Option<&Version>, to: &Version) -> &'static str {
    let Some(from) = from else { return "First install" };
    let ((major, minor, patch), (was_major, was_minor, was_patch)) = (to.core(), from.core());
    if to < from {
        "Step back to an older version"
    } else if major != was_major {
        "Major release"
    } else if minor != was_minor {
        "Minor release"
    } else if patch != was_patch {
        "Patch release"
    } else if to.is_prerelease() {
        "Newer pre-release"
    } else if from.is_prerelease() {
        "Release of a pre-release that runs here"
    } else {
        "The same version again"
    }
}

/// `cert-manager 1.15.0 → silver`.
pub(crate) fn name(wave: &WaveReport) -> String {
    match (&wave.version, &wave.rollback_of) {
        (Some(version), Some(of)) => {
            inert::line(&format!("{} {version} → {} (rollback of {of})", wave.plugin, wave.tier))
        }
        (Some(version), None) => inert::line(&format!("{} {version} → {}", wave.plugin, wave.tier)),
        (None, _) => inert::line(&format!("{} → {}", wave.plugin, wave.tier)),
    }
}

/// `, clusters 3–5 of 12`: which of the tier's clusters a pull request is for, where it is not for all.
pub(crate) fn portion(wave: &WaveReport) -> String {
    match (&wave.part.purpose, wave.part.span()) {
        (Purpose::CatchUp, _) => format!(", {} catching up", count(wave.members.len(), "cluster")),
        (Purpose::Early, _) => format!(", {} ahead of their tier", count(wave.members.len(), "cluster")),
        (Purpose::Promotion | Purpose::RollBack { .. }, Some((first, last, of))) if first == last => {
            format!(", cluster {first} of {of}")
        }
        (Purpose::Promotion | Purpose::RollBack { .. }, Some((first, last, of))) => {
            format!(", clusters {first}–{last} of {of}")
        }
        (Purpose::Promotion | Purpose::RollBack { .. }, None) => String::new(),
    }
}

/// `slice 2 of 4`, where a climb is cut into several.
pub(crate) fn slice(part: &Part) -> Option<String> {
    part.span().map(|_| format!("slice {} of {}", part.slice + 1, part.slices()))
}

/// `3 of 4 clusters healthy on this version`; before it was asked of any, how many there are.
pub(crate) fn clusters(wave: &WaveReport) -> String {
    let (healthy, of) = healthy(wave);
    if !wave.members.asked() {
        format!("{}, not asked for this version yet", count(of, "cluster"))
    } else {
        format!("{healthy} of {} healthy on this version", count(of, "cluster"))
    }
}

/// How many members are healthy, and of how many.
pub(crate) fn healthy(wave: &WaveReport) -> (usize, usize) {
    (wave.members.healthy(), wave.members.len())
}
