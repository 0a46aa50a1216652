//! The bot's hands in this world: entries first, then one effect after the other, each of them
//! refused when the hub refuses it and cut off where the scenario says so. No decision is made here.

use std::collections::BTreeMap;

use decide::ledger::{Change, Entry, Head, Ledger, Outage, Part};
use decide::plan::{Action, Plan, Proposal, Urgency};
use decide::snapshot::{SentNotice, Snapshot};
use decide::{ClusterName, Sha};
use jiff::{SignedDuration, Timestamp};

use crate::branch::Fenced;
use crate::check::{Kept, Watch};
use crate::merges::Asking;
use crate::pulls::{BOT, Refusal};
use crate::rarely::Later;
use crate::releases::plain;
use crate::scenario::Cut;
use crate::world::{Due, Spot, World};
use crate::{Planner, trace};

/// Progress may wait this long for the next push.
const COALESCE: SignedDuration = SignedDuration::from_mins(15);

/// One process of the bot: what it remembers, and on which push that rests.
#[derive(Default)]
pub struct Process {
    pub memory: Ledger,
    kept: Kept,
    tip: Option<u64>,
    unpushed_since: Option<Timestamp>,
    /// The last look at which the hub answered.
    last_good: Option<Timestamp>,
    /// Looks at which it did not, since then.
    missed: bool,
}

/// Commits that the bot wrote.
pub type Written = BTreeMap<String, Commit>;

/// What a commit holds, for which part of a climb and its clusters, and on what it was built.
#[derive(Clone)]
pub struct Commit {
    pub version: semver::Version,
    pub part: Part,
    pub members: Vec<ClusterName>,
    pub built_on: Vec<semver::Version>,
    /// How many commits the base branch had.
    pub trunk: u64,
}

impl Commit {
    /// Whether two change the same.
    pub fn is_like(&self, other: &Self) -> bool {
        let all = |commit: &Self| {
            (commit.version.clone(), commit.part.clone(), commit.members.clone(), commit.built_on.clone())
        };
        all(self) == all(other)
    }
}

/// Why a tick ends early.
pub enum Cutoff {
    /// The process ends here; what was not pushed is forgotten.
    Crashed,
    /// Somebody else moved the ledger: the plan is void.
    Fenced,
}

impl From<Fenced> for Cutoff {
    fn from(_: Fenced) -> Self {
        Self::Fenced
    }
}

/// What came of a tick.
pub struct Ticked {
    pub plan: Plan,
    /// Something was done, tried, or cut off: look again soon.
    pub busy: bool,
}

/// What a tick is made with: the planner under test, what goes wrong, and the process beside it.
pub struct Turn<'a> {
    pub planner: Planner,
    pub cut: Option<Cut>,
    pub other: Option<&'a mut Process>,
}

impl Process {
    /// Looks, decides, acts.
    pub fn tick(&mut self, world: &mut World, watch: &mut Watch, turn: Turn<'_>) -> Ticked {
        let Turn { planner, cut, mut other } = turn;
        let now = world.ours();
        let looked = world.now;
        let down = world.lasts(world.outage);
        self.look_at_the_hub(world, watch, down, now);
        if let Some(other) = other.as_deref_mut().filter(|_| down) {
            other.missed = true; // it has alarms of its own, and gets no answer either
        }
        let mut snapshot = world.show(std::mem::take(&mut self.memory));
        let plan = planner(&snapshot, now);
        let idle = plan.entries.is_empty() && plan.actions.is_empty();
        watch.planned(world, &mut self.kept, &snapshot, &plan);
        trace::plan(world, &plan);
        watch.asks_in_time(world, &self.kept, &snapshot, &plan);
        self.memory = if idle { std::mem::take(&mut snapshot.ledger) } else { snapshot.ledger.clone() };
        if let (Some(Cut::Overtaken), Some(other)) = (cut, other) {
            world.note("the other process comes first");
            other.tick(world, watch, Turn { planner, cut: None, other: None });
        }
        if let Some(Cut::Stall { minutes }) = cut {
            world.note("the process stalls");
            world.advance(looked + SignedDuration::from_mins(minutes as i64));
        }
        let mut busy = false;
        if !down && world.branch.foreign().is_none() {
            let mut steps = Steps { left: if let Some(Cut::Crash { after }) = cut { after } else { u32::MAX } };
            match self.carry_out(world, watch, (&snapshot, looked, now), &plan, (planner, cut), &mut steps) {
                Ok(done) => busy = done,
                Err(Cutoff::Crashed) => {
                    busy = true;
                    world.note("the process dies and starts again");
                    let tip = world.branch.tip();
                    let pushed = tip.map_or(0, |tip| tip.ledger.outages.len());
                    watch.forgets_outages(self.memory.outages.len().saturating_sub(pushed));
                    tip.inspect(|tip| again(&tip.ledger));
                    *self = Self::default();
                    self.read(world);
                }
                Err(Cutoff::Fenced) => {
                    busy = true;
                    watch.tally.count("fault", "Fenced");
                    world.note("the ledger was moved by somebody else: the plan is void");
                    self.read(world);
                }
            }
        }
        Ticked { plan, busy }
    }

