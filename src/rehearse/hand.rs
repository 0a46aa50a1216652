//! The bot's hands in a rehearsal: entries into its memory first, then one effect after the other, the
//! first refusal ends the list. No decision is made here.

use decide::ledger::{Change, Head, Merging};
use decide::plan::{Plan, Proposal};
use decide::snapshot::{PullState, SentNotice};
use decide::{Action, Entry, Ledger, PluginLedger, Sha, Version};

use super::diary::{Noted, Spot};
use super::world::World;
use super::{hub, workflows};
use crate::ledger::compact;

/// Carries a plan out. Whether the hub answered.
pub(super) fn carry_out(world: &mut World, plan: &Plan) -> bool {
    if world.hub.silent {
        return false;
    }
    for record in &plan.entries {
        world.snapshot.ledger.apply(&record.entry);
        world.note(Noted::Entry(Box::new(record.entry.clone())));
    }
    forget(&mut world.snapshot.ledger);
    for action in &plan.actions {
        if !act(world, action) {
            break;
        }
    }
    true
}

/// Waves of one tier that are kept before the past is shortened.
const LONG: usize = 40;

/// Forgets of a long past what the ledger branch forgets, so that no look gets slower with the years. Once in a
/// while is enough.
fn forget(ledger: &mut Ledger) {
    let is_long = |page: &&mut PluginLedger| page.tiers.values().any(|waves| waves.len() > LONG);
    ledger.plugins.values_mut().filter(is_long).for_each(compact::tiers);
}

/// One effect; whether the hub did it.
fn act(world: &mut World, action: &Action) -> bool {
    match action {
        Action::Open(proposal) => {
            let spot = spot_of(proposal);
            if world.hub.open_pull(&spot.0, &spot.1).is_some() {
                return false;
            }
            let head = write(world, &spot, proposal);
            hub::open(world, &spot, &head);
            true
        }
        Action::Update { pull, head, proposal } => {
            let spot = spot_of(proposal);
            if !is_at(world, pull.0, head) {
                return false;
            }
            let commit = write(world, &spot, proposal);
            hub::move_to(world, &spot, pull.0, &commit);
            true
        }
        Action::Merge { plugin, tier, version, pull, head, via: _, forced } => {
            let merging = Merging { head: head.clone(), at: world.now, base: None, forced: forced.clone() };
            remember(world, &(plugin.clone(), tier.clone()), version, Change::Merging(merging));
            is_at(world, pull.0, head) && hub::merge(world, pull.0, &hub::bot(), forced.is_some())
        }
        Action::Close { plugin: _, tier: _, pull, head, why } => {
            if !is_at(world, pull.0, head) {
                return false;
            }
            hub::close(world, pull.0, &hub::bot());
            world.note(Noted::Closed { pull: pull.0, why: why.to_string() });
            true
        }
        Action::Dispatch { plugin, tier, version, workflow, verification, .. } => {
            let intent = Change::Dispatching(verification.clone());
            remember(world, &(plugin.clone(), tier.clone()), version, intent);
            workflows::dispatch(world, plugin, workflow, &verification.id);
            true
        }
        Action::Notice { plugin, tier, version, pull, before, deadline, .. } => {
            let now = world.hub_now();
            let Some(pull) = world.hub.pull_mut(pull.0).filter(|pull| pull.state == PullState::Open) else {
                return false;
            };
            pull.notices.push(SentNotice { before: *before, at: now });
            let spot = (plugin.clone(), tier.clone());
            let (version, before, deadline) = (version.clone(), *before, *deadline);
            world.note(Noted::Notice { spot, version, before, deadline });
            true
        }
    }
}

fn spot_of(proposal: &Proposal) -> Spot {
    (proposal.plugin.clone(), proposal.tier.clone())
}

/// Whether a pull request is open and its branch is where the plan saw it.
fn is_at(world: &mut World, number: u64, head: &Sha) -> bool {
    world.hub.pull_mut(number).is_some_and(|pull| pull.state == PullState::Open && pull.head == *head)
}

/// Writes the commit unless it is written; the intent comes first.
fn write(world: &mut World, spot: &Spot, proposal: &Proposal) -> Sha {
    if let Some(head) = &proposal.written
        && world.hub.has(&head.commit)
    {
        return head.commit.clone();
    }
    let commit = hub::write(world, spot, &proposal.to, &proposal.members);
    let intent = Change::Intent {
        from: proposal.from.clone(),
        digest: proposal.digest.clone(),
        part: proposal.part.clone(),
        members: proposal.members.clone(),
        head: Head { commit: commit.clone(), at: world.now, repeats: false },
    };
    remember(world, spot, &proposal.to, intent);
    commit
}

fn remember(world: &mut World, (plugin, tier): &Spot, version: &Version, change: Change) {
    let (plugin, tier, version) = (plugin.clone(), tier.clone(), version.clone());
    world.snapshot.ledger.apply(&Entry::Wave { plugin, tier, version, change });
}
