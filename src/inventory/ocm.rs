//! The clusters of an Open Cluster Management hub (`cluster.open-cluster-management.io/v1`, `ManagedCluster`).
//! The hub has no credentials for them.

use serde_json::Value;

use super::Kind;
use super::kind::{Member, Scope};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "ocm",
    about: "The ManagedClusters of an Open Cluster Management hub that it has accepted.",
    scope: Scope::Cluster,
    group: "cluster.open-cluster-management.io",
    versions: &["v1"],
    kind: "ManagedCluster",
    plural: "managedclusters",
    label: None,
    selected: false,
    metadata: false,
    member,
    credentials: None,
};

/// A cluster asks to be managed by an object that it writes itself, labels and all: until somebody has accepted
/// it, it is a member of nothing.
fn member(object: &Value) -> Result<Option<Member>, String> {
    let spec = object.get("spec").and_then(Value::as_object).ok_or("it has no `spec`")?;
    let accepted = match spec.get("hubAcceptsClient") {
        None => false,
        Some(accepted) => accepted.as_bool().ok_or("`spec.hubAcceptsClient` is neither true nor false")?,
    };
    Ok(accepted.then(Member::default))
}
