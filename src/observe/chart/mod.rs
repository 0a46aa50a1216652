//! Where releases come from. One file per source. Which of them a policy accepts is decided in
//! `decide`.

use std::pin::Pin;

use decide::{Digest, Version};

/// One version at a source, as it was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The version.
    pub version: Version,
    /// Digest of the artefact: of the archive (`index.yaml`), of the manifest (OCI).
    pub digest: Option<Digest>,
    /// The author's notes on this version (annotation `artifacthub.io/changes`), untrusted text.
    pub notes: Option<String>,
    /// Where the source code is, untrusted text.
    pub home: Option<String>,
    /// The author marked it as breaking.
    pub marked_breaking: bool,
}

/// A future that a trait object returns.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One source of releases. Adding a source is one file that implements this and one line in the
/// list.
pub trait Source: Send + Sync {
    /// Every version that parses, any order. Versions that do not parse are left out and counted
    /// in a log line.
    fn versions(&self) -> Answer<'_, Result<Vec<Version>, SourceError>>;

    /// Digest and notes of one version; `None` when the artefact is not there.
    fn describe<'a>(&'a self, version: &'a Version) -> Answer<'a, Result<Option<Found>, SourceError>>;
}

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It did not answer, or with an error.
    #[error("{url} did not answer: {why}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// What happened.
        why: String,
    },
    /// It answered with something else than the format asks for.
    #[error("{url} answered with something that is not {expected}: {why}")]
    Malformed {
        /// What was asked.
        url: String,
        /// What was expected.
        expected: &'static str,
        /// What was wrong.
        why: String,
    },
    /// The chart is not in this repository.
    #[error("{url} has no chart `{name}`")]
    NoSuchChart {
        /// What was asked.
        url: String,
        /// The chart.
        name: String,
    },
}
