//! The windows of the operator, the file, the tier, the plugin and the clusters must all be open at the
//! tested instant. Which hotfix needs only the operator's is in `hotfix`.

use alloc::vec::Vec;

use jiff::Timestamp;

use super::asked::AskedOpen;
use crate::Reason;
use crate::facts::Facts;
use crate::ledger::Wave;
use crate::model::{Maintenance, Tier};
use crate::plan::{Finding, Gate, Verdict};
use crate::reason::Scope;
use crate::window::{Windows, all_open};

pub(crate) fn finding(open: &AskedOpen<'_>) -> Finding {
    among(open.facts, &of(open.facts, open.tier, open.wave))
}

fn of<'a>(facts: &Facts<'a>, tier: &'a Tier, wave: &Wave) -> Vec<(Scope, &'a Windows)> {
    let policy = &facts.snapshot.policy;
    let own = [
        (Scope::Operator, policy.operator_windows.as_ref()),
        (Scope::File, policy.windows.as_ref()),
        (Scope::Tier, tier.windows.as_ref()),
        (Scope::Plugin, facts.policy.windows.as_ref()),
    ];
    let own = own.into_iter().filter_map(|(whose, windows)| Some((whose, windows?)));
    let of_clusters = policy.maintenance.iter().filter(|maintenance| takes(facts, maintenance, wave));
    own.chain(of_clusters.map(|maintenance| (Scope::Clusters, &maintenance.windows))).collect()
}

/// Whether a member of the wave is among these clusters. While the inventory cannot be read it may be; one that has
/// left the inventory is not.
fn takes(facts: &Facts<'_>, maintenance: &Maintenance, wave: &Wave) -> bool {
    let selected = |member| facts.labels(member).is_some_and(|labels| maintenance.select.matches(labels));
    facts.snapshot.clusters.known().is_none() || wave.members.iter().any(selected)
}

/// When the window ends in which something happened at `at`, and when the next one opens, if that is known.
/// None where windows never close, or one was closed then.
pub(crate) fn after(
    facts: &Facts<'_>,
    tier: &Tier,
    wave: &Wave,
    at: Timestamp,
) -> Option<(Timestamp, Option<Timestamp>)> {
    let every: Vec<&Windows> = of(facts, tier, wave).into_iter().map(|(_, windows)| windows).collect();
    let closes = every.iter().filter_map(|windows| windows.closes(at)).min()?;
    Some((closes, all_open(&every, closes)))
}

/// The windows of the operator alone.
pub(crate) fn operators(facts: &Facts<'_>) -> Finding {
    let operators = facts.snapshot.policy.operator_windows.as_ref().map(|windows| (Scope::Operator, windows));
    among(facts, operators.as_slice())
}

fn among(facts: &Facts<'_>, all: &[(Scope, &Windows)]) -> Finding {
    if all.is_empty() {
        return Finding::pass(Gate::Window, Reason::NoWindow);
    }
    // Of several closed windows the one that opens last is the one that people wait for.
    let closed = all.iter().filter(|(_, windows)| !windows.open_at(facts.now));
    let closed = closed.max_by_key(|(_, windows)| {
        let opens = windows.next_open(facts.now);
        opens.map_or((1, None), |opens| (0, Some(opens)))
    });
    match closed {
        None => Finding::pass(Gate::Window, Reason::WindowOpen),
        Some((whose, windows)) => {
            let every: Vec<&Windows> = all.iter().map(|(_, windows)| *windows).collect();
            let until = all_open(&every, facts.now);
            Finding::new(Gate::Window, Verdict::Wait { until }, because(facts, *whose, windows))
        }
    }
}

