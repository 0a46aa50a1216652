//! Each expectation finds the one thing that it is about.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use jiff::SignedDuration;

use super::super::fleet;
use super::super::history::Step;
use super::super::scene::tests::pull;
use super::*;
use crate::clusters::{Seen, Sighting};

const BOT: &str = "coldframe[bot]";
const FORCE: &str = "coldframe-force[bot]";

#[derive(Clone)]
struct Story {
    chronicle: Chronicle,
    history: History,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

impl Story {
    /// The story as it should go: each release takes ten seconds a tier.
    fn good() -> Self {
        let mut story = Self { chronicle: Chronicle::default(), history: History::default() };
        let mut number = 0;
        for plugin in PLUGINS {
            let climbs: &[(&str, i64, usize)] = match plugin.fate {
                Fate::Clean | Fate::Forced | Fate::Breaking { .. } => &[(plugin.climbs, 0, 4)],
                Fate::Broken { fix, .. } => &[(plugin.climbs, 0, 3), (fix, 50, 4)],
            };
            for (version, start, tiers) in climbs {
                for (step, (tier, clusters)) in TIERS.iter().enumerate().take(*tiers) {
                    number += 1;
                    let opened = start + 10 * i64::try_from(step).unwrap() + 1;
                    story.climb(number, &plugin, version, (tier, clusters), opened);
                }
            }
        }
        (story.chronicle.acknowledged, story.chronicle.mended) = (Some(at(2)), Some(at(20)));
        for one in fleet::BREAKING {
            let body = format!("[{}](x)\n{}\n", one.version, one.text);
            story.pull("podinfo", "6.8.0", "qa").body.push_str(&body);
        }
        let scene = &mut story.chronicle.scene;
        for plugin in PLUGINS {
            for cluster in TIERS.iter().flat_map(|(_, clusters)| *clusters) {
                let end = plugin.ends_at().to_owned();
                let seen = Seen { wanted: end.clone(), running: Some(end), state: State::Healthy, since: at(90) };
                scene.releases.entry((*cluster).to_owned()).or_default().insert(plugin.name.to_owned(), seen);
            }
        }
        let files = BTreeMap::from([("cert-manager.md".to_owned(), (9, 0))]);
        let (sha, subject) = ("00".to_owned(), "cert-manager 1.15.0 was first seen".to_owned());
        story.history.ledger.push(Step { sha, author: BOT.to_owned(), subject, files });
        story
    }

    fn climb(&mut self, number: u64, plugin: &Plugin, version: &str, tier: (&str, &[&str]), opened: i64) {
        let (tier, clusters) = tier;
        let forced = plugin.fate == Fate::Forced && tier == "gold";
        let breaks = matches!(plugin.fate, Fate::Broken { .. }) && version == plugin.climbs && tier == "silver";
        let merged = opened + if forced { GRACE } else { 2 };
        let mut pull = pull(number, plugin.name, tier, version, opened);
        pull.merged = Some((at(merged), if forced { FORCE } else { BOT }.to_owned()));
        pull.closed_at = Some(at(merged));
        if forced {
            pull.body = "Merged by force. Notices: 2. Waived: the approval.".to_owned();
        } else if tier != "qa" {
            pull.approved_by.push("maria".to_owned());
        }
        let rung = pull.rung.clone().unwrap();
        self.chronicle.proposals.push(Proposal { number, rung, version: version.to_owned(), at: at(opened) });
        self.chronicle.scene.pulls.insert(number, pull);
        let files = plugin.manifests(tier).into_iter().map(|path| (path, (1, 1))).collect();
        for cluster in clusters {
            let ill = breaks && *cluster == TROUBLED;
            let last = if ill { State::Failed } else { State::Healthy };
            for (second, state) in [(merged + 1, State::Progressing), (merged + 3, last)] {
                let running = if state == State::Healthy { version } else { plugin.before };
                let (wanted, running) = (version.to_owned(), Some(running.to_owned()));
                let seen = Seen { wanted, running, state, since: at(second) };
                let (cluster, tier, plugin) = ((*cluster).to_owned(), tier.to_owned(), plugin.name.to_owned());
                self.chronicle.sightings.push(Sighting { at: at(second), cluster, tier, plugin, seen });
            }
        }
        if breaks {
            self.chronicle.blames.insert(number, format!("{TROUBLED} failed"));
        }
        let (sha, author) = (format!("{number:040}"), BOT.to_owned());
        self.history.main.push(Step { sha, author, subject: plugin.name.to_owned(), files });
    }

