//! Where a story happens: line by line, and between the lines whatever is due. What must be so is looked
//! at when its line comes; what was done is read from the world's diary.

mod happen;
mod post;

use std::collections::{BTreeMap, BTreeSet};

use decide::ledger::Change;
use decide::plan::{Plan, WaveReport, WaveState};
use decide::{ClusterName, Entry, PluginName, TierName};
use jiff::Timestamp;

use self::post::Post;
use super::script::{Counted, Deed, Expect, Line, StateWord, Story, Subject, Verb, What};
use super::teller::Teller;
use super::words::Place;
use crate::policy::{Problem, SourceFile, render};
use crate::rehearse::course::Restless;
use crate::rehearse::diary::{Noted, Spot};
use crate::rehearse::world::World;
use crate::tell::reasons::Occasion;

/// What came of a story.
#[derive(Clone, Debug)]
pub struct Told {
    /// The story as it went, day by day, for people; or what is wrong with how it is written.
    pub text: String,
    /// Whether it could be read and kept every expectation.
    pub kept: bool,
    /// Every occasion on which the planner gave a reason.
    pub occasions: BTreeSet<Occasion>,
}

/// Looks at a story beyond which something must be wrong with it.
const MOST_MOVES: usize = 200_000;

/// Lets a story happen. `files` are shown where something is wrong.
pub(super) fn play(story: Story, files: &[SourceFile]) -> Told {
    let path = files.first().map(|file| file.path.clone()).unwrap_or_default();
    let Some(begins) = story.lines.first().map(|line| line.at) else {
        return Told { text: String::new(), kept: false, occasions: BTreeSet::new() };
    };
    let mut stage = Stage::new(&story, begins);
    let expectations = story.lines.iter().filter(|line| matches!(line.what, What::Expect(_))).count();
    let expectations = expectations + story.never.len();
    for line in story.lines {
        if let Err(restless) = stage.line(line) {
            stage.restless(&restless);
            break;
        }
    }
    for (place, deed) in &story.never {
        if let Some(at) = stage.done.get(deed) {
            let when = stage.teller.time(*at);
            stage.problems.push(place.problem(format!("this must never happen, and it did at {when}"), ""));
        }
    }
    let occasions = stage.world.occasions.take().unwrap_or_default();
    let mut problems = stage.problems;
    for problem in &mut problems {
        problem.file.clone_from(&path);
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let mut text = stage.teller.close();
    if problems.is_empty() {
        let kept = match expectations {
            0 => "It expects nothing.".to_string(),
            1 => "Its expectation is kept.".to_string(),
            many => format!("All {many} expectations are kept."),
        };
        text.push_str(&format!("\n{kept}\n"));
        return Told { text, kept: true, occasions };
    }
    let count = problems.len();
    let tail = if count == 1 { "1 line does not hold.".to_string() } else { format!("{count} lines do not hold.") };
    text.push_str(&format!("\n{}\n{tail}\n", render(&problems, files)));
    Told { text, kept: false, occasions }
}

struct Stage {
    world: World,
    plan: Plan,
    teller: Teller,
    done: BTreeMap<Deed, Timestamp>,
    counts: BTreeMap<&'static str, usize>,
    problems: Vec<Problem>,
    last_place: Place,
    silent_since: Option<Timestamp>,
    post: Post,
    /// Notes of the diary that were told.
    told: usize,
    moves: usize,
}

impl Stage {
    fn new(story: &Story, begins: Timestamp) -> Self {
        let mut world = World::new(begins, &story.policy, story.clusters.clone(), story.rollout);
        world.hub.owners.clone_from(&story.people.owners);
        for tier in story.people.owners_of.keys() {
            world.hub.owners_of.insert(tier.clone(), story.people.owners_on(tier).clone());
        }
        world.hub.strangers.clone_from(&story.people.strangers);
        world.hub.admins.clone_from(&story.people.admins);
        world.occasions = Some(BTreeSet::new());
        for (plugin, version) in &story.running {
            if let Some(version) = version {
                world.begin_with(plugin, version);
            }
        }
        let several = story.policy.policy.plugins.len() > 1;
        Self {
            teller: Teller::new(&story.title, story.zone.clone(), several),
            world,
            plan: Plan::default(),
            done: BTreeMap::new(),
            counts: BTreeMap::new(),
            problems: Vec::new(),
            last_place: Place::default(),
            silent_since: None,
            post: Post::new(story.zone.clone()),
            told: 0,
            moves: 0,
        }
    }

    /// Everything that is due before a line, then the line.
    fn line(&mut self, line: Line) -> Result<(), Restless> {
        self.last_place = line.place;
        if self.moves == 0 {
            self.settle()?;
        }
        while let Some(next) = self.world.next(&self.plan).filter(|next| *next <= line.at) {
            self.moves += 1;
            if self.moves > MOST_MOVES {
                return Err(Restless(self.world.now));
            }
            self.world.go_to(next);
            self.settle()?;
        }
        self.world.go_to(line.at);
        match line.what {
            What::Expect(expect) => {
                if let Err(found) = self.holds(&expect) {
                    self.problems.push(line.place.problem("this is not so", found));
                }
            }
            What::End => {}
            What::Event(event) => {
                self.world.note(Noted::Said(line.text));
                if let Err((what, help)) = self.happen(event) {
                    self.problems.push(line.place.problem(what, help));
                }
                self.world.stir();
                self.settle()?;
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Restless> {
        self.plan = self.world.settle()?;
        self.moves = self.moves.max(1);
        for note in self.world.diary.iter().skip(self.told) {
            let mut deed = |verb: Verb, spot: &Spot, version: &decide::Version| {
                let (plugin, tier) = spot.clone();
                self.done.entry(Deed { tier, verb, plugin, version: version.clone() }).or_insert(note.at);
            };
            let mut count = |what: &'static str| *self.counts.entry(what).or_default() += 1;
            match &note.what {
                Noted::Opened { spot, version, moved, .. } => {
                    deed(Verb::Opened, spot, version);
                    if !moved {
                        count("pulls");
                    }
                }
                Noted::Merged { spot, version, forced, .. } => {
                    deed(Verb::Merged, spot, version);
                    count("merges");
                    if *forced {
                        deed(Verb::Forced, spot, version);
                        count("forced");
                    }
                }
                Noted::Entry(entry) => {
                    if let Entry::Wave { plugin, tier, version, change } = &**entry {
                        let spot = (plugin.clone(), tier.clone());
                        if matches!(change, Change::Finished(_)) {
                            deed(Verb::Finished, &spot, version);
                        } else if matches!(change, Change::Failed(_)) {
                            deed(Verb::Failed, &spot, version);
                        }
                    }
                }
                Noted::Notice { .. } => count("notices"),
                Noted::Closed { .. } | Noted::Said(_) => {}
            }
            self.teller.note(note, &self.world.snapshot.ledger);
        }
        self.told = self.world.diary.len();
        self.teller.standing(self.world.now, &self.plan, &self.world.snapshot.ledger);
        for line in self.post.letters(&self.world, &self.plan) {
            self.teller.line(self.world.now, &line);
        }
        Ok(())
    }

    fn restless(&mut self, restless: &Restless) {
        let when = self.teller.time(restless.0);
        let help = "the world of this story never comes to rest; is there a loop of events?";
        self.problems.push(self.last_place.problem(format!("the bot finds no rest at {when}"), help));
    }

    fn subject(&self, which: &Subject, plugin: Option<&PluginName>) -> Vec<ClusterName> {
        match which {
            Subject::Cluster(cluster) => vec![cluster.clone()],
            Subject::Tier(tier) => {
                let plugins = self.world.snapshot.policy.plugins.iter().map(|known| &known.name);
                let mut clusters: Vec<ClusterName> = plugins
                    .filter(|name| plugin.is_none_or(|plugin| plugin == *name))
                    .flat_map(|name| self.world.members(tier, name))
                    .collect();
                clusters.sort();
                clusters.dedup();
                clusters
            }
        }
    }

    /// Where a plugin stands, for a person whose line cannot happen.
    fn present(&self, plugin: &PluginName) -> String {
        let waves = self.plan.waves.iter().filter(|wave| wave.plugin == *plugin);
        let words: Vec<String> = waves.map(|wave| format!("{} is {}", wave.tier, word(&wave.state))).collect();
        format!("at {}: {}", self.teller.time(self.world.now), words.join(", "))
    }

    fn wave(&self, plugin: &PluginName, tier: &TierName) -> Option<&WaveReport> {
        self.plan.waves.iter().find(|wave| wave.plugin == *plugin && wave.tier == *tier)
    }

    /// Whether something is so now; what is found instead.
    fn holds(&self, expect: &Expect) -> Result<(), String> {
        match expect {
            Expect::Runs { which, plugin, version } => self.expect_runs(which, plugin, version),
            Expect::Done(deed) => match self.done.contains_key(deed) {
                true => Ok(()),
                false => Err(self.present(&deed.plugin)),
            },
            Expect::NotDone(deed) => match self.done.get(deed) {
                None => Ok(()),
                Some(at) => Err(format!("it was at {}", self.teller.time(*at))),
            },
            Expect::State { plugin, tier, word: wanted } => {
                let found = self.wave(plugin, tier).map(|wave| word_of(&wave.state));
                if found == Some(*wanted) { Ok(()) } else { Err(self.present(plugin)) }
            }
            Expect::Says { plugin, tier, words } => {
                let findings = self.wave(plugin, tier).into_iter().flat_map(|wave| &wave.findings);
                let said: Vec<String> = findings
                    .filter(|finding| !finding.verdict.lets_through())
                    .map(|finding| finding.because.to_string())
                    .collect();
                if said.iter().any(|text| text.contains(words.as_str())) {
                    Ok(())
                } else if said.is_empty() {
                    Err(format!("nothing holds it back; {}", self.present(plugin)))
                } else {
                    Err(format!("it says: {}", said.join("; ")))
                }
            }
            Expect::Count { what, count } => {
                let key = match what {
                    Counted::PullRequests => "pulls",
                    Counted::Merges => "merges",
                    Counted::ForcedMerges => "forced",
                    Counted::Notices => "notices",
                };
                let found = self.counts.get(key).copied().unwrap_or(0);
                if found == *count { Ok(()) } else { Err(format!("there were {found}")) }
            }
        }
    }

    fn expect_runs(&self, which: &Subject, plugin: &PluginName, version: &decide::Version) -> Result<(), String> {
        let found: Vec<String> = match which {
            Subject::Cluster(cluster) => {
                self.world.fleet.runs(cluster, plugin).map(ToString::to_string).into_iter().collect()
            }
            Subject::Tier(tier) => {
                let places = self.world.hub.base.get(&(plugin.clone(), tier.clone()));
                let mut versions: Vec<String> = places.into_iter().flatten().map(|(_, v)| v.to_string()).collect();
                versions.dedup();
                versions
            }
        };
        match found.as_slice() {
            [one] if *one == version.to_string() => Ok(()),
            [] => Err("it runs nothing yet".to_string()),
            several => Err(format!("it runs {}", several.join(" and "))),
        }
    }
}

fn word_of(state: &WaveState) -> StateWord {
    match state {
        WaveState::Idle { .. } => StateWord::Idle,
        WaveState::Waiting => StateWord::Waiting,
        WaveState::Open { .. } => StateWord::Open,
        WaveState::Converging { .. } => StateWord::RollingOut,
        WaveState::Soaking { paused: false, .. } => StateWord::Soaking,
        WaveState::Soaking { paused: true, .. } => StateWord::Paused,
        WaveState::Finished { .. } => StateWord::Finished,
        WaveState::Failed { .. } => StateWord::Failed,
        WaveState::Rejected { .. } => StateWord::Rejected,
        WaveState::Superseded { .. } => StateWord::Superseded,
        WaveState::Withdrawn { .. } => StateWord::Withdrawn,
    }
}

fn word(state: &WaveState) -> &'static str {
    let found = word_of(state);
    super::expect::STATES.iter().find(|(_, state)| *state == found).map_or("unknown", |(word, _)| word)
}
