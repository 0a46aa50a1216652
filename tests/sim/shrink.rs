//! Makes a failing world smaller: leaves out happenings and cuts as long as the same invariant breaks.

use crate::Planner;
use crate::run::{Outcome, run, told};
use crate::scenario::Scenario;

/// Runs that a shrinking may cost.
const TRIES: u32 = 120;

/// The smallest world found that breaks the same invariant, and what came of it.
pub fn shrink(scenario: &Scenario, broken: &str, planner: Planner) -> (Scenario, Outcome) {
    let invariant = broken.split(' ').next().unwrap_or(broken);
    let same = |outcome: &Outcome| outcome.broken.iter().any(|broken| broken.split(' ').next() == Some(invariant));
    let mut best = scenario.clone();
    let mut outcome = run(best.clone(), planner);
    let mut tries = 0;
    let mut chunk = (best.happenings.len() + best.cuts.len()).max(1);
    while chunk > 0 && tries < TRIES {
        let mut at = 0;
        while at < best.happenings.len() + best.cuts.len() && tries < TRIES {
            tries += 1;
            let smaller = without(&best, at, chunk);
            let attempt = run(smaller.clone(), planner);
            if same(&attempt) {
                (best, outcome) = (smaller, attempt);
            } else {
                at += chunk;
            }
        }
        chunk /= 2;
    }
    // Once more, with its diary.
    outcome = if outcome.diary.is_empty() { told(best.clone(), planner) } else { outcome };
    (best, outcome)
}

/// The scenario without `chunk` of its happenings and cuts from the index `at` on.
fn without(scenario: &Scenario, at: usize, chunk: usize) -> Scenario {
    let mut smaller = scenario.clone();
    let gone = at..at + chunk;
    let happenings = scenario.happenings.len();
    smaller.happenings = keep(&scenario.happenings, |index| !gone.contains(&index));
    smaller.cuts = keep(&scenario.cuts, |index| !gone.contains(&(index + happenings)));
    smaller
}

fn keep<T: Clone>(items: &[T], stays: impl Fn(usize) -> bool) -> Vec<T> {
    items.iter().enumerate().filter(|(index, _)| stays(*index)).map(|(_, item)| item.clone()).collect()
}
