//! Questions about clusters. One file per kind; each judges what was answered: version proof, then freshness,
//! then state. How it is asked is in `observe/cluster` and `observe/ask`; whether a reading lets a release through is decided in
//! `decide`.

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
mod object;
mod oci_repository;
mod plugin;
mod plugin_preset;
pub mod prometheus;
mod proof;
mod resource;
mod rollout;
mod settled;
mod state;
mod workload;

use std::borrow::Cow;

use decide::snapshot::{Health, Reading};
use decide::{ClusterName, Sha, TierName};
use jiff::Timestamp;
use serde_json::Value;

use jsonpath::BadPath;
use parse::settings::Values;

pub use checks::Checks;
pub use endpoint::{Endpoint, Names};
pub use http::Page;
pub use kind::{Kind, Make, Proves, Settings};
pub use object::Verdict;

pub use object::{digest, one_line, title};
pub use prometheus::Metrics;

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

/// The question of one signal to one cluster.
pub trait Signal: Send + Sync {
    /// The object to ask for first.
    fn target(&self) -> Target;

    /// Further objects, which the first one names.
    fn more(&self, _object: &Value) -> Vec<Target> {
        Vec::new()
    }

    /// Judges the object as the API server returned it; `more` are the further ones in their order, none where
    /// there is no such. Pure.
    fn judge(&self, object: &Value, more: &[Option<Value>]) -> Verdict;
}

/// What a signal says of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// As the planner takes it.
    pub reading: Reading,
    /// The commit of the config repo that runs there, for kinds that prove no version but a commit: which
    /// version it is stands in the repository.
    pub revision: Option<Sha>,
}

impl Answer {
    /// Nothing could be judged, and why.
    pub fn absent(target: &Target, health: Health, evidence: &str, observed_at: Timestamp) -> Self {
        let mut answer = Self::unasked(&title(target), evidence, observed_at);
        answer.reading.health = health;
        answer
    }

    /// Nobody was asked, and why; `signal` says what would have been.
    pub fn unasked(signal: &str, why: &str, observed_at: Timestamp) -> Self {
        let reading = Reading {
            signal: signal.to_string(),
            health: Health::Unknown,
            running: None,
            attempted: None,
            digest: None,
            observed_at,
            since: None,
            evidence: one_line(why),
        };
        Self { reading, revision: None }
    }

    /// The cluster says that there is no such object.
    pub fn not_there(target: &Target, observed_at: Timestamp) -> Self {
        Self::absent(target, Health::NotFound, &format!("{} is not there", title(target)), observed_at)
    }
}

/// Judges and dates: `observed_at` is when the first object was asked for. What runs must be proven for a yes.
pub fn answer(signal: &dyn Signal, object: &Value, more: &[Option<Value>], observed_at: Timestamp) -> Answer {
    let mut verdict = signal.judge(object, more);
    if verdict.health == Health::Healthy && verdict.running.is_none() && verdict.revision.is_none() {
        verdict.health = Health::Unknown;
        verdict.evidence = format!("{}; nothing proves which version that is", verdict.evidence);
    }
    let revision = verdict.revision.take();
    Answer { reading: verdict.read(&title(&signal.target()), observed_at), revision }
}

/// Why a signal cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// A path is wrong.
    #[error("`{key}` of the signal: {why}")]
    Path {
        /// The key in the policy file.
        key: &'static str,
        /// What is wrong with it.
        why: BadPath,
    },
    /// Something that goes into the API's path is no name there.
    #[error(
        "`{text}` is no {what} in Kubernetes; use lower-case letters, digits, `-` and `.`, and `{{cluster}}`, \
         `{{tier}}` or, where clusters are called `organization/cluster`, `{{organization}}` for their names"
    )]
    Name {
        /// What it stands for.
        what: &'static str,
        /// The text, placeholders filled in.
        text: String,
    },
    /// A key is missing.
    #[error("the signal has no `{key}`")]
    Missing {
        /// The key in the policy file.
        key: &'static str,
    },
    /// What stands under a key cannot be used for this cluster.
    #[error("`{key}` of the signal: {why}")]
    Unusable {
        /// The key in the policy file.
        key: &'static str,
        /// Why not.
        why: String,
    },
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

/// Lets only through what Kubernetes takes as a name, so that nothing else reaches the API's path.
fn name(what: &'static str, text: String) -> Result<String, SignalError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.');
    let edge = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let bytes = text.as_bytes();
    let valid = text.len() <= 253 && bytes.iter().all(|c| inner(*c)) && edge(bytes.first()) && edge(bytes.last());
    if valid && !text.contains("..") { Ok(text) } else { Err(SignalError::Name { what, text }) }
}

fn target(api: [Cow<'static, str>; 4], namespace: Option<String>, which: Which) -> Target {
    let [group, version, kind, plural] = api;
    Target { group, version, kind, plural, namespace, which }
}

#[cfg(test)]
pub(crate) mod tests;
