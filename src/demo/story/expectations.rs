//! What must have happened, one named sentence each, checked from the world's own truth: the
//! clusters' controllers, the hub and git. What the bot says of itself proves nothing here.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::chronicle::{Chronicle, Proposal};
use super::fleet::{Fate, GRACE, PLUGINS, Plugin, TIERS, TROUBLED};
use super::history::History;
use super::scene::{PullSeen, Rung};
use crate::demo::clusters::State;

/// A sentence about the story, and whether it came true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What was expected.
    pub sentence: String,
    /// What proves it, or what went wrong.
    pub held: Result<String, String>,
}

/// Everything that the expectations are checked against.
pub struct Facts<'a> {
    /// What happened.
    pub chronicle: &'a Chronicle,
    /// What git has.
    pub history: &'a History,
    /// The login of the ordinary App.
    pub bot: &'a str,
    /// The login of the App that may pass the rule of reviews.
    pub bypass: &'a str,
}

type Verdict = Result<String, String>;

/// All expectations in the order of the story. With people at work (`hands_on`) only those that
/// hold whatever they do.
pub fn check(facts: &Facts<'_>, hands_on: bool) -> Vec<Expectation> {
    let mut all = Vec::new();
    let mut expect = |sentence: String, held: Verdict| all.push(Expectation { sentence, held });
    for plugin in PLUGINS {
        let end = plugin.ends_at();
        if !hands_on {
            expect(
                format!("{} {end} climbs qa, bronze, silver and gold in this order", plugin.name),
                facts.climbs(&plugin),
            );
        }
        expect(
            format!("{} is proposed to no tier before the whole tier below runs it well", plugin.name),
            facts.waits_below(&plugin),
        );
    }
    for plugin in PLUGINS {
        if let Fate::Broken { .. } = plugin.fate {
            let bad = format!("{} {}", plugin.name, plugin.climbs);
            expect(format!("{bad}, which fails on {TROUBLED}, never comes to gold"), facts.never_on_gold(&plugin));
            if !hands_on {
                expect(format!("The pull request of {bad} on silver says why it is held"), facts.says_why(&plugin));
            }
        }
        if plugin.fate == Fate::Forced && !hands_on {
            let release = format!("{} {}", plugin.name, plugin.climbs);
            expect(
                format!("{release} is merged on gold by {}, after {GRACE} s in which nobody approved", facts.bypass),
                facts.forced(&plugin),
            );
            expect(
                format!("The pull request of {release} on gold carries the evidence of the forced merge"),
                facts.evidence(&plugin),
            );
        }
    }
    if !hands_on {
        let sentence = format!("Every other merge above qa is made by {} and approved by a code owner", facts.bot);
        expect(sentence, facts.approved());
    }
    expect("Each step of main moves one plugin on one tier, one line per cluster".to_owned(), facts.one_line_diffs());
    expect("No two pull requests are open for one plugin and tier".to_owned(), facts.one_at_a_time());
    expect("No release is proposed to a tier by two pull requests".to_owned(), facts.proposed_once());
    expect("No pull request has more than one comment of the bot".to_owned(), facts.one_comment());
    expect("The ledger is a branch that only the bot writes".to_owned(), facts.ledger());
    all
}

