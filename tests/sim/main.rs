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

#[test]
fn worlds_keep_the_invariants_and_come_to_rest() {
    let first = number("COLDFRAME_SIM_SEED", 1);
    let worlds = number("COLDFRAME_SIM_WORLDS", WORLDS);
    let (mut ticks, mut merges, mut forced) = (0, 0, 0);
    for seed in first..first + worlds {
        let scenario = Scenario::draw(seed);
        let outcome = run::run(scenario.clone(), decide::plan);
        if !outcome.broken.is_empty() {
            let (small, outcome) = shrink::shrink(&scenario, &outcome.broken[0], decide::plan);
            let again = format!("COLDFRAME_SIM_SEED={seed} COLDFRAME_SIM_WORLDS=1 cargo test --test sim");
            panic!("\n{}\nrun it again: {again}", trace::report(&small, &outcome));
        }
        ticks += outcome.ticks;
        merges += outcome.merges;
        forced += outcome.forced;
    }
    println!("{worlds} worlds from seed {first}: {ticks} looks, {merges} merges, {forced} of them by force");
    assert!(worlds < 200 || (merges > 200 && forced > 10), "these worlds are too quiet to prove anything");
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let diary = |seed| run::run(Scenario::draw(seed), decide::plan).diary;
    assert_eq!(diary(7), diary(7));
    assert_ne!(diary(7), diary(8));
}