    fn check(&self, hands_on: bool) -> Vec<Expectation> {
        let facts = Facts { chronicle: &self.chronicle, history: &self.history, bot: BOT, bypass: FORCE };
        check(&facts, hands_on)
    }

    fn pull(&mut self, plugin: &str, version: &str, tier: &str) -> &mut PullSeen {
        let what = format!("{plugin} {version} → {tier}");
        self.chronicle.scene.pulls.values_mut().find(|pull| pull.what() == what).unwrap()
    }
}

#[test]
fn a_good_story_holds_every_expectation() {
    for hands_on in [false, true] {
        let all = Story::good().check(hands_on);
        let broken: Vec<_> = all.iter().filter(|expectation| expectation.held.is_err()).collect();
        assert!(broken.is_empty(), "{broken:#?}");
        assert_eq!(all.len(), if hands_on { 11 } else { 23 });
    }
}

#[test]
fn one_thing_gone_wrong_breaks_the_expectations_about_it() {
    type Spoil = fn(&mut Story);
    // (what goes wrong, how, words of the sentences that must not hold)
    let cases: [(&str, Spoil, &[&str]); 21] = [
        (
            "gold never lands",
            |s| s.chronicle.sightings.retain(|x| x.tier != "gold" || x.plugin != "cert-manager"),
            &["climbs"],
        ),
        (
            "gold lands first",
            |s| {
                s.chronicle
                    .sightings
                    .iter_mut()
                    .filter(|x| x.tier == "gold" && x.plugin == "cert-manager")
                    .for_each(|x| x.at = at(2))
            },
            &["climbs"],
        ),
        (
            "a cluster is ill in the end",
            |s| {
                s.chronicle.scene.releases.get_mut("gold-eu").unwrap().get_mut("cert-manager").unwrap().state =
                    State::Degraded
            },
            &["climbs"],
        ),
        (
            "silver is proposed too early",
            |s| s.chronicle.proposals.iter_mut().find(|p| p.rung.tier == "silver").unwrap().at = at(12),
            &["is proposed to no tier"],
        ),
        (
            "bronze is well only later",
            |s| {
                s.chronicle
                    .sightings
                    .iter_mut()
                    .filter(|x| x.cluster == "bronze-eu" && x.plugin == "cert-manager")
                    .for_each(|x| x.at = at(40))
            },
            &["is proposed to no tier"],
        ),
        (
            "the bad release lands on gold",
            |s| {
                let mut landing = s.chronicle.sightings.last().unwrap().clone();
                (landing.plugin, landing.seen.wanted) = ("ingress-nginx".to_owned(), "4.11.3".to_owned());
                s.chronicle.sightings.push(landing);
            },
            &["never comes to gold"],
        ),
        ("nobody says why", |s| s.chronicle.blames.clear(), &["says why it is held"]),
        (
            "forced too early",
            |s| s.pull("kube-state-metrics", "5.25.1", "gold").opened_at = at(45),
            &["in which nobody approved"],
        ),
        (
            "forced by the wrong App",
            |s| s.pull("kube-state-metrics", "5.25.1", "gold").merged = Some((at(51), BOT.to_owned())),
            &["in which nobody approved"],
        ),
        (
            "forced though approved",
            |s| s.pull("kube-state-metrics", "5.25.1", "gold").approved_by.push("maria".to_owned()),
            &["in which nobody approved"],
        ),
        (
            "forced without evidence",
            |s| s.pull("kube-state-metrics", "5.25.1", "gold").body.clear(),
            &["carries the evidence"],
        ),
        ("nobody acknowledged what breaks", |s| s.chronicle.acknowledged = None, &["lands nowhere before"]),
        ("it landed before", |s| s.chronicle.acknowledged = Some(at(9)), &["lands nowhere before"]),
        ("the value came later", |s| s.chronicle.mended = Some(at(30)), &["silver alone waits"]),
        (
            "what is passed over is not told",
            |s| s.pull("podinfo", "6.8.0", "qa").body = s.pull("podinfo", "6.8.0", "qa").body.replace("[6.7.1]", ""),
            &["shows what its author says"],
        ),
        (
            "merged without approval",
            |s| s.pull("cert-manager", "1.15.0", "bronze").approved_by.clear(),
            &["approved by a code owner"],
        ),
        (
            "a whole file is rewritten",
            |s| *s.history.main[3].files.values_mut().next().unwrap() = (20, 20),
            &["one line in each of its manifests"],
        ),
        (
            "two at a time",
            |s| s.pull("ingress-nginx", "4.11.3", "bronze").closed_at = Some(at(62)),
            &["No two pull requests"],
        ),
        (
            "proposed twice",
            |s| {
                let mut again = s.chronicle.proposals[0].clone();
                again.number = 99;
                s.chronicle.proposals.push(again);
            },
            &["by two pull requests"],
        ),
        (
            "too chatty",
            |s| s.pull("cert-manager", "1.15.0", "qa").comments = vec![(BOT.to_owned(), "a".to_owned()); 2],
            &["more than one comment"],
        ),
        (
            "a notice twice",
            |s| {
                let notice = "soon\n\n<!-- coldframe:notice 60 -->".to_owned();
                s.pull("cert-manager", "1.15.0", "qa").comments = vec![(BOT.to_owned(), notice); 2];
            },
            &["more than one comment"],
        ),
    ];
    for (what, spoil, words) in cases {
        let mut story = Story::good();
        spoil(&mut story);
        let broken: Vec<String> =
            story.check(false).into_iter().filter(|x| x.held.is_err()).map(|x| x.sentence).collect();
        assert_eq!(broken.len(), words.len(), "{what}: {broken:?}");
        for (sentence, word) in broken.iter().zip(words) {
            assert!(sentence.contains(word), "{what}: {sentence}");
        }
    }
    let mut story = Story::good();
    story.history.ledger[0].author = "maria".to_owned();
    assert!(story.check(true).last().unwrap().held.is_err());
}

#[test]
fn a_grace_period_is_measured_in_the_seconds_that_the_hub_shows() {
    let mut story = Story::good();
    let pull = story.pull("kube-state-metrics", "5.25.1", "gold");
    let (merged, by) = pull.merged.clone().unwrap();
    // Opened late in its second, merged early in the one in which the deadline fell.
    pull.opened_at = merged - SignedDuration::from_secs(GRACE) + SignedDuration::from_millis(900);
    pull.merged = Some((merged + SignedDuration::from_millis(100), by));
    assert!(story.check(false).iter().all(|expectation| expectation.held.is_ok()));
}

#[test]
fn a_policy_that_people_made_of_what_was_proposed_comes_first_and_alone() {
    let onboarded = |merged: i64| {
        let mut story = Story::good();
        let mut proposal = pull(90, "", "", "", 0);
        (proposal.rung, proposal.branch) = (None, ONBOARDING.to_owned());
        (proposal.merged, proposal.closed_at) = (Some((at(merged), "maria".to_owned())), Some(at(merged)));
        story.chronicle.scene.pulls.insert(90, proposal);
        let files = BTreeMap::from([(POLICY_FILE.to_owned(), (86, 0))]);
        let step = Step { sha: "90".to_owned(), author: "maria".to_owned(), subject: "Configure".to_owned(), files };
        story.history.main.insert(0, step);
        story
    };
    let failed = |story: &Story| {
        let all = story.check(false).into_iter();
        all.filter(|one| one.held.is_err()).map(|one| one.sentence).collect::<Vec<_>>()
    };
    assert_eq!(failed(&onboarded(1)), Vec::<String>::new());
    assert_eq!(failed(&onboarded(5)), ["The bot proposes a policy, and nothing else before that is merged"]);
    let mut late = onboarded(1);
    late.history.main.swap(0, 1);
    assert_eq!(failed(&late), ["Each step of main moves one plugin on one tier, one line in each of its manifests"]);
}
