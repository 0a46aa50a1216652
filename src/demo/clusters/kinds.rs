//! Which kinds of objects a cluster serves, and how each behaves. What the objects mean is in `flux`,
//! `argo`, `argo_rollout` and `greenhouse`.

use serde_json::{Value, json};

/// A kind of object that a cluster's API serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// API version in the group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Its name in paths.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether status is a subresource; if not, every write moves the generation.
    pub status_subresource: bool,
}

impl Kind {
    /// A namespaced kind with a status subresource, the usual custom resource.
    pub fn custom(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced: true,
            status_subresource: true,
        }
    }

    /// `plural.group`, as messages and roles name it.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// `group/version`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Its entry in a discovery document.
    pub(super) fn discovery(&self) -> Value {
        json!({
            "name": self.plural,
            "singularName": self.kind.to_lowercase(),
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": ["get", "list", "watch"],
        })
    }
}

/// Flux's release of a chart.
pub(super) fn helm_release() -> Kind {
    Kind::custom("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases")
}

/// Argo CD's application. Its CRD has no status subresource.
pub(super) fn application() -> Kind {
    Kind { status_subresource: false, ..Kind::custom("argoproj.io", "v1alpha1", "Application", "applications") }
}

/// A workload.
pub(super) fn deployment() -> Kind {
    Kind::custom("apps", "v1", "Deployment", "deployments")
}

/// A workload of Argo Rollouts.
pub(super) fn rollout() -> Kind {
    Kind::custom("argoproj.io", "v1alpha1", "Rollout", "rollouts")
}

/// A kind of Greenhouse.
pub(super) fn greenhouse(kind: &str, plural: &str) -> Kind {
    Kind::custom("greenhouse.sap", "v1alpha1", kind, plural)
}

/// What holds the others.
pub(super) fn namespace() -> Kind {
    Kind { namespaced: false, ..Kind::custom("", "v1", "Namespace", "namespaces") }
}

/// What every cluster serves from the start. Secrets are there so that reading them can be refused.
pub(super) fn builtin() -> Vec<Kind> {
    let secret = Kind { status_subresource: false, ..Kind::custom("", "v1", "Secret", "secrets") };
    vec![helm_release(), application(), deployment(), rollout(), namespace(), secret]
}

/// What a hub serves beside that.
pub(super) fn of_hub() -> Vec<Kind> {
    let kinds = [
        ("Plugin", "plugins"),
        ("PluginPreset", "pluginpresets"),
        ("PluginDefinition", "plugindefinitions"),
        ("Catalog", "catalogs"),
        ("Cluster", "clusters"),
    ];
    kinds.into_iter().map(|(kind, plural)| greenhouse(kind, plural)).collect()
}
