//! Whom a question to a cluster and its answer are about. Whose a path of the repository is stands in `place_owner`.

use decide::{ClusterName, PluginName, TierName};

/// Whom an answer is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whose {
    /// The plugin.
    pub plugin: PluginName,
    /// The tier that the cluster is of.
    pub tier: TierName,
    /// The cluster.
    pub cluster: ClusterName,
}
