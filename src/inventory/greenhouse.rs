//! The clusters of a Greenhouse (`greenhouse.sap/v1alpha1`, `Cluster`). A namespace is an organization, and two
//! organizations may use one name: a cluster is called by both, also where one organization is listed.

use super::Kind;
use super::kind::{Credentials, Scope, by_name, kubeconfig};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "greenhouse",
    about: "The Clusters of a Greenhouse, of all organizations or of one; they are called `organization/cluster`.",
    scope: Scope::Organizations,
    group: "greenhouse.sap",
    versions: &["v1alpha1"],
    kind: "Cluster",
    plural: "clusters",
    label: None,
    selected: false,
    metadata: true,
    member: by_name,
    credentials: Some(Credentials {
        secret: str::to_string,
        // The first is what Greenhouse itself rotates, the second what a person brought.
        open: |data, insecure_http| kubeconfig(data, &["greenhousekubeconfig", "kubeconfig"], insecure_http),
    }),
};
