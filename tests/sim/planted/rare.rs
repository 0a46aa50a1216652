//! Bugs in the rarer keys: clusters ahead of their tier, versions to be left, freezes by command, spellings, and
//! what has to happen soon.

use decide::ledger::Grace;
use decide::model::{Next, Strategy};
use decide::plan::{Action, Plan};
use decide::snapshot::{CommandKind, Read, Snapshot};
use jiff::{SignedDuration, Timestamp};

use super::Bug;
use super::facts::{lied_to, pulls};

fn freezes_by_command_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        snapshot.ledger.freezes.clear();
        pulls(snapshot).for_each(|pull| {
            pull.commands.retain(|command| !matches!(command.what, CommandKind::Freeze { .. }));
        });
    })
}

/// Whoever says it lifts a freeze.
fn everybody_lifts(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let commands = pulls(snapshot).flat_map(|pull| &mut pull.commands);
        let lifts = commands.filter(|command| command.what == CommandKind::Unfreeze);
        lifts.for_each(|command| command.allowed = Read::Known(true));
    })
}

/// Clusters that are ahead of their tier never cease to be.
fn early_for_ever(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.flat_map(|tier| &mut tier.early).for_each(|early| early.until = None);
    })
}

/// What landed on the first tier counts as finished for clusters that are ahead.
fn early_before_the_first_tier(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for plugin in &snapshot.policy.plugins {
            if plugin.tiers.iter().all(|tier| tier.early.is_empty()) {
                continue;
            }
            let waves = snapshot.ledger.plugins.get_mut(&plugin.name);
            let waves = waves.and_then(|page| page.tiers.get_mut(&plugin.tiers[0].name)).into_iter().flatten();
            for wave in waves.filter(|wave| wave.failed().is_none() && wave.landed().is_some()) {
                *wave.rewrite().finished = wave.finished().or(Some(now));
            }
        }
    })
}

fn deprecated_is_taken(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.plugins.iter_mut().for_each(|plugin| plugin.deprecated = None))
}

/// Clusters are forced off a version that expires before the time.
fn expires_too_soon(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let expiries = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.expires);
        expiries.for_each(|expiry| expiry.at = Timestamp::UNIX_EPOCH);
    })
}

fn tier_constraint_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.for_each(|tier| tier.constraint = None);
    })
}

fn rolling_by_label_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        for tier in tiers {
            if let Strategy::RollingUpdate { by, .. } = &mut tier.strategy {
                *by = None;
            }
        }
    })
}

/// The clusters of every value are taken for those of another.
fn regions_out_of_order(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        if let Read::Known(clusters) = &mut snapshot.clusters {
            for region in clusters.iter_mut().filter_map(|cluster| cluster.labels.get_mut("region")) {
                *region = match region.as_str() {
                    "ap" => "us",
                    "us" => "ap",
                    other => other,
                }
                .to_string();
            }
        }
    })
}

/// What is written has no `v` and no build metadata.
fn spelled_anew(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    for action in &mut plan.actions {
        if let Action::Open(proposal) | Action::Update { proposal, .. } = action
            && let Ok(plain) = crate::releases::plain(&proposal.to).to_string().parse()
        {
            proposal.to = plain;
        }
    }
    plan
}

/// A merge is asked for at every seventh minute only.
fn dawdles(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let mut plan = decide::plan(snapshot, now);
    let minute = now.as_second() / 60 % 60;
    if minute > 3 {
        plan.actions.retain(|action| !matches!(action, Action::Merge { .. }));
        let next = now + SignedDuration::from_mins(60 - minute);
        plan.alarm = Some(decide::plan::Alarm { at: next, why: decide::Reason::LookAgain });
    }
    plan
}

/// A new release may come to a tier on which another one soaks.
fn occupied_is_free(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for plugin in &snapshot.policy.plugins {
            let pages = snapshot.ledger.plugins.get_mut(&plugin.name);
            for wave in pages.into_iter().flat_map(|page| page.tiers.values_mut()).flatten() {
                if wave.landed().is_some() {
                    wave.heads.clear(); // as if somebody else had put it there
                }
            }
        }
    })
}

