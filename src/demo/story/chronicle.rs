//! What happened in the world, told from one scene to the next: lines for people and facts for the
//! expectations. What should have happened is in `expectations`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::fleet::{TIERS, TROUBLED};
use super::scene::{PullSeen, Rung, Scene};
use crate::clusters::{Sighting, State};

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something went on.
    Plain,
    /// Something was reached.
    Good,
    /// Something broke or was refused.
    Bad,
    /// Something was done without being agreed to.
    Forced,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// What, in words.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
}

/// A version that a pull request proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The pull request.
    pub number: u64,
    /// What it moves where.
    pub rung: Rung,
    /// To which version.
    pub version: String,
    /// Since when: the opening, or the first look at a moved head.
    pub at: Timestamp,
}

/// Everything that happened so far.
#[derive(Clone, Debug, Default)]
pub struct Chronicle {
    /// The world at the last look.
    pub scene: Scene,
    /// What people are told, in order.
    pub lines: Vec<Line>,
    /// What the controllers did, in order.
    pub sightings: Vec<Sighting>,
    /// Every version that was proposed.
    pub proposals: Vec<Proposal>,
    /// The sentence on a pull request that blames the troubled cluster, by number.
    pub blames: BTreeMap<u64, String>,
    /// When the code owner acknowledged what breaks.
    pub acknowledged: Option<Timestamp>,
    /// When the tier that lacked a value got it.
    pub mended: Option<Timestamp>,
    finished: BTreeSet<(Rung, String)>,
}

impl Chronicle {
    /// Takes in the next scene, and what the controllers did since the last one.
    pub fn note(&mut self, scene: Scene, news: Vec<Sighting>) {
        self.note_releases(&scene, news);
        for pull in scene.pulls.values() {
            self.note_pull(pull, scene.at);
        }
        self.scene = scene;
    }

    /// Adds a line of somebody who acts in the story.
    pub fn say(&mut self, at: Timestamp, tone: Tone, text: impl Into<String>) {
        self.lines.push(Line { at, text: text.into(), tone });
    }

    /// The newest pull request for a plugin on a tier that blames the troubled cluster.
    pub fn blamed(&self, plugin: &str, tier: &str) -> Option<u64> {
        let here = |number: &&u64| {
            let rung = self.scene.pulls.get(number).and_then(|pull| pull.rung.as_ref());
            rung.is_some_and(|rung| rung.plugin == plugin && rung.tier == tier)
        };
        self.blames.keys().rev().find(here).copied()
    }

    fn note_pull(&mut self, pull: &PullSeen, now: Timestamp) {
        let before = self.scene.pulls.get(&pull.number).cloned();
        let (number, what) = (pull.number, pull.what());
        let mut moved = false;
        if let (Some(rung), Some(version)) = (&pull.rung, &pull.version) {
            let last = self.proposals.iter().rev().find(|proposal| proposal.number == number);
            if last.is_none_or(|last| last.version != *version) {
                moved = last.is_some();
                let at = if moved { now } else { pull.opened_at };
                let (rung, version) = (rung.clone(), version.clone());
                self.proposals.push(Proposal { number, rung, version, at });
            }
        }
        if before.is_none() {
            self.say(pull.opened_at, Tone::Plain, format!("opened #{number} {what}"));
        } else if moved {
            self.say(now, Tone::Plain, format!("moved #{number} to {what}"));
        }
        let was_approved = before.as_ref().map(|before| before.approved_by.clone()).unwrap_or_default();
        for person in pull.approved_by.iter().filter(|person| !was_approved.contains(person)) {
            self.say(now, Tone::Plain, format!("{person} approved #{number} {what}"));
        }
        if before.is_none_or(|before| before.is_open()) {
            self.note_end(pull);
        }
        // Before it failed, its name on a pull request blames nobody.
        if !self.blames.contains_key(&number)
            && self.failed_as_proposed(pull)
            && let Some(sentence) = pull.blames(TROUBLED)
        {
            // The pull requests below repeat it in their climb; once is enough to watch.
            let clusters_of = |tier: &str| TIERS.iter().find(|(name, _)| *name == tier).map_or(&[][..], |(_, all)| all);
            if pull.rung.as_ref().is_some_and(|rung| clusters_of(&rung.tier).contains(&TROUBLED)) {
                self.say(now, Tone::Bad, format!("#{number} says: {sentence}"));
            }
            self.blames.insert(number, sentence);
        }
    }

    /// Whether what this pull request proposed failed on the troubled cluster.
    fn failed_as_proposed(&self, pull: &PullSeen) -> bool {
        let (Some(rung), Some(version)) = (&pull.rung, &pull.version) else { return false };
        self.sightings.iter().any(|sighting| {
            sighting.cluster == TROUBLED
                && sighting.plugin == rung.plugin
                && sighting.seen.wanted == *version
                && sighting.seen.state == State::Failed
        })
    }

    fn note_end(&mut self, pull: &PullSeen) {
        let (number, what) = (pull.number, pull.what());
        match (&pull.merged, pull.closed_at) {
            (Some((at, _)), _) => {
                let needed =
                    pull.rung.as_ref().is_some_and(|rung| TIERS.first().is_none_or(|(tier, _)| rung.tier != *tier));
                let (tone, how) = if !pull.approved_by.is_empty() {
                    (Tone::Good, format!(", approved by {}", pull.approved_by.join(", ")))
                } else if needed {
                    (Tone::Forced, " by force, nobody approved".to_owned())
                } else {
                    (Tone::Good, String::new())
                };
                self.say(*at, tone, format!("merged #{number} {what}{how}"));
            }
            (None, Some(at)) => self.say(at, Tone::Bad, format!("closed #{number} {what}, not merged")),
            (None, None) => {}
        }
    }

