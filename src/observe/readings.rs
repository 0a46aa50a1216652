//! Asks the clusters of every tier about every plugin, in parallel. What their answers mean for a
//! release is decided in `decide`.

use std::collections::BTreeMap;

use decide::snapshot::{Health, Reading};
use decide::{ClusterName, PluginName, Readings, Tier};
use jiff::Timestamp;

use super::cluster::{Ask, Clusters};
use super::signal;
use crate::policy::Loaded;
use crate::policy::wiring::ListedCluster;

/// Answers per plugin and cluster while they come in, one per signal.
type Answers = BTreeMap<PluginName, BTreeMap<ClusterName, Vec<Reading>>>;

/// Asks every signal of every plugin in every cluster of its tiers.
pub async fn ask(
    loaded: &Loaded,
    clusters: &[ListedCluster],
    connections: &Clusters,
    now: Timestamp,
) -> BTreeMap<PluginName, Readings> {
    let mut asks = Vec::new();
    let mut owners = Vec::new();
    let mut readings = Answers::new();
    for plugin in &loaded.policy.plugins {
        let Some(wiring) = loaded.wiring.plugins.get(&plugin.name) else { continue };
        for (tier, cluster) in members(&plugin.tiers, clusters) {
            for spec in &wiring.signals {
                match signal::signal(spec, &cluster.name, &tier.name) {
                    Ok(signal) => {
                        asks.push(Ask { cluster: cluster.clone(), signal });
                        owners.push((plugin.name.clone(), cluster.name.clone()));
                    }
                    Err(error) => {
                        let reading = unreadable(&error.to_string(), now);
                        add(&mut readings, &plugin.name, &cluster.name, reading);
                    }
                }
            }
        }
    }
    for ((plugin, cluster), reading) in owners.into_iter().zip(connections.readings(asks).await) {
        add(&mut readings, &plugin, &cluster, reading);
    }
    readings.into_iter().map(|(plugin, answers)| (plugin, answers.into_iter().collect())).collect()
}

fn members<'a>(
    tiers: &'a [Tier],
    clusters: &'a [ListedCluster],
) -> impl Iterator<Item = (&'a Tier, &'a ListedCluster)> {
    tiers.iter().flat_map(move |tier| {
        clusters.iter().filter(|cluster| tier.select.matches(&cluster.labels)).map(move |cluster| (tier, cluster))
    })
}

fn add(readings: &mut Answers, plugin: &PluginName, cluster: &ClusterName, reading: Reading) {
    readings.entry(plugin.clone()).or_default().entry(cluster.clone()).or_default().push(reading);
}

fn unreadable(why: &str, now: Timestamp) -> Reading {
    Reading {
        signal: "signal".to_string(),
        health: Health::Unknown,
        running: None,
        attempted: None,
        digest: None,
        observed_at: now,
        since: None,
        evidence: why.to_string(),
    }
}