/// `every` takes the newest, as if nobody had asked for all.
fn every_skips(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let every = snapshot.policy.plugins.iter_mut().filter(|plugin| plugin.next == Next::Every);
        every.for_each(|plugin| plugin.next = Next::NewestFinished);
    })
}

/// A notice that was given an hour ago is given again.
fn notices_are_forgotten(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let long_ago = now - SignedDuration::from_hours(1);
    lied_to(snapshot, now, |snapshot| {
        pulls(snapshot).for_each(|pull| pull.notices.retain(|sent| sent.at > long_ago));
        let waves = snapshot.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut()).flatten();
        let graces = waves.filter_map(|wave| wave.grace.as_mut());
        graces.for_each(|grace| grace.notices.retain(|sent| sent.at > long_ago));
    })
}

/// A period that is switched on later counts from when the pull request was opened.
fn force_counts_from_the_opening(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for plugin in &snapshot.policy.plugins {
            let Some(page) = snapshot.ledger.plugins.get_mut(&plugin.name) else { continue };
            for tier in &plugin.tiers {
                let Some(force) = &tier.force else { continue };
                for wave in page.tiers.get_mut(&tier.name).into_iter().flatten().filter(|wave| wave.grace.is_none()) {
                    let since = wave.pull.as_ref().map(|pull| pull.at);
                    let fresh =
                        |since| Grace { since, deadline: since + force.after, notices: Vec::new(), giving: None };
                    wave.grace = since.map(fresh);
                }
            }
        }
    })
}

/// Who has nothing installed yet is not seen at all.
fn first_installs_overlooked(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let facts = snapshot.plugins.values_mut();
        let bases = facts.filter_map(|facts| if let Read::Known(base) = &mut facts.base { Some(base) } else { None });
        bases.flat_map(|base| base.values_mut()).for_each(|places| places.retain(|place| !place.vacant));
    })
}

/// Who has nothing installed yet is taken for one that runs what the others do.
fn nothing_taken_for_the_newest(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let facts = snapshot.plugins.values_mut();
        let bases = facts.filter_map(|facts| if let Read::Known(base) = &mut facts.base { Some(base) } else { None });
        for places in bases.flat_map(|base| base.values_mut()) {
            let newest = places.iter().filter_map(|place| place.version.known()).max().cloned();
            let Some(newest) = newest else { continue };
            let vacant = places.iter_mut().filter(|place| place.vacant);
            vacant.for_each(|place| (place.version, place.vacant) = (Read::Known(newest.clone()), false));
        }
    })
}

fn maintenance_windows_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| snapshot.policy.maintenance.clear())
}

fn everybody_counts_as_the_team(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.for_each(|tier| tier.approvals.team = None);
    })
}

pub const BUGS: &[Bug] = &[
    ("none is skipped, they said", every_skips, &["P3"]),
    ("notices are forgotten", notices_are_forgotten, &["S15"]),
    ("force counts from the opening", force_counts_from_the_opening, &["S8"]),
    ("freeze by command ignored", freezes_by_command_ignored, &["S9"]),
    ("everybody lifts a freeze", everybody_lifts, &["S9"]),
    ("ahead of its tier for ever", early_for_ever, &["P3", "S1", "S2", "S4"]),
    ("ahead before the first tier has finished", early_before_the_first_tier, &["P3", "S1"]),
    ("deprecated is taken", deprecated_is_taken, &["P2"]),
    ("a version expires too soon", expires_too_soon, &["S8"]),
    ("constraint of the tier ignored", tier_constraint_ignored, &["P2"]),
    ("rolling by a label ignored", rolling_by_label_ignored, &["P3"]),
    ("regions out of order", regions_out_of_order, &["P3"]),
    ("everybody counts as the team", everybody_counts_as_the_team, &["S7"]),
    ("maintenance windows ignored", maintenance_windows_ignored, &["S9"]),
    ("the `v` is not kept", spelled_anew, &["S4"]),
    ("merges are asked for late", dawdles, &["L3"]),
    ("an occupied tier counts as free", occupied_is_free, &["P3"]),
    ("first installs are overlooked", first_installs_overlooked, &["L1"]),
    ("nothing is taken for the newest", nothing_taken_for_the_newest, &["L1", "S1", "S7"]),
];
