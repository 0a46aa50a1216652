//! Questions about clusters. One file per kind; each judges what was answered: version proof, then freshness,
//! then state. How it is asked is in `observe/cluster` and `observe/ask`; whether a reading lets a release through is decided in
//! `decide`.

mod answer;
mod application;
mod application_set;
mod canary;
pub mod checks;
mod endpoint;
mod flux;
mod helm_release;
mod helm_secret;
pub mod http;
mod kind;
mod kustomization;
mod names;
mod object;
mod oci_repository;
mod plugin;
mod plugin_preset;
pub mod prometheus;
mod proof;
mod resource;
mod rollout;
mod settings;
mod settled;
mod state;
mod target;
mod workload;

use decide::{ClusterName, TierName};
use parse::settings::Values;

pub use answer::{Answer, Signal, answer};
pub use checks::Checks;
pub use endpoint::Endpoint;
pub use http::Page;
pub use kind::{Kind, Make, Proves};
pub use names::Names;
pub use object::{Verdict, digest, one_line};
pub use prometheus::Metrics;
pub use settings::{Settings, SignalError};
pub use target::{Target, Which, title};

/// Every kind of signal, in the order of the manual. A new one is its file, its `mod`, and a line here.
pub static KINDS: [&Kind; 15] = [
    &helm_release::KIND,
    &kustomization::KIND,
    &oci_repository::KIND,
    &helm_secret::KIND,
    &application::KIND,
    &application_set::KIND,
    &rollout::KIND,
    &canary::KIND,
    &plugin::KIND,
    &plugin_preset::KIND,
    &workload::KIND,
    &resource::KIND,
    &prometheus::KIND,
    &http::KIND,
    &checks::KIND,
];

/// A question to a cluster.
#[derive(Clone, Debug)]
pub struct SignalSpec {
    /// Of which kind it is.
    pub kind: &'static Kind,
    /// What the kind is told; names may hold `{cluster}`, `{organization}` and `{tier}`.
    pub values: Values,
    /// The connection it is asked through, such as that of a hub; none = the cluster's own.
    pub connection: Option<String>,
}

impl PartialEq for SignalSpec {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.values == other.values && self.connection == other.connection
    }
}

#[cfg(test)]
impl SignalSpec {
    /// A signal about one object of a namespace.
    pub fn named(kind: &str, namespace: &str, name: &str) -> Self {
        let text = |text: &str| parse::settings::Given::Text(text.to_string());
        let values = [("namespace", text(namespace)), ("name", text(name))].into();
        #[allow(clippy::expect_used)]
        Self { kind: self::kind(kind).expect("a kind"), values, connection: None }
    }
}

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.into_iter().find(|kind| kind.name == name)
}

/// What is asked about a cluster, and of whom.
pub enum Question {
    /// An object, of the cluster or of a hub.
    Object(Box<dyn Signal>),
    /// A Prometheus.
    Metrics(Box<Metrics>),
    /// A page of JSON.
    Page(Box<Page>),
    /// The hub, for what was said of commits.
    Checks(Box<Checks>),
}

/// The question that a spec asks, with the names of cluster, organization and tier filled in.
///
/// # Errors
/// Where a name or a path of the spec cannot be used.
pub fn question(spec: &SignalSpec, cluster: &ClusterName, tier: &TierName) -> Result<Question, SignalError> {
    let settings = Settings::new(&spec.values, cluster, tier);
    Ok(match spec.kind.make {
        Make::Object(make) => Question::Object(make(&settings)?),
        Make::Metrics(make) => Question::Metrics(Box::new(make(&settings)?)),
        Make::Page(make) => Question::Page(Box::new(make(&settings)?)),
        Make::Checks(make) => Question::Checks(Box::new(make(&settings)?)),
    })
}

/// The question of a kind that asks a cluster.
///
/// # Errors
/// As [`question`], and for other kinds.
pub fn signal(spec: &SignalSpec, cluster: &ClusterName, tier: &TierName) -> Result<Box<dyn Signal>, SignalError> {
    match question(spec, cluster, tier)? {
        Question::Object(signal) => Ok(signal),
        Question::Metrics(_) | Question::Page(_) | Question::Checks(_) => {
            Err(SignalError::Unusable { key: spec.kind.name, why: "it asks no cluster".to_string() })
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
