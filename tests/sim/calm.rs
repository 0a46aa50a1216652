//! The calm after the trouble: what is broken is mended, and a last good release comes out.

use decide::ClusterName;
use decide::model::PluginPolicy;
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::check::Watch;
use crate::rarely::Later;
use crate::releases::{Published, inside};
use crate::scenario::{Mode, Quality};
use crate::world::{Due, World};

impl World {
    /// From here on nothing goes wrong: what is broken is mended, and a last good release comes out.
    pub fn calm_down(&mut self) {
        let ahead = SignedDuration::from_secs(self.off());
        (self.outage, self.lag, self.skew, self.missing, self.unreadable) = (None, None, None, None, None);
        (self.no_registry, self.no_inventory) = (None, None);
        self.policy_broken = false;
        self.policy.freezes.clear();
        self.policy_commit += 1;
        self.vanished.clear();
        self.lies.clear();
        self.ranges.clear();
        crate::people::set_missing_values(self);
        self.note("calm begins");
        self.end_what_is_under_way();
        crate::edits::settle(self);
        crate::rarely::settle(self);
        crate::fleet::heal(self);
        crate::people::give_up_the_lost(self, true);
        if self.scenario.mode == Mode::Answered {
            crate::people::settle_open_business(self);
            self.let_the_last_stay();
            // What the bot wrote by a clock that was ahead is approved before its time, and once more after it.
            if ahead.is_positive() {
                self.schedule(self.now + ahead, Due::Rare(Later::AnswerAgain));
            }
        }
        match self.scenario.storm {
            true => self.begin_storm(),
            false => self.publish_the_last(),
        }
    }

    /// The newest version that the file takes, and so many patches on.
    fn newer(&self, plugin: &PluginPolicy, patches: u64) -> Version {
        // A pre-release of what the constraint refuses leads nowhere.
        let taken =
            |known: &&Version| plugin.constraint.as_ref().is_none_or(|all| known.pre.is_empty() && inside(all, known));
        let all = self.releases[&plugin.name].keys().filter(taken);
        let newest = all.max().cloned().unwrap_or(Version::new(1, 0, 0));
        Version::new(newest.major, newest.minor, newest.patch + patches)
    }

    /// Whoever wrote that a version is to be left takes that back where the last release is one of those.
    fn let_the_last_stay(&mut self) {
        for at in 0..self.policy.plugins.len() {
            let last = self.newer(&self.policy.plugins[at], 1);
            self.policy.plugins[at].expires.retain(|expiry| !inside(&expiry.versions, &last));
        }
        self.policy_commit += 1;
    }

    /// A last good release of every plugin.
    fn publish_the_last(&mut self) {
        for plugin in self.policy.plugins.clone() {
            let last = self.newer(&plugin, 1);
            self.note(format!("{} {last} is published, the last one", plugin.name));
            let release = Published::new(self, &plugin.name, last, Quality::Good, false);
            self.publish(&plugin.name, release);
        }
    }

    /// Good releases one after the other, faster than a climb, for as long as two climbs take at most.
    fn begin_storm(&mut self) {
        let longest = self.policy.plugins.iter().map(|plugin| climb(self, plugin)).max().unwrap_or_default() * 2;
        let pace = (longest / STORM).max(SignedDuration::from_mins(15));
        self.note(format!("a storm begins: a release every {pace:#} for {longest:#}"));
        for plugin in self.policy.plugins.clone() {
            self.storm.insert(plugin.name.clone(), self.newer(&plugin, 1));
        }
        self.schedule(self.now, Due::Rare(Later::Storm { pace, until: self.now + longest }));
        self.storm_ends = Some(self.now + longest);
    }

    /// One more release of every plugin, or the end: some release of the storm has come to every tier by then (L7).
    pub fn storm_on(&mut self, pace: SignedDuration, until: Timestamp) {
        if self.now + pace <= until {
            self.schedule(self.now + pace, Due::Rare(Later::Storm { pace, until }));
        } else {
            // One that the hub refuses for days may hold the only place under the cap of open ones.
            let refused = self.merges.refusing.values().any(|until| *until > self.scenario.calm);
            let stuck = refused && self.policy.limits.open_pulls.is_some();
            for plugin in self.policy.plugins.clone().into_iter().filter(|_| !stuck) {
                let begun = self.storm[&plugin.name].clone();
                if !self.accepted(&plugin.name).iter().any(|version| *version >= begun) {
                    continue; // the file refuses all of them
                }
                // What follows by itself asks nobody whether the release before has soaked: no release does.
                let first = &plugin.tiers[0];
                let patience = Watch::patience(self, &(plugin.name.clone(), first.name.clone()));
                if first.follows && pace < patience {
                    continue;
                }
                for tier in &plugin.tiers {
                    let spot = (plugin.name.clone(), tier.name.clone());
                    // What somebody approved is not moved on, and nothing passes what the hub refuses for days.
                    if self.merges.refusing.get(&spot).is_some_and(|until| *until > self.scenario.calm) {
                        break;
                    }
                    let ahead = |name: &ClusterName| {
                        tier.early
                            .iter()
                            .any(|early| early.select.match_labels.get("name").is_some_and(|of| of == name.as_str()))
                    };
                    let turn = |place: &&crate::places::Place| {
                        place.cluster.as_ref().is_none_or(|name| !ahead(name) && !self.is_pinned(&spot.0, name))
                    };
                    let mut there = self.base[&spot].iter().filter(turn).peekable();
                    let (populated, somebody) = (!self.members(&tier.name).is_empty(), there.peek().is_some());
                    if populated && !somebody {
                        break; // whose clusters are all ahead or pinned proves nothing to the tiers above
                    }
                    if populated && !there.any(|place| place.version >= begun) {
                        self.starved.push(format!("{} on {} got nothing newer than {begun}", spot.0, spot.1));
                    }
                }
            }
        }
        self.publish_the_last();
    }
}

/// Releases of a storm.
const STORM: i32 = 16;

/// How long a climb may take in the calm, where no window is ever closed.
fn climb(world: &World, plugin: &PluginPolicy) -> SignedDuration {
    let tiers = plugin.tiers.iter().map(|tier| Watch::patience(world, &(plugin.name.clone(), tier.name.clone())));
    tiers.fold(plugin.cooldown + SignedDuration::from_hours(12), |sum, tier| sum + tier)
}
