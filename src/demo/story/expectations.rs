//! What must have happened, one named sentence each, checked from the world's own truth: the
//! clusters' controllers, the hub and git. What the bot says of itself proves nothing here.

mod breaking;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::chronicle::{Chronicle, Proposal};
use super::fleet::{Fate, GRACE, LACKING, PLUGINS, POLICY_FILE, Plugin, TIERS, TROUBLED};
use super::history::{History, Step};
use super::people::ONBOARDING;
use super::scene::{PullSeen, Rung};
use crate::clusters::State;

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
    if let Some(held) = facts.onboarding() {
        expect("The bot proposes a policy, and nothing else before that is merged".to_owned(), held);
    }
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
    if let Some(plugin) = PLUGINS.iter().find(|plugin| matches!(plugin.fate, Fate::Breaking { .. }))
        && !hands_on
    {
        let release = format!("{} {}", plugin.name, plugin.climbs);
        expect(
            format!(
                "The pull request of {release} on qa shows what its author says of the release that is passed over"
            ),
            facts.changelog(plugin),
        );
        expect(
            format!("{release}, which breaks, lands nowhere before a code owner acknowledges it"),
            facts.read(plugin),
        );
        expect(
            format!("{LACKING} alone waits for the value that {release} requires, until somebody sets it there"),
            facts.given(plugin),
        );
    }
    if !hands_on {
        let sentence = format!("Every other merge above qa is made by {} and approved by a code owner", facts.bot);
        expect(sentence, facts.approved());
    }
    expect(
        "Each step of main moves one plugin on one tier, one line in each of its manifests".to_owned(),
        facts.one_line_diffs(),
    );
    expect("No two pull requests are open for one plugin and tier".to_owned(), facts.one_at_a_time());
    expect("No release is proposed to a tier by two pull requests".to_owned(), facts.proposed_once());
    expect("Beside notices, no pull request has more than one comment of the bot".to_owned(), facts.one_comment());
    expect("The ledger is a branch that only the bot writes".to_owned(), facts.ledger());
    all
}

/// How a notice is marked.
const NOTICE: &str = "<!-- coldframe:notice ";

