//! Asks every chart source whose time has come, and then about its releases: their checks, and what is different in
//! them. How a source is asked is in `releases`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decide::{PluginName, Version};
use jiff::{SignedDuration, Timestamp};

use super::base::Base;
use super::changelog::{self, About, Said};
use super::chart::{Mirrors, Signers};
use super::context::{Context, SourceMemory};
use super::released::Pace;
use super::{compared, released, releases, signed, sources};
use crate::ledger::Branch;
use crate::policy::Loaded;

/// Asks every chart source whose time has come, all at once.
pub(super) async fn ask(context: &mut Context, base: &Base, now: Timestamp) {
    let loaded: &Loaded = &base.loaded;
    let mut known = std::mem::take(&mut context.memory.sources);
    let (first, ends) = (context.look_again * 2, context.only_needed);
    let mirrors = Arc::clone(
        context.memory.mirrors.get_or_insert_with(|| Arc::new(Mirrors::in_folder(context.repo.others.clone()))),
    );
    let asks = loaded.policy.plugins.iter().filter_map(|policy| {
        let plugin = &policy.name;
        let wiring = loaded.wiring.plugins.get(plugin)?;
        let (running, ledger) = (lowest(base, plugin), context.repo.ledger.as_ref());
        let oldest = running.clone().into_iter().chain(before(ledger, base, plugin)).min();
        let under_way = under_way(ledger, plugin);
        let last = SignedDuration::try_from(wiring.poll).unwrap_or(first);
        let (memory, net, hub) = (known.remove(plugin), Arc::clone(&context.net), context.repo.hub.clone());
        let (mirrors, trust) = (Arc::clone(&mirrors), Arc::clone(&context.trust));
        Some(async move {
            let mut memory = releases::ask(memory, (plugin, wiring), (&net, &mirrors), oldest.as_ref(), now).await;
            if let Ok(found) = &memory.said {
                let checked = std::mem::take(&mut memory.checked);
                let which = (running.as_ref(), &under_way);
                let pace = Pace { first, last };
                memory.checked = released::ask(checked, &hub, (policy, wiring), found, which, pace, now).await;
                if let Some(source) = &memory.source {
                    let signatures = std::mem::take(&mut memory.signatures);
                    let signers = wiring.signed.clone().map(|signed| Signers { signed, trust, now });
                    let (source, signers) = (source.as_ref(), signers.as_ref());
                    memory.signatures = signed::ask(signatures, source, signers, found, pace, now).await;
                    let compared = std::mem::take(&mut memory.compared);
                    // A rollback has to know what breaks, too.
                    let which = (oldest.as_ref(), running.as_ref());
                    memory.compared = compared::ask(compared, source, policy, found, which, (pace, ends), now).await;
                }
            }
            memory.released_in = sources::of(&hub, wiring, &memory);
            (plugin.clone(), memory)
        })
    });
    let answers: Vec<(PluginName, SourceMemory)> = futures_util::future::join_all(asks).await;
    context.memory.sources = answers.into_iter().collect();
    changelogs(context, base, first, now).await;
}

/// What authors say of these releases.
async fn changelogs(context: &mut Context, base: &Base, first: SignedDuration, now: Timestamp) {
    let (hub, known) = (context.repo.hub.clone(), std::mem::take(&mut context.memory.changelogs));
    let mut last = first;
    let mut running = BTreeMap::new();
    for policy in &base.loaded.policy.plugins {
        running.insert(&policy.name, lowest(base, &policy.name));
        let poll = base.loaded.wiring.plugins.get(&policy.name).map(|wiring| wiring.poll);
        last = last.max(poll.and_then(|poll| SignedDuration::try_from(poll).ok()).unwrap_or(first));
    }
    let abouts = base.loaded.policy.plugins.iter().filter_map(|policy| {
        let name = &policy.name;
        let (memory, wiring) = (context.memory.sources.get(name)?, base.loaded.wiring.plugins.get(name)?);
        let (found, lowest) = (memory.said.as_ref().ok()?, running.get(name).and_then(Option::as_ref));
        Some(About { policy, wiring, found, compared: &memory.compared, lowest })
    });
    let abouts: Vec<About<'_>> = abouts.collect();
    let known = changelog::ask(known, &hub, &abouts, Pace { first, last }, now).await;
    let told = abouts.iter().map(|about| (about.policy.name.clone(), known.told(&hub, about)));
    let told: Vec<(PluginName, BTreeMap<Version, Said>)> = told.collect();
    for (plugin, said) in told {
        if let Some(memory) = context.memory.sources.get_mut(&plugin) {
            memory.told = said;
        }
    }
    context.memory.changelogs = known;
}

/// Versions that a tier is busy with, and what they came from: they need not be newer than what runs.
fn under_way(ledger: Option<&Branch>, plugin: &PluginName) -> BTreeSet<Version> {
    let page = ledger.and_then(|branch| branch.ledger().plugins.get(plugin));
    let last = page.into_iter().flat_map(|page| page.tiers.values()).filter_map(|waves| waves.last());
    let busy = last.filter(|wave| wave.finished().is_none() || wave.failed().is_some());
    busy.flat_map(|wave| std::iter::once(wave.version.clone()).chain(wave.from.clone())).collect()
}

/// The oldest version that ran before what runs now: a rollback has to prove that it still exists.
fn before(ledger: Option<&Branch>, base: &Base, plugin: &PluginName) -> Option<Version> {
    let page = ledger?.ledger().plugins.get(plugin)?;
    let of_plugin = base.spots.iter().filter(|((name, _), _)| name == plugin);
    let running = of_plugin.flat_map(|((_, tier), spots)| spots.iter().map(move |spot| (tier, &spot.version)));
    running.filter_map(|(tier, version)| page.wave(tier, version.known()?)?.from.clone()).min()
}

/// The oldest version of a plugin anywhere on the base branch.
fn lowest(base: &Base, plugin: &PluginName) -> Option<Version> {
    let of_plugin = base.spots.iter().filter(|((name, _), _)| name == plugin);
    of_plugin.flat_map(|(_, spots)| spots).filter_map(|spot| spot.version.known().cloned()).min()
}
