//! Who acts in the story: a code owner who approves, and a chart's author who mends a release. They
//! look at scenes and say what they do; `mod.rs` does it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::chronicle::Chronicle;
use super::fleet::{Fate, LACKING, PLUGINS, Plugin, TIERS, TROUBLED};
use super::scene::{PullSeen, Scene};
use crate::clusters::State;

/// The scripted code owner.
pub const OWNER: &str = "maria";
/// She approves what she has seen waiting this often.
const LOOKS: u32 = 3;
/// What is proposed is read for so many looks of the story.
const READS: u32 = 10;
/// The author mends a release so long after it failed even if no pull request says so.
const PATIENCE: SignedDuration = SignedDuration::from_secs(12);

/// A code owner who looks at the open pull requests now and then.
#[derive(Debug, Default)]
pub struct CodeOwner {
    seen: BTreeMap<(u64, String), u32>,
}

impl CodeOwner {
    /// One look: the pull requests that she approves now. She takes her time with each head, and
    /// never gets round to the plugin that the story forces.
    pub fn look(&mut self, scene: &Scene) -> Vec<u64> {
        let waiting = |pull: &&PullSeen| {
            let hers = pull.rung.as_ref().is_some_and(|rung| {
                let forced = PLUGINS.iter().any(|plugin| plugin.name == rung.plugin && plugin.fate == Fate::Forced);
                !(forced && rung.tier == "gold")
            });
            pull.is_open() && pull.wants_review && hers && !pull.approved_by.iter().any(|person| person == OWNER)
        };
        let mut ready = Vec::new();
        for pull in scene.pulls.values().filter(waiting) {
            let looks = self.seen.entry((pull.number, pull.head.clone())).or_default();
            *looks += 1;
            if *looks >= LOOKS {
                ready.push(pull.number);
            }
        }
        ready
    }
}

/// A code owner who reads what a release breaks, and a colleague who gives a tier the value that it lacks.
#[derive(Debug, Default)]
pub struct Readers {
    seen: BTreeMap<u64, u32>,
}

/// The plugin that breaks, and its version that does.
pub(super) fn breaking() -> Option<&'static Plugin> {
    PLUGINS.iter().find(|plugin| matches!(plugin.fate, Fate::Breaking { .. }))
}

impl Readers {
    /// One look: the pull request on which what breaks is acknowledged now, and the one of the tier that gets its value.
    pub fn look(&mut self, scene: &Scene, acknowledged: bool) -> (Option<u64>, Option<u64>) {
        let Some(plugin) = breaking() else { return (None, None) };
        let mut ready = |tier: &str, words: &str| {
            let pull = scene.open(plugin.name, tier).filter(|pull| pull.body.contains(words))?;
            let looks = self.seen.entry(pull.number).or_default();
            *looks += 1;
            (*looks >= LOOKS).then_some(pull.number)
        };
        let asked = format!("/coldframe acknowledge {}", plugin.climbs);
        let owner = ready(TIERS[0].0, &asked).filter(|_| !acknowledged);
        (owner, ready(LACKING, "To do for"))
    }
}

/// People who find a policy proposed for their fleet.
#[derive(Debug, Default)]
pub struct Newcomers {
    seen: u32,
}

/// The branch on which the bot proposes a policy.
pub(super) const ONBOARDING: &str = "coldframe-onboarding";

/// The open pull request that proposes a policy.
pub(super) fn proposed(scene: &Scene) -> Option<&PullSeen> {
    scene.pulls.values().find(|pull| pull.branch == ONBOARDING && pull.is_open())
}

impl Newcomers {
    /// One look: whether they have read what is proposed. They take their time.
    pub fn look(&mut self, scene: &Scene) -> bool {
        let there = proposed(scene).is_some();
        self.seen += u32::from(there);
        there && self.seen >= READS
    }
}

/// A fix that its author publishes now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The plugin.
    pub plugin: &'static str,
    /// The new version.
    pub version: &'static str,
    /// What changed.
    pub notes: &'static str,
}

/// The fix that is due: the release failed, and a pull request says so (or nobody reacts).
pub fn fix_due(chronicle: &Chronicle, now: Timestamp) -> Option<Fix> {
    PLUGINS.iter().find_map(|plugin| {
        let Fate::Broken { fix, notes } = plugin.fate else { return None };
        let failed = chronicle.sightings.iter().find(|sighting| {
            sighting.cluster == TROUBLED && sighting.plugin == plugin.name && sighting.seen.state == State::Failed
        })?;
        let told = chronicle.blames.keys().any(|number| {
            chronicle.proposals.iter().any(|proposal| proposal.number == *number && proposal.rung.plugin == plugin.name)
        });
        let due = told || now.duration_since(failed.at) >= PATIENCE;
        due.then_some(Fix { plugin: plugin.name, version: fix, notes })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::super::scene::tests::pull;
    use super::*;
    use crate::clusters::{Seen, Sighting};

    #[test]
    fn she_approves_at_the_third_look_and_only_what_is_hers() {
        let mut approved = pull(5, "cert-manager", "silver", "1.15.0", 0);
        approved.approved_by.push(OWNER.to_owned());
        let mut closed = pull(6, "cert-manager", "gold", "1.15.0", 0);
        closed.closed_at = Some(Timestamp::UNIX_EPOCH);
        let mut foreign = pull(7, "x", "silver", "1", 0);
        foreign.rung = None;
        let pulls = [
            pull(1, "cert-manager", "qa", "1.15.0", 0),
            pull(2, "cert-manager", "bronze", "1.15.0", 0),
            pull(3, "kube-state-metrics", "silver", "5.25.1", 0),
            pull(4, "kube-state-metrics", "gold", "5.25.1", 0),
            approved,
            closed,
            foreign,
        ];
        let mut scene =
            Scene { pulls: pulls.into_iter().map(|pull| (pull.number, pull)).collect(), ..Scene::default() };
        let mut maria = CodeOwner::default();
        assert_eq!([maria.look(&scene), maria.look(&scene), maria.look(&scene)], [vec![], vec![], vec![2, 3]]);
        scene.pulls.get_mut(&2).unwrap().head = "another".to_owned();
        assert_eq!(maria.look(&scene), [3], "a moved head is looked at afresh");
    }

    #[test]
    fn the_fix_comes_when_a_pull_request_says_why_or_when_nobody_does() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut chronicle = Chronicle::default();
        assert_eq!(fix_due(&chronicle, at(100)), None, "nothing failed");
        let seen = Seen { wanted: "4.11.3".to_owned(), running: None, state: State::Failed, since: at(100) };
        let (cluster, tier, plugin) = (TROUBLED.to_owned(), "silver".to_owned(), "ingress-nginx".to_owned());
        chronicle.sightings.push(Sighting { at: at(100), cluster, tier, plugin, seen });
        assert_eq!(fix_due(&chronicle, at(105)), None, "nobody said so yet");
        assert_eq!(fix_due(&chronicle, at(112)).unwrap().version, "4.11.4");
        let mut silver = pull(9, "ingress-nginx", "silver", "4.11.3", 90);
        silver.body = format!("**Held.** {TROUBLED} failed");
        let scene = Scene { at: at(103), pulls: BTreeMap::from([(9, silver)]), ..Scene::default() };
        chronicle.note(scene, Vec::new());
        assert_eq!(fix_due(&chronicle, at(103)).unwrap().version, "4.11.4");
    }
}
