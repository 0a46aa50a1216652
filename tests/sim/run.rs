//! Runs one world from its first instant to the calm and on until nothing moves any more.

use jiff::{SignedDuration, Timestamp};

use crate::check::{Watch, held};
use crate::hand::{Process, Ticked, Turn};
use crate::scenario::{Cut, Mode, Scenario};
use crate::tally::Tally;
use crate::world::World;
use crate::{Planner, trace};

/// Looks in one world beyond which something must be wrong.
const MOST_TICKS: u32 = 30_000;

/// Where nobody answers, what waits for the clock alone has gone on after so long: five days of grace, its
/// notices, and a window of the week after.
const MOST_DAYS_OF_NOTHING: i64 = 16;

/// The same in looks, for worlds that look every few minutes.
const MOST_LOOKS_AT_NOTHING: u32 = 2_500;

/// Looks after the ledger was lost at rest, beyond which something must be wrong.
const MOST_TICKS_ANEW: u32 = 3_000;

/// What came of a world.
pub struct Outcome {
    pub broken: Vec<String>,
    pub diary: Vec<(Timestamp, String)>,
    pub ticks: u32,
    pub merges: u32,
    pub forced: u32,
    pub tally: Tally,
}

/// Runs a world and keeps its diary.
pub fn told(scenario: Scenario, planner: Planner) -> Outcome {
    play(scenario, planner, true)
}

/// Runs a world without its diary, which is faster.
pub fn run(scenario: Scenario, planner: Planner) -> Outcome {
    play(scenario, planner, false)
}

fn play(scenario: Scenario, planner: Planner, diarist: bool) -> Outcome {
    let mut world = World::new(scenario);
    world.diarist = diarist;
    let mut processes = [Process::default(), Process::default()];
    let mut watch = Watch::default();
    let mut ticks = 0;
    let mut calm = false;
    let mut stirred = (world.now, ticks);
    loop {
        ticks += 1;
        let cut = if calm { None } else { cut_at(&world.scenario, ticks) };
        cut.iter().for_each(|cut| watch.tally.variant("cut", cut));
        let second = world.scenario.replicas && world.luck(&["replica", &ticks.to_string()]).chance(30);
        let [first, other] = &mut processes;
        let (own, other) = if second { (other, first) } else { (first, other) };
        let other = world.scenario.replicas.then_some(other);
        let ticked = own.tick(&mut world, &mut watch, Turn { planner, cut, other });
        if !watch.broken.is_empty() {
            trace::board(&mut world, &ticked.plan);
            break;
        }
        if ticked.busy || !calm {
            stirred = (world.now, ticks);
        }
        let over = calm && world.now > world.scenario.calm + Watch::bound(&world);
        let days = SignedDuration::from_hours(24 * MOST_DAYS_OF_NOTHING);
        let idle = world.now > stirred.0 + days || ticks > stirred.1 + MOST_LOOKS_AT_NOTHING;
        if (over || idle || ticks > MOST_TICKS) && calm && world.scenario.mode == Mode::Silent {
            // Where nobody answers, windows go on ringing, and half of a climb is watched for good.
            watch.arrives(&mut world, &ticked.plan);
            break;
        }
        if ticks > MOST_TICKS || over {
            trace::board(&mut world, &ticked.plan);
            watch.broken.push(format!("L1 no rest after {ticks} looks at {}", world.now));
            break;
        }
        match next_look(&world, &ticked, calm, ticks) {
            Some(next) if calm || next < world.scenario.calm => world.advance(next),
            Some(_) | None if !calm && world.scenario.mode != Mode::Safety => {
                world.advance(world.scenario.calm);
                world.calm_down();
                calm = true;
            }
            Some(_) | None if !calm => break,
            Some(_) | None => {
                let last = rests(&mut world, &mut processes[0], &mut watch, planner);
                watch.arrives(&mut world, &last.plan);
                let last = begin_anew(&mut world, &mut watch, planner).unwrap_or(last);
                if !watch.broken.is_empty() {
                    trace::board(&mut world, &last.plan);
                }
                break;
            }
        }
    }
    outcome(world, watch, ticks)
}

