//! How one cluster takes up one change: the stages and what moves it from one to the next. How a
//! stage looks to a reader is in `flux`, `argo`, `argo_rollout` and `greenhouse`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Deployments that are remembered.
const REMEMBERED: usize = 5;
/// Looks at the old state after a change: a reader must have had the chance to be fooled by it.
const LOOKS: u32 = 2;
/// Controller ticks at the old state, at least.
const TICKS: u32 = 2;

/// How fast a cluster's controllers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From a new head of the branch to the changed spec.
    pub pull: Duration,
    /// The old version stays Ready at most so long when nobody looks.
    pub unseen: Duration,
    /// From noticing the change to starting on it.
    pub notice: Duration,
    /// From starting to done.
    pub work: Duration,
    /// From the first failure to giving up.
    pub retry: Duration,
    /// Half the period of a flapping object.
    pub flap: Duration,
}

impl Pace {
    /// A fleet is not in step: each further cluster is a little slower.
    pub fn of_number(number: usize) -> Self {
        let number = u64::try_from(number).unwrap_or_default();
        Self {
            pull: Duration::from_millis(40 * (number % 4)),
            unseen: Duration::from_secs(6),
            notice: Duration::from_millis(200),
            work: Duration::from_millis(500 + 150 * (number % 5)),
            retry: Duration::from_millis(1_500),
            flap: Duration::from_millis(900),
        }
    }
}

/// Who rolls it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    Flux,
    Argo,
    /// Flux, for a Plugin of Greenhouse.
    Greenhouse,
}

/// Where a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The spec is new; the status still speaks of the old one.
    Holding,
    /// The controller has seen the new spec.
    Noticed,
    Working,
    Ready,
    Failed,
    /// Failed, and no further attempt will be made.
    Stalled,
    /// Was ready, is not any more.
    Degraded,
}

/// What a test or the story did to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// Never leaves the old version, and stays Ready on it.
    Stuck,
    Degraded,
    Flapping,
}

/// How one attempt to deploy a version ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Deployed,
    Superseded,
    Failed,
}

/// One attempt to deploy a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deployment {
    pub(super) version: String,
    /// Counts the attempts, as Helm's revision does.
    pub(super) revision: u64,
    pub(super) started: Timestamp,
    pub(super) finished: Timestamp,
    pub(super) outcome: Outcome,
}

/// One object on its way to what its spec says.
#[derive(Clone, Debug)]
pub(super) struct Rollout {
    pub(super) flavour: Flavour,
    pub(super) wanted: String,
    pub(super) stage: Stage,
    /// When the stage was entered.
    pub(super) since: Timestamp,
    /// When the state that readers see last changed.
    pub(super) turned: Timestamp,
    /// When the controller last finished with the object.
    pub(super) reconciled: Timestamp,
    /// The generation that the status speaks of as a whole.
    pub(super) observed: u64,
    /// First installation.
    pub(super) installed: Timestamp,
    /// Newest first.
    pub(super) deployments: Vec<Deployment>,
    started: Timestamp,
    ticks: u32,
    was_ready: bool,
}

/// What the next step depends on.
pub(super) struct Circumstances {
    pub(super) generation: u64,
    pub(super) looks: u32,
    pub(super) mood: Option<Mood>,
    /// The wanted version does not come up here.
    pub(super) broken: bool,
}

impl Rollout {
    /// The same with every version as somebody else counts them.
    pub(super) fn counted(&self, of: impl Fn(&str) -> String) -> Self {
        let mut other = self.clone();
        other.wanted = of(&self.wanted);
        other.deployments.iter_mut().for_each(|one| one.version = of(&one.version));
        other
    }

    /// Another number for what runs: nothing is installed for it.
    pub(super) fn renumber(&mut self, version: &str) {
        for one in self.deployments.iter_mut().filter(|one| one.version == self.wanted) {
            one.version = version.to_owned();
        }
        self.wanted = version.to_owned();
    }

    /// An object that was there long before the world began, at the version that its spec names.
    pub(super) fn settled(flavour: Flavour, version: &str, generation: u64, at: Timestamp) -> Self {
        let mut rollout = Self::fresh(flavour, version, at);
        rollout.stage = Stage::Ready;
        rollout.observed = generation;
        rollout.conclude(at, Outcome::Deployed);
        rollout
    }