    /// Reads the ledger branch where it moved, and notes that the hub was away.
    fn look_at_the_hub(&mut self, world: &World, watch: &mut Watch, down: bool, now: Timestamp) {
        if down {
            self.missed = true;
            watch.hub_missed(world.now);
            return;
        }
        if world.branch.foreign().is_some() {
            // What somebody else wrote is shown, and nothing is written on top of it.
            self.read(world);
            return;
        }
        watch.hub_answered(world.now);
        if world.branch.tip_id() != self.tip {
            self.read(world);
        }
        if self.missed
            && let Some(from) = self.last_good
        {
            self.remember(&Entry::Outage(Outage { from, to: now }), Urgency::Transition, now);
        }
        (self.missed, self.last_good) = (false, Some(now));
    }

    fn read(&mut self, world: &World) {
        if let Some(forged) = world.branch.foreign() {
            // No push has this number: whatever lies on top next is read.
            (self.tip, self.memory, self.kept) = (Some(u64::MAX), forged.clone(), Kept::default());
            self.unpushed_since = None;
            return;
        }
        let tip = world.branch.tip().cloned();
        self.tip = tip.as_ref().map(|push| push.id);
        (self.memory, self.kept) = tip.map(|push| (push.ledger, push.kept)).unwrap_or_default();
        self.unpushed_since = None;
    }

    fn carry_out(
        &mut self,
        world: &mut World,
        watch: &mut Watch,
        (snapshot, looked, ours): (&Snapshot, Timestamp, Timestamp),
        plan: &Plan,
        (planner, cut): (Planner, Option<Cut>),
        steps: &mut Steps,
    ) -> Result<bool, Cutoff> {
        steps.one()?;
        for record in &plan.entries {
            self.remember(&record.entry, record.urgency, world.ours());
            if matches!(record.entry, Entry::Stopped(_)) && world.is_calm() {
                let soon = world.now + SignedDuration::from_hours(1);
                world.schedule(soon, Due::Rare(Later::Clear { allowed: true }));
            }
        }
        watch.recorded(world, &mut self.kept, (snapshot, looked, ours), &self.memory);
        self.push_what_is_due(world)?;
        steps.one()?;
        let mut busy = plan.entries.iter().any(|record| record.urgency == Urgency::Transition);
        let mut done_any = false;
        for action in &plan.actions {
            busy = true;
            if world.now > looked + SignedDuration::from_secs(60) {
                world.note("too much time has passed: nothing is done");
                break;
            }
            if world.branch.tip_id() != self.tip {
                return Err(Cutoff::Fenced);
            }
            let done = self.act(world, watch, snapshot, action, (planner, cut), steps)?;
            watch.after_effect(world);
            steps.one()?;
            done_any |= done.is_ok() && anew(action);
            if done == Err(Refusal::Refused) {
                world.note("not merged: the others go on");
                continue;
            }
            if done.is_err() || matches!(cut, Some(Cut::LostAnswer)) {
                world.note(format!("refused or unanswered: {done:?}"));
                // What is refused is tried again at the alarm; where the world moved, one looks again.
                busy = done_any || done.is_ok() || done == Err(Refusal::Moved);
                break;
            }
        }
        watch.acted(world, plan, done_any);
        Ok(busy)
    }

    fn act(
        &mut self,
        world: &mut World,
        watch: &mut Watch,
        snapshot: &Snapshot,
        action: &Action,
        (planner, cut): (Planner, Option<Cut>),
        steps: &mut Steps,
    ) -> Result<Result<(), Refusal>, Cutoff> {
        match action {
            Action::Open(proposal) => self.open(world, watch, snapshot, proposal, steps),
            Action::Update { pull, head, proposal } => {
                let spot = (proposal.plugin.clone(), proposal.tier.clone());
                let present = world.pulls.iter().find(|known| known.number == pull.0 && known.spot == spot);
                if !present.is_some_and(|pull| pull.is_open() && pull.head == head.as_str()) {
                    return Ok(Err(Refusal::HeadMoved));
                }
                watch.opens(world, &mut self.kept, snapshot, proposal, Some(pull.0));
                let commit = self.write(world, proposal)?;
                steps.one()?;
                world.push_branch(pull.0, commit);
                Ok(Ok(()))
            }
            Action::Merge { .. } => {
                let asking = Asking { planner, cut, steps };
                self.merge(world, watch, action, asking)
            }
            Action::Close { pull, head, .. } => {
                let present = world.pulls.iter().find(|known| known.number == pull.0);
                if !present.is_some_and(|pull| pull.is_open() && pull.head == head.as_str()) {
                    return Ok(Err(Refusal::HeadMoved));
                }
                world.close(pull.0, BOT);
                Ok(Ok(()))
            }
            Action::Dispatch { plugin, tier, version, verification, .. } => {
                let spot = (plugin.clone(), tier.clone());
                self.change(world, &spot, version, Change::Dispatching(verification.clone()))?;
                steps.one()?;
                watch.dispatches(world, action);
                Ok(Ok(()))
            }
            Action::Notice { pull, before, .. } => {
                watch.tells(world, &self.kept, snapshot, action);
                let now = world.now;
                let Some(pull) = world.pull_mut(pull.0).filter(|pull| pull.is_open()) else {
                    return Ok(Err(Refusal::Forbidden));
                };
                pull.remember(now);
                pull.notices.retain(|sent| sent.before != *before);
                pull.notices.push(SentNotice { before: *before, at: now });
                pull.told.push(SentNotice { before: *before, at: now });
                Ok(Ok(()))
            }
        }
    }

