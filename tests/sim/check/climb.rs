//! Which release may be where: S1, S2, S10, S12, S20, and that a failed release stays where it is.

use decide::model::HealthRule;
use decide::snapshot::{Health, PullState, Snapshot};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::Watch;
use crate::fleet::Condition;
use crate::pulls::BOT;
use crate::world::{Spot, World};

/// When something was so: from, and until before.
type Span = (Timestamp, Timestamp);

impl Watch {
    /// S1: before a release is opened or merged on a tier, it has met the soak of the tier below.
    pub(super) fn climbs_in_order(&mut self, world: &mut World, spot: &Spot, version: &Version, does: &str) {
        let rung = world.rung(&spot.1);
        if rung == 0 {
            return;
        }
        let below = (spot.0.clone(), world.scenario.tiers()[rung - 1].name.clone());
        if let Err(why) = self.has_soaked(world, &below, version, world.now) {
            self.fails(world, format!("S1 {does} {} {version} on {}, but on {} {why}", spot.0, spot.1, below.1));
        }
    }

    /// Whether a release could have met the soak of a tier before `now`. An upper bound of what the
    /// bot may count: the time in which the members truly were healthy on this version after it
    /// landed, and as long after each healthy answer as the policy lets an answer count.
    fn has_soaked(&self, world: &World, spot: &Spot, version: &Version, now: Timestamp) -> Result<(), String> {
        let tier = world.tier(spot);
        let Some(landed) = landed(world, spot, version) else { return Err("it never landed".to_string()) };
        let members = world.scenario.members(&spot.1);
        let spare = (tier.health.max_failures + tier.health.max_unknown) as usize;
        let mut changes: Vec<(Timestamp, i32)> = Vec::new();
        for member in &members {
            let key = (member.clone(), spot.0.clone());
            for (from, to) in merged(self.healthy_spans(world, &key, version, landed, now, tier.health)) {
                changes.extend([(from, 1), (to, -1)]);
            }
        }
        let resets = self.seen_degraded(spot, &members, version, tier.health, landed);
        let enough = members.len().saturating_sub(spare) as i32;
        // Resets and the end are breakpoints too; what began at the same instant comes first.
        changes.extend(resets.iter().map(|reset| (*reset, 0)));
        changes.sort_unstable_by_key(|(at, change)| (*at, -change));
        let (mut healthy, mut total, mut best, mut last) = (0, SignedDuration::ZERO, None, landed);
        for (at, change) in changes {
            if healthy >= enough {
                total += at.duration_since(last);
                best = best.max(Some(total));
            }
            if resets.contains(&at) {
                total = SignedDuration::ZERO;
            }
            healthy += change;
            if healthy >= enough {
                best = best.max(Some(total));
            }
            last = at;
        }
        match best {
            Some(best) if best >= tier.soak.min => Ok(()),
            Some(best) => Err(format!("it was healthy for {best:#} of {:#} at most", tier.soak.min)),
            None => Err("its members were never healthy together".to_string()),
        }
    }

    fn healthy_spans(
        &self,
        world: &World,
        key: &(decide::ClusterName, decide::PluginName),
        version: &Version,
        landed: Timestamp,
        now: Timestamp,
        rule: HealthRule,
    ) -> Vec<Span> {
        let past = &world.running[key].past;
        let ends = past.iter().skip(1).map(|(at, _, _)| *at).chain([now]);
        let truly = past
            .iter()
            .zip(ends)
            .filter(|((_, running, condition), _)| running == version && *condition == Condition::Healthy)
            .map(|((from, _, _), to)| (*from, to));
        let said = self
            .samples
            .get(key)
            .into_iter()
            .flatten()
            .filter(|sample| sample.version.as_ref() == Some(version) && sample.health == Health::Healthy)
            .map(|sample| (sample.observed, (sample.observed + rule.max_age).min(now)));
        truly.chain(said).map(|(from, to)| (from.max(landed), to)).filter(|(from, to)| from <= to).collect()
    }

    /// Looks at which more members than are tolerated were shown to be degraded on this version.
    fn seen_degraded(
        &self,
        spot: &Spot,
        members: &[decide::ClusterName],
        version: &Version,
        rule: HealthRule,
        landed: Timestamp,
    ) -> Vec<Timestamp> {
        let mut bad: std::collections::BTreeMap<Timestamp, u32> = std::collections::BTreeMap::new();
        for member in members {
            for sample in self.samples.get(&(member.clone(), spot.0.clone())).into_iter().flatten() {
                let ill = matches!(sample.health, Health::Degraded | Health::Failed);
                let fresh = sample.looked <= sample.observed + rule.max_age;
                if ill
                    && fresh
                    && sample.recorded
                    && sample.version.as_ref() == Some(version)
                    && sample.observed >= landed
                {
                    *bad.entry(sample.looked).or_default() += 1;
                }
            }
        }
        bad.into_iter().filter(|(_, count)| *count > rule.max_failures).map(|(at, _)| at).collect()
    }

