//! The simulator: seeded worlds in which everything goes wrong, driven through the planner alone.
//! `COLDFRAME_SIM_WORLDS` and `COLDFRAME_SIM_SEED` choose how many and from which seed on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::wildcard_enum_match_arm)]

mod check;
mod fleet;
mod hand;
mod look;
mod people;
mod planted;
mod pulls;
mod rng;
mod run;
mod scenario;
mod shrink;
mod trace;
mod trouble;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use decide::plan::Plan;
use decide::snapshot::Snapshot;
use jiff::Timestamp;
use scenario::Scenario;

/// What is tested: the planner, or one with a planted bug.
pub type Planner = fn(&Snapshot, Timestamp) -> Plan;

const WORLDS: u64 = 2_000;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// The first of `seeds` for which `look` finds something, looked for on every core.
pub fn first_of<T: Send>(seeds: std::ops::Range<u64>, look: impl Fn(u64) -> Option<T> + Sync) -> Option<(u64, T)> {
    let (next, found) = (AtomicU64::new(seeds.start), Mutex::new(None::<(u64, T)>));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let known = found.lock().unwrap().as_ref().map_or(seeds.end, |(known, _)| *known);
                    if seed >= known {
                        return;
                    }
                    if let Some(thing) = look(seed) {
                        let mut found = found.lock().unwrap();
                        if found.as_ref().is_none_or(|(known, _)| seed < *known) {
                            *found = Some((seed, thing));
                        }
                    }
                }
            });
        }
    });
    found.into_inner().unwrap()
}

#[test]
fn worlds_keep_the_invariants_and_come_to_rest() {
    let first = number("COLDFRAME_SIM_SEED", 1);
    let worlds = number("COLDFRAME_SIM_WORLDS", WORLDS);
    let sums: [AtomicU64; 3] = Default::default();
    let failure = first_of(first..first + worlds, |seed| {
        let outcome = run::run(Scenario::draw(seed), decide::plan);
        for (sum, count) in sums.iter().zip([outcome.ticks, outcome.merges, outcome.forced]) {
            sum.fetch_add(u64::from(count), Ordering::Relaxed);
        }
        outcome.broken.into_iter().next()
    });
    if let Some((seed, broken)) = failure {
        let (small, outcome) = shrink::shrink(&Scenario::draw(seed), &broken, decide::plan);
        let again = format!("COLDFRAME_SIM_SEED={seed} COLDFRAME_SIM_WORLDS=1 cargo test --test sim");
        panic!("\n{}\nrun it again: {again}", trace::report(&small, &outcome));
    }
    let [ticks, merges, forced] = sums.map(AtomicU64::into_inner);
    println!("{worlds} worlds from seed {first}: {ticks} looks, {merges} merges, {forced} of them by force");
    assert!(worlds < 200 || (merges > 200 && forced > 10), "these worlds are too quiet to prove anything");
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let diary = |seed| run::run(Scenario::draw(seed), decide::plan).diary;
    assert_eq!(diary(7), diary(7));
    assert_ne!(diary(7), diary(8));
}
