//! Which clusters there are. One file per inventory: a YAML file of the config repo, or what a hub cluster
//! lists. How a cluster is reached is in `cluster`; what follows from its labels is decided in `decide`.

mod argocd;
mod cluster_api;
mod cluster_profile;
pub mod file;
mod flux;
mod greenhouse;
mod kind;
mod list;
mod ocm;

pub(crate) use kind::Data;
pub use kind::{Credentials, Kind, Scope};
pub use list::{Last, list};

/// Every kind of inventory that a hub has, in the order of the manual. A new one is its file, its `mod`, and a
/// line here.
pub const KINDS: [&Kind; 6] =
    [&argocd::KIND, &greenhouse::KIND, &ocm::KIND, &cluster_api::KIND, &cluster_profile::KIND, &flux::KIND];

#[cfg(test)]
mod tests;
