//! The bot's hands in this world: entries first, then one effect after the other, each of them
//! refused when the hub refuses it and cut off where the scenario says so. No decision is made here.

use std::collections::BTreeMap;

use decide::ledger::{Change, Entry, Head, Ledger, Merging, Outage};
use decide::plan::{Action, Identity, Plan, Proposal, Urgency};
use decide::snapshot::{SentNotice, Snapshot};
use decide::{ClusterName, Sha, Version};
use jiff::{SignedDuration, Timestamp};

use crate::check::Watch;
use crate::pulls::{BOT, Refusal};
use crate::scenario::Cut;
use crate::world::{Spot, World};
use crate::{Planner, people, trace};

/// Progress may wait this long for the next push.
const COALESCE: SignedDuration = SignedDuration::from_mins(15);

/// One process of the bot: what it remembers, and what it has pushed.
pub struct Process {
    pub memory: Ledger,
    pub pushed: Ledger,
    unpushed_since: Option<Timestamp>,
    /// The last look at which the hub answered.
    last_good: Option<Timestamp>,
    /// Looks at which it did not, since then.
    missed: bool,
    /// Commits that the bot wrote: what they hold for which clusters, and on what they were built.
    written: BTreeMap<String, Written>,
}

/// What a commit holds.
#[derive(Clone)]
pub struct Written {
    pub version: semver::Version,
    pub members: Vec<ClusterName>,
    pub built_on: Vec<semver::Version>,
}

/// The process ends here; what was not pushed is forgotten.
struct Crashed;

/// What came of a tick.
pub struct Ticked {
    pub plan: Plan,
    /// Something was done, tried, or cut off: look again soon.
    pub busy: bool,
}

impl Process {
    pub fn new() -> Self {
        Self {
            memory: Ledger::default(),
            pushed: Ledger::default(),
            unpushed_since: None,
            last_good: None,
            missed: false,
            written: BTreeMap::new(),
        }
    }

    /// Looks, decides, acts.
    pub fn tick(&mut self, world: &mut World, watch: &mut Watch, planner: Planner, cut: Option<Cut>) -> Ticked {
        let now = world.now;
        let down = world.lasts(world.outage);
        if down {
            self.missed = true;
            watch.hub_missed(now);
        } else {
            watch.hub_answered(now);
            if self.missed
                && let Some(from) = self.last_good
            {
                self.remember(&Entry::Outage(Outage { from, to: now }), Urgency::Transition, now);
            }
            (self.missed, self.last_good) = (false, Some(now));
        }
        let mut snapshot = world.show(std::mem::take(&mut self.memory));
        let plan = planner(&snapshot, now);
        let idle = plan.entries.is_empty() && plan.actions.is_empty();
        self.memory = if idle { std::mem::take(&mut snapshot.ledger) } else { snapshot.ledger.clone() };
        watch.planned(world, &snapshot, &plan);
        trace::plan(world, &plan);
        if let Some(Cut::Stall { minutes }) = cut {
            world.note("the process stalls");
            world.advance(now + SignedDuration::from_mins(minutes as i64));
        }
        let mut busy = false;
        if !down {
            let mut steps = Steps { left: if let Some(Cut::Crash { after }) = cut { after } else { u32::MAX } };
            match self.carry_out(world, watch, (&snapshot, now), &plan, cut, &mut steps) {
                Ok(done) => busy = done,
                Err(Crashed) => {
                    busy = true;
                    world.note("the process dies and starts again");
                    watch.crashed();
                    self.memory = again(&self.pushed);
                    (self.unpushed_since, self.last_good, self.missed) = (None, None, false);
                }
            }
        }
        Ticked { plan, busy }
    }

    fn carry_out(
        &mut self,
        world: &mut World,
        watch: &mut Watch,
        (snapshot, looked): (&Snapshot, Timestamp),
        plan: &Plan,
        cut: Option<Cut>,
        steps: &mut Steps,
    ) -> Result<bool, Crashed> {
        steps.one()?;
        for record in &plan.entries {
            self.remember(&record.entry, record.urgency, world.now);
        }
        self.push_what_is_due(world.now);
        watch.recorded(world, snapshot, &self.memory);
        steps.one()?;
        let mut busy = plan.entries.iter().any(|record| record.urgency == Urgency::Transition);
        for action in &plan.actions {
            busy = true;
            if world.now > looked + SignedDuration::from_secs(60) {
                world.note("too much time has passed: nothing is done");
                break;
            }
            let done = self.act(world, watch, snapshot, action, cut, steps)?;
            watch.after_effect(world);
            steps.one()?;
            if done.is_err() || matches!(cut, Some(Cut::LostAnswer)) {
                world.note(format!("refused or unanswered: {done:?}"));
                break;
            }
        }
        Ok(busy)
    }

