//! Merges in this world: the bot's way from the intent to the proof, as `act/merge.rs` goes it, and everything that goes
//! wrong on it: a hub that refuses for hours or says a false yes, heads with something else in them, words and rules of
//! the last moment, a ledger that somebody else wrote.

use std::collections::{BTreeMap, BTreeSet};

use decide::Sha;
use decide::ledger::{Change, Head, Ledger, Merging, Refusal as Kind, Stop};
use decide::plan::{Action, Identity};
use decide::snapshot::{CommandKind, Landing, Pull, ReviewVerdict, Snapshot};
use jiff::{SignedDuration, Timestamp};

use crate::Planner;
use crate::check::Watch;
use crate::hand::{Cutoff, Process, Steps};
use crate::pulls::{BOT, Closed, OWNERS, Refusal, STRANGER};
use crate::rarely::Later;
use crate::releases::plain;
use crate::rng::Rng;
use crate::scenario::{Cut, Happening, Mode, Scenario};
use crate::world::{Due, Spot, World};

/// A permit is good for so long.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(5);

/// What is false about a yes of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum False {
    /// More came than was asked for.
    More,
    /// Nothing came, and the pull request is shown as merged.
    Nothing,
    /// Nothing came, and the pull request stays open, however often it is asked for.
    Open,
    /// It is no yes: the hub does not answer, and nothing comes, however often it is asked for.
    Silent,
    /// Another pull request of the bot is merged, and this one stays open.
    Another,
}

/// How the bot's hands go the way of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hand {
    /// As they should.
    #[default]
    Careful,
    /// A permit is good for ever.
    OldPermit,
    /// Whatever the head holds is merged.
    AnyHead,
}

/// What is wrong with merges, at the hub and around it.
#[derive(Clone, Debug, Default)]
pub struct Merges {
    /// The hub refuses to merge there until then, whatever its rules say.
    pub refusing: BTreeMap<Spot, Timestamp>,
    /// What is false about the hub's yes there; some of it is so until it comes to itself.
    pub false_yes: BTreeMap<Spot, False>,
    /// How often in a row the hub said yes to a head, and nothing came; and how many ledgers were lost by then.
    pub vain: BTreeMap<String, (u32, u32)>,
    /// Until then the rules ask for one thing more.
    pub ruled: Option<Timestamp>,
    /// When the hub refused a merge there last.
    pub refused: BTreeMap<Spot, Timestamp>,
    /// Releases of which a head was found doctored before.
    pub flawed: BTreeSet<(Spot, String)>,
    /// Merges that did not land as planned.
    pub lies: Vec<Lie>,
}

/// A merge that did not land as planned.
#[derive(Clone, Debug)]
pub struct Lie {
    pub pull: u64,
    pub head: String,
    /// By our clock.
    pub at: Timestamp,
    /// Somebody who may has said that things may go on.
    pub cleared: bool,
    /// Ledgers that were lost by then.
    pub losses: u32,
}

