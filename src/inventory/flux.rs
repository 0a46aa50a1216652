//! The clusters that a Flux hub works on: the Secrets with their kubeconfigs, which HelmReleases and
//! Kustomizations name in `spec.kubeConfig.secretRef` (fluxcd, `pkg/apis/meta`). Labels on the Secrets say which
//! they are: those of the objects speak of applications, and differ from one to the next.

use super::Kind;
use super::kind::{Credentials, Scope, by_name, kubeconfig};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "flux",
    about: "The Secrets with kubeconfigs that HelmReleases and Kustomizations of a Flux hub name, by their labels.",
    scope: Scope::Any,
    group: "",
    versions: &["v1"],
    kind: "Secret",
    plural: "secrets",
    label: None,
    selected: true,
    metadata: true,
    member: by_name,
    credentials: Some(Credentials {
        secret: str::to_string,
        open: |data, insecure_http| kubeconfig(data, &["value", "value.yaml"], insecure_http),
    }),
};
