//! Bugs in what is taken for a fact: versions, health, answers that did not come, pull requests,
//! the ledger.

use decide::ledger::Wave;
use decide::plan::{Action, Plan};
use decide::snapshot::{
    CheckState, CommandKind, Health, Landing, LedgerGuard, LedgerState, Mergeable, PluginFacts, Pull, PullState, Read,
    Reading, Snapshot,
};
use decide::{Clusters, PullNumber, Version};
use jiff::{SignedDuration, Timestamp};

use super::Bug;

/// The planner in a world that it sees falsely.
pub(super) fn lied_to(snapshot: &Snapshot, now: Timestamp, lie: impl FnOnce(&mut Snapshot)) -> Plan {
    let mut snapshot = snapshot.clone();
    lie(&mut snapshot);
    decide::plan(&snapshot, now)
}

pub(super) fn pulls(snapshot: &mut Snapshot) -> impl Iterator<Item = &mut Pull> {
    let facts = snapshot.plugins.values_mut();
    facts.filter_map(|facts| if let Read::Known(pulls) = &mut facts.pulls { Some(pulls) } else { None }).flatten()
}

pub(super) fn waves(snapshot: &mut Snapshot) -> impl Iterator<Item = &mut Wave> {
    snapshot.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut()).flatten()
}

fn readings(snapshot: &mut Snapshot, mut change: impl FnMut(&mut Reading)) {
    for facts in snapshot.plugins.values_mut() {
        facts.readings.reread(|_, readings| readings.iter_mut().for_each(&mut change));
    }
}

fn newest_on_base(facts: &PluginFacts) -> Option<Version> {
    facts.base.known()?.values().flatten().filter_map(|place| place.version.known().cloned()).max()
}

/// The health of the old version is taken for the health of the new one.
fn version_proof_dropped(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            let newest = newest_on_base(facts);
            facts.readings.reread(|_, readings| {
                readings.iter_mut().for_each(|reading| reading.running.clone_from(&newest));
            });
        }
    })
}

fn all_is_healthy(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| readings(snapshot, |reading| reading.health = Health::Healthy))
}

fn freshness_dropped(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let tiers = snapshot.policy.plugins.iter_mut().flat_map(|plugin| &mut plugin.tiers);
        tiers.for_each(|tier| tier.health.max_age = SignedDuration::from_hours(24 * 1_000));
    })
}

/// An answer counts from when it arrived, not from when it was given.
fn arrival_for_server_time(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| readings(snapshot, |reading| reading.observed_at = now))
}

/// What a cluster runs under the right version may be anything.
fn running_digest_ignored(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| readings(snapshot, |reading| reading.digest = None))
}

fn soak_while_unknown(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            let newest = newest_on_base(facts);
            let answer = Reading {
                signal: String::new(),
                health: Health::Healthy,
                running: newest,
                attempted: None,
                digest: None,
                observed_at: now,
                since: None,
                evidence: String::new(),
            };
            for cluster in snapshot.clusters.known().into_iter().flatten() {
                if facts.readings.of(&cluster.name).iter().all(|row| row.fact.health == Health::Unknown) {
                    facts.readings.insert(cluster.name.clone(), vec![answer.clone()]);
                }
            }
        }
    })
}

/// Degraded pauses a soak, as progressing does.
fn soak_not_reset(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        readings(snapshot, |reading| {
            if reading.health == Health::Degraded {
                reading.health = Health::Progressing;
            }
            reading.since = None;
        });
    })
}

/// The digest of a release is not compared with the one that was pinned.
fn digest_may_change(snapshot: &Snapshot, now: Timestamp) -> Plan {
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

/// What is no longer published is promoted from memory.
fn yanked_goes_on(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for (plugin, facts) in &mut snapshot.plugins {
            let Read::Known(releases) = &mut facts.releases else { continue };
            let seen = snapshot.ledger.plugins.get(plugin).map(|page| page.releases.clone()).unwrap_or_default();
            for seen in seen {
                if !releases.iter().any(|release| release.version == seen.version)
                    && let Some(mut again) = releases.first().cloned()
                {
                    (again.version, again.digest) = (seen.version, seen.digest);
                    releases.push(again);
                }
            }
        }
    })
}