/// Adds what goes wrong with merges to a world that is drawn. It has a fate of its own.
pub fn draw(scenario: &mut Scenario) {
    let seed = scenario.seed;
    let span = scenario.calm.duration_since(scenario.start).as_secs() as u64;
    let kinds: [(&str, u64, u64); 6] = [
        ("refuse merges", 35, 4),
        ("false yes", 25, 2),
        ("forge the ledger", 25, 2),
        ("doctor a head", 25, 4),
        ("change the rules", 25, 3),
        ("vain yes", 30, 3),
    ];
    for (what, percent, most) in kinds {
        let mut rng = Rng::fate(seed, &[what]);
        let times = if rng.chance(percent) { rng.range(1, most) } else { 0 };
        for _ in 0..times {
            let at = scenario.start + SignedDuration::from_secs(rng.range(0, span) as i64);
            let (plugin, tier) =
                (rng.pick(&scenario.policy.plugins).name.clone(), rng.pick(scenario.tiers()).name.clone());
            let hours = rng.range(1, 60);
            let happening = match what {
                "refuse merges" => Happening::RefuseMerges { plugin, tier, hours },
                "false yes" => {
                    let what = if rng.chance(50) { False::More } else { False::Nothing };
                    Happening::FalseYes { plugin, tier, what, hours }
                }
                "vain yes" => {
                    let what = *rng.pick(&[False::Open, False::Silent, False::Another]);
                    Happening::FalseYes { plugin, tier, what, hours }
                }
                "forge the ledger" => Happening::ForgeLedger { hours },
                "doctor a head" => Happening::Doctor { plugin, tier },
                _ => Happening::ChangeRules { hours },
            };
            scenario.happenings.push((at, happening));
        }
    }
    // Some refusals outlast the trouble: the others have to arrive meanwhile.
    let mut rng = Rng::fate(seed, &["refused in the calm"]);
    if scenario.mode == Mode::Answered && rng.chance(30) {
        let (plugin, tier) = (rng.pick(&scenario.policy.plugins).name.clone(), rng.pick(scenario.tiers()).name.clone());
        let at = scenario.calm - SignedDuration::from_mins(1);
        scenario.happenings.push((at, Happening::RefuseMerges { plugin, tier, hours: rng.range(12, 72) }));
    }
    scenario.happenings.sort_by_key(|(at, _)| *at);
    let (mut rng, mut holds) = (Rng::fate(seed, &["cut at a merge"]), Rng::fate(seed, &["hold in a freeze"]));
    for _ in 0..if rng.chance(40) { rng.range(1, 40) } else { 0 } {
        let cut = match rng.range(0, 2) {
            0 => Cut::HoldBeforeMerge,
            1 => Cut::RulesBeforeMerge,
            _ => {
                let seconds = rng.range(1, 3_000);
                Cut::FreezeBeforeMerge { seconds, hold: GOOD_FOR.as_secs() < seconds as i64 && holds.chance(50) }
            }
        };
        scenario.cuts.push((rng.range(0, 1_500) as u32, cut));
    }
    scenario.cuts.sort_by_key(|(tick, _)| *tick);
}

pub fn befall(world: &mut World, happening: Happening) {
    let now = world.now;
    let until = |hours: u64| now + SignedDuration::from_hours(hours as i64);
    match happening {
        Happening::RefuseMerges { plugin, tier, hours } => {
            world.merges.refusing.insert((plugin, tier), until(hours));
        }
        Happening::FalseYes { plugin, tier, what, hours } => {
            world.merges.false_yes.insert((plugin, tier), what);
            world.schedule(until(hours), Due::Rare(Later::Clear { allowed: false }));
            world.schedule(until(2 * hours), Due::Rare(Later::Clear { allowed: true }));
        }
        Happening::ForgeLedger { hours } => {
            let forged = forged(world);
            world.branch.forge(forged);
            world.schedule(until(hours), Due::Rare(Later::MendLedger));
        }
        Happening::Doctor { plugin, tier } => {
            let number = world.open_pull(&(plugin, tier)).filter(|pull| pull.ours).map(|pull| pull.number);
            number.and_then(|number| world.pull_mut(number)).into_iter().for_each(|pull| pull.doctored = true);
        }
        Happening::ChangeRules { hours } => world.merges.ruled = Some(until(hours)),
        _ => {}
    }
}

/// At the beginning of the calm: nothing new goes wrong, and what did not land as planned is cleared. What is refused
/// stays so until its time.
pub fn settle(world: &mut World) {
    world.merges.false_yes.clear();
    world.merges.ruled = None;
    world.branch.mend();
    clear(world, true);
}

/// Somebody says of what did not land as planned that things may go on.
pub fn clear(world: &mut World, allowed: bool) {
    if allowed {
        world.merges.false_yes.retain(|_, what| !matches!(what, False::Open | False::Silent));
    }
    let (now, by) = (world.now, if allowed { OWNERS[0] } else { STRANGER });
    let forgotten = forgotten(world);
    let Some(newest) = world.pulls.last_mut() else { return };
    for cited in forgotten {
        newest.command(now, by, CommandKind::Rebuild { cited: cited.short().to_string() });
    }
    for lie in world.merges.lies.iter_mut().filter(|lie| !lie.cleared) {
        let cited = Sha::new(lie.head.as_str()).short().to_string();
        newest.command(now, by, CommandKind::Rebuild { cited });
        lie.cleared = allowed;
    }
}

