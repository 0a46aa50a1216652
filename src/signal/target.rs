//! Which object of a cluster a signal looks at, and how people call it. What stands in the object is read in
//! `object.rs`.

use std::borrow::Cow;

/// Which object a signal looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// Its API group; empty for the core.
    pub group: Cow<'static, str>,
    /// The version of its API.
    pub version: Cow<'static, str>,
    /// Its kind.
    pub kind: Cow<'static, str>,
    /// Its plural in the API's path.
    pub plural: Cow<'static, str>,
    /// Its namespace; none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Which of them.
    pub which: Which,
}

/// Which object of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// The one of this name.
    Named(String),
    /// All with these labels, as one list.
    Labelled {
        /// `owner=helm,name=loki`.
        selector: String,
        /// Only their metadata is asked for: the rest of a Secret is nobody's business.
        metadata: bool,
    },
}

impl Target {
    /// `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// An API of Kubernetes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Api {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
}

impl Api {
    /// One object of it, by its name.
    pub fn named(self, namespace: Option<String>, name: String) -> Target {
        target(self.parts(), namespace, Which::Named(name))
    }

    /// All of them.
    pub fn all(self, namespace: Option<String>) -> Target {
        self.labelled(namespace, String::new(), false)
    }

    /// Those with these labels.
    pub fn labelled(self, namespace: Option<String>, selector: String, metadata: bool) -> Target {
        target(self.parts(), namespace, Which::Labelled { selector, metadata })
    }

    fn parts(self) -> [Cow<'static, str>; 4] {
        [self.group, self.version, self.kind, self.plural].map(Cow::Borrowed)
    }
}

/// An object of an API given as group, version, kind and plural.
pub(super) fn target(api: [Cow<'static, str>; 4], namespace: Option<String>, which: Which) -> Target {
    let [group, version, kind, plural] = api;
    Target { group, version, kind, plural, namespace, which }
}

/// `HelmRelease cert-manager/cert-manager`.
pub fn title(target: &Target) -> String {
    let kind = &target.kind;
    match (&target.namespace, &target.which) {
        (Some(namespace), Which::Named(name)) => format!("{kind} {namespace}/{name}"),
        (None, Which::Named(name)) => format!("{kind} {name}"),
        (Some(namespace), Which::Labelled { selector, .. }) => format!("{kind} {namespace} with {selector}"),
        (None, Which::Labelled { selector, .. }) => format!("{kind} with {selector}"),
    }
}
