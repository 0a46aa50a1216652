//! Tells the story in a world: looks, lets people act, ends when all is done. What came of it is
//! judged in `expectations`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::chronicle::Tone;
use super::expectations::{Expectation, Facts, check};
use super::fleet::{Fate, LACKING, PLUGINS, POLICY_FILE, Plugin, REQUIRED, TROUBLED};
use super::history::History;
use super::people::{self, CodeOwner, Newcomers, Readers};
use super::scene::Scene;
use super::stage::Stage;
use super::{Outcome, Summary};
use crate::clock::now;
use crate::loopback::locked;
use crate::world::{APP, BYPASS, VISITOR, World};

/// Between two looks at the world.
const LOOK: Duration = Duration::from_millis(200);
/// Between two looks of the code owner at the open pull requests.
const OWNER_LOOK: SignedDuration = SignedDuration::from_millis(500);
/// Looks after the last rollout, so that the last words can be written.
const EPILOGUE: u32 = 20;
/// So much longer the story may take on a slow machine.
const SLOW: SignedDuration = SignedDuration::from_mins(15);
/// Looks in a row that may fail.
const BLIND: u32 = 20;

impl World {
    /// Tells the story to its end. With `hands_on` nobody is scripted but the authors of charts, and
    /// it takes as long as people take.
    pub async fn run_story(&self, hands_on: bool) -> Outcome {
        let began = now();
        let trouble = self.direct(began, hands_on).await.err();
        let took = now().duration_since(began);
        let chronicle = self.chronicle();
        let mut expectations = match self.history().await {
            Ok(history) => {
                let (bot, bypass) = (format!("{APP}[bot]"), format!("{BYPASS}[bot]"));
                check(&Facts { chronicle: &chronicle, history: &history, bot: &bot, bypass: &bypass }, hands_on)
            }
            Err(error) => vec![broken("The history of the config repo can be read", &error)],
        };
        expectations.extend(trouble.map(|error| broken("The world goes on to the end of the story", &error)));
        Outcome { expectations, summary: Summary::of(&chronicle, took) }
    }