/// A release is taken for whole though a part of it is not there.
fn incomplete_is_whole(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            let Read::Known(releases) = &mut facts.releases else { continue };
            releases.iter_mut().for_each(|release| release.incomplete = None);
        }
    })
}

/// An error is taken for an empty answer, and an unread right for a right.
fn fail_open(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for pull in pulls(snapshot) {
            if pull.checks.known().is_none() {
                pull.checks = Read::Known(Vec::new());
            }
            if pull.owned.known().is_none() {
                pull.owned = Read::Known(Vec::new());
            }
            if pull.mergeable == Mergeable::Unknown {
                pull.mergeable = Mergeable::Yes;
            }
        }
    })
}

/// A pull request that is not in the list was closed by somebody.
fn missing_is_closed(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for (plugin, facts) in &mut snapshot.plugins {
            let Read::Known(pulls) = &mut facts.pulls else { continue };
            let Some(page) = snapshot.ledger.plugins.get(plugin) else { continue };
            for (tier, waves) in &page.tiers {
                let Some(wave) = waves.last().filter(|wave| wave.landed().is_none() && !wave.is_over()) else {
                    continue;
                };
                let (Some(known), Some(head)) = (&wave.pull, wave.head()) else { continue };
                if !pulls.iter().any(|pull| pull.number == known.number) {
                    pulls.push(closed(known.number, tier.clone(), wave, head.commit.clone(), now));
                }
            }
        }
    })
}

fn closed(number: PullNumber, tier: decide::TierName, wave: &Wave, head: decide::Sha, now: Timestamp) -> Pull {
    Pull {
        unmet: Read::Known(Vec::new()),
        lacks: Vec::new(),
        behind: Read::Known(false),
        strict: false,
        dismisses: false,
        number,
        tier,
        version: Some(wave.version.clone()),
        state: PullState::Closed { at: now, by: None },
        head,
        opened_at: wave.begun,
        draft: false,
        mergeable: Mergeable::Unknown,
        review_decision: decide::snapshot::ReviewDecision::NotRequired,
        reviews: Vec::new(),
        owned: Read::Known(Vec::new()),
        team: Read::Known([].into()),
        checks: Read::Known(Vec::new()),
        commands: Vec::new(),
        landing: Read::Known(Landing::Absent),
        notices: Vec::new(),
        labelled: Read::Known(false),
        added_to: None,
        rebase: false,
        misplaced: None,
    }
}

/// Every closing is taken for one by the bot itself, and the ledger's noes are forgotten.
fn closed_is_reopened(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let bot = snapshot.hub.bot.clone();
        for pull in pulls(snapshot) {
            if let PullState::Closed { by, .. } = &mut pull.state {
                *by = Some(bot.clone());
            }
        }
        for waves in snapshot.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut()) {
            let closed = |wave: &Wave| wave.rejected().is_some();
            waves.retain(|wave| !closed(wave));
        }
    })
}

/// Pull requests are not seen, and waves that have not landed are forgotten.
fn two_pull_requests(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            facts.pulls = Read::Known(Vec::new());
        }
        let waves = snapshot.ledger.plugins.values_mut().flat_map(|page| page.tiers.values_mut());
        waves.for_each(|waves| waves.retain(|wave| wave.landed().is_some()));
    })
}

/// Where files of a tier differ, only the oldest version is seen.
fn newest_file_overlooked(snapshot: &Snapshot, now: Timestamp) -> Plan {
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

/// Heads that somebody else pushed pass for ours.
pub(super) fn foreign_heads_are_ours(snapshot: &mut Snapshot) {
    for (plugin, facts) in &mut snapshot.plugins {
        let Read::Known(pulls) = &mut facts.pulls else { continue };
        for pull in pulls.iter_mut().filter(|pull| pull.version.is_none()) {
            let page = snapshot.ledger.plugins.get(plugin);
            let Some(wave) = page.and_then(|page| page.last(&pull.tier)) else { continue };
            let Some(head) = wave.head() else { continue };
            for review in pull.reviews.iter_mut().filter(|review| review.commit == pull.head) {
                review.commit = head.commit.clone();
            }
            (pull.head, pull.version, pull.mergeable) =
                (head.commit.clone(), Some(wave.version.clone()), Mergeable::Yes);
        }
    }
}

/// Merges whatever the head is.
fn head_not_compared(snapshot: &Snapshot, now: Timestamp) -> Plan {
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

/// A ledger that was rolled back is believed.
fn lost_ledger_believed(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        if let LedgerState::Lost { .. } = snapshot.ledger_state {
            snapshot.ledger_state = LedgerState::Intact { guarded: LedgerGuard::Sealed };
        }
    })
}

