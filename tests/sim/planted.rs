//! Bugs planted on purpose: the planner is told lies, and the checkers have to notice. A checker
//! that notices none of its bugs checks nothing.

use decide::plan::{Action, Plan};
use decide::snapshot::{Health, Mergeable, PullState, Read, Snapshot};
use decide::window::Windows;
use jiff::{SignedDuration, Timestamp};

use crate::run::run;
use crate::scenario::Scenario;
use crate::{Planner, first_of};

/// Worlds within which each bug has to be found.
const BUDGET: u64 = 500;

/// The planner in a world that it sees falsely.
fn lied_to(snapshot: &Snapshot, now: Timestamp, lie: impl FnOnce(&mut Snapshot)) -> Plan {
    let mut snapshot = snapshot.clone();
    lie(&mut snapshot);
    decide::plan(&snapshot, now)
}

fn no_soak(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.for_each(|tier| tier.soak.min = SignedDuration::ZERO);
    })
}

/// The health of the old version is taken for the health of the new one.
fn old_version_counts(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let base = |facts: &decide::snapshot::PluginFacts| {
            facts
                .base
                .known()
                .map(|base| base.values().flatten().filter_map(|place| place.version.known().cloned()).max())
        };
        for facts in snapshot.plugins.values_mut() {
            let newest = base(facts).flatten();
            facts.readings.values_mut().flatten().for_each(|reading| reading.running.clone_from(&newest));
        }
    })
}

fn all_is_healthy(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let readings = snapshot.plugins.values_mut().flat_map(|facts| facts.readings.values_mut().flatten());
        readings.for_each(|reading| reading.health = Health::Healthy);
    })
}

/// Every closing is taken for one by the bot itself.
fn overlooks_noes(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let bot = snapshot.hub.bot.clone();
        for facts in snapshot.plugins.values_mut() {
            let Read::Known(pulls) = &mut facts.pulls else { continue };
            for pull in pulls {
                if let PullState::Closed { by, .. } = &mut pull.state {
                    *by = Some(bot.clone());
                }
            }
        }
    })
}

fn ignores_windows(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let none: Option<Windows> = None;
        snapshot.policy.windows.clone_from(&none);
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.for_each(|tier| tier.windows.clone_from(&none));
    })
}

fn ignores_freezes(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.freezes.clear())
}

fn impatient_force(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        for force in tiers.filter_map(|tier| tier.force.as_mut()) {
            force.after /= 2;
        }
    })
}

fn forces_without_notice(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.filter_map(|tier| tier.force.as_mut()).for_each(|force| force.notice.clear());
    })
}

/// Outages of the hub count towards the grace period.
fn counts_outages(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.ledger.outages.clear())
}

fn ignores_skew(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.hub.skew = SignedDuration::ZERO)
}

fn ignores_holds(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            if let Read::Known(pulls) = &mut facts.pulls {
                pulls.iter_mut().for_each(|pull| (pull.commands, pull.draft) = (Vec::new(), false));
            }
        }
    })
}

/// Whoever approves, and whatever they looked at.
fn every_yes_counts(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            let Read::Known(pulls) = &mut facts.pulls else { continue };
            for pull in pulls {
                for review in &mut pull.reviews {
                    review.commit = pull.head.clone();
                    (review.human, review.may_write) = (true, Read::Known(true));
                    review.at = now;
                }
            }
        }
    })
}

fn forgets_the_digest(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for (plugin, facts) in &mut snapshot.plugins {
            let Read::Known(releases) = &mut facts.releases else { continue };
            for release in releases {
                let page = snapshot.ledger.plugins.get(plugin);
                if let Some(seen) = page.and_then(|page| page.seen(&release.version)) {
                    release.digest = seen.digest.clone();
                }
            }
        }
    })
}

fn ignores_the_hourly_cap(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.limits.clusters_per_hour = None)
}

