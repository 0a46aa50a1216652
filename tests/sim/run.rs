//! Runs one world from its first instant to the calm and on until nothing moves any more.

use jiff::{SignedDuration, Timestamp};

use crate::check::Watch;
use crate::hand::{Process, Ticked};
use crate::scenario::{Cut, Scenario};
use crate::world::World;
use crate::{Planner, trace};

/// Looks in one world beyond which something must be wrong.
const MOST_TICKS: u32 = 12_000;
/// How long after the calm began everything must have come to rest.
const REST: SignedDuration = SignedDuration::from_hours(24 * 60);

/// What came of a world.
pub struct Outcome {
    pub broken: Vec<String>,
    pub diary: Vec<(Timestamp, String)>,
    pub ticks: u32,
    pub merges: u32,
    pub forced: u32,
}

pub fn run(scenario: Scenario, planner: Planner) -> Outcome {
    let mut world = World::new(scenario);
    let mut process = Process::new();
    let mut watch = Watch::default();
    let mut ticks = 0;
    let mut calm = false;
    loop {
        ticks += 1;
        let cut = if calm { None } else { cut_at(&world.scenario, ticks) };
        let ticked = process.tick(&mut world, &mut watch, planner, cut);
        if !watch.broken.is_empty() {
            trace::board(&mut world, &ticked.plan);
            break;
        }
        if ticks > MOST_TICKS || world.now > world.scenario.calm + REST {
            trace::board(&mut world, &ticked.plan);
            watch.broken.push(format!("L1 no rest after {ticks} looks at {}", world.now));
            break;
        }
        match next_look(&world, &ticked, calm, ticks) {
            Some(next) if calm || next < world.scenario.calm => world.advance(next),
            Some(_) | None if !calm => {
                world.advance(world.scenario.calm);
                world.calm_down();
                calm = true;
            }
            Some(_) | None => {
                rests(&mut world, &mut process, &mut watch, planner);
                arrives(&mut world, &mut watch, &ticked);
                break;
            }
        }
    }
    let merges =
        world.pulls.iter().filter(|pull| pull.closed.as_ref().is_some_and(|closed| closed.merged.is_some())).count();
    let waves = process.memory.plugins.values().flat_map(|page| page.tiers.values().flatten());
    let forced = waves.filter(|wave| wave.merging.as_ref().is_some_and(|merging| merging.forced.is_some())).count();
    Outcome { broken: watch.broken, diary: world.diary, ticks, merges: merges as u32, forced: forced as u32 }
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
    let alarm = ticked.plan.alarm.as_ref().map(|alarm| alarm.at);
    if calm {
        return alarm;
    }
    let next = [alarm, world.next_ring()].into_iter().flatten().min()?;
    let late = if luck.chance(4) { luck.minutes(1, 9 * 60) } else { SignedDuration::ZERO };
    Some(next.max(world.now + SignedDuration::from_secs(1)) + late)
}

/// L4: once everything has arrived, nothing is done and nothing is written, whenever one looks.
fn rests(world: &mut World, process: &mut Process, watch: &mut Watch, planner: Planner) {
    for hours in [1, 24, 24 * 9] {
        world.advance(world.now + SignedDuration::from_hours(hours));
        let ticked = process.tick(world, watch, planner, None);
        if !ticked.plan.actions.is_empty() || !ticked.plan.entries.is_empty() {
            let what = format!("L4 no rest {hours} h later: {:?} {:?}", ticked.plan.actions, ticked.plan.entries);
            watch.broken.push(what);
            trace::board(world, &ticked.plan);
            return;
        }
    }
}

/// L1: after the calm, with nothing but its own alarms, the newest release is on every tier.
fn arrives(world: &mut World, watch: &mut Watch, ticked: &Ticked) {
    let mut missing = Vec::new();
    for ((plugin, tier), places) in &world.base {
        let newest = world.accepted(plugin).into_iter().max();
        for place in places.iter().filter(|place| Some(&place.version) != newest.as_ref()) {
            missing.push(format!("L1 {plugin} on {tier} stays on {} and the newest is {newest:?}", place.version));
        }
    }
    if !missing.is_empty() {
        trace::board(world, &ticked.plan);
        watch.broken.extend(missing);
    }
}
