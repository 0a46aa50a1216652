//! What the bot is shown of the world: every fact dated, some of them old, some of them missing.

use std::collections::BTreeMap;

use decide::ledger::Ledger;
use decide::snapshot::{
    CheckState, Health, HubFacts, LedgerGuard, LedgerState, Place, PluginFacts, Pull, Read, Reading, Release,
    RequiredCheck, Snapshot,
};
use decide::{ClusterName, Digest, Person, PluginName, Sha, TierName};
use jiff::{SignedDuration, Timestamp};

use crate::fleet::Condition;
use crate::pulls::BOT;
use crate::scenario::{Lie, Unreadable};
use crate::world::World;

impl World {
    pub fn show(&self, ledger: Ledger) -> Snapshot {
        let down = self.lasts(self.outage);
        let unread = |what: &str| format!("{what} does not answer");
        let guarded = match self.scenario.guarded {
            true => LedgerGuard::Sealed,
            false => LedgerGuard::Open("no ruleset".to_string()),
        };
        let max_age = self.scenario.tiers()[0].health.max_age;
        Snapshot {
            policy: self.policy.clone(),
            policy_commit: Sha::new(format!("{:040x}", self.policy_commit)),
            policy_problem: self.policy_broken.then(|| "coldframe.yaml:3:1: unknown key".to_string()),
            clusters: match down || self.lasts(self.no_inventory) {
                true => Read::Unread(unread("the inventory")),
                false => Read::Known(self.inventory.clone()),
            },
            hub: HubFacts {
                bot: Person::from(BOT),
                bypass: self.scenario.bypass,
                own: vec![Person::from(BOT)],
                skew: SignedDuration::from_secs(self.off()),
            },
            ledger,
            ledger_state: match (down, self.branch.lost()) {
                (true, _) => LedgerState::Unread(unread("the hub")),
                (false, _) if self.branch.foreign().is_some() => {
                    LedgerState::Unread("the newest commit of the ledger branch is not the bot's".to_string())
                }
                (false, cited) if cited.is_empty() => LedgerState::Intact { guarded },
                (false, cited) => LedgerState::Lost { cited, tip: self.branch.tip_sha() },
            },
            look_again: max_age / 2,
            plugins: self
                .policy
                .plugins
                .iter()
                .map(|plugin| (plugin.name.clone(), self.facts(&plugin.name, down)))
                .collect(),
        }
    }

    fn facts(&self, plugin: &PluginName, down: bool) -> PluginFacts {
        let unread = |what: &str| format!("{what} does not answer");
        PluginFacts {
            releases: match self.lasts(self.no_registry) {
                true => Read::Unread(unread("the registry")),
                false => Read::Known(self.shown_releases(plugin)),
            },
            base: if down { Read::Unread(unread("the hub")) } else { Read::Known(self.shown_base(plugin)) },
            pulls: if down { Read::Unread(unread("the hub")) } else { Read::Known(self.shown_pulls(plugin)) },
            readings: self.readings(plugin),
            runs: if down { Read::Unread(unread("the hub")) } else { Read::Known(self.shown_runs(plugin)) },
            open_now: self.open_now(plugin),
        }
    }

    /// On some days somebody asks for the newest release to be opened at once on a tier.
    fn open_now(&self, plugin: &PluginName) -> BTreeMap<TierName, decide::Version> {
        let day = self.now.as_second() / 86_400;
        let asked = |tier: &&decide::Tier| {
            self.luck(&["open", plugin.as_str(), tier.name.as_str(), &day.to_string()]).chance(3)
        };
        let newest = self.releases[plugin].values().map(|release| &release.shown.version).max();
        let policy =
            self.policy.plugins.iter().filter(|policy| self.policy.opening.is_some() && policy.name == *plugin);
        let tiers = policy.flat_map(|policy| &policy.tiers).filter(asked);
        tiers.filter_map(|tier| Some((tier.name.clone(), newest?.clone()))).collect()
    }

    fn shown_releases(&self, plugin: &PluginName) -> Vec<Release> {
        let policy = self.policy.plugins.iter().find(|known| known.name == *plugin);
        let asked = policy.map_or(&[][..], |policy| policy.checks.as_slice());
        let there = self.releases[plugin].values().filter(|release| !release.yanked);
        let unread = self.cannot_read(Unreadable::Checks);
        let silent = self.undigested.as_ref().filter(|of| of.plugin == *plugin && self.now < of.until);
        let undigested = silent.map(|of| of.since);
        let shown = |release: &crate::releases::Published| {
            let checks = match unread {
                true => Read::Unread("the checks do not answer".to_string()),
                false => Read::Known(asked.iter().map(|name| release.check(name, self.now)).collect()),
            };
            let named = undigested.is_none_or(|since| release.published >= since);
            let digest = release.shown.digest.clone().filter(|_| named);
            let incomplete = (self.now < release.complete).then(|| "its chart is not there".to_string());
            // Who releases signs when the checks have come to an end, and by a key of their own where these are red.
            let unsigned = match (unread, self.now >= release.checked, release.green) {
                (true, _, _) => Read::Unread("the registry does not answer".to_string()),
                (false, false, _) => Read::Known(Some("nobody has signed it".to_string())),
                (false, true, green) => Read::Known((!green).then(|| "another key has signed it".to_string())),
            };
            Release { checks, unsigned, digest, incomplete, ..release.shown.clone() }
        };
        there.map(shown).collect()
    }

