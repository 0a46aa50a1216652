//! The clusters that a cluster manager publishes (`multicluster.x-k8s.io/v1alpha1`, `ClusterProfile`; KEP-4322).
//! Its properties are no labels: a member writes them about itself, and would choose its own tier. How to reach
//! a member it says by exec plugins alone, which are not run.

use super::Kind;
use super::kind::{Scope, by_name};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "cluster-profile",
    about: "The ClusterProfiles that a cluster manager publishes, of one namespace or of all; properties are no labels.",
    scope: Scope::Any,
    group: "multicluster.x-k8s.io",
    versions: &["v1alpha1"],
    kind: "ClusterProfile",
    plural: "clusterprofiles",
    label: None,
    selected: false,
    metadata: true,
    member: by_name,
    credentials: None,
};
