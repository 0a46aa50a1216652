//! How a rehearsal goes on: it jumps from one event or alarm to the next and never ticks. What the planner
//! says is carried out in `hand`.

use decide::PluginName;
use decide::plan::{Members, Plan, Urgency};
use decide::snapshot::{LedgerState, PluginFacts, Read};
use jiff::{SignedDuration, Timestamp};

use super::world::{Due, World};
use super::{fleet, hand, hub, trouble, workflows};
use crate::observe::needed;
use crate::tell::reasons;

/// Looks at one instant after which something must be wrong with the policy or with us.
const MOST_LOOKS: usize = 200;
/// The longest that the bot waits before it looks again: twice as long each time nothing moved.
const LATE: SignedDuration = SignedDuration::from_hours(12);

/// The bot did not come to rest at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Restless(pub Timestamp);

impl World {
    /// When something happens by itself, or the bot's alarm rings.
    pub fn next(&self, plan: &Plan) -> Option<Timestamp> {
        let queued = self.queue.keys().next().map(|(at, _)| *at);
        let alarm = plan.alarm.as_ref().map(|alarm| alarm.at);
        let next = [queued, alarm].into_iter().flatten().min()?;
        Some(next.max(self.now))
    }

    /// Goes to `at` and lets happen what is due by then.
    pub fn go_to(&mut self, at: Timestamp) {
        self.now = self.now.max(at);
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            match entry.remove() {
                Due::Rollout { cluster, plugin, asked, to, arrives } => {
                    fleet::roll_on(self, &cluster, &plugin, asked, &to, arrives);
                    self.stir();
                }
                Due::Approve { pull, head, who } => hub::approve_head(self, pull, &head, &who),
                Due::Run { id } => workflows::end(self, &id),
                Due::Look => {}
            }
        }
    }

    /// The bot looks, decides and acts until it has nothing more to do now; its last plan.
    pub fn settle(&mut self) -> Result<Plan, Restless> {
        let began = self.now;
        for _ in 0..MOST_LOOKS {
            self.show();
            let plan = decide::plan(&self.snapshot, self.now);
            debug_assert_eq!(decided(&plan), decided(&self.by_a_run()), "a run that ends decides something else");
            if let Some(occasions) = &mut self.occasions {
                occasions.extend(reasons::occasions(&plan));
            }
            let moved =
                !plan.actions.is_empty() || plan.entries.iter().any(|record| record.urgency == Urgency::Transition);
            let pressed = hand::carry_out(self, &plan) && hub::press_buttons(self, &plan);
            if !moved && !pressed {
                if self.restless {
                    self.snapshot.look_again = (self.snapshot.look_again * 2).min(LATE);
                }
                return Ok(plan);
            }
            self.stir();
            self.now += SignedDuration::from_secs(1);
            self.go_to(self.now);
        }
        Err(Restless(began))
    }

    /// What a run that ends would decide: it asks fewer clusters.
    fn by_a_run(&mut self) -> Plan {
        let readings = |facts: &PluginFacts| facts.readings.clone();
        let asked: Vec<_> = self.snapshot.plugins.values().map(readings).collect();
        needed::keep_what_is_needed(&mut self.snapshot, self.now);
        let plan = decide::plan(&self.snapshot, self.now);
        self.snapshot.plugins.values_mut().zip(asked).for_each(|(facts, asked)| facts.readings = asked);
        plan
    }

    /// What the bot sees now.
    fn show(&mut self) {
        let plugins: Vec<PluginName> = self.snapshot.policy.plugins.iter().map(|plugin| plugin.name.clone()).collect();
        let silent = self.hub.silent;
        let unread = || "the hub does not answer".to_string();
        self.snapshot.ledger_state = if silent { LedgerState::Unread(unread()) } else { trouble::ledger(self) };
        self.snapshot.clusters = if silent { Read::Unread(unread()) } else { Read::Known(self.fleet.clusters.clone()) };
        for plugin in plugins {
            let base = if silent { Read::Unread(unread()) } else { Read::Known(hub::base(self, &plugin)) };
            let pulls = if silent { Read::Unread(unread()) } else { Read::Known(hub::pulls(self, &plugin)) };
            let runs = if silent { Read::Unread(unread()) } else { workflows::shown(self, &plugin) };
            let readings = fleet::readings(self, &plugin);
            let facts = self.facts(&plugin);
            (facts.base, facts.pulls, facts.readings, facts.runs) = (base, pulls, readings, runs);
        }
    }
}

/// A plan but for how each member is, which decides nothing by itself.
fn decided(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.waves.iter_mut().for_each(|wave| wave.members = Members::default());
    plan
}
