//! Shared caps: open pull requests, clusters changed in an hour.

use super::asked::{Asked, AskedOpen};
use crate::facts::{CAP_SPAN, Facts, InLine, Ready, Turn, asked_at};
use crate::ledger::Wave;
use crate::model::Tier;
use crate::plan::{Finding, Gate, Verdict};
use crate::snapshot::Pull;
use crate::{Reason, hotfix};

/// Whether one more pull request may be opened. One that is open on the tier already is written anew.
pub(crate) fn opening(asked: &Asked<'_>) -> Finding {
    let Asked { facts, tier, .. } = *asked;
    let there = facts.shared.openings;
    // Whoever stands first in the file would keep all others out for as long as there are releases.
    let kept = facts.shared.kept_before(facts.plugin(), &tier.name);
    match facts.open_pull(&tier.name) {
        Some(_) => Finding::pass(Gate::Limits, Reason::WithinLimits),
        None => beside(facts, there.open.saturating_add(there.unfinished).saturating_add(kept)),
    }
}

/// The place in line of a tier by whose findings a pull request lacks nothing but perhaps room under the cap of open
/// ones. What is `urgent` is due before all others.
pub(crate) fn in_line(facts: &Facts<'_>, tier: &Tier, urgent: bool, findings: &[Finding]) -> Option<InLine> {
    // What is open on the tier already is written anew, and takes no place.
    let stands = facts.open_pull(&tier.name).is_none() && lack_only_room(findings);
    if facts.snapshot.policy.limits.open_pulls.is_none() || !stands {
        return None;
    }
    let waves = facts.page.tiers.get(&tier.name).into_iter().flatten();
    let last = waves.filter(|wave| wave.head().is_some()).map(|wave| wave.begun).max();
    let opens = findings.iter().all(|finding| finding.verdict.lets_through());
    Some(InLine { turn: (!urgent, last), plugin: facts.plugin().clone(), tier: tier.name.clone(), opens })
}

/// Whether whatever does not pass waits for room under a cap. What is larger than a cap fails it.
fn lack_only_room(findings: &[Finding]) -> bool {
    let waits = |finding: &Finding| finding.gate == Gate::Limits && matches!(finding.verdict, Verdict::Wait { .. });
    findings.iter().filter(|finding| !finding.verdict.lets_through()).all(waits)
}

/// Whether there is no room for one more pull request.
pub(crate) fn is_reached(facts: &Facts<'_>) -> bool {
    let there = facts.shared.openings;
    !beside(facts, there.open.saturating_add(there.unfinished)).verdict.lets_through()
}

/// Whether an opening that was cut off may be finished now.
pub(crate) fn finishing(facts: &Facts<'_>) -> Finding {
    beside(facts, facts.shared.openings.open)
}

fn beside(facts: &Facts<'_>, open: u32) -> Finding {
    match facts.snapshot.policy.limits.open_pulls {
        Some(limit) if open >= limit => Finding::wait(Gate::Limits, Reason::OpenPullLimit { limit }),
        Some(_) | None => Finding::pass(Gate::Limits, Reason::WithinLimits),
    }
}

/// Whether the members of this wave may be changed now. One that is larger than the cap itself never
/// may: the cap is what somebody is ready to lose in an hour.
pub(crate) fn merging(open: &AskedOpen<'_>) -> Finding {
    let AskedOpen { facts, wave, .. } = *open;
    let Some(limit) = facts.snapshot.policy.limits.clusters_per_hour else {
        return Finding::pass(Gate::Limits, Reason::WithinLimits);
    };
    let members = clusters(wave);
    if members > limit {
        return Finding::fail(Gate::Limits, Reason::WaveAboveLimit { members, limit });
    }
    let lately = facts.shared.changed_lately();
    let others = if is_counted(facts, wave) { lately.saturating_sub(members) } else { lately };
    // Room is kept for what waits for longer: many that are small would never let a large one in.
    let before = wave.head().map_or(0, |head| facts.shared.due_before(facts.plugin(), &head.commit));
    let others = others.saturating_add(before);
    if others.saturating_add(members) <= limit {
        return Finding::pass(Gate::Limits, Reason::WithinLimits);
    }
    let until = facts.shared.changed.iter().map(|(at, _)| *at + CAP_SPAN).min();
    Finding::new(Gate::Limits, Verdict::Wait { until }, Reason::ClusterLimit { limit })
}