/// L8 and L9: at rest a process begins anew with what the ledger branch holds; and in some worlds with nothing,
/// because the branch is gone and somebody gives it up.
fn begin_anew(world: &mut World, watch: &mut Watch, planner: Planner) -> Option<Ticked> {
    let mut process = Process::default();
    let look = |world: &mut World, watch: &mut Watch, process: &mut Process| {
        process.tick(world, watch, Turn { planner, cut: None, other: None })
    };
    let mut last = look(world, watch, &mut process);
    watch.begins_anew(world, &last.plan);
    let lose = world.scenario.mode == Mode::Answered && world.luck(&["lost at rest"]).chance(20);
    if !lose || watch.waiting || !watch.broken.is_empty() {
        return Some(last);
    }
    let (base, pulls) = (held(world), world.pulls.len());
    world.note("the ledger branch is deleted");
    world.branch.lose(usize::MAX);
    world.losses += 1;
    for _ in 0..MOST_TICKS_ANEW {
        crate::people::give_up_the_lost(world, true);
        last = look(world, watch, &mut process);
        let soon = world.now + SignedDuration::from_secs(30);
        match &last.plan.alarm {
            _ if !watch.broken.is_empty() => return Some(last),
            _ if last.busy => world.advance(soon),
            Some(alarm) => world.advance(alarm.at.max(soon)),
            None => {
                watch.forgets_nothing(world, &base, pulls);
                watch.arrives(world, &last.plan);
                return Some(last);
            }
        }
    }
    watch.broken.push(format!("L9 no rest after the ledger was lost, at {}", world.now));
    Some(last)
}

fn outcome(world: World, mut watch: Watch, ticks: u32) -> Outcome {
    let merged = |pull: &&crate::pulls::PullRequest| pull.closed.as_ref().is_some_and(|closed| closed.merged.is_some());
    let merges = world.pulls.iter().filter(merged).count();
    watch.tally.add(&world.tally);
    Outcome {
        broken: watch.broken,
        diary: world.diary,
        ticks,
        merges: merges as u32,
        forced: watch.forced,
        tally: watch.tally,
    }
}

fn cut_at(scenario: &Scenario, tick: u32) -> Option<Cut> {
    scenario.cuts.iter().find(|(at, _)| *at == tick).map(|(_, cut)| *cut)
}

/// When the bot looks again: soon after it did something, else at its alarm; before the calm also
/// when somebody rings, and sometimes far too late.
fn next_look(world: &World, ticked: &Ticked, calm: bool, ticks: u32) -> Option<Timestamp> {
    let mut luck = world.luck(&["look", &ticks.to_string()]);
    if ticked.busy {
        return Some(world.now + SignedDuration::from_secs(luck.range(2, 40) as i64));
    }
    let off = SignedDuration::from_secs(world.off());
    let alarm = ticked.plan.alarm.as_ref().map(|alarm| alarm.at - off);
    if calm {
        return [alarm, world.next_in_the_calm()].into_iter().flatten().min();
    }
    let next = [alarm, world.next_ring()].into_iter().flatten().min()?;
    let late = if luck.chance(4) { luck.minutes(1, 9 * 60) } else { SignedDuration::ZERO };
    Some(next.max(world.now + SignedDuration::from_secs(1)) + late)
}

/// L4: looks hours and days later, when nothing is left to do.
fn rests(world: &mut World, process: &mut Process, watch: &mut Watch, planner: Planner) -> Ticked {
    let look = |world: &mut World, watch: &mut Watch, process: &mut Process| {
        process.tick(world, watch, Turn { planner, cut: None, other: None })
    };
    // The other process may have had the last word: this one reads it first.
    let mut last = look(world, watch, process);
    for hours in [1, 24, 24 * 9] {
        world.advance(world.now + SignedDuration::from_hours(hours));
        last = look(world, watch, process);
        watch.rests(world, hours, &last.plan);
    }
    last
}
