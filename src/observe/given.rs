//! What the config repository sets for a plugin beside its version, at each place that moves it. Only read where a
//! release has something to do with it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use compare::Settings;
use decide::snapshot::Read;
use decide::{ClusterName, PluginName, Sha, TierName};

use super::base::Base;
use super::compared::Place;
use super::context::Context;
use super::place_owner::Fleet;
use super::spots::Spot;
use crate::edit;
use crate::git::{GitError, Store};

/// What is to be read of one plugin.
struct Asked {
    plugin: PluginName,
    chart: String,
    spots: Vec<(Sha, Spot, BTreeSet<ClusterName>)>,
}

/// What each place of these plugins sets; a place of which nobody can tell is left out.
pub(super) async fn places(
    context: &mut Context,
    base: &Base,
    plugins: Vec<PluginName>,
) -> anyhow::Result<BTreeMap<PluginName, Vec<Place>>> {
    let asked: Vec<Asked> = plugins.into_iter().filter_map(|plugin| asked(base, plugin)).collect();
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    context
        .repo
        .git(move |store, _| asked.iter().map(|asked| Ok((asked.plugin.clone(), read(store, asked)?))).collect())
        .await
}

fn asked(base: &Base, plugin: PluginName) -> Option<Asked> {
    let Read::Known(clusters) = &base.clusters else { return None };
    let policy = base.loaded.policy.plugins.iter().find(|known| known.name == plugin)?;
    let chart = base.loaded.wiring.plugins.get(&plugin)?.chart.name().to_string();
    let names = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let fleet = Fleet { clusters, names: &names, tiers: &policy.tiers };
    let mut spots = Vec::new();
    for tier in &policy.tiers {
        let of = |tier: &TierName| base.spots.get(&(plugin.clone(), tier.clone())).into_iter().flatten();
        let Ok(line) = base.line(&tier.name) else { continue };
        let members: BTreeSet<ClusterName> = fleet.members(tier).into_iter().cloned().collect();
        for spot in of(&tier.name).filter(|spot| !spot.vacant) {
            let clusters = spot.cluster.clone().map_or_else(|| members.clone(), |cluster| [cluster].into());
            spots.push((line.commit.clone(), spot.clone(), clusters));
        }
    }
    Some(Asked { plugin, chart, spots })
}

fn read(store: &Store, asked: &Asked) -> Result<Vec<Place>, GitError> {
    let mut texts: BTreeMap<(&Sha, &str), Option<String>> = BTreeMap::new();
    let mut places = Vec::new();
    for (commit, spot, clusters) in &asked.spots {
        let Some(scalar) = &spot.scalar else { continue };
        let key = (commit, spot.file.as_str());
        let text = match texts.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let bytes = store.read(commit, &spot.file)?;
                new.insert(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
            }
        };
        let Some(text) = text else { continue };
        if let Some(given) = edit::given(spot.write.format(), text, scalar, &asked.chart) {
            let settings = Settings::new(given.values, given.names).naming(given.named);
            places.push(Place { clusters: clusters.clone(), settings, whole: given.whole });
        }
    }
    Ok(places)
}