impl Facts<'_> {
    fn pulls(&self) -> impl Iterator<Item = &PullSeen> {
        self.chronicle.scene.pulls.values()
    }

    /// None where the policy was there from the start.
    fn onboarding(&self) -> Option<Verdict> {
        let pull = self.pulls().find(|pull| pull.branch == ONBOARDING)?;
        let Some((merged, _)) = &pull.merged else { return Some(Err(format!("#{} is not merged", pull.number))) };
        let early = self.pulls().find(|other| other.rung.is_some() && other.opened_at < *merged);
        Some(match early {
            Some(early) => Err(format!("#{} was open before #{} was merged", early.number, pull.number)),
            None => Ok(format!("#{}", pull.number)),
        })
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
        // In whole seconds, as the hub shows both times to everybody.
        let waited = at.as_second() - pull.opened_at.as_second();
        if waited < GRACE {
            return Err(format!("#{} was merged {waited} s after it was opened", pull.number));
        }
        Ok(format!("#{}, {waited} s after it was opened", pull.number))
    }

    fn evidence(&self, plugin: &Plugin) -> Verdict {
        let pull = self.pull_of(plugin.name, plugin.climbs, "gold")?;
        let text = pull.body.to_lowercase();
        let words =
            [("force", "that it was forced"), ("notice", "which notices were sent"), ("waived", "what was waived")];
        let missing: Vec<&str> = words.iter().filter(|(word, _)| !text.contains(word)).map(|(_, what)| *what).collect();
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
        if count == 0 { Err("nothing was merged above qa".to_owned()) } else { Ok(counted(count, "merge")) }
    }

    fn one_line_diffs(&self) -> Verdict {
        // Where people make their policy of what is proposed, that comes first, and alone.
        let adopted = |step: &&Step| step.files.keys().all(|path| path == POLICY_FILE);
        let adopted = self.history.main.first().filter(adopted).is_some();
        // People give a tier what it lacked: a line more in each of its manifests of that plugin.
        let given = |step: &&Step| !step.files.is_empty() && step.files.values().all(|lines| *lines == (1, 0));
        let given = usize::from(self.history.main.iter().any(|step| given(&step)));
        let steps = self.history.main.iter().skip(usize::from(adopted));
        for step in steps.filter(|step| given == 0 || !step.files.values().all(|lines| *lines == (1, 0))) {
            let short = step.sha.get(..7).unwrap_or_default();
            let mut rungs = BTreeSet::new();
            for (path, lines) in &step.files {
                if *lines != (1, 1) {
                    return Err(format!("{short} adds {} and removes {} lines of {path}", lines.0, lines.1));
                }
                let Some(rung) = rung_of(path) else {
                    return Err(format!("{short} changes {path}, which is no manifest"));
                };
                rungs.insert(rung);
            }
            let Some((tier, plugin)) = rungs.first() else { return Err(format!("{short} changes nothing")) };
            let plugin = PLUGINS.iter().find(|known| known.name == *plugin);
            let whole = plugin.map_or(0, |plugin| plugin.manifests(tier).len());
            if rungs.len() != 1 || step.files.len() != whole {
                return Err(format!("{short} changes {} files of {} plugins and tiers", step.files.len(), rungs.len()));
            }
        }
        let count = self.history.main.len() - usize::from(adopted) - given;
        if count == 0 { Err("main never moved".to_owned()) } else { Ok(counted(count, "step")) }
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
        Ok(counted(self.pulls().filter(|pull| pull.rung.is_some()).count(), "pull request"))
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
        Ok(counted(known.len(), "proposal"))
    }

    /// Beside the notices, each of which is a comment of its own and given once.
    fn one_comment(&self) -> Verdict {
        let (mut most, mut notices) = (0, 0);
        for pull in self.pulls() {
            let of_bots = pull.comments.iter().filter(|(author, _)| author == self.bot || author == self.bypass);
            let mark = |text: &str| Some(text.split_once(NOTICE)?.1.to_owned());
            let mut marks: Vec<Option<String>> = of_bots.map(|(_, text)| mark(text)).collect();
            let count = marks.iter().filter(|mark| mark.is_none()).count();
            if count > 1 {
                return Err(format!("#{} has {count}", pull.number));
            }
            marks.retain(Option::is_some);
            marks.sort();
            if marks.windows(2).any(|two| two.first() == two.last()) {
                return Err(format!("#{} has a notice twice", pull.number));
            }
            (most, notices) = (most.max(count), notices + marks.len());
        }
        let most = if most == 0 { "there is none at all" } else { "one at most" };
        Ok(format!("{most}, and {notices} notices"))
    }

    fn ledger(&self) -> Verdict {
        if let Some(step) = self.history.ledger.iter().find(|step| step.author != self.bot) {
            return Err(format!("{} wrote `{}`", step.author, step.subject));
        }
        let count = self.history.ledger.len();
        if count == 0 { Err("there is no branch coldframe-ledger".to_owned()) } else { Ok(counted(count, "commit")) }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("one {what}") } else { format!("{count} {what}s") }
}

/// The tier and the plugin whose version a manifest names.
fn rung_of(path: &str) -> Option<(&'static str, &'static str)> {
    let names = |plugin: &Plugin, tier: &str| plugin.manifests(tier).iter().any(|known| known == path);
    let all = TIERS.iter().flat_map(|(tier, _)| PLUGINS.iter().map(move |plugin| (*tier, plugin)));
    all.filter(|(tier, plugin)| names(plugin, tier)).map(|(tier, plugin)| (tier, plugin.name)).next()
}

/// The tier below; none below the first.
fn below(tier: &str) -> Option<&'static str> {
    let place = TIERS.iter().position(|(name, _)| *name == tier)?;
    Some(TIERS[place.checked_sub(1)?].0)
}

fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}
