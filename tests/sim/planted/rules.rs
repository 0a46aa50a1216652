//! Bugs in the rules: approvals, holds, windows, freezes, force, caps, alarms.

use decide::Reason;
use decide::plan::{Action, Plan};
use decide::snapshot::{CommandKind, LedgerGuard, LedgerState, Read, ReviewVerdict, Snapshot};
use decide::window::Windows;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::Bug;
use super::facts::{foreign_heads_are_ours, lied_to, pulls};

fn tiers(snapshot: &mut Snapshot) -> impl Iterator<Item = &mut decide::model::Tier> {
    snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers)
}

/// The honest plan, and what is merged by force under a lie.
fn by_force_only(snapshot: &Snapshot, now: Timestamp, lie: impl FnOnce(&mut Snapshot)) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    let forced = |action: &Action| matches!(action, Action::Merge { forced: Some(_), .. });
    if !plan.actions.iter().any(forced) {
        plan.actions.extend(lied_to(snapshot, now, lie).actions.into_iter().filter(forced));
    }
    plan
}

fn no_soak(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| tiers(snapshot).for_each(|tier| tier.soak.min = SignedDuration::ZERO))
}

fn tier_below_not_asked(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for plugin in &mut snapshot.policy.plugins {
            plugin.tiers.remove(0);
        }
    })
}

fn no_windows(snapshot: &mut Snapshot) {
    snapshot.policy.windows = None;
    tiers(snapshot).for_each(|tier| tier.windows = None);
}

fn windows_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, no_windows)
}

fn windows_ignored_by_force(snapshot: &Snapshot, now: Timestamp) -> Plan {
    by_force_only(snapshot, now, no_windows)
}

/// The zone's offset of a week ago is used for the tested instant.
fn offset_of_another_day(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let fix = |windows: &mut Windows| {
            let before = now - SignedDuration::from_hours(24 * 7);
            windows.zone = TimeZone::fixed(windows.zone.to_offset(before));
        };
        snapshot.policy.windows.iter_mut().for_each(fix);
        tiers(snapshot).filter_map(|tier| tier.windows.as_mut()).for_each(fix);
    })
}

fn freezes_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.freezes.clear())
}

fn freeze_waived(snapshot: &Snapshot, now: Timestamp) -> Plan {
    by_force_only(snapshot, now, |snapshot| snapshot.policy.freezes.clear())
}

fn without_holds(snapshot: &mut Snapshot) {
    for pull in pulls(snapshot) {
        pull.draft = false;
        pull.commands.retain(|command| !matches!(command.what, CommandKind::Hold { .. }));
    }
}

fn holds_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, without_holds)
}

fn holds_ignored_by_force(snapshot: &Snapshot, now: Timestamp) -> Plan {
    by_force_only(snapshot, now, without_holds)
}

fn impatient_force(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        tiers(snapshot).filter_map(|tier| tier.force.as_mut()).for_each(|force| force.after /= 2);
    })
}

fn notice_skipped(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        tiers(snapshot).filter_map(|tier| tier.force.as_mut()).for_each(|force| force.notice.clear());
    })
}

/// A notice counts from when it was due, not from when it was sent.
fn notice_counts_when_due(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for pull in pulls(snapshot) {
            let opened = pull.opened_at;
            pull.notices.iter_mut().for_each(|sent| sent.at = opened);
        }
        let waves = snapshot.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut()).flatten();
        for grace in waves.filter_map(|wave| wave.grace.as_mut()) {
            grace.notices.iter_mut().for_each(|sent| sent.at = grace.since);
        }
    })
}

/// A shorter period in the file moves a deadline that was announced.
fn deadline_moved_earlier(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for plugin in &snapshot.policy.plugins {
            let Some(page) = snapshot.ledger.plugins.get_mut(&plugin.name) else { continue };
            for tier in &plugin.tiers {
                let waves = page.tiers.get_mut(&tier.name).into_iter().flatten();
                for grace in waves.filter_map(|wave| wave.grace.as_mut()) {
                    if let Some(force) = &tier.force {
                        grace.deadline = grace.since + force.after;
                    }
                }
            }
        }
    })
}