    fn shown_base(&self, plugin: &PluginName) -> BTreeMap<TierName, Vec<Place>> {
        let of_plugin = self.base.iter().filter(|((name, _), _)| name == plugin);
        let lasts = |tier: &TierName| self.lasts(self.ranges.get(&(plugin.clone(), tier.clone())).copied());
        let range = |tier: &TierName| lasts(tier).then(|| "^1".to_string());
        of_plugin
            .map(|((_, tier), places)| {
                let place = |place: &crate::places::Place| Place {
                    file: place.file.clone(),
                    cluster: place.cluster.clone(),
                    version: match (self.cannot_read(Unreadable::Files), range(tier)) {
                        (true, _) => Read::Unread("the file does not answer".to_string()),
                        (false, Some(range)) => Read::Unread(format!("{range} is no version")),
                        (false, None) => Read::Known(self.releases[plugin][&place.version].shown.version.clone()),
                    },
                    range: range(tier),
                    vacant: false,
                };
                let there = places.iter().map(place);
                (tier.clone(), there.chain(self.shown_bare(plugin, tier)).collect())
            })
            .collect()
    }

    fn shown_pulls(&self, plugin: &PluginName) -> Vec<Pull> {
        let at = match self.lag.filter(|(until, _)| self.now < *until) {
            Some((_, lag)) => self.now - lag,
            None => self.now,
        };
        let missing = self.missing.as_ref().is_some_and(|(until, whose)| self.now < *until && whose == plugin);
        let of_plugin = self.pulls.iter().filter(|pull| pull.spot.0 == *plugin);
        let listed = of_plugin.filter(|pull| !missing || !pull.is_open());
        listed.filter_map(|pull| pull.at(at)).map(|pull| pull.shown(self)).collect()
    }

    fn readings(&self, plugin: &PluginName) -> decide::Readings {
        let of_plugin = self.running.iter().filter(|((_, name), _)| name == plugin);
        of_plugin
            .map(|((cluster, _), _)| (cluster.clone(), self.reading(cluster, plugin).into_iter().collect()))
            .chain(self.silent(plugin))
            .collect()
    }

    /// What a cluster answers; a vanished one nothing, or what it answered before.
    fn reading(&self, cluster: &ClusterName, plugin: &PluginName) -> Option<Reading> {
        let running = &self.running[&(cluster.clone(), plugin.clone())];
        let (mut at, mut read) = (self.now, self.ours());
        if let Some(absence) = self.vanished.get(cluster).filter(|absence| self.now < absence.until) {
            match absence.stale_since {
                Some(since) => (at, read) = (since, since),
                None if absence.until.as_second() % 2 == 0 => return None,
                None => return Some(silence(self.ours())),
            }
        }
        let index = running.past.iter().rposition(|(since, _, _)| *since <= at)?;
        let (since, version, condition) = &running.past[index];
        let release = self.release(plugin, version)?;
        let proves_content = self.scenario.digests.contains(plugin) && !release.retagged;
        let answer = Reading {
            signal: format!("HelmRelease {plugin}"),
            health: match condition {
                Condition::Healthy => Health::Healthy,
                Condition::Progressing => Health::Progressing,
                Condition::Suspended => Health::Suspended,
                Condition::Degraded => Health::Degraded,
                Condition::Failed => Health::Failed,
            },
            running: Some(release.runs.clone()),
            attempted: None,
            digest: release.shown.digest.clone().filter(|_| proves_content),
            observed_at: read,
            since: self.scenario.since_known.then_some(*since),
            evidence: format!("{condition:?}"),
        };
        match self.lies.get(cluster).filter(|(until, _)| self.now < *until) {
            Some((_, lie)) => self.lied(plugin, answer, *lie, &running.past[..index]),
            None => Some(answer),
        }
    }

    /// An answer that proves nothing about what runs.
    fn lied(
        &self,
        plugin: &PluginName,
        answer: Reading,
        lie: Lie,
        past: &[(Timestamp, semver::Version, Condition)],
    ) -> Option<Reading> {
        let before = past.iter().rev().map(|(_, version, _)| version);
        let before = before.filter_map(|version| self.release(plugin, version)).map(|old| old.runs.clone());
        let older = before.into_iter().find(|version| Some(version) != answer.running.as_ref());
        let healthy = Reading { health: Health::Healthy, ..answer.clone() };
        Some(match (lie, older) {
            (Lie::OldVersion, Some(older)) => Reading { running: Some(older), digest: None, ..healthy },
            (Lie::OldGeneration, _) => {
                Reading { health: Health::Progressing, running: None, attempted: answer.running.clone(), ..answer }
            }
            (Lie::NoVersion, _) => Reading { running: None, ..healthy },
            (Lie::OtherContent, _) => {
                Reading { digest: Some(Digest::new(format!("sha256:{:064x}", 0xfa15e))), ..healthy }
            }
            (Lie::OldVersion, None) => answer,
        })
    }
}

fn silence(at: Timestamp) -> Reading {
    Reading {
        signal: "HelmRelease".to_string(),
        health: Health::Unknown,
        running: None,
        attempted: None,
        digest: None,
        observed_at: at,
        since: None,
        evidence: "timed out".to_string(),
    }
}

impl crate::releases::Published {
    /// How a check of the releasing commit stands.
    fn check(&self, name: &str, now: Timestamp) -> RequiredCheck {
        let state = match (now >= self.checked, self.green) {
            (false, _) => CheckState::Pending,
            (true, true) => CheckState::Success,
            (true, false) => CheckState::Failure,
        };
        RequiredCheck { name: name.to_string(), state }
    }
}