/// The state of the clusters is not asked once a release is on the base branch.
fn skips_a_tier(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for plugin in &mut snapshot.policy.plugins {
            plugin.tiers.remove(0);
        }
    })
}

/// Pull requests are not seen, and waves that have not landed are forgotten.
fn forgets_its_own(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            facts.pulls = Read::Known(Vec::new());
        }
        let waves = snapshot.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut());
        waves.for_each(|waves| waves.retain(|wave| wave.landed.is_some()));
    })
}

/// Where files of a tier differ, only the oldest version is seen.
fn overlooks_the_newest(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            let Read::Known(base) = &mut facts.base else { continue };
            for places in base.values_mut() {
                let oldest = places.iter().filter_map(|place| place.version.known()).min().cloned();
                let Some(oldest) = oldest else { continue };
                places.iter_mut().for_each(|place| place.version = Read::Known(oldest.clone()));
            }
        }
    })
}

/// Merges whatever the head is.
fn merges_any_head(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = lied_to(snapshot, now, |snapshot| {
        for (plugin, facts) in &mut snapshot.plugins {
            let Read::Known(pulls) = &mut facts.pulls else { continue };
            for pull in pulls.iter_mut().filter(|pull| pull.version.is_none()) {
                let page = snapshot.ledger.plugins.get(plugin);
                let Some(wave) = page.and_then(|page| page.last(&pull.tier)) else { continue };
                let Some(head) = wave.head() else { continue };
                (pull.head, pull.version, pull.mergeable) =
                    (head.commit.clone(), Some(wave.version.clone()), Mergeable::Yes);
            }
        }
    });
    for action in &mut plan.actions {
        if let Action::Merge { plugin, pull, head, .. } = action {
            let pulls = snapshot.plugins[plugin].pulls.known();
            let present = pulls.and_then(|pulls| pulls.iter().find(|known| known.number == *pull));
            *head = present.map_or(head.clone(), |present| present.head.clone());
        }
    }
    plan
}

fn never_looks_again(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    plan.alarm = None;
    plan
}

const BUGS: &[(&str, Planner, &[&str])] = &[
    ("no soak", no_soak, &["S1"]),
    ("the old version counts", old_version_counts, &["S1"]),
    ("all is healthy", all_is_healthy, &["S1"]),
    ("a tier is skipped", skips_a_tier, &["S1", "S2"]),
    ("noes are overlooked", overlooks_noes, &["S10"]),
    ("windows are ignored", ignores_windows, &["S9"]),
    ("freezes are ignored", ignores_freezes, &["S9"]),
    ("holds are ignored", ignores_holds, &["S9", "S8"]),
    ("force is impatient", impatient_force, &["S8"]),
    ("force without notice", forces_without_notice, &["S8"]),
    ("outages count as grace", counts_outages, &["S8"]),
    ("skew is ignored", ignores_skew, &["S8"]),
    ("every yes counts", every_yes_counts, &["S7"]),
    ("the digest may change", forgets_the_digest, &["S20"]),
    ("open pull requests are forgotten", forgets_its_own, &["S3"]),
    ("the newest file is overlooked", overlooks_the_newest, &["S12"]),
    ("no hourly cap", ignores_the_hourly_cap, &["S18"]),
    ("any head is merged", merges_any_head, &["S6"]),
    ("no alarms", never_looks_again, &["L1"]),
];

#[test]
fn planted_bugs_are_found() {
    let mut survivors = Vec::new();
    for (name, planner, invariants) in BUGS {
        let found = first_of(1..BUDGET, |seed| {
            let broken = run(Scenario::draw(seed), *planner).broken;
            broken.iter().find_map(|what| invariants.iter().find(|name| what.starts_with(&format!("{name} "))).copied())
        });
        match found {
            Some((seed, by)) => println!("{name}: {by} at seed {seed}"),
            None => survivors.push(*name),
        }
    }
    assert!(survivors.is_empty(), "not found within {BUDGET} worlds: {survivors:?}");
}
