//! The simulator as a program: many worlds, or the matrix of planted bugs.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::ExitCode;

use decide::plan::Plan;
use decide::snapshot::Snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::{DAYS, Draw, cores, draw, first_of, planted, run, worlds};

const USAGE: &str = "usage: sim worlds [--worlds N] [--seed S] [--days D] [--jobs J] [--crowded 0|1|2] [--even 0|1]
       sim survey [--worlds N] [--seed S] [--days D] [--jobs J] [--crowded 0|1|2] [--even 0|1]
       sim plans [--worlds N] [--seed S] [--days D]
       sim kill-matrix [--worlds N] [--days D] [--jobs J]
Runs seeded worlds through the planner up to the first failure; lists every failing seed; prints a digest of all plans of
each world, by which two builds are compared; or looks for each planted bug within N worlds.";

struct Wishes {
    worlds: Option<u64>,
    seed: u64,
    days: u64,
    jobs: usize,
    /// How much happens in one world: 0 what people know, 1 all at once, 2 with all losses of the ledger too.
    crowded: u64,
    /// Of the worlds whose readings are good for a few minutes, which take ten times as many looks, one in ten.
    even: bool,
}

impl Wishes {
    fn draw(&self) -> Draw {
        match self.crowded {
            0 => draw::draw,
            1 => draw::crowded,
            _ => draw::any,
        }
    }

    fn wanted(&self) -> fn(&Scenario) -> bool {
        match self.even {
            false => |_| true,
            true => |world| {
                let short = world.tiers()[0].health.max_age < SignedDuration::from_mins(20);
                !short || Rng::fate(world.seed, &["even"]).chance(10)
            },
        }
    }
}

pub fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let Some(wishes) = read(words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match what.as_str() {
        "worlds" => run(&wishes),
        "survey" => survey(&wishes),
        "plans" => plans(&wishes),
        "kill-matrix" => kill(&wishes),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn read(mut words: impl Iterator<Item = String>) -> Option<Wishes> {
    let mut wishes = Wishes { worlds: None, seed: 1, days: DAYS, jobs: cores(), crowded: 0, even: false };
    while let Some(word) = words.next() {
        let number: u64 = words.next()?.parse().ok()?;
        match word.as_str() {
            "--worlds" => wishes.worlds = Some(number),
            "--seed" => wishes.seed = number,
            "--days" => wishes.days = number.max(1),
            "--crowded" => wishes.crowded = number,
            "--even" => wishes.even = number > 0,
            "--jobs" => wishes.jobs = (number as usize).max(1),
            _ => return None,
        }
    }
    Some(wishes)
}

#[allow(clippy::disallowed_methods)] // how fast it is; nothing in a world asks it
fn run(wishes: &Wishes) -> ExitCode {
    let begun = std::time::Instant::now();
    let seeds = wishes.seed..wishes.seed + wishes.worlds.unwrap_or(1_000);
    let (story, sums) = worlds(seeds.clone(), wishes.days, wishes.jobs, (wishes.draw(), wishes.wanted()));
    let seconds = begun.elapsed().as_secs_f64().max(0.001);
    print!("{}", sums.tally.table());
    let silent = sums.tally.silent();
    if silent.is_empty() {
        println!("every reason, action and fault occurred");
    } else {
        println!("never occurred: {}", silent.join(", "));
    }
    println!(
        "{} worlds of {} days from seed {}: {} looks, {} merges, {} forced",
        sums.worlds, wishes.days, seeds.start, sums.looks, sums.merges, sums.forced
    );
    println!(
        "{:.1} worlds/s, {:.0} looks/s, {seconds:.0} s",
        sums.worlds as f64 / seconds,
        sums.looks as f64 / seconds
    );
    match story {
        None => ExitCode::SUCCESS,
        Some(story) => {
            println!("\n{story}");
            ExitCode::FAILURE
        }
    }
}

/// Every failing seed with what it broke first, and how often everything occurred.
fn survey(wishes: &Wishes) -> ExitCode {
    let failures = std::sync::Mutex::new(0);
    let tally = std::sync::Mutex::new((0_u64, crate::tally::Tally::default()));
    let seeds = wishes.seed..wishes.seed + wishes.worlds.unwrap_or(1_000);
    first_of(seeds, wishes.jobs, |seed| {
        let world = Some(wishes.draw()(seed, wishes.days)).filter(wishes.wanted())?;
        let outcome = run::run(world, decide::plan);
        {
            let (worlds, tally) = &mut *tally.lock().unwrap();
            tally.add(&outcome.tally);
            *worlds += 1;
            if worlds.is_multiple_of(1_000) {
                eprintln!("{worlds} worlds");
            }
        }
        if let Some(what) = outcome.broken.into_iter().next() {
            println!("{seed:>7}  {}", what.chars().take(200).collect::<String>());
            *failures.lock().unwrap() += 1;
        }
        None::<()>
    });
    let (failures, (worlds, tally)) = (failures.into_inner().unwrap(), tally.into_inner().unwrap());
    print!("{}", tally.table());
    println!("never occurred: {}", tally.silent().join(", "));
    println!("{failures} of {worlds} worlds failed");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

thread_local! {
    /// Of every plan of this world, as text.
    static PLANS: RefCell<DefaultHasher> = RefCell::new(DefaultHasher::new());
}

/// The planner, each of whose plans goes into the digest.
fn digested(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let plan = decide::plan(snapshot, now);
    PLANS.with_borrow_mut(|digest| format!("{plan:?}").hash(digest));
    plan
}

fn plans(wishes: &Wishes) -> ExitCode {
    for seed in wishes.seed..wishes.seed + wishes.worlds.unwrap_or(1_000) {
        PLANS.set(DefaultHasher::new());
        let outcome = run::run(wishes.draw()(seed, wishes.days), digested);
        println!("{seed} {} {:016x}", outcome.ticks, PLANS.with_borrow(DefaultHasher::finish));
    }
    ExitCode::SUCCESS
}

fn kill(wishes: &Wishes) -> ExitCode {
    let rows = planted::matrix(wishes.days, wishes.worlds.unwrap_or(planted::BUDGET), wishes.jobs);
    let killed = rows.iter().filter(|row| row.found.is_some()).count();
    println!("killed {killed} of {}", rows.len());
    if killed == rows.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