    /// Remembers releases that were shown as given up by their controllers before they had finished.
    pub(super) fn notice_failures(&mut self, world: &mut World, shown: &Snapshot) {
        for plugin in &shown.policy.plugins {
            let mut readings = shown.plugins[&plugin.name].readings.values().flatten();
            if !readings.any(|reading| reading.health == Health::Failed) {
                continue;
            }
            for tier in &plugin.tiers {
                let spot = (plugin.name.clone(), tier.name.clone());
                let Some(version) = uniform(world, &spot) else { continue };
                let readings = &shown.plugins[&plugin.name].readings;
                let gone = |member: &&decide::ClusterName| {
                    readings.get(*member).is_some_and(|all| {
                        all.iter().any(|reading| {
                            reading.health == Health::Failed
                                && reading.running.as_ref().map(super::plain).as_ref() == Some(&version)
                                && world.now <= reading.observed_at + tier.health.max_age
                        })
                    })
                };
                let failed = world.scenario.members(&tier.name).iter().filter(gone).count();
                let key = (spot.clone(), version.clone());
                if failed > tier.health.max_failures as usize
                    && !self.failed.contains_key(&key)
                    && shown.clusters.known().is_some()
                    && shown.plugins[&plugin.name].base.known().is_some()
                    && self.has_soaked(world, &spot, &version, world.now).is_err()
                {
                    self.failed.insert(key, world.now);
                }
            }
        }
    }

    /// S1: a release that failed a tier climbs no further.
    pub(super) fn leaves_failed_alone(&mut self, world: &mut World, spot: &Spot, version: &Version) {
        let rung = world.rung(&spot.1);
        let failed = self.failed.iter().find(|((where_, what), since)| {
            where_.0 == spot.0 && what == version && world.rung(&where_.1) <= rung && **since < world.now
        });
        if let Some(((where_, _), since)) = failed {
            let what =
                format!("S1 goes on with {} {version} on {}, which failed on {} at {since}", spot.0, spot.1, where_.1);
            self.fails(world, what);
        }
    }

    /// S2: no tier is ahead of the tier below by the bot's doing, as far as it was shown.
    pub(super) fn not_ahead(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let rung = world.rung(&spot.1);
        if rung == 0 {
            return;
        }
        let below = &world.scenario.tiers()[rung - 1].name;
        let base = shown.plugins[&spot.0].base.known().and_then(|base| base.get(below)).cloned().unwrap_or_default();
        let there = base.iter().filter_map(|place| place.version.known()).map(super::plain).max();
        if there.as_ref().is_none_or(|there| there < version) {
            let what = format!("S2 brings {} {version} to {}, while {below} has {there:?}", spot.0, spot.1);
            self.fails(world, what);
        }
    }

    /// S10: what a person closed stays closed, on that tier and above.
    pub(super) fn respects_no(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let rung = world.rung(&spot.1);
        let seen_closed = |number: u64| {
            let pulls = shown.plugins[&spot.0].pulls.known().into_iter().flatten();
            pulls.into_iter().any(|pull| pull.number.0 == number && matches!(pull.state, PullState::Closed { .. }))
        };
        // Closing a pull request whose release is on the base branch already says no to nothing.
        let moot = |pull: &crate::pulls::PullRequest, at: Timestamp| {
            landed(world, &pull.spot, &pull.bot_version).is_some_and(|landed| landed <= at)
        };
        let no = world.pulls.iter().find(|pull| {
            pull.spot.0 == spot.0
                && pull.bot_version == *version
                && world.rung(&pull.spot.1) <= rung
                && pull
                    .closed
                    .as_ref()
                    .is_some_and(|closed| closed.merged.is_none() && closed.by != BOT && !moot(pull, closed.at))
                && seen_closed(pull.number)
        });
        if let Some(pull) = no {
            let what = format!(
                "S10 goes on with {} {version} on {}, though a person closed #{} on {}",
                spot.0, spot.1, pull.number, pull.spot.1
            );
            self.fails(world, what);
        }
    }

    /// S12: a commit of the bot never lowers a version.
    pub(super) fn no_downgrade(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let base = shown.plugins[&spot.0].base.known().and_then(|base| base.get(&spot.1)).cloned().unwrap_or_default();
        let lowered =
            base.iter().find(|place| place.version.known().map(super::plain).is_some_and(|there| there > *version));
        if let Some(place) = lowered {
            let what = format!("S12 takes {} back to {} {version}", place.file, spot.0);
            self.fails(world, what);
        }
    }

    /// S20: one digest for all tiers; a second one under the same version stops the release.
    pub(super) fn keeps_digest(&mut self, world: &mut World, shown: &Snapshot, spot: &Spot, version: &Version) {
        let pinned = shown.ledger.plugins.get(&spot.0).into_iter().flat_map(|page| &page.releases);
        let pinned = pinned
            .into_iter()
            .find(|seen| super::plain(&seen.version) == *version)
            .and_then(|seen| seen.digest.clone());
        let now = shown.plugins[&spot.0].releases.known().into_iter().flatten();
        let now = now
            .into_iter()
            .find(|release| super::plain(&release.version) == *version)
            .and_then(|release| release.digest.clone());
        if let (Some(pinned), Some(now)) = (pinned, now)
            && pinned != now
        {
            let what = format!("S20 goes on with {} {version} on {}, whose content changed", spot.0, spot.1);
            self.fails(world, what);
        }
    }
}

/// When every file of a tier first held this version.
fn landed(world: &World, spot: &Spot, version: &Version) -> Option<Timestamp> {
    let places = &world.base[spot];
    let mut moments: Vec<Timestamp> = places.iter().flat_map(|place| place.past.iter().map(|(at, _, _)| *at)).collect();
    moments.sort_unstable();
    let holds = |at: Timestamp| {
        places.iter().all(|place| {
            place.past.iter().rfind(|(since, _, _)| *since <= at).is_some_and(|(_, held, _)| held == version)
        })
    };
    moments.into_iter().find(|at| holds(*at))
}

fn uniform(world: &World, spot: &Spot) -> Option<Version> {
    let places = &world.base[spot];
    let first = places.first()?.version.clone();
    places.iter().all(|place| place.version == first).then_some(first)
}

/// Overlapping spans as one.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut out: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}
