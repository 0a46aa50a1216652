//! Questions to clusters. One file per kind; each judges one object: version proof, then
//! freshness, then state. Whether a reading lets a release through is decided in `decide`.

mod application;
mod helm_release;
mod object;
mod resource;
mod workload;

use decide::snapshot::Reading;
use decide::{ClusterName, TierName};
use jiff::Timestamp;
use kube::core::GroupVersionKind;

use crate::jsonpath::BadPath;
use crate::policy::wiring::SignalSpec;

pub(crate) use object::{one_line, title};

/// Which object a signal looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Group, version, kind.
    pub gvk: GroupVersionKind,
    /// Its plural in the API's path.
    pub plural: String,
    /// Its namespace; none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// One kind of signal. Adding a kind is one file that implements this and one line in the list.
pub trait Signal: Send + Sync {
    /// The kind as it is named in the policy file.
    fn kind(&self) -> &'static str;

    /// The object to ask for.
    fn target(&self) -> Target;

    /// Judges the object as the API server returned it. Pure: `observed_at` is when it was read.
    fn judge(&self, object: &serde_json::Value, observed_at: Timestamp) -> Reading;
}

/// Why a signal cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// A path is wrong.
    #[error("`{key}` of the resource signal: {why}")]
    Path {
        /// The key in the policy file.
        key: &'static str,
        /// What is wrong with it.
        why: BadPath,
    },
    /// Something that goes into the API's path is no name there.
    #[error(
        "`{text}` is no {what} in Kubernetes; use lower-case letters, digits, `-` and `.`, \
         and `{{cluster}}` or `{{tier}}` for their names"
    )]
    Name {
        /// What it stands for.
        what: &'static str,
        /// The text, placeholders filled in.
        text: String,
    },
}

/// The list of kinds: the signal that a spec asks for, with `{cluster}` and `{tier}` filled in.
///
/// # Errors
/// Where a name or a path of the spec cannot be used.
pub fn signal(spec: &SignalSpec, cluster: &ClusterName, tier: &TierName) -> Result<Box<dyn Signal>, SignalError> {
    let fill = |text: &str| text.replace("{cluster}", cluster.as_str()).replace("{tier}", tier.as_str());
    Ok(match spec {
        SignalSpec::HelmRelease { namespace, name } => {
            Box::new(helm_release::HelmRelease::new(fill(namespace), fill(name))?)
        }
        SignalSpec::Application { namespace, name } => {
            Box::new(application::Application::new(fill(namespace), fill(name))?)
        }
        SignalSpec::Resource(spec) => {
            Box::new(resource::Resource::new(spec, spec.namespace.as_deref().map(fill), fill(&spec.name))?)
        }
    })
}

/// Lets only through what Kubernetes takes as a name, so that nothing else reaches the API's path.
fn name(what: &'static str, text: String) -> Result<String, SignalError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.');
    let edge = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let bytes = text.as_bytes();
    let valid = text.len() <= 253 && bytes.iter().all(|c| inner(*c)) && edge(bytes.first()) && edge(bytes.last());
    if valid && !text.contains("..") { Ok(text) } else { Err(SignalError::Name { what, text }) }
}

fn target(group: &str, version: &str, kind: &str, plural: &str, namespace: Option<String>, name: String) -> Target {
    Target { gvk: GroupVersionKind::gvk(group, version, kind), plural: plural.to_string(), namespace, name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn helm(namespace: &str, name: &str) -> Result<Box<dyn Signal>, SignalError> {
        let spec = SignalSpec::HelmRelease { namespace: namespace.to_string(), name: name.to_string() };
        signal(&spec, &ClusterName::from("eu-1"), &TierName::from("gold"))
    }

    #[test]
    fn placeholders_are_filled_in() {
        let target = helm("{tier}-apps", "loki-{cluster}").unwrap().target();
        assert_eq!((target.namespace.as_deref(), target.name.as_str()), (Some("gold-apps"), "loki-eu-1"));
    }

    #[test]
    fn nothing_but_names_reaches_the_path() {
        for bad in ["", "a/b", "..", "a..b", "A", "-a", "a-", "a b", "{plugin}", "a%2fb", "ä", "a?x", "a\n"] {
            assert!(matches!(helm(bad, "x"), Err(SignalError::Name { what: "namespace", .. })), "{bad:?}");
            assert!(matches!(helm("x", bad), Err(SignalError::Name { what: "name", .. })), "{bad:?}");
        }
    }

    #[test]
    fn evidence_is_one_short_line() {
        let hostile = format!("a\r\n::set-output\u{1b}[31m\u{202e}b\t{}", "x".repeat(1000));
        let line = one_line(&hostile);
        assert!(line.starts_with("a ::set-output [31mb x"), "{line}");
        assert_eq!(line.chars().count(), 300);
    }
}