/// The place in the turn of a wave whose findings these are, where they lack nothing but perhaps room under
/// the cap of changed clusters.
pub(crate) fn in_turn(facts: &Facts<'_>, wave: &Wave, pull: &Pull, findings: &[Finding]) -> Option<Ready> {
    if facts.snapshot.policy.limits.clusters_per_hour.is_none() || !lack_only_room(findings) {
        return None;
    }
    Some(Ready {
        turn: turn(facts, wave, pull),
        plugin: facts.plugin().clone(),
        head: wave.head()?.commit.clone(),
        clusters: if is_counted(facts, wave) { 0 } else { clusters(wave) },
        merges: findings.iter().all(|finding| finding.verdict.lets_through()),
    })
}

/// The place of a pull request among those that are due.
pub(crate) fn turn(facts: &Facts<'_>, wave: &Wave, pull: &Pull) -> Turn {
    (!hotfix::is_one(facts, wave), pull.opened_at, pull.number)
}

fn clusters(wave: &Wave) -> u32 {
    u32::try_from(wave.members.len()).unwrap_or(u32::MAX)
}

/// A merge that was asked for and not seen yet is counted already.
fn is_counted(facts: &Facts<'_>, wave: &Wave) -> bool {
    let pulls = facts.observed.and_then(|facts| facts.pulls.known()).map_or(&[][..], |pulls| pulls.as_slice());
    asked_at(wave, pulls).is_some_and(|at| at + CAP_SPAN > facts.now)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::wildcard_enum_match_arm)]
    use super::*;
    use crate::Entry;
    use crate::ledger::{Change, Landed, Merging};
    use crate::snapshot::{Read, Snapshot};
    use crate::testing::*;
    use alloc::vec;
    use jiff::SignedDuration;

    #[test]
    fn what_soaks_under_a_tier_that_waits_for_a_cap_is_looked_at_again() {
        let mut world = ready();
        world.policy.limits.open_pulls = Some(0);
        world.ledger.plugins.get_mut(&"app".into()).unwrap().tiers.remove(&"bronze".into());
        facts(&mut world).pulls = Read::Known(vec![]);
        let plan = crate::plan(&world, noon());
        assert!(plan.actions.is_empty(), "the cap keeps it: {:?}", plan.actions);
        assert_eq!(plan.alarm.map(|alarm| alarm.at), Some(noon() + world.look_again), "1.0.0 soaks on bronze");
    }

    #[test]
    fn an_opening_that_was_cut_off_keeps_its_place() {
        let mut world = ready();
        wave(&mut world).pull = None;
        facts(&mut world).pulls = Read::Known(vec![]);
        facts(&mut world).releases = Read::Known(["1.0.0", "1.1.0", "1.2.0"].map(release).into());
        let opened = |world: &Snapshot| crate::next_release::tests::doings(world);
        assert_eq!(opened(&world), ["open 1.2.0 on qa", "open 1.1.0 on bronze"], "no cap");
        for (limit, expected) in [(2, 2), (1, 1), (0, 0)] {
            world.policy.limits.open_pulls = Some(limit);
            let opened = opened(&world);
            assert_eq!(opened.len(), expected, "a cap of {limit}: {opened:?}");
            assert!(limit != 1 || opened == ["open 1.1.0 on bronze"], "what was begun first: {opened:?}");
        }
    }

    /// What was about to be opened was taken from the source: a newer release takes its place. Of one that people
    /// have seen its pull request tells.
    #[test]
    fn what_was_cut_off_and_is_gone_keeps_no_newer_one_out() {
        let withdrawn = |newer: bool, known: bool| {
            let mut world = ready();
            if newer {
                crate::next_release::tests::finished_above(&mut world);
            }
            let Read::Known(releases) = &mut facts(&mut world).releases else { unreachable!() };
            releases.retain(|release| release.version != version("1.1.0"));
            facts(&mut world).pulls = Read::Known(vec![]);
            if !known {
                wave(&mut world).pull = None;
            }
            let plan = crate::plan(&world, noon());
            let taken_back = |record: &crate::plan::Record| {
                matches!(&record.entry, crate::Entry::Wave { change: crate::ledger::Change::Withdrawn(_), .. })
            };
            plan.entries.iter().any(taken_back) && plan.alarm.is_some()
        };
        assert_eq!([withdrawn(true, false), withdrawn(false, false), withdrawn(true, true)], [true, false, false]);
    }

    /// The source does not list it at this look: nothing of it is opened. What was shown once is there, whatever
    /// the hub's list lacks, and is written no second time.
    #[test]
    fn what_is_not_there_is_not_opened_and_what_was_there_not_anew() {
        let opens = |listed: bool, known: bool| {
            let mut world = ready();
            join(&mut world, "bronze-2", vec![]);
            facts(&mut world).pulls = Read::Known(vec![]);
            if !known {
                wave(&mut world).pull = None;
            }
            wave(&mut world).members = ["bronze-1", "bronze-9"].map(Into::into).into_iter().collect();
            if !listed {
                facts(&mut world).releases = Read::Known(vec![release("1.0.0")]);
            }
            let actions = crate::plan(&world, noon()).actions.into_iter();
            let opened = actions.filter_map(|action| match action {
                crate::Action::Open(proposal) => Some(proposal.written.is_some()),
                _ => None,
            });
            opened.last()
        };
        assert_eq!([opens(true, false), opens(true, true)], [Some(false), Some(true)]);
        assert_eq!([opens(false, false), opens(false, true)], [None, None]);
    }

    /// What was written for it would move a cluster that was pinned since.
    #[test]
    fn an_opening_that_was_cut_off_is_written_anew_without_who_was_pinned_since() {
        let written = |pinned: bool| {
            let mut world = ready();
            join(&mut world, "bronze-2", vec![]);
            wave(&mut world).pull = None;
            facts(&mut world).pulls = Read::Known(vec![]);
            let file = |name: &str| alloc::format!("clusters/bronze/{name}/app.yaml");
            let place = |name: &str| crate::snapshot::Place {
                file: file(name),
                cluster: Some(name.into()),
                version: Read::Known(version("1.0.0")),
                range: None,
                vacant: false,
            };
            if let Read::Known(base) = &mut facts(&mut world).base {
                base.insert("bronze".into(), ["bronze-1", "bronze-2"].map(place).into());
            }
            if pinned {
                let select = crate::selector::Selector {
                    match_labels: [("tier".into(), "bronze".into()), ("name".into(), "bronze-2".into())].into(),
                    match_expressions: vec![],
                };
                if let Read::Known(clusters) = &mut world.clusters {
                    clusters.last_mut().unwrap().labels.insert("name".into(), "bronze-2".into());
                }
                world.policy.plugins[0].pins = vec![crate::model::Pin {
                    select,
                    version: Some(version("1.0.0")),
                    until: None,
                    why: "an audit".into(),
                }];
            }
            let plan = crate::plan(&world, noon());
            let opened = plan.actions.iter().find_map(|action| match action {
                crate::Action::Open(proposal) => Some((proposal.members.len(), proposal.written.is_some())),
                _ => None,
            });
            opened.expect("it is opened")
        };
        assert_eq!((written(false), written(true)), ((2, true), (1, false)));
    }

    #[test]
    fn what_is_open_on_the_tier_takes_no_second_place() {
        let mut world = ready();
        // 1.1.0 failed while its pull request was open: the next release is written into that.
        let why = crate::Reason::FailedBy { by: "maria".into(), why: "it breaks billing".into() };
        *wave(&mut world).rewrite().failed = Some(crate::ledger::Failed { at: ago(1), why });
        crate::next_release::tests::finished_above(&mut world);
        for limit in [None, Some(1)] {
            world.policy.limits.open_pulls = limit;
            assert_eq!(crate::next_release::tests::doings(&world), ["move bronze to 1.2.0"], "{limit:?}");
        }
    }

    fn changed(world: &mut Snapshot, minutes: i64, clusters: usize) {
        let members = (0..clusters).map(|n| alloc::format!("c{n}").as_str().into()).collect();
        let changes = [
            Change::Found { members, digest: None, landed: Landed { at: ago(minutes), commit: None, by: None } },
            Change::Merging(Merging { head: "ff".into(), at: ago(minutes), base: None, forced: None }),
        ];
        for change in changes {
            world.ledger.apply(&Entry::Wave {
                plugin: "dns".into(),
                tier: "qa".into(),
                version: version("3.0.0"),
                change,
            });
        }
    }

    fn wave(world: &mut Snapshot) -> &mut Wave {
        let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
        page.tiers.get_mut(&"bronze".into()).unwrap().last_mut().unwrap()
    }

    fn cap(world: &mut Snapshot, limit: u32) {
        world.policy.limits.clusters_per_hour = Some(limit);
    }

    #[test]
    fn clusters_changed_in_an_hour_are_capped() {
        let until = Verdict::Wait { until: Some(ago(20) + SignedDuration::from_hours(1)) };
        table(
            Gate::Limits,
            ready,
            &[
                ("no cap", |w| changed(w, 20, 9), Verdict::Pass, "within the limits"),
                (
                    "room for one more",
                    |w| {
                        changed(w, 20, 2);
                        cap(w, 3);
                    },
                    Verdict::Pass,
                    "within the limits",
                ),
                (
                    "no room",
                    |w| {
                        changed(w, 20, 3);
                        cap(w, 3);
                    },
                    until,
                    "the limit of 3 clusters changed in an hour",
                ),
                (
                    "more members than the cap, in a quiet hour",
                    |w| {
                        cap(w, 1);
                        wave(w).members = vec!["bronze-1".into(), "bronze-2".into()].into();
                    },
                    Verdict::Fail,
                    "it changes 2 clusters at once, and 1 in an hour are the limit",
                ),
                (
                    "an hour ago",
                    |w| {
                        changed(w, 60, 3);
                        cap(w, 3);
                    },
                    Verdict::Pass,
                    "within the limits",
                ),
                (
                    "its own merge, asked for an hour ago and never seen",
                    |w| {
                        changed(w, 20, 1);
                        cap(w, 1);
                        remember(
                            w,
                            Change::Merging(Merging {
                                head: "aaaaaaaaaa".into(),
                                at: ago(60),
                                base: None,
                                forced: None,
                            }),
                        );
                    },
                    until,
                    "the limit of 1 clusters changed in an hour",
                ),
                (
                    "its own merge, asked for and not seen yet",
                    |w| {
                        cap(w, 1);
                        remember(
                            w,
                            Change::Merging(Merging {
                                head: "aaaaaaaaaa".into(),
                                at: ago(1),
                                base: None,
                                forced: None,
                            }),
                        );
                    },
                    Verdict::Pass,
                    "within the limits",
                ),
            ],
        );
    }

    #[test]
    fn open_pull_requests_are_capped() {
        let opens = |limit: u32| {
            let mut world = ready();
            world.policy.limits.open_pulls = Some(limit);
            facts(&mut world).releases = Read::Known(vec![release("1.1.0"), release("1.2.0")]);
            crate::plan(&world, noon()).actions.iter().any(|action| matches!(action, crate::Action::Open(_)))
        };
        assert!(opens(2));
        assert!(!opens(1), "bronze's is open already");
    }
}