    fn act(
        &mut self,
        world: &mut World,
        watch: &mut Watch,
        snapshot: &Snapshot,
        action: &Action,
        cut: Option<Cut>,
        steps: &mut Steps,
    ) -> Result<Result<(), Refusal>, Crashed> {
        match action {
            Action::Open(proposal) => self.open(world, watch, snapshot, proposal, steps),
            Action::Update { pull, head, proposal } => {
                let spot = (proposal.plugin.clone(), proposal.tier.clone());
                let present = world.pulls.iter().find(|known| known.number == pull.0 && known.spot == spot);
                if !present.is_some_and(|pull| pull.is_open() && pull.head == head.as_str()) {
                    return Ok(Err(Refusal::HeadMoved));
                }
                watch.opens(world, snapshot, &spot, &proposal.to, true);
                let commit = self.write(world, proposal);
                steps.one()?;
                self.push_branch(world, pull.0, commit);
                Ok(Ok(()))
            }
            Action::Merge { plugin, tier, version, pull, head, via, forced } => {
                let spot = (plugin.clone(), tier.clone());
                if matches!(cut, Some(Cut::PushBeforeMerge))
                    && world.pull_mut(pull.0).is_some_and(|pull| pull.is_open())
                {
                    people::push_to_branch(world, pull.0);
                }
                let merging = Merging { head: head.clone(), at: world.now, forced: forced.clone() };
                self.change(world, &spot, version, Change::Merging(merging));
                steps.one()?;
                let pinned = self.written.contains_key(head.as_str());
                watch.merges(world, snapshot, action, pinned, &self.pushed);
                let bypass = *via == Identity::Bypass && world.scenario.bypass;
                let Some(pull) = world.pulls.iter().find(|known| known.number == pull.0) else {
                    return Ok(Err(Refusal::Forbidden));
                };
                if let Err(refusal) = pull.may_merge(world, head.as_str(), bypass) {
                    return Ok(Err(refusal));
                }
                let number = pull.number;
                world.merge(number, BOT);
                Ok(Ok(()))
            }
            Action::Close { pull, head, .. } => {
                let present = world.pulls.iter().find(|known| known.number == pull.0);
                if !present.is_some_and(|pull| pull.is_open() && pull.head == head.as_str()) {
                    return Ok(Err(Refusal::HeadMoved));
                }
                world.close(pull.0, BOT);
                Ok(Ok(()))
            }
            Action::Notice { pull, before, .. } => {
                let now = world.now;
                let Some(pull) = world.pull_mut(pull.0).filter(|pull| pull.is_open()) else {
                    return Ok(Err(Refusal::Forbidden));
                };
                if !pull.notices.iter().any(|sent| sent.before == *before) {
                    pull.remember(now);
                    pull.notices.push(SentNotice { before: *before, at: now });
                }
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
    ) -> Result<Result<(), Refusal>, Crashed> {
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        if let Some(head) = &proposal.written {
            let holds =
                |pull: &&crate::pulls::PullRequest| pull.bot_heads.iter().any(|known| known == head.commit.as_str());
            if world.pulls.iter().any(|pull| holds(&pull)) {
                return Ok(Ok(()));
            }
        }
        watch.opens(world, snapshot, &spot, &proposal.to, false);
        if world.open_pull(&spot).is_some() {
            return Ok(Err(Refusal::Forbidden));
        }
        let commit = self.write(world, proposal);
        steps.one()?;
        let written = self.written[&commit].clone();
        world.open(&spot, commit, written);
        Ok(Ok(()))
    }

    fn push_branch(&mut self, world: &mut World, number: u64, commit: String) {
        let now = world.now;
        let Written { version, members, built_on } = self.written[&commit].clone();
        let Some(pull) = world.pull_mut(number) else { return };
        pull.remember(now);
        pull.head.clone_from(&commit);
        pull.head_at = now;
        pull.ours = true;
        pull.bot_heads.push(commit.clone());
        pull.bot_version = version.clone();
        pull.bot_wrote_at = now;
        pull.version = version.clone();
        pull.members = members;
        pull.built_on = built_on;
        world.note(format!("#{number} is moved to {version}"));
        world.new_head(number, commit);
    }

    /// Writes the commit unless it is written, and the intent before anything leaves the house.
    fn write(&mut self, world: &mut World, proposal: &Proposal) -> String {
        if let Some(head) = &proposal.written
            && self.written.contains_key(head.commit.as_str())
        {
            return head.commit.to_string();
        }
        let spot = (proposal.plugin.clone(), proposal.tier.clone());
        let commit = world.new_commit();
        let built_on = world.base[&spot].iter().map(|place| place.version.clone()).collect();
        let version = proposal.to.to_string().parse().unwrap();
        self.written.insert(commit.clone(), Written { version, members: proposal.members.clone(), built_on });
        let intent = Change::Intent {
            from: proposal.from.clone(),
            digest: proposal.digest.clone(),
            part: proposal.part.clone(),
            members: proposal.members.clone(),
            head: Head { commit: Sha::new(commit.as_str()), at: world.now },
        };
        self.change(world, &spot, &proposal.to, intent);
        commit
    }

    fn change(&mut self, world: &World, spot: &Spot, version: &Version, change: Change) {
        let entry = Entry::Wave { plugin: spot.0.clone(), tier: spot.1.clone(), version: version.clone(), change };
        self.remember(&entry, Urgency::Transition, world.now);
        self.push_what_is_due(world.now);
    }

    fn remember(&mut self, entry: &Entry, urgency: Urgency, now: Timestamp) {
        self.memory.apply(entry);
        match urgency {
            Urgency::Transition => self.unpushed_since = Some(now - COALESCE),
            Urgency::Progress => self.unpushed_since = self.unpushed_since.or(Some(now)),
        }
    }

    fn push_what_is_due(&mut self, now: Timestamp) {
        if self.unpushed_since.is_some_and(|since| now >= since + COALESCE) {
            self.pushed = self.memory.clone();
            self.unpushed_since = None;
        }
    }
}

/// The ledger as a new process reads it: through the text that the branch keeps.
fn again(ledger: &Ledger) -> Ledger {
    let text = serde_yaml::to_string(ledger).unwrap();
    let read: Ledger = serde_yaml::from_str(&text).unwrap();
    assert_eq!(read, *ledger, "the ledger is not what it was after it was written and read");
    read
}

/// Counts down to the point at which the process dies.
struct Steps {
    left: u32,
}

impl Steps {
    fn one(&mut self) -> Result<(), Crashed> {
        if self.left == 0 {
            return Err(Crashed);
        }
        self.left -= 1;
        Ok(())
    }
}