/// Outages of the hub count towards the grace period.
fn outages_count(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.ledger.outages.clear())
}

fn skew_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.hub.skew = SignedDuration::ZERO)
}

fn open_ledger_forces(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        if let LedgerState::Intact { guarded } = &mut snapshot.ledger_state {
            *guarded = LedgerGuard::Sealed;
        }
    })
}

fn broken_file_merges(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy_problem = None)
}

fn objections_overlooked(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for pull in pulls(snapshot) {
            pull.reviews.retain(|review| review.verdict != ReviewVerdict::ChangesRequested);
        }
    })
}

/// Whoever approves, and whatever they looked at.
fn every_yes_counts(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for pull in pulls(snapshot) {
            for review in &mut pull.reviews {
                review.commit = pull.head.clone();
                (review.human, review.may_write, review.at) = (true, Read::Known(true), now);
            }
        }
    })
}

/// An approval of an older commit counts for the one that took its place.
fn approval_kept(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for pull in pulls(snapshot) {
            for review in &mut pull.reviews {
                (review.commit, review.at) = (pull.head.clone(), now);
            }
        }
    })
}

/// Whoever pushed last approves what they pushed.
fn last_pusher_approves(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = lied_to(snapshot, now, foreign_heads_are_ours);
    for action in &mut plan.actions {
        if let Action::Merge { plugin, pull, head, .. } = action {
            let pulls = snapshot.plugins[plugin].pulls.known();
            let present = pulls.and_then(|pulls| pulls.iter().find(|known| known.number == *pull));
            *head = present.map_or(head.clone(), |present| present.head.clone());
        }
    }
    plan
}

/// Changed rights are not asked again.
fn rights_not_asked(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for review in pulls(snapshot).flat_map(|pull| &mut pull.reviews) {
            review.may_write = Read::Known(true);
        }
    })
}

/// Whatever was acknowledged, it was this.
fn breaking_of_another(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for pull in pulls(snapshot) {
            let Some(own) = pull.version.clone() else { continue };
            for command in &mut pull.commands {
                if let CommandKind::Acknowledge { version } = &mut command.what {
                    *version = own.clone();
                }
            }
        }
    })
}

fn marks_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            if let Read::Known(releases) = &mut facts.releases {
                releases.iter_mut().for_each(|release| release.marked_breaking = false);
            }
        }
    })
}

fn signatures_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.plugins.iter_mut().for_each(|plugin| plugin.signed = false))
}

fn constraint_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        snapshot.policy.plugins.iter_mut().for_each(|plugin| plugin.constraint = "*-0".parse().ok());
    })
}

fn hourly_cap_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.limits.clusters_per_hour = None)
}

fn open_cap_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.limits.open_pulls = None)
}

/// One tolerated failure makes a wave of one healthy.
fn tolerated_is_healthy(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for plugin in &snapshot.policy.plugins {
            let Some(facts) = snapshot.plugins.get_mut(&plugin.name) else { continue };
            let most = plugin.tiers.iter().map(|tier| tier.health.max_failures).max().unwrap_or(0) as usize;
            let mut left = most;
            facts.readings.reread(|_, readings| {
                let failed = readings.iter_mut().filter(|reading| reading.health == decide::snapshot::Health::Failed);
                for reading in failed.take(left) {
                    reading.health = decide::snapshot::Health::Healthy;
                    left -= 1;
                }
            });
        }
    })
}

fn never_looks_again(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    plan.alarm = None;
    plan
}

fn without_alarm(snapshot: &Snapshot, now: Timestamp, is: impl Fn(&Reason) -> bool) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    plan.alarm = plan.alarm.filter(|alarm| !is(&alarm.why));
    plan
}

fn no_alarm_at_the_grace_end(snapshot: &Snapshot, now: Timestamp) -> Plan {
    without_alarm(snapshot, now, |why| matches!(why, Reason::GraceRunning { .. }))
}

