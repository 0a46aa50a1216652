//! Which clusters have a say in what is decided now: a run that ends asks no others. Pure. What a process that
//! stays watches is everything.

use std::collections::BTreeSet;

use decide::ledger::{Closed, Ledger, State, Wave};
use decide::snapshot::Snapshot;
use decide::{PluginLedger, PluginName, Policy, Tier, TierName};
use jiff::Timestamp;

/// Tiers of plugins.
pub type Needed = BTreeSet<(PluginName, TierName)>;

/// The tiers of each plugin on whose clusters something may rest. Without a ledger that is all of them.
pub fn needed(policy: &Policy, ledger: Option<&Ledger>, now: Timestamp) -> Needed {
    let of_plugin = policy.plugins.iter().flat_map(|plugin| {
        let page = ledger.and_then(|ledger| ledger.plugins.get(&plugin.name));
        let tiers = plugin.tiers.iter().filter(move |tier| has_a_say(page, tier, now));
        tiers.map(|tier| (plugin.name.clone(), tier.name.clone()))
    });
    of_plugin.collect()
}

/// Where everything that came to a tier has finished there and is not watched any more, nothing new is learnt from
/// its clusters.
fn has_a_say(page: Option<&PluginLedger>, tier: &Tier, now: Timestamp) -> bool {
    let Some(page) = page.filter(|page| page.last(&tier.name).is_some()) else { return true };
    tier.follows || page.present(&tier.name, |wave| is_at_work(wave, tier, now)).next().is_some()
}

/// Whether the health of a wave still counts: it has not finished, or may still be found to have failed, or did.
fn is_at_work(wave: &Wave, tier: &Tier, now: Timestamp) -> bool {
    match wave.state() {
        State::Finished(at) => wave.let_through.is_some() || at + tier.watch > now,
        State::Open | State::Failed(_) | State::Landed(_) | State::LandedAnyway(_) => true,
        // Of a release that never moved anything no cluster can tell.
        State::Closed(Closed::Rejected(_) | Closed::Withdrawn(_)) => wave.part.slice > 0,
        State::Closed(Closed::Superseded(_)) | State::Overtaken(_) => false,
    }
}

/// Leaves no more readings among the facts than a run that ends has: what is decided on them has to be the same.
pub fn keep_what_is_needed(snapshot: &mut Snapshot, now: Timestamp) {
    let needed = needed(&snapshot.policy, Some(&snapshot.ledger), now);
    let Snapshot { policy, clusters, plugins, .. } = snapshot;
    let clusters = clusters.known().map(Vec::as_slice).unwrap_or_default();
    for plugin in &policy.plugins {
        let Some(facts) = plugins.get_mut(&plugin.name) else { continue };
        let tiers: Vec<&Tier> = plugin.tiers.iter().collect();
        facts.readings.reread(|name, readings| {
            let of = |tier: &&&Tier| {
                clusters.iter().any(|cluster| cluster.name == *name && tier.select.matches(&cluster.labels))
            };
            let mut asking = tiers.iter().filter(of);
            // Whoever left all tiers is asked by nobody.
            let is_asked = asking.any(|tier| needed.contains(&(plugin.name.clone(), tier.name.clone())));
            if !is_asked {
                readings.clear();
            }
        });
    }
}