/// What stands still because a ledger that was rolled back has forgotten that the bot asked for it.
fn forgotten(world: &World) -> Vec<Sha> {
    let Some(push) = world.branch.tip().filter(|_| world.losses > 0) else { return Vec::new() };
    let merged = |stop: &&Stop| {
        world.pulls.iter().any(|pull| {
            let end = pull.closed.as_ref().filter(|end| end.by == BOT);
            pull.number == stop.pull.0 && end.is_some_and(|end| end.merged.is_some()) && pull.landing.is_none()
        })
    };
    let standing = push.ledger.stops.iter().filter(|stop| stop.cleared.is_none());
    standing.filter(merged).map(|stop| stop.head.clone()).collect()
}

/// A ledger by which everything may go at once, and whatever lies on a branch was written by the bot.
fn forged(world: &World) -> Ledger {
    let mut ledger = world.branch.tip().map(|push| push.ledger.clone()).unwrap_or_default();
    ledger.stops.clear();
    for (plugin, page) in &mut ledger.plugins {
        for (tier, waves) in &mut page.tiers {
            let spot = (plugin.clone(), tier.clone());
            let Some(wave) = waves.last_mut() else { continue };
            *wave.rewrite().failed = None;
            *wave.rewrite().finished = wave.landed().is_some().then_some(world.now);
            wave.grace.iter_mut().for_each(|grace| grace.deadline = Timestamp::UNIX_EPOCH);
            let foreign = world.open_pull(&spot).filter(|pull| !pull.ours);
            let head = |pull: &crate::pulls::PullRequest| Head {
                commit: Sha::new(pull.head.as_str()),
                at: world.now,
                repeats: false,
            };
            wave.heads.extend(foreign.map(head));
        }
    }
    ledger
}

/// What a merge is carried out with: the planner for the second look, and what goes wrong.
pub struct Asking<'a> {
    pub planner: Planner,
    pub cut: Option<Cut>,
    pub steps: &'a mut Steps,
}

