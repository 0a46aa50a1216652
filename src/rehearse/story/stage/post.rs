//! Who is told of what happens in a story, as `notify` of its policy says. How it would travel is not here.

use std::collections::BTreeSet;

use decide::Ledger;
use decide::plan::Plan;
use jiff::tz::TimeZone;

use crate::rehearse::world::World;
use crate::tell::notify::{Blocked, Known, News, blocked};

/// How far people were told.
pub(super) struct Post {
    zone: TimeZone,
    ledger: Ledger,
    blocked: BTreeSet<Blocked>,
}

impl Post {
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, ledger: Ledger::default(), blocked: BTreeSet::new() }
    }

    /// A line for everything that somebody is told now.
    pub fn letters(&mut self, world: &World, plan: &Plan) -> Vec<String> {
        if world.notify.is_empty() {
            return Vec::new();
        }
        let (policy, ledger) = (&world.snapshot.policy, &world.snapshot.ledger);
        let stuck = blocked(plan, &world.notify);
        let keys = stuck.keys().cloned().collect();
        let known = Known { ledger: &self.ledger, blocked: &self.blocked };
        let news = known.news(ledger, stuck, policy, &world.notify, |_, _| self.zone.clone());
        self.ledger.clone_from(ledger);
        self.blocked = keys;
        let to = |news: &News| {
            let whom = world.notify.iter().filter(|notify| news.is_for(notify)).map(|notify| notify.to.name());
            let whom: BTreeSet<String> = whom.collect();
            whom.into_iter().map(|whom| format!("✉ {whom}: {} {}", news.subject(), news.text)).collect::<Vec<_>>()
        };
        news.iter().flat_map(to).collect()
    }
}
