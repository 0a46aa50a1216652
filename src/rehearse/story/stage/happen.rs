//! What a line of a story says happens, done to the world; or why it cannot happen then, and what would
//! help.

use decide::ledger::Outage;
use decide::model::Freeze;
use decide::snapshot::{
    Breaking, BreakingFact, Cluster, CommandKind, LedgerState, Read, Release, RequiredCheck, ReviewVerdict,
};
use decide::{ClusterName, Digest, Entry, Person, PluginName, TierName, Version};

use super::Stage;
use crate::rehearse::fleet::{self, Condition, Fate};
use crate::rehearse::story::script::{ClusterEvent, Event, LedgerEvent, Marks, PullAct, Subject};
use crate::rehearse::{hub, trouble, workflows};

/// What is wrong with a line, and what would help.
type Impossible = (String, String);

impl Stage {
    /// What a line says happens; or why it cannot, and what would help.
    pub(super) fn happen(&mut self, event: Event) -> Result<(), Impossible> {
        match event {
            Event::Release { plugin, version, marks } => self.release(&plugin, version, marks),
            Event::Yank { plugin, version } => {
                if !trouble::yank(&mut self.world, &plugin, &version) {
                    return Err(never_released(&plugin, &version));
                }
            }
            Event::Republish { plugin, version } => {
                if !self.world.republish(&plugin, &version) {
                    return Err(never_released(&plugin, &version));
                }
            }
            Event::AtPull { who, plugin, tier, act } => return self.at_pull(&who, &plugin, &tier, act),
            Event::Acknowledge { who, plugin, version } => {
                let Some(number) = self.world.hub.open_with(&plugin, &version) else {
                    let help = self.present(&plugin);
                    return Err((format!("no open pull request holds {plugin} {version} now"), help));
                };
                hub::command(&mut self.world, number, &who, CommandKind::Acknowledge { version });
            }
            Event::ApproveAll { who, after } => hub::approve_all(&mut self.world, &who, after),
            Event::AcknowledgeAll { who } => hub::acknowledge_all(&mut self.world, &who),
            Event::Commit { plugin, version, tier } => {
                let members = self.world.members(&tier, &plugin);
                hub::put(&mut self.world, &(plugin, tier), &members, &version);
            }
            Event::Freeze { who, tiers, plugins, why } => {
                let freeze = Freeze { why, by: Some(who), tiers, plugins, select: None, until: None };
                self.world.snapshot.policy.freezes.push(freeze);
                self.world.snapshot.policy_commit = self.world.commit();
            }
            Event::Thaw => {
                self.world.snapshot.policy.freezes.clear();
                self.world.snapshot.policy_commit = self.world.commit();
            }
            Event::Clusters { which, what } => return self.clusters(&which, &what),
            Event::Join { cluster, labels } => self.join(cluster, labels),
            Event::Leave { cluster } => self.world.fleet.leave(&cluster),
            Event::Hub { answers } => {
                self.world.hub.silent = !answers;
                if !answers {
                    self.silent_since = Some(self.world.now);
                } else if let Some(from) = self.silent_since.take() {
                    self.world.snapshot.ledger.apply(&Entry::Outage(Outage { from, to: self.world.now }));
                }
            }
            Event::CommitRange { plugin, range, tier } => trouble::range(&mut self.world, &plugin, &tier, &range),
            Event::ReviewsAsked => self.world.hub.asks_reviews = true,
            Event::NobodyBypasses => self.world.snapshot.hub.bypass = false,
            Event::Check { name, state, plugin, tier } => {
                let Some(number) = self.world.hub.open_pull(&plugin, &tier) else {
                    return Err(self.nothing_open(&plugin, &tier));
                };
                hub::check(&mut self.world, number, name, state);
            }
            Event::ReleaseCheck { name, state, plugin, version } => {
                let Some(release) = self.world.release_mut(&plugin, &version) else {
                    return Err(never_released(&plugin, &version));
                };
                if let Read::Known(checks) = &mut release.checks {
                    checks.retain(|check| check.name != name);
                    checks.push(RequiredCheck { name, state });
                }
                self.world.stir();
            }
            Event::Workflow { file, ending } => workflows::turn(&mut self.world, &file, ending),
            Event::Ledger(LedgerEvent::Lost) => trouble::lose(&mut self.world),
            Event::Ledger(LedgerEvent::Open) => trouble::guard(&mut self.world, false),
            Event::Ledger(LedgerEvent::Sealed) => trouble::guard(&mut self.world, true),
            Event::Clock { ahead } => self.world.snapshot.hub.skew = ahead,
            Event::Policy(policy) => self.world.follow(&policy),
            Event::PolicyBroken { why } => self.world.snapshot.policy_problem = Some(why),
        }
        Ok(())
    }

