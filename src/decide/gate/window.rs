//! The windows of the file, the tier and the plugin must all be open at the tested instant.

use crate::Reason;
use crate::desk::Desk;
use crate::model::Tier;
use crate::plan::{Finding, Gate, Verdict};
use crate::reason::Scope;
use crate::window::Windows;

pub(crate) fn finding(desk: &Desk<'_>, tier: &Tier) -> Finding {
    let all = [
        (Scope::File, desk.snapshot.policy.windows.as_ref()),
        (Scope::Tier, tier.windows.as_ref()),
        (Scope::Plugin, desk.policy.windows.as_ref()),
    ];
    if all.iter().all(|(_, windows)| windows.is_none()) {
        return Finding::pass(Gate::Window, Reason::NoWindow);
    }
    // Of several closed windows the one that opens last is the one that people wait for.
    let closed = all
        .into_iter()
        .filter_map(|(whose, windows)| Some((whose, windows?)))
        .filter(|(_, windows)| !windows.open_at(desk.now))
        .map(|(whose, windows)| (windows.next_open(desk.now), whose, windows))
        .max_by_key(|(opens, _, _)| opens.map_or((1, None), |opens| (0, Some(opens))));
    match closed {
        None => Finding::pass(Gate::Window, Reason::WindowOpen),
        Some((until, whose, windows)) => {
            Finding::new(Gate::Window, Verdict::Wait { until }, because(desk, whose, windows))
        }
    }
}

fn because(desk: &Desk<'_>, whose: Scope, windows: &Windows) -> Reason {
    match windows.closed_because(desk.now) {
        Some(closed) if !closed.why.is_empty() => Reason::ClosedDays { whose, why: closed.why.clone() },
        Some(_) | None => Reason::WindowClosed { whose },
    }
}
