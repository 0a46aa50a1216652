//! Shared caps: open pull requests, clusters changed in an hour.

use crate::Reason;
use crate::desk::{CAP_SPAN, Desk};
use crate::ledger::Wave;
use crate::plan::{Finding, Gate, Verdict};

/// Whether one more pull request may be opened.
pub(crate) fn opening(desk: &Desk<'_>) -> Finding {
    match desk.snapshot.policy.limits.open_pulls {
        Some(limit) if desk.shared.open_pulls >= limit => Finding::wait(Gate::Limits, Reason::OpenPullLimit { limit }),
        Some(_) | None => Finding::pass(Gate::Limits, Reason::WithinLimits),
    }
}

/// Whether the members of this wave may be changed now. A wave larger than the cap itself waits for
/// a whole quiet hour rather than for ever.
pub(crate) fn merging(desk: &Desk<'_>, wave: &Wave) -> Finding {
    let Some(limit) = desk.snapshot.policy.limits.clusters_per_hour else {
        return Finding::pass(Gate::Limits, Reason::WithinLimits);
    };
    let members = u32::try_from(wave.members.len()).unwrap_or(u32::MAX);
    let lately = desk.shared.changed_lately();
    if lately == 0 || lately.saturating_add(members) <= limit {
        return Finding::pass(Gate::Limits, Reason::WithinLimits);
    }
    let until = desk.shared.changed.iter().map(|(at, _)| *at + CAP_SPAN).min();
    Finding::new(Gate::Limits, Verdict::Wait { until }, Reason::ClusterLimit { limit })
}
