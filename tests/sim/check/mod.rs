//! The invariants, restated over the world's own history. Nothing in here asks the planner what it
//! meant; what counts is what the world was, what the bot was shown, and what it then did.

mod climb;
mod merge;
mod slices;

use std::collections::BTreeMap;

use decide::ledger::Ledger;
use decide::plan::{Action, Plan};
use decide::snapshot::{Health, Snapshot};
use decide::{ClusterName, PluginName, Version as Shown};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::world::{Spot, World};

/// What the checkers keep of a run.
#[derive(Default)]
pub struct Watch {
    /// Broken invariants, each with its name.
    pub broken: Vec<String>,
    samples: BTreeMap<(ClusterName, PluginName), Vec<Sample>>,
    /// Spans in which the bot looked and the hub did not answer.
    outages: Vec<(Timestamp, Timestamp)>,
    outage_since: Option<Timestamp>,
    deadlines: BTreeMap<(Spot, String, u64), Timestamp>,
    opened: BTreeMap<(Spot, Version), u32>,
    /// Clusters that the bot's merges changed, and when.
    changed: Vec<(Timestamp, u32)>,
    /// Releases that failed on a tier, as the bot was shown and has recorded.
    failed: BTreeMap<(Spot, Version), Timestamp>,
    idle_plans: u32,
}

/// What the bot was shown of one cluster.
struct Sample {
    looked: Timestamp,
    observed: Timestamp,
    version: Option<Version>,
    health: Health,
    /// The process lived long enough to record what it saw.
    recorded: bool,
}

/// Plans that do something in a row, beyond which the bot counts as restless.
const RESTLESS: u32 = 30;

impl Watch {
    fn fails(&mut self, world: &mut World, what: String) {
        world.note(format!("BROKEN {what}"));
        self.broken.push(what);
    }

    pub fn hub_missed(&mut self, now: Timestamp) {
        self.outage_since = self.outage_since.or(Some(now));
    }

    pub fn hub_answered(&mut self, now: Timestamp) {
        if let Some(since) = self.outage_since.take() {
            self.outages.push((since, now));
        }
    }

    /// The process forgets an outage that it could not record.
    pub fn crashed(&mut self) {
        self.outage_since = None;
    }

    /// A plan was made from what was shown.
    pub fn planned(&mut self, world: &mut World, snapshot: &Snapshot, plan: &Plan) {
        for (plugin, facts) in &snapshot.plugins {
            for (cluster, readings) in &facts.readings {
                for reading in readings {
                    let sample = Sample {
                        looked: world.now,
                        observed: reading.observed_at,
                        version: reading.running.as_ref().map(plain),
                        health: reading.health,
                        recorded: false,
                    };
                    let key = (cluster.clone(), plugin.clone());
                    self.samples.entry(key).or_default().push(sample);
                }
            }
        }
        if let Some(alarm) = &plan.alarm
            && alarm.at <= world.now
        {
            self.fails(world, format!("ALARM an alarm for {} that is not in the future: {}", alarm.at, alarm.why));
        }
        self.idle_plans = if plan.actions.is_empty() { 0 } else { self.idle_plans + 1 };
        if self.idle_plans > RESTLESS {
            self.idle_plans = 0;
            self.fails(world, format!("L5 {RESTLESS} plans in a row did something: {:?}", plan.actions));
        }
    }

    /// What the bot saw is in its ledger now.
    pub fn recorded(&mut self, world: &mut World, snapshot: &Snapshot, ledger: &Ledger) {
        for samples in self.samples.values_mut() {
            samples.iter_mut().rev().take_while(|sample| sample.looked == world.now).for_each(|s| s.recorded = true);
        }
        self.notice_failures(world, snapshot);
        self.deadlines_stand(world, ledger);
    }

    /// S17: for one release, tier and pull request the deadline never moves earlier.
    fn deadlines_stand(&mut self, world: &mut World, ledger: &Ledger) {
        let mut earlier = Vec::new();
        for (plugin, page) in &ledger.plugins {
            for (tier, waves) in &page.tiers {
                for wave in waves {
                    let (Some(grace), Some(pull)) = (&wave.grace, &wave.pull) else { continue };
                    let key = ((plugin.clone(), tier.clone()), wave.version.to_string(), pull.number.0);
                    let before = self.deadlines.insert(key, grace.deadline);
                    if before.is_some_and(|before| grace.deadline < before) {
                        earlier.push(format!(
                            "S17 the deadline of {plugin} {} on {tier} moved from {before:?} to {}",
                            wave.version, grace.deadline
                        ));
                    }
                }
            }
        }
        earlier.into_iter().for_each(|what| self.fails(world, what));
    }