impl Process {
    /// Intent, turn, permit, merge, proof: one line.
    pub fn merge(
        &mut self,
        world: &mut World,
        watch: &mut Watch,
        action: &Action,
        asking: Asking<'_>,
    ) -> Result<Result<(), Refusal>, Cutoff> {
        let Action::Merge { plugin, tier, version, pull, head, via, forced } = action else {
            return Ok(Err(Refusal::Moved));
        };
        let (spot, number) = ((plugin.clone(), tier.clone()), pull.0);
        let base = Some(Sha::new(format!("{:040x}", world.commits)));
        let merging = Merging { head: head.clone(), at: world.ours(), base, forced: forced.clone() };
        self.change(world, &spot, version, Change::Merging(merging))?;
        asking.steps.one()?;
        last_words(world, number, asking.cut);
        let obtained = world.now;
        let fresh = world.show(self.memory.clone());
        let again = (asking.planner)(&fresh, world.ours());
        if !again.actions.iter().any(|planned| is_same(planned, action)) || !is_still(world, &fresh, action) {
            return Ok(Err(Refusal::Moved));
        }
        let refused = |why: &str, kind: Kind, at: Timestamp| {
            let (head, why) = (head.clone(), why.to_string());
            Change::Refused { head, at, why, kind }
        };
        let hand = world.scenario.hand;
        let doctored = world.pulls.iter().any(|pull| pull.number == number && pull.doctored);
        if doctored && hand != Hand::AnyHead {
            world.merges.vain.remove(head.as_str());
            watch.is_refused(world, head.as_str());
            // The first time it is written anew at once, and after that as late as what the hub refuses.
            if !world.merges.flawed.insert((spot.clone(), version.to_string())) {
                world.merges.refused.insert(spot.clone(), world.now);
            }
            self.change(world, &spot, version, refused("it changes something else", Kind::Flawed, world.ours()))?;
            return Ok(Err(Refusal::Refused));
        }
        if let Some(Cut::FreezeBeforeMerge { seconds, hold }) = asking.cut {
            world.note("the process freezes");
            last_words(world, number, hold.then_some(Cut::HoldBeforeMerge));
            world.advance(world.now + SignedDuration::from_secs(seconds as i64));
        }
        if world.now > obtained + GOOD_FOR && hand != Hand::OldPermit {
            return Ok(Err(Refusal::Moved));
        }
        watch.merges(world, self.kept(), &fresh, action);
        let bypass = *via == Identity::Bypass && world.scenario.bypass;
        let Some(known) = world.pulls.iter().find(|known| known.number == number) else {
            return Ok(Err(Refusal::Moved));
        };
        match known.may_merge(world, head.as_str(), bypass) {
            Ok(()) => {}
            Err(Refusal::HeadMoved) => return Ok(Err(Refusal::HeadMoved)),
            Err(Refusal::Forbidden | Refusal::Moved | Refusal::Refused) => {
                world.merges.refused.insert(spot.clone(), world.now);
                watch.is_refused(world, head.as_str());
                world.merges.vain.remove(head.as_str());
                self.change(world, &spot, version, refused("405", Kind::No, world.ours()))?;
                return Ok(Err(Refusal::Refused));
            }
        }
        let what = world.merges.false_yes.get(&spot).copied();
        if !matches!(what, Some(False::Open | False::Silent)) {
            world.merges.false_yes.remove(&spot);
        }
        let kind = match what {
            None => {
                watch.merged(world, self.kept(), &spot, &plain(version), number);
                world.merge(number, BOT);
                return Ok(Ok(()));
            }
            Some(False::More | False::Nothing) => {
                world.merge_falsely(number, what == Some(False::More));
                return Ok(Err(Refusal::Moved));
            }
            Some(False::Silent) => Kind::Unanswered,
            Some(False::Open) => Kind::FalseYes,
            Some(False::Another) => {
                world.merge_another(number, &self.memory);
                Kind::FalseYes
            }
        };
        world.note(format!("nothing comes of the merge of #{number}: {what:?}"));
        world.merges.refused.insert(spot.clone(), world.now);
        watch.is_refused(world, head.as_str());
        self.change(world, &spot, version, refused("nothing came", kind, world.ours()))?;
        if kind == Kind::FalseYes {
            world.said_in_vain(number, head.as_str());
        }
        // What it did instead is looked at first.
        Ok(Err(Refusal::Moved))
    }
}

/// What happens while a merge waits for its turn.
fn last_words(world: &mut World, number: u64, cut: Option<Cut>) {
    let (now, open) = (world.now, world.pulls.iter().any(|pull| pull.number == number && pull.is_open()));
    match cut {
        Some(Cut::PushBeforeMerge) if open => crate::people::push_to_branch(world, number),
        Some(Cut::HoldBeforeMerge) if open => {
            world.note(format!("{} holds #{number} in the last moment", OWNERS[0]));
            let hold = CommandKind::Hold { why: "wait".to_string() };
            world.pull_mut(number).into_iter().for_each(|pull| pull.command(now, OWNERS[0], hold.clone()));
            let resume = Due::Rare(Later::Resume { pull: number });
            world.schedule(now + SignedDuration::from_hours(5), resume);
        }
        Some(Cut::RulesBeforeMerge) => {
            world.note("the rules of the branch change");
            world.merges.ruled = Some(now + SignedDuration::from_hours(3));
        }
        _ => {}
    }
}