impl Facts<'_> {
    fn pulls(&self) -> impl Iterator<Item = &PullSeen> {
        self.chronicle.scene.pulls.values()
    }

    fn pull_of(&self, plugin: &str, version: &str, tier: &str) -> Result<&PullSeen, String> {
        let proposed = |proposal: &&Proposal| {
            proposal.rung.plugin == plugin && proposal.rung.tier == tier && proposal.version == version
        };
        let number = self.chronicle.proposals.iter().find(proposed).map(|proposal| proposal.number);
        let pull = number.and_then(|number| self.chronicle.scene.pulls.get(&number));
        pull.ok_or_else(|| format!("no pull request proposed {plugin} {version} to {tier}"))
    }

    /// When a tier's first cluster was told to run this version.
    fn landed(&self, plugin: &str, version: &str, tier: &str) -> Option<Timestamp> {
        let mut told = self.chronicle.sightings.iter();
        let found =
            told.find(|sighting| sighting.tier == tier && sighting.plugin == plugin && sighting.seen.wanted == version);
        found.map(|sighting| sighting.at)
    }

    /// When the last cluster of a tier came to run this version well, or which did not.
    fn well(&self, plugin: &str, version: &str, tier: &str) -> Result<Timestamp, String> {
        let clusters = TIERS.iter().find(|(name, _)| *name == tier).map_or(&[][..], |(_, clusters)| *clusters);
        let mut last = Timestamp::MIN;
        for cluster in clusters {
            let mut told = self.chronicle.sightings.iter();
            let found = told.find(|sighting| {
                sighting.cluster == *cluster
                    && sighting.plugin == plugin
                    && sighting.seen.running.as_deref() == Some(version)
                    && sighting.seen.state == State::Healthy
            });
            last = last.max(found.ok_or_else(|| format!("{cluster} never ran {plugin} {version} well"))?.at);
        }
        Ok(last)
    }

    fn climbs(&self, plugin: &Plugin) -> Verdict {
        let version = plugin.ends_at();
        let mut before = Timestamp::MIN;
        let mut times = Vec::new();
        for (tier, _) in TIERS {
            let landed = self.landed(plugin.name, version, tier);
            let landed = landed.ok_or_else(|| format!("{version} never landed on {tier}"))?;
            if landed <= before {
                return Err(format!("{version} landed on {tier} before the tier below"));
            }
            self.well(plugin.name, version, tier)?;
            before = landed;
            times.push(format!("{tier} {}", clock(landed)));
        }
        if !self.chronicle.scene.everywhere(plugin.name, version) {
            return Err(format!("not every cluster runs {version} well in the end"));
        }
        Ok(times.join(", "))
    }

    fn waits_below(&self, plugin: &Plugin) -> Verdict {
        let mut seen = Vec::new();
        for proposal in self.chronicle.proposals.iter().filter(|proposal| proposal.rung.plugin == plugin.name) {
            let Some(below) = below(&proposal.rung.tier) else { continue };
            let Proposal { number, rung, version, at } = proposal;
            let well =
                self.well(plugin.name, version, below).map_err(|why| format!("#{number} → {}: {why}", rung.tier))?;
            if *at < well {
                return Err(format!(
                    "#{number} proposed {version} to {} at {}, but {below} was well only at {}",
                    rung.tier,
                    clock(*at),
                    clock(well)
                ));
            }
            seen.push(format!("#{number}"));
        }
        if seen.is_empty() { Err("no pull request above qa was ever opened".to_owned()) } else { Ok(seen.join(", ")) }
    }

    fn never_on_gold(&self, plugin: &Plugin) -> Verdict {
        let (top, _) = TIERS[TIERS.len() - 1];
        if let Ok(pull) = self.pull_of(plugin.name, plugin.climbs, top) {
            return Err(format!("#{} proposed it to {top}", pull.number));
        }
        match self.landed(plugin.name, plugin.climbs, top) {
            Some(at) => Err(format!("it landed on {top} at {}", clock(at))),
            None => Ok(format!("{top} went from {} to {}", plugin.before, plugin.ends_at())),
        }
    }

    fn says_why(&self, plugin: &Plugin) -> Verdict {
        let number = self.pull_of(plugin.name, plugin.climbs, "silver")?.number;
        let sentence = self.chronicle.blames.get(&number);
        let sentence = sentence.ok_or_else(|| format!("#{number} never spoke of {TROUBLED} as failed"))?;
        Ok(format!("#{number}: {sentence}"))
    }

    fn forced(&self, plugin: &Plugin) -> Verdict {
        let pull = self.pull_of(plugin.name, plugin.climbs, "gold")?;
        let (at, by) = pull.merged.as_ref().ok_or_else(|| format!("#{} was not merged", pull.number))?;
        if by != self.bypass {
            return Err(format!("#{} was merged by {by}", pull.number));
        }
        if let Some(person) = pull.approved_by.first() {
            return Err(format!("{person} had approved #{}", pull.number));
        }
        let waited = at.duration_since(pull.opened_at);
        if waited < SignedDuration::from_secs(GRACE) {
            return Err(format!("#{} was merged {} s after it was opened", pull.number, waited.as_secs()));
        }
        Ok(format!("#{}, {} s after it was opened", pull.number, waited.as_secs()))
    }

    fn evidence(&self, plugin: &Plugin) -> Verdict {
        let pull = self.pull_of(plugin.name, plugin.climbs, "gold")?;
        let text = pull.body.to_lowercase();
        let missing: Vec<&str> =
            [("force", "that it was forced"), ("notice", "which notices were sent"), ("approv", "what was waived")]
                .into_iter()
                .filter(|(word, _)| !text.contains(word))
                .map(|(_, what)| what)
                .collect();
        if missing.is_empty() {
            Ok(format!("#{} names force, notices and the waived approval", pull.number))
        } else {
            Err(format!("the text of #{} does not say {}", pull.number, missing.join(", nor ")))
        }
    }

    fn approved(&self) -> Verdict {
        let mut count = 0;
        for pull in self.pulls() {
            let (Some(rung), Some((_, by))) = (&pull.rung, &pull.merged) else { continue };
            let forced = PLUGINS.iter().any(|plugin| plugin.fate == Fate::Forced && plugin.name == rung.plugin);
            if below(&rung.tier).is_none() || (forced && rung.tier == "gold") {
                continue;
            }
            if by != self.bot {
                return Err(format!("#{} was merged by {by}", pull.number));
            }
            if pull.approved_by.is_empty() {
                return Err(format!("#{} was merged without an approval", pull.number));
            }
            count += 1;
        }
        if count == 0 { Err("nothing was merged above qa".to_owned()) } else { Ok(format!("{count} merges")) }
    }

    fn one_line_diffs(&self) -> Verdict {
        for step in &self.history.main {
            let short = step.sha.get(..7).unwrap_or_default();
            let mut rungs = BTreeSet::new();
            for (path, lines) in &step.files {
                if *lines != (1, 1) {
                    return Err(format!("{short} adds {} and removes {} lines of {path}", lines.0, lines.1));
                }
                let parts: Vec<&str> = path.split('/').collect();
                let ["clusters", tier, _, plugin] = parts.as_slice() else {
                    return Err(format!("{short} changes {path}, which is no manifest"));
                };
                rungs.insert((*tier, *plugin));
            }
            let Some((tier, _)) = rungs.first() else { return Err(format!("{short} changes nothing")) };
            let members = TIERS.iter().find(|(name, _)| name == tier).map_or(0, |(_, clusters)| clusters.len());
            if rungs.len() != 1 || step.files.len() != members {
                return Err(format!("{short} changes {} files of {} plugins and tiers", step.files.len(), rungs.len()));
            }
        }
        let count = self.history.main.len();
        if count == 0 { Err("main never moved".to_owned()) } else { Ok(format!("{count} steps")) }
    }

    fn one_at_a_time(&self) -> Verdict {
        let mut by_rung: BTreeMap<&Rung, Vec<&PullSeen>> = BTreeMap::new();
        for pull in self.pulls() {
            if let Some(rung) = &pull.rung {
                by_rung.entry(rung).or_default().push(pull);
            }
        }
        for (rung, mut pulls) in by_rung {
            pulls.sort_by_key(|pull| pull.opened_at);
            for pair in pulls.windows(2) {
                let [first, second] = pair else { continue };
                if first.closed_at.is_none_or(|closed| closed > second.opened_at) {
                    let Rung { plugin, tier } = rung;
                    return Err(format!("#{} and #{} for {plugin} on {tier}", first.number, second.number));
                }
            }
        }
        Ok(format!("{} pull requests", self.pulls().filter(|pull| pull.rung.is_some()).count()))
    }

    fn proposed_once(&self) -> Verdict {
        let mut known: BTreeMap<(&Rung, &str), u64> = BTreeMap::new();
        for Proposal { number, rung, version, .. } in &self.chronicle.proposals {
            if let Some(first) = known.insert((rung, version), *number)
                && first != *number
            {
                return Err(format!("#{first} and #{number} for {} {version} on {}", rung.plugin, rung.tier));
            }
        }
        Ok(format!("{} releases proposed", known.len()))
    }

    fn one_comment(&self) -> Verdict {
        let mut most = 0;
        for pull in self.pulls() {
            let of_bots = |(author, _): &&(String, String)| author == self.bot || author == self.bypass;
            let count = pull.comments.iter().filter(of_bots).count();
            if count > 1 {
                return Err(format!("#{} has {count}", pull.number));
            }
            most = most.max(count);
        }
        Ok(if most == 0 { "there is none at all".to_owned() } else { "one at most".to_owned() })
    }

    fn ledger(&self) -> Verdict {
        if let Some(step) = self.history.ledger.iter().find(|step| step.author != self.bot) {
            return Err(format!("{} wrote `{}`", step.author, step.subject));
        }
        let count = self.history.ledger.len();
        if count == 0 { Err("there is no branch coldframe-ledger".to_owned()) } else { Ok(format!("{count} entries")) }
    }
}