    async fn direct(&self, began: Timestamp, hands_on: bool) -> anyhow::Result<()> {
        for plugin in PLUGINS.iter().filter(|plugin| matches!(plugin.fate, Fate::Broken { .. })) {
            self.clusters.break_version(TROUBLED, plugin.name, plugin.climbs)?;
        }
        let (mut stage, mut owner, mut owner_looked) = (Stage::default(), CodeOwner::default(), began);
        let (mut quiet, mut blind, mut slow) = (0, 0, false);
        let (mut newcomers, mut readers) = (Newcomers::default(), Readers::default());
        while quiet <= EPILOGUE {
            // In this order, so that the scene is never older than the news.
            let news = self.clusters.sightings(locked(&self.chronicle).sightings.len());
            match stage.look(&self.github, &self.settings.repository, self.clusters.look()).await {
                Ok((looked, scene)) => {
                    (stage, blind) = (looked, 0);
                    locked(&self.chronicle).note(scene.clone(), news);
                    if scene.at.duration_since(owner_looked) >= OWNER_LOOK {
                        owner_looked = scene.at;
                        self.read(&mut readers, &scene, hands_on);
                        if !hands_on {
                            self.approve(&owner.look(&scene));
                        }
                    }
                    if let Some(policy) = &self.policy
                        && newcomers.look(&scene)
                    {
                        self.adopt(policy, &scene);
                    }
                    self.publish_fix()?;
                    quiet = if is_over(&scene) { quiet + 1 } else { 0 };
                }
                Err(error) if blind < BLIND => {
                    tracing::warn!(%error, "the sandbox's story cannot look at its own hub; it looks again");
                    (stage, blind) = (Stage::default(), blind + 1);
                }
                Err(error) => return Err(error.context("the hub cannot be looked at any more")),
            }
            let took = now().duration_since(began);
            if !hands_on && took > self.patience && !slow {
                slow = true;
                let text = format!(
                    "this machine is slow: the story takes longer than {} s; it goes on",
                    self.patience.as_secs()
                );
                locked(&self.chronicle).say(now(), Tone::Plain, text);
            }
            anyhow::ensure!(hands_on || took <= self.patience + SLOW, "it was not over after {} s", took.as_secs());
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// The policy that was proposed becomes the fleet's own: somebody pushes to its branch, the code owner approves and
    /// merges.
    fn adopt(&self, policy: &str, scene: &Scene) {
        let Some(pull) = people::proposed(scene) else { return };
        let (repository, number, message) = (&self.settings.repository, pull.number, "Soak for seconds");
        let pushed = self.github.push_file(repository, &pull.branch, VISITOR, POLICY_FILE, policy, message);
        let approved = pushed.and_then(|_| self.github.approve(repository, number, people::OWNER));
        match approved.and_then(|()| self.github.merge_as(repository, number, people::OWNER)) {
            Ok(()) => {
                let owner = people::OWNER;
                let text = format!("{VISITOR} made the fleet's policy of #{number}; {owner} approved and merged it");
                locked(&self.chronicle).say(now(), Tone::Plain, text);
            }
            // The bot may have written the branch anew meanwhile; then they try once more.
            Err(error) => tracing::info!(number, %error, "the people of the sandbox came too late"),
        }
    }

    /// The code owner acknowledges what breaks, if she is scripted; a colleague gives a tier the value that it lacks.
    fn read(&self, readers: &mut Readers, scene: &Scene, hands_on: bool) {
        let (acknowledged, mended) = {
            let chronicle = locked(&self.chronicle);
            (chronicle.acknowledged.is_some(), chronicle.mended.is_some())
        };
        let (asked, lacking) = readers.look(scene, acknowledged || hands_on);
        let Some(plugin) = people::breaking() else { return };
        if let Some(number) = asked {
            let words = format!("/coldframe acknowledge {}", plugin.climbs);
            match self.github.comment(&self.settings.repository, number, people::OWNER, &words) {
                Ok(_) => {
                    let text = format!("{} wrote `{words}` on #{number}", people::OWNER);
                    let mut chronicle = locked(&self.chronicle);
                    chronicle.acknowledged = Some(now());
                    chronicle.say(now(), Tone::Plain, text);
                }
                Err(error) => tracing::info!(number, %error, "the code owner of the sandbox came too late"),
            }
        }
        if let Some(number) = lacking.filter(|_| !mended) {
            match self.give(plugin) {
                Ok(of) => {
                    let text = format!("{VISITOR} gave {LACKING} what #{number} asks for, by #{of}");
                    let mut chronicle = locked(&self.chronicle);
                    chronicle.mended = Some(now());
                    chronicle.say(now(), Tone::Plain, text);
                }
                Err(error) => tracing::info!(number, %error, "the people of the sandbox try once more"),
            }
        }
    }

    /// The tier that lacks a value gets it by a pull request of its own, which is merged.
    fn give(&self, plugin: &Plugin) -> anyhow::Result<u64> {
        let (repository, branch, title) = (
            &self.settings.repository,
            format!("{}-host", plugin.name),
            format!("{} has a host on {LACKING}", plugin.name),
        );
        for path in plugin.manifests(LACKING) {
            let text = self.github.file(repository, "main", &path)?.unwrap_or_default();
            self.github.push_file(repository, &branch, VISITOR, &path, &format!("{text}{REQUIRED}"), &title)?;
        }
        let number = self.github.open_pull(repository, VISITOR, &branch, "main", &title, "")?;
        self.github.approve(repository, number, people::OWNER)?;
        self.github.merge_as(repository, number, people::OWNER)?;
        Ok(number)
    }

    fn approve(&self, numbers: &[u64]) {
        for number in numbers {
            // The pull request may have turned since the look; then there is nothing to approve.
            if let Err(error) = self.github.approve(&self.settings.repository, *number, people::OWNER) {
                tracing::info!(number, %error, "the code owner of the sandbox came too late");
            }
        }
    }

    fn publish_fix(&self) -> anyhow::Result<()> {
        let due = people::fix_due(&locked(&self.chronicle), now());
        let Some(fix) = due else { return Ok(()) };
        if self.charts.versions(fix.plugin).iter().all(|version| version != fix.version) {
            self.charts.publish(fix.plugin, fix.version, fix.notes)?;
            let text = format!("the author published {} {}", fix.plugin, fix.version);
            locked(&self.chronicle).say(now(), Tone::Plain, text);
        }
        Ok(())
    }

    async fn history(&self) -> anyhow::Result<History> {
        let folder = self.dir.join(format!("history-{}", now().as_millisecond()));
        let history = History::read(&self.source, &folder).await;
        // What is left over is scratch; the folder of the world goes as a whole.
        tokio::fs::remove_dir_all(&folder).await.ok();
        history
    }
}

/// Every pull request is done with, and every cluster runs what it should.
fn is_over(scene: &Scene) -> bool {
    scene.pulls.values().all(|pull| pull.rung.is_none() || !pull.is_open())
        && PLUGINS.iter().all(|plugin| scene.everywhere(plugin.name, plugin.ends_at()))
}

fn broken(sentence: &str, error: &anyhow::Error) -> Expectation {
    Expectation { sentence: sentence.to_owned(), held: Err(format!("{error:#}")) }
}
