//! The clusters of a Cluster API management cluster (`cluster.x-k8s.io`, `Cluster`), and the kubeconfigs that it
//! makes for them (cluster-api, `util/secret`).

use super::Kind;
use super::kind::{Credentials, Scope, by_name, kubeconfig};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "cluster-api",
    about: "The Clusters of a Cluster API management cluster, of one namespace or of all.",
    scope: Scope::Any,
    group: "cluster.x-k8s.io",
    versions: &["v1beta2", "v1beta1"],
    kind: "Cluster",
    plural: "clusters",
    label: None,
    selected: false,
    metadata: true,
    member: by_name,
    credentials: Some(Credentials {
        secret: |cluster| format!("{cluster}-kubeconfig"),
        open: |data, insecure_http| kubeconfig(data, &["value"], insecure_http),
    }),
};