    fn at_pull(&mut self, who: &Person, plugin: &PluginName, tier: &TierName, act: PullAct) -> Result<(), Impossible> {
        // These may be said when it is merged, too: about what has landed, and between two slices.
        let after_merge = matches!(act, PullAct::Fail { .. } | PullAct::Resume | PullAct::Comment { .. });
        let open = self.world.hub.open_pull(plugin, tier);
        let last = || self.world.hub.last_pull(plugin, tier).filter(|_| after_merge);
        let Some(number) = open.or_else(last) else { return Err(self.nothing_open(plugin, tier)) };
        let world = &mut self.world;
        match act {
            PullAct::Approve => hub::review(world, number, who, ReviewVerdict::Approved),
            PullAct::RequestChanges => hub::review(world, number, who, ReviewVerdict::ChangesRequested),
            PullAct::Close => hub::close(world, number, who),
            PullAct::Push => hub::push(world, number),
            PullAct::Hold { why } => hub::command(world, number, who, CommandKind::Hold { why }),
            PullAct::Comment { what } => hub::command(world, number, who, what),
            PullAct::Resume => hub::command(world, number, who, CommandKind::Resume),
            PullAct::Fail { why } => hub::command(world, number, who, CommandKind::Fail { why }),
            PullAct::Draft { draft } => hub::draft(world, number, draft),
            PullAct::Rebuild => {
                let LedgerState::Lost { cited, .. } = &world.ledger else {
                    return Err((
                        "nothing of the ledger is lost".to_string(),
                        "first `ledger loses its end`".to_string(),
                    ));
                };
                let cited = cited.last().map(ToString::to_string).unwrap_or_default();
                hub::command(world, number, who, CommandKind::Rebuild { cited });
            }
            PullAct::Merge => {
                if !hub::merge(world, number, who, false) {
                    return Err((
                        format!("the pull request for {plugin} on {tier} cannot be merged now"),
                        String::new(),
                    ));
                }
            }
        }
        Ok(())
    }

    fn clusters(&mut self, which: &Subject, what: &ClusterEvent) -> Result<(), Impossible> {
        let about = match what {
            ClusterEvent::Turn { plugin, .. }
            | ClusterEvent::Fate { plugin, .. }
            | ClusterEvent::Value { plugin, .. }
            | ClusterEvent::OtherContent { plugin } => Some(plugin.clone()),
            ClusterEvent::Mend { plugin } => plugin.clone(),
            ClusterEvent::Vanish | ClusterEvent::Return | ClusterEvent::Pace { .. } => None,
        };
        for cluster in self.subject(which, about.as_ref()) {
            let world = &mut self.world;
            match what {
                ClusterEvent::Turn { plugin, to, why } => {
                    if !fleet::turn(world, &cluster, plugin, *to, why) {
                        return Err((format!("{plugin} does not run on {cluster} yet"), String::new()));
                    }
                }
                ClusterEvent::Mend { plugin } => {
                    let plugins = plugin.clone().map_or_else(|| world.fleet.plugins_in(&cluster), |one| vec![one]);
                    for plugin in plugins {
                        fleet::turn(world, &cluster, &plugin, Condition::Healthy, "");
                    }
                }
                ClusterEvent::Fate { plugin, version, ends, why } => {
                    let fate = Fate { version: version.clone(), ends: *ends, why: why.clone() };
                    world.fleet.set_fate(&cluster, plugin, fate);
                }
                ClusterEvent::Value { plugin, version, option, lacks } => {
                    if !trouble::value(world, &cluster, plugin, (version, option), *lacks) {
                        return Err(never_released(plugin, version));
                    }
                }
                ClusterEvent::OtherContent { plugin } => world.fleet.pull_other_content(&cluster, plugin),
                ClusterEvent::Vanish => world.fleet.vanish(&cluster, true),
                ClusterEvent::Return => world.fleet.vanish(&cluster, false),
                ClusterEvent::Pace { takes } => world.fleet.set_pace(&cluster, *takes),
            }
        }
        Ok(())
    }

    /// A new cluster comes with what its tier runs now where one file serves the whole tier.
    fn join(&mut self, cluster: ClusterName, labels: decide::selector::Labels) {
        self.world.fleet.clusters.push(Cluster { name: cluster, labels });
        self.world.fleet.clusters.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// A release appears, with what it says of itself.
    fn release(&mut self, plugin: &PluginName, version: Version, marks: Marks) {
        let content = marks.same_as.as_ref().unwrap_or(&version);
        let words = marks.breaking.as_ref().filter(|words| !words.is_empty());
        let fact =
            |words: &String| BreakingFact { what: Breaking::Annotated { words: words.clone() }, at: self.world.now };
        let release = Release {
            digest: Some(Digest::new(format!("sha256:{content}"))),
            marked_breaking: marks.breaking.is_some(),
            breaking: words.map(fact).into_iter().collect(),
            blocks: Vec::new(),
            missing_values: Vec::new(),
            incomplete: None,
            unsigned: Read::Known(None),
            checks: Read::Known(Vec::new()),
            version,
        };
        self.world.list(plugin, release);
    }

    fn nothing_open(&self, plugin: &PluginName, tier: &TierName) -> Impossible {
        (format!("there is no open pull request for {plugin} on {tier} now"), self.present(plugin))
    }
}

fn never_released(plugin: &PluginName, version: &Version) -> Impossible {
    (format!("{plugin} {version} was never released"), format!("release it first: `release {plugin} {version}`"))
}
