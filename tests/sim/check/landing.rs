//! What did not land as planned stops everything (S14), words of the last moment are heard (S9), only what was planned
//! is merged (S6), and a refused merge is not asked for all the time (L5).

use std::collections::BTreeMap;

use decide::plan::Plan;
use decide::snapshot::{Landing, LedgerState, PullState, Read, Snapshot};
use jiff::{SignedDuration, Timestamp};

use super::{Watch, pull_of};
use crate::world::World;

/// Merges of one head within a day, beyond which somebody asks all the time.
const MOST_TRIES: usize = 12;

/// When merges of a head were refused.
pub(super) type Tries = BTreeMap<String, Vec<Timestamp>>;

impl Watch {
    /// The hub refused a merge, or git did not prove the head.
    pub fn is_refused(&mut self, world: &mut World, head: &str) {
        let (now, day) = (world.now, SignedDuration::from_hours(24));
        let tries = self.tries.entry(head.to_string()).or_default();
        tries.retain(|at| now < *at + day);
        tries.push(now);
        if tries.len() > MOST_TRIES * (1 + world.losses as usize) {
            let what = format!("L5 {} merges of {} within a day, all refused", tries.len(), &head[..7]);
            tries.clear();
            self.fails(world, what);
        }
    }

    /// S14: where the bot was shown that a merge of its own did not land as planned, it does nothing until somebody who
    /// may has cleared that. What a lost ledger has forgotten it cannot know.
    pub(super) fn stops_after_a_lie(&mut self, world: &mut World, shown: &Snapshot, plan: &Plan) {
        if plan.actions.is_empty() || !matches!(shown.ledger_state, LedgerState::Intact { .. }) {
            return;
        }
        let stands = world.merges.lies.iter().filter(|lie| !lie.cleared && lie.losses == world.losses);
        let lies: Vec<(u64, String)> = stands.map(|lie| (lie.pull, lie.head.clone())).collect();
        for (number, head) in lies {
            let pull = &world.pulls[number as usize - 1];
            let (spot, open) = (&pull.spot.0, pull.is_open());
            let seen = pull_of(shown, spot, number).is_some_and(|seen| {
                let wrong = matches!(seen.landing, Read::Known(Landing::Wrong { .. }));
                // A list that lags behind shows as open what the hub has merged since.
                let in_vain = open && seen.state == PullState::Open && seen.head.as_str() == head;
                wrong || in_vain || matches!(seen.state, PullState::Merged { .. })
            });
            if seen {
                self.fails(
                    world,
                    format!("S14 #{number} has not landed as planned, and it goes on: {:?}", plan.actions),
                );
            }
        }
    }

    /// S9 and S6 once more, by what is true at the moment of the call, whatever was shown.
    pub(super) fn is_true_at_the_call(&mut self, world: &mut World, number: u64) {
        let Some(pull) = world.pulls.iter().find(|pull| pull.number == number) else { return };
        let (now, doctored) = (pull.shown(world), pull.doctored);
        let told = world.cannot_read(crate::scenario::Unreadable::Rights);
        if !told && super::merge::held(&now) {
            self.fails(world, format!("S9 merges #{number} though somebody holds it"));
        }
        if doctored {
            self.fails(world, format!("S6 merges #{number}, which holds something else than was planned"));
        }
    }
}