fn no_alarm_for_windows(snapshot: &Snapshot, now: Timestamp) -> Plan {
    without_alarm(snapshot, now, |why| matches!(why, Reason::WindowClosed { .. } | Reason::ClosedDays { .. }))
}

/// Force is merged on evidence of another commit of the policy file.
fn evidence_of_another_policy(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    for action in &mut plan.actions {
        if let Action::Merge { forced: Some(evidence), .. } = action {
            evidence.policy = decide::Sha::new("0".repeat(40));
        }
    }
    plan
}

/// Anybody's word forces.
fn anybody_forces(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for command in pulls(snapshot).flat_map(|pull| &mut pull.commands) {
            if matches!(command.what, CommandKind::Force { .. }) {
                command.allowed = Read::Known(true);
            }
        }
    })
}

/// One person's word forces.
fn one_word_forces(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.force_by = Some(1))
}

/// A bypass passes what else than reviews the branch rules ask for.
fn rules_passed(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for pull in pulls(snapshot) {
            pull.unmet = Read::Known(Vec::new());
        }
    })
}

/// A word is kept when the pull request moves to another commit.
fn word_kept(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let waves = snapshot.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut()).flatten();
        waves.filter_map(|wave| wave.shown.as_mut()).for_each(|shown| shown.at = Timestamp::UNIX_EPOCH);
    })
}

pub const BUGS: &[Bug] = &[
    ("no soak", no_soak, &["S1"]),
    ("tier below not asked", tier_below_not_asked, &["S1", "S2"]),
    ("tolerated failure counted as healthy", tolerated_is_healthy, &["S1"]),
    ("window ignored", windows_ignored, &["S9"]),
    ("window ignored by force", windows_ignored_by_force, &["S9"]),
    ("offset of another day for the tested instant", offset_of_another_day, &["S9"]),
    ("freeze ignored", freezes_ignored, &["S9"]),
    ("freeze waived by force", freeze_waived, &["S9"]),
    ("hold ignored", holds_ignored, &["S9", "S8"]),
    ("hold ignored by force", holds_ignored_by_force, &["S9", "S8"]),
    ("force is impatient", impatient_force, &["S8"]),
    ("notice skipped", notice_skipped, &["S8"]),
    ("a notice counts from when it was due", notice_counts_when_due, &["S8"]),
    ("deadline moved earlier", deadline_moved_earlier, &["S8", "S17"]),
    ("outages count as grace", outages_count, &["S8"]),
    ("skew ignored", skew_ignored, &["S8"]),
    ("force with an open ledger", open_ledger_forces, &["S8"]),
    ("merge with a broken file", broken_file_merges, &["S9"]),
    ("anybody's word forces", anybody_forces, &["S8"]),
    ("one person's word forces", one_word_forces, &["S8"]),
    ("a bypass passes other rules", rules_passed, &["S8"]),
    ("word kept after an update", word_kept, &["S8"]),
    ("evidence of another policy", evidence_of_another_policy, &["S8"]),
    ("request for changes overlooked", objections_overlooked, &["S7", "S8"]),
    ("every yes counts", every_yes_counts, &["S7"]),
    ("approval kept after an update", approval_kept, &["S7"]),
    ("approval of the last pusher", last_pusher_approves, &["S7"]),
    ("rights are not asked", rights_not_asked, &["S7"]),
    ("breaking acknowledged for another version", breaking_of_another, &["S8"]),
    ("marks of authors are ignored", marks_ignored, &["S8"]),
    ("constraint ignored", constraint_ignored, &["P2"]),
    ("signatures ignored", signatures_ignored, &["P2"]),
    ("cap of clusters ignored", hourly_cap_ignored, &["S18"]),
    ("cap of open pull requests ignored", open_cap_ignored, &["S18"]),
    ("no alarms", never_looks_again, &["L1"]),
    ("alarm without the grace end", no_alarm_at_the_grace_end, &["L1"]),
    ("alarm without the windows", no_alarm_for_windows, &["L1"]),
];
