//! What a source of releases finds, and why it finds nothing. The sources are in files beside this one.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use ::http::StatusCode;
use bytes::Bytes;
use decide::snapshot::ChartBlock;
use decide::{Digest, Version};
use jiff::Timestamp;
use url::Url;

use super::signers::Signers;
use crate::observe::net::{Fetched, Net, NetError, plain};
use crate::policy::wiring::Chart;

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
    /// Steps to it that the author blocks, untrusted text.
    pub blocks: Vec<ChartBlock>,
    /// What it says of the commit that it was made from.
    pub origin: Origin,
    /// What of it is not there yet, or cannot be read; the release waits for that.
    pub incomplete: Option<String>,
    /// The definition that it is, with the chart behind it; none where the chart itself is the release.
    pub definition: Option<Arc<Defined>>,
}

/// A definition of a catalog, at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Its file.
    pub text: String,
    /// The chart that it installs, and what is known of that; none for a user interface alone.
    pub chart: Option<(Chart, Found)>,
}

/// What a release consists of, as it is compared with another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The file of its definition.
    pub definition: Option<String>,
    /// The package of its chart.
    pub package: Option<Bytes>,
    /// The files of its chart, where it has no package.
    pub files: Option<BTreeMap<String, Vec<u8>>>,
}

/// What a chart says of the commit that it was made from: untrusted text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Addresses of repositories, the one that it names for this purpose first.
    pub sources: Vec<String>,
    /// The revision in it.
    pub revision: Option<String>,
}

/// Until when a signature counts, none = without end; or why none does.
pub type Verdict = Result<Option<Timestamp>, String>;

/// A future that a trait object returns.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One source of releases. Adding a source is one file that implements this and one line in the
/// list.
pub trait Source: Send + Sync {
    /// Every version that parses, any order. Versions that do not parse are left out and counted
    /// in a log line.
    fn versions(&self) -> Answer<'_, Result<Vec<Version>, SourceError>>;

    /// Digest and notes of one version; `None` when the artefact is not there. What a source reads as
    /// a whole is as old as the last call of [`Source::versions`].
    fn describe<'a>(&'a self, version: &'a Version) -> Answer<'a, Result<Option<Found>, SourceError>>;

    /// What a release consists of that was found here, with the digest that was found with it. `None` when it is not
    /// there any more.
    fn contents<'a>(&'a self, found: &'a Found) -> Answer<'a, Result<Option<Contents>, SourceError>>;

    /// Whether one of these has signed a release that was found here, with the digest that was found with it; if not, why.
    fn signed<'a>(&'a self, _found: &'a Found, _signers: &'a Signers) -> Answer<'a, Result<Verdict, SourceError>> {
        Box::pin(async { Ok(Err("no signatures of tags are read".to_string())) })
    }
}

impl Contents {
    pub(super) fn of_chart(package: Bytes) -> Self {
        Self { package: Some(package), ..Self::default() }
    }
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
    /// It wants to know who asks, and does not take our word for it.
    #[error("{url} is closed to us: {why}")]
    Closed {
        /// What was asked.
        url: String,
        /// Why, and what the operator can do.
        why: String,
    },
    /// It may not be asked.
    #[error("{url} is not asked: {why}")]
    Refused {
        /// What would be asked.
        url: String,
        /// Why, and what the operator can do.
        why: String,
    },
}

impl From<NetError> for SourceError {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Refused { url, why } => Self::Refused { url, why },
            NetError::Failed { url, why } => Self::Unreachable { url, why },
            NetError::TooLarge { url, most } => Self::Unreachable { url, why: format!("more than {most} bytes") },
            NetError::Settings { entry, why } => Self::Refused { url: entry, why },
        }
    }
}

/// A package whose bytes are those of its digest; one without a digest is what it is.
pub(super) fn proven(url: &Url, body: Bytes, digest: Option<&Digest>) -> Result<Bytes, SourceError> {
    match digest.filter(|digest| **digest != sha256(&body)) {
        None => Ok(body),
        Some(digest) => Err(SourceError::Malformed {
            url: plain(url),
            expected: "the package that was announced",
            why: format!("its bytes do not have the digest {digest}"),
        }),
    }
}

/// An answer with another status than it should have.
pub(super) fn status(url: &Url, answer: &Fetched) -> SourceError {
    SourceError::Unreachable { url: plain(url), why: format!("it answered {}", answer.status) }
}

/// Whether an answer asks who we are, or says that this is not enough.
pub(super) fn is_closed(answer: &Fetched) -> bool {
    matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Why nobody was let in there: no login was shown, or the one of this file.
pub(super) fn closed(url: &Url, answer: &Fetched, shown: Option<&Path>, net: &Net) -> SourceError {
    let (host, status, files) = (host(url), answer.status, net.logins().files());
    let why = match shown {
        Some(file) => format!(
            "it answered {status} to the login in `{}`: that is wrong, has run out, or may not read this; put a new one \
             for {host} there",
            file.display()
        ),
        None if files.is_empty() => format!(
            "it answered {status} to nobody in particular; let the operator give a login for {host}, by --registries \
             with a docker config.json"
        ),
        None => format!("it answered {status}, and {files} has no login for {host}; put one there"),
    };
    SourceError::Closed { url: plain(url), why }
}

/// The host of an address as a login names it.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"))
}

/// Lower-case hexadecimal digits of the SHA-256 of these bytes, as digests are written.
pub(super) fn sha256(bytes: &[u8]) -> Digest {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    let hex: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Digest::new(format!("sha256:{hex}"))
}