    /// A pull request is about to be opened for `version`, or moved to it.
    pub fn opens(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Shown, moves: bool) {
        let version = plain(version);
        self.climbs_in_order(world, spot, &version, "opens");
        self.respects_no(world, shown, spot, &version);
        self.leaves_failed_alone(world, spot, &version);
        self.keeps_digest(world, shown, spot, &version);
        self.earlier_slices_are_healthy(world, shown, spot, &version, "opens");
        if !moves {
            self.one_pull_request(world, shown, spot, &version);
        }
    }

    /// S3 (and S15): one pull request for a plugin and a tier, and one opening for each release.
    fn one_pull_request(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let pulls = shown.plugins[&spot.0].pulls.known();
        let open =
            |pull: &&decide::snapshot::Pull| pull.tier == spot.1 && pull.state == decide::snapshot::PullState::Open;
        if let Some(pull) = pulls.into_iter().flatten().find(open) {
            self.fails(world, format!("S3 opens {} {version} on {} beside {}", spot.0, spot.1, pull.number));
        }
        if world.open_pull(spot).is_none() {
            let opened = self.opened.entry((spot.clone(), version.clone())).or_default();
            *opened += 1;
            // The bot may take a pull request back and open another one later, but not again and again.
            let places = world.base[spot].len() as u32;
            if *opened > 3 + places {
                self.fails(world, format!("S15 opens {} {version} on {} for the fourth time", spot.0, spot.1));
            }
        }
    }

    /// A merge is about to be asked for.
    pub fn merges(&mut self, world: &mut World, shown: &Snapshot, action: &Action, pinned: bool, pushed: &Ledger) {
        let Action::Merge { plugin, tier, version, pull, head, forced, .. } = action else { return };
        let spot = (plugin.clone(), tier.clone());
        let version = plain(version);
        let Some(seen) =
            shown.plugins[plugin].pulls.known().and_then(|all| all.iter().find(|seen| seen.number == *pull))
        else {
            self.fails(world, format!("S6 merges {pull}, which it was not shown"));
            return;
        };
        let seen = seen.clone();
        if !pinned || seen.head != *head {
            self.fails(world, format!("S6 merges {pull} at {head}, which is not what it wrote and was shown"));
        }
        self.climbs_in_order(world, &spot, &version, "merges");
        self.respects_no(world, shown, &spot, &version);
        self.leaves_failed_alone(world, &spot, &version);
        self.keeps_digest(world, shown, &spot, &version);
        self.not_ahead(world, shown, &spot, &version);
        self.earlier_slices_are_healthy(world, shown, &spot, &version, "merges");
        self.no_downgrade(world, shown, &spot, &version);
        self.in_the_open(world, shown, &spot);
        self.breaking_is_acknowledged(world, shown, &spot, &version);
        self.within_the_hour(world, &spot, &version, pull.0);
        match forced {
            None => self.approved(world, &seen, &spot, &version),
            Some(evidence) => self.may_be_forced(world, shown, &seen, &spot, evidence, pushed),
        }
    }

    /// S3 once more, at the hub itself.
    pub fn after_effect(&mut self, world: &mut World) {
        let mut open: BTreeMap<&Spot, u32> = BTreeMap::new();
        world.pulls.iter().filter(|pull| pull.is_open()).for_each(|pull| *open.entry(&pull.spot).or_default() += 1);
        let twice = open.into_iter().find(|(_, count)| *count > 1).map(|(spot, _)| spot.clone());
        if let Some((plugin, tier)) = twice {
            self.fails(world, format!("S3 two open pull requests for {plugin} on {tier}"));
        }
    }

    /// Time between two instants in which the bot knew that the hub was out of reach.
    fn out_of_reach(&self, from: Timestamp, to: Timestamp) -> SignedDuration {
        let spans = self.outages.iter().map(|(start, end)| ((*start).max(from), (*end).min(to)));
        spans
            .filter(|(start, end)| start < end)
            .fold(SignedDuration::ZERO, |sum, (start, end)| sum + end.duration_since(start))
    }
}

/// A version without the planner's type.
fn plain(version: &Shown) -> Version {
    version.as_str().trim_start_matches('v').parse().unwrap()
}