/// Whoever gives the lost ledger up.
fn strangers_rebuild(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for command in pulls(snapshot).flat_map(|pull| &mut pull.commands) {
            if matches!(command.what, CommandKind::Rebuild { .. }) {
                command.allowed = Read::Known(true);
            }
        }
    })
}

/// Members are whoever the tier selects now.
fn members_recomputed(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        let Read::Known(clusters) = &snapshot.clusters else { return };
        for page in snapshot.ledger.plugins.values_mut() {
            for (tier, waves) in &mut page.tiers {
                let of_tier = clusters.iter().filter(|cluster| cluster.labels["tier"] == tier.as_str());
                let now: Clusters = of_tier.map(|cluster| cluster.name.clone()).collect();
                waves.iter_mut().for_each(|wave| wave.members = now.clone());
            }
        }
    })
}

/// On the base branch is as good as finished.
fn newest_not_newest_finished(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for wave in waves(snapshot).filter(|wave| wave.landed().is_some() && !wave.is_over()) {
            *wave.rewrite().finished = Some(now);
        }
    })
}

/// A failed release may go on elsewhere once it looks well.
fn failures_forgotten(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for wave in waves(snapshot).filter(|wave| wave.failed().is_some() && wave.landed().is_some()) {
            (*wave.rewrite().failed, *wave.rewrite().finished) = (None, Some(now));
        }
    })
}

/// A run that is on its way is as good as one that has succeeded.
fn runs_end_at_once(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        for facts in snapshot.plugins.values_mut() {
            if let Read::Known(runs) = &mut facts.runs {
                runs.iter_mut().for_each(|run| run.state = CheckState::Success);
            }
        }
    })
}

/// Neither the ledger nor the hub is asked whether a workflow was dispatched.
fn dispatches_forgotten(snapshot: &Snapshot, now: Timestamp) -> Plan {
    lied_to(snapshot, now, |snapshot| {
        waves(snapshot).for_each(|wave| wave.verifications.clear());
        snapshot.plugins.values_mut().for_each(|facts| facts.runs = Read::Known(Vec::new()));
    })
}

pub const BUGS: &[Bug] = &[
    ("version proof dropped", version_proof_dropped, &["S1"]),
    ("every state is healthy", all_is_healthy, &["S1"]),
    ("freshness dropped", freshness_dropped, &["S1"]),
    ("arrival time for server time", arrival_for_server_time, &["S1"]),
    ("the digest that runs is ignored", running_digest_ignored, &["S1"]),
    ("soak counted while unknown", soak_while_unknown, &["S1"]),
    ("soak not reset when degraded", soak_not_reset, &["S1"]),
    ("digest ignored", digest_may_change, &["S20"]),
    ("yanked release goes on", yanked_goes_on, &["P2"]),
    ("fail-open on error", fail_open, &["S13"]),
    ("an incomplete release is taken", incomplete_is_whole, &["P2"]),
    ("404 taken for closed", missing_is_closed, &["S11"]),
    ("closed pull request reopened", closed_is_reopened, &["S10"]),
    ("two open pull requests", two_pull_requests, &["S3"]),
    ("the newest file is overlooked", newest_file_overlooked, &["S12"]),
    ("head not compared", head_not_compared, &["S6"]),
    ("a lost ledger is believed", lost_ledger_believed, &["S16"]),
    ("strangers give the ledger up", strangers_rebuild, &["S16"]),
    ("members recomputed after opening", members_recomputed, &["S4", "S1"]),
    ("newest instead of newest finished", newest_not_newest_finished, &["S1"]),
    ("failures are forgotten", failures_forgotten, &["S1"]),
    ("a run is not waited for", runs_end_at_once, &["P3"]),
    ("dispatches are forgotten", dispatches_forgotten, &["S15"]),
];
