//! How long a release may wait for a yes, and what happens then.

use decide::Reason;
use decide::plan::{Gate, Verdict, WaveReport};
use decide::reason::spell;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::super::{Links, words};

#[derive(Serialize)]
pub(super) struct Grace {
    deadline: String,
    since: String,
    over: bool,
    planned: String,
    sent: String,
    blocked: Option<String>,
}

/// What happens when nobody approves; only while that is still a question.
pub(super) fn grace(wave: &WaveReport, links: &Links, zone: &TimeZone) -> Option<Grace> {
    let grace = wave.grace.as_ref().filter(|_| words::before_landing(&wave.state))?;
    let approvals = wave.findings.iter().find(|finding| finding.gate == Gate::Approvals);
    if approvals.is_some_and(|finding| finding.verdict == Verdict::Pass) {
        return None;
    }
    let finding = wave.findings.iter().find(|finding| finding.gate == Gate::Grace);
    // Somebody wants it merged now: its end is no question any more.
    if finding.is_some_and(|finding| matches!(finding.because, Reason::ForceSaid { .. })) {
        return None;
    }
    let running = finding.is_none_or(|finding| matches!(finding.because, Reason::GraceRunning { .. }));
    let over = approvals.is_some_and(|finding| matches!(finding.verdict, Verdict::Waived { .. }))
        || finding.is_some_and(|f| matches!(f.because, Reason::GraceOver { .. } | Reason::ForceBlocked { .. }));
    let planned = links.tier(&wave.plugin, &wave.tier).map_or(&[][..], |tier| &tier.notice);
    let planned: Vec<String> = planned.iter().map(|before| spell(*before)).collect();
    let sent: Vec<String> = grace
        .notices
        .iter()
        .map(|notice| format!("{} before on {}", spell(notice.before), words::when(notice.at, zone)))
        .collect();
    Some(Grace {
        deadline: words::when(grace.deadline, zone),
        since: words::when(grace.since, zone),
        over,
        planned: words::and(&planned),
        sent: words::and(&sent),
        blocked: finding.filter(|f| !running && !f.verdict.lets_through()).map(|f| f.because.to_string()),
    })
}