fn because(facts: &Facts<'_>, whose: Scope, windows: &Windows) -> Reason {
    match windows.closed_because(facts.now) {
        Some(closed) if !closed.why.is_empty() => Reason::ClosedDays { whose, why: closed.why.clone() },
        Some(_) | None => Reason::WindowClosed { whose },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::model::Hotfix;
    use crate::selector::Selector;
    use crate::snapshot::{Read, Snapshot};
    use crate::testing::*;
    use crate::window::{ClosedDays, Cron, Range};
    use alloc::vec;
    use jiff::SignedDuration;
    use jiff::tz::TimeZone;

    fn windows(from_hour: u16, to_hour: u16) -> Windows {
        let open = vec![Range { days: vec![1, 2, 3, 4, 5], from: from_hour * 60, to: to_hour * 60 }];
        Windows { open, ..Windows::always(TimeZone::UTC) }
    }

    fn closed() -> Windows {
        let day = jiff::civil::date(2026, 11, 23);
        let closed = vec![ClosedDays { from: day, to: day, why: "release day".into() }];
        Windows { closed, ..windows(0, 24) }
    }

    #[test]
    fn every_window_has_to_be_open() {
        let until = |text: &str| Verdict::Wait { until: Some(at(text)) };
        table(
            Gate::Window,
            ready,
            &[
                ("none", |_| {}, Verdict::Pass, "no window"),
                (
                    "all open",
                    |w| {
                        w.policy.windows = Some(windows(8, 16));
                        bronze(w).windows = Some(windows(9, 15));
                    },
                    Verdict::Pass,
                    "every window is open",
                ),
                (
                    "the file's is closed",
                    |w| w.policy.windows = Some(windows(13, 16)),
                    until("2026-11-23T13:00:00Z"),
                    "the window of the policy file",
                ),
                (
                    "the tier's is closed",
                    |w| bronze(w).windows = Some(windows(8, 12)),
                    until("2026-11-24T08:00:00Z"),
                    "the window of the tier",
                ),
                (
                    "the plugin's is closed",
                    |w| w.policy.plugins[0].windows = Some(windows(14, 16)),
                    until("2026-11-23T14:00:00Z"),
                    "the window of the plugin",
                ),
                (
                    "the operator's is closed",
                    |w| w.policy.operator_windows = Some(windows(14, 16)),
                    until("2026-11-23T14:00:00Z"),
                    "the window of the bot's operator",
                ),
                (
                    "a schedule in place of words",
                    |w| {
                        let cron = Cron { cron: "0 13 * * 1-5".parse().unwrap(), lasts: SignedDuration::from_hours(2) };
                        w.policy.windows = Some(Windows { cron: vec![cron], ..Windows::always(TimeZone::UTC) });
                    },
                    until("2026-11-23T13:00:00Z"),
                    "the window of the policy file",
                ),
                (
                    "one is open and closes before the other opens: the instant is that of both",
                    |w| {
                        w.policy.windows = Some(windows(8, 13));
                        bronze(w).windows = Some(Windows {
                            open: vec![
                                Range { days: vec![1], from: 14 * 60, to: 16 * 60 },
                                Range { days: vec![2], from: 10 * 60, to: 16 * 60 },
                            ],
                            ..Windows::always(TimeZone::UTC)
                        });
                    },
                    until("2026-11-24T10:00:00Z"),
                    "the window of the tier",
                ),
                (
                    "two are closed: the later one is named",
                    |w| {
                        w.policy.windows = Some(windows(13, 16));
                        bronze(w).windows = Some(windows(15, 16));
                    },
                    until("2026-11-23T15:00:00Z"),
                    "the window of the tier",
                ),
                (
                    "a closed day wins",
                    |w| w.policy.windows = Some(closed()),
                    until("2026-11-24T00:00:00Z"),
                    "the policy file is closed for: release day",
                ),
                (
                    "a closed day of which nobody says why",
                    |w| {
                        let mut windows = closed();
                        windows.closed.iter_mut().for_each(|days| days.why.clear());
                        w.policy.windows = Some(windows);
                    },
                    until("2026-11-24T00:00:00Z"),
                    "the window of the policy file is closed",
                ),
                (
                    "that of a cluster is closed",
                    |w| {
                        w.policy.windows = Some(windows(8, 16));
                        w.policy.maintenance = vec![
                            Maintenance { select: tier("bronze").select, windows: windows(13, 15) },
                            Maintenance { select: tier("gold").select, windows: windows(15, 16) },
                        ];
                    },
                    until("2026-11-23T13:00:00Z"),
                    "the maintenance window of these clusters is closed",
                ),
                (
                    "those of two clusters never meet",
                    |w| {
                        let of = |from, to| Maintenance { select: tier("bronze").select, windows: windows(from, to) };
                        w.policy.maintenance = vec![of(13, 14), of(14, 15)];
                    },
                    Verdict::Wait { until: Some(at("2027-01-25T13:00:00Z")) },
                    "the maintenance window of these clusters is closed",
                ),
                (
                    "that of other clusters is none of its business",
                    |w| {
                        let windows = windows(14, 16);
                        w.policy.maintenance = vec![Maintenance { select: tier("gold").select, windows }];
                    },
                    Verdict::Pass,
                    "no window",
                ),
                (
                    "no room before it closes",
                    |w| w.policy.windows = Some(Windows { room: SignedDuration::from_hours(4), ..windows(8, 16) }),
                    until("2026-11-24T08:00:00Z"),
                    "the window of the policy file",
                ),
            ],
        );
    }

    /// Others of its tier are still there; whoever has left the inventory has no windows.
    #[test]
    fn the_windows_of_a_cluster_leave_with_it() {
        let of = |listed: bool| {
            let mut world = ready();
            let select = Selector { match_labels: [("name".into(), "bronze-1".into())].into(), ..Selector::default() };
            world.policy.maintenance = vec![Maintenance { select, windows: windows(14, 16) }];
            let Read::Known(clusters) = &mut world.clusters else { panic!() };
            let mut one = clusters.iter().find(|cluster| cluster.name.as_str() == "bronze-1").unwrap().clone();
            one.labels.insert("name".into(), "bronze-1".into());
            clusters.retain(|cluster| cluster.name != one.name);
            clusters.extend(listed.then_some(one));
            let wave = Wave::begun(version("1.1.0"), vec!["bronze-1".into()].into(), ago(30));
            let shared = &mut crate::facts::Shared::count(&world, noon());
            let common = crate::facts::Common::of(&world, noon());
            let facts = Facts::new(&common, 0, shared);
            takes(&facts, &world.policy.maintenance[0], &wave)
        };
        assert_eq!((of(true), of(false)), (true, false));
    }

    #[test]
    fn a_hotfix_passes_the_files_windows_where_the_file_says_so() {
        fn hotfix(world: &mut Snapshot, through_windows: bool) {
            let hotfix = Hotfix { version: version("1.1.0"), why: "CVE".into(), soak: None, through_windows };
            world.policy.plugins[0].hotfixes.push(hotfix);
            world.policy.windows = Some(windows(13, 16));
        }
        let until = |text: &str| Verdict::Wait { until: Some(at(text)) };
        table(
            Gate::Window,
            ready,
            &[
                (
                    "it may",
                    |w| hotfix(w, true),
                    Verdict::Waived { since: ago(30) },
                    "a hotfix (CVE), though the window",
                ),
                ("it may not", |w| hotfix(w, false), until("2026-11-23T13:00:00Z"), "the window of the policy file"),
                (
                    "the operator's windows are not the file's to open",
                    |w| {
                        hotfix(w, true);
                        w.policy.operator_windows = Some(windows(14, 16));
                    },
                    until("2026-11-23T14:00:00Z"),
                    "the window of the bot's operator",
                ),
            ],
        );
    }

    #[test]
    fn the_bot_wakes_when_it_opens() {
        let mut world = ready();
        world.policy.windows = Some(windows(13, 16));
        let plan = crate::plan(&world, noon());
        assert_eq!(plan.alarm.map(|alarm| alarm.at), Some(at("2026-11-23T13:00:00Z")));
        assert!(merges(&crate::plan(&world, at("2026-11-23T13:00:00Z"))));
    }
}
