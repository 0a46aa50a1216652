//! Bugs planted on purpose: the planner is told lies, or its plan is bent, and the checkers have to
//! notice. A checker that notices none of its bugs checks nothing.

mod facts;
mod merges;
mod rare;
mod rules;

use std::fmt;

use crate::merges::Hand;
use crate::run::run;
use crate::scenario::Scenario;
use crate::{Planner, draw, first_of};

/// Worlds within which each bug has to be found; by a quick look, and by a thorough one.
#[cfg(test)]
pub const QUICK: u64 = 4;
#[cfg(not(test))]
pub const BUDGET: u64 = 4_000;

/// A bug, how it is planted, and the invariants that it breaks.
pub type Bug = (&'static str, Planner, &'static [&'static str]);

/// What became of a planted bug.
pub struct Row {
    pub bug: &'static str,
    /// The invariant that found it, and at which seed.
    pub found: Option<(&'static str, u64)>,
    pub seconds: f64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some((by, seed)) => {
                write!(f, "{:<44} {by:<6} seed {seed:<6} {seed:>5} worlds {:>7.1} s", self.bug, self.seconds)
            }
            None => write!(f, "{:<44} SURVIVED {:>29.1} s", self.bug, self.seconds),
        }
    }
}

/// Looks for every planted bug in crowded worlds, which show the most.
#[allow(clippy::disallowed_methods)] // how long it took; nothing in a world asks it
pub fn matrix(days: u64, worlds: u64, jobs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let bugs = facts::BUGS.iter().chain(rules::BUGS).chain(rare::BUGS).chain(merges::BUGS);
    let bugs = bugs.map(|(bug, planner, invariants)| (*bug, *planner, Hand::Careful, *invariants));
    let hands = merges::HANDS.iter().map(|(bug, hand, invariants)| (*bug, decide::plan as Planner, *hand, *invariants));
    for (bug, planner, hand, invariants) in bugs.chain(hands) {
        let begun = std::time::Instant::now();
        let found = first_of(1..worlds + 1, jobs, |seed| {
            let broken = run(Scenario { hand, ..draw::crowded(seed, days) }, planner).broken;
            broken.iter().find_map(|what| invariants.iter().find(|name| what.starts_with(&format!("{name} "))).copied())
        });
        let row = Row { bug, found: found.map(|(seed, by)| (by, seed)), seconds: begun.elapsed().as_secs_f64() };
        #[cfg(not(test))]
        println!("{row}");
        rows.push(row);
    }
    rows
}