    /// An object that has just appeared.
    pub(super) fn fresh(flavour: Flavour, version: &str, at: Timestamp) -> Self {
        Self {
            flavour,
            wanted: version.to_owned(),
            stage: Stage::Holding,
            since: at,
            turned: at,
            reconciled: at,
            observed: 0,
            installed: at,
            deployments: Vec::new(),
            started: at,
            ticks: 0,
            was_ready: false,
        }
    }

    /// The spec changed.
    pub(super) fn change(&mut self, wanted: &str, now: Timestamp) {
        wanted.clone_into(&mut self.wanted);
        self.was_ready = self.stage == Stage::Ready || (self.stage == Stage::Holding && self.was_ready);
        self.ticks = 0;
        // The status stays as it is, so nothing that readers see turns now.
        (self.stage, self.since) = (Stage::Holding, now);
    }

    /// The version that serves.
    pub(super) fn running(&self) -> Option<&str> {
        let serving = self.deployments.iter().find(|deployment| deployment.outcome == Outcome::Deployed);
        serving.map(|deployment| deployment.version.as_str())
    }

    /// Whether the controller tries to install or to upgrade.
    pub(super) fn first_time(&self) -> bool {
        self.deployments.iter().all(|deployment| deployment.outcome == Outcome::Failed)
    }

    /// When the attempt began that runs now or ended last.
    pub(super) fn started(&self) -> Timestamp {
        self.started
    }

    /// Moves on if it is time; whether anything changed.
    pub(super) fn step(&mut self, now: Timestamp, pace: Pace, here: &Circumstances) -> bool {
        let passed = now.duration_since(self.since);
        let over = |duration: Duration| SignedDuration::try_from(duration).is_ok_and(|duration| passed >= duration);
        let next = match self.stage {
            Stage::Holding => {
                self.ticks += 1;
                // Nothing old to be fooled by: an object that was not ready needs no looks.
                let seen = here.looks >= LOOKS || !self.was_ready || over(pace.unseen);
                (here.mood != Some(Mood::Stuck) && self.ticks >= TICKS && seen).then_some(Stage::Noticed)
            }
            Stage::Noticed => over(pace.notice).then_some(Stage::Working),
            Stage::Working if !over(pace.work) => None,
            Stage::Working if here.broken => Some(Stage::Failed),
            Stage::Working => Some(Stage::Ready),
            Stage::Failed | Stage::Stalled if !here.broken => Some(Stage::Working),
            Stage::Failed => over(pace.retry).then_some(Stage::Stalled),
            Stage::Stalled => None,
            Stage::Ready => match here.mood {
                Some(Mood::Degraded) => Some(Stage::Degraded),
                Some(Mood::Flapping) => over(pace.flap).then_some(Stage::Degraded),
                Some(Mood::Stuck) | None => None,
            },
            Stage::Degraded => match here.mood {
                Some(Mood::Degraded) => None,
                Some(Mood::Flapping) => over(pace.flap).then_some(Stage::Ready),
                Some(Mood::Stuck) | None => Some(Stage::Ready),
            },
        };
        if let Some(next) = next {
            self.enter(next, now, here.generation);
        }
        next.is_some()
    }

    fn enter(&mut self, next: Stage, now: Timestamp, generation: u64) {
        if self.flavour.face(self.stage, self.was_ready) != self.flavour.face(next, self.was_ready) {
            self.turned = now;
        }
        match next {
            Stage::Working => self.started = now,
            Stage::Ready if self.stage == Stage::Working => self.conclude(now, Outcome::Deployed),
            Stage::Failed => self.conclude(now, Outcome::Failed),
            Stage::Holding | Stage::Noticed | Stage::Ready | Stage::Stalled | Stage::Degraded => {}
        }
        if matches!(next, Stage::Ready | Stage::Stalled | Stage::Degraded) {
            self.observed = generation;
        }
        (self.stage, self.since, self.reconciled) = (next, now, now);
    }

    fn conclude(&mut self, now: Timestamp, outcome: Outcome) {
        if outcome == Outcome::Deployed {
            for older in self.deployments.iter_mut().filter(|older| older.outcome == Outcome::Deployed) {
                older.outcome = Outcome::Superseded;
            }
        }
        let revision = self.deployments.first().map_or(1, |newest| newest.revision + 1);
        let deployment =
            Deployment { version: self.wanted.clone(), revision, started: self.started, finished: now, outcome };
        self.deployments.insert(0, deployment);
        self.deployments.truncate(REMEMBERED);
    }
}

/// What a reader sees at a glance.
#[derive(PartialEq, Eq)]
enum Face {
    Good,
    Moving,
    Bad,
}