    /// Intent, branch, pull request; what exists is found, not made again.
    fn open(
        &mut self,
        world: &mut World,
        watch: &mut Watch,
        snapshot: &Snapshot,
        proposal: &Proposal,
        steps: &mut Steps,
    ) -> Result<Result<(), Refusal>, Cutoff> {
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        if let Some(head) = &proposal.written {
            let holds =
                |pull: &&crate::pulls::PullRequest| pull.bot_heads.iter().any(|known| known == head.commit.as_str());
            let gone = |pull: &crate::pulls::PullRequest| pull.closed.as_ref().is_some_and(|end| end.merged.is_none());
            if world.pulls.iter().any(|pull| holds(&pull) && !gone(pull)) {
                return Ok(Ok(()));
            }
        }
        watch.opens(world, &mut self.kept, snapshot, proposal, None);
        if world.open_pull(&spot).is_some() {
            return Ok(Err(Refusal::Forbidden));
        }
        let commit = self.write(world, proposal)?;
        steps.one()?;
        let written = world.written[&commit].clone();
        world.open(&spot, commit, written);
        Ok(Ok(()))
    }

    /// Writes the commit unless it is written, and the intent before anything leaves the house.
    fn write(&mut self, world: &mut World, proposal: &Proposal) -> Result<String, Fenced> {
        if let Some(head) = &proposal.written
            && world.written.contains_key(head.commit.as_str())
        {
            return Ok(head.commit.to_string());
        }
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        let commit = world.new_commit();
        let built_on = world.base[&spot].iter().map(|place| place.version.clone()).collect();
        let version = plain(&proposal.to);
        let (part, members) = (proposal.part.clone(), proposal.members.clone());
        let written = Commit { version, part, members, built_on, trunk: world.trunk };
        let page = self.memory.plugins.get(&spot.0);
        let last = page.and_then(|page| page.climbing(&spot.1)).filter(|wave| wave.version == proposal.to);
        let before = last.and_then(|wave| world.written.get(wave.head()?.commit.as_str()));
        let repeats = before.is_some_and(|before| before.is_like(&written));
        world.tally.count("head", if repeats { "Repeats" } else { "New" });
        world.written.insert(commit.clone(), written);
        let intent = Change::Intent {
            from: proposal.from.clone(),
            digest: proposal.digest.clone(),
            part: proposal.part.clone(),
            members: proposal.members.clone(),
            head: Head { commit: Sha::new(commit.as_str()), at: world.ours(), repeats },
        };
        self.change(world, &spot, &proposal.to, intent)?;
        world.branch.cite_tip();
        Ok(commit)
    }

    /// What the checkers could know of what it rests on.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    pub fn change(
        &mut self,
        world: &mut World,
        spot: &Spot,
        version: &decide::Version,
        change: Change,
    ) -> Result<(), Fenced> {
        world.tally.variant("change", &change);
        let entry = Entry::Wave { plugin: spot.0.clone(), tier: spot.1.clone(), version: version.clone(), change };
        self.remember(&entry, Urgency::Transition, world.ours());
        self.push_what_is_due(world)
    }

    fn remember(&mut self, entry: &Entry, urgency: Urgency, now: Timestamp) {
        self.memory.apply(entry);
        match urgency {
            Urgency::Transition => self.unpushed_since = Some(now - COALESCE),
            Urgency::Progress => self.unpushed_since = self.unpushed_since.or(Some(now)),
        }
    }

    fn push_what_is_due(&mut self, world: &mut World) -> Result<(), Fenced> {
        if self.unpushed_since.is_some_and(|since| world.ours() >= since + COALESCE) {
            let id = world.branch.push(self.tip, self.memory.clone(), self.kept.clone())?;
            (self.tip, self.unpushed_since) = (Some(id), None);
        }
        Ok(())
    }
}

/// Whether an action that went through changed something: an opening that is there and not shown yet is
/// looked for again and again.
fn anew(action: &Action) -> bool {
    !matches!(action, Action::Open(proposal) if proposal.written.is_some())
}

/// The ledger as a new process reads it: through the text that the branch keeps.
fn again(ledger: &Ledger) {
    let text = serde_yaml::to_string(ledger).unwrap();
    let read: Ledger = serde_yaml::from_str(&text).unwrap();
    assert_eq!(read, *ledger, "the ledger is not what it was after it was written and read");
}

/// Counts down to the point at which the process dies.
pub struct Steps {
    left: u32,
}

impl Steps {
    pub fn one(&mut self) -> Result<(), Cutoff> {
        if self.left == 0 {
            return Err(Cutoff::Crashed);
        }
        self.left -= 1;
        Ok(())
    }
}