/// The tier below; none below the first.
fn below(tier: &str) -> Option<&'static str> {
    let place = TIERS.iter().position(|(name, _)| *name == tier)?;
    Some(TIERS[place.checked_sub(1)?].0)
}

fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::super::history::Step;
    use super::super::scene::tests::pull;
    use super::*;
    use crate::demo::clusters::{Seen, Sighting};

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
                    Fate::Clean | Fate::Forced => &[(plugin.climbs, 0, 4)],
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
            let mut files = BTreeMap::new();
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
                files.insert(super::super::fleet::manifest_path(tier, cluster, plugin.name), (1, 1));
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
            assert_eq!(all.len(), if hands_on { 9 } else { 16 });
        }
    }

    #[test]
    fn one_thing_gone_wrong_breaks_the_expectations_about_it() {
        type Spoil = fn(&mut Story);
        // (what goes wrong, how, words of the sentences that must not hold)
        let cases: [(&str, Spoil, &[&str]); 16] = [
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
            (
                "merged without approval",
                |s| s.pull("cert-manager", "1.15.0", "bronze").approved_by.clear(),
                &["approved by a code owner"],
            ),
            (
                "a whole file is rewritten",
                |s| *s.history.main[3].files.values_mut().next().unwrap() = (20, 20),
                &["one line per cluster"],
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
}