impl Flavour {
    fn face(self, stage: Stage, was_ready: bool) -> Face {
        match (stage, self) {
            (Stage::Ready, _) => Face::Good,
            (Stage::Holding, _) | (Stage::Noticed, Flavour::Argo) if was_ready => Face::Good,
            (Stage::Holding, _) => Face::Bad,
            (Stage::Noticed | Stage::Working, _) => Face::Moving,
            (Stage::Failed | Stage::Stalled | Stage::Degraded, _) => Face::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    const TICK: i64 = 100;

    /// Stages in order of their first appearance, after a change to 2.0.0 under these circumstances.
    fn course(mut circumstances: impl FnMut(i64) -> Circumstances, ticks: i64) -> (Vec<Stage>, Rollout) {
        let start = Timestamp::UNIX_EPOCH;
        let mut rollout = Rollout::settled(Flavour::Flux, "1.0.0", 1, start);
        rollout.change("2.0.0", start);
        let mut stages = vec![rollout.stage];
        for tick in 1..=ticks {
            let now = start + SignedDuration::from_millis(tick * TICK);
            rollout.step(now, Pace::of_number(0), &circumstances(tick));
            if stages.last() != Some(&rollout.stage) {
                stages.push(rollout.stage);
            }
        }
        (stages, rollout)
    }

    fn calm(looks: u32) -> Circumstances {
        Circumstances { generation: 2, looks, mood: None, broken: false }
    }

    #[test]
    fn the_old_version_stays_until_it_was_looked_at_twice() {
        let (stages, rollout) = course(|tick| calm(if tick < 30 { 1 } else { 2 }), 29);
        assert_eq!((stages, rollout.running()), (vec![Stage::Holding], Some("1.0.0")));
        let (stages, rollout) = course(|tick| calm(if tick < 30 { 1 } else { 2 }), 50);
        assert_eq!(stages, [Stage::Holding, Stage::Noticed, Stage::Working, Stage::Ready]);
        assert_eq!((rollout.running(), rollout.observed), (Some("2.0.0"), 2));
        assert_eq!(rollout.deployments[1].outcome, Outcome::Superseded);
    }

    #[test]
    fn nobody_looking_delays_it_but_not_for_ever() {
        let unseen = i64::try_from(Pace::of_number(0).unseen.as_millis()).unwrap() / TICK;
        assert_eq!(course(|_| calm(0), unseen - 1).0, [Stage::Holding]);
        assert_eq!(course(|_| calm(0), unseen + 1).0, [Stage::Holding, Stage::Noticed]);
    }

    #[test]
    fn a_broken_version_fails_and_then_stalls_until_it_is_mended() {
        let broken = |tick| Circumstances { broken: tick < 60, ..calm(2) };
        let (stages, rollout) = course(broken, 59);
        assert_eq!(stages, [Stage::Holding, Stage::Noticed, Stage::Working, Stage::Failed, Stage::Stalled]);
        assert_eq!(rollout.running(), Some("1.0.0"), "the old one serves on");
        assert_eq!(rollout.deployments[0].outcome, Outcome::Failed);
        assert_eq!(course(broken, 80).1.running(), Some("2.0.0"));
    }

    #[test]
    fn a_newer_version_overtakes_a_stalled_one_without_waiting_for_looks() {
        let (_, mut rollout) = course(|_| Circumstances { broken: true, ..calm(2) }, 50);
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(6);
        rollout.change("3.0.0", now);
        for tick in 1..20 {
            rollout.step(now + SignedDuration::from_millis(tick * TICK), Pace::of_number(0), &calm(0));
        }
        assert_eq!((rollout.stage, rollout.running()), (Stage::Ready, Some("3.0.0")));
    }

    #[test]
    fn moods_hold_degrade_and_flap() {
        let moody = |mood| move |_| Circumstances { mood, ..calm(2) };
        assert_eq!(course(moody(Some(Mood::Stuck)), 200).0, [Stage::Holding]);
        assert_eq!(course(moody(Some(Mood::Degraded)), 30).0.last(), Some(&Stage::Degraded));
        let flaps = course(moody(Some(Mood::Flapping)), 60).0;
        assert!(flaps.ends_with(&[Stage::Ready, Stage::Degraded, Stage::Ready, Stage::Degraded]), "{flaps:?}");
        let mended = |tick| Circumstances { mood: (tick < 20).then_some(Mood::Degraded), ..calm(2) };
        assert_eq!(course(mended, 30).0.last(), Some(&Stage::Ready));
    }
}
