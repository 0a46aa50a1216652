//! What the signals and the inventory of a policy read through each connection. How that is written for Kubernetes is in
//! `text`.

use std::collections::{BTreeMap, BTreeSet};

use decide::{ClusterName, TierName};

use super::any;
use crate::inventory::ListedCluster;
use crate::parse::objects;
use crate::policy::Loaded;
use crate::policy::wiring::Inventory;
use crate::signal::{Question, SignalSpec, Target, Which, question};

/// How a target says that it may be any of its kind.
const ANY: Which = Which::Labelled { selector: String::new(), metadata: false };

/// What may be read through one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights(pub BTreeMap<Place, Reads>);

/// A kind of objects, in a namespace or in none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Their namespace; none = the whole cluster.
    pub namespace: Option<String>,
    /// The group of their API; empty for the core.
    pub group: String,
    /// Their plural.
    pub plural: String,
}

/// What is read of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// These, by name.
    pub names: BTreeSet<String>,
    /// Any of them, by a name that another object says.
    pub any: bool,
    /// They are listed.
    pub list: bool,
    /// All of them are watched, so that a change is seen at once.
    pub watch: bool,
}

/// What is read through each connection, by its name. Where a hub lists the clusters, `named` are some of them. Of a run that
/// looks `once` nothing is watched.
pub fn of(loaded: &Loaded, clusters: &[ListedCluster], named: &[String], once: bool) -> BTreeMap<String, Rights> {
    let mut all: BTreeMap<String, Rights> = BTreeMap::new();
    let hub = match &loaded.wiring.inventory {
        Inventory::File { .. } => None,
        Inventory::Listed(listing) => {
            let place = Place {
                namespace: listing.namespace.clone(),
                group: listing.kind.group.to_string(),
                plural: listing.kind.plural.to_string(),
            };
            let rights = all.entry(listing.connection.clone()).or_default();
            rights.0.entry(place).or_default().list = true;
            Some(&listing.connection)
        }
    };
    let (foreign, unknown) = (others(named, hub.map(String::as_str)), unknown(&loaded.wiring.inventory));
    for plugin in &loaded.policy.plugins {
        let Some(wiring) = loaded.wiring.plugins.get(&plugin.name) else { continue };
        for tier in &plugin.tiers {
            let own = clusters.iter().filter(|cluster| tier.select.matches(&cluster.labels));
            let own = own.map(|cluster| (&cluster.name, cluster.credential.as_str()));
            let foreign = foreign.iter().filter(|_| hub.is_some());
            let known: Vec<_> = own.chain(foreign.map(|(name, credential)| (name, credential.as_str()))).collect();
            for spec in &wiring.signals {
                let asks = |cluster| asked(spec, cluster, &tier.name);
                match &spec.connection {
                    // A hub is asked about clusters that it alone knows: what is called like one of them may be any.
                    Some(connection) if hub.is_some() => {
                        let pairs = asks(&unknown[0]).into_iter().zip(asks(&unknown[1]));
                        let rights = all.entry(connection.clone()).or_default();
                        pairs.for_each(|((target, main), (other, _))| {
                            rights.add(&of_any(target, &other), main && !once)
                        });
                    }
                    connection => {
                        for (cluster, credential) in &known {
                            let rights =
                                all.entry(connection.as_deref().unwrap_or(credential).to_string()).or_default();
                            asks(cluster).iter().for_each(|(target, main)| rights.add(target, *main && !once));
                        }
                    }
                }
            }
        }
    }
    all.values_mut().flat_map(|rights| rights.0.values_mut()).for_each(Reads::settle);
    all
}

/// What a signal asks for about a cluster, and whether that is the object which it is about.
fn asked(spec: &SignalSpec, cluster: &ClusterName, tier: &TierName) -> Vec<(Target, bool)> {
    let Ok(Question::Object(signal)) = question(spec, cluster, tier) else { return Vec::new() };
    let around = signal.around().into_iter().map(|target| (target, false));
    std::iter::once((signal.target(), true)).chain(around).collect()
}

/// Two clusters that stand for all of a hub: what differs between them differs from cluster to cluster.
fn unknown(inventory: &Inventory) -> [ClusterName; 2] {
    let named = |organization: &str, name: &str| match inventory {
        Inventory::Listed(listing) if listing.names_have_namespaces() => {
            let organization = listing.namespace.as_deref().unwrap_or(organization);
            ClusterName::from(format!("{organization}/{name}").as_str())
        }
        Inventory::Listed(_) | Inventory::File { .. } => ClusterName::from(name),
    };
    [named("one", "one-cluster"), named("another", "another-cluster")]
}

/// The same of any cluster, where it is `other` of another one.
fn of_any(target: Target, other: &Target) -> Target {
    let namespace = target.namespace.clone().filter(|_| target.namespace == other.namespace);
    let which = match target.which {
        Which::Named(_) if target.which != other.which => ANY,
        same @ (Which::Named(_) | Which::Labelled { .. }) => same,
    };
    Target { namespace, which, ..target }
}

/// Clusters that a hub lists, by the names that somebody gave, or one that stands for all.
fn others(named: &[String], hub: Option<&str>) -> Vec<(ClusterName, String)> {
    let names = named.iter().filter(|name| Some(name.as_str()) != hub);
    let named: Vec<_> = names.map(|name| (ClusterName::from(name.as_str()), name.replace('/', "."))).collect();
    if named.is_empty() { vec![(any(), any().to_string())] } else { named }
}

impl Reads {
    /// Who watches all of them needs no leave for one of them.
    fn settle(&mut self) {
        if self.watch {
            *self = Self { watch: true, ..Self::default() };
        }
    }
}

impl Rights {
    fn add(&mut self, target: &Target, watch: bool) {
        let place = Place {
            namespace: target.namespace.clone(),
            group: target.group.to_string(),
            plural: target.plural.to_string(),
        };
        let reads = self.0.entry(place).or_default();
        // Whoever may list Secrets may read them: those with a name are asked for by it.
        let secret = objects::is_secret(&target.kind);
        match &target.which {
            Which::Named(name) => {
                reads.names.insert(name.clone());
                reads.watch |= watch && !secret;
            }
            any if *any == ANY => {
                reads.any = true;
                reads.watch |= watch && !secret;
            }
            Which::Labelled { .. } => {
                reads.list = true;
                reads.watch |= watch;
            }
        }
    }
}