    fn note_releases(&mut self, scene: &Scene, news: Vec<Sighting>) {
        for sighting in &news {
            let Sighting { at, cluster, plugin, seen, .. } = sighting;
            let what = match seen.state {
                State::Failed => format!("{plugin} {} failed on {cluster}", seen.wanted),
                State::Degraded => format!("{plugin} {} is degraded on {cluster}", seen.wanted),
                State::Healthy | State::Progressing => continue,
            };
            self.say(*at, Tone::Bad, what);
        }
        let plugins: BTreeSet<&String> = scene.releases.values().flat_map(BTreeMap::keys).collect();
        for plugin in plugins {
            for (tier, _) in TIERS {
                let Some(together) = scene.together(plugin, tier) else { continue };
                let rung = Rung { plugin: plugin.clone(), tier: tier.to_owned() };
                // What ran at the start was not reached by the story.
                let new = !self.finished.contains(&(rung.clone(), together.wanted.clone()));
                if new && together.well == together.members {
                    self.finished.insert((rung, together.wanted.clone()));
                    if !self.sightings.is_empty() {
                        let text =
                            format!("{plugin} {} is healthy on {tier}, {1} of {1}", together.wanted, together.well);
                        self.say(scene.at, Tone::Good, text);
                    }
                }
            }
        }
        self.sightings.extend(news);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::super::scene::tests::pull;
    use super::*;
    use crate::clusters::Seen;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn scene(second: i64, pulls: &[PullSeen]) -> Scene {
        let pulls = pulls.iter().map(|pull| (pull.number, pull.clone())).collect();
        Scene { at: at(second), pulls, releases: BTreeMap::new() }
    }

    #[test]
    fn each_turn_of_a_pull_request_is_told_once() {
        let mut chronicle = Chronicle::default();
        let mut seven = pull(7, "cert-manager", "bronze", "1.15.0", 1);
        chronicle.note(scene(2, &[seven.clone()]), Vec::new());
        chronicle.note(scene(3, &[seven.clone()]), Vec::new());
        seven.version = Some("1.15.1".to_owned());
        chronicle.note(scene(4, &[seven.clone()]), Vec::new());
        seven.approved_by.push("maria".to_owned());
        chronicle.note(scene(5, &[seven.clone()]), Vec::new());
        seven.merged = Some((at(6), "coldframe[bot]".to_owned()));
        seven.closed_at = Some(at(6));
        let mut nine = pull(9, "x", "gold", "1.0.0", 5);
        nine.merged = Some((at(6), "coldframe-force[bot]".to_owned()));
        nine.closed_at = Some(at(6));
        let mut ten = pull(10, "x", "qa", "1.0.0", 5);
        ten.closed_at = Some(at(7));
        for second in 6..9 {
            chronicle.note(scene(second, &[seven.clone(), nine.clone(), ten.clone()]), Vec::new());
        }
        let told: Vec<_> = chronicle.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            told,
            [
                "opened #7 cert-manager 1.15.0 → bronze",
                "moved #7 to cert-manager 1.15.1 → bronze",
                "maria approved #7 cert-manager 1.15.1 → bronze",
                "merged #7 cert-manager 1.15.1 → bronze, approved by maria",
                "opened #9 x 1.0.0 → gold",
                "merged #9 x 1.0.0 → gold by force, nobody approved",
                "opened #10 x 1.0.0 → qa",
                "closed #10 x 1.0.0 → qa, not merged",
            ]
        );
        let proposed: Vec<_> = chronicle.proposals.iter().map(|p| (p.number, p.version.as_str(), p.at)).collect();
        assert_eq!(proposed[..2], [(7, "1.15.0", at(1)), (7, "1.15.1", at(4))]);
    }

    #[test]
    fn a_tier_is_reached_when_all_of_it_is_well() {
        let mut chronicle = Chronicle::default();
        let seen = |version: &str, state| Seen {
            wanted: version.to_owned(),
            running: Some("1".to_owned()),
            state,
            since: at(0),
        };
        let told = |chronicle: &mut Chronicle, second, version: &str, states: [State; 2]| {
            let mut scene = scene(second, &[]);
            let mut news = Vec::new();
            for (cluster, state) in ["qa-1", "qa-2"].into_iter().zip(states) {
                let seen = seen(version, state);
                scene.releases.insert(cluster.to_owned(), BTreeMap::from([("x".to_owned(), seen.clone())]));
                let (cluster, plugin, tier) = (cluster.to_owned(), "x".to_owned(), "qa".to_owned());
                news.push(Sighting { at: at(second), cluster, tier, plugin, seen });
            }
            chronicle.note(scene, news);
            std::mem::take(&mut chronicle.lines).into_iter().map(|line| line.text).collect::<Vec<_>>()
        };
        use State::{Failed, Healthy, Progressing};
        assert_eq!(told(&mut chronicle, 1, "1.0.0", [Healthy, Healthy]), [""; 0], "the state at the start");
        assert_eq!(told(&mut chronicle, 2, "1.1.0", [Healthy, Progressing]), [""; 0]);
        assert_eq!(told(&mut chronicle, 3, "1.1.0", [Healthy, Failed]), ["x 1.1.0 failed on qa-2"]);
        assert_eq!(told(&mut chronicle, 4, "1.1.0", [Healthy, Healthy]), ["x 1.1.0 is healthy on qa, 2 of 2"]);
        assert_eq!(told(&mut chronicle, 5, "1.1.0", [Healthy, Healthy]), [""; 0], "told once");
    }
}
