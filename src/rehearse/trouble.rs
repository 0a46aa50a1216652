//! What goes wrong around the bot in a rehearsal: a ledger that others can push or that loses commits,
//! sources that take releases back, ranges where versions belong. What follows is the planner's word.

use decide::ledger::Rebuild;
use decide::snapshot::{LedgerGuard, LedgerState, MissingValue, Read};
use decide::{ClusterName, PluginName, Sha, TierName, Version};

use super::world::World;

/// What the hub says of the ledger branch: a loss that somebody has given up is none.
pub(super) fn ledger(world: &World) -> LedgerState {
    let LedgerState::Lost { cited, tip } = &world.ledger else { return world.ledger.clone() };
    let given_up = |commit: &Sha| world.snapshot.ledger.rebuilds.iter().any(|Rebuild { cited, .. }| cited == commit);
    let cited: Vec<Sha> = cited.iter().filter(|commit| !given_up(commit)).cloned().collect();
    if cited.is_empty() {
        LedgerState::Intact { guarded: LedgerGuard::Sealed }
    } else {
        LedgerState::Lost { cited, tip: tip.clone() }
    }
}

/// The ledger branch loses its last commit, which pull requests cite.
pub(super) fn lose(world: &mut World) {
    let cited = vec![world.commit()];
    world.ledger = LedgerState::Lost { cited, tip: None };
}

/// The source does not list a release any more. Whether it did.
pub(super) fn yank(world: &mut World, plugin: &PluginName, version: &Version) -> bool {
    let Read::Known(releases) = &mut world.facts(plugin).releases else { return false };
    let before = releases.len();
    releases.retain(|release| release.version != *version);
    releases.len() < before
}

/// The config of a cluster lacks, or has again, a value that a release requires. Whether there is one.
pub(super) fn value(
    world: &mut World,
    cluster: &ClusterName,
    plugin: &PluginName,
    (version, option): (&Version, &str),
    lacks: bool,
) -> bool {
    let Some(release) = world.release_mut(plugin, version) else { return false };
    release.missing_values.retain(|missing| missing.cluster != *cluster || missing.option != option);
    if lacks {
        release.missing_values.push(MissingValue { cluster: cluster.clone(), option: option.to_string() });
    }
    true
}

/// Somebody writes a range onto the base branch where versions belong.
pub(super) fn range(world: &mut World, plugin: &PluginName, tier: &TierName, range: &str) {
    world.hub.ranges.insert((plugin.clone(), tier.clone()), range.to_string());
    world.stir();
}

/// Whether only the bots can push the ledger branch.
pub(super) fn guard(world: &mut World, sealed: bool) {
    let open = || LedgerGuard::Open("its commits carry no seal".to_string());
    let guarded = if sealed { LedgerGuard::Sealed } else { open() };
    world.ledger = LedgerState::Intact { guarded };
}
