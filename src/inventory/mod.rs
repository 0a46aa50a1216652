//! Which clusters there are. One file per inventory: a YAML file of the config repo, or the objects of a hub cluster
//! of one kind. A hub is asked for them in `observe/inventory`; what follows from labels is decided in `decide`.

mod argocd;
mod cluster_api;
mod cluster_profile;
pub mod file;
mod flux;
mod greenhouse;
mod kind;
mod ocm;

use decide::ClusterName;
use decide::selector::Labels;

pub use kind::{Credentials, Data, Kind, Member, Scope};

/// Every kind of inventory that a hub has, in the order of the manual. A new one is its file, its `mod`, and a
/// line here.
pub const KINDS: [&Kind; 6] =
    [&argocd::KIND, &greenhouse::KIND, &ocm::KIND, &cluster_api::KIND, &cluster_profile::KIND, &flux::KIND];

/// One cluster as the inventory lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCluster {
    /// Its name.
    pub name: ClusterName,
    /// What selectors see.
    pub labels: Labels,
    /// The name of its connection in the operator's settings; its own name where the inventory names none.
    pub credential: String,
    /// The Secret that has credentials for it, where the operator's settings have none.
    pub secret_ref: Option<SecretRef>,
    /// Why nothing that the hub cluster says of it is of today.
    pub stale: Option<String>,
}

/// A Secret of a hub cluster with credentials for one of its clusters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretRef {
    /// The kind of inventory, which knows how it is read.
    pub kind: &'static Kind,
    /// The connection to the hub cluster.
    pub connection: String,
    /// The Secret's namespace.
    pub namespace: String,
    /// The Secret's name.
    pub name: String,
}
