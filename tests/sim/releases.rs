//! Releases at the source: what is published, and what may be said of it.

use decide::snapshot::Release;
use decide::{Digest, PluginName};
use jiff::Timestamp;
use semver::Version;

use crate::rng::Rng;
use crate::scenario::Quality;

/// One release at the source.
#[derive(Clone, Debug)]
pub struct Published {
    pub version: Version,
    /// As the source shows it.
    pub shown: Release,
    /// What was published first under this version.
    pub first_digest: Digest,
    pub retagged: bool,
    pub yanked: bool,
    pub published: Timestamp,
    /// When the checks of its commit end, and whether they are green then.
    pub checked: Timestamp,
    pub green: bool,
    pub quality: Quality,
}

impl Published {
    pub fn new(plugin: &PluginName, version: Version, quality: Quality, marked_breaking: bool, at: Timestamp) -> Self {
        let digest = format!("sha256:{:064x}", Rng::fate(1, &[plugin.as_str(), &version.to_string()]).next());
        let shown = Release {
            version: version.to_string().parse().unwrap(),
            digest: Some(Digest::new(digest)),
            marked_breaking,
            checks: decide::snapshot::Read::Known(Vec::new()),
            breaking: Vec::new(),
            blocks: Vec::new(),
            missing_values: Vec::new(),
        };
        let first_digest = shown.digest.clone().unwrap();
        Self {
            version,
            shown,
            first_digest,
            retagged: false,
            yanked: false,
            published: at,
            checked: at,
            green: true,
            quality,
        }
    }
}