/// Whether two looks ask for the same merge.
fn is_same(planned: &Action, again: &Action) -> bool {
    let (Action::Merge { forced, .. }, Action::Merge { forced: later, .. }) = (planned, again) else { return false };
    let terms = |action: &Action| match action {
        Action::Merge { plugin, tier, version, pull, head, via, .. } => {
            Some((plugin.clone(), tier.clone(), version.clone(), *pull, head.clone(), *via))
        }
        _ => None,
    };
    let said = |forced: &Option<decide::ledger::ForceEvidence>| forced.as_ref().map(|evidence| evidence.said.clone());
    terms(planned) == terms(again) && said(forced) == said(later)
}

/// Whether the pull request, read by itself, is what the list showed.
fn is_still(world: &World, fresh: &Snapshot, action: &Action) -> bool {
    let Action::Merge { plugin, pull, .. } = action else { return false };
    let listed = fresh.plugins[plugin].pulls.known().into_iter().flatten().find(|known| known.number == *pull);
    let now = world.pulls.iter().find(|known| known.number == pull.0).map(|known| known.shown(world));
    let terms = |pull: &Pull| {
        let objections = pull.reviews.iter().filter(|review| review.verdict == ReviewVerdict::ChangesRequested);
        let objections: Vec<_> = objections.cloned().collect();
        let (state, head) = (pull.state.clone(), pull.head.clone());
        (state, head, pull.draft, pull.misplaced.clone(), pull.commands.clone(), objections)
    };
    listed.map(terms) == now.as_ref().map(terms)
}

impl World {
    /// The hub says that it merged: nothing came, or more than was asked for.
    fn merge_falsely(&mut self, number: u64, more: bool) {
        let (commit, now, losses) = (self.new_commit(), self.now, self.losses);
        if more {
            self.merge(number, BOT);
        }
        let Some(pull) = self.pull_mut(number) else { return };
        if !more {
            pull.remember(now);
            pull.closed = Some(Closed { at: now, by: BOT.to_string(), merged: Some(commit) });
        }
        pull.landing = Some(match more {
            true => Landing::Wrong { why: "it also changed CODEOWNERS".to_string() },
            false => Landing::Absent,
        });
        let head = pull.head.clone();
        self.note(format!(
            "the merge of #{number} is a false yes: {}",
            if more { "more came" } else { "nothing came" }
        ));
        self.merges.lies.push(Lie { pull: number, head, at: self.ours(), cleared: false, losses });
    }

    /// The hub merges another pull request than the one that it was asked for, if the bot has one. Where the ledger has
    /// an intent for that one, too, or was lost and does not know it, nobody can tell.
    fn merge_another(&mut self, number: u64, ledger: &Ledger) {
        let like = |pull: &&crate::pulls::PullRequest| {
            pull.number != number && pull.is_open() && pull.ours && !pull.doctored && !pull.misplaced
        };
        let Some(other) = self.pulls.iter().find(like).map(|pull| pull.number) else { return };
        let pull = &self.pulls[other as usize - 1];
        let (head, losses) = (pull.head.clone(), self.losses);
        let waves = || ledger.plugins.values().flat_map(|page| page.tiers.values()).flatten();
        let was_asked = waves().filter_map(|wave| wave.merging.as_ref()).any(|merging| merging.head.as_str() == head);
        let is_known = waves().any(|wave| wave.head().is_some_and(|known| known.commit.as_str() == head));
        self.note(format!("asked for #{number}, the hub merges #{other}"));
        self.merge(other, BOT);
        if is_known && !was_asked {
            self.merges.lies.push(Lie { pull: other, head, at: self.ours(), cleared: false, losses });
        }
    }

    /// The hub said yes to this head, and nothing came: from the third time in a row on it lies.
    fn said_in_vain(&mut self, number: u64, head: &str) {
        let losses = self.losses;
        let (times, since) = self.merges.vain.entry(head.to_string()).or_insert((0, losses));
        // A lost ledger has forgotten how often.
        *times = if *since == losses { *times + 1 } else { 1 };
        *since = losses;
        if *times >= 3 && !self.merges.lies.iter().any(|lie| lie.head == head && !lie.cleared) {
            let at = self.ours();
            self.merges.lies.push(Lie { pull: number, head: head.to_string(), at, cleared: false, losses });
        }
    }
}
