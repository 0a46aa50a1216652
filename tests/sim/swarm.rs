//! Takes so much from a crowded world that what is left is one that people know: each kind of act and of fault
//! comes in half of the worlds, and none has many of all. Ordinary life (releases, reviews, webhooks) stays.

use jiff::Timestamp;

use crate::rng::Rng;
use crate::scenario::{Happening, Scenario};
use crate::tally::name_of;

/// What somebody does beyond reviews: at least so many in a world.
const FEWEST_ACTS: usize = 10;

/// Leaves a crowded world half of the kinds of what happens to it, and not many of each.
pub fn thin(scenario: &mut Scenario) {
    let seed = scenario.seed;
    let mut rng = Rng::fate(seed, &["swarm"]);
    let (acts, faults) = (rng.range(FEWEST_ACTS as u64, 24) as usize, rng.range(0, 16) as usize);
    let cuts = rng.range(0, 16) as usize;
    let all = std::mem::take(&mut scenario.happenings);
    let (mut life, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, what)| ordinary(what));
    let (faulty, human): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, what)| fault(what));
    life.extend(chosen(seed, human, acts, FEWEST_ACTS));
    life.extend(chosen(seed, faulty, faults, 0));
    life.sort_by_key(|(at, _)| *at);
    scenario.happenings = life;
    while scenario.cuts.len() > cuts {
        let at = rng.range(0, scenario.cuts.len() as u64 - 1) as usize;
        scenario.cuts.remove(at);
    }
}

/// At most so many, of the kinds that this world has; of others only where there are fewer than it takes.
fn chosen(seed: u64, all: Vec<(Timestamp, Happening)>, most: usize, fewest: usize) -> Vec<(Timestamp, Happening)> {
    let has = |what: &Happening| Rng::fate(seed, &["swarm", &name_of(what)]).chance(50);
    let mut ranked: Vec<_> = all
        .into_iter()
        .enumerate()
        .map(|(at, thing)| (!has(&thing.1), Rng::fate(seed, &["swarm", &at.to_string()]).next(), thing))
        .collect();
    ranked.sort_by_key(|(strange, luck, _)| (*strange, *luck));
    let kept = ranked.iter().filter(|(strange, ..)| !strange).count().min(most).max(fewest);
    ranked.into_iter().take(kept).map(|(.., thing)| thing).collect()
}

fn ordinary(what: &Happening) -> bool {
    use Happening::{Publish, Retag, Review, Ring, Yank};
    matches!(what, Publish { .. } | Retag { .. } | Yank { .. } | Review { .. } | Ring)
}

fn fault(what: &Happening) -> bool {
    use Happening::{
        Flap, Join, Lag, Leave, Lie, LoseLedger, NoDigests, NoInventory, NoRegistry, Outage, Retier, Skew, Suspend,
        Unreadable, Vanish, WrongMissing,
    };
    matches!(
        what,
        Flap { .. }
            | Join { .. }
            | Lag { .. }
            | Leave { .. }
            | Lie { .. }
            | LoseLedger { .. }
            | NoDigests { .. }
            | NoInventory { .. }
            | NoRegistry { .. }
            | Outage { .. }
            | Retier { .. }
            | Skew { .. }
            | Suspend { .. }
            | Unreadable { .. }
            | Vanish { .. }
            | WrongMissing { .. }
    )
}
